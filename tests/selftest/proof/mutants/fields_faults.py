"""Every field of both results: missing, of each wrong JSON type, and misspelled. Generated from the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from spec.interface import Field, operations
from tests.selftest.proof.mutants.making_faults import SUBJECT, UNREGISTERED, Results, fixed
from tests.selftest.proof.registry import broken

WRONG = {"Text": "7", "Integer": 7, "Fraction": 1.5, "Boolean": True, "Null": None, "Object": {}, "Array": []}
"""One value of each JSON type, integers and fractions apart."""
_FITS = {
    "string": {"Text"},
    "integer": {"Integer"},
    "number": {"Integer", "Fraction"},
    "null": {"Null"},
}
_MISSING_HIDES = {
    "executePix.id": ("matches",),
    "executePix.date": ("unit",),
    "executePix.accountType": ("meaning",),
    "executePix.document": ("masked", "partly"),
    "executePix.type": ("kind", "example"),
    "executePix.status": ("example", "values"),
    "executePix.error": ("example",),
    "registerPixKey.Success": ("text", "letterCase", "example"),
    "registerPixKey.Key": ("example",),
}
"""What a missing field hides beyond its own type and spelling."""
_WRONG_TYPE_HIDES = {
    "executePix.id": ("matches",),
    "executePix.date": ("unit",),
    "executePix.document": ("masked", "partly"),
    "executePix.type": ("kind", "example"),
    "executePix.status": ("example",),
    "registerPixKey.Success": ("text", "letterCase", "example"),
}
_EXAMPLE_WARNS = ("executePix.error", "registerPixKey.Key")
"""Fields of which one value is shown, and it is null."""
_MISSPELLED_HIDES = {
    "executePix.id": ("matches",),
    "executePix.date": ("unit",),
    "executePix.accountType": ("meaning",),
    "executePix.status": ("values",),
    "executePix.error": ("example",),
    "registerPixKey.Key": ("example",),
}


def wrong_types(types: tuple[str, ...]) -> dict[str, Any]:
    """The values that are of none of these JSON types."""
    fits = set().union(*(_FITS.get(kind, set()) for kind in types))
    return {word: value for word, value in WRONG.items() if word not in fits}


def misspellings(name: str) -> list[str]:
    """The other first letter, snake_case and ALL CAPS, where they differ from the name and from each other."""
    snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    found = dict.fromkeys([name[0].swapcase() + name[1:], snake, name.upper()])
    return [spelling for spelling in found if spelling != name]


def _missing(operation: str, name: str) -> None:
    row = f"{operation}.{name}"
    hides = [f"{row}.type", f"{row}.spelling", *_further(row, _MISSING_HIDES)]
    broken(
        "field missing",
        f"{SUBJECT[operation]}{_upper(name)}Missing",
        f"The field {name} is not there.",
        Results,
        f"{row}.present",
        hides=(*hides, *_unseen(row, None)),
        OPERATION=operation,
        change=fixed(lambda data: {key: value for key, value in data.items() if key != name}),
    )


def _wrong_type(operation: str, name: str, word: str, value: Any) -> None:
    row = f"{operation}.{name}"
    broken(
        "field of a wrong type",
        f"{SUBJECT[operation]}{_upper(name)}As{word}",
        f"The field {name} is {_noun(word)}.",
        Results,
        f"{row}.type",
        warns=(f"{row}.example",) if row in _EXAMPLE_WARNS else (),
        hides=(*_further(row, _WRONG_TYPE_HIDES), *_unseen(row, value)),
        OPERATION=operation,
        change=fixed(lambda data: data | {name: value}),
    )


def _misspelled(operation: str, name: str, spelling: str) -> None:
    row = f"{operation}.{name}"
    lower = operation == "registerPixKey" and spelling[0].islower()
    broken(
        "field misspelled",
        f"{SUBJECT[operation]}{_upper(name)}Spelled_{spelling}",
        f"The field {name} is spelled {spelling}.",
        Results,
        f"{row}.spelling",
        *(["registerPixKey.fields.upperCase"] if lower else []),
        hides=_further(row, _MISSPELLED_HIDES),
        OPERATION=operation,
        change=fixed(lambda data: {spelling if key == name else key: value for key, value in data.items()}),
    )


def _further(row: str, table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(f"{row}.{what}" for what in table.get(row, ()))


def _unseen(row: str, value: Any) -> tuple[str, ...]:
    """Without a Success that says true the suite takes no key for registered, and deletes none."""
    return UNREGISTERED if row == "registerPixKey.Success" and value is not True else ()


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]


def _noun(word: str) -> str:
    return {"Null": "null", "Text": "text", "Fraction": "a number with a fraction"}.get(
        word, f"{'an' if word[0] in 'IOA' else 'a'} {word.lower()}"
    )


def _fields() -> Iterator[tuple[str, Field]]:
    return ((op.id, field) for op in operations().values() for field in op.result)


for _operation, _field in _fields():
    _missing(_operation, _field.name)
    for _word, _value in wrong_types(_field.types).items():
        _wrong_type(_operation, _field.name, _word, _value)
    for _spelling in misspellings(_field.name):
        _misspelled(_operation, _field.name, _spelling)
