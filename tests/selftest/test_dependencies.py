"""What is imported is declared, what is declared is used and pinned, and CI runs every version of Python that is named."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
USED = {Requirement(line).name: Requirement(line) for line in PROJECT["project"]["dependencies"]}
DEVELOPMENT = {Requirement(line).name for line in PROJECT["project"]["optional-dependencies"]["dev"]}
OWN = {"environments", "reports", "spec", "tests"}
PACKAGES = packages_distributions()
OF_ANOTHER_PYTHON = {"typing-extensions"}
"""Packages that are needed before Python 3.13 alone."""


def imported(path):
    """The top-level modules that a file imports, without those of Python and of this project."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - OWN


def distributions(files):
    """Canonical names of the packages that hold what the files import."""
    modules = {module for file in files for module in imported(file)}
    return {canonicalize_name(PACKAGES[module][0]) for module in modules}


FILES = [ROOT / "conftest.py", *(path for folder in OWN for path in (ROOT / folder).rglob("*.py"))]
SELF_TESTS = [path for path in FILES if path.is_relative_to(ROOT / "tests/selftest")]
SUITE = sorted(set(FILES) - set(SELF_TESTS))
PLUGINS = {name.partition(".")[0] for name in PROJECT["tool"]["pytest"]["ini_options"]["addopts"] if name[0] != "-"}


def test_what_is_imported_is_declared():
    """Every package that a run imports, or loads as a plugin, is a dependency, and every dependency is used. What the
    self-tests import beyond that is a dependency of development."""
    loaded = {canonicalize_name(PACKAGES[plugin][0]) for plugin in PLUGINS}

    assert distributions(SUITE) | loaded == set(map(canonicalize_name, USED))
    assert distributions(SELF_TESTS) <= set(map(canonicalize_name, {*USED, *DEVELOPMENT}))


def pins(file):
    """The versions that a file pins, by canonical name."""
    found = re.findall(r"(?m)^([A-Za-z0-9._-]+)==(\S+)", (ROOT / file).read_text("utf-8"))
    return {canonicalize_name(name): version for name, version in found}


def closure(requirements):
    """Canonical names of packages and of all that they need, as the installed ones say. Markers are those of this
    Python, so packages that only another one needs are not among them."""
    names, wanted = set(), list(requirements)
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        if name not in names and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            names.add(name)
            wanted += map(Requirement, requires(name) or ())
    return names


def test_what_is_installed_is_pinned_and_needed():
    """requirements.txt has the dependencies of pyproject.toml with what these need, constraints.txt what the self-tests
    need besides, within the bounds of pyproject.toml and in the same versions; and nothing else."""
    development = map(Requirement, PROJECT["project"]["optional-dependencies"]["dev"])
    required, pinned = pins("requirements.txt"), pins("constraints.txt")
    of_a_run, of_all = closure(USED.values()), closure([*USED.values(), *development])

    assert [name for name, used in USED.items() if pinned[canonicalize_name(name)] not in used.specifier] == []
    assert (of_a_run - required.keys(), of_all - pinned.keys()) == (set(), set())
    assert (required.keys() - of_a_run) | (pinned.keys() - of_all) <= OF_ANOTHER_PYTHON
    assert required.items() <= pinned.items()


def test_every_package_of_a_run_has_a_hash():
    """Of each wheel, and requirements.txt names no address of an index."""
    lines = [line for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace(" \\\n", "").splitlines()

    assert [line for line in joined if not re.fullmatch(r"\S+==\S+(    --hash=sha256:[0-9a-f]{64})+", line)] == []
    assert "://" not in "".join(lines)


def test_every_version_of_python_is_tried():
    """The versions that pyproject.toml names are those of the workflow, from requires-python on."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]))

    assert workflow["jobs"]["suite"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
