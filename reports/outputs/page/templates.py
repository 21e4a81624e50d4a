"""The templates of report.html, in the language of the page.

The templates escape every value, and a name that they are not given is an error. A sentence without a translation is
shown in English, and marked as English for screen readers.

Each template has one topic. It shows a message through the filter `said`, and its own words through `{% trans %}` or
`_()`. The reader can search the page: a script hides the elements with the attribute `data-entry` (a requirement or
an exchange) that do not match. The policy in `frame.html` permits the two scripts by their digests, and no fetches.

rendering.py and figures.py make the values that the templates show.
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
"""The folder with the templates."""
REQUIREMENTS_WITH_VALUES_OF_THE_SERVICE = frozenset({"executePix.status.values", "executePix.accountType.meaning"})
"""Requirements whose observations are values of the service, such as `DONE`. These values are not translated."""
_COMMENT = "# "
"""Start of a comment in lines of a shell."""
# Marks of a text for screen readers and for the translation by a browser.
_NOT_TRANSLATED = Markup('<span translate="no">{}</span>')
_IN_ENGLISH = Markup('<span lang="en">{}</span>')


def template_of_page(table_script: str, language_tag: str = ENGLISH) -> Template:
    """The template of the whole page. pytest-html fills in its table of tests, which `table_script` draws.

    The page has a Content-Security-Policy. It permits only the two scripts, by their digests, and no requests to other
    machines. If HTML of a service were shown without escaping, by mistake, it could neither run nor send data.
    """
    scripts = [template("report.js", language_tag).render(), table_script]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}"
    return _jinja_environment(language_tag).get_template("frame.html", globals={"scripts": scripts, "policy": policy})


def template(name: str, language_tag: str = ENGLISH) -> Template:
    """The template with this file name, such as `report.html`, with its texts in a language.

    Raises jinja2.TemplateNotFound.
    """
    return _jinja_environment(language_tag).get_template(name)


def _digest(script: str) -> str:
    """SHA-256 of a script in base64, as the Content-Security-Policy of a page names a script that may run.

    Source: Content Security Policy level 3, source lists.
    """
    digest = hashlib.sha256(script.encode()).digest()
    return base64.b64encode(digest).decode()


@cache
def _jinja_environment(language_tag: str) -> Environment:
    """The settings of jinja2 for templates in a language. Templates use the filters named here, as in `{{ x | date }}`.

    A name that a template uses and nobody gives is an error (`StrictUndefined`), and every value is escaped.
    """
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
        "date": page_language.date_of_text,
        "number": page_language.number,
    }
    return environment


class _Filters:
    """Filters that the templates apply to texts, as in `{{ finding.message | said }}`."""

    def __init__(self, language: Language) -> None:
        """`language` is the language of the page."""
        self._language = language

    def said(self, text: Text) -> str:
        """A text of the suite in the language of the page.

        If a sentence has no translation, it is marked as English, so that a screen reader reads it correctly. A single
        word is not marked, because a name such as `executePix` is the same in both languages.
        """
        translated = self._language.text(text)
        is_sentence = " " in translated
        is_still_english = self._language.tag != ENGLISH and translated == str(text)
        if is_sentence and is_still_english:
            return _IN_ENGLISH.format(translated)
        return translated

    def observed(self, places: dict[str, list[str]], requirement_id: str) -> str:
        """What was observed for a requirement: facts of the answer as a whole, then names and types in its body.

        For example `200 application/json: data.id string`. `places` has the observed facts by their place in the
        answer; the place `ANSWER` is the answer as a whole. Names and types are not translated.
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
        """One observed fact about an answer as a whole, as the page shows it.

        Only words of the suite are translated. Status and media type (`200 application/json`) and values of the service
        (`DONE`) are not.
        """
        begins_with_status = text[:3].isdecimal()
        if begins_with_status:
            return _NOT_TRANSLATED.format(text)
        # The suite writes the word "seen" instead of a value if the situation names the value already
        # (tests/traffic/observed_values.py).
        is_text_of_suite = requirement_id not in REQUIREMENTS_WITH_VALUES_OF_THE_SERVICE or text == "seen"
        return self._language.text(text) if is_text_of_suite else text

    def command(self, lines: str) -> str:
        """Shell lines in which the comments are translated and the commands are unchanged."""
        return "\n".join(map(self._command_line, lines.split("\n")))

    def _command_line(self, line: str) -> str:
        """A shell line in the language of the page: translated if it is a comment, unchanged if it is a command."""
        return self._language.text(line) if line.startswith(_COMMENT) else line
