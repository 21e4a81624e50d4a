"""What counts as a partly hidden tax document.

Source: the document, Execution result, row 8; design, "How the document is read". A CPF has 11 characters,
a CNPJ 14 (alphanumeric since 2026), and python-stdnum knows the digits.
"""

from __future__ import annotations

import re
import unicodedata

from stdnum.br import cnpj

_MASK = frozenset("*#•●○■□█▇▒▓▪∙⁎…×?~^+=@$%&!")  # noqa: RUF001 - the multiplication sign hides too
_RUN = re.compile(r"([^0-9A-Za-z\s])\1")
_LABEL = re.compile(r"^\W*(?:CPF|CNPJ)\b|\b(?:CPF|CNPJ)\W*$")
_CPF = re.compile(r"[0-9]{11}")
_CNPJ = re.compile(r"[0-9A-Z]{12}[0-9]{2}")


def is_fully_visible(document: str) -> bool:
    """Whether all 11 or 14 characters can be read, in any punctuation, with a label, whatever the check digits."""
    text = unicodedata.normalize("NFKC", document.replace("…", "*")).upper()
    if _MASK & set(text) or _RUN.search(text):
        return False
    visible = "".join(character for character in _LABEL.sub("", text) if character.isalnum())
    if _CPF.fullmatch(visible):
        return True
    return bool(_CNPJ.fullmatch(visible)) and ("X" not in visible or bool(cnpj.is_valid(visible)))


def is_fully_hidden(document: str) -> bool:
    """Whether nothing of the document can be read: no digit, and no letter but a mask of X."""
    return not any(character.isalnum() and character not in "xX" for character in document)
