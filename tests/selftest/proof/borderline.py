"""Services that must be mentioned and not failed: each yields exactly its warnings beside those of the sandbox."""

import json
from typing import Any

from environments.sandbox import Data, Refusal, Request, Response, Service
from spec.interface import PREPARING, READS
from tests.selftest.proof.mutants.making_faults import Answers, fixed
from tests.selftest.proof.mutants.tokens_faults import LaxService
from tests.selftest.proof.registry import borderline, mentioned
from tests.selftest.proof.variants.lawful_making import Results, as_json, text

SUBJECT = {"executePix": "Executions", "registerPixKey": "Registrations", "deletePixKey": "Deletions"}
# -- how the three described answers are written


def _twice(response: Response) -> Response:
    return Response(200, response.body[:-1] + b', "code": 0}', response.headers)


def _data_twice(response: Response) -> Response:
    first = json.dumps(next(iter(json.loads(response.body)["data"].items())))[1:-1].replace(", ", ": ", 1)
    return Response(200, response.body.replace(b'"data": {', f'"data": {{{first}, '.encode(), 1), response.headers)


def _labelled(media_type: str | None) -> Any:
    headers = (("Content-Type", media_type),) if media_type else ()
    return lambda response: Response(200, response.body, headers)


def _marked(response: Response) -> Response:
    return Response(200, b"\xef\xbb\xbf" + response.body, response.headers)


WRITTEN = {
    "SayCodeTwice": ("json.unique", "Code stands twice.", _twice),
    "SayAFieldTwice": ("json.unique", "The first field of data stands twice.", _data_twice),
    "AreLabelledAsText": ("json.mediaType", "The JSON is text/plain.", _labelled("text/plain; charset=utf-8")),
    "AreLabelledAsTextJson": ("json.mediaType", "The JSON is text/json.", _labelled("text/json")),
    "AreLabelledAsHtml": ("json.mediaType", "The JSON is text/html.", _labelled("text/html")),
    "AreNotLabelled": ("json.mediaType", "The JSON has no Content-Type.", _labelled(None)),
    "StartWithAByteOrderMark": ("json.byteOrderMark", "The JSON starts with a byte order mark.", _marked),
}
ONCE = ("AreLabelledAsTextJson", "AreLabelledAsHtml", "SayAFieldTwice")
"""Tried with the executions alone."""
for _operation, _subject in SUBJECT.items():
    for _name, (_row, _fact, _changed) in WRITTEN.items():
        if _name in ONCE and _operation != "executePix":
            continue
        mentioned(
            "borderline", f"{_subject}{_name}", f"{_subject}: {_fact}", Answers, f"{_operation}.{_row}",
            OPERATIONS=(_operation,), alter=fixed(_changed),
        )  # fmt: skip

# -- values that differ from the one that is shown

EXECUTIONS: dict[str, tuple[str, Data]] = {
    "TheIdIsAnother": ("id.matches", {"id": "E99999010202601011200"}),
    "TheIdIsEmpty": ("id.matches", {"id": ""}),
    "TheDocumentIsHiddenByStars": ("document.partly", {"document": "***.***.***-**"}),
    "TheDocumentIsHiddenByX": ("document.partly", {"document": "XXXXXXXXXXX"}),
    "TheDocumentIsEmpty": ("document.partly", {"document": ""}),
    "TheStatusIsProcessing": ("status.example", {"status": "PROCESSING"}),
    "TheStatusIsInLowerCase": ("status.example", {"status": "done"}),
    "TheErrorIsAText": ("error.example", {"error": "limit nearly reached"}),
    "TheErrorIsEmpty": ("error.example", {"error": ""}),
    "AFieldMore": ("fields.extra", {"endToEndId": "E1"}),
    "ANestedFieldMore": ("fields.extra", {"payer": {"name": "x"}}),
}
for _name, (_row, _data) in EXECUTIONS.items():
    mentioned("borderline", f"Execution{_name}", f"Execution: {_name}.", Results, f"executePix.{_row}", EXECUTION=_data)

for _name, _data in {"AFieldMore": {"Status": "PENDING"}, "AFieldInLowerCaseMore": {"id": 1}}.items():
    mentioned(
        "borderline", f"Registration{_name}", f"Registration: {_name}.", Results, "registerPixKey.fields.extra", REGISTRATION=_data,
    )  # fmt: skip

for _operation in ("executePix", "registerPixKey"):
    mentioned(
        "borderline", f"{SUBJECT[_operation]}HaveCode1", f"{SUBJECT[_operation]} succeed with code 1.", Service,
        f"{_operation}.envelope.code.example",
        envelope=lambda self, operation, data, code=0, _meant=_operation: {
            "code": 1 if operation == _meant and _granted(data) else code, "data": data,
        },
    )  # fmt: skip
    mentioned(
        "borderline", f"{SUBJECT[_operation]}HaveAnEnvelopeWithMore", f"The envelope of {SUBJECT[_operation]} has a further member.",
        Service, f"{_operation}.fields.extra",
        envelope=lambda self, operation, data, code=0, _meant=_operation: {
            "code": code, "data": data, **({"message": "OK"} if operation == _meant else {}),
        },
    )  # fmt: skip


def _granted(data: Any) -> bool:
    return data.get("status") == "DONE" or data.get("Success") == "true"


@borderline("borderline", "executePix.type.kind")
class TheKindUsedIsCalledEvp(Service):
    """A transfer to a RANDOM key is of the type EVP."""

    def execution_result(self, transfer: Any) -> Data:
        result = super().execution_result(transfer)
        return result | ({"type": "EVP"} if transfer.key_type == "RANDOM" else {})


@borderline("borderline", "executePix.type.example")
class TheKindUsedIsNeverPhone(Service):
    """Every transfer is of the type EMAIL."""

    def execution_result(self, transfer: Any) -> Data:
        return super().execution_result(transfer) | {"type": "EMAIL"}


@borderline("borderline", "executePix.type.kind", "executePix.type.example")
class TheKindUsedIsWrittenSmall(Service):
    """The type of a transfer is in lower-case letters."""

    def execution_result(self, transfer: Any) -> Data:
        return super().execution_result(transfer) | {"type": transfer.key_type.lower()}


@borderline("borderline", "registerPixKey.Key.example")
class TheRandomKeyIsShown(Service):
    """Key shows the RANDOM key that was made."""

    def registration_key(self, registration: Any) -> str:
        return str(registration.key.key)


@borderline("borderline", "registerPixKey.Success.example")
class EmailsAreDeclined(Service):
    """The registration of an EMAIL key is answered with Success "false", each time."""

    def registration_success(self, registration: Any) -> str:
        return "false" if registration.key.type == "EMAIL" else super().registration_success(registration)


@borderline("borderline", "registerPixKey.pixKeyType.letterCase")
class KindsInLowerCaseAreTaken(Service):
    """A key type in lower-case letters is accepted like one in capitals."""

    def key_type(self, body: Data) -> str:
        kind = body.get("pixKeyType")
        return super().key_type(body | {"pixKeyType": kind.upper()} if isinstance(kind, str) else body)


for _how, _lets_in in {
    "UnderAnyScheme": lambda self, request, sent: self.is_token(sent.rpartition(" ")[2]),
    "Bare": lambda self, request, sent: self.is_token(sent),
}.items():
    for _operation in ("executePix", "registerPixKey"):
        mentioned(
            "borderline", f"{SUBJECT[_operation]}TakeTheToken{_how}", f"{SUBJECT[_operation]} take the token {_how}.", LaxService,
            f"{_operation}.token.scheme", OPERATIONS=(_operation,), lets_in=_lets_in,
        )  # fmt: skip

# -- the general rule, where the document does not describe the answer

BROKEN: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "Is201": ("status", (), lambda response: Response(201, response.body, response.headers)),
    "IsText": ("json", ("envelope.shape",), lambda response: text(200, "it is done")),
    "IsEmpty": ("json", ("envelope.shape",), lambda response: Response(200, b"")),
    "IsBare": ("envelope.shape", (), lambda response: as_json(200, {"transactionId": "SBX-0"})),
    "IsAnArray": ("envelope.shape", (), lambda response: as_json(200, [])),
    "HasAnArrayAsData": ("envelope.shape", (), lambda response: as_json(200, {"code": 0, "data": []})),
    "HasItsCodeAsText": ("envelope.shape", (), lambda response: as_json(200, {"code": "0", "data": {}})),
}
ONE_READ = ("IsEmpty", "IsAnArray", "HasAnArrayAsData", "HasItsCodeAsText")
"""Tried with one read alone."""
for _operation in (*READS, *PREPARING):
    for _name, (_row, _hidden, _changed) in BROKEN.items():
        if _name in ONE_READ and _operation != "getBalance":
            continue
        mentioned(
            "borderline", f"{_operation[0].upper()}{_operation[1:]}{_name}", f"The answer to {_operation} {_name}.", Answers,
            f"{_operation}.{_row}", hides=tuple(f"{_operation}.{row}" for row in _hidden),
            OPERATIONS=(_operation,), alter=fixed(_changed),
        )  # fmt: skip


def _refuse_json(self: Service, request: Request, operation: str) -> None:
    if operation == "deletePixKey" and request.header("Content-Type") == "application/json":
        raise Refusal(415, "A deletion is sent as text.")


mentioned(
    "borderline", "DeletionsAreNotTakenAsJson", "A deletion as application/json gets 415.", Service, "deletePixKey.contentType.accepted",
    hides=("deletePixKey.[!cers]*", "deletePixKey.envelope.*", "deletePixKey.status"), check_content_type=_refuse_json,
)  # fmt: skip
