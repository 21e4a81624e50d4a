"""Addresses of services and proxies: http(s)://host[:port][/prefix].

Self-tests: environments/profiles/test_loading.py.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

_SEGMENT = r"/(?!\.\.?(/|$))[A-Za-z0-9._~!$&'()*+,;=:-]+"
"""A segment of a path in the characters of RFC 3986 section 3.3, without percent-encoding and @; no dot segment."""
_ADDRESS = re.compile(rf"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]*)?({_SEGMENT})*/?")
"""Scheme, host or IPv6 address, port, and path."""


def _is_loopback(address: str) -> bool:
    """True if requests to the address stay on this machine: localhost, 127.0.0.0/8 or ::1."""
    host = _host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(address: str) -> str:
    """The host of an address, in lower case; empty if the text is no address."""
    if not _is_address(address):
        return ""
    return urlsplit(address).hostname or ""


def in_one_form(text: str) -> str:
    """The address as requests are sent to it: scheme and host in lower case (RFC 3986 section 6.2.2.1), no slash at the
    end."""
    return re.sub(r"^[A-Za-z]+://[^/]*", lambda origin: origin[0].lower(), text).removesuffix("/")


def check_address(text: str, *, insecure: bool, exact: bool) -> None:
    """Raise ValueError for a wrong address.

    ``insecure`` permits http:// to other machines, ``exact`` permits a path that ends in /v1.

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
    is_readable_on_the_way = text.startswith("http:") and not _is_loopback(text)
    if is_readable_on_the_way and not insecure:
        raise ValueError("http:// sends the token in clear text; use https://, or set insecure: true in the profile")


def check_proxy(proxy: str, base_url: str, *, insecure: bool) -> None:
    """Raise ValueError for a wrong proxy, and for one that could read the token.

    A proxy reads whatever goes over http:// to the target, also if the target is this machine.
    """
    check_address(proxy, insecure=True, exact=True)
    is_readable_for_proxy = base_url.startswith("http:") and not _is_loopback(proxy)
    if is_readable_for_proxy and not insecure:
        raise ValueError("http:// shows the token to the proxy; use https://, or set insecure: true in the profile")


def _is_address(text: str) -> bool:
    """True if the form is right, the port at most 65535, and an IPv6 address valid."""
    if not _ADDRESS.fullmatch(text):
        return False
    try:
        urlsplit(text).port  # noqa: B018 - raises if the port or the IPv6 address is wrong
    except ValueError:
        return False
    return True
