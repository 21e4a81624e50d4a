"""`python -m reports propose` reads a run of anybody and writes an overlay that holds nothing personal."""

import json
import stat
import subprocess
import sys
from dataclasses import replace
from urllib.parse import unquote

import pytest
import yaml
from openapi_spec_validator import validate

from environments.sandbox import Service
from reports.__main__ import main
from tests.selftest import test_canary as canary
from tests.selftest.overlays import JSON, OBSERVED, TEXT, an_answer, an_object, applied, overlay
from tests.selftest.services.echoing import PERSONAL, encodings
from tests.selftest.services.forking import ROOT
from tests.selftest.services.serving import Raw
from tests.selftest.test_comparison import changed
from tests.selftest.test_reading import PERSONAL as CPF
from tests.selftest.test_reading import PLANTED


def deep(levels):
    """A shape of so many levels."""
    return json.loads('{"type": "object", "properties": {"a": ' * levels + "{}" + "}}" * levels)


UNKNOWN = "executePix.unknownCode"
NONE = object()
"""In place of what the file does not have."""


@pytest.fixture
def folder(tmp_path):
    """Writes a conformance.json into a folder of its own."""

    def write(observations=OBSERVED, **changes):
        path = tmp_path / "run" / "conformance.json"
        path.parent.mkdir(exist_ok=True)
        document = changed(observed=observations, **changes)
        path.write_text(json.dumps({name: value for name, value in document.items() if value is not NONE}))
        return path.parent

    return write


def proposed(capsys, *arguments):
    """What `propose` prints."""
    assert main(["propose", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_overlay_goes_to_the_terminal_or_to_a_file(folder, tmp_path, capsys):
    """From the folder or the file, alike; a file is for its owner alone and takes the place of an older one."""
    run, file = folder(), tmp_path / "staging.overlay.yaml"
    printed = proposed(capsys, run)
    file.write_text("older")

    assert proposed(capsys, run / "conformance.json", f"--output={file}") == ""
    assert file.read_text("utf-8") == printed
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert yaml.safe_load(printed) == overlay()


def answered(shape=None, **parts):
    """One answer to an unknown code."""
    return {UNKNOWN: {"": [an_answer(404, JSON, shape) | parts]}}


BAD = {
    "observations in words": (
        NONE,
        "observations in words alone (a format before 1.1); propose from a newer run",
    ),
    "no observation": (
        {},
        "nothing to propose: the run observed nothing that the interface document does not show",
    ),
    "a reference elsewhere": (answered({"$ref": "planted"}), "is not what a run writes"),
    "a payload": (answered({"type": "string", "examples": ["planted"]}), "is not what a run writes"),
    "a type that is none": (answered({"type": "planted"}), "is not what a run writes"),
    "a header that is none": (answered(headers={"planted: x": "y"}), "is not what a run writes"),
    "a status that is none": (answered(status="planted"), "is not what a run writes"),
    "nested too deeply": (answered(deep(200)), "nested too deeply; expected the conformance.json of a run"),
}


@pytest.mark.parametrize(("observations", "why"), BAD.values(), ids=BAD)
def test_what_cannot_be_proposed_is_one_line_and_exit_2(observations, why, folder, capsys):
    """It names the file and what is wrong, and repeats nothing of its content."""
    run = folder(observations)
    status = main(["propose", str(run)])
    said = capsys.readouterr()

    assert (status, said.out) == (2, "")
    assert said.err.startswith(f"error: {run}: ")
    assert why in said.err
    assert (said.err.count("\n"), "planted" in said.err) == (1, False)


@pytest.mark.parametrize("name", ["missing/x.yaml", "", "a\0b"], ids=["a missing folder", "a folder", "no path"])
def test_a_file_that_cannot_be_written_is_one_line_and_exit_2(name, folder, tmp_path, capsys):
    """With its name and the reason."""
    status = main(["propose", str(folder()), f"--output={tmp_path / name}"])
    said = capsys.readouterr()

    assert (status, said.out) == (2, "")
    assert said.err.startswith(f"error: {tmp_path}")
    assert said.err.count("\n") == 1
    assert ": cannot be written: " in said.err


def test_nothing_planted_reaches_the_reader(folder, capsys):
    """No control character, no command of a CI system and nothing personal; a name that holds such is any name."""
    shape = an_object(**{PLANTED[:60]: TEXT, "::error::x": TEXT, CPF: TEXT, "code": TEXT})
    answer = an_answer(404, PLANTED[:200], shape, Allow=PLANTED[:200])
    run = folder(
        {UNKNOWN: {PLANTED[:200]: [answer, {"text": PLANTED}]}, "executePix.date.unit": {"": [{"text": PLANTED}]}}
    )
    document = json.loads((run / "conformance.json").read_text())
    document["environment"]["name"] = PLANTED
    (run / "conformance.json").write_text(json.dumps(document))
    out = proposed(capsys, run)

    assert [sign for sign in out if (ord(sign) < 32 and sign != "\n") or ord(sign) >= 0x7F] == []
    assert [line for line in out.splitlines() if line.lstrip(" -").startswith(("::", "#"))] == []
    assert "##" not in out
    assert CPF not in out
    validate(applied(yaml.safe_load(out)))


class Keyed(Service):
    """Its answers have members that are named by data: accounts, people, days."""

    def named(self):
        names = (*canary.VALUES, *encodings(canary.ACCOUNT).values(), "2026-11-22")
        return {name: {"holder": PERSONAL["name"]} for name in names}

    def finish(self, request, operation, response):
        """Every answer in JSON holds them, and what was sent."""
        body = json.loads(response.body)
        body["data"] |= self.named() | {unquote(request.path.rpartition("/")[2]): 1, "holders": self.named()}
        return replace(response, body=json.dumps(body).encode())


def test_nothing_personal_is_proposed(tmp_path):
    """No canary is in the overlay or in what the command prints, be it named, echoed or told."""
    with Raw() as raw:
        raw.service = Keyed(token=canary.TOKEN)
        result = canary.canary_run(raw, tmp_path)
    command = [sys.executable, "-m", "reports", "propose", str(result.folder), f"--output={tmp_path / 'overlay.yaml'}"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    written = (tmp_path / "overlay.yaml").read_text("utf-8")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert [name for name, form in canary.CANARIES.items() if form in written] == []
    assert "additionalProperties" in written
    validate(applied(yaml.safe_load(written)))


def test_a_command_line_proposes():
    """With the exit status of bad input, in one line."""
    command = [sys.executable, "-m", "reports", "propose", "missing"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "error: missing: no such file; expected the conformance.json of a run, or its folder\n"
