"""`python -m environments cleanup` deletes what earlier runs registered and left, and nothing else."""

import os
import pty
import subprocess
import sys

import pytest

from environments.door.key_record import ABSENT, GONE, REFUSED, REGISTERED, SENT, KeyRecord
from environments.sandbox import Key, Refusal, Server, Service
from tests.selftest.services.one_run import EVERYTHING
from tests.selftest.services.running import ROOT, TOKEN, environment, run, write_profile

EMAIL, CPF = "qa@pix-conformance.example", "13579246828"
KINDS = {EMAIL: "EMAIL", CPF: "CPF"}
READING = ["read", "delete-keys"]
REGISTERED_BY_A_RUN = ((EMAIL, ABSENT), (EMAIL, SENT), (EMAIL, REGISTERED))
NOTHING = (0, ["nothing to clean up: no earlier run left a key of profile"])


@pytest.fixture
def service():
    """The sandbox on a port of its own."""
    sandbox = Service(token="Tok-3n.Of-The_Service")
    with Server(sandbox) as server:
        sandbox.base_url = server.base_url
        yield sandbox


def holds(service, *keys):
    """Register keys in the sandbox behind everybody's back."""
    with service.database.transaction() as ledger:
        for key in keys:
            ledger.add_key(Key(key, KINDS[key], "ac-0001"))


def keys_of(service):
    """The keys that the first account has, of those that the profile names."""
    with service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")} & set(KINDS)


def recorded(folder, service, *events, run="earlier"):
    """Write events into the record beside the journal of the profile, as a run does."""
    record = KeyRecord(folder / "journal-keys.jsonl", origin=service.base_url, run=run)
    for key, event in events:
        record.note("ac-0001", key, event)
    return record


def profile_of(folder, service, **changes):
    """A profile whose journal outlives a run, also on loopback, and which may read and delete keys."""
    changes = {"base_url": service.base_url, "journal": str(folder / "journal.jsonl"), "allow": READING, **changes}
    return write_profile(folder, changes.pop("base_url"), **changes)


def cleanup(profile, *options, answer=None, **variables):
    """The command, with a terminal that gives an answer, or without one: exit status and lines."""
    command = [sys.executable, "-m", "environments", "cleanup", str(profile), *options]
    stdin, terminal = subprocess.DEVNULL, None
    if answer is not None:
        terminal, stdin = pty.openpty()
        os.write(terminal, f"{answer}\n".encode())
    process = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(**TOKEN | variables),
        stdin=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    for descriptor in (terminal, stdin) if terminal is not None else ():
        os.close(descriptor)
    return process.returncode, (process.stdout + process.stderr).splitlines()


def test_a_key_that_a_run_registered_is_deleted(service, tmp_path):
    """It is named by its type and its place in pix_keys, and the record is closed."""
    holds(service, EMAIL, CPF)
    recorded(tmp_path, service, *REGISTERED_BY_A_RUN)
    profile = profile_of(tmp_path, service)

    assert cleanup(profile, "--yes") == (
        0,
        [
            "keys that earlier runs left:",
            "  EMAIL, the second of pix_keys: registered by a run, and not deleted",
            "deleted: EMAIL, the second of pix_keys",
        ],
    )
    assert keys_of(service) == {CPF}
    assert cleanup(profile, "--yes") == NOTHING


def test_a_key_that_the_list_does_not_show_is_closed(service, tmp_path):
    """It is gone, and if it comes back it is somebody's own."""
    recorded(tmp_path, service, *REGISTERED_BY_A_RUN)
    profile = profile_of(tmp_path, service)
    gone = "  EMAIL, the second of pix_keys: already gone"

    assert cleanup(profile, "--yes") == (0, ["keys that earlier runs left:", gone, "nothing to delete"])
    holds(service, EMAIL)
    assert cleanup(profile, "--yes")[1] == ["nothing to clean up: no earlier run left a key of profile"]
    assert keys_of(service) == {EMAIL}


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ([], {EMAIL}),
        ([(EMAIL, ABSENT), (EMAIL, SENT), (EMAIL, REFUSED)], {EMAIL}),
        ([*REGISTERED_BY_A_RUN, (EMAIL, GONE)], {EMAIL}),
        ([(EMAIL, SENT)], {EMAIL}),
        ([*REGISTERED_BY_A_RUN, (EMAIL, ABSENT), (EMAIL, SENT)], set()),
    ],
    ids=["never sent", "refused", "seen gone", "not seen absent", "registered once more"],
)
def test_only_a_key_that_a_run_is_known_to_have_registered_is_deleted(events, left, service, tmp_path):
    """One that was refused, seen gone since, or not seen absent before, stays; what a run found absent is its own."""
    holds(service, EMAIL)
    recorded(tmp_path, service, *events)

    assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0
    assert keys_of(service) == left


def test_a_key_that_a_later_run_found_absent_stays(service, tmp_path):
    """It was seen gone, although its registration was refused this time."""
    holds(service, EMAIL)
    recorded(tmp_path, service, *REGISTERED_BY_A_RUN)
    recorded(tmp_path, service, (EMAIL, ABSENT), (EMAIL, SENT), (EMAIL, REFUSED), run="later")

    assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0
    assert keys_of(service) == {EMAIL}


def test_a_key_that_a_run_sees_gone_is_closed(service, tmp_path):
    """Also by a run that only reads: if it comes back it is somebody's own."""
    recorded(tmp_path, service, *REGISTERED_BY_A_RUN)
    run(profile_of(tmp_path, service, allow=["read"]), "-k", "listPixKeys", "--no-report")
    holds(service, EMAIL)

    assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0
    assert keys_of(service) == {EMAIL}


class ListsNothingAfterADeletion(Service):
    """The list fails once a key was deleted."""

    fails = False

    def delete_pix_key(self, request, account_id):
        self.fails = True
        return super().delete_pix_key(request, account_id)

    def list_pix_keys(self, request, account_id):
        if self.fails:
            raise Refusal(500, "Something broke.")
        return super().list_pix_keys(request, account_id)


def test_a_key_whose_deletion_was_granted_is_not_deleted_again(tmp_path):
    """It is closed where the list cannot be read afterwards: by the next time it may be somebody's own."""
    service = ListsNothingAfterADeletion(token="Tok-3n.Of-The_Service")
    with Server(service) as server:
        service.base_url = server.base_url
        holds(service, EMAIL)
        recorded(tmp_path, service, *REGISTERED_BY_A_RUN)
        profile = profile_of(tmp_path, service)
        first = cleanup(profile, "--yes")
        service.fails = False
        holds(service, EMAIL)
        again = cleanup(profile, "--yes")

    assert first[1][-1] == "error: the list of keys cannot be read (500 application/json): nothing more is deleted"
    assert again == NOTHING
    assert keys_of(service) == {EMAIL}


def test_a_crashed_run_is_cleaned_up(service, tmp_path):
    """A key that was absent before, and whose registration was sent and never answered, is deleted where it is listed."""
    holds(service, EMAIL)
    recorded(tmp_path, service, (EMAIL, ABSENT), (EMAIL, SENT))

    status, lines = cleanup(profile_of(tmp_path, service), "--yes")

    assert (status, keys_of(service)) == (0, set())
    assert lines[1] == "  EMAIL, the second of pix_keys: absent before a run that may have registered it"


@pytest.mark.parametrize(
    ("answer", "left", "status", "said"),
    [
        ("y", set(), 0, "delete 1 key? [y/N] deleted: EMAIL, the second of pix_keys"),
        ("", {EMAIL}, 1, "delete 1 key? [y/N] nothing was deleted"),
        ("\x04", {EMAIL}, 1, "nothing was deleted"),
        ("no", {EMAIL}, 1, "delete 1 key? [y/N] nothing was deleted"),
        (None, {EMAIL}, 4, "error: standard input is not a terminal to ask on: --yes deletes 1 key"),
    ],
)
def test_it_asks(answer, left, status, said, service, tmp_path):
    """Without --yes a person is asked, and without a person nothing is deleted."""
    holds(service, EMAIL)
    recorded(tmp_path, service, (EMAIL, SENT), (EMAIL, REGISTERED))

    found = cleanup(profile_of(tmp_path, service), answer=answer)

    assert (found[0], found[1][-1], keys_of(service)) == (status, said, left)


@pytest.mark.parametrize(
    ("changes", "variables", "status", "said"),
    [
        ({"allow": ["read"]}, {}, 4, "cleanup deletes keys: add delete-keys to allow"),
        ({"requests": None}, {}, 4, "the profile does not say how a key is deleted: supply requests.deletePixKey"),
        ({}, {"PIX_TOKEN": ""}, 4, "PIX_TOKEN is empty in the environment; export PIX_TOKEN=…"),
        ({"journal": None}, {}, 0, "nothing to clean up: loopback is not recorded, unless the profile names a journal"),
        ({"base_url": "http://127.0.0.1:1"}, {}, 0, "nothing to clean up: no earlier run left a key of profile"),
        ({}, {"PIX_TOKEN": "another"}, 1, "the list of keys cannot be read (401 application/json): nothing more is deleted"),
    ],
    ids=["no permission", "no body", "no token", "no journal", "another origin", "a wrong token"],
)  # fmt: skip
def test_wrong_use_is_said_in_one_line(changes, variables, status, said, service, tmp_path):
    """Nothing is deleted, and the last line says what to do."""
    holds(service, EMAIL)
    recorded(tmp_path, service, (EMAIL, SENT), (EMAIL, REGISTERED))
    profile = profile_of(tmp_path, service, **changes)

    found, lines = cleanup(profile, "--yes", **variables)

    assert (found, keys_of(service)) == (status, {EMAIL})
    assert lines[-1].endswith(said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("nowhere",), "nowhere.yaml"), (("--yes",), "--help"), (("a", "b"), "--help"), (("a", "--force"), "--help")],
)
def test_a_wrong_command_line_is_said_in_one_line(arguments, said):
    """With exit status 4, as everywhere: 2 says that a run was interrupted."""
    status, lines = cleanup(*arguments)

    assert (status, len(lines)) == (4, 1)
    assert lines[0].startswith("error: ")
    assert said in lines[0]


def test_a_target_that_is_gone_is_said_in_one_line(service, tmp_path):
    """The exit status is that of a run whose target cannot be reached."""
    profile = profile_of(tmp_path, service, base_url="http://127.0.0.1:1")
    record = KeyRecord(tmp_path / "journal-keys.jsonl", origin="http://127.0.0.1:1", run="earlier")
    record.note("ac-0001", EMAIL, REGISTERED)

    status, lines = cleanup(profile, "--yes")

    assert status == 7
    assert lines[-1] == "error: http://127.0.0.1:1 cannot be reached: the connection is refused"


def test_the_record_holds_no_key(service, tmp_path):
    """A whole run writes digests, for its owner alone, and leaves nothing to clean up."""
    profile = profile_of(tmp_path, service, allow=[*EVERYTHING, "fuzz"])
    result = run(profile, "--no-report")
    record = tmp_path / "journal-keys.jsonl"
    text = record.read_text() + (tmp_path / "journal-keys.key").read_bytes().hex()

    assert not [value for value in (EMAIL, CPF, "ac-0001", "+5511955500777") if value in text], result.output
    assert record.stat().st_mode & 0o077 == 0
    assert keys_of(service) == set()
    assert cleanup(profile, "--yes") == NOTHING


def test_what_a_run_leaves_is_cleaned_up_later(service, tmp_path):
    """A run without delete-keys names its keys in one line, and the command deletes them."""
    may_not_delete = ["read", "register-keys"]
    result = run(profile_of(tmp_path, service, allow=may_not_delete))
    left = result.document["left_behind"]

    assert [item.split(" (")[0] for item in left] == [
        "PHONE, the first of pix_keys: registered and not deleted",
        "EMAIL, the second of pix_keys: registered and not deleted",
        "CNPJ, the fourth of pix_keys: registered and not deleted",
        "CPF, the fifth of pix_keys: registered and not deleted",
        "RANDOM, made by the service: registered and not deleted",
    ]
    assert [line for line in result.output.splitlines() if line.startswith("not cleaned up")] == [
        "not cleaned up: PHONE, the first of pix_keys, EMAIL, the second of pix_keys, CNPJ, the fourth of pix_keys and 2 more"
    ]
    page = (result.folder / "report.html").read_text()
    assert 'EMAIL, the second of pix_keys: registered and not deleted; exchanges <a href="#exchange-' in page

    assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0
    assert keys_of(service) == set()
