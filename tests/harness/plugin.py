"""Markers, fixtures and selection by -k for every pytest session of this project."""

from __future__ import annotations

from typing import Any

import pytest

from environments.profiles.model import Profile
from spec.requirements import requirements
from spec.rules import Reproduction
from tests.harness.selection import requirement_of, wanted_ids
from tests.harness.session import SESSION, Session

MARKERS = (
    "requirement(id): the requirement that a conformance test answers for",
    "needs(permission, ...): a permission, or one of these, beyond that of the requirement's operation",
    "property: generated traffic",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(optionalhook=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """With -v, pytest-metadata prints variables of CI, of which some name people and projects."""
    metadata.clear()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what -k and --last-failed do not take."""
    ids = wanted_ids(config)
    if len(ids) < len(requirements()):
        left_out = [item for item in items if (one := requirement_of(item)) is None or one.id not in ids]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """The parts that the run works with."""
    return pytestconfig.stash[SESSION]


@pytest.fixture(scope="session")
def profile(session: Session) -> Profile:
    """The profile of the run."""
    return session.profile


@pytest.fixture(scope="session")
def reproduction(session: Session) -> Reproduction:
    """The judge of exchanges, which knows what deviations showed again."""
    return session.collector.reproduction
