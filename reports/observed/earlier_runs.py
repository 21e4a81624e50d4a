"""Files of earlier runs: the conformance.json of another run, and the record `<name>.observed.yaml` beside a profile.

This module reads and writes the files. comparison.py compares two runs, and behaviour.py a run with the record.

Anybody may have written these files. So a file is read only if it is a regular file, if its size is within a limit, and
if its content is as its schema says. No message repeats the content.

The record has the behaviour of an environment that somebody accepted. It is always written whole and in the same order,
so that version control shows a change of behaviour as a change of few lines.
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
from environments.profiles.model import ProfileError, path_in_messages, today
from reports.observed.behaviour import Behaviour, Record, Situations, data_of_behaviour
from reports.observed.comparison import came_to_its_end, comparison_of_two_runs, is_compared_automatically
from reports.outputs.conformance_json import FILE
from reports.outputs.writing import write_private_file
from reports.result.document import Comparison, EarlierRun, RunDocument
from reports.result.provenance import VERSION
from reports.sentences.wording import read_moment
from spec.facts import Facts, updated_facts
from spec.requirements import requirements

MOST_BYTES = 50_000_000
"""Most bytes of a conformance.json that is read: twice as many as the file of a run with 100,000 exchanges has."""
Model = TypeVar("Model", bound=BaseModel)


class UnreadableError(Exception):
    """Reason why a file is not read: one line, without any content of the file."""


def read_run(path: Path) -> EarlierRun:
    """Read the conformance.json of a run. `path` is the file or its folder.

    Anybody may have written it, so its texts may be shown only after secrets in them were redacted. Raises
    UnreadableError.
    """
    file = path / FILE if os.path.isdir(path) else path
    try:
        run = validated(json.loads(_content_of(file, MOST_BYTES)), EarlierRun)
        read_moment(run.started)  # the schema permits a day such as 2026-02-31, which is a ValueError here
    except FileNotFoundError:
        why = "no such file"
    except UnreadableError as error:
        why = str(error)
    except (ValueError, RecursionError):
        why = "not JSON of a run"
    else:
        return run
    raise UnreadableError(f"{path}: {why}; expected the {FILE} of a run, or its folder")


def run_in_folder(folder: Path | None) -> EarlierRun | None:
    """Read the conformance.json in the folder of a run; None if `folder` is None, or has no run that can be read."""
    try:
        return read_run(folder) if folder else None
    except UnreadableError:
        return None


_MOST_READ = 100
"""Most runs of an environment that are read. Each takes some milliseconds, and there may be very many, because old runs
are never deleted."""


def runs_of(environment: Path) -> Iterator[tuple[Path, EarlierRun]]:
    """Read the runs in the folder of an environment, the newest first. Yields the folder of each run, and the run.

    The name of a folder begins with the moment when its run started. Only the newest 100 folders are read, because old
    runs are never deleted. Runs that cannot be read are left out, and so are links such as `latest`.
    """
    try:
        folders = [folder for folder in environment.iterdir() if folder.is_dir() and not folder.is_symlink()]
    except OSError:
        return
    newest_first = sorted(folders, reverse=True)
    for folder in newest_first[:_MOST_READ]:
        run = run_in_folder(folder)
        if run:
            yield folder, run


def newest_comparable(runs: Iterable[EarlierRun], later: RunDocument) -> EarlierRun | None:
    """The newest of these runs with which a later run is compared automatically; None if there is none.

    The earlier run must have the same scope: environment, address, selection and permissions. A later run that was
    interrupted is compared with nothing: many requirements were not tested in it, and each would be shown as a change.
    `runs` has the newest run first. It may be an iterator that reads files, so only as many runs are taken from it as
    needed.
    """
    if not came_to_its_end(later):
        return None
    for earlier in runs:
        if is_compared_automatically(earlier, later):
            return earlier
    return None


def comparison_with_other_run(
    later: RunDocument, *, named: EarlierRun | None, before: EarlierRun | None, clean: Callable[[str], str]
) -> Comparison | None:
    """What has changed from another run to the run `later`; None if there is no other run.

    `named` is the run that the user names with --compare-with, which may be of another environment, for example. If
    the user names none, the run is compared with the run `before` it, if both have the same environment, address,
    selection and permissions. `clean` redacts secrets in a text.
    """
    if named:
        return comparison_of_two_runs(named, later, clean)
    if before and is_compared_automatically(before, later):
        return comparison_of_two_runs(before, later, clean)
    return None


def _content_of(path: Path, most_bytes: int) -> bytes:
    """Read a file and return its content, which has at most `most_bytes` bytes.

    Raises FileNotFoundError if there is no file. Raises UnreadableError if it is larger, or no regular file: reading a
    named pipe or a device might never end.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableError("not a file")
            content = file.read(most_bytes + 1)  # one byte more shows that the file is too large
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(str(error.strerror)) from None
    if len(content) > most_bytes:
        raise UnreadableError(f"larger than {most_bytes / 1_000_000:g} MB")
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file for open(), without waiting: a named pipe would wait until somebody writes into it.

    The file descriptor is returned, as an `opener` of open() must do.
    """
    return os.open(path, flags | os.O_NONBLOCK)


def validated(data: Any, model: type[Model]) -> Model:
    """The data of a file as an object of a pydantic model, such as `EarlierRun`.

    Raises UnreadableError if the data do not fit the model. Its message names a member of the file: for an error at
    `requirements/3/verdict` it is `requirements`. The name of a member that the model does not have is not in the
    message, because anybody may have written it into the file.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = first_error["loc"]
        # The path of an unknown member ends with its name. So only a path of one part begins with an unknown name. A
        # longer path begins with a known member around the error, such as `requirements`.
        is_unknown_member_of_file = first_error["type"] == "extra_forbidden" and len(path) == 1
        has_known_name = bool(path) and not is_unknown_member_of_file
        member = path[0] if has_known_name else "a member"
        raise UnreadableError(f"{member} is not as the suite writes it") from None


# -- the record ---------------------------------------------------------------------------------------------------


FORMAT = 2
"""Version of the format of a record. A record of another version is not read."""
MOST_BYTES_OF_RECORD = 1_000_000
"""Most bytes of a record that is read: thirty times as many as a record with many facts has. PyYAML reads some 200 kB
in a second, so that reading takes a few seconds at most."""
_HEAD = """\
# What was observed of this environment where the interface document does not show it: statuses, names and types, and
# no value of an answer. `pytest --environment={environment} --accept` writes it. Each run is compared with it, and says
# what drifts. Keep it beside the profile.
"""
"""Comments for people at the start of a record."""


def record_of(environment: str, accepted: Behaviour) -> Record:
    """The record to write for an environment: behaviour of its service that somebody accepts as right today.

    The pydantic model `Record` has limits, such as the number of facts. They are not checked here, but when a record is
    read. Otherwise a run that observed too much would end with an error and without its report.
    """
    # `model_construct` of pydantic checks nothing.
    return Record.model_construct(
        format=FORMAT,
        environment=environment,
        accepted=today().isoformat(),
        suite_version=VERSION,
        observations=data_of_behaviour(accepted),
    )


def merged_behaviour(accepted_before: Behaviour, observed: Behaviour) -> Behaviour:
    """The behaviour to write into the record (the file of accepted behaviour) when somebody accepts this run.

    It has what this run observed. What this run did not test is taken from the record so far (`accepted_before`).
    """
    ids_in_order = [id for id in requirements() if id in accepted_before or id in observed]
    return {id: _accepted_situations(accepted_before.get(id, {}), observed.get(id, {})) for id in ids_in_order}


def _accepted_situations(accepted_before: Situations, observed: Situations) -> Situations:
    """For one requirement, the facts to write into the record, by situation (what was sent, in words).

    A fact is a pair of a place in an answer and a type, such as ("/data/*/id", "string"). All facts of this run
    (`observed`) are written. A fact of the record so far (`accepted_before`) stays if this run shows nothing about it:
    the run did not test the situation, or the place has no value now. For example, the fact above stays if the array
    `data` is empty now.
    """
    nothing: Facts = frozenset()
    accepted = {}
    for situation in sorted({*accepted_before, *observed}):
        accepted[situation] = updated_facts(accepted_before.get(situation, nothing), observed.get(situation, nothing))
    return accepted


def write_record(path: Path, record: Record) -> None:
    """Write the record as YAML, with comments for people at its start. Raises OSError."""
    # The members keep their order. A list without further lists in it is written in one line: [null, string].
    text = yaml.dump(
        dict(record), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
    )
    write_private_file(path, _HEAD.format(environment=record.environment) + text)


class _PlainDumper(yaml.SafeDumper):
    """Writes an empty key as `'': value`, like any other key. PyYAML would write `? ''` on a line of its own."""

    def check_simple_key(self) -> bool:
        """True if a key is written on one line with its value. PyYAML calls this for each key.

        PyYAML itself says no for a key that is an empty text. In a record this key is frequent: it is the JSON pointer
        to the answer as a whole.
        """
        is_empty = isinstance(self.event, yaml.ScalarEvent) and not self.event.value
        return is_empty or bool(super().check_simple_key())


def read_record(path: Path) -> Record | None:
    """Read the record of an environment: how its service behaved when the user accepted that (`pytest --accept`).

    None if there is no file. Raises UnreadableError, whose message says what to do, if the file cannot be read.
    """
    try:
        text = _content_of(path, MOST_BYTES_OF_RECORD).decode("utf-8-sig")
        return validated(parse_yaml(text, path.name).data, Record)
    except FileNotFoundError:
        return None
    except UnreadableError as error:
        why = str(error)
    except (UnicodeDecodeError, ProfileError):  # `parse_yaml` raises ProfileError for any file that is no YAML
        why = "not YAML as --accept writes it"
    remedy = "restore the file, or delete it and run pytest --accept"
    raise UnreadableError(f"{path_in_messages(path)}: {why}; {remedy}")
