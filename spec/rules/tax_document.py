"""Reading of a partly masked tax document.

Source: interface document, Execution result, row 8. A CPF has 11 characters, a CNPJ 14 (alphanumeric since 2026).
python-stdnum checks their check digits.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from stdnum.br import cnpj, cpf

_SHORTEST = 11
"""Characters of a CPF."""
_LONGEST = 200
"""Characters of a field that are looked at."""
_MASK = re.escape("*#•●○■□█▇▒▓▪∙⁎×?~^+=@$%&!")  # noqa: RUF001 - the multiplication sign masks, too
_SIGN = re.compile(rf"[{_MASK}]|([^0-9A-Z\s])\1+|XX+|(?<=[0-9])X|X(?=[0-9])")
_END = re.compile(rf"(?:{_SIGN.pattern})[^0-9A-Z\s]?$")
_START = re.compile(rf"[^0-9A-Z\s]?(?:{_SIGN.pattern})")
_LABEL = re.compile(r"\b(?:CPF|CNPJ)\b(?: ?=)?")
_BETWEEN = rf" ?[^0-9A-Z\s{_MASK}]? ?"
_CLEAR = [
    re.compile(rf"(?<![0-9A-Z])(?=({form})(?![0-9A-Z]))")
    for form in (
        rf"[0-9](?:{_BETWEEN}[0-9]){{10}}",
        rf"[0-9](?:{_BETWEEN}[0-9]){{13}}",
        # With letters: together, in the groups of a CNPJ, or letter by letter. In other groups it might be any words.
        r"[0-9A-Z]{12}[0-9]{2}",
        r"[0-9A-Z]{2}\W(?:[0-9A-Z]{3}\W){2}[0-9A-Z]{4}\W[0-9]{2}",
        r"(?:[0-9A-Z][\W_]){12}[0-9][\W_][0-9]",
    )
]
_ONE_BY_ONE = re.compile(r"[^0-9A-WYZ]*[0-9](?:[^0-9A-WYZ]+[0-9]){10}(?:(?:[^0-9A-WYZ]+[0-9]){3})?[^0-9A-WYZ]*")
"""With anything between all of them: a mask as long as the document has no place for so many."""
_WRITTEN = re.compile(r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9A-Z]{2}(?:\.[0-9A-Z]{3}){2}/[0-9A-Z]{4}-[0-9]{2}")
_DISAGREES = -100
_NUMBER = re.compile(rf"[1-9](?:{_BETWEEN}[0-9])*")
"""Digits alone. A number has no 0 in front, and a text that begins or ends with punctuation was cut there."""


class _Clear(NamedTuple):
    """11 or 14 characters of a field that are all visible, as they are `written`, and the text around them."""

    characters: str
    written: str
    before: str
    after: str

    @property
    def likelihood(self) -> int:
        """Points for right check digits and for the usual punctuation, two for each."""
        return 2 * (_is_valid(self.characters) + bool(_WRITTEN.fullmatch(self.written)))

    @property
    def is_joined(self) -> bool:
        """True if a mask stands directly beside it: then it may be the visible part of a longer masked text."""
        return bool(_END.search(self.before) or _START.match(self.after))


def is_fully_visible(document: str) -> bool:
    """True if all 11 or 14 characters are visible, in any punctuation, with a label or none, with any check digits.

    A mask may stand beside them. If they agree with what it shows, it masks nothing; if not, they are something else.
    """
    text = _plain(document)
    if len(_letters(text)) < 11:  # a CPF has 11
        return False
    return bool(_ONE_BY_ONE.fullmatch(text)) or _is_all_shown(text) or any(map(_is_a_document, _clear(text)))


def lost_its_zeros(document: str) -> bool:
    """True if the digits are a whole CPF or CNPJ whose leading zeros are missing, as those of a number are.

    A truncated document may look alike by chance: two numbers of a hundred have the check digits of one of both.
    """
    text = _plain(document)
    digits = _letters(text)
    if not _NUMBER.fullmatch(text):
        return False
    return bool(cpf.is_valid(digits.zfill(11)) or cnpj.is_valid(digits.zfill(14)))


def is_unmasked(document: str, text: str) -> bool:
    """True if a text has in clear what a masked document hides: with the characters that this one shows, and with right
    check digits or the usual punctuation."""
    if text.isascii() and len(text) < _SHORTEST:  # nothing in ASCII becomes longer when it is made plain
        return False
    mask, shown = _plain(document), _plain(text)
    return all(part in _letters(shown) for part in _shown(mask)) and any(
        clear.likelihood and _agreement(mask, clear.characters) >= 4 for clear in _clear(shown)
    )


def is_fully_masked(document: str) -> bool:
    """True if nothing of the document is visible: no digit, and no letter but the X of a mask."""
    return not any(character.isalnum() and character not in "xX" for character in document)


@lru_cache(10_000)
def _plain(document: str) -> str:
    """The field as people read it: entities, wide digits and characters without a width make no difference."""
    shown = re.sub(r"<[^<>]*>", "", html.unescape(document[: 20 * _LONGEST]))
    text = unicodedata.normalize("NFKC", shown.replace("…", "*")).upper()
    seen = (character for character in text if unicodedata.category(character) not in ("Cf", "Mn", "Me"))
    text = "".join(str(unicodedata.decimal(character, character)) for character in seen)
    return " ".join(_LABEL.sub(" ", text).split())[:_LONGEST]


def _letters(text: str) -> str:
    """The characters that a document may have."""
    return re.sub("[^0-9A-Z]+", "", text)


def _clear(text: str) -> Iterator[_Clear]:
    for form in _CLEAR:
        for found in form.finditer(text):
            characters = _letters(found[1])
            groups = re.findall("[0-9A-Z]+", found[1])
            is_one = not groups[1:] or max(map(len, groups)) < 10  # no document has a group of ten and another one
            if is_one and ("X" not in characters or cnpj.is_valid(characters)):
                yield _Clear(characters, found[1], text[: found.start(1)], text[found.end(1) :])


def _is_a_document(clear: _Clear) -> bool:
    pieces = [piece for piece in re.split(r"[\s()\[\]{}<>,;:|\"']+", f"{clear.before} {clear.after}") if _says(piece)]
    told = [piece for piece in pieces if re.search("[0-9]", piece) or _SIGN.search(piece)]
    told.append(" ".join(told))
    masks = [piece for piece in told if _SIGN.search(piece) and _shown(piece)]
    if masks:
        agreed = max(_agreement(piece, clear.characters) for piece in masks)
        return agreed + clear.likelihood >= (4 if clear.is_joined else 2)
    if _SIGN.search(told[-1]):
        return clear.likelihood >= 2 and not clear.is_joined
    if cut := [piece for piece in told if len(re.findall("[0-9]", piece)) >= 3]:
        agreed = max(_agreement(piece, clear.characters) for piece in cut)
        return clear.likelihood == 4 or agreed + clear.likelihood >= 2
    return not pieces or clear.likelihood >= 2


def _says(piece: str) -> bool:
    """True if it is more than punctuation, and no second visible document, which says nothing about the first."""
    is_another = re.fullmatch(r"[0-9]{11}|[0-9]{14}", _letters(piece)) and not _SIGN.search(piece)
    return bool(re.search("[0-9A-Z]", piece) or _SIGN.search(piece)) and not is_another


def _is_all_shown(text: str) -> bool:
    """True if a text without blanks has a mask and every character of a document, with right check digits. As long as a
    CNPJ it may be one that is masked in part, and so may 11 characters with one mask."""
    shown, masks = "".join(_shown(text)), filter(_SIGN.search, re.split("[0-9A-WYZ]+", text))
    is_one = len(list(masks)) > (len(shown) < 14) and len(_places(text)) != 14
    return is_one and " " not in text and _is_valid(shown)


def _is_valid(characters: str) -> bool:
    return bool(cpf.is_valid(characters) or cnpj.is_valid(characters))


def _places(mask: str) -> str:
    """The characters of a masked text, with a dot for each that is hidden."""
    return _letters(_SIGN.sub(lambda sign: "X" * len(sign[0]), mask)).replace("X", ".")


def _shown(mask: str) -> list[str]:
    """The visible parts of a masked text, in order."""
    return re.findall("[0-9A-WYZ]+", mask)


def _agreement(mask: str, characters: str) -> int:
    """Number of characters that a mask confirms. One of another length counts less where it fits several places."""
    shown = _shown(mask)
    count = sum(map(len, shown))
    places = _places(mask)
    if len(places) == len(characters):
        return count if re.fullmatch(places, characters) else _DISAGREES
    in_order = ".*".join(shown)
    at_its_end = (places[-1:] != "." and re.search(f"{in_order}$", characters)) or (
        places[:1] != "." and re.match(in_order, characters)
    )
    if at_its_end:
        return count
    return count - 2 if re.search(in_order, characters) else _DISAGREES
