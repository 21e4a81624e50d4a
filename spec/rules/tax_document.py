"""Reading of a partly masked tax document: whether all of it is visible, nothing of it, or part of it.

The rules on the execution result use it. Source: interface document, Execution result, row 8. A CPF has 11 characters,
a CNPJ 14 (alphanumeric since 2026). python-stdnum checks their check digits.

The interface document does not show what a masked document looks like. So the suite says "visible" only if there is no
way to read the field as a masked document. That takes some work: services write many different characters as masks, and
some write another text or number beside the document.

| word | meaning |
|---|---|
| mask | a tax document with hidden characters, such as `***.456.789-**` |
| sign | a character that hides one character of the document, such as `*` |
| candidate | 11 or 14 visible characters in a row, which may be the document or some other number |
| points | how likely it is that a candidate is the document |

An example of points: `123.456.789-09 (***.456.789-**)` has one candidate and one mask. Both show 456789, so the
candidate gets points, and all of the document is visible. In `987.654.321-00 (***.456.789-**)` the mask shows other
digits, so the candidate is another number, and the document is masked.
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
"""Most characters of a field that are looked at, so that a long text takes little time. A choice."""
_MOST_CHARACTERS_WITH_MARKUP = 20 * _MOST_CHARACTERS
"""Most characters of a field before its HTML tags are removed. Markup may be many times as long as its text. A choice.
"""
_MASK_CHARACTERS = re.escape("*#•●○■□█▇▒▓▪∙⁎×?~^+=@$%&!")  # noqa: RUF001 - the multiplication sign masks, too
"""Characters that services write instead of a hidden character, escaped for a regular expression."""
_MASK_SIGN = re.compile(rf"[{_MASK_CHARACTERS}]|([^0-9A-Z\s])\1+|XX+|(?<=[0-9])X|X(?=[0-9])")
"""A sign of a mask: a character that masks, any punctuation that is repeated, several X, or one X beside a digit."""
_MASK_SIGN_AT_END = re.compile(rf"(?:{_MASK_SIGN.pattern})[^0-9A-Z\s]?$")
"""A sign at the end of the text before a document, with one character of punctuation between them or none."""
_MASK_SIGN_AT_START = re.compile(rf"[^0-9A-Z\s]?(?:{_MASK_SIGN.pattern})")
"""A sign at the start of the text after a document, with one character of punctuation between them or none."""
_LABEL = re.compile(r"\b(?:CPF|CNPJ)\b(?: ?=)?")
"""The name of a tax document, which some services write before it."""
_BETWEEN = rf" ?[^0-9A-Z\s{_MASK_CHARACTERS}]? ?"
"""What may be between two visible digits: one character of punctuation that masks nothing, and blanks."""
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
"""11 or 14 digits with anything between all of them. It cannot be a mask: a mask has as many characters as the
document, and here all 11 or 14 are digits."""
_USUAL_PUNCTUATION = re.compile(
    r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[0-9A-Z]{2}(?:\.[0-9A-Z]{3}){2}/[0-9A-Z]{4}-[0-9]{2}"
)
"""A CPF as 123.456.789-09, or a CNPJ in its usual groups of 2, 3, 3, 4 and 2 characters."""
_NUMBER = re.compile(rf"[1-9](?:{_BETWEEN}[0-9])*")
"""Digits alone. A number has no 0 in front, and a text that begins or ends with punctuation was cut there."""

# Points for and against a candidate being the document. They are a choice. The self-test checks them with the texts of
# masking.yaml beside it.
_LIKELY = 2
"""Points for right check digits, which one number of a hundred has by chance, and for the usual punctuation."""
_CERTAIN = 4
"""Points for both, or for four characters that a mask beside the candidate has in the same positions."""
_DISAGREES = -100
"""Points for a mask that shows other characters: no other points can outweigh them."""
_MAY_FIT_BY_CHANCE = 2
"""Points that are subtracted for a mask of another length whose first and last characters are hidden."""


class _Candidate(NamedTuple):
    """11 or 14 characters of a field that are all visible, so that they may be the document."""

    characters: str
    """Without punctuation."""
    written: str
    """With the punctuation of the field."""
    before: str
    """The text before them."""
    after: str
    """The text after them."""

    @property
    def likelihood(self) -> int:
        """How likely these characters are a tax document: 2 points for right check digits, 2 for usual punctuation.

        Usual is 123.456.789-09 for a CPF.
        """
        points = 0
        if _has_right_check_digits(self.characters):
            points += _LIKELY
        if _USUAL_PUNCTUATION.fullmatch(self.written):
            points += _LIKELY
        return points

    @property
    def words_beside(self) -> list[str]:
        """The words before and after these characters, without blanks, brackets, quotes and punctuation between them.

        Before and after `123.456.789-09` in `CPF (123.456.789-09), Maria` they are `CPF` and `Maria`.
        """
        return re.split(r"[\s()\[\]{}<>,;:|\"']+", f"{self.before} {self.after}")

    @property
    def touches_a_mask(self) -> bool:
        """True if a sign of a mask, such as `*`, is directly before or after these characters.

        Then they may be the visible part of a longer masked text.
        """
        return bool(_MASK_SIGN_AT_END.search(self.before) or _MASK_SIGN_AT_START.match(self.after))


def is_fully_visible(document: str) -> bool:
    """True if all 11 or 14 characters of the tax document are visible, so that the field is not masked.

    Punctuation, a label such as "CPF" and wrong check digits make no difference. The field may have visible characters
    and a masked text beside them:

    - `123.456.789-09 (***.456.789-**)` is True: the mask shows some of the same digits, so it hides nothing.
    - `98765432100 / ***456789**` is False: the mask shows other digits, so the visible digits are another
      number, such as the number of an account.
    """
    text = _normalized(document)
    if len(_alphanumeric(text)) < _CPF_LENGTH:  # too short for any tax document
        return False
    # 11 or 14 digits with signs between all of them, as 1*2*3*…, are as visible as digits without signs.
    if _DIGIT_BY_DIGIT.fullmatch(text):
        return True
    if _shows_all_between_masks(text):
        return True
    return any(_is_the_document(candidate) for candidate in _candidates(text))


def lacks_leading_zeros(document: str) -> bool:
    """True if the digits are a whole CPF or CNPJ without its leading zeros: 1234567890 for 012.345.678-90.

    The service has probably stored the document as a number, so only zeros are missing. A document that is cut short
    gives True by chance in two of a hundred cases, because so many numbers have the check digits of a CPF or a CNPJ.
    """
    text = _normalized(document)
    if not _NUMBER.fullmatch(text):  # digits without a 0 in front, as a number is written
        return False
    digits = _alphanumeric(text)
    possible_cpf = digits.zfill(_CPF_LENGTH)  # with zeros in front
    possible_cnpj = digits.zfill(_CNPJ_LENGTH)
    return bool(cpf.is_valid(possible_cpf) or cnpj.is_valid(possible_cnpj))


def shows_document_in_full(text: str, masked_document: str) -> bool:
    """True if a text shows in full the tax document that another text shows masked.

    The text has a CPF or CNPJ, known by its check digits or usual punctuation, whose characters agree with those that
    the masked document shows: `123.456.789-09` with `***.456.789-**`.
    """
    # Normalization may turn one character that is not ASCII into several digits, so such a text is never too short.
    if text.isascii() and len(text) < _CPF_LENGTH:
        return False
    mask = _normalized(masked_document)
    plain_text = _normalized(text)
    characters = _alphanumeric(plain_text)
    has_all_visible_parts = all(part in characters for part in _visible_parts(mask))
    if not has_all_visible_parts:  # a quick check before the slow one
        return False
    likely_documents = [candidate for candidate in _candidates(plain_text) if candidate.likelihood > 0]
    # The mask must show at least four characters that agree, because fewer may agree by chance.
    return any(_points_of_mask(mask, candidate.characters) >= _CERTAIN for candidate in likely_documents)


def is_fully_masked(document: str) -> bool:
    """True if nothing of the document is visible: no digit, and no letter except X, which may be a sign of a mask."""
    letters_and_digits = [character for character in document if character.isalnum()]
    return set(letters_and_digits).issubset("xX")


@lru_cache(10_000)  # the same field is read by several rules
def _normalized(document: str) -> str:
    """The field as it looks to people: in capitals, without HTML tags and invisible characters, with ASCII digits.

    Labels such as "CPF" and double blanks are removed, too. So `<b>Cpf: 123</b>` becomes `: 123`. Of a long text only
    the beginning is read, because the regular expressions of this module would take much time.
    """
    without_markup = re.sub(r"<[^<>]*>", "", html.unescape(document[:_MOST_CHARACTERS_WITH_MARKUP]))
    with_one_sign = without_markup.replace("…", "*")  # NFKC would make three dots of this one sign
    text = unicodedata.normalize("NFKC", with_one_sign).upper()
    visible = [character for character in text if unicodedata.category(character) not in _INVISIBLE]
    # Digits of other scripts, such as Arabic ones, become 0 to 9. Other characters are kept.
    text = "".join(str(unicodedata.decimal(character, character)) for character in visible)
    words = _LABEL.sub(" ", text).split()
    return " ".join(words)[:_MOST_CHARACTERS]


_INVISIBLE = ("Cf", "Mn", "Me")
"""Categories of Unicode for characters without a width: they format, or combine with the character before them."""


def _alphanumeric(text: str) -> str:
    """The capitals and digits of a text, without anything else. Only these can be characters of a tax document."""
    return re.sub("[^0-9A-Z]+", "", text)


def _candidates(text: str) -> Iterator[_Candidate]:
    """Each run of 11 or 14 visible characters in a text that may be a tax document, with the text around it."""
    for form in _VISIBLE_FORMS:
        for match in form.finditer(text):
            written = match[1]
            characters = _alphanumeric(written)
            groups = re.findall("[0-9A-Z]+", written)
            # A document is written as one group, or in groups of up to nine characters. A group of ten or more beside
            # another group is a number beside another number.
            longest_group = max(groups, key=len)
            is_one_number = len(groups) == 1 or len(longest_group) < 10
            # An X hides a character, except in a CNPJ with letters, which may have an X of its own.
            hides_nothing = "X" not in characters or cnpj.is_valid(characters)
            if is_one_number and hides_nothing:
                text_before = text[: match.start(1)]
                text_after = text[match.end(1) :]
                yield _Candidate(characters, written, text_before, text_after)


def _is_the_document(candidate: _Candidate) -> bool:
    """True if a candidate, 11 or 14 visible characters in a row, is the tax document, judged by the rest of the field.

    | rest of the field | the candidate is the document if |
    |---|---|
    | nothing | always |
    | signs of a mask, as in `123.456.789-09 (***.456.789-**)` | the mask shows digits of it (`_agrees_with_masks`) |
    | a number, as in `123.456.789-09 456789` | the number is a part of it (`_agrees_with_truncated`) |
    | any other text, as in `123.456.789-09 Maria` | it has right check digits, or the usual punctuation |
    """
    words = [word for word in candidate.words_beside if _may_tell_about_a_candidate(word)]
    if not words:
        return True
    masks_and_numbers = _possible_masks_and_numbers(words)
    if any(_MASK_SIGN.search(text) for text in masks_and_numbers):
        return _agrees_with_masks(candidate, masks_and_numbers)
    truncated = [text for text in masks_and_numbers if len(re.findall("[0-9]", text)) >= _FEWEST_DIGITS_LEFT]
    if truncated:
        return _agrees_with_truncated(candidate, truncated)
    return candidate.likelihood >= _LIKELY


def _possible_masks_and_numbers(words: list[str]) -> list[str]:
    """The words that have a digit or a sign of a mask, and then all these words together, as one text.

    They are put together because blanks may separate the parts of one mask: `***`, `456`, `789` and `**` give these
    four and `*** 456 789 **`. A word such as `Maria` is left out.
    """
    with_digits_or_signs = [word for word in words if re.search("[0-9]", word) or _MASK_SIGN.search(word)]
    return [*with_digits_or_signs, " ".join(with_digits_or_signs)]


def _agrees_with_masks(candidate: _Candidate, pieces: list[str]) -> bool:
    """True if a candidate is the document that masks in the same field show in part.

    For `123.456.789-09` the mask `***.456.789-**` gives 6 points, right check digits give 2, and the usual punctuation
    gives 2. A mask without a visible character, such as `***`, gives none. If a sign is directly beside the candidate,
    it may be part of a longer masked text, so it needs 4 points, and otherwise 2.
    """
    points = candidate.likelihood
    masks = [piece for piece in pieces if _MASK_SIGN.search(piece)]
    masks_with_visible_parts = [mask for mask in masks if _visible_parts(mask)]
    if masks_with_visible_parts:
        points += max(_points_of_mask(mask, candidate.characters) for mask in masks_with_visible_parts)
    needed_points = _CERTAIN if candidate.touches_a_mask else _LIKELY
    return points >= needed_points


def _agrees_with_truncated(candidate: _Candidate, truncated: list[str]) -> bool:
    """True if a candidate is the document, and numbers in the same field are this document cut short.

    In `123.456.789-09 456789` the number agrees, which gives 4 points, and 2 are enough. A number that does not agree,
    as in `123.456.789-09 0001`, may be that of a branch. Then the candidate is the document only if its check digits
    are right and it has the usual punctuation, because hardly any other number has both.
    """
    if candidate.likelihood == _CERTAIN:
        return True
    points = max(_points_of_mask(number, candidate.characters) for number in truncated)
    return points + candidate.likelihood >= _LIKELY


_FEWEST_DIGITS_LEFT = 3
"""Fewest digits of a truncated document (one that is cut short). A number with fewer digits may be anything, such as
the number of a branch. A choice."""


def _may_tell_about_a_candidate(piece: str) -> bool:
    """True if a piece of the text around a candidate (11 or 14 visible characters) may say something about it.

    It may if it has a sign of a mask, letters or digits. Punctuation alone says nothing. Neither do 11 or 14 digits:
    they are another whole document.
    """
    if _MASK_SIGN.search(piece):
        return True
    characters = _alphanumeric(piece)
    is_second_document = re.fullmatch(r"[0-9]{11}|[0-9]{14}", characters) is not None
    return characters != "" and not is_second_document


def _shows_all_between_masks(text: str) -> bool:
    """True if a text has signs of a mask, and between them every character of a tax document, as `123**456**789**09`.

    Such signs hide nothing. A CPF has 11 characters, a CNPJ 14, and its check digits must be right. Two texts give
    False, because they may really be masked:

    - `1**45678000191`: its 12 visible characters and 2 signs may be the 14 characters of a CNPJ
    - `***39053344705`: with signs at one place only, the 11 visible characters may be a part of a CNPJ
    """
    if " " in text:  # several texts beside each other, which other functions compare
        return False
    length_with_signs = len(_mask_as_pattern(text))
    if length_with_signs == _CNPJ_LENGTH:
        return False
    characters = "".join(_visible_parts(text))  # without X, because it may be a sign
    texts_between = re.split("[0-9A-WYZ]+", text)  # what is before, between and after the visible characters
    groups_of_signs = [between for between in texts_between if _MASK_SIGN.search(between)]
    # Signs at one place may hide the other 3 characters of a CNPJ. If 14 are visible, nothing is hidden.
    fewest_groups = 2 if len(characters) < _CNPJ_LENGTH else 1
    return len(groups_of_signs) >= fewest_groups and _has_right_check_digits(characters)


def _has_right_check_digits(characters: str) -> bool:
    """True if the characters have the length and the check digits of a CPF or of a CNPJ."""
    return bool(cpf.is_valid(characters) or cnpj.is_valid(characters))


def _mask_as_pattern(mask: str) -> str:
    """A regular expression for the documents that a masked text may stand for: `...456789..` for `***.456.789-**`."""

    def as_many_x(sign: re.Match[str]) -> str:
        """An X for each character of a sign, such as `XXX` for `***`."""
        return "X" * len(sign[0])

    # Each sign of a mask becomes X first, so that it is not removed with the punctuation.
    with_each_sign_as_x = _MASK_SIGN.sub(as_many_x, mask)
    return _alphanumeric(with_each_sign_as_x).replace("X", ".")


def _visible_parts(mask: str) -> list[str]:
    """The visible parts of a masked text, in order: `["456", "789"]` for `***.456.789-**`.

    X is in no part, because it may be a sign that hides a character.
    """
    return re.findall("[0-9A-WYZ]+", mask)


def _points_of_mask(mask: str, characters: str) -> int:
    """How many of the characters the visible parts of a mask confirm; _DISAGREES if the mask shows other characters.

    | mask of 12345678909 | result |
    |---|---|
    | `***456789**`, of the same length | 6: the number of visible characters, which are at the same positions |
    | `*******09`, of another length, with the first or last character visible | 2: they are at the same end |
    | `***6789***` in another length, with both ends hidden | 2 less, because 6789 may be in the middle by chance |
    | `***000***`, whatever its length | _DISAGREES, because the characters do not have its parts in this order |
    """
    parts = _visible_parts(mask)
    number_visible = len("".join(parts))
    pattern = _mask_as_pattern(mask)  # a dot for each hidden character
    if len(pattern) == len(characters):
        agrees = re.fullmatch(pattern, characters) is not None
        return number_visible if agrees else _DISAGREES
    parts_in_order = ".*".join(parts)
    first_is_visible = not pattern.startswith(".")
    last_is_visible = not pattern.endswith(".")
    fits_at_end = last_is_visible and re.search(f"{parts_in_order}$", characters)
    fits_at_start = first_is_visible and re.match(parts_in_order, characters)
    if fits_at_end or fits_at_start:
        return number_visible
    fits_somewhere = re.search(parts_in_order, characters) is not None
    if fits_somewhere:
        return number_visible - _MAY_FIT_BY_CHANCE
    return _DISAGREES
