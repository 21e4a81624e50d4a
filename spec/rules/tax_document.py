"""Reading of a partly masked tax document: whether all of it is visible, nothing of it, or part of it.

The rules on the execution result ask it. Source: interface document, Execution result, row 8. A CPF has 11 characters,
a CNPJ 14 (alphanumeric since 2026). python-stdnum checks their check digits.

The interface document shows no form of a mask. So a document is called visible only if it cannot be a masked one: signs
of a mask may be any of many characters, and another text may stand beside the document.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from stdnum.br import cnpj, cpf

_CPF_LENGTH = 11
"""Characters of a CPF."""
_CNPJ_LENGTH = 14
"""Characters of a CNPJ."""
_MOST_CHARACTERS = 200
"""Characters of a field that are looked at, so that a long text takes no time."""
_MASK_CHARACTERS = re.escape("*#•●○■□█▇▒▓▪∙⁎×?~^+=@$%&!")  # noqa: RUF001 - the multiplication sign masks, too
_SIGN = re.compile(rf"[{_MASK_CHARACTERS}]|([^0-9A-Z\s])\1+|XX+|(?<=[0-9])X|X(?=[0-9])")
"""A sign of a mask: a character that masks, any punctuation that is repeated, several X, or one X beside a digit."""
_SIGN_AT_END = re.compile(rf"(?:{_SIGN.pattern})[^0-9A-Z\s]?$")
"""A sign at the end of the text before a document, with one character of punctuation between them or none."""
_SIGN_AT_START = re.compile(rf"[^0-9A-Z\s]?(?:{_SIGN.pattern})")
_LABEL = re.compile(r"\b(?:CPF|CNPJ)\b(?: ?=)?")
_BETWEEN = rf" ?[^0-9A-Z\s{_MASK_CHARACTERS}]? ?"
"""What may stand between two visible digits: one character of punctuation that masks nothing, and blanks."""
_VISIBLE_FORMS = [
    re.compile(rf"(?<![0-9A-Z])(?=({form})(?![0-9A-Z]))")  # a lookahead, so that forms which overlap are all found
    for form in (
        rf"[0-9](?:{_BETWEEN}[0-9]){{10}}",
        rf"[0-9](?:{_BETWEEN}[0-9]){{13}}",
        # With letters: together, in the groups of a CNPJ, or letter by letter. In other groups it might be any words.
        r"[0-9A-Z]{12}[0-9]{2}",
        r"[0-9A-Z]{2}\W(?:[0-9A-Z]{3}\W){2}[0-9A-Z]{4}\W[0-9]{2}",
        r"(?:[0-9A-Z][\W_]){12}[0-9][\W_][0-9]",
    )
]
"""Forms of 11 or 14 characters that are all visible."""
_DIGIT_BY_DIGIT = re.compile(r"[^0-9A-WYZ]*[0-9](?:[^0-9A-WYZ]+[0-9]){10}(?:(?:[^0-9A-WYZ]+[0-9]){3})?[^0-9A-WYZ]*")
"""11 or 14 digits with anything between all of them. It cannot be a mask, because a mask as long as the document has no
place for so many signs."""
_USUAL_PUNCTUATION = re.compile(
    r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9A-Z]{2}(?:\.[0-9A-Z]{3}){2}/[0-9A-Z]{4}-[0-9]{2}"
)
_NUMBER = re.compile(rf"[1-9](?:{_BETWEEN}[0-9])*")
"""Digits alone. A number has no 0 in front, and a text that begins or ends with punctuation was cut there."""

# Points for and against a text being the document. The texts of masking.yaml, beside the self-test, hold them in place.
_LIKELY = 2
"""Points for right check digits, which one number of a hundred has by chance, and for the usual punctuation."""
_CERTAIN = 4
"""Points for both, or for as many characters that a mask confirms."""
_DISAGREES = -100
"""Points of a mask that shows other characters: more than any others can outweigh."""


class _Candidate(NamedTuple):
    """11 or 14 characters of a field that are all visible, so that they may be the document."""

    characters: str
    """Without punctuation."""
    written: str
    """As they stand in the field."""
    before: str
    """The text before them."""
    after: str
    """The text after them."""

    @property
    def likelihood(self) -> int:
        """Points for right check digits and for the usual punctuation."""
        points = 0
        if _has_right_check_digits(self.characters):
            points += _LIKELY
        if _USUAL_PUNCTUATION.fullmatch(self.written):
            points += _LIKELY
        return points

    @property
    def touches_a_mask(self) -> bool:
        """True if a mask stands directly beside it: then it may be the visible part of a longer masked text."""
        return bool(_SIGN_AT_END.search(self.before) or _SIGN_AT_START.match(self.after))


def is_fully_visible(document: str) -> bool:
    """True if all 11 or 14 characters are visible, in any punctuation, with a label or none, with any check digits.

    A mask may stand beside them. If it agrees with them, it is a second form of the document, and masks nothing. If
    not, the visible characters are something else, such as the number of an account.
    """
    text = _as_people_read_it(document)
    if len(_alphanumeric(text)) < _CPF_LENGTH:
        return False
    if _DIGIT_BY_DIGIT.fullmatch(text) or _shows_all_between_masks(text):
        return True
    return any(map(_is_the_document, _candidates(text)))


def lost_its_zeros(document: str) -> bool:
    """True if the digits are a whole CPF or CNPJ without its leading zeros, as if it had been kept as a number.

    A truncated document may look alike by chance: of a hundred numbers, two have the check digits of a CPF or a CNPJ.
    """
    text = _as_people_read_it(document)
    if not _NUMBER.fullmatch(text):
        return False
    digits = _alphanumeric(text)
    return bool(cpf.is_valid(digits.zfill(_CPF_LENGTH)) or cnpj.is_valid(digits.zfill(_CNPJ_LENGTH)))


def is_unmasked(document: str, text: str) -> bool:
    """True if a text shows what a masked document hides.

    The text has the characters that the document shows, and with them right check digits or the usual punctuation.
    """
    if text.isascii() and len(text) < _CPF_LENGTH:  # nothing in ASCII becomes longer when it is made plain
        return False
    mask = _as_people_read_it(document)
    plain_text = _as_people_read_it(text)
    characters = _alphanumeric(plain_text)
    if not all(part in characters for part in _visible_parts(mask)):
        return False
    return any(
        candidate.likelihood > 0 and _points_of_mask(mask, candidate.characters) >= _CERTAIN
        for candidate in _candidates(plain_text)
    )


def is_fully_masked(document: str) -> bool:
    """True if nothing of the document is visible: no digit, and no letter but the X of a mask."""
    return not any(character.isalnum() and character not in "xX" for character in document)


@lru_cache(10_000)  # each field of a run is read for several rules
def _as_people_read_it(document: str) -> str:
    """The field in capitals, without markup, labels, double blanks and invisible characters, with ASCII digits."""
    without_markup = re.sub(r"<[^<>]*>", "", html.unescape(document[: 20 * _MOST_CHARACTERS]))
    text = unicodedata.normalize("NFKC", without_markup.replace("…", "*")).upper()
    visible = (character for character in text if unicodedata.category(character) not in _INVISIBLE)
    text = "".join(str(unicodedata.decimal(character, character)) for character in visible)
    return " ".join(_LABEL.sub(" ", text).split())[:_MOST_CHARACTERS]


_INVISIBLE = ("Cf", "Mn", "Me")
"""Categories of Unicode for characters without a width: they format, or combine with the character before them."""


def _alphanumeric(text: str) -> str:
    """The characters of a text that a document may have."""
    return re.sub("[^0-9A-Z]+", "", text)


def _candidates(text: str) -> Iterator[_Candidate]:
    """Each place of a text where 11 or 14 characters are visible."""
    for form in _VISIBLE_FORMS:
        for match in form.finditer(text):
            written = match[1]
            characters = _alphanumeric(written)
            groups = re.findall("[0-9A-Z]+", written)
            # No document has a group of ten characters and another group. These are two numbers beside each other.
            is_one_number = len(groups) == 1 or max(map(len, groups)) < 10
            has_no_mask = "X" not in characters or cnpj.is_valid(characters)
            if is_one_number and has_no_mask:
                yield _Candidate(characters, written, text[: match.start(1)], text[match.end(1) :])


def _is_the_document(candidate: _Candidate) -> bool:
    """True if the visible characters are the document, by all that stands beside them."""
    pieces = re.split(r"[\s()\[\]{}<>,;:|\"']+", f"{candidate.before} {candidate.after}")
    other_pieces = [piece for piece in pieces if _tells_something(piece)]
    # Pieces of a mask, or of a truncated document, alone and together.
    partial = [piece for piece in other_pieces if re.search("[0-9]", piece) or _SIGN.search(piece)]
    together = " ".join(partial)
    partial.append(together)

    masks = [piece for piece in partial if _SIGN.search(piece) and _visible_parts(piece)]
    if masks:
        points = max(_points_of_mask(mask, candidate.characters) for mask in masks)
        return points + candidate.likelihood >= (_CERTAIN if candidate.touches_a_mask else _LIKELY)
    if _SIGN.search(together):  # a mask that shows nothing
        return candidate.likelihood >= (_CERTAIN if candidate.touches_a_mask else _LIKELY)
    truncated = [piece for piece in partial if len(re.findall("[0-9]", piece)) >= _FEWEST_DIGITS_LEFT]
    if truncated:
        points = max(_points_of_mask(piece, candidate.characters) for piece in truncated)
        return candidate.likelihood == _CERTAIN or points + candidate.likelihood >= _LIKELY
    return not other_pieces or candidate.likelihood >= _LIKELY


_FEWEST_DIGITS_LEFT = 3
"""Digits of a truncated document. Fewer may be a number of anything, such as of a branch."""


def _tells_something(piece: str) -> bool:
    """True if it is more than punctuation, and no second visible document, which says nothing about the first."""
    if _SIGN.search(piece):
        return True
    characters = _alphanumeric(piece)
    is_second_document = re.fullmatch(r"[0-9]{11}|[0-9]{14}", characters) is not None
    return characters != "" and not is_second_document


def _shows_all_between_masks(text: str) -> bool:
    """True if a text without blanks has masks, and between them every character of a document, with right check digits.

    A text as long as a CNPJ may be a CNPJ that is masked in part. So may 11 characters with one mask.
    """
    if " " in text or len(_mask_as_pattern(text)) == _CNPJ_LENGTH:
        return False
    characters = "".join(_visible_parts(text))
    masks = [gap for gap in re.split("[0-9A-WYZ]+", text) if _SIGN.search(gap)]
    fewest_masks = 2 if len(characters) < _CNPJ_LENGTH else 1
    return len(masks) >= fewest_masks and _has_right_check_digits(characters)


def _has_right_check_digits(characters: str) -> bool:
    """True if they are a valid CPF or CNPJ."""
    return bool(cpf.is_valid(characters) or cnpj.is_valid(characters))


def _mask_as_pattern(mask: str) -> str:
    """The characters of a masked text, with a dot for each that is hidden: a regular expression for the whole."""
    with_each_sign_as_x = _SIGN.sub(lambda sign: "X" * len(sign[0]), mask)
    return _alphanumeric(with_each_sign_as_x).replace("X", ".")


def _visible_parts(mask: str) -> list[str]:
    """The visible parts of a masked text, in order. X is no part, because it may be a sign."""
    return re.findall("[0-9A-WYZ]+", mask)


def _points_of_mask(mask: str, characters: str) -> int:
    """Number of characters that a mask confirms; _DISAGREES if it shows others.

    If the mask is of another length, its parts must stand in the same order. They count fully at an end where the mask
    shows characters, and less if they may fit several places.
    """
    parts = _visible_parts(mask)
    count = sum(map(len, parts))
    pattern = _mask_as_pattern(mask)
    if len(pattern) == len(characters):
        return count if re.fullmatch(pattern, characters) else _DISAGREES
    parts_in_order = ".*".join(parts)
    fits_at_end = pattern[-1:] != "." and re.search(f"{parts_in_order}$", characters)
    fits_at_start = pattern[:1] != "." and re.match(parts_in_order, characters)
    if fits_at_end or fits_at_start:
        return count
    return count - 2 if re.search(parts_in_order, characters) else _DISAGREES
