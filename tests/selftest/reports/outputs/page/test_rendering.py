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
from reports.outputs.page.templates import template_of_page
from reports.result.run import Note, NoteKind, Observation, Run
from reports.result.verdicts import RequirementResult, Verdict
from reports.showing.evidence import ShownExchange, ShownRequest, ShownResponse
from spec.requirements import interface_document, requirements
from tests.harness.reporter import HtmlPage
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.shared_runs import shared_run

HOSTILE = "</script><script>alert(1)</script></pre><img src=x onerror='x'> \"quoted\" {{ 7 * 7 }} &amp; ]]>"
DIGIT, MASKED = "executePix.digit.present", "executePix.document.masked"
GREY_TILE = Verdict.NOT_EXERCISED
"""The colour of a tile is the name of a verdict: the page shows `pass` in green and `not-exercised` in grey."""
CRASH, TYPE_EXAMPLE = "registerPixKey.serverError", "executePix.type.example"


class Page(HTMLParser):
    """A page as a browser without JavaScript has it: its tags, ids, links, references and text."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.ids, self.links, self.references, self.text = [], [], [], [], ""
        self.feed(source)
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag, attrs):
        """Note a tag, and what its attributes say. `references` are addresses that a browser would fetch."""
        attributes = dict(attrs)
        self.tags.append(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.append(attributes["href"])
        self.references += [attributes[name] for name in ("src", "data", "srcset") if name in attributes]

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def run():
    """A run without results."""
    return Run(SANDBOX_PROFILE, "http://127.0.0.1:1", narrowed=True)


def add_result(run, requirement_id, verdict, message="", exchanges=()):
    """Add the result of a requirement to a run. `exchanges` are the numbers of the exchanges that show the result."""
    run.selected.add(requirement_id)
    run.results.append(RequirementResult(requirement_id, verdict, message, tuple(exchanges)))
    for number in exchanges:
        run.exchanges.setdefault(number, exchange(number))


def name_of_place(place):
    """The text that `exchange` has at a place, unless a test says otherwise: "<url>" at the place "url"."""
    return f"<{place}>"


def exchange(number, text_at=name_of_place):
    """An exchange (a request with its answer) as a report shows it. `text_at` makes its text for each place in it."""
    request_headers = ((text_at("request header"), text_at("request value")),)
    response_headers = ((text_at("response header"), text_at("response value")),)
    texts = {field: text_at(field) for field in ("operation", "credential", "lines_that_resend", "part", "purpose")}
    return ShownExchange(
        number=number, started=0.0, elapsed_ms=1.5, beside=0, **texts,
        request=ShownRequest("GET", text_at("url"), request_headers, text_at("request body")),
        response=ShownResponse(200, "the limit", response_headers, text_at("response body")),
    )  # fmt: skip


def page_of_run(run):
    """The page of a run, as a browser without JavaScript has it: its tags, ids, links, references and text."""
    return Page(summary_html(run, document_of(run)))


def hostile_text_at(place):
    """The name of a place, and after it a text with markup, quotes and template syntax, which must do no harm there."""
    return f"{place} {HOSTILE}"


PLACES = [
    "name", "base url", "selection", "unreachable", "note", "not executed", "error", "observation",
    "failure of a row", "what is missing", "passing message", "no answer", "operation", "credential", "url",
    "request header", "request value", "request body", "response header", "response value", "response body",
    "lines_that_resend",
]  # fmt: skip


class TestWhatIsShownIsText:
    def test_hostile_text_is_shown_as_text(self):
        """Text with markup, from the service or the operator, is shown as text on the page and adds no element,
        wherever it stands.
        """
        run = Run(
            replace(SANDBOX_PROFILE, name=hostile_text_at("name")),
            hostile_text_at("base url"),
            hostile_text_at("selection"),
            narrowed=True,
        )
        run.unreachable = hostile_text_at("unreachable")
        run.notes, run.errors = [Note(NoteKind.WRONG_SET_UP, hostile_text_at("note"))], [hostile_text_at("error")]
        run.transfers_not_executed = [hostile_text_at("not executed")]
        add_result(run, TYPE_EXAMPLE, Verdict.OBSERVED, "", [1])
        run.observations = [Observation(TYPE_EXAMPLE, frozenset({("", hostile_text_at("observation"))}))]
        add_result(run, DIGIT, Verdict.FAIL, hostile_text_at("failure of a row"), [1, 2])
        add_result(run, MASKED, Verdict.NOT_EXERCISED, hostile_text_at("what is missing"))
        add_result(run, CRASH, Verdict.PASS, hostile_text_at("passing message"))
        text_of_failure = hostile_text_at("no answer")
        unanswered = replace(exchange(2), response=None, failure=text_of_failure, failure_kind=text_of_failure)
        run.exchanges = {1: exchange(1, hostile_text_at), 2: unanswered}

        page_if_unreachable = page_of_run(run)
        run.unreachable = ""  # the page of an unreachable service leaves out some places
        page_if_reached = page_of_run(run)

        text_of_both_pages = page_if_unreachable.text + page_if_reached.text
        places_not_shown = [place for place in PLACES if hostile_text_at(place) not in text_of_both_pages]
        tags_of_hostile_text = {"script", "img"} & {*page_if_unreachable.tags, *page_if_reached.tags}

        assert places_not_shown == []
        assert tags_of_hostile_text == set()

    def test_invisible_characters_are_escaped(self, run):
        """Characters that nobody sees, that reorder the text, or that UTF-8 cannot hold are shown as escapes on the page."""
        add_result(run, DIGIT, Verdict.FAIL, "a\x00b\x1bc\u202ed\u200be\ud800f")

        assert "a\\x00b\\x1bc\\u202ed\\u200be\\ud800f" in page_of_run(run).text

    def test_the_ids_of_tests_are_escaped(self, run):
        """Markup in the id of a test is escaped on the page. pytest-html, which makes the table of tests, does not do so."""
        report = SimpleNamespace(nodeid="x[<img>]", when="call", outcome="passed")
        row = ["result", "test id", "duration", "links"]

        HtmlPage(run).fill_row(report, row)

        assert row == ["result", '<td class="col-testId">x[&lt;img&gt;]</td>', "duration", "links"]

    def test_variables_of_the_machine_are_dropped(self, run):
        """The page drops the variables of the machine that plugins collect, because they may name a person."""
        data_of_pytest_html = {"environment": {"CI_USER": "maria"}}

        HtmlPage(run).begin(SimpleNamespace(set_data=data_of_pytest_html.__setitem__))

        assert data_of_pytest_html == {"environment": {}}

    def test_the_page_permits_only_its_own_scripts(self):
        """The security policy of the page permits two scripts by their digests, and forbids to fetch anything."""
        empty_texts = dict.fromkeys(("title", "run_count", "test_data", "version"), "")  # the policy does not need them
        source = template_of_page("1 + 1").render(
            **empty_texts, additional_summary={"prefix": []}, table_head=[], outcomes={}
        )
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)[1]

        assert policy.startswith("default-src &#39;none&#39;; ")
        assert Counter(re.findall(r"[a-z]+-src|sha256", policy)) == {
            "default-src": 1, "img-src": 1, "style-src": 1, "script-src": 1, "sha256": 2,
        }  # fmt: skip


class TestTheTopOfThePage:
    def test_a_partial_run_is_not_green_and_not_called_conformant(self, run):
        """The page of a partial run says PARTIAL and how many requirements were tested, never `conformant`, and has no
        green tile.

        A tile is the box with the figures of one level.
        """
        add_result(run, DIGIT, Verdict.PASS)
        run.answers_to_valid_token.succeeded = {"executePix"}  # the operation that succeeded
        add_result(run, MASKED, Verdict.OUT_OF_SCOPE, "needs execute in allow")
        top_of_page = page_of_run(run).text.partition("Provenance")[0]
        colour_of_tile = tile(document_of(run), "documented")[0]

        assert str(page_title(document_of(run))) == "PIX conformance: sandbox: no failure, 1 of 2 requirements tested"
        assert "PARTIAL" in top_of_page
        assert "conformant" not in top_of_page.lower()
        assert colour_of_tile == GREY_TILE

    def test_a_run_without_success_has_no_green_tile(self, run):
        """If no operation succeeded, the tile of a level is grey, even if a requirement of the level passes.

        A tile is the box with the figures of one level.
        """
        add_result(run, DIGIT, Verdict.PASS)
        run.answers_to_valid_token.succeeded = set()

        colour_of_tile = tile(document_of(run), "documented")[0]

        assert colour_of_tile == GREY_TILE

    @pytest.mark.parametrize(
        ("verdict", "state"),
        [
            (Verdict.PASS, {}),
            (Verdict.FAIL, {}),
            (Verdict.PASS, {"drift": [Drift(id=TYPE_EXAMPLE, situation="", place="", was="a", now="b")]}),
            (Verdict.PASS, {"ended_by": "limits.duration is over"}),
        ],
        ids=["partial", "non-conformant", "drifted", "incomplete"],
    )
    def test_every_page_says_what_a_pass_means(self, verdict, state, run):
        """The page of every verdict says what it means that a requirement passes, and what it does not mean."""
        run.answers_to_valid_token.succeeded = {"executePix"}
        run.record = record_of("staging", {})
        run.profile = replace(run.profile, drift="fail")
        for attribute, value in state.items():
            setattr(run, attribute, value)
        add_result(run, DIGIT, verdict)
        text = page_of_run(run).text

        assert "A requirement passes if it was tested and no answer deviates from it. A pass says nothing about" in text

    def test_a_page_without_tested_requirements_does_not_explain_a_pass(self, run):
        """If no requirement was tested, the page does not explain what a pass means."""
        add_result(run, DIGIT, Verdict.NOT_EXERCISED)

        assert "A pass says nothing" not in page_of_run(run).text

    def test_a_failure_of_an_implied_requirement_makes_the_tile_red(self, run):
        """If an implied requirement fails, the tile of the documented level is red, because the failure is listed
        there.

        A tile is the box with the figures of one level.
        """
        add_result(run, "executePix.id.matches", Verdict.FAIL)

        colour_of_tile = tile(document_of(run), "documented")[0]

        assert colour_of_tile == Verdict.FAIL


class TestEvidence:
    def test_every_link_leads_to_a_place_of_the_page(self):
        """Every link of the page leads to a place on the same page, and no two places have one name.

        A page that was sent to somebody has no other file beside it.
        """
        source = shared_run("failing").text("report.html")
        page = Page(source)

        empty_icon = "data:,"  # the icon of the page, which is no link
        targets = {link.removeprefix("#") for link in page.links if link != empty_icon}

        assert targets <= set(page.ids)
        assert len(page.ids) == len(set(page.ids))

    def test_the_page_names_the_interface_document(self):
        """The page names the interface document with its title, day and digest.

        So a reader can compare the digest with that of the document at hand.
        """
        text = Page(shared_run("clean").text("report.html")).text
        document = interface_document()

        assert f"Judged against “{document['title']}”, taken on {document['taken']}." in text
        assert f"Interface document SHA-256{document['sha256']}" in text

    def test_the_page_has_every_requirement(self):
        """The page has every requirement. In conformance.json each requirement that passes cites exchanges that show it."""
        clean = shared_run("clean")

        ids_on_page = set(Page(clean.text("report.html")).ids)
        passing = [entry for entry in clean.document["requirements"] if entry["verdict"] == "pass"]
        passing_without_exchanges = [entry["id"] for entry in passing if not entry["exchanges"]]

        assert set(requirements()) <= ids_on_page
        assert passing_without_exchanges == []


class TestTheFile:
    def test_the_page_is_one_file_for_its_owner(self):
        """report.html is one file that only its owner can read, and fetches nothing. Its title has the verdict.

        It has neither a variable of the CI job nor the path of the checkout.
        """
        file = shared_run("failing").folder / "report.html"
        source = file.read_text("utf-8")

        assert file.stat().st_mode & 0o777 == 0o600
        assert Page(source).references == []
        assert not re.search(r"@import|url\(|CI-4711|ci\.example|requirements\.md", source)
        assert '<h1 id="title">PIX conformance: staging: non-conformant</h1>' in source
