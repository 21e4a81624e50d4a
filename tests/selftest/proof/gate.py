"""Compares the verdicts of a trial with those that its service declares."""

import fnmatch
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache

from environments.sandbox import Service
from spec.requirements import requirements
from spec.rules import RULES
from tests.selftest.proof.directly import trial_by_replay, try_over_http
from tests.selftest.proof.registry import DeclaredService
from tests.selftest.proof.trial import Trial

FAILING_LEVELS = ("documented", "robustness")
PLAIN_SANDBOX = DeclaredService("PlainSandbox", Service, "The sandbox as it is.", "none")
_VERDICTS = (0, 1, 6)
"""The exit statuses of a run with a verdict on the service."""
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Difference:
    """The differences of a trial from the declaration of its service, by requirement id. False if there is none."""

    died: tuple[str, ...] = ()
    declares_nothing: bool = False
    missing: frozenset[str] = NONE
    undeclared: frozenset[str] = NONE
    lost: frozenset[str] = NONE
    stale: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Difference()

    def lines(self) -> list[str]:
        """One line for each kind of difference."""
        requirements_by_difference = {
            "the run gave no verdict on the service": self.died,
            "declared, and does not fail or warn as declared": self.missing,
            "fails or warns, and is not declared": self.undeclared,
            "not exercised, and `hides` does not name it": self.lost,
            "`hides` names it, and it was exercised": self.stale,
        }
        lines = ["declares no requirement that fails or warns"] if self.declares_nothing else []
        return lines + [
            f"{difference}: {', '.join(sorted(requirements))}"
            for difference, requirements in requirements_by_difference.items()
            if requirements
        ]


def difference_of_faulty_service(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """The difference of a mutant or a borderline service: the declared requirements fail and warn, no others, and
    the rest is as on the plain sandbox.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    declared = declared_service.fails | declared_service.warns
    hides = (
        () if declared_service.parallel else declared_service.hides
    )  # which requests meet is another matter in each run
    swapped = (declared_service.fails & trial.warned) | (declared_service.warns & trial.failing)
    return Difference(
        died=died(trial),
        declares_nothing=not declared,
        missing=frozenset((declared - deviating) | swapped),
        undeclared=frozenset(deviating - declared),
        lost=_lost(declared_service, trial, plain.not_exercised),
        stale=tuple(pattern for pattern in hides if not fnmatch.filter(trial.not_exercised, pattern)),
    )


def difference_with_one_request_at_a_time(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """The difference of a fault of parallel requests if one request is sent at a time: all is as on the plain
    sandbox.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    lost = _lost(replace(declared_service, hides=()), trial, plain.not_exercised)
    return Difference(died=died(trial), undeclared=frozenset(deviating), lost=lost)


def difference_of_conforming_service(declared_service: DeclaredService, trial: Trial) -> Difference:
    """The difference of a variant: nothing fails, and every requirement that the profile permits is exercised."""
    return Difference(died=died(trial), undeclared=frozenset(trial.failing), lost=_lost(declared_service, trial, NONE))


def died(trial: Trial) -> tuple[str, ...]:
    """The reasons why a trial says nothing about the service."""
    reasons = [f"exit status {trial.exit_status}"] if trial.exit_status not in _VERDICTS else []
    reasons += [] if trial.requests else ["nothing was sent"]
    return (*reasons, *trial.errors)


def _lost(declared_service: DeclaredService, trial: Trial, anyway: Collection[str]) -> frozenset[str]:
    """The requirements that were not exercised although they should be.

    An observation is made if the service shows it: test_observations.py is about those.
    """
    expected = {*anyway, *(row.id for row in requirements().values() if row.level == "not-shown")}
    return frozenset(id for id in trial.not_exercised if id not in expected and not declared_service.may_hide(id))


@cache
def trial_of_plain_sandbox(environment: str, parallel: int | None = None, *, on_the_wire: bool = False) -> Trial:
    """The trial of the plain sandbox in an environment, made once in each process."""
    return try_over_http(Service(), environment, parallel) if on_the_wire else trial_by_replay(Service(), environment)


# -- the requirements and the rules are covered -------------------------------------------------------------------------


def requirements_without_a_mutant(declared_services: Iterable[DeclaredService]) -> list[str]:
    """The requirements at a failing level that no mutant breaks, although an exchange can show them."""
    broken = set().union(
        *(declared_service.fails for declared_service in declared_services if not declared_service.parallel)
    )
    required = [row for row in requirements().values() if row.level in FAILING_LEVELS and not row.untestable]
    return [row.id for row in required if row.id not in broken]


def declared_service_by_rule(declared_services: Iterable[DeclaredService]) -> dict[str, DeclaredService]:
    """A service that breaks the rule, for each rule.

    Few services in all: those whose trial is a replay and that break most rules come first. None is about parallel
    requests.
    """
    chosen: dict[str, DeclaredService] = {}
    declared_services = [declared_service for declared_service in declared_services if not declared_service.parallel]
    for declared_service in sorted(
        declared_services,
        key=lambda declared_service: (
            not declared_service.gets_the_requests_of_the_sandbox,
            -len(declared_service.fails | declared_service.warns),
            declared_service.name,
        ),
    ):
        for rule in (declared_service.fails | declared_service.warns) & set(RULES):
            chosen.setdefault(rule, declared_service)
    return chosen
