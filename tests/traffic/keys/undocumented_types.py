"""Key types that the interface document does not have: by rules, what a lenient service may take for a documented one.

Types in lower case and digits are none of them, because the interface document leaves them open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec.interface import KEY_TYPES, MARK

NAMES = {
    "PHONE": ("CELULAR", "TELEFONE", "TELEFONO", "CELLPHONE", "PHONE_NUMBER"),
    "EMAIL": ("E-MAIL", "MAIL", "CORREO", "EMAIL_ADDRESS", "E MAIL"),
    "RANDOM": ("IBAN", "ALEATORIA", "CHAVE_ALEATORIA", "RANDOM_KEY"),
    "CNPJ": ("TAX_ID",),
    "CPF": ("DOCUMENTO", "CPF_CNPJ", f"{MARK}type"),
}
"""By the documented type that is meant: its names in Portuguese, Spanish and English, with a prefix or a suffix, and
with a blank inside. One is no word at all."""
PLURALS = ("PHONE", "EMAIL", "CPF")
"""Documented types that are sent in the plural, too: they begin like it, and go on in a letter."""
NUMBER_IN_WORDS = "UM"
EMPTY = ("", None)
"""The empty text and null."""
_WITH_AN_EMPTY_KEY = ("CELULAR", "EMAILS", "CNPJ2", *EMPTY)
"""Types that are sent with an empty key, too: a service may make a key for whatever it does not know."""


@dataclass(frozen=True)
class UndocumentedType:
    """A type, and the documented one whose keys fit it. `may_make_a_key`: a lenient service may take it for RANDOM, and
    make a key that no request names."""

    name: str | None
    fits: str
    may_make_a_key: bool = False
    with_an_empty_key: bool = False


def undocumented_types(*, with_empty_keys: bool) -> Iterator[UndocumentedType]:
    """All of them, each once with a key that fits; with empty keys those that are sent with one, too."""
    for documented in KEY_TYPES:
        plural = [f"{documented}S"] if documented in PLURALS else []
        for name in (*NAMES[documented], *plural, f"{documented}2"):
            yield UndocumentedType(name, documented, may_make_a_key=documented == "RANDOM" and name != "IBAN")
    for empty_name in (NUMBER_IN_WORDS, *EMPTY):
        yield UndocumentedType(empty_name, "EMAIL", may_make_a_key=True)
    if with_empty_keys:
        for keyless in _WITH_AN_EMPTY_KEY:
            yield UndocumentedType(keyless, "RANDOM", may_make_a_key=True, with_an_empty_key=True)
