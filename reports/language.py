"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext).

Messages and templates are translated when they are rendered; what has no translation stays in English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from reports.moments import moment_in_words, read_moment
from spec.message import Text, message_of

LOCALE = Path(__file__).parent / "locale"
CATALOGUE = "LC_MESSAGES/report.po"
ENGLISH = "en"


class Language:
    """A language, with the translations of a catalogue."""

    def __init__(self, tag: str, translations: NullTranslations) -> None:
        self.tag = tag
        self.gettext, self.ngettext = translations.gettext, translations.ngettext

    def text(self, text: Text) -> str:
        """A text of the suite."""
        return message_of(text).rendered(self._template) if text else ""

    def moment(self, text: str) -> str:
        """A moment as conformance.json writes it, for people."""
        if self.tag == ENGLISH:
            return moment_in_words(text)
        from babel.dates import format_datetime  # a run in English does not need Babel

        return f"{format_datetime(read_moment(text), 'dd/MM/yyyy HH:mm:ss', locale=_locale(self.tag))} UTC"

    def number(self, number: float) -> str:
        """A number for people."""
        if self.tag == ENGLISH:
            return str(number)
        from babel.numbers import format_decimal

        return format_decimal(number, locale=_locale(self.tag))

    def _template(self, one: str, many: str, number: int) -> str:
        return self.ngettext(one, many, number) if many else self.gettext(one)


@cache
def catalogues() -> Mapping[str, Path]:
    """The catalogue of every language but English, by its tag (RFC 5646)."""
    return {tag_of(file.parts[-3]): file for file in sorted(LOCALE.glob(f"*/{CATALOGUE}"))}


def known_languages() -> list[str]:
    """The tags of all languages, English first."""
    return [ENGLISH, *catalogues()]


def known_language(named: str) -> str | None:
    """The tag of a language as people name it, in any letter case: `pt_br`, `PT`. None where it is not known."""
    wanted = tag_of(named).lower()
    found = [tag for tag in known_languages() if wanted in (tag.lower(), tag.lower().partition("-")[0])]
    return found[0] if len(found) == 1 else None


def tag_of(locale: str) -> str:
    """The tag of a locale: `pt-BR` of `pt_BR`."""
    return locale.replace("_", "-")


@cache
def language(tag: str) -> Language:
    """A known language. KeyError for another one."""
    if tag == ENGLISH:
        return Language(tag, NullTranslations())
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    file, compiled = catalogues()[tag], BytesIO()
    with file.open("rb") as opened:
        write_mo(compiled, read_po(opened, locale=file.parts[-3], abort_invalid=True))
    compiled.seek(0)
    return Language(tag, GNUTranslations(compiled))


def _locale(tag: str) -> str:
    return tag.replace("-", "_")
