"""Reads the conformance.json of another run. The file may come from anywhere: it is limited in size, read strictly,
validated, and what is shown of it is cleaned.
"""

from __future__ import annotations

import json
import os
import re
from errno import ELOOP
from pathlib import Path
from typing import Any

import jsonschema_rs

from reports.bounded_files import PUBLISHED, OddFileError, content_of, first_error
from reports.formats.conformance_json import FILE, FORMAT
from reports.moments import read_moment

MOST_BYTES = 50_000_000
"""A run of 100,000 exchanges has half of it."""
MOST_VALUES = 2_000_000
NEEDED = Path(__file__).with_name("comparable.schema.json")
"""What a comparison reads, of any version. `observed` is read of this version alone: each has its own form."""
_OBSERVED = "observed"
_NAME = re.compile(r"[^A-Za-z0-9_.-]")


class UnreadableError(Exception):
    """Why a file is not read: one line, without anything that the file holds."""


def read(path: Path, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The conformance.json at `path`, or in that folder, as it is: nothing of it may be shown. Raises
    UnreadableError."""
    return _validated(_parsed(_content(path / FILE if os.path.isdir(path) else path, most_bytes)))


def _content(path: Path, most_bytes: int) -> bytes:
    """The content of the file, which leads nowhere else."""
    try:
        return content_of(path, most_bytes, flags=os.O_NOFOLLOW)
    except OddFileError as error:
        raise UnreadableError(f"{error}; expected the {FILE} of a run, or its folder") from None
    except FileNotFoundError:
        raise UnreadableError(f"no such file; expected the {FILE} of a run, or its folder") from None
    except OSError as error:
        link = "a symbolic link; name the file that it leads to"
        raise UnreadableError(f"cannot be read: {link if error.errno == ELOOP else error.strerror}") from None
    except ValueError:
        raise UnreadableError("not a path") from None


def _parsed(content: bytes) -> Any:
    """The JSON value, read to the letter: no repeated member, no NaN."""
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise UnreadableError(f"more than {MOST_VALUES:,} values; expected the {FILE} of a run")
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refuse)
    except RecursionError:
        raise UnreadableError(f"nested too deeply; expected the {FILE} of a run") from None
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not UTF-8 at byte {error.start}; expected the {FILE} of a run") from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"not JSON at line {error.lineno}, column {error.colno}") from None
    except ValueError:
        raise UnreadableError(f"a number of too many digits; expected the {FILE} of a run") from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableError(f"a member that appears twice; expected the {FILE} of a run")
    return found


def _refuse(name: str) -> None:
    raise UnreadableError(f"{name} is not JSON")


def _validated(document: Any) -> dict[str, Any]:
    _validate(document, NEEDED)
    if document.get("format") == FORMAT:
        _validate(document, PUBLISHED)
    else:
        document.pop(_OBSERVED, None)
    try:
        read_moment(document["started"])
    except ValueError:
        raise UnreadableError(f"started is no day and time; expected the {FILE} of a run") from None
    found: dict[str, Any] = document
    return found


def _validate(document: Any, schema: Path) -> None:
    try:
        error = first_error(document, schema)
    except UnicodeError:
        why = "half of a surrogate pair, which is no character"
        raise UnreadableError(f"{why}; expected the {FILE} of a run") from None
    except ValueError:  # the limit of the validator
        raise UnreadableError(f"nested too deeply; expected the {FILE} of a run") from None
    if error is not None:
        raise UnreadableError(f"{_problem(error)}; expected the {FILE} of a run")


def _problem(error: jsonschema_rs.ValidationError) -> str:
    """Where the document is not as it should be. What is read there is not repeated."""
    place = [_NAME.sub("?", str(part))[:50] for part in error.instance_path]
    if place[:1] == [_OBSERVED]:
        place = [_OBSERVED]  # what stands below is named by what was observed
    if place == ["format"]:
        return "format: not one that this version of the suite reads"
    if missing := getattr(error.kind, "property", ""):
        return f"{'/'.join([*place, missing])} is missing"
    return f"{'/'.join(place) or 'the whole'} is not what a run writes"
