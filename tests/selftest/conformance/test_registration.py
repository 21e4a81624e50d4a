"""What the tests of registrations say if there is nothing to judge."""

import pytest

from environments.sandbox import Service
from tests.selftest.services.one_run import result_in_memory

TEST_OF_NUMERIC_KEY_TYPES = "registerPixKey.pixKeyType.numeric"
KEY_AT = "/data/keys/*/pixKey"


@pytest.mark.parametrize(
    ("key_at", "beginning_of_message"),
    [
        (None, "not tried, as the key could not be deleted: off a sandbox, a key is deleted only if a list"),
        (KEY_AT, "not tried, as a key that the service makes could not be deleted: if nobody else registers"),
    ],
    ids=["without key_at", "with key_at"],
)
def test_the_message_says_why_numeric_key_types_are_not_tried(key_at, beginning_of_message, tmp_path):
    """The test of numeric key types, such as "1", is not tried if its key could not be deleted. The message says why.

    The test would register a key whose value the service makes. Without `key_at` (the place of the keys in the list of an
    account) the run deletes no key. With `key_at` it still cannot know which key of the list is this one.
    """
    result = result_in_memory(
        Service(), tmp_path, selected=TEST_OF_NUMERIC_KEY_TYPES, sandbox=None, journal=str(tmp_path / "journal.jsonl"), transactions=None,
        allow=["read", "register-keys", "delete-keys", "fuzz"], key_at=key_at,
    )  # fmt: skip

    assert result.messages_with_verdict("not-exercised")[TEST_OF_NUMERIC_KEY_TYPES].startswith(beginning_of_message)
