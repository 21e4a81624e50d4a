"""In a worker of a parallel run: works with what the process that the user started has opened and decided."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from environments.door.opening import Share
from environments.profiles.profile import Profile
from environments.profiles.target import target_of_worker
from tests.harness.interruption import Interruption, join_parallel_run
from tests.harness.session import Session, open_session


def open_worker(config: Any, profile: Profile, resend: Container[str], interruption: Interruption) -> None:
    """Open the session of a worker."""
    given = config.workerinput
    number = int(given["workerid"].removeprefix("gw"))
    share = Share(given["run"], Path(given["shared"]), number, token_accepted=given["accepted"])
    join_parallel_run(share.folder, interruption)
    config.option.loadgroup = given["loadgroup"]
    target = target_of_worker(profile, given["base_url"], given["token"])
    session = open_session(config, profile, target, share, seed=given["seed"], resend=resend)
    config.pluginmanager.register(Worker(session, config.workeroutput))


def input_of_worker(config: pytest.Config, session: Session) -> dict[str, Any]:
    """What a worker is given, as plain data."""
    return {
        "base_url": session.target.base_url,
        "token": session.target.token(),
        "accepted": session.door.token_monitor.accepted,
        "run": session.share.run,
        "seed": session.seed,
        "loadgroup": config.option.dist == "loadgroup",
        "shared": str(session.share.folder),
    }


class Worker:
    """Hands over what this process sent."""

    def __init__(self, session: Session, output: dict[str, Any]) -> None:
        self._session, self._output = session, output

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._output["handover"] = self._session.collector.handover().plain()
