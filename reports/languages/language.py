"""The languages of the report: English, and each that has a catalogue in reports/locale (gettext)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from reports.moments import moment_in_words

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
        return moment_in_words(text)

    def number(self, number: float) -> str:
        """A number for people."""
        return str(number)


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
        return Language()
    from reports.languages.translated import Translated, catalogue_of  # Babel, which a run in English does not need

    return Translated(catalogue_of(catalogues()[tag]))
