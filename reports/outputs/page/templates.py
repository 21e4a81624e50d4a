"""The templates of report.html, in the language of the page.

Nothing here trusts what it shows: the templates escape every value, and a name that is not given is an error. A
sentence that the language does not know is shown in English, and marked as English.
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
"""Requirements of which values of the service are observed: they are in no language of ours."""
_COMMENT = "# "
_SHOWN = Markup('<span translate="no">{}</span>')
_IN_ENGLISH = Markup('<span lang="en">{}</span>')


def frame(table_script: str, language_tag: str = ENGLISH) -> Template:
    """The whole page around our part, which pytest-html fills in; `table_script` draws its table of tests.

    The policy of the page permits the two scripts by their digests, and fetches nothing: markup that came through
    in spite of all escaping would neither run nor reach another machine.
    """
    scripts = [template("report.js", language_tag).render(), table_script]
    digests = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {digests}"
    return _environment(language_tag).get_template("frame.html", globals={"scripts": scripts, "policy": policy})


def template(name: str, language_tag: str = ENGLISH) -> Template:
    """A template of the page in a language. Raises jinja2.TemplateNotFound."""
    return _environment(language_tag).get_template(name)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _environment(language_tag: str) -> Environment:
    spoken = language(language_tag)
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # what the extension adds
        spoken.gettext, spoken.ngettext, newstyle=True
    )
    environment.globals["language"] = spoken
    filters = _Filters(spoken)
    environment.filters |= {
        "said": filters.said,
        "observed": filters.observed,
        "command": filters.command,
        "words": spoken.text,
        "date": spoken.date_in,
        "number": spoken.number,
    }
    return environment


class _Filters:
    """The filters that templates show sentences with."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def said(self, text: Text) -> str:
        """A text of the suite, as text of the page. What has no translation is marked as English."""
        found = self._language.text(text)
        is_english = self._language.tag != ENGLISH and " " in found and found == str(text)
        return _IN_ENGLISH.format(found) if is_english else found

    def observed(self, places: dict[str, list[str]], requirement_id: str) -> str:
        """The observations of a requirement in one situation: names and types are in no language."""
        link = Markup(f" {self._language.text(say('or'))} ")
        body = facts_in_words(facts_of_data({place: places[place] for place in places if place != ANSWER}))
        told = link.join(self._told(text, requirement_id) for text in places.get(ANSWER, ()))
        return Markup(": ").join(filter(None, (told, body and _SHOWN.format(body))))

    def _told(self, text: str, requirement_id: str) -> str:
        """An answer begins with its status."""
        if text[:3].isdecimal():
            return _SHOWN.format(text)
        is_ours = requirement_id not in OF_THE_SERVICE or text == "seen"
        return self._language.text(text) if is_ours else text

    def command(self, lines: str) -> str:
        """Lines of a shell: a comment is said, all else stays."""
        return "\n".join(self._language.text(line) if line.startswith(_COMMENT) else line for line in lines.split("\n"))
