"""`python -m environments cleanup` deletes what earlier runs registered and left, and nothing else."""

import subprocess
import sys

import pytest

from environments.door.event_log import GONE, MAYBE, REGISTERED
from environments.door.opening import record_of_keys
from environments.profiles.loading import load
from environments.sandbox import Key, Server, Service
from tests.selftest.services.one_run import EVERYTHING
from tests.selftest.services.running import ROOT, TOKEN, environment, run, write_profile

EMAIL, CPF = "qa@pix-conformance.example", "13579246828"
KINDS = {EMAIL: "EMAIL", CPF: "CPF"}
READING = ["read", "delete-keys"]
REGISTERED_BY_A_RUN = ((EMAIL, MAYBE), (EMAIL, REGISTERED))
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


def recorded(profile, *events):
    """Write events into the record beside the journal of the profile, as a run does."""
    record = record_of_keys(load(str(profile), folder=profile.parent), run="earlier")
    for key, event in events:
        record.note("ac-0001", KINDS[key], key, event, ours=False)
    return record


def profile_of(folder, service, **changes):
    """A profile whose journal outlives a run, also on loopback, and which may read and delete keys."""
    changes = {"base_url": service.base_url, "journal": str(folder / "journal.jsonl"), "allow": READING, **changes}
    return write_profile(folder, changes.pop("base_url"), **changes)


def cleanup(profile, *options, **variables):
    """The command: exit status and lines."""
    command = [sys.executable, "-m", "environments", "cleanup", str(profile), *options]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment(**TOKEN | variables), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    return ended.returncode, (ended.stdout + ended.stderr).splitlines()


def test_a_key_that_a_run_registered_is_deleted(service, tmp_path):
    """It is named by its type and its place in pix_keys, and the record is closed."""
    holds(service, EMAIL, CPF)
    profile = profile_of(tmp_path, service)
    recorded(profile, *REGISTERED_BY_A_RUN)

    assert cleanup(profile, "--yes") == (
        0,
        ["left by an earlier run: EMAIL, the second of pix_keys", "deleted: EMAIL, the second of pix_keys"],
    )
    assert keys_of(service) == {CPF}
    assert cleanup(profile, "--yes") == NOTHING


@pytest.mark.parametrize(
    ("events", "changes", "left"),
    [
        ([], {}, {EMAIL}),
        ([*REGISTERED_BY_A_RUN, (EMAIL, GONE)], {}, {EMAIL}),
        ([(EMAIL, MAYBE)], {}, set()),
        ([(EMAIL, MAYBE)], {"sandbox": None}, {EMAIL}),
        ([(EMAIL, MAYBE)], {"sandbox": None, "pix_keys": [{"type": "EMAIL", "key": EMAIL, "disposable": True}]}, set()),
        ([*REGISTERED_BY_A_RUN], {"sandbox": None}, {EMAIL}),
    ],
    ids=["never sent", "seen gone", "a sandbox", "perhaps", "disposable", "registered"],
)
def test_only_a_key_that_is_disposable_is_deleted(events, changes, left, service, tmp_path):
    """A key of the profile stays elsewhere than on a sandbox: lists may have hidden that it was there before."""
    holds(service, EMAIL)
    profile = profile_of(tmp_path, service, **changes)
    recorded(profile, *events)
    cleanup(profile, "--yes")

    assert keys_of(service) == left


def test_synthetic_and_made_keys_are_deleted_by_their_value(service, tmp_path):
    """The record has them in clear; one that is perhaps registered is deleted, too."""
    profile = profile_of(tmp_path, service)
    record = recorded(profile)
    with service.database.transaction() as ledger:
        ledger.add_key(Key("pixconf-1@example.com", "EMAIL", "ac-0001"))
        ledger.add_key(Key("a7", "RANDOM", "ac-0001"))
    record.note("ac-0001", "EMAIL", "pixconf-1@example.com", MAYBE, ours=True)
    record.note("ac-0001", "RANDOM", "a7", REGISTERED, ours=True)

    status, lines = cleanup(profile, "--yes")

    assert (status, lines[-2:]) == (0, ["deleted: EMAIL pixconf-1@example.com", "deleted: RANDOM a7"])
    with service.database.transaction() as ledger:
        assert not {"pixconf-1@example.com", "a7"} & {key.key for key in ledger.keys("ac-0001")}


def test_a_key_whose_value_is_unknown_is_forgotten_once_key_at_is_set(service, tmp_path):
    """Until then it is named each time, as it has to be deleted by hand."""
    without, with_it = profile_of(tmp_path, service, key_at=None), {}
    recorded(without).note("ac-0001", "RANDOM", None, REGISTERED, ours=True)
    said = [cleanup(without, "--yes") for _ in range(2)]
    with_it = profile_of(tmp_path, service)

    assert [(status, "its value is not known" in lines[0]) for status, lines in said] == [(1, True)] * 2
    assert cleanup(with_it, "--yes")[0] == 1
    assert cleanup(with_it, "--yes") == NOTHING


def test_nothing_is_deleted_without_yes(service, tmp_path):
    """The keys are listed."""
    holds(service, EMAIL)
    profile = profile_of(tmp_path, service)
    recorded(profile, *REGISTERED_BY_A_RUN)

    status, lines = cleanup(profile)

    assert (status, keys_of(service)) == (1, {EMAIL})
    assert lines[0] == "left by an earlier run: EMAIL, the second of pix_keys"
    assert lines[1].startswith("nothing was deleted: --yes ")


@pytest.mark.parametrize(
    ("changes", "variables", "status", "said"),
    [
        ({"allow": ["read"]}, {}, 4, "cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey"),
        ({"requests": None}, {}, 4, "cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey"),
        ({}, {"PIX_TOKEN": ""}, 4, "PIX_TOKEN is not set in the environment; export PIX_TOKEN=…"),
        ({}, {"PIX_TOKEN": "another"}, 1, "not deleted: EMAIL, the second of pix_keys (401 application/json)"),
    ],
    ids=["no permission", "no body", "no token", "a wrong token"],
)  # fmt: skip
def test_wrong_use_is_said_in_one_line(changes, variables, status, said, service, tmp_path):
    """Nothing is deleted, and the last line says what to do."""
    holds(service, EMAIL)
    recorded(profile_of(tmp_path, service), *REGISTERED_BY_A_RUN)
    profile = profile_of(tmp_path, service, **changes)

    found, lines = cleanup(profile, "--yes", **variables)

    assert (found, keys_of(service)) == (status, {EMAIL})
    assert lines[-1].endswith(said)


def test_a_target_that_is_gone_is_said_in_one_line(service, tmp_path):
    """The exit status is that of a run whose target cannot be reached."""
    profile = profile_of(tmp_path, service, base_url="http://127.0.0.1:1")
    recorded(profile, *REGISTERED_BY_A_RUN)

    status, lines = cleanup(profile, "--yes")

    assert status == 7
    assert lines[-1] == "error: http://127.0.0.1:1 cannot be reached: the connection is refused"


def test_a_whole_run_leaves_nothing_to_clean_up(service, tmp_path):
    """The record is there, and holds no open entry."""
    profile = profile_of(tmp_path, service, allow=[*EVERYTHING, "fuzz"])
    result = run(profile, "--no-report")

    assert (tmp_path / "keys-profile.jsonl").read_text() == "", result.output
    assert keys_of(service) == set()
    assert cleanup(profile, "--yes") == NOTHING


def test_what_a_run_leaves_is_cleaned_up_later(service, tmp_path):
    """A run without delete-keys names its keys one by one, and the command deletes them."""
    may_not_delete = ["read", "register-keys"]
    result = run(profile_of(tmp_path, service, allow=may_not_delete, transactions=None))
    left = result.document["left_behind"]

    assert [item.split(" (")[0] for item in left] == [
        "PHONE, the first of pix_keys: registered and not deleted",
        "EMAIL, the second of pix_keys: registered and not deleted",
        "CNPJ, the fourth of pix_keys: registered and not deleted",
        "CPF, the fifth of pix_keys: registered and not deleted",
        "RANDOM, made by the service: registered and not deleted",
    ]
    assert [line for line in result.output.splitlines() if line.startswith("not cleaned up")] == [
        f"not cleaned up: {item}" for item in left
    ]
    assert "! 5 keys not cleaned up: python -m environments cleanup " in result.output
    page = (result.folder / "report.html").read_text()
    assert 'EMAIL, the second of pix_keys: registered and not deleted; exchanges <a href="#exchange-' in page

    record = tmp_path / "keys-profile.jsonl"
    assert len(record.read_text().splitlines()) == len(left)
    assert not [value for value in (EMAIL, CPF, "+5511955500777") if value in record.read_text()]
    assert record.stat().st_mode & 0o077 == 0
    assert cleanup(profile_of(tmp_path, service), "--yes")[0] == 0
    assert keys_of(service) == set()


def test_the_record_holds_what_is_open(service, tmp_path):
    """The last event of each key that is not gone; a later run adds to it."""
    profile = profile_of(tmp_path, service)
    recorded(profile, (EMAIL, MAYBE), (EMAIL, REGISTERED), (CPF, MAYBE), (CPF, GONE))
    later = record_of_keys(load(str(profile), folder=tmp_path), run="later")
    states = [later.state("ac-0001", KINDS[key], key) for key in (EMAIL, CPF)]
    before = later.events()
    later.note("ac-0001", "CPF", CPF, MAYBE, ours=False)

    assert states == [REGISTERED, ""]
    assert [event["event"] for event in before] == [REGISTERED]
    assert [event["event"] for event in later.events()] == [REGISTERED, MAYBE]
