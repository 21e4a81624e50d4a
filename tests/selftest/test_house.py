"""Rules for the files of the project: which folder imports which, no name twice, and where hooks and tests stand."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.selftest import mirror

ROOT = Path(__file__).parents[2]
FOLDERS_IN_ORDER = (
    "spec",
    "environments",
    "reports",
    "reports/recorded",
    "tests/harness",
    "tests/traffic",
    "tests/conformance",
)
"""Each folder imports only modules of its own and of the folders before it.

`conftest.py` and the `__main__.py` files connect the folders, and are exempt. reports/recorded/ may open any file, and
the network if the user names an address. So no other module of reports/ imports it.
"""
SELFTESTS = "tests/selftest"
TOPICS_OF_TESTS_AT_THE_TOP = ("clocks", "contributing", "dependencies", "documentation", "house", "pipelines")
MODULES_IN_TABLES = [*mirror.WITH_A_NEIGHBOUR, *mirror.BY_WHOLE_RUNS, *mirror.COMMANDS]
"""Modules without a self-test of their own name: mirror.py names the self-tests of each."""
MAY_SHARE_A_NAME = {"__init__", "__main__", "conftest", "robustness", "journal"}
"""Rules, scenarios and tests of one section of the document stand in modules of one name."""
NETWORK = {"requests", "urllib3", "http.client", "schemathesis", "hypothesis"}
CLOCK = {"time", "datetime"}


def files_of(*folders):
    """The Python files below these folders, by their path from the root."""
    return {str(path.relative_to(ROOT)): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


def imports_of(path):
    """Every module that a Python file imports, also inside of functions. `from a import b` gives "a" and "a.b"."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def position_in_order(module):
    """The position in FOLDERS_IN_ORDER of the folder of a module, such as 0 for "spec.log".

    -1 for a module of a library. A self-test has the position after the last folder. For "reports.recorded.har" it is
    the position of reports/recorded, which comes after reports.
    """
    position = -1
    for position_of_folder, folder in enumerate((*FOLDERS_IN_ORDER, SELFTESTS)):
        package = folder.replace("/", ".")
        if f"{module}.".startswith(f"{package}."):
            position = position_of_folder
    return position


def modules_loaded_with(folder):
    """The names of all modules that Python has loaded after it imported every module of a folder.

    The imports happen in a process of its own, where nothing else is imported before.
    """
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files_of(folder)]
    code = f"import importlib, sys\nfor name in {names}:\n    importlib.import_module(name)\nprint(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(process.stdout.split())


def test_imports_go_to_the_left():
    """A module imports only from its own folder and from folders before it in the fixed order of folders.

    `spec` is the first folder, so it imports nothing of the others. Files named `__main__.py` are exempt.
    """
    imports_of_later_folders = []
    for name, path in files_of(*FOLDERS_IN_ORDER).items():
        position = position_in_order(name.replace("/", "."))
        if path.name != "__main__.py":
            later = [module for module in imports_of(path) if position_in_order(module) > position]
            imports_of_later_folders += [f"{name} imports {module}" for module in later]

    assert imports_of_later_folders == []


def test_names_are_not_shared():
    """No two modules have the same name, so that a name leads to one file. A few are exempt, such as `conftest`.

    The modules are those of the product, and those of the self-tests that are no tests.
    """
    product = [path.stem for path in files_of(*FOLDERS_IN_ORDER).values()]
    of_selftests = [path.stem for path in files_of(SELFTESTS).values() if not path.stem.startswith("test_")]
    number_of_files_by_name = Counter([*product, *of_selftests])
    shared_names = {name for name, number in number_of_files_by_name.items() if number > 1}

    assert shared_names <= MAY_SHARE_A_NAME


@pytest.mark.parametrize("folder", ["spec", "reports"])
def test_pure_folders_load_no_network(folder):
    """A program that imports spec/ or reports/ loads neither pytest nor a library of the network, not even indirectly."""
    forbidden_modules = modules_loaded_with(folder) & {"pytest", *NETWORK}

    assert forbidden_modules == set()


def test_spec_reads_no_clock():
    """No module of spec/ imports a clock, because a rule must judge an exchange in the same way at any time."""
    files_with_a_clock = [name for name, path in files_of("spec").items() if CLOCK & set(imports_of(path))]

    assert files_with_a_clock == []


@pytest.mark.parametrize("path", files_of("tests/conformance").values(), ids=lambda path: path.name)
def test_a_test_uses_each_of_its_parameters(path):
    """Each function in tests/conformance uses all of its parameters.

    The parameters of a test are fixtures. A fixture that the test does not use could still do something, which a reader
    of the test would not see.
    """
    functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    unused = []
    for function in functions:
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        unused += [f"{function.name}: {argument.arg}" for argument in function.args.args if argument.arg not in names]

    assert unused == []


def test_hooks_stand_in_the_conftest_of_the_root():
    """All hooks of pytest (functions that pytest calls) stand in one file, conftest.py at the root.

    So a reader sees there what happens in a run, and in which order.
    """
    hooks = []
    for name, path in files_of(*FOLDERS_IN_ORDER).items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
                hooks.append(f"{name}:{node.lineno}")

    assert hooks == []


def test_no_file_has_a_context_variable():
    """No module uses a context variable of Python. A function gets what it needs as an argument."""
    paths = files_of(*FOLDERS_IN_ORDER).items()

    files_with_context_variables = [name for name, path in paths if "contextvars" in set(imports_of(path))]

    assert files_with_context_variables == []


_PARTS_OF_THE_DOOR = {"door", "_door", "guard", "budget", "unsent"}
"""Names of variables and attributes that are the door or a part of it."""
_METHODS_THAT_CHANGE_A_COLLECTION = {
    "add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update",
}  # fmt: skip


def test_traffic_changes_no_part_of_the_door():
    """No scenario changes the door: it assigns to no attribute and fills no collection of the door.

    The door is the one place through which requests are sent, and keeps all limits. Scenarios call it, and leave
    notes with `note`. A line such as `traffic.door.limit = 3` or `door.guard.codes.add(code)` would be found.
    """
    changes = []
    for name, path in files_of("tests/traffic", "tests/harness", "environments/commands").items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            changed_attributes = [*_assigned_attributes(node), *_methods_that_change_a_collection(node)]
            for attribute in changed_attributes:
                if _names_in(attribute.value) & _PARTS_OF_THE_DOOR:
                    changes.append(f"{name}:{node.lineno}")

    assert changes == []


def _assigned_attributes(node):
    """The attributes and items that a statement assigns to: `door.limit` in `door.limit = 3` or `door.limit += 3`.

    `node` is a statement in a syntax tree. The result is empty if it assigns to none.
    """
    targets = [node.target] if isinstance(node, ast.AugAssign) else getattr(node, "targets", [])
    return [target for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]


def _methods_that_change_a_collection(node):
    """A list with the method that a call changes a collection with: `door.codes.add` in `door.codes.add(code)`.

    `node` is a node of a syntax tree. The list is empty if it is no such call.
    """
    is_call_of_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if is_call_of_method and node.func.attr in _METHODS_THAT_CHANGE_A_COLLECTION:
        return [node.func]
    return []


def _names_in(expression):
    """The names in an expression with dots: {"self", "_door", "guard"} for `self._door.guard`.

    `expression` is a node of a syntax tree.
    """
    names = set()
    while isinstance(expression, ast.Attribute | ast.Subscript):
        names.add(getattr(expression, "attr", ""))
        expression = expression.value
    return names | {getattr(expression, "id", "")}


# -- the self-tests mirror the product -----------------------------------------------------------------------------


@pytest.mark.parametrize("module", mirror.modules())
def test_a_module_has_a_self_test_by_its_path(module):
    """Each module of the product has a self-test at the path `tests/selftest/<folder>/test_<module>.py`.

    For a few modules, mirror.py names another self-test that covers the module.
    """
    tests = mirror.tests_of(module)
    absent_tests = [str(test) for test in tests if not (ROOT / test).is_file()]

    assert tests, f"write {mirror.own_test(module)}"
    assert absent_tests == []


def test_a_self_test_in_a_folder_of_the_product_belongs_to_a_module():
    """Each self-test in a folder such as tests/selftest/spec tests a module of spec, or a whole folder of the product.

    For example, environments/test_sandbox.py tests the folder environments/sandbox. Tests about no single module stand
    in promises/ or proof/, or beside this file.
    """
    folders = [ROOT / SELFTESTS / folder.removeprefix("tests/") for folder in mirror.PRODUCT]
    tests = {path.relative_to(ROOT) for folder in folders for path in folder.rglob("test_*.py")}
    tests_of_modules = set()
    tests_of_whole_folders = set()
    for module in mirror.modules():
        folder = Path(module).parent
        tests_of_modules.update(mirror.tests_of(module))
        tests_of_whole_folders.add(mirror.own_test(f"{folder}.py"))

    other_tests = {str(test) for test in tests - tests_of_modules - tests_of_whole_folders}

    assert other_tests == set()


def test_self_tests_at_the_top_are_about_the_tree():
    """The folder tests/selftest itself has six self-tests. Each is about files of the project, and not about a module."""
    names = {path.name for path in (ROOT / SELFTESTS).glob("test_*.py")}

    assert names == {f"test_{name}.py" for name in TOPICS_OF_TESTS_AT_THE_TOP}


def test_the_list_of_modules_without_a_test_is_current():
    """mirror.py lists modules without a self-test of their own.

    Each of them exists, and none has such a test by now.
    """
    with_own_test = [module for module in MODULES_IN_TABLES if (ROOT / mirror.own_test(module)).exists()]

    absent_modules = [module for module in MODULES_IN_TABLES if module not in mirror.modules()]

    assert with_own_test == absent_modules == []


@pytest.mark.parametrize("module", MODULES_IN_TABLES)
def test_a_module_without_an_own_test_names_its_self_tests(module):
    """If a module has no self-test of its own, its docstring ends with the self-tests that mirror.py lists for it."""
    assert mirror.last_paragraph(module) == mirror.self_tests_line(module)


@pytest.mark.parametrize("module", [name for name in mirror.modules() if name not in MODULES_IN_TABLES])
def test_a_module_with_an_own_test_names_no_self_tests(module):
    """If a module has a self-test of its own, its docstring names no self-tests.

    Nothing compares such a line with the files, so it could be wrong.
    """
    assert not mirror.last_paragraph(module).startswith("Self-tests:")
