"""A run that is stopped, or that cannot write, leaves whole reports or one line; never half of something."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from junitparser import JUnitXml

from reports.writing import OUTPUTS, PAGE, SUMS
from tests.harness.session import Interruption
from tests.selftest.services.racing import HANGS_S
from tests.selftest.services.running import ROOT, arguments, environment, run, started, write_profile
from tests.selftest.services.serving import Raw
from tests.selftest.services.waiting import PausesAt, await_event

LIMITS = {"executions": 2, "requests": 400}
FILES = {*OUTPUTS, PAGE, SUMS}


def stopped(folder, number, signals, *options):
    """The exit status, output and files of a run that gets signals at its request of that number."""
    (folder / "tmp").mkdir()
    with PausesAt(number) as service:
        profile = write_profile(folder, service.base_url, limits=LIMITS)
        with started(profile, *options, TMPDIR=str(folder / "tmp")) as process:
            await_event(service.reached, process)
            for one in signals:
                os.kill(process.pid, one)
            output, _ = process.communicate()
    return process.returncode, output, {path.name: path for path in (folder / "report").iterdir()}


@pytest.mark.parametrize(("name", "number"), [("SIGINT", 1), ("SIGTERM", 2), ("SIGINT", 45), ("SIGTERM", 110)])
def test_a_stopped_run_leaves_whole_reports(name, number, tmp_path):
    """At the first request as at the last one, all files are there, can be read and say that it was interrupted."""
    status, output, files = stopped(tmp_path, number, [getattr(signal, name)])
    document = json.loads(files["conformance.json"].read_text())
    JUnitXml.fromfile(str(files["junit.xml"]))

    assert (status, document["verdict"], document["exit_status"]) == (2, "interrupted", 2), output
    assert set(files) == FILES
    assert "INTERRUPTED" in files["report.html"].read_text()
    assert document["traffic"]["requests"] == len(document["exchanges"]) >= number
    assert not list((tmp_path / "tmp").iterdir())


def test_signals_are_what_they_were_where_no_run_begins(tmp_path):
    """Self-tests, among others, are stopped as pytest stops."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    assert handlers == [signal.default_int_handler, signal.SIG_DFL]


def test_a_second_signal_does_not_disturb_the_reports(tmp_path):
    """Three Ctrl-C in a row leave the same reports as one."""
    status, _, files = stopped(tmp_path, 45, [signal.SIGINT, signal.SIGTERM, signal.SIGINT])

    assert (status, set(files)) == (2, FILES)


def test_a_signal_stops_what_is_sent_whatever_the_main_thread_waits_for():
    """From another thread; the main thread goes on where it was."""
    stopped = threading.Semaphore(0)
    interruption = Interruption(stopped.release)
    try:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert stopped.acquire(timeout=HANGS_S)
    finally:
        interruption.restore()

    assert interruption.was_asked


class Signals(Raw):
    """The run gets a signal while its request of that number is answered."""

    def __init__(self, number):
        super().__init__()
        self.number, self.reached, self.go_on = number, threading.Event(), threading.Event()

    def answer(self, connection, request):
        if len(self.seen) == self.number:
            self.reached.set()
            self.go_on.wait(HANGS_S)
        super().answer(connection, request)


def test_a_stopped_run_judges_what_it_has_and_sends_nothing_more(tmp_path):
    """What is on the wire is answered; no registered key is deleted, and each requirement says why it was not tested."""
    with Signals(120) as service:
        with started(write_profile(tmp_path, service.base_url), "--parallel=1") as process:
            await_event(service.reached, process)
            os.kill(process.pid, signal.SIGINT)
            time.sleep(0.2)
            service.go_on.set()
            output, _ = process.communicate()
        document = json.loads((tmp_path / "report" / "conformance.json").read_text())

    verdicts = Counter(row["verdict"] for row in document["requirements"])
    untested = {row["message"] for row in document["requirements"] if row["verdict"] == "not-exercised"}
    assert (process.returncode, document["verdict"], len(service.seen)) == (2, "interrupted", 120), output
    assert verdicts["pass"] > 5
    assert (verdicts["fail"], untested) == (0, {"the run was stopped"})
    assert document["traffic"]["executions"] == len(service.executions)


def test_the_sandbox_ends_with_a_stopped_run(tmp_path):
    """The embedded sandbox is gone when the run is, and its port is free."""
    with started(write_profile(tmp_path, "embedded", auth=None, limits={"rate": 10})) as process:
        process.stdout.read(1)  # the first dot
        os.kill(process.pid, signal.SIGTERM)
        process.communicate()
    address = json.loads((tmp_path / "report" / "conformance.json").read_text())["environment"]["base_url"]

    assert process.returncode == 2
    assert run(write_profile(tmp_path, address)).status == 7


def test_a_directory_that_cannot_be_written_is_one_line(service, tmp_path):
    """Exit status 4 before any request."""
    (tmp_path / "report").write_text("in the way")
    result = run(write_profile(tmp_path, service.base_url))

    assert (result.status, service.seen) == (4, [])
    assert len([line for line in result.output.splitlines() if line.strip()]) == 1
    assert f"--report-dir: {tmp_path / 'report'} cannot be written: File exists" in result.output


@pytest.mark.parametrize(
    ("size", "status", "headline"),
    [
        (2_000, 6, "INCOMPLETE, everything permitted"),
        (300_000, 3, "INTERNAL ERROR: a part of the report cannot be written; this is no verdict on the service\n"),
    ],
)
def test_a_full_disk_is_one_line(size, status, headline, service, tmp_path):
    """What cannot be written to the end is not there at all, and neither the exit status nor the headline is green."""
    profile = write_profile(tmp_path, service.base_url)
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments(profile)],
        cwd=ROOT,
        env=environment(  # compiled files would be cut, too, and a key record that many tests have written
            PIX_TOKEN=service.service.token, PYTHONDONTWRITEBYTECODE="1", XDG_STATE_HOME=str(tmp_path / "state")
        ),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        capture_output=True,
        text=True,
    )
    left = [path.name for path in (tmp_path / "report").glob("*")]

    assert result.returncode == status, result.stdout
    assert headline in result.stdout
    assert "CONFORMANT" not in result.stdout
    said = [line for line in result.stdout.splitlines() if re.match("report: .* cannot be written", line)]
    assert len(said) == 1
    verdicts = [json.loads(file.read_text())["verdict"] for file in (tmp_path / "report").glob("conformance.json")]
    assert "conformant" not in verdicts
    assert "report.html" not in left or "</html>" in (tmp_path / "report" / "report.html").read_text()
    assert "Traceback" not in result.stdout + result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr
    assert not [name for name in left if name.startswith(".")]


def test_what_pytest_keeps_is_its_owners_alone(service, tmp_path):
    """The names of tests that failed, too."""
    run(write_profile(tmp_path, service.base_url), "-k", "executePix.document")
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]

    assert files
    assert {path.stat().st_mode & 0o077 for path in files} == {0}


def test_nothing_stays_in_the_folder_for_temporary_files(service, tmp_path):
    """A run that ends as it should leaves nothing there, either."""
    (tmp_path / "tmp").mkdir()
    run(write_profile(tmp_path, service.base_url), TMPDIR=str(tmp_path / "tmp"))

    assert not list((tmp_path / "tmp").iterdir())
