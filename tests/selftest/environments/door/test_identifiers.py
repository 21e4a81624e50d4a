"""The accounts and keys that requests name, as the door lets them pass."""

from types import SimpleNamespace
from uuid import uuid4

import pytest

from environments.door.permission import ForbiddenError
from environments.profiles.model import fill
from spec.interface import MARK
from tests.selftest.services.guarded import OWN, RECEIVER, guarded
from tests.selftest.services.one_run import ADDRESS, Bank, bank_profile, whole_run
from tests.traffic import invalid

SOMEBODY, NOBODY = "ac-7777", f"{MARK}account"
PHONE = "+5511955500777"
SYNTHETIC = f"{MARK}0a1b2c3d@example.com"


def send(door, operation, account, body=None, **sent):
    """Send a request. A text is a body as it goes over the wire."""
    if isinstance(body, str):
        sent["body"] = body.encode()
    elif body is not None:
        sent["json"] = body
    return door.client.send(operation, account, **sent)


def registration(key, key_type="EMAIL", account=OWN):
    return {"account": account, "pixKeyType": key_type, "pixKey": key}


FOREIGN = {
    "the keys of an account": ("listPixKeys", SOMEBODY, None),
    "a balance": ("getBalance", SOMEBODY, None),
    "the entries of a longer account": ("listEntries", f"{OWN}7", None),
    "an account behind its own": ("getBalance", f"{OWN}/../{SOMEBODY}", None),
    "a registration at an account": ("registerPixKey", SOMEBODY, registration(SYNTHETIC)),
    "a deletion at an account": ("deletePixKey", SOMEBODY, {"pixKey": SYNTHETIC}),
    "a registration for another account": ("registerPixKey", OWN, registration(SYNTHETIC, account=SOMEBODY)),
    "an e-mail key": ("registerPixKey", OWN, registration("somebody@example.com")),
    "a phone number": ("registerPixKey", NOBODY, registration("+5511999990000", "PHONE", NOBODY)),
    "a phone number as a number": ("registerPixKey", NOBODY, registration(5511999990000, "PHONE", NOBODY)),
    "a number that is negative": ("registerPixKey", NOBODY, registration(-5511999990000, "PHONE", NOBODY)),
    "a UUID that is no RANDOM key": ("registerPixKey", OWN, registration(str(uuid4()), "EMAIL")),
    "a key under another name": ("deletePixKey", OWN, {"key": {"value": "somebody@example.com"}}),
    "a key in a list": ("deletePixKey", OWN, {"keys": [SYNTHETIC, "somebody@example.com"]}),
    "the first of two keys": ("deletePixKey", OWN, f'{{"pixKey": "me@example.com", "pixKey": "{SYNTHETIC}"}}'),
    "a key in what is no JSON": ("registerPixKey", NOBODY, '{"pixKey": "somebody@example.com",}'),
    "a RANDOM key of the account": ("deletePixKey", OWN, {"pixKey": str(uuid4())}),
    "a receiver": ("transferP2p", None, {"from": OWN, "to": SOMEBODY, "value": 1}),
    "a sender": ("transferP2p", None, {"from": SOMEBODY, "to": RECEIVER, "value": 1}),
    "a receiver as a number": ("transferP2p", None, {"from": OWN, "to": 7777, "value": 1}),
    "a key that is paid": ("createPix", None, {"account": OWN, "pixKey": "somebody@example.com", "value": 0.01}),
}
KNOWN = {
    "the own account": ("getBalance", OWN, None),
    "an own account with a slash": ("listEntries", "ac/2", None),
    "a synthetic account": ("listPixKeys", NOBODY, None),
    "no account": ("listAccounts", None, None),
    "a synthetic key": ("registerPixKey", OWN, registration(SYNTHETIC)),
    "a key of the profile": ("registerPixKey", OWN, registration(PHONE, "PHONE")),
    "a key type that is not documented": ("registerPixKey", OWN, registration(SYNTHETIC, "e-mail 7")),
    "a key that the service makes": ("registerPixKey", OWN, registration("", "RANDOM")),
    "a RANDOM key without pixKey": ("registerPixKey", OWN, {"account": OWN, "pixKeyType": "RANDOM"}),
    "a new UUID": ("registerPixKey", OWN, registration(str(uuid4()), "RANDOM")),
    "a member that the suite made up": ("registerPixKey", OWN, {**registration(SYNTHETIC), f"{MARK}x": "xyz 12345678"}),
    "no key for a synthetic account": ("registerPixKey", NOBODY, registration("", account=NOBODY)),
    "a body that is no JSON": ("registerPixKey", NOBODY, f'{{"{MARK}'),
    "numbers that are nobody": ("registerPixKey", NOBODY, {"account": -1, "pixKey": 0, "pixKeyType": 5}),
    "a body of the profile": ("transferP2p", None, {"from": OWN, "to": RECEIVER, "bank": 341, "value": 3, "date": 1}),
    "free text": ("transferP2p", None, {"to": RECEIVER, "description": "rent of 2026", "message": "x"}),
    "another date": ("transferP2p", None, {"to": RECEIVER, "date": 1767225600000}),
}


@pytest.mark.parametrize(("operation", "account", "body"), FOREIGN.values(), ids=FOREIGN)
def test_nobody_else_is_named(operation, account, body, tmp_path):
    """Off a sandbox an account or a key is one of the profile, or synthetic. Nothing leaves that names another one."""
    door = guarded(tmp_path)
    with pytest.raises(ForbiddenError):
        send(door, operation, account, body)

    assert door.door.exchanges == []


@pytest.mark.parametrize(("operation", "account", "body"), KNOWN.values(), ids=KNOWN)
def test_what_is_of_the_profile_or_synthetic_passes(operation, account, body, tmp_path):
    """Also texts that are neither account nor key: a date, a description, the bank in a body of the profile."""
    door = guarded(tmp_path)

    assert send(door, operation, account, body).response.status == 200


@pytest.mark.parametrize(("operation", "account", "body"), FOREIGN.values(), ids=FOREIGN)
def test_on_a_sandbox_everybody_may_be_named(operation, account, body, tmp_path):
    """Nobody there is real."""
    door = guarded(tmp_path, sandbox=ADDRESS)

    assert send(door, operation, account, body).response.status == 200


MALFORMED = {
    "no body": (None, {}),
    "an empty body": ("", {}),
    "no JSON": (f'{{"{MARK}', {}),
    "no UTF-8": ({}, {"body": b'{"pixKey": "\xff"}'}),
    "an array": ("[]", {}),
    "no key": ({}, {}),
    "no key beside the other members": ({"kind": "EMAIL", "reason": ""}, {}),
    "an empty key": ({"pixKey": ""}, {}),
    "a blank key": ({"pixKey": f"{MARK} "}, {}),
    "the mark alone": ({"pixKey": MARK}, {}),
    "a key with NUL": ({"pixKey": f"{MARK}\0"}, {}),
    "a key with half a surrogate pair": ({"pixKey": f"{MARK}\ud800"}, {}),
    "a key of 201 characters": ({"pixKey": MARK + "x" * 193}, {}),
    "a key that is an object": ({"pixKey": {}}, {}),
}


def malformed(door, operation, account, body, sent):
    """Send a body to the path of an account. A dictionary names the account, too."""
    if "body" in sent:
        return door.client.send(operation, account, **sent)
    if operation == "registerPixKey" and isinstance(body, dict):
        body = {"account": account, "pixKeyType": "EMAIL", **body}
    return send(door, operation, account, body, **sent)


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_goes_to_no_account_of_the_profile(body, sent, operation, tmp_path):
    """Off a sandbox it goes to a synthetic account: a service may delete all keys, or register one that stays."""
    door = guarded(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        malformed(door, operation, OWN, body, sent)

    assert door.connections.sent == []


@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_what_is_malformed_may_go_to_a_synthetic_account(body, sent, tmp_path):
    """Nobody has it, so nothing is lost."""
    door = guarded(tmp_path)

    assert malformed(door, "registerPixKey", NOBODY, body, sent).response.status == 200


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize(("body", "sent"), MALFORMED.values(), ids=MALFORMED)
def test_on_a_sandbox_what_is_malformed_may_go_anywhere(body, sent, operation, tmp_path):
    """Nothing is worth anything there."""
    door = guarded(tmp_path, sandbox=ADDRESS)

    assert malformed(door, operation, OWN, body, sent).response.status == 200


def test_a_deletion_to_an_account_of_the_profile_is_sent_as_json(tmp_path):
    """A service that looks at the Content-Type finds no key in another one, and may delete all. A registration may go."""
    door, form = guarded(tmp_path), "application/x-www-form-urlencoded"
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN, {"pixKey": SYNTHETIC}, content_type=form)
    send(door, "registerPixKey", OWN, registration(SYNTHETIC), content_type=form)

    assert len(door.connections.sent) == 1


def test_an_empty_key_that_a_generator_drew_goes_to_no_account_of_the_profile(tmp_path):
    """The suite asks the service to make a key itself, and looks for that key. It does not look for those of generated
    requests."""
    door = guarded(tmp_path)
    door.client = door.client.of_part("registerPixKey")
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "registerPixKey", OWN, registration("", "RANDOM"))


DELETION = {"pixKey": SYNTHETIC, "kind": "EMAIL", "reason": ""}


def test_the_deletion_of_the_profile_passes(tmp_path):
    """With the empty text that it has beside the key, and a key type that is not known."""
    template = {"key": {"value": "urn:{key}", "type": "{type}"}, "reason": "", "count": 1, "more": {}}
    door = guarded(tmp_path, requests={"deletePixKey": {"json": template}})
    for key_type in ("EMAIL", ""):
        send(door, "deletePixKey", OWN, fill(template, account=OWN, key=SYNTHETIC, type=key_type))

    assert len(door.connections.sent) == 2


def test_a_key_that_the_service_made_may_be_deleted(tmp_path):
    """As soon as the run has learned its value; or if the record says that an earlier run left it."""
    door, made, left = guarded(tmp_path), str(uuid4()), str(uuid4())
    keys = door.door.keys
    registered = send(door, "registerPixKey", OWN, registration("", "RANDOM"), valid=True)
    keys.learn_value(keys.key_of(registered), made)
    keys._record = SimpleNamespace(
        left=lambda accounts: [(OWN, {"type": "RANDOM", "key": left})], note=lambda *_, **__: 0
    )
    for key in (made, left):
        send(door, "deletePixKey", OWN, {**DELETION, "pixKey": key, "kind": "RANDOM"})
    with pytest.raises(ForbiddenError):
        send(door, "deletePixKey", OWN, {**DELETION, "pixKey": str(uuid4()), "kind": "RANDOM"})

    assert len(door.connections.sent) == 3


@pytest.mark.parametrize("part", ["", "deletePixKey"])
def test_the_deletion_of_the_profile_may_name_no_key(part, tmp_path):
    """Some services have one key for each account. A generated request of the same form does not go there."""
    body = {"account": "{account}", "what": "key"}
    door = guarded(tmp_path, requests={"deletePixKey": {"json": body}})
    door.client = door.client.of_part(part)
    if part:
        with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
            send(door, "deletePixKey", OWN, {**body, "account": OWN})
    else:
        send(door, "deletePixKey", OWN, {**body, "account": OWN})

    assert len(door.connections.sent) == (not part)


def test_an_account_is_no_key(tmp_path):
    """A deletion that names the account alone has no key."""
    door = guarded(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN, {"accountId": OWN})


@pytest.mark.parametrize(("table", "what"), [("ODD_KEYS", "text with NUL"), ("PATH_PARAMETERS", "unknown")])
def test_a_list_that_names_somebody_ends_the_run(table, what, tmp_path, monkeypatch):
    """It is a fault of the suite: the run does not go on without the request."""
    monkeypatch.setitem(getattr(invalid, table), what, "somebody@example.com")
    bank = Bank()
    with pytest.raises(ForbiddenError):
        whole_run(bank, bank_profile(tmp_path), "registerPixKey.serverError")

    assert not any(b"somebody" in request.body or "somebody" in request.path for request in bank.seen)


def test_a_key_that_a_service_cut_to_its_mark_may_be_deleted(tmp_path):
    """If a run registered it: a list shows it then. A request that nobody sent before names no key."""
    door = guarded(tmp_path)
    with pytest.raises(ForbiddenError, match="a malformed registration or deletion"):
        send(door, "deletePixKey", OWN, {**DELETION, "pixKey": MARK})
    send(door, "registerPixKey", NOBODY, registration(MARK, account=NOBODY))
    send(door, "deletePixKey", OWN, {**DELETION, "pixKey": MARK})

    assert len(door.connections.sent) == 2
