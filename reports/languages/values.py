"""What stands in a sentence as a value and is the same in every language: numbers, ids, names of code, addresses."""

from __future__ import annotations

import re
from functools import cache

from spec.interface import KEY_TYPES, operations
from spec.requirements import ledger

_DECIMAL = re.compile(r"\d+\.\d+(?: m?s)?")
_VALUE = re.compile(
    r"""
    [-+]?\d+(?:[.,:/-]\d+)*%?                 # a number, a date, a time
    | \d+(?:\.\d+)?\ m?s                      # a duration
    | \d+(?:-\d+)+T[\d:.]+(?:Z|[+-][\d:]+)     # a moment
    | [1-5]\d\d\ [\w.+-]+/[\w.+-]+            # a status and a media type
    | (?:GET|POST|PUT|PATCH|DELETE)\ /\S*     # a request
    | --[a-z][\w=-]*                          # an option
    | [\w.+-]*/\S*                            # a path, a media type
    | [a-z]+://\S+                            # an address
    | [A-Za-z_]\w*(?:\.[A-Za-z_][\w-]*)+      # an id, a file, a key of the profile
    | [a-z]+(?:[A-Z0-9]\w*|_\w+)              # transactionId, pix_keys
    | [A-Z][A-Z0-9_-]+                        # PHONE
    | [A-Z]\w*(?:-[A-Z]\w*)+                  # Content-Type
    | <[^<>]{1,60}>                           # what stands for a redacted value
    | \{\w+\}                                 # a path parameter
    | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*"   # what is quoted
    """,
    re.VERBOSE,
)
_WORDS = """
    read transfer execute fuzz register-keys delete-keys create-pix allow auth accounts proxy journal
    base_url token_file token_command from to description GET POST DELETE PUT PATCH OPTIONS HEAD TRACE CONNECT
    NaN Infinity -Infinity NUL UTF-8 UTF-16 XML null true false
"""


@cache
def _words() -> frozenset[str]:
    """Words that look like any other and are names: operations, fields, key types, levels of the profile."""
    fields = {field.name for each in operations().values() for field in (*each.envelope, *each.result)}
    bodies = {identifier.split(".")[2] for identifier in ledger() if ".body." in identifier}
    return frozenset({*_WORDS.split(), *fields, *bodies, *operations(), *KEY_TYPES})


def is_value(text: str) -> bool:
    """Whether the text is a value as a whole, and no words of a sentence."""
    return text in _words() or bool(_VALUE.fullmatch(text))


def localized(value: str, decimal: str) -> str:
    """The value as it is written where `decimal` is the sign before a fraction."""
    return value.replace(".", decimal) if _DECIMAL.fullmatch(value) else value
