"""Findings: data from the rule to the report."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from reports.verdicts import RequirementResult, Verdict, merged
from spec.findings import Finding, finding, merged_findings, templates
from spec.message import Message, joined, say, say_many
from spec.rules import RULES, judge
from tests.selftest.exchanges import answer
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

ROOT = Path(__file__).parents[2]
STATUS, TYPE = (
    finding("status", status=201),
    finding("type", "/code", name="code", types="integer", type=say("a string")),
)


class Answers201(Raw):
    """Whatever was granted has the status 201."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        connection.sendall(as_bytes(replace(response, status=201) if response.status == 200 else response))


def shouted(one, many, number):
    """A language of capitals."""
    template = many if many and number != 1 else one
    return re.sub(r"\{\w+\}|[^{}]+", lambda part: part[0] if part[0][0] == "{" else part[0].upper(), template)


@pytest.mark.parametrize(
    ("message", "english", "capitals"),
    [
        (say("plain"), "plain", "PLAIN"),
        (say("status {status}", status=201), "status 201", "STATUS 201"),
        (say("got {text}", text="{braces} of a service"), "got {braces} of a service", "GOT {braces} of a service"),
        (say("got {type}", type=say("a string")), "got a string", "GOT A STRING"),
        (say_many("{n} time", "{n} times", n=2), "2 times", "2 TIMES"),
        (joined(["a {name}", say("b"), "a {name}"]), "a {name}; b", "A {name}; B"),
    ],
    ids=str,
)
def test_a_message_is_rendered_last(message, english, capitals):
    """Its templates are translated, and its values are not."""
    assert (str(message), message.rendered(shouted)) == (english, capitals)


def test_only_values_are_changed():
    """A template of ours has nothing to redact."""
    message = say("status {a} and {b}", a="status", b=say("status {a}", a="x"))

    assert str(message.map(str.upper)) == "status STATUS and status X"
    assert finding("spelling", "/a", name="a", written="b").map(str.upper).parameters == (
        ("name", "A"),
        ("written", "B"),
    )


def test_the_parts_of_a_finding():
    """What was expected, what was got, both in one, and how it was shown."""
    generated = replace(STATUS, shown_by=say("body, null"), times=2, seed=7, exchanges=(4,), alone=False)

    assert (str(STATUS.expected), str(STATUS.got)) == ("status 200", "201")
    assert str(generated.in_full) == (
        "body, null: expected status 200, got 201 (only with other requests in flight) "
        "(2 times with --seed=7, smallest: exchange 4)"
    )


def test_what_is_found_twice_is_one_finding():
    """It has the exchanges of both; two tests that say the same give one result."""
    found = [replace(STATUS, exchanges=(number,)) for number in (1, 2)]
    results = [RequirementResult("executePix.status", Verdict.FAIL, findings=(each,)) for each in [*found, TYPE]]

    assert merged_findings(found) == (replace(STATUS, exchanges=(1, 2)),)
    assert str(merged(results)["executePix.status"].message) == (
        "expected status 200, got 201; expected code of type integer, got a string"
    )


def used():
    """The codes that the sources name, with the names of their parameters."""
    files = [
        file for folder in ("spec", "tests/traffic", "tests/conformance") for file in (ROOT / folder).rglob("*.py")
    ]
    return {code for file in files for code in templates() if f'"{code}"' in file.read_text("utf-8")}


def test_every_code_has_templates():
    """And every template is used. Another code is an error where the finding is made."""
    assert used() == set(templates())
    with pytest.raises(KeyError):
        str(Finding("unknown").statement)


@pytest.mark.parametrize(("body", "status"), [(b"[]", 201), (b"{}", 200), (b"<html>", 200), (b"", 500)])
def test_every_rule_fills_its_templates(body, status):
    """Whatever deviates is said whole."""
    found = [judge(id, answer(id.partition(".")[0], body, status=status)) for id in RULES]

    assert [str(one.message) for one in found if one.deviates and re.search("[{}]", str(one.message))] == []
    assert all(isinstance(one.message, Message) for one in found if one.deviates)


@pytest.mark.parametrize("options", [(), ("-m", "property or not property", "--examples=1")], ids=str)
def test_the_report_has_them_as_data(options, tmp_path):
    """From the rule to conformance.json: with and without generated traffic."""
    with Answers201() as raw:
        document = run(write_profile(tmp_path, raw.base_url), "-k", "listAccounts", *options).document
    row = next(row for row in document["requirements"] if row["id"] == "listAccounts.status")

    assert (row["expected"], row["got"]) == ("status 200", "201")
    assert {(one["code"], one["parameters"]["status"], one["alone"]) for one in row["found"]} == {("status", 201, True)}
    assert row["elapsed_s"] > 0
    assert [row["id"] for row in document["requirements"] if row["verdict"] == "pass" and row["found"]] == []
