"""In a worker of a parallel run: works with what the process that the user started has opened and decided."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from environments.door.opening import Share
from environments.profiles.profile import Profile
from environments.profiles.target import target_of_worker
from environments.secrets import Known
from reports.handover import packed, unpacked
from tests.harness.interruption import hear_signals, join_parallel_run
from tests.harness.session import Session, open_session

GIVEN, HANDOVER, LEARNED = "conformance_given", "conformance_handover", "conformance_learned"
"""The keys of xdist's dictionaries for workers."""


@dataclass(frozen=True)
class Given:
    """What a worker is given."""

    base_url: str
    token: str = field(repr=False)
    share: Share
    seed: int
    loadgroup: bool


def given_to_workers(config: pytest.Config, session: Session) -> Given:
    """What the process that the user started has opened and decided."""
    return Given(
        base_url=session.target.base_url,
        token=session.target.secrets.token(),
        share=replace(session.share, token_accepted=session.door.token_monitor.accepted),
        seed=session.seed,
        loadgroup=config.option.dist == "loadgroup",
    )


def open_worker(config: Any, profile: Profile, resend: Container[str]) -> None:
    """Open the session of a worker."""
    given: Given = unpacked(config.workerinput[GIVEN])
    number = int(config.workerinput["workerid"].removeprefix("gw"))
    share = replace(given.share, worker=number)
    interruption = hear_signals(config)
    join_parallel_run(share.folder, interruption)
    config.option.loadgroup = given.loadgroup
    config.option.log_file = os.devnull  # it would not be known here what other workers learned
    target = target_of_worker(profile, given.base_url, given.token)
    target.secrets.tell = partial(_tell, config.workerinput[LEARNED])
    session = open_session(config, profile, target, share, interruption, seed=given.seed, resend=resend)
    config.pluginmanager.register(Worker(session, config.workeroutput))


def _tell(channel: Any, known: Sequence[Known]) -> None:
    """Tell the process that the user started what this one learns, at once and in memory: it writes the files, and
    prints. `channel` is one of execnet, a pipe; what is sent later arrives later."""
    with suppress(OSError):  # that process has ended, and writes nothing any more
        channel.send(packed(tuple(known)))


class Worker:
    """Hands over what this process sent."""

    def __init__(self, session: Session, output: dict[str, Any]) -> None:
        self._session, self._output = session, output

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._output[HANDOVER] = packed(self._session.end(exitstatus))
