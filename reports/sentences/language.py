"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext).

Messages and templates are translated when the page is rendered. A text without a translation stays in English. At the
end is what `pybabel extract` calls to find the texts (babel.cfg).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date as calendar_date
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import yaml
from babel.dates import format_date, format_time
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal

from reports.sentences.wording import read_moment
from spec.message import Date, Text, message_of
from spec.requirements import Requirement

ENGLISH = "en"


class Language:
    """A language: it translates texts, moments and numbers."""

    def __init__(self, tag: str, translations: NullTranslations) -> None:
        """`tag` is that of RFC 5646, such as pt-BR."""
        self.tag = tag
        self.gettext = translations.gettext
        self.ngettext = translations.ngettext
        self._locale = tag.replace("-", "_")

    def text(self, text: Text) -> str:
        """A text of the suite in this language."""
        return message_of(text).rendered(self._template, self.date) if text else ""

    def _template(self, singular: str, plural: str, number: int) -> str:
        """The translated template of a message. One that counts nothing has no plural."""
        return self.ngettext(singular, plural, number) if plural else self.gettext(singular)

    def date(self, date: Date) -> str:
        """A day or a moment (UTC) for people. In any language but English the day stands before the month."""
        if self.tag == ENGLISH:
            return str(date)
        if "T" not in date.iso:
            return format_date(calendar_date.fromisoformat(date.iso), "short", locale=self._locale)
        moment = read_moment(date.iso)
        day = format_date(moment, "short", locale=self._locale)
        time = format_time(moment, "medium", locale=self._locale)
        return f"{day} {time} UTC"

    def date_in(self, text: str) -> str:
        """A day or a moment of conformance.json for people."""
        return self.date(Date(text))

    def number(self, number: float) -> str:
        """A number for people, with the decimal sign of the language."""
        if self.tag == ENGLISH:
            return str(number)
        return format_decimal(number, locale=self._locale)


@cache
def catalogues() -> Mapping[str, Path]:
    """The catalogue of every language but English, by its tag."""
    files = (Path(__file__).parents[1] / "locale").glob("*/LC_MESSAGES/report.po")
    return {file.parts[-3].replace("_", "-"): file for file in sorted(files)}


@cache
def language(tag: str) -> Language:
    """The language with this tag. KeyError if it is not English and has no catalogue."""
    if tag == ENGLISH:
        return Language(tag, NullTranslations())
    compiled = BytesIO()
    with catalogues()[tag].open("rb") as file:
        write_mo(compiled, read_po(file, abort_invalid=True))
    compiled.seek(0)
    return Language(tag, GNUTranslations(compiled))


# -- texts that stand in no call of `say`, for `pybabel extract` (babel.cfg) ---------------------------------------

_TEXTS = ("text", "section", "untestable", "fix", "expected", "got", "says")
"""Members of the tables that are texts."""
Extracted = tuple[int, Any, Any, Any]
"""A text as pybabel expects it: its line, the function that is called, the text, and comments. It also passes keywords,
comment tags and options, which are not used here."""


def of_table(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts to translate in requirements.yaml, findings.yaml or fixes.yaml, for pybabel."""
    for entry in _entries_of(yaml.safe_load(file)):
        texts = [entry[name] for name in _TEXTS if name in entry]
        if "section" in entry:
            texts.append(Requirement(**entry).heading)
        yield from (_extracted(" ".join(text.split())) for text in texts)


def _entries_of(table: Any) -> Iterable[Any]:
    """The entries of a table. fixes.yaml is a list, findings.yaml maps codes to entries, and requirements.yaml has a
    list beside other members."""
    if isinstance(table, dict):
        return table.get("requirements", table.values())  # type: ignore[no-any-return]  # YAML of any form
    return table  # type: ignore[no-any-return]  # as above


def _extracted(text: Any) -> Extracted:
    """A text without a line, a function and comments, because a table has none of them."""
    return 1, "", text, []


def of_catalogue(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts with the comment `by hand` in a catalogue, for pybabel, so that it keeps them.

    Such a text is in no call of `say`, for example because it is the value of an enum.
    """
    by_hand = [message.id for message in read_po(file) if "by hand" in message.user_comments]
    yield from map(_extracted, by_hand)
