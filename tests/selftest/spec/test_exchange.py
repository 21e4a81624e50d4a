"""Requests and responses as they are kept."""

import json

import pytest

import spec.exchange
from spec.answers import RefusalKind, code_of, refusal_kind, says_success_false
from spec.exchange import LARGE, Response, is_readable, json_error


@pytest.mark.parametrize("size", [LARGE, LARGE + 1], ids=["a small body", "a large body"])
def test_a_response_gives_its_body_back_as_it_was(size):
    """A body of more than LARGE bytes is kept compressed. A response gives the same bytes and the same JSON in both
    cases.

    Its repr, which may appear in a log, does not have the body.
    """
    body = b'"' + b"x" * (size - 2) + b'"'
    response = Response(200, (), body)

    assert response.body == body
    assert response.json.value == "x" * (size - 2)
    assert response == Response(200, (), body)
    assert "xx" not in repr(response)


@pytest.mark.parametrize(("size", "is_compressed"), [(LARGE, False), (LARGE + 1, True)])
def test_only_a_large_body_is_kept_compressed(size, is_compressed):
    """A large body needs much memory, so a response keeps it compressed if it has more than LARGE bytes."""
    response = Response(200, (), b"x" * size)
    kept_bytes, *_ = response.stored_body_and_size

    assert (len(kept_bytes) < size) is is_compressed


def test_a_large_body_is_read_once_for_all_small_facts_about_it(monkeypatch):
    """The JSON of a large body is not kept, because it needs much memory. Small facts of it are kept, such as the code.

    Here five facts of five responses are asked for, one of them twice. Each body is read once.
    """
    read_json = spec.exchange.read_json
    bodies_read = []

    def read_json_and_note(body):
        """Read the JSON of a body, and note that it was read."""
        bodies_read.append(body)
        return read_json(body)

    monkeypatch.setattr(spec.exchange, "read_json", read_json_and_note)
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
