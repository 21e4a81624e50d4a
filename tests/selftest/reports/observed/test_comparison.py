"""What changed between two runs: which requirements, what is comparable, what is worse, and where a run says so."""

import copy
import json
import re
from dataclasses import replace

import pytest

from environments.sandbox import Server, Service
from reports.__main__ import comparison_lines
from reports.observed.comparison import CHANGES, compared
from reports.observed.earlier_runs import comparison_of, run_before
from reports.outputs import writing
from reports.result.document import EarlierRun
from spec.message import Date
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile
from tests.selftest.shared_runs import run_in_this_process, run_with_files, shared_run

MASKED, NAME_TYPE = "executePix.document.masked", "executePix.name.type"
STANDINGS = {
    "fails": {"verdict": "fail"},
    "known": {"verdict": "fail", "known_failure": "masked from 2.4 on"},
    "warns": {"verdict": "warn"},
    "holds": {"verdict": "pass"},
    "untested": {"verdict": "not-exercised"},
}
RUN = {
    "format": "1.3",
    "suite": {"version": "0.1.0"},
    "environment": {
        "name": "staging",
        "base_url": "https://staging.example.test",
        "embedded": False,
        "allow": ["read", "execute"],
        "fail_on": ["documented", "robustness"],
    },
    "started": "2026-11-20T10:00:00Z",
    "verdict": "conformant",
    "selection": None,
    "requirements": [
        {"id": MASKED, "level": "documented", "verdict": "pass"},
        {"id": NAME_TYPE, "level": "implied", "verdict": "pass"},
    ],
}
"""What is read of a conformance.json, and no more."""


def changed_document(*, requirements=None, environment=None, **changes):
    """The document of a run on another day, with these members. Requirements are changed by their id."""
    document = copy.deepcopy(RUN) | {"started": "2026-11-22T09:00:00Z"} | changes
    document["environment"] |= environment or {}
    for entry in document["requirements"]:
        entry.update((requirements or {}).get(entry["id"], {}))
    return document


def earlier_run(**changes):
    """A run with these changes, as it is read from its file."""
    return EarlierRun.model_validate(changed_document(**changes))


def compare(now, was=RUN):
    """The comparison of two documents."""
    return compared(EarlierRun.model_validate(was), EarlierRun.model_validate(now), str)


def lists_with_changes(comparison):
    """The lists of a comparison that are not empty."""
    return {name: getattr(comparison, name) for name in CHANGES if getattr(comparison, name)}


def test_each_change_of_a_requirement_has_its_list():
    """A requirement with the same standing is in no list. A known failure stands like a warning."""
    changes = {
        **dict.fromkeys(["holds fails", "untested fails", "known fails"], "newly_failing"),
        **dict.fromkeys(["fails known", "holds known"], "newly_warning"),
        **dict.fromkeys(["known holds", "warns holds"], "no_longer_warning"),
        **dict.fromkeys(["fails untested", "holds untested"], "no_longer_exercised"),
        **dict.fromkeys(["untested holds", "untested warns"], "newly_exercised"),
        **{"fails holds": "fixed", "known warns": None, "holds holds": None},
    }
    lists_by_pair = {}
    for pair in changes:
        was, now = (changed_document(requirements={MASKED: STANDINGS[name]}) for name in pair.split())
        lists_by_pair[pair] = lists_with_changes(compare(now, was))

    assert lists_by_pair == {pair: {change: (MASKED,)} if change else {} for pair, change in changes.items()}


def test_requirements_of_one_run_only_are_no_change():
    """Two versions of the suite have different requirements."""
    removed_requirement = {"id": "executePix.gone", "level": "documented", "verdict": "fail"}
    document_with_more = RUN | {"requirements": [*RUN["requirements"], removed_requirement]}
    comparisons = compare(RUN, document_with_more), compare(document_with_more)

    assert [lists_with_changes(comparison) for comparison in comparisons] == [{}, {}]
    assert not any(comparison.worse for comparison in comparisons)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"environment": {"name": "production"}}, ["environment"]),
        ({"environment": {"base_url": "https://prod.example.test"}}, ["origin"]),
        ({"selection": "-k executePix"}, ["selection"]),
        ({"environment": {"allow": ["read"]}}, ["permissions"]),
        ({"environment": {"allow": ["execute", "read"]}}, []),
    ],
    ids=str,
)
def test_comparable_runs_have_the_same_environment_origin_selection_and_permissions(change, differs):
    """The line names the parts that differ. The embedded sandbox has one origin, whatever its port."""
    comparison = compare(changed_document(**change))
    was, now = (
        changed_document(environment={"embedded": True, "base_url": f"http://127.0.0.1:{port}"}) for port in (1, 2)
    )

    assert comparison.differs == tuple(differs)
    assert comparison.comparable is (not differs)
    assert all(word in str(comparison.line) for word in differs)
    assert compare(now, was).comparable


def test_the_line_of_a_comparison_counts_changes():
    """Changes stand in the order of importance. The text names each requirement with its statement."""
    before = changed_document(requirements={NAME_TYPE: {"verdict": "fail"}}, started=RUN["started"])
    now = changed_document(requirements={MASKED: {"verdict": "fail"}})

    assert str(compare(now, before).line) == "since 2026-11-20 10:00:00 UTC: 1 newly failing, 1 fixed"
    assert list(comparison_lines(EarlierRun.model_validate(RUN), EarlierRun.model_validate(now), str)) == [
        "since 2026-11-20 10:00:00 UTC: 1 newly failing",
        "newly failing:",
        f"  {MASKED}: The tax document of the counterparty is partly masked.",
        "1 newly fails",
    ]


PLACE = {"id": "executePix.refusal", "situation": "", "place": "/data", "was": "object", "is": "null"}
SECOND = PLACE | {"place": "/code"}


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ({}, {}, "nothing newly fails"),
        (
            {"drift": []},
            {"requirements": {MASKED: STANDINGS["warns"]}, "verdict": "drifted", "drift": [PLACE, SECOND]},
            "nothing newly fails; 1 newly warns; drift differs in 2 places",
        ),
        ({"drift": [PLACE]}, {"drift": [PLACE | {"is": "string"}]}, "nothing newly fails; drift differs in 1 place"),
        ({"drift": [PLACE]}, {"drift": [PLACE]}, "nothing newly fails"),
        ({}, {"requirements": {MASKED: STANDINGS["fails"], NAME_TYPE: STANDINGS["fails"]}}, "2 newly fail"),
        (
            {},
            {"requirements": {MASKED: STANDINGS["untested"], NAME_TYPE: STANDINGS["untested"]}},
            "nothing newly fails; 2 are no longer exercised",
        ),
    ],
    ids=str,
)
def test_the_last_line_counts_what_became_worse(before, after, line):
    """Failures come first. Drift counts if a place drifts in only one run, or drifts to something else."""
    was = earlier_run(**{"started": RUN["started"]} | before)

    assert list(comparison_lines(was, earlier_run(**after), str))[-1] == line


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_is_compared_with_the_one_before_it():
    """The run before is used if it is comparable. A run that the user names is always used."""
    run = run_before(shared_run("failing").folder)
    comparison = comparison_of(run, named=None, before=run, clean=str)
    other_selection = run.model_copy(update={"selection": "-k listAccounts"})
    named = EarlierRun.model_validate(RUN)

    assert shared_run("failing").document["comparison"] is None
    assert 'id="comparison"' not in shared_run("failing").text("report.html")
    assert re.fullmatch(r"since [-\d]+ [:\d]+ UTC: no change", str(comparison.line))
    assert comparison_of(other_selection, named=None, before=run, clean=str) is None
    assert comparison_of(other_selection, named=named, before=run, clean=str).compared_with.started == RUN["started"]


def test_a_name_and_a_version_of_another_run_have_a_closed_form():
    """Anybody may have written the file of the other run, so only a name of a profile and a version of the suite are
    repeated.
    """
    run = EarlierRun.model_validate(RUN)
    hostile_run = earlier_run(environment={"name": "Zeferino Quintela"}, suite={"version": "cavalobranco"})
    named = comparison_of(run, named=hostile_run, before=None, clean=str)
    own = comparison_of(run, named=run, before=None, clean=str)

    assert named.compared_with.environment == "…"
    assert named.compared_with.suite_version == "…"
    assert "Quintela" not in str(named.line)
    assert own.compared_with.environment == run.environment.name
    assert own.compared_with.suite_version == "0.1.0"


PLANTED = "konto-canary-4711 \x1b[31m\u202e\n::error::planted ##[error] <script>planted</script>"


def test_a_run_shows_changes_since_the_run_before(tmp_path):
    """Terminal, page and conformance.json show them, and nothing planted in the other run gets through.

    A worse comparison does not change the exit status. The next run in the folder is compared with this one.
    """
    planted = changed_document(environment={"name": PLANTED}, suite={"version": PLANTED})
    (tmp_path / "other.json").write_text(json.dumps(planted))
    profile = {"accounts": ["konto-canary-4711"], "base_url": "embedded", "auth": None, "allow": ["read"]}
    options = ("-k", "listAccounts.status or executePix.document")
    named = run_with_files(tmp_path, Service, *options, f"--compare-with={tmp_path / 'other.json'}", **profile)
    (line,) = (line for line in named.output.splitlines() if line.startswith("compared with "))
    outputs = {path.name: path.read_text() for path in named.folder.iterdir()} | {"output": named.output}

    assert named.status == 0
    assert named.document["comparison"]["worse"]
    assert "(other environment, origin, selection and permissions): 1 no longer exercised" in line
    assert "Change since another run" in outputs["report.html"]
    assert [name for name, content in outputs.items() if "konto-canary-4711" in content] == []
    assert "<script>planted" not in outputs["report.html"]
    assert [
        name for name, content in outputs.items() if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", content)
    ] == []
    assert [line for line in named.output.splitlines() if line.lstrip().startswith("::") or "##[" in line] == []
    next_run = run_with_files(tmp_path, Service, *options, **profile)
    assert re.search(r"(?m)^since [-\d]+ [:\d]+ UTC: no change$", next_run.output)


def test_a_run_that_cannot_be_read_is_a_usage_error(tmp_path):
    """The suite prints one line before the token is fetched, and ends with exit status 4."""
    path = tmp_path / "conformance.json"
    trace_of_token_command = tmp_path / "fetched"
    path.write_text("[NaN]")
    profile = write_profile(
        tmp_path, "http://127.0.0.1:1", auth={"token_command": ["touch", str(trace_of_token_command)]}
    )
    result = run_in_this_process("--no-report", f"--environment={profile}", f"--compare-with={path}")

    assert result.status == 4
    assert result.run is None
    assert not trace_of_token_command.exists()
    assert re.fullmatch(rf"ERROR: {re.escape(str(path))}: [^\n]+\n+", result.output)


# -- the newest comparable run ----------------------------------------------------------------------------------------


class IsRepaired(Service):
    """A list fails until somebody repairs it."""

    is_broken = True

    def finish(self, request, operation, response):
        is_list = operation == "listAccounts" and response.status == 200
        return replace(response, status=201) if self.is_broken and is_list else response


@pytest.fixture
def service_and_runner(tmp_path, monkeypatch):
    """A service, and a function that runs pytest against it and gives the lines.

    Reports go to the folder of an environment.
    """
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    service = IsRepaired(token=TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        changes = {"allow": ["read"], "transactions": None, "fail_on": ["documented", "implied", "robustness"]}
        profile = write_profile(tmp_path, server.base_url, **changes).rename(tmp_path / "staging.yaml")
        yield (
            service,
            lambda *options: run_in_this_process(f"--environment={profile}", *options).output.splitlines(),
        )


@pytest.mark.slow
def test_a_run_is_compared_with_the_newest_comparable_one(service_and_runner, tmp_path):
    """Runs of another selection in between hide nothing: the next whole run says what was fixed since the last whole
    one. --list uses the newest whole run, --explain the newest run about the requirement.
    """
    service, run_pytest_lines = service_and_runner
    run_pytest_lines()
    [whole] = [folder for folder in (tmp_path / "runs" / "staging").iterdir() if folder.name != "latest"]
    when = Date(json.loads((whole / "conformance.json").read_text())["started"])
    service.is_broken = False
    run_pytest_lines("-k", "listAccounts.json")
    lines_of_list = run_pytest_lines("--list")
    about_status, about_json = (
        run_pytest_lines("--explain", "listAccounts.status"),
        run_pytest_lines("--explain", "listAccounts.json"),
    )
    selected_again, whole_again = run_pytest_lines("-k", "listAccounts.json"), run_pytest_lines()

    assert f", {when}: non-conformant; {whole}/report.html" in lines_of_list[0]
    assert "  fail           listAccounts.status" in lines_of_list
    assert any(f", {when}: non-conformant; " in line for line in about_status)
    assert any("(only -k listAccounts.json)" in line for line in about_json)
    assert f"since {when}: 1 fixed" in whole_again
    assert [line for line in selected_again if line.startswith("since ")] not in ([], [f"since {when}: 1 fixed"])
