"""Wiring of the self-tests: which of them are slow, and the proof's matrix, which is written by the process that the
user started."""

import gc
import inspect
import os
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain
from pathlib import Path
from types import CodeType

import pytest

from environments.door import wire
from tests.selftest.mirror import NOT_MIRRORED
from tests.selftest.proof import matrix
from tests.selftest.proof.directly import run_tests_in_memory, try_in_memory
from tests.selftest.proof.trial import CONFORMANCE, try_service, try_target
from tests.selftest.services.one_run import ManualRun, result_in_memory, run_suite_in_memory
from tests.selftest.services.running import run_suite, suite_that_is_killed_at_the_end
from tests.selftest.services.serving import SocketService
from tests.selftest.shared_runs import run_with_files, shared_run

gc.disable()  # until everything is collected: little of what is imported is garbage, and to look for it takes 2 s

HERE = Path(__file__).parent
FIRST_CASES = 1
"""Cases of a slow self-test with parameters that `make test` tries."""
SLOWEST_MODULES = ("test_browser.py", "test_drawn_faults.py", "test_generated_traffic.py")
"""Modules whose slow self-tests `make test` leaves to `make cases`: they draw every request or start a browser, which took
a sixth of the time of all self-tests."""
MODULES_THAT_WAIT = ("test_passing_trouble.py", "test_witnesses.py", "test_contributing.py")
"""Modules with tests that wait 10 to 30 s for a service that is down, or for other tools. They begin first: at the end,
one worker would wait while the other workers have nothing left to do, which took a third of the time of `make test`."""
RUNNERS = (
    run_suite,
    suite_that_is_killed_at_the_end,
    try_service,
    try_target,
    try_in_memory,
    run_tests_in_memory,
    run_suite_in_memory,
    result_in_memory,
    run_with_files,
    shared_run,
    CONFORMANCE,
)
"""What runs the suite inside a self-test."""


def pytest_configure(config: pytest.Config) -> None:
    """Keep the self-tests from what belongs to the user and the machine, and make them faster."""
    os.umask(0)  # so that a test sees if a file is private only because of the user's umask
    config.addinivalue_line("markers", "slow: a self-test that runs the suite; make quick leaves it out")
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that wait first. With PIX_CASES=first, leave out all but the first case of each slow self-test, and
    the modules that take longest.

    With PIX_CASES=further, run what this leaves out, and nothing else. `make test` and `make cases` set the variable. The
    proof has a choice of its own.
    """
    items.sort(key=lambda item: item.path.name not in MODULES_THAT_WAIT)
    chosen_cases = os.environ.get("PIX_CASES")
    if chosen_cases not in ("first", "further"):
        return
    kept, left_out, cases = [], [], Counter[str]()
    for item in items:
        function = item.nodeid.partition("[")[0]
        cases[function] += 1
        is_further_case = cases[function] > FIRST_CASES and item.get_closest_marker("slow") is not None
        has_own_choice = item.path.name == "test_proof.py" and "declares" in function
        is_of_slowest_module = item.path.name in SLOWEST_MODULES and item.get_closest_marker("slow") is not None
        is_left_to_make_cases = (is_further_case or is_of_slowest_module) and not has_own_choice
        if is_left_to_make_cases == (chosen_cases == "further"):
            kept.append(item)
        else:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through all imported modules each time, which takes long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test as slow if it runs the suite.

    In the folders of whole runs (promises, proof) each test of a module that imports a runner is slow, because the tests
    of a module share runs.
    """
    is_in_folder_of_whole_runs = item.path.relative_to(HERE).parts[0] in NOT_MIRRORED
    if is_in_folder_of_whole_runs:
        if any(_is_runner(value) for value in vars(item.module).values()):
            item.add_marker("slow")
        return
    fixtures = [definitions[-1].func for definitions in item._fixtureinfo.name2fixturedefs.values()]
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    functions = [item.obj, *fixtures, *(parameter for parameter in parameters if callable(parameter))]
    if any(_runs_the_suite(function) for function in functions):
        item.add_marker("slow")


def _is_runner(value: object) -> bool:
    """True if a value is one of the functions that run the suite."""
    return any(value is runner for runner in RUNNERS)


def _runs_the_suite(called: object, *callers: object) -> bool:
    """True if a function, or a function of the same module that it calls, uses a function that runs the suite.

    `callers` are the functions through which this one was found. They are not looked at again.
    """
    function = inspect.unwrap(getattr(getattr(called, "hypothesis", called), "inner_test", called))
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function) or function in callers:
        return False
    names = [name for name in _names_in(function.__code__) if name in function.__globals__]
    for value in chain.from_iterable(_values_in(function.__globals__[name]) for name in names):
        if _is_runner(value):
            return True
        is_of_the_module = getattr(value, "__module__", None) == function.__module__
        if is_of_the_module and _runs_the_suite(value, function, *callers):
            return True
    return False


def _values_in(value: object) -> Iterable[object]:
    """The values of a dictionary, or the items of a list or tuple. Of anything else the value itself."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, tuple | list) else (value,)


@cache
def _names_in(code: CodeType) -> frozenset[str]:
    """Names that a function uses, also in the functions inside of it."""
    inner = [_names_in(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_names).union(*inner)


@pytest.fixture
def service(request):
    """The service of a test: the sandbox over raw sockets, or the one that `served_by` names."""
    with getattr(request, "param", SocketService)() as socket_service:
        yield socket_service


@pytest.fixture
def manual_run(service, tmp_path):
    """A run against `service` whose requests the test sends one by one."""
    return ManualRun(service, tmp_path)
