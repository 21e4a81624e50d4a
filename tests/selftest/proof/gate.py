"""The gate: what the suite said of a service against what it owed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from environments.sandbox.service import Service
from spec.requirements import ledger
from spec.rules import RULES
from tests.selftest.proof.registry import Specimen
from tests.selftest.proof.trial import Trial, try_service

FAILING_LEVELS = ("documented", "robustness")
SANDBOX = Specimen(
    "PlainSandbox",
    Service,
    "The sandbox as it is.",
    "none",
)
_VERDICTS = (0, 1, 6)
"""The exit statuses of a run that came to a verdict on the service."""
NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Difference:
    """Where a trial is not what its specimen declares. Rows are ledger ids."""

    died: tuple[str, ...] = ()
    declares_nothing: bool = False
    missing: frozenset[str] = NONE
    undeclared: frozenset[str] = NONE
    lost: frozenset[str] = NONE
    stale: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Difference()

    def lines(self) -> list[str]:
        """One line for each sort of difference; none where there is none."""
        shown = {
            "the run died": self.died,
            "declared, and neither fails nor warns": self.missing,
            "fails or warns, and is not declared": self.undeclared,
            "not exercised, and hides does not name it": self.lost,
            "hides names it, and nothing of it is hidden": self.stale,
        }
        lines = ["a fault that breaks no row: declare fails or warns"] if self.declares_nothing else []
        return lines + [f"{what}: {', '.join(sorted(rows))}" for what, rows in shown.items() if rows]


def judge_fault(specimen: Specimen, trial: Trial, plain: Trial) -> Difference:
    """A mutant or a borderline service: its rows fail and warn, no others, and the rest is as on the plain sandbox."""
    said = trial.failing | (trial.warned - plain.warned)
    declared = specimen.fails | specimen.warns
    swapped = (specimen.fails & trial.warned) | (specimen.warns & trial.failing)
    return Difference(
        died=died(trial),
        declares_nothing=not declared,
        missing=frozenset((declared - said) | swapped),
        undeclared=frozenset(said - declared),
        lost=_lost(specimen, trial, plain.not_exercised),
        stale=tuple(pattern for pattern in specimen.hides if not _hides_something(pattern, specimen, trial)),
    )


def judge_lawful(specimen: Specimen, trial: Trial) -> Difference:
    """A variant: nothing fails, and every row that the profile makes possible is exercised."""
    return Difference(
        died=died(trial),
        undeclared=frozenset(trial.failing),
        lost=_lost(specimen, trial, NONE),
    )


def died(trial: Trial) -> tuple[str, ...]:
    """Why a trial says nothing of the service."""
    why = [f"exit status {trial.exit_status}"] if trial.exit_status not in _VERDICTS else []
    why += [] if trial.requests else ["nothing was sent"]
    return (*why, *trial.errors)


def _lost(specimen: Specimen, trial: Trial, anyway: Collection[str]) -> frozenset[str]:
    return frozenset(row for row in trial.not_exercised if row not in anyway and not specimen.may_hide(row))


def _hides_something(pattern: str, specimen: Specimen, trial: Trial) -> bool:
    alone = Specimen(specimen.name, specimen.make, specimen.description, specimen.operator, hides=(pattern,))
    return any(alone.may_hide(row) for row in trial.not_exercised)


@cache
def plain(environment: str) -> Trial:
    """The trial of the plain sandbox in an environment, once in each process."""
    return try_service(Service(), environment=environment)


# -- the ledger and the rules are covered -------------------------------------------------------------------------


def rows_without_a_mutant(specimens: Iterable[Specimen]) -> list[str]:
    """The rows at a failing level that no mutant turns red, although an exchange can show them."""
    broken = set().union(*(specimen.fails for specimen in specimens))
    rows = [row for row in ledger().values() if row.level in FAILING_LEVELS and not row.untestable]
    return [row.id for row in rows if row.id not in broken]


def by_rule(specimens: Iterable[Specimen]) -> dict[str, Specimen]:
    """For each rule one specimen that it tells of, few specimens in all: the one that most rules tell of first."""
    chosen: dict[str, Specimen] = {}
    for specimen in sorted(specimens, key=lambda one: (-len(one.fails | one.warns), one.name)):
        for row in (specimen.fails | specimen.warns) & set(RULES):
            chosen.setdefault(row, specimen)
    return chosen
