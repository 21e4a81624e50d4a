"""Operations whose answers are not shown, where they break the general rule: it warns."""

from __future__ import annotations

from environments.sandbox import Response
from spec.interface import operations
from tests.selftest.proof.mutants.making_faults import Answers, fixed
from tests.selftest.proof.registry import broken
from tests.selftest.proof.variants.lawful_making import as_json, page

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
        "general rule",
        _name,
        f"Of the operations whose answers are not shown, {_text}.",
        Answers,
        warns=tuple(f"{operation}.{_what}" for operation in _operations),
        hides=("*.envelope.shape",) if _what == "json" else (),
        OPERATIONS=_operations,
        alter=fixed(_alter),
    )
