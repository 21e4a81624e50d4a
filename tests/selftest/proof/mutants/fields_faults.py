"""Every member of the envelope and field of a result: missing, of each wrong type, misspelled; and envelopes of another
shape. Generated from the schema."""

import json
import re

from spec.findings import Conclusion
from spec.interface import operations
from spec.requirements import requirements
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, REGISTRATION_RESULT, answer
from tests.selftest.proof.mutants.making_faults import (
    HIDES_REGISTRATION,
    NAME_OF_OPERATION,
    ChangesEnvelopes,
    ChangesResults,
    declare_mutant_of,
    without_self,
)
from tests.selftest.proof.registry import ids_of_operation

WRONG = {"Text": "7", "Integer": 7, "Fraction": 1.5, "Boolean": True, "Null": None, "Object": {}, "Array": []}
"""One value of each JSON type, integers and fractions apart."""
_FITS = {
    "string": {"Text"},
    "integer": {"Integer"},
    "number": {"Integer", "Fraction"},
    "null": {"Null"},
    "object": {"Object"},
}
_EXAMPLE_WARNS = ("error", "Key")
"""Fields of which one value is shown, and it is null."""
_OBSERVED_OF_ANY_TYPE = ("executePix.accountType", "executePix.status")
"""Fields of which a value of the wrong type is observed, too."""
_WITHOUT_DATA = {
    "executePix": ("fields.extra", "envelope.result"),
    "registerPixKey": ("fields.extra", "fields.upperCase", "envelope.result"),
    "deletePixKey": (),
}
"""What goes unseen without an object data, beyond the fields that stand in it."""


def wrong_types(types):
    """The values that are of none of these JSON types."""
    fits = set().union(*(_FITS.get(kind, set()) for kind in types))
    return {word: value for word, value in WRONG.items() if word not in fits}


def misspellings(name):
    """The other first letter, snake_case and ALL CAPS, where they differ from the name and from each other."""
    snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    found = dict.fromkeys([name[0].swapcase() + name[1:], snake, name.upper()])
    return [spelling for spelling in found if spelling != name]


def _names(operation):
    return tuple(field.name for field in operations()[operation].result)


def _all_fields(operation):
    return ids_of_operation(operation, *_WITHOUT_DATA[operation], *(f"{name}.*" for name in _names(operation)))


def _not_judged(operation, path, change):
    """The requirements of the member whose rule is inconclusive about the changed envelope."""
    data = {"executePix": EXECUTION_RESULT, "registerPixKey": REGISTRATION_RESULT}.get(operation, {})
    envelope = {"code": 0, "data": data}
    changed = answer(operation, change(envelope) if "." in path else envelope | {"data": change(data)}, sent=_SENT)
    rules = [id for id in RULES if id.startswith(f"{operation}.{path}.")]
    unseen = [id for id in rules if judge(id, changed).conclusion is Conclusion.INCONCLUSIVE]
    return [*unseen, *(["executePix.value.matches"] if path == "value" else [])]  # no rule, but a judgement


_SENT = {"account": "a", "pixKeyType": "RANDOM", "pixKey": ""}


def _not_observed(member):
    """What the run would observe of the member if it found it."""
    observed = [one.id for one in requirements().values() if one.level == "not-shown" and not one.untestable]
    return [id for id in observed if id.startswith(f"{member}.") and id != _SEEN_BEFORE]


_SEEN_BEFORE = "executePix.status.transitions"
"""Observed in the answer to the preparation."""


def _ungranted(operation, path, value):
    """Without data, or a Success that says true, the suite takes no key for registered, and deletes none."""
    unread = path == "envelope.data" or (path == "Success" and value is not True)
    return HIDES_REGISTRATION if operation == "registerPixKey" and unread else ()


def _faults(operation, path, base, types):
    """A member that is missing, of each wrong type and in each wrong spelling."""
    name = path.split(".")[-1]
    sort = "field" if base is ChangesResults else "envelope member"
    named = "".join(part[0].upper() + part[1:] for part in path.split("."))
    unread = _all_fields(operation) if path == "envelope.data" else ()

    def damaged(fault, change, word, text, rule, *fails, **expected):
        hides = (*expected.pop("hides", ()), *_not_judged(operation, path, change))
        declare_mutant_of(
            f"{sort} {fault}", operation, f"{named}{word}", f"The {sort} {name} is {text}.", base, f"{path}.{rule}", *fails,
            hides=hides, change=without_self(change), **expected,
        )  # fmt: skip

    damaged(
        "missing", lambda data: {key: value for key, value in data.items() if key != name}, "Missing", "not there", "present",
        hides=(*unread, *_not_observed(f"{operation}.{path}"), *_ungranted(operation, path, None)),
    )  # fmt: skip
    for word, wrong in wrong_types(types).items():
        unobserved = () if f"{operation}.{path}" in _OBSERVED_OF_ANY_TYPE else _not_observed(f"{operation}.{path}")
        damaged(
            "of a wrong type", lambda data, wrong=wrong: data | {name: wrong}, f"As{word}", f"of the type {word.lower()}", "type",
            warns=(f"{path}.example",) if path in _EXAMPLE_WARNS else (),
            hides=(*unread, *unobserved, *_ungranted(operation, path, wrong)),
        )  # fmt: skip
    for spelling in misspellings(name):
        lower = (operation, sort) == ("registerPixKey", "field") and spelling[0].islower()
        damaged(
            "misspelled", lambda data, spelling=spelling: {spelling if key == name else key: data[key] for key in data},
            f"Spelled_{spelling}", f"spelled {spelling}", "spelling", *(["fields.upperCase"] if lower else []),
            hides=_not_observed(f"{operation}.{path}"),
        )  # fmt: skip


_BOTH = ("envelope.code.present", "envelope.data.present")
_INSIDE = ("envelope.code.*", "envelope.data.*")
SHAPES = {
    "EnvelopeBare": (
        "The data stands there without its envelope.", _BOTH, _INSIDE, (), lambda envelope: envelope["data"],
    ),
    "EnvelopeNested": (
        "The envelope stands inside another object.", _BOTH, _INSIDE, (), lambda envelope: {"response": envelope},
    ),
    "EnvelopeInAnArray": (
        "The envelope stands in an array.", ("envelope.object",), _INSIDE, (), lambda envelope: [envelope],
    ),
    "EnvelopeAsText": ("The envelope is text that holds JSON.", ("envelope.object",), _INSIDE, HIDES_REGISTRATION, json.dumps),
    "EnvelopeNull": ("The answer is null.", ("envelope.object",), _INSIDE, HIDES_REGISTRATION, lambda envelope: None),
    "DataAsJsonText": (
        "The data is text that holds JSON.", ("envelope.data.type",), (), HIDES_REGISTRATION,
        lambda envelope: envelope | {"data": json.dumps(envelope["data"])},
    ),
    "DataInAnArray": (
        "The data is an array with the result in it.", ("envelope.data.type",), (), (),
        lambda envelope: envelope | {"data": [envelope["data"]]},
    ),
}  # fmt: skip
"""What the answer looks like, what fails, what goes unseen of the envelope, and what of a registration."""

for _operation, _described in ((name, operations()[name]) for name in NAME_OF_OPERATION):
    for _field in _described.result:
        _faults(_operation, _field.name, ChangesResults, _field.types)
    _faults(_operation, "envelope.code", ChangesEnvelopes, ("integer",))
    _faults(_operation, "envelope.data", ChangesEnvelopes, ("object",))
    for _name, (_text, _fails, _unseen, _unregistered, _change) in SHAPES.items():
        declare_mutant_of(
            "envelope of another shape", _operation, _name, _text, ChangesEnvelopes, *_fails, change=without_self(_change),
            hides=(
                *ids_of_operation(_operation, *_unseen), *_all_fields(_operation),
                *(_unregistered if _operation == "registerPixKey" else ()),
            ),
        )  # fmt: skip
for _operation, _case in {"executePix": (), "registerPixKey": ("fields.upperCase",)}.items():
    declare_mutant_of(
        "envelope of another shape", _operation, "EnvelopeDoubled", "The data holds the envelope once more.", ChangesEnvelopes,
        "envelope.result", *(f"{name}.present" for name in _names(_operation)), warns=("fields.extra",),
        hides=ids_of_operation(_operation, *(f"{name}.*" for name in _names(_operation)), *_case),
        change=without_self(lambda envelope: {"code": 0, "data": envelope}),
    )  # fmt: skip
