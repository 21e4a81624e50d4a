"""Outside witnesses: a linter that is not ours reads the schema, and a service that is not ours is made from it."""

import pytest

from tests.selftest.proof.trial import Trial, try_target
from tests.selftest.witnesses import SCHEMA, installed, lint, prism

pytestmark = pytest.mark.skipif(not installed(), reason="the witnesses are not installed: make witnesses (Node, npm)")

TOKEN = "a-token-for-prism"
NO_TOKEN_IS_CHECKED = {"executePix.token.required", "registerPixKey.token.required"}
"""Prism asks for a token and takes any: the only thing in which what it serves is not what the document owes."""


def _tried(tmp_path, *options: str, schema=SCHEMA) -> Trial:
    with prism(tmp_path / "prism.log", *options, schema=schema) as base_url:
        return try_target(base_url, TOKEN)


def test_an_independent_linter_finds_nothing_in_the_schema():
    """Redocly's strict rules hold, but for the one that asks for statuses which the document does not show."""
    found = lint()

    assert found.returncode == 0, found.stdout + found.stderr


def test_a_service_made_from_the_schema_fails_in_the_one_thing_that_it_does_not_do(tmp_path):
    """Prism's examples keep every documented statement; that it takes any token is found."""
    documented = _tried(tmp_path)

    assert documented.failing == NO_TOKEN_IS_CHECKED
    assert documented.exit_status == 1
    assert not documented.errors


def test_random_answers_that_the_schema_allows_fail_in_nothing_else(tmp_path):
    """Whatever values the schema allows, Prism's random ones among them, raise no false alarm."""
    trial = _tried(tmp_path, "--dynamic", "--seed", "1")

    assert trial.failing <= NO_TOKEN_IS_CHECKED
    assert not trial.errors
