"""Findings: data from the rule to the report."""

from dataclasses import replace
from pathlib import Path

import pytest

from reports.result.verdicts import RequirementResult, Verdict, merged_results
from spec import findings
from spec.findings import Finding, deviates, finding, merged_findings, templates
from spec.message import say
from tests.selftest.exchanges import answer

ROOT = Path(__file__).parents[3]
WRONG_STATUS = finding("status", status=201)
"""The finding that a service answered with status 201 in the place of 200."""


def test_a_finding_says_what_was_expected_and_what_came():
    """A finding is what is wrong with an answer. Here the service answered with 201 in the place of 200."""
    assert str(WRONG_STATUS.expected) == "status 200"
    assert str(WRONG_STATUS.got) == "201"


def test_the_full_text_of_a_finding_says_how_it_was_found():
    """A property test drew requests with the body null. Two of them got a wrong answer, but only while other requests
    were on the wire. Of these two, exchange 4 is the smallest request.
    """
    generated = replace(WRONG_STATUS, shown_by=say("body, null"), times=2, seed=7, exchanges=(4,), alone=False)

    assert str(generated.in_full) == (
        "body, null: expected status 200, got 201 (only with other requests in flight) "
        "(2 times with --seed=7, smallest: exchange 4)"
    )


def test_equal_findings_are_merged_with_the_exchanges_of_both():
    """Two exchanges (1 and 2) have the same wrong status. That is one finding."""
    findings = [replace(WRONG_STATUS, exchanges=(number,)) for number in (1, 2)]

    assert merged_findings(findings) == (replace(WRONG_STATUS, exchanges=(1, 2)),)


def test_a_requirement_with_different_findings_has_all_of_them_in_its_message():
    """Two tests find a wrong status, and a third one finds that a field is missing. All are about one requirement."""
    findings_of_status = [replace(WRONG_STATUS, exchanges=(number,)) for number in (1, 2)]
    missing_digit = finding("missing", name="digit")
    results = [
        RequirementResult("executePix.status", Verdict.FAIL, findings=(each_finding,))
        for each_finding in [*findings_of_status, missing_digit]
    ]

    merged_result = merged_results(results)["executePix.status"]

    assert str(merged_result.message) == "expected status 200, got 201; digit is missing"


def test_what_the_service_answered_names_a_deviation_once():
    """Two of nine requests of a scenario and one generated request get a wrong status. That is one deviation.

    The finding of the scenario is named, because its request is easier to understand.
    """
    of_a_generated_request = replace(WRONG_STATUS, shown_by=say("in a sequence (list the keys)"), times=1)
    of_a_scenario = replace(WRONG_STATUS, share=(2, 9))
    missing_digit = finding("missing", name="digit")
    result = RequirementResult(
        "executePix.status", Verdict.FAIL, findings=(of_a_generated_request, of_a_scenario, missing_digit)
    )

    assert str(result.got) == "201 (in 2 of 9 answers); no such member"


def test_a_finding_cites_only_exchanges_that_were_sent():
    """Two requests have the same wrong answer. One has the number 0, so it was not sent, and no report has it."""
    was_sent = replace(answer("getBalance", {}), number=3)
    was_not_sent = replace(was_sent, number=0)

    judgement = deviates(WRONG_STATUS, was_not_sent, was_sent)

    assert judgement.findings == (replace(WRONG_STATUS, exchanges=(3,)),)


def test_every_template_of_a_finding_is_used():
    """A finding has a code, such as `status`, and spec/findings.yaml has the words (a template) for each code.

    A code is used if a source file has it in quotes.
    """
    sources = ""
    for folder in ("spec", "tests/traffic", "tests/conformance"):
        for file in (ROOT / folder).rglob("*.py"):
            sources += file.read_text("utf-8")
    unused_codes = [code for code in templates() if f'"{code}"' not in sources]

    assert unused_codes == []


def test_a_finding_without_a_template_is_an_error():
    """A finding has a code, and spec/findings.yaml has the words for each code. This code is not in that file."""
    with pytest.raises(KeyError):
        str(Finding("unknown").statement)


@pytest.mark.parametrize(
    ("entry", "part_that_is_wrong"),
    [
        ("cut: {expected: JSON, got: none, and no body}", "and no body"),
        ("cut: {expected: JSON, gott: none}", "gott"),
        ("number: {expected: JSON, got: 404}", "got"),
        ("empty: {expected: JSON, got: }", "got"),
    ],
    ids=["a comma without quotes", "a misspelled name", "a number", "an empty text"],
)
def test_a_template_that_yaml_reads_in_another_way_is_refused(entry, part_that_is_wrong, tmp_path, monkeypatch):
    """spec/findings.yaml has the words for each finding. YAML may read an entry in another way than it was meant.

    A comma in a text without quotes ends the text and begins a new part, and a number is no text. The error names the
    entry and the wrong part, and says that the text needs quotes.
    """
    code, _, _ = entry.partition(":")
    file = tmp_path / "findings.yaml"
    file.write_text(f'whole: {{expected: JSON, says: "not JSON, at all"}}\n{entry}\n')
    monkeypatch.setattr(findings, "TEMPLATES", file)
    read_templates = templates.__wrapped__  # without the cache, which has the templates of the project

    with pytest.raises(ValueError, match=rf"^findings\.yaml: {code}: .*, got '{part_that_is_wrong}': .* needs quotes$"):
        read_templates()
