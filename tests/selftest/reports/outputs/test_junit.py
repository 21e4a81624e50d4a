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
DIGIT_IS_A_NUMBER = finding("type", "/data/digit", name="digit", types="string", type=say("a number"))
DIGIT_PASSES = DIGIT, "pass"
DIGIT_IS_NOT_EXERCISED = DIGIT, "not-exercised", "supply codes"


def document_of_results(*results, **state):
    """The document of a run with these results. Each is an id, a verdict, and a reason or a finding, if it has one."""
    return document_of(run_with_results(*results, requests=12, executions=1, seed=7, **state))


@pytest.mark.parametrize(
    ("result_of_digit", "state", "verdict"),
    [
        (DIGIT_PASSES, {"unreachable": "gone"}, "unreachable"),
        (DIGIT_PASSES, {"interrupted": True}, "interrupted"),
        (DIGIT_PASSES, {"errors": ["of the suite"]}, "internal-error"),
        (DIGIT_IS_NOT_EXERCISED, {}, "incomplete"),
    ],
)
def test_a_run_without_a_verdict_on_the_service_is_an_error(result_of_digit, state, verdict):
    """junit.xml has a test case named `run`. It is an error if the run came to no verdict on the service.

    The error has the verdict as its type, and the headline, the target and the notes of the run as its text.
    """
    run_document = document_of_results(result_of_digit, **state)
    lines = [run_document.headline, "a sandbox: 1 transfer executed, 12 requests", *map(str, run_document.notes)]

    suite = suite_of(junit(run_document))
    error = suite.find(".//error")

    assert results_by_name(suite)["run"] == ("error", run_document.headline)
    assert (error.get("type"), error.text) == (verdict, "\n".join(lines))


def test_each_verdict_has_its_result():
    """In junit.xml a requirement that fails is a failure, one that was not tested is skipped with its reason, and any
    other passes.

    A known failure, which the profile lists, is skipped, too. The case `run` stands for the run itself, and repeats
    no failure.
    """
    profile = replace(SANDBOX_PROFILE, known_failures=(KnownFailure("executePix.bank.type", "fixed in 2.4"),))
    run_document = document_of_results(
        (DIGIT, "fail", DIGIT_IS_A_NUMBER),
        ("executePix.bank.type", "fail", "bank is 7"),
        ("executePix.branch.type", "not-exercised", "supply accounts"),
        ("executePix.date.type", "out-of-scope", "needs execute in allow"),
        ("executePix.date.unit", "untestable", "no exchange shows it"),
        ("executePix.id.type", "warn", "seen twice"),
        ("executePix.key.type", "pass", "seen once"),
        ("executePix.status.values", "observed", "404 or 409; again: refused"),
        profile=profile,
    )

    assert results_by_name(suite_of(junit(run_document))) == {
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


def test_the_properties_are_the_verdict_and_the_origin_of_the_run():
    """The properties of junit.xml are the verdict of the run and where it comes from, such as the version of the suite.

    A property is one text, so only texts and numbers are properties. Lists, booleans and what is not known are left
    out.
    """
    run_document = document_of_results((DIGIT, "fail", DIGIT_IS_A_NUMBER))
    suite = suite_of(junit(run_document))
    properties = {value.get("name"): value.get("value") for value in suite.find("properties")}
    texts_and_numbers = {
        name: str(value) for name, value in dict(run_document.provenance).items() if type(value) in (str, int)
    }

    assert properties == {"verdict": "non-conformant", **texts_and_numbers}


def test_a_case_without_failure_has_its_verdict_as_output():
    """In junit.xml a case that is neither a failure nor skipped has its verdict and its message as `system-out`.

    A warning has the statement, too, because a reader may want to judge it. The case `run` has the headline, the target
    with its numbers, and what was not cleaned up.
    """
    run_document = document_of_results(
        ("executePix.id.type", "warn", "seen twice"),
        ("executePix.key.type", "pass", "seen once"),
        ("executePix.status.values", "observed", "404 or 409; again: refused"),
        transfers_not_executed=["a transfer"],
    )
    suite = suite_of(junit(run_document))
    output_of_warning = output_of_case(suite, "executePix.id.type")

    assert output_of_case(suite, "run") == (
        f"{run_document.headline}\na sandbox: 1 transfer executed, 12 requests\nnot cleaned up: a transfer"
    )
    assert output_of_warning.startswith("warn: seen twice\nstatement: ")
    assert output_of_case(suite, "executePix.key.type") == "pass: seen once"
    assert output_of_case(suite, "executePix.status.values") == "observed: 404 or 409; again: refused"


def output_of_case(suite, name):
    """The text of the element `system-out` of the test case with this name in junit.xml."""
    text_by_element, _ = case_of(suite, name)
    return text_by_element["system-out"]


def test_the_text_of_a_failure_is_complete():
    """The text of a failure in junit.xml has the message, what was expected, what the service sent, and a line that
    reproduces it.

    GitLab shows the text of the element and none of its attributes.
    """
    run_document = document_of_results((DIGIT, "fail", DIGIT_IS_A_NUMBER), (NAME, "pass"))
    reproducible = run_document.findings[0].model_copy(update={"reproduce": "curl x"})
    run_document = run_document.model_copy(update={"findings": (reproducible,)})
    entry = run_document.requirements[0]
    text_by_element, properties = case_of(suite_of(junit(run_document)), DIGIT)

    assert text_by_element["failure"].splitlines() == [
        "expected digit of type string, got a number",
        "expected: digit of type string",
        "got: a number",
        f"statement: {entry.text} ({entry.section})",
        "exchange 1",
        "reproduce:",
        "curl x",
    ]
    assert text_by_element.keys() == {"failure"}
    assert properties == {
        "statement": entry.text, "section": entry.section, "level": "documented", "verdict": "fail", "seed": "7",
    }  # fmt: skip


def test_control_characters_are_escaped_in_xml():
    """Characters that XML or a terminal does not permit are escaped in junit.xml, for example a zero byte as `\\x00`.

    They may stand in a selection, in a reason of the profile, or in a message.
    """
    run_document = document_of_results((DIGIT, "fail", "a\x00b\ud800\u200b"), selection="\x07 bell")

    results = results_by_name(suite_of(junit(run_document)))

    assert results[DIGIT] == ("failure", "a\\x00b\\ud800\\u200b")
