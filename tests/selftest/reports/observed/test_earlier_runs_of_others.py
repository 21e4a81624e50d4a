"""What is read of other runs is untrusted: one line for what cannot be read, and nothing of it reaches a reader raw."""

import json
import os
import re

import pytest

from reports.__main__ import main
from reports.observed import earlier_runs
from reports.observed.earlier_runs import comparison_with_other_run, run_in_folder
from tests.selftest.reports.observed.test_comparison import RUN, changed_document, earlier_run

ESCAPES = "\x1b[31m\x9b2J\x07\r\n\u202e"
COMMANDS_OF_CI = "\n::error title=x::planted\n##[set-env name=x]1##vso[task.complete]"
HOSTILE_TEXT = f"{ESCAPES}{COMMANDS_OF_CI}<script>planted()</script>390.533.447-05"
DEEPLY_NESTED_JSON = "[" * 100_000 + "]" * 100_000
TEXT_OF_RUN = json.dumps(RUN)
WHAT_IS_EXPECTED = "; expected the conformance.json of a run, or its folder"


BAD = {
    "empty": ("", "not JSON of a run"),
    "nested too deeply": (TEXT_OF_RUN.replace("null", DEEPLY_NESTED_JSON), "not JSON of a run"),
    "nested deeply": (TEXT_OF_RUN.replace("null", "[" * 400 + "]" * 400), "selection is not as the suite writes it"),
    "another verdict": (json.dumps(changed_document(verdict=HOSTILE_TEXT)), "verdict is not as the suite writes it"),
    "a day that is none": (json.dumps(changed_document(started="2026-02-30T10:00:00Z")), "not JSON of a run"),
    "a later format": (json.dumps(changed_document(format="3.0")), "format is not as the suite writes it"),
}


@pytest.fixture
def write_file(tmp_path):
    """A function that writes a conformance.json into the folder with this name, and returns its path.

    The content is a text, or a dict that becomes JSON.
    """

    def write_conformance_json(content, name="run"):
        path = tmp_path / name / "conformance.json"
        path.parent.mkdir()
        if isinstance(content, dict):
            content = json.dumps(content)
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
        return path

    return write_conformance_json


def error_line_of_compare(path, capsys):
    """The error line of the command `compare` for a file that cannot be read. The exit status must be 4."""
    status = main(["compare", str(path), str(path)])
    printed = capsys.readouterr()

    assert status == 4
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_an_unreadable_earlier_run_is_one_line_and_exit_4(content, reason, write_file, capsys):
    """`compare` refuses a file that is no conformance.json with one line and exit status 4. The line repeats nothing of
    the file.

    A later run in the same folder ignores such a file.
    """
    path = write_file(content)

    line = error_line_of_compare(path, capsys)

    assert line == f"error: {path}: {reason}{WHAT_IS_EXPECTED}\n"
    assert start_of_compared_run(path) is None


def make_large_file(path):
    """Make a file that is larger than the limit."""
    with path.open("wb") as sparse:
        sparse.truncate(earlier_runs.MOST_BYTES + 1)


@pytest.mark.parametrize(
    ("make_file", "reason"),
    [
        (os.mkfifo, "not a file"),
        (make_large_file, "larger than 50 MB"),
        (lambda path: None, "no such file"),
    ],
    ids=["a FIFO", "too large", "missing"],
)
def test_fifos_and_large_or_missing_files_are_not_read(make_file, reason, tmp_path, capsys):
    """`compare` refuses a FIFO, a file larger than 50 MB and a missing file with one line, and never waits for a
    writer.
    """
    make_file(tmp_path / "conformance.json")

    line = error_line_of_compare(tmp_path, capsys)

    assert line == f"error: {tmp_path}: {reason}{WHAT_IS_EXPECTED}\n"


@pytest.mark.parametrize("arguments", [[], ["compare", "a", "b", "--format=html"], ["x\ny"]], ids=str)
def test_wrong_arguments_are_one_error_line_and_exit_4(arguments, capsys):
    """`python -m reports` with wrong arguments prints one line that begins with `error:`, and ends with exit status 4.

    The longer usage text of argparse is left out.
    """
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    printed = capsys.readouterr()

    assert exit_info.value.code == 4
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith("error: ")


def test_compare_prints_nothing_harmful_of_a_file(write_file, capsys):
    """`compare` prints no control character and no command of a CI system, whatever stands in the files of the two
    runs.

    The exit status is 1 if the second run is worse, and 0 if it is better.
    """
    document = changed_document(selection=HOSTILE_TEXT, suite={"version": HOSTILE_TEXT})
    document["environment"] |= {"name": HOSTILE_TEXT, "base_url": f"https://{HOSTILE_TEXT}"}
    document["requirements"][0] |= {"message": HOSTILE_TEXT, "text": HOSTILE_TEXT, "verdict": "fail"}
    runs = [str(write_file(RUN, "plain")), str(write_file(document, "planted"))]
    status_if_worse = main(["compare", *runs])
    status_if_better = main(["compare", *reversed(runs)])
    out = capsys.readouterr().out

    control_characters = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out)
    commands_of_ci = [line for line in out.splitlines() if line.lstrip().startswith("::") or "##" in line]

    assert (status_if_worse, status_if_better) == (1, 0)
    assert control_characters == []
    assert commands_of_ci == []


# -- the run before ---------------------------------------------------------------------------------------------------


def start_of_compared_run(path):
    """The start of the run in this file, if a run two days later is compared with it; None if it is not compared."""
    later_run = earlier_run()
    run_before = run_in_folder(path)
    comparison = comparison_with_other_run(later_run, named=None, before=run_before, clean=str)
    if comparison is None:
        return None
    return comparison.compared_with.started


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "unreachable"},
        {"started": "2026-11-30T10:00:00Z"},
    ],
    ids=["it reached no service", "it started later"],
)
def test_a_run_is_not_compared_with_one_that_reached_no_service_or_started_later(change, write_file):
    """A run is not compared with an earlier run that reached no service, nor with one that started later."""
    members_of_earlier_run = {"started": RUN["started"]} | change
    path = write_file(changed_document(**members_of_earlier_run))

    assert start_of_compared_run(path) is None
