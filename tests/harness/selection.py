"""Tests that the command line selects. -k takes ids of requirements: pytest's own matches parts of any name of a test."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import pytest

from reports.show import printable
from reports.wording import one_line
from spec.requirements import ledger

ROOT = Path(__file__).parents[2]
_WHOLE = {ROOT, ROOT / "tests", ROOT / "tests" / "conformance"}
_LEAVES_OUT = {
    "deselect": "--deselect",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
}
"""Further options of pytest that leave tests out, by the name of their value."""
_NEAREST, _ALIKE, _LONGEST = 3, 0.8, 100


@dataclass(frozen=True)
class Selection:
    """`text` is what the user typed, None for a whole run. `narrowed`: the verdict is about the selected requirements
    alone. A marker expression leaves tests out, and no requirements."""

    text: str | None
    narrowed: bool


def only_selftests(config: pytest.Config) -> bool:
    """Whether every path on the command line lies under tests/selftest: no verdict on a service."""
    paths = [_path(config, arg.split("::")[0]) for arg in config.args]
    return bool(paths) and all(path.is_relative_to(ROOT / "tests" / "selftest") for path in paths)


def take_ids(config: pytest.Config) -> None:
    """Take -k from pytest. UsageError for a word in it that is no requirement and no group of requirements."""
    config.option.ids, config.option.keyword = config.option.keyword, ""
    if config.option.ids:
        ids_of(config.option.ids)


def ids_of(expression: str) -> frozenset[str]:
    """The requirements that an expression of -k takes. UsageError, in one line, for any other expression."""
    try:
        return _ids_of(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        expected = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"
        raise pytest.UsageError(f"-k: {_quoted(expression)}: {expected}") from None


def _ids_of(node: ast.expr) -> frozenset[str]:
    """Ids and groups look like attributes in Python's grammar, which -k of pytest follows, too."""
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return frozenset.intersection(*map(_ids_of, parts))
        case ast.BoolOp(values=parts):
            return frozenset.union(*map(_ids_of, parts))
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return frozenset(ledger()) - _ids_of(part)
        case ast.Name() | ast.Attribute():
            return group_of(ast.unparse(node), "-k")
    raise ValueError(node)


def group_of(name: str, option: str) -> frozenset[str]:
    """The requirement of that name, and those whose ids begin with it and a dot. UsageError where there is none."""
    group = frozenset(id for id in ledger() if f"{id}.".startswith(f"{name}."))
    if not group:
        raise pytest.UsageError(f"{option}: {_unknown(name)}")
    return group


def _unknown(name: str) -> str:
    """Why that is no requirement, with the nearest ones: alike, or with the name in them; letter case does not count."""
    by_lower, lower = {id.lower(): id for id in ledger()}, name.lower()
    near = get_close_matches(lower, by_lower, 1 if lower in by_lower else _NEAREST, cutoff=_ALIKE)
    near = near or [low for low in by_lower if name and lower in low][:_NEAREST]
    more = f"did you mean {' or '.join(by_lower[low] for low in near)}?" if near else "pytest --list names them all"
    return f"{_quoted(name)}: no such requirement; {more}" if name else f"name one; {more}"


def _quoted(text: str) -> str:
    return printable(one_line(text))[:_LONGEST]


def selection(config: pytest.Config) -> Selection:
    """What the user selected."""
    narrowing = [f"-k {config.option.ids}"] if config.option.ids else []
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        narrowing += [arg for arg in config.args if _path(config, arg) not in _WHOLE]
    for name, option in _LEAVES_OUT.items():
        given = getattr(config.option, name, None)
        narrowing += [f"{option}={value}" for value in given] if isinstance(given, list) else [option] * bool(given)
    marked = [f"-m {config.option.markexpr}"] if config.option.markexpr else []
    return Selection(" ".join([*narrowing, *marked]) or None, narrowed=bool(narrowing))


def requirements(items: Iterable[pytest.Item], *fixtures: str) -> frozenset[str]:
    """The ids of the requirements whose tests are selected and use one of the fixtures."""
    markers = [item.get_closest_marker("requirement") for item in items if uses(item, *fixtures)]
    return frozenset(marker.args[0] for marker in markers if marker is not None)


def uses(item: pytest.Item, *fixtures: str) -> bool:
    """Whether a test uses one of the fixtures, directly or through another one."""
    return not set(fixtures).isdisjoint(getattr(item, "fixturenames", ()))


def _path(config: pytest.Config, argument: str) -> Path:
    return Path(config.invocation_params.dir, argument).resolve()
