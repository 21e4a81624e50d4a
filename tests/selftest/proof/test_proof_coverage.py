"""Each requirement and each rule has a service in the proof that breaks it, also one that is added later."""

from itertools import chain

import pytest

import tests.selftest.proof.borderline
import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from spec.requirements import requirements
from spec.rules import RULES
from tests.selftest.proof.gate import declared_service_by_rule, requirements_without_a_mutant
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, VARIANTS

REGISTRIES = (MUTANTS, VARIANTS, BORDERLINE)
SERVICES = list(chain.from_iterable(registry.declared_services.values() for registry in REGISTRIES))
"""All services of the proof."""
SERVICE_BY_RULE = declared_service_by_rule(
    [*MUTANTS.declared_services.values(), *BORDERLINE.declared_services.values()]
)
LEVELS_THAT_FAIL, LEVELS_THAT_WARN = ("documented", "robustness"), ("implied", "example")
REQUIREMENTS_THAT_MAY_WARN = ("registerPixKey.status", "deletePixKey.exists")
"""Requirements at a failing level that only warn in some cases: what a list of keys shows may have another cause than the
service."""
REQUIREMENTS_THAT_MAY_FAIL = ("executePix.id.matches", "registerPixKey.Key.matches")
"""Requirements at a warning level that fail if the value in an answer is that of another request."""


def ids_at_levels(levels):
    """The ids of all requirements at these levels, such as "documented"."""
    return {requirement.id for requirement in requirements().values() if requirement.level in levels}


def test_every_requirement_at_a_failing_level_has_a_mutant():
    """For each requirement whose deviation fails a run there is a mutant that breaks it.

    A mutant is a service that is wrong on purpose.
    """
    missing = requirements_without_a_mutant(MUTANTS.declared_services.values())

    assert not missing, f"no mutant breaks: {', '.join(missing)}"


def test_every_rule_has_a_service_that_breaks_it():
    """For each rule (a function that judges one requirement) there is a service that breaks it on purpose."""
    missing = [rule for rule in RULES if rule not in SERVICE_BY_RULE]

    assert not missing, f"no service breaks: {', '.join(missing)}"


def test_declared_failures_exist_and_may_fail():
    """Each requirement that a service of the proof declares to fail exists, and its level makes a deviation a failure.

    Two requirements at a warning level may fail, too, because an answer that belongs to another request is no small
    matter.
    """
    may_fail = {*ids_at_levels(LEVELS_THAT_FAIL), *REQUIREMENTS_THAT_MAY_FAIL}
    wrong_declarations = {service.name: service.fails - may_fail for service in SERVICES if service.fails - may_fail}

    assert wrong_declarations == {}
    assert set(REQUIREMENTS_THAT_MAY_FAIL) <= set(requirements())


def test_declared_warnings_exist_and_may_warn():
    """Each requirement that a service of the proof declares to warn exists, and its level makes a deviation a warning.

    Two requirements at a failing level may warn, too, because what a list of keys shows may have another cause than
    the service.
    """
    may_warn = {*ids_at_levels(LEVELS_THAT_WARN), *REQUIREMENTS_THAT_MAY_WARN}
    wrong_declarations = {service.name: service.warns - may_warn for service in SERVICES if service.warns - may_warn}

    assert wrong_declarations == {}
    assert set(REQUIREMENTS_THAT_MAY_WARN) <= set(requirements())


def test_a_requirement_without_a_mutant_is_named():
    """If no mutant (a service that is wrong on purpose) breaks a requirement, this requirement is named.

    Here all mutants are taken away that break `executePix.digit.present`.
    """
    other_mutants = [
        mutant for mutant in MUTANTS.declared_services.values() if "executePix.digit.present" not in mutant.fails
    ]

    assert "executePix.digit.present" in requirements_without_a_mutant(other_mutants)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_the_default_choice_covers_every_kind_of_change_and_requirement(registry):
    """By default the proof tries few services. But together they break each requirement, and have each kind of change.

    The kind of change is what was changed in the sandbox to make the service, such as its masking. Slow services are
    left out.
    """
    chosen = registry.chosen(exhaustive=False)
    not_slow = [
        declared_service for declared_service in registry.declared_services.values() if not declared_service.slow
    ]

    kinds_of_chosen = {declared_service.kind_of_change for declared_service in chosen}
    all_kinds = {declared_service.kind_of_change for declared_service in not_slow}

    assert _requirements_broken_by(chosen) == _requirements_broken_by(not_slow)
    assert kinds_of_chosen >= all_kinds
    assert len(chosen) < len(not_slow)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_make_test_tries_one_service_of_each_module(registry):
    """`make test` tries exactly one service of each module of the proof, so that a new module is tried at once."""
    chosen = registry.chosen(exhaustive=False, one_of_each_module=True)

    all_modules = {declared_service.module for declared_service in registry.declared_services.values()}
    modules_of_chosen = [declared_service.module for declared_service in chosen]

    assert sorted(modules_of_chosen) == sorted(all_modules)


def _requirements_broken_by(declared_services):
    """The requirements that these services break.

    Parallel services are left out: if a fault is found while several requests are on the wire, that does not show that
    it is found with one request at a time.
    """
    ids = set()
    for declared_service in declared_services:
        if not declared_service.parallel:
            ids |= declared_service.fails | declared_service.warns
    return ids
