"""What is seen of a connection before anything is sent over it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Handshake:
    """How a connection was opened. `failure`: why it was not, "" where it was. Of TLS, `protocol` is the version, and
    `valid_until` the end of the service's certificate in seconds since 1970; None without TLS."""

    failure: str = ""
    protocol: str = ""
    valid_until: float | None = None


def handshake_on(sock: Any) -> Handshake:
    """What TLS on a socket shows; nothing where it speaks none."""
    certificate = sock.getpeercert() if isinstance(sock, ssl.SSLSocket) else None
    if not certificate:
        return Handshake()
    return Handshake(protocol=sock.version() or "", valid_until=ssl.cert_time_to_seconds(str(certificate["notAfter"])))
