"""Which exchanges are shown whole: those that something cites, and those that nobody expected."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.door.run_keys import RunKey
from environments.profiles.loading import load
from environments.secrets import listed_secrets
from spec.exchange import Failure, FailureKind
from spec.requirements import ledger
from tests.harness import collector as module
from tests.harness.collector import Collector
from tests.harness.judging import Recording
from tests.selftest.exchanges import EXECUTION, answer
from tests.selftest.services.forking import ROOT

ID = "executePix.digit.present"
GRANTED = answer("executePix", {"code": 0, "data": EXECUTION})
REFUSED = answer("executePix", {"code": 404}, status=404, valid=False)
LOST = replace(REFUSED, response=None, failure=Failure(FailureKind.TIMEOUT, "late"))


def collector(monkeypatch, *exchanges, shows=True, left=()):
    """Of a door that has sent these; `left` is the number of an exchange that registered a key which is still there."""
    monkeypatch.setattr(module, "notes_of", lambda door: ())
    key = RunKey("a synthetic key", "EMAIL", "", "", owned=False, exchanges=[*left])
    door = SimpleNamespace(
        exchanges=[replace(one, number=number) for number, one in enumerate(exchanges, 1)],
        listeners=[],
        unsent={},
        in_flight=SimpleNamespace(alone=nullcontext),
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
    profile = load("sandbox", folder=ROOT / "environments")
    return Collector(profile, listed_secrets(profile), door, shows=shows)


def shown(exchanges):
    """By number, whether it is shown whole."""
    return {one["number"]: bool(one["curl"]) for one in exchanges}


def recording(*cited, verdict="pass"):
    """Of a test that cites these."""
    return Recording(ledger()[ID], verdict=verdict, exchanges=[*cited])


def test_what_a_result_cites_is_whole_once(monkeypatch):
    """Another test may cite it again."""
    found = collector(monkeypatch, GRANTED, GRANTED, GRANTED)

    assert shown(found.found(recording(2)).exchanges) == {2: True}
    assert shown(found.found(recording(2, 3)).exchanges) == {3: True}
    assert shown(found.handover().exchanges) == {1: False}


def test_without_files_the_first_exchange_of_what_fails_is_whole(monkeypatch):
    """The terminal shows it; nothing else is made."""
    found = collector(monkeypatch, GRANTED, GRANTED, LOST, shows=False)

    assert shown(found.found(recording(1)).exchanges) == {}
    assert shown(found.found(recording(2, 1, verdict="fail")).exchanges) == {2: True}
    assert shown(found.handover().exchanges) == {1: False, 3: False}


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
    assert shown(collector(monkeypatch, exchange).handover().exchanges) == {1: whole}


def test_what_tells_of_a_key_that_is_left_is_whole(monkeypatch):
    """The report names the exchange."""
    assert shown(collector(monkeypatch, GRANTED, GRANTED, left=[2]).handover().exchanges) == {2: True, 1: False}
