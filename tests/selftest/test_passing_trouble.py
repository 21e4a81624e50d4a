"""A 503 answers nothing: what else the run saw of the endpoint counts, and another harmless request is tried. A drop
that passes is no fault.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.sandbox import Response
from spec.exchange import FailureKind
from spec.findings import Outcome
from tests.harness.reproduction import Reproduction
from tests.selftest.exchanges import answer, failed
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import EXECUTION, Raw, as_bytes
from tests.traffic.endpoint_evidence import comparable, granted, is_passing

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
    assert result.rows("not-exercised")["transferInternal.exists"] == "status 503"


def test_an_execution_that_is_answered_503_leaves_the_endpoint_in_no_question(tmp_path):
    """A synthetic code shows it; the real one is not sent again."""
    with NotReady(f"{EXECUTION}SBX", 10_000) as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "executePix.exists")

    assert "executePix.exists" not in result.rows("not-exercised"), result.output
    assert service.executions == ["SBX-PHONE-1"] or service.executions == []


@pytest.mark.parametrize(
    ("status", "headers", "passing"),
    [
        (503, (), True),
        (500, (), True),
        (429, (), True),
        (403, (("Retry-After", "1"),), True),
        (403, (), False),
        (501, (), False),
        (404, (), False),
    ],
)
def test_what_passes(status, headers, passing):
    """405 and 501 are answers about the endpoint; 403 with Retry-After is a lock."""
    assert is_passing(answer("createPix", b"", status=status, headers=headers)) is passing


def test_no_answer_may_be_one_in_a_minute():
    """A drop or a time-out says nothing either."""
    assert is_passing(failed(FailureKind.TIMEOUT, "createPix"))


def test_a_page_is_no_effect():
    """Only JSON that was granted shows an endpoint without a comparison."""
    page, json = answer("createPix", b"<html>"), answer("createPix", {"code": 0})

    assert granted([page]) is None
    assert granted([page, json]) is json


def plain(status, **changes):
    return answer("createPix", b"{}", status=status, **{"path": "/v1/pix", "valid": False, **changes})


def test_what_is_compared_with_an_undocumented_path():
    """One refusal for each status, and none that tells of the caller, the size or passing trouble."""
    seen = [plain(status) for status in (401, 503, 400, 400, 302, 413, 422, 409, 410)]

    assert [one.response.status for one in comparable(seen)] == [400, 422, 409]


def test_a_query_or_a_real_code_is_not_compared():
    """The path beside it would be asked otherwise, or a code would leave its place."""
    real = answer("executePix", b"{}", status=404, valid=False)

    assert list(comparable([plain(400, path="/v1/pix?x=1"), plain(400, credential="a wrong token"), real])) == []


@pytest.mark.parametrize(("afterwards", "outcome"), [("answered", Outcome.HOLDS), ("dropped", Outcome.DEVIATES)])
def test_a_drop_counts_where_it_was_seen_alone_and_alone_again(afterwards, outcome):
    """A service that allows one connection drops the next, in company and right behind it, whatever is asked."""
    answered, dropped = answer("listEntries", {"code": 0, "data": {}}), failed(FailureKind.DROPPED, "listEntries")
    then = {"answered": answered, "dropped": dropped}[afterwards]
    reproduction = Reproduction()
    for first in (10, 20):
        reproduction.listen(
            listened(replace(dropped, number=first + 1), doubted=first, then=replace(then, number=first + 2))
        )

    for number in (11, 21):
        assert reproduction.judge("listEntries.connection", replace(dropped, number=number)).outcome is outcome


def test_drops_of_two_requests_that_cannot_be_sent_again_count():
    """One alone may have been the network."""
    dropped, reproduction = failed(FailureKind.DROPPED, "transferP2p"), Reproduction()
    outcomes = []
    for number in (1, 2):
        reproduction.listen(listened(replace(dropped, number=number)))
        outcomes.append(reproduction.judge("transferP2p.connection", replace(dropped, number=1)).outcome)

    assert outcomes == [Outcome.HOLDS, Outcome.DEVIATES]


def listened(exchange, doubted=None, then=None):
    """What the listener of a door is given, with the answer to the request when it is sent again, if it can be."""
    in_company = replace(exchange, number=doubted, beside=2) if doubted else None
    intent = SimpleNamespace(may_move_money=then is None)
    return SimpleNamespace(
        exchange=exchange, doubted=in_company, intent=intent, repeatable=then is not None, reproduce=lambda: then
    )
