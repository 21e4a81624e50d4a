"""A run that is stopped, or that cannot write, leaves whole reports or one line; nothing is forgotten, or sent after it."""

import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest
from junitparser import JUnitXml

from environments.__main__ import main
from environments.door.opening import journal_of
from environments.profiles.loading import load
from reports.outputs.writing import OUTPUTS, PAGE, SUMS
from tests.selftest.services.one_run import HOW_TO_PREPARE
from tests.selftest.services.running import (
    ROOT,
    TOKEN_VARIABLES,
    clean_environment,
    pytest_arguments,
    run_suite,
    suite_in_background,
    write_profile,
)
from tests.selftest.services.serving import SocketService, response_bytes
from tests.selftest.services.waiting import HANG_LIMIT_S, await_event
from tests.selftest.shared_runs import run_in_this_process

FILES = {*OUTPUTS, PAGE, SUMS}
CODES = ["SBX-PHONE-1", "SBX-EMAIL-1", "SBX-RANDOM-1", "SBX-CNPJ-1", "SBX-CPF-1"]
MOMENTS = [(90, 8)]
if os.environ.get("PIX_PROOF") == "exhaustive":
    MOMENTS += [(number, parallel) for number in range(2, 400, 40) for parallel in (1, 4)]
"""Numbers of requests at which a run is stopped, and how many go at once."""


class StopsAnswering(SocketService):
    """Does what each request asks for. From the request with this number on, it gives no answer."""

    def __init__(self, number):
        super().__init__()
        self.number, self.reached = number, threading.Event()

    def answer(self, connection, request):
        is_silent = len(self.received) >= self.number
        response = response_bytes(self.sandbox.respond(request))
        if is_silent:
            self.reached.set()
            self._stopped.wait()
        connection.sendall(response)

    @property
    def keys(self):
        with self.sandbox.database.transaction() as ledger:
            return {key.key for key in ledger.keys("ac-0001")}


@pytest.mark.parametrize(("number", "parallel"), MOMENTS)
def test_a_stopped_run_judges_what_it_has_and_sends_nothing_more(number, parallel, tmp_path):
    """Several signals stop the run while requests are on the wire.

    All files are complete, registered keys are listed and not deleted, no code is sent twice or by a later run, and
    each requirement says why it was not tested. Only the owner can read the files.
    """
    (tmp_path / "tmp").mkdir()
    with StopsAnswering(number) as service:
        keys_before = service.keys
        journal = str(tmp_path / "kept/codes.jsonl")
        changes = {"transactions": {"codes": CODES}, "limits": {"executions": 9, "requests": 2000, "timeout": 600}}
        path = write_profile(tmp_path, service.base_url, journal=journal, sandbox=None, **changes)
        with suite_in_background(
            path, "--new-journal", f"--parallel={parallel}", TMPDIR=str(tmp_path / "tmp")
        ) as process:
            await_event(service.reached, process)
            for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
                os.kill(process.pid, signal_number)
            output, _ = process.communicate(timeout=HANG_LIMIT_S * 3)
        keys_left = service.keys - keys_before
        later_journal = journal_of(load(str(path), folder=ROOT), run="a later one")
    files = {file.name: file.read_text() for file in (tmp_path / "report").iterdir()}
    JUnitXml.fromstring(files["junit.xml"].encode())
    document = json.loads(files["conformance.json"])
    rows = [(row["verdict"], row["message"]) for row in document["requirements"]]

    assert document["verdict"] == "interrupted", output
    assert process.returncode == document["exit_status"] == 2
    assert files.keys() == FILES
    assert "INTERRUPTED" in files[PAGE]
    assert files[PAGE].rstrip().endswith("</html>")
    assert list((tmp_path / "tmp").iterdir()) == []
    assert {path.name for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077} == {"tmp", "profile.yaml"}
    assert number <= len(service.received) < number + parallel
    assert document["traffic"]["requests"] == len(document["exchanges"]) >= len(service.received)
    assert [
        code
        for code, times in Counter(service.executions).items()
        if times > 1 or not later_journal.entry_that_forbids(code)
    ] == []
    assert len(document["not_cleaned_up"]) >= len(keys_left)
    assert len([verdict for verdict, _ in rows if verdict == "pass"]) > 5
    assert {row for row in rows if row[0] in ("fail", "not-exercised")} == {("not-exercised", "the run was stopped")}


def test_a_killed_run_leaves_no_report_of_the_run_before(tmp_path):
    """An older report could be taken for that of the killed run. Other files in the folder stay."""
    report = tmp_path / "report"
    report.mkdir(mode=0o700)
    for name in (*FILES, "notes.txt"):
        (report / name).touch()
    with StopsAnswering(1) as service, suite_in_background(write_profile(tmp_path, service.base_url)) as process:
        await_event(service.reached, process)

    assert [file.name for file in report.iterdir()] == ["notes.txt"]


class HoldsTheSecondPreparation(StopsAnswering):
    """Prepares one transfer, and gives no answer to the request that prepares a second one."""

    def answer(self, connection, request):
        prepared = [request for request in self.received if (request.method, request.path) == ("POST", "/v1/pix")]
        self.number = len(self.received) if len(prepared) > 1 else math.inf
        super().answer(connection, request)


def test_a_killed_run_leaves_its_prepared_codes_in_the_journal(tmp_path, capsys):
    """The journal has an entry before the request that prepares, and the code after its answer.

    They bar nothing. `journal` and the next run say that the transfer may wait, or was perhaps prepared, until somebody
    settles the entry.
    """
    journal_file = str(tmp_path / "kept/codes.jsonl")
    changes = {"sandbox": None, "journal": journal_file, "transactions": {"prepare": HOW_TO_PREPARE | {"count": 2}}}
    with HoldsTheSecondPreparation(math.inf) as service:
        path = write_profile(tmp_path, service.base_url, **changes)
        with suite_in_background(path, "-k", "executePix.document") as process:
            await_event(service.reached, process)
    journal_after = journal_of(load(str(path), folder=ROOT), run="a later one")
    entry, perhaps = journal_after.entries()
    status = main(["journal", str(path)])

    assert process.returncode == -signal.SIGKILL
    assert service.executions == []
    assert (entry.outcome, perhaps.outcome) == ("prepared", "preparing")
    assert (status, journal_after.fault()) == (0, "")
    assert capsys.readouterr().out.splitlines() == [
        f"{entry.name}  profile  {entry.at}  prepared by a run that did not send it: the transfer may wait for its execution",
        f"{perhaps.name}  profile  {perhaps.at}  perhaps prepared, by a run that saw no answer: look the transfer up; then "
        f"python -m environments journal {path} --settle {perhaps.name}",
        f"codes in {journal_file}: 2",
    ]
    note = f"which was perhaps prepared (at {perhaps.at}, entry {perhaps.name})"
    with SocketService() as service:
        result = run_suite(write_profile(tmp_path, service.base_url, **changes), "-k", "executePix.document")
    assert note in result.output
    assert main(["journal", str(path), "--settle", perhaps.name]) == 0
    assert [entry.outcome for entry in journal_after.entries()] == ["prepared", "settled", "success", "success"]


def test_a_report_folder_that_cannot_be_written_ends_the_run(service, tmp_path):
    """The run prints one line and ends with exit status 4 before any request."""
    (tmp_path / "report").write_text("in the way")
    profile = write_profile(tmp_path, service.base_url)
    result = run_in_this_process(f"--environment={profile}", f"--report-dir={tmp_path / 'report'}")

    assert result.status == 4
    assert service.received == []
    assert result.output.strip() == f"ERROR: --report-dir: {tmp_path / 'report'} cannot be written: File exists"


def test_a_full_disk_leaves_no_broken_file(service, tmp_path):
    """A file that cannot be written to its end does not exist. Neither the exit status nor the headline is green."""
    profile = write_profile(tmp_path, service.base_url)
    variables = {**TOKEN_VARIABLES, "PYTHONDONTWRITEBYTECODE": "1", "XDG_STATE_HOME": str(tmp_path / "state")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *pytest_arguments(profile, "-k", "executePix.document")],
        cwd=ROOT,
        env=clean_environment(
            **variables
        ),  # compiled files would be cut, too, and a key record that many tests have written
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)),
        capture_output=True,
        text=True,
    )

    assert result.returncode == 3, result.stdout
    assert "INTERNAL-ERROR: a part of the report cannot be written; this is no verdict on the service" in result.stdout
    assert len(re.findall("^report: .* cannot be written", result.stdout, re.MULTILINE)) == 1
    assert not re.search("CONFORMANT|Traceback|INTERNALERROR", result.stdout + result.stderr)
    assert [file.name for file in (tmp_path / "report").iterdir() if file.name in FILES or file.name[0] == "."] == []
