"""Whether a key type is refused wrongly is decided from the answers alone; what is not known yet is asked for by name."""

from dataclasses import replace

import pytest

from spec.findings import Outcome, deviates, finding
from tests.selftest.exchanges import REGISTRATION, registration
from tests.traffic.refused_key_types import KeyTypeEvidence, Question, conclude

DECLINED = registration({**REGISTRATION, "Success": "false"})
ACCEPTED = registration()
REFUSED = registration(status=422)
CONFLICT = registration(status=409)
BUSY = registration(status=503)
NO_TOKEN = registration(status=401)

FIRST = KeyTypeEvidence("EMAIL", (REFUSED,))
UNEXPLAINED = replace(FIRST, broken="")
AGAIN = replace(UNEXPLAINED, again=REFUSED, accepted=ACCEPTED)
UNLISTED = replace(AGAIN, listed=False)
HINT = "; where the account may have no such key, set not_for_this_account: [EMAIL]"
UNSURE = f"refused (422 application/json), which may have another reason{HINT}"
BREACH = deviates(finding("key-needs-more", name="EMAIL", what="a digit as its type"))


@pytest.mark.parametrize(
    ("evidence", "question"),
    [
        (FIRST, Question.DIFFERENCE),
        (UNEXPLAINED, Question.AGAIN),
        (AGAIN, Question.LISTED),
        (UNLISTED, Question.CONTROL),
    ],
)
def test_what_is_not_known_is_asked(evidence, question):
    """KeyTypeEvidence that decides nothing names the question that comes next."""
    assert conclude(evidence) is question


@pytest.mark.parametrize(
    ("evidence", "outcome", "message"),
    [
        (KeyTypeEvidence("EMAIL", (REFUSED, ACCEPTED)), Outcome.HOLDS, ""),
        (KeyTypeEvidence("EMAIL", (DECLINED,)), Outcome.HOLDS, ""),
        (KeyTypeEvidence("EMAIL", (CONFLICT,)), Outcome.HOLDS, ""),
        (replace(FIRST, effects=(REFUSED,)), Outcome.HOLDS, ""),
        (replace(AGAIN, again=CONFLICT), Outcome.HOLDS, ""),
        (replace(AGAIN, listed=True), Outcome.HOLDS, ""),
        (KeyTypeEvidence("EMAIL", (BUSY,)), Outcome.INCONCLUSIVE, "no EMAIL key was registered: 503 application/json"),
        (
            KeyTypeEvidence("EMAIL", (NO_TOKEN,)),
            Outcome.INCONCLUSIVE,
            "no EMAIL key was registered: 401 application/json",
        ),
        (
            replace(FIRST, broken="registerPixKey.body.account"),
            Outcome.INCONCLUSIVE,
            "refused, which registerPixKey.body.account answers for",
        ),
        (replace(AGAIN, accepted=None), Outcome.INCONCLUSIVE, UNSURE),
        (replace(UNLISTED, accepted_again=REFUSED), Outcome.INCONCLUSIVE, UNSURE),
        (
            replace(AGAIN, again=registration(status=404)),
            Outcome.INCONCLUSIVE,
            UNSURE.replace("422", "404"),
        ),
        (
            replace(FIRST, broken="registerPixKey.pixKeyType.EMAIL", breach=BREACH),
            Outcome.DEVIATES,
            str(BREACH.message),
        ),
        (
            replace(UNLISTED, accepted_again=ACCEPTED),
            Outcome.DEVIATES,
            f"422 application/json for a key of the type EMAIL; RANDOM is accepted before and after{HINT}",
        ),
    ],
)
def test_what_is_known_decides(evidence, outcome, message):
    """A type is refused wrongly only where another one is accepted before and after, or a difference helps."""
    concluded = conclude(evidence)

    assert (concluded.outcome, str(concluded.message)) == (outcome, message)
