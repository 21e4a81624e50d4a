"""An execution happens once, with a code that was supplied, and never again when its outcome is unknown."""

import json
import os
import signal
import stat

import pytest
import requests

from environments.door.outgoing import Intent
from environments.door.permission import ForbiddenError
from spec.exchange import Failure, FailureKind
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import CODE, EVERYTHING, OTHER, Run
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.serving import served_by
from tests.selftest.services.waiting import await_event

SILENT = (
    trouble.NeverAnswersAnExecution,
    trouble.ResetsAnExecution,
    trouble.DropsAnExecution,
    trouble.CutsAnExecutionShort,
    trouble.GatewayTimesOut,
)
REDIRECTING = (trouble.RedirectsAnExecution, trouble.RedirectsAnExecutionForGood)
ONLY_EXECUTIONS = ("-k", "executePix.document or executePix.token.required")


# -- sent once --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("proxied", [False, True], ids=["direct", "through a proxy"])
@served_by(*SILENT)
def test_an_execution_without_an_answer_is_seen_once(service, proxied, tmp_path):
    """It is not sent again: not by us, not by urllib3, not on a connection that was kept alive, not by way of a proxy."""
    a_run = Run(service, tmp_path, proxied=proxied)
    a_run.client.send("listAccounts")
    exchange = a_run.execute()
    again = a_run.execute()

    assert service.executions == [CODE]
    assert a_run.door.guard.unknown == [exchange.number]
    assert a_run.events == ["sent", "unknown"]
    assert "is not sent again" in again.failure.message


@served_by(*REDIRECTING)
def test_a_redirected_execution_is_not_followed(service, a_run):
    """307 and 308 are answers like any other."""
    answer = a_run.execute().response

    assert answer.status == service.status
    assert service.executions == [CODE]


@served_by(trouble.RedirectsReadsToAnExecution)
def test_a_read_is_not_redirected_to_an_execution(service, a_run):
    """A service cannot have a code executed by redirecting to it."""
    a_run.client.send("listAccounts")

    assert service.executions == []


@served_by(trouble.SlowsAnExecutionDown)
def test_an_execution_that_is_put_off_is_not_sent_again(service, a_run):
    """A 429 says that nothing was done, and when to come again: the next code waits for it, and this one never goes
    again."""
    first, again, other = a_run.execute(), a_run.execute(), a_run.execute(OTHER)

    assert [exchange.response and exchange.response.status for exchange in (first, again, other)] == [429, None, 200]
    assert (service.executions, a_run.door.guard.unknown) == ([CODE, OTHER], [])


@served_by(trouble.NeverAnswersARefusal)
def test_a_refusal_probe_without_an_answer_burns_the_code(service, a_run, tmp_path):
    """The service may have executed it without the token: it is not sent with the token any more."""
    probe = a_run.execute(credential="a wrong token")
    a_run.execute()
    Run(service, tmp_path, name="two").execute()

    assert a_run.door.guard.unknown == [probe.number]
    assert service.executions == []


def test_a_code_that_never_left_is_executed_by_a_later_run(service, tmp_path):
    """There was no connection to send it over."""
    away = Run(service, tmp_path)
    refused = Failure(FailureKind.NO_CONNECTION, "the connection is refused")
    away.door.wire.attempt = lambda sending: refused
    away.execute()
    later = Run(service, tmp_path, name="two")
    later.execute()

    assert service.executions == [CODE]
    assert Run(service, tmp_path, name="three").door.guard.open([CODE]) == []


def test_a_code_whose_bad_credentials_were_refused_is_executed_by_a_later_run(service, tmp_path):
    """Nothing was executed with it, and nobody is kept from it."""
    first = Run(service, tmp_path)
    first.execute(credential="a wrong token")
    first.execute(credential="no header")
    later = Run(service, tmp_path, name="two")
    later.execute()

    assert service.executions == [CODE]


@served_by(trouble.ExecutesForAnybody)
def test_a_code_that_was_executed_without_the_token_is_spent(service, a_run, tmp_path):
    """What a probe executed is not executed again, by this run or a later one."""
    a_run.execute(credential="no header")
    a_run.execute()
    Run(service, tmp_path, name="two").execute()

    assert service.executions == []


# -- only what was supplied -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/v1/execute/pix/TX9",
        "/V1/EXECUTE/PIX/TX9",
        "/v1/execute//pix/TX9",
        "/v1/execute/pix/TX9/",
        "/v1/%65xecute/pix/TX9",
        "/v1/pixconf-/../execute/pix/TX9",
        "/v1/execute/pix/pixconf-1%2F..%2FTX9",
        f"/v1/execute/pix/{CODE}%2F..%2FTX9",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_code_that_nobody_supplied_is_not_sent(path, method, service, a_run):
    """However a server reads the path, the code is a supplied one or carries the mark of the suite."""

    with pytest.raises(ForbiddenError):
        a_run.door.exchange(raw_request(method, service.base_url + path), Intent(""))

    assert service.seen == []


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("GET", f"/v1/execute/pix/{CODE}", "execute"),
        ("POST", "/v1/pix/keys/..", "create-pix"),
        ("POST", "/v1/pix/keys/%2e%2e", "create-pix"),
        ("HEAD", f"/v1/accounts/../execute/pix/{CODE}", "execute"),
        ("GET", "/v1/accounts", "read"),
    ],
)
def test_permission_is_decided_on_the_final_path(method, path, permission, service, tmp_path):
    """Whatever a request is meant for, it needs the permission of every operation that it may reach."""
    a_run = Run(service, tmp_path, allow=EVERYTHING - {permission})

    with pytest.raises(ForbiddenError, match=permission):
        a_run.door.exchange(raw_request(method, service.base_url + path), Intent(""))

    assert service.seen == []


def test_a_code_with_a_slash_is_executed(service, a_run):
    """A supplied code stands in the path percent-encoded, whatever its characters."""
    a_run.secrets.learn("code", "TX/1;a b")
    a_run.execute("TX/1;a b")

    assert service.executions == ["TX%2F1%3Ba%20b"]


def raw_request(method, url):
    """A request whose path goes as it is written."""
    request = requests.Request(method, url).prepare()
    request.url = url
    return request


# -- budget and journal -----------------------------------------------------------------------------------------


def test_no_code_is_written_down_without_being_sent(service, tmp_path):
    """Where limits.requests is spent, the journal stays as it is, and the code can be used later."""
    a_run = Run(service, tmp_path, requests=0)
    exchange = a_run.execute()

    assert "limits.requests" in exchange.failure.message
    assert a_run.door.guard.journal.entries() == []


def test_the_journal_is_written_before_the_execution_is_sent(service, tmp_path):
    """Without a journal there is no execution."""
    folder = tmp_path / "file"
    folder.write_text("in the way")
    exchange = Run(service, folder).execute()

    assert "journal" in exchange.failure.message
    assert service.seen == []


def test_the_journal_holds_no_code_and_is_private(a_run, tmp_path):
    """The journal and its key are readable by their owner alone and hold a digest."""
    a_run.execute()
    files = [a_run.journal, tmp_path / "journal.key"]

    assert CODE.encode() not in b"".join(file.read_bytes() for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


# -- whole runs -------------------------------------------------------------------------------------------------


def test_only_what_the_journal_is_refused_is_a_fault_of_the_journal(a_run, monkeypatch):
    """Any other error of the system is a fault of the suite, and is raised."""

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(a_run.door.budget, "_take", refused)
    with pytest.raises(PermissionError):
        a_run.execute()
    before = a_run.door.guard.journal_trouble
    monkeypatch.undo()
    monkeypatch.setattr("environments.door.event_log.os.open", refused)
    a_run.execute()

    assert before == ""
    assert a_run.door.guard.journal_trouble == (
        "the journal cannot be read or written (Permission denied): check journal"
    )


@served_by(trouble.ResetsAnExecution)
def test_an_unknown_outcome_is_said_first(service, tmp_path):
    """The report begins with the execution whose outcome is unknown; the run is not green."""
    result = run(write_profile(tmp_path, service.base_url), *ONLY_EXECUTIONS)

    page = (result.folder / "report.html").read_text().rpartition("<body>")[2]

    assert result.notes[0].startswith("OUTCOME UNKNOWN")
    lines = [line for line in result.output.splitlines() if "INCOMPLETE" in line or "OUTCOME UNKNOWN" in line]
    assert ["INCOMPLETE" in line for line in lines[:2]] == [True, False]
    assert page.count("OUTCOME UNKNOWN") > 0
    assert service.executions == [CODE]
    assert result.status == 6


@pytest.mark.parametrize("status", [409, 200])
def test_a_key_that_was_there_before_the_run_is_left_alone(status, tmp_path):
    """Deleted is what the run registered: the operator receives payments with the other keys."""
    key = b"qa@pix-conformance.example"
    with trouble.HasAKeyAlready(key, status) as service:
        run(write_profile(tmp_path, service.base_url), "-m", "property or not property", "--examples=3")
    deleted = [request.body for request in service.seen if request.method == "DELETE" and key in request.body]

    assert [request for request in service.seen if request.method == "POST" and key in request.body]
    assert deleted == []


@pytest.mark.parametrize("permission", sorted(EVERYTHING))
def test_a_permission_alone_is_enough_for_a_run(permission, service, tmp_path):
    """What would need another permission is not sent, and is no error of the suite."""
    result = run(write_profile(tmp_path, service.base_url, allow=[permission, "fuzz"]))

    assert result.document["verdict"] in ("partial", "incomplete")
    assert bool(service.seen) == (permission != "fuzz")  # by itself it permits no operation


@served_by(trouble.NeverAnswersAnExecution)
def test_an_interrupted_execution_is_an_unknown_outcome(service, tmp_path):
    """Ctrl-C between sending and answering is said first, and the journal says it too."""
    journal = tmp_path / "codes.jsonl"
    limits = {"executions": 2, "requests": 400}
    profile = write_profile(tmp_path, service.base_url, sandbox=None, journal=str(journal), limits=limits)
    with started(profile, "--new-journal", *ONLY_EXECUTIONS) as process:
        await_event(service.silent, process)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
    document = json.loads((tmp_path / "report" / "conformance.json").read_text())

    assert (process.returncode, document["verdict"]) == (2, "interrupted")
    assert document["notes"][0].startswith("OUTCOME UNKNOWN")
    assert "sent" in journal.read_text()
    assert service.executions == [CODE]
