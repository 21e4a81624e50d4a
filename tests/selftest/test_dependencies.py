"""What is imported is declared, what is declared is used, and CI runs every version of Python that is named."""

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
OWN_FOLDERS = {"environments", "reports", "spec", "tests"}


def imported_modules(path):
    """The top-level modules that a file imports, without those of Python and of this project."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN_FOLDERS


def packages_of(files):
    """The canonical names of the packages that the files import, and of the plugins."""
    modules = set(PLUGINS).union(*map(imported_modules, files))
    packages = packages_distributions()
    return {canonicalize_name(packages[module][0]) for module in modules}


FILES = [ROOT / "conftest.py", *(path for folder in OWN_FOLDERS for path in (ROOT / folder).rglob("*.py"))]
FILES_OF_THE_SUITE = [path for path in FILES if not path.is_relative_to(ROOT / "tests/selftest")]
PLUGINS = {name.partition(".")[0] for name in PROJECT["tool"]["pytest"]["ini_options"]["addopts"] if name[0] != "-"}
PLUGINS -= OWN_FOLDERS


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

    The first is that of `requires-python`.
    """
    workflow = read_yaml(ROOT / ".github/workflows/ci.yml")
    versions_of_ci = workflow["jobs"]["suite"]["strategy"]["matrix"]["python"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    first_version, *_ = versions

    assert versions_of_ci == versions
    assert PROJECT["project"]["requires-python"] == f">={first_version}"


# Private names of libraries

DOCUMENTED_NAMES_OF_PYTHON = {"_asdict", "_replace", "_value_"}
"""Documented names of tuples and enumerations that begin with an underscore."""
MEMBERS_SET_ON_COPIES = {"_purpose"}
"""Members of our own that are set on a copy of an object."""
_, _, SECTION = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## Private names of libraries")
TABLE = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ") and "`" in line]
ROW_BY_LIBRARY = {row[0].partition(" `")[0]: row for row in TABLE}


def is_private(name):
    """True if a name begins with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def names_defined_in(tree):
    """The names that a file gives to functions, classes, members and variables."""
    nodes = list(ast.walk(tree))
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_set_on_itself(node)}


def is_set_on_itself(node):
    """True if the node assigns to an attribute of `self`."""
    return isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"


def private_names(name):
    """The private names of libraries that a file uses: a private name that no file of the project defines, or that
    the file sets on or overrides in an object of a library.
    """
    for node in ast.walk(trees()[name]):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] not in OWN_FOLDERS:
            parts = node.module.split(".")
            if parts[1:2] in (["internal"], ["core"], ["junitparser"]) or any(map(is_private, parts[:1])):
                yield ".".join(parts[:2])
        elif (
            isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and node.attr not in DOCUMENTED_NAMES_OF_PYTHON | MEMBERS_SET_ON_COPIES
        ):
            is_extended = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
            is_set = isinstance(node.ctx, ast.Store) and not is_set_on_itself(node)
            files = files_by_name().get(node.attr, set())
            if not files or is_set or (is_extended and files == {name}):
                yield node.attr


@cache
def trees():
    """The syntax tree of each file of the suite, by its path from the root. Only one test reads them."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in FILES_OF_THE_SUITE}


@cache
def files_by_name():
    """The files of ours that define a name, by the name."""
    files = {}
    for file, tree in trees().items():
        for name in names_defined_in(tree):
            files.setdefault(name, set()).add(file)
    return files


def test_architecture_names_every_private_name():
    """ARCHITECTURE.md lists every private name of a library that the suite uses, beside the file that uses it.

    A private name begins with an underscore, and may change with any version of the library.
    """
    not_listed = {
        (name, file) for file in trees() for name in private_names(file) if not is_listed_in_architecture(name, file)
    }

    assert not_listed == set()


def is_listed_in_architecture(name, file):
    """True if a row of the table in ARCHITECTURE.md has the private name and the file that uses it."""
    return any(name in names and f"`{file}`" in files for _, names, files in ROW_BY_LIBRARY.values())


@pytest.mark.parametrize("library", sorted(ROW_BY_LIBRARY.keys() - {"Python 3.11 to 3.14"}))
def test_a_library_with_private_names_has_an_upper_bound(library):
    """pyproject.toml permits only those versions of a library that ARCHITECTURE.md names, if private names of it are
    used.

    A private name may change with any later version.
    """
    library_and_versions, *_ = ROW_BY_LIBRARY[library]
    lowest, first_too_high = re.search(r"`>=([^,]+),<(.+)`", library_and_versions).groups()

    bounds_in_pyproject = {str(bound) for bound in DEPENDENCIES[library].specifier}

    assert bounds_in_pyproject == {f">={lowest}", f"<{first_too_high}"}


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
