"""Wiring of the self-tests: the proof writes its matrix from the process that the user started."""

from __future__ import annotations

import pytest

from tests.selftest.proof import matrix


def pytest_configure(config: pytest.Config) -> None:
    matrix.pytest_configure(config)
