"""Whether an endpoint exists is decided from the answers alone; what is not known yet is asked for by name."""

from dataclasses import replace

import pytest

from spec.exchange import FailureKind
from spec.findings import Outcome
from tests.selftest.exchanges import answer, failed
from tests.traffic.endpoint_evidence import Comparison, EndpointEvidence, Question, conclude

REFUSED = replace(answer("createPix", {"message": "no"}, status=400), valid=True)
NOT_FOUND = answer("createPix", {"message": "no such path"}, status=404)
NO_ANSWER = failed(FailureKind.TIMEOUT, "createPix")


def compared(status):
    """A valid request that is answered with this status, as the path beside the endpoint is."""
    seen = answer("createPix", {"message": "no"}, status=status)
    return EndpointEvidence((seen,), comparison=Comparison(seen, seen))


TOLD_APART = Comparison(REFUSED, NOT_FOUND)
ALIKE = compared(404)
KNOWN_VALID = replace(ALIKE, known_valid=True)
LIKE_NO_ENDPOINT = "cannot be told from an undocumented path"


@pytest.mark.parametrize(
    ("evidence", "question"),
    [
        (EndpointEvidence((NO_ANSWER,)), Question.ELSEWHERE),
        (EndpointEvidence(()), Question.ELSEWHERE),
        (EndpointEvidence((REFUSED,)), Question.SIBLING),
        (ALIKE, Question.VALID),
        (KNOWN_VALID, Question.INVALID),
        (EndpointEvidence((answer("createPix", {}, status=505),)), Question.ELSEWHERE),
    ],
)
def test_what_is_not_known_is_asked(evidence, question):
    """EndpointEvidence that decides nothing names the question that comes next."""
    assert conclude(evidence) is question


@pytest.mark.parametrize(
    ("evidence", "outcome", "message"),
    [
        (EndpointEvidence((NO_ANSWER, answer("createPix", {"code": 0}))), Outcome.HOLDS, ""),
        (EndpointEvidence((REFUSED,), comparison=TOLD_APART), Outcome.HOLDS, ""),
        (EndpointEvidence((NO_ANSWER,), elsewhere=(TOLD_APART,)), Outcome.HOLDS, ""),
        (replace(KNOWN_VALID, invalid=(TOLD_APART,)), Outcome.HOLDS, ""),
        (EndpointEvidence((answer("createPix", {}, status=405),)), Outcome.DEVIATES, "status 405"),
        (replace(KNOWN_VALID, invalid=()), Outcome.DEVIATES, "answers like an undocumented path"),
        (EndpointEvidence((NO_ANSWER,), elsewhere=()), Outcome.INCONCLUSIVE, "no answer"),
        (EndpointEvidence((answer("createPix", {}, status=503),), elsewhere=()), Outcome.INCONCLUSIVE, "status 503"),
        (EndpointEvidence((answer("createPix", {}, status=505),), elsewhere=()), Outcome.INCONCLUSIVE, "status 505"),
        (EndpointEvidence((REFUSED,), comparison=Comparison(REFUSED, NO_ANSWER)), Outcome.INCONCLUSIVE, "no answer"),
        (compared(401), Outcome.INCONCLUSIVE, LIKE_NO_ENDPOINT),
        (compared(302), Outcome.INCONCLUSIVE, LIKE_NO_ENDPOINT),
        (replace(ALIKE, known_valid=False, needed="supply X"), Outcome.INCONCLUSIVE, f"{LIKE_NO_ENDPOINT}; supply X"),
    ],
)
def test_what_is_known_decides(evidence, outcome, message):
    """A success or a difference proves the endpoint; only a valid request that is answered like no path disproves it."""
    finding = conclude(evidence)

    assert (finding.outcome, str(finding.message)) == (outcome, message)
