"""What is observed tells services apart that differ, and is the same for one service in every run."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from environments.profiles.loading import load
from environments.sandbox import Service
from reports.observed.behaviour import data_of_behaviour, drifts
from reports.result.run_verdict import result_of_run
from spec.exchange import FailureKind
from spec.rules import Reproduction
from tests.selftest.exchanges import EXECUTION, answer, execution, failed
from tests.selftest.proof.directly import run_in_memory
from tests.selftest.recorded_runs import TARGETED, record, recorded
from tests.selftest.services.unshown import DoesOtherwise
from tests.traffic.described import states_before, values_in_results, word_of
from tests.traffic.execution import Execution
from tests.traffic.observations import (
    answers_to,
    rate_limits_of,
    version_headers_of,
)
from tests.traffic.scenario import Traffic


def observed(service):
    """What a run observes of a service, by requirement and situation."""
    profile = load("sandbox")
    alone = replace(
        profile, base_url="http://127.0.0.1", sandbox="http://127.0.0.1", limits=replace(profile.limits, parallel=1)
    )

    run = run_in_memory(service, alone, lambda test: not test.get_closest_marker("property"))
    assert run.errors == []
    return result_of_run(run).behaviour


@cache
def sandbox():
    """What is observed of the sandbox."""
    return observed(Service())


def drifting(one, other):
    """The requirements that drift from one run to the other, or back."""
    return {drift.id for was, now in ((one, other), (other, one)) for drift in drifts(was, now)}


def stable(seen):
    """All but the shapes of what the run itself changes (keys, balances and entries): the moment decides what they hold.
    How many requests are let in within a second depends on the speed of the run."""
    return {name: seen[name] for name in seen if not name.endswith(".shape") and name != "general.rateLimit"}


@pytest.mark.slow
def test_a_service_that_differs_is_seen_to_differ_in_that_alone():
    """A lawful service does things otherwise that are not shown: they are observed otherwise, and drift, and no other."""
    seen = observed(DoesOtherwise())

    assert drifting(sandbox(), seen) == DoesOtherwise.SEEN_IN


def test_the_same_service_is_observed_alike(tmp_path):
    """From any seed, in memory or over HTTP, and however many requests are on the wire. What a profile does not permit does not drift."""
    ended = record(tmp_path, Service, "--seed=7", "--parallel=16", **TARGETED)
    one, other = result_of_run(recorded("clean").run).behaviour, result_of_run(ended.run).behaviour

    assert data_of_behaviour(stable(one)) == data_of_behaviour(stable(other))
    assert drifting(sandbox(), other) == set()
    assert drifting(one, other) == drifting(one, result_of_run(recorded("partial").run).behaviour) == set()


# -- shapes ---------------------------------------------------------------------------------------------------------

GRANTED = answer("listEntries", {"entries": []})
REFUSED = answer("listEntries", {}, status=400)
OTHERS = {
    "generated": answer("listEntries", {}, part="listEntries.fuzzing"),
    "of another operation": answer("listAccounts", {}),
    "without a token": answer("listEntries", {}, credential="no header", valid=False),
    "over a limit": answer("listEntries", {}, status=429),
    "a gateway's": answer("listEntries", {}, status=503),
    "a token that has expired": answer("listEntries", {}, status=401),
    "no answer": failed(FailureKind.TIMEOUT, "listEntries"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_shows_no_shape(other):
    """Generated traffic, other requests, and answers that may be other ones in a minute."""
    traffic = Traffic.__new__(Traffic)
    traffic.reproduction = Reproduction()
    for sent, shown in (([other], []), ([other, REFUSED], []), ([other, REFUSED, GRANTED], [GRANTED])):
        traffic.client = SimpleNamespace(door=SimpleNamespace(exchanges=sent))

        assert answers_to("listEntries", traffic) == shown


# -- single values --------------------------------------------------------------------------------------------------


def test_what_a_supplied_code_shows_is_no_more_than_seen():
    """Other codes are of other payees. A status before the execution is that of the operation that prepared it."""
    paid = [execution(EXECUTION | {"accountType": number, "status": "CONFIRMED"}) for number in (2, 1)]
    prepared = [
        answer(name, {"code": 0, "data": data})
        for name, data in (("createPix", {"status": "OPEN"}), ("transferP2p", {}))
    ]

    supplied = values_in_results("accountType", paid, "createPix")

    assert {str(name): seen for name, seen in supplied.items()} == {
        f"{n} for a supplied code": ["seen"] for n in (2, 1)
    }
    prepared_code = replace(paid[0], purpose=Execution.PREPARED)
    assert values_in_results("status", [prepared_code], "createPix") == {"createPix": ["CONFIRMED"]}
    assert states_before(prepared) == {"createPix": ["OPEN"], "transferP2p": ["no status"]}


def test_a_status_that_may_name_a_person_is_another_text():
    """One word in capitals is told."""
    words = ("PENDING", "done", "ON_HOLD", "MARIA SILVA", "Zuleica", "zuleica", "a1", "conta-da-zuleica")

    assert [word_of(word) for word in words] == [*words[:2], *["another text"] * 6]


def test_published_limits_and_versions_are_seen():
    """The names of the headers, by operation; a refusal does not count."""
    headers = [(name, "1") for name in ("x-ratelimit-limit", "RateLimit-Policy", "Deprecation")]
    sent = [answer("listAccounts", {}, headers=headers), answer("listPixKeys", {}, status=401)]

    assert rate_limits_of(sent)["listAccounts"] == ["RateLimit-Policy, X-RateLimit-Limit"]
    assert version_headers_of(sent) == {"listAccounts": ["Deprecation"]}
