"""Off a sandbox the door sends a request only if each account and key in it is of the profile, or was made up.

An identifier that the suite made up is called synthetic: it begins with a mark (SYNTHETIC_PREFIX), and is nobody's.
"""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from environments.door.permission import ForbiddenError
from environments.profiles.model import fill
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.services.guarded import OWN_ACCOUNT, RECEIVING_ACCOUNT, client_of_profile
from tests.selftest.services.one_run import UNUSED_ADDRESS, FakeBank, profile_off_sandbox, run_suite_in_memory
from tests.traffic import invalid

SOMEBODY, NOBODY = "ac-7777", f"{SYNTHETIC_PREFIX}account"
"""An account of somebody else, and one that the suite made up."""
PHONE = "+5511955500777"
SYNTHETIC = f"{SYNTHETIC_PREFIX}0a1b2c3d@example.com"


def send(door, operation, account, body=None, **options):
    """Send a request through the door. A body that is a text goes over the wire as it is."""
    if isinstance(body, str):
        options["body"] = body.encode()
    elif body is not None:
        options["json"] = body
    return door.client.send(operation, account, **options)


def registration(key, key_type="EMAIL", account=OWN_ACCOUNT):
    """The body of a registration."""
    return {"account": account, "pixKeyType": key_type, "pixKey": key}


# by what they name: operation, account in the path, and body of requests about somebody else
FOREIGN = {
    "the keys of an account": ("listPixKeys", SOMEBODY, None),
    "a balance": ("getBalance", SOMEBODY, None),
    "the entries of a longer account": ("listEntries", f"{OWN_ACCOUNT}7", None),
    "an account behind its own": ("getBalance", f"{OWN_ACCOUNT}/../{SOMEBODY}", None),
    "a registration at an account": ("registerPixKey", SOMEBODY, registration(SYNTHETIC)),
    "a deletion at an account": ("deletePixKey", SOMEBODY, {"pixKey": SYNTHETIC}),
    "a registration for another account": ("registerPixKey", OWN_ACCOUNT, registration(SYNTHETIC, account=SOMEBODY)),
    "an e-mail key": ("registerPixKey", OWN_ACCOUNT, registration("somebody@example.com")),
    "a phone number": ("registerPixKey", NOBODY, registration("+5511999990000", "PHONE", NOBODY)),
    "a phone number as a number": ("registerPixKey", NOBODY, registration(5511999990000, "PHONE", NOBODY)),
    "a number that is negative": ("registerPixKey", NOBODY, registration(-5511999990000, "PHONE", NOBODY)),
    "a UUID that is no RANDOM key": ("registerPixKey", OWN_ACCOUNT, registration(str(uuid4()), "EMAIL")),
    "a key under another name": ("deletePixKey", OWN_ACCOUNT, {"key": {"value": "somebody@example.com"}}),
    "a key in a list": ("deletePixKey", OWN_ACCOUNT, {"keys": [SYNTHETIC, "somebody@example.com"]}),
    "the first of two keys": ("deletePixKey", OWN_ACCOUNT, f'{{"pixKey": "me@example.com", "pixKey": "{SYNTHETIC}"}}'),
    "a key in what is no JSON": ("registerPixKey", NOBODY, '{"pixKey": "somebody@example.com",}'),
    "a RANDOM key of the account": ("deletePixKey", OWN_ACCOUNT, {"pixKey": str(uuid4())}),
    "a receiver": ("transferP2p", None, {"from": OWN_ACCOUNT, "to": SOMEBODY, "value": 1}),
    "a sender": ("transferP2p", None, {"from": SOMEBODY, "to": RECEIVING_ACCOUNT, "value": 1}),
    "a receiver as a number": ("transferP2p", None, {"from": OWN_ACCOUNT, "to": 7777, "value": 1}),
    "a key that is paid": (
        "createPix",
        None,
        {"account": OWN_ACCOUNT, "pixKey": "somebody@example.com", "value": 0.01},
    ),
}
# the same of requests about accounts and keys of the profile, or about nobody
KNOWN = {
    "the own account": ("getBalance", OWN_ACCOUNT, None),
    "an own account with a slash": ("listEntries", "ac/2", None),
    "a synthetic account": ("listPixKeys", NOBODY, None),
    "no account": ("listAccounts", None, None),
    "a synthetic key": ("registerPixKey", OWN_ACCOUNT, registration(SYNTHETIC)),
    "a key of the profile": ("registerPixKey", OWN_ACCOUNT, registration(PHONE, "PHONE")),
    "a key type that is not documented": ("registerPixKey", OWN_ACCOUNT, registration(SYNTHETIC, "e-mail 7")),
    "a key that the service makes": ("registerPixKey", OWN_ACCOUNT, registration("", "RANDOM")),
    "a RANDOM key without pixKey": ("registerPixKey", OWN_ACCOUNT, {"account": OWN_ACCOUNT, "pixKeyType": "RANDOM"}),
    "a new UUID": ("registerPixKey", OWN_ACCOUNT, registration(str(uuid4()), "RANDOM")),
    "a member that the suite made up": (
        "registerPixKey",
        OWN_ACCOUNT,
        {**registration(SYNTHETIC), f"{SYNTHETIC_PREFIX}x": "xyz 12345678"},
    ),
    "no key for a synthetic account": ("registerPixKey", NOBODY, registration("", account=NOBODY)),
    "a body that is no JSON": ("registerPixKey", NOBODY, f'{{"{SYNTHETIC_PREFIX}'),
    "numbers that are nobody": ("registerPixKey", NOBODY, {"account": -1, "pixKey": 0, "pixKeyType": 5}),
    "a body of the profile": (
        "transferP2p",
        None,
        {"from": OWN_ACCOUNT, "to": RECEIVING_ACCOUNT, "bank": 341, "value": 3, "date": 1},
    ),
    "free text": ("transferP2p", None, {"to": RECEIVING_ACCOUNT, "description": "rent of 2026", "message": "x"}),
    "another date": ("transferP2p", None, {"to": RECEIVING_ACCOUNT, "date": 1767225600000}),
}


@pytest.mark.parametrize(("operation", "account", "body"), FOREIGN.values(), ids=FOREIGN)
def test_nobody_else_is_named(operation, account, body, tmp_path):
    """Off a sandbox the door refuses each account or key that is neither of the profile nor synthetic."""
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError):
        send(door, operation, account, body)

    assert door.door.exchanges == []


@pytest.mark.parametrize(("operation", "account", "body"), KNOWN.values(), ids=KNOWN)
def test_identifiers_of_the_profile_and_synthetic_ones_are_sent(operation, account, body, tmp_path):
    """The door also sends texts that are no identifiers: a date, a description, a bank."""
    door = client_of_profile(tmp_path)

    assert send(door, operation, account, body).response.status == 200


@pytest.mark.parametrize(("operation", "account", "body"), FOREIGN.values(), ids=FOREIGN)
def test_on_a_sandbox_everybody_may_be_named(operation, account, body, tmp_path):
    """The door checks no account or key on a sandbox, because nobody there is real."""
    door = client_of_profile(tmp_path, sandbox=UNUSED_ADDRESS)

    assert send(door, operation, account, body).response.status == 200


MALFORMED = {
    "no body": (None, {}),
    "an empty body": ("", {}),
    "no JSON": (f'{{"{SYNTHETIC_PREFIX}', {}),
    "no UTF-8": ({}, {"body": b'{"pixKey": "\xff"}'}),
    "an array": ("[]", {}),
    "no key": ({}, {}),
    "no key beside the other members": ({"kind": "EMAIL", "reason": ""}, {}),
    "an empty key": ({"pixKey": ""}, {}),
    "a blank key": ({"pixKey": f"{SYNTHETIC_PREFIX} "}, {}),
    "the mark alone": ({"pixKey": SYNTHETIC_PREFIX}, {}),
    "a key with NUL": ({"pixKey": f"{SYNTHETIC_PREFIX}\0"}, {}),
    "a key with half a surrogate pair": ({"pixKey": f"{SYNTHETIC_PREFIX}\ud800"}, {}),
    "a key of 201 characters": ({"pixKey": SYNTHETIC_PREFIX + "x" * 193}, {}),
    "a key that is an object": ({"pixKey": {}}, {}),
}


def send_malformed(door, operation, account, body, sent):
    """Send a malformed body for an account. A body that is a dictionary gets the account and a key type."""
    if "body" in sent:
        return door.client.send(operation, account, **sent)
    if operation == "registerPixKey" and isinstance(body, dict):
        body = {"account": account, "pixKeyType": "EMAIL", **body}
    return send(door, operation, account, body, **sent)


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_goes_to_no_account_of_the_profile(body, sent, operation, tmp_path):
    """Off a sandbox a service may take the body for a deletion of all keys, or register a key that stays.

    So the door sends nothing.
    """
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send_malformed(door, operation, OWN_ACCOUNT, body, sent)

    assert door.connections.sent == []


@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_bodies_for_a_synthetic_account_are_sent(body, sent, tmp_path):
    """A synthetic account has no keys to lose."""
    door = client_of_profile(tmp_path)

    assert send_malformed(door, "registerPixKey", NOBODY, body, sent).response.status == 200


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_on_a_sandbox_malformed_bodies_for_any_account_are_sent(body, sent, operation, tmp_path):
    """The keys of a sandbox are not real."""
    door = client_of_profile(tmp_path, sandbox=UNUSED_ADDRESS)

    assert send_malformed(door, operation, OWN_ACCOUNT, body, sent).response.status == 200


def test_a_deletion_to_an_account_of_the_profile_is_sent_as_json(tmp_path):
    """A service that reads the Content-Type finds no key in a form, and may delete all keys.

    A registration may have another Content-Type.
    """
    door, form = client_of_profile(tmp_path), "application/x-www-form-urlencoded"
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN_ACCOUNT, {"pixKey": SYNTHETIC}, content_type=form)
    send(door, "registerPixKey", OWN_ACCOUNT, registration(SYNTHETIC), content_type=form)

    assert len(door.connections.sent) == 1


def test_a_generated_empty_key_for_an_account_of_the_profile_is_refused(tmp_path):
    """The suite does not look for the keys of generated requests, so a key that the service makes would stay."""
    door = client_of_profile(tmp_path)
    door.client = door.client.of_part("registerPixKey")
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "registerPixKey", OWN_ACCOUNT, registration("", "RANDOM"))


DELETION = {"pixKey": SYNTHETIC, "kind": "EMAIL", "reason": ""}


def test_the_deletion_of_the_profile_passes(tmp_path):
    """The profile may say how the body of a deletion looks. The door sends such a body with a key that was made up.

    Texts beside the key may be empty, and so may the key type.
    """
    template = {"key": {"value": "urn:{key}", "type": "{type}"}, "reason": "", "count": 1, "more": {}}
    door = client_of_profile(tmp_path, requests={"deletePixKey": {"json": template}})
    for key_type in ("EMAIL", ""):
        send(door, "deletePixKey", OWN_ACCOUNT, fill(template, account=OWN_ACCOUNT, key=SYNTHETIC, type=key_type))

    assert len(door.connections.sent) == 2


def test_a_key_that_the_service_made_may_be_deleted(tmp_path):
    """The service makes a RANDOM key, so its value is neither of the profile nor synthetic.

    It may be deleted if the run has learned that it is its own, or if the key record says that an earlier run left it.
    Any other UUID is refused.
    """
    door = client_of_profile(tmp_path)
    made_now, left_by_earlier_run = str(uuid4()), str(uuid4())
    keys = door.door.keys
    registered = send(door, "registerPixKey", OWN_ACCOUNT, registration("", "RANDOM"), valid=True)
    keys.learn_value(keys.key_of(registered), made_now)
    keys._record = SimpleNamespace(
        events_of_made_up_keys=lambda: [{"type": "RANDOM", "key": left_by_earlier_run}],
        note=lambda *_, **__: 0,
    )
    for key in (made_now, left_by_earlier_run):
        send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION, "pixKey": key, "kind": "RANDOM"})
    with pytest.raises(ForbiddenError):
        send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION, "pixKey": str(uuid4()), "kind": "RANDOM"})

    assert len(door.connections.sent) == 3  # the registration and two deletions


DELETION_WITHOUT_A_KEY = {"account": "{account}", "what": "key"}
"""The body of a deletion in a profile: the service has one key for each account, so the body names none."""


def test_a_deletion_without_a_key_is_sent_if_the_profile_writes_it_so(tmp_path):
    """A service may have one key for each account."""
    door = client_of_profile(tmp_path, requests={"deletePixKey": {"json": DELETION_WITHOUT_A_KEY}})
    send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION_WITHOUT_A_KEY, "account": OWN_ACCOUNT})

    assert len(door.connections.sent) == 1


def test_a_generated_deletion_without_a_key_is_refused(tmp_path):
    """It has the form of the profile's deletion, and belongs to the generated traffic of the operation."""
    door = client_of_profile(tmp_path, requests={"deletePixKey": {"json": DELETION_WITHOUT_A_KEY}})
    door.client = door.client.of_part("deletePixKey")
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION_WITHOUT_A_KEY, "account": OWN_ACCOUNT})

    assert door.connections.sent == []


def test_a_deletion_that_names_only_the_account_has_no_key(tmp_path):
    """The door refuses it as a deletion without a key, because a lenient service may delete all keys."""
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN_ACCOUNT, {"accountId": OWN_ACCOUNT})


@pytest.mark.parametrize(("table", "what"), [("ODD_KEYS", "text with NUL"), ("PATH_PARAMETERS", "unknown")])
def test_a_value_of_somebody_in_the_tables_of_the_suite_ends_the_run(table, what, tmp_path, monkeypatch):
    """The tables of invalid values must name nobody. Here one of them has somebody's e-mail address by mistake.

    The door refuses the request, and the run stops with ForbiddenError. Nothing with the address is sent.
    """
    monkeypatch.setitem(getattr(invalid, table), what, "somebody@example.com")
    bank = FakeBank()
    with pytest.raises(ForbiddenError):
        run_suite_in_memory(bank, profile_off_sandbox(tmp_path), "registerPixKey.serverError")

    assert not any(b"somebody" in request.body or "somebody" in request.path for request in bank.received)


def test_a_key_that_a_service_cut_to_its_mark_may_be_deleted(tmp_path):
    """A service may cut a synthetic key to its first letters, which are the mark, and show it so in its list.

    A deletion of the mark alone is sent only after the run registered it as a key.
    """
    door = client_of_profile(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION, "pixKey": SYNTHETIC_PREFIX})
    send(door, "registerPixKey", NOBODY, registration(SYNTHETIC_PREFIX, account=NOBODY))
    send(door, "deletePixKey", OWN_ACCOUNT, {**DELETION, "pixKey": SYNTHETIC_PREFIX})

    assert len(door.connections.sent) == 2
