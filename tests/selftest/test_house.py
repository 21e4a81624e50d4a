"""The house: imports go to the left, names are not shared, and each folder keeps to what it is for."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.selftest import mirror

ROOT = Path(__file__).parents[2]
CHAIN = ("spec", "environments", "reports", "reports/recorded", "tests/harness", "tests/traffic", "tests/conformance")
"""Each folder imports itself and those before it. `conftest.py` (the life of a run) and the `__main__.py` files are outside.
Nothing else in reports/ imports reports/recorded/, which may open any file, and the network where the user names an address."""
SELFTESTS = "tests/selftest"
ABOUT_THE_TREE = ("clocks", "contributing", "dependencies", "documentation", "house", "pipelines")
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
    """Every module that a file names in an import, wherever it stands in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def place(dotted):
    """The place of a module in the chain.

    Self-tests come after the chain, modules of libraries before it. The innermost folder counts.
    """
    folders = (*CHAIN, SELFTESTS)
    places = [at for at, folder in enumerate(folders) if f"{dotted}.".startswith(folder.replace("/", ".") + ".")]
    return places[-1] if places else -1


def loaded_by(folder):
    """Every module that is loaded after all modules of a folder are imported, in a process of its own."""
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files_of(folder)]
    code = f"import importlib, sys\nfor name in {names}:\n    importlib.import_module(name)\nprint(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(process.stdout.split())


def test_imports_go_to_the_left():
    """A folder imports only folders before it in CHAIN, except for a `__main__.py`."""
    imports_to_the_right = [
        f"{name} imports {module}"
        for name, path in files_of(*CHAIN).items()
        for module in imports_of(path)
        if path.name != "__main__.py"
        if place(module) > place(name.replace("/", "."))
    ]

    assert imports_to_the_right == []


def test_names_are_not_shared():
    """A name of a module leads to one file. Self-tests have the names of the modules that they test."""
    product = [path.stem for path in files_of(*CHAIN).values()]
    of_selftests = [path.stem for path in files_of(SELFTESTS).values() if not path.stem.startswith("test_")]
    names = Counter([*product, *of_selftests])

    assert {name for name, files in names.items() if files > 1} <= MAY_SHARE_A_NAME


@pytest.mark.parametrize("folder", ["spec", "reports"])
def test_pure_folders_load_no_network(folder):
    """spec/ and reports/ load neither a library of the network nor pytest, not even indirectly."""
    assert loaded_by(folder) & {"pytest", *NETWORK} == set()


def test_spec_reads_no_clock():
    """A rule judges an exchange in the same way at any time."""
    assert [name for name, path in files_of("spec").items() if CLOCK & set(imports_of(path))] == []


@pytest.mark.parametrize("path", files_of("tests/conformance").values(), ids=lambda path: path.name)
def test_a_test_uses_each_of_its_parameters(path):
    """A parameter of a conformance test that only makes something happen elsewhere would be hidden."""
    functions = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    unused = []
    for function in functions:
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        unused += [f"{function.name}: {argument.arg}" for argument in function.args.args if argument.arg not in names]

    assert unused == []


def test_hooks_stand_in_the_conftest_of_the_root():
    """The life of a run is one file. A hook in another module would be called in the order of registration."""
    hooks = []
    for name, path in files_of(*CHAIN).items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("pytest_"):
                hooks.append(f"{name}:{node.lineno}")

    assert hooks == []


def test_no_file_has_a_context_variable():
    """A function gets what it needs as an argument."""
    paths = files_of(*CHAIN).items()

    assert [name for name, path in paths if "contextvars" in set(imports_of(path))] == []


_PARTS_OF_THE_DOOR = {"door", "_door", "guard", "budget", "unsent"}
_CHANGES = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update"}


def test_traffic_changes_no_part_of_the_door():
    """Traffic calls the door and leaves notes with `note`.

    It assigns to no attribute and fills no collection of the door.
    """
    changes = []
    for name, path in files_of("tests/traffic", "tests/harness", "environments/commands").items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            targets = [node.target] if isinstance(node, ast.AugAssign) else getattr(node, "targets", [])
            targets = [target for target in targets if isinstance(target, ast.Attribute | ast.Subscript)]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
                targets = [node.func]
            changes += [f"{name}:{node.lineno}" for target in targets if _names_in(target.value) & _PARTS_OF_THE_DOOR]

    assert changes == []


def _names_in(expression):
    """The names of an attribute and of all that it is an attribute of: `self._door.guard` has three."""
    names = set()
    while isinstance(expression, ast.Attribute | ast.Subscript):
        names.add(getattr(expression, "attr", ""))
        expression = expression.value
    return names | {getattr(expression, "id", "")}


# -- the self-tests mirror the product -----------------------------------------------------------------------------


@pytest.mark.parametrize("module", mirror.modules())
def test_a_module_has_a_self_test_by_its_path(module):
    """The test is `tests/selftest/<folder>/test_<module>.py`, or mirror.py says which test the module shares."""
    assert mirror.tests_of(module), f"write {mirror.own_test(module)}"
    assert [str(test) for test in mirror.tests_of(module) if not (ROOT / test).is_file()] == []


def test_a_self_test_in_a_folder_of_the_product_belongs_to_a_module():
    """A test about no module stands in promises/ or proof/, or beside this file if it is about the tree."""
    folders = [ROOT / SELFTESTS / folder.removeprefix("tests/") for folder in mirror.PRODUCT]
    tests = {path.relative_to(ROOT) for folder in folders for path in folder.rglob("test_*.py")}
    of_packages = {mirror.own_test(str(Path(module).parent) + ".py") for module in mirror.modules()}
    mirrored = {test for module in mirror.modules() for test in mirror.tests_of(module)}

    assert {str(test) for test in tests - mirrored - of_packages} == set()


def test_self_tests_at_the_top_are_about_the_tree():
    """The test of a module stands in the folder of its name."""
    names = {path.name for path in (ROOT / SELFTESTS).glob("test_*.py")}

    assert names == {f"test_{name}.py" for name in ABOUT_THE_TREE}


def test_the_list_of_modules_without_a_test_is_current():
    """mirror.py names no module that has its own test, and none that does not exist."""
    with_own_test = [module for module in MODULES_IN_TABLES if (ROOT / mirror.own_test(module)).exists()]

    assert [*with_own_test, *(module for module in MODULES_IN_TABLES if module not in mirror.modules())] == []


@pytest.mark.parametrize("module", MODULES_IN_TABLES)
def test_a_module_without_an_own_test_names_its_self_tests(module):
    """The docstring of the module ends with the self-tests that mirror.py names for it."""
    assert mirror.last_paragraph(module) == mirror.self_tests_line(module)


@pytest.mark.parametrize("module", [name for name in mirror.modules() if name not in MODULES_IN_TABLES])
def test_a_module_with_an_own_test_names_no_self_tests(module):
    """Only the modules of the tables have the line: a line that nothing compares could be wrong."""
    assert not mirror.last_paragraph(module).startswith("Self-tests:")
