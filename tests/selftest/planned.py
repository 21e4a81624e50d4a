"""The plan of a selection, made in this process."""

import pytest

from reports.plan import Plan
from tests.selftest.proof.trial import ADDOPTS, CONFORMANCE


class _Capture:
    plan = Plan()

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        planner = session.config.pluginmanager.get_plugin("conformance-planner")
        self.plan = planner.plan if planner else self.plan


def plan_of(*options: str) -> Plan:
    """What `pytest --plan` with these options prints, as data."""
    capture = _Capture()
    quiet = ["-o", f"addopts={ADDOPTS}", "-p", "no:terminal", "-p", "no:cacheprovider"]
    pytest.main([*quiet, "--plan", *options, str(CONFORMANCE)], plugins=[capture])
    return capture.plan
