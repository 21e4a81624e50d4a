"""What a service might ask for beyond the interface document: sent only to find out why a valid request is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.profiles.profile import PixKey
from spec.exchange import Exchange

EXTRA_HEADERS = tuple(
    (name, "pixconf-0001")
    for name in (
        "X-Request-Id", "X-Correlation-Id", "X-Idempotency-Key", "Idempotency-Key", "X-Client-Id", "X-Api-Key",
        "X-Api-Version", "X-Channel", "X-Tenant", "X-Tenant-Id", "X-Trace-Id",
    )
)  # fmt: skip
REMOVED_FIELDS = ("from", "to", "value", "date", "description")
FORM = "application/x-www-form-urlencoded"
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "pixKey": ("key", "keyValue", "chave", "chavePix"),
    "pixKeyType": ("type", "keyType", "kind", "tipo", "tipoChave"),
    "account": ("accountId", "accountNumber", "conta"),
}
"""What else a service might call the fields of the body."""
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


def alternatives(key: PixKey, account: str, refusal: Exchange) -> Iterator[Alternative]:
    """What to try when the documented registration is refused, each a single difference."""
    body = registration(key, account)
    sufficient, own_type = "registerPixKey.body.sufficient", f"registerPixKey.pixKeyType.{key.type}"
    removed = {"from": account, "to": account, "value": 0, "date": "2026-01-01", "description": "pixconf"}
    yield Alternative(sufficient, "the fields that were removed", {**removed, **body})
    for name in REMOVED_FIELDS:
        yield Alternative(sufficient, f"the removed field {name}", {name: removed[name], **body})
    yield Alternative(sufficient, "further headers", body, headers=EXTRA_HEADERS)
    named = _names_in(refusal) - set(body)
    if named:
        extra = dict.fromkeys(sorted(named), "pixconf")
        yield Alternative(sufficient, "further body fields", {**extra, **body})
        yield Alternative(
            sufficient, "a query", body, query="?" + "&".join(f"{name}=pixconf" for name in sorted(named))
        )
        yield Alternative(
            sufficient,
            "further headers",
            body,
            headers=tuple((name, "pixconf") for name in sorted(named) if name.lower() not in _NOT_TO_SET),
        )
    content = "registerPixKey.contentType.accepted"
    yield Alternative(content, "a charset in its Content-Type", body, content_type="application/json; charset=utf-8")
    yield Alternative(content, "another Content-Type", body, content_type="text/plain")
    yield Alternative(content, "a form as body", body, content_type=FORM)
    for name in ("pixKey", "pixKeyType", "account"):
        if body[name]:
            yield from _renamings(body, name)
    yield Alternative(own_type, "its type in lower-case letters", {**body, "pixKeyType": key.type.lower()})
    for digit in _DIGITS:
        yield Alternative(own_type, "a digit as its type", {**body, "pixKeyType": digit})
    if key.key.isdecimal():
        yield Alternative("registerPixKey.body.pixKey", "a number as pixKey", {**body, "pixKey": int(key.key)})
    if account.isdecimal():
        yield Alternative("registerPixKey.body.account", "a number as account", {**body, "account": int(account)})


def _renamings(body: Mapping[str, Any], name: str) -> Iterator[Alternative]:
    """The body with a field under all other names at once, and under single ones for a service that allows no more."""
    requirement, without = f"registerPixKey.body.{name}", _without(body, name)
    others = [form for word in (name, *OTHER_NAMES[name]) for form in _spellings(word) if form != name]
    for names in (others, [OTHER_NAMES[name][0]], [name[0].upper() + name[1:]]):
        renamed = {**dict.fromkeys(names, body[name]), **without}
        yield Alternative(requirement, f"another name for {name}", renamed, unless=without)


def _spellings(name: str) -> tuple[str, ...]:
    snake = re.sub("([A-Z])", r"_\1", name).lower()
    return tuple(dict.fromkeys((name, name[0].upper() + name[1:], name.lower(), name.upper(), snake)))


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _names_in(refusal: Exchange, most: int = 12) -> set[str]:
    """Words of a refusal that could name what the service asks for."""
    if refusal.response is None:
        return set()
    text = refusal.response.body[:2000].decode("utf-8", "replace")
    quoted = re.findall(r"['\"`<]([A-Za-z][\w-]{1,29})['\"`>]", text)
    words = re.findall(r"[A-Za-z][A-Za-z0-9_-]{2,29}", text)
    return set([*quoted[:most], *words][: 2 * most])
