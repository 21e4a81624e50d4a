"""What is known to be secret or personal, and by which placeholder each of it is shown."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from functools import lru_cache

from environments.secrets import ANOTHER_PREFIX, POSSIBLE_CODE, TOKEN, Known, Secrets
from reports.redaction.encodings import fold, packed_forms, spellings
from reports.redaction.masks import LONGEST, LOOKS_PERSONAL, is_masked, is_plain
from reports.redaction.spellings import LEAST, Beside, Sought, Spellings
from spec.interface import MARK

SECRET, VALUE, POSSIBLE, DETECTED, PERSONAL = range(5)
"""Ranks: where finds overlap, the lowest names the whole."""
MOST_PERSONAL = 20_000
_PIECES = 64
_LETTERS = string.ascii_lowercase
_NEXT = str.maketrans(
    _LETTERS + _LETTERS.upper() + string.digits,
    "".join(row[1:] + row[0] for row in (_LETTERS, _LETTERS.upper(), string.digits)),
)


class Knowledge:
    """Secrets, values of the profile, personal values seen, and the names of personal members."""

    def __init__(self, secrets: Secrets, fields: Iterable[str]) -> None:
        self.spellings = Spellings()
        self.exact_secrets: dict[str, str] = {}
        self.plain: dict[str, str] = {}
        self.version = 0
        self._values: dict[str, str] = {}
        self._ranks: dict[str, int] = {}
        self._personal: set[str] = set()
        self._in_pieces: set[str] = set()
        self._counts: dict[str, int] = {}
        self._names = dict.fromkeys((*LOOKS_PERSONAL, "credentials", "cookie", TOKEN))
        self._placeholder: re.Pattern[str] | None = None
        self._fields = frozenset(_normal(name) for name in fields)
        self._secrets, self._read = secrets, 0

    def read(self) -> None:
        """Take over what became known since the last time."""
        new = self._secrets.known[self._read :]
        self._read += len(new)
        for known in new:
            self._take_over(known)

    def _take_over(self, known: Known) -> None:
        if not known.name:
            self.add_personal(known.value)
            return
        if known.name not in self._names:
            self._names[known.name], self._placeholder = None, None
        if known.secret:
            self.add_secret(known.name, known.value)
        else:
            self.add_value(known)

    def is_personal(self, member: str) -> bool:
        """Whether a member of that name is personal, whatever its letter case, `_` and `-`."""
        return _normal(member[: 8 * LONGEST]) in self._fields

    def whole(self, text: str) -> str | None:
        """The placeholder of a text that is nothing but a secret or a value of the profile, however short."""
        return self.exact_secrets.get(text) or self._values.get(fold(text))

    @property
    def placeholder(self) -> re.Pattern[str]:
        """What a placeholder looks like; one group around the whole."""
        if self._placeholder is None:
            names = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True))
            self._placeholder = re.compile(f"(<(?:another )?(?:{names})(?: [0-9]{{1,5}})?>)")
        return self._placeholder

    def add_secret(self, name: str, value: str) -> None:
        """Hide a secret: in every encoding, in another letter case, cut short, lengthened, shifted by one."""
        if not value.strip() or value in self.exact_secrets:
            return
        self.version += 1
        self.exact_secrets[value] = f"<{name}>"
        another = f"<{ANOTHER_PREFIX}{name.removeprefix(ANOTHER_PREFIX)}>"
        least = _least(len(value))
        for form in spellings(value):
            sought = Sought(f"<{name}>", SECRET, another, form)
            self._add(form, sought, least)
            self._add_pieces(form, sought)
        self._add_cases(name, value, another, least)

    def _add_cases(self, name: str, value: str, another: str, least: int) -> None:
        """Seek a secret in another letter case, shifted by one, and packed."""
        cases = dict.fromkeys((value, value.lower(), value.upper(), value.swapcase(), value.translate(_NEXT)))
        for case in cases:
            shown = f"<{name}>" if case == value else another
            if fold(case) != fold(value):
                self._add(case, Sought(another, SECRET), least)
            for form in packed_forms(case):
                share = max(6, len(form) * least // len(value) - 3)
                self._add(form, Sought(shown, SECRET, packed=True), share)

    def _add_pieces(self, form: str, sought: Sought) -> None:
        """Seek the pieces of a secret; where it is like another one, of those of its parts that are not known yet."""
        parts = form.split(".")
        for part in parts if sought.shown == sought.inexact else [form]:
            if part not in self._in_pieces:
                self.spellings.add_pieces(fold(part), sought)
        self._in_pieces.update((form, *parts))

    def add_value(self, known: Known) -> None:
        """Hide a value in every encoding; one that has no place in the profile gets the next number. What was a
        possible code is named anew where it turns out to be more."""
        name, value = known.name, known.value
        folded = fold(value)
        rank = POSSIBLE if name == POSSIBLE_CODE else VALUE
        is_new = bool(value.strip()) and rank < self._ranks.get(folded, DETECTED)
        count = self._counts[name] = known.place or self._counts.get(name, 0) + is_new
        if not is_new:
            return
        self.version += 1
        self._ranks[folded] = rank
        shown = self._values[folded] = f"<{name}>" if count == 1 else f"<{name} {count}>"
        self.plain[shown] = value
        for form in spellings(value):
            beside = Beside.DIGIT if form.isdigit() and len(form) < 8 else Beside.ANYTHING
            self._add(form, Sought(shown, rank, beside=beside))
        if len(value) >= LEAST:
            for form in {form for case in {value, value.lower(), value.upper()} for form in packed_forms(case)}:
                self._add(form, Sought(shown, rank, packed=True))

    def add_personal(self, value: str) -> None:
        """Hide a value of a personal member wherever else it stands; a long one is sought in pieces."""
        if not self.is_unknown(value):
            return
        self._personal.add(value)
        self.version += 1
        sought = Sought(None, PERSONAL, beside=_beside(value))
        for piece in _pieces(value):
            for form in spellings(piece):
                self._add(form, sought)

    def is_unknown(self, value: str) -> bool:
        """Whether a value of a personal member is to be hidden from now on."""
        return value not in self._personal and len(self._personal) < MOST_PERSONAL and self._worth_hiding(value)

    def _worth_hiding(self, value: str) -> bool:
        if len(value) < LEAST or is_masked(value) or value.startswith(MARK):
            return False
        return not is_plain(value) and sum(map(str.isalnum, value[:LONGEST])) >= 2

    def _add(self, form: str, sought: Sought, least: int | None = None) -> None:
        if len(form) >= LEAST and not (sought.shown is None and is_masked(form)):
            self.spellings.add(fold(form), sought, least)


@lru_cache(10_000)
def _normal(name: str) -> str:
    return "".join(character for character in fold(name) if character.isalnum())


def _least(length: int) -> int:
    """How much of a secret gives it away: half of it, yet of a short one two thirds, and six characters."""
    return min(length, max(6, (length + 1) // 2, min(8, (2 * length + 2) // 3)))


def _beside(value: str) -> Beside:
    digits = sum(map(str.isdigit, value))
    if any(map(str.isalpha, value)):
        return Beside.WORD if not digits or len(value) < 8 else Beside.ANYTHING
    return Beside.NUMBER if digits < 8 else Beside.ANYTHING


def _pieces(value: str) -> list[str]:
    if len(value) <= LONGEST:
        return [value]
    starts = range(0, min(len(value), LONGEST * _PIECES) - LONGEST, LONGEST)
    return [*(value[start : start + LONGEST] for start in starts), value[-LONGEST:]]
