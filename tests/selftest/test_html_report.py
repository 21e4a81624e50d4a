"""report.html: what it says, that it trusts nothing it shows, and that it is one file for its owner alone."""

import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_html.basereport import BaseReport

from environments.profiles.loading import load
from environments.profiles.model import KnownFailure
from reports.formats import conformance_json
from reports.formats.conformance_json import document_of
from reports.headline import headline
from reports.page.figures import tile
from reports.page.rendering import page_title, requirements_from, summary_html
from reports.run import Note, NoteKind, Observation, Run, outcome_unknown
from reports.verdicts import RequirementResult, RunResult, RunVerdict, Verdict
from spec.findings import finding
from spec.requirements import requirements
from tests.harness.reporter import HtmlPage
from tests.selftest.services.forking import run_pytest

REPOSITORY = Path(__file__).parents[2]
RUN_FOLDER = REPOSITORY / "reports" / "runs" / "sandbox" / "20261122T000000Z-0000"
HOSTILE = "</script><script>alert(1)</script></pre><img src=x onerror='x'> \"quoted\" {{ 7 * 7 }} &amp; ]]>"
DIGIT, MASKED = "executePix.digit.present", "executePix.document.masked"
CRASH, KIND = "registerPixKey.serverError", "executePix.type.example"


class Page(HTMLParser):
    """A page as a browser without JavaScript has it: its tags, ids, links, references and text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.ids, self.links, self.references, self.text = [], [], [], [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known["href"]] if "href" in known else []
        self.references += [known[name] for name in ("src", "data", "srcset") if name in known]

    def handle_data(self, data):
        self.text += data


SANDBOX = load("sandbox", folder=REPOSITORY / "environments")


@pytest.fixture
def run():
    """A run in which nothing was found yet, of the requirements that are added to it."""
    return Run(SANDBOX, "http://127.0.0.1:1", narrowed=True)


def add(run, row_id, verdict, message="", exchanges=(), *found):
    """A result for a requirement, with exchanges as its evidence."""
    run.selected.add(row_id)
    run.results.append(RequirementResult(row_id, verdict, message, tuple(exchanges), findings=found))
    run.exchanges |= {number: exchange(number) for number in exchanges if number not in run.exchanges}


def exchange(number, said=lambda place: f"<{place}>"):
    """An exchange as reports/evidence.py gives it."""
    headers = {side: [[said(f"{side} header"), said(f"{side} value")]] for side in ("request", "response")}
    sent = {"method": "GET", "url": said("url"), "headers": headers["request"], "body": said("request body")}
    came = {"status": 200, "headers": headers["response"], "body": said("response body"), "cut": True}
    shown = {"number": number, "started": 0.0, "elapsed_ms": 1.5, "beside": 0, "request": sent, "response": came}
    return shown | {field: said(field) for field in ("operation", "credential", "curl", "part")}


def page(run):
    """What a reader gets of the run."""
    run.close()
    return Page(summary_html(run))


def hostile(place):
    return f"{place} {HOSTILE}"


@pytest.fixture(scope="module")
def hostile_page():
    """A run in which every text that is not the suite's own is hostile."""
    run = Run(replace(SANDBOX, name=hostile("name")), hostile("base url"), hostile("selection"), narrowed=True)
    run.unreachable = hostile("unreachable")
    run.said, run.errors = [Note(NoteKind.SET_UP, hostile("note"))], [hostile("error")]
    run.not_executed = [hostile("not executed")]
    add(run, KIND, Verdict.OBSERVED, "", [1])
    run.observations = [Observation(KIND, frozenset({("", hostile("observation"))}))]
    add(run, DIGIT, Verdict.FAIL, hostile("failure of a row"), [1, 2])
    add(run, MASKED, Verdict.NOT_EXERCISED, hostile("what is missing"))
    add(run, CRASH, Verdict.PASS, hostile("passing message"))
    silent = exchange(2) | {"failure": hostile("no answer")}
    del silent["response"]
    run.exchanges = {1: exchange(1, hostile), 2: silent}
    return page(run)


PLACES = [
    *["name", "base url", "selection", "unreachable", "note", "not executed", "error", "observation"],
    *["failure of a row", "what is missing", "passing message", "no answer", "operation", "credential", "url"],
    *["request header", "request value", "request body", "response header", "response value", "response body", "curl"],
]


class TestWhatIsShownIsText:
    @pytest.mark.parametrize("place", PLACES)
    def test_hostile_text(self, hostile_page, place):
        """Markup, quotes and template syntax from outside are text wherever they stand."""
        assert hostile(place) in hostile_page.text

    def test_hostile_tags(self, hostile_page):
        """Hostile text adds no element to the page."""
        assert "script" not in hostile_page.tags
        assert "img" not in hostile_page.tags

    def test_invisible_characters(self, run):
        """What a reader cannot see, what reorders the text and what UTF-8 cannot hold is shown as an escape."""
        add(run, DIGIT, Verdict.FAIL, "a\x00b\x1bc\u202ed\u200be\ud800f\tg\nh")

        assert "a\\x00b\\x1bc\\u202ed\\u200be\\ud800f\tg\nh" in page(run).text
        assert summary_html(run).encode("utf-8")

    def test_test_ids(self, run):
        """pytest-html does not escape the ids of tests; we do."""
        report, row = SimpleNamespace(nodeid="x[<img>]", when="call", outcome="passed"), ["r", "t", "d", "l"]

        HtmlPage(run, Path("report.html")).pytest_html_results_table_row(report, row)

        assert row == ["r", '<td class="col-testId">x[&lt;img&gt;]</td>', "d", "l"]


class TestTheFirstMinute:
    @pytest.mark.parametrize("verdict", RunVerdict)
    def test_banner(self, run, verdict, monkeypatch):
        """The verdict is said in the words of the terminal."""
        monkeypatch.setattr(run, "result", lambda: RunResult(verdict))
        add(run, CRASH, Verdict.FAIL, "status 500")

        text = re.sub(r"\s+", " ", page(run).text)
        said = headline(document_of(run))

        assert str(said.word) in text
        assert str(said.sentence) in text

    def test_order(self, run):
        """The verdict, alerts, failures, warnings, what was not exercised, the requirements, and the evidence."""
        run.said.append(outcome_unknown("exchange 1", "look it up"))
        add(run, KIND, Verdict.WARN, "another kind", [2])
        add(run, DIGIT, Verdict.FAIL, "digit is missing", [1])
        add(run, MASKED, Verdict.NOT_EXERCISED, "supply a code")

        text = page(run).text
        said = ["NON-CONFORMANT", "OUTCOME UNKNOWN", "digit is missing", "another kind", "In scope, but", "by section"]
        said.append("Each request and its response")

        assert [text.index(words) for words in said] == sorted(text.index(words) for words in said)

    def test_findings_come_first(self, run):
        """Below the first screen stand the findings, before the figures: each cause once."""
        add(run, "executePix.status", Verdict.FAIL, "", [1], finding("status", status=204))
        add(run, "registerPixKey.status", Verdict.FAIL, "", [2], finding("status", status=204))

        shown = page(run)

        text = re.sub(r"\s+", " ", shown.text)
        assert text.index("Failing 1") < text.index("by level and verdict")
        assert "The same in: registerPixKey.status" in text
        assert shown.ids.count("finding-executePix.status") == 1
        assert {link.removeprefix("#") for link in shown.links} <= {*shown.ids, "tests"}

    def test_robustness_apart(self, run):
        """Robustness has its own headline, and its failures do not count among those of conformance."""
        add(run, CRASH, Verdict.FAIL, "status 500", [1])
        add(run, DIGIT, Verdict.PASS)

        text = page(run).text

        assert "ConformanceNo failures in 1 of 1 testable documented requirement" in text
        assert "Robustness apart from conformance1 failure in 1 of 1 testable robustness requirement" in text
        assert "Failing: robustness, apart from conformance 1" in text

    def test_a_partial_run_is_not_green_and_not_called_conformant(self, run):
        """Title, banner and tiles say how much was tested; what fails is as red as ever."""
        run.grants.granted = {"executePix"}
        add(run, DIGIT, Verdict.PASS)
        add(run, MASKED, Verdict.OUT_OF_SCOPE, "needs execute in allow")
        add(run, CRASH, Verdict.PASS)

        shown = page(run)
        first = shown.text[: shown.text.index("Provenance")]
        assert str(page_title(run)) == "PIX conformance: sandbox: no failure, 2 of 3 tested"
        assert "PARTIAL" in first
        assert "conformant" not in first.lower()
        assert {tile(document_of(run), level)[0] for level in ("documented", "robustness")} == {Verdict.NOT_EXERCISED}

    def test_no_green_without_a_verdict(self, run):
        """A run that rests on nothing has no green tile, although nothing failed."""
        add(run, DIGIT, Verdict.PASS)

        assert str(run.result().why) == "no operation granted anything"
        verdict, text = tile(document_of(run), "documented")

        assert (verdict, str(text)) == (
            Verdict.NOT_EXERCISED,
            "No failures in 1 of 1 testable documented requirement",
        )

    def test_known_failure(self, run):
        """A known failure stands apart, with its reason."""
        entry = KnownFailure(id=DIGIT, reason="fixed in 2.4", until=None)
        run.profile = replace(run.profile, known_failures=(entry,))
        add(run, DIGIT, Verdict.FAIL, "digit is missing")

        text = page(run).text

        assert "Failing, and known 1" in text
        assert "Known failure: fixed in 2.4" in text

    def test_nothing_tested(self, run):
        """A run that tested nothing does not say that nothing failed."""
        run.narrowed = False
        run.unreachable = "the connection is refused"

        text = page(run).text

        assert "Nothing failed" not in text
        assert "Nothing was tested." in text
        assert f"{run.base_url} cannot be reached: the connection is refused" in text

    @pytest.mark.parametrize(
        ("content", "said"), [(None, 0), ("[]", 0), ("{", 0), ('{"other": 1}', 0), ('{"line": "<img> killed"}', 1)]
    )
    def test_proof(self, run, tmp_path, monkeypatch, content, said):
        """The proof is one line of text; without a proof nothing is said of one."""
        monkeypatch.setattr(conformance_json, "SUMMARY", tmp_path / "summary.json")
        if content is not None:
            conformance_json.SUMMARY.write_text(content)

        assert page(run).text.count("Why believe it <img> killed") == said


class TestEvidence:
    def test_links(self, run):
        """Every link leads to a place of the page, and no place has two names."""
        add(run, DIGIT, Verdict.FAIL, "digit is missing", [1, 2, 3, 4, 5])
        add(run, KIND, Verdict.OBSERVED, "PHONE", range(1, 20))
        add(run, CRASH, Verdict.WARN)
        run.observations.append(Observation(KIND, frozenset({("", "PHONE")})))

        shown = page(run)

        assert {link.removeprefix("#") for link in shown.links} <= {*shown.ids, "tests"}
        assert len(shown.ids) == len(set(shown.ids))
        assert {DIGIT, "exchange-1"} <= set(shown.ids)

    def test_requirements_of_the_checkout(self, run):
        """In the checkout, each requirement leads to its anchor in spec/requirements.md."""
        add(run, DIGIT, Verdict.FAIL, "digit is missing")
        run.close()

        links = Page(summary_html(run, requirements_from(RUN_FOLDER))).links
        path, _, anchor = next(link for link in links if not link.startswith("#")).partition("#")

        assert (path, anchor) == ("../../../../spec/requirements.md", DIGIT)
        assert f'<a id="{anchor}">' in (RUN_FOLDER / path).resolve().read_text("utf-8")

    def test_requirements_elsewhere(self, tmp_path):
        """A report outside the checkout has no such link: its path would tell where the checkout is."""
        assert requirements_from(tmp_path) == ""

    def test_every_requirement(self, run):
        """Every requirement stands in the page of a whole run."""
        run.narrowed = False

        assert set(requirements()) <= set(page(run).ids)

    def test_only_what_is_cited(self, run):
        """Exchanges that nothing cites are counted; conformance.json has them."""
        add(run, DIGIT, Verdict.FAIL, "digit is missing", [9])
        run.exchanges |= {number: exchange(number) for number in range(1, 9)}

        shown = page(run)

        assert shown.text.count("<curl>") == 2  # that of the exchange, and that of the finding
        assert [id_ for id_ in shown.ids if re.fullmatch(r"exchange-\d+", id_)] == ["exchange-9"]
        assert "Exchanges sent: 9; cited in this report and shown: 1" in re.sub(r"\s+", " ", shown.text)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a real run of one group of requirements."""
    folder = tmp_path_factory.mktemp("report")
    options = ["-p", "no:cacheprovider", "-k", "executePix.document", f"--report-dir={folder}"]
    run_pytest(options, {**os.environ, "BUILD_NUMBER": "CI-4711", "JENKINS_URL": "https://ci.example"})
    return folder / "report.html"


class TestTheFile:
    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (OSError(28, "No space left on device"), "No space left on device"),
            (ZeroDivisionError("in a template"), "ZeroDivisionError: in a template"),
        ],
    )
    def test_full_disk(self, run, error, why):
        """A page that cannot be written or made is said. pytest-html does not tell where the page is."""
        plugins = pytest.PytestPluginManager()
        plugins.register(told_where := BaseReport.__new__(BaseReport))
        session = SimpleNamespace(config=SimpleNamespace(pluginmanager=plugins))
        hooks = HtmlPage(run, Path("r.html"))
        finish = hooks.pytest_sessionfinish(session)
        next(finish)

        with pytest.raises(StopIteration):
            finish.throw(error)

        assert run.unwritten == f"r.html cannot be written: {why}"
        assert not plugins.is_registered(told_where)

    def test_owner_alone(self, report):
        """Only its owner reads the file, also where --report-dir names the folder."""
        assert report.stat().st_mode & 0o777 == 0o600

    def test_what_it_says(self, report):
        """The title says where, and the verdict; no variable of the CI gets into the file."""
        text = report.read_text("utf-8")

        assert '<h1 id="title">PIX conformance: sandbox: no failure, 4 of 4 tested</h1>' in text
        assert "CI-4711" not in text
        assert "ci.example" not in text

    def test_self_contained(self, report):
        """Nothing is fetched: the file works offline."""
        text = report.read_text("utf-8")

        assert not any(Page(text).references)
        assert not re.search(r"@import|url\(", text)
