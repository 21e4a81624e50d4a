"""What looks personal wherever it stands: tax numbers, e-mail addresses, phone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stdnum.br import cnpj, cpf

from reports.redaction.masks import is_masked

NAMES = ("cpf", "cnpj", "e-mail", "phone")

# The start of a run only, and possessive: no text makes these scan twice.
_MAIL = re.compile(r"(?<![\w.+%'-])[\w.+%'-]++@[\w-]++(?:\.[\w-]++)++")
_EIGHT_DIGITS = re.compile(r"[0-9](?:[ ().\-/]{0,3}[0-9]){7}")
_ALPHANUMERIC = re.compile(r"(?<![0-9A-Za-z_])(?:[0-9A-Z]{12}|[0-9a-z]{12})[0-9]{2}(?![0-9A-Za-z_])")
# Alone: no letter or digit beside it, and no part of a longer decimal number.
_NUMBERS = re.compile(
    r"""
    (?= [0-9+(] | [A-Za-z][0-9A-Za-z]\. | [0-9a-fA-F]{8}- )
    (?: (?P<other>  [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
              | [0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?
                (?:[+-][0-9]{2}:?[0-9]{2})? )
    | (?<![0-9A-Za-z]) (?P<cnpj> [0-9A-Za-z]{2}\.[0-9A-Za-z]{3}\.[0-9A-Za-z]{3}/[0-9A-Za-z]{4}-[0-9]{2} ) (?![0-9])
    | (?<![0-9]) (?P<cpf> [0-9]{3}\.[0-9]{3}\.[0-9]{3}[-/][0-9]{2} ) (?![0-9])
    | (?<![\w+]) (?P<abroad> \+[1-9](?:[ ().\-]{0,2}[0-9]){7,14} ) (?![0-9])
    | (?<![0-9]) (?P<local> \(0?[1-9][0-9]\)[ ]?9?[0-9]{4}[- ]?[0-9]{4} ) (?![0-9])
    | (?<![\w-]) (?P<split> (?:0?[1-9][1-9][ -])?9[0-9]{4}-[0-9]{4} | [1-9][1-9][ -]9[0-9]{8} ) (?![\w-])
    | (?<![0-9A-Za-z_]) (?<![0-9][.,]) (?P<bare>
        [0-9]{14} | [0-9]{11} | 55[1-9][1-9]9[0-9]{8}
        | [0-9]{3}[ ][0-9]{3}[ ][0-9]{3}[ ][0-9]{2} | [0-9]{9}-[0-9]{2} | [0-9]{12}-[0-9]{2}
      ) (?![0-9A-Za-z_]) (?![.,-][0-9]) )
    """,
    re.VERBOSE,
)
_MOBILE = re.compile(r"(?:55)?[1-9][1-9]9[0-9]{8}")


def detect(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind (one of NAMES) of everything that looks personal and is not masked already."""
    if "@" in text:
        yield from ((*match.span(), "e-mail") for match in _MAIL.finditer(text) if not is_masked(match.group()))
    if len(text) < 8:
        return
    for match in _ALPHANUMERIC.finditer(text):
        if cnpj.is_valid(match.group().upper()):
            yield (*match.span(), "cnpj")
    if _EIGHT_DIGITS.search(text) or "/" in text:
        for match in _NUMBERS.finditer(text):
            kind = _kind(match.lastgroup or "", match.group())
            if kind and not is_masked(match.group()):
                yield (*match.span(), kind)


def _kind(group: str, number: str) -> str:
    if group in ("cpf", "cnpj"):
        return group
    if group in ("abroad", "local", "split"):
        return "phone"
    if group == "bare" and cpf.is_valid(number):
        return "cpf"
    if group == "bare" and cnpj.is_valid(number):
        return "cnpj"
    return "phone" if group == "bare" and _MOBILE.fullmatch(number) else ""
