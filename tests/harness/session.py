"""The parts that a run works with."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import pytest

from environments.door.client import Client
from environments.door.door import Door
from environments.door.opening import open_client, open_door
from environments.profiles.profile import Profile
from environments.profiles.target import Target
from reports.handover import Handover
from tests.harness.collector import Collector
from tests.harness.interruption import Interruption
from tests.harness.pen import Pen
from tests.harness.watcher import Watcher


@dataclass(frozen=True)
class Session:
    """`seed` is that of generated traffic."""

    profile: Profile
    target: Target
    seed: int
    door: Door
    client: Client
    collector: Collector

    def end(self) -> Handover:
        """Send nothing more. Gives what was sent."""
        self.door.ending.stop()
        return self.collector.handover()


SESSION = pytest.StashKey[Session]()
SENT = pytest.StashKey[Any]()
"""What was sent, as tests/traffic gives it, which tests/harness does not import."""


def open_session(
    config: pytest.Config,
    profile: Profile,
    target: Target,
    interruption: Interruption,
    *,
    seed: int,
    resend: Container[str],
) -> Session:
    """The session of the run, with a pen between it and everything that is printed."""
    door = open_door(profile, target, resend=resend)
    interruption.stop_sending = door.ending.stop
    collector = Collector(profile, target.secrets, door, shows=not config.getoption("no_report"))
    pen = Pen(collector.display)
    config.add_cleanup(pen.put_down)
    config.add_cleanup(door.close)
    config.pluginmanager.register(pen, "conformance-pen")
    config.pluginmanager.register(Watcher(profile, collector), "conformance-watcher")
    session = config.stash[SESSION] = Session(profile, target, seed, door, open_client(door, profile), collector)
    return session
