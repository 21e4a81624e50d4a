"""Addresses and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote, unquote_plus

from reports.redaction.engine import Engine

_CREDENTIALS = frozenset(("authorization", "proxy-authorization"))
_COOKIES = frozenset(("cookie", "set-cookie", "cookie2", "set-cookie2"))
_ADDRESSES = frozenset(("location", "content-location", "referer", "link", "refresh"))
_BEARERS = frozenset(("bearer", "token", "dpop", "oauth"))
_SCHEMES = _BEARERS | {"basic", "digest", "negotiate", "ntlm", "mutual", "hoba", "apikey", "scram-sha-256"}
_AUTHORITY = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*+:)?//(?:(?P<user>[^/?#]*)@)?(?P<host>[^/?#]*)")
_SEGMENT = re.compile(r"(?<=[/?&=;#])[^/?&=;#]+")
_QUERY = re.compile(r"(?<=[?&;])(?P<name>[^?&;=#]{1,200})=(?P<value>[^&;#]*)")


def redact_url(url: str, engine: Engine) -> str:
    """An address or its path and query, without known values in any segment and without user information."""
    found = _AUTHORITY.match(url)
    address, rest = "", url
    if found:
        user = "<credentials>@" if found["user"] is not None else ""
        address, rest = f"{found['scheme'] or ''}//{user}{found['host']}", url[found.end() :]
    rest = _QUERY.sub(lambda match: _parameter(match, engine), rest)
    rest = _SEGMENT.sub(lambda match: engine.knowledge.whole(unquote(match.group())) or match.group(), rest)
    return engine.redact(address + rest)


def redact_headers(headers: Iterable[tuple[str, str]], engine: Engine) -> list[tuple[str, str]]:
    """Headers without credentials, cookies and known values; they may still hold control characters."""
    return [(engine.redact(name), _value(name.strip().lower(), value, engine)) for name, value in headers]


def _value(name: str, value: str, engine: Engine) -> str:
    if name in _CREDENTIALS:
        return _authorization(value, engine.knowledge.exact_secrets)
    if name in _COOKIES:
        return "<cookie>" if value else ""
    return redact_url(value, engine) if name in _ADDRESSES else engine.whole(value)


def _authorization(value: str, secrets: dict[str, str]) -> str:
    """`Bearer <token>`, `Bearer <another token>`, `Basic <credentials>`: the scheme, and of which kind the rest is."""
    if value in secrets:
        return secrets[value]
    scheme, blank, rest = value.partition(" ")
    if scheme.lower() not in _SCHEMES:
        return "<credentials>" if value.strip() else value
    if not rest.strip():
        return scheme + blank
    other = "<another token>" if scheme.lower() in _BEARERS else "<credentials>"
    return f"{scheme} {secrets.get(rest, other)}"


def _parameter(match: re.Match[str], engine: Engine) -> str:
    name, value = match["name"], match["value"]
    if not value or not engine.knowledge.is_personal(unquote_plus(name)):
        return match.group()
    shown = engine.mask(unquote_plus(value))
    known = engine.knowledge.placeholder.fullmatch(shown)
    return f"{name}={shown if known else quote(shown, safe='@*()…:,+ ')}"
