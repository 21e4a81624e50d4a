"""What a service might ask for beyond the interface document: sent only to find out why a valid request is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from environments.profiles.profile import PixKey
from spec.exchange import Exchange

EXTRA_HEADERS = tuple(
    (name, "pixconf-0001")
    for name in (
        "X-Request-Id", "X-Correlation-Id", "X-Idempotency-Key", "Idempotency-Key", "X-Client-Id", "X-Api-Key",
        "X-Api-Version", "X-Channel", "X-Tenant", "X-Tenant-Id", "X-Trace-Id",
    )
)  # fmt: skip
FORM = "application/x-www-form-urlencoded"
OTHER_CONTENT = {
    "a charset in its Content-Type": "application/json; charset=utf-8",
    "another Content-Type": "text/plain",
    "a form as body": FORM,
}
_SUFFICIENT = "registerPixKey.body.sufficient"
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "pixKey": ("key", "keyValue", "chave", "chavePix"),
    "pixKeyType": ("type", "keyType", "kind", "tipo", "tipoChave"),
    "account": ("accountId", "accountNumber", "conta"),
}
"""What else a service might call the fields of the body."""
_MOST_NAMED = 12
_DIGITS = "012345"
"""The example of the interface document has a digit as key type, and does not say which type that is."""
_NOT_TO_SET = frozenset(
    {
        "accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length",
        "content-type", "expect", "host", "http", "keep-alive", "proxy-authorization", "trailer",
        "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""Headers that say how the message is framed or who sends it: with another value nothing is shown but that."""


@dataclass(frozen=True)
class Alternative:
    """A registration that differs from the documented one. Accepted where the documented one is refused, it
    shows which requirement the service breaks; where a body `unless` is given, only if that one is refused as well."""

    requirement: str
    what: str
    body: Mapping[str, Any]
    headers: tuple[tuple[str, str], ...] = ()
    query: str = ""
    content_type: str = "application/json"
    unless: Mapping[str, Any] | None = None


def registration(key: PixKey, account: str) -> dict[str, Any]:
    """The documented body of a key registration."""
    return {"account": account, "pixKeyType": key.type, "pixKey": key.key}


def forms_of_random(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """How a RANDOM key is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    yield body
    yield {**body, "pixKey": str(uuid4())}
    yield {name: value for name, value in body.items() if name != "pixKey"}


def alternatives(key: PixKey, account: str, refusal: Exchange) -> Iterator[Alternative]:
    """What to try when the documented registration is refused, each a single difference."""
    body = registration(key, account)
    yield from _with_more(body)
    yield from _with_what_is_named(body, sorted(_names_in(refusal) - set(body)))
    for what, content_type in OTHER_CONTENT.items():
        yield Alternative("registerPixKey.contentType.accepted", what, body, content_type=content_type)
    for name in ("pixKey", "pixKeyType", "account"):
        if body[name]:
            yield from _renamings(body, name)
    yield from _with_other_values(body)


def _with_more(body: Mapping[str, Any]) -> Iterator[Alternative]:
    account = body["account"]
    removed = {"from": account, "to": account, "value": 0, "date": "2026-01-01", "description": "pixconf"}
    yield Alternative(_SUFFICIENT, "the fields that were removed", {**removed, **body})
    for name, value in removed.items():
        yield Alternative(_SUFFICIENT, f"the removed field {name}", {name: value, **body})
    yield Alternative(_SUFFICIENT, "further headers", body, headers=EXTRA_HEADERS)


def _with_what_is_named(body: Mapping[str, Any], names: list[str]) -> Iterator[Alternative]:
    """With what the refusal names as a field, in the query or as a header."""
    if not names:
        return
    headers = tuple((name, "pixconf") for name in names if name.lower() not in _NOT_TO_SET)
    query = "?" + "&".join(f"{name}=pixconf" for name in names)
    yield Alternative(_SUFFICIENT, "further body fields", {**dict.fromkeys(names, "pixconf"), **body})
    yield Alternative(_SUFFICIENT, "a query", body, query=query)
    yield Alternative(_SUFFICIENT, "further headers", body, headers=headers)


def _with_other_values(body: Mapping[str, Any]) -> Iterator[Alternative]:
    own_type = f"registerPixKey.pixKeyType.{body['pixKeyType']}"
    yield Alternative(own_type, "its type in lower-case letters", {**body, "pixKeyType": body["pixKeyType"].lower()})
    for digit in _DIGITS:
        yield Alternative(own_type, "a digit as its type", {**body, "pixKeyType": digit})
    for name in ("pixKey", "account"):
        if body[name].isdecimal():
            yield Alternative(f"registerPixKey.body.{name}", f"a number as {name}", {**body, name: int(body[name])})


def _renamings(body: Mapping[str, Any], name: str) -> Iterator[Alternative]:
    """The body with a field under all other names at once, and under single ones for a service that allows no more."""
    requirement, without = f"registerPixKey.body.{name}", {key: value for key, value in body.items() if key != name}
    others = [form for word in (name, *OTHER_NAMES[name]) for form in _spellings(word) if form != name]
    for names in (others, [OTHER_NAMES[name][0]], [name[0].upper() + name[1:]]):
        renamed = {**dict.fromkeys(names, body[name]), **without}
        yield Alternative(requirement, f"another name for {name}", renamed, unless=without)


def _spellings(name: str) -> tuple[str, ...]:
    snake = re.sub("([A-Z])", r"_\1", name).lower()
    return tuple(dict.fromkeys((name, name[0].upper() + name[1:], name.lower(), name.upper(), snake)))


def _names_in(refusal: Exchange) -> set[str]:
    """Words of a refusal that could name what the service asks for."""
    if refusal.response is None:
        return set()
    text = refusal.response.body[:2000].decode("utf-8", "replace")
    quoted = re.findall(r"['\"`<]([A-Za-z][\w-]{1,29})['\"`>]", text)
    words = re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text)
    return set([*quoted[:_MOST_NAMED], *words][: 2 * _MOST_NAMED])
