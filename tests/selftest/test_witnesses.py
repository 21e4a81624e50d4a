"""Outside witnesses: a linter that is not ours reads the schema, and a service that is not ours is made from it."""

import pytest

from tests.selftest.proof.trial import try_target
from tests.selftest.witnesses import installed, lint, prism

pytestmark = pytest.mark.skipif(not installed(), reason="the witnesses are not installed: make witnesses (Node, npm)")

TOKEN = "a-token-for-prism"
NO_TOKEN_IS_CHECKED = {"executePix.token.required", "registerPixKey.token.required"}
"""Prism asks for a token and takes any: the only thing in which what it serves is not what the document owes."""


def test_an_independent_linter_finds_nothing_in_the_schema():
    """Redocly's strict rules hold, but for the one that asks for statuses which the document does not show."""
    found = lint()

    assert found.returncode == 0, found.stdout + found.stderr


def test_random_answers_that_the_schema_allows_fail_in_nothing_else(tmp_path):
    """Whatever values the schema allows raise no false alarm; that Prism takes any token is found."""
    with prism(tmp_path / "prism.log", "--dynamic", "--seed", "1") as base_url:
        trial = try_target(base_url, TOKEN)

    assert {"executePix.token.required"} <= trial.failing <= NO_TOKEN_IS_CHECKED
    assert (trial.exit_status, trial.errors) == (1, ())
