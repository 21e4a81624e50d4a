"""The language of the page: what its templates say themselves, and the sentences of the suite that they show.

A sentence that the language does not know is shown in English, and marked as English.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape, unescape
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from reports.languages.language import ENGLISH, Language
from reports.observations.behaviour import facts_in_words, facts_of_data
from spec.facts import ANSWER
from spec.message import Text

OF_THE_SERVICE = frozenset({"executePix.status.values", "executePix.accountType.meaning"})
"""Requirements of which values of the service are observed: they are in no language of ours."""
_COMMENT = "# "
_SHOWN = Markup('<span translate="no">{}</span>')


def speak(environment: Environment, language: Language) -> None:
    """Let the templates of the environment speak the language."""
    environment.add_extension("jinja2.ext.i18n")
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # what the extension adds
        language.gettext, language.ngettext, newstyle=True
    )
    environment.globals["language"] = language
    environment.filters |= _filters(Speaker(language))


def _filters(speaker: Speaker) -> Mapping[str, Callable[..., object]]:
    return {
        "said": speaker.said,
        "words": speaker.words,
        "named": speaker.named,
        "observed": speaker.observed,
        "behaviour": speaker.behaviour,
        "command": speaker.command,
        "log_in_words": speaker.tests,
        "moment": speaker.language.moment,
        "number": speaker.language.number,
    }


class Speaker:
    """The filters that templates show sentences with."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def said(self, text: Text) -> str:
        """A sentence of the suite, as text of the page."""
        text = str(text)
        found = self.language.sentence(text)
        return _in_english(text) if found is None else found

    def words(self, text: str) -> str:
        """The same for an attribute and a title, which cannot be marked."""
        return self.language.sentence(text) or text

    def named(self, text: Text) -> str:
        """The same where names that the service gave may stand in place of a sentence."""
        text = str(text)
        return self.said(text) if self.language.sentence(text) else self.language.names(text) or self.said(text)

    def observed(self, places: dict[str, list[str]], requirement_id: str) -> str:
        """What was observed for a requirement in one situation: names and types are in no language."""
        body = facts_in_words(facts_of_data({place: places[place] for place in places if place != ANSWER}))
        told = Markup(f" {self.words('or')} ").join(self._told(text, requirement_id) for text in places.get(ANSWER, ()))
        return Markup(": ").join(filter(None, (told, body and _SHOWN.format(body))))

    def _told(self, text: str, requirement_id: str) -> str:
        """An answer begins with its status."""
        if text[:3].isdecimal():
            return _SHOWN.format(text)
        return text if requirement_id in OF_THE_SERVICE else self.said(text)

    def behaviour(self, text: str) -> str:
        """What was observed, in words: names and types of the service are in no language."""
        found = self.language.sentence(text)
        return _SHOWN.format(text) if found is None else found

    def command(self, lines: str) -> str:
        """Lines of a shell: what they say before they do it is said, all else stays."""
        return "\n".join(self.words(line) if line.startswith(_COMMENT) else line for line in lines.split("\n"))

    def tests(self, data: str) -> str:
        """The data of pytest-html's table, whose rows have the outcome in their first cell, and a log."""
        return data if self.language.tag == ENGLISH else json.dumps(self._table(json.loads(data)))

    def _table(self, data: dict[str, Any]) -> dict[str, Any]:
        for test in (test for tests in data["tests"].values() for test in tests):
            first, *cells = test["resultsTableRow"]
            outcome = f">{test['result']}<"
            test["resultsTableRow"] = [first.replace(outcome, f">{self.words(test['result'])}<"), *cells]
            test["log"] = self._log(test["log"])
        return data

    def _log(self, log: str) -> str:
        """A log, which is HTML already. One in which nothing is known is English: Python's own."""
        lines = [unescape(line) for line in log.split("\n")]
        known = [self.language.sentence(line.strip()) for line in lines]
        if any(lines) and not any(known):
            return str(Markup('<span lang="en">{}</span>').format(Markup(log)))
        indents = (line[: len(line) - len(line.lstrip())] for line in lines)
        said = zip(lines, known, indents, strict=True)
        return "\n".join(escape(line if found is None else indent + found) for line, found, indent in said)


def _in_english(text: str) -> str:
    return Markup('<span lang="en">{}</span>').format(text)
