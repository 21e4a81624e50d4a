"""The exchanges on the page: which are shown whole, and the deviation is marked where it stands."""

from pathlib import Path

import pytest

from environments.profiles.loading import load
from environments.secret_values import listed_secrets
from reports.evidence import Resending, evidence
from reports.page import exchange_list
from reports.page.exchange_list import marks_of, message
from reports.show import Display
from spec.exchange import FailureKind
from spec.findings import finding
from spec.requirements import read_yaml
from spec.rules import judge
from tests.selftest.exchanges import answer, execution, failed, registration
from tests.selftest.test_rules import broken

ROOT = Path(__file__).parents[2]
PROFILE = load("sandbox", folder=ROOT / "environments")
RESENDING = Resending(Display(listed_secrets(PROFILE)), PROFILE)
CASES = read_yaml(Path(__file__).with_name("rules.yaml"))["deviations"]


def marked(found, exchange, side="response"):
    """The lines that are marked for findings, or for those of a rule, with what they lack."""
    found = judge(found, exchange).findings if isinstance(found, str) else [found]
    seen = evidence(exchange, RESENDING)
    content = seen.get(side, {"headers": [], "body": ""})
    first = str(content["status"]) if "status" in content else seen.get("failure", "")
    shown = message(first, content, marks_of([{"id": "", "found": found}], side))
    return " + ".join(
        " lacks ".join(filter(None, ((line.name + line.text).strip(" ,"), line.marks[0].missing)))
        for line in (*shown.head, *shown.body)
        if line.marks
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
        """A request that has no token says so."""
        assert marked(finding("executed"), execution(), "request") == "Authorization"

    def test_key_type(self):
        """The key type that was sent is marked in the request."""
        assert marked(finding("key-type-refused"), registration(), "request") == '"pixKeyType": "RANDOM"'

    def test_last_of_repeated_names(self):
        """Of repeated names, the last one is what the rules read."""
        body = b'{"code": 0, "data": {"digit": "1"}, "data": {"digit": 6}}'

        assert marked("executePix.digit.type", answer("executePix", body)) == '"digit": 9'

    def test_trace_within_json(self):
        """A stack trace is marked in the member that holds it."""
        exchange = answer("executePix", {"code": 1, "trace": "Traceback (most recent call last):"}, status=500)

        assert marked("executePix.stackTrace", exchange).startswith('"trace": "Traceback')


class TestText:
    @staticmethod
    def shown(body):
        """The lines of a body."""
        return [line.indent + line.name + line.text for line in message("200", {"headers": [], "body": body}, []).body]

    def test_layout(self):
        """One member or element on each line, as deep as it stands."""
        assert self.shown('{"code":0,"data":{"id":"a","none":{},"list":[1,\r\n"b"]}}') == [
            *["{", '  "code": 0,', '  "data": {', '    "id": "a",', '    "none": {},'],
            *['    "list": [', "      1,", '      "b"', "    ]", "  }", "}"],
        ]

    @pytest.mark.parametrize(
        "body",
        [
            '{"a": 1.0, "b": 1E5, "c": -0, "e": 100000000000000000000.10, "a": 2}',
            r'{"\u0061": "\u00e9\/\ud800 \"quoted\" \\", "": {}, "f": [[], {}], "g": [null, true]}',
            '{"a": 1, "b": [nu… (9000 bytes in all)',
        ],
    )
    def test_tokens(self, body):
        """Numbers, escapes, repeated names and what is cut stay as they were sent."""
        assert "".join("".join(self.shown(body)).split()) == "".join(body.split())

    @pytest.mark.parametrize("body", ['{"a": 1,}', "[1, 2", '{"a":1}{"b":2}', "a=1&b=2\n\n  c", "[" * 101 + "]" * 101])
    def test_what_is_not_json(self, body):
        """Malformed JSON, any other text, and JSON that is too deep to lay out, stay as they are."""
        assert "\n".join(self.shown(body)) == body

    def test_depth(self):
        """A deep body that was cut takes a few times its length."""
        assert sum(map(len, self.shown('{"a":' * 800 + "… (9000 bytes in all)"))) < 80_000

    def test_markup(self):
        """Markup in names and values is text."""
        lines = message("200", {"headers": [], "body": '{"<b>x</b>": "</pre><script>"}'}, []).body

        assert lines[1].html == '<b>"&lt;b&gt;x&lt;/b&gt;"</b>: "&lt;/pre&gt;&lt;script&gt;"'


def seen(number, *, headers=(), body='{"code": 0}', curl="curl"):
    """An exchange as reports/evidence.py gives it."""
    sent = {"method": "GET", "url": "http://127.0.0.1:1/v1", "headers": headers, "body": ""}
    return {
        **{"number": number, "operation": "getBalance", "credential": "valid", "elapsed_ms": 1.5, "curl": curl},
        **{"request": sent, "response": {"status": 200, "headers": headers, "body": body, "cut": ""}},
    }


class TestWhatIsShownWhole:
    def test_each_requirement(self):
        """Each requirement shows an exchange before one of them shows a second."""
        one, other = {"exchanges": [*range(1, 50)]}, {"exchanges": [*range(50, 99)]}

        assert list(exchange_list._citing([one, other]))[:4] == [1, 50, 2, 51]

    def test_room(self, monkeypatch):
        """The page takes as many as it has room for."""
        monkeypatch.setattr(exchange_list, "MOST_CHARACTERS", 10_000)
        shown = ((one, exchange_list._whole(one, [])) for one in map(seen, range(1, 100)))

        assert 5 <= len(dict(exchange_list._within(shown))) <= 10

    def test_outlines(self):
        """An exchange whose content was not kept is one line: there is nothing more to show."""
        shown = ((one, exchange_list._whole(one, [])) for one in (seen(1), seen(2, curl="")))

        assert list(dict(exchange_list._within(shown))) == [1]
