"""How a tax document is partly hidden: the document says that it is, and not how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.selftest.proof.registry import lawful
from tests.selftest.proof.variants.lawful_making import TakesTurns

Mask = Callable[[str], str]
SIGNS = {
    "Stars": "*", "CapitalX": "X", "SmallX": "x", "Hashes": "#", "Bullets": "•", "Circles": "●", "OpenCircles": "○",
    "Underscores": "_", "Dashes": "-", "Blocks": "█", "Shades": "▒", "Dots": ".", "MiddleDots": "·", "Questions": "?",
    "Tildes": "~", "Crosses": "×", "Locks": "🔒", "LongDashes": "—", "Ellipses": "…",
    "HtmlEntities": "&bull;", "Spaces": " ", "Slashes": "/", "Ats": "@", "Pipes": "|",
}  # fmt: skip
MASKS: dict[str, Mask] = {
    "LastTwo": lambda document: document[-2:],
    "FirstThree": lambda document: document[:3],
    "MiddleOnly": lambda document: document[3:9],
    "MiddleWithPoints": lambda document: f"{document[3:6]}.{document[6:9]}",
    "CutInFront": lambda document: f"...{document[6:9]}-{document[9:11]}",
    "CutBehind": lambda document: f"{document[:4]}…",
    "OneStarOnly": lambda document: f"*{document[1:]}",
    "OneStarAtTheEnd": lambda document: f"{document[:-1]}*",
    "OneXInTheMiddle": lambda document: f"{document[:5]}x{document[6:]}",
    "OneStarAndAll": lambda document: f"*{document}",
    "EveryOther": lambda document: "".join(sign if i % 2 else "*" for i, sign in enumerate(document)),
    "AlwaysTen": lambda document: f"*******{document[-3:]}",
    "AWord": lambda document: f"[hidden]{document[-2:]}",
    "ASentence": lambda document: f"ends in {document[-4:]}",
    "AHashAndTwo": lambda document: f"sha256:5f2b…/{document[-2:]}",
    "InPunctuation": lambda document: f"***.***.*{document[7:9]}-{document[9:11]}",
    "BesideAProtocol": lambda document: f"***{document[3:9]}** (protocolo 20260721123)",
    "BesideANumberInFront": lambda document: f"98765432100 / ***.{document[3:6]}.{document[6:9]}-**",
    "BesideAHash": lambda document: f"***{document[3:9]}** 5f2b8c9d0e1a77",
    "BesideAnotherMask": lambda document: f"***{document[3:9]}** / *********{document[-2:]}",
    "BesideATime": lambda document: f"***.{document[3:6]}.{document[6:9]}-** 12/05/2026 10:11:12.123",
    "BesideAPhoneNumber": lambda document: f"***{document[3:9]}** +55 11 91234-5678",
    "AllAndANumber": lambda document: "*********** 20260721123",
    "CutAndANumber": lambda document: f"{document[3:6]} 20260721123",
    "WithALabel": lambda document: f"CPF/CNPJ: ***{document[3:7]}***",
}


def _behind(sign: str) -> Mask:
    return lambda document: f"{sign * 3}{document[3:-5]}{sign * 5}"


class MasksInTurn(TakesTurns):
    """The sandbox, whose executions hide the document in another way each time."""

    def execution_result(self, transfer: Any) -> dict[str, object]:
        return super().execution_result(transfer) | {"document": next(self.ways)(transfer.payee.document)}


ALL = {**{name: _behind(sign) for name, sign in SIGNS.items()}, **MASKS}
AT_ONCE = 6
"""Executions of one run."""
for _start in range(0, len(ALL), AT_ONCE):
    _names = list(ALL)[_start : _start + AT_ONCE]
    lawful(
        "mask", f"MasksFrom{_names[0]}To{_names[-1]}", f"Documents are hidden by {', '.join(_names)}, in turn.",
        MasksInTurn, WAYS=tuple(ALL[name] for name in _names),
    )  # fmt: skip
