"""Services that break many requirements at once. `hides` names the requirements that one fault keeps from being judged."""

from spec.interface import operations
from tests.selftest.proof.mutants.making_faults import (
    HIDES_REGISTRATION,
    NAME_OF_OPERATION,
    ChangesAnswers,
    ChangesEnvelopes,
    ChangesResults,
    without_self,
)
from tests.selftest.proof.registry import declare_mutant, ids_of_operation
from tests.selftest.proof.variants.conforming_making import profile_path, text_answer

NAMES = {operation: tuple(field.name for field in operations()[operation].result) for operation in NAME_OF_OPERATION}
_RULES_OF_VALUES = {
    "executePix": (
        "id.matches",
        "date.unit",
        "document.masked",
        "document.partly",
        "type.kind",
        "value.matches",
        "*.example",
    ),
    "registerPixKey": ("Success.text", "Success.letterCase", "Success.example", "Key.matches"),
}
_EXACT_NAMES = {
    "executePix": ("date.unit", "accountType.meaning", "status.values", "value.matches"),
    "registerPixKey": ("Key.matches",),
}


for _operation in ("executePix", "registerPixKey"):
    _registers = _operation == "registerPixKey"
    declare_mutant(
        "everything at once", f"Every{NAME_OF_OPERATION[_operation]}FieldAsObject", "Every field is an object.", ChangesResults,
        *(f"{_operation}.{field}.type" for field in NAMES[_operation]), OPERATIONS=(_operation,),
        warns=ids_of_operation(_operation, "Key.example" if _registers else "error.example"),
        hides=(*ids_of_operation(_operation, *_RULES_OF_VALUES[_operation]), *(HIDES_REGISTRATION if _registers else ())),
        change=without_self(lambda data: {name: {} for name in data}),
    )  # fmt: skip
    declare_mutant(
        "everything at once", f"Every{NAME_OF_OPERATION[_operation]}FieldWithAHyphen",
        "Every name has a hyphen after its first letter, and that is small.", ChangesResults,
        *(f"{_operation}.{field}.spelling" for field in NAMES[_operation]),
        *(["registerPixKey.fields.upperCase"] if _registers else []), OPERATIONS=(_operation,),
        hides=ids_of_operation(_operation, *_EXACT_NAMES[_operation]),
        change=without_self(lambda data: {f"{name[0].lower()}-{name[1:]}": value for name, value in data.items()}),
    )  # fmt: skip


DESCRIBED = tuple(NAME_OF_OPERATION)


def _ids_of_described_operations(rows):
    """The ids with these ends, such as "envelope.code.type", of each operation whose response is described."""
    return [id for operation in DESCRIBED for id in ids_of_operation(operation, *rows)]


def _declare_for_described_operations(name, text, base, fails=(), warns=(), **parts):
    """Declare a mutant that has the same fault in each operation whose response is described."""
    declare_mutant(
        "everything at once", name, text, base, *_ids_of_described_operations(fails),
        warns=_ids_of_described_operations(warns), OPERATIONS=DESCRIBED, **parts,
    )  # fmt: skip


_declare_for_described_operations(
    "EveryEnvelopeOfWrongTypes",
    "The code is text, and the data an array with the result in it.",
    ChangesEnvelopes,
    ("envelope.code.type", "envelope.data.type"),
    hides=(
        "*.envelope.code.example", "*.envelope.result", "*.fields.*",
        *(f"{operation}.{name}.*" for operation, names in NAMES.items() for name in names),
    ),
    change=without_self(lambda envelope: {"code": "0", "data": [envelope["data"]]}),
)  # fmt: skip
_declare_for_described_operations(
    "EveryAnswerMentioned",
    "Each answer is labelled as text, starts with a byte order mark and says code twice.",
    ChangesAnswers,
    warns=("json.mediaType", "json.unique", "json.byteOrderMark"),
    alter=without_self(
        lambda response: text_answer(200, '\ufeff{"code": 0, ' + response.body[1:].decode(), "text/plain")
    ),
)

declare_mutant(
    "everything at once", "DeletionWithCode1HasNoData", "A deletion says success with the code 1, as the profile says, and has no data.",
    ChangesEnvelopes, "deletePixKey.envelope.data.present", OPERATIONS=("deletePixKey",),
    environment=profile_path("success_code"), hides=("deletePixKey.envelope.data.spelling", "deletePixKey.envelope.data.type"),
    change=without_self(lambda envelope: {"code": 1}), GETS_THE_REQUESTS_OF_THE_SANDBOX=False,  # the door reads the code
)  # fmt: skip
