"""A trial without pytest: the traffic of a run through its door, then the conformance tests, called as functions.

In memory it needs no sockets either: the door gives each request to a service in this process, one at a time, so that
nothing is left to chance, and what waits takes no time. A service that differs from the sandbox in what its answers say
gets the requests of the sandbox's own trial in their order: no door, no scenario, and the same tests. Of these, one that
asks the log for no answer that differs says what it says of the sandbox.
"""

import os
import random
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from requests import models

from environments.credentials import Target
from environments.door import bodies
from environments.door.door import Door
from environments.door.opening import open_client, open_door, open_planned_door
from environments.door.outgoing import Sending
from environments.door.preflight import preflight
from environments.profiles.loading import load
from environments.profiles.model import EMBEDDED, Profile
from environments.sandbox import Request, Server, Service
from environments.secret_values import listed_secrets
from reports.result.run import Observation, Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RequirementResult
from reports.showing.evidence import outline
from spec import exchange, interface
from spec.exchange import Exchange, Failure, FailureKind, Purpose, Response
from spec.log import Log
from tests.harness.finishing import close_record
from tests.harness.judging import DeviationError, Untested
from tests.harness.session import SESSION, Session, session_of
from tests.harness.watching import begin_test, record_test, take_assertions
from tests.selftest.proof.trial import CONFORMANCE, PYTEST, Trial, results_by_id
from tests.traffic.phases import SENT, RunTraffic, send_and_clean_up

_TODAY = time.time()
for _module, _name in ((models, "parse_url"), (models, "requote_uri"), (interface, "_readings"), (bodies, "_read")):
    setattr(_module, _name, lru_cache(maxsize=2_000)(getattr(_module, _name)))  # the same is sent to every service
_FRAMED_BY_THE_SERVER = ("content-encoding", "content-length", "transfer-encoding")


@dataclass(frozen=True)
class Said:
    """What a test says of the sandbox, and the numbers of the exchanges that it asks the log for."""

    results: Sequence[RequirementResult]
    observations: Sequence[Observation]
    asked_for: frozenset[int]


@dataclass(frozen=True)
class SentInTrial:
    """All that was sent for these tests, and its answers."""

    session: Session
    sent: RunTraffic
    items: Sequence[Any]
    said: Mapping[str, Said] = field(default_factory=dict)
    """What tests say that need not be called, by their ids."""

    @property
    def requests(self) -> list[exchange.Request]:
        """The requests in their order."""
        return [seen.request for seen in self.session.door.exchanges]

    def judged(self) -> Trial:
        """Call the tests, and give what they say."""
        run, call, supplied = self.session.run, self.caller(), {}
        for item in self.items:
            if said := self.said.get(item.nodeid):
                run.results += said.results
                run.observations += said.observations
            else:
                call(item, supplied)
        close_record(self.session)
        run.exchanges = {exchange.number: outline(exchange) for exchange in self.session.door.exchanges}
        run.close()
        result = result_of_run(run)
        notes = tuple(str(note.text) for note in result.notes)
        return Trial(result.verdict.exit_status, results_by_id(result), run.requests, tuple(run.errors), notes=notes)

    def caller(self) -> Callable[[Any, dict[str, Any]], None]:
        """Calls one test of this run with what its fixtures give, or have given."""
        config = collected().config
        config.stash[SESSION], config.stash[SENT] = self.session, self.sent
        return partial(_call, self.session)


def try_in_memory(service: Service, environment: str = "sandbox", **selected: Any) -> Trial:
    """Run the tests against the service, one request at a time."""
    return sent_in_memory(service, environment, **selected).judged()


def sent_in_memory(
    service: Service,
    environment: str = "sandbox",
    *,
    ids: Container[str] | None = None,
    generated: bool = False,
    examples: int | None = 2,
) -> SentInTrial:
    """What is sent for the tests of these requirements, or all. With `generated`, for those of the generated traffic,
    too, of which little is sent, or as much as by default if `examples` is None."""
    run = Run(_profile(environment, 1, examples), "http://127.0.0.1", narrowed=ids is not None)
    chosen = conformance_tests(ids, generated=generated)
    with _without_chance():
        door = open_planned_door(run.profile, service.token, _Memory(service), resend=())
        return _sent_in_no_time(run, door, chosen)


def replay(service: Service, environment: str = "sandbox") -> Trial:
    """The trial of a service that differs from the sandbox in what its answers say, so that it is sent the same."""
    log, memory = of_the_sandbox(environment), _Memory(service)
    service.token = log.session.door.secrets.token()
    changed = {}
    with _in_no_time(), _without_chance():
        for seen in log.session.door.exchanges:
            answer = memory.answer(seen.number, seen.request)
            changed[seen.number] = seen if answer == seen.response else replace(seen, response=answer)
    differ = {number for number, seen in changed.items() if seen is not log.session.door.exchanges[number - 1]}
    sandbox = said_of_the_sandbox(environment)
    same = {test: said for test, said in sandbox.items() if said.asked_for.isdisjoint(differ)}
    return replace(
        _with_log(log, Log(changed.get(seen.number, seen) for seen in log.session.door.log)), said=same
    ).judged()


def _with_log(trial: SentInTrial, log: Log) -> SentInTrial:
    """A trial in which the same was sent, with another log."""
    old = trial.session
    run, door, client = Run(old.profile, old.run.base_url), copy(old.door), copy(old.client)
    door.exchanges, door.log, client.door = log.attempts(), log, door
    door.sent_again = {number: again and log.attempts()[again.number - 1] for number, again in door.sent_again.items()}
    session = session_of(run, door, client)
    traffic = copy(trial.sent.traffic)
    traffic.client, traffic.reproduction = client, session.reproduction
    return replace(trial, session=session, sent=replace(trial.sent, traffic=traffic))


class _AskedLog(Log):
    """A log that notes the numbers of the exchanges that it is asked for."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self.asked_for: set[int] = set()
        super().__init__(exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._noted(list(super().__iter__())))

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        return self._noted(super().of(operation, *purposes))

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        return self._noted(super().with_purpose(*purposes))

    def valid(self, operation: str, part: str = "") -> list[Exchange]:
        return self._noted(super().valid(operation, part))

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        return self._noted(super().attempts(operation))

    def _noted(self, exchanges: list[Exchange]) -> list[Exchange]:
        self.asked_for.update(exchange.number for exchange in exchanges)
        return exchanges


@cache
def of_the_sandbox(environment: str) -> SentInTrial:
    """What is sent to the sandbox, recorded once in each process."""
    return sent_in_memory(Service(), environment)


@cache
def said_of_the_sandbox(environment: str) -> dict[str, Said]:
    """What each test says of the sandbox, by the id of the test."""
    trial = of_the_sandbox(environment)
    log = _AskedLog(trial.session.door.log)
    trial = _with_log(trial, log)
    run, call, said = trial.session.run, trial.caller(), {}
    for item in trial.items:
        results, observations = len(run.results), len(run.observations)
        log.asked_for = set()
        call(item, {})  # no fixture is shared, so that the test asks for all that it reads
        said[item.nodeid] = Said(run.results[results:], run.observations[observations:], frozenset(log.asked_for))
    return said


def run_in_memory(service: Service, profile: Profile, takes: Callable[[Any], bool]) -> Run:
    """The model of a run with this profile, one request at a time, of the tests that `takes` picks."""
    run = Run(profile, profile.base_url, narrowed=True)
    door = _open(run, service)
    door.wire = _Memory(service)
    _sent_in_no_time(run, door, list(filter(takes, collected().items))).judged()
    return run


def try_over_http(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """Run the targeted tests against the service over sockets, with so many requests at once or as the profile says.
    The door's waits, which are whole seconds, take a tenth."""
    with getattr(service, "SERVER", Server)(service) as server:
        run = Run(_profile(environment, parallel), server.base_url)
        with closing(_open(run, service)) as door:
            start, sleep = time.monotonic(), door.ending.sleep
            door.ending.clock = lambda: start + 10 * (time.monotonic() - start)
            door.ending.sleep = lambda seconds: sleep(seconds / 10)
            log = _send(run, door, conformance_tests())
        return log.judged()


def _open(run: Run, service: Service) -> Door:
    secrets = listed_secrets(run.profile)
    secrets.learn_token(service.token)
    return open_door(run.profile, Target(run.base_url, secrets))


class _Connection:
    """The one connection that a service in this process sees."""

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", 1

    def shutdown(self, how: int) -> None:
        """The service hangs up: it returns no answer."""


class _Memory:
    """Connections to a service in this process. What it and the suite draw depends on the number of the request."""

    def __init__(self, service: Service) -> None:
        self._service, self._attempts = service, 0

    def attempt(self, sending: Sending) -> Response | Failure:
        """What the service answers to the next request."""
        self._attempts += 1
        return self.answer(self._attempts, sending.sent)

    def answer(self, number: int, sent: exchange.Request) -> Response | Failure:
        """What the service answers. One that hangs up answers nothing. Raises ValueError for what only a socket shows."""
        url, headers = urlsplit(sent.url), {name.lower(): value for name, value in sent.headers}
        request = Request(sent.method, url.path, url.query, headers, sent.body)
        _CHANCE.start(2 * number)
        answer = self._service.serve(request, _Connection())
        _CHANCE.start(2 * number + 1)
        if answer is None:
            return Failure(FailureKind.DROPPED, "the connection was dropped without an answer")
        if any(name.lower() in _FRAMED_BY_THE_SERVER for name, _ in answer.headers):
            raise ValueError("a service that frames its answers is declared with ON_THE_WIRE")
        body = b"" if answer.status in (204, 304) else answer.body
        return _response(answer.status, (("Server", "pix-sandbox"), *answer.headers), body)

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""


@lru_cache(maxsize=2_000)
def _response(status: int, headers: exchange.Headers, body: bytes) -> Response:
    """The same response wherever an answer is the same: what is read of it is kept beside it."""
    return Response(status, headers, body)


class _Chance:
    """What is drawn in memory. Most answers draw nothing: to seed for each of them would take a tenth of a trial."""

    def start(self, place: int) -> None:
        """Draw what depends on this place in the trial alone."""
        self._place, self._random = place, None

    def randbytes(self, size: int) -> bytes:
        self._random = self._random or random.Random(self._place)
        return self._random.randbytes(size)


_CHANCE = _Chance()


@contextmanager
def _in_no_time() -> Iterator[Callable[[float], None]]:
    """Nothing takes time. A sleep, of the door or of the service, puts the clock forward; yields that."""
    slept_s, now, today = 0.0, time.monotonic(), _TODAY

    def sleep(seconds: float) -> None:
        nonlocal slept_s
        slept_s += max(0.0, seconds)

    clock = {
        "sleep": sleep,
        "monotonic": lambda: now + slept_s,
        "time": lambda: today + slept_s,
        "time_ns": lambda: int((today + slept_s) * 1e9),
    }
    with mock.patch.multiple(time, **clock):
        yield sleep


@contextmanager
def _without_chance() -> Iterator[None]:
    """What is drawn is the same each time."""
    _CHANCE.start(0)
    random.seed(0)
    draw = _CHANCE.randbytes
    with mock.patch.object(os, "urandom", draw), mock.patch.object(random, "_urandom", draw):
        yield


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
def collected() -> _Collected:
    """The tests, collected once in each process."""
    kept = _Collected()
    pytest.main([*PYTEST, "--collect-only", str(CONFORMANCE)], plugins=[kept])
    return kept


def conformance_tests(ids: Container[str] | None = None, *, generated: bool = False) -> list[Any]:
    """The conformance tests of these requirements, or of all; with `generated`, those of the generated traffic, too."""
    items = [item for item in collected().items if generated or not item.get_closest_marker("property")]
    return [item for item in items if ids is None or item.get_closest_marker("requirement").args[0] in ids]


def _sent_in_no_time(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    with _in_no_time() as door.ending.sleep:
        door.ending.clock = time.monotonic
        return _send(run, door, items)


def _send(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    """Send all that these tests judge."""
    config = collected().config
    session = session_of(run, door, open_client(door, run.profile))
    run.unreachable = preflight(session.client)
    config.stash[SESSION] = session
    return SentInTrial(session, send_and_clean_up(config, session, items), items)


def _call(session: Session, item: Any, supplied: dict[str, Any]) -> None:
    """Call a test with what its fixtures give. One that ends otherwise than a test may is an error of the suite."""

    def supply(item: Any, names: Sequence[str]) -> dict[str, Any]:
        for name in names:
            if name not in supplied:
                fixture = item._fixtureinfo.name2fixturedefs[name][-1]
                supplied[name] = fixture.func(**supply(item, fixture.argnames))
        return {name: supplied[name] for name in names}

    supplied["pytestconfig"] = collected().config
    params = item.callspec.params if hasattr(item, "callspec") else {}
    ended = None
    try:
        begin_test(item, session.profile)
        supply(item, [name for marker in item.iter_markers("usefixtures") for name in marker.args])
        names = [name for name in item._fixtureinfo.argnames if name not in params]
        item.obj(**supply(item, names), **params)
    except (DeviationError, Untested) as error:
        ended = error
    record_test(take_assertions(item, session, ended), session)
