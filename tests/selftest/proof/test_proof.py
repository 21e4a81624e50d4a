"""The proof: every seeded fault is caught as declared, every lawful service passes, and the gate itself is red when
it must be. `pytest tests/selftest/proof/test_proof.py -p xdist -n 2`; a whole run writes reports/proof/."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace

import pytest

import tests.selftest.proof.borderline
import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.sandbox import Service
from reports.result.verdicts import RequirementResult, Verdict
from spec.rules import RULES
from tests.selftest.proof import matrix
from tests.selftest.proof.directly import (
    sent_in_memory,
    sent_to_the_sandbox,
    trial_by_replay,
    try_in_memory,
    try_over_http,
    try_with_threads,
)
from tests.selftest.proof.gate import (
    PLAIN_SANDBOX,
    Difference,
    declared_service_by_rule,
    difference_of_conforming_service,
    difference_of_faulty_service,
    difference_with_one_request_at_a_time,
    trial_of_plain_sandbox,
)
from tests.selftest.proof.matrix import PROPERTY
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, REQUESTS_IN_FLIGHT, VARIANTS, DeclaredService
from tests.selftest.proof.trial import Trial, try_service

REGISTRIES = {"mutants": MUTANTS, "variants": VARIANTS, "borderline": BORDERLINE}
EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
"""True if all services are tried. By default each service is tried that shows something that no other one shows."""
BRIEF = os.environ.get("PIX_CASES") == "first"
"""True if one service of each module is enough, as in `make test`."""
NUMBERS_IN_FLIGHT = REQUESTS_IN_FLIGHT if EXHAUSTIVE else (8,)
"""Numbers of requests in flight with which a parallel service is tried."""
SERVICE_BY_RULE = declared_service_by_rule(
    [*MUTANTS.declared_services.values(), *BORDERLINE.declared_services.values()]
)
CHOSEN = {
    name: registry.chosen(exhaustive=EXHAUSTIVE, one_of_each_module=BRIEF) for name, registry in REGISTRIES.items()
}
NAMES_OF_CHOSEN = [declared_service.name for declared_service in chain.from_iterable(CHOSEN.values())]
EMPTY_TRIAL = Trial(0, {}, 1, ())
SERVICES = list(chain.from_iterable(registry.declared_services.values() for registry in REGISTRIES.values()))
REPLAYED = [
    declared_service
    for declared_service in SERVICES
    if EXHAUSTIVE and declared_service.gets_the_requests_of_the_sandbox
]
EVERY_TENTH_REPLAYED = REPLAYED[::10]
"""Services whose replay is compared with a trial in memory. All 459 would take a tenth of the time of the proof."""
FIRST_OF_EACH_MODULE = {
    declared_service.module: declared_service
    for declared_service in reversed(SERVICES)
    if EXHAUSTIVE and not declared_service.on_the_wire
}


@pytest.fixture
def message_for_matrix(request: pytest.FixtureRequest):
    """Sends the result of a service to the summary of the proof, and returns the message of a difference."""

    def send_and_describe(registry: str, declared_service: DeclaredService, lines: list[str]) -> str:
        value = {
            "name": declared_service.name,
            "registry": registry,
            "parallel": declared_service.parallel,
            "declared": sorted(declared_service.fails | declared_service.warns),
            "right": not lines,
            "expected": NAMES_OF_CHOSEN if EXHAUSTIVE and declared_service.name == NAMES_OF_CHOSEN[0] else [],
        }
        request.node.user_properties.append((PROPERTY, value))
        return f"{declared_service.name} ({declared_service.declared_at}): {declared_service.description} " + "; ".join(
            lines
        )

    return send_and_describe


def _trial_of(declared_service: DeclaredService, parallel: int | None = None) -> Trial:
    service = declared_service.service_class()
    if declared_service.on_the_wire and parallel != 1:
        return try_over_http(service, declared_service.environment, parallel)
    if declared_service.parallel and parallel != 1:
        return try_with_threads(service, declared_service.environment, parallel)
    if declared_service.parallel:
        service.HOLD_S = service.HOLD_LESS_S = 0  # no other request will come
    return (trial_by_replay if declared_service.gets_the_requests_of_the_sandbox else try_in_memory)(
        service, declared_service.environment
    )


def differences(
    declared_service: DeclaredService, judge: Callable[[DeclaredService, int | None, Trial], Difference]
) -> list[str]:
    """The lines about what is not as declared; with each number of requests in flight if the service is a parallel
    one.
    """
    if not declared_service.parallel:
        return _difference(declared_service, None, judge).lines()
    difference_by_number = {number: _difference(declared_service, number, judge) for number in NUMBERS_IN_FLIGHT}
    return [
        f"--parallel={number}: {line}"
        for number, difference in difference_by_number.items()
        for line in difference.lines()
    ]


def _difference(
    declared_service: DeclaredService,
    number: int | None,
    judge: Callable[[DeclaredService, int | None, Trial], Difference],
) -> Difference:
    """The difference of a service.

    A fault that does not show is tried up to three times: on a busy machine requests may not meet, or not share a
    connection.
    """
    for _ in range(3):
        difference = judge(declared_service, number, _trial_of(declared_service, number))
        if not difference.missing:
            break
    return difference


def _verdicts(trial: Trial) -> dict[str, Verdict]:
    """The verdict of each requirement in a trial, by its id."""
    return {id: result.verdict for id, result in trial.results.items()}


def _difference_of_fault(declared_service: DeclaredService, parallel: int | None, trial: Trial) -> Difference:
    judge = (
        difference_with_one_request_at_a_time
        if declared_service.parallel and parallel == 1
        else difference_of_faulty_service
    )
    on_the_wire = parallel != 1 and (declared_service.on_the_wire or declared_service.parallel)
    return judge(
        declared_service, trial, trial_of_plain_sandbox(declared_service.environment, parallel, on_the_wire=on_the_wire)
    )


@pytest.mark.parametrize(
    ("registry", "declared_service"),
    [
        pytest.param(name, declared_service, id=declared_service.name)
        for name, chosen in CHOSEN.items()
        for declared_service in chosen
    ],
)
def test_a_service_gets_the_verdicts_that_it_declares(registry, declared_service, message_for_matrix):
    """Each service of the proof gets exactly the failures and warnings that it declares.

    A mutant is wrong on purpose and fails the requirements that it names. A borderline service gets warnings for
    those that it names. A variant is right in an unusual way, so it fails nothing, and every requirement is
    exercised. A parallel fault does not show while one request is sent at a time.
    """
    judge = (
        (lambda declared_service, _, trial: difference_of_conforming_service(declared_service, trial))
        if registry == "variants"
        else _difference_of_fault
    )
    lines = differences(declared_service, judge)
    message = message_for_matrix(registry, declared_service, lines)

    assert lines == [], message


@pytest.mark.parametrize(
    "declared_service",
    [pytest.param(declared_service, id=declared_service.name) for declared_service in EVERY_TENTH_REPLAYED],
)
def test_a_replay_is_a_trial_in_memory(declared_service):
    """A service that is sent the same requests as the sandbox gets the same verdicts from a replay as from a trial in
    memory.

    A replay sends the requests of a run against the sandbox again, which is faster. A trial in memory calls every
    test.
    """
    service = declared_service.service_class()
    to_the_sandbox = sent_to_the_sandbox(declared_service.environment)
    service.token = to_the_sandbox.session.door.secrets.token()
    sent = sent_in_memory(service, declared_service.environment)

    verdicts_in_memory = _verdicts(sent.judge())
    verdicts_of_replay = _verdicts(_trial_of(declared_service))

    assert sent.requests == to_the_sandbox.requests
    assert verdicts_in_memory == verdicts_of_replay


# -- the gate, proved on itself -------------------------------------------------------------------------------------


def test_the_plain_sandbox_passes():
    """On the sandbox, which conforms, no requirement fails or warns, and every requirement is tested."""
    trial = trial_of_plain_sandbox("sandbox")

    lines_of_differences = difference_of_conforming_service(PLAIN_SANDBOX, trial).lines()

    assert not lines_of_differences
    assert not trial.warned


def test_the_plain_sandbox_passes_in_a_run():
    """A run of pytest over HTTP against the sandbox gives the same verdicts as a trial in memory.

    Generated traffic is left out, so only requirements with a test of their own are compared.
    """
    run = try_service(Service())
    in_memory = _verdicts(trial_of_plain_sandbox("sandbox"))
    tested_in_memory = {id: verdict for id, verdict in in_memory.items() if verdict is not Verdict.UNTESTABLE}

    assert _verdicts(run) == tested_in_memory


@pytest.mark.parametrize(
    "declared_service",
    [pytest.param(declared_service, id=declared_service.name) for declared_service in FIRST_OF_EACH_MODULE.values()],
)
def test_a_run_over_http_gives_the_verdicts_of_the_run_in_memory(declared_service):
    """For one service of each module of services a run of pytest over HTTP gives the verdicts that it declares.

    The proof tries services in memory, so this shows that nothing is lost on the way. One request is sent at a time,
    unless the fault needs parallel requests.
    """
    one_at_a_time = () if declared_service.parallel else ("--parallel=1",)
    trial = try_service(declared_service.service_class(), *one_at_a_time, environment=declared_service.environment)
    is_lawful = declared_service.name in VARIANTS.declared_services
    plain_trial = trial_of_plain_sandbox(declared_service.environment, on_the_wire=True)

    difference = (
        difference_of_conforming_service(declared_service, trial)
        if is_lawful
        else difference_of_faulty_service(declared_service, trial, plain_trial)
    )

    assert not difference.lines()


@pytest.mark.parametrize(
    ("declared_service", "rules"),
    [
        pytest.param(
            declared_service,
            frozenset(rule for rule, broken_by in SERVICE_BY_RULE.items() if broken_by is declared_service),
            id=name,
        )
        for name, declared_service in {
            declared_service.name: declared_service for declared_service in SERVICE_BY_RULE.values()
        }.items()
    ],
)
def test_the_gate_names_a_rule_that_always_holds(declared_service, rules, monkeypatch):
    """If a rule never finds a fault any more, the proof names the requirement of this rule as missed.

    A rule is a function that judges one requirement. Here it is replaced by a function that finds nothing.
    """
    plain_trial = trial_of_plain_sandbox(declared_service.environment)
    declared = declared_service.fails | declared_service.warns
    for rule in rules:
        monkeypatch.setitem(RULES, rule, lambda exchange: None)

    make_trial = (
        trial_by_replay if declared_service.gets_the_requests_of_the_sandbox else partial(try_in_memory, ids=declared)
    )
    difference = difference_of_faulty_service(
        declared_service, make_trial(declared_service.service_class(), declared_service.environment), plain_trial
    )

    assert difference.missing == rules, difference.lines()


SERVICE_WITHOUT_DIGIT = DeclaredService(
    "WithoutDigit",
    PLAIN_SANDBOX.service_class,
    "There is no digit.",
    "none",
    fails=frozenset({"executePix.digit.present"}),
)


@pytest.mark.parametrize(
    "trial",
    [Trial(7, {}, 3, ()), Trial(3, {}, 3, ("the suite failed",)), Trial(0, {}, 0, ())],
    ids=["exit status 7: unreachable", "the suite failed", "no request was sent"],
)
def test_a_run_without_a_verdict_turns_the_gate_red(trial):
    """The proof is red if the run against one of its services came to no verdict, because it says nothing then."""
    difference_of_faulty = difference_of_faulty_service(SERVICE_WITHOUT_DIGIT, trial, EMPTY_TRIAL)
    difference_of_lawful = difference_of_conforming_service(SERVICE_WITHOUT_DIGIT, trial)

    assert difference_of_faulty.died
    assert difference_of_lawful.died


def test_a_mutant_that_changes_nothing_turns_the_gate_red():
    """The proof is red if a service that is wrong on purpose gets the verdicts of the plain sandbox, or declares no
    requirement.
    """
    difference_of_same = difference_of_faulty_service(
        SERVICE_WITHOUT_DIGIT, trial_of_plain_sandbox("sandbox"), trial_of_plain_sandbox("sandbox")
    )
    difference_of_silent = difference_of_faulty_service(
        DeclaredService("Silent", PLAIN_SANDBOX.service_class, "None.", "none"),
        trial_of_plain_sandbox("sandbox"),
        trial_of_plain_sandbox("sandbox"),
    )

    assert difference_of_same.lines() == ["declared, and does not fail or warn as declared: executePix.digit.present"]
    assert difference_of_silent.lines() == ["declares no requirement that fails or warns"]


def test_the_gate_is_red_if_a_requirement_is_not_exercised():
    """The proof is red if a requirement was not tested, unless the service declares in `hides` that it cannot be
    tested.

    It is also red if a requirement in `hides` was tested after all.
    """
    exercised = {id: RequirementResult(id, Verdict.PASS, "") for id in ("executePix.digit.present", "executePix.json")}
    not_exercised = {id: RequirementResult(id, Verdict.NOT_EXERCISED, "") for id in ("executePix.json",)}
    hiding = replace(SERVICE_WITHOUT_DIGIT, hides=("executePix.json",))

    trial_of_all = Trial(0, exercised, 1, ())
    trial_without_json = Trial(0, exercised | not_exercised, 1, ())

    assert difference_of_faulty_service(SERVICE_WITHOUT_DIGIT, trial_without_json, EMPTY_TRIAL).lost == {
        "executePix.json"
    }
    assert difference_of_conforming_service(SERVICE_WITHOUT_DIGIT, trial_without_json).lost == {"executePix.json"}
    assert difference_of_faulty_service(hiding, trial_of_all, EMPTY_TRIAL).stale == ("executePix.json",)
    assert not difference_of_conforming_service(hiding, trial_without_json).lost


def test_the_gate_is_red_if_a_parallel_fault_shows_without_parallel_requests():
    """The proof is red if a fault that is declared as parallel shows while one request is sent at a time."""
    results = {"executePix.digit.present": RequirementResult("executePix.digit.present", Verdict.FAIL, "")}
    plain_trial = trial_of_plain_sandbox("sandbox")

    difference_of_failing = difference_with_one_request_at_a_time(
        SERVICE_WITHOUT_DIGIT, Trial(1, results, 1, ()), EMPTY_TRIAL
    )
    difference_of_passing = difference_with_one_request_at_a_time(SERVICE_WITHOUT_DIGIT, plain_trial, plain_trial)

    assert difference_of_failing.lines() == ["fails or warns, and is not declared: executePix.digit.present"]
    assert not difference_of_passing


# -- what is written of the proof -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected_services", "is_written"),
    [(["WithoutDigit"], True), (["WithoutDigit", "Another"], False), ([], False)],
    ids=["all services were tried", "one service was not tried", "only a part of the services was chosen"],
)
def test_the_summary_is_of_every_service(expected_services, is_written, tmp_path, monkeypatch):
    """The summary of the proof is written only if every service was tried. Here WithoutDigit was tried alone."""
    monkeypatch.setattr(matrix, "SUMMARY", tmp_path / "summary.json")
    result_of_service = {
        "name": "WithoutDigit", "registry": "mutants", "parallel": False, "declared": ["executePix.digit.present"], "right": True,
        "expected": expected_services,
    }  # fmt: skip
    plugin = matrix.ProofSummary()

    plugin.pytest_runtest_logreport(SimpleNamespace(when="call", user_properties=[(PROPERTY, result_of_service)]))
    plugin.pytest_sessionfinish()

    assert matrix.SUMMARY.exists() is is_written
