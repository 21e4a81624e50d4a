"""Answers as an observation keeps them, and which of them count."""

from dataclasses import replace

import pytest

from spec.exchange import FailureKind
from spec.observed import counts, head_of, indistinguishable, is_passing, is_refused
from tests.selftest.exchanges import REGISTRATION, answer, execution, failed, registration

TEXT = (("Content-Type", "text/plain"),)


def refused(status, body=b"", **changes):
    """A refusal of an execution."""
    return answer("executePix", body, status=status, headers=TEXT, **changes)


@pytest.mark.parametrize(
    ("exchange", "is_evidence"),
    [
        (execution(), True),
        (refused(404), True),
        (refused(429), False),
        (refused(500), False),
        (refused(503), False),
        (refused(401), False),
        (refused(401, credential="no header"), True),
        (failed(FailureKind.TIMEOUT), False),
    ],
)
def test_an_answer_counts_if_the_same_request_gets_it_again(exchange, is_evidence):
    """Not passing trouble, and not the refusal of a token that was valid."""
    assert counts(exchange) is is_evidence


def test_trouble_passes():
    """So does that there is no answer."""
    assert [is_passing(each) for each in (refused(503), failed(FailureKind.DROPPED), refused(404))] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("exchange", "is_so"),
    [
        (refused(400), True),
        (refused(413), False),
        (refused(503), False),
        (answer("executePix", b"<html>log in</html>", headers=(("Content-Type", "text/html"),)), True),
        (registration(REGISTRATION | {"Success": "false"}), True),
        (registration(), False),
        (execution(), False),
    ],
)
def test_a_request_is_refused_for_what_it_is(exchange, is_so):
    """By status, by a page for people, or by a registration result that declines it; not for its size."""
    assert is_refused(exchange) is is_so


def test_the_head_of_an_answer():
    """Status, media type, and of the headers of a refusal that they are there; of a challenge its scheme."""
    headers = (("Content-Type", "application/json"), ("WWW-Authenticate", "bearer realm=x"), ("Allow", "GET"))
    response = answer("executePix", b"", status=401, headers=headers).response

    assert head_of(response) == "401 application/json [Allow: present; WWW-Authenticate: Bearer]"
    assert head_of(replace(response, headers=(("WWW-Authenticate", "Tok3n x"),))) == (
        "401 [WWW-Authenticate: another scheme]"
    )


def test_answers_are_alike_apart_from_path_digits_and_words_that_vary():
    """One with another status, media type or word is told apart."""
    first = refused(404, b"no /v1/execute/pix/TX-1 at 10:00, request 4711", path="/v1/execute/pix/TX-1")
    alike = refused(404, b"no /v1/execute/pix/TX-2 at 11:30, request 815", path="/v1/execute/pix/TX-2")
    other = refused(404, b"no such code at 11:30, request 815", path="/v1/execute/pix/TX-2")

    assert indistinguishable(first, alike)
    assert not indistinguishable(first, other)
    assert not indistinguishable(first, refused(400, b"no /v1/execute/pix/TX-1 at 10:00, request 4711"))
    assert not indistinguishable(first, failed(FailureKind.TIMEOUT))
