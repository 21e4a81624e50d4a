"""Services that break many statements at once: what one fault hides of another is declared like all else."""

from __future__ import annotations

from typing import Any, ClassVar

from environments.sandbox import Request, Response, Service
from spec.interface import operations
from tests.selftest.proof.mutants.encodings_faults import unreadable
from tests.selftest.proof.mutants.making_faults import SUBJECT, UNREGISTERED, Answers, Envelopes, Results, fixed
from tests.selftest.proof.mutants.robustness_faults import DROPPED, PLAIN, TRACE, Falls, argument, is_no_json
from tests.selftest.proof.registry import broken
from tests.selftest.proof.variants.lawful_making import text

NAMES = {operation: tuple(field.name for field in operations()[operation].result) for operation in SUBJECT}
_RULES_OF_VALUES = {
    "executePix": ("id.matches", "date.unit", "document.masked", "document.partly", "type.kind", "*.example"),
    "registerPixKey": ("Success.text", "Success.letterCase", "Success.example"),
}
_EXACT_NAMES = {
    "executePix": ("id.matches", "date.unit", "accountType.meaning", "status.values", "error.example"),
    "registerPixKey": ("Key.example",),
}


def _every_field(operation: str, name: str, text: str, change: Any, *what: str, **asked: Any) -> None:
    broken(
        "everything at once",
        f"Every{SUBJECT[operation]}{name}",
        text,
        Results,
        *(f"{operation}.{field}.{what[0]}" for field in NAMES[operation]),
        *(f"{operation}.{row}" for row in what[1:]),
        OPERATION=operation,
        change=fixed(change),
        **asked,
    )


def _of(operation: str, rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{operation}.{row}" for row in rows)


for _operation in ("executePix", "registerPixKey"):
    _registers = _operation == "registerPixKey"
    _every_field(
        _operation,
        "FieldAsObject",
        "Every field is an object.",
        lambda data: {name: {} for name in data},
        "type",
        warns=(f"{_operation}.{'Key' if _registers else 'error'}.example",),
        hides=(*_of(_operation, _RULES_OF_VALUES[_operation]), *(UNREGISTERED if _registers else ())),
    )
    _every_field(
        _operation,
        "FieldWithAHyphen",
        "Every name has a hyphen after its first letter, and that is small.",
        lambda data: {f"{name[0].lower()}-{name[1:]}": value for name, value in data.items()},
        "spelling",
        *(["fields.upperCase"] if _registers else []),
        hides=_of(_operation, _EXACT_NAMES[_operation]),
    )


DESCRIBED = tuple(SUBJECT)


def _described(
    name: str, text: str, base: type[Service], fails: tuple[str, ...] = (), warns: tuple[str, ...] = (), **parts: Any
) -> None:
    failing, warning = ([f"{operation}.{row}" for operation in DESCRIBED for row in rows] for rows in (fails, warns))
    broken("everything at once", name, text, base, *failing, warns=warning, OPERATIONS=DESCRIBED, **parts)


_described(
    "EveryEnvelopeInCapitals",
    "Code and data are spelled in capitals.",
    Envelopes,
    ("envelope.code.spelling", "envelope.data.spelling"),
    wrap=fixed(lambda envelope: {name.upper(): value for name, value in envelope.items()}),
)
_described(
    "EveryEnvelopeOfWrongTypes",
    "The code is text, and the data an array with the result in it.",
    Envelopes,
    ("envelope.code.type", "envelope.data.type"),
    hides=(
        "*.envelope.code.example", "*.envelope.result", "*.fields.*",
        *(f"{operation}.{name}.*" for operation, names in NAMES.items() for name in names),
    ),
    wrap=fixed(lambda envelope: {"code": "0", "data": [envelope["data"]]}),
)  # fmt: skip
_described(
    "EveryAnswerMentioned",
    "Each answer is labelled as text, starts with a byte order mark and says code twice.",
    Answers,
    warns=("json.mediaType", "json.unique", "json.byteOrderMark"),
    alter=fixed(lambda response: text(200, '\ufeff{"code": 0, ' + response.body[1:].decode(), "text/plain")),
)
broken(
    "everything at once",
    "EveryExecutionAndRegistration204",
    "An execution and a registration have the status 204.",
    Answers,
    *(f"{operation}.{row}" for operation in ("executePix", "registerPixKey") for row in ("status", "json")),
    hides=(*unreadable("executePix"), *unreadable("registerPixKey")),
    OPERATIONS=DESCRIBED,
    alter=fixed(lambda response: Response(204, b"")),
)


class AllFall(Falls):
    """The sandbox, which falls over what `trips` picks of the requests to every operation."""

    OPERATIONS: ClassVar[tuple[str, ...]] = ()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        return self.FALL if operation in self.OPERATIONS and self.trips(request) else response


def _is_malformed(request: Request) -> bool:
    return is_no_json(request) or '"' in argument(request)


_READS = ("listPixKeys", "listAccounts", "getBalance", "listEntries")
_WRITES = ("executePix", "deletePixKey", "createPix", "transferExternal", "transferInternal", "transferP2p")
for _name, _text, _operations, _trips in (
    (
        "MissingToken",
        "a request without a token",
        ("registerPixKey", *_READS),
        lambda self, request: not request.header("Authorization"),
    ),
    ("MalformedInput", "a body or a code that cannot be read", _WRITES, lambda self, request: _is_malformed(request)),
):
    broken(
        "everything at once",
        f"EveryOperationShowsATraceFor{_name}",
        f"A stack trace and a server error answer {_text}.",
        AllFall,
        *(f"{operation}.{row}" for operation in _operations for row in ("serverError", "stackTrace")),
        OPERATIONS=_operations,
        FALL=Response(500, TRACE, PLAIN),
        trips=_trips,
    )
    broken(
        "everything at once",
        f"EveryOperationDropsFor{_name}",
        f"The connection is dropped for {_text}.",
        AllFall,
        *(f"{operation}.connection" for operation in _operations),
        hides=("listAccounts.refusal",) if "listAccounts" in _operations else (),
        OPERATIONS=_operations,
        FALL=DROPPED,
        trips=_trips,
    )
