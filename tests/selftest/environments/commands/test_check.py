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
from tests.selftest.services.hostile import GivesOneAnswerToEverything
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
    """Set the variable of the token, and remove all other variables of the suite."""
    variables_of_suite = [name for name in os.environ if name.startswith("PIX_")]
    for name in variables_of_suite:
        monkeypatch.delenv(name)
    for name, value in TOKEN_VARIABLES.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def check_command(tmp_path, capsys):
    """A function that runs `python -m environments check` for a profile of this service. `changes` are keys of the
    profile.

    It returns the exit status, and the lines printed, with ADDRESS and PROFILE for the address and the path.
    """

    def run_check(service, *, base_url="", options=(), **changes):
        """Run the command, and return its exit status and the lines printed. The profile may have another address than
        the service (`base_url`).
        """
        settings = {"transactions": {"prepare": PREPARE}, **changes}
        profile = write_profile(tmp_path, base_url or service.base_url, **settings)
        variables_before = dict(os.environ)
        status = main(["check", str(profile), *options])
        os.environ.update(variables_before)  # the command removes the token from the environment
        printed = capsys.readouterr()
        output = (printed.out + printed.err).replace(str(profile), "PROFILE").replace(service.base_url, "ADDRESS")
        output = re.sub(r"PROFILE:\d+:", "PROFILE:", output)  # without the number of a line in the profile
        [token] = TOKEN_VARIABLES.values()
        assert token not in output
        return status, output.splitlines()

    return run_check


READY = "ready: pytest --environment=PROFILE --plan"
WITHOUT_MEDIA_TYPE = "without a media type to listAccounts"
NOT_READY = "not ready: exit status {}; the lines above say why"


def test_a_profile_without_problems_is_ready(check_command, service):
    """`environments check` calls a profile (the settings of a run) ready if its service can be reached and takes the
    token.
    """
    status, lines = check_command(service)

    assert status == 0
    assert lines == [
        "profile: PROFILE is valid; its target is a sandbox",
        "reachable: ADDRESS",
        "token: 200 application/json to listAccounts",
        READY,
    ]


def test_a_check_changes_nothing(check_command, service, tmp_path):
    """`environments check` sends only reads, executes no transfer, and makes no folder for the journal of a run."""
    journal = tmp_path / "kept" / "journal.jsonl"
    check_command(service, journal=str(journal))

    assert {request.method for request in service.received} == {"GET"}
    assert service.executions_with_valid_token == []
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
    ids=["the token is refused", "the service fails", "the service may be starting"],
)
def test_a_service_that_answers_no_read_makes_the_profile_not_ready(
    status, exit_status, line, check_command, monkeypatch
):
    """The service gives the same answer to every request. The last two lines say why a run would not work.

    Exit status 6 means that a run would be incomplete, and 7 that the service counts as unreachable.
    """
    # The test does not wait before it sends a request again
    monkeypatch.setattr(backoff, "SECONDS_BEFORE_RETRIES", ())
    with GivesOneAnswerToEverything(response_bytes(Response(status, b""))) as service:
        status_of_check, [*_, line_before_last, last_line] = check_command(service)

    assert status_of_check == exit_status
    assert line_before_last == line
    assert last_line == NOT_READY.format(exit_status)


def test_a_code_that_may_say_success_is_suggested(check_command):
    """If the list of accounts is a 200 with the code 1, the command prints the line by which the code is a success."""
    with GivesOneAnswerToEverything(response_bytes(Response(200, b'{"code": 1, "data": {}}'))) as service:
        _, lines = check_command(service)
        _, lines_with_the_code = check_command(service, other_success_codes=[1])
    suggestion = "perhaps missing: other_success_codes: [1] (if code 1 says success)"

    assert suggestion in lines
    assert suggestion not in lines_with_the_code


def test_missing_secrets_are_named_before_anything_is_sent(check_command, service):
    """The profile (the settings of a run) names two variables that are not set, and it has no account.

    Each of these problems has a line, and nothing is sent to the service.
    """
    headers = {"X-Api-Key": {"env": "PIX_API_KEY"}, "X-Tenant": {"env": "PIX_TENANT"}}
    status, lines = check_command(service, headers=headers, accounts=None)

    assert status == 4
    assert lines == [
        "profile: PROFILE is valid; its target is a sandbox",
        "error: PROFILE: PIX_API_KEY is not set in the environment; export PIX_API_KEY=…",
        "error: PROFILE: PIX_TENANT is not set in the environment; export PIX_TENANT=…",
        "not exercised: no account: supply accounts",
        NOT_READY.format(4),
    ]
    assert service.received == []


def test_the_check_of_an_unreachable_service_still_tells_all_other_problems(
    check_command, tmp_path, service, monkeypatch
):
    """Nothing listens at the address of the profile (the settings of the run), and the profile has no account.

    An earlier run left a key, and a transaction code with an unknown outcome. Each problem has its line. Exit status 7
    means that the service cannot be reached.
    """
    monkeypatch.setattr(backoff, "_SECONDS_BEFORE_RECONNECTING", ())
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

    [_, _, line_about_keys, line_about_code, line_about_address, line_about_account, *_, last_line] = lines

    assert status == 7
    assert line_about_keys == "keys left by earlier runs: 1; python -m environments cleanup PROFILE lists them"
    assert "then python -m environments journal PROFILE --settle " in line_about_code
    assert line_about_address == "error: http://127.0.0.1:9 cannot be reached: the connection is refused"
    assert line_about_account == "not exercised: no account: supply accounts"
    assert last_line == NOT_READY.format(7)


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
    ids=["no account", "a mistyped account", "no body for deletions", "no transaction code"],
)
def test_a_check_names_what_a_profile_lacks(changes, line, check_command, service):
    """Something is missing or wrong in the profile (the settings of a run), so a run would be incomplete (exit status
    6).
    """
    status, lines = check_command(service, **changes)

    assert status == 6
    assert line in lines


def profile_with_a_code(folder):
    """Changes to a profile: it has the transaction code TX-1, is for no sandbox, and its journal is in the folder.

    The journal is the file of the codes that runs sent.
    """
    return {"transactions": {"codes": ["TX-1"]}, "sandbox": None, "journal": str(folder / "journal.jsonl")}


def test_without_a_journal_a_check_says_that_codes_are_not_sent(check_command, service, tmp_path):
    """The profile (the settings of the run) has a transaction code, and there is no journal (the file of the codes that
    runs sent).

    Nobody knows if the code was sent before, so a run would not send it, and be incomplete (exit status 6).
    """
    status, [line_about_profile, line_about_journal, *_] = check_command(service, **profile_with_a_code(tmp_path))

    assert status == 6
    assert line_about_profile == "profile: PROFILE is valid; its target is not a sandbox"
    assert line_about_journal.startswith("journal: transactions.codes are not sent")


def test_a_check_says_that_all_codes_were_sent_by_earlier_runs(check_command, service, tmp_path):
    """The only transaction code of the profile (the settings of the run) is in the journal (the file of the codes that
    runs sent).

    A run would not send it again, so it would be incomplete (exit status 6).
    """
    started_journal(tmp_path).write("TX-1", Outcome.SENT)
    status, lines = check_command(service, **profile_with_a_code(tmp_path))

    assert status == 6
    assert f"journal: codes in {tmp_path / 'journal.jsonl'}: 1" in lines
    assert "not exercised: every transaction code was sent by an earlier run: prepare new ones" in lines


LISTED_KEY = {
    "pixKey": "qa@pix-conformance.example",
    "pixKeyType": "EMAIL",
    "id": "c0ffee00-0001-4000-8000-000000000001",
}


def suggested_lines(key_list):
    """The lines that `check` suggests for the sandbox profile without `key_at`, if a service gives this list of keys.

    A line is given without the reason that stands behind it in brackets.
    """
    profile = replace(load("sandbox"), key_at=None)
    return [line.partition(" (")[0] for line in lines_to_add_to_profile(key_list, profile)]


@pytest.mark.parametrize(
    ("key_list", "line"),
    [
        ({"data": {"keys": [LISTED_KEY]}}, "key_at: /data/keys/*/pixKey"),
        ({"data": ["+5511955500777", "c0ffee00-0001-4000-8000-000000000001"]}, "key_at: /data/*"),
        (
            {"data": [{"value": "a@b.example", "account": "+5511955500777"}]},
            "key_at: /data/*/value or key_at: /data/*/account",
        ),
        ({"data": {"keys": [{"pixKey": "q***@b.example"}]}}, "key_at: …"),
        ({"data": {"keys": []}}, "key_at: …"),
        ({"data": {"Joaquim Barbosa": ["a@b.example"]}}, "key_at: …"),
    ],
    ids=[
        "the keys are members of objects",
        "the keys are texts in an array",
        "two members look like keys",
        "a masked key",
        "no key",
        "the name of a member is the name of a person",
    ],
)
def test_a_check_suggests_where_the_list_of_keys_has_its_keys(key_list, line):
    """The interface document does not show how a list of keys looks, so the profile has to say it (`key_at`).

    The command looks at the list of this service, and suggests a line for the profile (the settings of a run). The line
    has … if the list does not show where its keys are, or if the line would show personal data.
    """
    assert suggested_lines(key_list) == [line]


@pytest.mark.parametrize(
    ("listed_key", "line"),
    [
        ("13579246828", "not_for_this_account: [CNPJ]"),
        ("45000001000174", "not_for_this_account: [CPF]"),
        ("12ABC34501DE35", "not_for_this_account: [CPF]"),
    ],
    ids=[
        "a CPF, so the account is that of a person",
        "a CNPJ, so the account is that of a company",
        "a CNPJ with letters, so the account is that of a company",
    ],
)
def test_a_check_suggests_which_key_type_the_account_cannot_have(listed_key, line):
    """A CPF is the tax number of a person, and a CNPJ is the tax number of a company. An account belongs to one of the
    two.

    So if the list of keys has a CPF, no CNPJ can be registered at that account, and the other way round. The command
    suggests to name that type in `not_for_this_account`, beside the place of the keys (`key_at`).
    """
    assert suggested_lines({"data": [{"key": listed_key}]}) == ["key_at: /data/*/key", line]


@pytest.mark.parametrize(
    ("key_list", "name"),
    [({"data": [{"chave": "a@b.example"}]}, "chave"), ({"data": []}, "pixKey")],
    ids=["the name of the key in the list", "the list is empty: the name in a registration"],
)
def test_a_check_suggests_a_body_for_deletions(key_list, name):
    """The interface document does not show the body of a deletion, so the profile (the settings of a run) has to say
    it.

    The command suggests an object with the key, under the name that the key has in a list. If the list is empty, the
    name is that of a registration (pixKey).
    """
    profile = replace(load("sandbox"), key_at=None, requests={})
    [suggestion] = [line for line in lines_to_add_to_profile(key_list, profile) if line.startswith("requests: ")]

    assert suggestion.startswith("requests: {deletePixKey: {json: {" + name + ': "{key}"}}} (')


def test_a_profile_without_a_suggested_line_is_ready(check_command, service):
    """The profile (the settings of the run) does not say where a list has its keys (`key_at`). The command suggests the
    line, and ends with 0.
    """
    status, lines = check_command(service, key_at=None)
    suggestions = [line for line in lines if line.startswith("perhaps missing: key_at: /data/keys/*/pixKey (")]

    assert status == 0
    assert len(suggestions) == 1


def test_a_check_says_that_base_url_is_another_address_than_that_of_the_profile(check_command, service):
    """The option --base-url gives another address than the profile (the settings of a run)."""
    options = [f"--base-url={service.base_url}"]
    _, [_, line_about_address, *_] = check_command(
        service, base_url="https://staging.bank.example", options=options, sandbox=None
    )

    assert line_about_address == "--base-url: ADDRESS is not the address of the profile"


def test_a_check_says_that_a_profile_of_the_embedded_sandbox_only_reads_elsewhere(check_command, service):
    """The profile (the settings of the run) is for the sandbox (the test service inside the run), and the option
    --base-url gives an address.

    Keys, codes and bodies of the profile were made up for the sandbox. So a run only reads at that address, as a line
    says.
    """
    options = [f"--base-url={service.base_url}"]
    _, [_, line_about_address, *_] = check_command(service, base_url="embedded", options=options, sandbox=None)

    assert line_about_address.startswith(
        "--base-url: PROFILE is for the embedded sandbox, this run only reads; keys, codes"
    )


def test_a_check_says_nothing_about_base_url_if_it_is_the_address_of_the_profile(check_command, service):
    """The option --base-url gives the address that the profile (the settings of a run) has, too. No line mentions it."""
    _, lines = check_command(service, options=[f"--base-url={service.base_url}"])

    assert [line for line in lines if line.startswith("--base-url")] == []


def test_a_check_sends_nothing_if_the_profile_does_not_permit_reads(check_command, service):
    """The profile (the settings of a run) permits everything else. The token is not tried, as a line says."""
    everything_but_reads = ["register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]
    status, lines = check_command(service, allow=everything_but_reads)

    assert status == 0
    assert "token: not tried, because allow has no read" in lines
    assert service.received == []


def test_a_check_may_only_read():
    """`environments check` sends its requests with the permission `read` alone.

    The profile (the settings of a run) may permit more to a run.
    """
    permissions = []

    @contextmanager
    def open_client(profile):
        """Note what the profile permits, and open no client."""
        permissions.append(profile.allow)
        raise UnreachableError("nobody is asked here")
        yield  # never reached, but it makes the function a context manager

    check_of_profile(load("sandbox"), open_client)

    assert permissions == [{"read"}]
