"""Addresses of a target: ``embedded``, or http(s)://host[:port][/prefix]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

EMBEDDED = "embedded"
_SEGMENT = r"/(?!\.\.?(/|$))[A-Za-z0-9._~!$&'()*+,;=:-]+"
_ADDRESS = re.compile(rf"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?({_SEGMENT})*/?")


def is_loopback(base_url: str) -> bool:
    """Whether requests to the address stay on this machine: embedded, localhost, 127.0.0.0/8 or ::1."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return base_url == EMBEDDED or host == "localhost"


def in_one_form(text: str) -> str:
    """The address as requests are sent to it: scheme and host in lower case (RFC 3986 section 6.2.2.1), no slash at the
    end."""
    origin = re.match(r"[A-Za-z]+://[^/]*", text)
    return (text[: origin.end()].lower() + text[origin.end() :] if origin else text).removesuffix("/")


def address_problems(text: str, *, insecure: bool, exact: bool = False) -> Iterator[str]:
    """What is wrong with an address. ``insecure`` permits http:// to other machines, ``exact`` a path that ends in /v1.

    A message repeats an address only if it holds no more than host, port and path, as the reports show it.
    """
    if "@" in text:
        yield "an address with a user name or password; secrets are named, never written: leave them out"
    elif set(text) & set("?#"):
        yield "an address with a query or a fragment; leave out what follows ? or #"
    elif not exact and (shorter := _without_version(text)):
        remedy = f"write {shorter}, or set base_url_is_exact: true in the profile if the paths start with /v1/v1"
        yield f"ends in /v1, and every path of the interface starts with /v1 already: {remedy}"
    elif not _ADDRESS.fullmatch(text) or not _has_a_port_number(text):
        yield "not an address; expected http(s)://host[:port][/prefix]"
    elif text.startswith("http:") and not insecure and not is_loopback(text):
        yield "http:// sends the token in clear text; use https://, or set insecure: true in the profile"


def _without_version(text: str) -> str:
    """The address without the /v1 at its end, in any letter case; empty where there is none, or no address is left."""
    shorter = re.sub(r"(?i)(/+v1)+/*$", "", text)
    return in_one_form(shorter) if shorter != text and _ADDRESS.fullmatch(shorter) else ""


def _has_a_port_number(text: str) -> bool:
    """Whether the port is absent or from 1 to 65535, and an IPv6 address is valid."""
    try:
        return urlsplit(text).port != 0
    except ValueError:
        return False
