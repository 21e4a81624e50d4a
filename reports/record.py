"""The record: `<name>.observed.yaml` beside a profile, what was observed and accepted of that environment.

Written whole, readable and in one order, so that a change is a change of few lines. It is read as untrusted: bounded,
strict, validated; no message repeats what it holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from environments.profiles.checked_yaml import document
from environments.profiles.model import ProfileError, shown, today
from reports.behaviour import Behaviour, Data, data_of_behaviour
from reports.provenance import VERSION
from reports.reading import UnreadableError, check, content_of
from reports.writing import write
from spec.facts import updated
from spec.requirements import requirements

FORMAT = 2
MOST_BYTES = 1_000_000
"""Thirty times a record of many facts. PyYAML reads some 200 kB in a second."""
_SCHEMA = Path(__file__).with_name("record.schema.json")
_HEAD = """\
# What was observed of this environment where the interface document does not show it: statuses, names and types, and
# no value of an answer. `pytest --environment={environment} --accept` writes it. Each run is compared with it, and says
# what drifts. Keep it beside the profile.
"""


def record_of(environment: str, accepted: Behaviour) -> Data:
    """The content of a record that is accepted today."""
    return {
        "format": FORMAT,
        "environment": environment,
        "accepted": today().isoformat(),
        "suite_version": VERSION,
        "observations": data_of_behaviour(accepted),
    }


def accepting(was: Behaviour, seen: Behaviour) -> Behaviour:
    """The behaviour with what a run saw in place of what it had; what the run did not exercise stays, at each place."""
    both = {id: (was.get(id, {}), seen.get(id, {})) for id in requirements() if id in was or id in seen}
    return {
        id: {each: updated(old.get(each, frozenset()), new.get(each, frozenset())) for each in sorted({*old, *new})}
        for id, (old, new) in both.items()
    }


def write_record(path: Path, record: Data) -> None:
    """Write the file. Raises OSError."""
    text = yaml.dump(record, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    write(path, _HEAD.format(environment=record["environment"]) + text)


class _Plain(yaml.SafeDumper):
    def check_simple_key(self) -> bool:
        """An empty text is a key like any other; PyYAML writes `? ''` otherwise."""
        is_empty = isinstance(self.event, yaml.ScalarEvent) and not self.event.value
        return is_empty or bool(super().check_simple_key())


def read_record(path: Path) -> Data | None:
    """The record at that path, as it is; None where there is none. Raises UnreadableError."""
    try:
        data: Any = document(content_of(path, MOST_BYTES).decode("utf-8-sig"), path.name).data
        check(data, _SCHEMA)
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, ProfileError, UnreadableError) as error:
        why = error if isinstance(error, UnreadableError) else "not YAML as --accept writes it"
        remedy = "restore the file, or delete it and run pytest --accept"
        raise UnreadableError(f"{shown(path)}: {why}; {remedy}") from None
    return dict(data)
