"""In every process that runs tests: judges by level, and sends what was found and its evidence with each report."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

import pytest

from environments.door.door import Door
from environments.door.liveness import GONE, UnreachableError
from environments.door.prepared_transfers import codes_told
from environments.profiles.profile import Profile, today
from environments.secrets import POSSIBLE_CODE, Secrets, listed_secrets
from reports.evidence import evidence, outline
from reports.explaining import Explained, explained, whole
from reports.first import said_first
from reports.generated import Generated
from reports.grants import Grants
from reports.redaction import redactor_of
from reports.reproducing import Preparation
from reports.run import missing_permission
from reports.verdicts import Verdict, deviation
from spec.exchange import Exchange
from spec.requirements import Requirement, ledger
from tests.harness.recorder import NotExercised, OutOfScope, Recording, RequirementsFailError, current
from tests.harness.robustness import Robustness, robustness_of

_LEARNED_FROM = 65_536
_MOST_CODES = 50
"""In one answer: each has to be sought in all that is written."""
_MOST_TARGETED, _MOST_GENERATED = 3, 12
"""Exchanges that a failure shows: those of generated traffic are different findings."""
RECORDING = pytest.StashKey[Recording]()


def requirement_of(item: pytest.Item) -> Requirement | None:
    """The ledger row that a test answers for. Raises UsageError where the marker names no row."""
    marker = item.get_closest_marker("requirement")
    if marker is None:
        return None
    row = ledger().get(marker.args[0])
    if row is None:
        raise pytest.UsageError(f"{item.nodeid}: {marker.args[0]}: no such row in spec/requirements.yaml")
    return row


class Watcher:
    """Watches the tests of this process. `shows`: evidence is sent along for the files of the report."""

    def __init__(
        self, profile: Profile, secrets: Secrets | None = None, door: Door | None = None, *, shows: bool = True
    ) -> None:
        self.profile = profile
        self.shows = shows
        self.secrets = secrets or listed_secrets(profile)
        self.redactor = redactor_of(profile, self.secrets)
        self.door = door
        self.robustness = Robustness()
        if door:
            door.listeners.append(self.robustness.listen)
        self.generated = Generated()
        self._seen = 0

    def traffic(self) -> dict[str, Any]:
        """What this process sent, and what must be said of it: plain data, redacted."""
        door = self.door
        return {
            "requests": len(door.exchanges) if door else 0,
            "executions": door.guard.sent if door else 0,
            "unreachable": self.redactor.text(door.liveness.unreachable) if door else "",
            "first": [self.redactor.text(line) for line in (said_first(door) if door else ())],
            "not_cleaned_up": list(self._not_cleaned_up()),
            "left_behind": [self.redactor.text(line) for line in self._not_executed()],
            "generated": self.generated.data(),
            "exchanges": [self._shown(seen) for seen in (door.exchanges[self._seen :] if door else [])],
            "grants": self._grants().data(),
            "unsent": _unsent(door) if door else {},
        }

    def _grants(self) -> Grants:
        grants = Grants()
        grants.see(self.door.exchanges if self.door else ())
        return grants

    def _not_cleaned_up(self) -> Iterator[dict[str, Any]]:
        """The keys that are still there for all that is known, without their values."""
        for key in self.door.keys.not_cleaned_up() if self.door else []:
            yield {"what": key.name, "why": key.state.value, "of_the_profile": key.owned, "exchanges": key.exchanges}

    def _not_executed(self) -> Iterator[str]:
        """The transfers that were prepared, and wait for their execution."""
        yield from self.door.guard.prepared.not_executed() if self.door else ()

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        row = requirement_of(item)
        if row is not None:
            item.extra_keyword_matches.add(row.id)
            if item.get_closest_marker("property") is None:
                item.add_marker(pytest.mark.xdist_group("targeted"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        row = requirement_of(item)
        if row is None:
            return
        recording = item.stash[RECORDING] = Recording(row)
        current.set(recording)
        if missing := missing_permission(row, self.profile.allow):
            raise OutOfScope(missing)
        for marker in item.iter_markers("needs"):
            if marker.args[0] not in self.profile.allow:
                raise OutOfScope(f"needs {marker.args[0]} in allow")

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """A deviation is what the level of its row says: a failure, a warning or an observation."""
        recording = pyfuncitem.stash.get(RECORDING, None)
        try:
            result = yield
        except RequirementsFailError:
            self._xfail_if_known(current.get())
            raise
        except AssertionError as error:
            if recording is None:
                raise
            recording.message = _plain(str(error))
            recording.verdict = deviation(recording.requirement.level, self.profile.fail_on)
            if recording.verdict == Verdict.FAIL:
                self._xfail_if_known(recording)
                raise
            return True
        except UnreachableError as error:
            raise NotExercised(GONE.format(error)) from None
        return result

    def _xfail_if_known(self, recording: Recording) -> None:
        known = {entry.id: entry.reason for entry in self.profile.known_failures if not entry.is_past(today())}
        if all(result.id in known for result in recording.failing):
            reasons = dict.fromkeys(known[result.id] for result in recording.failing)
            pytest.xfail(f"known failure: {'; '.join(reasons)}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        report: Any = yield
        recording = item.stash.get(RECORDING, None)
        if recording is None:
            return report
        self._take_outcome(recording, call)
        if report.failed and report.when == "call" and recording.failing:
            report.explained = self._explained(recording)
            report.longrepr = whole(report.explained)
        elif report.failed:
            report.longrepr = self.redactor.text(str(report.longrepr))
        elif report.skipped and isinstance(report.longrepr, tuple):
            report.longrepr = (*report.longrepr[:2], self.redactor.text(report.longrepr[2]))
        report.sections = [(name, self.redactor.text(text)) for name, text in report.sections]
        if report.when == "teardown":
            report.conformance = self._findings(recording)
        return report

    def _take_outcome(self, recording: Recording, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is None:
            return
        error = call.excinfo.value
        if isinstance(error, OutOfScope):
            recording.verdict, recording.message = Verdict.OUT_OF_SCOPE, str(error)
        elif isinstance(error, pytest.skip.Exception):
            recording.verdict, recording.message = Verdict.NOT_EXERCISED, str(error)
        elif isinstance(error, UnreachableError):
            recording.verdict, recording.message = Verdict.NOT_EXERCISED, GONE.format(error)
        elif not recording.failing:
            recording.error = f"{call.when}: {type(error).__name__}: {error}"
            recording.verdict, recording.message = Verdict.NOT_EXERCISED, recording.error

    def _explained(self, recording: Recording) -> Explained:
        most = _MOST_GENERATED if recording.judged else _MOST_TARGETED
        return explained(recording.failing, self._by_number(), self.redactor.text, self._evidence, most)

    def _evidence(self, exchange: Exchange) -> dict[str, Any]:
        return evidence(exchange, self.redactor, self._preparation)

    def _by_number(self) -> dict[int, Exchange]:
        return {exchange.number: exchange for exchange in self.door.exchanges} if self.door else {}

    def _findings(self, recording: Recording) -> dict[str, Any]:
        new = self.door.exchanges[self._seen :] if self.door else []
        self._seen += len(new)
        redact = self.redactor.text
        for exchange in new:
            self._learn(exchange)
        found = (recording.own, *recording.others)
        results = [
            (result.id, result.verdict.value, redact(result.message), list(result.exchanges)) for result in found
        ]
        for exchange in new:
            if exchange.number not in recording.judged:
                results += self._robust(exchange)
        return {
            "results": results,
            "error": redact(recording.error),
            "rows": [result.id for result in found],
            "observations": [
                {"id": seen.id, "value": redact(seen.value), "exchanges": list(seen.exchanges), "first": seen.first}
                for seen in recording.observations
            ],
            "exchanges": [
                *(self._shown(exchange, cited=_cites(recording, exchange)) for exchange in new),
                *self._reproducing(recording),
            ],
        }

    def _shown(self, exchange: Exchange, *, cited: bool = True) -> dict[str, Any]:
        """Evidence; an outline of what no finding cites, and where no file will hold it."""
        return self._evidence(exchange) if self.shows and cited else outline(exchange)

    @property
    def _preparation(self) -> Preparation | None:
        """The first transfer that this process prepared."""
        plan = self.profile.transactions.prepare
        seen = self.door.exchanges if plan and self.door else []
        first = next((one for one in seen if plan and one.operation == plan.operation and one.expects_success), None)
        return Preparation(first, plan.code_at) if plan and first else None

    def _reproducing(self, recording: Recording) -> list[dict[str, Any]]:
        """Where no file holds the evidence, that of the terminal: one exchange for each requirement that fails."""
        by_number = {} if self.shows or not recording.failing else self._by_number()
        first = [by_number[number] for result in recording.failing for number in result.exchanges[:1] if by_number]
        return [self._evidence(exchange) for exchange in first]

    def _learn(self, exchange: Exchange) -> None:
        """Personal values that came back, and codes that could be executed, are hidden wherever else they stand."""
        if exchange.response is None:
            return
        body, plan = exchange.response.body, self.profile.transactions.prepare
        if len(body) <= _LEARNED_FROM:
            codes = codes_told(exchange, plan.code_at if plan else "")
            self.secrets.learn(POSSIBLE_CODE, *islice(codes, _MOST_CODES))
        self.redactor.learn_from(body[:_LEARNED_FROM])

    def _robust(self, exchange: Exchange) -> Iterator[tuple[str, str, str, list[int]]]:
        """The robustness requirements, which every exchange of an operation answers for."""
        for requirement_id in robustness_of(exchange.operation):
            judgement = self.robustness.judge(requirement_id, exchange)
            if judgement.holds:
                cited = [exchange.number] if judgement.message else []
                yield requirement_id, Verdict.PASS.value, judgement.message, cited
            elif judgement.deviates:
                verdict = deviation(ledger()[requirement_id].level, self.profile.fail_on)
                yield requirement_id, verdict.value, judgement.message, [exchange.number]


def _unsent(door: Door) -> dict[str, list[str]]:
    """The operations that were not sent everything, by the limit that was reached."""
    return {why: sorted(names) for why, names in {**door.unsent, **door.retry_policy.given_up}.items()}


def _cites(recording: Recording, exchange: Exchange) -> bool:
    """Whether a finding may cite it: of generated traffic only what was found to deviate is cited."""
    return exchange.number in recording.cited or exchange.number not in recording.judged


def _plain(message: str) -> str:
    """The message of an assertion without what pytest adds to it."""
    return message.split("\nassert ")[0].strip()
