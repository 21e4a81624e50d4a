"""Compares the verdicts that a service of the proof gets in its trial with the verdicts that it declares.

A trial is a run of the suite against one service.
"""

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
"""Levels of requirements at which a deviation fails a run."""
PLAIN_SANDBOX = DeclaredService("PlainSandbox", Service, "The sandbox as it is.", "none")
_EXIT_STATUSES_WITH_A_VERDICT = (0, 1, 6)
"""The exit statuses of a run that says something about the service: without a failure, with one, and incomplete."""
NONE: frozenset[str] = frozenset()
"""No requirements."""


@dataclass(frozen=True)
class Difference:
    """How the verdicts of a trial differ from those that its service declares. False if they do not differ.

    The proof is red if a service has a difference. All fields but the first two have ids of requirements.
    """

    reasons_without_verdict: tuple[str, ...] = ()  # why the trial says nothing about the service
    declares_nothing: bool = False  # True if the service declares no requirement that fails or warns
    missing: frozenset[str] = NONE  # requirements that are declared, and do not fail or warn as declared
    undeclared: frozenset[str] = NONE  # requirements that fail or warn, and are not declared
    not_exercised: frozenset[str] = NONE  # requirements that were not exercised, and that `hides` does not name
    hidden_but_exercised: tuple[str, ...] = ()  # patterns in `hides` whose requirements were all exercised

    def __bool__(self) -> bool:
        """True if there is any difference."""
        return self != Difference()

    def lines(self) -> list[str]:
        """One line for each kind of difference, such as "fails or warns, and is not declared: executePix.json"."""
        names_by_difference = {
            "the run gave no verdict on the service": self.reasons_without_verdict,
            "declared, and does not fail or warn as declared": self.missing,
            "fails or warns, and is not declared": self.undeclared,
            "not exercised, and `hides` does not name it": self.not_exercised,
            "`hides` names it, and it was exercised": self.hidden_but_exercised,
        }
        lines = ["declares no requirement that fails or warns"] if self.declares_nothing else []
        for difference, names in names_by_difference.items():
            if names:
                lines.append(f"{difference}: {', '.join(sorted(names))}")
        return lines


def difference_of_faulty_service(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """How the trial of a mutant or a borderline service differs from its declaration.

    Exactly the requirements that are declared to fail must fail, and exactly those that are declared to warn must warn.
    A requirement that also warns in `plain`, the trial of the plain sandbox, may warn.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    declared = declared_service.fails | declared_service.warns
    with_the_other_verdict = (declared_service.fails & trial.warned) | (declared_service.warns & trial.failing)
    patterns_that_must_hide = declared_service.hides
    if declared_service.parallel:
        # In each run other requests are inside the service together, so other requirements are not exercised.
        patterns_that_must_hide = ()
    hidden_but_exercised = []
    for pattern in patterns_that_must_hide:
        hides_nothing = not fnmatch.filter(trial.not_exercised, pattern)
        if hides_nothing:
            hidden_but_exercised.append(pattern)
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        declares_nothing=not declared,
        missing=frozenset((declared - deviating) | with_the_other_verdict),
        undeclared=frozenset(deviating - declared),
        not_exercised=_not_exercised(declared_service, trial, plain.not_exercised),
        hidden_but_exercised=tuple(hidden_but_exercised),
    )


def difference_with_one_request_at_a_time(declared_service: DeclaredService, trial: Trial, plain: Trial) -> Difference:
    """How the trial of a parallel service differs from that of the plain sandbox, if one request is sent at a time.

    It must not differ, because the fault of a parallel service shows only while it gets several requests at once.
    `plain` is the trial of the plain sandbox.
    """
    deviating = trial.failing | (trial.warned - plain.warned)
    service_that_hides_nothing = replace(declared_service, hides=())
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        undeclared=frozenset(deviating),
        not_exercised=_not_exercised(service_that_hides_nothing, trial, plain.not_exercised),
    )


def difference_of_conforming_service(declared_service: DeclaredService, trial: Trial) -> Difference:
    """How the trial of a variant (a right but unusual service) differs from its declaration.

    No requirement must fail, and every requirement must be exercised, unless the service declares that it hides it.
    """
    return Difference(
        reasons_without_verdict=reasons_without_verdict(trial),
        undeclared=frozenset(trial.failing),
        not_exercised=_not_exercised(declared_service, trial, NONE),
    )


def reasons_without_verdict(trial: Trial) -> tuple[str, ...]:
    """The reasons why a trial says nothing about the service, such as "exit status 7". Empty if it says something."""
    reasons = []
    if trial.exit_status not in _EXIT_STATUSES_WITH_A_VERDICT:
        reasons.append(f"exit status {trial.exit_status}")
    if not trial.requests:
        reasons.append("nothing was sent")
    return (*reasons, *trial.errors)


def _not_exercised(declared_service: DeclaredService, trial: Trial, tolerated: Collection[str]) -> frozenset[str]:
    """The requirements that the trial did not exercise although it should.

    Three sorts of requirements are left out:

    - requirements that the service declares to hide
    - requirements in `tolerated`, which a trial of the plain sandbox does not exercise either
    - requirements at the level "not-shown", because not every service shows something to observe
    """
    not_exercised = set()
    for requirement_id in trial.not_exercised - set(tolerated):
        is_only_observed = requirements()[requirement_id].level == "not-shown"
        if not is_only_observed and not declared_service.may_hide(requirement_id):
            not_exercised.add(requirement_id)
    return frozenset(not_exercised)


@cache
def trial_of_plain_sandbox(environment: str, parallel: int | None = None, *, on_the_wire: bool = False) -> Trial:
    """The trial of the plain sandbox with the profile of this name. The first call in a process makes it.

    With `on_the_wire`, it is made over sockets, where `parallel` is the number of requests that may be sent at once.
    """
    if on_the_wire:
        return try_over_http(Service(), environment, parallel)
    return trial_by_replay(Service(), environment)


# -- the requirements and the rules are covered -------------------------------------------------------------------------


def requirements_without_a_mutant(declared_services: Iterable[DeclaredService]) -> list[str]:
    """The requirements that none of these services breaks, although their deviation fails a run and a test can show it.

    Parallel services do not count, because their faults show only while they get several requests at once.
    """
    broken: set[str] = set()
    for declared_service in declared_services:
        if not declared_service.parallel:
            broken |= declared_service.fails
    missing = []
    for requirement in requirements().values():
        must_be_broken = requirement.level in FAILING_LEVELS and not requirement.untestable
        if must_be_broken and requirement.id not in broken:
            missing.append(requirement.id)
    return missing


def declared_service_by_rule(declared_services: Iterable[DeclaredService]) -> dict[str, DeclaredService]:
    """For each rule (by the id of its requirement) a service that breaks it, chosen so that there are few services.

    Services come first whose trial is a replay, which is fast; among these, services that break many rules. Parallel
    services are left out, because their faults show only while they get several requests at once.
    """
    candidates = [declared_service for declared_service in declared_services if not declared_service.parallel]
    candidates.sort(key=_order_of_choice)
    chosen: dict[str, DeclaredService] = {}
    for declared_service in candidates:
        broken = declared_service.fails | declared_service.warns
        for rule in broken & set(RULES):
            chosen.setdefault(rule, declared_service)
    return chosen


def _order_of_choice(declared_service: DeclaredService) -> tuple[bool, int, str]:
    """Key by which services are sorted: a replay first, then the service that breaks most, then by name."""
    is_slow = not declared_service.gets_the_requests_of_the_sandbox
    number_of_broken_requirements = len(declared_service.fails | declared_service.warns)
    return is_slow, -number_of_broken_requirements, declared_service.name
