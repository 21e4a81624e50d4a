"""How each requirement is exercised, as the marks and docstrings of the tests and the plan of the traffic say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from environments.profiles.profile import Profile
from reports.explaining.explanation import Exercise, Exercised
from spec.requirements import Requirement, ledger
from spec.rules import RULES
from tests.traffic.reach import NEED_FUZZ, OF_NO_OPERATION, prerequisites, subjects_of

Marks = list[Any]


def exercises_of(modules: Iterable[ModuleType], profile: Profile) -> Mapping[str, Exercised]:
    """By requirement, what exercises it in a run with the profile. `modules` hold the tests."""
    tests: defaultdict[str, list[Exercise]] = defaultdict(list)
    for module in modules:
        for requirement_id, test in _of_a_module(module):
            tests[requirement_id].append(test)
    return {one.id: _exercised(one, tests[one.id], profile) for one in ledger().values()}


def _exercised(requirement: Requirement, tests: list[Exercise], profile: Profile) -> Exercised:
    if requirement.untestable:
        return Exercised()
    asked = subjects_of(requirement.id, profile) or OF_NO_OPERATION[0]
    needed = tuple(dict.fromkeys(prerequisites(requirement.id, profile)))
    if requirement.operation is None and needed:  # they show it; reads show that the token is valid
        asked, needed = needed, asked
    beside = tuple(name for name in needed if name not in asked)
    more = ("fuzz",) if requirement.id in NEED_FUZZ else ()
    shown = (replace(test, needs=(*test.needs, *more)) for test in dict.fromkeys(tests))
    return Exercised(asked, beside, tuple(sorted(shown, key=lambda test: len(test.needs))))


def _of_a_module(module: ModuleType) -> Iterator[tuple[str, Exercise]]:
    """Each requirement with a test of it; a test that judges by every rule has all those of its operation."""
    for name, test in vars(module).items():
        if not name.startswith("test_"):
            continue
        for marks in _cases([*getattr(module, "pytestmark", []), *getattr(test, "pytestmark", [])]):
            needs = tuple(mark.args[0] for mark in marks if mark.name == "needs" and len(mark.args) == 1)
            fact = " ".join((test.__doc__ or "").split())
            yield from ((requirement_id, Exercise(fact, needs)) for requirement_id in _requirements(marks))


def _cases(marks: Marks) -> Iterator[Marks]:
    """The marks of each set of parameters of a test, those of the test and of its module included."""
    parameters = next((mark.args[1] for mark in marks if mark.name == "parametrize"), None)
    if parameters is None:
        yield marks
        return
    for one in parameters:
        yield [*marks, *(getattr(mark, "mark", mark) for mark in one.marks)]


def _requirements(marks: Marks) -> Iterator[str]:
    for mark in marks:
        if mark.name == "requirement":
            yield mark.args[0]
            if any(other.name == "every_rule" for other in marks):
                operation = ledger()[mark.args[0]].operation
                yield from (
                    id for id in RULES if ledger()[id].operation == operation and ledger()[id].level != "example"
                )
