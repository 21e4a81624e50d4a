"""Reads files that anybody may have written: regular ones, no more of them than is expected, and what a schema says."""

from __future__ import annotations

import json
import os
import stat
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

PUBLISHED = Path(__file__).with_name("conformance.schema.json")
"""All of a conformance.json, of this version. Other schemas have its definitions, too."""


class OddFileError(Exception):
    """Why a file that is there is not read: a few words, without anything that it holds."""


def content_of(path: Path, most_bytes: int, *, flags: int = 0) -> bytes:
    """The content of a regular file, of nothing that may block or go on for ever; `flags` are more of those of os.open.
    Raises OddFileError, OSError, and ValueError for what is no path."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OddFileError("not a file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(most_bytes + 1)
    finally:
        os.close(descriptor)
    if len(content) > most_bytes:
        raise OddFileError(f"larger than {in_megabytes(most_bytes)}")
    return content


def in_megabytes(size: int) -> str:
    """A number of bytes, as a message says it."""
    return f"{size / 1_000_000:g} MB"


def first_error(data: Any, schema: Path) -> jsonschema_rs.ValidationError | None:
    """The first error by a schema; None where there is none. Raises ValueError for what is nested too deeply for the
    validator, and UnicodeError, which is one, for half of a surrogate pair."""
    try:
        _validator(schema).validate(data)  # iter_errors makes all errors first, each with the data that it is of
    except jsonschema_rs.ValidationError as error:
        return error
    return None


@cache
def _validator(schema: Path) -> jsonschema_rs.Draft202012Validator:
    own, published = (json.loads(file.read_text("utf-8")) for file in (schema, PUBLISHED))
    return jsonschema_rs.Draft202012Validator(own | {"$defs": published["$defs"] | own.get("$defs", {})})
