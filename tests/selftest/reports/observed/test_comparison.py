"""What changed between two runs: which requirements, what is comparable, what is worse, and where a run says so."""

import copy
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.sandbox import Server, Service
from reports.__main__ import comparison_lines
from reports.observed.comparison import CHANGES, comparison_of_two_runs
from reports.observed.earlier_runs import comparison_with_other_run, run_in_folder
from reports.outputs import writing
from reports.result.document import EarlierRun
from spec.message import Date
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile
from tests.selftest.shared_runs import run_in_this_process, run_with_files, shared_run

MASKED, NAME_TYPE = "executePix.document.masked", "executePix.name.type"
ENTRIES_BY_NAME = {
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
"""The content of a conformance.json, with only the members that a comparison reads."""


def changed_document(*, requirements=None, environment=None, **changes):
    """The content of conformance.json (RUN) for a run two days later, with these changes.

    `requirements` are changes of requirements by id, such as {"executePix.json": {"verdict": "fail"}}. `environment` are
    changes of the member `environment`, and `changes` those of other members.
    """
    document = copy.deepcopy(RUN) | {"started": "2026-11-22T09:00:00Z"} | changes
    if environment:
        document["environment"] |= environment
    changes_by_id = requirements or {}
    for entry in document["requirements"]:
        changes_of_entry = changes_by_id.get(entry["id"], {})
        entry.update(changes_of_entry)
    return document


def earlier_run(**changes):
    """An earlier run as a comparison reads it from its conformance.json. `changes` are those of `changed_document`."""
    return EarlierRun.model_validate(changed_document(**changes))


def comparison_between(now, was=RUN):
    """The comparison of an earlier run `was` with a run `now`, each given as the content of its conformance.json."""
    earlier = EarlierRun.model_validate(was)
    later = EarlierRun.model_validate(now)
    return comparison_of_two_runs(earlier, later, str)  # str: there is no secret to replace in a text


def lists_with_changes(comparison):
    """The lists of changed requirements that are not empty, by their names: {"fixed": ("executePix.json",)}."""
    lists = {name: getattr(comparison, name) for name in CHANGES}
    return {name: ids for name, ids in lists.items() if ids}


@pytest.mark.parametrize(
    ("earlier_result", "result_now", "expected_list"),
    [
        ("holds", "fails", "newly_failing"),
        ("untested", "fails", "newly_failing"),
        ("known", "fails", "newly_failing"),
        ("fails", "known", "newly_warning"),
        ("holds", "known", "newly_warning"),
        ("known", "holds", "no_longer_warning"),
        ("warns", "holds", "no_longer_warning"),
        ("fails", "untested", "no_longer_exercised"),
        ("holds", "untested", "no_longer_exercised"),
        ("untested", "holds", "newly_exercised"),
        ("untested", "warns", "newly_exercised"),
        ("fails", "holds", "fixed"),
        ("known", "warns", None),
        ("holds", "holds", None),
    ],
)
def test_each_change_of_a_requirement_has_its_list(earlier_result, result_now, expected_list):
    """A requirement whose result changed between two runs is in exactly one list of the comparison, such as `fixed`.

    A known failure (`known`) is one that the profile lists, because the operator expects it. It counts like a warning. If
    nothing changed, or a warning is still one, there is no list (None).
    """
    earlier = changed_document(requirements={MASKED: ENTRIES_BY_NAME[earlier_result]})
    now = changed_document(requirements={MASKED: ENTRIES_BY_NAME[result_now]})
    expected_lists = {expected_list: (MASKED,)} if expected_list else {}

    lists = lists_with_changes(comparison_between(now, earlier))

    assert lists == expected_lists


def test_requirements_of_one_run_only_are_no_change():
    """A requirement that only one of the two runs knows is in no list of changes, even if it failed.

    Two versions of the suite have different requirements.
    """
    removed_requirement = {"id": "executePix.gone", "level": "documented", "verdict": "fail"}
    document_with_more = RUN | {"requirements": [*RUN["requirements"], removed_requirement]}
    one_requirement_removed = comparison_between(now=RUN, was=document_with_more)
    one_requirement_added = comparison_between(now=document_with_more, was=RUN)

    assert lists_with_changes(one_requirement_removed) == {}
    assert lists_with_changes(one_requirement_added) == {}
    assert not one_requirement_removed.worse
    assert not one_requirement_added.worse


@pytest.mark.parametrize(
    ("change_of_the_run", "parts_that_differ"),
    [
        ({"environment": {"name": "production"}}, ["environment"]),
        ({"environment": {"base_url": "https://prod.example.test"}}, ["origin"]),
        ({"selection": "-k executePix"}, ["selection"]),
        ({"environment": {"allow": ["read"]}}, ["permissions"]),
        ({"environment": {"allow": ["execute", "read"]}}, []),
    ],
    ids=str,
)
def test_comparable_runs_have_the_same_environment_origin_selection_and_permissions(
    change_of_the_run, parts_that_differ
):
    """Two runs are comparable only if environment, address, selection and permissions are equal.

    The line of the comparison names the parts that differ. The origin is scheme, host and port of the address.
    """
    comparison = comparison_between(changed_document(**change_of_the_run))
    parts_missing_in_the_line = [part for part in parts_that_differ if part not in str(comparison.line)]
    nothing_differs = parts_that_differ == []

    assert comparison.differs == tuple(parts_that_differ)
    assert comparison.comparable is nothing_differs
    assert parts_missing_in_the_line == []


def test_two_runs_against_the_embedded_sandbox_are_comparable():
    """The port of the embedded sandbox does not count, because each run starts the sandbox at another port."""
    earlier = changed_document(environment={"embedded": True, "base_url": "http://127.0.0.1:1"})
    now = changed_document(environment={"embedded": True, "base_url": "http://127.0.0.1:2"})

    assert comparison_between(now, earlier).comparable


def test_the_line_of_a_comparison_counts_changes():
    """The line of a comparison has the start of the earlier run and counts the changes, new failures first."""
    earlier = changed_document(requirements={NAME_TYPE: {"verdict": "fail"}}, started=RUN["started"])
    now = changed_document(requirements={MASKED: {"verdict": "fail"}})

    line = str(comparison_between(now, earlier).line)

    assert line == "since 2026-11-20 10:00:00 UTC: 1 newly failing, 1 fixed"


def test_the_text_of_a_comparison_names_each_changed_requirement():
    """The command `compare` prints each requirement that changed, with its statement, and a last line that counts."""
    earlier = EarlierRun.model_validate(RUN)
    now = EarlierRun.model_validate(changed_document(requirements={MASKED: {"verdict": "fail"}}))

    lines = list(comparison_lines(earlier, now, str))

    assert lines == [
        "since 2026-11-20 10:00:00 UTC: 1 newly failing",
        "newly failing:",
        f"  {MASKED}: The tax document of the counterparty is partly masked.",
        "1 newly fails",
    ]


DRIFT_OF_DATA = {"id": "executePix.refusal", "situation": "", "place": "/data", "was": "object", "is": "null"}
DRIFT_OF_CODE = DRIFT_OF_DATA | {"place": "/code"}


@pytest.mark.parametrize(
    ("changes_before", "changes_after", "last_line"),
    [
        ({}, {}, "nothing newly fails"),
        (
            {"drift": []},
            {
                "requirements": {MASKED: ENTRIES_BY_NAME["warns"]},
                "verdict": "drifted",
                "drift": [DRIFT_OF_DATA, DRIFT_OF_CODE],
            },
            "nothing newly fails; 1 newly warns; drift differs in 2 places",
        ),
        (
            {"drift": [DRIFT_OF_DATA]},
            {"drift": [DRIFT_OF_DATA | {"is": "string"}]},
            "nothing newly fails; drift differs in 1 place",
        ),
        ({"drift": [DRIFT_OF_DATA]}, {"drift": [DRIFT_OF_DATA]}, "nothing newly fails"),
        ({}, {"requirements": {MASKED: ENTRIES_BY_NAME["fails"], NAME_TYPE: ENTRIES_BY_NAME["fails"]}}, "2 newly fail"),
        (
            {},
            {"requirements": {MASKED: ENTRIES_BY_NAME["untested"], NAME_TYPE: ENTRIES_BY_NAME["untested"]}},
            "nothing newly fails; 2 are no longer exercised",
        ),
    ],
    ids=[
        "no change",
        "a new warning, and drift in two places",
        "other drift in the same place",
        "the same drift",
        "two new failures",
        "two requirements are not tested any more",
    ],
)
def test_the_last_line_counts_what_became_worse(changes_before, changes_after, last_line):
    """The last line of a comparison says what is worse in the second run: failures, warnings, and drift.

    Drift is a difference from what was recorded of the service. It counts if the two runs do not list the same drift.
    """
    members_of_first_run = {"started": RUN["started"]} | changes_before
    first_run = earlier_run(**members_of_first_run)
    second_run = earlier_run(**changes_after)

    lines = list(comparison_lines(first_run, second_run, str))

    assert lines[-1] == last_line


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_first_run_has_no_comparison():
    """A run without an earlier run in its folder has no comparison, in conformance.json and on the page."""
    first_run = shared_run("failing")

    assert first_run.document["comparison"] is None
    assert 'id="comparison"' not in first_run.text("report.html")


def test_a_run_is_compared_with_the_one_before_it():
    """A run is compared with the run before it, if both are comparable: here both selected the same requirements."""
    run = run_in_folder(shared_run("failing").folder)
    run_with_another_selection = run.model_copy(update={"selection": "-k listAccounts"})

    comparison = comparison_with_other_run(run, named=None, before=run, clean=str)
    comparison_of_another_selection = comparison_with_other_run(
        run_with_another_selection, named=None, before=run, clean=str
    )

    assert re.fullmatch(r"since [-\d]+ [:\d]+ UTC: no change", str(comparison.line))
    assert comparison_of_another_selection is None


def test_a_run_that_the_user_names_is_always_compared():
    """A run that the user names is compared, even if it is not comparable and the run before is comparable."""
    run = run_in_folder(shared_run("failing").folder)
    run_with_another_selection = run.model_copy(update={"selection": "-k listAccounts"})
    run_that_the_user_names = EarlierRun.model_validate(RUN)

    comparison = comparison_with_other_run(
        run_with_another_selection, named=run_that_the_user_names, before=run, clean=str
    )

    assert comparison.compared_with.started == RUN["started"]


def test_a_name_and_a_version_of_another_run_have_a_closed_form():
    """A comparison shows the environment and version of another run only if they have the form of such names.

    Anybody may have written the file of the other run, so any other text is shown as `…`.
    """
    run = EarlierRun.model_validate(RUN)
    hostile_run = earlier_run(environment={"name": "Zeferino Quintela"}, suite={"version": "cavalobranco"})

    with_hostile_run = comparison_with_other_run(run, named=hostile_run, before=None, clean=str)
    with_itself = comparison_with_other_run(run, named=run, before=None, clean=str)

    assert with_hostile_run.compared_with.environment == "…"
    assert with_hostile_run.compared_with.suite_version == "…"
    assert with_itself.compared_with.environment == "staging"
    assert with_itself.compared_with.suite_version == "0.1.0"
    assert "Quintela" not in str(with_hostile_run.line)


ACCOUNT = "konto-canary-4711"
HOSTILE_TEXT = f"{ACCOUNT} \x1b[31m\u202e\n::error::planted ##[error] <script>planted</script>"


@pytest.fixture(scope="module")
def compared_run_and_the_next(tmp_path_factory):
    """A run that is compared with the file of another run (--compare-with), and then a next run in the same folder.

    Both select a few requirements. The file of the other run has hostile texts: escape sequences, commands of CI systems,
    a script and an account number. The other run tested executePix.document.masked, which these two may not test.
    """
    folder = tmp_path_factory.mktemp("compared")
    hostile_document = changed_document(environment={"name": HOSTILE_TEXT}, suite={"version": HOSTILE_TEXT})
    (folder / "other.json").write_text(json.dumps(hostile_document))
    profile = {"accounts": [ACCOUNT], "base_url": "embedded", "auth": None, "allow": ["read"]}
    options = ("-k", "listAccounts.status or executePix.document")
    compared_run = run_with_files(folder, Service, *options, f"--compare-with={folder / 'other.json'}", **profile)
    outputs = {path.name: path.read_text() for path in compared_run.folder.iterdir()} | {"output": compared_run.output}
    document = compared_run.document
    next_run = run_with_files(folder, Service, *options, **profile)
    return SimpleNamespace(
        status=compared_run.status, outputs=outputs, document=document, output_of_next=next_run.output
    )


def test_a_run_shows_changes_since_another_run(compared_run_and_the_next):
    """A run that is compared with another run names the changes on the terminal and on the page.

    The other run had tested executePix.document.masked, which the permissions of this run leave out: 1 requirement is
    no longer exercised. That is worse, but the exit status stays 0.
    """
    run = compared_run_and_the_next
    [line] = [line for line in run.outputs["output"].splitlines() if line.startswith("compared with ")]

    assert "(other environment, origin, selection and permissions): 1 no longer exercised" in line
    assert "Change since another run" in run.outputs["report.html"]
    assert (run.document["comparison"]["worse"], run.status) == (True, 0)


def test_nothing_harmful_of_the_other_run_is_shown(compared_run_and_the_next):
    """If a run is compared with a file that has hostile texts, no report and no output of the run has these texts.

    They are an account, control characters, commands of CI systems, and a script.
    """
    outputs = compared_run_and_the_next.outputs
    control_character = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
    lines = outputs["output"].splitlines()

    assert [name for name, content in outputs.items() if ACCOUNT in content] == []
    assert [name for name, content in outputs.items() if control_character.search(content)] == []
    assert [line for line in lines if line.lstrip().startswith("::") or "##[" in line] == []
    assert "<script>planted" not in outputs["report.html"]


def test_the_next_run_is_compared_with_the_run_before(compared_run_and_the_next):
    """The next run in a folder is compared with the run before it, without an option. Here nothing changed."""
    assert re.search(r"(?m)^since [-\d]+ [:\d]+ UTC: no change$", compared_run_and_the_next.output_of_next)


def test_a_run_that_cannot_be_read_is_a_usage_error(tmp_path):
    """If the file of --compare-with cannot be read, pytest prints one line, fetches no token, and ends with exit status
    4.

    The profile has a command that fetches the token. The command would leave a file.
    """
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
    """Answers the list of accounts with 201, which fails, until `is_broken` is set to False."""

    is_broken = True

    def finish(self, request, operation, response):
        """Change the status of a successful list of accounts to 201, unless the service was repaired."""
        is_list = operation == "listAccounts" and response.status == 200
        if self.is_broken and is_list:
            return replace(response, status=201)
        return response


@pytest.fixture(scope="module")
def four_runs(tmp_path_factory):
    """Four runs in one folder: a whole run, two runs of the requirement listAccounts.json, and a whole run again.

    listAccounts.status fails in the first run, and then the service is repaired. `folder` and `start` are those of the
    first run. After the second run `--list` and `--explain` are called, which send nothing.
    """
    folder = tmp_path_factory.mktemp("newest")
    service = IsRepaired(token=TOKEN_VARIABLES["PIX_TOKEN"])
    with pytest.MonkeyPatch.context() as monkeypatch, Server(service) as server:
        monkeypatch.setattr(writing, "RUNS", folder / "runs")
        changes = {"allow": ["read"], "transactions": None, "fail_on": ["documented", "implied", "robustness"]}
        profile = write_profile(folder, server.base_url, **changes).rename(folder / "staging.yaml")

        def lines_of_pytest(*options):
            return run_in_this_process(f"--environment={profile}", *options).output.splitlines()

        # a whole run, in which listAccounts.status fails
        lines_of_pytest()
        [folder_of_whole_run] = [path for path in (folder / "runs" / "staging").iterdir() if path.name != "latest"]
        # a run of one requirement, after the repair
        service.is_broken = False
        lines_of_pytest("-k", "listAccounts.json")
        lines_of_list = lines_of_pytest("--list")
        text_about_status = "\n".join(lines_of_pytest("--explain", "listAccounts.status"))
        text_about_json = "\n".join(lines_of_pytest("--explain", "listAccounts.json"))
        # the same requirement again, and a whole run again
        lines_of_selected_run = lines_of_pytest("-k", "listAccounts.json")
        lines_of_last_whole_run = lines_of_pytest()
    return SimpleNamespace(
        folder=folder_of_whole_run,
        start=Date(json.loads((folder_of_whole_run / "conformance.json").read_text())["started"]),
        lines_of_list=lines_of_list,
        text_about_status=text_about_status,
        text_about_json=text_about_json,
        lines_of_selected_run=lines_of_selected_run,
        lines_of_last_whole_run=lines_of_last_whole_run,
    )


@pytest.mark.slow
def test_a_whole_run_is_compared_with_the_newest_whole_run(four_runs):
    """A whole run is compared with the newest whole run, even if runs of selected requirements came in between.

    listAccounts.status failed in the first whole run. The service was repaired before the second one.
    """
    assert f"since {four_runs.start}: 1 fixed" in four_runs.lines_of_last_whole_run


@pytest.mark.slow
def test_a_run_of_a_selection_is_compared_with_the_newest_run_of_this_selection(four_runs):
    """A run of selected requirements is compared with the newest run of the same selection, and not with a whole run.

    Nothing changed between these two runs, because the service was repaired before both.
    """
    [comparison] = [line for line in four_runs.lines_of_selected_run if line.startswith("since ")]

    assert comparison.endswith(" UTC: no change")
    assert comparison != f"since {four_runs.start}: 1 fixed"


@pytest.mark.slow
def test_the_list_tells_of_the_newest_whole_run(four_runs):
    """`pytest --list` has the verdicts of the newest whole run, although a run of one requirement was later.

    listAccounts.status failed in the whole run.
    """
    assert f", {four_runs.start}: non-conformant; {four_runs.folder}/report.html" in four_runs.lines_of_list[0]
    assert "  fail           listAccounts.status" in four_runs.lines_of_list


@pytest.mark.slow
def test_an_explanation_tells_of_the_newest_run_that_tested_the_requirement(four_runs):
    """`pytest --explain ID` tells of the newest run that tested the requirement, be it a whole run or not.

    Only the whole run tested listAccounts.status. A later run tested listAccounts.json alone.
    """
    assert f", {four_runs.start}: non-conformant; " in four_runs.text_about_status
    assert "(only -k listAccounts.json)" in four_runs.text_about_json
