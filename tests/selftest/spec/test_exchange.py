"""Requests and responses as they are kept."""

import pytest

from spec.exchange import LARGE, Response


@pytest.mark.parametrize("size", [LARGE, LARGE + 1])
def test_bodies_of_any_size_come_out_as_they_went_in(size):
    """A large one is kept compressed, and is the same body and the same JSON."""
    body = b'"' + b"x" * (size - 2) + b'"'
    response = Response(200, (), body)

    assert response.body == body
    assert response.json.value == "x" * (size - 2)
    assert response == Response(200, (), body)
    assert "xx" not in repr(response)
    assert (len(response.content[0]) < size) is (size > LARGE)
