"""report.html: what a QA manager reads in a minute and an engineer acts on, placed into pytest-html's page.

Nothing here trusts what it shows: the template escapes every value, and what cannot be seen is made visible.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from reports import cleaning
from reports.headline import counted, headline, known_failures, permitted, run_line
from reports.run import Run
from reports.verdicts import ON_THE_SERVICE, TESTED, Verdict, by_level, deviation
from spec.requirements import LEVELS, ledger

TEMPLATES = Path(__file__).with_name("templates")
MEANING = {
    "documented": "stated",
    "implied": "follows from what is stated",
    "example": "one example value",
    "not-shown": "said to be not shown",
    "robustness": "policy of the suite",
}
WHOLE = 400
"""How many exchanges are shown whole although no statement cites them: a report stays below some megabytes."""
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

Row = dict[str, Any]


def summary_html(run: Run) -> str:
    """The requirement-first part of the report as HTML; every value that is not our own is escaped."""
    document = run.document()
    rows: list[Row] = document["requirements"]
    robustness = [row for row in rows if row["level"] == "robustness"]
    conformance = [row for row in rows if row["level"] != "robustness"]
    untouched = f"the target could not be spoken to: {run.unreachable}" if run.unreachable else "no test reached it"
    weightiest_first = sorted(rows, key=lambda row: row["level"] not in run.profile.fail_on)
    page = _template().render(
        document=document,
        headline=headline(document),
        run_line=run_line(document),
        permitted=permitted(document["environment"]["allow"]),
        unreachable=run.unreachable,
        tiles={
            "Conformance": _tile(document, conformance, "documented"),
            "Robustness": _tile(document, robustness, "robustness"),
        },
        levels=_levels(document, run.profile.fail_on),
        verdicts=Verdict,
        proof=document["suite"]["proof"],
        findings=_findings(document["findings"]),
        causes=_causes(document["findings"]),
        fail_on=[level for level in LEVELS if level in run.profile.fail_on],
        missing=_by_message(weightiest_first, Verdict.NOT_EXERCISED, untouched),
        tested=any(row["verdict"] in TESTED for row in rows),
        out_of_scope=_by_message(rows, Verdict.OUT_OF_SCOPE, "the profile does not permit it"),
        sections=_by_heading(conformance),
        robustness=_by_heading(robustness),
        exchanges=run.exchanges,
        left_besides=cleaning.besides_keys(document),
        remedy=list(cleaning.remedy(document)),
        shown=_shown(run, rows),
        deviating=_deviating(rows),
        counted_by_level=lambda found: by_level(row["level"] for row in found),
    )
    return visible(page)


def visible(text: str) -> str:
    """Characters that are not seen, that reorder what is read, or that UTF-8 has no bytes for, as escapes."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")


def _tile(document: dict[str, Any], rows: list[Row], level: str) -> tuple[str, str]:
    """Whether any of the rows failed, as the word of a verdict, and the same in one sentence for each level: that one,
    and others that have failures. A run that came to no verdict on the service shows no pass."""
    known = sum("known_failure" in row for row in rows)
    failing = Counter(row["level"] for row in rows if row["verdict"] == Verdict.FAIL and "known_failure" not in row)
    covered = {name: tested for name, tested in document["coverage"].items() if tested["tested"]}
    said = [_of_level(name, failing[name], **covered[name]) for name in covered if name == level or failing[name]]
    if not said:
        return Verdict.NOT_EXERCISED, f"No {level} requirement was tested"
    good = Verdict.PASS if document["verdict"] in ON_THE_SERVICE else Verdict.NOT_EXERCISED
    return (Verdict.FAIL if failing else good), "; ".join(said + ([counted(known, "known failure")] if known else []))


def _of_level(level: str, failed: int, *, tested: int, testable: int) -> str:
    failures = counted(failed, "failure", none="No")
    return f"{failures} in {tested} of {counted(testable, f'testable {level} requirement')}"


def _levels(document: dict[str, Any], fail_on: Iterable[str]) -> list[dict[str, Any]]:
    """The table of counts: one entry a level that has rows, robustness last, apart from conformance."""
    counts = document["counts"]
    return [
        {
            "name": name,
            "meaning": MEANING[name],
            "deviation": deviation(name, list(fail_on)),
            "shown": _less_the_known(counts[name], known_failures(document, name)),
            "known": known_failures(document, name),
        }
        for name in sorted(counts, key=lambda name: name == "robustness")
    ]


def _less_the_known(counts: dict[str, int], known: int) -> dict[str, int]:
    """Every verdict of a level with its count; failures that are known stand beside."""
    return {verdict: counts.get(verdict, 0) - (known if verdict == Verdict.FAIL else 0) for verdict in Verdict}


def _findings(findings: list[Row]) -> dict[str, list[Row]]:
    """The findings under the headline that each belongs to; without the empty headlines."""
    failed = [finding for finding in findings if finding["verdict"] == Verdict.FAIL]
    new = [finding for finding in failed if "known_failure" not in finding]
    groups = {
        "Failing": [one for one in new if one["level"] != "robustness"],
        "Failing: robustness, apart from conformance": [one for one in new if one["level"] == "robustness"],
        "Failing, and known": [finding for finding in failed if "known_failure" in finding],
        "Warnings": [finding for finding in findings if finding["verdict"] == Verdict.WARN],
    }
    return {title: found for title, found in groups.items() if found}


def _causes(findings: list[Row]) -> dict[str, str]:
    """The leading requirement of the finding that each deviating requirement is in."""
    return {row: finding["cause"] for finding in findings for row in (*finding["requirements"], *finding["follows"])}


def _by_message(rows: list[Row], verdict: str, without: str) -> dict[str, list[Row]]:
    """The rows of that verdict by what is missing."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row["verdict"] == verdict:
            groups.setdefault(row["message"] or without, []).append(row)
    return groups


def _by_heading(rows: list[Row]) -> list[dict[str, Any]]:
    """The rows by the heading of the document, in its order, with the tally of their verdicts."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(ledger()[row["id"]].heading, []).append(row)
    return [{"heading": heading, "rows": found, "tally": _tally(found)} for heading, found in groups.items()]


def _tally(rows: list[Row]) -> list[tuple[str, str]]:
    """The rows counted by verdict, and by level within it: `12 documented pass`."""
    tally = Counter((row["verdict"], row["level"]) for row in rows)
    return [
        (verdict, f"{tally[verdict, level]} {level} {verdict.replace('-', ' ')}")
        for verdict in Verdict
        for level in LEVELS
        if tally[verdict, level]
    ]


def _deviating(rows: list[Row]) -> dict[int, list[Row]]:
    """The failing rows, and then the warning ones, by the exchanges that show them."""
    found: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: list(Verdict).index(row["verdict"])):
        for number in row["exchanges"] if row["verdict"] in (Verdict.FAIL, Verdict.WARN) else ():
            found.setdefault(number, []).append(row)
    return found


def _shown(run: Run, rows: list[Row]) -> set[int]:
    """The exchanges that are shown whole: the first WHOLE of them, and all that a statement cites."""
    cited = {number for row in rows for number in row["exchanges"]}
    return set(run.exchanges) & {*sorted(run.exchanges)[:WHOLE], *cited}


class HtmlPage:
    """pytest-html's hooks: our part before its table of tests, and requirement and evidence in each row of it."""

    def __init__(self, run: Run, path: Path) -> None:
        self.run = run
        self.path = path
        self._tests: dict[str, tuple[str, str, str, list[int]]] = {}
        self._page: Any = None

    def pytest_html_report_title(self, report: Any) -> None:
        """Keep the page, whose title needs the verdict; empty its environment, which has variables of the CI."""
        self._page = report
        report.set_data("environment", {})

    def pytest_runtest_logreport(self, report: Any) -> None:
        found = getattr(report, "conformance", None)
        if found is not None:
            self._tests[report.nodeid] = found["results"][0]

    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells[1:1] = [
            '<th class="sortable" data-column-type="requirement">Requirement</th>',
            '<th class="sortable" data-column-type="verdict">Verdict</th>',
        ]
        cells[-1] = "<th>Exchanges</th>"

    def pytest_html_results_table_row(self, report: Any, cells: list[str]) -> None:
        """Requirement, verdict and evidence of a test; pytest-html does not escape test ids."""
        row_id, verdict, _, numbers = self._tests.get(report.nodeid, ("", "", "", []))
        test_id = escape(visible(report.nodeid)).replace("::", "::<wbr>").replace("[", "<wbr>[")
        cells[1] = f'<td class="col-testId">{test_id}</td>'
        cells[1:1] = [
            f'<td class="col-requirement">{row_id.replace(".", ".<wbr>")}</td>',
            f'<td class="col-verdict">{verdict}</td>',
        ]
        links = [f'<a href="#exchange-{number}">{number}</a>' for number in numbers if number in self.run.exchanges]
        cells[-1] = f'<td class="col-links">{" ".join(links)}</td>'

    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """The tests are over. The file is made before pytest-html writes it, so that only its owner ever reads it."""
        self._page.title = visible(f"PIX conformance: {self.run.profile.name}: {self.run.result().verdict}")
        prefix.append(summary_html(self.run))
        self.path.touch(mode=0o600)
        self.path.chmod(0o600)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """A page that cannot be written does not take the verdict with it, and half of one is not left."""
        try:
            return (yield)
        except OSError as error:
            self.run.unwritten = self.run.unwritten or f"{self.path} cannot be written: {error.strerror}"
            with suppress(OSError):  # a folder that cannot be written holds no half of a page
                self.path.unlink()
            session.exitstatus = session.exitstatus or 3
            return None


def add_html_page(session: pytest.Session, run: Run, path: Path) -> None:
    """Put our part into the page that pytest-html writes to the path."""
    session.config.pluginmanager.register(HtmlPage(run, path), "conformance-html")
