"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext).

Messages and templates are translated when they are rendered; what has no translation stays in English.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """A language by its tag (RFC 5646), with the translations of a catalogue. English needs none."""

    def __init__(self, tag: str, translations: NullTranslations) -> None:
        self.tag, self._locale = tag, tag.replace("-", "_")
        self.gettext, self.ngettext = translations.gettext, translations.ngettext

    def text(self, text: Text) -> str:
        """A text of the suite."""
        return message_of(text).rendered(self._template, self.date) if text else ""

    def _template(self, one: str, many: str, number: int) -> str:
        return self.ngettext(one, many, number) if many else self.gettext(one)

    def date(self, date: Date) -> str:
        """A day or a moment (UTC) for people."""
        if self.tag == ENGLISH:
            return str(date)
        if "T" not in date.iso:
            return format_date(calendar_date.fromisoformat(date.iso), "short", locale=self._locale)
        moment = read_moment(date.iso)
        day, time = (
            format_date(moment, "short", locale=self._locale),
            format_time(moment, "medium", locale=self._locale),
        )
        return f"{day} {time} UTC"

    def date_in(self, text: str) -> str:
        """A day or a moment of conformance.json for people."""
        return self.date(Date(text))

    def number(self, number: float) -> str:
        """A number for people."""
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
    """A known language. KeyError for another one."""
    if tag == ENGLISH:
        return Language(tag, NullTranslations())
    compiled = BytesIO()
    with catalogues()[tag].open("rb") as file:
        write_mo(compiled, read_po(file, abort_invalid=True))
    compiled.seek(0)
    return Language(tag, GNUTranslations(compiled))


# -- texts that are no calls of `say`, for `pybabel extract` (babel.cfg) ------------------------------------------

_TEXTS = ("text", "section", "untestable", "fix", "expected", "got", "says")
"""Members of the tables that are texts."""
Extracted = tuple[int, Any, Any, Any]


def of_table(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts of requirements.yaml, findings.yaml or fixes.yaml."""
    table = yaml.safe_load(file)
    for entry in table.get("requirements", table.values()) if isinstance(table, dict) else table:
        texts = [entry[name] for name in _TEXTS if name in entry]
        headings = [Requirement(**entry).heading] if "section" in entry else []
        yield from ((1, "", " ".join(text.split()), []) for text in texts + headings)


def of_catalogue(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The entries with the comment `by hand`."""
    yield from ((1, "", message.id, []) for message in read_po(file) if "by hand" in message.user_comments)
