"""Runs that are compared: with the one before by themselves, or with the one that --compare-with names."""

import json
import os
import re
import shutil

import pytest

from environments.sandbox import Service
from reports.writing import RUNS
from tests.selftest.schemas import problems
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import TOKEN, arguments, environment, run, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.test_comparison import RUN
from tests.selftest.test_reading import COMMANDS, ESCAPES, PLANTED

PART = ("-k", "executePix.document or executePix.name")
ROW = "executePix.document.masked"
SINCE = r"^since [-\d]+ [:\d]+ UTC: "


class ShowsTheDocument(Service):
    """The tax document is not masked."""

    def execution_result(self, transfer):
        return {**super().execution_result(transfer), "document": "12345678909"}


@pytest.fixture
def ended(tmp_path):
    """Runs the suite at one address: against a service that conforms, or against another one."""
    with Raw() as raw:

        def run_against(*options, service=Service, **changes):
            raw.service = service(token=TOKEN["PIX_TOKEN"])
            return run(write_profile(tmp_path, raw.base_url, **changes), *(options or PART))

        yield run_against


def line_of(result):
    """The line of the terminal that compares."""
    found = re.findall(r"^(?:since|compared with) .*$", result.output, re.MULTILINE)
    return found[0] if found else ""


def test_a_first_run_is_compared_with_nothing(ended):
    """It says nothing of it, and conformance.json has null."""
    result = ended()

    assert (line_of(result), result.document["comparison"]) == ("", None), result.output
    assert 'id="comparison"' not in (result.folder / "report.html").read_text()


def test_a_run_is_compared_with_the_last_one(ended):
    """One line, a section of the page, and the comparison in conformance.json; the exit status is that of the run."""
    good, same, bad, mended = (
        ended(*PART, service=service) for service in (Service, Service, ShowsTheDocument, Service)
    )

    assert [result.status for result in (good, same, bad, mended)] == [0, 0, 1, 0]
    assert [re.sub(SINCE, "", line_of(result)) for result in (same, bad, mended)] == [
        "no change",
        "1 newly failing",
        "1 fixed",
    ]
    assert mended.document["comparison"]["fixed"] == [ROW]
    assert mended.document["comparison"]["with"]["verdict"] == "non-conformant"
    assert f"S{line_of(mended)[1:]}." in (mended.folder / "report.html").read_text()
    assert problems(mended.document) == []


def test_the_default_run_looks_beside_its_own_folder(tmp_path):
    """In reports/runs/<environment>, without --report-dir."""
    profile = write_profile(tmp_path, "embedded", auth=None).rename(tmp_path / f"compared-{os.getpid()}.yaml")
    line = [part for part in arguments(profile, *PART) if not part.startswith("--report-dir")]
    try:
        outputs = [run_pytest(line, environment()).stdout for _ in range(3)]
        kept = [path for path in (RUNS / profile.stem).iterdir() if not path.is_symlink()]
    finally:
        shutil.rmtree(RUNS / profile.stem)

    assert ["since " in output for output in outputs] == [False, True, True], outputs
    assert len(kept) == 3


# -- --compare-with -----------------------------------------------------------------------------------------------------


def test_a_run_is_compared_with_the_one_that_is_named(ended, tmp_path):
    """Of another environment, too; it is named, and what makes the two no like for like."""
    (tmp_path / "other.json").write_text(json.dumps(RUN))
    result = ended(*PART, f"--compare-with={tmp_path / 'other.json'}")
    comparison = result.document["comparison"]

    assert result.status == 0
    assert line_of(result).startswith(
        "compared with staging, 2026-11-20 10:00:00 UTC (other environment, origin, selection and permissions): "
    )
    assert (comparison["comparable"], comparison["with"]["environment"]) == (False, "staging")


def test_comparing_never_changes_the_exit_status(ended, tmp_path):
    """A run with fewer permissions is worse than the one before it, and conformant."""
    before = ended("-k", "listAccounts.exists or executePix.name").folder
    kept = before.rename(tmp_path / "kept")
    options = ("-k", "listAccounts.exists or executePix.name", f"--compare-with={kept}")
    result = ended(*options, allow=["read"])

    assert (result.status, result.document["comparison"]["worse"]) == (0, True), result.output


def test_without_a_report_only_the_named_run_is_compared_with(ended):
    """One that is not written to a folder is beside none."""
    folder = ended().folder
    silent, said = ended(*PART, "--no-report"), ended(*PART, "--no-report", f"--compare-with={folder}")

    assert (line_of(silent), bool(re.fullmatch(f"{SINCE}no change", line_of(said)))) == ("", True), said.output


@pytest.mark.parametrize("content", ["", "[NaN]", None], ids=["empty", "NaN", "missing"])
def test_a_run_that_cannot_be_read_is_a_usage_error(content, tmp_path):
    """One line and exit status 4, before any request."""
    path = tmp_path / "conformance.json"
    if content is not None:
        path.write_text(content)
    with Raw() as raw:
        result = run(write_profile(tmp_path, raw.base_url), *PART, f"--compare-with={path}")

    assert (result.status, raw.seen) == (4, [])
    assert re.fullmatch(rf"ERROR: {re.escape(str(path))}: [^\n]+\n+", result.output)


NAMED = ("-k", "executePix.name or listAccounts.shape")
SECRET = f"{TOKEN['PIX_TOKEN']} konto-canary-4711"


def test_nothing_planted_in_the_named_run_leaves(tmp_path):
    """No secret of this run, no control character, no command of a CI system and no markup."""
    with Raw() as raw:
        profile = write_profile(tmp_path, raw.base_url, accounts=["konto-canary-4711"])
        document = run(profile, *NAMED).document
        document["environment"]["name"] = SECRET + ESCAPES + COMMANDS[:60]
        document["suite"]["version"] = PLANTED
        (tmp_path / "other.json").write_text(json.dumps(document))
        result = run(profile, *NAMED, f"--compare-with={tmp_path / 'other.json'}")
    written = {path.name: path.read_text() for path in result.folder.iterdir()} | {"output": result.output}

    assert line_of(result).startswith("compared with ")
    assert [name for name, text in written.items() for value in SECRET.split() if value in text] == []
    assert [name for name, text in written.items() if re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)] == []
    assert [line for line in result.output.splitlines() if line.lstrip().startswith("::") or "##[" in line] == []
    assert "<script>planted" not in written["report.html"]
