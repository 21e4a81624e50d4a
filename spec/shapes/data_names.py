"""Which members of an object are named by data: an account, a date, a person. A shape keeps no such name.

A name of a schema is an identifier: `saldoDisponivel`, `x-total`, `address1`, `iso4217`, `2fa`. Where a name could be
either, it counts as data: a shape then says "any name", and nothing leaks.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stdnum.br import cnpj

from spec.interface import MARK
from spec.key_list import UUID

_LONGEST = 60
_IDENTIFIER = re.compile(r"[$_]{0,2}[0-9]?[^\W\d_][\w-]*|@(?:id|type|context|odata\.[A-Za-z]{1,30})")
"""One digit may lead, as in `2fa`. What has blanks, points or other signs is data, but for the words of JSON-LD and of
OData: `@maria` is a person."""
_STANDARD = re.compile(
    r"""(?:^|[_-]|(?<=[a-z])(?=[A-Z]))
    (?: (?i:iso)[_-]?\d{3,5}
      | (?i:rfc|sha|crc|utf|base|u?int|pkcs|rsa|aes|[ehpr]s|cnab|pacs|pain|camt|ean|http) (?:[_-]?\d{1,4}){1,2} )
    (?![0-9])""",
    re.VERBOSE,
)
"""Standards and algorithms that have a number."""
_RUNS = re.compile(r"\d+")
_MOST_DIGITS, _MOST_RUNS = 2, 1
_HEXADECIMAL = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
_TOKEN = 16
"""Letters from which a name without the vowels of a language, or of letters in changing case, is a token."""
_VOWELS = frozenset("aeiouyáâãàéêíóôõúü")
_SWITCH = re.compile("[a-z](?=[A-Z])")


@lru_cache(10_000)
def is_data(name: str) -> bool:
    """Whether a member is named by data, as far as its name alone tells."""
    if len(name) > _LONGEST or not _IDENTIFIER.fullmatch(name):
        return True
    if MARK in name or UUID.fullmatch(name) or _HEXADECIMAL.fullmatch(name) or _is_cnpj(name):
        return True
    runs = _RUNS.findall(_STANDARD.sub("", name))
    return len(runs) > _MOST_RUNS or any(len(run) > _MOST_DIGITS for run in runs) or _is_token(name)


def _is_cnpj(name: str) -> bool:
    """Whether it is an alphanumeric CNPJ, which may have two digits alone."""
    return len(name) == 14 and name.isalnum() and cnpj.is_valid(name.upper())


def _is_token(name: str) -> bool:
    """Whether a long name is drawn at random: few vowels, or capitals in every fourth place."""
    if len(name) < _TOKEN:
        return False
    vowels = sum(letter in _VOWELS for letter in name.casefold())
    return vowels < len(name) / 6 or len(_SWITCH.findall(name)) > len(name) / 4.5
