"""Outside witnesses: a linter that is not ours reads the schema, and a service that is not ours is made from it; both once
more with what was observed. The schema of the Common Test Report Format is that of its makers."""

import json
from dataclasses import replace

import pytest

from reports.formats.conformance_json import document_of
from reports.verdicts import TESTED
from tests.selftest.overlays import OBSERVED, extended, write_overlay
from tests.selftest.proof.trial import Trial, run_of, try_target
from tests.selftest.schemas import problems
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw, as_bytes
from tests.selftest.witnesses import CTRF, SCHEMA, apply, installed, lint, prism

pytestmark = pytest.mark.skipif(not installed(), reason="the witnesses are not installed: make witnesses (Node, npm)")

TOKEN = "a-token-for-prism"
NO_TOKEN_IS_CHECKED = {"executePix.token.required", "registerPixKey.token.required"}
"""Prism asks for a token and takes any: the only thing in which what it serves is not what the document owes."""


class NamesItCode(Raw):
    """The member code has another name."""

    def answer(self, connection, request):
        response = self.service.respond(request)
        connection.sendall(as_bytes(replace(response, body=response.body.replace(b'"code"', b'"Code"'))))


def _tried(tmp_path, *options: str, schema=SCHEMA) -> Trial:
    with prism(tmp_path / "prism.log", *options, schema=schema) as base_url:
        return try_target(base_url, TOKEN)


def test_an_independent_linter_finds_nothing_in_the_schema():
    """Redocly's strict rules hold, but for the one that asks for statuses which the document does not show."""
    found = lint()

    assert found.returncode == 0, found.stdout + found.stderr


@pytest.fixture(scope="module")
def documented(tmp_path_factory):
    """What a run says of the service that Prism makes from the schema."""
    return _tried(tmp_path_factory.mktemp("prism"))


def test_a_service_made_from_the_schema_fails_in_the_one_thing_that_it_does_not_do(documented):
    """Prism's examples keep every documented statement; that it takes any token is found."""
    assert documented.failing == NO_TOKEN_IS_CHECKED
    assert documented.exit_status == 1
    assert not documented.errors


def test_the_common_test_report_is_valid(tmp_path):
    """By the schema of its makers, of a run that fails and of one that has no target."""
    with NamesItCode() as service:
        failing = run(write_profile(tmp_path, service.base_url), "-k", "executePix")
    reports = [json.loads((failing.folder / "ctrf-report.json").read_text())]
    unreachable = run(write_profile(tmp_path, "http://127.0.0.1:1"))
    reports.append(json.loads((unreachable.folder / "ctrf-report.json").read_text()))

    assert (failing.status, unreachable.status) == (1, 7)
    assert [problems(report, CTRF) for report in reports] == [[], []]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_random_answers_that_the_schema_allows_fail_in_nothing_else(tmp_path, seed):
    """Whatever values the schema allows, Prism's random ones among them, raise no false alarm."""
    trial = _tried(tmp_path, "--dynamic", "--seed", seed)

    assert trial.failing <= NO_TOKEN_IS_CHECKED
    assert not trial.errors


@pytest.fixture(scope="module", params=["by hand", "of the sandbox"])
def observed(request):
    """Observations: one of each sort, and those of a run."""
    if request.param == "by hand":
        return OBSERVED
    return document_of(run_of("--no-report", "-m", "not property")[1])["observed"]


@pytest.fixture
def schema(observed, tmp_path):
    """The schema with the observations, made by another's tool from the overlay."""
    result = tmp_path / "extended.json"
    applied = apply(write_overlay(tmp_path / "observed.overlay.yaml", observed), result)
    assert applied.returncode == 0, applied.stdout + applied.stderr
    return result


def test_two_tools_apply_an_overlay_alike(observed, schema):
    """One of Python and one of Node make the same document; where a tool guesses, the overlay gives it nothing to guess."""
    assert json.loads(schema.read_text("utf-8")) == extended(observed)


def test_an_independent_linter_finds_nothing_in_what_an_overlay_makes(schema):
    """Redocly's strict rules hold of it as of the schema."""
    found = lint(schema)

    assert found.returncode == 0, found.stdout + found.stderr


def test_a_service_made_of_what_was_observed_passes_what_one_of_the_schema_passes(documented, schema, tmp_path):
    """Each requirement that was tested is tested, and has the same verdict or a better one."""
    trial = _tried(tmp_path, schema=schema)
    tested = {name: row.verdict for name, row in documented.rows.items() if row.verdict in TESTED}
    worse = {name for name, was in tested.items() if trial.rows[name].verdict not in (was, "pass")}

    assert worse == set()
    assert (trial.failing, trial.exit_status) == (documented.failing, documented.exit_status)
    assert not trial.errors


def test_random_answers_that_were_observed_fail_in_nothing_else(schema, tmp_path):
    """Whatever values the observed shapes allow raise no false alarm."""
    trial = _tried(tmp_path, "--dynamic", "--seed", "1", schema=schema)

    assert trial.failing <= NO_TOKEN_IS_CHECKED
    assert not trial.errors
