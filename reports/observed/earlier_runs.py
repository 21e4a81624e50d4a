"""Files of earlier runs: the conformance.json of another run, and the record `<name>.observed.yaml` beside a profile.

Anybody may have written them, so they must be regular files of a limited size, and as a schema says. No message repeats
what a file holds. The record has what was observed and accepted of an environment. It is written whole, readable and in
one order, so that a change is a change of few lines.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from environments.profiles.loading import parse_yaml
from environments.profiles.model import ProfileError, shown, today
from reports.observed.behaviour import Behaviour, Record, data_of_behaviour
from reports.observed.comparison import compared, follows, met_the_service
from reports.outputs.conformance_json import FILE
from reports.outputs.writing import write
from reports.result.document import Comparison, EarlierRun, RunDocument
from reports.result.provenance import VERSION
from reports.sentences.wording import read_moment
from spec.facts import updated
from spec.requirements import requirements

MOST_BYTES = 50_000_000
"""A run of 100,000 exchanges has half of it."""
Model = TypeVar("Model", bound=BaseModel)


class UnreadableError(Exception):
    """Reason why a file is not read: one line, without anything that the file holds."""


def read_run(path: Path) -> EarlierRun:
    """The conformance.json at `path`, or in that folder, as it is: nothing of it may be shown. Raises
    UnreadableError."""
    try:
        run = checked(json.loads(_content_of(path / FILE if os.path.isdir(path) else path, MOST_BYTES)), EarlierRun)
        read_moment(run.started)
    except (UnreadableError, FileNotFoundError, ValueError, RecursionError) as error:
        why = {FileNotFoundError: "no such file", UnreadableError: error}.get(type(error), "not JSON of a run")
        raise UnreadableError(f"{path}: {why}; expected the {FILE} of a run, or its folder") from None
    return run


def run_before(place: Path | None) -> EarlierRun | None:
    """The run in that folder; None where none can be read."""
    try:
        return read_run(place) if place else None
    except UnreadableError:
        return None


MOST_READ = 100
"""Runs of an environment that are looked at: reading one takes some milliseconds, and old runs are never deleted."""


def runs_of(environment: Path) -> Iterator[tuple[Path, EarlierRun]]:
    """The runs in the folder of an environment, each with its own folder, the newest first. Folders are named by the
    moment when their run started. What cannot be read is left out, and so are links, such as `latest`."""
    try:
        folders = [each for each in environment.iterdir() if each.is_dir() and not each.is_symlink()]
    except OSError:
        return
    for folder in sorted(folders, reverse=True)[:MOST_READ]:
        if run := run_before(folder):
            yield folder, run


def newest_comparable(runs: Iterable[EarlierRun], now: RunDocument) -> EarlierRun | None:
    """The first of these runs that the later one is compared with unasked."""
    if not met_the_service(now):
        return None
    return next((was for was in runs if follows(was, now)), None)


def comparison_of(
    now: RunDocument, *, named: EarlierRun | None, before: EarlierRun | None, clean: Callable[[str], str]
) -> Comparison | None:
    """The comparison of a run with the one that the user names, or else with the run before it; None where that is
    missing or not comparable."""
    was = named or before
    return compared(was, now, clean) if was and (named or follows(was, now)) else None


def _content_of(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file, of nothing that may block or go on for ever. Raises UnreadableError, and
    FileNotFoundError where there is no file."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableError("not a file")
            content = file.read(most_bytes + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(str(error.strerror)) from None
    if len(content) > most_bytes:
        raise UnreadableError(f"larger than {most_bytes / 1_000_000:g} MB")
    return content


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def checked(data: Any, model: type[Model]) -> Model:
    """The data as a model. Raises UnreadableError for data of another form, with the member that has the first error. A
    name that the model does not know is not repeated."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        is_unknown = first["type"] == "extra_forbidden" and len(first["loc"]) == 1
        place = "a member" if is_unknown or not first["loc"] else first["loc"][0]
        raise UnreadableError(f"{place} is not as the suite writes it") from None


# -- the record ---------------------------------------------------------------------------------------------------


FORMAT = 2
MOST_BYTES_OF_RECORD = 1_000_000
"""Thirty times a record of many facts. PyYAML reads some 200 kB in a second."""
_HEAD = """\
# What was observed of this environment where the interface document does not show it: statuses, names and types, and
# no value of an answer. `pytest --environment={environment} --accept` writes it. Each run is compared with it, and says
# what drifts. Keep it beside the profile.
"""


def record_of(environment: str, accepted: Behaviour) -> Record:
    """The record that is accepted today. It is checked when it is read: a run must not lose its report because what it
    observed exceeds a limit of the record."""
    return Record.model_construct(
        format=FORMAT,
        environment=environment,
        accepted=today().isoformat(),
        suite_version=VERSION,
        observations=data_of_behaviour(accepted),
    )


def accepting(was: Behaviour, seen: Behaviour) -> Behaviour:
    """The behaviour with what a run saw in place of what it had; what the run did not exercise stays, at each place."""
    both = {id: (was.get(id, {}), seen.get(id, {})) for id in requirements() if id in was or id in seen}
    return {
        id: {each: updated(old.get(each, frozenset()), new.get(each, frozenset())) for each in sorted({*old, *new})}
        for id, (old, new) in both.items()
    }


def write_record(path: Path, record: Record) -> None:
    """Write the file. Raises OSError."""
    text = yaml.dump(
        dict(record), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    write(path, _HEAD.format(environment=record.environment) + text)


class _Plain(yaml.SafeDumper):
    def check_simple_key(self) -> bool:
        """An empty text is a key like any other; PyYAML writes `? ''` otherwise."""
        is_empty = isinstance(self.event, yaml.ScalarEvent) and not self.event.value
        return is_empty or bool(super().check_simple_key())


def read_record(path: Path) -> Record | None:
    """The record at that path, as it is; None where there is none. Raises UnreadableError."""
    try:
        return checked(parse_yaml(_content_of(path, MOST_BYTES_OF_RECORD).decode("utf-8-sig"), path.name).data, Record)
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, ProfileError, UnreadableError) as error:
        why = error if isinstance(error, UnreadableError) else "not YAML as --accept writes it"
        remedy = "restore the file, or delete it and run pytest --accept"
        raise UnreadableError(f"{shown(path)}: {why}; {remedy}") from None
