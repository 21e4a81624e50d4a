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
BREAKS = specimen_by_rule([*MUTANTS.specimens.values(), *BORDERLINE.specimens.values()])
_FAIL, _WARN = ("documented", "robustness"), ("implied", "example")
_WARN_TOO = ("registerPixKey.status", "deletePixKey.exists")
"""They warn of what a list of keys shows, where that may have another cause than the service: `warn`."""
_FAIL_TOO = ("executePix.id.matches", "registerPixKey.Key.matches")
"""They fail where the value is that of another request: `level` in spec/findings.yaml."""


def test_every_requirement_at_a_failing_level_has_a_mutant():
    """If a requirement is added, a mutant must break it."""
    missing = requirements_without_a_mutant(MUTANTS.specimens.values())

    assert not missing, f"no mutant breaks: {', '.join(missing)}"


def test_every_rule_has_a_specimen():
    """If a rule is added, a service must break it."""
    missing = [rule for rule in RULES if rule not in BREAKS]

    assert not missing, f"no specimen breaks: {', '.join(missing)}"


def test_declared_requirements_are_in_the_ledger():
    """Every requirement that a specimen declares exists, and its level fails or warns as declared."""
    wrong = [
        f"{specimen.name}: {one}"
        for registry in REGISTRIES
        for specimen in registry.specimens.values()
        for declared, levels in ((specimen.fails, _FAIL), (specimen.warns, _WARN))
        for one in declared
        if one not in requirements()
        or not (requirements()[one].level in levels or one in (_WARN_TOO if levels is _WARN else _FAIL_TOO))
    ]

    assert not wrong, wrong


def test_a_requirement_without_a_mutant_turns_the_gate_red():
    """A requirement is named after its mutants are taken away."""
    other_mutants = [mutant for mutant in MUTANTS.specimens.values() if "executePix.digit.present" not in mutant.fails]

    assert "executePix.digit.present" in requirements_without_a_mutant(other_mutants)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_the_default_choice_covers_every_operator_and_requirement(registry):
    """The default choice has one service of each operator, and one that breaks each requirement, without the slow ones.

    A parallel fault does not stand for one that shows alone.
    """
    chosen = registry.chosen(exhaustive=False)
    not_slow = [specimen for specimen in registry.specimens.values() if not specimen.slow]

    assert _requirements_broken_by(chosen) == _requirements_broken_by(not_slow)
    assert {specimen.operator for specimen in chosen} >= {specimen.operator for specimen in not_slow}
    assert len(chosen) < len(not_slow)


@pytest.mark.parametrize("registry", REGISTRIES, ids=["mutants", "variants", "borderline"])
def test_make_test_tries_one_service_of_each_module(registry):
    """A new module of services is tried by `make test` without a change elsewhere."""
    chosen = registry.chosen(exhaustive=False, one_of_each_module=True)

    assert sorted(specimen.module for specimen in chosen) == sorted(
        {specimen.module for specimen in registry.specimens.values()}
    )


def _requirements_broken_by(specimens):
    """The requirements that these specimens break, without parallel ones."""
    return set().union(*(specimen.fails | specimen.warns for specimen in specimens if not specimen.parallel))
