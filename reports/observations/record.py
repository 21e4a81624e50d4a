"""The record: `<name>.observed.yaml` beside a profile, what was observed and accepted of that environment.

Written whole, readable and in one order, so that a change is a change of few lines. It is read as untrusted: bounded,
strict, validated; no message repeats what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from errno import EFBIG
from pathlib import Path
from typing import Any

import yaml

from environments.profiles.checked_yaml import parsed
from environments.profiles.profile import ProfileError, shown
from reports.bounded_files import OddFileError, content_of, first_error, in_megabytes
from reports.observations.behaviour import (
    Behaviour,
    behaviour_of,
    data_of_behaviour,
    redacted_behaviour,
)
from reports.writing import write
from spec.facts import updated
from spec.message import Text, say, say_many
from spec.requirements import ledger

FORMAT = 2
MOST_BYTES = 300_000
"""Ten times a record of many facts. PyYAML reads some 200 kB in a second."""
_SCHEMA = Path(__file__).with_name("record.schema.json")
_WIDTH = 120
_HEAD = """\
# What was observed of this environment where the interface document does not show it: statuses, names and types, and
# no value of an answer. `pytest --environment={environment} --accept` writes it. Each run is compared with it, and says
# what drifts. Keep it beside the profile.
"""


class RecordError(Exception):
    """Why a record is not read: one line, without anything that it holds."""


@dataclass(frozen=True)
class Record:
    """What was observed of an environment up to the day on which it was accepted. `unknown`: how many more ids
    it has, of no requirement."""

    environment: str
    accepted: date
    suite_version: str
    behaviour: Behaviour
    unknown: int = 0

    def accepting(self, seen: Behaviour) -> Behaviour:
        """The behaviour with what a run saw in place of what it had; what that run did not exercise stays, place by
        place."""
        both = {id: (self.behaviour.get(id, {}), seen.get(id, {})) for id in ledger()}
        return {
            id: {each: updated(was.get(each, frozenset()), now.get(each, frozenset())) for each in sorted({*was, *now})}
            for id, (was, now) in both.items()
            if was or now
        }

    def redacted(self, redact: Callable[[str], str]) -> Record:
        """The record without known values in what stands in the file."""
        version, behaviour = redact(self.suite_version), redacted_behaviour(self.behaviour, redact)
        return replace(self, suite_version=version, behaviour=behaviour)

    def data(self) -> dict[str, str]:
        """What identifies it in a conformance.json."""
        return {"accepted": self.accepted.isoformat(), "suite_version": self.suite_version}


def text_of_record(record: Record) -> str:
    """The text of the file."""
    data = {
        "format": FORMAT,
        "environment": record.environment,
        "accepted": record.accepted,
        "suite_version": record.suite_version,
        "observations": data_of_behaviour(record.behaviour),
    }
    text: str = yaml.dump(
        data, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=_WIDTH, default_flow_style=None
    )
    return _HEAD.format(environment=record.environment) + text


def write_record(path: Path, record: Record) -> None:
    """Write the file. Raises OSError, also for what would be too large to be read again."""
    text = text_of_record(record)
    if len(text.encode("utf-8", "backslashreplace")) > MOST_BYTES:
        raise OSError(EFBIG, f"it would be larger than {in_megabytes(MOST_BYTES)}")
    write(path, text)


class _Plain(yaml.SafeDumper):
    """Without anchors: what is there twice is written twice."""

    def check_simple_key(self) -> bool:
        """An empty text is a key like any other; PyYAML writes `? ''` otherwise."""
        is_empty = isinstance(self.event, yaml.ScalarEvent) and not self.event.value
        return is_empty or bool(super().check_simple_key())

    def ignore_aliases(self, data: Any) -> bool:
        return True


def read_record(path: Path) -> Record | None:
    """The record at that path, as it is; None where there is none. Raises RecordError."""
    content = _content(path)
    if content is None:
        return None
    try:
        data = parsed(content.decode("utf-8-sig"), shown(path), aliases=False)
    except UnicodeDecodeError as error:
        raise RecordError(f"{shown(path)}: not UTF-8 at byte {error.start + 1}; {_REMEDY}") from None
    except ProfileError as error:
        raise RecordError(f"{error}; {_REMEDY}") from None
    if why := _problem(data):
        raise RecordError(f"{shown(path)}: {why}; {_REMEDY}")
    return _record(data, path)


_REMEDY = "restore the file, or delete it and run pytest --accept"


def _record(data: Mapping[str, Any], path: Path) -> Record:
    known = {id: situations for id, situations in data["observations"].items() if id in ledger()}
    try:
        accepted, behaviour = date.fromisoformat(data["accepted"]), behaviour_of(known)
    except ValueError:  # no such day
        raise RecordError(f"{shown(path)}: not what --accept writes; {_REMEDY}") from None
    unknown = len(data["observations"]) - len(known)
    return Record(data["environment"], accepted, data["suite_version"], behaviour, unknown)


def _content(path: Path) -> bytes | None:
    """The content of the file; None where there is none."""
    try:
        return content_of(path, MOST_BYTES)
    except FileNotFoundError:
        return None
    except OddFileError as error:
        raise RecordError(f"{shown(path)}: {error}; {_REMEDY}") from None
    except OSError as error:
        raise RecordError(f"{shown(path)}: cannot be read: {error.strerror}") from None


def _problem(data: Any) -> str:
    """What is not as `--accept` writes it; empty where all is."""
    if not isinstance(data, Mapping):
        return "not a record of what was observed"
    if data.get("format") != FORMAT or isinstance(data["format"], bool):
        return f"format: expected {FORMAT}, which this version of the suite reads"
    try:
        error = first_error(data, _SCHEMA)
    except ValueError:  # the limit of the validator
        return "nested too deeply"
    if error is not None:
        place = next(iter(error.instance_path), None) or getattr(error.kind, "property", "")
        return f"{place if place in _MEMBERS else 'a member'} is not what --accept writes"
    return ""


_MEMBERS = ("environment", "accepted", "suite_version", "observations")


# -- what is said of a record ----------------------------------------------------------------------------------------


def unknown_in_words(count: int) -> Text:
    """What is said of entries of a record that are of no requirement."""
    return say_many(
        "the record has {n} requirement that this version of the suite does not have: "
        "the next pytest --accept drops it",
        "the record has {n} requirements that this version of the suite does not have: "
        "the next pytest --accept drops them",
        n=count,
    )


def odd_in_words(record: Record, environment: str, today: date) -> Iterator[Text]:
    """What is said of a record that may not be the right one for a run of the environment."""
    if record.environment != environment:
        yield say("the record is that of another environment: check that it is meant for this one")
    if record.accepted > today:
        yield say("the record was accepted in the future: check the clock of the machine that wrote it")
    if record.unknown:
        yield unknown_in_words(record.unknown)
