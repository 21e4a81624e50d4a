"""The exchanges on the page: which are shown whole, and the deviation is marked where it stands."""

import re
from html import unescape
from pathlib import Path

import pytest

from environments.profiles.loading import load
from environments.secrets import listed_secrets
from reports.evidence import evidence
from reports.page import exchange_list
from reports.page.message_lines import marks_of, message
from reports.resending import Resending, shell_of
from reports.show import Display
from spec.exchange import FailureKind
from spec.findings import finding
from spec.requirements import read_yaml
from spec.rules import judge
from tests.selftest.exchanges import answer, execution, failed, registration
from tests.selftest.test_rules import broken

ROOT = Path(__file__).parents[2]
PROFILE = load("sandbox", folder=ROOT / "environments")
RESENDING = Resending(Display(listed_secrets(PROFILE)), shell_of(PROFILE))
CASES = read_yaml(Path(__file__).with_name("rules.yaml"))["deviations"]


def marked(found, exchange, side="response"):
    """The lines that are marked for findings, or for those of a rule, with what they lack."""
    found = judge(found, exchange).findings if isinstance(found, str) else [found]
    seen = evidence(exchange, RESENDING)
    content = seen.get(side, {"headers": [], "body": ""})
    first = str(content["status"]) if "status" in content else seen.get("failure", "")
    shown = message(first, content, marks_of([{"id": "", "found": found}], side))
    return " + ".join(
        " lacks ".join(filter(None, (re.sub("<[^>]*>", "", piece.html).strip(" ,"), piece.marks[0].missing)))
        for piece in (*shown.head, *shown.body)
        if piece.marks
    )


class TestTheMark:
    @pytest.mark.parametrize("case", CASES, ids=lambda case: case["rule"])
    def test_every_rule(self, case):
        """What breaks a rule is marked in the response, at the field where there is one."""
        assert marked(case["rule"], broken(case["rule"], **case["answer"])) == case["marked"]

    def test_dropped_connection(self):
        """Where no response came, the line that says so is marked."""
        assert marked("executePix.connection", failed(FailureKind.DROPPED)).startswith("connection dropped")

    def test_credential(self):
        """What was granted without a valid token is marked in the status line, and the token in the request."""
        exchange = execution(headers=(), credential="a wrong token")
        exchange.request.__dict__["headers"] = (("authorization", "Bearer x"),)

        assert marked(finding("executed"), exchange) == "200"
        assert marked(finding("executed"), exchange, "request").startswith("authorization: Bearer")

    def test_no_credential(self):
        """A request that has no token lacks nothing: it was sent so."""
        assert marked(finding("executed"), execution(), "request") == ""

    def test_key_type(self):
        """The key type that was sent is marked in the request."""
        assert marked(finding("key-type-refused"), registration(), "request") == '"pixKeyType": "RANDOM"'

    def test_last_of_repeated_names(self):
        """Of repeated names, the last one is what the rules read."""
        body = b'{"code": 0, "data": {"digit": "1"}, "data": {"digit": 6}}'

        assert marked("executePix.digit.type", answer("executePix", body)) == '"digit": 9'

    def test_no_spot(self):
        """What no line of a body shows is marked at its start: it may not be shown."""
        assert marked(finding("repeated-names", "/data/a"), execution()) == "{"

    def test_trace_within_json(self):
        """A stack trace is marked in the member that holds it."""
        exchange = answer("executePix", {"code": 1, "trace": "Traceback (most recent call last):"}, status=500)

        assert marked("executePix.stackTrace", exchange).startswith('"trace": "Traceback')


class TestText:
    @staticmethod
    def shown(body):
        """The HTML of a body."""
        pieces = message("200", {"headers": [], "body": body}, []).body
        return "\n".join(piece.indent + piece.html for piece in pieces)

    @pytest.mark.parametrize(
        "body", ['{"a": 1,}', "[1, 2", '{"a":1}{"b":2}', "a=1&b=2\n\n  c", "{'a': 1}", '{"a": 1.}']
    )
    def test_what_is_not_json(self, body):
        """Malformed JSON and any other text stays as it is."""
        assert unescape(self.shown(body)) == body

    def test_markup(self):
        """Markup in names and values is text."""
        body = '{"<b>x</b>": "</pre><script>", "&lt;": ["<", {"</details>": null}]}'
        text = self.shown(body)

        assert set(re.findall(r"</?(\w+)", text)) == {"b", "i", "em"}
        assert "".join(unescape(re.sub("<[^>]*>", "", text)).split()) == "".join(body.split())

    def test_tokens(self):
        """Names, texts and other values are told apart by elements, not by colour alone."""
        assert self.shown('{"a": "b", "c": 1E5}').split("\n")[1:3] == [
            '  <b>"a"</b>: <i>"b"</i>,',
            '  <b>"c"</b>: <em>1E5</em>',
        ]


def seen(number, *, headers=(), body='{"code": 0}', curl="curl"):
    """An exchange as reports/evidence.py gives it."""
    sent = {"method": "GET", "url": "http://127.0.0.1:1/v1", "headers": headers, "body": ""}
    return {
        **{"number": number, "operation": "getBalance", "credential": "valid", "elapsed_ms": 1.5, "curl": curl},
        **{"request": sent, "response": {"status": 200, "headers": headers, "body": body, "cut": ""}},
    }


class TestWhatIsShownWhole:
    def test_order(self):
        """What deviates comes first, then what is linked, then all that deviates, then the others."""
        exchanges = {number: seen(number) for number in range(1, 1000)}
        fails, passes = {"exchanges": [*range(700, 800)]}, {"exchanges": [600, 700]}

        found = exchange_list._by_weight(exchanges, [fails], [fails, passes])

        numbers = [one["number"] for one in found]
        assert numbers[:4] == [700, 701, 702, 703]
        assert numbers[exchange_list.LINKED :] == [
            600,
            *range(712, 800),
            *range(1, 600),
            *range(601, 700),
            *range(800, 1000),
        ]

    def test_each_requirement(self):
        """Each requirement that deviates shows an exchange before one of them shows many."""
        exchanges = {number: seen(number) for number in range(1, 100)}
        one, other = {"exchanges": [*range(1, 50)]}, {"exchanges": [*range(50, 99)]}

        found = exchange_list._by_weight(exchanges, [one, other], [one, other])

        assert [each["number"] for each in found][:6] == [1, 2, 3, 50, 51, 52]

    def test_room(self, monkeypatch):
        """The page takes as many as it has room for."""
        monkeypatch.setattr(exchange_list, "MOST_CHARACTERS", 10_000)
        shown = ((one, exchange_list._whole(one, [])) for one in map(seen, range(1, 100)))

        assert 5 <= len(exchange_list._within(shown)) <= 10

    def test_outlines(self):
        """An exchange whose content was not kept is one line: there is nothing more to show."""
        exchanges = {1: seen(1), 2: seen(2, curl="")}

        assert list(exchange_list._by_weight(exchanges, [], [])) == [exchanges[1]]
