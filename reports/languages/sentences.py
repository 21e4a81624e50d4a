"""Sentences of the suite in another language: an English sentence is recognised by the templates of a catalogue.

Messages are made where something is found, as English text with values in it, and they are joined, cut and compared on
their way into a report. So nothing is kept of how they were made. The catalogue holds every template
("expected status {expected}, got {got}"); the grammar here is small:

- a sentence is a template whose placeholders hold values or sentences,
- a list of such ("a, b and 2 more", "string or null"), or sentences with "; " between them.

A sentence that is not recognised as a whole is not translated at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from reports.languages.values import is_value, localized

LONGEST, DEEPEST = 20_000, 40
"""Characters of a sentence that is looked at, and sentences within each other."""
NUMBER = "n"
"""The placeholder that decides between singular and plural."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NAME = r"[^\s,;:()]{1,60}"
_NAMES = re.compile(rf"{_NAME}(?:, {_NAME})*")
_FITTING = {
    NUMBER: re.compile("[0-9]{1,18}"),
    "text": re.compile(".+", re.DOTALL),
    "media": re.compile(r"[1-5][0-9]{2} [\w.+-]+/[\w.+-]+"),
    "quoted": re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""),
}
"""What placeholders of these names hold. It stays as it is."""
Choose = Callable[[int], int]
"""Which plural form a number takes."""


@dataclass(frozen=True)
class Template:
    """An English template, and its translations: one, or one for each plural form."""

    english: str
    translations: tuple[str, ...]

    @cached_property
    def parts(self) -> Sequence[str]:
        """Literal text and names of placeholders in turn, literal text first and last."""
        pieces = _PLACEHOLDER.split(self.english.replace("{{", "\0").replace("}}", "\1"))
        return [piece.replace("\0", "{").replace("\1", "}") for piece in pieces]

    @cached_property
    def names(self) -> Sequence[str]:
        """The names of the placeholders."""
        return self.parts[1::2]

    @cached_property
    def weight(self) -> int:
        """How much of a sentence it fixes."""
        return sum(map(len, self.parts[::2]))

    def filled(self, values: Mapping[str, str], choose: Choose) -> str:
        """The translation with these values."""
        number = values.get(NUMBER, "")
        form = choose(int(number)) if len(self.translations) > 1 and number.isdecimal() else 0
        return self.translations[form].format(**values)


class Sentences:
    """Translates by these templates."""

    def __init__(self, templates: Iterable[Template], choose: Choose, decimal: str) -> None:
        every = list(templates)
        self._whole = {template.parts[0]: template.translations[0] for template in every if not template.names}
        self._open = sorted((each for each in every if each.names), key=lambda each: -each.weight)
        self._choose, self._decimal = choose, decimal
        self._known: dict[str, str | None] = {}
        self._depth = 0

    def translated(self, text: str) -> str | None:
        """The sentence in the other language; None where it is not recognised."""
        if text not in self._known:
            if self._depth > DEEPEST:
                return None
            self._known[text] = None  # while it is looked at, it does not consist of itself
            self._depth += 1
            self._known[text] = self._translated(text)
            self._depth -= 1
        return self._known[text]

    def _translated(self, text: str) -> str | None:
        if text in self._whole:
            return self._whole[text]
        if is_value(text):
            return localized(text, self._decimal)
        if len(text) > LONGEST:
            return None
        ways = (self._by_a_template, self._as_sentences, self._as_a_list)
        return next((said for way in ways if (said := way(text)) is not None), None)

    def _by_a_template(self, text: str) -> str | None:
        return next(self._readings(text), (None, None))[1]

    def _readings(self, text: str) -> Iterator[tuple[Template | None, str | None]]:
        """The templates that the text fits, what fixes most first, with what each makes of it."""
        for template in self._open:
            parts = template.parts
            if text.startswith(parts[0]) and text.endswith(parts[-1]) and all(part in text for part in parts[2::2]):
                for values in self._values(text, parts, len(parts[0])):
                    yield template, template.filled(values, self._choose)
                    break

    def _values(self, text: str, parts: Sequence[str], start: int) -> Iterator[dict[str, str]]:
        """The ways in which `parts`, from the first placeholder on, fit the text from `start` on."""
        name, literal, *rest = parts[1:]
        for end in _ends(text, literal, start, last=not rest):
            value = self._value(name, text[start:end])
            if value is None:
                continue
            if not rest:
                yield {name: value}
                return
            for others in self._values(text, [literal, *rest], end + len(literal)):
                yield {name: value} | others

    def _value(self, name: str, text: str) -> str | None:
        """The text of a placeholder, by its name as the head of the catalogue says; None where it does not fit."""
        kind = name.rstrip("0123456789")
        if kind in _FITTING:
            return text if _FITTING[kind].fullmatch(text) else None
        if kind in ("code", "codes"):
            return text if is_value(text) else self._as_a_list(text, is_value)
        return self.names(text) if kind == "names" else self.translated(text)

    def names(self, text: str) -> str | None:
        """Names that a service gave, in a list that is ours; None where it is no such list."""
        return text if _NAMES.fullmatch(text) else self._as_a_list(text, _NAMES.fullmatch)

    def _as_sentences(self, text: str) -> str | None:
        """Sentences with "; " between them, which may hold "; " themselves."""
        pieces = text.split("; ")
        for count in range(len(pieces) - 1, 0, -1):
            first, others = "; ".join(pieces[:count]), "; ".join(pieces[count:])
            said = self._single(first)
            if said is not None and (rest := self.translated(others)) is not None:
                return f"{said}; {rest}"
        return None

    def _single(self, text: str) -> str | None:
        if text in self._whole or is_value(text):
            return self.translated(text)
        said = self._by_a_template(text)
        return self._as_a_list(text) if said is None else said

    def _as_a_list(self, text: str, stays: Callable[[str], object] = lambda item: False) -> str | None:
        """`a, b and c` or `a or b`. Items that `stays` accepts stay as they are."""
        for word in (" and ", " or "):
            head, link, last = text.rpartition(word)
            items = [*head.split(", "), last] if link else text.split(", ")
            if len(items) < 2:
                continue
            said = [item if stays(item) else self.translated(item) for item in items]
            if None not in said:
                link = self._whole[word.strip()] if link else ""
                words = [item for item in said if item is not None]
                return f"{', '.join(words[:-1])} {link} {words[-1]}" if link else ", ".join(words)
        return None


def _ends(text: str, literal: str, start: int, *, last: bool) -> Iterator[int]:
    """Where a placeholder that starts there may end: before each occurrence of the literal text behind it."""
    if last:
        end = len(text) - len(literal)
        yield from [end] if end > start and text.endswith(literal) else []
        return
    end = text.find(literal, start + 1)
    while end >= 0:
        yield end
        end = text.find(literal, end + 1)
