"""Deviations from what the document implies or shows as one example, and from the general rule where it shows no answer:
the suite warns of them."""

import json

from environments.sandbox import Response, Service
from spec.interface import operations
from tests.selftest.proof.mutants.making_faults import SUBJECT, Answers, Envelopes, Results, breaks, fixed
from tests.selftest.proof.registry import broken, mutant
from tests.selftest.proof.variants.lawful_making import as_json, page


@mutant("another value than shown", warns=("registerPixKey.Key.example",))
class KeyOfRandomIsShown(Service):
    """A RANDOM key is shown at once."""

    def registration_key(self, registration):
        return registration.key.key


@mutant("another value than shown", warns=("registerPixKey.Success.example",))
class DeclinesCnpj(Service):
    """A new CNPJ key is declined with Success false."""

    def registration_success(self, registration):
        return "false" if registration.key.type == "CNPJ" else super().registration_success(registration)


@mutant("another value than shown", warns=("registerPixKey.Key.matches",))
class KeyIsOfTheRegistrationBefore(Service):
    """Key shows the key of the registration before."""

    earlier = None

    def registration_key(self, registration):
        key = super().registration_key(registration)
        shown, self.earlier = self.earlier if key else None, key or self.earlier
        return shown


for _name, _text, _operation, _further, *_rows in (
    ("KeyIsTheAccount", "Key is the account.", "registerPixKey", {"Key": "ac-0001"}, "Key.matches", "Key.example"),
    ("ExecutionIdIsAnother", "The id is not the code that was sent.", "executePix", {"id": "TX-1"}, "id.matches"),
    ("DocumentFullyHidden", "The document is hidden.", "executePix", {"document": "***"}, "document.partly"),
    ("StatusConfirmed", "The status is CONFIRMED.", "executePix", {"status": "CONFIRMED"}, "status.example"),
    ("ErrorIsEmptyText", "The error of a success is empty text.", "executePix", {"error": ""}, "error.example"),
    ("TypeIsEvp", "The type of the key used is EVP.", "executePix", {"type": "EVP"}, "type.kind", "type.example"),
    ("ExecutionHasAnExtraField", "The result has a further field.", "executePix", {"other": 0}, "fields.extra"),
    ("RegistrationHasAnExtraField", "The result has a further field.", "registerPixKey", {"Id": 1}, "fields.extra"),
):
    broken(
        "another value than shown", _name, _text, Results, warns=tuple(f"{_operation}.{row}" for row in _rows),
        OPERATIONS=(_operation,), change=fixed(lambda data, further=_further: data | further),
    )  # fmt: skip
for _operation in ("executePix", "registerPixKey"):
    breaks(
        "another value than shown", _operation, "CodeIsOne", "The code of a success is 1.", Envelopes,
        warns=("envelope.code.example",), change=fixed(lambda envelope: envelope | {"code": 1}),
    )  # fmt: skip


def _twice(response: Response) -> Response:
    first = next(iter(json.loads(response.body)))
    return Response(200, f'{{"{first}": 0, '.encode() + response.body[1:], response.headers)


def _marked(response: Response) -> Response:
    return Response(200, b"\xef\xbb\xbf" + response.body, response.headers)


def _labelled(response: Response) -> Response:
    return Response(200, response.body, (("Content-Type", "text/plain"),))


for _operation in SUBJECT:
    for _name, _text, _row, _alter in (
        ("LabelledAsText", "The JSON is labelled as text.", "json.mediaType", _labelled),
        ("SaysCodeTwice", "The member code stands twice.", "json.unique", _twice),
        ("StartsWithAByteOrderMark", "The JSON starts with a byte order mark.", "json.byteOrderMark", _marked),
    ):
        breaks("JSON that is mentioned", _operation, _name, _text, Answers, warns=(_row,), alter=fixed(_alter))

UNDESCRIBED = tuple(op.id for op in operations().values() if not op.described)
WITHOUT_CREATION = tuple(operation for operation in UNDESCRIBED if operation != "createPix")


def _with_status(status: int):
    return lambda response: Response(status, response.body, response.headers)


def _with_text_code(response: Response) -> Response:
    return Response(200, response.body.replace(b'"code": 0', b'"code": "0"'), response.headers)


ANSWERS = {
    "UndescribedAnswer201": ("every answer has the status 201", "status", UNDESCRIBED, _with_status(201)),
    "UndescribedAnswerHtml": ("every answer is HTML", "json", UNDESCRIBED, lambda _: page(200, "OK")),
    "UndescribedAnswerBare": (
        "no answer has an envelope", "envelope.shape", WITHOUT_CREATION, lambda _: as_json(200, {"items": []}),
    ),
    "BalanceAnswers202": ("the balance has the status 202", "status", ("getBalance",), _with_status(202)),
    "AccountsWithTextCode": ("the code of the accounts is text", "envelope.shape", ("listAccounts",), _with_text_code),
    "CreationWithTextCode": ("the code of a PIX creation is text", "envelope.shape", ("createPix",), _with_text_code),
}  # fmt: skip
for _name, (_text, _what, _operations, _alter) in ANSWERS.items():
    broken(
        "general rule", _name, f"Of the operations whose answers are not shown, {_text}.", Answers,
        warns=tuple(f"{operation}.{_what}" for operation in _operations),
        hides=("*.envelope.shape",) if _what == "json" else (), OPERATIONS=_operations, alter=fixed(_alter),
    )  # fmt: skip
