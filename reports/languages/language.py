"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext, read with Babel)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path

from babel import Locale
from babel.dates import format_datetime
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_decimal_symbol

from reports.languages.sentences import Sentences, Template

LOCALE = Path(__file__).parents[1] / "locale"
CATALOGUE = "LC_MESSAGES/report.po"
ENGLISH = "en"


class Language:
    """English, as everything is written. Other languages translate."""

    tag = ENGLISH

    def sentence(self, text: str) -> str | None:
        """A sentence of the suite in this language; None where it is not recognised."""
        return text

    def names(self, text: str) -> str | None:
        """Names that a service gave, in a list of ours; None where it is no such list."""
        return text

    def gettext(self, text: str) -> str:
        """Text of a template; in English where it has no translation."""
        return text

    def ngettext(self, one: str, many: str, number: int) -> str:
        """Text of a template, for a number."""
        return one if number == 1 else many

    def moment(self, text: str) -> str:
        """A moment as conformance.json writes it, for people."""
        return text.replace("T", " ").replace("Z", " UTC")

    def number(self, number: float) -> str:
        """A number for people."""
        return str(number)


class Translated(Language):
    """A language with a catalogue."""

    def __init__(self, catalogue: Catalog, locale: Locale) -> None:
        self.tag = tag_of(locale)
        self._locale, self._texts = locale, dict(_texts_of(catalogue))
        templates = [Template(english, forms) for texts, forms in self._texts.items() for english in texts if english]
        self._sentences = Sentences(templates, self._form_for, get_decimal_symbol(locale))

    def sentence(self, text: str) -> str | None:
        bare = text.strip()
        found = self._sentences.translated(bare) if bare else ""
        return None if found is None else text.replace(bare, found, 1) if bare else text

    def names(self, text: str) -> str | None:
        return self._sentences.names(text)

    def gettext(self, text: str) -> str:
        return self._texts.get((text, ""), (text,))[0]

    def ngettext(self, one: str, many: str, number: int) -> str:
        return self._texts.get((one, many), (one, many))[self._form_for(number)]

    def moment(self, text: str) -> str:
        return f"{format_datetime(datetime.fromisoformat(text), 'dd/MM/yyyy HH:mm:ss', locale=self._locale)} UTC"

    def number(self, number: float) -> str:
        return format_decimal(number, locale=self._locale)

    def _form_for(self, number: int) -> int:
        return int(self._locale.plural_form(number) != "one")


def pair_of(message: Message) -> tuple[str, str]:
    """What an entry says in English: singular, and plural, which is empty where there is none."""
    one, many = message.id if isinstance(message.id, tuple | list) else (message.id, "")
    return one, many


def _texts_of(catalogue: Catalog) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """What is written in English with its translations; without what is not translated yet."""
    for message in catalogue:
        forms = message.string if isinstance(message.string, tuple | list) else (message.string or "",)
        if message.id and all(forms) and not message.fuzzy:
            yield pair_of(message), tuple(forms)


def catalogue_of(file: Path) -> Catalog:
    """A catalogue; one that is not well formed is a fault of the suite."""
    with file.open("rb") as opened:
        return read_po(opened, locale=file.parts[-3], abort_invalid=True)


@cache
def catalogues() -> Mapping[str, Path]:
    """The catalogue of every language but English, by its tag (RFC 5646)."""
    return {tag_of(Locale.parse(file.parts[-3])): file for file in sorted(LOCALE.glob(f"*/{CATALOGUE}"))}


def known_languages() -> list[str]:
    """The tags of all languages, English first."""
    return [ENGLISH, *catalogues()]


def tag_of(locale: Locale) -> str:
    """The tag of a locale: `pt-BR`."""
    return str(locale).replace("_", "-")


@cache
def language(tag: str) -> Language:
    """A known language. KeyError for another one."""
    if tag == ENGLISH:
        return Language()
    file = catalogues()[tag]
    return Translated(catalogue_of(file), Locale.parse(file.parts[-3]))
