"""Outside witnesses: tools that are not ours read the schema and the page, and make a service from the schema."""

import os

import pytest

from reports.result.json_schemas import FOLDER, MODELS
from reports.result.run_verdict import result_of_run
from tests.selftest.proof.trial import results_by_requirement, status_and_run, try_target
from tests.selftest.services.running import write_sandbox_profile
from tests.selftest.shared_runs import shared_run
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
    """Redocly, a linter of others, finds no fault in the OpenAPI schema of the service.

    One rule is off: it asks for answers with an error status, which the interface document does not show.
    """
    process = lint()

    assert process.returncode == 0, process.stdout + process.stderr


def test_an_independent_validator_finds_nothing_in_the_page():
    """html-validate, a validator of others, finds no fault in report.html, although the answers on the page are
    hostile.

    One fault of pytest-html is left out: its script needs two boxes with one name.
    """
    faults = validate(shared_run("failing").folder / "report.html")

    own_faults = [fault for fault in faults if not fault.endswith(ASKED_FOR_BY_PYTEST_HTML)]

    assert own_faults == []


@pytest.mark.parametrize("name", MODELS)
def test_an_independent_compiler_takes_each_published_schema_alone(name):
    """Ajv, a validator of others, accepts each published JSON Schema in its strict mode, without any other file.

    It refuses unknown keywords and references to another file.
    """
    compiled = compile_schema(FOLDER / name)

    assert compiled.returncode == 0, compiled.stdout + compiled.stderr


def test_random_answers_that_the_schema_allows_fail_in_nothing_else(tmp_path):
    """A service that answers with random values of the OpenAPI schema fails only for two real faults of the tool Prism.

    Prism makes the service from the schema. It takes any token, and answers 500 to 20,000 nested arrays.
    """
    with prism(tmp_path / "prism.log", "--dynamic", "--seed", "1") as base_url:
        trial = try_target(base_url, TOKEN)

    assert {"executePix.token.required"} <= trial.failing <= {*NO_TOKEN_IS_CHECKED, "registerPixKey.serverError"}
    assert trial.exit_status == 1
    assert trial.errors == ()


def test_a_request_that_ends_the_service_is_named(tmp_path, monkeypatch):
    """If a request ends the service, the report says that it is unreachable and names the request, and nothing fails
    because of it.

    Prism, which makes a service from the OpenAPI schema, does not survive a path that is no UTF-8. It takes any
    token, which fails.
    """
    for name in ("PIX_SANDBOX_TOKEN", "PIX_TOKEN"):
        monkeypatch.setenv(name, TOKEN)
    with prism(tmp_path / "prism.log") as base_url:
        status, run = status_and_run("--no-report", f"--environment={write_sandbox_profile(base_url, tmp_path)}")
    failing = {id for id, result in results_by_requirement(result_of_run(run)).items() if result.fails}

    assert status == 1
    assert run.unreachable != ""
    assert "executePix, an invalid request" in str(run.end_of_target)
    assert NO_TOKEN_IS_CHECKED <= failing <= {*NO_TOKEN_IS_CHECKED, "registerPixKey.serverError"}
