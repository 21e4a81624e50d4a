"""What every pytest session of this project has: markers, fixtures, and the order of the tests."""

from __future__ import annotations

from typing import Any

import pytest

from environments.profiles.profile import Profile
from tests.harness.reproduction import Reproduction
from tests.harness.session import SESSION, Session
from tests.harness.watcher import requirement_of

MARKERS = (
    "requirement(id): the requirement that a conformance test answers for",
    "needs(permission, ...): a permission, or one of these, beyond that of the requirement's operation",
    "property: generated traffic",
    "every_rule: judges by every rule of the operation of its requirement",
    "judged_last: judges what the whole run showed",
    "xdist_group(name): tests that one worker of a parallel run takes",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


@pytest.hookimpl(optionalhook=True)
def pytest_metadata(metadata: dict[str, Any]) -> None:
    """With -v, pytest-metadata prints variables of CI, of which some name people and projects."""
    metadata.clear()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Its requirement selects a test with -k; targeted tests share the worker that moves money."""
    requirement = requirement_of(item)
    if requirement is not None:
        item.extra_keyword_matches.add(requirement.id)
        if item.get_closest_marker("property") is None:
            item.add_marker(pytest.mark.xdist_group("targeted"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Targeted tests need keys that no other test has touched; then comes generated traffic, then what judges all of it."""
    items.sort(key=lambda item: bool(item.get_closest_marker("property")))
    items.sort(key=lambda item: bool(item.get_closest_marker("judged_last")))


@pytest.fixture(scope="session")
def session(pytestconfig: pytest.Config) -> Session:
    """What this process of the run works with."""
    return pytestconfig.stash[SESSION]


@pytest.fixture(scope="session")
def profile(session: Session) -> Profile:
    """The profile of the run."""
    return session.profile


@pytest.fixture(scope="session")
def reproduction(session: Session) -> Reproduction:
    """Judges exchanges, and knows which deviations showed again."""
    return session.collector.reproduction


@pytest.fixture(scope="session")
def token(session: Session) -> str:
    """The access token, to make wrong ones from."""
    return session.target.secrets.token()
