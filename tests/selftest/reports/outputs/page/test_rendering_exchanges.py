"""The exchanges on the page: which are there, which of them whole, and the deviation is marked where it stands."""

import re

import pytest

from environments.secret_values import listed_secrets
from reports.outputs.conformance_json import document_of
from reports.outputs.page import rendering
from reports.outputs.page.rendering import MOST_LINKED, marks_of, message_lines, summary_html
from reports.showing.evidence import ShownResponse, shown_in_full
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.rules import judge
from tests.selftest.hand_made import SANDBOX_PROFILE, reported_requirement
from tests.selftest.shared_runs import shared_run
from tests.selftest.spec.test_rules import CASES, exchange_that_deviates

RESENDING = Resending(Display(listed_secrets(SANDBOX_PROFILE)), SANDBOX_PROFILE)


def marked_lines(rule, exchange):
    """The lines of a response that the page marks because they deviate from a rule, joined with " + ".

    If no response came, the line with the failure is marked. A missing member is marked by its name.
    """
    findings = judge(rule, exchange).findings
    shown_exchange = shown_in_full(exchange, RESENDING)
    response = shown_exchange.response
    first_line = shown_exchange.failure if response is None else str(response.status)
    # The id of the requirement does not matter here: only its findings say what is marked.
    marks = marks_of([reported_requirement("executePix.json", found=findings)], "response")
    shown_message = message_lines(first_line, response, marks)
    lines = [line for line in (*shown_message.head, *shown_message.body) if line.marks]
    texts = [(line.name + line.text).strip(" ,") for line in lines]
    return " + ".join(texts)


class TestTheMark:
    def test_the_deviation_of_every_rule_is_marked(self):
        """On the page, the line of an answer that deviates from a requirement is marked, at the field if there is one.

        For each rule, which judges one requirement, a file has an answer that breaks it, and the text of the line
        that must be marked.
        """
        expected_by_rule = {case["rule"]: case["marked"] for case in CASES["deviations"]}
        marked_by_rule = {}
        for case in CASES["deviations"]:
            rule = case["rule"]
            exchange = exchange_that_deviates(rule, **case["answer"])
            marked_by_rule[rule] = marked_lines(rule, exchange)

        assert marked_by_rule == expected_by_rule


def texts_of_lines(body):
    """The texts of the lines in which the page shows a body, with their indentation."""
    response = ShownResponse(200, cut="", body=body)
    lines = message_lines("200", response, []).body
    return [line.indent + line.name + line.text for line in lines]


class TestText:
    @pytest.mark.parametrize(
        "body",
        [
            '{"a": 1.0, "b": 1E5, "c": -0, "e": 100000000000000000000.10, "a": 2}',
            r'{"\u0061": "\u00e9\/\ud800 \"quoted\" \\", "": {}, "f": [[], {}], "g": [null, true]}',
            '{"a": 1, "b": [nu… (9000 bytes in all)',
            *['{"a": 1,}', "[1, 2", '{"a":1}{"b":2}', "a=1&b=2\n\n  c", "[" * 101 + "]" * 101],
        ],
    )
    def test_a_body_keeps_its_characters(self, body):
        """The page shows a body with all of its characters, also odd numbers, escapes, repeated names, and a body that
        is no JSON.

        Only blanks and line ends differ, because JSON is shown with one member a line.
        """
        shown_body = "".join(texts_of_lines(body))

        assert characters_without_blanks(shown_body) == characters_without_blanks(body)


def characters_without_blanks(text):
    """The text without its blanks and line ends."""
    return "".join(text.split())


# -- why it was sent -----------------------------------------------------------------------------------------------


def test_an_exchange_that_is_shown_whole_says_why_it_was_sent():
    """The page says of a request why it was sent, for example `the same key again`. conformance.json says it of every
    request.
    """
    run = shared_run("clean").run
    document = document_of(run)
    page = summary_html(run, document)
    purposes = {exchange.purpose for exchange in document.exchanges}

    assert {"a supplied code", "the same key again", "a read with the token"} <= purposes
    assert "purpose: the same key again" in page


# -- which are there ------------------------------------------------------------------------------------------------


def test_a_run_keeps_cited_exchanges_whole():
    """A run keeps each exchange that a result cites with its content. Of most other exchanges it keeps only an outline.

    An exchange is a request with its answer. Only an exchange with content has lines that send it again.
    """
    run = shared_run("clean").run
    cited = {number for result in run.results for number in result.exchanges}
    with_content = {number for number, exchange in run.exchanges.items() if exchange.lines_that_resend}
    only_outlines = run.exchanges.keys() - with_content

    assert cited <= with_content
    assert only_outlines != set()


def test_a_page_of_very_many_exchanges_stays_small(monkeypatch):
    """If there are more exchanges than the page may show whole, here one, each other exchange has one line.

    A requirement links to the first few exchanges that it cites, and says that there are more. An exchange is a
    request with its answer.
    """
    monkeypatch.setattr(rendering, "MOST_WHOLE", 1)
    run = shared_run("failing").run
    results_with_many_exchanges = [result for result in run.results if len(result.exchanges) > MOST_LINKED]
    id_of_requirement = results_with_many_exchanges[0].id
    page = summary_html(run, document_of(run))
    row = re.search(rf'<tr id="{id_of_requirement}".*?</tr>', page, re.S)[0]

    assert page.count('<details class="exchange') == 1
    assert page.count('<p class="exchange') > 5
    assert row.count("#exchange-") == MOST_LINKED
    assert " more" in row
