"""What an observation keeps of an answer, and which answers are lasting."""

from dataclasses import replace

import pytest

from spec.exchange import FailureKind
from spec.observed import answer_without_body, is_answered_like, is_lasting_answer, is_refused, is_temporary
from tests.selftest.exchanges import REGISTRATION_RESULT, answer, execution, registration, unanswered

TEXT = (("Content-Type", "text/plain"),)


def refusal(status, body=b"", **changes):
    """A refusal with this status."""
    return answer("executePix", body, status=status, headers=TEXT, **changes)


@pytest.mark.parametrize(
    ("exchange", "is_lasting"),
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
    ids=[
        "a success",
        "404",
        "429",
        "500",
        "503",
        "401 to the valid token",
        "401 to a request without a token",
        "a time-out",
    ],
)
def test_only_an_answer_that_the_same_request_would_get_again_is_lasting(exchange, is_lasting):
    """The suite records how a service behaves if the document is silent. Only a lasting answer shows that.

    An error that may pass is not lasting, and neither is a refusal of the valid token.
    """
    assert is_lasting_answer(exchange) is is_lasting


@pytest.mark.parametrize(
    ("exchange", "may_pass"),
    [(refusal(503), True), (unanswered(FailureKind.DROPPED), True), (refusal(404), False)],
    ids=["503", "a dropped connection", "404"],
)
def test_trouble_may_pass(exchange, may_pass):
    """A 503 and a dropped connection may be over in a minute. A 404 says something of the request, so it stays."""
    assert is_temporary(exchange) is may_pass


@pytest.mark.parametrize(
    ("exchange", "refuses_the_content"),
    [
        (refusal(400), True),
        (refusal(413), False),
        (refusal(503), False),
        (answer("executePix", b"<html>log in</html>", headers=(("Content-Type", "text/html"),)), True),
        (registration(REGISTRATION_RESULT | {"Success": "false"}), True),
        (registration(), False),
        (execution(), False),
    ],
    ids=["400", "413", "503", "a login page", "Success false", "a registration result", "an execution result"],
)
def test_an_answer_refuses_a_request_for_its_content(exchange, refuses_the_content):
    """An answer refuses a request for its content with most 4xx statuses, a page for people, or a result that says no.

    A 413 refuses the size of the request, and a 503 says nothing of the request.
    """
    assert is_refused(exchange) is refuses_the_content


def test_a_recorded_answer_is_its_status_media_type_and_some_headers():
    """`answer_without_body` describes an answer for a record that later runs compare with.

    It says of most headers only that they are present. Of WWW-Authenticate it has the scheme if it is a known one.
    """
    headers = (("Content-Type", "application/json"), ("WWW-Authenticate", "bearer realm=x"), ("Allow", "GET"))
    response = answer("executePix", b"", status=401, headers=headers).response
    response_with_unknown_scheme = replace(response, headers=(("WWW-Authenticate", "Tok3n x"),))

    assert answer_without_body(response) == "401 application/json [Allow: present; WWW-Authenticate: Bearer]"
    assert answer_without_body(response_with_unknown_scheme) == "401 [WWW-Authenticate: another scheme]"


def test_answers_that_differ_in_path_and_digits_alone_are_alike():
    """Two codes are refused in the same words. The bodies repeat the path, and have a time and a number of the request.

    These differ from request to request, so the two answers count as alike (`is_answered_like`).
    """
    refusal_of_first = refusal(404, b"no /v1/execute/pix/TX-1 at 10:00, request 4711", path="/v1/execute/pix/TX-1")
    refusal_of_second = refusal(404, b"no /v1/execute/pix/TX-2 at 11:30, request 815", path="/v1/execute/pix/TX-2")

    assert is_answered_like(refusal_of_first, refusal_of_second)


@pytest.mark.parametrize(
    ("answer", "other_answer"),
    [
        (refusal(404, b"no TX-1 at 10:00, request 4711"), refusal(404, b"no such code at 10:00, request 4711")),
        (refusal(404, b"no TX-1 at 10:00, request 4711"), refusal(400, b"no TX-1 at 10:00, request 4711")),
        (refusal(404, b"no TX-1 at 10:00, request 4711"), unanswered(FailureKind.TIMEOUT)),
    ],
    ids=["other words", "another status", "no answer"],
)
def test_answers_with_another_status_or_other_words_differ(answer, other_answer):
    """Two answers differ if they have another status or other words, or if one of the two requests got no answer."""
    assert not is_answered_like(answer, other_answer)
