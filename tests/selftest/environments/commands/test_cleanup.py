"""`python -m environments cleanup` deletes what earlier runs registered and left, and nothing else."""

import re
from dataclasses import replace

import pytest

from environments.__main__ import main
from environments.door.key_record import MAYBE, REGISTERED
from environments.door.opening import record_of_keys
from environments.profiles.loading import load
from environments.sandbox import Key, Server, Service
from tests.selftest.promises.test_keys import keys_left, keys_of_first_account
from tests.selftest.services.one_run import profile_of_sandbox, run_suite_in_memory
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile

EMAIL, CPF, MADE_UP_KEY, RANDOM_KEY = "qa@pix-conformance.example", "13579246828", "pixconf-1@example.com", "a7"
"""Two keys of the profile (the settings of the run), one that the suite made up, and one that the service made."""
KEY_TYPES = {EMAIL: "EMAIL", CPF: "CPF", MADE_UP_KEY: "EMAIL", RANDOM_KEY: "RANDOM"}
KEYS_OF_PROFILE = (EMAIL, CPF)
EMAIL_WAS_REGISTERED = ((EMAIL, MAYBE), (EMAIL, REGISTERED))
"""Events in the key record (a file) of an earlier run: the e-mail key was sent, and its registration succeeded."""
NOTHING_TO_CLEAN_UP = (0, ["nothing to clean up: no earlier run left a key of profile"])
OFF_SANDBOX = {"sandbox": None, "key_at": "/data/keys/*/pixKey"}
"""Settings of a profile whose target is not a sandbox (a test system). `key_at` says where a list has its keys."""
DISPOSABLE = {**OFF_SANDBOX, "pix_keys": [{"type": "EMAIL", "key": EMAIL, "disposable": True}]}
"""The same, with a key that the run may delete."""


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


def deleted_keys(service):
    """The keys of KEY_TYPES that the first account does not have any more."""
    return KEY_TYPES.keys() - keys_of_first_account(service)


def profile_with_events(folder, service, *events, address_of_earlier_run=None, **changes):
    """The path of a profile (the settings of a run) that permits to read and to delete keys.

    An earlier run has written these events to the key record of the profile, the file that names the keys which runs
    left. Each event is a key and what became of it, such as `(EMAIL, REGISTERED)`. The run was sent to the address of
    the profile, or to `address_of_earlier_run`. `changes` are keys of the profile.
    """
    settings = {"journal": str(folder / "journal.jsonl"), "allow": ["read", "delete-keys"], **changes}
    base_url = settings.pop("base_url", service.base_url)
    profile = write_profile(folder, base_url, **settings)
    record = record_of_keys(load(str(profile), folder=folder, base_url=address_of_earlier_run), run="earlier")
    for key, event in events:
        was_made_up = key not in KEYS_OF_PROFILE
        record.note("ac-0001", KEY_TYPES.get(key, "RANDOM"), key, event, ours=was_made_up)
    return profile


@pytest.fixture
def cleanup(capsys, monkeypatch):
    """A function that runs `python -m environments cleanup` with a profile. It returns the exit status and the lines
    printed.
    """

    def run_cleanup(profile, *options, token=TOKEN_VARIABLES["PIX_TOKEN"]):
        """Run the command with this token, and return its exit status and the lines that it printed."""
        monkeypatch.setenv("PIX_TOKEN", token)
        status = main(["cleanup", str(profile), *options])
        out, err = capsys.readouterr()
        return status, (out + err).splitlines()

    return run_cleanup


LINE_ABOUT_EMAIL = "left by an earlier run: EMAIL, number 2 of pix_keys"
"""The command names a key of the profile by its type and its place in the profile, because its value is personal."""


def test_without_yes_a_key_of_an_earlier_run_is_only_listed(cleanup, service, tmp_path):
    """An earlier run registered a key and did not delete it. Without --yes the command needs no permission to
    delete."""
    profile = profile_with_events(tmp_path, service, *EMAIL_WAS_REGISTERED, allow=["read"])
    status, lines = cleanup(profile)

    assert status == 1
    assert lines == [LINE_ABOUT_EMAIL, "nothing was deleted: --yes deletes the keys for which no reason is given"]
    assert deleted_keys(service) == set()


def test_with_yes_a_key_of_an_earlier_run_is_deleted(cleanup, service, tmp_path):
    """An earlier run registered a key and did not delete it. After its deletion nothing is left to clean up."""
    profile = profile_with_events(tmp_path, service, *EMAIL_WAS_REGISTERED)
    status, lines = cleanup(profile, "--yes")
    keys_after_first_cleanup = deleted_keys(service)
    result_of_second_cleanup = cleanup(profile, "--yes")

    assert status == 0
    assert lines == [LINE_ABOUT_EMAIL, "gone: EMAIL, number 2 of pix_keys (200 application/json)"]
    assert keys_after_first_cleanup == {EMAIL}
    assert result_of_second_cleanup == NOTHING_TO_CLEAN_UP


KEY_THAT_IS_NO_TEXT = "\ud800\n"
"""A key that the property tests made up: half of a surrogate pair and a line end, which no deletion can name."""


def test_a_key_that_no_deletion_can_name_is_left_to_people(cleanup, service, tmp_path):
    """An earlier run sent a key with characters that a service may read as another key. It is not deleted.

    The line says that somebody has to delete it by hand, and a second cleanup lists it again.
    """
    profile = profile_with_events(tmp_path, service, (KEY_THAT_IS_NO_TEXT, MAYBE), **OFF_SANDBOX)
    status, [line] = cleanup(profile, "--yes")
    _, [line_of_second_cleanup, _] = cleanup(profile)

    assert status == 1
    assert line.startswith(r"left by an earlier run: RANDOM \ud800\n: ")
    assert line.endswith("a service may take its value for that of another key: delete it by hand")
    assert line_of_second_cleanup == line


def test_a_key_of_unknown_value_is_listed_once(cleanup, service, tmp_path):
    """An earlier run perhaps registered a RANDOM key, which the service makes, so nobody knows its value.

    The command cannot delete such a key. It prints the time of its registration, so that a person can look for it in
    the list of keys. Then it removes the key from the key record (the file of the keys that runs left), because no run
    registers a RANDOM key while such a key is in it.
    """
    profile = profile_with_events(tmp_path, service, (None, MAYBE), **OFF_SANDBOX)
    _, [first_line, *_] = cleanup(profile, "--yes")
    result_of_second_cleanup = cleanup(profile)

    assert re.match(r"left by an earlier run: RANDOM \(of a request at \d{4}-\d\d-\d\d", first_line)
    assert result_of_second_cleanup == NOTHING_TO_CLEAN_UP


@pytest.mark.parametrize(
    ("is_disposable", "event", "keys_that_are_deleted"),
    [(True, REGISTERED, {EMAIL}), (True, MAYBE, set()), (False, REGISTERED, set())],
    ids=["disposable, and registered for sure", "disposable, and perhaps registered", "not disposable"],
)
def test_off_a_sandbox_only_a_disposable_key_of_the_profile_is_deleted(
    is_disposable, event, keys_that_are_deleted, cleanup, service, tmp_path
):
    """An earlier run left a key of the profile (the settings of the run). It is deleted if the profile calls it
    `disposable`, and if the key record (the file that names the keys which runs left) says that the registration
    succeeded.

    Without that success the key may have been there before the run, so it may be the key of a person.
    """
    pix_keys = [{"type": "EMAIL", "key": EMAIL, "disposable": is_disposable}]
    profile = profile_with_events(tmp_path, service, (EMAIL, event), pix_keys=pix_keys, **OFF_SANDBOX)
    cleanup(profile, "--yes")

    assert deleted_keys(service) == keys_that_are_deleted


def test_on_a_sandbox_a_key_of_the_profile_that_was_perhaps_registered_is_deleted(cleanup, service, tmp_path):
    """Nobody's real key is on a sandbox (a test system). So a key of the profile (the settings of the run) need not be
    called `disposable` there, and its registration need not have succeeded for sure.
    """
    cleanup(profile_with_events(tmp_path, service, (EMAIL, MAYBE)), "--yes")

    assert deleted_keys(service) == {EMAIL}


def test_keys_that_the_suite_or_the_service_made_are_deleted(cleanup, service, tmp_path):
    """An earlier run registered a key that the suite made up, and a RANDOM key, which the service made.

    Both belong to nobody else, so they are deleted even if the target is not a sandbox (a test system).
    """
    events = ((MADE_UP_KEY, MAYBE), (RANDOM_KEY, REGISTERED))
    cleanup(profile_with_events(tmp_path, service, *events, **OFF_SANDBOX), "--yes")

    assert deleted_keys(service) == {MADE_UP_KEY, RANDOM_KEY}


def test_keys_of_another_address_are_deleted_at_that_address_alone(cleanup, service, tmp_path):
    """An earlier run had another address in --base-url than its profile (its settings), and registered a key there.

    So at the address of the profile there is nothing to clean up. With the same --base-url the key is deleted.
    """
    profile = profile_with_events(
        tmp_path, service, *EMAIL_WAS_REGISTERED,
        address_of_earlier_run=service.base_url, base_url="https://a.test", **DISPOSABLE,
    )  # fmt: skip
    result_at_address_of_profile = cleanup(profile, "--yes")
    status_at_other_address, _ = cleanup(profile, "--yes", f"--base-url={service.base_url}")

    assert result_at_address_of_profile == NOTHING_TO_CLEAN_UP
    assert status_at_other_address == 0


def test_base_url_with_the_address_of_the_profile_has_the_same_record(cleanup, service, tmp_path):
    """An earlier run gave the address of its profile (its settings) in --base-url. It wrote its keys to the key record
    of the profile, the file that names the keys which runs left.

    So a cleanup without --base-url finds the key that it left, and ends with status 1.
    """
    profile = profile_with_events(tmp_path, service, *EMAIL_WAS_REGISTERED, address_of_earlier_run=service.base_url)
    status, lines = cleanup(profile)

    assert status == 1
    assert LINE_ABOUT_EMAIL in lines


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
    ids=["the profile does not permit deletions", "the service refuses the token", "the service cannot be reached"],
)  # fmt: skip
def test_a_cleanup_that_is_not_possible_deletes_nothing_and_says_why(
    changes, token, expected_status, line, cleanup, service, tmp_path
):
    """An earlier run left a key. The last line says why it cannot be deleted, or what to do."""
    status, lines = cleanup(
        profile_with_events(tmp_path, service, *EMAIL_WAS_REGISTERED, **changes), "--yes", token=token
    )

    assert status == expected_status
    assert deleted_keys(service) == set()
    assert lines[-1].endswith(line)


class RunThatMayNotDelete:
    """A whole run that registers one key of each type at a sandbox, and may not delete them. It is made by the `with`
    block.

    The run calls the service inside this process. Its profile (its settings) has the address at which the service
    listens inside the block: `cleanup` sends HTTP there, and the key record (the file that names the keys which a run
    left) belongs to one address.
    """

    def __init__(self, folder):
        """The service and the path of the key record, before the run. Both are in this process and this folder."""
        self.service = Service(token=TOKEN_VARIABLES["PIX_TOKEN"])
        self.keys_before = keys_of_first_account(self.service)
        self.record = folder / "keys-profile.jsonl"
        self._folder = folder

    def __enter__(self):
        """Start the server at which the service listens afterwards, and make the run."""
        self._server = Server(self.service)
        address = self._server.__enter__().base_url
        self.service.base_url = address
        profile = profile_of_sandbox(self._folder, allow=["read", "register-keys"], transactions=None)
        self.result = run_suite_in_memory(
            self.service, replace(profile, base_url=address, sandbox=address), selected="registerPixKey"
        )
        return self

    def __exit__(self, *reason):
        """Stop the server."""
        self._server.__exit__(*reason)


def test_keys_that_a_run_left_are_deleted_later(cleanup, tmp_path):
    """A run that may register keys and not delete them leaves one key of each type. Its report lists them.

    `python -m environments cleanup` deletes them, and the key record (the file that names them) is empty afterwards.
    """
    with RunThatMayNotDelete(tmp_path) as run:
        types_of_keys_left = [line.partition(",")[0] for line in keys_left(run.result)]
        entries_after_run = run.record.read_text().splitlines()
        status_of_cleanup, _ = cleanup(profile_with_events(tmp_path, run.service), "--yes")

    assert types_of_keys_left == ["PHONE", "EMAIL", "CNPJ", "CPF", "RANDOM"]
    assert len(entries_after_run) == len(types_of_keys_left)
    assert status_of_cleanup == 0
    assert keys_of_first_account(run.service) == run.keys_before
    assert run.record.read_text() == ""


def test_the_record_of_a_run_does_not_show_the_keys_of_the_profile(tmp_path):
    """The key record is the file that names the keys which a run left. Only its owner can read it.

    It does not have the keys of the profile (the settings of the run), because they are personal.
    """
    email, cpf, phone = EMAIL, CPF, "+5511955500777"
    with RunThatMayNotDelete(tmp_path) as run:
        text = run.record.read_text()
        permissions_of_others = run.record.stat().st_mode & 0o077
    values_in_record = [value for value in (email, cpf, phone) if value in text]

    assert values_in_record == []
    assert text != ""
    assert permissions_of_others == 0
