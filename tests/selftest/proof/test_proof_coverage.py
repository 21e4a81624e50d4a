"""The proof covers the requirements and the rules: what is added to them needs a service that breaks it."""

import pytest

import tests.selftest.proof.borderline
import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from spec.requirements import requirements
from spec.rules import RULES
from tests.selftest.proof.gate import requirements_without_a_mutant, specimen_by_rule
from tests.selftest.proof.registry import BORDERLINE, MUTANTS, VARIANTS

REGISTRIES = (MUTANTS, VARIANTS, BORDERLINE)
SPECIMEN_BY_RULE = specimen_by_rule([*MUTANTS.specimens.values(), *BORDERLINE.specimens.values()])
_FAIL, _WARN = ("documented", "robustness"), ("implied", "example")
_WARN_TOO = ("registerPixKey.status", "deletePixKey.exists")
"""They warn of what a list of keys shows, where that may have another cause than the service: `warn`."""
_FAIL_TOO = ("executePix.id.matches", "registerPixKey.Key.matches")
"""They fail where the value is that of another request: `level` in spec/findings.yaml."""


def test_every_requirement_at_a_failing_level_has_a_mutant():
    """For each requirement whose deviation fails a run there is a mutant that breaks it.

    A mutant is a service that is wrong on purpose.
    """
    missing = requirements_without_a_mutant(MUTANTS.specimens.values())

    assert not missing, f"no mutant breaks: {', '.join(missing)}"


def test_every_rule_has_a_specimen():
    """For each rule (a function that judges one requirement) there is a service that breaks it on purpose."""
    missing = [rule for rule in RULES if rule not in SPECIMEN_BY_RULE]

    assert not missing, f"no specimen breaks: {', '.join(missing)}"


def test_declared_requirements_are_in_the_ledger():
    """Each requirement that a service of the proof declares to break exists, and its level fails or warns as declared.

    The services of the proof are wrong, or unusual, on purpose, and declare what must fail and what must warn.
    """
    specimens = [specimen for registry in REGISTRIES for specimen in registry.specimens.values()]
    wrong_failures = [
        (specimen.name, id) for specimen in specimens for id in specimen.fails if not _may_have(id, _FAIL, _FAIL_TOO)
    ]
    wrong_warnings = [
        (specimen.name, id) for specimen in specimens for id in specimen.warns if not _may_have(id, _WARN, _WARN_TOO)
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
    other_mutants = [mutant for mutant in MUTANTS.specimens.values() if "executePix.digit.present" not in mutant.fails]

    assert "executePix.digit.present" in requirements_without_a_mutant(other_mutants)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_the_default_choice_covers_every_operator_and_requirement(registry):
    """By default the proof tries fewer services, but still one that breaks each requirement, and one of each kind of
    fault.

    A fault that shows only if requests are sent in parallel does not stand for one that shows alone. Slow services
    are left out.
    """
    chosen = registry.chosen(exhaustive=False)
    not_slow = [specimen for specimen in registry.specimens.values() if not specimen.slow]

    assert _requirements_broken_by(chosen) == _requirements_broken_by(not_slow)
    assert {specimen.operator for specimen in chosen} >= {specimen.operator for specimen in not_slow}
    assert len(chosen) < len(not_slow)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_make_test_tries_one_service_of_each_module(registry):
    """`make test` tries exactly one service of each module of the proof, so that a new module is tried at once."""
    chosen = registry.chosen(exhaustive=False, one_of_each_module=True)

    all_modules = {specimen.module for specimen in registry.specimens.values()}
    modules_of_chosen = [specimen.module for specimen in chosen]

    assert sorted(modules_of_chosen) == sorted(all_modules)


def _requirements_broken_by(specimens):
    """The requirements that these specimens break, without parallel ones."""
    return set().union(*(specimen.fails | specimen.warns for specimen in specimens if not specimen.parallel))
