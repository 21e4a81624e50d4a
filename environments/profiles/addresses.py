"""Addresses of services and proxies: http(s)://host[:port][/prefix]."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_SEGMENT = r"/(?!\.\.?(/|$))[A-Za-z0-9._~!$&'()*+,;=:-]+"
_ADDRESS = re.compile(rf"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]*)?({_SEGMENT})*/?")


def _is_loopback(address: str) -> bool:
    """True if requests to the address stay on this machine: localhost, 127.0.0.0/8 or ::1."""
    host = _host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(address: str) -> str:
    """The host of an address, in lower case; empty where it has none, or is no address."""
    return urlsplit(address).hostname or "" if _is_address(address) else ""


def in_one_form(text: str) -> str:
    """The address as requests are sent to it: scheme and host in lower case (RFC 3986 section 6.2.2.1), no slash at the
    end."""
    return re.sub(r"^[A-Za-z]+://[^/]*", lambda origin: origin[0].lower(), text).removesuffix("/")


def check_address(text: str, *, insecure: bool, exact: bool) -> None:
    """Raises ValueError for a wrong address. ``insecure`` permits http:// to other machines, ``exact`` a path that ends
    in /v1.

    A message repeats an address only if it holds no more than host, port and path, as the reports show it.
    """
    if "@" in text:
        raise ValueError("an address with a user name or password; secrets are named, never written: leave them out")
    if set(text) & set("?#"):
        raise ValueError("an address with a query or a fragment; leave out what follows ? or #")
    if not _is_address(text):
        raise ValueError("not an address; expected http(s)://host[:port][/prefix]")
    if not exact and re.search("(?i)/v1/?$", urlsplit(text).path):
        remedy = "leave it out, or set base_url_is_exact: true in the profile if the paths start with /v1/v1"
        raise ValueError(f"ends in /v1, and every path of the interface starts with /v1 already: {remedy}")
    if text.startswith("http:") and not insecure and not _is_loopback(text):
        raise ValueError("http:// sends the token in clear text; use https://, or set insecure: true in the profile")


def check_proxy(proxy: str, base_url: str, *, insecure: bool) -> None:
    """A proxy reads what goes to it over http://, token and codes, also where the target is this machine. Raises
    ValueError."""
    check_address(proxy, insecure=True, exact=True)
    if base_url.startswith("http:") and not insecure and not _is_loopback(proxy):
        raise ValueError("http:// shows the token to the proxy; use https://, or set insecure: true in the profile")


def _is_address(text: str) -> bool:
    """True if the form is right, the port at most 65535, and an IPv6 address valid."""
    try:
        return bool(_ADDRESS.fullmatch(text) and [urlsplit(text).port])
    except ValueError:
        return False
