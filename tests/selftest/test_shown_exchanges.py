"""Which exchanges are shown whole: those that something cites, and those that nobody expected."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.door.run_keys import RunKey
from environments.profiles.loading import load
from environments.secret_values import listed_secrets
from reports.run import Run
from reports.verdicts import RequirementResult
from spec.exchange import Failure, FailureKind
from tests.harness import collector as module
from tests.harness.collector import Collector
from tests.selftest.exchanges import EXECUTION, answer
from tests.selftest.services.forking import ROOT

ID = "executePix.digit.present"
GRANTED = answer("executePix", {"code": 0, "data": EXECUTION})
REFUSED = answer("executePix", {"code": 404}, status=404, valid=False)
LOST = replace(REFUSED, response=None, failure=Failure(FailureKind.TIMEOUT, "late"))


def close(monkeypatch, *exchanges, results=(), shows=True, left=()):
    """By number, whether an exchange is shown whole. The results are (verdict, numbers of exchanges); `left` is the
    number of an exchange that registered a key which is still there."""
    monkeypatch.setattr(module, "notes_of", lambda *_: ())
    key = RunKey("a synthetic key", "EMAIL", "", "", owned=False, exchanges=[*left])
    door = SimpleNamespace(
        exchanges=[replace(one, number=number) for number, one in enumerate(exchanges, 1)],
        unsent={},
        keys=SimpleNamespace(not_cleaned_up=lambda: [key] * bool(left)),
        liveness=SimpleNamespace(unreachable=""),
        guard=SimpleNamespace(
            sent=0,
            unknown=[],
            journal_trouble="",
            supplied_trouble="",
            prepared=SimpleNamespace(not_executed=lambda sent: []),
        ),
    )
    run = Run(load("sandbox", folder=ROOT / "environments"), "http://127.0.0.1:1")
    run.results += (RequirementResult(ID, verdict, exchanges=numbers) for verdict, numbers in results)
    Collector(run, listed_secrets(run.profile), door, shows=shows).close()
    return {one["number"]: bool(one["curl"]) for one in run.exchanges.values()}


def test_what_a_result_cites_is_whole(monkeypatch):
    """Whatever its verdict."""
    shown = close(monkeypatch, GRANTED, GRANTED, GRANTED, results=[("pass", (2,)), ("warn", (2, 3))])

    assert shown == {1: False, 2: True, 3: True}


def test_without_files_what_fails_is_whole(monkeypatch):
    """The terminal shows it; nothing else is made."""
    results = [("pass", (1,)), ("fail", (2,))]

    assert close(monkeypatch, GRANTED, GRANTED, LOST, results=results, shows=False) == {1: False, 2: True, 3: False}


@pytest.mark.parametrize(
    ("exchange", "whole"),
    [
        (LOST, True),
        (replace(REFUSED, valid=True), True),
        (REFUSED, False),
        (replace(LOST, part="executePix.fuzzing"), False),
    ],
)
def test_what_nobody_expected_is_whole(monkeypatch, exchange, whole):
    """No answer, or a refusal where a success was due; of generated traffic what a result cites."""
    assert close(monkeypatch, exchange) == {1: whole}


def test_what_tells_of_a_key_that_is_left_is_whole(monkeypatch):
    """The report names the exchange."""
    assert close(monkeypatch, GRANTED, GRANTED, left=[2]) == {1: False, 2: True}
