"""Findings: one for each cause, whatever number of requirements, operations and kinds of traffic show it."""

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from environments.sandbox import Response, Server, Service
from reports.causes import findings
from reports.formats.conformance_json import as_json, document_of
from reports.headline import headline
from reports.run import LeftKey, Note, NoteKind, Observation, Run, outcome_unknown
from reports.terminal import summary
from reports.verdicts import RequirementResult, Verdict
from spec.facts import said
from spec.findings import finding
from spec.message import say
from spec.requirements import requirements
from tests.selftest.proof.mutants.making_faults import Results
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.proof.trial import try_service
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import sandbox_at

REPOSITORY = Path(__file__).parents[2]


def row(id, *found, code="", exchanges=(1,), verdict="fail", known_failure="", **parameters):
    """A requirement as the result model gives it, with findings or with one of a code."""
    known = requirements()[id]
    told = {"id": id, "section": known.section, "level": known.level, "text": known.text, "verdict": verdict}
    reason = {"known_failure": known_failure} if known_failure else {}
    return {**told, "found": found or (finding(code, **parameters),), "exchanges": list(exchanges), **reason}


def causes(*rows):
    """The requirements of each finding, the leading one first."""
    return [finding["requirements"] for finding in findings(rows)]


class TestOneCause:
    def test_all_kinds_of_traffic(self):
        """What targeted, generated and stateful traffic say of one field is said once."""
        missing = finding("missing", "/data/digit", name="digit")
        generated = replace(missing, times=12, exchanges=(400,), seed=7)

        (found,) = findings([row("executePix.digit.present", missing, generated, exchanges=(5, 400, 500))])

        assert str(found["message"]) == "digit is missing"
        assert found["exchanges"] == [5, 400, 500]
        assert found["operations"] == ["executePix"]

    def test_a_sentence_is_said_once(self):
        """With a generated request that shows it, where no other one does."""
        fell, other = (finding("server-error", request="a request", status=status) for status in (500, 503))
        shown = [replace(each, shown_by="pixKey, null", times=1, exchanges=(9,)) for each in (fell, other)]

        (found,) = findings([row("createPix.serverError", fell, *shown)])

        said = "expected no server error for a request, got status"
        assert sorted(str(found["message"]).split("; ")) == [f"{said} 500", f"pixKey, null: {said} 503"]

    def test_several_operations(self):
        """A body that is no JSON in several operations, wherever it breaks off; a warning follows the failures."""
        at = [finding("json", "", error=say("Extra data at character {n}", n=n)) for n in (9, 312, 88)]
        told = [
            row("listAccounts.json", at[0], exchanges=(8,), verdict="warn"),
            row("executePix.json", at[1], exchanges=(2,)),
            row("registerPixKey.json", at[2], exchanges=(3,)),
        ]

        (found,) = findings(told)

        assert found["requirements"] == ["executePix.json", "registerPixKey.json", "listAccounts.json"]
        assert found["operations"] == ["executePix", "registerPixKey", "listAccounts"]
        assert found["verdict"] == "fail"
        assert found["exchanges"] == [2, 3, 8]


class TestTwoCauses:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("executePix.digit.present", "missing", "digit"), ("executePix.bank.present", "missing", "bank")),
            (("executePix.name.type", "type", "name"), ("executePix.name.present", "missing", "name")),
        ],
        ids=["two fields", "two codes"],
    )
    def test_independent_faults(self, one, other):
        """Both are named."""
        rows = [row(id, finding(code, name=name)) for id, code, name in (one, other)]

        assert causes(*rows) == [[one[0]], [other[0]]]

    def test_a_known_failure_hides_no_new_one(self):
        """The same fault elsewhere is a finding of its own where only one of the two is known."""
        known = row("executePix.json", code="json", error="x", known_failure="fixed in 2.4")

        found = findings([known, row("registerPixKey.json", code="json", error="x", exchanges=(2,))])

        assert [(one["cause"], one.get("known_failure")) for one in found] == [
            ("registerPixKey.json", None),
            ("executePix.json", "fixed in 2.4"),
        ]


class WithoutDigit(Results):
    """An execution has no digit."""

    def change(self, data):
        return {name: value for name, value in data.items() if name != "digit"}


class TwoFields(WithoutDigit):
    """Besides, its bank is an integer."""

    def change(self, data):
        return {**super().change(data), "bank": int(data["bank"])}


class FieldAndEnvelope(WithoutDigit):
    """Besides, the code of its envelope is a text."""

    def envelope(self, operation, data, code=0):
        return {"code": str(code) if operation == "executePix" else code, "data": data}


class StatusAndBody(Service):
    """A registration answers 201, and a deletion answers HTML."""

    def finish(self, request, operation, response):
        if response.status != 200 or operation not in ("registerPixKey", "deletePixKey"):
            return response
        if operation == "registerPixKey":
            return Response(201, response.body, response.headers)
        return Response(200, b"<html>Deleted.</html>", (("Content-Type", "text/html"),))


class TwoOperations(WithoutDigit):
    """Besides, a registration has no message."""

    def registration_result(self, registration):
        return {n: value for n, value in super().registration_result(registration).items() if n != "Message"}


DOUBLE = {
    TwoFields: [["executePix.bank.type"], ["executePix.digit.present"]],
    FieldAndEnvelope: [["executePix.envelope.code.type"], ["executePix.digit.present"]],
    StatusAndBody: [["deletePixKey.json"], ["registerPixKey.status"]],
    TwoOperations: [["executePix.digit.present"], ["registerPixKey.Message.present"]],
}


@pytest.mark.parametrize("service", DOUBLE)
def test_two_faults_are_two_findings(service):
    """Two faults at once, in one answer or in two operations, are two findings, each with its own requirement."""
    found = try_service(service()).findings

    assert sorted(finding["requirements"] for finding in found) == sorted(DOUBLE[service]), found


DIGIT = "executePix.digit.present"
UNKNOWN = outcome_unknown("exchange 3", "look it up")


@pytest.fixture
def run():
    """A run of a few requirements with a failure, a warning, an observation and much to say beside them."""
    run = Run(load("sandbox", folder=REPOSITORY / "environments"), "http://127.0.0.1:1", narrowed=True)
    run.said = [Note(NoteKind.SET_UP, "the clock of this machine is 3 minutes off"), UNKNOWN]
    run.observations = [Observation("executePix.status.values", said("DONE"))]
    for row_id, verdict, why, *found in (
        (DIGIT, "fail", "", finding("missing", name="digit")),
        ("executePix.fields.extra", "warn", "", finding("other-fields", names="endToEndId")),
        ("listAccounts.status", "warn", "", finding("status", status=201)),
        ("getBalance.status", "warn", "", finding("status", status=201)),
        ("executePix.status.values", "observed", "DONE"),
        ("registerPixKey.status", "not-exercised", "supply pix_keys"),
    ):
        run.selected.add(row_id)
        exchange = 1 if row_id == DIGIT else 2
        run.results.append(RequirementResult(row_id, verdict, why, (exchange,), findings=tuple(found)))
    run.exchanges = {
        1: {
            "number": 1,
            "operation": "",
            "request": {"method": "GET", "url": ""},
            "started": 0.0,
            "elapsed_ms": 1,
            "beside": 0,
            "part": "",
            "curl": "curl x",
        },
    }
    run.close()
    return run


class TestSummary:
    def test_order(self, run):
        """The verdict and where it was found, the alerts, the findings, and then all that can wait."""
        run.said.append(Note(NoteKind.GENERATED_TRAFFIC, "createPix: no generated request was ever accepted"))
        run.executions, run.unknown_outcomes, run.requests = 3, 1, 41
        run.not_cleaned_up += [LeftKey("RANDOM, made by the service", "not deleted", False, (1,))] * 2
        run.profile = replace(run.profile, name="staging", base_url=run.base_url, redirected="this run only reads")

        lines = list(summary(document_of(run), run, "report.html"))

        assert lines == [
            str(headline(document_of(run))),
            f"staging at {run.base_url}, no sandbox: 2 transfers executed, 1 execution with an unknown outcome, 41 requests",
            "! OUTCOME UNKNOWN of exchange 3: look it up",
            "! the clock of this machine is 3 minutes off",
            "! 2 keys not cleaned up: python -m environments cleanup staging names them; --yes deletes what it may",
            "! this run only reads",
            f"FAIL {DIGIT}",
            f"     {requirements()[DIGIT].text} ({requirements()[DIGIT].section})",
            "     digit is missing",
            "     exchange 1",
            "     reproduce: curl x",
            "WARN executePix.fields.extra: expected no other fields, got endToEndId",
            "WARN listAccounts.status (getBalance.status): expected status 200, got 201",
            "not exercised: registerPixKey.status: supply pix_keys",
            "not cleaned up: RANDOM, made by the service: not deleted (exchange 1)",
            "not cleaned up: RANDOM, made by the service: not deleted (exchange 1)",
            "note: createPix: no generated request was ever accepted",
            "  documented   1 fail, 1 not-exercised",
            "  implied      3 warn",
            "  not-shown    1 observed",
            "report: report.html",
        ]

    def test_the_alerts_are_in_conformance_json(self, run):
        """Each with its kind, and among the notes, too."""
        document = json.loads(as_json(document_of(run)))

        assert document["alerts"] == [
            {"kind": "outcome-unknown", "text": "OUTCOME UNKNOWN of exchange 3: look it up"},
            {"kind": "set-up", "text": "the clock of this machine is 3 minutes off"},
        ]
        assert document["notes"][:2] == [alert["text"] for alert in document["alerts"]]

    def test_what_the_verdict_misses_is_explained(self, run):
        """A requirement that was not exercised is named where its level counts for the verdict of the profile."""
        run.profile = replace(run.profile, fail_on=frozenset({"implied"}))
        for row_id in ("listEntries.status", "listAccounts.serverError"):
            run.selected.add(row_id)
            run.results.append(RequirementResult(row_id, Verdict.NOT_EXERCISED, "no account: supply accounts"))
        run.close()

        lines = list(summary(document_of(run), run, ""))

        assert [line for line in lines if line.startswith("not exercised")] == [
            "not exercised: listEntries.status: no account: supply accounts"
        ]


@pytest.mark.parametrize(
    ("options", "told"), [(("--tb=no",), 0), (("-x",), 1), (("-vv", "--tb=short"), 1), (("-qq", "-rN"), 1)]
)
def test_the_options_of_pytest_behave(options, told):
    """How much is shown of a failure is the user's choice, as with any run of pytest."""
    ended = pytest_run("ExecutionDigitMissing", "-k", "executePix.digit", *options)

    assert ended.stdout.count("found: digit is missing") == told, ended.stdout
    assert f"FAIL {DIGIT}" in ended.stdout
    assert ended.returncode == 1


def pytest_run(mutant, *options):
    """A run of the suite as a user starts it, against a service with one fault."""
    with Server(service := MUTANTS.specimens[mutant].make()) as server, tempfile.TemporaryDirectory() as folder:
        profile = sandbox_at(server.base_url, Path(folder))
        arguments = ["--no-report", "-p", "no:cacheprovider", f"--environment={profile}", *options]
        return run_pytest(arguments, {**os.environ, "PIX_SANDBOX_TOKEN": service.token, "CI": "true"})
