"""A pytest plugin that spills what the suite knows wherever pytest prints: exceptions, locals, logs, warnings."""

import logging
import os
import sys
import warnings

import pytest

SPILL = os.environ.get("SPILL", "")
SECRET = f"spilled {os.environ.get('PIX_TOKEN')} {os.environ.get('SPILLED')}"
"""Read at once: a run takes the token out of the environment."""


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """A plugin fails before the session starts."""
    _fail("a crash at the start")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """The first tests of a run fail in every way in which a test can."""
    if "executePix.id" in item.nodeid:
        print(SECRET)
        print(SECRET, file=sys.stderr)
        logging.getLogger("spilling").warning(SECRET)
        os.write(2, f"{SECRET}\n".encode())
    if "executePix.id.present" in item.nodeid:
        raise RuntimeError(SECRET)
    if "executePix.id.type" in item.nodeid:
        warnings.warn(SECRET, stacklevel=1)
    if "executePix.id.spelling" in item.nodeid:
        pytest.skip(SECRET)


def pytest_runtest_logfinish():
    """A plugin fails between two tests."""
    _fail("an internal error")


def pytest_sessionfinish(session):
    """A plugin fails when all is over."""
    _fail("a crash at the end")


def _fail(how):
    if how == SPILL:
        raise RuntimeError(SECRET)
