"""Which tests the command line selects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

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


def selection(config: pytest.Config) -> Selection:
    """What the user selected."""
    narrowing = [f"-k {config.option.keyword}"] if config.option.keyword else []
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
