"""A pytest plugin that spills what the suite knows wherever pytest prints: exceptions, locals, logs, warnings."""

import logging
import os
import sys
import warnings

import pytest

SPILL = os.environ.get("SPILL", "")


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """A plugin fails before the session starts."""
    _fail("a crash at the start")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """The first tests of a run fail in every way in which a test can."""
    secret = f"spilled {os.environ['PIX_TOKEN']} {os.environ['SPILLED']}"
    if "executePix.id" in item.nodeid:
        print(secret)
        print(secret, file=sys.stderr)
        logging.getLogger("spilling").warning(secret)
        os.write(2, f"{secret}\n".encode())
    if "executePix.id.present" in item.nodeid:
        raise RuntimeError(secret)
    if "executePix.id.type" in item.nodeid:
        warnings.warn(secret, stacklevel=1)
    if "executePix.id.spelling" in item.nodeid:
        pytest.skip(secret)


def pytest_runtest_logfinish():
    """A plugin fails between two tests."""
    _fail("an internal error")


def pytest_sessionfinish(session):
    """A plugin fails when all is over."""
    _fail("a crash at the end")


def _fail(how):
    if how == SPILL:
        raise RuntimeError(f"spilled {os.environ['PIX_TOKEN']} {os.environ['SPILLED']}")
