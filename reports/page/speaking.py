"""The language of the page: what its templates say themselves, and the sentences of the suite that they show.

A sentence that the language does not know is shown in English, and marked as English.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from jinja2 import Environment
from markupsafe import Markup

from reports.language import ENGLISH, Language
from reports.observations.behaviour import facts_in_words, facts_of_data
from spec.facts import ANSWER
from spec.message import Text, say

OF_THE_SERVICE = frozenset({"executePix.status.values", "executePix.accountType.meaning"})
"""Requirements of which values of the service are observed: they are in no language of ours."""
_COMMENT = "# "
_SHOWN = Markup('<span translate="no">{}</span>')
OF_PYTEST = (
    *(say("Passed"), say("Failed"), say("Skipped"), say("XFailed"), say("XPassed"), say("Error"), say("Rerun")),
    *(say("Expected failures"), say("Unexpected passes"), say("Errors"), say("Reruns"), say("Retried")),
)
"""Words of pytest-html, listed for the catalogues."""


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
        "words": speaker.language.text,
        "observed": speaker.observed,
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
        """A text of the suite, as text of the page. What has no translation is marked as English."""
        found = self.language.text(text)
        is_english = self.language.tag != ENGLISH and " " in found and found == str(text)
        return _in_english(found) if is_english else found

    def observed(self, places: dict[str, list[str]], requirement_id: str) -> str:
        """What was observed for a requirement in one situation: names and types are in no language."""
        link = Markup(f" {self.language.text(say('or'))} ")
        body = facts_in_words(facts_of_data({place: places[place] for place in places if place != ANSWER}))
        told = link.join(self._told(text, requirement_id) for text in places.get(ANSWER, ()))
        return Markup(": ").join(filter(None, (told, body and _SHOWN.format(body))))

    def _told(self, text: str, requirement_id: str) -> str:
        """An answer begins with its status."""
        if text[:3].isdecimal():
            return _SHOWN.format(text)
        return text if requirement_id in OF_THE_SERVICE else self.said(text)

    def command(self, lines: str) -> str:
        """Lines of a shell: what they say before they do it is said, all else stays."""
        return "\n".join(self.language.text(line) if line.startswith(_COMMENT) else line for line in lines.split("\n"))

    def tests(self, data: str) -> str:
        """The data of pytest-html's table, whose rows have the outcome in their first cell."""
        if self.language.tag == ENGLISH:
            return data
        table = json.loads(data)
        for test in (test for tests in table["tests"].values() for test in tests):
            first, *cells = test["resultsTableRow"]
            outcome = f">{test['result']}<"
            test["resultsTableRow"] = [first.replace(outcome, f">{self.language.text(test['result'])}<"), *cells]
        return json.dumps(table)


def _in_english(text: str) -> str:
    return Markup('<span lang="en">{}</span>').format(text)
