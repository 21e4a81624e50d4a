"""Each requirement and each rule has a service in the proof that breaks it, also one that is added later."""

import pytest

import tests.selftest.proof.borderline
import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from spec.requirements import requirements
from spec.rules import RULES
from tests.selftest.proof.gate import declared_service_by_rule, requirements_without_a_mutant
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, VARIANTS

REGISTRIES = (MUTANTS, VARIANTS, BORDERLINE)
SERVICE_BY_RULE = declared_service_by_rule(
    [*MUTANTS.declared_services.values(), *BORDERLINE.declared_services.values()]
)
LEVELS_THAT_FAIL, LEVELS_THAT_WARN = ("documented", "robustness"), ("implied", "example")
REQUIREMENTS_THAT_MAY_WARN = ("registerPixKey.status", "deletePixKey.exists")
"""Requirements at a failing level that only warn in some cases: what a list of keys shows may have another cause than the
service."""
REQUIREMENTS_THAT_MAY_FAIL = ("executePix.id.matches", "registerPixKey.Key.matches")
"""Requirements at a warning level that fail if the value in an answer is that of another request."""


def test_every_requirement_at_a_failing_level_has_a_mutant():
    """For each requirement whose deviation fails a run there is a mutant that breaks it.

    A mutant is a service that is wrong on purpose.
    """
    missing = requirements_without_a_mutant(MUTANTS.declared_services.values())

    assert not missing, f"no mutant breaks: {', '.join(missing)}"


def test_every_rule_has_a_service_that_breaks_it():
    """For each rule (a function that judges one requirement) there is a service that breaks it on purpose."""
    missing = [rule for rule in RULES if rule not in SERVICE_BY_RULE]

    assert not missing, f"no declared_service breaks: {', '.join(missing)}"


def test_declared_failures_exist_and_may_fail():
    """Each requirement that a service of the proof declares to fail exists, and its level makes a deviation a failure.

    Two requirements at a warning level may fail, too, because an answer that belongs to another request is no small
    matter.
    """
    declared_services = [service for registry in REGISTRIES for service in registry.declared_services.values()]
    wrong_declarations = [
        (service.name, id)
        for service in declared_services
        for id in service.fails - set(REQUIREMENTS_THAT_MAY_FAIL)
        if id not in requirements() or requirements()[id].level not in LEVELS_THAT_FAIL
    ]

    assert wrong_declarations == []
    assert set(REQUIREMENTS_THAT_MAY_FAIL) <= set(requirements())


def test_declared_warnings_exist_and_may_warn():
    """Each requirement that a service of the proof declares to warn exists, and its level makes a deviation a warning.

    Two requirements at a failing level may warn, too, because what a list of keys shows may have another cause than
    the service.
    """
    declared_services = [service for registry in REGISTRIES for service in registry.declared_services.values()]
    wrong_declarations = [
        (service.name, id)
        for service in declared_services
        for id in service.warns - set(REQUIREMENTS_THAT_MAY_WARN)
        if id not in requirements() or requirements()[id].level not in LEVELS_THAT_WARN
    ]

    assert wrong_declarations == []
    assert set(REQUIREMENTS_THAT_MAY_WARN) <= set(requirements())


def test_a_requirement_without_a_mutant_is_named():
    """If no service breaks a requirement any more, the check of the proof names this requirement.

    Here the mutants, which are services that are wrong on purpose, that break `executePix.digit.present` are taken
    away.
    """
    other_mutants = [
        mutant for mutant in MUTANTS.declared_services.values() if "executePix.digit.present" not in mutant.fails
    ]

    assert "executePix.digit.present" in requirements_without_a_mutant(other_mutants)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_the_default_choice_covers_every_kind_of_change_and_requirement(registry):
    """By default the proof tries fewer services, but still one that breaks each requirement, and one of each kind of
    fault.

    A kind of fault (`kind_of_change`) is what was changed in the sandbox to make the service, such as its masking.
    Slow services are left out.
    """
    chosen = registry.chosen(exhaustive=False)
    not_slow = [
        declared_service for declared_service in registry.declared_services.values() if not declared_service.slow
    ]

    assert _requirements_broken_by(chosen) == _requirements_broken_by(not_slow)
    assert {declared_service.kind_of_change for declared_service in chosen} >= {
        declared_service.kind_of_change for declared_service in not_slow
    }
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
