"""junit.xml as CI systems read it: no run that is not green looks green, and every skipped entry says why."""

from dataclasses import replace

import pytest

from environments.profiles.model import KnownFailure
from reports.outputs.conformance_json import document_of
from reports.outputs.junit import junit
from spec.findings import finding
from spec.message import say
from tests.selftest.hand_made import SANDBOX_PROFILE, run_with_results
from tests.selftest.junit_files import case_of, results_by_name, suite_of

DIGIT, NAME = "executePix.digit.type", "executePix.name.type"
WRONG = finding("type", "/data/digit", name="digit", types="string", type=say("a number"))
PASSING = DIGIT, "pass"


def document_of_results(*rows, **state):
    """The document of a run with these results."""
    return document_of(run_with_results(*rows, requests=12, executions=1, seed=7, **state))


@pytest.mark.parametrize(
    ("rows", "state", "verdict"),
    [
        (PASSING, {"unreachable": "gone"}, "unreachable"),
        (PASSING, {"interrupted": True}, "interrupted"),
        (PASSING, {"errors": ["of the suite"]}, "internal-error"),
        ((DIGIT, "not-exercised", "supply codes"), {}, "incomplete"),
    ],
)
def test_a_run_without_a_verdict_on_the_service_is_an_error(rows, state, verdict):
    """The case of the run says why, whatever the requirements are."""
    run_document = document_of_results(rows, **state)
    suite = suite_of(junit(run_document))
    lines = [run_document.headline, "a sandbox: 1 transfer executed, 12 requests", *map(str, run_document.notes)]

    assert results_by_name(suite)["run"] == ("error", run_document.headline)
    assert suite.find(".//error").get("type") == verdict
    assert suite.find(".//error").text == "\n".join(lines)


def test_each_verdict_has_its_result():
    """A failure stands with its requirement, and the case of the run does not repeat it. A skipped case says why."""
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure("executePix.bank.type", "fixed in 2.4"),))
    run_document = document_of_results(
        (DIGIT, "fail", WRONG),
        ("executePix.bank.type", "fail", "bank is 7"),
        ("executePix.branch.type", "not-exercised", "supply accounts"),
        ("executePix.date.type", "out-of-scope", "needs execute in allow"),
        ("executePix.date.unit", "untestable", "no exchange shows it"),
        ("executePix.id.type", "warn", "seen twice"),
        ("executePix.key.type", "pass", "seen once"),
        ("executePix.status.values", "observed", "404 or 409; again: refused"),
        profile=profile,
        not_executed=["a transfer"],
    )
    suite = suite_of(junit(run_document))
    properties = {value.get("name"): value.get("value") for value in suite.find("properties")}
    output = {name: case_of(suite, name)[0].get("system-out", "") for name in results_by_name(suite)}

    assert results_by_name(suite) == {
        "run": None,
        DIGIT: ("failure", "expected digit of type string, got a number"),
        "executePix.bank.type": ("skipped", "known failure: fixed in 2.4: bank is 7"),
        "executePix.branch.type": ("skipped", "not-exercised: supply accounts"),
        "executePix.date.type": ("skipped", "out-of-scope: needs execute in allow"),
        "executePix.date.unit": ("skipped", "untestable: no exchange shows it"),
        "executePix.id.type": None,
        "executePix.key.type": None,
        "executePix.status.values": None,
    }
    assert properties == {
        name: str(value)
        for name, value in {"verdict": "non-conformant", **dict(run_document.provenance)}.items()
        if type(value) in (str, int)
    }
    assert (
        output["run"]
        == f"{run_document.headline}\na sandbox: 1 transfer executed, 12 requests\nnot cleaned up: a transfer"
    )
    assert output["executePix.id.type"].startswith("warn: seen twice\nstatement: ")
    assert output["executePix.key.type"] == "pass: seen once"
    assert output["executePix.status.values"] == "observed: 404 or 409; again: refused"


SHOWN = """\
expected digit of type string, got a number
expected: digit of type string
got: a number
statement: {text} ({section})
exchange 1
reproduce:
curl x"""


def test_the_text_of_a_failure_is_complete():
    """GitLab shows the text of the element and no attribute: the message, expected, got, and how to reproduce it."""
    run_document = document_of_results((DIGIT, "fail", WRONG), (NAME, "pass"))
    reproducible = run_document.findings[0].model_copy(update={"reproduce": "curl x"})
    run_document = run_document.model_copy(update={"findings": (reproducible,)})
    entry = run_document.requirements[0]
    texts, properties = case_of(suite_of(junit(run_document)), DIGIT)

    assert texts == {"failure": SHOWN.format(text=entry.text, section=entry.section)}
    assert properties == {
        "statement": entry.text, "section": entry.section, "level": "documented", "verdict": "fail", "seed": "7",
    }  # fmt: skip


def test_control_characters_are_escaped_in_xml():
    """A selection, a reason of the profile or a message may have control characters."""
    run_document = document_of_results((DIGIT, "fail", "a\x00b\ud800\u200b"), selection="\x07 bell")

    assert results_by_name(suite_of(junit(run_document)))[DIGIT] == ("failure", "a\\x00b\\ud800\\u200b")
