"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the templates escape every value, a name that is not given is an error, and what
cannot be seen is made visible. A sentence that the language does not know is shown in English, and marked as English.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from reports.behaviour import drift_in_words, facts_in_words, facts_of_data
from reports.comparison import CHANGES
from reports.explanation import fix_for
from reports.formats.conformance_json import RunDocument, document_of
from reports.headline import headline, left_out, permitted, result_line, run_line
from reports.language import ENGLISH, Language, language
from reports.page.exchange_list import excerpt, exchange_list
from reports.page.figures import by_heading, tile, timeline
from reports.run import Run
from reports.show import printable
from reports.verdicts import TESTED, ReportEntry, RunVerdict, Verdict, fails
from reports.wording import grouped, level_by_level
from spec.facts import ANSWER
from spec.interface import operations
from spec.message import Message, Text, say
from spec.requirements import requirements

DIGESTED = {"Requirements": "ledger_sha256", "Schema": "schema_sha256", "Profile": "profile_sha256"}
"""The digests of the provenance."""
_GENERAL = "general"
"""The filter of what belongs to no operation."""


def summary_html(run: Run) -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped."""
    document = document_of(run)
    parts = {**_verdict(run, document), **_requirements(document), **exchange_list(run, document)}
    parts["timeline"] = timeline(document)
    parts["fixes"] = {one["cause"]: fix_for(requirements()[one["cause"]]) for one in document["findings"]}
    page = template("report.html", run.profile.language)
    return printable(page.render(document=document, title=page_title(run), **parts))


def page_title(run: Run) -> Message:
    """The title of the page: whom the run asked, and the verdict."""
    verdict: str = run.result().verdict
    told = result_line(document_of(run)) if verdict == RunVerdict.PARTIAL else say(verdict)
    return say("PIX conformance: {name}: {verdict}", name=printable(run.profile.name), verdict=told)


def _verdict(run: Run, document: RunDocument) -> dict[str, Any]:
    """The first screen: the verdict, what it rests on, what was left out, and who says so; then the findings."""
    notes = run.notes()
    return {
        "alerts": [note.text for note in notes if note.is_alert],
        "notes": [note.text for note in notes if not note.is_alert],
        "headline": headline(document),
        "run_line": run_line(document),
        "permitted": permitted(document["environment"]["allow"]),
        "tiles": {"Conformance": tile(document, "documented"), "Robustness": tile(document, "robustness")},
        "left_out": left_out(document),
        "comparison": document["comparison"],
        "drift": drift_in_words(document),
        "proof": document["suite"]["proof"],
        "changes": CHANGES,
        "digests": {name: document["provenance"][member] for name, member in DIGESTED.items()},
        "findings": _findings(document["findings"]),
        "excerpt": excerpt,
        "not_executed": run.not_executed,
        "remedy": [alert["text"] for alert in document["alerts"] if alert["kind"] == "left"],
    }


def _requirements(document: RunDocument) -> dict[str, Any]:
    """Every requirement: by id, by what is missing, and by section; and what the filters offer."""
    found: list[ReportEntry] = document["requirements"]
    failing_first = sorted(found, key=lambda one: one["level"] not in document["environment"]["fail_on"])
    asked = {one["operation"] or _GENERAL for one in found}
    return {
        "by_id": {one["id"]: one for one in found},
        "tested": any(one["verdict"] in TESTED for one in found),
        "choices": {
            "verdicts": {one["verdict"] for one in found},
            "operations": [name for name in (*operations(), _GENERAL) if name in asked],
        },
        "verdicts": Verdict,
        "levels": [*document["counts"]],
        "missing": _by_message(failing_first, Verdict.NOT_EXERCISED),
        "out_of_scope": _by_message(found, Verdict.OUT_OF_SCOPE),
        "sections": by_heading(one for one in found if one["level"] != "robustness"),
        "robustness": by_heading(one for one in found if one["level"] == "robustness"),
        "counted_by_level": lambda entries: level_by_level(one["level"] for one in entries),
    }


def _findings(findings: list[ReportEntry]) -> dict[str, list[ReportEntry]]:
    """The findings under the headline that each belongs to; without the empty headlines."""
    new = [finding for finding in findings if fails(finding)]
    groups = {
        "Failing": [one for one in new if one["level"] != "robustness"],
        "Failing: robustness, apart from conformance": [one for one in new if one["level"] == "robustness"],
        "Failing, and known": [finding for finding in findings if "known_failure" in finding],
        "Warnings": [finding for finding in findings if finding["verdict"] == Verdict.WARN],
    }
    return {title: found for title, found in groups.items() if found}


def _by_message(entries: Iterable[ReportEntry], verdict: Verdict) -> dict[str, list[ReportEntry]]:
    """The requirements of that verdict by what is missing."""
    return grouped([one for one in entries if one["verdict"] == verdict], itemgetter("message"))


# -- templates, in the language of the page -------------------------------------------------------------------------

TEMPLATES = Path(__file__).parents[1] / "templates"
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
    environment.filters |= {"said": filters.said, "observed": filters.observed, "command": filters.command}
    environment.filters |= {"words": spoken.text, "moment": spoken.moment, "number": spoken.number}
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
        return text if requirement_id in OF_THE_SERVICE else self.said(text)

    def command(self, lines: str) -> str:
        """Lines of a shell: a comment is said, all else stays."""
        return "\n".join(self._language.text(line) if line.startswith(_COMMENT) else line for line in lines.split("\n"))
