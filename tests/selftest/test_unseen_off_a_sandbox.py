"""What a run could not see is not told as tested: malformed requests for an account that nobody has, lists that show no
key. Over real HTTP."""

import pytest

from environments.sandbox import Key, Server, Service
from environments.sandbox.service import Registration
from tests.selftest.services.running import TOKEN, run, write_profile

UNDOCUMENTED = "registerPixKey.pixKeyType.undocumented"

# -- a list that shows no key ---------------------------------------------------------------------------------------


class TakesAnyType(Service):
    """Registers a key of any type, and has a list that shows none."""

    def __init__(self):
        super().__init__(token=TOKEN["PIX_TOKEN"])
        self.registered = []

    def key_type(self, body):
        return str(body.get("pixKeyType"))

    def requested_key(self, body, key_type):
        return str(body.get("pixKey") or "")

    def register(self, ledger, account_id, key_type, value):
        self.registered.append({"pixKey": value, "pixKeyType": key_type})
        return Registration(1, Key(value or "made", key_type, account_id), key_type == "RANDOM", True)

    def delete_pix_key(self, request, account_id):
        return {}

    def list_pix_keys(self, request, account_id):
        return {"keys": self.shown()}

    def shown(self):
        return []


class ShowsTheFirstKey(TakesAnyType):
    """The list shows the first key of all: no further one, and no further type."""

    def shown(self):
        return self.registered[:1]


@pytest.mark.parametrize("make", [TakesAnyType, ShowsTheFirstKey])
def test_a_list_without_the_keys_of_documented_types_proves_nothing_about_others(make, tmp_path):
    """The success that the service answers counts."""
    with Server(make()) as server:
        result = run(write_profile(tmp_path, server.base_url), "-k", "registerPixKey")

    assert result.status == 1
    assert UNDOCUMENTED in result.rows("fail")


class OnlyAcknowledges(Service):
    """Answers success to a type that is not documented, and registers nothing; its list shows all that is registered."""

    def __init__(self):
        super().__init__(token=TOKEN["PIX_TOKEN"])

    def key_type(self, body):
        return str(body.get("pixKeyType"))

    def requested_key(self, body, key_type):
        return super().requested_key(body, key_type) if key_type in self.KEY_FORMATS else str(body.get("pixKey"))

    def register(self, ledger, account_id, key_type, value):
        if key_type in self.KEY_FORMATS:
            return super().register(ledger, account_id, key_type, value)
        return Registration(1, Key(value, key_type, account_id), False, True)


def test_a_list_with_the_keys_of_documented_types_shows_that_no_other_is_registered(tmp_path):
    """An acknowledgement alone registers nothing."""
    with Server(OnlyAcknowledges()) as server:
        result = run(write_profile(tmp_path, server.base_url), "-k", "registerPixKey")

    assert result.status == 0
    assert UNDOCUMENTED not in result.rows("fail")
