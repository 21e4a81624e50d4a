"""Requests and responses as they are kept."""

import json

import pytest

import spec.exchange
from spec.answers import RefusalKind, code_of, refusal_kind, says_success_false
from spec.exchange import LARGE, Response, is_readable, json_error


@pytest.mark.parametrize("size", [LARGE, LARGE + 1], ids=["a small body", "a large body"])
def test_a_response_gives_its_body_back_as_it_was(size):
    """A body of more than LARGE bytes is kept compressed, and gives the same bytes and the same JSON."""
    body = b'"' + b"x" * (size - 2) + b'"'
    response = Response(200, (), body)

    assert response.body == body
    assert response.json.value == "x" * (size - 2)
    assert response == Response(200, (), body)
    content, *_ = response.content
    is_compressed = len(content) < size

    assert is_compressed is (size > LARGE)
    assert "xx" not in repr(response)


def test_a_large_body_is_read_once_for_all_small_facts_about_it(monkeypatch):
    """The JSON of a large body is not kept, because it needs much memory. Small facts of it are, such as the code.

    Here six facts of five responses are asked for, and each body is read once.
    """
    read_json = spec.exchange.read_json
    bodies_read = []
    monkeypatch.setattr(spec.exchange, "read_json", lambda body: bodies_read.append(body) or read_json(body))
    padding = "x" * LARGE
    responses = [Response(200, (), json.dumps({"code": number, "data": padding}).encode()) for number in range(5)]
    codes = [code_of(response) for response in responses]
    kinds_of_refusal = [refusal_kind(response) for response in responses]
    for read_fact in (says_success_false, is_readable, json_error, refusal_kind):
        for response in responses:
            read_fact(response)

    assert codes == [0, 1, 2, 3, 4]
    assert kinds_of_refusal == [None, *[RefusalKind.ENVELOPE] * 4]
    assert len(bodies_read) == len(responses)
