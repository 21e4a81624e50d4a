"""A plugin of pytest: runs the tests in an order that nobody thought of."""

import os
import random
from collections.abc import Iterator

import pytest

ORDER = "PIX_CONFORMANCE_SELFTEST_ORDER"
"""The variable that names the order; without it the tests keep theirs. Those with this name come first."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Behind all others, which sort the tests."""
    yield
    if order := os.environ.get(ORDER):
        random.Random(order).shuffle(items)
        items.sort(key=lambda item: order not in item.nodeid)
