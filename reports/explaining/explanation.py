"""A requirement explained: what its level means, how it is exercised, and what usually fixes it.

The terminal and the page show the same explanation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from reports.explaining.fixes import fix_for
from reports.verdicts import Verdict, deviation
from reports.wording import listed, needed_for
from spec.interface import operations
from spec.message import Text, say
from spec.requirements import Requirement

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
