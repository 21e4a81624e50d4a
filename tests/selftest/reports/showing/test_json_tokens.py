"""JSON token by token: each one's path, and whether it is personal."""

import json

import pytest

from reports.showing.json_tokens import tokens
from spec.json_text import MAX_DEPTH


@pytest.mark.parametrize(
    "text",
    ["[" * 4_000, '{"a":' * 800, "[]," * 1_300, '{"name":[' * 400],
    ids=["deep arrays", "deep objects", "many arrays", "deep objects with arrays"],
)
def test_a_token_has_a_path_of_bounded_length(text):
    """A token of JSON has a path of at most MAX_DEPTH names. A token that is nested deeper counts as personal.

    A report does not show personal values, and the names above such a token are not known.
    """
    all_tokens = list(tokens(text))
    longest_path = max(len(token.path) for token in all_tokens)
    deep_tokens_that_are_shown = [
        token for token in all_tokens if len(token.path) == MAX_DEPTH and not token.is_personal
    ]

    assert longest_path <= MAX_DEPTH
    assert deep_tokens_that_are_shown == []


def test_a_personal_member_is_found_at_any_depth():
    """A value in a personal member, such as `name`, is personal however deep it is nested. A value beside it is not."""
    text = json.dumps({"name": "Ana", "other": "word"}).replace('"Ana"', "[" * 50 + '"Ana"' + "]" * 50)

    is_personal = {token.text: token.is_personal for token in tokens(text)}

    assert is_personal['"Ana"']
    assert not is_personal['"word"']
