"""A cause has one finding, however many requirements, operations and kinds of traffic show it. And the summary."""

from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.model import ENVIRONMENTS
from reports.outputs.conformance_json import document_of
from reports.outputs.terminal import summary
from reports.result import causes
from reports.result.run import LeftKey, Note, NoteKind, Observation, outcome_unknown
from reports.sentences.headline import headline
from reports.showing.resending import EXECUTES
from spec.facts import words_as_facts
from spec.findings import finding
from spec.message import say
from spec.requirements import requirements
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, answer
from tests.selftest.hand_made import reported_requirement, run_with_results
from tests.selftest.reports.outputs.page.test_rendering import exchange

DIGIT = "executePix.digit.present"


def row(id, *own_findings, exchanges=(1,), verdict="fail", **more):
    """A requirement of a document with these findings."""
    return reported_requirement(id, verdict, found=own_findings, exchanges=exchanges, **more)


def findings(entries):
    """The findings of these requirements, without the lines that reproduce them."""
    return causes.findings_by_cause(entries, reproduce=lambda numbers: "")


def requirements_by_cause(ids, own_findings):
    """The requirements of each cause. The first requirement has the first of these findings, and so on."""
    return [list(cause.requirements) for cause in findings(map(row, ids, own_findings))]


def test_a_fault_in_several_kinds_of_traffic_is_one_finding():
    """Targeted and generated requests that show the same fault of a field make one finding."""
    missing = finding("missing", "/data/digit", name="digit")
    generated = replace(missing, times=12, exchanges=(400,), seed=7)
    (merged,) = findings([row(DIGIT, missing, generated, exchanges=(5, 400, 500))])

    assert str(merged.message) == "digit is missing"
    assert merged.exchanges == (5, 400, 500)
    assert merged.operations == ("executePix",)


def test_a_fault_of_several_operations_is_one_finding():
    """Bodies that are no JSON have one cause, wherever they break off.

    The requirement that warns stands after those that fail.
    """
    deviations = [finding("json", "", error=say("Extra data at character {n}", n=n)) for n in (9, 312, 88)]
    warned = row("listAccounts.json", deviations[0], exchanges=(8,), verdict="warn")
    failing = [
        row("executePix.json", deviations[1], exchanges=(2,)),
        row("registerPixKey.json", deviations[2], exchanges=(3,)),
    ]
    (merged,) = findings([warned, *failing])

    assert merged.requirements == ("executePix.json", "registerPixKey.json", "listAccounts.json")
    assert merged.verdict == "fail"
    assert merged.exchanges == (2, 3, 8)


def test_two_errors_of_json_are_two_findings():
    """NaN and a missing value are two causes. The place in the text does not count."""
    nan = finding("json", error=say("{name} is not a JSON value", name="NaN"))
    missing = [
        finding("json", error=say("{error} at character {n}", error=say("Expecting value"), n=n)) for n in (3, 7)
    ]
    ids = "executePix.json", "transferP2p.json", "registerPixKey.json", "deletePixKey.json"

    assert requirements_by_cause(ids, (nan, nan, *missing)) == [[*ids[:2]], [*ids[2:]]]


def test_deviations_at_one_place_are_one_finding():
    """Deviations at one place of the same answers have one cause, such as a misspelled name in lower case, or a
    server error with its stack trace. In different answers they have two causes.
    """
    codes = ("spelling", "/data/success"), ("lower-case-names", "/data/key"), ("server-error",), ("stack-trace", "")
    spelling, lower_case, error, trace = (replace(finding(*code), exchanges=(3,)) for code in codes)
    of_keys = "registerPixKey.Success.spelling", "registerPixKey.fields.upperCase"
    of_trouble = "listAccounts.serverError", "listAccounts.stackTrace"

    assert (
        len(requirements_by_cause(of_keys, (spelling, lower_case)))
        == len(requirements_by_cause(of_trouble, (error, trace)))
        == 1
    )
    assert len(requirements_by_cause(of_trouble, (error, replace(trace, exchanges=(6,))))) == 2


def test_the_first_exchange_shows_the_first_sentence():
    """If a finding has two sentences, the exchange of the first sentence is cited first, whatever its number."""
    late, early = (
        replace(finding(code, name="digit", types="string", type="null"), exchanges=(number,))
        for code, number in (("missing", 9), ("type", 2))
    )
    (merged,) = findings([row(DIGIT, late, early, exchanges=(2, 9))])

    assert str(merged.message).startswith("digit is missing;")
    assert merged.exchanges == (9, 2)


def test_two_faults_are_two_findings():
    """Two faults of one answer have two causes, in the order of the interface document."""
    both = answer("executePix", {"code": "0", "data": EXECUTION_RESULT | {"digit": 7}})
    judged = {id: judge(id, both) for id in requirements() if id in RULES}
    causes_found = findings(row(id, *judgement.findings) for id, judgement in judged.items() if judgement.deviates)

    assert [cause.requirements for cause in causes_found] == [
        ("executePix.envelope.code.type",),
        ("executePix.digit.type",),
    ]


def test_a_known_failure_hides_no_new_one():
    """A known failure and a new one are two findings, even if they have the same fault."""
    broken = finding("json", error="x")
    known_failure = row("executePix.json", broken, known_failure="fixed in 2.4")
    causes_found = findings([known_failure, row("registerPixKey.json", broken)])

    assert [(cause.cause, cause.known_failure) for cause in causes_found] == [
        ("registerPixKey.json", None),
        ("executePix.json", "fixed in 2.4"),
    ]


def test_the_most_harmful_finding_is_first():
    """Findings are in the order of HARM.

    Of equal harm those about money come first, then the order of the interface document. Warnings follow in the same
    order.
    """
    wrong, mixed_up = finding("type", "/data/x", name="x"), finding("of-another", field="id")
    by_harm = [
        row("executePix.token.required", finding("executed", credentials="no token")),
        row("registerPixKey.token.required", finding("registered", credentials="no token")),
        row("executePix.value.matches", finding("other-amount")),
        row("registerPixKey.Success.present", mixed_up),
        row("executePix.document.masked", finding("document-clear", digits=11)),
        row("executePix.status", finding("status", status=201)),
        row("executePix.error.type", finding("type", "/data/error", name="error")),
        row("registerPixKey.Success.type", finding("type", "/data/Success", name="Success")),
        row("listAccounts.serverError", finding("server-error", status=500)),
        row("executePix.digit.type", wrong, known_failure="fixed in 2.4"),
        row("transferP2p.json", finding("json", error="x"), verdict="warn"),
        row("executePix.fields.extra", finding("other-fields", names="x"), verdict="warn"),
    ]
    in_the_document = sorted(by_harm, key=lambda entry: [*requirements()].index(entry.id))

    assert [cause.cause for cause in findings(in_the_document)] == [entry.id for entry in by_harm]
    assert in_the_document != by_harm


@pytest.fixture
def run():
    """A run with a failure, warnings, an observation, notes, keys that were left, and executions."""
    status = finding("status", status=201)
    run = run_with_results(
        (DIGIT, "fail", finding("missing", name="digit")),
        ("executePix.fields.extra", "warn", finding("other-fields", names="endToEndId")),
        ("listAccounts.status", "warn", status),
        ("getBalance.status", "warn", status),
        ("executePix.status.values", "observed", "DONE"),
        ("registerPixKey.status", "not-exercised", "supply pix_keys"),
        ("getBalance.json", "not-exercised", "implied alone"),
        ("executePix.digit.type", "fail", finding("missing", name="digit")),
        notes=[
            Note(NoteKind.SET_UP, "the clock of this machine is 3 minutes off"),
            outcome_unknown("exchange 3", "look it up"),
            Note(NoteKind.GENERATED_TRAFFIC, "createPix: no generated request was ever accepted"),
        ],
        observations=[Observation("executePix.status.values", words_as_facts("DONE"))],
        not_cleaned_up=[LeftKey("RANDOM, made by the service", "not deleted", False, (1,))] * 2,
        executions=3, unknown_outcomes=1, requests=41,
    )  # fmt: skip
    lines = {1: f"{EXECUTES}\ncurl y", 8: "curl x"}
    run.exchanges = {number: replace(exchange(number), lines_that_resend=line) for number, line in lines.items()}
    path = ENVIRONMENTS / "staging.yaml"
    run.profile = replace(run.profile, base_url=run.base_url, path=path, redirected="this run only reads")
    return run


@pytest.mark.parametrize(
    ("why", "step"),
    [
        ("supply pix_keys", "supply or correct what the lines above name, and run again"),
        (
            say("limits.{setting} (5 s) is over", setting="duration"),
            "raise limits.duration in a b.yaml, and run again",
        ),
    ],
)
def test_the_last_line_of_an_incomplete_run_names_the_limit(why, step):
    """The line stands there if a limit of the profile cut the run short."""
    run = run_with_results(("registerPixKey.status", "not-exercised", why), (DIGIT, "pass"))
    run.profile = replace(run.profile, path=Path("/tmp/a b.yaml"))

    assert list(summary(document_of(run), run, ""))[-2] == f"next: {step}"


def test_order_of_the_summary(run):
    """The verdict and the target come first, then alerts, findings, and everything else. Each alert has a kind."""
    document = document_of(run)

    assert list(summary(document, run, "report.html")) == [
        str(headline(document)),
        f"staging at {run.base_url} (of --base-url, not that of the profile), not a sandbox: 2 transfers executed, 1 execution with an unknown outcome, 41 requests",
        "! OUTCOME UNKNOWN of exchange 3: look it up",
        "! the clock of this machine is 3 minutes off",
        "! 2 keys not cleaned up: python -m environments cleanup staging --base-url=http://127.0.0.1:1 names them; with delete-keys, --yes deletes them",
        "! this run only reads",
        f"FAIL {DIGIT}",
        f"     {requirements()[DIGIT].text} ({requirements()[DIGIT].section})",
        "     digit is missing",
        "     also: executePix.digit.type",
        "     exchanges 1 and 8",
        "     reproduce: curl x",
        "WARN listAccounts.status (getBalance.status): expected status 200, got 201",
        "WARN executePix.fields.extra: expected no other fields, got endToEndId",
        "not exercised: registerPixKey.status: supply pix_keys",
        "not cleaned up: RANDOM, made by the service and 1 more: not deleted",
        "note: createPix: no generated request was ever accepted",
        "  documented   2 fail, 1 not-exercised",
        "  implied      3 warn, 1 not-exercised",
        "  not-shown    1 observed",
        "report: report.html",
        f"next: pytest --environment=staging --base-url=http://127.0.0.1:1 --explain={DIGIT} says what usually fixes it",
        "verdict: NON-CONFORMANT, exit status 1",
    ]
    assert [alert.kind.published_name for alert in document.alerts] == [
        "outcome-unknown",
        "set-up",
        "left",
        "redirected",
    ]
    assert [str(note) for note in document.notes[:4]] == [str(alert.text) for alert in document.alerts]
