"""What is asked once before the first test: whether the target can be reached, and whether the set-up is right.

A finding is one line with what to do; the run goes on where it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from environments.door.backoff import http_date
from environments.door.client import Client
from environments.door.request_texts import names
from environments.profiles.profile import Profile
from spec.answers import RefusalKind, is_granted, refusal_kind, turns_away
from spec.exchange import Exchange, Failure, FailureKind, Response

MOST_SKEW_S = 60
MOST_ACCOUNTS = 20
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
        return Preflight(client.door.connect().failure)
    listed = client.send("listAccounts", valid=True)
    if listed.failure is not None:
        return Preflight(_unreachable(listed.failure, profile.base_url))
    if listed.response is None:
        return Preflight()
    if _asks_for_tls(listed.response):
        return Preflight("this port speaks TLS, and base_url says http://: write https://")
    if turns_away(listed.response):
        client.send("listAccounts", credential="a wrong token")  # the end of the run compares the two answers
    notes = (*_certificate(listed.response, profile), *skewed(listed), *_unknown_accounts(client, listed, profile))
    return Preflight(notes=notes)


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


def skew_s(seen: Exchange) -> float | None:
    """Seconds that the clock of this machine is behind the service's, as the header Date tells; None without one."""
    theirs = http_date(seen.response.header("Date")) if seen.response else None
    return theirs.timestamp() - (seen.started + seen.elapsed_s) if theirs else None


def skewed(listed: Exchange) -> Iterator[str]:
    """One line where the clocks of this machine and of the service differ, as the header Date tells."""
    skew = skew_s(listed)
    if skew is not None and abs(skew) > MOST_SKEW_S:
        behind = "behind" if skew > 0 else "ahead of"
        yield (
            f"the clock of this machine is {abs(skew) / 60:.0f} minutes {behind} the service's (its header Date): "
            "tokens and certificates may count as expired, set the clock"
        )


def _unknown_accounts(client: Client, listed: Exchange, profile: Profile) -> Iterator[str]:
    """One line for each account that the list does not show and whose balance is refused. The shape of the list is not
    shown, so the list alone decides nothing."""
    if listed.response is None or not is_granted(listed) or not listed.response.json.readable:
        return
    shown = listed.response.body.decode("utf-8", "replace")
    for place, account in enumerate(profile.accounts[:MOST_ACCOUNTS], 1):
        if names(shown, account):
            continue
        balance = client.send("getBalance", account, valid=True).response
        if balance is not None and turns_away(balance) and refusal_kind(balance) is not RefusalKind.TOKEN:
            told = f"the service does not know account {place} of the profile ({balance.status} to getBalance)"
            yield f"{told}: check accounts"
