"""`python -m environments cleanup` deletes what earlier runs registered and left, and nothing else."""

from dataclasses import replace

import pytest

from environments.__main__ import main
from environments.door.key_record import MAYBE, REGISTERED
from environments.door.opening import record_of_keys
from environments.profiles.loading import load
from environments.sandbox import Key, Server, Service
from tests.selftest.promises.test_keys import keys_left, keys_of_first_account
from tests.selftest.services.one_run import UNUSED_ADDRESS, profile_off_sandbox, run_suite_in_memory
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile

EMAIL, CPF, SYNTHETIC_KEY = "qa@pix-conformance.example", "13579246828", "pixconf-1@example.com"
KEY_TYPES = {EMAIL: "EMAIL", CPF: "CPF", SYNTHETIC_KEY: "EMAIL", "a7": "RANDOM"}
EVENTS_OF_A_RUN = ((EMAIL, MAYBE), (EMAIL, REGISTERED))
NOTHING = (0, ["nothing to clean up: no earlier run left a key of profile"])
OFF_SANDBOX = {"sandbox": None, "key_at": "/data/keys/*/pixKey"}
DISPOSABLE = {**OFF_SANDBOX, "pix_keys": [{"type": "EMAIL", "key": EMAIL, "disposable": True}]}


@pytest.fixture
def service():
    """The sandbox on a port of its own, whose first account has one key of each type in KEY_TYPES."""
    sandbox = Service(token=TOKEN_VARIABLES["PIX_TOKEN"])
    with sandbox.database.transaction() as ledger:
        for key, kind in KEY_TYPES.items():
            ledger.add_key(Key(key, kind, "ac-0001"))
    with Server(sandbox) as server:
        sandbox.base_url = server.base_url
        yield sandbox


def keys_deleted(service):
    """The keys of KEY_TYPES that the first account does not have any more."""
    return KEY_TYPES.keys() - keys_of_first_account(service)


def profile_with_events(folder, service, *events, at=None, **changes):
    """A profile that may read and delete keys.

    Its key record has these events of an earlier run, at the address of the profile or at `at`.
    """
    changes = {"journal": str(folder / "journal.jsonl"), "allow": ["read", "delete-keys"], **changes}
    profile = write_profile(folder, changes.pop("base_url", service.base_url), **changes)
    record = record_of_keys(load(str(profile), folder=folder, base_url=at), run="earlier")
    for key, event in events:
        record.note("ac-0001", KEY_TYPES.get(key, "RANDOM"), key, event, ours=key not in (EMAIL, CPF))
    return profile


@pytest.fixture
def cleanup(capsys, monkeypatch):
    """Runs the command: exit status and lines."""

    def run_cleanup(profile, *options, token=TOKEN_VARIABLES["PIX_TOKEN"]):
        monkeypatch.setenv("PIX_TOKEN", token)
        status = main(["cleanup", str(profile), *options])
        out, err = capsys.readouterr()
        return status, (out + err).splitlines()

    return run_cleanup


def test_a_key_that_a_run_registered_is_deleted(cleanup, service, tmp_path):
    """A line names the key by its type and its place in pix_keys, and the record is closed.

    Without --yes the key is only listed, which needs no permission.
    """
    result_without_yes = cleanup(profile_with_events(tmp_path, service, *EVENTS_OF_A_RUN, allow=["read"]))
    profile = profile_with_events(tmp_path, service)

    line_about_key = "left by an earlier run: EMAIL, number 2 of pix_keys"
    assert result_without_yes == (
        1,
        [line_about_key, "nothing was deleted: --yes deletes the keys for which no reason is given"],
    )
    assert cleanup(profile, "--yes") == (
        0,
        [line_about_key, "gone: EMAIL, number 2 of pix_keys (200 application/json)"],
    )
    assert keys_deleted(service) == {EMAIL}
    assert cleanup(profile, "--yes") == NOTHING


def test_a_key_that_nobody_can_name_is_listed(cleanup, service, tmp_path):
    """A generated key without bytes in UTF-8 stays listed.

    A key without a value is named by its request, and forgotten, because key_at is set.
    """
    status, lines = cleanup(
        profile_with_events(tmp_path, service, ("\ud800\n", MAYBE), (None, MAYBE), **OFF_SANDBOX), "--yes"
    )
    [*lines_of_next_cleanup, _] = cleanup(profile_with_events(tmp_path, service, **OFF_SANDBOX))[1]

    assert status == 1
    assert lines[0].startswith(r"left by an earlier run: RANDOM \ud800\n: ")
    assert lines[1].startswith("left by an earlier run: RANDOM (of a request at 20")
    assert lines[0].endswith("a service may read its name as another one: delete it by hand")
    assert lines[2:] == []
    assert lines_of_next_cleanup == lines[:1]


@pytest.mark.parametrize(
    ("events", "changes", "deleted"),
    [
        ([(EMAIL, MAYBE)], {}, {EMAIL}),
        (EVENTS_OF_A_RUN, OFF_SANDBOX, set()),
        ([(EMAIL, MAYBE)], DISPOSABLE, set()),
        ([(EMAIL, REGISTERED)], DISPOSABLE, {EMAIL}),
        ([(SYNTHETIC_KEY, MAYBE), ("a7", REGISTERED)], OFF_SANDBOX, {SYNTHETIC_KEY, "a7"}),
    ],
)
def test_only_a_key_that_is_disposable_is_deleted(events, changes, deleted, cleanup, service, tmp_path):
    """Off a sandbox a key of the profile stays unless it is disposable and was registered for sure, because a list
    may have hidden it before the run.
    """
    cleanup(profile_with_events(tmp_path, service, *events, **changes), "--yes")

    assert keys_deleted(service) == deleted


def test_keys_of_another_address_are_deleted_at_that_address(cleanup, service, tmp_path):
    """A run with --base-url has a key record of its own, so its keys are not deleted at the address of the profile."""
    profile = profile_with_events(
        tmp_path, service, *EVENTS_OF_A_RUN, at=service.base_url, base_url="https://a.test", **DISPOSABLE
    )

    assert cleanup(profile, "--yes") == NOTHING
    assert not cleanup(profile, "--yes", f"--base-url={service.base_url}")[0]


def test_base_url_with_the_address_of_the_profile_has_the_same_record(cleanup, service, tmp_path):
    """A run that gives the address of the profile in --base-url writes to the record of the profile."""
    profile = profile_with_events(tmp_path, service, *EVENTS_OF_A_RUN, at=service.base_url)

    assert cleanup(profile)[0] == 1


@pytest.mark.parametrize(
    ("changes", "token", "expected_status", "line"),
    [
        ({"allow": ["read"]}, "t", 4, "cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey"),
        ({}, "another", 1, "not deleted: EMAIL, number 2 of pix_keys (401 application/json)"),
        (
            {"base_url": "http://127.0.0.1:1"}, TOKEN_VARIABLES["PIX_TOKEN"], 7,
            "error: http://127.0.0.1:1 cannot be reached: the connection is refused",
        ),
    ],
)  # fmt: skip
def test_wrong_use_ends_with_one_line_and_deletes_nothing(
    changes, token, expected_status, line, cleanup, service, tmp_path
):
    """The line says what to do."""
    status, lines = cleanup(profile_with_events(tmp_path, service, *EVENTS_OF_A_RUN, **changes), "--yes", token=token)

    assert status == expected_status
    assert keys_deleted(service) == set()
    assert lines[-1].endswith(line)


def test_keys_that_a_run_left_are_deleted_later(cleanup, tmp_path):
    """A run without delete-keys lists its keys. The record of keys has no value of the profile's keys."""
    service = Service(token=TOKEN_VARIABLES["PIX_TOKEN"])
    keys_before = keys_of_first_account(service)
    profile = profile_off_sandbox(tmp_path, allow=["read", "register-keys"], sandbox=UNUSED_ADDRESS, transactions=None)
    record = tmp_path / "keys-profile.jsonl"
    with Server(service) as server:
        profile_at_server = replace(profile, base_url=server.base_url, sandbox=server.base_url)
        model = run_suite_in_memory(service, profile_at_server, "registerPixKey")
        record_text = record.read_text()
        service.base_url = server.base_url
        assert cleanup(profile_with_events(tmp_path, service), "--yes")[0] == 0

    assert [line.partition(",")[0] for line in keys_left(model)] == ["PHONE", "EMAIL", "CNPJ", "CPF", "RANDOM"]
    assert len(record_text.splitlines()) == 5
    assert not [value for value in (EMAIL, CPF, "+5511955500777") if value in record_text]
    assert record.stat().st_mode & 0o077 == 0
    assert keys_of_first_account(service) == keys_before
    assert record.read_text() == ""
