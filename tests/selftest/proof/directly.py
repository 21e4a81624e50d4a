"""A trial without pytest: the traffic of a run through its door, and then the conformance tests, called as functions.

| trial | requests | judged |
|---|---|---|
| over HTTP, or with threads | are sent through the door, as in a run | by all tests |
| in memory | are given to a service in this process, one at a time; waiting takes no time | by all tests |
| by replay | are those that the sandbox got in its own trial, in the same order | by the tests that read a changed answer |

A replay is for a service that differs from the sandbox only in its answers. A test that reads no changed answer has the
outcome that it has on the sandbox.
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
from environments.door.opening import open_client, open_door, open_door_for_plan
from environments.door.outgoing import Sending
from environments.door.preflight import preflight
from environments.profiles.loading import load
from environments.profiles.model import EMBEDDED, Profile
from environments.sandbox import Request, Server, Service
from environments.secret_values import listed_secrets
from reports.result.run import Observation, Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RequirementResult
from reports.showing.evidence import shown_in_outline
from spec import exchange, interface
from spec.exchange import Exchange, Failure, FailureKind, Purpose, Response
from spec.log import Log
from tests.harness.finishing import close_record
from tests.harness.judging import DeviationError, Untested
from tests.harness.session import SESSION, Session, session_of
from tests.harness.watching import begin_test, collect_results, record_test
from tests.selftest.proof.trial import CONFORMANCE, QUIET_PYTEST, Trial, results_by_requirement
from tests.traffic.phases import RUN_TRAFFIC, RunTraffic, send_and_clean_up

_TODAY = time.time()
for _module, _name in (
    (models, "parse_url"),
    (models, "requote_uri"),
    (interface, "_paths_as_servers_may_read"),
    (bodies, "_read"),
):
    setattr(_module, _name, lru_cache(maxsize=2_000)(getattr(_module, _name)))  # the same is sent to every service
_FRAMED_BY_THE_SERVER = ("content-encoding", "content-length", "transfer-encoding")


@dataclass(frozen=True)
class OutcomeOnSandbox:
    """The outcome of a test on the sandbox, and the numbers of the exchanges that it reads from the log."""

    results: Sequence[RequirementResult]
    observations: Sequence[Observation]
    asked_for: frozenset[int]


@dataclass(frozen=True)
class SentInTrial:
    """The traffic of a trial with its answers, and the tests that judge it."""

    session: Session
    sent: RunTraffic
    items: Sequence[Any]
    outcomes: Mapping[str, OutcomeOnSandbox] = field(default_factory=dict)
    """The outcomes of tests that need not be called, by the ids of the tests."""

    @property
    def requests(self) -> list[exchange.Request]:
        """The requests in their order."""
        return [exchange.request for exchange in self.session.door.exchanges]

    def judge(self) -> Trial:
        """Call the tests that have no outcome yet, and return the trial."""
        run = self.session.run
        call = self.caller()
        supplied = {}  # the values of fixtures, which the tests share
        for item in self.items:
            outcome = self.outcomes.get(item.nodeid)
            if outcome:
                run.results += outcome.results
                run.observations += outcome.observations
            else:
                call(item, supplied)
        close_record(self.session)
        run.exchanges = {exchange.number: shown_in_outline(exchange) for exchange in self.session.door.exchanges}
        run.close()
        result = result_of_run(run)
        notes = tuple(str(note.text) for note in result.notes)
        return Trial(
            result.verdict.exit_status, results_by_requirement(result), run.requests, tuple(run.errors), notes=notes
        )

    def caller(self) -> Callable[[Any, dict[str, Any]], None]:
        """A function that calls one test of this run with the values of its fixtures."""
        config = collected_tests().config
        config.stash[SESSION], config.stash[RUN_TRAFFIC] = self.session, self.sent
        return partial(_call, self.session)


def try_in_memory(service: Service, environment: str = "sandbox", **selected: Any) -> Trial:
    """The trial of the tests against a service in this process, one request at a time."""
    return sent_in_memory(service, environment, **selected).judge()


def sent_in_memory(
    service: Service,
    environment: str = "sandbox",
    *,
    ids: Container[str] | None = None,
    generated: bool = False,
    examples: int | None = 2,
) -> SentInTrial:
    """The traffic for the tests of these requirements, or of all.

    With `generated`, a little generated traffic is included, or the default amount if `examples` is None.
    """
    run = Run(_profile(environment, 1, examples), "http://127.0.0.1", narrowed=ids is not None)
    chosen = conformance_tests(ids, generated=generated)
    with _without_chance():
        door = open_door_for_plan(run.profile, service.token, _MemoryWire(service), codes_to_resend=())
        return _sent_in_no_time(run, door, chosen)


def trial_by_replay(service: Service, environment: str = "sandbox") -> Trial:
    """The trial of a service that differs from the sandbox only in its answers, so that it gets the sandbox's requests.

    Only the tests that read an answer which differs are called.
    """
    sent = sent_to_the_sandbox(environment)
    memory = _MemoryWire(service)
    service.token = sent.session.door.secrets.token()
    exchange_by_number: dict[int, Exchange] = {}
    differing_numbers: set[int] = set()
    with _in_no_time(), _without_chance():
        for exchange_of_sandbox in sent.session.door.exchanges:
            number = exchange_of_sandbox.number
            answer = memory.answer(number, exchange_of_sandbox.request)
            if answer == exchange_of_sandbox.response:
                exchange_by_number[number] = exchange_of_sandbox
            else:
                exchange_by_number[number] = replace(exchange_of_sandbox, response=answer)
                differing_numbers.add(number)
    known_outcomes = {
        test: outcome
        for test, outcome in outcomes_on_the_sandbox(environment).items()
        if outcome.asked_for.isdisjoint(differing_numbers)
    }
    log = Log(exchange_by_number.get(exchange.number, exchange) for exchange in sent.session.door.log)
    return replace(_with_log(sent, log), outcomes=known_outcomes).judge()


def _with_log(trial: SentInTrial, log: Log) -> SentInTrial:
    """The same traffic with another log, in a run and a session of its own."""
    old = trial.session
    run, door, client = Run(old.profile, old.run.base_url), copy(old.door), copy(old.client)
    door.exchanges, door.log, client.door = log.attempts(), log, door
    door.sent_again = {
        number: repetition and log.attempts()[repetition.number - 1] for number, repetition in door.sent_again.items()
    }
    session = session_of(run, door, client)
    traffic = copy(trial.sent.traffic)
    traffic.client, traffic.reproduction = client, session.reproduction
    return replace(trial, session=session, sent=replace(trial.sent, traffic=traffic))


class _AskedLog(Log):
    """A log that notes the numbers of the exchanges that are read from it."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self.asked_for: set[int] = set()
        super().__init__(exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self._noted(list(super().__iter__())))

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        return self._noted(super().of(operation, *purposes))

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        return self._noted(super().with_purpose(*purposes))

    def valid(self, operation: str, generator: str = "") -> list[Exchange]:
        return self._noted(super().valid(operation, generator))

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        return self._noted(super().attempts(operation))

    def _noted(self, exchanges: list[Exchange]) -> list[Exchange]:
        self.asked_for.update(exchange.number for exchange in exchanges)
        return exchanges


@cache
def sent_to_the_sandbox(environment: str) -> SentInTrial:
    """The traffic to the sandbox, sent once in each process."""
    return sent_in_memory(Service(), environment)


@cache
def outcomes_on_the_sandbox(environment: str) -> dict[str, OutcomeOnSandbox]:
    """The outcome of each test on the sandbox, by the id of the test."""
    trial = sent_to_the_sandbox(environment)
    log = _AskedLog(trial.session.door.log)
    trial = _with_log(trial, log)
    run, call = trial.session.run, trial.caller()
    outcomes = {}
    for item in trial.items:
        results_before, observations_before = len(run.results), len(run.observations)
        log.asked_for = set()
        call(item, {})  # no fixture is shared, so that the test asks for all that it reads
        new_results = run.results[results_before:]
        new_observations = run.observations[observations_before:]
        outcomes[item.nodeid] = OutcomeOnSandbox(new_results, new_observations, frozenset(log.asked_for))
    return outcomes


def run_tests_in_memory(service: Service, profile: Profile, is_selected: Callable[[Any], bool]) -> Run:
    """The model of a run with this profile, one request at a time, of the tests that `is_selected` picks."""
    run = Run(profile, profile.base_url, narrowed=True)
    door = _open(run, service)
    door.wire = _MemoryWire(service)
    _sent_in_no_time(run, door, list(filter(is_selected, collected_tests().items))).judge()
    return run


def try_over_http(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """The trial of the targeted tests over sockets, with this number of requests at once, or that of the profile."""
    with getattr(service, "SERVER", Server)(service) as server:
        run = Run(_profile(environment, parallel), server.base_url)
        with closing(_open(run, service)) as door:
            return _sent_in_a_tenth_of_the_time(run, door).judge()


def try_with_threads(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """The trial of the targeted tests against a service in this process, with this number of requests at once, or that
    of the profile.

    Requests meet inside the service as they do over sockets, in a third of the processor time.
    """
    run = Run(_profile(environment, parallel), "http://127.0.0.1")
    with closing(_open(run, service)) as door:
        door.wire = _WireWithThreads(service)
        return _sent_in_a_tenth_of_the_time(run, door).judge()


def _sent_in_a_tenth_of_the_time(run: Run, door: Door) -> SentInTrial:
    """Send the traffic of a trial. Waits of the door, which are whole seconds, take a tenth of their time."""
    start, sleep = time.monotonic(), door.run_end.sleep
    door.run_end.clock = lambda: start + 10 * (time.monotonic() - start)
    door.run_end.sleep = lambda seconds: sleep(seconds / 10)
    return _send(run, door, conformance_tests())


def _open(run: Run, service: Service) -> Door:
    """The door of a run against the service, whose token it knows."""
    secrets = listed_secrets(run.profile)
    secrets.learn_token(service.token)
    return open_door(run.profile, Target(run.base_url, secrets))


class _Connection:
    """The only connection that a service in this process sees."""

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", 1

    def shutdown(self, how: int) -> None:
        """The service hangs up: it returns no answer."""


class _MemoryWire:
    """A wire to a service in this process.

    Random values of the service and of the suite depend only on the number of the request.
    """

    def __init__(self, service: Service) -> None:
        self._service, self._attempts = service, 0

    def attempt(self, sending: Sending) -> Response | Failure:
        """The answer of the service to the next request."""
        self._attempts += 1
        return self.answer(self._attempts, sending.plain_request)

    def answer(self, number: int, sent: exchange.Request) -> Response | Failure:
        """The answer of the service to a request.

        A service that hangs up gives a failure. ValueError for an answer that only a socket shows.
        """
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


class _WireWithThreads(_MemoryWire):
    """A wire to a service in this process, on which several threads may send at the same moment.

    Nothing is random here, and which request comes first is a matter of the threads, as over sockets.
    """

    def attempt(self, sending: Sending) -> Response | Failure:
        """The answer of the service to a request of this thread."""
        return self.answer(0, sending.plain_request)


@lru_cache(maxsize=2_000)
def _response(status: int, headers: exchange.Headers, body: bytes) -> Response:
    """The same object for equal responses, because the facts that are read from it are kept beside it."""
    return Response(status, headers, body)


class _ChanceOfAPlace:
    """Random bytes that depend on a place in the trial.

    It is seeded only when bytes are drawn, because most answers draw none and seeding takes a tenth of a trial.
    """

    def start(self, place: int) -> None:
        """From here on bytes depend on this place alone."""
        self._place, self._random = place, None

    def randbytes(self, size: int) -> bytes:
        self._random = self._random or random.Random(self._place)
        return self._random.randbytes(size)


_CHANCE = _ChanceOfAPlace()


@contextmanager
def _in_no_time() -> Iterator[Callable[[float], None]]:
    """Inside the block nothing takes time: a sleep of the door or of the service puts the clock forward.

    Yields that sleep.
    """
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
    """Inside the block random bytes are the same each time."""
    _CHANCE.start(0)
    random.seed(0)
    draw = _CHANCE.randbytes
    with mock.patch.object(os, "urandom", draw), mock.patch.object(random, "_urandom", draw):
        yield


@cache
def _profile(environment: str, parallel: int | None, examples: int | None = 2) -> Profile:
    """A profile with this number of requests at once, or its own, and with this number of drawn examples."""
    profile = load(environment)
    limits = replace(profile.limits, parallel=parallel or profile.limits.parallel, examples=examples)
    return replace(profile, base_url=EMBEDDED, limits=limits)


class _CollectedTests:
    """A plugin that keeps the configuration and the tests that pytest collects."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.config, self.items = session.config, session.items


@cache
def collected_tests() -> _CollectedTests:
    """The conformance tests, collected once in each process."""
    tests = _CollectedTests()
    pytest.main([*QUIET_PYTEST, "--collect-only", str(CONFORMANCE)], plugins=[tests])
    return tests


def conformance_tests(ids: Container[str] | None = None, *, generated: bool = False) -> list[Any]:
    """The conformance tests of these requirements, or of all; with `generated`, those of generated traffic, too."""
    items = [item for item in collected_tests().items if generated or not item.get_closest_marker("property")]
    return [item for item in items if ids is None or item.get_closest_marker("requirement").args[0] in ids]


def _sent_in_no_time(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    """Send the traffic that these tests judge. No wait takes time."""
    with _in_no_time() as door.run_end.sleep:
        door.run_end.clock = time.monotonic
        return _send(run, door, items)


def _send(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    """Send the traffic that these tests judge."""
    config = collected_tests().config
    session = session_of(run, door, open_client(door, run.profile))
    run.unreachable = preflight(session.client)
    config.stash[SESSION] = session
    return SentInTrial(session, send_and_clean_up(config, session, items), items)


def _call(session: Session, item: Any, supplied: dict[str, Any]) -> None:
    """Call a test with the values of its fixtures. An exception that a test may not raise is an error of the suite."""

    def supply(item: Any, names: Sequence[str]) -> dict[str, Any]:
        """The values of these fixtures, by name. A fixture may itself have fixtures as arguments."""
        for name in names:
            if name not in supplied:
                fixture = item._fixtureinfo.name2fixturedefs[name][-1]
                supplied[name] = fixture.func(**supply(item, fixture.argnames))
        return {name: supplied[name] for name in names}

    supplied["pytestconfig"] = collected_tests().config
    params = item.callspec.params if hasattr(item, "callspec") else {}
    outcome = None
    try:
        begin_test(item, session.profile)
        supply(item, [name for marker in item.iter_markers("usefixtures") for name in marker.args])
        names = [name for name in item._fixtureinfo.argnames if name not in params]
        item.obj(**supply(item, names), **params)
    except (DeviationError, Untested) as error:
        outcome = error
    record_test(collect_results(item, session, outcome), session)
