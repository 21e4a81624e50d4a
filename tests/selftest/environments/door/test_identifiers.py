"""Off a sandbox (a test system) each account and key in a request must be of the profile, or made up by the suite.

An identifier that the suite made up begins with a mark (SYNTHETIC_PREFIX), and is nobody's. The run refuses to send any
other request (ForbiddenError).
"""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from environments.door.permission import ForbiddenError
from environments.profiles.model import filled_in
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.services.one_run import FakeBank, profile_of_bank, run_suite_in_memory
from tests.selftest.services.without_network import OWN_ACCOUNT, RECEIVING_ACCOUNT, RunWithoutNetwork
from tests.traffic import invalid

ACCOUNT_OF_SOMEBODY, MADE_UP_ACCOUNT = "ac-7777", f"{SYNTHETIC_PREFIX}account"
"""An account of somebody else, and one that the suite made up."""
PHONE_OF_PROFILE = "+5511955500777"
MADE_UP_KEY = f"{SYNTHETIC_PREFIX}0a1b2c3d@example.com"


def send(run, operation, account, body=None, **options):
    """Let the run send a request, and return the exchange. A body that is a text or bytes is sent as it is, any other
    body as JSON.
    """
    if isinstance(body, bytes):
        options["body"] = body
    elif isinstance(body, str):
        options["body"] = body.encode()
    elif body is not None:
        options["json"] = body
    return run.client.send(operation, account, **options)


def registration(key, key_type="EMAIL", account=OWN_ACCOUNT):
    """The body of a registration of this key."""
    return {"account": account, "pixKeyType": key_type, "pixKey": key}


REQUESTS_ABOUT_SOMEBODY_ELSE = {
    "the keys of an account": ("listPixKeys", ACCOUNT_OF_SOMEBODY, None),
    "a balance": ("getBalance", ACCOUNT_OF_SOMEBODY, None),
    "the entries of a longer account": ("listEntries", f"{OWN_ACCOUNT}7", None),
    "an account behind its own": ("getBalance", f"{OWN_ACCOUNT}/../{ACCOUNT_OF_SOMEBODY}", None),
    "a registration at an account": ("registerPixKey", ACCOUNT_OF_SOMEBODY, registration(MADE_UP_KEY)),
    "a deletion at an account": ("deletePixKey", ACCOUNT_OF_SOMEBODY, {"pixKey": MADE_UP_KEY}),
    "a registration for another account": (
        "registerPixKey",
        OWN_ACCOUNT,
        registration(MADE_UP_KEY, account=ACCOUNT_OF_SOMEBODY),
    ),
    "an e-mail key": ("registerPixKey", OWN_ACCOUNT, registration("somebody@example.com")),
    "a phone number": ("registerPixKey", MADE_UP_ACCOUNT, registration("+5511999990000", "PHONE", MADE_UP_ACCOUNT)),
    "a phone number as a number": (
        "registerPixKey",
        MADE_UP_ACCOUNT,
        registration(5511999990000, "PHONE", MADE_UP_ACCOUNT),
    ),
    "a number that is negative": (
        "registerPixKey",
        MADE_UP_ACCOUNT,
        registration(-5511999990000, "PHONE", MADE_UP_ACCOUNT),
    ),
    "a UUID that is no RANDOM key": ("registerPixKey", OWN_ACCOUNT, registration(str(uuid4()), "EMAIL")),
    "a key under another name": ("deletePixKey", OWN_ACCOUNT, {"key": {"value": "somebody@example.com"}}),
    "a key in a list": ("deletePixKey", OWN_ACCOUNT, {"keys": [MADE_UP_KEY, "somebody@example.com"]}),
    "the first of two keys": (
        "deletePixKey",
        OWN_ACCOUNT,
        f'{{"pixKey": "me@example.com", "pixKey": "{MADE_UP_KEY}"}}',
    ),
    "a key in what is no JSON": ("registerPixKey", MADE_UP_ACCOUNT, '{"pixKey": "somebody@example.com",}'),
    "a RANDOM key of the account": ("deletePixKey", OWN_ACCOUNT, {"pixKey": str(uuid4())}),
    "a receiver": ("transferP2p", None, {"from": OWN_ACCOUNT, "to": ACCOUNT_OF_SOMEBODY, "value": 1}),
    "a sender": ("transferP2p", None, {"from": ACCOUNT_OF_SOMEBODY, "to": RECEIVING_ACCOUNT, "value": 1}),
    "a receiver as a number": ("transferP2p", None, {"from": OWN_ACCOUNT, "to": 7777, "value": 1}),
    "a key that is paid": (
        "createPix",
        None,
        {"account": OWN_ACCOUNT, "pixKey": "somebody@example.com", "value": 0.01},
    ),
}
"""By what they name: operation, account in the path, and body of requests about somebody else."""
REQUESTS_ABOUT_THE_PROFILE_OR_NOBODY = {
    "the own account": ("getBalance", OWN_ACCOUNT, None),
    "an own account with a slash": ("listEntries", "ac/2", None),
    "a made-up account": ("listPixKeys", MADE_UP_ACCOUNT, None),
    "no account": ("listAccounts", None, None),
    "a made-up key": ("registerPixKey", OWN_ACCOUNT, registration(MADE_UP_KEY)),
    "a key of the profile": ("registerPixKey", OWN_ACCOUNT, registration(PHONE_OF_PROFILE, "PHONE")),
    "a key type that is not documented": ("registerPixKey", OWN_ACCOUNT, registration(MADE_UP_KEY, "e-mail 7")),
    "a key that the service makes": ("registerPixKey", OWN_ACCOUNT, registration("", "RANDOM")),
    "a RANDOM key without pixKey": ("registerPixKey", OWN_ACCOUNT, {"account": OWN_ACCOUNT, "pixKeyType": "RANDOM"}),
    "a new UUID": ("registerPixKey", OWN_ACCOUNT, registration(str(uuid4()), "RANDOM")),
    "a member that the suite made up": (
        "registerPixKey",
        OWN_ACCOUNT,
        {**registration(MADE_UP_KEY), f"{SYNTHETIC_PREFIX}x": "xyz 12345678"},
    ),
    "no key for a made-up account": ("registerPixKey", MADE_UP_ACCOUNT, registration("", account=MADE_UP_ACCOUNT)),
    "a body that is no JSON": ("registerPixKey", MADE_UP_ACCOUNT, f'{{"{SYNTHETIC_PREFIX}'),
    "numbers that are nobody": ("registerPixKey", MADE_UP_ACCOUNT, {"account": -1, "pixKey": 0, "pixKeyType": 5}),
    "a transfer of the profile": (
        "transferP2p",
        None,
        {"from": OWN_ACCOUNT, "to": RECEIVING_ACCOUNT, "bank": 341, "value": 3, "date": 1},
    ),
    "free text": ("transferP2p", None, {"to": RECEIVING_ACCOUNT, "description": "rent of 2026", "message": "x"}),
    "another date": ("transferP2p", None, {"to": RECEIVING_ACCOUNT, "date": 1767225600000}),
}
"""By what they name: operation, account in the path, and body of requests that concern nobody else."""


@pytest.mark.parametrize(
    ("operation", "account", "body"), REQUESTS_ABOUT_SOMEBODY_ELSE.values(), ids=REQUESTS_ABOUT_SOMEBODY_ELSE
)
def test_a_request_about_an_account_or_key_of_somebody_else_is_refused(operation, account, body, tmp_path):
    """The run refuses a request that names an account or key of somebody else.

    An account or key belongs to somebody else if it is not in the profile (the settings of the run) and the suite did
    not make it up. An example is the balance of the account ac-7777, as the profile has only ac-0001 and ac/2. The
    target is not a sandbox (a test system).
    """
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError):
        send(run, operation, account, body)

    assert run.exchanges == []


@pytest.mark.parametrize(
    ("operation", "account", "body"),
    REQUESTS_ABOUT_THE_PROFILE_OR_NOBODY.values(),
    ids=REQUESTS_ABOUT_THE_PROFILE_OR_NOBODY,
)
def test_identifiers_of_the_profile_and_made_up_ones_are_sent(operation, account, body, tmp_path):
    """The run sends a request that names only accounts and keys of the profile (the settings of the run) or made-up
    ones.

    It also sends texts that name nobody, such as a date, a description or a bank.
    """
    run = RunWithoutNetwork(tmp_path)

    assert send(run, operation, account, body).response.status == 200


@pytest.mark.parametrize(
    ("operation", "account", "body"), REQUESTS_ABOUT_SOMEBODY_ELSE.values(), ids=REQUESTS_ABOUT_SOMEBODY_ELSE
)
def test_on_a_sandbox_a_request_may_name_every_account_and_key(operation, account, body, tmp_path):
    """The run checks no account or key on a sandbox (a test system), because nobody there is real."""
    run = RunWithoutNetwork(tmp_path, is_sandbox=True)

    assert send(run, operation, account, body).response.status == 200


MALFORMED_BODIES = {
    "no body": None,
    "an empty body": "",
    "no JSON": f'{{"{SYNTHETIC_PREFIX}',
    "no UTF-8": b'{"pixKey": "\xff"}',
    "an array": "[]",
    "no key": {},
    "no key beside the other members": {"kind": "EMAIL", "reason": ""},
    "an empty key": {"pixKey": ""},
    "a key that is the mark of the suite and a blank": {"pixKey": f"{SYNTHETIC_PREFIX} "},
    "a key that is the mark of the suite alone": {"pixKey": SYNTHETIC_PREFIX},
    "a key with NUL": {"pixKey": f"{SYNTHETIC_PREFIX}\0"},
    "a key with half a surrogate pair": {"pixKey": f"{SYNTHETIC_PREFIX}\ud800"},
    "a key of 201 characters": {"pixKey": SYNTHETIC_PREFIX + "x" * (201 - len(SYNTHETIC_PREFIX))},
    "a key that is an object": {"pixKey": {}},
}
"""By what is malformed: bodies of registrations and deletions. A dictionary is sent as JSON, a text as it is."""


CONTENT_TYPE_OF_FORMS = "application/x-www-form-urlencoded"


def send_malformed(run, operation, account, body):
    """Send a malformed body for an account. A registration whose body is a dictionary gets the account and a key type."""
    if operation == "registerPixKey" and isinstance(body, dict):
        body = {"account": account, "pixKeyType": "EMAIL", **body}
    return send(run, operation, account, body)


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize("body", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
def test_a_malformed_body_is_not_sent_to_an_account_of_the_profile(body, operation, tmp_path):
    """A service may take a malformed body, such as `[]` or one with an empty key, for a deletion of all keys.

    It may also register a key that nobody can delete, such as one with NUL. So the run refuses such bodies for an
    account of the profile (the settings of the run). The target is not a sandbox (a test system).
    """
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send_malformed(run, operation, OWN_ACCOUNT, body)

    assert run.sent_bodies == []


@pytest.mark.parametrize("body", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
def test_malformed_bodies_for_a_made_up_account_are_sent(body, tmp_path):
    """A service may take a malformed body for a deletion of all keys. An account that the suite made up has no keys, so
    the run sends such bodies for it.
    """
    run = RunWithoutNetwork(tmp_path)

    assert send_malformed(run, "registerPixKey", MADE_UP_ACCOUNT, body).response.status == 200


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize("body", MALFORMED_BODIES.values(), ids=MALFORMED_BODIES)
def test_on_a_sandbox_malformed_bodies_for_any_account_are_sent(body, operation, tmp_path):
    """On a sandbox (a test system) no key is real, so the run refuses no malformed body."""
    run = RunWithoutNetwork(tmp_path, is_sandbox=True)

    assert send_malformed(run, operation, OWN_ACCOUNT, body).response.status == 200


def test_a_deletion_at_an_account_of_the_profile_has_the_content_type_of_json(tmp_path):
    """The run refuses a deletion with the Content-Type of a form, although its body is JSON.

    A service that expects a form finds no key in that body, and may delete all keys.
    """
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(run, "deletePixKey", OWN_ACCOUNT, {"pixKey": MADE_UP_KEY}, content_type=CONTENT_TYPE_OF_FORMS)

    assert run.sent_bodies == []


def test_a_registration_at_an_account_of_the_profile_may_have_another_content_type(tmp_path):
    """The run sends a registration with the Content-Type of a form, although its body is JSON.

    A service that expects a form finds no key in that body, and registers none.
    """
    run = RunWithoutNetwork(tmp_path)
    send(run, "registerPixKey", OWN_ACCOUNT, registration(MADE_UP_KEY), content_type=CONTENT_TYPE_OF_FORMS)

    assert len(run.sent_bodies) == 1


def test_a_generated_empty_key_for_an_account_of_the_profile_is_refused(tmp_path):
    """A generated request is one that the property tests draw. The suite does not look for the keys that they register.

    So if the service made a key for an empty one, the key would stay. The run refuses such a request.
    """
    run = RunWithoutNetwork(tmp_path)
    run.client = run.client.of_generator("registerPixKey")  # its requests count as generated
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(run, "registerPixKey", OWN_ACCOUNT, registration("", "RANDOM"))


def deletion_of(key, key_type="EMAIL"):
    """The body of a deletion, as the profile (the settings of the run) says that it looks."""
    return {"pixKey": key, "kind": key_type, "reason": ""}


@pytest.mark.parametrize("key_type", ["EMAIL", ""], ids=["with a key type", "with an empty key type"])
def test_a_deletion_that_looks_as_the_profile_says_is_sent(key_type, tmp_path):
    """The profile (the settings of the run) may say how the body of a deletion looks, because the document does not.

    The run sends such a body with a key that was made up. The texts beside the key may be empty.
    """
    template = {"key": {"value": "urn:{key}", "type": "{type}"}, "reason": "", "count": 1, "more": {}}
    run = RunWithoutNetwork(tmp_path, requests={"deletePixKey": {"json": template}})
    send(run, "deletePixKey", OWN_ACCOUNT, filled_in(template, account=OWN_ACCOUNT, key=MADE_UP_KEY, type=key_type))

    assert len(run.sent_bodies) == 1


def test_a_random_key_that_the_run_registered_may_be_deleted(tmp_path):
    """The service makes a RANDOM key, so it is neither in the profile (the settings of the run) nor made up by the
    suite.

    The run has learned the value of its own RANDOM key, so the run sends the deletion.
    """
    run = RunWithoutNetwork(tmp_path)
    keys, value_made_by_service = run.keys, str(uuid4())
    registered = send(run, "registerPixKey", OWN_ACCOUNT, registration("", "RANDOM"), valid=True)
    keys.learn_value(keys.key_of(registered), value_made_by_service)
    send(run, "deletePixKey", OWN_ACCOUNT, deletion_of(value_made_by_service, "RANDOM"))
    number_of_registrations, number_of_deletions = 1, 1

    assert len(run.sent_bodies) == number_of_registrations + number_of_deletions


def test_a_random_key_that_an_earlier_run_left_may_be_deleted(tmp_path):
    """The key record (a file that runs leave for later ones) has the value of the key, so the run sends the deletion."""
    run, value_in_record = RunWithoutNetwork(tmp_path), str(uuid4())
    run.keys._record = SimpleNamespace(
        events_of_made_up_keys=lambda: [{"type": "RANDOM", "key": value_in_record}],
        note=lambda *_, **__: 0,
    )
    send(run, "deletePixKey", OWN_ACCOUNT, deletion_of(value_in_record, "RANDOM"))

    assert len(run.sent_bodies) == 1


def test_a_random_key_of_which_nobody_knows_is_not_deleted(tmp_path):
    """The run refuses to delete a RANDOM key that no run registered, because it may be a customer's."""
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError):
        send(run, "deletePixKey", OWN_ACCOUNT, deletion_of(str(uuid4()), "RANDOM"))

    assert run.sent_bodies == []


DELETION_WITHOUT_A_KEY = {"account": "{account}", "what": "key"}
"""The body of a deletion in a profile: the service has one key for each account, so the body names none."""


def test_a_deletion_without_a_key_is_sent_if_the_profile_has_such_a_body(tmp_path):
    """The service has one key for each account, so a deletion need not name it. In the profile (the settings of the
    run) the body of a deletion names only the account. The run sends such a body.
    """
    run = RunWithoutNetwork(tmp_path, requests={"deletePixKey": {"json": DELETION_WITHOUT_A_KEY}})
    send(run, "deletePixKey", OWN_ACCOUNT, {**DELETION_WITHOUT_A_KEY, "account": OWN_ACCOUNT})

    assert len(run.sent_bodies) == 1


def test_a_generated_deletion_without_a_key_is_refused(tmp_path):
    """A generated request is one that the property tests draw. It must not delete what nobody registered for it.

    So the run refuses it, although it has the body that the profile (the settings of the run) has for deletions.
    """
    run = RunWithoutNetwork(tmp_path, requests={"deletePixKey": {"json": DELETION_WITHOUT_A_KEY}})
    run.client = run.client.of_generator("deletePixKey")  # its requests count as generated
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(run, "deletePixKey", OWN_ACCOUNT, {**DELETION_WITHOUT_A_KEY, "account": OWN_ACCOUNT})

    assert run.sent_bodies == []


def test_a_deletion_that_names_only_the_account_is_refused(tmp_path):
    """The run refuses a deletion that names the account and no key, because a lenient service may delete all its keys."""
    run = RunWithoutNetwork(tmp_path)

    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(run, "deletePixKey", OWN_ACCOUNT, {"accountId": OWN_ACCOUNT})


@pytest.mark.parametrize(
    ("table", "entry"),
    [("ODD_KEYS", "text with NUL"), ("PATH_PARAMETERS", "unknown")],
    ids=["a key", "a path parameter"],
)
def test_a_value_of_somebody_in_the_tables_of_the_suite_ends_the_run(table, entry, tmp_path, monkeypatch):
    """The suite has tables of invalid values, which must name nobody. Here an entry is somebody's e-mail address.

    The run refuses the request, and stops. Nothing with the address is sent.
    """
    monkeypatch.setitem(getattr(invalid, table), entry, "somebody@example.com")
    bank = FakeBank()
    with pytest.raises(ForbiddenError):
        run_suite_in_memory(bank, profile_of_bank(tmp_path), selected="registerPixKey.serverError")
    requests_with_the_address = [
        request for request in bank.received if b"somebody" in request.body or "somebody" in request.path
    ]

    assert requests_with_the_address == []


def test_a_key_that_is_the_prefix_of_the_suite_may_be_deleted_after_its_registration(tmp_path):
    """Each key that the suite makes up begins with the same prefix (pixconf-). A service may cut a key to that.

    Here the run registers the prefix itself, which has the same effect. The run permits that only for a made-up
    account. If the own account has the key afterwards, nobody but this run made it, so the run may delete it there.
    """
    prefix = "pixconf-"
    run = RunWithoutNetwork(tmp_path)
    send(run, "registerPixKey", MADE_UP_ACCOUNT, registration(prefix, account=MADE_UP_ACCOUNT))
    send(run, "deletePixKey", OWN_ACCOUNT, deletion_of(prefix))
    number_of_registrations, number_of_deletions = 1, 1

    assert prefix == SYNTHETIC_PREFIX
    assert len(run.sent_bodies) == number_of_registrations + number_of_deletions


def test_the_prefix_of_the_suite_alone_is_not_deleted_as_a_key_that_nobody_registered(tmp_path):
    """Each key that the suite makes up begins with the same prefix, so a lenient service may delete all of them."""
    run = RunWithoutNetwork(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(run, "deletePixKey", OWN_ACCOUNT, deletion_of(SYNTHETIC_PREFIX))

    assert run.sent_bodies == []
