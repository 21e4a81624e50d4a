"""Borderline services: a run against one of them warns of exactly the requirements that it declares, and fails none.

Each service is the sandbox with one change. Most are declared in loops over tables: a row of a table says what is
changed, and which requirement warns.
"""

import json
from dataclasses import replace

from environments.sandbox import Refusal, Response, Service
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS
from tests.selftest.proof.mutants.making_faults import (
    ChangesAnswers,
    ChangesEnvelopes,
    ChangesResults,
    body_rewritten,
    with_status,
    without_self,
)
from tests.selftest.proof.mutants.tokens_faults import LaxService
from tests.selftest.proof.registry import borderline, declare_borderline, ids_of_operation
from tests.selftest.proof.variants.conforming_making import json_answer, text_answer
from tests.selftest.proof.variants.conforming_pending_keys import DeletesWhatIsNotThere
from tests.selftest.proof.variants.conforming_registrations import DuplicatesAreWelcome

SUBJECT = {"executePix": "Executions", "registerPixKey": "Registrations", "deletePixKey": "Deletions"}
"""By operation, the first word of the names of services."""

# -- how the three described answers are written


def _with_first_field_twice(response):
    """The answer, in which the first field of `data` stands twice: {"data": {"id": "E1", "id": "E1", …}}."""
    data = json.loads(response.body)["data"]
    name, *_ = data
    value = data[name]
    member = f"{json.dumps(name)}: {json.dumps(value)}"
    body = response.body.replace(b'"data": {', f'"data": {{{member}, '.encode(), 1)
    return replace(response, body=body)


def _with_content_type(*media_types):
    """A function that changes an answer: it replaces all headers by a Content-Type for each of these media types.

    Without a media type the answer has no headers.
    """
    headers = tuple(("Content-Type", media_type) for media_type in media_types)

    def with_other_headers(response):
        """The answer with these headers alone."""
        return replace(response, headers=headers)

    return with_other_headers


WRITTEN = {
    "SayCodeTwice": ("json.unique", "Code stands twice.", body_rewritten(b"}$", b', "code": 0}')),
    "SayAFieldTwice": ("json.unique", "The first field of data stands twice.", _with_first_field_twice),
    "AreLabelledAsText": ("json.mediaType", "The JSON is text/plain.", _with_content_type("text/plain; charset=utf-8")),
    "AreLabelledAsTextJson": ("json.mediaType", "The JSON is text/json.", _with_content_type("text/json")),
    "AreLabelledAsHtml": ("json.mediaType", "The JSON is text/html.", _with_content_type("text/html")),
    "AreNotLabelled": ("json.mediaType", "The JSON has no Content-Type.", _with_content_type()),
    "StartWithAByteOrderMark": (
        "json.byteOrderMark",
        "The JSON starts with a byte order mark.",
        body_rewritten(b"^", b"\xef\xbb\xbf"),
    ),
}
"""By the end of the name of a service: the requirement that warns, the change in words, and the change of an answer."""
ONLY_OF_EXECUTIONS = ("AreLabelledAsTextJson", "AreLabelledAsHtml", "SayAFieldTwice")
"""Changes that are tried with the answers to executions alone."""
for _operation, _subject in SUBJECT.items():
    for _name, (_row, _fact, _changed) in WRITTEN.items():
        if _name in ONLY_OF_EXECUTIONS and _operation != "executePix":
            continue
        declare_borderline(
            "borderline", f"{_subject}{_name}", f"{_subject}: {_fact}", ChangesAnswers, f"{_operation}.{_row}",
            OPERATIONS=(_operation,), alter=without_self(_changed),
        )  # fmt: skip

# -- values that differ from the one that is shown

EXECUTIONS = {
    "TheIdIsAnother": ("id.matches", {"id": "E99999010202601011200"}),
    "TheIdIsEmpty": ("id.matches", {"id": ""}),
    "TheValueIsInCents": ("value.matches", {"value": 1050}),
    "TheDocumentIsHiddenByStars": ("document.partly", {"document": "***.***.***-**"}),
    "TheDocumentIsThreeStars": ("document.partly", {"document": "***"}),
    "TheDocumentIsHiddenByX": ("document.partly", {"document": "XXXXXXXXXXX"}),
    "TheDocumentIsEmpty": ("document.partly", {"document": ""}),
    "TheStatusIsProcessing": ("status.example", {"status": "PROCESSING"}),
    "TheStatusIsInLowerCase": ("status.example", {"status": "done"}),
    "TheErrorIsAText": ("error.example", {"error": "limit nearly reached"}),
    "TheErrorIsEmpty": ("error.example", {"error": ""}),
    "TheKindUsedIsNeverPhone": ("type.example", {"type": "EMAIL"}),
    "TheKindUsedIsAlwaysPhone": ("type.kind", {"type": "PHONE"}),
    "TheKindUsedIsAlwaysEvp": ("type.kind type.example", {"type": "EVP"}),
    "AFieldMore": ("fields.extra", {"endToEndId": "E1"}),
    "ANestedFieldMore": ("fields.extra", {"payer": {"name": "x"}}),
}
"""By the end of the name of a service: the requirements that warn, and the members of an execution result that differ."""
REGISTRATIONS = {
    "TheKeyIsTheAccount": ("Key.matches Key.example", {"Key": "ac-0001"}),
    "AFieldMore": ("fields.extra", {"Status": "PENDING"}),
    "AFieldInLowerCaseMore": ("fields.extra", {"id": 1}),
}
"""The same for the result of a registration."""
for _operation, _what, _values in (
    ("executePix", "Execution", EXECUTIONS),
    ("registerPixKey", "Registration", REGISTRATIONS),
):
    for _name, (_rows, _data) in _values.items():
        declare_borderline(
            "borderline", f"{_what}{_name}", f"{_what}: {_name}.", ChangesResults, *ids_of_operation(_operation, *_rows.split()),
            OPERATIONS=(_operation,), change=without_self(lambda data, further=_data: data | further), GETS_THE_REQUESTS_OF_THE_SANDBOX=_name != "TheKeyIsTheAccount",
        )  # fmt: skip
    for _name, _row, _data in (
        ("HaveCode1", "envelope.code.example", {"code": 1}),
        ("HaveAnEnvelopeWithMore", "fields.extra", {"message": "OK"}),
    ):
        declare_borderline(
            "borderline", f"{SUBJECT[_operation]}{_name}", f"{SUBJECT[_operation]}: {_name}.", ChangesEnvelopes, f"{_operation}.{_row}",
            OPERATIONS=(_operation,), change=without_self(lambda envelope, further=_data: envelope | further),
            GETS_THE_REQUESTS_OF_THE_SANDBOX=(_operation, _name) != ("registerPixKey", "HaveCode1"),
        )  # fmt: skip


@borderline("borderline", "executePix.type.kind")
class TheKindUsedIsCalledEvp(Service):
    """A transfer to a RANDOM key is of the type EVP."""

    def execution_result(self, transfer):
        """The execution result of the sandbox, with the type EVP if the key of the payee is a RANDOM key."""
        result = super().execution_result(transfer)
        if transfer.key_type == "RANDOM":
            result["type"] = "EVP"
        return result


@borderline("borderline", "executePix.type.kind", "executePix.type.example")
class TheKindUsedIsWrittenSmall(Service):
    """The type of a transfer is in lower-case letters."""

    def execution_result(self, transfer):
        """The execution result of the sandbox, with its type in lower-case letters, such as "phone"."""
        return super().execution_result(transfer) | {"type": transfer.key_type.lower()}


@borderline("borderline", "registerPixKey.Key.example")
class TheRandomKeyIsShown(Service):
    """Key shows the RANDOM key that was made."""

    def registration_key(self, registration):
        """The member Key of the answer: the key, also if it is a RANDOM key, for which the sandbox answers null."""
        return registration.key.key


@borderline("borderline", "registerPixKey.Success.example")
class EmailsAreDeclined(Service):
    """The registration of an EMAIL key is answered with Success "false", each time."""

    KIND = "EMAIL"

    def registration_success(self, registration):
        """The member Success of the answer: "false" for a key of the type KIND."""
        if registration.key.type == self.KIND:
            return "false"
        return super().registration_success(registration)


declare_borderline(
    "borderline", "CnpjsAreDeclined", "A new CNPJ key is declined with Success false.", EmailsAreDeclined,
    "registerPixKey.Success.example", KIND="CNPJ",
)  # fmt: skip


@borderline("borderline", "registerPixKey.pixKeyType.letterCase")
class KindsInLowerCaseAreTaken(Service):
    """A key type in lower-case letters is accepted like one in capitals."""

    def key_type(self, body):
        """The key type that a registration names, read as if it were in capitals: "email" is EMAIL."""
        key_type = body.get("pixKeyType")
        if isinstance(key_type, str):
            body = body | {"pixKeyType": key_type.upper()}
        return super().key_type(body)


@borderline("borderline", "registerPixKey.pixKeyType.EVP")
class EvpAndDigitsAreTheOneRandomKey(DuplicatesAreWelcome, DeletesWhatIsNotThere):
    """The key types EVP, 1 and 2 mean RANDOM. An account has one RANDOM key, and each further request gets it again.

    So the run knows every key that this service makes, and can delete it.
    """

    def key_type(self, body):
        """The key type that a registration means: RANDOM for EVP, 1 and 2."""
        if body.get("pixKeyType") in ("EVP", "1", "2"):
            return "RANDOM"
        return super().key_type(body)

    def requested_key(self, body, key_type):
        """The key that a registration asks for; empty for RANDOM, even if the body names a key."""
        if key_type == "RANDOM":
            return ""
        return super().requested_key(body, key_type)

    def new_key(self):
        """The value of a RANDOM key, which is always the same."""
        return "7d8cf9c8-54c4-4a4f-9f33-5f0a2b9d8d11"


for _how, _lets_in in {
    "UnderAnyScheme": lambda self, request, header: self.is_token(header.rpartition(" ")[2]),
    "Bare": lambda self, request, header: self.is_token(header),
}.items():
    for _operation in ("executePix", "registerPixKey"):
        declare_borderline(
            "borderline", f"{SUBJECT[_operation]}TakeTheToken{_how}", f"{SUBJECT[_operation]} take the token {_how}.", LaxService,
            f"{_operation}.token.scheme", OPERATIONS=(_operation,), lets_in=_lets_in,
        )  # fmt: skip

# -- the general rule, where the document does not describe the answer

BROKEN = {
    "Is201": ("status", (), with_status(201)),
    "Is202": ("status", (), with_status(202)),
    "IsText": ("json", ("envelope.shape",), lambda response: text_answer(200, "it is done")),
    "IsEmpty": ("json", ("envelope.shape",), lambda response: Response(200, b"")),
    "IsBare": ("envelope.shape", (), lambda response: json_answer(200, {"transactionId": "SBX-0"})),
    "IsAnArray": ("envelope.shape", (), lambda response: json_answer(200, [])),
    "HasAnArrayAsData": ("envelope.shape", (), lambda response: json_answer(200, {"code": 0, "data": []})),
    "HasItsCodeAsText": ("envelope.shape", (), lambda response: json_answer(200, {"code": "0", "data": {}})),
}
"""By the end of the name of a service: the requirement that warns, the requirements that cannot be judged then, and the
change of an answer."""
ONLY_OF_BALANCES = ("Is202", "IsEmpty", "IsAnArray", "HasAnArrayAsData")
"""Changes that are tried with the answers to getBalance alone."""
NO_CODE = ("IsText", "IsBare", "HasItsCodeAsText")
"""Changes after which the run finds no list of keys and no transaction code in the answer."""
ANSWERS_THAT_A_RUN_USES = ("listPixKeys", "createPix")
"""Operations whose answers tell the run which keys there are, and which codes."""
for _operation in (*READ_OPERATIONS, *PREPARING_OPERATIONS):
    for _name, (_row, _hidden, _changed) in BROKEN.items():
        if _name in ONLY_OF_BALANCES and _operation != "getBalance":
            continue
        declare_borderline(
            "borderline", f"{_operation[0].upper()}{_operation[1:]}{_name}", f"The answer to {_operation} {_name}.", ChangesAnswers,
            f"{_operation}.{_row}",
            *(["registerPixKey.status"] if _operation == "listPixKeys" and _name in ("IsBare", "HasItsCodeAsText") else ()),
            hides=(
                *(f"{_operation}.{row}" for row in _hidden),
                *(("executePix.value.matches",) if _operation == "createPix" and _name in NO_CODE else ()),
            ),
            OPERATIONS=(_operation,), alter=without_self(_changed), GETS_THE_REQUESTS_OF_THE_SANDBOX=not _hidden and _operation not in ANSWERS_THAT_A_RUN_USES,
        )  # fmt: skip


def _refuse_deletion_as_json(self, request, operation):
    """Refuse a deletion with the Content-Type application/json. Any other request is accepted, whatever its type is.

    It becomes a method of a service, in the place of the method with which the sandbox checks the Content-Type.
    """
    if operation == "deletePixKey" and request.header("Content-Type") == "application/json":
        raise Refusal(415, "A deletion is sent as text.")


declare_borderline(
    "borderline", "DeletionsAreNotTakenAsJson", "A deletion as application/json gets 415.", Service, "deletePixKey.contentType.accepted",
    hides=("deletePixKey.[!cers]*", "deletePixKey.envelope.*", "deletePixKey.status"), check_content_type=_refuse_deletion_as_json,
)  # fmt: skip


@borderline("borderline", "registerPixKey.status")
class OneTypeIsNeverListed(Service):
    """No list of keys shows an e-mail key."""

    def list_pix_keys(self, request, account_id):
        """The list of keys of the sandbox, without the keys that have an @."""
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [key for key in keys if "@" not in str(key)]}
