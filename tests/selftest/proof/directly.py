"""Trials without pytest: they send the requests of a run, and then call the conformance tests as functions.

A trial is a run of the suite against one service of the proof. All requests go through the door, as in a real run. A
trial without pytest and without a network is many times faster than a real run.

| trial | requests | judged |
|---|---|---|
| over HTTP | are sent over sockets | by all tests |
| with threads | are given to a service in this process, several at once | by all tests |
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
"""The time at which this process began, in seconds since 1970. In trials that take no time the clock starts with it."""
for _module, _name in (
    (models, "parse_url"),
    (models, "requote_uri"),
    (interface, "_paths_as_servers_may_read"),
    (bodies, "_read"),
):
    # The results of these functions are kept, because every service gets the same requests.
    setattr(_module, _name, lru_cache(maxsize=2_000)(getattr(_module, _name)))
_FRAMED_BY_THE_SERVER = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that say how a body is written to a socket. Without a socket they mean nothing."""


@dataclass(frozen=True)
class OutcomeOnSandbox:
    """The outcome of one test on the sandbox."""

    results: Sequence[RequirementResult]
    observations: Sequence[Observation]
    exchanges_read: frozenset[int]
    """The numbers of the exchanges that the test reads from the log."""


@dataclass(frozen=True)
class SentInTrial:
    """The traffic of a trial with its answers, and the tests that judge it."""

    session: Session
    """The objects of the run: its profile, its door, its client, its record and more."""
    sent: RunTraffic
    """What was sent, as the fixtures of the tests give it."""
    items: Sequence[Any]
    """The tests, as pytest collected them."""
    outcomes: Mapping[str, OutcomeOnSandbox] = field(default_factory=dict)
    """The outcomes of tests that need not be called, by the ids of the tests."""

    @property
    def requests(self) -> list[exchange.Request]:
        """The requests that were sent, in their order."""
        return [exchange.request for exchange in self.session.door.exchanges]

    @property
    def log(self) -> Log:
        """The requests that were sent, each with its answer and its purpose."""
        return self.session.door.log

    def judge(self) -> Trial:
        """Call the tests, and return the result of the trial. A test with a known outcome (`outcomes`) is not called."""
        run = self.session.run
        call = self.caller_of_tests()
        supplied = {}  # the values of fixtures by name, which the tests share
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

    def caller_of_tests(self) -> Callable[[Any, dict[str, Any]], None]:
        """A function that calls one test of this run, and adds its results to the record of the run.

        Its parameters are the test, as pytest collected it, and the values of fixtures by name (see `_call`).
        """
        config = collected_tests().config
        config.stash[SESSION], config.stash[RUN_TRAFFIC] = self.session, self.sent
        return partial(_call, self.session)


def try_in_memory(service: Service, environment: str = "sandbox", **selected: Any) -> Trial:
    """Try a service in this process: send the requests one at a time, call the tests, and return the result.

    `environment` is the name of a profile, and `selected` are further parameters of `sent_in_memory`.
    """
    return sent_in_memory(service, environment, **selected).judge()


def sent_in_memory(
    service: Service,
    environment: str = "sandbox",
    *,
    ids: Container[str] | None = None,
    generated: bool = False,
    examples: int | None = 2,
) -> SentInTrial:
    """Send the requests of a run to a service in this process, one at a time, and return them with their answers.

    They are the requests for the requirements with these ids, or for all requirements if `ids` is None. With
    `generated` there are also generated requests: few of them, or as many as by default if `examples` is None.
    """
    run = Run(_profile(environment, 1, examples), "http://127.0.0.1", narrowed=ids is not None)
    chosen = conformance_tests(ids, generated=generated)
    with _without_chance():
        door = open_door_for_plan(run.profile, service.token, _MemoryWire(service), codes_to_resend=())
        return _sent_in_no_time(run, door, chosen)


def trial_by_replay(service: Service, environment: str = "sandbox") -> Trial:
    """Try a service by replay: give it the requests that the sandbox got, call the tests, and return the result.

    That is right for a service that differs from the sandbox only in its answers. Only the tests are called that read
    an answer which differs from that of the sandbox. The other tests have the same outcome as on the sandbox.
    """
    sent = sent_to_the_sandbox(environment)
    wire = _MemoryWire(service)
    service.token = sent.session.door.secrets.token()
    exchange_by_number: dict[int, Exchange] = {}
    differing_numbers: set[int] = set()
    with _in_no_time(), _without_chance():
        for exchange_of_sandbox in sent.session.door.exchanges:
            number = exchange_of_sandbox.number
            answer = wire.answer(number, exchange_of_sandbox.request)
            is_the_answer_of_the_sandbox = answer == exchange_of_sandbox.response
            if is_the_answer_of_the_sandbox:
                exchange_by_number[number] = exchange_of_sandbox
            else:
                exchange_by_number[number] = replace(exchange_of_sandbox, response=answer)
                differing_numbers.add(number)
    known_outcomes = {}
    for test, outcome in outcomes_on_the_sandbox(environment).items():
        reads_no_differing_answer = outcome.exchanges_read.isdisjoint(differing_numbers)
        if reads_no_differing_answer:
            known_outcomes[test] = outcome
    log = Log(exchange_by_number.get(exchange.number, exchange) for exchange in sent.session.door.log)
    return replace(_with_log(sent, log), outcomes=known_outcomes).judge()


def _with_log(trial: SentInTrial, log: Log) -> SentInTrial:
    """A copy of the traffic of a trial with other answers: those in this log.

    The copy has a record (`Run`), a door and a session of its own, so that the old trial does not change. `log` has the
    same requests with the same numbers.
    """
    old = trial.session
    run = Run(old.profile, old.run.base_url)
    exchanges = log.attempts()
    door = copy(old.door)
    door.exchanges = exchanges
    door.log = log
    door.sent_again = {}  # by number of an exchange, the exchange in which the request was sent once more, or None
    for number, repetition in old.door.sent_again.items():
        door.sent_again[number] = exchanges[repetition.number - 1] if repetition else None
    client = copy(old.client)
    client.door = door
    session = session_of(run, door, client)
    traffic = copy(trial.sent.traffic)
    traffic.client, traffic.reproduction = client, session.reproduction
    return replace(trial, session=session, sent=replace(trial.sent, traffic=traffic))


class _LogThatNotesItsReaders(Log):
    """A log that notes the numbers of the exchanges that a test reads from it. All else is as in `Log`."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        """`exchanges` are those of the log. None of them is noted as read yet."""
        self.numbers_read: set[int] = set()
        super().__init__(exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        """All exchanges, which are noted as read."""
        return iter(self._noted(list(super().__iter__())))

    def of(self, operation: str, *purposes: Purpose) -> list[Exchange]:
        """The exchanges of the operation with these purposes, which are noted as read."""
        return self._noted(super().of(operation, *purposes))

    def with_purpose(self, *purposes: Purpose) -> list[Exchange]:
        """The exchanges with these purposes, which are noted as read."""
        return self._noted(super().with_purpose(*purposes))

    def valid(self, operation: str, generator: str = "") -> list[Exchange]:
        """The exchanges of the operation with a valid request, which are noted as read."""
        return self._noted(super().valid(operation, generator))

    def attempts(self, operation: str | None = None) -> list[Exchange]:
        """Every attempt to send a request to the operation, or to any operation. The exchanges are noted as read."""
        return self._noted(super().attempts(operation))

    def _noted(self, exchanges: list[Exchange]) -> list[Exchange]:
        """These exchanges, after their numbers were noted."""
        self.numbers_read.update(exchange.number for exchange in exchanges)
        return exchanges


@cache
def sent_to_the_sandbox(environment: str) -> SentInTrial:
    """The traffic of a whole run against the sandbox in memory. The first call in a process sends it."""
    return sent_in_memory(Service(), environment)


@cache
def outcomes_on_the_sandbox(environment: str) -> dict[str, OutcomeOnSandbox]:
    """The outcome of each test on the sandbox, by the id of the test. The first call in a process calls the tests."""
    sent = sent_to_the_sandbox(environment)
    log = _LogThatNotesItsReaders(sent.session.door.log)
    sent = _with_log(sent, log)
    run = sent.session.run
    call = sent.caller_of_tests()
    outcomes = {}
    for item in sent.items:
        results_before, observations_before = len(run.results), len(run.observations)
        log.numbers_read = set()
        call(item, {})  # no values of fixtures: else the test would not read what another test has read for it
        new_results = run.results[results_before:]
        new_observations = run.observations[observations_before:]
        outcomes[item.nodeid] = OutcomeOnSandbox(new_results, new_observations, frozenset(log.numbers_read))
    return outcomes


def run_tests_in_memory(service: Service, profile: Profile, is_selected: Callable[[Any], bool]) -> Run:
    """Run the selected tests with this profile against a service in this process, and return the record of the run.

    `is_selected` is called with each test, as pytest collected it. Requests are sent one at a time.
    """
    run = Run(profile, profile.base_url, narrowed=True)
    door = _open_door(run, service)
    door.wire = _MemoryWire(service)
    items = list(filter(is_selected, collected_tests().items))
    _sent_in_no_time(run, door, items).judge()
    return run


def try_over_http(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """Try a service over sockets: send the requests of scenarios, call the tests, and return the result.

    `parallel` is the number of requests that may be sent at once. If it is None, the profile says the number.
    """
    server_class = getattr(service, "SERVER", Server)  # some services need a server of their own
    with server_class(service) as server:
        run = Run(_profile(environment, parallel), server.base_url)
        with closing(_open_door(run, service)) as door:
            return _sent_in_a_tenth_of_the_time(run, door).judge()


def try_with_threads(service: Service, environment: str = "sandbox", parallel: int | None = None) -> Trial:
    """Try a service in this process with several threads: send the requests of scenarios, call the tests, and return
    the result.

    Several requests are inside the service at once, as over sockets, but that takes a third of the processor time.
    `parallel` is the number of requests that may be sent at once. If it is None, the profile says the number.
    """
    run = Run(_profile(environment, parallel), "http://127.0.0.1")
    with closing(_open_door(run, service)) as door:
        door.wire = _WireWithThreads(service)
        return _sent_in_a_tenth_of_the_time(run, door).judge()


def _sent_in_a_tenth_of_the_time(run: Run, door: Door) -> SentInTrial:
    """Send the requests of scenarios, and return them with their answers. Waiting takes a tenth of its usual time.

    The clock of the run goes ten times as fast, so that the run does not notice. It waits whole seconds, for example
    after a 429.
    """
    start = time.monotonic()
    real_sleep = door.run_end.sleep

    def fast_clock() -> float:
        """Seconds, of which ten pass while one second of the machine passes."""
        return start + 10 * (time.monotonic() - start)

    def short_sleep(seconds: float) -> None:
        """Sleep for a tenth of these seconds."""
        real_sleep(seconds / 10)

    door.run_end.clock = fast_clock
    door.run_end.sleep = short_sleep
    return _send(run, door, conformance_tests())


def _open_door(run: Run, service: Service) -> Door:
    """Open the door of a run (the only way by which its requests leave), with the token that the service accepts."""
    secrets = listed_secrets(run.profile)
    secrets.learn_token(service.token)
    return open_door(run.profile, Target(run.base_url, secrets))


class _Connection:
    """In the place of the socket of a connection, for a service in this process."""

    def getpeername(self) -> tuple[str, int]:
        """The address and the port of the client. They are the same for all requests."""
        return "127.0.0.1", 1

    def shutdown(self, how: int) -> None:
        """Do nothing. A service that hangs up calls this, and then returns no answer."""


class _MemoryWire:
    """In the place of the network: it gives requests to a service in this process.

    Random values of the service and of the suite depend only on the number of the request. So each trial has the same.
    """

    def __init__(self, service: Service) -> None:
        """`service` answers the requests."""
        self._service = service
        self._attempts = 0  # the number of requests so far

    def attempt(self, sending: Sending) -> Response | Failure:
        """The answer of the service to the next request. The door calls it in the place of a network."""
        self._attempts += 1
        return self.answer(self._attempts, sending.plain_request)

    def answer(self, number: int, sent: exchange.Request) -> Response | Failure:
        """The answer of the service to the request with this number; a failure if the service hangs up.

        ValueError if the service itself says how its answer is written to a socket, such as in chunks: that shows only
        over sockets.
        """
        url, headers = urlsplit(sent.url), {name.lower(): value for name, value in sent.headers}
        request = Request(sent.method, url.path, url.query, headers, sent.body)
        _RANDOM_BYTES.start_at(2 * number)  # for the service
        answer = self._service.serve(request, _Connection())
        _RANDOM_BYTES.start_at(2 * number + 1)  # for the suite
        if answer is None:
            return Failure(FailureKind.DROPPED, "the connection was dropped without an answer")
        if any(name.lower() in _FRAMED_BY_THE_SERVER for name, _ in answer.headers):
            raise ValueError("a service that frames its answers is declared with ON_THE_WIRE")
        body = b"" if answer.status in (204, 304) else answer.body
        return _response(answer.status, (("Server", "pix-sandbox"), *answer.headers), body)

    def connect(self, base_url: str) -> str:
        """Connect to nothing. The empty text means that no error occurred."""
        return ""

    def close(self) -> None:
        """Close nothing, because nothing was opened."""


class _WireWithThreads(_MemoryWire):
    """In the place of the network: several threads may give requests to a service in this process at the same moment.

    Which request comes first depends on the threads, as over sockets.
    """

    def attempt(self, sending: Sending) -> Response | Failure:
        """The answer of the service to a request of this thread."""
        return self.answer(0, sending.plain_request)  # the number would only matter for random values


@lru_cache(maxsize=2_000)
def _response(status: int, headers: exchange.Headers, body: bytes) -> Response:
    """A response: the same object for equal arguments, so that the suite reads the facts of each answer only once."""
    return Response(status, headers, body)


class _RepeatableBytes:
    """Random bytes that are the same in each trial: they depend only on a number, such as that of the request.

    Most answers need no random bytes. So the generator is made only if bytes are asked for: to make it for each answer
    takes a tenth of a trial.
    """

    def start_at(self, seed: int) -> None:
        """Let the bytes from now on depend on this number alone."""
        self._seed = seed
        self._random = None

    def randbytes(self, size: int) -> bytes:
        """The next random bytes, as many as `size` says."""
        if self._random is None:
            self._random = random.Random(self._seed)
        return self._random.randbytes(size)


_RANDOM_BYTES = _RepeatableBytes()


@contextmanager
def _in_no_time() -> Iterator[Callable[[float], None]]:
    """Make waiting take no time inside the block: `time.sleep` only moves the clocks of Python forward.

    Yields the function that replaces `time.sleep`.
    """
    slept_s = 0.0
    now = time.monotonic()

    def sleep(seconds: float) -> None:
        """Move the clocks forward by these seconds."""
        nonlocal slept_s
        slept_s += max(0.0, seconds)

    clock = {
        "sleep": sleep,
        "monotonic": lambda: now + slept_s,
        "time": lambda: _TODAY + slept_s,
        "time_ns": lambda: int((_TODAY + slept_s) * 1e9),
    }
    with mock.patch.multiple(time, **clock):
        yield sleep


@contextmanager
def _without_chance() -> Iterator[None]:
    """Make all random values repeatable inside the block: each trial gets the same."""
    _RANDOM_BYTES.start_at(0)
    random.seed(0)
    draw = _RANDOM_BYTES.randbytes
    with mock.patch.object(os, "urandom", draw), mock.patch.object(random, "_urandom", draw):
        yield


@cache
def _profile(environment: str, parallel: int | None, examples: int | None = 2) -> Profile:
    """The profile of this name, with the address of the sandbox that is a part of the suite, and with other limits.

    `parallel` is the number of requests that may be sent at once. If it is None, the profile says the number.
    `examples` is the number of generated requests for each operation, and None means the default.
    """
    profile = load(environment)
    limits = replace(profile.limits, parallel=parallel or profile.limits.parallel, examples=examples)
    return replace(profile, base_url=EMBEDDED, limits=limits)


class _CollectedTests:
    """A plugin of pytest that keeps the configuration of pytest (`config`) and the tests that it collects (`items`)."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep both when pytest has collected the tests."""
        self.config = session.config
        self.items = session.items


@cache
def collected_tests() -> _CollectedTests:
    """The conformance tests with the configuration of pytest. The first call in a process has pytest collect them."""
    tests = _CollectedTests()
    pytest.main([*QUIET_PYTEST, "--collect-only", str(CONFORMANCE)], plugins=[tests])
    return tests


def conformance_tests(ids: Container[str] | None = None, *, generated: bool = False) -> list[Any]:
    """The conformance tests of the requirements with these ids, or of all requirements if `ids` is None.

    The tests are as pytest collected them. Tests that judge generated requests are left out, unless `generated` is true.
    """
    tests = []
    for item in collected_tests().items:
        judges_generated_requests = item.get_closest_marker("property") is not None
        requirement_id = item.get_closest_marker("requirement").args[0]
        is_selected = ids is None or requirement_id in ids
        if is_selected and (generated or not judges_generated_requests):
            tests.append(item)
    return tests


def _sent_in_no_time(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    """Send the requests whose answers these tests judge, and return them. Waiting takes no time."""
    with _in_no_time() as sleep:
        door.run_end.sleep = sleep
        door.run_end.clock = time.monotonic
        return _send(run, door, items)


def _send(run: Run, door: Door, items: Sequence[Any]) -> SentInTrial:
    """Send the requests whose answers these tests judge, and return them with their answers.

    The preflight is sent first: the request that finds out whether the service can be reached.
    """
    config = collected_tests().config
    session = session_of(run, door, open_client(door, run.profile))
    run.unreachable = preflight(session.client)
    config.stash[SESSION] = session
    return SentInTrial(session, send_and_clean_up(config, session, items), items)


def _call(session: Session, item: Any, supplied: dict[str, Any]) -> None:
    """Call a test (`item`, as pytest collected it) with the values of its fixtures, and record its results.

    `supplied` has the values of fixtures by name. Values that this test needs are added to it. A test may raise the two
    exceptions by which it fails or is skipped. Any other exception is an error of the suite, and is not caught.
    """

    def supply(item: Any, names: Sequence[str]) -> dict[str, Any]:
        """The values of these fixtures by name. A fixture is called if its value is not known yet.

        A fixture may itself have fixtures as parameters, which are called before.
        """
        for name in names:
            if name not in supplied:
                fixture = item._fixtureinfo.name2fixturedefs[name][-1]  # pytest uses the last fixture of a name
                supplied[name] = fixture.func(**supply(item, fixture.argnames))
        return {name: supplied[name] for name in names}

    supplied["pytestconfig"] = collected_tests().config
    params = item.callspec.params if hasattr(item, "callspec") else {}  # the values of @pytest.mark.parametrize
    outcome = None
    try:
        begin_test(item, session.profile)
        supply(item, [name for marker in item.iter_markers("usefixtures") for name in marker.args])
        names = [name for name in item._fixtureinfo.argnames if name not in params]
        item.obj(**supply(item, names), **params)
    except (DeviationError, Untested) as error:
        outcome = error
    record_test(collect_results(item, session, outcome), session)
