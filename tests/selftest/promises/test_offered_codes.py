"""Which codes are offered with wrong tokens before their execution, in which order codes go, and what goes with them."""

import threading
import time
from collections import Counter
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
from tests.selftest.services.serving import EXECUTION_PATH, SocketService, has_real_code, real_codes_received, served_by
from tests.selftest.services.signed import SignsItsToken

CODES = ("SBX-PHONE-1", "SBX-EMAIL-1", "SBX-CPF-1", "SBX-RANDOM-1", "SBX-CNPJ-1")
FUZZ, NO_FUZZ = sorted(ALL_PERMISSIONS), sorted(ALL_PERMISSIONS - {"fuzz"})
DOCUMENTED = ("executePix", "registerPixKey")


class ExecutesAndRefuses(FakeBank):
    """Executes a code for whatever request names it, and refuses the request unless it has the valid token."""

    def authorize(self, request, operation):
        """Anybody may."""

    def finish(self, request, operation, response):
        return response if self.has_valid_token(request) else self.refusal(Refusal(401, "No."))


class Overlapping(SocketService):
    """Keeps each execution and each read open for a moment, so that requests overlap.

    `beside` has a list for each request with a real code: that request, then the requests that overlapped with it.
    """

    def __init__(self):
        super().__init__()
        self.inside, self.beside, self.guard = [], [], threading.Lock()

    def answer(self, connection, request):
        visit = [request]
        with self.guard:
            for other_visit in self.inside:
                other_visit.append(request)
                visit.append(other_visit[0])
            self.inside.append(visit)
        if has_real_code(request.path):
            self.beside.append(visit)
        if request.path.startswith(EXECUTION_PATH) or request.path == "/v1/accounts":
            time.sleep(0.1)
        super().answer(connection, request)
        with self.guard:
            self.inside.remove(visit)


def profile_with(folder, codes=(), allow=FUZZ, wrong_tokens=20, **changes):
    """A profile of a target that is no sandbox, unless `changes` say so, with these codes and this limit of wrong
    tokens.
    """
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    return profile_of_bank(folder, transactions={"codes": list(codes)}, limits=limits, allow=allow, **changes)


def log_of_executions(service, folder, codes, **changes):
    """The log of what a run sends to the execution, without the tests."""
    profile = profile_with(folder, codes, **changes)
    limits = {"wrong_tokens": profile.limits.wrong_tokens, "requests": 2000, "executions": 12}
    manual_run = ManualRun(
        service, folder, parallel=8, allow=profile.allow, has_journal=not profile.is_sandbox, **limits
    )
    return manual_run.execute_all(profile, pair=True)


def offers_by_code(service):
    """For each code, the credentials of its requests before the one with the valid token. An empty one is no token.

    Each code must have one request with the valid token, and all but the first code no request after it.
    """
    credentials_by_code = {}
    valid = f"Bearer {service.sandbox.token}"
    for code, credential in real_codes_received(service):
        credentials_by_code.setdefault(code, []).append(credential)
    assert all(credentials.count(valid) == 1 for credentials in credentials_by_code.values())
    assert all(credentials[-1] == valid for credentials in list(credentials_by_code.values())[1:])
    return {code: credentials[: credentials.index(valid)] for code, credentials in credentials_by_code.items()}


# -- the order of codes ---------------------------------------------------------------------------------------------


FIRST, SECOND, THIRD, FOURTH, FIFTH = CODES


@pytest.mark.parametrize(
    ("codes", "offered_codes", "limit_of_wrong_tokens", "allow"),
    [
        ([FIRST], [FIRST], 20, FUZZ),
        ([FIRST, SECOND], [SECOND], 20, NO_FUZZ),
        ([*CODES], [SECOND, FOURTH, FIFTH], 20, FUZZ),
        ([*CODES], [SECOND, FOURTH, FIFTH], 3, NO_FUZZ),
        ([*CODES], [SECOND, FOURTH, FIFTH], 0, FUZZ),
    ],
    ids=["a single code", "two codes", "five codes", "few wrong tokens", "no wrong token"],
)
def test_the_first_code_is_executed_first_and_the_second_is_offered_before(
    codes, offered_codes, limit_of_wrong_tokens, allow, service, tmp_path
):
    """The first code is executed at once, unless it is the only one. The second code, and every code after the third, is
    offered before its execution.

    To offer a code is to send it without a token, and with wrong tokens as far as limits.wrong_tokens permits. Each code
    is executed once, in their order.
    """
    log_of_executions(service, tmp_path, codes, allow=allow, wrong_tokens=limit_of_wrong_tokens)
    credentials_before_execution = offers_by_code(service)
    valid_token = f"Bearer {service.sandbox.token}"
    authorizations = [request.header("Authorization") for request in service.received]
    wrong_tokens = [authorization for authorization in authorizations if authorization not in ("", valid_token)]
    offers = [credential for code in codes for credential in credentials_before_execution[code]]
    wrong_tokens_with_a_code = [credential for credential in offers if credential]

    assert service.executions_with_valid_token == codes
    assert [code for code in codes if credentials_before_execution[code]] == offered_codes
    assert [code for code in offered_codes if "" not in credentials_before_execution[code]] == []
    assert len(wrong_tokens) <= limit_of_wrong_tokens
    assert bool(wrong_tokens_with_a_code) is (limit_of_wrong_tokens == 20)


@pytest.mark.parametrize(
    ("codes", "limit_of_wrong_tokens", "allow"),
    [([FIRST, SECOND], 20, NO_FUZZ), ([*CODES], 20, FUZZ), ([*CODES], 3, NO_FUZZ)],
    ids=["two codes", "five codes", "few wrong tokens"],
)
def test_the_first_code_is_sent_without_a_token_after_its_execution(
    codes, limit_of_wrong_tokens, allow, service, tmp_path
):
    """The first code is sent again after its execution, and without the valid token, because a cache may give its result
    to anybody.
    """
    log_of_executions(service, tmp_path, codes, allow=allow, wrong_tokens=limit_of_wrong_tokens)
    credentials_of_first_code = [credential for code, credential in real_codes_received(service) if code == FIRST]
    execution, *later_credentials = credentials_of_first_code

    assert execution == f"Bearer {service.sandbox.token}"
    assert later_credentials != []
    assert execution not in later_credentials


@pytest.mark.parametrize(
    ("sandbox", "allow"),
    [(None, FUZZ), (None, ["execute"]), (UNUSED_ADDRESS, FUZZ)],
    ids=["off a sandbox", "off a sandbox without reads", "on a sandbox"],
)
@served_by(Overlapping)
def test_a_code_never_meets_another_code(service, sandbox, allow, tmp_path):
    """Two codes of the profile are never on the wire at the same time.

    Of the five executions only the third runs beside another request, and beside one only. Off a sandbox that request
    executes no code of the profile, and every other request with such a code runs alone.
    """
    log_of_executions(service, tmp_path, CODES, sandbox=sandbox, allow=allow, wrong_tokens=6)
    requests_beside_valid_executions = [
        len(beside) for execution, *beside in service.beside if service.has_valid_token(execution)
    ]
    paths_of_executions_not_alone = [execution.path for execution, *beside in service.beside if beside]
    requests_beside = [request for _, *beside in service.beside for request in beside]
    real_codes_beside = [request for request in requests_beside if has_real_code(request.path)]
    executions_beside = [request for request in requests_beside if request.path.startswith(EXECUTION_PATH)]

    assert requests_beside_valid_executions == [0, 0, 1, 0, 0]
    if not sandbox:
        assert paths_of_executions_not_alone == [EXECUTION_PATH + THIRD]
        assert real_codes_beside == []
        assert [request for request in executions_beside if service.has_valid_token(request)] == []


@pytest.mark.parametrize("codes", [CODES[:1], CODES[:3]], ids=["one code", "three codes"])
def test_a_note_says_that_a_refused_request_executed_its_code(codes, tmp_path):
    """If a code is refused with the valid token after it went with wrong tokens, a note says that one of these perhaps
    executed it.

    This service executes a code with any token, and refuses every request without the valid token.
    """
    profile = profile_with(tmp_path, codes)
    start_journal(profile)
    notes = report_notes(run_suite_in_memory(ExecutesAndRefuses(), profile, selected="executePix.token.required"))
    [note_on_refused_codes] = [note for note in notes if "refused" in note]

    assert "perhaps spent by a wrong token" in note_on_refused_codes


# -- the limit, and what leaves in a refused credential ----------------------------------------------------------------


def operations_of(request):
    """The operations that a request reaches."""
    return operations_reached(request.method, request.path)


@pytest.mark.parametrize(
    ("make", "allow", "limit"),
    [
        pytest.param(FakeBank, FUZZ, 3, id="at most three wrong tokens"),
        pytest.param(SignsItsToken, NO_FUZZ, 20, id="a signed token, without fuzz"),
        pytest.param(FakeBank, FUZZ, 0, id="no wrong token"),
    ],
)
def test_a_whole_run_keeps_to_limits_wrong_tokens_and_hides_the_token(make, allow, limit, tmp_path):
    """A run sends each documented operation at most as many wrong tokens as limits.wrong_tokens says, and twice as many
    beside identifiers that the suite made up (`pixconf-…`).

    With the limit 0 no operation gets one. Without the permission `fuzz` no wrong token shows a part of the valid one. Off
    a sandbox, as here, no registration with a wrong token names a key of the profile.
    """
    service = FakeBank(make().token)
    service.is_token = make().is_token
    profile = profile_with(tmp_path, CODES[:3], allow=allow, wrong_tokens=limit)
    start_journal(profile)
    model = run_suite_in_memory(
        service, profile, selected="executePix or registerPixKey or listAccounts or deletePixKey", tests=ALL_TESTS
    )
    refused = [request for request in service.received if not service.has_valid_token(request)]
    with_wrong_token = [request for request in refused if request.header("Authorization")]
    naming_somebody, naming_nobody = Counter(), Counter()
    for request in with_wrong_token:
        by_operation = naming_nobody if "/pixconf-" in request.path else naming_somebody
        by_operation.update(operations_of(request))
    bodies_of_registrations = [request.body for request in refused if "registerPixKey" in operations_of(request)]
    wrong_tokens_without_a_part_of_the_valid_one = {
        str(authorization(form.name, service.token)).split(" ")[-1] for form in FORMS if not form.restorable
    }
    wrong_tokens_sent = {request.header("Authorization").split()[-1] for request in with_wrong_token}
    messages = {requirement.id: str(result.message) for requirement, result in result_of_run(model).results}

    assert result_of_run(model).verdict.exit_status == 0
    assert messages["executePix.token.required"].startswith("credentials tried: ")
    if limit == 0:
        assert with_wrong_token == []
    assert [name for name in DOCUMENTED if naming_somebody[name] > limit] == []
    assert [name for name in DOCUMENTED if naming_nobody[name] > 2 * limit] == []
    if "fuzz" not in allow:
        assert wrong_tokens_sent <= wrong_tokens_without_a_part_of_the_valid_one | {"bearer", "BEARER"}
    assert [body for body in bodies_of_registrations if b"pixconf-" not in body] == []


@pytest.mark.parametrize("limit", [0, 3, 20])
@pytest.mark.parametrize(
    ("sandbox", "begin_journal", "documented_key_types"),
    [(None, start_journal, 1), (UNUSED_ADDRESS, lambda profile: None, 5)],  # a sandbox has no journal
    ids=["no sandbox", "a sandbox"],
)
def test_a_real_code_is_offered_as_often_as_the_limit_says(
    sandbox, begin_journal, documented_key_types, limit, tmp_path
):
    """Codes and accounts of the profile go without the valid token at most as often as limits.wrong_tokens says.

    Requests without a token count, too. One plain request without a token for each code, and one for each key type that
    is registered, is free. Off a sandbox keys of one type are registered without a token.
    """
    bank = FakeBank()
    profile = profile_with(tmp_path, CODES[:3], wrong_tokens=limit, sandbox=sandbox)
    begin_journal(profile)
    run_suite_in_memory(bank, profile, selected="executePix.token.required or registerPixKey.token.required")
    refused = [request for request in bank.received if not bank.has_valid_token(request)]
    requests_with_a_code = [request for request in refused if any(code in unquote(request.path) for code in CODES)]
    paths_without_token = {request.path for request in requests_with_a_code if not request.header("Authorization")}
    free_requests = {path for path in paths_without_token if path.removeprefix(EXECUTION_PATH) in CODES}
    registrations_at_the_account = [
        request for request in refused if "registerPixKey" in operations_of(request) and "ac-0001" in request.path
    ]

    assert requests_with_a_code != []
    assert len(requests_with_a_code) - len(free_requests) <= limit
    assert len(registrations_at_the_account) - documented_key_types <= limit


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
