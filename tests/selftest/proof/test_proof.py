"""The proof: every seeded fault is caught as declared, every lawful service passes, and the gate itself is red when
it must be. `pytest tests/selftest/proof/test_proof.py -p xdist -n 2`; a whole run writes reports/proof/."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
"""Whether all services are tried; by default those that show something that no other one shows."""
BRIEF = os.environ.get("PIX_CASES") == "first"
"""Whether one service of each operator is enough, as in `make test`."""
NUMBERS = REQUESTS_IN_FLIGHT if EXHAUSTIVE else (8,)
"""How many requests may be in flight where a service is one of parallel requests."""
BREAKS = specimen_by_rule([*MUTANTS.specimens.values(), *BORDERLINE.specimens.values()])
CHOSEN = {name: kept.chosen(exhaustive=EXHAUSTIVE, one_of_each_operator=BRIEF) for name, kept in REGISTRIES.items()}
EVERYTHING = [specimen.name for chosen in CHOSEN.values() for specimen in chosen]
NOTHING = Trial(0, {}, 1, ())
SERVICES = [one for kept in REGISTRIES.values() for one in kept.specimens.values()]
FIRST_OF_EACH_OPERATOR = {one.operator: one for one in reversed(SERVICES) if EXHAUSTIVE and not one.on_the_wire}


@pytest.fixture
def shown(request: pytest.FixtureRequest):
    """Sends what a test shows of a specimen to the matrix, and returns the message of a difference."""

    def show(registry: str, specimen: Specimen, lines: list[str]) -> str:
        value = {
            "name": specimen.name,
            "registry": registry,
            "parallel": specimen.parallel,
            "declared": sorted(specimen.fails | specimen.warns),
            "right": not lines,
            "expected": EVERYTHING if EXHAUSTIVE and specimen.name == EVERYTHING[0] else [],
        }
        request.node.user_properties.append((PROPERTY, value))
        return f"{specimen.name} ({specimen.declared_at}): {specimen.description} " + "; ".join(lines)

    return show


def _try(specimen: Specimen, parallel: int | None = None) -> Trial:
    service = specimen.make()
    if specimen.on_the_wire and parallel != 1:
        return try_over_http(service, specimen.environment, parallel)
    if specimen.parallel:
        service.HOLD_S = service.HOLD_LESS_S = 0  # no other request will come
    return (trial_by_replay if specimen.is_sent_the_same else try_in_memory)(service, specimen.environment)


def differences(specimen: Specimen, judge: Callable[[Specimen, int | None, Trial], Difference]) -> list[str]:
    """What is not as declared: at each number of requests in flight, where the specimen is one of parallel requests."""
    if not specimen.parallel:
        return _judged(specimen, None, judge).lines()
    tried = {number: _judged(specimen, number, judge) for number in NUMBERS}
    return [f"--parallel={number}: {line}" for number, difference in tried.items() for line in difference.lines()]


def _judged(
    specimen: Specimen, number: int | None, judge: Callable[[Specimen, int | None, Trial], Difference]
) -> Difference:
    """A fault that does not show is tried up to three times: on a busy machine, requests that should meet, or go over
    one connection, may not."""
    for _ in range(3):
        difference = judge(specimen, number, _try(specimen, number))
        if not difference.missing:
            break
    return difference


def _verdicts(trial: Trial) -> dict[str, Verdict]:
    return {id: result.verdict for id, result in trial.rows.items()}


def _fault(specimen: Specimen, parallel: int | None, trial: Trial) -> Difference:
    judge = judge_alone if specimen.parallel and parallel == 1 else judge_fault
    on_the_wire = specimen.on_the_wire and parallel != 1
    return judge(specimen, trial, trial_of_plain_sandbox(specimen.environment, parallel, on_the_wire=on_the_wire))


@pytest.mark.parametrize(
    ("registry", "specimen"),
    [pytest.param(name, one, id=one.name) for name, chosen in CHOSEN.items() for one in chosen],
)
def test_a_service_gets_the_verdicts_that_it_declares(registry, specimen, shown):
    """Of a mutant the requirements that it names fail, of a borderline service they warn, and no others: the rest
    passes, or is not exercised as declared. Of a variant nothing fails, and every requirement is exercised that the
    profile makes possible. A fault of parallel requests does not show while one is sent at a time."""
    judge = (lambda one, _, trial: judge_lawful(one, trial)) if registry == "variants" else _fault
    found = differences(specimen, judge)
    message = shown(registry, specimen, found)

    assert not found, message


@pytest.mark.parametrize(
    "specimen", [pytest.param(one, id=one.name) for one in SERVICES if EXHAUSTIVE and one.is_sent_the_same]
)
def test_a_replay_is_a_trial_in_memory(specimen):
    """What is sent to a service whose trial is a replay is what is sent to the sandbox, and a trial in memory, which
    calls every test, gives the same verdicts."""
    service, recorded = specimen.make(), sent_to_the_sandbox(specimen.environment)
    service.token = recorded.session.door.secrets.token()
    sent = sent_in_memory(service, specimen.environment)

    assert sent.requests == recorded.requests
    assert _verdicts(sent.judged()) == _verdicts(_try(specimen))


# -- the gate, proved on itself -------------------------------------------------------------------------------------


def test_the_plain_sandbox_passes():
    """On the sandbox nothing fails or warns, and every requirement is exercised."""
    difference = judge_lawful(PLAIN_SANDBOX, trial_of_plain_sandbox("sandbox"))

    assert not difference, difference.lines()
    assert not trial_of_plain_sandbox("sandbox").warned


def test_the_plain_sandbox_passes_in_a_run():
    """A run of pytest over HTTP gives the verdicts that are given in memory. It leaves the generated traffic out, so it is
    about the requirements that have a test alone."""
    run = try_service(Service())
    in_memory = _verdicts(trial_of_plain_sandbox("sandbox"))
    tested_in_memory = {id: verdict for id, verdict in in_memory.items() if verdict is not Verdict.UNTESTABLE}

    assert _verdicts(run) == tested_in_memory


@pytest.mark.parametrize("specimen", [pytest.param(one, id=one.name) for one in FIRST_OF_EACH_OPERATOR.values()])
def test_a_run_shows_what_memory_shows(specimen):
    """A run of pytest over HTTP gives the verdicts that the specimen declares, for one specimen of each operator. As in
    memory it sends one request at a time, but for those that show beside others alone."""
    one_at_a_time = () if specimen.parallel else ("--parallel=1",)
    trial = try_service(specimen.make(), *one_at_a_time, environment=specimen.environment)
    is_lawful = specimen.name in VARIANTS.specimens
    before = trial_of_plain_sandbox(specimen.environment, on_the_wire=True)

    assert not (judge_lawful(specimen, trial) if is_lawful else judge_fault(specimen, trial, before)).lines()


@pytest.mark.parametrize(
    ("specimen", "rules"),
    [
        pytest.param(specimen, frozenset(rule for rule, broken_by in BREAKS.items() if broken_by is specimen), id=name)
        for name, specimen in {specimen.name: specimen for specimen in BREAKS.values()}.items()
    ],
)
def test_the_gate_names_a_rule_that_always_holds(specimen, rules, monkeypatch):
    """A requirement is judged by its own rule alone: if that always holds, the gate misses that requirement. Where it
    takes a trial in memory, no more is sent than the requirements need that the specimen declares."""
    before, declared = trial_of_plain_sandbox(specimen.environment), specimen.fails | specimen.warns
    for rule in rules:
        monkeypatch.setitem(RULES, rule, lambda exchange: None)

    again = trial_by_replay if specimen.is_sent_the_same else partial(try_in_memory, ids=declared)
    difference = judge_fault(specimen, again(specimen.make(), specimen.environment), before)

    assert difference.missing == rules, difference.lines()


WITHOUT_DIGIT = Specimen(
    "WithoutDigit", PLAIN_SANDBOX.make, "There is no digit.", "none", fails=frozenset({"executePix.digit.present"})
)


def test_a_run_without_a_verdict_turns_the_gate_red():
    """No verdict, errors of the suite, and a target that was never reached say nothing of a service."""
    for trial in (Trial(7, {}, 3, ()), Trial(3, {}, 3, ("the suite failed",)), Trial(0, {}, 0, ())):
        assert judge_fault(WITHOUT_DIGIT, trial, NOTHING).died
        assert judge_lawful(WITHOUT_DIGIT, trial).died


def test_a_mutant_that_changes_nothing_turns_the_gate_red():
    """A mutant whose verdicts are those of the plain sandbox is named, and so is one that declares nothing."""
    same = judge_fault(WITHOUT_DIGIT, trial_of_plain_sandbox("sandbox"), trial_of_plain_sandbox("sandbox"))
    silent = judge_fault(
        Specimen("Silent", PLAIN_SANDBOX.make, "None.", "none"),
        trial_of_plain_sandbox("sandbox"),
        trial_of_plain_sandbox("sandbox"),
    )

    assert same.lines() == ["declared, and does not fail or warn as declared: executePix.digit.present"]
    assert silent.lines() == ["declares no requirement that fails or warns"]


def test_what_nobody_looked_at_turns_the_gate_red():
    """A requirement that is not exercised is to be named by `hides`, and what `hides` names is not to be exercised."""
    seen = {id: RequirementResult(id, Verdict.PASS, "") for id in ("executePix.digit.present", "executePix.json")}
    unseen = {id: RequirementResult(id, Verdict.NOT_EXERCISED, "") for id in ("executePix.json",)}
    hiding = replace(WITHOUT_DIGIT, hides=("executePix.json",))

    assert judge_fault(WITHOUT_DIGIT, Trial(0, seen | unseen, 1, ()), NOTHING).lost == {"executePix.json"}
    assert judge_lawful(WITHOUT_DIGIT, Trial(0, seen | unseen, 1, ())).lost == {"executePix.json"}
    assert judge_fault(hiding, Trial(0, seen, 1, ()), NOTHING).stale == ("executePix.json",)
    assert not judge_lawful(hiding, Trial(0, seen | unseen, 1, ())).lost


def test_a_fault_that_shows_alone_turns_the_gate_red():
    """Where one request is sent at a time, a fault of parallel requests must not show."""
    rows = {"executePix.digit.present": RequirementResult("executePix.digit.present", Verdict.FAIL, "")}
    shows = judge_alone(WITHOUT_DIGIT, Trial(1, rows, 1, ()), NOTHING)

    assert shows.lines() == ["fails or warns, and is not declared: executePix.digit.present"]
    assert not judge_alone(WITHOUT_DIGIT, trial_of_plain_sandbox("sandbox"), trial_of_plain_sandbox("sandbox"))


# -- what is written of the proof -----------------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [["WithoutDigit"], ["WithoutDigit", "Another"], []])
def test_the_summary_is_of_every_service(expected, tmp_path, monkeypatch):
    """A proof of a few services leaves the committed summary alone."""
    monkeypatch.setattr(matrix, "SUMMARY", tmp_path / "summary.json")
    shown = {
        "name": "WithoutDigit", "registry": "mutants", "parallel": False, "declared": ["executePix.digit.present"], "right": True,
        "expected": expected,
    }  # fmt: skip
    kept = matrix.Matrix()

    kept.pytest_runtest_logreport(SimpleNamespace(when="call", user_properties=[(PROPERTY, shown)]))
    kept.pytest_sessionfinish()

    assert matrix.SUMMARY.exists() is (expected == ["WithoutDigit"])
