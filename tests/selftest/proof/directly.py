"""A trial without pytest: the traffic of a run through its door, then the conformance tests, called as functions.

In memory it needs no sockets either: the door gives each request to a service in this process, one at a time, so that
nothing is left to chance, and what waits takes no time.
"""

import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest

from environments.credentials import Target
from environments.door.door import Channel, Door
from environments.door.opening import open_client, open_door
from environments.door.outgoing import Sending
from environments.profiles.loading import load
from environments.profiles.model import EMBEDDED, Profile
from environments.sandbox import Request, Server, Service
from environments.secret_values import listed_secrets
from reports.run import Run
from spec.exchange import Failure, FailureKind, Response
from tests.harness.collector import Collector, Watcher
from tests.harness.judging import DeviationError, Untested, current
from tests.harness.session import SENT, SESSION, Session
from tests.selftest.proof.trial import CONFORMANCE, PYTEST, Trial, results_of
from tests.traffic.phases import send

_FRAMED_BY_THE_SERVER = ("content-encoding", "content-length", "transfer-encoding")


def try_in_memory(
    service: Service,
    environment: str = "sandbox",
    *,
    ids: Container[str] | None = None,
    generated: bool = False,
    examples: int | None = 2,
) -> Trial:
    """Run the tests of these requirements, or all, against the service, one request at a time. With `generated`, those
    of the generated traffic, too, of which little is sent, or as much as by default if `examples` is None."""
    run = Run(_profile(environment, 1, examples), "http://127.0.0.1", narrowed=ids is not None)
    return _try(service, run, conformance_tests(ids, generated=generated), _Memory(service))


def run_in_memory(service: Service, profile: Profile, takes: Callable[[Any], bool]) -> Run:
    """The model of a run with this profile, one request at a time, of the tests that `takes` picks."""
    run = Run(profile, profile.base_url, narrowed=True)
    _try(service, run, list(filter(takes, _collected().items)), _Memory(service))
    return run


def try_over_http(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """Run the targeted tests against the service over sockets, with so many requests at once or as the profile says."""
    with getattr(service, "SERVER", Server)(service) as server:
        return _try(service, Run(_profile(environment, parallel), server.base_url), conformance_tests())


class _Connection:
    """The one connection that a service in this process sees."""

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", 1

    def shutdown(self, how: int) -> None:
        """The service hangs up: it returns no answer."""


class _Memory:
    """Connections to a service in this process."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def attempt(self, sending: Sending) -> Response | Failure:
        """What the service answers. One that hangs up answers nothing. Raises ValueError for what only a socket shows."""
        sent = sending.sent
        url, headers = urlsplit(sent.url), {name.lower(): value for name, value in sent.headers}
        request = Request(sent.method, url.path, url.query, headers, sent.body)
        answer = self._service.serve(request, _Connection())
        if answer is None:
            return Failure(FailureKind.DROPPED, "the connection was dropped without an answer")
        if any(name.lower() in _FRAMED_BY_THE_SERVER for name, _ in answer.headers):
            raise ValueError("a service that frames its answers is declared with ON_THE_WIRE")
        body = b"" if answer.status in (204, 304) else answer.body
        return Response(answer.status, (("Server", "pix-sandbox"), *answer.headers), body)

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""


@cache
def _profile(environment: str, parallel: int | None, examples: int | None = 2) -> Profile:
    profile = load(environment)
    limits = replace(profile.limits, parallel=parallel or profile.limits.parallel, examples=examples)
    return replace(profile, base_url=EMBEDDED, limits=limits)


class _Collected:
    """Keeps what pytest collects, a plugin."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.config, self.items = session.config, session.items


@cache
def _collected() -> _Collected:
    """The tests, collected once in each process."""
    kept = _Collected()
    pytest.main([*PYTEST, "--collect-only", str(CONFORMANCE)], plugins=[kept])
    return kept


def conformance_tests(ids: Container[str] | None = None, *, generated: bool = False) -> list[Any]:
    """The conformance tests of these requirements, or of all; with `generated`, those of the generated traffic, too."""
    items = [item for item in _collected().items if generated or not item.get_closest_marker("property")]
    return [item for item in items if ids is None or item.get_closest_marker("requirement").args[0] in ids]


def collected_config() -> pytest.Config:
    """The configuration with which they were collected."""
    return _collected().config


def _try(service: Service, run: Run, items: Sequence[Any], channel: Channel | None = None) -> Trial:
    profile = run.profile
    secrets, config = listed_secrets(profile), _collected().config
    secrets.learn_token(service.token)
    door = open_door(profile, Target(run.base_url, secrets))
    collector = Collector(run, secrets, door, shows=False)
    session = Session(profile, run, door, open_client(door, profile), collector)
    with _in_no_time(door, channel) if channel else closing(door):
        run.unreachable = session.client.preflight()
        config.stash[SESSION], config.stash[SENT] = session, send(config, session, items)
    _judge(items, {"pytestconfig": config}, Watcher(profile, collector), collector)
    collector.close()
    run.close()
    left = tuple(map(str, run.not_cleaned_up_in_words))
    notes = tuple(str(note.text) for note in run.notes())
    return Trial(
        run.result().verdict.exit_status, results_of(run), run.requests, tuple(run.errors), left=left, notes=notes
    )


@contextmanager
def _in_no_time(door: Door, channel: Channel) -> Iterator[None]:
    """Send through this channel. A sleep, of the door or of the service, puts the clock forward."""
    slept_s, now, today = 0.0, time.monotonic, time.time

    def sleep(seconds: float) -> None:
        nonlocal slept_s
        slept_s += max(0.0, seconds)

    clock = {"sleep": sleep, "monotonic": lambda: now() + slept_s, "time": lambda: today() + slept_s}
    door.wire, door.ending.sleep, door.ending.clock = channel, sleep, clock["monotonic"]
    with mock.patch.multiple(time, **clock):
        yield


def _judge(items: Sequence[Any], supplied: dict[str, Any], watcher: Watcher, collector: Collector) -> None:
    """Call each test with what its fixtures give. One that ends otherwise than a test may is an error of the suite."""

    def supply(item: Any, names: Sequence[str]) -> dict[str, Any]:
        for name in names:
            if name not in supplied:
                fixture = item._fixtureinfo.name2fixturedefs[name][-1]
                supplied[name] = fixture.func(**supply(item, fixture.argnames))
        return {name: supplied[name] for name in names}

    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        try:
            watcher.pytest_runtest_setup(item)
            names = [name for name in item._fixtureinfo.argnames if name not in params]
            item.obj(**supply(item, names), **params)
        except DeviationError:
            pass
        except Untested as gap:
            current.get().note(verdict=gap.verdict, why=gap.why)
        collector.take(current.get(), item.nodeid)
