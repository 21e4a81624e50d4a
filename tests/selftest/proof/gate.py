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
    """How the verdicts of a trial differ from those that its service declares. False if they do not differ.

    The proof is red if a service has a difference. All fields but the first two have ids of requirements.
    """

    reasons_without_verdict: tuple[str, ...] = ()  # why the trial says nothing about the service
    declares_nothing: bool = False  # no requirement that fails or warns is declared
    missing: frozenset[str] = NONE  # declared, and does not fail or warn as declared
    undeclared: frozenset[str] = NONE  # fails or warns, and is not declared
    not_exercised: frozenset[str] = NONE  # not exercised, and `hides` does not name it
    hidden_but_exercised: tuple[str, ...] = ()  # patterns in `hides` whose requirements were all exercised

    def __bool__(self) -> bool:
        return self != Difference()

    def lines(self) -> list[str]:
        """One line for each kind of difference."""
        requirements_by_difference = {
            "the run gave no verdict on the service": self.reasons_without_verdict,
            "declared, and does not fail or warn as declared": self.missing,
            "fails or warns, and is not declared": self.undeclared,
            "not exercised, and `hides` does not name it": self.not_exercised,
            "`hides` names it, and it was exercised": self.hidden_but_exercised,
        }
        lines = ["declares no requirement that fails or warns"] if self.declares_nothing else []
        return lines + [
            f"{difference}: {', '.join(sorted(requirements))}"
            for difference, requirements in requirements_by_difference.items()
            if requirements
        ]


def difference_of_faulty_service(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """How the trial of a mutant or a borderline service differs from its declaration.

    Exactly the declared requirements must fail and warn. All others must get the verdicts of `plain`, the trial of the
    plain sandbox.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    declared = declared_service.fails | declared_service.warns
    with_the_other_verdict = (declared_service.fails & trial.warned) | (declared_service.warns & trial.failing)
    patterns_that_must_hide = declared_service.hides
    if declared_service.parallel:
        patterns_that_must_hide = ()  # other requests meet in each run, so other requirements are hidden
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        declares_nothing=not declared,
        missing=frozenset((declared - deviating) | with_the_other_verdict),
        undeclared=frozenset(deviating - declared),
        not_exercised=_not_exercised(declared_service, trial, plain.not_exercised),
        hidden_but_exercised=tuple(
            pattern for pattern in patterns_that_must_hide if not fnmatch.filter(trial.not_exercised, pattern)
        ),
    )


def difference_with_one_request_at_a_time(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """How the trial of a fault of parallel requests differs from the plain sandbox if one request is sent at a time.

    It must not differ, because the fault shows only while several requests are in flight.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    service_that_hides_nothing = replace(declared_service, hides=())
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        undeclared=frozenset(deviating),
        not_exercised=_not_exercised(service_that_hides_nothing, trial, plain.not_exercised),
    )


def difference_of_conforming_service(declared_service: DeclaredService, trial: Trial) -> Difference:
    """How the trial of a variant, which conforms, differs from its declaration.

    Nothing must fail, and every requirement that the profile permits must be exercised.
    """
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        undeclared=frozenset(trial.failing),
        not_exercised=_not_exercised(declared_service, trial, NONE),
    )


def reasons_without_verdict(trial: Trial) -> tuple[str, ...]:
    """The reasons why a trial says nothing about the service, such as "exit status 7". Empty if it says something."""
    reasons = [f"exit status {trial.exit_status}"] if trial.exit_status not in _VERDICTS else []
    reasons += [] if trial.requests else ["nothing was sent"]
    return (*reasons, *trial.errors)


def _not_exercised(declared_service: DeclaredService, trial: Trial, tolerated: Collection[str]) -> frozenset[str]:
    """The requirements that the trial did not exercise although it should.

    The service may hide some, and `tolerated` are those that the plain sandbox does not exercise, either. Requirements of
    the level "not-shown" are left out, because not every service shows something to observe.
    """
    observed_only = {requirement.id for requirement in requirements().values() if requirement.level == "not-shown"}
    return frozenset(
        id
        for id in trial.not_exercised
        if id not in tolerated and id not in observed_only and not declared_service.may_hide(id)
    )


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
