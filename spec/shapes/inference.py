"""Makes the shape of a JSON value, and merges shapes, with GenSON: https://github.com/wolverdude/genson.

GenSON gets no value of an answer. It is given a skeleton: names of a schema, and in place of each text its format.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Any

import jsonschema_rs
from genson import SchemaBuilder
from genson.schema.strategies import Object, String

from spec.json_text import is_integer, is_number
from spec.shapes.data_names import is_data
from spec.shapes.schema_parts import Shape, ordered, places, pruned

FORMATS = ("date", "date-time", "email", "time", "uri", "uuid")
_VALIDATORS = {
    name: jsonschema_rs.Draft202012Validator({"type": "string", "format": name}, validate_formats=True)
    for name in FORMATS
}
_LONGEST_FORMATTED = 300
_DEEPEST = 8
_MOST_NAMES = 100
"""Members of one object. An object with more of them is keyed by data."""
_MOST_PLACES = 1_000
MOST_VALUES = 20_000
"""Values of one answer that a shape is made of, so that none takes longer than a second or two. Each member of an
object has its share of them. What comes after them is not looked at, or is taken for null: nothing is known of it."""
ANY_NAME = ""
"""In a skeleton: the values of all members that are named by data. No name of a schema is empty."""


def shape_of(value: Any) -> Shape:
    """The shape of a JSON value as `json_text` reads it."""
    builder = _Builder()
    builder.add_object(_Skeletons().of(value, _DEEPEST))
    return _bounded(builder.to_schema())


def merged(shapes: Iterable[Shape]) -> Shape:
    """The shape of all values that have one of these shapes, in any order."""
    builder = _Builder()
    for shape in map(ordered, shapes):
        builder.add_schema(shape)
    return _bounded(builder.to_schema())


def _bounded(shape: Shape) -> Shape:
    """The shape in the one way to write it. The deepest levels of one that is too large are left out."""
    found = ordered(shape)
    for depth in range(_DEEPEST, -1, -1):
        if places(found) <= _MOST_PLACES:
            break
        found = pruned(found, depth)
    return found


# -- the skeleton of a value ----------------------------------------------------------------------------------------


class _Skeletons:
    """What GenSON is given in place of the values of one answer: nothing of them but names of a schema."""

    def __init__(self) -> None:
        self.left = MOST_VALUES

    def of(self, value: Any, depth: int) -> Any:
        """The skeleton of a value, of which so many levels count."""
        self.left -= 1
        if isinstance(value, dict | list) and self.left < 0:
            return None
        if isinstance(value, dict):
            return self._members(value if depth > 0 else {}, depth - 1)
        if isinstance(value, list):
            return self._different(value if depth > 0 else [], depth - 1)
        if isinstance(value, str):
            return _format_of(value)
        if is_number(value):
            return 0 if is_integer(value) else 0.5
        return None if value is None else False

    def _different(self, values: Iterable[Any], levels: int) -> list[Any]:
        """The different skeletons of values, sorted."""
        looked_at = takewhile(lambda _: self.left > 0, values)
        found = {repr(skeleton): skeleton for skeleton in (self.of(value, levels) for value in looked_at)}
        return [found[text] for text in sorted(found)]

    def _members(self, value: dict[str, Any], levels: int) -> dict[str, Any]:
        names = {name for name in value if not is_data(name)}
        if len(names) > _MOST_NAMES:
            names = set()
        others = [value[name] for name in value if name not in names]
        found: dict[str, Any] = dict.fromkeys(sorted(names))
        for at, name in enumerate(sorted(names, key=lambda name: (_length(value[name]), name))):
            found[name] = self._share(value[name], levels, len(names) - at + bool(others))
        return found | ({ANY_NAME: self._different(others, levels)} if others else {})

    def _share(self, value: Any, levels: int, shares: int) -> Any:
        """The skeleton of a value that may use one of so many shares of what is left."""
        kept = self.left - self.left // shares
        self.left -= kept
        found = self.of(value, levels)
        self.left += kept
        return found


def _length(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _format_of(text: str) -> str:
    """The name of the format that a text has, or the empty string. Each of the formats is of ASCII characters."""
    if len(text) > _LONGEST_FORMATTED or not text.isascii() or text.isalnum():
        return ""
    found = next((name for name, validator in _VALIDATORS.items() if validator.is_valid(text)), "")
    return "" if found == "uri" and "://" not in text and not text.startswith("urn:") else found


# -- how GenSON takes a skeleton ------------------------------------------------------------------------------------


class _Text(String):
    """Texts of one format, or of none. A skeleton has the name of the format in place of a text."""

    KEYWORDS: tuple[str, ...] = (*String.KEYWORDS, "format")  # type: ignore[assignment]
    FORMAT = ""

    @classmethod
    def match_schema(cls, schema: Shape) -> bool:
        return schema.get("type") == "string" and schema.get("format", "") == cls.FORMAT

    @classmethod
    def match_object(cls, obj: object) -> bool:
        return isinstance(obj, str) and obj == cls.FORMAT

    def to_schema(self) -> Shape:
        return {**super().to_schema(), **({"format": self.FORMAT} if self.FORMAT else {})}


_TEXTS = [_Text, *(type(f"_Text_{name}", (_Text,), {"FORMAT": name}) for name in FORMATS)]


class _Members(Object):
    """Objects with members that a schema names, and with others of any name."""

    KEYWORDS: tuple[str, ...] = (*Object.KEYWORDS, "additionalProperties")  # type: ignore[assignment]

    def __init__(self, node_class: type) -> None:
        super().__init__(node_class)
        self.others = _Builder()

    def add_object(self, obj: dict[str, Any]) -> None:
        """Take the skeleton of an object."""
        super().add_object({name: value for name, value in obj.items() if name != ANY_NAME})
        for value in obj.get(ANY_NAME, ()):
            self.others.add_object(value)

    def add_schema(self, schema: Shape) -> None:
        """Take the shape of objects. One without a type says nothing."""
        if "type" not in schema:
            return
        super().add_schema({"required": [], **schema})
        if "additionalProperties" in schema:
            self.others.add_schema(schema["additionalProperties"])

    def to_schema(self) -> Shape:
        """The shape of the objects. Those with very many names that are not always there are keyed by data."""
        schema = super().to_schema()
        named, required = schema.get("properties", {}), schema.get("required", [])
        others = [self.others.to_schema()] if len(self.others) else []
        optional = [name for name in named if name not in required]
        if len(optional) > _MOST_NAMES:
            others += [named.pop(name) for name in optional]
        found = {"properties": named, "required": required, "additionalProperties": others and merged(others)}
        return {"type": "object"} | {word: value for word, value in found.items() if value}


class _Builder(SchemaBuilder):
    EXTRA_STRATEGIES = (*_TEXTS, _Members)

    def __init__(self) -> None:
        super().__init__(schema_uri=None)
