"""Which members of an object are named by data: an account, a date, a person. A shape keeps no such name.

A name of a schema is an identifier: `saldoDisponivel`, `x-total`, `address1`, `iso4217`, `2fa`. Where a name could be
either, it counts as data: a shape then says "any name", and nothing leaks. The name alone decides, and neither the
other members nor their values: so two answers of one service never disagree about it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from spec.shapes.field_words import is_of_words

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


@lru_cache(10_000)
def is_data(name: str) -> bool:
    """Whether a member is named by data, or may be."""
    if len(name) > _LONGEST or not _IDENTIFIER.fullmatch(name):
        return True
    runs = _RUNS.findall(_STANDARD.sub("", name))
    has_a_number = len(runs) > _MOST_RUNS or any(len(run) > _MOST_DIGITS for run in runs)
    return has_a_number or not is_of_words(name)
