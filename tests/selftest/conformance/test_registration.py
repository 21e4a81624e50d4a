"""What the tests of registrations say if there is nothing to judge."""

import pytest

from environments.sandbox import Service
from tests.selftest.services.one_run import result_in_memory

NUMERIC = "registerPixKey.pixKeyType.numeric"
KEY_AT = "/data/keys/*/pixKey"


@pytest.mark.parametrize(
    ("key_at", "why"),
    [
        (None, "not tried, as the key could not be deleted: off a sandbox, a key is deleted only if a list"),
        (KEY_AT, "not tried, as a key that the service makes could not be deleted: if nobody else registers"),
    ],
)
def test_the_message_says_why_numeric_key_types_are_not_tried(key_at, why, tmp_path):
    """Without key_at no key could be deleted. With it, a key that the service makes could not be told from others."""
    result = result_in_memory(
        Service(), tmp_path, selected=NUMERIC, sandbox=None, journal=str(tmp_path / "journal.jsonl"), transactions=None,
        allow=["read", "register-keys", "delete-keys", "fuzz"], key_at=key_at,
    )  # fmt: skip

    assert result.messages_with_verdict("not-exercised")[NUMERIC].startswith(why)
