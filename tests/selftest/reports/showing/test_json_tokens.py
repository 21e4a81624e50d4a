"""JSON token by token: each one's path, and whether it is personal."""

import pytest

from reports.showing.json_tokens import tokens
from spec.json_text import MAX_DEPTH


@pytest.mark.parametrize(
    "text",
    ["[" * 4_000, '{"a":' * 800, "[]," * 1_300, '{"name":[' * 400],
    ids=["deep arrays", "deep objects", "many arrays", "deep objects with arrays"],
)
def test_a_token_has_a_path_of_bounded_length(text):
    """The path of a JSON token, which is the names and array indexes around it, has at most MAX_DEPTH parts.

    If its path has MAX_DEPTH parts, the token may be nested deeper, and one of the names that are left out may be
    personal, such as `name`. So the token counts as personal, and a report does not show it.
    """
    all_tokens = list(tokens(text))
    longest_path = max(len(token.path) for token in all_tokens)
    deepest_tokens = [token for token in all_tokens if len(token.path) == MAX_DEPTH]
    deepest_tokens_that_are_shown = [token for token in deepest_tokens if not token.is_personal]

    assert longest_path <= MAX_DEPTH
    assert deepest_tokens_that_are_shown == []


def test_a_personal_member_is_found_at_any_depth():
    """A value in a personal member, such as `name`, is personal however deep it is nested. A value beside it is not."""
    nested_name = "[" * 50 + '"Ana"' + "]" * 50
    text = f'{{"name": {nested_name}, "other": "word"}}'

    is_personal_by_text = {token.text: token.is_personal for token in tokens(text)}

    assert is_personal_by_text['"Ana"']
    assert not is_personal_by_text['"word"']
