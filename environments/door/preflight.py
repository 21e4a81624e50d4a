"""What is asked once before the first test: whether the target can be reached, and whether the set-up is right.

A finding is one line with what to do; the run goes on where it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.answers import RefusalKind, refusal_kind, turns_away
from spec.exchange import Failure, FailureKind, Response

_ASKED_WITHOUT_TLS = (
    b"plain http request was sent to https port",
    b"speaking plain http to an ssl-enabled server port",
    b"combination of host and port requires tls",
    b"http request to an https server",
)


@dataclass(frozen=True)
class Preflight:
    """`unreachable` says why the target cannot be reached; `notes` are faults of the set-up, said first."""

    unreachable: str = ""
    notes: tuple[str, ...] = ()


def check(client: Client, profile: Profile) -> Preflight:
    """Send a read, or only connect where none is allowed."""
    if "read" not in profile.allow:
        return Preflight(client.door.connect())
    listed = client.send("listAccounts", valid=True)
    if listed.failure is not None:
        return Preflight(_unreachable(listed.failure, profile.base_url))
    if listed.response is None:
        return Preflight()
    if _asks_for_tls(listed.response):
        return Preflight("this port speaks TLS, and base_url says http://: write https://")
    if turns_away(listed.response):
        client.send("listAccounts", credential="a wrong token")  # the end of the run compares the two answers
    return Preflight(notes=tuple(_certificate(listed.response, profile)))


def _unreachable(failure: Failure, base_url: str) -> str:
    """Why the target cannot be reached. A TLS server may close a plain connection without a word."""
    if failure.kind is FailureKind.LIMIT:
        return ""
    may_be_tls = failure.kind is FailureKind.DROPPED and base_url.startswith("http:")
    return failure.message + "; if this port speaks TLS, write https:// in base_url" * may_be_tls


def _asks_for_tls(response: Response) -> bool:
    """Whether a server says that the request came without TLS, in the words of nginx, Apache, Tomcat or Go."""
    said = response.body[:2_000].lower()
    return response.status == 400 and any(words in said for words in _ASKED_WITHOUT_TLS)


def _certificate(response: Response, profile: Profile) -> Iterator[str]:
    if refusal_kind(response) is RefusalKind.CERTIFICATE:
        does = "refuses the client certificate: renew" if profile.tls.client_cert else "asks for a certificate: name"
        yield f"the gateway {does} tls.client_cert and tls.client_key ({response.status})"
