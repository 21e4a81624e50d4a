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
USED = {Requirement(line).name: Requirement(line) for line in PROJECT["project"]["dependencies"]}
OWN = {"environments", "reports", "spec", "tests"}


def imported_modules(path):
    """The top-level modules that a file imports, without those of Python and of this project."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN


def packages_of(files):
    """The canonical names of the packages that the files import, and of the plugins."""
    modules = set(PLUGINS).union(*map(imported_modules, files))
    packages = packages_distributions()
    return {canonicalize_name(packages[module][0]) for module in modules}


FILES = [ROOT / "conftest.py", *(path for folder in OWN for path in (ROOT / folder).rglob("*.py"))]
SUITE = [path for path in FILES if not path.is_relative_to(ROOT / "tests/selftest")]
PLUGINS = {name.partition(".")[0] for name in PROJECT["tool"]["pytest"]["ini_options"]["addopts"] if name[0] != "-"}
PLUGINS -= OWN


def test_imported_packages_and_dependencies_agree():
    """Every package that a run imports or loads as a plugin is a dependency, and every dependency is used."""
    assert packages_of(SUITE) == set(map(canonicalize_name, USED))


def test_no_address_of_an_index_is_named():
    """requirements.txt names packages and hashes, and no place to download them from."""
    assert "://" not in (ROOT / "requirements.txt").read_text("utf-8")


def test_every_version_of_python_is_tried():
    """The workflow tries the versions that pyproject.toml names, from requires-python on."""
    workflow = read_yaml(ROOT / ".github/workflows/ci.yml")
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))

    assert workflow["jobs"]["suite"]["strategy"]["matrix"]["python"] == versions
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


# Private names of libraries

BY_OTHERS = {"_asdict", "_replace", "_value_"}
"""Documented names of tuples and enumerations that begin with an underscore."""
OF_COPIES = {"_purpose"}
"""Members of our own that are set on a copy of an object."""
_, _, SECTION = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition("## Private names of libraries")
TABLE = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ") and "`" in line]
ROWS = {row[0].partition(" `")[0]: row for row in TABLE}


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
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] not in OWN:
            parts = node.module.split(".")
            if parts[1:2] in (["internal"], ["core"], ["junitparser"]) or any(map(is_private, parts[:1])):
                yield ".".join(parts[:2])
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in BY_OTHERS | OF_COPIES:
            is_extended = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
            is_set = isinstance(node.ctx, ast.Store) and not is_set_on_itself(node)
            files = files_by_name().get(node.attr, set())
            if not files or is_set or (is_extended and files == {name}):
                yield node.attr


@cache
def trees():
    """The syntax tree of each file of the suite, by its path from the root. Only one test reads them."""
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in SUITE}


@cache
def files_by_name():
    """The files of ours that define a name, by the name."""
    files = {}
    for file, tree in trees().items():
        for name in names_defined_in(tree):
            files.setdefault(name, set()).add(file)
    return files


def test_architecture_names_every_private_name():
    """The table has the name beside the file that uses it."""
    missing = {
        (name, file)
        for file in trees()
        for name in private_names(file)
        if not any(name in names and f"`{file}`" in files for _, names, files in ROWS.values())
    }

    assert missing == set()


@pytest.mark.parametrize("library", sorted(ROWS.keys() - {"Python 3.11 to 3.14"}))
def test_a_library_with_private_names_has_an_upper_bound(library):
    """ARCHITECTURE.md and pyproject.toml name the same versions."""
    requirement = USED[library]
    lower, upper = re.search(r"`>=([^,]+),<(.+)`", ROWS[library][0]).groups()

    assert {str(bound) for bound in requirement.specifier} == {f">={lower}", f"<{upper}"}


def test_pytest_9_2_is_permitted():
    """pytest 9.2 changed the test ids of a decorator that nothing uses any more."""
    assert USED["pytest"].specifier.contains("9.2.0")


# What pip install -e takes


METADATA = f"pix_conformance-{VERSION}.dist-info"


def test_an_installation_brings_the_dependencies_and_none_of_our_folders(tmp_path, monkeypatch):
    """Other projects have folders named tests, spec and reports, so no file and no path of the wheel leads to ours."""
    monkeypatch.chdir(ROOT)
    wheel = ZipFile(tmp_path / build_editable(str(tmp_path)))
    metadata = wheel.read(f"{METADATA}/METADATA").decode()

    assert {name.partition("/")[0] for name in wheel.namelist()} == {METADATA}
    assert "Requires-Dist: schemathesis" in metadata
    assert re.search("Requires-Dist: ruff.*extra == .dev", metadata)


def test_folders_of_others_do_not_win_over_ours(tmp_path):
    """A package with __init__.py and the same name, anywhere on the path, would win over a folder without it."""
    for name in sorted(OWN):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('this is the package of another project')")
    command = [sys.executable, "-m", "pytest", "-q", "--explain=executePix.json"]
    process = subprocess.run(
        command, cwd=ROOT, env=clean_environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True
    )

    assert process.returncode == 0
    assert process.stderr == ""
