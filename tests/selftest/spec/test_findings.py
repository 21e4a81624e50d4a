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
STATUS = finding("status", status=201)


def test_the_parts_of_a_finding():
    """The parts are what was expected, what the service gave, both in one text, and how the finding was shown."""
    generated = replace(STATUS, shown_by=say("body, null"), times=2, seed=7, exchanges=(4,), alone=False)

    assert str(STATUS.expected) == "status 200"
    assert str(STATUS.got) == "201"
    assert str(generated.in_full) == (
        "body, null: expected status 200, got 201 (only with other requests in flight) "
        "(2 times with --seed=7, smallest: exchange 4)"
    )


def test_equal_findings_of_two_tests_are_merged():
    """The merged finding has the exchanges of both tests.

    Different findings of one requirement are joined in its message.
    """
    findings_of_status = [replace(STATUS, exchanges=(number,)) for number in (1, 2)]
    missing_digit = finding("missing", name="digit")
    results = [
        RequirementResult("executePix.status", Verdict.FAIL, findings=(each_finding,))
        for each_finding in [*findings_of_status, missing_digit]
    ]

    assert merged_findings(findings_of_status) == (replace(STATUS, exchanges=(1, 2)),)
    assert str(merged_results(results)["executePix.status"].message) == "expected status 200, got 201; digit is missing"


def test_a_finding_cites_only_exchanges_that_were_sent():
    """An exchange without a number was not sent, so no report has it."""
    was_sent = replace(answer("getBalance", {}), number=3)
    was_not_sent = replace(was_sent, number=0)

    judgement = deviates(STATUS, was_not_sent, was_sent)

    assert judgement.findings == (replace(STATUS, exchanges=(3,)),)


def test_every_code_has_templates():
    """Every template is used. A code without a template raises KeyError."""
    folders = ("spec", "tests/traffic", "tests/conformance")
    sources = "".join(file.read_text("utf-8") for folder in folders for file in (ROOT / folder).rglob("*.py"))

    assert [code for code in templates() if f'"{code}"' not in sources] == []
    with pytest.raises(KeyError):
        str(Finding("unknown").statement)


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ("cut: {expected: JSON, got: none, and no body}", "and no body"),
        ("cut: {expected: JSON, gott: none}", "gott"),
        ("number: {expected: JSON, got: 404}", "got"),
        ("empty: {expected: JSON, got: }", "got"),
    ],
)
def test_a_template_that_is_cut_is_refused(entry, part, tmp_path, monkeypatch):
    """A comma in a text without quotes would end it in silence. The line names the code, and says what to do."""
    file = tmp_path / "findings.yaml"
    file.write_text(f'whole: {{expected: JSON, says: "not JSON, at all"}}\n{entry}\n')
    monkeypatch.setattr(findings, "TEMPLATES", file)

    with pytest.raises(
        ValueError, match=rf"^findings\.yaml: {entry.partition(':')[0]}: .*, got '{part}': .* needs quotes$"
    ):
        templates.__wrapped__()
