"""A 503 answers nothing: what else the run saw of the endpoint counts, and another harmless request is tried. A drop
that passes is no fault.
"""

from dataclasses import replace

import pytest

from environments.sandbox import Response
from spec.answers import RefusalKind
from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.rules import Reproduction
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import EXECUTION, Raw, as_bytes

NOT_READY = Response(503, b"", (("Retry-After", "0"),))
WHOLE = ("-m", "property or not property", "--examples=2")
TARGETED = ()


class NotReady(Raw):
    """Answers the first so many requests to one path with 503."""

    def __init__(self, path: str, times: int) -> None:
        super().__init__()
        self.path, self.left = path, times

    def answer(self, connection, request):
        if request.path.startswith(self.path) and request.header("Authorization") and self.left:
            self.left -= 1
            connection.sendall(as_bytes(NOT_READY))
        else:
            super().answer(connection, request)


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v1/pix", "createPix"),
        ("/v1/transfer/external", "transferExternal"),
        ("/v1/transfer/internal", "transferInternal"),
        ("/v1/transfer/p2p", "transferP2p"),
    ],
)
def test_one_503_of_what_may_move_money_leaves_no_question(path, operation, tmp_path):
    """The valid request is not repeated; a harmless one shows the endpoint."""
    with NotReady(path, 1) as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", f"{operation}.exists")
    bodies = [seen.body for seen in service.seen if seen.path == path]

    assert result.status == 0, result.output
    assert bodies.count(b"{}") == 1
    assert len(bodies) == 2


def test_trouble_that_passes_while_the_run_goes_on_leaves_no_question(tmp_path):
    """Generated traffic showed the endpoint after all: the run is complete."""
    with NotReady("/v1/transfer/internal", 10) as service:
        result = run(write_profile(tmp_path, service.base_url), *WHOLE)

    assert service.left == 0
    assert (result.status, result.rows("fail")) == (0, {}), result.output
    assert "transferInternal.exists" not in result.rows("not-exercised")


def test_trouble_that_does_not_pass_leaves_the_run_incomplete(tmp_path):
    """Nobody has seen the endpoint."""
    with NotReady("/v1/transfer/internal", 10_000) as service:
        result = run(write_profile(tmp_path, service.base_url), *WHOLE)

    assert result.status == 6
    assert result.rows("not-exercised")["transferInternal.exists"].startswith("no valid request was granted (503 ")


def test_an_execution_that_is_answered_503_leaves_the_endpoint_in_no_question(tmp_path):
    """A synthetic code shows it; the real one is not sent again."""
    with NotReady(f"{EXECUTION}SBX", 10_000) as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "executePix.exists")

    assert "executePix.exists" not in result.rows("not-exercised"), result.output
    assert service.executions == ["SBX-PHONE-1"] or service.executions == []


@pytest.mark.parametrize(("afterwards", "outcome"), [("answered", Conclusion.HOLDS), ("dropped", Conclusion.DEVIATES)])
def test_a_drop_counts_where_it_was_seen_again_alone(afterwards, outcome):
    """A service that allows one connection drops the next, beside others and right behind them, whatever is asked."""
    answered, dropped = answer("listEntries", {"code": 0, "data": {}}), failed(FailureKind.DROPPED, "listEntries")
    first = [replace(dropped, number=1, beside=2), replace(dropped, number=2)]
    again = {one.number: {"answered": answered, "dropped": dropped}[afterwards] for one in first}
    reproduction = Reproduction(first, again)

    assert {reproduction.judge("listEntries.connection", one).conclusion for one in first} == {outcome}


@pytest.mark.parametrize(("number", "outcome"), [(1, Conclusion.HOLDS), (2, Conclusion.DEVIATES)])
def test_drops_of_two_requests_that_cannot_be_sent_again_count(number, outcome):
    """One alone may have been the network."""
    seen = [replace(failed(FailureKind.DROPPED, "transferP2p"), number=each) for each in range(number)]
    reproduction = Reproduction(seen, dict.fromkeys(range(number)))

    assert reproduction.judge("transferP2p.connection", seen[0]).conclusion is outcome


@pytest.mark.parametrize(
    ("statuses", "mixed_up"),
    [((401, 404, 422), True), ((401, 400, 422), False), ((401, 404, 409, 423, 429, 500, 503), False), ((401,), False)],
)
def test_more_ways_to_refuse_than_a_limit_has_are_answers_to_others(statuses, mixed_up):
    """400 and 422 are one way. A conflict, a lock and trouble may be what a limit says."""
    alone = answer("listAccounts", {"code": 0, "data": {}})
    seen = [
        replace(answer("listAccounts", b"", status=status, beside=3), number=number)
        for number, status in enumerate(statuses, 1)
    ]
    reproduction = Reproduction(seen, stands={one.number: alone for one in seen})

    refused = [one.response.status for one in reproduction.mixed_up("listAccounts", RefusalKind.TOKEN)]
    assert (len(reproduction.otherwise_alone), refused) == (len(seen), [401] if mixed_up else [])
    assert reproduction.mixed_up("getBalance", RefusalKind.TOKEN) == []
