"""Operations whose answers are not shown, where they break the general rule: it warns."""

from __future__ import annotations

from typing import ClassVar

from environments.sandbox import Request, Response
from environments.sandbox.service import Service
from spec.interface import operations
from tests.selftest.proof.registry import broken

UNDESCRIBED = tuple(op.id for op in operations().values() if not op.described)


class AllUndescribed(Service):
    """The sandbox, where `alter` sees every successful answer that the document does not show."""

    OPERATIONS: ClassVar[tuple[str, ...]] = UNDESCRIBED

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant else response

    def alter(self, response: Response) -> Response:
        raise NotImplementedError


def _warned(name: str, text: str, what: str, alter, operations=UNDESCRIBED, hides: tuple[str, ...] = ()) -> None:
    broken(
        "general rule",
        name,
        text,
        AllUndescribed,
        warns=tuple(f"{operation}.{what}" for operation in operations),
        hides=hides,
        OPERATIONS=operations,
        alter=lambda self, response: alter(response),
    )


_warned(
    "UndescribedAnswer201",
    "What the document does not show is answered with 201.",
    "status",
    lambda response: Response(201, response.body, response.headers),
)
_warned(
    "UndescribedAnswerHtml",
    "What the document does not show is answered with HTML.",
    "json",
    lambda response: Response(200, b"<p>OK</p>", (("Content-Type", "text/html"),)),
    hides=("*.envelope.shape",),
)
_warned(
    "UndescribedAnswerBare",
    "What the document does not show is answered without an envelope.",
    "envelope.shape",
    lambda response: Response(200, b'{"items": []}', response.headers),
    tuple(operation for operation in UNDESCRIBED if operation != "createPix"),
)
_warned(
    "BalanceAnswers202",
    "The balance is answered with 202.",
    "status",
    lambda response: Response(202, response.body, response.headers),
    ("getBalance",),
)
_warned(
    "AccountsWithTextCode",
    "The code in the envelope of the accounts is text.",
    "envelope.shape",
    lambda response: Response(200, response.body.replace(b'"code": 0', b'"code": "0"'), response.headers),
    ("listAccounts",),
)
_warned(
    "CreationWithTextCode",
    "The code in the envelope of a PIX creation is text.",
    "envelope.shape",
    lambda response: Response(200, response.body.replace(b'"code": 0', b'"code": "0"'), response.headers),
    ("createPix",),
)
