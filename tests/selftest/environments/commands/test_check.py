"""`python -m environments check` tells every problem of a profile and of its set-up, and only reads."""

import os
import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from environments.__main__ import main
from environments.commands.check import check as check_of_profile
from environments.commands.suggestions import lines_to_add_to_profile
from environments.door import backoff
from environments.door.journal import Outcome
from environments.door.key_record import REGISTERED
from environments.door.liveness import UnreachableError
from environments.door.opening import record_of_keys
from environments.profiles.loading import load
from environments.sandbox import Response
from tests.selftest.services.hostile import SaysOneAnswer
from tests.selftest.services.one_run import started_journal
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile
from tests.selftest.services.serving import response_bytes

PREPARE = {
    "operation": "createPix",
    "json": {"account": "{account}", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    """Leaves only the token in the environment of a check."""
    for name in [name for name in os.environ if name.startswith("PIX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(*next(iter(TOKEN_VARIABLES.items())))


@pytest.fixture
def check_command(tmp_path, capsys):
    """Runs the command against a service, with changes to the profile of the sandbox: its exit status, and its lines
    with ADDRESS and PROFILE in place of address and path.
    """

    def run_check(service, *, base_url="", options=(), **changes):
        changes = {"transactions": {"prepare": PREPARE}, **changes}
        profile = write_profile(tmp_path, base_url or service.base_url, **changes)
        variables_before = dict(os.environ)
        status = main(["check", str(profile), *options])
        os.environ.update(variables_before)  # the command forgets the token
        printed = capsys.readouterr()
        lines = (printed.out + printed.err).replace(str(profile), "PROFILE").splitlines()
        lines = [re.sub(r"PROFILE:\d+:", "PROFILE:", line.replace(service.base_url, "ADDRESS")) for line in lines]
        assert not [line for line in lines if next(iter(TOKEN_VARIABLES.values())) in line]
        return status, lines

    return run_check


READY = "ready: pytest --environment=PROFILE --plan"
WITHOUT_MEDIA_TYPE = "without a media type to listAccounts"
NOT_READY = "not ready: exit status {}; the lines above say why"


def test_a_profile_is_ready(check_command, service, tmp_path):
    """The command sends only reads, and writes nothing."""
    journal = tmp_path / "kept" / "journal.jsonl"
    assert check_command(service, journal=str(journal)) == (
        0,
        ["profile: PROFILE is valid; its target is a sandbox", "reachable: ADDRESS", "token: 200 application/json to listAccounts", READY],
    )  # fmt: skip
    assert {request.method for request in service.received} == {"GET"}
    assert service.executions == []
    assert not journal.parent.exists()


@pytest.mark.parametrize(
    ("status", "exit_status", "line"),
    [
        (
            401,
            6,
            f"token: 401 {WITHOUT_MEDIA_TYPE}: it may be wrong, expired or not permitted; check auth and base_url",
        ),
        (500, 6, f"the service fails: 500 {WITHOUT_MEDIA_TYPE}"),
        (503, 7, f"not ready: the service answers 503 {WITHOUT_MEDIA_TYPE}; it may be starting"),
    ],
)
def test_an_answer_that_is_no_success_decides_the_exit_status(status, exit_status, line, check_command, monkeypatch):
    """After a 401 or a 500 a run would be incomplete.

    After a 503 the service may be starting, so the target counts as unreachable.
    """
    monkeypatch.setattr(backoff, "WAITS_S", ())
    with SaysOneAnswer(response_bytes(Response(status, b""))) as service:
        status_of_check, lines = check_command(service)

    assert status_of_check == exit_status
    assert lines[-2:] == [line, NOT_READY.format(exit_status)]


def test_missing_secrets_are_named_before_anything_is_sent(check_command, service):
    """Each missing secret, and each key that the profile lacks, has a line. Nothing is sent."""
    headers = {"X-Api-Key": {"env": "PIX_API_KEY"}, "X-Tenant": {"env": "PIX_TENANT"}}

    assert check_command(service, headers=headers, accounts=None) == (
        4,
        [
            "profile: PROFILE is valid; its target is a sandbox",
            "error: PROFILE: PIX_API_KEY is not set in the environment; export PIX_API_KEY=…",
            "error: PROFILE: PIX_TENANT is not set in the environment; export PIX_TENANT=…",
            "not exercised: no account: supply accounts",
            NOT_READY.format(4),
        ],
    )
    assert service.received == []


def test_a_target_without_a_listener_is_unreachable(check_command, tmp_path, service, monkeypatch):
    """The lines about earlier runs and about the profile are printed, too."""
    monkeypatch.setattr(backoff, "_RESTARTS_S", ())
    unreachable_profile = {
        "base_url": "http://127.0.0.1:9",
        "sandbox": None,
        "journal": str(tmp_path / "journal.jsonl"),
        "accounts": None,
    }
    started_journal(tmp_path, environment="profile").write("TX-1", Outcome.UNKNOWN)
    record = record_of_keys(load(str(write_profile(tmp_path, **unreachable_profile))))
    record.note("ac-0001", "EMAIL", "pixconf-1@example.com", REGISTERED, ours=True)
    status, lines = check_command(service, **unreachable_profile)

    assert status == 7
    assert lines[-1] == NOT_READY.format(7)
    assert lines[2] == "keys left by earlier runs: 1; python -m environments cleanup PROFILE lists them"
    assert "then python -m environments journal PROFILE --settle " in lines[3]
    assert lines[4:6] == [
        "error: http://127.0.0.1:9 cannot be reached: the connection is refused",
        "not exercised: no account: supply accounts",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"accounts": None}, "not exercised: no account: supply accounts"),
        ({"accounts": ["ac-0001", "mistyped"]}, "number 2 of accounts: 404 to getBalance: check accounts"),
        (
            {"requests": None},
            "not exercised: no body for a deletion: supply requests.deletePixKey, such as {json: {pixKey: '{key}'}}",
        ),
        (
            {"transactions": None},
            "not exercised: no transaction code: supply transactions.codes or transactions.prepare",
        ),
    ],
)
def test_a_profile_that_lacks_something_makes_a_run_incomplete(changes, line, check_command, service):
    """The line has the words of a run. Only the command names a mistyped account."""
    status, lines = check_command(service, **changes)

    assert status == 6
    assert line in lines


def test_codes_of_earlier_runs_are_not_sent(check_command, service, tmp_path):
    """The journal has the codes. Without a journal a run would be incomplete."""
    changes = {"transactions": {"codes": ["TX-1"]}, "sandbox": None, "journal": str(tmp_path / "journal.jsonl")}
    status_without_journal, lines_without_journal = check_command(service, **changes)
    started_journal(tmp_path).write("TX-1", Outcome.SENT)
    status, lines = check_command(service, **changes)

    assert status_without_journal == 6
    assert lines_without_journal[0] == "profile: PROFILE is valid; its target is not a sandbox"
    assert lines_without_journal[1].startswith("journal: transactions.codes are not sent")
    assert status == 6
    assert lines[1] == (f"journal: codes in {changes['journal']}: 1")
    assert "not exercised: every transaction code was sent by an earlier run: prepare new ones" in lines


ITEM = {"pixKey": "qa@pix-conformance.example", "pixKeyType": "EMAIL", "id": "c0ffee00-0001-4000-8000-000000000001"}


@pytest.mark.parametrize(
    ("key_list", "lines"),
    [
        ({"data": {"keys": [ITEM]}}, ["key_at: /data/keys/*/pixKey"]),
        ({"data": ["+5511955500777", "c0ffee00-0001-4000-8000-000000000001"]}, ["key_at: /data/*"]),
        ({"data": [{"value": "a@b.example", "account": "+5511955500777"}]}, ["key_at: /data/*/value or key_at: /data/*/account"]),
        ({"data": {"keys": [{"pixKey": "q***@b.example"}]}}, ["key_at: …"]),
        ({"data": {"keys": []}}, ["key_at: …"]),
        ({"data": {"Joaquim Barbosa": ["a@b.example"]}}, ["key_at: …"]),
        (
            {"data": [{"key": "13579246828"}]},
            ["key_at: /data/*/key", "not_for_this_account: [CNPJ]"],
        ),
        (
            {"data": [{"key": "45000001000174"}]},
            ["key_at: /data/*/key", "not_for_this_account: [CPF]"],
        ),
    ],
)  # fmt: skip
def test_the_check_prints_missing_lines_of_the_profile_from_the_list_of_keys(key_list, lines):
    """The lines can be pasted into the profile. The name of a member that may be data is not shown."""
    profile = replace(load("sandbox"), key_at=None)

    assert [line.partition(" (")[0] for line in lines_to_add_to_profile(key_list, profile)] == lines


@pytest.mark.parametrize(
    ("key_list", "name"), [({"data": [{"chave": "a@b.example"}]}, "chave"), ({"data": []}, "pixKey")]
)
def test_a_body_for_deletions_is_guessed(key_list, name):
    """The key has the name that it has in the list, or the name of a registration."""
    profile = replace(load("sandbox"), key_at=None, requests={})
    [line] = [line for line in lines_to_add_to_profile(key_list, profile) if line.startswith("requests: ")]

    assert line.startswith("requests: {deletePixKey: {json: {" + name + ': "{key}"}}} (')


def test_missing_lines_are_printed(check_command, service):
    """A profile without them is ready."""
    status, lines = check_command(service, key_at=None)

    assert status == 0
    assert [line for line in lines if line.startswith("perhaps missing: key_at: /data/keys/*/pixKey (")]


def test_an_address_other_than_that_of_the_profile_has_a_line(check_command, service):
    """The line stands after the one about the profile."""
    options = [f"--base-url={service.base_url}"]
    _, lines = check_command(service, base_url="https://staging.bank.example", options=options, sandbox=None)

    assert lines[1] == "--base-url: ADDRESS is not the address of the profile"


def test_another_address_than_the_embedded_sandbox_is_only_read(check_command, service):
    """The line says what the run does there, in place of saying that it is another address."""
    _, lines = check_command(service, base_url="embedded", options=[f"--base-url={service.base_url}"], sandbox=None)

    assert lines[1].startswith("--base-url: PROFILE is for the embedded sandbox, this run only reads; keys, codes")


def test_base_url_with_the_address_of_the_profile_prints_no_line(check_command, service):
    """A line about another address would say the same address twice."""
    _, lines = check_command(service, options=[f"--base-url={service.base_url}"])

    assert not [line for line in lines if line.startswith("--base-url")]


def test_without_the_permission_to_read_nothing_is_sent(check_command, service):
    """The token is not tried, whatever else the profile permits."""
    status, lines = check_command(
        service, allow=["register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]
    )

    assert "token: not tried, because allow has no read" in lines
    assert service.received == []
    assert status == 0


def test_a_check_may_only_read():
    """The door of the command has the permission `read` alone, whatever the profile permits."""
    permissions = []

    @contextmanager
    def open_client(profile):
        permissions.append(profile.allow)
        raise UnreachableError("nobody is asked here")
        yield

    check_of_profile(load("sandbox"), open_client)

    assert permissions == [{"read"}]
