"""What is read of other runs is untrusted: one line for what cannot be read, and nothing of it reaches a reader raw."""

import json
import os
import stat
import subprocess
import sys

import pytest

from reports.__main__ import main
from reports.comparing import reading
from reports.comparing.comparison import run_to_compare
from reports.comparing.reading import UnreadableError, read
from reports.formats.conformance_json import FORMAT
from tests.harness.compare_with import comparison_of
from tests.selftest.services.forking import ROOT
from tests.selftest.test_comparison import ROW, RUN, changed

ESCAPES = "\x1b[31m\x9b2J\x07\r\n\u202e"
COMMANDS = "\n::error title=x::planted\n##[set-env name=x]1##vso[task.complete]"
MARKUP = "<script>planted()</script><img src=x onerror=planted()>{{ 7*7 }}"
PERSONAL = "390.533.447-05"
PLANTED = f"{ESCAPES}{COMMANDS}{MARKUP}{PERSONAL}"
DEEP = "[" * 100_000 + "]" * 100_000
TEXT = json.dumps(RUN)


def whole(place, value):
    """The text of a run with another value at that place."""
    document = changed()
    inside = document
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return json.dumps(document)


BAD = {
    "empty": ("", "not JSON at line 1, column 1"),
    "not JSON": ("<html>planted</html>", "not JSON at line 1, column 1"),
    "trailing text": (TEXT + "planted", "not JSON at line 1, column "),
    "a byte order mark": ("\ufeff" + TEXT, "not JSON at line 1, column 1"),
    "not UTF-8": (b"\xff\xfe{", "not UTF-8 at byte 0; expected the conformance.json of a run"),
    "a list": ("[]", "the whole is not what a run writes; expected the conformance.json of a run"),
    "a member twice": (TEXT.replace('"selection"', '"verdict": "planted", "selection"'), "a member that appears twice"),
    "NaN": (TEXT.replace("10.0", "NaN"), "NaN is not JSON"),
    "Infinity": (TEXT.replace("10.0", "-Infinity"), "-Infinity is not JSON"),
    "a float too large": (TEXT.replace("10.0", "1e999"), "exchanges/0/elapsed_ms is not what a run writes"),
    "a huge number": (TEXT.replace("10.0", "9" * 4000), "exchanges/0/elapsed_ms is not what a run writes"),
    "a number of too many digits": (TEXT.replace("10.0", "9" * 5000), "a number of too many digits"),
    "nested too deeply": (DEEP, "nested too deeply; expected the conformance.json of a run"),
    "nested too deeply within": (TEXT.replace("10.0", DEEP), "nested too deeply"),
    "nested too deeply for a validator": (TEXT.replace("10.0", "[" * 400 + "]" * 400), "nested too deeply"),
    "too many values": ("[" + "0," * reading.MOST_VALUES + "0]", "more than 2,000,000 values"),
    "half a surrogate pair": (TEXT[:-1] + ', "\\ud800": 1}', "half of a surrogate pair, which is no character"),
    "a missing member": (
        TEXT.replace('"exchanges"', '"planted"'),
        "exchanges is missing; expected the conformance.json of a run",
    ),
    "another verdict": (whole(["verdict"], PLANTED), "verdict is not what a run writes"),
    "an id that is none": (whole(["requirements", 0, "id"], f"{ROW}\n"), "requirements/0/id is not what a run writes"),
    "a level that is none": (
        whole(["requirements", 0, "level"], PLANTED),
        "requirements/0/level is not what a run writes",
    ),
    "a day that is none": (whole(["started"], "2026-02-30T10:00:00Z"), "started is no day and time"),
    "a time that is none": (whole(["started"], PLANTED), "started is not what a run writes"),
    "a later format": (whole(["format"], "3.0"), "format: not one that this version of the suite reads"),
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
    """It names the file and what is wrong, and repeats nothing of its content."""
    path = file(content)
    status, out, err = error_of(path, capsys)

    assert (status, out) == (2, "")
    assert err.startswith(f"error: {path}: ")
    assert why in err
    assert (err.count("\n"), "planted" in err) == (1, False)


def fifo(path):
    os.mkfifo(path)


def symbolic_link(path):
    path.with_name("real").write_text(TEXT)
    path.symlink_to("real")


def device(path):
    path.symlink_to("/dev/zero")


def unreadable(path):
    path.mkdir()


def too_large(path):
    with path.open("wb") as sparse:
        sparse.truncate(reading.MOST_BYTES + 1)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (fifo, "not a file; expected the conformance.json of a run, or its folder"),
        (symbolic_link, "cannot be read: a symbolic link; name the file that it leads to"),
        (device, "cannot be read: a symbolic link; name the file that it leads to"),
        (unreadable, "not a file; expected the conformance.json of a run, or its folder"),
        (too_large, "larger than 50 MB; expected the conformance.json of a run, or its folder"),
        (lambda path: None, "no such file; expected the conformance.json of a run, or its folder"),
    ],
    ids=["a FIFO", "a symbolic link", "a link to a device", "a folder of that name", "too large", "missing"],
)
def test_what_is_no_file_is_not_read(make, why, tmp_path, capsys):
    """Nothing blocks, goes on for ever or leads elsewhere; a folder is fine, and a link to one, such as latest."""
    make(tmp_path / "conformance.json")

    assert error_of(tmp_path, capsys) == (2, "", f"error: {tmp_path}: {why}\n")


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
    document = changed()
    document["environment"] |= {"name": PLANTED, "base_url": f"https://{PLANTED}"}
    document["suite"]["version"] = PLANTED
    document["selection"] = PLANTED
    document["exchanges"] += [{"operation": PLANTED, "result": 200, "elapsed_ms": 1}]
    document["requirements"][0] |= {"message": PLANTED, "text": PLANTED, "verdict": "fail"}
    return document


@pytest.mark.parametrize("format", ["text", "markdown", "json"])
@pytest.mark.parametrize("turned", [False, True], ids=["before", "after"])
def test_nothing_planted_reaches_the_reader(format, turned, file, capsys):
    """No control character, no command of a CI system, no markup in Markdown and nothing personal."""
    paths = [file(planted(), "planted"), file(RUN, "plain")]
    status = main(["compare", *map(str, reversed(paths) if turned else paths), f"--format={format}"])
    out = capsys.readouterr().out

    assert status == (1 if turned else 0)
    assert "planted()" in out or format == "markdown"
    assert [
        sign for sign in out if (ord(sign) < 32 and sign != "\n") or 0x7F <= ord(sign) < 0xA0 or sign in "\u202e\ud800"
    ] == []
    assert [line for line in out.splitlines() if line.lstrip().startswith("::")] == []
    assert "##" not in out
    assert format != "markdown" or "<script" not in out


def test_a_run_of_an_older_version_is_read(file):
    """Without `format` and `provenance`, if it has what a comparison needs; what it observed is in another form."""
    old = run_to_compare(read(file(changed(observed={ROW: [{"status": 404}]}))))

    assert (old.environment, old.behaviour) == ("staging", {})


def test_a_run_of_this_version_is_as_its_schema_says(file, capsys):
    """All of it, not only what a comparison reads."""
    path = file(RUN | {"format": FORMAT})

    assert (
        error_of(path, capsys)[2] == f"error: {path}: provenance is missing; expected the conformance.json of a run\n"
    )


def test_a_run_of_the_next_version_is_read(file):
    """One that has more members: what a comparison reads is there."""
    assert run_to_compare(read(file(RUN | {"format": "1.999", "planted": 1}))).environment == "staging"


def test_exit_statuses_of_compare(file):
    """0 where nothing got worse, 1 where something did, as the command line gives them."""
    good, bad = file(RUN, "good"), file(changed(requirements={ROW: {"verdict": "fail"}}), "bad").parent
    command = [sys.executable, "-m", "reports", "compare"]
    ended = [
        subprocess.run([*command, *runs], cwd=ROOT, capture_output=True, text=True)
        for runs in ([bad, good], [good, bad])
    ]

    assert [(one.returncode, one.stderr) for one in ended] == [(0, ""), (1, "")]
    assert ended[0].stdout.startswith("since 22 Nov: 1 fixed\n")
    assert ended[1].stdout.startswith("since 20 Nov: 1 newly failing\n")


# -- the run before ---------------------------------------------------------------------------------------------------


@pytest.fixture
def before(tmp_path):
    """Writes the conformance.json of the run before. Gives its path."""

    def store(document=RUN):
        (tmp_path / "before").mkdir(exist_ok=True)
        path = tmp_path / "before" / "conformance.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return store


def since(folder, **now):
    """When the run began that a later one is compared with; None for none."""
    found = comparison_of(changed(**now), named=None, before=folder, clean=str)
    return found and found["with"]["started"]


@pytest.mark.parametrize("verdict", ["conformant", "non-conformant", "not-robust", "incomplete"])
def test_a_run_that_met_the_service_is_a_base(verdict, before):
    """Whatever it found; `latest` may lead to it."""
    folder = before(RUN | {"verdict": verdict}).parent
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
def test_a_run_that_is_not_comparable_is_no_base(other, before):
    """One of another scope, one that came to no end or met no service, and one that starts later."""
    assert since(before(changed(**{"started": RUN["started"]} | other)).parent) is None


def test_a_run_that_met_no_service_is_compared_with_nothing(before):
    """Nor is one that is written to no folder."""
    assert since(before().parent, verdict="interrupted") is None
    assert since(None) is None


@pytest.mark.parametrize("content", [content for content, _ in BAD.values()], ids=BAD)
def test_a_run_that_cannot_be_read_is_passed_over(content, before):
    """Without a word: nobody asked for it."""
    path = before()
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)

    assert since(path.parent) is None


@pytest.mark.parametrize("make", [fifo, symbolic_link, device, unreadable, lambda path: None])
def test_a_run_without_a_file_is_passed_over(make, before):
    """A FIFO does not hold the run up."""
    path = before()
    path.unlink()
    make(path)

    assert since(path.parent) is None


def test_reading_changes_nothing(before, tmp_path):
    """Old runs are not deleted, and nothing is written to them."""
    folder = before().parent
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    as_it_was = [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))]

    assert since(folder) == RUN["started"]
    assert [(path, path.stat().st_mtime_ns) for path in sorted(tmp_path.rglob("*"))] == as_it_was


def test_read_says_why(file):
    """In one sentence without the path, which the caller knows as the user wrote it."""
    with pytest.raises(UnreadableError, match=r"^not JSON at line 1, column 1$"):
        read(file(""))


def test_a_reader_that_has_seen_enough_is_no_fault(file):
    """As with `| head`: no traceback, and the exit status says what was found."""
    file = str(file(RUN))
    command = [sys.executable, "-m", "reports", "compare", file, file]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        error = process.stderr.read()

    assert (process.returncode, error) == (0, "")
