"""What was expected and what was got: apart from the rule to the report, also through redaction and other processes."""

import pickle
from dataclasses import replace

import pytest

from reports.verdicts import RequirementResult, Verdict, merged
from spec.rules import RULES, Contrast, joined, judge, remarked, reworded
from tests.selftest.exchanges import answer
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes

STATUS = Contrast("status 200", 201)
TYPE = Contrast("code of type integer", "a string")


class Answers201(Raw):
    """Whatever was granted has the status 201."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        connection.sendall(as_bytes(replace(response, status=201) if response.status == 200 else response))


def parts(message):
    return message.expected, message.got, str(message)


def test_a_contrast_is_its_message():
    """Wherever a text is asked for."""
    assert STATUS == "expected status 200, got 201"
    assert parts(STATUS) == ("status 200", "201", "expected status 200, got 201")


def test_every_rule_tells_them_apart():
    """A broken answer of each operation: no rule that deviates says it in a sentence alone."""
    for body, status in ((b"[]", 201), (b"{}", 200), (b"<html>", 200), (b'{"Code": "0", "data": {}}', 200), (b"", 500)):
        found = [judge(id, answer(id.partition(".")[0], body, status=status)) for id in RULES]

        assert [one.message for one in found if one.deviates and not isinstance(one.message, Contrast)] == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pickle.loads(pickle.dumps(STATUS)), parts(STATUS)),
        (STATUS.map(str.upper), ("STATUS 200", "201", "EXPECTED STATUS 200, GOT 201")),
        (remarked(STATUS, " (once)"), ("status 200", "201 (once)", "expected status 200, got 201 (once)")),
        (reworded(STATUS, "wrong"), ("status 200", "201", "wrong")),
        (joined([STATUS, STATUS]), parts(STATUS)),
        (joined([STATUS, TYPE]), (f"{STATUS.expected}; {TYPE.expected}", "201; a string", f"{STATUS}; {TYPE}")),
    ],
    ids=["pickled", "changed", "remarked", "reworded", "joined with itself", "joined"],
)
def test_what_is_made_of_a_contrast_is_one(made, expected):
    """Both parts go the way of the message."""
    assert parts(made) == expected


@pytest.mark.parametrize("messages", [[], [""], ["not so"], [STATUS, "not so"]])
def test_messages_that_do_not_all_tell_them_apart_do_not(messages):
    """Half of what was expected would mislead."""
    assert not isinstance(joined(messages), Contrast)


def test_the_result_of_several_tests():
    """One requirement, two tests."""
    results = [
        RequirementResult("executePix.status", Verdict.FAIL, message)
        for message in (STATUS, Contrast("status 200", 204))
    ]

    assert parts(merged(results)["executePix.status"].message)[:2] == ("status 200", "201; 204")


@pytest.mark.parametrize("options", [(), ("-m", "property or not property", "--examples=1")], ids=str)
def test_the_report_tells_them_apart(options, tmp_path):
    """From the rule to conformance.json: with and without generated traffic."""
    with Answers201() as raw:
        document = run(write_profile(tmp_path, raw.base_url), "-k", "listAccounts", *options).document
    row = next(row for row in document["requirements"] if row["id"] == "listAccounts.status")

    assert (row["expected"], row["got"]) == ("status 200", "201")
    assert row["elapsed_s"] > 0
    assert [row["id"] for row in document["requirements"] if row["verdict"] == "pass" and "expected" in row] == []
