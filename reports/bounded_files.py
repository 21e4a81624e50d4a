"""Reads files that anybody may have written: regular ones, and no more of them than is expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
        raise OddFileError(f"larger than {most_bytes // 1_000_000} MB")
    return content
