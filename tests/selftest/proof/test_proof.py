"""The proof: every service with a fault is caught as it declares, and every conforming service passes.

Other tests show that the proof itself fails if it must. `make proof` tries all services, and then writes
reports/proof/summary.json. A trial is a run of the suite against one service.
"""

import os
from dataclasses import replace
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
"""Numbers of requests that may be sent at once, with which a parallel service is tried."""
SERVICE_BY_RULE = declared_service_by_rule(
    [*MUTANTS.declared_services.values(), *BORDERLINE.declared_services.values()]
)
CHOSEN = {
    name: registry.chosen(exhaustive=EXHAUSTIVE, one_of_each_module=BRIEF) for name, registry in REGISTRIES.items()
}
"""By registry, the services that are tried."""
NAMES_OF_CHOSEN = [declared_service.name for declared_service in chain.from_iterable(CHOSEN.values())]
EMPTY_TRIAL = Trial(exit_status=0, results={}, requests=1, errors=())
"""The result of a run without results."""
SERVICES = list(chain.from_iterable(registry.declared_services.values() for registry in REGISTRIES.values()))
"""All services of the proof."""
REPLAYED = [
    declared_service
    for declared_service in SERVICES
    if EXHAUSTIVE and declared_service.gets_the_requests_of_the_sandbox
]
"""Services whose trial is a replay of the requests that the sandbox got. Empty if not all services are tried."""
EVERY_TENTH_REPLAYED = REPLAYED[::10]
"""Services whose replay is compared with a trial in memory. All 459 would take a tenth of the time of the proof."""
FIRST_OF_EACH_MODULE = {
    declared_service.module: declared_service
    for declared_service in reversed(SERVICES)
    if EXHAUSTIVE and not declared_service.on_the_wire
}
"""By module, its first service: in the reversed list it comes last, and replaces the others of its module."""


@pytest.fixture
def send_to_summary(request: pytest.FixtureRequest):
    """A function that adds the result of a service to the report of the test.

    A plugin reads the reports of all tests, and writes reports/proof/summary.json.
    """

    def send(registry: str, declared_service: DeclaredService, *, is_as_declared: bool) -> None:
        """Add the result of this service. The result of the first service also names all services of the proof."""
        is_first = declared_service.name == NAMES_OF_CHOSEN[0]
        value = {
            "name": declared_service.name,
            "registry": registry,
            "parallel": declared_service.parallel,
            "declared": sorted(declared_service.fails | declared_service.warns),
            "right": is_as_declared,
            "expected": NAMES_OF_CHOSEN if EXHAUSTIVE and is_first else [],
        }
        request.node.user_properties.append((PROPERTY, value))

    return send


def _trial_of(declared_service: DeclaredService, parallel: int | None = None) -> Trial:
    """Try a service in the fastest way that shows its difference from the sandbox, and return the result.

    | the service differs from the sandbox | the trial is |
    |---|---|
    | only over sockets (`on_the_wire`) | over HTTP |
    | only while it gets several requests at once (`parallel`) | with threads |
    | only in answers that change no later request | a replay of the requests that the sandbox got |
    | in another way | in memory, one request at a time |

    `parallel` is the number of requests that may be sent at once; None means the default of the suite. With 1, the
    first two sorts of services do not differ, so they are tried in one of the other ways.
    """
    service = declared_service.service_class()
    if declared_service.on_the_wire and parallel != 1:
        return try_over_http(service, declared_service.environment, parallel)
    if declared_service.parallel and parallel != 1:
        return try_with_threads(service, declared_service.environment, parallel)
    if declared_service.parallel:
        service.HOLD_S = service.HOLD_LESS_S = 0  # no other request will come
    if declared_service.gets_the_requests_of_the_sandbox:
        return trial_by_replay(service, declared_service.environment)
    return try_in_memory(service, declared_service.environment)


def differences_from_declared_verdicts(declared_service: DeclaredService) -> list[str]:
    """One line for each kind of difference between the verdicts that a service declares and those that it gets.

    Empty if there is no difference. A parallel service, whose fault shows only while it gets several requests at once,
    is tried with several numbers of requests. Then a line begins with the number, such as "--parallel=8: ".
    """
    if not declared_service.parallel:
        return _difference(declared_service, None).lines()
    lines = []
    for number in NUMBERS_IN_FLIGHT:
        difference = _difference(declared_service, number)
        lines += [f"--parallel={number}: {line}" for line in difference.lines()]
    return lines


def _difference(declared_service: DeclaredService, parallel: int | None) -> Difference:
    """Try a service, and return the difference between the verdicts that it declares and those that it gets.

    If a declared fault does not show, the service is tried again, up to three times in all: on a busy machine two
    requests may not meet, or not share a connection. `parallel` is the number of requests that may be sent at once.
    """
    for _ in range(3):
        trial = _trial_of(declared_service, parallel)
        difference = _difference_of_trial(declared_service, parallel, trial)
        if not difference.missing:
            break
    return difference


def _difference_of_trial(declared_service: DeclaredService, parallel: int | None, trial: Trial) -> Difference:
    """The difference between the verdicts of a trial and those that its service declares.

    `parallel` is the number of requests that could be sent at once in the trial; None means the default.
    """
    if is_variant(declared_service):
        return difference_of_conforming_service(declared_service, trial)
    needs_several_requests = declared_service.on_the_wire or declared_service.parallel
    on_the_wire = needs_several_requests and parallel != 1
    plain_trial = trial_of_plain_sandbox(declared_service.environment, parallel, on_the_wire=on_the_wire)
    if declared_service.parallel and parallel == 1:
        return difference_with_one_request_at_a_time(declared_service, trial, plain_trial)
    return difference_of_faulty_service(declared_service, trial, plain_trial)


def is_variant(declared_service: DeclaredService) -> bool:
    """True if the service is declared as a variant: it conforms, but in an unusual way."""
    return VARIANTS.declared_services.get(declared_service.name) is declared_service


def _verdicts(trial: Trial) -> dict[str, Verdict]:
    """By the id of a requirement, its verdict in a trial."""
    return {requirement_id: result.verdict for requirement_id, result in trial.results.items()}


@pytest.mark.parametrize(
    ("registry", "declared_service"),
    [
        pytest.param(name, declared_service, id=declared_service.name)
        for name, chosen in CHOSEN.items()
        for declared_service in chosen
    ],
)
def test_a_service_gets_the_verdicts_that_it_declares(registry, declared_service, send_to_summary):
    """Each service of the proof gets exactly the failures and warnings that it declares.

    A mutant is wrong on purpose and fails the requirements that it names. A borderline service gets warnings for
    those that it names. A variant is right in an unusual way, so it fails nothing, and every requirement is
    exercised. A parallel fault does not show while one request is sent at a time. The result of each service is
    also sent to the summary of the proof, a JSON file.
    """
    differences = differences_from_declared_verdicts(declared_service)
    send_to_summary(registry, declared_service, is_as_declared=differences == [])

    assert differences == [], f"{declared_service.declared_at}: {declared_service.description}"


@pytest.mark.parametrize(
    "declared_service",
    [pytest.param(declared_service, id=declared_service.name) for declared_service in EVERY_TENTH_REPLAYED],
)
def test_a_replay_gives_the_verdicts_of_a_trial_in_memory(declared_service):
    """A replay gives a service the same verdicts as a trial in memory, which makes all requests and calls all tests.

    A replay takes the requests that an earlier trial sent to the sandbox, and gives them to this service. It calls
    only the tests that read an answer which differs from that of the sandbox, so it is faster. It is possible if no
    request depends on the answers that differ.
    """
    service = declared_service.service_class()
    trial_of_sandbox = sent_to_the_sandbox(declared_service.environment)
    service.token = trial_of_sandbox.session.door.secrets.token()
    trial_in_memory = sent_in_memory(service, declared_service.environment)
    replay = trial_by_replay(declared_service.service_class(), declared_service.environment)

    assert trial_in_memory.requests == trial_of_sandbox.requests
    assert _verdicts(trial_in_memory.judge()) == _verdicts(replay)


# -- the proof fails if it must -------------------------------------------------------------------------------------


def test_the_plain_sandbox_passes():
    """On the sandbox, which conforms, no requirement fails or warns, and every requirement is tested."""
    trial = trial_of_plain_sandbox("sandbox")

    lines_of_differences = difference_of_conforming_service(PLAIN_SANDBOX, trial).lines()

    assert not lines_of_differences
    assert not trial.warned


def test_a_run_against_the_plain_sandbox_gives_the_verdicts_of_a_trial_in_memory():
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
def test_a_run_over_http_gives_the_declared_verdicts(declared_service):
    """A run of pytest over HTTP gives a service the verdicts that the service declares, as a user's run would.

    The other tests of the proof try services in memory. One service of each module is tried over HTTP. A variant
    conforms, so nothing may fail. The verdicts of a faulty service are compared with those of the plain sandbox, because
    a warning that the sandbox gets, too, is no fault of the service.
    """
    options = () if declared_service.parallel else ("--parallel=1",)
    trial = try_service(declared_service.service_class(), *options, environment=declared_service.environment)
    plain_trial = trial_of_plain_sandbox(declared_service.environment, on_the_wire=True)

    if is_variant(declared_service):
        difference = difference_of_conforming_service(declared_service, trial)
    else:
        difference = difference_of_faulty_service(declared_service, trial, plain_trial)

    assert not difference.lines()


def rules_by_service() -> dict[str, tuple[DeclaredService, frozenset[str]]]:
    """Few services that together break every rule, by name, each with some of the rules that it breaks.

    A rule is a function that judges one requirement. Each rule belongs to one service here.
    """
    service_and_rules: dict[str, tuple[DeclaredService, frozenset[str]]] = {}
    for declared_service in SERVICE_BY_RULE.values():
        rules = frozenset(rule for rule, service in SERVICE_BY_RULE.items() if service is declared_service)
        service_and_rules[declared_service.name] = (declared_service, rules)
    return service_and_rules


@pytest.mark.parametrize(("declared_service", "rules"), rules_by_service().values(), ids=rules_by_service().keys())
def test_the_proof_names_a_rule_that_never_finds_a_fault(declared_service, rules, monkeypatch):
    """If a rule never finds a fault any more, the proof names the requirement of this rule as missed.

    A rule is a function that judges one requirement. Here the rules that the service breaks are replaced by functions
    that find nothing.
    """
    plain_trial = trial_of_plain_sandbox(declared_service.environment)
    for rule in rules:
        monkeypatch.setitem(RULES, rule, lambda exchange: None)
    service = declared_service.service_class()

    if declared_service.gets_the_requests_of_the_sandbox:
        trial = trial_by_replay(service, declared_service.environment)
    else:
        declared_ids = declared_service.fails | declared_service.warns
        trial = try_in_memory(service, declared_service.environment, ids=declared_ids)
    difference = difference_of_faulty_service(declared_service, trial, plain_trial)

    assert difference.missing == rules, difference.lines()


SERVICE_WITHOUT_DIGIT = DeclaredService(
    "WithoutDigit",
    PLAIN_SANDBOX.service_class,
    "There is no digit.",
    "none",
    fails=frozenset({"executePix.digit.present"}),
)
"""A service that declares to fail the requirement executePix.digit.present."""


@pytest.mark.parametrize(
    "trial",
    [
        Trial(exit_status=7, results={}, requests=3, errors=()),
        Trial(exit_status=3, results={}, requests=3, errors=("the suite failed",)),
        Trial(exit_status=0, results={}, requests=0, errors=()),
    ],
    ids=["exit status 7: unreachable", "the suite failed", "no request was sent"],
)
def test_the_proof_is_red_if_a_run_comes_to_no_verdict(trial):
    """A trial without a verdict on its service fails the proof, whether the service is to be faulty or to conform.

    A trial is a run of the suite against a service of the proof. The proof is red if a trial gives other verdicts than
    its service declares, and also if there is a reason why it gives none.
    """
    difference_if_faulty = difference_of_faulty_service(SERVICE_WITHOUT_DIGIT, trial, EMPTY_TRIAL)
    difference_if_conforming = difference_of_conforming_service(SERVICE_WITHOUT_DIGIT, trial)

    assert difference_if_faulty.reasons_without_verdict
    assert difference_if_conforming.reasons_without_verdict


def test_the_proof_is_red_if_a_fault_changes_no_verdict():
    """The proof is red if a service that is wrong on purpose gets the same verdicts as the plain sandbox.

    It is also red if such a service declares no requirement that it breaks.
    """
    plain_trial = trial_of_plain_sandbox("sandbox")
    service_without_declaration = DeclaredService("Silent", PLAIN_SANDBOX.service_class, "None.", "none")

    same_verdicts = difference_of_faulty_service(SERVICE_WITHOUT_DIGIT, plain_trial, plain_trial)
    nothing_declared = difference_of_faulty_service(service_without_declaration, plain_trial, plain_trial)

    assert same_verdicts.lines() == ["declared, and does not fail or warn as declared: executePix.digit.present"]
    assert nothing_declared.lines() == ["declares no requirement that fails or warns"]


def test_the_proof_is_red_if_a_requirement_is_not_tested():
    """The proof is red if a requirement was not tested, unless the service declares in `hides` that it cannot be
    tested.

    It is also red if a requirement in `hides` was tested after all. Here that requirement is executePix.json.
    """
    passes = {id: RequirementResult(id, Verdict.PASS, "") for id in ("executePix.digit.present", "executePix.json")}
    json_not_exercised = {"executePix.json": RequirementResult("executePix.json", Verdict.NOT_EXERCISED, "")}
    trial_with_json = Trial(exit_status=0, results=passes, requests=1, errors=())
    trial_without_json = replace(trial_with_json, results=passes | json_not_exercised)
    service_that_hides_json = replace(SERVICE_WITHOUT_DIGIT, hides=("executePix.json",))

    if_faulty = difference_of_faulty_service(SERVICE_WITHOUT_DIGIT, trial_without_json, EMPTY_TRIAL)
    if_conforming = difference_of_conforming_service(SERVICE_WITHOUT_DIGIT, trial_without_json)
    if_hidden = difference_of_conforming_service(service_that_hides_json, trial_without_json)
    if_hidden_but_tested = difference_of_faulty_service(service_that_hides_json, trial_with_json, EMPTY_TRIAL)

    assert if_faulty.not_exercised == {"executePix.json"}
    assert if_conforming.not_exercised == {"executePix.json"}
    assert if_hidden.not_exercised == frozenset()
    assert if_hidden_but_tested.hidden_but_exercised == ("executePix.json",)


def test_the_proof_is_red_if_a_parallel_fault_shows_without_parallel_requests():
    """The proof is red if a fault that is declared as parallel shows while one request is sent at a time.

    A parallel service declares what fails while it gets several requests at once. With one request at a time it must
    get the verdicts of the plain sandbox, so each failure counts as "not declared".
    """
    parallel_fault = replace(SERVICE_WITHOUT_DIGIT, parallel=True)
    results = {"executePix.digit.present": RequirementResult("executePix.digit.present", Verdict.FAIL, "")}
    failing_trial = Trial(exit_status=1, results=results, requests=1, errors=())
    plain_trial = trial_of_plain_sandbox("sandbox")

    if_it_fails = difference_with_one_request_at_a_time(parallel_fault, failing_trial, EMPTY_TRIAL)
    if_it_passes = difference_with_one_request_at_a_time(parallel_fault, plain_trial, plain_trial)

    assert if_it_fails.lines() == ["fails or warns, and is not declared: executePix.digit.present"]
    assert if_it_passes.lines() == []


# -- what is written of the proof -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected_services", "is_written"),
    [(["WithoutDigit"], True), (["WithoutDigit", "Another"], False), ([], False)],
    ids=["all services were tried", "one service was not tried", "not all services of the proof are to be tried"],
)
def test_the_summary_is_written_if_every_service_was_tried(expected_services, is_written, tmp_path, monkeypatch):
    """The summary of the proof is written only if every service was tried. Here WithoutDigit was tried alone.

    Each result has a list of the services that the proof is to try (`expected`). The list is empty if not all services
    of the proof are to be tried, so then no summary is written.
    """
    monkeypatch.setattr(matrix, "SUMMARY", tmp_path / "summary.json")  # the file that the plugin writes
    result_of_service = {
        "name": "WithoutDigit", "registry": "mutants", "parallel": False, "declared": ["executePix.digit.present"], "right": True,
        "expected": expected_services,
    }  # fmt: skip
    plugin = matrix.ProofSummary()

    plugin.pytest_runtest_logreport(SimpleNamespace(when="call", user_properties=[(PROPERTY, result_of_service)]))
    plugin.pytest_sessionfinish()

    assert matrix.SUMMARY.exists() is is_written
