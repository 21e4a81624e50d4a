"""Key types that the interface document does not have, chosen because a lenient service may take them for a documented
one.

The registration scenario sends them. The source is the list of allowed values of pixKeyType in the interface document,
POST /v1/pix/keys/{accountId}. Types in lower case and numbers are left out, because the document leaves them open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX

NAMES = {
    "PHONE": ("CELULAR", "TELEFONE", "TELEFONO", "CELLPHONE", "MOBILE", "PHON", "PHONE_NUMBER"),
    "EMAIL": ("E-MAIL", "MAIL", "CORREO", "EMAIL_ADDRESS", "PIX_EMAIL", "E MAIL", "EMAIL,PHONE", "ＥＭＡＩＬ"),
    "RANDOM": ("IBAN", "ALEATORIA", "CHAVE_ALEATORIA", "RANDOM_KEY"),
    "CNPJ": ("TAX_ID",),
    "CPF": ("DOCUMENTO", "CPF_CNPJ", "TAX_CPF", f"{SYNTHETIC_PREFIX}type"),
}
"""By documented type, other names of it: in Portuguese, Spanish and English, with a prefix or a suffix, with a blank
inside, cut short, as the first of two, and in wide letters. The last one is no word at all.

Blanks or a line break around a name are left out, because a conforming service may remove them."""
PLURALS = ("PHONE", "EMAIL", "CPF")
"""Documented types that are sent in the plural, too, because a service may only compare the beginning of a type."""
NUMBER_IN_WORDS = "UM"
"""The word for 1 in Portuguese. The example request in the interface document has a digit as the type, and a service
may know such a type by its word, too."""
EMPTY = ("", None)
"""The empty text and null."""
_WITH_AN_EMPTY_KEY = ("CELULAR", "EMAILS", "CNPJ2", "ALEATORIA", "CHAVE_ALEATORIA", *EMPTY)
"""Types that are sent with an empty key, too. A service may register a new key of its own for an unknown type."""


@dataclass(frozen=True)
class UndocumentedType:
    """A key type that is not documented, and how it is sent."""

    name: str | None
    type_of_its_key: str
    """The documented type of the keys that it is sent with: CELULAR, for instance, with a PHONE key."""
    may_make_a_key: bool = False
    """True if a lenient service may read the type as RANDOM, and register a new key that it makes itself.

    For an empty type and a number nobody knows which type the service reads, so they may mean RANDOM, too."""
    with_an_empty_key: bool = False


def undocumented_types(*, with_empty_keys: bool) -> Iterator[UndocumentedType]:
    """All undocumented types that a run sends, each with the documented type of the key that it is sent with.

    They are other names of each documented type, plurals, a name with a 2 behind it, and texts that mean no type. With
    `with_empty_keys`, some of them are sent once more with an empty key.
    """
    for documented in KEY_TYPES:
        plural = [f"{documented}S"] if documented in PLURALS else []
        for name in (*NAMES[documented], *plural, f"{documented}2"):
            # The other names of RANDOM are those of a key that the service makes. IBAN is only in their list because it
            # fits no documented type. An IBAN names an account, so no service makes one.
            is_like_random = documented == "RANDOM" and name != "IBAN"
            yield UndocumentedType(name, documented, may_make_a_key=is_like_random)
    for name_of_no_type in (NUMBER_IN_WORDS, *EMPTY):  # sent with an e-mail address, which the suite can make up
        yield UndocumentedType(name_of_no_type, "EMAIL", may_make_a_key=True)
    if with_empty_keys:
        for name_without_key in _WITH_AN_EMPTY_KEY:
            yield UndocumentedType(name_without_key, "RANDOM", may_make_a_key=True, with_an_empty_key=True)
