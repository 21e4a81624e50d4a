"""Key types that the interface document does not have, chosen because a lenient service may take them for a documented
one.

The registration scenario sends them. The source is the list of allowed values of pixKeyType in the interface document,
POST /v1/pix/keys/{accountId}. Types in lower case and numbers are left out, because the document leaves them open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from spec.interface import KEY_TYPES, SYNTHETIC_PREFIX

NAMES = {
    "PHONE": ("CELULAR", "TELEFONE", "CELLPHONE", "MOBILE", "PHONE_NUMBER", "PHON"),
    "EMAIL": ("E-MAIL", "MAIL", "CORREO", "E MAIL", "EMAILS", "EMAIL_ADDRESS", "EMAIL,PHONE", "ＥＭＡＩＬ"),
    "RANDOM": ("IBAN", "UUID", "ALEATORIA", "CHAVE_ALEATORIA"),
    "CNPJ": ("TAX_ID", "CNPJ2"),
    "CPF": ("DOCUMENTO", "CPF_CNPJ", f"{SYNTHETIC_PREFIX}type"),
}
"""By documented type, other names of it: in Portuguese, Spanish and English, with a usual word behind it, with a blank
inside, in the plural, with a number, cut short, as the first of two, and in wide letters. The last one is no word.

Blanks or a line break around a name are left out, because a conforming service may remove them."""
NUMBER_IN_WORDS = "UM"
"""The word for 1 in Portuguese. The example request in the interface document has a digit as the type, and a service
may know such a type by its word, too."""
EMPTY = ("", None)
"""The empty text and null."""
_WITH_AN_EMPTY_KEY = ("CELULAR", "EMAILS", "ALEATORIA", *EMPTY)
"""Types that are sent with an empty key, too. A service may register a new key of its own for an unknown type."""
_WITH_A_UUID = ("UUID", "ALEATORIA")
"""Other names of RANDOM that are sent with a UUID as the key, because a RANDOM key is one: a service may take the key
from the request. The other names go with the RANDOM key of the profile, which is empty as a rule."""
_WORDS = ("X", "MY", "NEW", "OLD", "PIX", "KEY", "TAX", "TYPE", "MAIN", "TEST", "ID", "BR", "V2", "ADDRESS", "NUMBER")
"""Words that are put before a documented type, and behind it."""
_SHORT_WORDS = ("2", "S", "X", "1", "V2")
"""What is put behind a documented type without a separator."""
_SEPARATORS_BEFORE = ("_", "-", "_", ".", "")
"""Separators between a word and the documented type behind it: one for each documented type. The underscore is there
twice, because it is the likeliest one."""
_SEPARATORS_BEHIND = ("_", "", "-", "", " ")
"""Separators between a documented type and the word behind it: one for each documented type."""


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
    with_a_uuid: bool = False
    """True if its key is a new UUID. That is a key of nobody, but only on a sandbox is it sent."""


def undocumented_types(*, with_empty_keys: bool, seed: int = 0) -> Iterator[UndocumentedType]:
    """All undocumented types that a run sends, each with the documented type of the key that it is sent with.

    They are other names of each documented type, each documented type with a word before or behind it, and texts that
    mean no type. `seed` decides which words. With `with_empty_keys`, some of the types are sent once more with an empty
    key.
    """
    names_with_words = _names_with_words(Random(f"{seed} key types"))
    for documented in KEY_TYPES:
        for name in (*NAMES[documented], *names_with_words[documented]):
            # The other names of RANDOM are those of a key that the service makes. IBAN is only in their list because it
            # fits no documented type. An IBAN names an account, so no service makes one.
            is_like_random = documented == "RANDOM" and name != "IBAN"
            has_a_uuid = name in _WITH_A_UUID
            yield UndocumentedType(name, documented, may_make_a_key=is_like_random, with_a_uuid=has_a_uuid)
    for name_of_no_type in (NUMBER_IN_WORDS, *EMPTY):  # sent with an e-mail address, which the suite can make up
        yield UndocumentedType(name_of_no_type, "EMAIL", may_make_a_key=True)
    if with_empty_keys:
        for name_without_key in _WITH_AN_EMPTY_KEY:
            yield UndocumentedType(name_without_key, "RANDOM", may_make_a_key=True, with_an_empty_key=True)


def _names_with_words(random: Random) -> dict[str, tuple[str, str]]:
    """For each documented type, two names: with a word before it, such as MY_CPF, and with a word behind it: CPF2.

    A lenient service may compare only the end of a type, only its beginning, or only what stands before or behind a
    separator. So the separators are shuffled among the documented types, and each of them is in some name.
    """
    before = random.sample(_SEPARATORS_BEFORE, len(KEY_TYPES))
    behind = random.sample(_SEPARATORS_BEHIND, len(KEY_TYPES))
    names: dict[str, tuple[str, str]] = {}
    for documented, separator_before, separator_behind in zip(KEY_TYPES, before, behind, strict=True):
        words_behind = _WORDS if separator_behind else _SHORT_WORDS
        with_a_word_before = f"{random.choice(_WORDS)}{separator_before}{documented}"
        with_a_word_behind = f"{documented}{separator_behind}{random.choice(words_behind)}"
        names[documented] = with_a_word_before, with_a_word_behind
    return names
