"""`python -m environments cleanup` deletes what earlier runs registered and left, and nothing else."""

from dataclasses import replace

import pytest

from environments.__main__ import main
from environments.door.key_record import MAYBE, REGISTERED
from environments.door.opening import record_of_keys
from environments.profiles.loading import load
from environments.sandbox import Key, Server, Service
from tests.selftest.promises.test_keys import keys_of, left_by
from tests.selftest.services.one_run import UNUSED_ADDRESS, profile_off_sandbox, run_suite_in_memory
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile

EMAIL, CPF, OURS = "qa@pix-conformance.example", "13579246828", "pixconf-1@example.com"
KINDS = {EMAIL: "EMAIL", CPF: "CPF", OURS: "EMAIL", "a7": "RANDOM"}
BY_A_RUN = ((EMAIL, MAYBE), (EMAIL, REGISTERED))
NOTHING = (0, ["nothing to clean up: no earlier run left a key of profile"])
NO_SANDBOX = {"sandbox": None, "key_at": "/data/keys/*/pixKey"}
DISPOSABLE = {**NO_SANDBOX, "pix_keys": [{"type": "EMAIL", "key": EMAIL, "disposable": True}]}


@pytest.fixture
def service():
    """The sandbox on a port of its own, where keys were registered behind everybody's back."""
    sandbox = Service(token=TOKEN_VARIABLES["PIX_TOKEN"])
    with sandbox.database.transaction() as ledger:
        for key, kind in KINDS.items():
            ledger.add_key(Key(key, kind, "ac-0001"))
    with Server(sandbox) as server:
        sandbox.base_url = server.base_url
        yield sandbox


def gone_from(service):
    """The keys that the first account does not have any more."""
    return KINDS.keys() - keys_of(service)


def profile_of(folder, service, *events, at=None, **changes):
    """A profile that may read and delete keys, and the events in its record beside the journal, as runs write them,
    with `--base-url` those at that address."""
    changes = {"journal": str(folder / "journal.jsonl"), "allow": ["read", "delete-keys"], **changes}
    profile = write_profile(folder, changes.pop("base_url", service.base_url), **changes)
    record = record_of_keys(load(str(profile), folder=folder, base_url=at), run="earlier")
    for key, event in events:
        record.note("ac-0001", KINDS.get(key, "RANDOM"), key, event, ours=key not in (EMAIL, CPF))
    return profile


@pytest.fixture
def cleanup(capsys, monkeypatch):
    """The command: exit status and lines."""

    def run(profile, *options, token=TOKEN_VARIABLES["PIX_TOKEN"]):
        monkeypatch.setenv("PIX_TOKEN", token)
        status = main(["cleanup", str(profile), *options])
        out, err = capsys.readouterr()
        return status, (out + err).splitlines()

    return run


def test_a_key_that_a_run_registered_is_deleted(cleanup, service, tmp_path):
    """It is named by its type and its place in pix_keys, and the record is closed. Without --yes it is only listed, which
    needs no permission."""
    listed = cleanup(profile_of(tmp_path, service, *BY_A_RUN, allow=["read"]))
    profile = profile_of(tmp_path, service)

    named = "left by an earlier run: EMAIL, number 2 of pix_keys"
    assert listed == (1, [named, "nothing was deleted: --yes deletes the keys for which no reason is given"])
    assert cleanup(profile, "--yes") == (0, [named, "gone: EMAIL, number 2 of pix_keys (200 application/json)"])
    assert gone_from(service) == {EMAIL}
    assert cleanup(profile, "--yes") == NOTHING


def test_a_key_that_nobody_can_name_is_listed(cleanup, service, tmp_path):
    """A generated one that was perhaps registered has no bytes in UTF-8. One without a value is named by its request,
    and forgotten, as key_at is set."""
    status, lines = cleanup(profile_of(tmp_path, service, ("\ud800\n", MAYBE), (None, MAYBE), **NO_SANDBOX), "--yes")
    [*left, _] = cleanup(profile_of(tmp_path, service, **NO_SANDBOX))[1]

    assert (status, lines[0].startswith(r"left by an earlier run: RANDOM \ud800\n: ")) == (1, True)
    assert lines[1].startswith("left by an earlier run: RANDOM (of a request at 20")
    assert lines[0].endswith("a service may read its name as another one: delete it by hand")
    assert lines[2:] == []
    assert left == lines[:1]


@pytest.mark.parametrize(
    ("events", "changes", "gone"),
    [
        ([(EMAIL, MAYBE)], {}, {EMAIL}),
        (BY_A_RUN, NO_SANDBOX, set()),
        ([(EMAIL, MAYBE)], DISPOSABLE, set()),
        ([(EMAIL, REGISTERED)], DISPOSABLE, {EMAIL}),
        ([(OURS, MAYBE), ("a7", REGISTERED)], NO_SANDBOX, {OURS, "a7"}),
    ],
)
def test_only_a_key_that_is_disposable_is_deleted(events, changes, gone, cleanup, service, tmp_path):
    """A key of the profile stays elsewhere than on a sandbox, also if no run knows whether it registered it: lists may
    have hidden that it was there before."""
    cleanup(profile_of(tmp_path, service, *events, **changes), "--yes")

    assert gone_from(service) == gone


def test_keys_of_another_address_are_deleted_there(cleanup, service, tmp_path):
    """A run with --base-url has a record of its own: what it left is not deleted at the address of the profile."""
    profile = profile_of(tmp_path, service, *BY_A_RUN, at=service.base_url, base_url="https://a.test", **DISPOSABLE)

    assert cleanup(profile, "--yes") == NOTHING
    assert not cleanup(profile, "--yes", f"--base-url={service.base_url}")[0]


def test_the_address_of_the_profile_is_no_other(cleanup, service, tmp_path):
    """A run that names the address of the profile in --base-url has the record of the profile."""
    profile = profile_of(tmp_path, service, *BY_A_RUN, at=service.base_url)

    assert cleanup(profile)[0] == 1


@pytest.mark.parametrize(
    ("changes", "token", "status", "said"),
    [
        ({"allow": ["read"]}, "t", 4, "cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey"),
        ({}, "another", 1, "not deleted: EMAIL, number 2 of pix_keys (401 application/json)"),
        (
            {"base_url": "http://127.0.0.1:1"}, TOKEN_VARIABLES["PIX_TOKEN"], 7,
            "error: http://127.0.0.1:1 cannot be reached: the connection is refused",
        ),
    ],
)  # fmt: skip
def test_wrong_use_is_said_in_one_line(changes, token, status, said, cleanup, service, tmp_path):
    """Nothing is deleted, and the last line says what to do."""
    ended, lines = cleanup(profile_of(tmp_path, service, *BY_A_RUN, **changes), "--yes", token=token)

    assert (ended, gone_from(service)) == (status, set())
    assert lines[-1].endswith(said)


def test_what_a_run_leaves_is_cleaned_up_later(cleanup, tmp_path):
    """A run without delete-keys names its keys one by one, and its record holds them without a value of the profile."""
    service = Service(token=TOKEN_VARIABLES["PIX_TOKEN"])
    before = keys_of(service)
    profile = profile_off_sandbox(tmp_path, allow=["read", "register-keys"], sandbox=UNUSED_ADDRESS, transactions=None)
    record = tmp_path / "keys-profile.jsonl"
    with Server(service) as server:
        of_the_server = replace(profile, base_url=server.base_url, sandbox=server.base_url)
        model = run_suite_in_memory(service, of_the_server, "registerPixKey")
        written = record.read_text()
        service.base_url = server.base_url
        assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0

    assert [line.partition(",")[0] for line in left_by(model)] == ["PHONE", "EMAIL", "CNPJ", "CPF", "RANDOM"]
    assert len(written.splitlines()) == 5
    assert not [value for value in (EMAIL, CPF, "+5511955500777") if value in written]
    assert record.stat().st_mode & 0o077 == 0
    assert keys_of(service) == before
    assert record.read_text() == ""
