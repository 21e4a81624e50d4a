"""Outside witnesses: tools that are not ours read the schema and the page, and make a service from the schema."""

import os

import pytest

from reports.result.json_schemas import FOLDER, MODELS
from reports.result.run_verdict import result_of_run
from tests.selftest.proof.trial import results_by_id, run_of, try_target
from tests.selftest.recorded_runs import recorded
from tests.selftest.services.running import sandbox_at
from tests.selftest.witnesses import compile_schema, installed, lint, prism, validate

pytestmark = [
    pytest.mark.skipif(os.environ.get("PIX_PROOF") != "exhaustive", reason="make proof runs it"),
    pytest.mark.skipif(not installed(), reason="the witnesses are not installed: make witnesses (Node, npm)"),
]

TOKEN = "a-token-for-prism"
NO_TOKEN_IS_CHECKED = {"executePix.token.required", "registerPixKey.token.required"}
"""Prism asks for a token and takes any."""
ASKED_FOR_BY_PYTEST_HTML = 'Duplicate form control name "filter_checkbox"'
"""The script of pytest-html finds its boxes by that name."""


def test_an_independent_linter_finds_nothing_in_the_schema():
    """Redocly's strict rules hold, but for the one that asks for statuses which the document does not show."""
    found = lint()

    assert found.returncode == 0, found.stdout + found.stderr


def test_an_independent_validator_finds_nothing_in_the_page():
    """Although answers are hostile."""
    faults = validate(recorded("failing").folder / "report.html")

    assert [fault for fault in faults if not fault.endswith(ASKED_FOR_BY_PYTEST_HTML)] == []


@pytest.mark.parametrize("name", MODELS)
def test_an_independent_compiler_takes_each_published_schema_alone(name):
    """Ajv's strict mode refuses what it does not know, and what another file would have to define."""
    compiled = compile_schema(FOLDER / name)

    assert compiled.returncode == 0, compiled.stdout + compiled.stderr


def test_random_answers_that_the_schema_allows_fail_in_nothing_else(tmp_path):
    """Whatever values the schema allows raise no false alarm; that Prism takes any token is found, and its 500 to a body
    of 20,000 arrays in each other."""
    with prism(tmp_path / "prism.log", "--dynamic", "--seed", "1") as base_url:
        trial = try_target(base_url, TOKEN)

    assert {"executePix.token.required"} <= trial.failing <= {*NO_TOKEN_IS_CHECKED, "registerPixKey.serverError"}
    assert (trial.exit_status, trial.errors) == (1, ())


def test_a_request_that_ends_the_service_is_told(tmp_path, monkeypatch):
    """Prism does not survive a path that is no UTF-8. Nobody starts it again, so the request fails in nothing."""
    for name in ("PIX_SANDBOX_TOKEN", "PIX_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    with prism(tmp_path / "prism.log") as base_url:
        status, run = run_of("--no-report", f"--environment={sandbox_at(base_url, tmp_path)}")
    failing = {id for id, result in results_by_id(result_of_run(run)).items() if result.fails}

    assert (status, run.unreachable != "") == (1, True)
    assert "executePix, an invalid request" in str(run.last_seen)
    assert NO_TOKEN_IS_CHECKED <= failing <= {*NO_TOKEN_IS_CHECKED, "registerPixKey.serverError"}
