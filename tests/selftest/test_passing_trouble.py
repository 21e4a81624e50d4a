"""A 503 answers nothing: what else the run saw of the endpoint counts, and another harmless request is tried. A drop
that passes is no fault.
"""

from dataclasses import replace

import pytest

from environments.sandbox import Response, Service
from spec.exchange import FailureKind
from spec.findings import Conclusion
from spec.rules import Reproduction
from tests.selftest.exchanges import answer, failed
from tests.selftest.proof.directly import try_in_memory


class NotReady(Service):
    """Answers the first so many requests with the token to one path with 503. `seen` are those."""

    def __init__(self, path, times):
        super().__init__()
        self.path, self.left, self.seen = path, times, []

    def respond(self, request):
        if request.path.startswith(self.path) and request.header("Authorization"):
            self.seen.append(request)
            self.left -= 1
            if self.left >= 0:
                return Response(503, b"", (("Retry-After", "0"),))
        return super().respond(request)


BY_A_GATEWAY = "1 of the answers are those of a gateway (502, 503, 504): what the service did is not seen"


@pytest.mark.parametrize(
    ("path", "operation"), [("/v1/pix", "createPix"), ("/v1/transfer/internal", "transferInternal")]
)
def test_one_503_of_what_may_move_money_leaves_no_question(path, operation):
    """The valid request is not repeated; a harmless one shows the endpoint."""
    service = NotReady(path, 1)
    trial = try_in_memory(service, ids={f"{operation}.exists"})
    bodies = [seen.body for seen in service.seen if seen.path == path]

    assert trial.exit_status == 0
    assert (bodies.count(b"{}"), len(bodies)) == (1, 2)
    assert str(trial.notes[-1]) == BY_A_GATEWAY


ANSWERED, DROPPED = answer("listEntries", {"code": 0, "data": {}}), failed(FailureKind.DROPPED, "listEntries")
REFUSED = failed(FailureKind.NO_CONNECTION, "listEntries")


@pytest.mark.parametrize(
    ("number", "again", "outcome"),
    [
        (2, ANSWERED, Conclusion.HOLDS),
        (2, DROPPED, Conclusion.DEVIATES),
        (1, None, Conclusion.HOLDS),
        (2, None, Conclusion.DEVIATES),
    ],
    ids=["answered", "dropped again", "one that is not sent again", "two"],
)
def test_a_drop_counts_where_it_was_seen_again_alone(number, again, outcome):
    """A service that allows one connection drops the next, beside others and right behind them, whatever is asked. Of
    requests that cannot be sent again two count: one may have been the network."""
    first = [replace(DROPPED, number=each, beside=2 * each * bool(again)) for each in range(number)]
    reproduction = Reproduction(first, dict.fromkeys(range(number), again))

    assert {reproduction.judge("listEntries.connection", one).conclusion for one in first} == {outcome}


@pytest.mark.parametrize(
    ("numbers", "outcome"),
    [((1, 3), Conclusion.HOLDS), ((1, 3, 5), Conclusion.DEVIATES), ((1, 2, 3, 4), Conclusion.HOLDS)],
    ids=["two", "three", "in a row"],
)
def test_three_drops_alone_count_although_each_is_answered_then(numbers, outcome):
    """With answers in between. Those in a row are one outage."""
    first = [replace(DROPPED, number=each) for each in numbers]
    reproduction = Reproduction(first, dict.fromkeys(numbers, ANSWERED))

    assert reproduction.judge("listEntries.connection", first[0]).conclusion is outcome


@pytest.mark.parametrize(
    ("valid", "later", "outcome"),
    [
        (False, [REFUSED], Conclusion.DEVIATES),
        (True, [REFUSED], Conclusion.HOLDS),
        (False, [REFUSED, ANSWERED], Conclusion.HOLDS),
        (False, [DROPPED], Conclusion.HOLDS),
    ],
    ids=["ended", "a valid request", "answered later", "dropped later"],
)
def test_a_drop_after_which_no_connection_is_accepted_counts(valid, later, outcome):
    """Of an invalid request: it has ended the service. One that restarts accepts connections again."""
    first = replace(DROPPED, valid=valid, elapsed_s=1.0)
    since = [replace(seen, number=number, started=2.0) for number, seen in enumerate(later, 2)]
    reproduction = Reproduction([first, *since], {seen.number: ANSWERED for seen in [first, *since]})

    assert reproduction.judge("listEntries.connection", first).conclusion is outcome
