"""Wiring of the self-tests: which of them are slow, and the proof's matrix, which is written by the process that the
user started."""

import gc
import os
import signal
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from environments.door import wire
from tests.selftest.proof import matrix
from tests.selftest.proof.trial import CONFORMANCE, try_service, try_target
from tests.selftest.recorded_runs import record, recorded
from tests.selftest.services.one_run import Run, whole_run
from tests.selftest.services.running import run, started
from tests.selftest.services.serving import Raw

RUNS = run, started, try_service, try_target, whole_run, record, recorded, CONFORMANCE
"""What runs the suite inside a self-test."""


def pytest_configure(config: pytest.Config) -> None:
    os.umask(0)  # what is its owner's alone is so by itself
    config.addinivalue_line("markers", "slow: a self-test in a module that runs the suite; make quick leaves it out")
    matrix.pytest_configure(config)
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        del os.environ[name]  # a run inside a self-test is no job of its own, and tells GitHub nothing
    state = tempfile.mkdtemp(prefix="pix-conformance-state-")
    os.environ["XDG_STATE_HOME"] = state  # never the journal of a person
    authority, end, _ = Path(wire.DEFAULT_CA_BUNDLE_PATH).read_text("utf-8").partition("-----END CERTIFICATE-----")
    wire.DEFAULT_CA_BUNDLE_PATH = Path(state, "authority.pem")  # to read all authorities takes 50 ms for each door
    wire.DEFAULT_CA_BUNDLE_PATH.write_text(authority + end)
    os.fsync = lambda descriptor: None  # a test does not cut the power
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell, and so in all runs inside
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What is imported stays: the collector need not look through it each time, and seldom through what a test makes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)


def pytest_itemcollected(item: pytest.Item) -> None:
    if _runs_the_suite(item.module):
        item.add_marker("slow")


@cache
def _runs_the_suite(module: ModuleType) -> bool:
    return any(value is runs for value in vars(module).values() for runs in RUNS)


@pytest.fixture
def service(request):
    """A lawful service over raw sockets, or the one that `served_by` names."""
    with getattr(request, "param", Raw)() as raw:
        yield raw


@pytest.fixture
def a_run(service, tmp_path):
    """The door of one run against that service."""
    return Run(service, tmp_path)
