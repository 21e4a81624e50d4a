"""Every field of both results: missing, of each wrong JSON type, and misspelled. Generated from the schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from environments.sandbox import Data
from spec.interface import Field, operations
from spec.requirements import ledger
from spec.rules import RULES, Outcome, judge
from tests.selftest.exchanges import EXECUTION, REGISTRATION, execution, registration
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
_EXAMPLE_WARNS = ("executePix.error", "registerPixKey.Key")
"""Fields of which one value is shown, and it is null."""
_OBSERVED_OF_ANY_TYPE = ("executePix.accountType", "executePix.status")
"""Fields of which a value of the wrong type is observed, too."""


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
    field = f"{operation}.{name}"

    def change(data: Data) -> Data:
        return {key: value for key, value in data.items() if key != name}

    broken(
        "field missing",
        f"{SUBJECT[operation]}{_upper(name)}Missing",
        f"The field {name} is not there.",
        Results,
        f"{field}.present",
        hides=(*_not_judged(field, change), *_not_observed(field), *_unseen(field, None)),
        OPERATION=operation,
        change=fixed(change),
    )


def _wrong_type(operation: str, name: str, word: str, value: Any) -> None:
    field = f"{operation}.{name}"

    def change(data: Data) -> Data:
        return data | {name: value}

    unobserved = () if field in _OBSERVED_OF_ANY_TYPE else _not_observed(field)
    broken(
        "field of a wrong type",
        f"{SUBJECT[operation]}{_upper(name)}As{word}",
        f"The field {name} is {_noun(word)}.",
        Results,
        f"{field}.type",
        warns=(f"{field}.example",) if field in _EXAMPLE_WARNS else (),
        hides=(*_not_judged(field, change), *unobserved, *_unseen(field, value)),
        OPERATION=operation,
        change=fixed(change),
    )


def _misspelled(operation: str, name: str, spelling: str) -> None:
    field = f"{operation}.{name}"
    lower = operation == "registerPixKey" and spelling[0].islower()

    def change(data: Data) -> Data:
        return {spelling if key == name else key: value for key, value in data.items()}

    broken(
        "field misspelled",
        f"{SUBJECT[operation]}{_upper(name)}Spelled_{spelling}",
        f"The field {name} is spelled {spelling}.",
        Results,
        f"{field}.spelling",
        *(["registerPixKey.fields.upperCase"] if lower else []),
        hides=(*_not_judged(field, change), *_not_observed(field)),
        OPERATION=operation,
        change=fixed(change),
    )


def _not_judged(field: str, change: Callable[[Data], Data]) -> list[str]:
    """The requirements of the field whose rule is inconclusive about the changed result."""
    changed = execution(change(EXECUTION)) if field.startswith("executePix.") else registration(change(REGISTRATION))
    rules = [id for id in RULES if id.startswith(f"{field}.")]
    return [id for id in rules if judge(id, changed).outcome is Outcome.INCONCLUSIVE]


def _not_observed(field: str) -> list[str]:
    """What the run would observe of the field if it found it."""
    observed = [one.id for one in ledger().values() if one.level == "not-shown" and not one.untestable]
    return [id for id in observed if id.startswith(f"{field}.")]


def _unseen(field: str, value: Any) -> tuple[str, ...]:
    """Without a Success that says true the suite takes no key for registered, and deletes none."""
    return UNREGISTERED if field == "registerPixKey.Success" and value is not True else ()


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
