"""Requests and responses as they are kept."""

import json

import pytest

import spec.exchange
from spec.answers import RefusalKind, code_of, refusal_kind, says_success_false
from spec.exchange import LARGE, Response, is_readable, json_error


@pytest.mark.parametrize("size", [LARGE, LARGE + 1])
def test_bodies_of_any_size_come_out_as_they_went_in(size):
    """A large body is kept compressed, and gives the same bytes and the same JSON."""
    body = b'"' + b"x" * (size - 2) + b'"'
    response = Response(200, (), body)

    assert response.body == body
    assert response.json.value == "x" * (size - 2)
    assert response == Response(200, (), body)
    assert "xx" not in repr(response)
    assert (len(response.content[0]) < size) is (size > LARGE)


def test_small_facts_of_a_large_body_are_kept(monkeypatch):
    """The JSON of a large body is dropped soon, so all small facts are read from it at once.

    Later questions about one fact do not read the body again.
    """
    read_json = spec.exchange.read_json
    bodies_read = []
    monkeypatch.setattr(spec.exchange, "read_json", lambda body: bodies_read.append(body) or read_json(body))
    padding = "x" * LARGE
    responses = [Response(200, (), json.dumps({"code": number, "data": padding}).encode()) for number in range(5)]
    facts = [
        [fact(response) for response in responses]
        for fact in (code_of, refusal_kind, says_success_false, is_readable, json_error, refusal_kind)
    ]

    assert facts[0] == [0, 1, 2, 3, 4]
    assert facts[1] == [None, *[RefusalKind.ENVELOPE] * 4]
    assert len(bodies_read) == len(responses)
