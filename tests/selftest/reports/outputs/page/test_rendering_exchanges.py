"""The exchanges on the page: which are there, which of them whole, and the deviation is marked where it stands."""

import re

import pytest

from environments.secret_values import listed_secrets
from reports.outputs.conformance_json import document_of
from reports.outputs.page import rendering
from reports.outputs.page.rendering import LINKED, marks_of, message_lines, summary_html
from reports.showing.evidence import ShownResponse, evidence
from reports.showing.resending import Resending
from reports.showing.show import Display
from spec.rules import judge
from tests.selftest.hand_made import SANDBOX, reported
from tests.selftest.recorded_runs import recorded
from tests.selftest.spec.test_rules import CASES, broken

RESENDING = Resending(Display(listed_secrets(SANDBOX)), SANDBOX)


def marked(finding_or_rule, exchange, side="response"):
    """The lines that are marked for findings, or for those of a rule; of what is missing its name."""
    is_rule = isinstance(finding_or_rule, str)
    findings = judge(finding_or_rule, exchange).findings if is_rule else [finding_or_rule]
    shown_exchange = evidence(exchange, RESENDING)
    content = getattr(shown_exchange, side)
    first = str(content.status) if isinstance(content, ShownResponse) else shown_exchange.failure
    shown = message_lines(first, content, marks_of([reported("executePix.json", found=findings)], side))
    return " + ".join((line.name + line.text).strip(" ,") for line in (*shown.head, *shown.body) if line.marks)


class TestTheMark:
    def test_every_rule(self):
        """What breaks a rule is marked in the response, at the field where there is one."""
        shown = {
            case["rule"]: marked(case["rule"], broken(case["rule"], **case["answer"])) for case in CASES["deviations"]
        }

        assert shown == {case["rule"]: case["marked"] for case in CASES["deviations"]}


def lines_of(body):
    return message_lines("200", ShownResponse(200, cut="", body=body), []).body


def shown(body):
    return [line.indent + line.name + line.text for line in lines_of(body)]


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
    def test_nothing_is_changed(self, body):
        """Numbers, escapes, repeated names, what is cut, and what is no JSON stay as they were sent."""
        assert "".join("".join(shown(body)).split()) == "".join(body.split())


# -- why it was sent -----------------------------------------------------------------------------------------------


def test_an_exchange_that_is_shown_whole_says_why_it_was_sent():
    """Beside its credential. conformance.json says it of each."""
    run = recorded("clean").run
    document = document_of(run)
    page = summary_html(run, document)
    purposes = {exchange.purpose for exchange in document.exchanges}

    assert {"a supplied code", "the same key again", "a read with the token"} <= purposes
    assert "purpose: the same key again" in page


# -- which are there ------------------------------------------------------------------------------------------------


def test_what_a_run_keeps_whole():
    """What a result cites; most of the rest is an outline."""
    ended = recorded("clean").run
    cited = {number for result in ended.results for number in result.exchanges}
    whole = {number for number, exchange in ended.exchanges.items() if exchange.lines_that_resend}

    assert cited <= whole < ended.exchanges.keys()


def test_a_page_of_very_many_exchanges_stays_small(monkeypatch):
    """A requirement shows the first exchanges that it cites; those for which there is no room are a line each."""
    monkeypatch.setattr(rendering, "MOST_WHOLE", 1)
    run, failing = (
        recorded("failing").run,
        next(one for one in recorded("failing").run.results if one.exchanges[LINKED:]),
    )
    page = summary_html(run, document_of(run))
    row = re.search(rf'<tr id="{failing.id}".*?</tr>', page, re.S)[0]

    assert (page.count('<details class="exchange'), page.count('<p class="exchange') > 5) == (1, True)
    assert (row.count("#exchange-"), " more" in row) == (LINKED, True)
