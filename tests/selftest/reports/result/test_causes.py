"""A cause has one finding, however many requirements, operations and kinds of traffic show it. And the summary."""

from dataclasses import replace
from pathlib import Path

import pytest

from environments.profiles.model import ENVIRONMENTS
from reports.outputs.conformance_json import document_of
from reports.outputs.terminal import summary
from reports.result import causes
from reports.result.run import ALERTS, LeftKey, Note, NoteKind, Observation, note_of_unknown_outcome
from reports.sentences.headline import headline
from reports.showing.resending import EXECUTES
from spec.facts import words_as_facts
from spec.findings import finding as deviation
from spec.message import say
from spec.requirements import requirements
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, answer
from tests.selftest.hand_made import reported_requirement, run_with_results
from tests.selftest.reports.outputs.page.test_rendering import exchange

DIGIT = "executePix.digit.present"
KEYS_LEFT = (
    "2 keys not cleaned up: python -m environments cleanup staging --base-url=http://127.0.0.1:1 names them; "
    "with delete-keys, --yes deletes them"
)


def failed_requirement(requirement_id, *deviations, exchanges=(1,), verdict="fail", **members):
    """A requirement as a report has it, which fails because of these deviations, or has another verdict.

    A deviation is a fault in an answer. `exchanges` are the numbers of the exchanges that show it, `members` are other
    members of the requirement.
    """
    return reported_requirement(requirement_id, verdict, found=deviations, exchanges=exchanges, **members)


def findings(failed_requirements):
    """The findings of a report with these requirements: one for each cause, with all requirements that it breaks."""

    def no_command_that_reproduces(numbers_of_exchanges):
        return ""

    return causes.findings_by_cause(failed_requirements, reproduce=no_command_that_reproduces)


def requirements_by_cause(ids, deviations):
    """A list of requirements for each cause. The first requirement has the first of these deviations, and so on."""
    failed_requirements = [failed_requirement(id, deviation) for id, deviation in zip(ids, deviations, strict=True)]
    return [list(cause.requirements) for cause in findings(failed_requirements)]


def test_a_fault_in_several_kinds_of_traffic_is_one_finding():
    """If a planned request and a generated request show the same fault of one field, the report has one finding.

    A deviation is a fault in the answer to one or more requests. A finding merges all deviations with the same cause.
    """
    planned, generated, another_generated = 5, 400, 500  # numbers of the requests that lack the field
    deviation_in_planned = deviation("missing", "/data/digit", name="digit")
    deviation_in_generated = replace(deviation_in_planned, times=12, exchanges=(generated,), seed=7)
    failed = failed_requirement(
        DIGIT, deviation_in_planned, deviation_in_generated, exchanges=(planned, generated, another_generated)
    )

    [merged] = findings([failed])

    assert str(merged.message) == "digit is missing"
    assert merged.operations == ("executePix",)
    assert merged.exchanges == (planned, generated, another_generated)


def test_a_fault_of_several_operations_is_one_finding():
    """If several operations answer with broken JSON, the report has one finding for all, wherever the text breaks off.

    A requirement that only warns is listed after those that fail.
    """

    def broken_at(place):
        return deviation("json", "", error=say("Extra data at character {n}", n=place))

    warned = failed_requirement("listAccounts.json", broken_at(9), exchanges=(8,), verdict="warn")
    failing = [
        failed_requirement("executePix.json", broken_at(312), exchanges=(2,)),
        failed_requirement("registerPixKey.json", broken_at(88), exchanges=(3,)),
    ]
    [merged] = findings([warned, *failing])

    assert merged.requirements == ("executePix.json", "registerPixKey.json", "listAccounts.json")
    assert merged.verdict == "fail"
    assert merged.exchanges == (2, 3, 8)


def test_two_errors_of_json_are_two_findings():
    """Different errors of JSON are different findings: here NaN in two answers, and a missing value in two others.

    The place in the text where a value is missing does not count.
    """

    def value_missing_at(place):
        return deviation("json", error=say("{error} at character {n}", error=say("Expecting value"), n=place))

    nan = deviation("json", error=say("{name} is not a JSON value", name="NaN"))
    ids = "executePix.json", "transferP2p.json", "registerPixKey.json", "deletePixKey.json"

    groups = requirements_by_cause(ids, (nan, nan, value_missing_at(3), value_missing_at(7)))

    assert groups == [["executePix.json", "transferP2p.json"], ["registerPixKey.json", "deletePixKey.json"]]


def test_a_server_error_with_its_stack_trace_is_one_finding():
    """A server error and a stack trace in the same answer are one finding.

    In different answers they are two findings.
    """
    server_error = replace(deviation("server-error"), exchanges=(3,))
    stack_trace = replace(deviation("stack-trace", ""), exchanges=(3,))  # in the whole answer: the JSON pointer ""
    trace_in_another_answer = replace(stack_trace, exchanges=(6,))
    ids = "listAccounts.serverError", "listAccounts.stackTrace"

    groups_of_one_answer = requirements_by_cause(ids, (server_error, stack_trace))
    groups_of_two_answers = requirements_by_cause(ids, (server_error, trace_in_another_answer))

    assert groups_of_one_answer == [[*ids]]
    assert groups_of_two_answers == [["listAccounts.serverError"], ["listAccounts.stackTrace"]]


def test_a_misspelled_name_in_lower_case_is_one_finding():
    """A field whose name is misspelled and in lower case breaks two requirements, and is one finding.

    The requirement `fields.upperCase` judges all names of an answer, so its deviation may name another field of the
    same answer. Here the field success stands for Success, and `fields.upperCase` names key.
    """
    misspelled = replace(deviation("spelling", "/data/success"), exchanges=(3,))
    in_lower_case = replace(deviation("lower-case-names", "/data/key"), exchanges=(3,))
    ids = "registerPixKey.Success.spelling", "registerPixKey.fields.upperCase"

    groups = requirements_by_cause(ids, (misspelled, in_lower_case))

    assert groups == [[*ids]]


def test_the_first_exchange_shows_the_first_sentence():
    """If the message of a finding has two sentences, the request that shows the first sentence is cited first.

    Otherwise requests are cited in the order of their numbers.
    """
    missing_in_9 = replace(deviation("missing", name="digit"), exchanges=(9,))
    wrong_type_in_2 = replace(deviation("type", name="digit", types="string", type="null"), exchanges=(2,))

    [merged] = findings([failed_requirement(DIGIT, missing_in_9, wrong_type_in_2, exchanges=(2, 9))])

    assert str(merged.message).startswith("digit is missing;")
    assert merged.exchanges == (9, 2)


def test_two_faults_are_two_findings():
    """Two faults of one answer, here of the fields `code` and `digit`, are two findings, in the order of the interface
    document.
    """
    answer_with_two_faults = answer("executePix", {"code": "0", "data": EXECUTION_RESULT | {"digit": 7}})
    judgements = {id: judge(id, answer_with_two_faults) for id in requirements() if id in RULES}
    failed = [failed_requirement(id, *judgement.findings) for id, judgement in judgements.items() if judgement.deviates]

    requirements_of_findings = [cause.requirements for cause in findings(failed)]

    assert requirements_of_findings == [("executePix.envelope.code.type",), ("executePix.digit.type",)]


def test_a_known_failure_hides_no_new_one():
    """A failure that the profile lists as known and a new failure of another requirement are two findings, even with
    the same fault.

    So the new failure is seen.
    """
    broken = deviation("json", error="x")
    known_failure = failed_requirement("executePix.json", broken, known_failure="fixed in 2.4")
    new_failure = failed_requirement("registerPixKey.json", broken)

    first_finding, second_finding = findings([known_failure, new_failure])

    assert (first_finding.cause, first_finding.known_failure) == ("registerPixKey.json", None)
    assert (second_finding.cause, second_finding.known_failure) == ("executePix.json", "fixed in 2.4")


def test_the_most_harmful_finding_is_first():
    """Findings are listed by their harm: first money, keys and personal data, then other failures, known failures and
    warnings.

    Findings of equal harm are in the order of the interface document, those about transfers before others. In the
    list below the findings are sorted by their harm.
    """
    wrong_type = deviation("type", "/data/x", name="x")
    answer_of_another_request = deviation("of-another", field="id")
    by_harm = [
        # a wrong token moved money or registered a key
        failed_requirement("executePix.token.required", deviation("executed", credentials="no token")),
        failed_requirement("registerPixKey.token.required", deviation("registered", credentials="no token")),
        # another amount, the data of another request, and a tax document that is not masked
        failed_requirement("executePix.value.matches", deviation("other-amount")),
        failed_requirement("registerPixKey.Success.present", answer_of_another_request),
        failed_requirement("executePix.document.masked", deviation("document-clear", digits=11)),
        # other failures, transfers first
        failed_requirement("executePix.status", deviation("status", status=201)),
        failed_requirement("executePix.error.type", deviation("type", "/data/error", name="error")),
        failed_requirement("registerPixKey.Success.type", deviation("type", "/data/Success", name="Success")),
        failed_requirement("listAccounts.serverError", deviation("server-error", status=500)),
        # a known failure
        failed_requirement("executePix.digit.type", wrong_type, known_failure="fixed in 2.4"),
        # warnings
        failed_requirement("transferP2p.json", deviation("json", error="x"), verdict="warn"),
        failed_requirement("executePix.fields.extra", deviation("other-fields", names="x"), verdict="warn"),
    ]
    ids_in_order_of_document = list(requirements())
    by_document = sorted(by_harm, key=lambda requirement: ids_in_order_of_document.index(requirement.id))

    ids_of_findings = [finding.cause for finding in findings(by_document)]

    assert ids_of_findings == [requirement.id for requirement in by_harm]
    assert by_document != by_harm


@pytest.fixture
def run_with_each_kind_of_line():
    """A run whose summary has a line of each kind: a failure, warnings, an observation, notes, keys, and executions.

    Of three executions one has an unknown outcome. The run sent 41 requests, and two keys were not cleaned up. One fault
    makes two requirements fail. Exchange 1, which shows it, is an execution, so the line to reproduce is of exchange 8.
    """
    status = deviation("status", status=201)
    run = run_with_results(
        (DIGIT, "fail", deviation("missing", name="digit")),
        ("executePix.fields.extra", "warn", deviation("other-fields", names="endToEndId")),
        ("listAccounts.status", "warn", status),
        ("getBalance.status", "warn", status),
        ("executePix.status.values", "observed", "DONE"),
        ("registerPixKey.status", "not-exercised", "supply pix_keys"),
        ("getBalance.json", "not-exercised", "implied alone"),
        ("executePix.digit.type", "fail", deviation("missing", name="digit")),
        notes=[
            Note(NoteKind.WRONG_SET_UP, "the clock of this machine is 3 minutes off"),
            note_of_unknown_outcome("exchange 3", "look it up"),
            Note(NoteKind.GENERATED_TRAFFIC, "createPix: no generated request was ever accepted"),
        ],
        observations=[Observation("executePix.status.values", words_as_facts("DONE"))],
        not_cleaned_up=[LeftKey("RANDOM, made by the service", "not deleted", False, (1,))] * 2,
        executions=3, unknown_outcomes=1, requests=41,
    )  # fmt: skip
    lines = {1: f"{EXECUTES}\ncurl y", 8: "curl x"}
    run.exchanges = {number: replace(exchange(number), lines_that_resend=line) for number, line in lines.items()}
    path = ENVIRONMENTS / "staging.yaml"
    run.profile = replace(run.profile, base_url=run.base_url, path=path, redirection_note="this run only reads")
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
def test_the_summary_of_an_incomplete_run_says_what_to_do_next(why, step):
    """The line before the verdict says what to do: supply what is missing, or raise the limit that ended the run.

    The run is incomplete because a requirement was not tested, for the reason `why`.
    """
    run = run_with_results(("registerPixKey.status", "not-exercised", why), (DIGIT, "pass"))
    run.profile = replace(run.profile, path=Path("/tmp/a b.yaml"))

    lines = list(summary(document_of(run), run, ""))
    line_before_verdict = lines[-2]

    assert line_before_verdict == f"next: {step}"


def test_order_of_the_summary(run_with_each_kind_of_line):
    """The summary has the verdict and the target first, then alerts, then findings, then everything else.

    An alert is a note that a reader must see first. Its line begins with `!`.
    """
    run = run_with_each_kind_of_line
    document = document_of(run)

    assert list(summary(document, run, "report.html")) == [
        str(headline(document)),
        f"staging at {run.base_url} (of --base-url, not that of the profile), not a sandbox: 2 transfers executed, 1 execution with an unknown outcome, 41 requests",
        "! OUTCOME UNKNOWN of exchange 3: look it up",
        "! the clock of this machine is 3 minutes off",
        f"! {KEYS_LEFT}",
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


def test_alerts_have_a_kind_in_the_document_and_are_its_first_notes(run_with_each_kind_of_line):
    """conformance.json has the kind of each alert, and repeats the alerts as the first notes."""
    document = document_of(run_with_each_kind_of_line)
    alerts = [(ALERTS[alert.kind], str(alert.text)) for alert in document.alerts]
    first_four_notes = [str(note) for note in document.notes[:4]]

    assert alerts == [
        ("outcome-unknown", "OUTCOME UNKNOWN of exchange 3: look it up"),
        ("set-up", "the clock of this machine is 3 minutes off"),
        ("left", KEYS_LEFT),  # keys were left, that is, not cleaned up
        ("redirected", "this run only reads"),  # the address is not that of the profile
    ]
    assert first_four_notes == [text for _, text in alerts]
