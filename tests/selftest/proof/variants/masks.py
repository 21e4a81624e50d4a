"""How a tax document is partly hidden: the document says that it is, and not how."""

from __future__ import annotations

from collections.abc import Callable

from environments.sandbox.service import Service
from tests.selftest.proof.variants.making import lawful

SIGNS = {
    "Stars": "*", "CapitalX": "X", "SmallX": "x", "Hashes": "#", "Bullets": "•", "Circles": "●", "OpenCircles": "○",
    "Underscores": "_", "Dashes": "-", "Blocks": "█", "Shades": "▒", "Dots": ".", "MiddleDots": "·", "Questions": "?",
    "Tildes": "~", "Crosses": "×", "Locks": "🔒", "LongDashes": "—", "Ellipses": "…",
    "HtmlEntities": "&bull;", "Spaces": " ", "Slashes": "/", "Ats": "@", "Pipes": "|",
}  # fmt: skip
MASKS: dict[str, Callable[[str], str]] = {
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
    "WithALabel": lambda document: f"CPF/CNPJ: ***{document[3:7]}***",
}

for _name, _sign in SIGNS.items():
    lawful(
        "mask", f"Hides{_name}", f"The document hides behind {_name} all but its middle.", Service,
        mask=lambda self, document, _sign=_sign: f"{_sign * 3}{document[3:-5]}{_sign * 5}",
    )  # fmt: skip
for _name, _mask in MASKS.items():
    lawful("mask", f"Shows{_name}", f"The document shows {_name}.", Service, mask=lambda self, document, _mask=_mask: _mask(document))
