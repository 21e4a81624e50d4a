"""What stands in for a token is sent with synthetic identifiers alone, and counts only if it is let in each time."""

import random

import pytest

from environments.sandbox import Refusal, Service
from tests.harness.starting import start_journal
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.services.one_run import FakeBank, profile_off_sandbox, run_suite_in_memory
from tests.traffic.trust.stand_ins import FAMILIES

REQUIRED = frozenset({"executePix.token.required", "registerPixKey.token.required"})
WANTED = "executePix.token.required or registerPixKey.token.required"
OF_GATEWAYS = {name.lower() for headers in FAMILIES.values() for name, _ in headers} - {"user-agent"}
EVERYTHING = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def sent_by_a_run(folder, *, allow=EVERYTHING, wrong_tokens=45, **changes):
    """What a run sends that is no sandbox's, unless the changes say so."""
    service = FakeBank()
    limits = {"executions": 12, "requests": 3000, "wrong_tokens": wrong_tokens}
    profile = profile_off_sandbox(
        folder, transactions={"codes": ["SBX-PHONE-1", "SBX-EMAIL-1"]}, allow=allow, limits=limits, **changes
    )
    start_journal(profile)
    run_suite_in_memory(service, profile, WANTED)
    return service.received


def with_a_stand_in(seen):
    """The requests with a header that a gateway sets, a cookie, or a word as a bearer."""
    words = ("Bearer test", "Bearer admin")
    return [
        each
        for each in seen
        if OF_GATEWAYS & set(each.headers) or each.header("Cookie") or each.header("Authorization") in words
    ]


def test_what_stands_in_for_a_token_names_nobody(tmp_path):
    """No real code and no account of the profile, but for a read that shows how it is refused."""
    found = with_a_stand_in(sent_by_a_run(tmp_path))

    assert len(found) > 20
    assert [each.path for each in found if "/pixconf-" not in each.path] == []
    assert [each.body for each in found if each.body and b"@example.com" not in each.body] == []


@pytest.mark.parametrize(("allow", "limit"), [(EVERYTHING[:-1], 45), (EVERYTHING[1:], 45), (EVERYTHING, 0)])
def test_nothing_stands_in_for_a_token_that_is_not_permitted(allow, limit, tmp_path):
    """It needs fuzz, a read to compare with, and room for wrong tokens."""
    assert with_a_stand_in(sent_by_a_run(tmp_path, allow=allow, wrong_tokens=limit)) == []


class TrustsAnAddress(Service):
    """The sandbox, which lets in whoever comes from 10.0.0.1, as CF-Connecting-IP says."""

    def authorize(self, request, operation):
        if operation != "executePix" or request.header("CF-Connecting-IP") != "10.0.0.1":
            super().authorize(request, operation)


def test_the_finding_names_the_header():
    """One of the sixteen that went together."""
    trial = try_in_memory(TrustsAnAddress(), ids=REQUIRED)

    assert trial.failing == {"executePix.token.required"}
    assert str(trial.rows["executePix.token.required"].message) == (
        "a synthetic identifier is answered as with the valid token, and not as without one, with no header + "
        "CF-Connecting-IP"
    )


class OpensNowAndThen(Service):
    """The sandbox as two nodes: one of them looks a code up before it looks at the token. Which one answers, is chance."""

    def __init__(self, seed, share):
        super().__init__()
        self.chance, self.share = random.Random(seed), share

    def authorize(self, request, operation):
        code = request.path.rsplit("/", 1)[-1]
        if operation == "executePix" and self.chance.random() < self.share:
            with self.database.transaction() as ledger:
                if ledger.transfer(code) is None:
                    raise Refusal(404, "There is no such transaction code.")
        super().authorize(request, operation)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_an_answer_by_chance_is_no_evidence(share):
    """Of twelve seeds none fails: it would have to answer ten requests as if there was a reason."""
    ids = {"executePix.token.required"}
    trials = [try_in_memory(OpensNowAndThen(seed, share), ids=ids) for seed in range(12)]

    assert [trial.failing for trial in trials] == [frozenset()] * 12


class SaysNothing(Service):
    """The sandbox, whose refusals have all the same words, and status 400 for what is unknown and for odd headers."""

    def respond(self, request):
        return self.refusal(Refusal(400, "No.")) if OF_GATEWAYS & set(request.headers) else super().respond(request)

    def refusal(self, refusal):
        status = 400 if refusal.status == 404 else refusal.status
        return super().refusal(Refusal(status, "No."))


def test_a_filter_that_says_no_as_to_an_unknown_code_is_no_evidence():
    """A read with the same headers is refused in these words, too."""
    trial = try_in_memory(SaysNothing(), ids=REQUIRED)

    assert trial.failing == frozenset()
    assert trial.with_verdict("pass") >= REQUIRED
