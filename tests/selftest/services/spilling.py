"""A pytest plugin that spills what the suite knows wherever pytest prints: exceptions, locals, logs, warnings."""

import logging
import os
import sys
import warnings

import pytest

PLACE_OF_FAILURE = os.environ.get("SPILL", "")
"""Where the plugin fails: "a crash at the start", "an internal error", "a crash at the end", or empty for nowhere."""
SECRET = f"spilled {os.environ.get('PIX_TOKEN')} {os.environ.get('SPILLED')}"
"""Read at import, because a run takes the token out of the environment."""


@pytest.hookimpl(trylast=True)
def pytest_configure():
    """Fail before the session starts, if that is the chosen place."""
    _fail_if_chosen("a crash at the start")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Print the secret in the first tests of a run, and let them fail, warn or skip with it."""
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
    """Fail between two tests, if that is the chosen place."""
    _fail_if_chosen("an internal error")


def pytest_sessionfinish(session):
    """Fail after the last test, if that is the chosen place."""
    _fail_if_chosen("a crash at the end")


def _fail_if_chosen(place):
    """Raise an error with the secret if the environment variable SPILL names this place."""
    if place == PLACE_OF_FAILURE:
        raise RuntimeError(SECRET)
