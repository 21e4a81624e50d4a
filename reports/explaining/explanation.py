"""A requirement explained: what its level means, how it is exercised, and what usually fixes it.

The terminal and the page show the same explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from reports.verdicts import Verdict, deviation
from reports.wording import listed, needed_for
from spec.interface import operations
from spec.message import Text, say
from spec.requirements import Requirement, read_yaml

FIXES = Path(__file__).with_name("fixes.yaml")

_LEVELS = {
    "documented": "The interface document states it.",
    "implied": "The interface document implies it: a general rule reaches it, or two statements together say it.",
    "example": "The interface document shows one value, and does not say that it is the only one.",
    "robustness": "The interface document is silent: this is the policy of the suite, apart from conformance.",
    "not-shown": "The interface document says that this is not shown.",
}
_DEVIATIONS = {
    Verdict.FAIL: "A deviation fails the run.",
    Verdict.WARN: "A deviation is a warning, and fails no run.",
    Verdict.OBSERVED: (
        "Nothing can deviate. What the service does is observed; where it differs from the record, it drifts."
    ),
}


@dataclass(frozen=True)
class Exercise:
    """A test of a requirement: the fact that it states, and what it needs in allow beside the permission of the
    requirement's operation."""

    fact: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercised:
    """How a requirement is exercised: the operations that are asked, those needed beside them, and its tests."""

    operations: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    tests: tuple[Exercise, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """One requirement, in sentences of the suite: what its level and a deviation mean, what is sent for it with which
    permission, the facts that its tests state, and what usually fixes it."""

    requirement: Requirement
    meaning: tuple[Text, ...]
    requests: tuple[Text, ...]
    facts: tuple[Text, ...]
    fix: Text

    @property
    def parts(self) -> Mapping[str, tuple[Text, ...]]:
        """The sentences under their headings; a part may be empty."""
        return {
            "What a deviation means": self.meaning,
            "How it is exercised": self.requests,
            "What its tests state": self.facts,
            "What usually fixes it": (self.fix,) if self.fix else (),
        }


def explanation_of(requirement: Requirement, exercised: Exercised, fail_on: Collection[str]) -> Explanation:
    """The explanation of a requirement for a run that fails on these levels."""
    return Explanation(
        requirement,
        tuple(_meaning(requirement, fail_on)),
        tuple(_requests(exercised)),
        tuple(dict.fromkeys(map(_fact, exercised.tests))),
        fix_for(requirement),
    )


def _meaning(requirement: Requirement, fail_on: Collection[str]) -> Iterator[Text]:
    yield _LEVELS[requirement.level]
    if requirement.untestable:
        yield say("No exchange can show it: {why}.", why=say(requirement.untestable))
    else:
        yield _DEVIATIONS[deviation(requirement.level, fail_on)]


def _requests(exercised: Exercised) -> Iterator[Text]:
    yield from (needed_for(operations()[name]) for name in exercised.operations)
    yield from (say("in addition, {needed}", needed=needed_for(operations()[name])) for name in exercised.beside)


def _fact(test: Exercise) -> Text:
    if not test.needs:
        return test.fact
    return say("with {needed} in allow: {fact}", needed=listed(test.needs), fact=say(test.fact))


@dataclass(frozen=True)
class Fix:
    """One entry of fixes.yaml: the requirements of a level, or those whose ids fit a pattern."""

    fix: str
    level: str = ""
    ids: tuple[str, ...] = ()

    def fits(self, requirement: Requirement) -> bool:
        """True if the entry is about the requirement."""
        return requirement.level == self.level or any(fnmatchcase(requirement.id, pattern) for pattern in self.ids)


@cache
def fixes() -> tuple[Fix, ...]:
    """All entries, in their order. Raises TypeError for one with another member."""
    return tuple(Fix(**entry) for entry in read_yaml(FIXES))


def fix_for(requirement: Requirement) -> Text:
    """What usually fixes a deviation from the requirement; empty where no exchange can show one."""
    if requirement.untestable:
        return ""
    text = next(entry.fix for entry in fixes() if entry.fits(requirement))
    operation, parts = operations().get(requirement.operation or ""), requirement.id.split(".")
    request = f"{operation.method} {operation.path}" if operation else ""
    field = parts[-1] if parts[1] == "body" else parts[-2]
    return say(text, field=field, type=parts[-1], request=request)
