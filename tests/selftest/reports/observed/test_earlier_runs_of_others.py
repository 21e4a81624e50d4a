"""What is read of other runs is untrusted: one line for what cannot be read, and nothing of it reaches a reader raw."""

import json
import os

import pytest

from reports.__main__ import main
from reports.observed import earlier_runs
from reports.observed.earlier_runs import comparison_of, run_before
from tests.selftest.reports.observed.test_comparison import RUN, changed, earlier

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
    "another verdict": (json.dumps(changed(verdict=PLANTED)), "verdict is not as the suite writes it"),
    "a day that is none": (json.dumps(changed(started="2026-02-30T10:00:00Z")), "not JSON of a run"),
    "a later format": (json.dumps(changed(format="3.0")), "format is not as the suite writes it"),
}


@pytest.fixture
def file(tmp_path):
    """Writes a conformance.json into a folder of its own."""

    def write(content, name="run"):
        path = tmp_path / name / "conformance.json"
        path.parent.mkdir(exist_ok=True)
        content = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return write


def error_of(path, capsys):
    """What `compare` says where one of the two cannot be read."""
    status = main(["compare", str(path), str(path)])
    said = capsys.readouterr()

    assert (status, said.out) == (4, "")
    return said.err


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_one_line_and_exit_4(content, why, file, capsys):
    """It names the file and what is wrong, and repeats nothing of its content; unasked, it is passed over."""
    path = file(content)

    assert error_of(path, capsys) == f"error: {path}: {why}{EXPECTED}\n"
    assert since(path) is None


def too_large(path):
    with path.open("wb") as sparse:
        sparse.truncate(earlier_runs.MOST_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "not a file"),
        (too_large, "larger than 50 MB"),
        (lambda path: None, "no such file"),
    ],
    ids=["a FIFO", "too large", "missing"],
)
def test_what_is_no_file_is_not_read(make, why, tmp_path, capsys):
    """Nothing blocks or goes on for ever."""
    make(tmp_path / "conformance.json")

    assert error_of(tmp_path, capsys) == f"error: {tmp_path}: {why}{EXPECTED}\n"


@pytest.mark.parametrize("arguments", [[], ["compare", "a", "b", "--format=html"], ["x\ny"]], ids=str)
def test_wrong_use_is_one_line_and_exit_4(arguments, capsys):
    """argparse's usage is left out."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()

    assert (ended.value.code, said.out, said.err.count("\n")) == (4, "", 1)
    assert said.err.startswith("error: ")


def test_nothing_planted_reaches_the_reader(file, capsys):
    """No control character and no command of a CI system, from either run. The exit status says which is worse."""
    document = changed(selection=PLANTED, suite={"version": PLANTED})
    document["environment"] |= {"name": PLANTED, "base_url": f"https://{PLANTED}"}
    document["requirements"][0] |= {"message": PLANTED, "text": PLANTED, "verdict": "fail"}
    runs = [str(file(RUN, "plain")), str(file(document, "planted"))]
    statuses = [main(["compare", *runs]), main(["compare", *reversed(runs)])]
    out = capsys.readouterr().out

    assert statuses == [1, 0]
    assert [
        sign for sign in out.replace("\n", "") if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign in "\u202e"
    ] == []
    assert [line for line in out.splitlines() if line.lstrip().startswith("::") or "##" in line] == []


# -- the run before ---------------------------------------------------------------------------------------------------


def since(path, **now):
    """The start of the run that a later one is compared with; None if there is no comparison."""
    comparison = comparison_of(earlier(**now), named=None, before=run_before(path), clean=str)
    return comparison and comparison.compared_with.started


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "unreachable"},
        {"started": "2026-11-30T10:00:00Z"},
    ],
    ids=str,
)
def test_a_run_that_is_not_comparable_is_no_base(change, file):
    """A run that met no service is not comparable, nor one that started later. Scopes are in test_comparison."""
    assert since(file(changed(**{"started": RUN["started"]} | change))) is None
