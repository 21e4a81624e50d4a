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
from tests.selftest.recorded_runs import record, recorded, run_here
from tests.selftest.services.running import TOKEN, write_profile

ROW, OTHER = "executePix.document.masked", "executePix.name.type"
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
        {"id": ROW, "level": "documented", "verdict": "pass"},
        {"id": OTHER, "level": "implied", "verdict": "pass"},
    ],
}
"""What is read of a conformance.json, and no more."""


def changed(*, requirements=None, environment=None, **changes):
    """The run on another day, with these members in place of its own; requirements by id."""
    document = copy.deepcopy(RUN) | {"started": "2026-11-22T09:00:00Z"} | changes
    document["environment"] |= environment or {}
    for entry in document["requirements"]:
        entry.update((requirements or {}).get(entry["id"], {}))
    return document


def earlier(**changes):
    """The run, with these changes, as it is read of its file."""
    return EarlierRun.model_validate(changed(**changes))


def compare(now, was=RUN):
    """The comparison of what is read of two documents."""
    return compared(EarlierRun.model_validate(was), EarlierRun.model_validate(now), str)


def lists(comparison):
    """The lists of requirements that are not empty."""
    return {name: getattr(comparison, name) for name in CHANGES if getattr(comparison, name)}


def test_a_requirement_whose_standing_changed_is_in_one_list():
    """A requirement whose standing is the same is in no list. A known failure has the standing of a warning."""
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
        was, now = (changed(requirements={ROW: STANDINGS[name]}) for name in pair.split())
        lists_by_pair[pair] = lists(compare(now, was))

    assert lists_by_pair == {pair: {change: (ROW,)} if change else {} for pair, change in changes.items()}


def test_what_only_one_run_is_about_did_not_change():
    """Suites of two versions have different requirements."""
    gone = {"id": "executePix.gone", "level": "documented", "verdict": "fail"}
    more = RUN | {"requirements": [*RUN["requirements"], gone]}
    comparisons = compare(RUN, more), compare(more)

    assert [lists(comparison) for comparison in comparisons] == [{}, {}]
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
    """The line names the parts that differ. The embedded sandbox is one origin, whatever its port."""
    comparison = compare(changed(**change))
    was, now = (changed(environment={"embedded": True, "base_url": f"http://127.0.0.1:{port}"}) for port in (1, 2))

    assert (comparison.differs, comparison.comparable) == (tuple(differs), not differs)
    assert all(word in str(comparison.line) for word in differs)
    assert compare(now, was).comparable


def test_the_line_counts_what_changed():
    """In the order of importance; the text names each requirement with its statement, and what the exit status says."""
    before = changed(requirements={OTHER: {"verdict": "fail"}}, started=RUN["started"])
    now = changed(requirements={ROW: {"verdict": "fail"}})

    assert str(compare(now, before).line) == "since 2026-11-20 10:00:00 UTC: 1 newly failing, 1 fixed"
    assert list(comparison_lines(EarlierRun.model_validate(RUN), EarlierRun.model_validate(now), str)) == [
        "since 2026-11-20 10:00:00 UTC: 1 newly failing",
        "newly failing:",
        f"  {ROW}: The tax document of the counterparty is partly masked.",
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
            {"requirements": {ROW: STANDINGS["warns"]}, "verdict": "drifted", "drift": [PLACE, SECOND]},
            "nothing newly fails; 1 newly warns; drift differs in 2 places",
        ),
        ({"drift": [PLACE]}, {"drift": [PLACE | {"is": "string"}]}, "nothing newly fails; drift differs in 1 place"),
        ({"drift": [PLACE]}, {"drift": [PLACE]}, "nothing newly fails"),
        ({}, {"requirements": {ROW: STANDINGS["fails"], OTHER: STANDINGS["fails"]}}, "2 newly fail"),
        (
            {},
            {"requirements": {ROW: STANDINGS["untested"], OTHER: STANDINGS["untested"]}},
            "nothing newly fails; 2 are no longer exercised",
        ),
    ],
    ids=str,
)
def test_the_last_line_says_what_became_worse(before, after, line):
    """Failures first. A place drifts in one of the runs alone, or to something else."""
    was = earlier(**{"started": RUN["started"]} | before)

    assert list(comparison_lines(was, earlier(**after), str))[-1] == line


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_is_compared_with_the_one_before_it():
    """The run before it is used if it is there and comparable. A run that the user names is always used."""
    before = now = run_before(recorded("failing").folder)
    comparison = comparison_of(now, named=None, before=before, clean=str)
    other_selection = now.model_copy(update={"selection": "-k listAccounts"})
    named = EarlierRun.model_validate(RUN)

    assert recorded("failing").document["comparison"] is None
    assert 'id="comparison"' not in recorded("failing").text("report.html")
    assert re.fullmatch(r"since [-\d]+ [:\d]+ UTC: no change", str(comparison.line))
    assert comparison_of(other_selection, named=None, before=before, clean=str) is None
    assert comparison_of(other_selection, named=named, before=before, clean=str).compared_with.started == RUN["started"]


def test_a_name_and_a_version_of_another_run_have_a_closed_form():
    """Anybody may have written that file. Nothing but the name of a profile and a version of the suite is repeated."""
    run = EarlierRun.model_validate(RUN)
    hostile_run = earlier(environment={"name": "Zeferino Quintela"}, suite={"version": "cavalobranco"})
    named = comparison_of(run, named=hostile_run, before=None, clean=str)
    own = comparison_of(run, named=run, before=None, clean=str)

    assert (named.compared_with.environment, named.compared_with.suite_version) == ("…", "…")
    assert "Quintela" not in str(named.line)
    assert (own.compared_with.environment, own.compared_with.suite_version) == (run.environment.name, "0.1.0")


PLANTED = "konto-canary-4711 \x1b[31m\u202e\n::error::planted ##[error] <script>planted</script>"


def test_a_run_says_what_changed(tmp_path):
    """On the terminal, on the page and in conformance.json, whatever is planted in the other run; its exit status is
    that of the run alone, although it is worse. The next run in the same folder is compared with it."""
    planted = changed(environment={"name": PLANTED}, suite={"version": PLANTED})
    (tmp_path / "other.json").write_text(json.dumps(planted))
    profile = {"accounts": ["konto-canary-4711"], "base_url": "embedded", "auth": None, "allow": ["read"]}
    options = ("-k", "listAccounts.status or executePix.document")
    named = record(tmp_path, Service, *options, f"--compare-with={tmp_path / 'other.json'}", **profile)
    (line,) = (line for line in named.output.splitlines() if line.startswith("compared with "))
    written = {path.name: path.read_text() for path in named.folder.iterdir()} | {"output": named.output}

    assert (named.status, named.document["comparison"]["worse"]) == (0, True)
    assert "(other environment, origin, selection and permissions): 1 no longer exercised" in line
    assert "Change since another run" in written["report.html"]
    assert [name for name, content in written.items() if "konto-canary-4711" in content] == []
    assert "<script>planted" not in written["report.html"]
    assert [
        name for name, content in written.items() if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", content)
    ] == []
    assert [line for line in named.output.splitlines() if line.lstrip().startswith("::") or "##[" in line] == []
    after = record(tmp_path, Service, *options, **profile)
    assert re.search(r"(?m)^since [-\d]+ [:\d]+ UTC: no change$", after.output)


def test_a_run_that_cannot_be_read_is_a_usage_error(tmp_path):
    """One line and exit status 4, before any request, and before the token is fetched."""
    path, fetched = tmp_path / "conformance.json", tmp_path / "fetched"
    path.write_text("[NaN]")
    profile = write_profile(tmp_path, "http://127.0.0.1:1", auth={"token_command": ["touch", str(fetched)]})
    refused = run_here("--no-report", f"--environment={profile}", f"--compare-with={path}")

    assert (refused.status, refused.run, fetched.exists()) == (4, None, False)
    assert re.fullmatch(rf"ERROR: {re.escape(str(path))}: [^\n]+\n+", refused.output)


# -- the newest comparable run ----------------------------------------------------------------------------------------


class IsRepaired(Service):
    """A list fails until somebody repairs it."""

    is_broken = True

    def finish(self, request, operation, response):
        is_list = operation == "listAccounts" and response.status == 200
        return replace(response, status=201) if self.is_broken and is_list else response


@pytest.fixture
def service(tmp_path, monkeypatch):
    """A service, and what runs pytest at it and gives the lines. The reports go where those of an environment go."""
    monkeypatch.setattr(writing, "RUNS", tmp_path / "runs")
    service = IsRepaired(token=TOKEN["PIX_TOKEN"])
    with Server(service) as server:
        changes = {"allow": ["read"], "transactions": None, "fail_on": ["documented", "implied", "robustness"]}
        profile = write_profile(tmp_path, server.base_url, **changes).rename(tmp_path / "staging.yaml")
        yield service, lambda *options: run_here(f"--environment={profile}", *options).output.splitlines()


@pytest.mark.slow
def test_a_run_is_compared_with_the_newest_comparable_one(service, tmp_path):
    """Runs of another selection in between hide nothing: the next whole run says what was fixed, and since when.
    --list tells of the newest run about all requirements, --explain of the newest about the one that is named."""
    service, run = service
    run()
    (whole,) = (each for each in (tmp_path / "runs" / "staging").iterdir() if each.name != "latest")
    when = Date(json.loads((whole / "conformance.json").read_text())["started"])
    service.is_broken = False
    run("-k", "listAccounts.json")
    listed = run("--list")
    about_another, about_this = run("--explain", "listAccounts.status"), run("--explain", "listAccounts.json")
    selected_again, again = run("-k", "listAccounts.json"), run()

    assert f", {when}: non-conformant; {whole}/report.html" in listed[0]
    assert "  fail           listAccounts.status" in listed
    assert any(f", {when}: non-conformant; " in line for line in about_another)
    assert any("(only -k listAccounts.json)" in line for line in about_this)
    assert f"since {when}: 1 fixed" in again
    assert [line for line in selected_again if line.startswith("since ")] not in ([], [f"since {when}: 1 fixed"])
