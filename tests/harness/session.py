"""The parts that a run works with."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import pytest

from environments.door.client import Client
from environments.door.door import Door
from environments.door.liveness import UnreachableError
from environments.door.opening import open_client, open_door
from environments.door.outgoing import NotSentError
from environments.profiles.profile import Profile
from environments.profiles.target import Target
from reports.handover import Handover
from tests.harness.collector import Collector
from tests.harness.interruption import Interruption
from tests.harness.lanes import Lanes
from tests.harness.pen import Pen
from tests.harness.watcher import Watcher


@dataclass(frozen=True)
class Session:
    """`seed` is that of generated traffic, `lanes` are the threads."""

    profile: Profile
    target: Target
    seed: int
    door: Door
    client: Client
    collector: Collector
    lanes: Lanes

    def end(self, exitstatus: int) -> Handover:
        """Send no more than cleans up, or nothing where the tests were broken off; wait for what is being sent. Gives
        what was sent."""
        if exitstatus in _TESTS_ENDED and not self.door.liveness.unreachable:
            self.door.ending.wind_down()
        else:
            self.door.ending.stop()
        self.lanes.close()
        errors = [error for error in self.lanes.unheard if not isinstance(error, _NO_FAULT_OF_THE_SUITE)]
        return self.collector.handover(f"{type(error).__name__}: {error}" for error in errors)


_TESTS_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
_NO_FAULT_OF_THE_SUITE = (UnreachableError, NotSentError, pytest.skip.Exception)
SESSION = pytest.StashKey[Session]()


def open_session(
    config: pytest.Config,
    profile: Profile,
    target: Target,
    interruption: Interruption,
    *,
    seed: int,
    resend: Container[str],
) -> Session:
    """The session of the run, with a redaction between it and everything that is printed."""
    door = open_door(profile, target, resend=resend)
    interruption.stop_sending = door.ending.stop
    lanes = Lanes(door.in_flight)
    collector = Collector(profile, target.secrets, door, shows=not config.getoption("no_report"))
    pen = Pen(collector.display)
    config.add_cleanup(pen.put_down)
    config.add_cleanup(door.close)
    config.pluginmanager.register(pen, "conformance-pen")
    config.pluginmanager.register(Watcher(profile, collector), "conformance-watcher")
    session = config.stash[SESSION] = Session(profile, target, seed, door, open_client(door, profile), collector, lanes)
    return session
