"""The gate: the verdicts of a trial against those that its specimen declares."""

import fnmatch
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache

from environments.sandbox import Service
from spec.requirements import requirements
from spec.rules import RULES
from tests.selftest.proof.directly import trial_by_replay, try_over_http
from tests.selftest.proof.registry import Specimen
from tests.selftest.proof.trial import Trial

FAILING_LEVELS = ("documented", "robustness")
PLAIN_SANDBOX = Specimen("PlainSandbox", Service, "The sandbox as it is.", "none")
_VERDICTS = (0, 1, 6)
"""The exit statuses of a run with a verdict on the service."""
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Difference:
    """Where a trial is not what its specimen declares, by requirement id."""

    died: tuple[str, ...] = ()
    declares_nothing: bool = False
    missing: frozenset[str] = NONE
    undeclared: frozenset[str] = NONE
    lost: frozenset[str] = NONE
    stale: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Difference()

    def lines(self) -> list[str]:
        """One line for each sort of difference."""
        shown = {
            "the run gave no verdict on the service": self.died,
            "declared, and does not fail or warn as declared": self.missing,
            "fails or warns, and is not declared": self.undeclared,
            "not exercised, and `hides` does not name it": self.lost,
            "`hides` names it, and it was exercised": self.stale,
        }
        lines = ["declares no requirement that fails or warns"] if self.declares_nothing else []
        return lines + [
            f"{what}: {', '.join(sorted(requirements))}" for what, requirements in shown.items() if requirements
        ]


def judge_fault(specimen: Specimen, trial: Trial, plain: Trial) -> Difference:
    """A mutant or a borderline service: the declared requirements fail and warn, no others, and the rest is as on the
    plain sandbox."""
    said = trial.failing | (trial.warned - plain.warned)
    declared = specimen.fails | specimen.warns
    hides = () if specimen.parallel else specimen.hides  # which requests meet is another matter in each run
    swapped = (specimen.fails & trial.warned) | (specimen.warns & trial.failing)
    return Difference(
        died=died(trial),
        declares_nothing=not declared,
        missing=frozenset((declared - said) | swapped),
        undeclared=frozenset(said - declared),
        lost=_lost(specimen, trial, plain.not_exercised),
        stale=tuple(pattern for pattern in hides if not fnmatch.filter(trial.not_exercised, pattern)),
    )


def judge_alone(specimen: Specimen, trial: Trial, plain: Trial) -> Difference:
    """A fault of parallel requests, where one request is sent at a time: all is as on the plain sandbox."""
    said = trial.failing | (trial.warned - plain.warned)
    lost = _lost(replace(specimen, hides=()), trial, plain.not_exercised)
    return Difference(died=died(trial), undeclared=frozenset(said), lost=lost)


def judge_lawful(specimen: Specimen, trial: Trial) -> Difference:
    """A variant: nothing fails, and every requirement that the profile makes possible is exercised."""
    return Difference(died=died(trial), undeclared=frozenset(trial.failing), lost=_lost(specimen, trial, NONE))


def died(trial: Trial) -> tuple[str, ...]:
    """Why a trial says nothing about the service."""
    why = [f"exit status {trial.exit_status}"] if trial.exit_status not in _VERDICTS else []
    why += [] if trial.requests else ["nothing was sent"]
    return (*why, *trial.errors)


def _lost(specimen: Specimen, trial: Trial, anyway: Collection[str]) -> frozenset[str]:
    """What nobody looked at. An observation is made where a service shows it: test_observed_values.py is about those."""
    known = {*anyway, *(one.id for one in requirements().values() if one.level == "not-shown")}
    return frozenset(one for one in trial.not_exercised if one not in known and not specimen.may_hide(one))


@cache
def trial_of_plain_sandbox(environment: str, parallel: int | None = None, *, on_the_wire: bool = False) -> Trial:
    """The trial of the plain sandbox in an environment, once in each process."""
    return try_over_http(Service(), environment, parallel) if on_the_wire else trial_by_replay(Service(), environment)


# -- the requirements and the rules are covered -------------------------------------------------------------------------


def requirements_without_a_mutant(specimens: Iterable[Specimen]) -> list[str]:
    """The requirements at a failing level that no mutant breaks, although an exchange can show them."""
    broken = set().union(*(specimen.fails for specimen in specimens if not specimen.parallel))
    required = [one for one in requirements().values() if one.level in FAILING_LEVELS and not one.untestable]
    return [one.id for one in required if one.id not in broken]


def specimen_by_rule(specimens: Iterable[Specimen]) -> dict[str, Specimen]:
    """For each rule one specimen that breaks it; few specimens in all, so those whose trial is a replay, and that break
    most rules, come first. None of them needs several requests in flight."""
    chosen: dict[str, Specimen] = {}
    specimens = [one for one in specimens if not one.parallel]
    for specimen in sorted(
        specimens, key=lambda one: (not one.is_sent_the_same, -len(one.fails | one.warns), one.name)
    ):
        for rule in (specimen.fails | specimen.warns) & set(RULES):
            chosen.setdefault(rule, specimen)
    return chosen
