"""report.html: what it says, that it trusts nothing it shows, and that it is one file for its owner alone."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from reports.observed.behaviour import Drift
from reports.observed.earlier_runs import record_of
from reports.outputs.conformance_json import document_of
from reports.outputs.page.figures import tile
from reports.outputs.page.rendering import page_title, summary_html
from reports.outputs.page.templates import frame
from reports.result.run import Note, NoteKind, Observation, Run
from reports.result.verdicts import RequirementResult, Verdict
from reports.showing.evidence import ShownExchange, ShownRequest, ShownResponse
from spec.requirements import interface_document, requirements
from tests.harness.reporter import HtmlPage
from tests.selftest.hand_made import SANDBOX
from tests.selftest.recorded_runs import recorded

HOSTILE = "</script><script>alert(1)</script></pre><img src=x onerror='x'> \"quoted\" {{ 7 * 7 }} &amp; ]]>"
DIGIT, MASKED = "executePix.digit.present", "executePix.document.masked"
CRASH, KIND = "registerPixKey.serverError", "executePix.type.example"


class Page(HTMLParser):
    """A page as a browser without JavaScript has it: its tags, ids, links, references and text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.ids, self.links, self.references, self.text = [], [], [], [], ""
        self.feed(source)
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.tags.append(tag)
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known["href"]] if "href" in known else []
        self.references += [known[name] for name in ("src", "data", "srcset") if name in known]

    def handle_data(self, data):
        self.text += data


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
    """An exchange as reports/showing/evidence.py gives it."""
    headers = {side: ((said(f"{side} header"), said(f"{side} value")),) for side in ("request", "response")}
    texts = {field: said(field) for field in ("operation", "credential", "lines_that_resend", "part", "purpose")}
    return ShownExchange(
        number=number, started=0.0, elapsed_ms=1.5, beside=0, **texts,
        request=ShownRequest("GET", said("url"), headers["request"], said("request body")),
        response=ShownResponse(200, "the limit", headers["response"], said("response body")),
    )  # fmt: skip


def page(run):
    """What a reader gets of the run."""
    return Page(summary_html(run, document_of(run)))


def hostile(place):
    return f"{place} {HOSTILE}"


PLACES = [
    "name", "base url", "selection", "unreachable", "note", "not executed", "error", "observation",
    "failure of a row", "what is missing", "passing message", "no answer", "operation", "credential", "url",
    "request header", "request value", "request body", "response header", "response value", "response body",
    "lines_that_resend",
]  # fmt: skip


class TestWhatIsShownIsText:
    def test_hostile_text(self):
        """Markup, quotes and template syntax from outside are text wherever they stand, and add no element."""
        run = Run(replace(SANDBOX, name=hostile("name")), hostile("base url"), hostile("selection"), narrowed=True)
        run.unreachable = hostile("unreachable")
        run.notes, run.errors = [Note(NoteKind.SET_UP, hostile("note"))], [hostile("error")]
        run.not_executed = [hostile("not executed")]
        add(run, KIND, Verdict.OBSERVED, "", [1])
        run.observations = [Observation(KIND, frozenset({("", hostile("observation"))}))]
        add(run, DIGIT, Verdict.FAIL, hostile("failure of a row"), [1, 2])
        add(run, MASKED, Verdict.NOT_EXERCISED, hostile("what is missing"))
        add(run, CRASH, Verdict.PASS, hostile("passing message"))
        no_answer = dict.fromkeys(("failure", "failure_kind"), hostile("no answer"))
        silent = replace(exchange(2), response=None, **no_answer)
        run.exchanges = {1: exchange(1, hostile), 2: silent}

        unreachable = page(run)
        run.unreachable = ""
        reached = page(run)

        assert [place for place in PLACES if hostile(place) not in unreachable.text + reached.text] == []
        assert {"script", "img"} & {*unreachable.tags, *reached.tags} == set()

    def test_invisible_characters(self, run):
        """What a reader cannot see, what reorders the text and what UTF-8 cannot hold is shown as an escape."""
        add(run, DIGIT, Verdict.FAIL, "a\x00b\x1bc\u202ed\u200be\ud800f")

        assert "a\\x00b\\x1bc\\u202ed\\u200be\\ud800f" in page(run).text

    def test_test_ids(self, run):
        """pytest-html does not escape the ids of tests; we do. It keeps none of the variables that other plugins tell it."""
        report, row = SimpleNamespace(nodeid="x[<img>]", when="call", outcome="passed"), ["r", "t", "d", "l"]
        html_page, kept = HtmlPage(run), {"environment": {"CI_USER": "maria"}}
        html_page.begin(SimpleNamespace(set_data=kept.__setitem__))
        html_page.fill_row(report, row)

        assert row == ["r", '<td class="col-testId">x[&lt;img&gt;]</td>', "d", "l"]
        assert kept == {"environment": {}}

    def test_policy(self):
        """The page permits its two scripts by their digests, and fetches nothing."""
        parts = dict.fromkeys(("title", "run_count", "test_data", "version"), "")
        source = frame("1 + 1").render(**parts, additional_summary={"prefix": []}, table_head=[], outcomes={})
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)[1]

        assert policy.startswith("default-src &#39;none&#39;; ")
        assert Counter(re.findall(r"[a-z]+-src|sha256", policy)) == {
            "default-src": 1, "img-src": 1, "style-src": 1, "script-src": 1, "sha256": 2,
        }  # fmt: skip


class TestTheFirstMinute:
    def test_a_partial_run_is_not_green_and_not_called_conformant(self, run):
        """Title, banner and tiles say how much was tested; a run that rests on nothing has no green tile, either."""
        add(run, DIGIT, Verdict.PASS)
        on_nothing = tile(document_of(run), "documented")[0]
        run.grants.granted = {"executePix"}
        add(run, MASKED, Verdict.OUT_OF_SCOPE, "needs execute in allow")
        first = page(run).text.partition("Provenance")[0]

        assert str(page_title(document_of(run))) == "PIX conformance: sandbox: no failure, 1 of 2 requirements tested"
        assert "PARTIAL" in first
        assert "conformant" not in first.lower()
        assert on_nothing == tile(document_of(run), "documented")[0] == Verdict.NOT_EXERCISED

    @pytest.mark.parametrize(
        ("verdict", "state"),
        [
            (Verdict.PASS, {}),
            (Verdict.FAIL, {}),
            (Verdict.PASS, {"drift": [Drift(id=KIND, situation="", place="", was="a", now="b")]}),
            (Verdict.PASS, {"ended_by": "limits.duration is over"}),
        ],
        ids=["partial", "non-conformant", "drifted", "incomplete"],
    )
    def test_every_page_says_what_a_pass_means(self, verdict, state, run):
        """And what it does not mean, whatever the verdict of the run is."""
        run.grants.granted, run.record = {"executePix"}, record_of("staging", {})
        run.profile = replace(run.profile, drift="fail")
        vars(run).update(state)
        add(run, DIGIT, verdict)
        text = page(run).text

        assert "A requirement passes if it was tested and no answer deviates from it. A pass says nothing about" in text

    def test_where_nothing_was_tested_nothing_is_said_of_a_pass(self, run):
        add(run, DIGIT, Verdict.NOT_EXERCISED)

        assert "A pass says nothing" not in page(run).text

    def test_a_failure_of_an_implied_requirement_alone(self, run):
        add(run, "executePix.id.matches", Verdict.FAIL)

        assert tile(document_of(run), "documented")[0] == Verdict.FAIL


class TestEvidence:
    def test_links(self):
        """Every link leads to a place of the page, also once the file was sent, and no place has two names."""
        source = recorded("failing").text("report.html")
        shown = Page(source)

        assert {link.removeprefix("#") for link in shown.links} - {"data:,"} <= {*shown.ids}
        assert len(shown.ids) == len(set(shown.ids))

    def test_the_interface_document(self):
        """The page names it by title, day and digest, so that a reader can tell whether it is the one at hand."""
        text, named = Page(recorded("clean").text("report.html")).text, interface_document()

        assert f"Judged against “{named['title']}”, taken on {named['taken']}." in text
        assert f"Interface document SHA-256{named['sha256']}" in text

    def test_every_requirement(self):
        """Every requirement stands in the page of a whole run; each that passed names what shows it."""
        clean = recorded("clean")

        assert set(requirements()) <= set(Page(clean.text("report.html")).ids)
        assert all(one["exchanges"] for one in clean.document["requirements"] if one["verdict"] == "pass")


class TestTheFile:
    def test_one_file_for_its_owner(self):
        """Nothing is fetched; only its owner reads it; the title has the verdict; neither a variable of the CI gets in, nor
        the place of the checkout."""
        file = recorded("failing").folder / "report.html"
        source = file.read_text("utf-8")

        assert file.stat().st_mode & 0o777 == 0o600
        assert not any(Page(source).references)
        assert not re.search(r"@import|url\(|CI-4711|ci\.example|requirements\.md", source)
        assert '<h1 id="title">PIX conformance: staging: non-conformant</h1>' in source
