"""Transaction codes and wrong tokens: in which order codes are sent, and which of them first with wrong tokens.

To offer a code is to send it without a token, and with wrong tokens, before it is executed with the valid token. So the
run sees whether the service executes it for anybody.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote

import pytest

from environments.door.wrong_tokens import FORMS, authorization
from environments.sandbox import Refusal
from reports.result.run_verdict import result_of_run
from spec.interface import operations_reached
from tests.harness.starting import start_journal
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    ALL_TESTS,
    UNUSED_ADDRESS,
    FakeBank,
    ManualRun,
    profile_of_bank,
    report_notes,
    run_suite_in_memory,
)
from tests.selftest.services.serving import EXECUTION_PATH, SocketService, has_real_code, real_codes_received
from tests.selftest.services.signed import SignsItsToken

CODES = ("SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1", "SBX-RANDOM-1", "SBX-CNPJ-1")
FUZZ, NO_FUZZ = sorted(ALL_PERMISSIONS), sorted(ALL_PERMISSIONS - {"fuzz"})
"""Permissions of a profile: with `fuzz` a run may send invalid requests, too."""
DOCUMENTED = ("executePix", "registerPixKey")
"""The operations that need the token by the interface document."""


class ExecutesAndRefuses(FakeBank):
    """Executes a code for whatever request names it, and refuses the request unless it has the valid token."""

    def authorize(self, request, operation):
        """Check nothing: anybody may send a request."""

    def finish(self, request, operation, response):
        """The answer of the sandbox, or 401 without the valid token. The code was executed in any case."""
        return response if self.has_valid_token(request) else self.refusal(Refusal(401, "No."))


class Overlapping(SocketService):
    """Keeps each execution and each read open for a moment, so that requests overlap.

    `executions_with_simultaneous_requests` has a list for each request with a real code (one that the suite did not make
    up): that request, and then the requests that overlapped with it.
    """

    def __init__(self):
        """No request is open yet."""
        super().__init__()
        self.open_groups = []
        self.executions_with_simultaneous_requests = []
        self.guard = threading.Lock()

    def answer(self, connection, request):
        """Answer a request, and note which requests are open at the same time.

        The group of a request is a list: the request, and then those that overlapped with it.
        """
        group = [request]
        with self.guard:
            for open_group in self.open_groups:
                open_request = open_group[0]
                open_group.append(request)
                group.append(open_request)
            self.open_groups.append(group)
        if has_real_code(request.path):
            self.executions_with_simultaneous_requests.append(group)
        if request.path.startswith(EXECUTION_PATH) or request.path == "/v1/accounts":
            time.sleep(0.1)
        super().answer(connection, request)
        with self.guard:
            self.open_groups.remove(group)


def profile_with(folder, codes=(), allow=FUZZ, wrong_tokens=20, **changes):
    """A profile with these codes, these permissions (`allow`) and this limit of wrong tokens.

    Its target is no sandbox (a service without real money), unless `changes` say that it is one.
    """
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    return profile_of_bank(folder, transactions={"codes": list(codes)}, limits=limits, allow=allow, **changes)


def log_of_executions(service, folder, codes, **changes):
    """Send all executions of a run with these codes, without calling tests, and return the log: requests with answers.

    `changes` are those of the profile.
    """
    profile = profile_with(folder, codes, **changes)
    limits = {"wrong_tokens": profile.limits.wrong_tokens, "requests": 2000, "executions": 12}
    manual_run = ManualRun(
        service, folder, parallel=8, allow=profile.allow, has_journal=not profile.is_sandbox, **limits
    )
    return manual_run.execute_all(profile, simultaneous_executions=True)


def offers_by_code(service):
    """By code, the credentials with which it was sent before it was sent with the valid token. "" means no token.

    Each code must have been sent once with the valid token. Only the first code may have been sent again afterwards.
    """
    valid = f"Bearer {service.sandbox.token}"
    credentials_by_code = {}
    for code, credential in real_codes_received(service):
        credentials_by_code.setdefault(code, []).append(credential)
    offers = {}
    for number, (code, credentials) in enumerate(credentials_by_code.items(), 1):
        assert credentials.count(valid) == 1
        place_of_execution = credentials.index(valid)
        is_sent_again = place_of_execution < len(credentials) - 1
        is_first_code = number == 1
        assert is_first_code or not is_sent_again
        offers[code] = credentials[:place_of_execution]
    return offers


# -- the order of codes ---------------------------------------------------------------------------------------------


FIRST, SECOND, THIRD, FOURTH, FIFTH = CODES


@pytest.mark.parametrize(
    ("codes", "offered_codes", "limit_of_wrong_tokens", "wrong_tokens_are_offered", "allow"),
    [
        ([FIRST], [FIRST], 20, True, FUZZ),
        ([FIRST, SECOND], [SECOND], 20, True, NO_FUZZ),
        ([FIRST, SECOND, THIRD, FOURTH, FIFTH], [SECOND, FOURTH, FIFTH], 20, True, FUZZ),
        ([FIRST, SECOND, THIRD, FOURTH, FIFTH], [SECOND, FOURTH, FIFTH], 3, False, NO_FUZZ),
        ([FIRST, SECOND, THIRD, FOURTH, FIFTH], [SECOND, FOURTH, FIFTH], 0, False, FUZZ),
    ],
    ids=[
        "a single code",
        "two codes, without fuzz",
        "five codes",
        "five codes and three wrong tokens, without fuzz",
        "five codes and no wrong token",
    ],
)
def test_the_first_code_is_executed_first_and_the_second_is_offered_before(
    codes, offered_codes, limit_of_wrong_tokens, wrong_tokens_are_offered, allow, service, tmp_path
):
    """The first code is executed at once, and the second code is offered before its execution.

    To offer a code is to send it without a token, and with wrong tokens as far as limits.wrong_tokens permits. With a
    limit of 3, all wrong tokens are needed for the first code after its execution, and for made-up codes.

    - A single code is offered, too.
    - The third code is not offered, because it is executed beside another request.
    - Each later code is offered.

    All codes are executed once, in their order, with the permission `fuzz` (for invalid requests) and without it.
    """
    log_of_executions(service, tmp_path, codes, allow=allow, wrong_tokens=limit_of_wrong_tokens)
    credentials_before_execution = offers_by_code(service)
    valid_token = f"Bearer {service.sandbox.token}"
    authorizations = [request.header("Authorization") for request in service.received]
    wrong_tokens = [authorization for authorization in authorizations if authorization not in ("", valid_token)]
    all_offers = list(chain.from_iterable(credentials_before_execution.values()))
    wrong_tokens_before_an_execution = [credential for credential in all_offers if credential != ""]

    assert service.executions_with_valid_token == codes
    assert [code for code in codes if credentials_before_execution[code]] == offered_codes
    assert [code for code in offered_codes if "" not in credentials_before_execution[code]] == []
    assert bool(wrong_tokens_before_an_execution) is wrong_tokens_are_offered
    assert len(wrong_tokens) <= limit_of_wrong_tokens


@pytest.mark.parametrize(
    ("codes", "limit_of_wrong_tokens", "allow"),
    [([FIRST, SECOND], 20, NO_FUZZ), ([*CODES], 20, FUZZ), ([*CODES], 3, NO_FUZZ)],
    ids=["two codes", "five codes", "few wrong tokens"],
)
def test_the_first_code_is_sent_without_a_token_after_its_execution(
    codes, limit_of_wrong_tokens, allow, service, tmp_path
):
    """The first code is sent again after its execution, without the valid token.

    So the run sees whether a cache of the service gives the result to anybody.
    """
    log_of_executions(service, tmp_path, codes, allow=allow, wrong_tokens=limit_of_wrong_tokens)
    credentials_of_first_code = [credential for code, credential in real_codes_received(service) if code == FIRST]
    execution, *later_credentials = credentials_of_first_code

    assert execution == f"Bearer {service.sandbox.token}"
    assert later_credentials != []
    assert execution not in later_credentials


A_BANK, A_BANK_WITHOUT_READS, A_SANDBOX = (
    {"sandbox": None, "allow": FUZZ},
    {"sandbox": None, "allow": ["execute"]},
    {"sandbox": UNUSED_ADDRESS, "allow": FUZZ},
)


@pytest.fixture(scope="module")
def overlapping_service(request, tmp_path_factory):
    """A service on which requests overlap, after a run with five codes and these changes of its profile."""
    with Overlapping() as service:
        log_of_executions(service, tmp_path_factory.mktemp("run"), CODES, wrong_tokens=6, **request.param)
        yield service


@pytest.mark.parametrize(
    "overlapping_service",
    [A_BANK, A_BANK_WITHOUT_READS, A_SANDBOX],
    ids=["a bank", "a bank without reads", "a sandbox"],
    indirect=True,
)
def test_only_the_third_execution_runs_beside_another_request(overlapping_service):
    """Of five executions with the valid token only the third runs beside another request, and beside one only.

    That one is sent to see whether the service mixes up answers of simultaneous requests.
    """
    service = overlapping_service
    numbers_of_simultaneous_requests = [
        len(simultaneous_requests)
        for execution, *simultaneous_requests in service.executions_with_simultaneous_requests
        if service.has_valid_token(execution)
    ]

    assert numbers_of_simultaneous_requests == [0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "overlapping_service", [A_BANK, A_BANK_WITHOUT_READS], ids=["a bank", "a bank without reads"], indirect=True
)
def test_two_real_codes_are_never_sent_at_the_same_time(overlapping_service):
    """Outside a sandbox two requests with codes of the profile are never sent at the same time, with whatever token.

    The request beside the third execution may be an execution of a made-up code, but not with the valid token.
    """
    service = overlapping_service
    paths_of_executions_not_alone = []
    simultaneous_requests = []
    for execution, *requests_beside_it in service.executions_with_simultaneous_requests:
        simultaneous_requests += requests_beside_it
        if requests_beside_it:
            paths_of_executions_not_alone.append(execution.path)
    simultaneous_executions = [request for request in simultaneous_requests if request.path.startswith(EXECUTION_PATH)]

    assert paths_of_executions_not_alone == [EXECUTION_PATH + THIRD]
    assert [request for request in simultaneous_requests if has_real_code(request.path)] == []
    assert [request for request in simultaneous_executions if service.has_valid_token(request)] == []


@pytest.mark.parametrize("codes", [CODES[:1], CODES[:3]], ids=["one code", "three codes"])
def test_a_note_says_that_a_refused_request_executed_its_code(codes, tmp_path):
    """If a code is refused after it was sent with wrong tokens, a note says that a wrong token perhaps spent the code.

    This service executes a code with any token, and refuses every request without the valid token.
    """
    profile = profile_with(tmp_path, codes)
    start_journal(profile)
    notes = report_notes(run_suite_in_memory(ExecutesAndRefuses(), profile, selected="executePix.token.required"))
    [note_on_refused_codes] = [note for note in notes if "refused" in note]

    assert "perhaps spent by a wrong token" in note_on_refused_codes


# -- the limit, and which wrong tokens are sent ------------------------------------------------------------------------


def operations_of(request):
    """The operations that a server may run for a request, such as {"executePix"}."""
    return operations_reached(request.method, request.path)


@dataclass(frozen=True)
class RunWithWrongTokens:
    """A whole run, with generated requests, against a service that is no sandbox."""

    limit: int
    """limits.wrong_tokens of the profile."""
    service: FakeBank
    record: Any
    """The record of the run (`Run`)."""

    @property
    def refused(self):
        """The requests without the valid token."""
        return [request for request in self.service.received if not self.service.has_valid_token(request)]

    @property
    def with_wrong_token(self):
        """The requests with a wrong token."""
        return [request for request in self.refused if request.header("Authorization")]


def run_with_wrong_tokens(service, folder, allow, limit):
    """Run the tests of the operations that get wrong tokens, with three codes and this limit of wrong tokens.

    There are three codes because a run treats the first three in different ways: it executes one before any wrong
    token, one right after wrong tokens, and one at the same moment as a read.
    """
    profile = profile_with(folder, CODES[:3], allow=allow, wrong_tokens=limit)
    start_journal(profile)  # outside a sandbox a run sends no code without a journal, the file of the codes it sent
    selected = "executePix or registerPixKey or listAccounts or deletePixKey"
    record = run_suite_in_memory(service, profile, selected, tests=ALL_TESTS)
    assert result_of_run(record).verdict.exit_status == 0
    return RunWithWrongTokens(limit, service, record)


def bank_with_a_signed_token():
    """A bank whose token is signed (a JWT), so that wrong tokens can be made from its parts."""
    signing_service = SignsItsToken()
    bank = FakeBank(signing_service.token)
    bank.is_token = signing_service.is_token
    return bank


@pytest.fixture(scope="module")
def run_with_three(tmp_path_factory):
    """A run with limits.wrong_tokens: 3 and the permission `fuzz`."""
    return run_with_wrong_tokens(FakeBank(), tmp_path_factory.mktemp("run"), FUZZ, limit=3)


@pytest.fixture(scope="module")
def run_without_fuzz(tmp_path_factory):
    """A run with a signed token and limits.wrong_tokens: 20, without the permission `fuzz`."""
    return run_with_wrong_tokens(bank_with_a_signed_token(), tmp_path_factory.mktemp("run"), NO_FUZZ, limit=20)


@pytest.fixture(scope="module")
def run_with_none(tmp_path_factory):
    """A run with limits.wrong_tokens: 0."""
    return run_with_wrong_tokens(FakeBank(), tmp_path_factory.mktemp("run"), FUZZ, limit=0)


@pytest.fixture(params=["run_with_three", "run_without_fuzz", "run_with_none"])
def run(request):
    """Each of these three runs."""
    return request.getfixturevalue(request.param)


def test_a_whole_run_keeps_to_limits_wrong_tokens(run):
    """A run sends each documented operation at most as many wrong tokens with a real identifier as the limit says.

    A real identifier is a code or an account of the profile. With identifiers that the suite made up (`pixconf-…`) it
    sends at most twice as many. The message of `executePix.token.required` says which credentials were tried.
    """
    with_real_identifiers, with_made_up_identifiers = Counter(), Counter()
    for request in run.with_wrong_token:
        by_operation = with_made_up_identifiers if "/pixconf-" in request.path else with_real_identifiers
        by_operation.update(operations_of(request))
    messages = {requirement.id: str(result.message) for requirement, result in result_of_run(run.record).results}

    assert [name for name in DOCUMENTED if with_real_identifiers[name] > run.limit] == []
    assert [name for name in DOCUMENTED if with_made_up_identifiers[name] > 2 * run.limit] == []
    assert messages["executePix.token.required"].startswith("credentials tried: ")


def test_with_a_limit_of_0_no_wrong_token_is_sent(run_with_none):
    """With limits.wrong_tokens: 0 no operation gets a wrong token."""
    assert run_with_none.with_wrong_token == []


def test_no_registration_without_the_valid_token_names_a_key_of_the_profile(run):
    """Outside a sandbox each registration without the valid token names a key that the suite made up (`pixconf-…`)."""
    bodies = [request.body for request in run.refused if "registerPixKey" in operations_of(request)]

    assert [body for body in bodies if b"pixconf-" not in body] == []


def test_without_fuzz_no_wrong_token_shows_a_part_of_the_valid_one(run_without_fuzz):
    """Without the permission `fuzz` a run sends no wrong token from which the valid token could be restored."""
    token = run_without_fuzz.service.token
    harmless_tokens = {str(authorization(form.name, token)).split(" ")[-1] for form in FORMS if not form.restorable}
    # of a header such as "Authorization: bearer", without a token, the last word is the scheme itself
    schemes = {"bearer", "BEARER"}
    last_words_of_credentials = {
        request.header("Authorization").split()[-1] for request in run_without_fuzz.with_wrong_token
    }

    assert last_words_of_credentials <= harmless_tokens | schemes


def names_a_code(request):
    """True if the path of a request has one of CODES, also if it is percent-encoded there."""
    path = unquote(request.path)
    return any(code in path for code in CODES)


@pytest.mark.parametrize("limit", [0, 3, 20])
@pytest.mark.parametrize(
    ("sandbox", "begin_journal", "key_types_without_a_token"),
    [(None, start_journal, 1), (UNUSED_ADDRESS, lambda profile: None, 5)],  # a sandbox has no journal
    ids=["no sandbox", "a sandbox"],
)
def test_a_real_code_is_offered_at_most_as_often_as_the_limit_says(
    sandbox, begin_journal, key_types_without_a_token, limit, tmp_path
):
    """Codes and accounts of the profile are sent without the valid token at most as often as limits.wrong_tokens says.

    Requests without any token count, too, except for one for each code and one for each key type. Outside a sandbox a
    run registers keys of a single type without a token, and on a sandbox keys of all five types.
    """
    bank = FakeBank()
    profile = profile_with(tmp_path, CODES[:3], wrong_tokens=limit, sandbox=sandbox)
    begin_journal(profile)
    run_suite_in_memory(bank, profile, selected="executePix.token.required or registerPixKey.token.required")
    refused = [request for request in bank.received if not bank.has_valid_token(request)]
    requests_with_a_code = [request for request in refused if names_a_code(request)]
    without_token = [request for request in requests_with_a_code if not request.header("Authorization")]
    # For each code, one request without a token does not count, if its path is written as usual.
    codes_without_token = {request.path.removeprefix(EXECUTION_PATH) for request in without_token} & set(CODES)
    registrations = [request for request in refused if "registerPixKey" in operations_of(request)]
    registrations_at_the_account = [request for request in registrations if "ac-0001" in request.path]

    assert requests_with_a_code != []
    assert len(requests_with_a_code) - len(codes_without_token) <= limit
    assert len(registrations_at_the_account) - key_types_without_a_token <= limit


@pytest.mark.parametrize(
    ("selected", "has_wrong_tokens"),
    [
        ("executePix.digit", False), ("registerPixKey.Key.type", False),
        ("executePix.token.required", True), ("registerPixKey.token", True),
    ],
)  # fmt: skip
def test_wrong_tokens_are_sent_only_if_a_requirement_about_them_is_selected(selected, has_wrong_tokens, tmp_path):
    """Requests without the valid token are sent only if a requirement about tokens is selected.

    Requirements about the fields of a result need executions and registrations with the valid token, and nothing else.
    """
    bank = FakeBank()
    run_suite_in_memory(bank, profile_with(tmp_path, CODES[:3], sandbox=UNUSED_ADDRESS), selected=selected)
    without_valid_token = [request for request in bank.received if not bank.has_valid_token(request)]

    if has_wrong_tokens:
        assert len(without_valid_token) > 5
    else:
        assert without_valid_token == []
