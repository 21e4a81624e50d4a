"""Hooks of pytest and fixtures for all self-tests.

The hooks keep the self-tests away from files of the user, mark the slow ones, and choose which of them run. A self-test
is slow if it runs the whole suite.
"""

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

# No garbage collection until pytest has collected the tests: it takes 2 s, and nearly all imported objects are in use.
gc.disable()

HERE = Path(__file__).parent
FIRST_CASES = 1
"""How many cases of a slow self-test with parameters `make test` tries."""
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
"""The functions that run the suite, or a part of it. (CONFORMANCE is the folder of its tests, which some tests run.)"""


def pytest_configure(config: pytest.Config) -> None:
    """Prepare this process, so that self-tests touch no file of the user, behave alike everywhere, and are fast."""
    config.addinivalue_line("markers", "slow: a self-test that runs the suite; make quick leaves it out")
    matrix.pytest_configure(config)  # writes the summary of the proof at the end
    os.umask(0)  # so that a file is private only if the suite itself makes it private
    _forget_the_job_of_github()
    folder = Path(tempfile.mkdtemp(prefix="pix-conformance-state-"))
    os.environ["XDG_STATE_HOME"] = str(folder)  # the suite keeps its journal here, and not in the home of the user
    _trust_a_single_authority(folder / "authority.pem")
    os.fsync = lambda descriptor: None  # waits for the disk, which only matters if the power fails
    _let_interrupts_through()


def _forget_the_job_of_github() -> None:
    """Delete the variables of a job of GitHub Actions. Otherwise runs inside self-tests would write into its summary."""
    names = [name for name in os.environ if name.startswith("GITHUB_")]
    for name in names:
        del os.environ[name]


def _trust_a_single_authority(file: Path) -> None:
    """Let the suite trust the first certificate authority of its list alone, which is written to this file.

    To read the whole list takes 50 ms in each run. No self-test connects to a server that needs another authority.
    """
    all_authorities = Path(wire.DEFAULT_CA_BUNDLE_PATH).read_text("utf-8")
    first_authority, end_line, _ = all_authorities.partition("-----END CERTIFICATE-----")
    file.write_text(first_authority + end_line)
    wire.DEFAULT_CA_BUNDLE_PATH = file


def _let_interrupts_through() -> None:
    """Let SIGINT (Ctrl-C) raise KeyboardInterrupt again if this process ignores the signal.

    A shell starts a process in the background with SIGINT ignored, and the runs inside self-tests would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests that wait first, and leave out some slow tests if the variable PIX_CASES is set.

    - PIX_CASES=first (`make test`): leaves out the slow tests of the slowest modules, and of each other slow test all
      cases but the first one. A case is a test with one value of its parameter.
    - PIX_CASES=further (`make cases`): runs only the tests that `first` leaves out.
    """
    items.sort(key=lambda item: item.path.name not in MODULES_THAT_WAIT)  # False, for a module that waits, comes first
    chosen_cases = os.environ.get("PIX_CASES")
    if chosen_cases not in ("first", "further"):
        return
    kept, left_out = [], []
    number_of_cases = Counter[str]()  # by function, its cases so far
    for item in items:
        function = item.nodeid.partition("[")[0]  # without the value of the parameter, which follows in brackets
        number_of_cases[function] += 1
        is_for_make_cases = _is_left_to_make_cases(item, function, number_of_cases[function])
        is_chosen = is_for_make_cases if chosen_cases == "further" else not is_for_make_cases
        if is_chosen:
            kept.append(item)
        else:
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def _is_left_to_make_cases(item: pytest.Item, function: str, number_of_case: int) -> bool:
    """True if `make cases` runs this test, and `make test` does not.

    `function` is the path and the name of the test function, and `number_of_case` counts its cases from 1.
    """
    is_slow = item.get_closest_marker("slow") is not None
    # test_proof.py itself chooses the services that this test tries, by the same variable.
    chooses_its_own_cases = item.path.name == "test_proof.py" and "declares" in function
    if not is_slow or chooses_its_own_cases:
        return False
    return number_of_case > FIRST_CASES or item.path.name in SLOWEST_MODULES


def pytest_collection_finish() -> None:
    """Let the garbage collector work again, but never look through the objects that exist now.

    They are imported modules and collected tests, which stay to the end. To look through them each time takes long.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test as slow if it runs the suite.

    In the folders of whole runs (promises, proof) each test of a module that imports a runner is slow, because the tests
    of a module share runs. A runner is a function that runs the suite.
    """
    is_in_folder_of_whole_runs = item.path.relative_to(HERE).parts[0] in NOT_MIRRORED
    if is_in_folder_of_whole_runs:
        is_slow = any(_is_runner(value) for value in vars(item.module).values())
    else:
        is_slow = any(_runs_the_suite(function) for function in _functions_of_test(item))
    if is_slow:
        item.add_marker("slow")


def _functions_of_test(item: pytest.Item) -> list[object]:
    """The functions that a test consists of: its own, those of its fixtures, and functions that are its parameters."""
    # If several fixtures have one name, pytest uses the last of them.
    functions = [item.obj, *(fixtures[-1].func for fixtures in item._fixtureinfo.name2fixturedefs.values())]
    has_parameters = hasattr(item, "callspec")
    if has_parameters:
        functions += filter(callable, item.callspec.params.values())
    return functions


def _is_runner(value: object) -> bool:
    """True if a value is one of the functions that run the suite."""
    return any(value is runner for runner in RUNNERS)


def _runs_the_suite(called: object, *callers: object) -> bool:
    """True if a function, or a function of the same module that it calls, uses a function that runs the suite.

    `callers` are the functions through which this one was found. They are not looked at again, because functions may
    call each other in a circle.
    """
    function = _without_wrappers(called)
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


def _without_wrappers(called: object) -> object:
    """The function as it is written in the module, if decorators or a class have wrapped it; any other value as it is.

    A test of Hypothesis is such a function, and so is a method that is bound to an object.
    """
    if hasattr(called, "hypothesis"):
        called = getattr(called.hypothesis, "inner_test", called)
    function = inspect.unwrap(called)
    return getattr(function, "__func__", function)


def _values_in(value: object) -> Iterable[object]:
    """The values of a dictionary, or the items of a list or tuple; anything else as the only item."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, tuple | list):
        return value
    return (value,)


@cache
def _names_in(code: CodeType) -> frozenset[str]:
    """The names that a function uses, also in the functions inside of it. `code` is its compiled code."""
    code_of_inner_functions = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return frozenset(code.co_names).union(*map(_names_in, code_of_inner_functions))


@pytest.fixture
def service(request):
    """The running service of a test: the sandbox over raw sockets, or the service that the test names with `served_by`.

    `served_by` is a decorator for tests, which gives this fixture a class as its parameter.
    """
    service_class = getattr(request, "param", SocketService)
    with service_class() as socket_service:
        yield socket_service


@pytest.fixture
def manual_run(service, tmp_path):
    """A run against `service` whose requests the test sends one by one."""
    return ManualRun(service, tmp_path)
