"""Faults of each member of the envelope and of each field of a result, made from the schema: missing, of each wrong type,
and misspelled. Also envelopes of another shape."""

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
"""Fields of which the interface document shows one value, which is null."""
_OBSERVED_OF_ANY_TYPE = ("executePix.accountType", "executePix.status")
"""Fields whose value is observed even if it is of the wrong type."""
_WITHOUT_DATA = {
    "executePix": ("fields.extra", "envelope.result"),
    "registerPixKey": ("fields.extra", "fields.upperCase", "envelope.result"),
    "deletePixKey": (),
}
"""Requirements that cannot be judged if `data` is no object, beside those of the fields in it."""


def values_of_wrong_types(types):
    """A value of each JSON type that is none of these types, by the word for its type: {"Null": None, …}."""
    right_words = set().union(*(_FITS.get(json_type, set()) for json_type in types))
    return {word: value for word, value in WRONG.items() if word not in right_words}


def misspellings(name):
    """Other spellings of a name, without repeats: for "accountType" AccountType, account_type and ACCOUNTTYPE."""
    snake_case = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
    other_first_letter = name[0].swapcase() + name[1:]
    spellings = dict.fromkeys([other_first_letter, snake_case, name.upper()])
    return [spelling for spelling in spellings if spelling != name]


def _names(operation):
    """The names of the fields in the result of an operation."""
    return tuple(field.name for field in operations()[operation].result)


def _all_about_data(operation):
    """The patterns of all requirements about `data` and its fields."""
    return ids_of_operation(operation, *_WITHOUT_DATA[operation], *(f"{name}.*" for name in _names(operation)))


def _not_judged(operation, path, change):
    """The requirements of a member that no rule can judge after this change of the envelope or of `data`.

    `path` is "envelope.code" for a member of the envelope, and "digit" for a field of `data`.
    """
    data = {"executePix": EXECUTION_RESULT, "registerPixKey": REGISTRATION_RESULT}.get(operation, {})
    envelope = {"code": 0, "data": data}
    is_about_envelope = "." in path
    changed_envelope = change(envelope) if is_about_envelope else envelope | {"data": change(data)}
    exchange = answer(operation, changed_envelope, sent=_SENT)
    rules = [id for id in RULES if id.startswith(f"{operation}.{path}.")]
    not_judged = [id for id in rules if judge(id, exchange).conclusion is Conclusion.INCONCLUSIVE]
    if path == "value":
        not_judged.append("executePix.value.matches")  # it has no rule, but compares several exchanges
    return not_judged


_SENT = {"account": "a", "pixKeyType": "RANDOM", "pixKey": ""}


def _not_observed(member):
    """The requirements about a member, such as "executePix.status", for which a run only notes what it observes."""
    observed = [row.id for row in requirements().values() if row.level == "not-shown" and not row.untestable]
    return [id for id in observed if id.startswith(f"{member}.") and id != _OBSERVED_EARLIER]


_OBSERVED_EARLIER = "executePix.status.transitions"
"""It is observed in the answer to the preparation, too, so a fault of the execution does not hide it."""


def _hides_registration(operation, path, value):
    """The requirements that are not exercised if a fault keeps the suite from learning that a key was registered.

    The suite learns it from `data`, and from a Success that says true. It deletes no key of which it does not know.
    """
    says_nothing = path == "envelope.data" or (path == "Success" and value is not True)
    return HIDES_REGISTRATION if operation == "registerPixKey" and says_nothing else ()


def _declare_faults(operation, path, base, types):
    """Declare mutants in which a member is missing, of each wrong type, and in each wrong spelling.

    `path` is as in `_not_judged`. `types` are the JSON types that are right.
    """
    member = f"{operation}.{path}"
    name = path.split(".")[-1]
    sort = "field" if base is ChangesResults else "envelope member"
    beginning_of_name = "".join(part[0].upper() + part[1:] for part in path.split("."))
    hides_data = _all_about_data(operation) if path == "envelope.data" else ()

    def declare(fault, change, word, text, rule, *fails, **expected):
        """Declare the mutant whose answers `change` makes wrong.

        `rule` is the end of the id of the requirement that fails, such as "present". `fails` are further ones.
        """
        hides = (*expected.pop("hides", ()), *_not_judged(operation, path, change))
        declare_mutant_of(
            f"{sort} {fault}", operation, f"{beginning_of_name}{word}", f"The {sort} {name} is {text}.", base, f"{path}.{rule}", *fails,
            hides=hides, change=without_self(change), **expected,
        )  # fmt: skip

    declare(
        "missing", lambda data: {key: value for key, value in data.items() if key != name}, "Missing", "not there", "present",
        hides=(*hides_data, *_not_observed(member), *_hides_registration(operation, path, None)),
    )  # fmt: skip
    for word, value in values_of_wrong_types(types).items():
        not_observed = () if member in _OBSERVED_OF_ANY_TYPE else _not_observed(member)
        declare(
            "of a wrong type", lambda data, value=value: data | {name: value}, f"As{word}", f"of the type {word.lower()}", "type",
            warns=(f"{path}.example",) if path in _EXAMPLE_WARNS else (),
            hides=(*hides_data, *not_observed, *_hides_registration(operation, path, value)),
        )  # fmt: skip
    for spelling in misspellings(name):
        is_in_lower_case = (operation, sort) == ("registerPixKey", "field") and spelling[0].islower()
        declare(
            "misspelled", lambda data, spelling=spelling: {spelling if key == name else key: data[key] for key in data},
            f"Spelled_{spelling}", f"spelled {spelling}", "spelling", *(["fields.upperCase"] if is_in_lower_case else []),
            hides=_not_observed(member),
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
"""Other shapes of an envelope: in words, what fails, what is not judged of the envelope and after a registration, and the
change."""

for _operation, _described in ((name, operations()[name]) for name in NAME_OF_OPERATION):
    for _field in _described.result:
        _declare_faults(_operation, _field.name, ChangesResults, _field.types)
    _declare_faults(_operation, "envelope.code", ChangesEnvelopes, ("integer",))
    _declare_faults(_operation, "envelope.data", ChangesEnvelopes, ("object",))
    for _name, (_text, _fails, _unseen, _unregistered, _change) in SHAPES.items():
        declare_mutant_of(
            "envelope of another shape", _operation, _name, _text, ChangesEnvelopes, *_fails, change=without_self(_change),
            hides=(
                *ids_of_operation(_operation, *_unseen), *_all_about_data(_operation),
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
