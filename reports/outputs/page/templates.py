"""The templates of report.html, in the language of the page.

The templates escape every value, and a name that they are not given is an error. A sentence without a translation is
shown in English, and marked as English for screen readers.

Each template has one topic. It shows a message through the filter `said`, and its own words through `{% trans %}` or
`_()`. The filters of the page show and hide the elements that have `data-entry`. The policy in `frame.html` permits the
two scripts by their digests, and no fetches.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from reports.observed.behaviour import facts_in_words, facts_of_data
from reports.sentences.language import ENGLISH, Language, language
from spec.facts import ANSWER
from spec.message import Text, say

TEMPLATES = Path(__file__).with_name("templates")
OF_THE_SERVICE = frozenset({"executePix.status.values", "executePix.accountType.meaning"})
"""Requirements whose observations are values of the service, which are not translated."""
_COMMENT = "# "
"""Start of a comment in lines of a shell."""
_NOT_TRANSLATED = Markup('<span translate="no">{}</span>')
_IN_ENGLISH = Markup('<span lang="en">{}</span>')


def frame(table_script: str, language_tag: str = ENGLISH) -> Template:
    """The whole page around our part, which pytest-html fills in. `table_script` draws its table of tests.

    The policy of the page permits the two scripts by their digests, and no fetching. If markup of a service came
    through in spite of all escaping, it could neither run nor reach another machine.
    """
    scripts = [template("report.js", language_tag).render(), table_script]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}"
    return _environment(language_tag).get_template("frame.html", globals={"scripts": scripts, "policy": policy})


def template(name: str, language_tag: str = ENGLISH) -> Template:
    """A template of the page in a language. Raises jinja2.TemplateNotFound."""
    return _environment(language_tag).get_template(name)


def _digest(script: str) -> str:
    """SHA-256 of a script, as a Content-Security-Policy has it (CSP level 3, source lists)."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _environment(language_tag: str) -> Environment:
    """The settings, filters and translations of the templates in a language."""
    page_language = language(language_tag)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # what the extension adds
        page_language.gettext, page_language.ngettext, newstyle=True
    )
    environment.globals["language"] = page_language
    filters = _Filters(page_language)
    environment.filters |= {
        "said": filters.said,
        "observed": filters.observed,
        "command": filters.command,
        "words": page_language.text,
        "date": page_language.date_in,
        "number": page_language.number,
    }
    return environment


class _Filters:
    """Filters of the templates for texts."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def said(self, text: Text) -> str:
        """A text of the suite in the language of the page. A sentence without a translation is marked as English.

        A single word, such as an operation, may be the same in both languages.
        """
        translated = self._language.text(text)
        is_sentence = " " in translated
        is_still_english = self._language.tag != ENGLISH and translated == str(text)
        if is_sentence and is_still_english:
            return _IN_ENGLISH.format(translated)
        return translated

    def observed(self, places: dict[str, list[str]], requirement_id: str) -> str:
        """The observations of a requirement in one situation: the answer as a whole, then names and types in its body.

        Names and types are not translated.
        """
        separator = Markup(f" {self._language.text(say('or'))} ")
        answers = separator.join(self._answer(text, requirement_id) for text in places.get(ANSWER, ()))
        places_in_body = {place: texts for place, texts in places.items() if place != ANSWER}
        body = facts_in_words(facts_of_data(places_in_body))
        parts = [answers] if answers else []
        if body:
            parts.append(_NOT_TRANSLATED.format(body))
        return Markup(": ").join(parts)

    def _answer(self, text: str, requirement_id: str) -> str:
        """A fact about an answer as a whole: status and media type, words of ours, or a value of the service."""
        begins_with_status = text[:3].isdecimal()
        if begins_with_status:
            return _NOT_TRANSLATED.format(text)
        is_ours = requirement_id not in OF_THE_SERVICE or text == "seen"  # a word of `tests/traffic/observed_values.py`
        return self._language.text(text) if is_ours else text

    def command(self, lines: str) -> str:
        """Lines of a shell. Comments are translated, and commands stay."""
        return "\n".join(map(self._command_line, lines.split("\n")))

    def _command_line(self, line: str) -> str:
        """A line of a shell, translated if it is a comment."""
        return self._language.text(line) if line.startswith(_COMMENT) else line
