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
    judge_alone,
    judge_fault,
    judge_lawful,
    specimen_by_rule,
    trial_of_plain_sandbox,
)
from tests.selftest.proof.matrix import PROPERTY
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, REQUESTS_IN_FLIGHT, VARIANTS, Specimen
from tests.selftest.proof.trial import Trial, try_service

REGISTRIES = {"mutants": MUTANTS, "variants": VARIANTS, "borderline": BORDERLINE}
EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
"""True if all services are tried. By default each service is tried that shows something that no other one shows."""
BRIEF = os.environ.get("PIX_CASES") == "first"
"""True if one service of each module is enough, as in `make test`."""
NUMBERS_IN_FLIGHT = REQUESTS_IN_FLIGHT if EXHAUSTIVE else (8,)
"""Numbers of requests in flight with which a parallel service is tried."""
SPECIMEN_BY_RULE = specimen_by_rule([*MUTANTS.specimens.values(), *BORDERLINE.specimens.values()])
CHOSEN = {
    name: registry.chosen(exhaustive=EXHAUSTIVE, one_of_each_module=BRIEF) for name, registry in REGISTRIES.items()
}
NAMES_OF_CHOSEN = [specimen.name for specimen in chain.from_iterable(CHOSEN.values())]
EMPTY_TRIAL = Trial(0, {}, 1, ())
SERVICES = list(chain.from_iterable(registry.specimens.values() for registry in REGISTRIES.values()))
REPLAYED = [specimen for specimen in SERVICES if EXHAUSTIVE and specimen.is_sent_the_same]
EVERY_TENTH_REPLAYED = REPLAYED[::10]
"""Services whose replay is compared with a trial in memory. All 459 would take a tenth of the time of the proof."""
FIRST_OF_EACH_MODULE = {
    specimen.module: specimen for specimen in reversed(SERVICES) if EXHAUSTIVE and not specimen.on_the_wire
}


@pytest.fixture
def message_for_matrix(request: pytest.FixtureRequest):
    """Sends the result of a specimen to the summary of the proof, and returns the message of a difference."""

    def send_and_describe(registry: str, specimen: Specimen, lines: list[str]) -> str:
        value = {
            "name": specimen.name,
            "registry": registry,
            "parallel": specimen.parallel,
            "declared": sorted(specimen.fails | specimen.warns),
            "right": not lines,
            "expected": NAMES_OF_CHOSEN if EXHAUSTIVE and specimen.name == NAMES_OF_CHOSEN[0] else [],
        }
        request.node.user_properties.append((PROPERTY, value))
        return f"{specimen.name} ({specimen.declared_at}): {specimen.description} " + "; ".join(lines)

    return send_and_describe


def _trial_of(specimen: Specimen, parallel: int | None = None) -> Trial:
    service = specimen.make()
    if specimen.on_the_wire and parallel != 1:
        return try_over_http(service, specimen.environment, parallel)
    if specimen.parallel and parallel != 1:
        return try_with_threads(service, specimen.environment, parallel)
    if specimen.parallel:
        service.HOLD_S = service.HOLD_LESS_S = 0  # no other request will come
    return (trial_by_replay if specimen.is_sent_the_same else try_in_memory)(service, specimen.environment)


def differences(specimen: Specimen, judge: Callable[[Specimen, int | None, Trial], Difference]) -> list[str]:
    """The lines about what is not as declared; with each number of requests in flight if the specimen is a parallel
    one.
    """
    if not specimen.parallel:
        return _difference(specimen, None, judge).lines()
    difference_by_number = {number: _difference(specimen, number, judge) for number in NUMBERS_IN_FLIGHT}
    return [
        f"--parallel={number}: {line}"
        for number, difference in difference_by_number.items()
        for line in difference.lines()
    ]


def _difference(
    specimen: Specimen, number: int | None, judge: Callable[[Specimen, int | None, Trial], Difference]
) -> Difference:
    """The difference of a specimen.

    A fault that does not show is tried up to three times: on a busy machine requests may not meet, or not share a
    connection.
    """
    for _ in range(3):
        difference = judge(specimen, number, _trial_of(specimen, number))
        if not difference.missing:
            break
    return difference


def _verdicts(trial: Trial) -> dict[str, Verdict]:
    """The verdict of each requirement in a trial, by its id."""
    return {id: result.verdict for id, result in trial.rows.items()}


def _difference_of_fault(specimen: Specimen, parallel: int | None, trial: Trial) -> Difference:
    judge = judge_alone if specimen.parallel and parallel == 1 else judge_fault
    on_the_wire = parallel != 1 and (specimen.on_the_wire or specimen.parallel)
    return judge(specimen, trial, trial_of_plain_sandbox(specimen.environment, parallel, on_the_wire=on_the_wire))


@pytest.mark.parametrize(
    ("registry", "specimen"),
    [pytest.param(name, specimen, id=specimen.name) for name, chosen in CHOSEN.items() for specimen in chosen],
)
def test_a_service_gets_the_verdicts_that_it_declares(registry, specimen, message_for_matrix):
    """Each service of the proof gets exactly the failures and warnings that it declares.

    A mutant is wrong on purpose and fails the requirements that it names. A borderline service gets warnings for
    those that it names. A variant is right in an unusual way, so it fails nothing, and every requirement is
    exercised. A parallel fault does not show while one request is sent at a time.
    """
    judge = (
        (lambda specimen, _, trial: judge_lawful(specimen, trial)) if registry == "variants" else _difference_of_fault
    )
    lines = differences(specimen, judge)
    message = message_for_matrix(registry, specimen, lines)

    assert lines == [], message


@pytest.mark.parametrize("specimen", [pytest.param(specimen, id=specimen.name) for specimen in EVERY_TENTH_REPLAYED])
def test_a_replay_is_a_trial_in_memory(specimen):
    """A service that is sent the same requests as the sandbox gets the same verdicts from a replay as from a trial in
    memory.

    A replay sends the requests of a run against the sandbox again, which is faster. A trial in memory calls every
    test.
    """
    service = specimen.make()
    to_the_sandbox = sent_to_the_sandbox(specimen.environment)
    service.token = to_the_sandbox.session.door.secrets.token()
    sent = sent_in_memory(service, specimen.environment)

    verdicts_in_memory = _verdicts(sent.judge())
    verdicts_of_replay = _verdicts(_trial_of(specimen))

    assert sent.requests == to_the_sandbox.requests
    assert verdicts_in_memory == verdicts_of_replay


# -- the gate, proved on itself -------------------------------------------------------------------------------------


def test_the_plain_sandbox_passes():
    """On the sandbox, which conforms, no requirement fails or warns, and every requirement is tested."""
    trial = trial_of_plain_sandbox("sandbox")

    lines_of_differences = judge_lawful(PLAIN_SANDBOX, trial).lines()

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
    "specimen", [pytest.param(specimen, id=specimen.name) for specimen in FIRST_OF_EACH_MODULE.values()]
)
def test_a_run_over_http_gives_the_verdicts_of_the_run_in_memory(specimen):
    """For one service of each module of services a run of pytest over HTTP gives the verdicts that it declares.

    The proof tries services in memory, so this shows that nothing is lost on the way. One request is sent at a time,
    unless the fault needs parallel requests.
    """
    one_at_a_time = () if specimen.parallel else ("--parallel=1",)
    trial = try_service(specimen.make(), *one_at_a_time, environment=specimen.environment)
    is_lawful = specimen.name in VARIANTS.specimens
    plain_trial = trial_of_plain_sandbox(specimen.environment, on_the_wire=True)

    difference = judge_lawful(specimen, trial) if is_lawful else judge_fault(specimen, trial, plain_trial)

    assert not difference.lines()


@pytest.mark.parametrize(
    ("specimen", "rules"),
    [
        pytest.param(
            specimen, frozenset(rule for rule, broken_by in SPECIMEN_BY_RULE.items() if broken_by is specimen), id=name
        )
        for name, specimen in {specimen.name: specimen for specimen in SPECIMEN_BY_RULE.values()}.items()
    ],
)
def test_the_gate_names_a_rule_that_always_holds(specimen, rules, monkeypatch):
    """If a rule never finds a fault any more, the proof names the requirement of this rule as missed.

    A rule is a function that judges one requirement. Here it is replaced by a function that finds nothing.
    """
    plain_trial = trial_of_plain_sandbox(specimen.environment)
    declared = specimen.fails | specimen.warns
    for rule in rules:
        monkeypatch.setitem(RULES, rule, lambda exchange: None)

    make_trial = trial_by_replay if specimen.is_sent_the_same else partial(try_in_memory, ids=declared)
    difference = judge_fault(specimen, make_trial(specimen.make(), specimen.environment), plain_trial)

    assert difference.missing == rules, difference.lines()


SERVICE_WITHOUT_DIGIT = Specimen(
    "WithoutDigit", PLAIN_SANDBOX.make, "There is no digit.", "none", fails=frozenset({"executePix.digit.present"})
)


@pytest.mark.parametrize(
    "trial",
    [Trial(7, {}, 3, ()), Trial(3, {}, 3, ("the suite failed",)), Trial(0, {}, 0, ())],
    ids=["exit status 7: unreachable", "the suite failed", "no request was sent"],
)
def test_a_run_without_a_verdict_turns_the_gate_red(trial):
    """The proof is red if the run against one of its services came to no verdict, because it says nothing then."""
    difference_of_faulty = judge_fault(SERVICE_WITHOUT_DIGIT, trial, EMPTY_TRIAL)
    difference_of_lawful = judge_lawful(SERVICE_WITHOUT_DIGIT, trial)

    assert difference_of_faulty.died
    assert difference_of_lawful.died


def test_a_mutant_that_changes_nothing_turns_the_gate_red():
    """The proof is red if a service that is wrong on purpose gets the verdicts of the plain sandbox, or declares no
    requirement.
    """
    difference_of_same = judge_fault(
        SERVICE_WITHOUT_DIGIT, trial_of_plain_sandbox("sandbox"), trial_of_plain_sandbox("sandbox")
    )
    difference_of_silent = judge_fault(
        Specimen("Silent", PLAIN_SANDBOX.make, "None.", "none"),
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

    assert judge_fault(SERVICE_WITHOUT_DIGIT, trial_without_json, EMPTY_TRIAL).lost == {"executePix.json"}
    assert judge_lawful(SERVICE_WITHOUT_DIGIT, trial_without_json).lost == {"executePix.json"}
    assert judge_fault(hiding, trial_of_all, EMPTY_TRIAL).stale == ("executePix.json",)
    assert not judge_lawful(hiding, trial_without_json).lost


def test_the_gate_is_red_if_a_parallel_fault_shows_without_parallel_requests():
    """The proof is red if a fault that is declared as parallel shows while one request is sent at a time."""
    results = {"executePix.digit.present": RequirementResult("executePix.digit.present", Verdict.FAIL, "")}
    plain_trial = trial_of_plain_sandbox("sandbox")

    difference_of_failing = judge_alone(SERVICE_WITHOUT_DIGIT, Trial(1, results, 1, ()), EMPTY_TRIAL)
    difference_of_passing = judge_alone(SERVICE_WITHOUT_DIGIT, plain_trial, plain_trial)

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
