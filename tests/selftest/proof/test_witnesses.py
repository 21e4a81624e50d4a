"""Tools of other projects (witnesses) agree with the suite: they check its schemas and its page, and are tested by it."""

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
"""Requirements that Prism, a tool that makes a service from a schema, breaks: it asks for a token, and accepts any."""
ASKED_FOR_BY_PYTEST_HTML = 'Duplicate form control name "filter_checkbox"'
"""A fault of the page that the plugin pytest-html needs: its script finds several boxes by this one name."""


def test_an_independent_linter_finds_nothing_in_the_schema():
    """Redocly, a linter of others, finds no fault in the OpenAPI schema of the service.

    One rule is off: it asks for answers with an error status, which the interface document does not show.
    """
    process = lint()

    assert process.returncode == 0, process.stdout + process.stderr


def test_an_independent_validator_finds_nothing_in_the_page():
    """html-validate, a validator of others, finds no fault in report.html.

    The service of that run put markup into its answers, which the page shows. One fault of the plugin pytest-html is
    left out: its script needs several boxes with one name.
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
    """A service whose answers are random values that the OpenAPI schema allows fails only for its two real faults.

    Prism, a tool of others, makes the service from the schema. It accepts any token, and answers 500 to a body of
    20,000 nested arrays.
    """
    with prism(tmp_path / "prism.log", "--dynamic", "--seed", "1") as base_url:
        trial = try_target(base_url, TOKEN)

    assert {"executePix.token.required"} <= trial.failing <= {*NO_TOKEN_IS_CHECKED, "registerPixKey.serverError"}
    assert trial.exit_status == 1
    assert trial.errors == ()


def test_a_request_that_ends_the_service_is_named(tmp_path, monkeypatch):
    """If a request makes the service crash, the report names the request, and says that the service is unreachable.

    No requirement fails because of the crash. Prism, a tool of others that makes a service from the OpenAPI schema,
    crashes at a path that is no UTF-8. It accepts any token, which is a failure.
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
