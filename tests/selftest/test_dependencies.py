"""The dependencies of the project: each import is declared, each declared package is used, and CI tries each Python."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.build import build_editable
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports.result.provenance import VERSION
from spec.requirements import read_yaml
from tests.selftest.services.running import clean_environment

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEPENDENCIES = {Requirement(line).name: Requirement(line) for line in PROJECT["project"]["dependencies"]}
"""By name of a package, the line of pyproject.toml about it."""
OWN_FOLDERS = {"environments", "reports", "spec", "tests"}


def imported_modules(path):
    """The top-level modules of libraries that a Python file imports, such as "requests" for `requests.adapters`.

    Modules of Python itself and of this project are left out.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN_FOLDERS


def packages_of(files):
    """The packages whose modules these files import, or which pytest loads as plugins, such as "pyyaml" for `yaml`.

    The names of the packages are canonical: in lower case and with hyphens.
    """
    modules = set(PLUGINS).union(*map(imported_modules, files))
    packages_by_module = packages_distributions()
    return {canonicalize_name(packages_by_module[module][0]) for module in modules}


FILES = [ROOT / "conftest.py", *(path for folder in OWN_FOLDERS for path in (ROOT / folder).rglob("*.py"))]
FILES_OF_THE_SUITE = [path for path in FILES if not path.is_relative_to(ROOT / "tests/selftest")]
_OPTIONS_OF_PYTEST = PROJECT["tool"]["pytest"]["ini_options"]["addopts"]
_NAMES_OF_PLUGINS = [option for option in _OPTIONS_OF_PYTEST if not option.startswith("-")]
PLUGINS = {name.partition(".")[0] for name in _NAMES_OF_PLUGINS} - OWN_FOLDERS
"""The top-level modules of the plugins of libraries that pytest loads."""


def test_imported_packages_and_dependencies_agree():
    """The dependencies in pyproject.toml are exactly the packages that the suite imports or loads as plugins of pytest."""
    imported_packages = packages_of(FILES_OF_THE_SUITE)
    declared_packages = {canonicalize_name(name) for name in DEPENDENCIES}

    assert imported_packages == declared_packages


def test_no_address_of_an_index_is_named():
    """requirements.txt has no address to download packages from, so that the mirror of a company can be used."""
    assert "://" not in (ROOT / "requirements.txt").read_text("utf-8")


def test_every_version_of_python_is_tried():
    """CI runs the suite with every version of Python that pyproject.toml names.

    The oldest of these versions is the version of `requires-python`.
    """
    workflow = read_yaml(ROOT / ".github/workflows/ci.yml")
    versions_of_ci = workflow["jobs"]["suite"]["strategy"]["matrix"]["python"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    oldest_version = versions[0]

    assert versions_of_ci == versions
    assert PROJECT["project"]["requires-python"] == f">={oldest_version}"


# Private names of libraries

DOCUMENTED_NAMES_OF_PYTHON = {"_asdict", "_replace", "_value_"}
"""Documented names of tuples and enumerations that begin with an underscore."""
MEMBERS_SET_ON_COPIES = {"_purpose"}
"""Members of our own that are set on a copy of an object."""
_, _, SECTION = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## Private names of libraries")
TABLE = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ") and "`" in line]
ROW_BY_LIBRARY = {row[0].partition(" `")[0]: row for row in TABLE}
"""By library, a row of the table in ARCHITECTURE.md: the library with its versions, the private names, the files."""
PARTS_WITH_PRIVATE_MODULES = ("internal", "core", "junitparser")
"""Second parts of names such as `hypothesis.internal`: such a module is private although its name has no underscore."""


def is_private(name):
    """True if a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def names_defined_in(tree):
    """The names that a Python file gives to its functions, classes, variables and members (`self.name = …`)."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and is_set_on_self(node):
            names.add(node.attr)
    return names


def is_set_on_self(node):
    """True if a node of a syntax tree assigns to an attribute of `self`, as in `self.name = value`."""
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def private_names_of_libraries(file):
    """The private names of libraries that a Python file of the suite uses, such as `_tw` or "hypothesis.internal"."""
    for node in ast.walk(tree_by_file()[file]):
        if isinstance(node, ast.ImportFrom):
            first_part, second_part, *_ = [*node.module.split("."), ""]
            is_private_module = is_private(first_part) or second_part in PARTS_WITH_PRIVATE_MODULES
            if first_part not in OWN_FOLDERS and is_private_module:
                yield f"{first_part}.{second_part}".removesuffix(".")
        elif isinstance(node, ast.Attribute) and is_private_name_of_a_library(node, file):
            yield node.attr


def is_private_name_of_a_library(node, file):
    """True if an attribute in a file, such as `reporter._tw`, is a private name of a library and not of this project.

    It is a name of a library in three cases:

    - No file of the project defines the name.
    - The file assigns it to another object than `self`: the object may be one of a library.
    - The file calls it with `super()`, and no other file defines the name: so the parent class is one of a library.
    """
    if not is_private(node.attr) or node.attr in DOCUMENTED_NAMES_OF_PYTHON | MEMBERS_SET_ON_COPIES:
        return False
    files_that_define_it = files_by_name().get(node.attr, set())
    is_set_on_another_object = isinstance(node.ctx, ast.Store) and not is_set_on_self(node)
    is_called_with_super = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
    has_parent_in_library = is_called_with_super and files_that_define_it == {file}
    return not files_that_define_it or is_set_on_another_object or has_parent_in_library


@cache
def tree_by_file():
    """The syntax tree of each Python file of the suite, by the path of the file from the root."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in FILES_OF_THE_SUITE}


@cache
def files_by_name():
    """By name of a function, class, variable or member, the files of the suite that define the name."""
    files = {}
    for file, tree in tree_by_file().items():
        for name in names_defined_in(tree):
            files.setdefault(name, set()).add(file)
    return files


def test_architecture_names_every_private_name():
    """ARCHITECTURE.md lists every private name of a library that the suite uses, beside the file that uses it.

    A private name begins with an underscore, and may change with any version of the library.
    """
    not_listed = set()
    for file in tree_by_file():
        for name in private_names_of_libraries(file):
            if not is_listed_in_architecture(name, file):
                not_listed.add((name, file))

    assert not_listed == set()


def is_listed_in_architecture(name, file):
    """True if a row of the table in ARCHITECTURE.md has the private name and the file that uses it."""
    return any(name in names and f"`{file}`" in files for _, names, files in ROW_BY_LIBRARY.values())


@pytest.mark.parametrize("library", sorted(ROW_BY_LIBRARY.keys() - {"Python 3.11 to 3.14"}))
def test_a_library_with_private_names_has_an_upper_bound(library):
    """If the suite uses private names of a library, pyproject.toml permits only certain versions of the library.

    They are the versions that ARCHITECTURE.md names, such as `>=9.0,<10`. A private name may change with any later
    version.
    """
    library_and_versions, *_ = ROW_BY_LIBRARY[library]
    lowest_version, first_version_not_permitted = re.search(r"`>=([^,]+),<(.+)`", library_and_versions).groups()

    bounds_in_pyproject = {str(bound) for bound in DEPENDENCIES[library].specifier}

    assert bounds_in_pyproject == {f">={lowest_version}", f"<{first_version_not_permitted}"}


def test_pytest_9_2_is_permitted():
    """pyproject.toml permits pytest 9.2.

    This version changed the ids of some tests, in a way that no test here depends on.
    """
    assert DEPENDENCIES["pytest"].specifier.contains("9.2.0")


# What pip install -e takes


METADATA_FOLDER = f"pix_conformance-{VERSION}.dist-info"


def test_an_installation_brings_the_dependencies_and_none_of_our_folders(tmp_path, monkeypatch):
    """`pip install -e` installs the dependencies, and puts no folder of this project on the path of Python.

    Other projects have folders named tests, spec and reports, too. The wheel has metadata alone, with the extra
    `dev`.
    """
    monkeypatch.chdir(ROOT)
    wheel = ZipFile(tmp_path / build_editable(str(tmp_path)))
    metadata = wheel.read(f"{METADATA_FOLDER}/METADATA").decode()

    folders_in_wheel = {name.partition("/")[0] for name in wheel.namelist()}

    assert folders_in_wheel == {METADATA_FOLDER}
    assert "Requires-Dist: schemathesis" in metadata
    assert re.search("Requires-Dist: ruff.*extra == .dev", metadata)


def test_folders_of_others_do_not_win_over_ours(tmp_path):
    """pytest imports our folders even if another project on the path has packages with the same names, such as `spec`.

    Here each of those packages raises ImportError. A package with `__init__.py` would win over a folder without it.
    """
    for name in sorted(OWN_FOLDERS):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('this is the package of another project')")
    command = [sys.executable, "-m", "pytest", "-q", "--explain=executePix.json"]
    process = subprocess.run(
        command, cwd=ROOT, env=clean_environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True
    )

    assert (process.returncode, process.stderr) == (0, "")
