"""Large bodies are kept compressed: a run keeps every answer, and a service may answer megabytes each time."""

from __future__ import annotations

import zlib
from functools import lru_cache

from spec.json_text import JsonText, read_json

LARGE = 65_536
"""Bytes from which a body is compressed."""
_READ_AT_ONCE = 8
"""Large bodies whose JSON is held at a time: as many as the answers that one statement is judged by."""


class Packed:
    """A field of a dataclass for bytes, which come out as they went in."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> bytes:
        if instance is None:
            raise AttributeError(f"{self._name} has no default")  # as dataclasses ask for
        kept, large = vars(instance)[self._name]
        return unpacked(kept) if large else kept

    def __set__(self, instance: object, value: bytes) -> None:
        large = len(value) > LARGE
        vars(instance)[self._name] = (zlib.compress(value, 1) if large else value, large)


def unpacked(kept: bytes) -> bytes:
    """The bytes of a large body."""
    return zlib.decompress(kept)


@lru_cache(maxsize=_READ_AT_ONCE)
def read_large(kept: bytes, cut: str) -> JsonText:
    """The JSON of a large body as it is kept."""
    return read_json(unpacked(kept), cut=cut)
