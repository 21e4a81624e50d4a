"""Files of earlier runs, which anybody may have written: regular, of a limited size, and as a schema says.

No message repeats what a file holds.
"""

from __future__ import annotations

import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from reports.formats.conformance_json import FILE, Document
from reports.wording import read_moment

MOST_BYTES = 50_000_000
"""A run of 100,000 exchanges has half of it."""
PUBLISHED = Path(__file__).with_name("conformance.schema.json")
"""Schema of conformance.json. The other schemas have its definitions, too."""
COMPARABLE = Path(__file__).with_name("comparable.schema.json")
"""Schema of what is read of the conformance.json of another run."""


class UnreadableError(Exception):
    """Why a file is not read: one line, without anything that the file holds."""


def read_run(path: Path) -> Document:
    """The conformance.json at `path`, or in that folder, as it is: nothing of it may be shown. Raises
    UnreadableError."""
    try:
        document: Document = json.loads(content_of(path / FILE if os.path.isdir(path) else path, MOST_BYTES))
        check(document, COMPARABLE)
        read_moment(document["started"])
    except (UnreadableError, FileNotFoundError, ValueError, RecursionError) as error:
        why = {FileNotFoundError: "no such file", UnreadableError: error}.get(type(error), "not JSON of a run")
        raise UnreadableError(f"{path}: {why}; expected the {FILE} of a run, or its folder") from None
    return document


def content_of(path: Path, most_bytes: int) -> bytes:
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


def check(data: Any, schema: Path) -> None:
    """UnreadableError for what is not as the schema says, with the member in which the first error is."""
    try:
        _validator(schema).validate(data)  # iter_errors makes all errors first, each with the data that it is of
    except jsonschema_rs.ValidationError as error:
        place = next(iter(error.instance_path), None) or getattr(error.kind, "property", "") or "a member"
        raise UnreadableError(f"{place} is not as the suite writes it") from None
    except ValueError:  # a limit of the validator
        raise UnreadableError("nested too deeply") from None


@cache
def _validator(schema: Path) -> jsonschema_rs.Draft202012Validator:
    own, published = (json.loads(file.read_text("utf-8")) for file in (schema, PUBLISHED))
    return jsonschema_rs.Draft202012Validator(own | {"$defs": published["$defs"] | own.get("$defs", {})})
