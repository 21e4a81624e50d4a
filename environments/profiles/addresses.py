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
    """The host of an address in lower case: `example.test` of `https://Example.test/v`; empty if it is no address."""
    if not _is_address(address):
        return ""
    return urlsplit(address).hostname or ""


def normalized_address(text: str) -> str:
    """The address in the form in which requests are sent to it, so that equal addresses are equal texts.

    Scheme and host are in lower case (RFC 3986 section 6.2.2.1), and there is no slash at the end:
    `HTTPS://Example.test/` becomes `https://example.test`.
    """
    scheme_and_host = re.match(r"[A-Za-z]+://[^/]*", text)
    if scheme_and_host:
        path = text[scheme_and_host.end() :]
        text = scheme_and_host[0].lower() + path
    return text.removesuffix("/")


def check_address(text: str, *, insecure: bool, exact: bool) -> None:
    """Check the address of a service in a profile or on the command line. Raises ValueError if it is wrong.

    ``insecure`` permits http:// to other machines, where everybody on the way can read the token. ``exact`` permits a
    path that ends in /v1, which is usually a mistake, because every path of the interface starts with /v1. No message
    repeats the address, because it may have a password.
    """
    if "@" in text:  # a profile has no secret itself, only the names of environment variables and files with secrets
        raise ValueError("an address with a user name or password; secrets are named, never written: leave them out")
    has_query_or_fragment = set(text) & set("?#")
    if has_query_or_fragment:
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
    """Check the address of a proxy. Raises ValueError if it is wrong, or if the proxy could read the token.

    A proxy can read everything that is sent to a service with http:// (`base_url`). That is wrong unless `insecure`
    permits it, or the proxy runs on this machine.
    """
    check_address(proxy, insecure=True, exact=True)  # the proxy itself may have http://, and any path
    is_readable_for_proxy = base_url.startswith("http:") and not _is_loopback(proxy)
    if is_readable_for_proxy and not insecure:
        raise ValueError("http:// shows the token to the proxy; use https://, or set insecure: true in the profile")


def _is_address(text: str) -> bool:
    """True for an address such as `https://example.test:8443/bank`, with a possible port and a valid IPv6 address."""
    if not _ADDRESS.fullmatch(text):
        return False
    try:
        urlsplit(text).port  # noqa: B018 - raises if the port or the IPv6 address is wrong
    except ValueError:
        return False
    return True
