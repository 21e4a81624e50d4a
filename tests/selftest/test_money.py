"""An execution happens once, with a code that was supplied, and never again when its outcome is unknown."""

import json
import os
import signal
import stat
import threading

import pytest
import requests

from environments.door.authorization import VALID
from environments.door.journal import Journal
from environments.door.outgoing import Intent
from environments.door.permission import ForbiddenError
from spec.exchange import Failure, FailureKind
from tests.selftest.services import trouble_with_money as trouble
from tests.selftest.services.one_run import CODE, EVERYTHING, OTHER, Run
from tests.selftest.services.running import run, started, write_profile
from tests.selftest.services.serving import real_codes, served_by
from tests.selftest.services.waiting import await_event

SILENT = (
    trouble.NeverAnswersAnExecution,
    trouble.ResetsAnExecution,
    trouble.DropsAnExecution,
    trouble.CutsAnExecutionShort,
    trouble.CutsTheHeadersOfAnExecutionShort,
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
    assert a_run.events == ["sent", "outcome unknown"]
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


class _KilledError(Exception):
    """Stands for the end of a process that could not write anything any more."""


@pytest.mark.parametrize("credential", ["a wrong token", VALID])
def test_a_run_that_was_killed_burns_the_code(credential, service, tmp_path, monkeypatch):
    """It is written down before the send, with whatever credential: the outcome is unknown until the answer."""
    killed = Run(service, tmp_path)
    monkeypatch.setattr(killed.door.guard, "_withdraw", lambda _: None)
    monkeypatch.setattr(killed.door.guard, "watching", _killed)
    with pytest.raises(_KilledError):
        killed.execute(credential=credential)
    later = Run(service, tmp_path, name="two")
    later.execute(credential="no header")
    later.execute()

    assert real_codes(service) == []


def _killed(*_):
    raise _KilledError


def test_a_code_that_never_left_is_executed_by_a_later_run(service, tmp_path):
    """There was no connection to send it over."""
    away = Run(service, tmp_path)
    refused = Failure(FailureKind.NO_CONNECTION, "the connection is refused")
    away.door._connections.attempt = lambda sending: refused
    away.execute()
    later = Run(service, tmp_path, name="two")
    later.execute()

    assert service.executions == [CODE]
    assert Run(service, tmp_path, name="three").door.guard.drop_sent([CODE]) == []


def test_a_code_whose_bad_credentials_were_refused_is_executed_by_a_later_run(service, tmp_path):
    """Nothing was executed with it, and nobody is kept from it."""
    first = Run(service, tmp_path)
    first.execute(credential="a wrong token")
    first.execute(credential="no header")
    later = Run(service, tmp_path, name="two")
    later.execute()

    assert service.executions == [CODE]
    assert first.door.guard.unanswered() == 0


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


def test_the_cap_holds_over_the_workers_of_a_run(service, tmp_path):
    """Eight at once with two executions left send two."""
    runs = [Run(service, tmp_path, executions=2) for _ in range(8)]
    codes = {f"TX{number}" for number in range(8)}
    threads = [threading.Thread(target=a_run.execute, args=(f"TX{n}",)) for n, a_run in enumerate(runs)]
    for a_run, thread in zip(runs, threads, strict=True):
        a_run.secrets.learn("code", *codes)
        a_run.door.budget.share(tmp_path / "budget.json")
        thread.start()
    for thread in threads:
        thread.join()

    assert len(service.executions) == 2


def test_no_code_is_written_down_without_being_sent(service, tmp_path):
    """Where limits.requests is spent, the journal stays as it is, and the code can be used later."""
    a_run = Run(service, tmp_path, requests=0)
    exchange = a_run.execute()

    assert "limits.requests" in exchange.failure.message
    assert not a_run.journal.exists()


def test_the_journal_is_written_before_the_execution_is_sent(service, tmp_path):
    """Without a journal there is no execution."""
    folder = tmp_path / "file"
    folder.write_text("in the way")
    exchange = Run(service, folder).execute()

    assert "journal" in exchange.failure.message
    assert service.seen == []


@pytest.mark.parametrize("across_runs", [True, False])
def test_what_a_later_run_reads_is_on_the_disk(across_runs, tmp_path, monkeypatch):
    """It has to outlast the machine. A journal that goes with the run has to outlast the process alone."""
    forced, path = [], tmp_path / "journal.jsonl"
    monkeypatch.setattr(os, "fsync", lambda descriptor: forced.append(path.read_text()))
    Journal(path, origin="http://bank", run="one", across_runs=across_runs).claim(CODE)

    assert '"event": "sent"' in path.read_text()
    assert forced == [path.read_text()] * across_runs


def test_a_later_run_does_not_send_a_journalled_code(service, tmp_path):
    """The second run says when it was sent and what to do; other codes are free, and so is --resend-code."""
    Run(service, tmp_path).execute()
    second = Run(service, tmp_path, name="two")
    refused, probe = second.execute(), second.execute(credential="no header")
    second.execute(OTHER)
    Run(service, tmp_path, name="three", resend={CODE}).execute()

    assert "prepare a new one, or send it again with --resend-code" in refused.failure.message
    assert probe.response is None
    assert service.executions == [CODE, OTHER, CODE]


def test_the_journal_holds_no_code_and_is_private(a_run, tmp_path):
    """The journal and its key are readable by their owner alone and hold a digest."""
    a_run.execute()
    files = [a_run.journal, tmp_path / "journal.key"]

    assert CODE.encode() not in b"".join(file.read_bytes() for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_damaged_journal_stops_executions(service, a_run):
    """A line that cannot be read may name any code, so nothing is executed."""
    a_run.journal.write_text('{"at": "2026-')

    assert "line 1 cannot be read" in a_run.execute().failure.message
    assert service.executions == []


@pytest.mark.parametrize("key", [None, b"", b"of another journal"], ids=["lost", "emptied", "another"])
def test_a_journal_without_its_key_stops_executions(key, service, tmp_path):
    """With another key every digest differs, and the code would be sent again."""
    Run(service, tmp_path).execute()
    file = tmp_path / "journal.key"
    file.unlink() if key is None else file.write_bytes(key)
    again = Run(service, tmp_path, name="two").execute(OTHER)

    assert "journal.key: not the key of" in again.failure.message
    assert service.executions == [CODE]


# -- whole runs -------------------------------------------------------------------------------------------------


def test_a_parallel_run_executes_up_to_the_cap(service, tmp_path):
    """With -n 4 and tests that are dealt out one by one, three codes and a cap of two make two executions."""
    limits = {"executions": 2, "requests": 400}
    codes = {"codes": [CODE, OTHER, "SBX-CPF-1"]}
    profile = write_profile(tmp_path, service.base_url, limits=limits, transactions=codes)
    run(profile, *ONLY_EXECUTIONS, "-n", "4", "--dist=worksteal")

    assert sorted(service.executions) == sorted([CODE, OTHER])


def test_an_explicit_journal_guards_a_loopback_target_over_two_runs(service, tmp_path):
    """The second run leaves the code alone and says so; with --resend-code it is sent again."""
    profile = write_profile(tmp_path, service.base_url, journal=str(tmp_path / "codes.jsonl"))
    run(profile, *ONLY_EXECUTIONS)
    said = run(profile, *ONLY_EXECUTIONS).notes[0]
    after_two = list(service.executions)
    run(profile, *ONLY_EXECUTIONS, f"--resend-code={CODE}")

    assert after_two == [CODE]
    assert said.startswith("1 of 1 transaction codes were sent by an earlier run")
    assert service.executions == [CODE, CODE]


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "the journal cannot be read or written (Is a directory): check journal"), ("{", "line 1 cannot be read")],
    ids=["a folder", "damaged"],
)
def test_a_journal_that_cannot_be_used_is_said_first(content, why, service, tmp_path):
    """Nothing is executed, no row fails for it, and the line says what to mend."""
    journal = tmp_path / "codes.jsonl"
    journal.mkdir() if content is None else journal.write_text(content)
    result = run(write_profile(tmp_path, service.base_url, journal=str(journal)), *ONLY_EXECUTIONS)

    assert service.executions == []
    assert not result.rows("fail")
    assert result.notes[0].startswith("executions were stopped: ")
    assert why in result.notes[0]


def test_only_what_the_journal_is_refused_is_a_fault_of_the_journal(a_run, monkeypatch):
    """Any other error of the system is a fault of the suite, and is raised."""

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(a_run.door.budget, "_take", refused)
    with pytest.raises(PermissionError):
        a_run.execute()
    before = a_run.door.guard.journal_trouble
    monkeypatch.undo()
    monkeypatch.setattr("environments.door.journal.os.open", refused)
    a_run.execute()

    assert before == ""
    assert a_run.door.guard.journal_trouble == (
        "the journal cannot be read or written (Permission denied): check journal"
    )


def test_a_code_of_nobody_cannot_be_sent_again(service, tmp_path):
    """--resend-code names a code of the profile; the message does not repeat it."""
    result = run(write_profile(tmp_path, service.base_url), "--resend-code=TX-OF-NOBODY")

    assert result.status == 4
    assert "--resend-code: no such code in transactions.codes" in result.output
    assert "TX-OF-NOBODY" not in result.output


@served_by(trouble.ResetsAnExecution)
def test_an_unknown_outcome_is_said_first(service, tmp_path):
    """The report begins with the execution whose outcome is unknown; the run is not green."""
    result = run(write_profile(tmp_path, service.base_url), *ONLY_EXECUTIONS)

    page = (result.folder / "report.html").read_text().rpartition("<body>")[2]

    assert result.notes[0].startswith("OUTCOME UNKNOWN")
    assert 0 < result.output.find("OUTCOME UNKNOWN") < result.output.find("INCOMPLETE")
    assert 0 < page.find("OUTCOME UNKNOWN") < page.find('class="banner')
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

    assert result.document["verdict"] in ("conformant", "incomplete")
    assert service.seen


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "parallel"])
@served_by(trouble.NeverAnswersAnExecution)
def test_an_interrupted_execution_is_an_unknown_outcome(options, service, tmp_path):
    """Ctrl-C between sending and answering is said first, and the journal says it too."""
    journal = tmp_path / "codes.jsonl"
    limits = {"executions": 2, "requests": 400}
    profile = write_profile(tmp_path, service.base_url, journal=str(journal), limits=limits)
    with started(profile, *ONLY_EXECUTIONS, *options) as process:
        await_event(service.silent, process)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
    document = json.loads((tmp_path / "report" / "conformance.json").read_text())

    assert (process.returncode, document["verdict"]) == (2, "interrupted")
    assert document["notes"][0].startswith("OUTCOME UNKNOWN")
    assert "sent" in journal.read_text()
    assert service.executions == [CODE]
