"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext).

Messages and templates are translated when the page is rendered. A text without a translation stays in English. The last
functions of the module collect the texts to translate: `pybabel extract` calls them (babel.cfg).
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
"""Tag of the language in which the suite writes all texts, so that it needs no translations."""


class Language:
    """A language: it translates texts, moments and numbers."""

    def __init__(self, tag: str, translations: NullTranslations) -> None:
        """`tag` is the tag of the language as in RFC 5646, such as pt-BR. `translations` has its texts (gettext)."""
        self.tag = tag
        self.gettext = translations.gettext
        self.ngettext = translations.ngettext
        self._locale = tag.replace("-", "_")

    def text(self, text: Text) -> str:
        """A text of the suite in this language; in English if it has no translation."""
        return message_of(text).rendered(self._translated_template, self.date) if text else ""

    def _translated_template(self, singular: str, plural: str, number: int) -> str:
        """The translated template of a message, in the singular or plural form that this number needs.

        A template is the text before its values are filled in, such as `{n} requests`. The plural is empty if the
        message counts nothing.
        """
        return self.ngettext(singular, plural, number) if plural else self.gettext(singular)

    def date(self, date: Date) -> str:
        """A day or a moment (UTC) as people of this language write it, such as `20/11/2026 09:30:00 UTC`.

        English readers may expect the month or the day first, so that English keeps `2026-11-20`.
        """
        if self.tag == ENGLISH:
            return str(date)
        is_day = "T" not in date.iso  # a moment has a T between its day and its time
        if is_day:
            return format_date(calendar_date.fromisoformat(date.iso), "short", locale=self._locale)
        moment = read_moment(date.iso)
        day = format_date(moment, "short", locale=self._locale)
        time = format_time(moment, "medium", locale=self._locale)
        return f"{day} {time} UTC"

    def date_of_text(self, text: str) -> str:
        """A day or a moment as conformance.json has it, `2026-11-20T09:30:00Z`, as people of this language write it."""
        return self.date(Date(text))

    def number(self, number: float) -> str:
        """A number as people of this language write it, for example with a decimal comma: `1,5` in Portuguese."""
        if self.tag == ENGLISH:
            return str(number)
        return format_decimal(number, locale=self._locale)


@cache
def catalogues() -> Mapping[str, Path]:
    """The file with the translations of each language, by the tag of the language: `{"pt-BR": …/report.po}`.

    English has no file, because it is the language of the suite itself. The path has `pt_BR` as the name of a folder.
    """
    files = (Path(__file__).parents[1] / "locale").glob("*/LC_MESSAGES/report.po")
    return {file.parts[-3].replace("_", "-"): file for file in sorted(files)}


@cache
def language(tag: str) -> Language:
    """The language with this tag, ready to translate texts. KeyError if there is no file with its translations.

    gettext only reads compiled files, so the file is compiled here, in memory. English needs no translations.
    """
    if tag == ENGLISH:
        return Language(tag, NullTranslations())
    compiled = BytesIO()
    with catalogues()[tag].open("rb") as file:
        write_mo(compiled, read_po(file, abort_invalid=True))
    compiled.seek(0)
    return Language(tag, GNUTranslations(compiled))


# -- texts that are in no call of `say`, for `pybabel extract` (babel.cfg), which collects the texts to translate ---

_TEXTS = ("text", "section", "untestable", "fix", "expected", "got", "says")
"""Members of an entry of these YAML files whose values are texts to translate."""
Extracted = tuple[int, Any, Any, Any]
"""A text as pybabel expects it: number of its line, name of the function that is called with it, text, and comments."""


def texts_of_table(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts to translate in requirements.yaml, findings.yaml or fixes.yaml.

    `pybabel extract` calls this function for each of these files, because it can only read Python and templates itself.
    It also passes keywords, comment tags and options, which are not used.
    """
    for entry in _entries_of(yaml.safe_load(file)):
        texts = [entry[name] for name in _TEXTS if name in entry]
        if "section" in entry:  # it is a requirement, whose heading is a text of the page, too
            texts.append(Requirement(**entry).heading)
        yield from (_extracted(" ".join(text.split())) for text in texts)


def _entries_of(table: Any) -> Iterable[Any]:
    """The entries of a YAML file with texts to translate. `table` is the content of the file.

    | file | structure |
    |---|---|
    | fixes.yaml | a list of entries |
    | findings.yaml | an entry for each code of a finding |
    | requirements.yaml | the list of entries is in the member `requirements` |
    """
    if isinstance(table, dict):
        # Without a member `requirements` each member is an entry, as in findings.yaml.
        return table.get("requirements", table.values())  # type: ignore[no-any-return]  # YAML of any form
    return table  # type: ignore[no-any-return]  # as above


def _extracted(text: Any) -> Extracted:
    """A text to translate as pybabel expects it: line 1, no function, no comments, because YAML files have none."""
    return 1, "", text, []


def texts_of_catalogue(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts with the comment `by hand` in a file of translations.

    `pybabel extract` finds such a text nowhere else, for example because it is the value of an enum. This function
    passes the text on, so that its translation is not removed.
    """
    by_hand = [message.id for message in read_po(file) if "by hand" in message.user_comments]
    yield from map(_extracted, by_hand)
