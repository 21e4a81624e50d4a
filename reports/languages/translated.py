"""A language that has a catalogue, read with Babel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babel.dates import format_datetime
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_decimal_symbol

from reports.languages.language import Language, tag_of
from reports.languages.sentences import Sentences, Template
from reports.moments import read_moment


class Translated(Language):
    """A language with a catalogue."""

    def __init__(self, catalogue: Catalog) -> None:
        assert catalogue.locale is not None
        self.tag, self._locale = tag_of(str(catalogue.locale)), catalogue.locale
        self._texts = dict(_texts_of(catalogue))
        templates = [Template(english, forms) for texts, forms in self._texts.items() for english in texts if english]
        self._sentences = Sentences(templates, self._form_for, get_decimal_symbol(self._locale))

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
        return f"{format_datetime(read_moment(text), 'dd/MM/yyyy HH:mm:ss', locale=self._locale)} UTC"

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
