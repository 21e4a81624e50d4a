"""`pytest --plan` in place of a run: prints what the selected tests would send, and sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from environments.profiles.profile import Profile
from reports.plan import Plan, plan_lines
from reports.redaction import Redactor
from tests.harness.selection import selection


class Planner:
    """In place of a run: nothing is sent, the plan of what was selected is printed."""

    def __init__(self, profile: Profile, redactor: Redactor, planned: Callable[[Sequence[pytest.Item]], Plan]) -> None:
        self._profile, self._redactor, self._planned = profile, redactor, planned
        self.plan = Plan({})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.plan = self._planned(session.items)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        terminalreporter.section("plan")
        for line in plan_lines(self.plan, self._profile, self._redactor, selection(config).text):
            terminalreporter.write_line(line)
