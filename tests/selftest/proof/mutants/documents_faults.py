"""Tax documents that come back in full: always, or of some counterparties only."""

from environments.sandbox import Service
from tests.selftest.proof.mutants.making_faults import without_self
from tests.selftest.proof.registry import declare_mutant, mutant


class Unmasked(Service):
    """The sandbox, which does not mask (partly hide) the tax document of some transfers."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        """The result of an execution, with the document as `shown` writes it if the transfer is affected."""
        result = super().execution_result(transfer)
        if self.is_affected(transfer):
            result["document"] = self.shown(transfer.payee.document)
        return result

    def is_affected(self, transfer):
        """True of the transfers whose document is not masked: all, unless a mutant says otherwise."""
        return True

    def shown(self, document):
        """The document as the service shows it: in full, unless a mutant says otherwise."""
        return document


def punctuated(document):
    """The document as people write it: 529.982.247-25 for a CPF, 11.222.333/0001-81 for a CNPJ."""
    if len(document) == 11:
        return f"{document[:3]}.{document[3:6]}.{document[6:9]}-{document[9:]}"
    return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"


def mask(document):
    """The document with only six of its characters, such as ***982247** for a CPF."""
    stars_at_end = "*" * (len(document) - 9)
    return f"***{document[3:9]}{stars_at_end}"


SHOWN = {
    "Plain": ("plain", str),
    "Punctuated": ("punctuated and not hidden", punctuated),
    "AsAlphanumericCnpj": ("plain CNPJ with letters", lambda document: "12ABC34501DE35"),
    "AsPunctuatedAlphanumericCnpj": ("CNPJ with letters, punctuated", lambda document: "12.ABC.345/01DE-35"),
    "WithWrongCheckDigits": ("plain, with wrong check digits", lambda document: document[:-2] + "00"),
    "WithALabelBefore": ("plain behind a label", lambda document: f"CNPJ: {document}"),
    "BetweenMasks": ("plain between masks", lambda document: f"***{document}***"),
    "BehindItsMask": ("masked, and in clear behind it", lambda document: f"{mask(document)} ({punctuated(document)})"),
    "BeforeItsMask": ("plain, and masked behind it", lambda document: f"{document} / {mask(document)}"),
    "BesideItsLastTwo": (
        "hidden but for two digits, and plain", lambda document: f"*********{document[-2:]}, {document}",
    ),
    "AsAlphanumericCnpjBesideItsMask": (
        "CNPJ with letters, masked and in clear", lambda document: "**.ABC.345/01DE-** 12.ABC.345/01DE-35",
    ),
    "BesideAMaskOfX": (
        "masked with X, and digit by digit", lambda document: f"XXX{mask(document)[3:9]}XX {' '.join(document)}",
    ),
    "InEntities": ("in entities of HTML", lambda document: "".join(f"&#{ord(character)};" for character in document)),
    "WithoutWidthBetween": ("plain, with zero-width spaces", "\u200b".join),
    "BetweenMarks": ("digits between marks", "*".join),
    "WithoutItsLeadingZeros": ("a number, which has lost its zeros", lambda document: "191"),
    "InMarkup": ("digits between tags", "</b><b>".join),
}  # fmt: skip
AFFECTED_TRANSFERS = {
    "OfCpf": ("it is a CPF", lambda transfer: len(transfer.payee.document) == 11),
    "OfCnpj": ("it is a CNPJ", lambda transfer: len(transfer.payee.document) == 14),
    "OfLongNames": ("the name is long", lambda transfer: len(transfer.payee.name) > 25),
    "OfLargeAmounts": ("the amount is large", lambda transfer: transfer.cents >= 10_000_00),
    "WithoutAMessage": ("there is no message", lambda transfer: not transfer.message),
    "OfEmailKeys": ("the key is an e-mail address", lambda transfer: transfer.key_type == "EMAIL"),
    "OfDigitX": ("the check digit is X", lambda transfer: transfer.payee.digit == "X"),
}


@mutant("document not hidden", "executePix.document.masked", warns=("executePix.fields.extra",))
class DocumentIsClearInAnotherMember(Service):
    """A member that is not documented has the tax document in full."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"raw": {"cpf": transfer.payee.document}}


for _name, (_text, _shown) in SHOWN.items():
    declare_mutant(
        "document not hidden", f"Document{_name}", f"Documents are {_text}.", Unmasked,
        "executePix.document.masked", shown=without_self(_shown),
    )  # fmt: skip
for _name, (_text, _is_affected) in AFFECTED_TRANSFERS.items():
    declare_mutant(
        "document not hidden", f"Document{_name}", f"A document comes back in full where {_text}.", Unmasked,
        "executePix.document.masked", is_affected=without_self(_is_affected),
    )  # fmt: skip
