"""The proof covers the requirements and the rules: what is added to them needs a service that breaks it."""

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
_FAIL, _WARN = ("documented", "robustness"), ("implied", "example")
_WARN_TOO = ("registerPixKey.status", "deletePixKey.exists")
"""They warn of what a list of keys shows, where that may have another cause than the service: `warn`."""
_FAIL_TOO = ("executePix.id.matches", "registerPixKey.Key.matches")
"""They fail where the value is that of another request: `level` in spec/findings.yaml."""


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


def test_declared_requirements_are_in_the_ledger():
    """Each requirement that a service of the proof declares to break exists, and its level fails or warns as declared.

    The services of the proof are wrong, or unusual, on purpose, and declare what must fail and what must warn.
    """
    declared_services = [
        declared_service for registry in REGISTRIES for declared_service in registry.declared_services.values()
    ]
    wrong_failures = [
        (declared_service.name, id)
        for declared_service in declared_services
        for id in declared_service.fails
        if not _may_have(id, _FAIL, _FAIL_TOO)
    ]
    wrong_warnings = [
        (declared_service.name, id)
        for declared_service in declared_services
        for id in declared_service.warns
        if not _may_have(id, _WARN, _WARN_TOO)
    ]

    assert wrong_failures == wrong_warnings == []


def _may_have(requirement_id, levels, exceptions):
    """True if the requirement exists, and is at one of these levels or an exception."""
    requirement = requirements().get(requirement_id)
    return requirement is not None and (requirement.level in levels or requirement_id in exceptions)


def test_a_requirement_without_a_mutant_turns_the_gate_red():
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

    A fault that shows only if requests are sent in parallel does not stand for one that shows alone. Slow services
    are left out.
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
    """The requirements that these services break, without parallel ones."""
    return set().union(
        *(
            declared_service.fails | declared_service.warns
            for declared_service in declared_services
            if not declared_service.parallel
        )
    )
