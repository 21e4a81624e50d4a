"""What is read of other runs is untrusted: one line for what cannot be read, and nothing of it reaches a reader raw."""

import json
import os
import subprocess
import sys

import pytest

from reports import earlier_runs
from reports.__main__ import main
from tests.harness.reporter import comparison_of
from tests.selftest.services.forking import ROOT
from tests.selftest.test_comparison import ROW, RUN, changed

ESCAPES = "\x1b[31m\x9b2J\x07\r\n\u202e"
COMMANDS = "\n::error title=x::planted\n##[set-env name=x]1##vso[task.complete]"
PLANTED = f"{ESCAPES}{COMMANDS}<script>planted()</script>390.533.447-05"
DEEP = "[" * 100_000 + "]" * 100_000
TEXT = json.dumps(RUN)
EXPECTED = "; expected the conformance.json of a run, or its folder"


def whole(place, value):
    """The text of a run with another value at that place."""
    document = changed()
    inside = document
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return json.dumps(document)


BAD = {
    "empty": ("", "not JSON of a run"),
    "not JSON": ("<html>planted</html>", "not JSON of a run"),
    "trailing text": (TEXT + "planted", "not JSON of a run"),
    "not UTF-8": (b"\xff\xfe{", "not JSON of a run"),
    "a list": ("[]", "a member is not as the suite writes it"),
    "a number of too many digits": (TEXT.replace("null", "9" * 5000), "not JSON of a run"),
    "nested too deeply": (DEEP, "not JSON of a run"),
    "nested too deeply within": (TEXT.replace("null", DEEP), "not JSON of a run"),
    "nested too deeply for a validator": (TEXT.replace("null", "[" * 400 + "]" * 400), "nested too deeply"),
    "a missing member": (TEXT.replace('"verdict": "conformant"', '"planted": 1'), "verdict is not as"),
    "another verdict": (whole(["verdict"], PLANTED), "verdict is not as the suite writes it"),
    "an id that is none": (whole(["requirements", 0, "id"], f"{ROW}\n"), "requirements is not as"),
    "a level that is none": (whole(["requirements", 0, "level"], PLANTED), "requirements is not as"),
    "a day that is none": (whole(["started"], "2026-02-30T10:00:00Z"), "not JSON of a run"),
    "a time that is none": (whole(["started"], PLANTED), "started is not as the suite writes it"),
    "a later format": (whole(["format"], "3.0"), "format is not as the suite writes it"),
}


@pytest.fixture
def file(tmp_path):
    """Writes a conformance.json into a folder of its own."""

    def write(content, name="run"):
        path = tmp_path / name / "conformance.json"
        path.parent.mkdir(exist_ok=True)
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path

    return write


def error_of(path, capsys):
    """What `compare` says where one of the two cannot be read, and its exit status."""
    status = main(["compare", str(path), str(path)])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_one_line_and_exit_2(content, why, file, capsys):
    """It names the file and what is wrong, and repeats nothing of its content; unasked, it is passed over."""
    path = file(content)
    status, out, err = error_of(path, capsys)

    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}: ")
    assert why in err
    assert err.endswith(f"{EXPECTED}\n")
    assert (err.count("\n"), "planted" in err) == (1, False)
    assert since(path) is None


def too_large(path):
    with path.open("wb") as sparse:
        sparse.truncate(earlier_runs.MOST_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a file"),
        (os.mkdir, "Is a directory"),
        (too_large, "larger than 50 MB"),
        (lambda path: None, "no such file"),
    ],
    ids=["a FIFO", "a link to a device", "a folder of that name", "too large", "missing"],
)
def test_what_is_no_file_is_not_read(make, why, tmp_path, capsys):
    """Nothing blocks or goes on for ever."""
    make(tmp_path / "conformance.json")

    assert error_of(tmp_path, capsys) == (2, "", f"error: {tmp_path}: {why}{EXPECTED}\n")


@pytest.mark.parametrize(
    "path", ["/dev/zero", "a\nb\x1b[31m", "\0", "x" * 5000], ids=["device", "escapes", "NUL", "long"]
)
def test_a_path_that_is_none_is_one_line(path, capsys):
    """Whatever stands in it."""
    status, out, err = error_of(path, capsys)

    assert (status, out, err.count("\n"), "\x1b" in err) == (2, "", 1, False)


@pytest.mark.parametrize(
    "arguments",
    [[], ["compare"], ["compare", "a"], ["compare", "a", "b", "c"], ["compare", "a", "b", "--format=html"], ["x\ny"]],
    ids=str,
)
def test_wrong_use_is_one_line_and_exit_2(arguments, capsys):
    """argparse's usage is left out."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    said = capsys.readouterr()

    assert (ended.value.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith("error: ")


def planted():
    """A run in which every free text is planted."""
    document = changed(selection=PLANTED, suite={"version": PLANTED})
    document["environment"] |= {"name": PLANTED, "base_url": f"https://{PLANTED}"}
    document["requirements"][0] |= {"message": PLANTED, "text": PLANTED, "verdict": "fail"}
    return document


@pytest.mark.parametrize("turned", [False, True], ids=["before", "after"])
def test_nothing_planted_reaches_the_reader(turned, file, capsys):
    """No control character and no command of a CI system."""
    paths = [file(planted(), "planted"), file(RUN, "plain")]
    status = main(["compare", *map(str, reversed(paths) if turned else paths)])
    out = capsys.readouterr().out

    assert status == (1 if turned else 0)
    assert [
        sign for sign in out if (ord(sign) < 32 and sign != "\n") or 0x7F <= ord(sign) < 0xA0 or sign in "\u202e"
    ] == []
    assert [line for line in out.splitlines() if line.lstrip().startswith("::")] == []
    assert "##" not in out


def test_exit_statuses_of_compare(file):
    """0 where nothing got worse, 1 where something did, as the command line gives them."""
    good, bad = file(RUN, "good"), file(changed(requirements={ROW: {"verdict": "fail"}}), "bad").parent
    command = [sys.executable, "-m", "reports", "compare"]
    ended = [
        subprocess.run([*command, *runs], cwd=ROOT, capture_output=True, text=True)
        for runs in ([bad, good], [good, bad])
    ]

    assert [(one.returncode, one.stderr) for one in ended] == [(0, ""), (1, "")]
    assert ended[0].stdout.startswith("since 2026-11-22 09:00:00 UTC: 1 fixed\n")
    assert ended[1].stdout.startswith("since 2026-11-20 10:00:00 UTC: 1 newly failing\n")


def test_a_reader_that_has_seen_enough_is_no_fault(file):
    """As with `| head`: no traceback, and the exit status says what was found."""
    file = str(file(RUN))
    command = [sys.executable, "-m", "reports", "compare", file, file]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (0, "")


# -- the run before ---------------------------------------------------------------------------------------------------


def since(path, **now):
    """When the run began that a later one is compared with; None for none."""
    found = comparison_of(changed(**now), named=None, before=path, clean=str)
    return found and found["with"]["started"]


@pytest.mark.parametrize("verdict", ["conformant", "non-conformant", "not-robust", "incomplete"])
def test_a_run_that_met_the_service_is_a_base(verdict, file):
    """Whatever it found; `latest` may lead to it."""
    folder = file(RUN | {"verdict": verdict}).parent
    link = folder.with_name("latest")
    link.symlink_to(folder.name)

    assert since(link) == RUN["started"]


@pytest.mark.parametrize(
    "other",
    [
        {"selection": "-k executePix"},
        {"environment": {"allow": ["read"]}},
        {"verdict": "interrupted"},
        {"verdict": "unreachable"},
        {"verdict": "internal-error"},
        {"started": "2026-11-30T10:00:00Z"},
    ],
    ids=str,
)
def test_a_run_that_is_not_comparable_is_no_base(other, file):
    """One of another scope, one that came to no end or met no service, and one that starts later."""
    assert since(file(changed(**{"started": RUN["started"]} | other))) is None


def test_a_run_that_met_no_service_is_compared_with_nothing(file):
    """Nor is one that is written to no folder."""
    assert since(file(RUN), verdict="interrupted") is None
    assert since(None) is None
