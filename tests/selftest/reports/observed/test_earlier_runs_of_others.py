"""What is read of other runs is untrusted: one line for what cannot be read, and nothing of it reaches a reader raw."""

import json
import os

import pytest

from reports.__main__ import main
from reports.observed import earlier_runs
from reports.observed.earlier_runs import comparison_of, run_before
from tests.selftest.reports.observed.test_comparison import RUN, changed_document, earlier_run

ESCAPES = "\x1b[31m\x9b2J\x07\r\n\u202e"
COMMANDS = "\n::error title=x::planted\n##[set-env name=x]1##vso[task.complete]"
PLANTED = f"{ESCAPES}{COMMANDS}<script>planted()</script>390.533.447-05"
DEEP = "[" * 100_000 + "]" * 100_000
TEXT = json.dumps(RUN)
EXPECTED = "; expected the conformance.json of a run, or its folder"


BAD = {
    "empty": ("", "not JSON of a run"),
    "nested too deeply": (TEXT.replace("null", DEEP), "not JSON of a run"),
    "nested deeply": (TEXT.replace("null", "[" * 400 + "]" * 400), "selection is not as the suite writes it"),
    "another verdict": (json.dumps(changed_document(verdict=PLANTED)), "verdict is not as the suite writes it"),
    "a day that is none": (json.dumps(changed_document(started="2026-02-30T10:00:00Z")), "not JSON of a run"),
    "a later format": (json.dumps(changed_document(format="3.0")), "format is not as the suite writes it"),
}


@pytest.fixture
def write_file(tmp_path):
    """Writes a conformance.json into a folder of its own."""

    def write_conformance_json(content, name="run"):
        path = tmp_path / name / "conformance.json"
        path.parent.mkdir(exist_ok=True)
        content = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return write_conformance_json


def error_of(path, capsys):
    """The error line of `compare` for a file that cannot be read."""
    status = main(["compare", str(path), str(path)])
    printed = capsys.readouterr()

    assert status == 4
    assert printed.out == ""
    return printed.err


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_an_unreadable_earlier_run_is_one_line_and_exit_4(content, reason, write_file, capsys):
    """The line names the file and what is wrong, and repeats nothing of the content.

    A run that looks for its predecessor ignores the file.
    """
    path = write_file(content)

    assert error_of(path, capsys) == f"error: {path}: {reason}{EXPECTED}\n"
    assert start_of_compared_run(path) is None


def make_large_file(path):
    """Make a file that is larger than the limit."""
    with path.open("wb") as sparse:
        sparse.truncate(earlier_runs.MOST_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "not a file"),
        (make_large_file, "larger than 50 MB"),
        (lambda path: None, "no such file"),
    ],
    ids=["a FIFO", "too large", "missing"],
)
def test_fifos_and_large_or_missing_files_are_not_read(make, reason, tmp_path, capsys):
    """Each is one line, and nothing blocks."""
    make(tmp_path / "conformance.json")

    assert error_of(tmp_path, capsys) == f"error: {tmp_path}: {reason}{EXPECTED}\n"


@pytest.mark.parametrize("arguments", [[], ["compare", "a", "b", "--format=html"], ["x\ny"]], ids=str)
def test_wrong_use_is_one_line_and_exit_4(arguments, capsys):
    """The usage text of argparse is left out."""
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    printed = capsys.readouterr()

    assert exit_info.value.code == 4
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("error: ")


def test_nothing_planted_reaches_the_reader(write_file, capsys):
    """Neither run can print a control character or a command of a CI system.

    The exit status says if the second run is worse.
    """
    document = changed_document(selection=PLANTED, suite={"version": PLANTED})
    document["environment"] |= {"name": PLANTED, "base_url": f"https://{PLANTED}"}
    document["requirements"][0] |= {"message": PLANTED, "text": PLANTED, "verdict": "fail"}
    runs = [str(write_file(RUN, "plain")), str(write_file(document, "planted"))]
    statuses = [main(["compare", *runs]), main(["compare", *reversed(runs)])]
    out = capsys.readouterr().out

    assert statuses == [1, 0]
    assert [
        sign for sign in out.replace("\n", "") if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign in "\u202e"
    ] == []
    assert [line for line in out.splitlines() if line.lstrip().startswith("::") or "##" in line] == []


# -- the run before ---------------------------------------------------------------------------------------------------


def start_of_compared_run(path, **now):
    """The start of the run in this file, if a later run is compared with it. None if it is not comparable."""
    comparison = comparison_of(earlier_run(**now), named=None, before=run_before(path), clean=str)
    return comparison and comparison.compared_with.started


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "unreachable"},
        {"started": "2026-11-30T10:00:00Z"},
    ],
    ids=str,
)
def test_a_run_that_is_not_comparable_is_no_base(change, write_file):
    """A run that reached no service is not comparable, nor is one that started later. Scopes are in test_comparison."""
    assert start_of_compared_run(write_file(changed_document(**{"started": RUN["started"]} | change))) is None
