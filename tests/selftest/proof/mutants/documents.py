"""Tax documents that come back in full: always, or of some counterparties only."""

from __future__ import annotations

from environments.sandbox.ledger import Transfer
from environments.sandbox.service import Service
from tests.selftest.proof.mutants.making import lie


def _punctuated(document: str) -> str:
    if len(document) == 11:
        return f"{document[:3]}.{document[3:6]}.{document[6:9]}-{document[9:]}"
    return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"


class Unmasked(Service):
    """The sandbox, which shows some documents in full."""

    def execution_result(self, transfer: Transfer) -> dict[str, object]:
        data = super().execution_result(transfer)
        return data | {"document": self.shown(transfer.payee.document)} if self.meant(transfer) else data

    def meant(self, transfer: Transfer) -> bool:
        return True

    def shown(self, document: str) -> str:
        return document


def _is_cpf(transfer: Transfer) -> bool:
    return len(transfer.payee.document) == 11


SHOWN = {
    "Plain": ("Documents are plain.", lambda self, document: document),
    "Punctuated": ("Documents are punctuated and not hidden.", lambda self, document: _punctuated(document)),
    "Spaced": ("Documents are in groups of digits.", lambda self, document: " ".join(document[i : i + 3] for i in range(0, len(document), 3))),
    "WithUnderscores": ("Documents have underscores between digits.", lambda self, document: "_".join(document)),
    "AsAlphanumericCnpj": ("Documents are plain CNPJ with letters.", lambda self, document: "12ABC34501DE35"),
    "AsPunctuatedAlphanumericCnpj": ("Documents are CNPJ with letters, punctuated.", lambda self, document: "12.ABC.345/01DE-35"),
    "AsLowerCaseAlphanumericCnpj": ("Documents are CNPJ with small letters.", lambda self, document: "12abc34501de35"),
    "WithWrongCheckDigits": ("Documents are plain, and their check digits are wrong.", lambda self, document: document[:-2] + "00"),
    "FullWidth": ("Documents are in full-width digits.", lambda self, document: "".join(chr(ord(c) + 0xFEE0) for c in document)),
    "Padded": ("Documents are plain between spaces.", lambda self, document: f" {document} "),
}  # fmt: skip
MEANT = {
    "OfCpf": ("CPF come back in full.", lambda self, transfer: _is_cpf(transfer)),
    "OfCnpj": ("CNPJ come back in full.", lambda self, transfer: not _is_cpf(transfer)),
    "OfLongNames": ("Documents come back in full where the name is long.", lambda self, transfer: len(transfer.payee.name) > 25),
    "OfShortNames": ("Documents come back in full where the name is short.", lambda self, transfer: len(transfer.payee.name) < 12),
    "OfLargeAmounts": ("Documents come back in full where the amount is large.", lambda self, transfer: transfer.cents >= 10_000_00),
    "WithoutAMessage": ("Documents come back in full where there is no message.", lambda self, transfer: not transfer.message),
    "OfEmailKeys": ("Documents come back in full where the key is an e-mail address.", lambda self, transfer: transfer.key_kind == "EMAIL"),
    "OfDigitX": ("Documents come back in full where the check digit is X.", lambda self, transfer: transfer.payee.digit == "X"),
}  # fmt: skip

for _name, (_text, _shown) in SHOWN.items():
    lie("document not hidden", f"Document{_name}", _text, Unmasked, "executePix.document.masked", shown=_shown)
for _name, (_text, _meant) in MEANT.items():
    lie("document not hidden", f"Document{_name}", _text, Unmasked, "executePix.document.masked", meant=_meant)
