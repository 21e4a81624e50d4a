"""A pytest plugin for runs that learn codes: it spills SPILLED where generated traffic is tested, or a worker dies or fails
as soon as it has learned a code that it prepared."""

import logging
import os
import sys
import warnings

import pytest

from environments.secrets import CODE
from tests.harness.session import SESSION

THEN = os.environ.get("THEN", "")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Tests of generated traffic print, log and warn, and the first of them fails."""
    if THEN != "spills" or item.get_closest_marker("property") is None:
        return
    told = f"spilled {os.environ['SPILLED']}"
    print(told)
    print(told, file=sys.stderr)
    logging.getLogger("learning").warning(told)
    warnings.warn(told, stacklevel=1)
    raise RuntimeError(told)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request):
    """Before any report of the test that prepared it has left the worker."""
    try:
        return (yield)
    finally:
        codes = prepared(request.config)
        if THEN == "dies" and codes and hasattr(request.config, "workerinput"):
            os._exit(1)


def pytest_runtest_logfinish():
    """A plugin of a worker fails between two tests."""
    if THEN == "fails" and hasattr(pytest.run_config, "workerinput") and (codes := prepared(pytest.run_config)):
        raise RuntimeError(f"spilled {codes}")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    pytest.run_config = config


def prepared(config):
    """The codes that this process has prepared."""
    known = config.stash[SESSION].target.secrets.known
    return [one.value for one in known if one.name == CODE and one.place is None]
