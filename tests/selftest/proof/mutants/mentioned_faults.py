"""Deviations from what the document implies, or shows as one example: the suite warns of them."""

from __future__ import annotations

import json

from environments.sandbox import Response, Service
from tests.selftest.proof.mutants.making_faults import SUBJECT, Answers, Envelopes, Results, fixed
from tests.selftest.proof.registry import broken, mutant


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


def _result(name: str, text: str, operation: str, field: str, value: object, *rows: str) -> None:
    broken(
        "another value than shown",
        name,
        text,
        Results,
        warns=tuple(f"{operation}.{row}" for row in rows),
        OPERATION=operation,
        change=fixed(lambda data: data | {field: value}),
    )


_result("ExecutionIdIsAnother", "The id is not the code that was sent.", "executePix", "id", "TX-1", "id.matches")
_result("DocumentFullyHidden", "The document is hidden.", "executePix", "document", "***", "document.partly")
_result("StatusConfirmed", "The status is CONFIRMED.", "executePix", "status", "CONFIRMED", "status.example")
_result("ErrorIsEmptyText", "The error of a success is empty text.", "executePix", "error", "", "error.example")
_result("TypeIsEvp", "The type of the key used is EVP.", "executePix", "type", "EVP", "type.kind", "type.example")
_result("ExecutionHasAnExtraField", "The result has a further field.", "executePix", "fee", 0, "fields.extra")
_result("RegistrationHasAnExtraField", "The result has a further field.", "registerPixKey", "Id", 1, "fields.extra")

for _operation in ("executePix", "registerPixKey"):
    broken(
        "another value than shown",
        f"{SUBJECT[_operation]}CodeIsOne",
        "The code of a success is 1.",
        Envelopes,
        warns=(f"{_operation}.envelope.code.example",),
        OPERATIONS=(_operation,),
        wrap=fixed(lambda envelope: envelope | {"code": 1}),
    )


def _twice(response: Response) -> Response:
    first = next(iter(json.loads(response.body)))
    again = f'{{"{first}": 0, '.encode()
    return Response(200, again + response.body[1:], response.headers)


for _operation, _of in SUBJECT.items():
    for _name, _text, _what, _alter in (
        (
            "LabelledAsText",
            "The JSON is labelled as text.",
            "json.mediaType",
            lambda response: Response(200, response.body, (("Content-Type", "text/plain"),)),
        ),
        ("SaysCodeTwice", "The member code stands twice.", "json.unique", _twice),
        (
            "StartsWithAByteOrderMark",
            "The JSON starts with a byte order mark.",
            "json.byteOrderMark",
            lambda response: Response(200, b"\xef\xbb\xbf" + response.body, response.headers),
        ),
    ):
        broken(
            "JSON that is mentioned",
            f"{_of}{_name}",
            _text,
            Answers,
            warns=(f"{_operation}.{_what}",),
            OPERATIONS=(_operation,),
            alter=fixed(_alter),
        )
