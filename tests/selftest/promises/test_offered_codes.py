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
    profile_off_sandbox,
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
        return response if self.is_granted(request) else self.refusal(Refusal(401, "No."))


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
    return profile_off_sandbox(folder, transactions={"codes": list(codes)}, limits=limits, allow=allow, **changes)


def log_of_executions(service, folder, codes, **changes):
    """The log of what a run sends to the execution, without the tests."""
    profile = profile_with(folder, codes, **changes)
    limits = {"wrong_tokens": profile.limits.wrong_tokens, "requests": 2000, "executions": 12}
    manual_run = ManualRun(
        service, folder, parallel=8, allow=profile.allow, has_journal=not profile.is_sandbox, **limits
    )
    return manual_run.execute_all(profile, pair=True)


def offers_by_code(service):
    """For each code, the credentials of its requests before the one with the valid token."""
    credentials_by_code = {}
    valid = f"Bearer {service.sandbox.token}"
    for code, credential in real_codes_received(service):
        credentials_by_code.setdefault(code, []).append(credential)
    assert all(credentials.count(valid) == 1 for credentials in credentials_by_code.values())
    assert all(credentials[-1] == valid for credentials in list(credentials_by_code.values())[1:])
    return {code: credentials[: credentials.index(valid)] for code, credentials in credentials_by_code.items()}


# -- the order of codes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "offered", "limit", "allow"),
    [
        (1, [0], 20, FUZZ),
        (2, [1], 20, NO_FUZZ),
        (5, [1, 3, 4], 20, FUZZ),
        (5, [1, 3, 4], 3, NO_FUZZ),
        (5, [1, 3, 4], 0, FUZZ),
    ],
)
def test_the_first_code_is_executed_first_and_the_second_is_offered_before(
    count, offered, limit, allow, service, tmp_path
):
    """The first code is executed before any wrong token, unless it is the only one.

    The second, and every code after the third, is offered before its execution. Each code is executed once.
    """
    log_of_executions(service, tmp_path, CODES[:count], allow=allow, wrong_tokens=limit)
    offers = offers_by_code(service)
    right_or_none = ("", f"Bearer {service.sandbox.token}")
    wrong_tokens = [request for request in service.received if request.header("Authorization") not in right_or_none]
    places_of_first = [place for place, (code, _) in enumerate(real_codes_received(service)) if code == CODES[0]]

    assert service.executions == list(CODES[:count])
    assert [place for place, code in enumerate(CODES[:count]) if offers[code]] == offered
    assert all("" in offers[CODES[place]] for place in offered)
    assert len(wrong_tokens) <= limit
    assert any(any(credentials) for credentials in offers.values()) is (limit > 4)
    assert places_of_first[-1] > 0 or not limit


@pytest.mark.parametrize(
    ("sandbox", "allow"),
    [(None, FUZZ), (None, ["execute"]), (UNUSED_ADDRESS, FUZZ)],
    ids=["off a sandbox", "off a sandbox without reads", "on a sandbox"],
)
@served_by(Overlapping)
def test_a_code_never_meets_another_code(service, sandbox, allow, tmp_path):
    """Of the five valid executions only the third runs beside another request, and beside one only.

    Off a sandbox that request executes no code of the profile, and all other requests with these codes run alone.
    """
    log_of_executions(service, tmp_path, CODES, sandbox=sandbox, allow=allow, wrong_tokens=6)
    requests_beside_valid_executions = [
        len(beside) for execution, *beside in service.beside if service.is_granted(execution)
    ]
    not_alone = [execution.path for execution, *beside in service.beside if beside]
    all_beside = [request for _, *beside in service.beside for request in beside]
    executions_beside = [request for request in all_beside if request.path.startswith(EXECUTION_PATH)]

    assert requests_beside_valid_executions == [0, 0, 1, 0, 0]
    if not sandbox:
        assert not_alone == [EXECUTION_PATH + CODES[2]]
        assert [request for request in all_beside if has_real_code(request.path)] == []
        assert [request for request in executions_beside if service.is_granted(request)] == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_note_says_that_a_refused_request_executed_its_code(count, tmp_path):
    """The first valid request with the code is refused, because a refused one executed it.

    The note does not say that the code may have expired.
    """
    profile = profile_with(tmp_path, CODES[:count])
    start_journal(profile)
    notes = report_notes(run_suite_in_memory(ExecutesAndRefuses(), profile, "executePix.token.required"))

    assert ["perhaps spent by a wrong token" in note for note in notes if "refused" in note] == [True]


# -- the limit, and what leaves in a refused credential ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow", "limit"),
    [
        pytest.param(FakeBank, FUZZ, 3, id="few"),
        pytest.param(SignsItsToken, NO_FUZZ, 20, id="signed, no fuzz"),
        pytest.param(FakeBank, FUZZ, 0, id="none"),
    ],
)
def test_a_whole_run_keeps_to_limits_wrong_tokens_and_hides_the_token(make, allow, limit, tmp_path):
    """The limit holds for each of the two documented operations, generated and repeated requests included; twice as
    many may name nobody. 0 holds for all operations. Without fuzz no wrong token shows the token. Off a sandbox no registration with a wrong token
    names a key of the profile.
    """
    service = FakeBank(make().token)
    service.is_token = make().is_token
    profile = profile_with(tmp_path, CODES[:3], allow=allow, wrong_tokens=limit)
    start_journal(profile)
    model = run_suite_in_memory(
        service, profile, "executePix or registerPixKey or listAccounts or deletePixKey", among=ALL_TESTS
    )
    refused = [request for request in service.received if not service.is_granted(request)]
    with_a_token = [request for request in refused if request.header("Authorization")]
    naming_somebody, naming_nobody = Counter(), Counter()
    for request in with_a_token:
        by_operation = naming_nobody if "/pixconf-" in request.path else naming_somebody
        by_operation.update(operations_reached(request.method, request.path))
    registrations = [
        request for request in refused if "registerPixKey" in operations_reached(request.method, request.path)
    ]
    tokens_without_secret = {
        str(authorization(form.name, service.token)).split(" ")[-1] for form in FORMS if not form.restorable
    }
    verdict = next(
        str(result.message) for row, result in result_of_run(model).results if row.id == "executePix.token.required"
    )

    assert result_of_run(model).verdict.exit_status == 0
    assert limit or not with_a_token
    assert all(naming_somebody[name] <= limit and naming_nobody[name] <= 2 * limit for name in DOCUMENTED)

    last_words = {request.header("Authorization").split()[-1] for request in with_a_token}
    assert "fuzz" in allow or last_words <= tokens_without_secret | {"bearer", "BEARER"}
    assert all(b"pixconf-" in request.body for request in registrations)
    assert verdict.startswith("credentials tried: ")


@pytest.mark.parametrize("limit", [0, 3, 20])
@pytest.mark.parametrize(
    ("sandbox", "begin_journal"),
    [(None, start_journal), (UNUSED_ADDRESS, lambda profile: None)],  # a sandbox has none
    ids=["no sandbox", "a sandbox"],
)
def test_a_real_code_is_offered_as_often_as_the_limit_says(sandbox, begin_journal, limit, tmp_path):
    """Requests without a token count against the limit, too, except for one plain request for each code and each key
    type.
    """
    bank = FakeBank()
    profile = profile_with(tmp_path, CODES[:3], wrong_tokens=limit, sandbox=sandbox)
    begin_journal(profile)
    run_suite_in_memory(bank, profile, "executePix.token.required or registerPixKey.token.required")
    refused = [request for request in bank.received if not bank.is_granted(request)]
    offers = [request for request in refused if any(code in unquote(request.path) for code in CODES)]
    without_token = [request.path for request in offers if not request.header("Authorization")]
    plain_codes = {path for path in without_token if path.removeprefix(EXECUTION_PATH) in CODES}
    registrations = [
        request
        for request in refused
        if "registerPixKey" in operations_reached(request.method, request.path) and "ac-0001" in request.path
    ]

    assert len(offers) - len(plain_codes) <= limit
    assert len(registrations) <= limit + (5 if sandbox else 1)
    assert offers != []


@pytest.mark.parametrize(
    ("selected", "has_wrong_tokens"),
    [
        ("executePix.digit", False), ("registerPixKey.Key.type", False),
        ("executePix.token.required", True), ("registerPixKey.token", True),
    ],
)  # fmt: skip
def test_wrong_tokens_are_sent_only_if_a_requirement_about_them_is_selected(selected, has_wrong_tokens, tmp_path):
    """Requirements of result fields need executions and registrations, and no request without the token."""
    bank = FakeBank()
    run_suite_in_memory(bank, profile_with(tmp_path, CODES[:3], sandbox=UNUSED_ADDRESS), selected)
    refused = [request for request in bank.received if not bank.is_granted(request)]

    assert (len(refused) > 5) is has_wrong_tokens
    assert bool(refused) is has_wrong_tokens
