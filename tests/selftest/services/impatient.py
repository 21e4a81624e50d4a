"""A plugin of pytest: the line of progress is there often, also in a log; pytest says what SAYS is, and the run ends as
ENDS says."""

import os

import pytest

from tests.harness.screen import Log

Log.every_s = 0.05


def pytest_runtest_teardown(item: pytest.Item) -> None:
    if said := os.environ.get("SAYS"):
        item.config.get_terminal_writer().line(said)
    if os.environ.get("ENDS") == "pytest.exit":
        pytest.exit("enough", returncode=3)


def pytest_runtest_logfinish() -> None:
    if os.environ.get("ENDS") == "an internal error":
        raise RuntimeError
