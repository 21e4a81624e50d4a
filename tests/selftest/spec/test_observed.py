"""What an observation keeps of an answer, and which answers are evidence."""

from dataclasses import replace

import pytest

from spec.exchange import FailureKind
from spec.observed import answer_without_body, indistinguishable, is_evidence, is_refused, is_temporary
from tests.selftest.exchanges import REGISTRATION_RESULT, answer, execution, registration, unanswered

TEXT = (("Content-Type", "text/plain"),)


def refusal(status, body=b"", **changes):
    """A refusal with this status."""
    return answer("executePix", body, status=status, headers=TEXT, **changes)


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (execution(), True),
        (refusal(404), True),
        (refusal(429), False),
        (refusal(500), False),
        (refusal(503), False),
        (refusal(401), False),
        (refusal(401, credential="no header"), True),
        (unanswered(FailureKind.TIMEOUT), False),
    ],
)
def test_an_answer_that_a_repetition_gets_too_is_evidence(exchange, expected):
    """A passing error is no evidence, and neither is a refusal of the token that was valid."""
    assert is_evidence(exchange) is expected


def test_trouble_passes():
    """A 503 and a dropped connection may be over in a minute; a 404 stays."""
    assert is_temporary(refusal(503))
    assert is_temporary(unanswered(FailureKind.DROPPED))
    assert not is_temporary(refusal(404))


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (refusal(400), True),
        (refusal(413), False),
        (refusal(503), False),
        (answer("executePix", b"<html>log in</html>", headers=(("Content-Type", "text/html"),)), True),
        (registration(REGISTRATION_RESULT | {"Success": "false"}), True),
        (registration(), False),
        (execution(), False),
    ],
)
def test_answers_that_refuse_a_request_for_its_content(exchange, expected):
    """A 4xx status, a page for people and a declining registration result refuse the request.

    A refusal for the size of the request is none.
    """
    assert is_refused(exchange) is expected


def test_the_head_of_an_answer():
    """The head has status, media type, the presence of the headers of a refusal, and the scheme of a challenge."""
    headers = (("Content-Type", "application/json"), ("WWW-Authenticate", "bearer realm=x"), ("Allow", "GET"))
    response = answer("executePix", b"", status=401, headers=headers).response

    assert answer_without_body(response) == "401 application/json [Allow: present; WWW-Authenticate: Bearer]"
    assert answer_without_body(replace(response, headers=(("WWW-Authenticate", "Tok3n x"),))) == (
        "401 [WWW-Authenticate: another scheme]"
    )


def test_answers_that_differ_in_path_digits_or_random_words_are_alike():
    """An answer with another status or another word differs, and a missing answer is like no other."""
    first = refusal(404, b"no /v1/execute/pix/TX-1 at 10:00, request 4711", path="/v1/execute/pix/TX-1")
    alike = refusal(404, b"no /v1/execute/pix/TX-2 at 11:30, request 815", path="/v1/execute/pix/TX-2")
    in_other_words = refusal(404, b"no such code at 11:30, request 815", path="/v1/execute/pix/TX-2")

    assert indistinguishable(first, alike)
    assert not indistinguishable(first, in_other_words)
    assert not indistinguishable(first, refusal(400, b"no /v1/execute/pix/TX-1 at 10:00, request 4711"))
    assert not indistinguishable(first, unanswered(FailureKind.TIMEOUT))
