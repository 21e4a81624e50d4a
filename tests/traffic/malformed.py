"""Client's mistakes, one input class each: none of them may break the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from environments.door.client import Client, synthetic
from environments.profiles.profile import Profile
from spec.exchange import Exchange
from spec.interface import MARK, operations

LONG = MARK + "x" * 4_000
ARGUMENTS = (
    LONG,
    f"{MARK}%2f..%00",
    f"{MARK}ação-π-🏦",
    f'{MARK}\' OR "1"="1',
    f"{MARK}\x00",
    f"{MARK}a/b?c#d",
)
"""Path arguments; each goes percent-encoded."""
TEXTS = (b'{"' + MARK.encode(), b"", b"[]", b'"text"', b"null", b"{}", b'{"a":' * 200, b"\xff\xfe\x00")
"""Bodies that are no object, no JSON or no text."""


def send_malformed(client: Client, operation: str, profile: Profile) -> None:
    """Send every input class of an operation that is permitted. Nothing of it names anybody's key or code."""
    documented = operations()[operation]
    account = profile.accounts[0] if profile.accounts else synthetic()
    if operation == "executePix":
        for argument in ARGUMENTS:
            client.send(operation, argument)
    elif documented.argument and documented.method == "GET":
        for argument in (synthetic(), ARGUMENTS[1]):
            client.send(operation, argument)
    elif operation == "registerPixKey":
        _send_bodies(client, operation, account)
    elif documented.method == "DELETE":
        for text in TEXTS[:4]:
            client.send(operation, synthetic(), body=text)
    elif documented.method == "POST":
        for text in TEXTS[:2]:
            client.send(operation, body=text)
        client.send(operation, json={"from": MARK, "to": MARK, "value": "text", "date": "text"})


def _send_bodies(client: Client, operation: str, account: str) -> None:
    for text in TEXTS:
        client.send(operation, account, body=text)
    for body in registrations(account):
        client.send(operation, account, json=body)
    client.send(operation, synthetic(), json=next(registrations(account)))
    client.send(operation, account, body=b"pixKey=" + MARK.encode(), content_type="application/x-www-form-urlencoded")


def _good(account: str) -> dict[str, Any]:
    return {"account": account, "pixKeyType": "EMAIL", "pixKey": f"{MARK}key"}


def without_a_member(client: Client, account: str) -> dict[str, Exchange]:
    """Registrations of an invented key, each without one member."""
    good = _good(account)
    return {
        left_out: client.send("registerPixKey", account, json={key: good[key] for key in good if key != left_out})
        for left_out in good
    }


def registrations(account: str) -> Iterator[dict[str, Any]]:
    """Registrations of keys that nobody has, each wrong in one way."""
    good = _good(account)
    yield {**good, "pixKey": f"{MARK}ação-π-🏦"}
    yield {**good, "pixKey": f"{MARK}\x00"}
    yield {**good, "pixKey": LONG}
    yield {**good, "pixKey": None}
    yield {**good, "pixKey": 12345}
    yield {**good, "pixKeyType": 1}
    yield {**good, "pixKeyType": None}
    yield {**good, "account": None}
    yield {**good, "account": {"id": MARK}}
