"""Runs that are stopped, are killed, or cannot write their files.

A stopped run sends nothing more, writes its report to the end, and forgets no key and no code that it sent.
"""

import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    suite_that_is_killed_at_the_end,
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
"""Pairs: the number of the request at which a run is stopped, and the number of requests that are sent at once."""


class StopsAnswering(SocketService):
    """Does what each request asks for, but answers only the first requests: none from the one with this number on.

    The event `unanswered_request_arrived` is set when such a request has been carried out.
    """

    def __init__(self, number):
        """`number` is the number of the first request that gets no answer. The first request has the number 1."""
        super().__init__()
        self.number_of_first_unanswered_request = number
        self.unanswered_request_arrived = threading.Event()

    def answer(self, connection, request):
        """Do what the request asks for, and send the answer, or wait without an answer until the service is stopped."""
        is_unanswered = len(self.received) >= self.number_of_first_unanswered_request
        response = response_bytes(self.sandbox.respond(request))
        if is_unanswered:
            self.unanswered_request_arrived.set()
            self._stopped.wait()
        connection.sendall(response)

    @property
    def keys(self):
        """The keys of the first account."""
        with self.sandbox.database.transaction() as ledger:
            return {key.key for key in ledger.keys("ac-0001")}


@dataclass
class StoppedRun:
    """A run that signals stopped while requests were on their way.

    The signals came with the first request that got no answer. `requests_at_the_signal` is its number, and
    `requests_at_once` is how many requests go at the same time.
    """

    requests_at_the_signal: int
    requests_at_once: int
    folder: Path
    service: StopsAnswering
    new_keys: set[str]
    exit_status: int
    output: str

    @property
    def files(self):
        """The content of each file of the report, by name."""
        return {file.name: file.read_text() for file in (self.folder / "report").iterdir()}

    @property
    def document(self):
        """The content of conformance.json."""
        return json.loads(self.files["conformance.json"])


@pytest.fixture(scope="module", params=MOMENTS, ids=lambda moment: f"request {moment[0]}, {moment[1]} at once")
def stopped_run(request, tmp_path_factory):
    """A run that three signals stopped: SIGTERM, and then Ctrl-C twice. It could register keys and send codes.

    Its target is no sandbox, so it has a journal of the codes that it sent.
    """
    number, parallel = request.param
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "tmp").mkdir()
    with StopsAnswering(number) as service:
        keys_before = service.keys
        journal = str(folder / "kept/codes.jsonl")
        changes = {"transactions": {"codes": CODES}, "limits": {"executions": 9, "requests": 2000, "timeout": 600}}
        path = write_profile(folder, service.base_url, journal=journal, sandbox=None, **changes)
        options = ("--new-journal", f"--parallel={parallel}")
        with suite_that_is_killed_at_the_end(path, *options, TMPDIR=str(folder / "tmp")) as process:
            await_event(service.unanswered_request_arrived, process)
            for signal_number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
                os.kill(process.pid, signal_number)
            output, _ = process.communicate(timeout=HANG_LIMIT_S * 3)
        new_keys = service.keys - keys_before
        yield StoppedRun(number, parallel, folder, service, new_keys, process.returncode, output)


def test_a_stopped_run_judges_what_it_has_and_sends_nothing_more(stopped_run):
    """A run that a signal stops sends no further request, and judges the answers that it has.

    Requests that are on their way at that moment may still arrive. The verdict is "interrupted", with exit status 2.
    More than five requirements pass. Each requirement that was not tested says that the run was stopped.
    """
    document, requests_received = stopped_run.document, len(stopped_run.service.received)
    verdicts_and_messages = [(row["verdict"], row["message"]) for row in document["requirements"]]
    passing = [verdict for verdict, _ in verdicts_and_messages if verdict == "pass"]
    bad_results = {result for result in verdicts_and_messages if result[0] in ("fail", "not-exercised")}

    assert document["verdict"] == "interrupted", stopped_run.output
    assert (document["exit_status"], stopped_run.exit_status) == (2, 2)
    assert requests_received >= stopped_run.requests_at_the_signal
    assert requests_received < stopped_run.requests_at_the_signal + stopped_run.requests_at_once
    assert document["traffic"]["requests"] == len(document["exchanges"]) >= requests_received
    assert len(passing) > 5
    assert bad_results == {("not-exercised", "the run was stopped")}


def test_a_stopped_run_writes_each_file_of_its_report_to_the_end(stopped_run):
    """After a signal each file of the report is complete, and only its owner can read it. No temporary file is left."""
    files = stopped_run.files
    JUnitXml.fromstring(files["junit.xml"].encode())
    paths = stopped_run.folder.rglob("*")
    readable_by_others = {path.name for path in paths if path.stat().st_mode & 0o077}

    assert files.keys() == FILES
    assert "INTERRUPTED" in files[PAGE]
    assert files[PAGE].rstrip().endswith("</html>")
    assert readable_by_others == {"tmp", "profile.yaml"}  # the test has made these two
    assert list((stopped_run.folder / "tmp").iterdir()) == []


def test_a_stopped_run_lists_the_keys_that_it_registered(stopped_run):
    """A run that a signal stops deletes nothing more, and its report lists each key that it registered."""
    assert len(stopped_run.document["not_cleaned_up"]) >= len(stopped_run.new_keys)


def test_codes_of_a_stopped_run_are_not_sent_again(stopped_run):
    """A code that a stopped run sent is sent neither twice nor by a later run, because the journal has it.

    The journal is a file with the codes that runs sent.
    """
    profile = load(str(stopped_run.folder / "profile.yaml"), folder=ROOT)
    journal_of_later_run = journal_of(profile, run="a later one")
    codes = stopped_run.service.executions_with_valid_token
    codes_that_may_be_sent_again = [code for code in codes if not journal_of_later_run.entry_that_forbids(code)]

    assert len(codes) == len(set(codes))
    assert codes_that_may_be_sent_again == []


def test_a_killed_run_leaves_no_report_of_the_run_before(tmp_path):
    """A run deletes the report of an earlier run in its folder at its start.

    So nobody takes the old report for that of the new run if the new run is killed. Here it is killed at its first
    request. Other files in the folder stay.
    """
    report = tmp_path / "report"
    report.mkdir(mode=0o700)
    for name in (*FILES, "notes.txt"):
        (report / name).touch()
    with (
        StopsAnswering(1) as service,
        suite_that_is_killed_at_the_end(write_profile(tmp_path, service.base_url)) as process,
    ):
        await_event(service.unanswered_request_arrived, process)

    assert [file.name for file in report.iterdir()] == ["notes.txt"]


class HoldsTheSecondPreparation(StopsAnswering):
    """Prepares one transfer, and gives no answer to the request that prepares a second one."""

    def __init__(self):
        """Every request is answered at first."""
        super().__init__(number=math.inf)

    def answer(self, connection, request):
        """Send the answer of the sandbox, unless this is the second preparation, or came after it."""
        methods_and_paths = [(received.method, received.path) for received in self.received]
        number_of_preparations = methods_and_paths.count(("POST", "/v1/pix"))
        if number_of_preparations > 1:
            self.number_of_first_unanswered_request = len(self.received)
        super().answer(connection, request)


@dataclass
class KilledRun:
    """A run that `kill -9` ended while it prepared its second transfer, and its journal (the file of sent codes)."""

    folder: Path
    profile: Path
    changes_of_profile: dict[str, Any]
    service: HoldsTheSecondPreparation
    base_url: str
    exit_status: int

    @property
    def journal(self):
        """The journal, as a later run reads it."""
        return journal_of(load(str(self.profile), folder=ROOT), run="a later one")


@pytest.fixture
def killed_run(killed_run_of_module, tmp_path):
    """The killed run, with a folder and a journal of its own for each test."""
    shutil.copytree(killed_run_of_module.folder, tmp_path, dirs_exist_ok=True)
    changes = killed_run_of_module.changes_of_profile | {"journal": str(tmp_path / "kept/codes.jsonl")}
    profile = write_profile(tmp_path, killed_run_of_module.base_url, **changes)
    return replace(killed_run_of_module, folder=tmp_path, profile=profile, changes_of_profile=changes)


@pytest.fixture(scope="module")
def killed_run_of_module(tmp_path_factory):
    """A run that is to prepare two transfers, killed while the second one is prepared."""
    folder = tmp_path_factory.mktemp("killed")
    transactions = {"prepare": HOW_TO_PREPARE | {"count": 2}}
    changes = {"sandbox": None, "journal": str(folder / "kept/codes.jsonl"), "transactions": transactions}
    with HoldsTheSecondPreparation() as service:
        profile = write_profile(folder, service.base_url, **changes)
        with suite_that_is_killed_at_the_end(profile, "-k", "executePix.document") as process:
            await_event(service.unanswered_request_arrived, process)
        return KilledRun(folder, profile, changes, service, service.base_url, process.returncode)


def test_a_killed_run_leaves_its_prepared_codes_in_the_journal(killed_run):
    """After `kill -9` the journal has each transfer that the run prepared or was about to prepare.

    The journal gets an entry before the request that prepares a transfer, and the code after its answer. It can be read
    without a fault.
    """
    outcomes = [entry.outcome for entry in killed_run.journal.entries()]

    assert killed_run.exit_status == -signal.SIGKILL
    assert killed_run.service.executions_with_valid_token == []
    assert outcomes == ["prepared", "preparing"]
    assert killed_run.journal.fault() == ""


def test_the_command_journal_says_what_a_killed_run_prepared(killed_run, capsys):
    """After `kill -9` the command `journal` lists both transfers, and says what to do about the uncertain one."""
    prepared, perhaps_prepared = killed_run.journal.entries()
    status = main(["journal", str(killed_run.profile)])
    lines = capsys.readouterr().out.splitlines()

    assert status == 0
    assert lines == [
        f"{prepared.name}  profile  {prepared.at}  prepared by a run that did not send it: "
        "the transfer may wait for its execution",
        f"{perhaps_prepared.name}  profile  {perhaps_prepared.at}  perhaps prepared, by a run that saw no answer: "
        f"look the transfer up; then python -m environments journal {killed_run.profile} --settle {perhaps_prepared.name}",
        f"codes in {killed_run.folder / 'kept/codes.jsonl'}: 2",
    ]


def test_the_run_after_a_killed_run_says_that_a_transfer_was_perhaps_prepared(killed_run):
    """After `kill -9` the next run names the transfer whose preparation was not answered, until somebody settles it.

    To settle an entry is to say with `journal --settle` that a person has looked the transfer up. The next run prepares
    and executes two transfers of its own.
    """
    _, perhaps_prepared = killed_run.journal.entries()
    with SocketService() as service:
        profile = write_profile(killed_run.folder, service.base_url, **killed_run.changes_of_profile)
        next_run = run_suite(profile, "-k", "executePix.document")
    status_of_settling = main(["journal", str(killed_run.profile), "--settle", perhaps_prepared.name])
    outcomes = [entry.outcome for entry in killed_run.journal.entries()]
    outcomes_of_killed_run, outcomes_of_next_run = outcomes[:2], outcomes[2:]

    assert f"which was perhaps prepared (at {perhaps_prepared.at}, entry {perhaps_prepared.name})" in next_run.output
    assert status_of_settling == 0
    assert outcomes_of_killed_run == ["prepared", "settled"]
    assert outcomes_of_next_run == ["success", "success"]


def test_a_report_folder_that_cannot_be_written_ends_the_run(service, tmp_path):
    """If the report folder cannot be made, the run prints one line and ends with exit status 4 before any request.

    Here a file has the name of the folder.
    """
    (tmp_path / "report").write_text("in the way")
    profile = write_profile(tmp_path, service.base_url)
    result = run_in_this_process(f"--environment={profile}", f"--report-dir={tmp_path / 'report'}")

    assert result.status == 4
    assert service.received == []
    assert result.output.strip() == f"ERROR: --report-dir: {tmp_path / 'report'} cannot be written: File exists"


def test_a_full_disk_leaves_no_broken_file(service, tmp_path):
    """A file of the report that cannot be written to its end does not exist afterwards, and the exit status is 3.

    The headline says that the suite failed, and no word says that the service conforms. No file may be longer than 2,000
    bytes here, as on a full disk.
    """
    profile = write_profile(tmp_path, service.base_url)
    # The limit would also cut the compiled files of Python, and the key record that other self-tests have written.
    variables = {**TOKEN_VARIABLES, "PYTHONDONTWRITEBYTECODE": "1", "XDG_STATE_HOME": str(tmp_path / "state")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *pytest_arguments(profile, "-k", "executePix.document")],
        cwd=ROOT,
        env=clean_environment(**variables),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)),
        capture_output=True,
        text=True,
    )

    names_of_files = [file.name for file in (tmp_path / "report").iterdir()]
    lines_about_the_report = re.findall("^report: .* cannot be written", result.stdout, re.MULTILINE)

    assert result.returncode == 3, result.stdout
    assert "INTERNAL-ERROR: a part of the report cannot be written; this is no verdict on the service" in result.stdout
    assert len(lines_about_the_report) == 1
    assert not re.search("CONFORMANT|Traceback|INTERNALERROR", result.stdout + result.stderr)
    assert [name for name in names_of_files if name in FILES or name.startswith(".")] == []
