"""A requirement does not pass because of requests that could not show a fault.

- Some lists of keys lack keys that were registered. Such a list does not show that another key was not registered.
- Outside a sandbox (a service without real money) invalid requests name an account that nobody has. If a service first
  looks the account up, it answers all of them with 404, and nothing was tested.

To look an account up is to check first whether it exists.
"""

import json

import pytest

from environments.sandbox import Key, Refusal, Response, Service
from environments.sandbox.service import Registration
from tests.selftest.services.one_run import ALL_TESTS, result_in_memory
from tests.selftest.services.running import TOKEN_VARIABLES

# -- a list that shows no key ---------------------------------------------------------------------------------------


class TakesAnyType(Service):
    """Registers a key of any type, documented or not. Its list of keys is empty."""

    def __init__(self):
        """The sandbox with the token of these tests. No key is registered yet."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])
        self.registered = []

    def key_type(self, body):
        """The key type that a registration names, whatever it is."""
        return str(body.get("pixKeyType"))

    def requested_key(self, body, key_type):
        """The key that a registration names, in any form; empty if it names none."""
        return str(body.get("pixKey") or "")

    def register(self, ledger, account_id, key_type, value):
        """Note a key as registered, and return the registration."""
        self.registered.append({"pixKey": value, "pixKeyType": key_type})
        return Registration(1, Key(value or "made", key_type, account_id), key_type == "RANDOM", True)

    def delete_pix_key(self, request, account_id):
        """The data of the answer to a deletion. Nothing is deleted."""
        return {}

    def list_pix_keys(self, request, account_id):
        """The list of keys, with the keys that it shows."""
        return {"keys": self.shown()}

    def shown(self):
        """The keys that the list shows: none."""
        return []


class ShowsTheFirstKey(TakesAnyType):
    """Its list shows only the key that was registered first."""

    def shown(self):
        """The keys that the list shows: the first one."""
        return self.registered[:1]


@pytest.mark.parametrize("make", [TakesAnyType, ShowsTheFirstKey])
def test_a_registration_of_an_undocumented_type_fails_although_no_list_shows_its_key(make, tmp_path):
    """A service that accepts a key type that is not documented fails, although no list shows the key.

    Its list also lacks keys of documented types. So the list does not show that nothing was registered.
    """
    result = result_in_memory(make(), tmp_path, selected="registerPixKey")

    assert result.status == 1
    assert "registerPixKey.pixKeyType.undocumented" in result.messages_with_verdict("fail")


class OnlyAcknowledges(Service):
    """Answers the registration of an undocumented key type with a success, and registers no such key."""

    def __init__(self):
        """The sandbox with the token of these tests."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])

    def key_type(self, body):
        """The key type that a registration names, whatever it is."""
        return str(body.get("pixKeyType"))

    def requested_key(self, body, key_type):
        """The key that a registration names. A key of an undocumented type may have any form."""
        if key_type in self.KEY_FORMATS:
            return super().requested_key(body, key_type)
        return str(body.get("pixKey"))

    def register(self, ledger, account_id, key_type, value):
        """Register a key of a documented type. For any other type return a registration, and register nothing."""
        if key_type in self.KEY_FORMATS:
            return super().register(ledger, account_id, key_type, value)
        return Registration(1, Key(value, key_type, account_id), False, True)


def test_a_registration_of_an_undocumented_type_passes_if_a_whole_list_lacks_its_key(tmp_path):
    """A service that answers success to an undocumented key type passes if its list shows that it registered nothing.

    The list shows all keys of documented types, and lacks the key of that type.
    """
    result = result_in_memory(OnlyAcknowledges(), tmp_path, selected="registerPixKey")

    assert result.status == 0
    assert "registerPixKey.pixKeyType.undocumented" not in result.messages_with_verdict("fail")


# -- malformed requests for an account that nobody has ----------------------------------------------------------------


class BreaksOnMalformedJson(Service):
    """Answers 404 for an unknown account. For a known account, a body that is no JSON object ends in a server error.

    `operations` are those that end in a server error. Others refuse such a body with 400.
    """

    operations = ("deletePixKey",)

    def __init__(self):
        """The sandbox with the token of these tests."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])

    def register_pix_key(self, request, account_id):
        """Look up the account, which raises Refusal (404) if it is unknown, and then register the key."""
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
        return super().register_pix_key(request, account_id)

    def delete_pix_key(self, request, account_id):
        """Look up the account, which raises Refusal (404) if it is unknown, and then delete the key."""
        with self.database.transaction() as ledger:
            self.own_account(ledger, account_id)
        return super().delete_pix_key(request, account_id)

    def read_json(self, request, operation):
        """The members of a body. Raises Refusal, with 500 for some operations, if it is no JSON object."""
        try:
            return super().read_json(request, operation)
        except Refusal:
            status = 500 if operation in self.operations else 400
            raise Refusal(status, "Internal error.") from None


class RefusesMalformedJsonFirst(Service):
    """The sandbox, which reads the body before it looks the account up."""

    def __init__(self):
        """The sandbox with the token of these tests."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])


class BreaksOnMalformedJsonOfAnybody(RefusesMalformedJsonFirst):
    """Answers a deletion whose body is no JSON with a server error, before it looks up the account."""

    def read_json(self, request, operation):
        """The members of a body. Raises Refusal if it is no JSON, with 500 for a deletion."""
        try:
            return super().read_json(request, operation)
        except Refusal as refusal:
            status = 500 if operation == "deletePixKey" else refusal.status
            raise Refusal(status, "Internal error.") from None


def result_off_sandbox(make, folder, selected, **changes):
    """The result of a run, with generated requests, against a service that the profile does not call a sandbox.

    `make` makes the service. The run may register and delete keys. `changes` are further changes of the profile.
    """
    changes = {
        "sandbox": None, "allow": ["read", "register-keys", "delete-keys", "fuzz"], "accounts": ["ac-0001"],
        "pix_keys": [{"type": "EMAIL", "key": "qa@pix-conformance.example", "disposable": True}],
        "transactions": None, "journal": str(folder / "journal.jsonl"), **changes,
    }  # fmt: skip
    return result_in_memory(make(), folder, selected=selected, tests=ALL_TESTS, **changes)


def test_malformed_deletions_that_tested_nothing_are_out_of_scope(tmp_path):
    """If malformed deletions are answered like valid ones for an unknown account, a requirement is out of scope.

    It is the requirement about server errors. It does not pass, because the service perhaps did not read the bodies:
    outside a sandbox malformed deletions name an account that nobody has. The message of the requirement names the
    bodies. The run is partial (exit status 0), and its output says once what is not seen outside a sandbox.
    """
    result = result_off_sandbox(BreaksOnMalformedJson, tmp_path, "deletePixKey")
    message = result.messages_with_verdict("out-of-scope")["deletePixKey.serverError"]
    line = (
        "unseen outside a sandbox: malformed requests to deletePixKey, answered like valid requests for an unknown "
        "account"
    )

    assert (result.status, result.document["verdict"]) == (0, "partial")
    assert message.startswith("only on a sandbox: ")
    assert "unseen outside a sandbox" in message
    assert "cut short" in message  # one of the malformed bodies
    assert result.output.count(line) == 1
    assert result.document["coverage"]["robustness"] == {"tested": 0, "testable": 3}


def test_on_a_sandbox_a_server_error_for_malformed_deletions_of_a_known_account_is_found(tmp_path):
    """On a sandbox a malformed deletion that ends in a server error is found, even if the service looks the account up.

    There such deletions name the account of the profile, too, which the service knows.
    """
    result = result_in_memory(BreaksOnMalformedJson(), tmp_path, selected="deletePixKey.serverError")

    assert result.status == 1
    assert "deletePixKey.serverError" in result.messages_with_verdict("fail")


def test_malformed_deletions_with_their_own_answer_count_as_tested(tmp_path):
    """If malformed deletions get another answer than valid ones for an unknown account, they count as tested.

    This service reads the body first, so it answers 400 to malformed ones, and 404 to an unknown account. The requirement
    about server errors is not out of scope then.
    """
    result = result_off_sandbox(RefusesMalformedJsonFirst, tmp_path, "deletePixKey or registerPixKey")
    ids_out_of_scope = set(result.messages_with_verdict("out-of-scope"))

    assert result.status == 0
    assert ids_out_of_scope & {"deletePixKey.serverError", "registerPixKey.serverError"} == set()


def test_a_server_error_for_an_unknown_account_is_a_finding(tmp_path):
    """A malformed deletion for an unknown account that ends in a server error is also a failure outside a sandbox.

    This service breaks on the body before it looks the account up.
    """
    result = result_off_sandbox(BreaksOnMalformedJsonOfAnybody, tmp_path, "deletePixKey.serverError")

    assert result.status == 1
    assert "deletePixKey.serverError" in result.messages_with_verdict("fail")


class BreaksOnMalformedTransfers(BreaksOnMalformedJson):
    """Answers 404 to an internal transfer whose body does not name the account of the profile.

    With that account, a body that is no JSON object ends in a server error.
    """

    operations = ("transferInternal",)

    def respond(self, request):
        """Answer a request. An internal transfer with a token, but without the account, gets 404."""
        is_transfer = request.path == "/v1/transfer/internal" and request.header("Authorization")
        if is_transfer and b"ac-0001" not in request.body:
            return Response(404, b'{"error": "There is no such account."}', (("Content-Type", "application/json"),))
        return super().respond(request)


def test_transfers_that_tested_nothing_are_out_of_scope(tmp_path):
    """If each invalid transfer is answered 404 because its account is unknown, a requirement is out of scope.

    It is the requirement about server errors, which does not pass. Outside a sandbox such transfers name accounts that
    nobody has, so the server error of this service is not seen.
    """
    selected, allow = "transferInternal", ["read", "transfer", "fuzz"]
    result = result_off_sandbox(BreaksOnMalformedTransfers, tmp_path, selected, allow=allow, pix_keys=[])
    messages_out_of_scope = result.messages_with_verdict("out-of-scope")

    assert (result.status, result.document["verdict"]) == (0, "partial")
    assert "unseen outside a sandbox" in messages_out_of_scope["transferInternal.serverError"]


class DeletesAllKeysForAnEmptyObject(RefusesMalformedJsonFirst):
    """Deletes all keys of the account if the body of a deletion is an empty object."""

    def delete_pix_key(self, request, account_id):
        """Delete the key that the body names, or all keys."""
        if request.body != b"{}":
            return super().delete_pix_key(request, account_id)
        with self.database.transaction() as ledger:
            for key in ledger.keys(account_id):
                ledger.remove_key(key)
        return {}


def test_on_a_sandbox_a_deletion_of_all_keys_fails_nothing(tmp_path):
    """A service that deletes all keys if a deletion names none fails no requirement, because the document permits it.

    Only on a sandbox such a deletion goes to the account of the profile.
    """
    result = result_in_memory(DeletesAllKeysForAnEmptyObject(), tmp_path, selected="deletePixKey")

    assert result.status == 0


# -- transfers on a sandbox -------------------------------------------------------------------------------------------

TRANSFERS = {
    "createPix": ("/v1/pix", "account"),
    "transferExternal": ("/v1/transfer/external", "from"),
    "transferInternal": ("/v1/transfer/internal", "from"),
    "transferP2p": ("/v1/transfer/p2p", "from"),
}
"""By operation, its path, and the member of its body that names the paying account."""
BROKEN_BY = {
    "a negative amount": lambda value: isinstance(value, int | float) and value < 0,
    "a text as an amount": lambda value: isinstance(value, str),
    "an amount of null": lambda value: value is None,
    "NaN": lambda value: value != value,  # NaN alone is not equal to itself
}
"""By fault of a service, a function that returns True for an amount at which the service ends in a server error."""


class LooksUpTheAccountOfATransfer(Service):
    """Answers 404 to a transfer from an unknown account.

    A transfer from a known account ends in a server error if `is_broken_by` is true of its amount.
    """

    def __init__(self, is_broken_by):
        """`is_broken_by` says of an amount whether it ends in a server error."""
        super().__init__(token=TOKEN_VARIABLES["PIX_TOKEN"])
        self.is_broken_by = is_broken_by

    def respond(self, request):
        """Answer a request. A transfer with the valid token, whose body is JSON, may get 404 or 500."""
        name_of_payer_by_path = dict(TRANSFERS.values())
        is_transfer = request.method == "POST" and request.path in name_of_payer_by_path
        if not is_transfer or not self.has_token(request):
            return super().respond(request)
        try:
            body = json.loads(request.body)
        except (ValueError, RecursionError):
            return super().respond(request)
        members = body if isinstance(body, dict) else {}
        payer = members.get(name_of_payer_by_path[request.path])
        if payer not in ("ac-0001", "ac-0002"):
            return Response(404, b'{"error": "There is no such account."}', (("Content-Type", "application/json"),))
        if "value" in members and self.is_broken_by(members["value"]):
            return Response(500, b'{"error": "Internal error."}', (("Content-Type", "application/json"),))
        return super().respond(request)

    def has_token(self, request):
        """True for a request with the valid token."""
        return request.header("Authorization") == f"Bearer {self.token}"


@pytest.mark.parametrize(
    ("fault", "operation"),
    [
        ("a negative amount", "createPix"),
        ("a text as an amount", "transferExternal"),
        ("an amount of null", "transferInternal"),
        ("NaN", "transferP2p"),
    ],
)
def test_on_a_sandbox_a_server_error_for_invalid_transfers_of_a_known_account_is_found(fault, operation, tmp_path):
    """On a sandbox an invalid transfer that ends in a server error is found, even if the service looks the account up.

    There such transfers name the paying account of the profile, which the service knows.
    """
    result = result_in_memory(
        LooksUpTheAccountOfATransfer(BROKEN_BY[fault]), tmp_path, selected=f"{operation}.serverError", tests=ALL_TESTS
    )

    assert result.status == 1
    assert f"{operation}.serverError" in result.messages_with_verdict("fail")


def test_a_service_that_looks_accounts_up_and_breaks_on_nothing_is_robust(tmp_path):
    """A service that answers 404 to unknown accounts, and breaks on no amount, fails no requirement about server errors."""
    service = LooksUpTheAccountOfATransfer(lambda value: False)
    selected = " or ".join(f"{name}.serverError" for name in TRANSFERS)
    result = result_in_memory(service, tmp_path, selected=selected, tests=ALL_TESTS)

    assert result.status == 0
    assert result.messages_with_verdict("fail") == {}


def test_off_a_sandbox_the_message_names_the_invalid_amounts_that_were_not_tested(tmp_path):
    """Outside a sandbox the message of the requirement about server errors names the invalid amounts that tested nothing.

    A text as an amount ends in a server error here, but only for a known account, which no invalid transfer names. The
    amount is the member `value`.
    """
    service = LooksUpTheAccountOfATransfer(BROKEN_BY["a text as an amount"])
    options = {"allow": ["read", "transfer", "fuzz"], "pix_keys": [], "limits": {"transfers": 400}}
    result = result_off_sandbox(lambda: service, tmp_path, "transferP2p.serverError", **options)
    # the verdict is pass if other invalid transfers were tested, and otherwise out-of-scope
    messages = {**result.messages_with_verdict("out-of-scope"), **result.messages_with_verdict("pass")}
    message = messages["transferP2p.serverError"]

    assert result.status == 0
    assert "unseen outside a sandbox" in message
    assert "value" in message
