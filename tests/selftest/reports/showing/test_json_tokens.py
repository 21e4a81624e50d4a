"""JSON token by token: each one's path, and whether it is personal."""

import json

import pytest

from reports.showing.json_tokens import tokens
from spec.json_text import MAX_DEPTH


@pytest.mark.parametrize("text", ["[" * 4_000, '{"a":' * 800, "[]," * 1_300, '{"name":[' * 400], ids=range(4))
def test_a_token_has_a_path_of_bounded_length(text):
    """A token that is nested deeper counts as personal, because the names above it are not known."""
    all_tokens = list(tokens(text))

    assert max(len(token.path) for token in all_tokens) <= MAX_DEPTH
    assert all(token.is_personal for token in all_tokens if len(token.path) == MAX_DEPTH)


def test_a_personal_member_is_found_at_any_depth():
    """Every token in a personal member is personal, and the token after it is not."""
    text = json.dumps({"name": "x", "other": "y"}).replace('"x"', "[" * 50 + '"x"' + "]" * 50)
    is_personal = {token.text: token.is_personal for token in tokens(text)}

    assert is_personal['"x"']
    assert not is_personal['"y"']
