"""A run that is stopped at any moment, with requests under way: reports are whole, and nothing is forgotten."""

import json
import os
import random
import signal
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from environments.door.opening import journal_of
from environments.door.run_keys import name_of
from environments.profiles.loading import load
from environments.profiles.model import Profile
from reports.writing import OUTPUTS, PAGE, SUMS
from tests.selftest.services.running import ROOT, started, write_profile
from tests.selftest.services.serving import Raw, as_bytes
from tests.selftest.services.waiting import await_event

EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
FILES = {*OUTPUTS, PAGE, SUMS}
CODES = ["SBX-PHONE-1", "SBX-EMAIL-1", "SBX-RANDOM-1", "SBX-CNPJ-1", "SBX-CPF-1"]
PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5, "message": "Prepared"},
    "code_at": "/data/transactionId",
    "count": 2,
}
HANGS_S = 120
MOMENTS = 46
"""Numbers of requests, spread over a run, at which it is stopped."""
MOST = 600
"""Requests that each run sends at least."""
KINDS = [
    (name, parallel, silent)
    for silent in (True, False)
    for name in ("SIGINT", "SIGTERM")
    for parallel in (4, 8)
]  # fmt: skip


def moments():
    """Each with a signal, how many requests go at once, and whether the service says nothing from then on."""
    numbers = random.Random(12).sample(range(2, MOST), MOMENTS)
    found = [(number, *KINDS[place % len(KINDS)]) for place, number in enumerate(sorted(numbers))]
    return found if EXHAUSTIVE else found[3::9]


class Acts(Raw):
    """Lawful. From the request of that number on it does what it is asked to, and says nothing: to that one request, or
    with `silent` to all that follow."""

    def __init__(self, number, *, silent):
        super().__init__()
        self.number, self.silent = number, silent
        self.reached = threading.Event()
        self._count = threading.Lock()
        self._counted = 0

    def answer(self, connection, request):
        with self._count:
            self._counted += 1
            place = self._counted
        response = as_bytes(self.service.respond(request))
        if place == self.number or (self.silent and place > self.number):
            self.reached.set()
            self._stopped.wait()
        else:
            connection.sendall(response)


def keys_at(service):
    """The keys of the account at which a run registers."""
    with service.service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


@dataclass
class Stopped:
    """A run that got signals when the service said nothing any more."""

    status: int
    output: str
    profile: Profile
    folder: Path
    documents: dict[str, Any]
    left: set[str]
    """The keys that the run left at the service."""


def stopped(service, folder, signals, *options):
    limits = {"executions": 9, "requests": 2000, "timeout": 600}
    transactions = {"codes": CODES, "prepare": PREPARE}
    journal, before = str(folder / "codes.jsonl"), keys_at(service)
    named = {"journal": journal, "limits": limits, "transactions": transactions, "sandbox": None}
    path = write_profile(folder, service.base_url, **named)
    (folder / "tmp").mkdir()
    with started(path, "--new-journal", *options, TMPDIR=str(folder / "tmp")) as process:
        await_event(service.reached, process)
        for one in signals:
            os.kill(process.pid, one)
        output, _ = process.communicate(timeout=HANGS_S)
    profile, report = load(str(path), folder=ROOT), folder / "report"
    documents = {file.name: file.read_text() for file in report.iterdir()}
    return Stopped(process.returncode, output, profile, folder, documents, keys_at(service) - before)


def forgotten(service, run):
    """The codes that came with the valid token and that a later run would send again."""
    journal = journal_of(run.profile, run="a later one")
    return [code for code in set(service.executions) if not journal.barring(code)]


def unlisted(run):
    """The keys that are left at the service and not in the report."""
    listed = [key["what"] for key in json.loads(run.documents["conformance.json"])["not_cleaned_up"]]
    names = {key.key: name_of(run.profile.pix_keys, place) for place, key in enumerate(run.profile.pix_keys) if key.key}
    made = run.left - names.keys()
    unlisted = [names[key] for key in run.left & names.keys() if names[key] not in listed]
    return unlisted + sorted(made) * (len(made) > len(listed) - len(run.left & names.keys()))


def assert_whole(service, run):
    """The reports say how far the run came; nothing was sent twice, and nothing is forgotten."""
    document = json.loads(run.documents["conformance.json"])
    JUnitXml.fromstring(run.documents["junit.xml"].encode())
    executed = Counter(service.executions)

    assert (run.status, document["verdict"], document["exit_status"]) == (2, "interrupted", 2), run.output
    assert run.documents.keys() == FILES
    assert "INTERRUPTED" in run.documents["report.html"]
    assert run.documents["report.html"].rstrip().endswith("</html>")
    assert document["traffic"]["requests"] == len(document["exchanges"]) >= len(service.seen)
    assert [code for code, times in executed.items() if times > 1 + (code not in CODES)] == []
    assert len([code for code, times in executed.items() if times > 1]) <= 1  # it is executed twice on purpose
    assert forgotten(service, run) == []
    assert unlisted(run) == []
    assert not list((run.folder / "tmp").iterdir())


@pytest.mark.parametrize(("number", "name", "parallel", "silent"), moments())
def test_a_run_can_be_stopped_at_any_moment(number, name, parallel, silent, tmp_path):
    """The service does what it was asked to and does not say so, to one request or to all from then on."""
    with Acts(number, silent=silent) as service:
        run = stopped(service, tmp_path, [getattr(signal, name)], f"--parallel={parallel}", "-m", "")

        assert_whole(service, run)


def test_more_signals_change_nothing(tmp_path):
    """Also while the first one stops the threads."""
    with Acts(60, silent=True) as service:
        run = stopped(service, tmp_path, [signal.SIGTERM, signal.SIGINT, signal.SIGINT, signal.SIGTERM], "--parallel=8")

        assert_whole(service, run)


ENDS = [("", "assert False", 3), ("pytest.exit('enough')", "", 2), ("raise ZeroDivisionError", "", 3)]
"""What a plugin does when the first test has ended, and in the first test; the exit status."""
PLUGIN = """
import pytest

def pytest_runtest_call(item):
    {fails}

def pytest_runtest_logfinish(nodeid):
    {ends}
"""


@pytest.mark.parametrize(("ends", "fails", "status"), ENDS, ids=["-x", "pytest.exit", "internal error"])
def test_a_run_that_ends_early_leaves_nothing_behind(ends, fails, status, service, tmp_path):
    """Chains of requests are under way then; the keys that they registered are deleted, or listed."""
    (tmp_path / "plugin_of_the_test.py").write_text(PLUGIN.format(ends=ends or "pass", fails=fails or "pass"))
    before = keys_at(service)
    profile = write_profile(tmp_path, service.base_url, transactions={"codes": CODES}, limits={"executions": 9})
    with started(profile, "-x", "-p", "plugin_of_the_test", PYTHONPATH=str(tmp_path)) as process:
        output, _ = process.communicate(timeout=HANGS_S)
    document = json.loads((tmp_path / "report" / "conformance.json").read_text())
    left, listed = keys_at(service) - before, document["not_cleaned_up"]
    executed = Counter(service.executions)

    assert process.returncode == status, output
    assert len(listed) >= len(left)
    assert left == set() or not fails
    assert set(executed.values()) <= {1}
    assert document["traffic"]["requests"] == len(service.seen) or not fails
