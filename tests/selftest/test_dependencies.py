"""What is imported is declared, what is declared is used, and CI runs every version of Python that is named."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from spec.requirements import read_yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
USED = {Requirement(line).name: Requirement(line) for line in PROJECT["project"]["dependencies"]}
OWN = {"environments", "reports", "spec", "tests"}


def imported(path):
    """The top-level modules that a file imports, without those of Python and of this project."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN


def distributions(files):
    """Canonical names of the packages that hold what the files import, and the plugins."""
    modules, packages = {*PLUGINS, *(module for file in files for module in imported(file))}, packages_distributions()
    return {canonicalize_name(packages[module][0]) for module in modules}


FILES = [ROOT / "conftest.py", *(path for folder in OWN for path in (ROOT / folder).rglob("*.py"))]
SUITE = [path for path in FILES if not path.is_relative_to(ROOT / "tests/selftest")]
PLUGINS = {name.partition(".")[0] for name in PROJECT["tool"]["pytest"]["ini_options"]["addopts"] if name[0] != "-"}


def test_what_is_imported_is_declared():
    """Every package that a run imports, or loads as a plugin, is a dependency, and every dependency is used."""
    assert distributions(SUITE) == set(map(canonicalize_name, USED))


def test_no_address_of_an_index_is_named():
    """That packages have hashes, and that wheels alone are taken, is what pip is told to insist on."""
    assert "://" not in (ROOT / "requirements.txt").read_text("utf-8")


def test_every_version_of_python_is_tried():
    """The versions that pyproject.toml names are those of the workflow, from requires-python on."""
    workflow = read_yaml(ROOT / ".github/workflows/ci.yml")
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))

    assert workflow["jobs"]["suite"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
