"""Looks whether a profile is ready for a run: what the preflight asks, and one prepared transfer where that is wanted.

Nothing is executed, registered or deleted: the door is opened for the permissions of `to_check` alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from environments.door.attempt import Handshake
from environments.door.client import Client
from environments.door.event_log import JournalError
from environments.door.liveness import UnreachableError
from environments.door.opening import codes_sent_before, journal_in_words
from environments.door.preflight import check, skew_s, skewed
from environments.door.preparing import prepare_one
from environments.profiles.gaps import gaps, without_a_body
from environments.profiles.profile import Prepare, Profile, ProfileError, shown
from spec.answers import is_granted, is_page, is_refusal
from spec.exchange import Exchange
from spec.interface import READS, operations

_SOON_DAYS = 30
"""A certificate that ends within these days is to be renewed."""
_DAY_S = 86_400


@dataclass(frozen=True)
class Remark:
    """One line. `lacking`: a run would be incomplete for it."""

    topic: str
    text: str
    lacking: bool = False


def to_check(profile: Profile, *, prepares: bool) -> Profile:
    """The profile with no more permissions than a check needs. Raises ProfileError where nothing says how a transfer is
    prepared."""
    plan = profile.transactions.prepare
    if prepares and plan is None:
        raise ProfileError(
            f"{shown(profile.path)}: --prepare: the profile does not say how: supply transactions.prepare"
        )
    needed = {"read"} | ({operations()[plan.operation].permission} if prepares and plan else set())
    return replace(profile, allow=profile.allow & needed)


def at_the_target(client: Client, profile: Profile, *, prepares: bool) -> Iterator[Remark]:
    """Connect, ask what a run asks first, and prepare a transfer. Raises UnreachableError."""
    handshake = connected(client)
    yield Remark("reachable", client.door.permission.base_url)
    yield _tls(handshake)
    yield from _set_up(client, profile)
    if "read" in profile.allow:
        _ask_until_one_is_granted(client, profile)
    plan, exchanges = profile.transactions.prepare, client.door.exchanges
    if prepares and plan and (_Token(exchanges).granted or "read" not in profile.allow):
        yield _prepared(prepare_one(client, profile, plan), plan, client.door.guard.notes)
    yield _Token(exchanges).finding()


def connected(client: Client) -> Handshake:
    """The handshake with the target. Raises UnreachableError."""
    handshake = client.door.connect()
    if handshake.failure:
        raise UnreachableError(handshake.failure)
    return handshake


def left_prepared(client: Client) -> Iterator[Remark]:
    """Transfers that stay prepared, whatever ended the check."""
    door = client.door
    return (Remark("not cleaned up", line) for line in door.guard.prepared.not_executed(door.exchanges))


def _set_up(client: Client, profile: Profile) -> Iterator[Remark]:
    """What the preflight of a run says. A wrong clock has a line of its own."""
    found = check(client, profile)
    if found.unreachable:
        raise UnreachableError(found.unreachable)
    yield _clock(client.door.exchanges)
    told = {line for seen in client.door.exchanges[:1] for line in skewed(seen)}
    yield from (Remark("set-up", note, lacking=True) for note in found.notes if note not in told)


def _ask_until_one_is_granted(client: Client, profile: Profile) -> None:
    """Send the reads until one is granted with the token, and refused without."""
    account, asked = next(iter(profile.accounts), None), {seen.operation for seen in client.door.exchanges}
    for operation in sorted(READS, key=lambda name: name not in asked):
        if operations()[operation].path_parameter and account is None:
            continue
        if operation not in asked:
            client.send(operation, account, valid=True)
        if operation in _Token(client.door.exchanges).granted:
            client.send(operation, account, credential="no header")
        if _Token(client.door.exchanges).accepted:
            return


class _Token:
    """What the answers show of the access token."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        self._valid = [seen for seen in exchanges if seen.expects_success]
        others = [seen for seen in exchanges if not seen.expects_success]
        self._refused_without = {seen.operation for seen in others if seen.response and is_refusal(seen.response)}
        self.granted = list(dict.fromkeys(seen.operation for seen in self._valid if self._is_granted(seen)))

    def _is_granted(self, seen: Exchange) -> bool:
        """A page may be one to log in, unless the operation is refused without the token."""
        if seen.response is None or not is_granted(seen):
            return False
        return seen.operation in self._refused_without or not is_page(seen.response)

    @property
    def accepted(self) -> list[str]:
        """The operations that accepted it. A read that is granted without it, too, shows nothing."""
        return [name for name in self.granted if name in self._refused_without or name not in READS]

    def finding(self) -> Remark:
        if self.accepted:
            return Remark("token", f"accepted by {', '.join(self.accepted)}")
        if self.granted:
            return Remark("token", f"not shown to be valid: {', '.join(self.granted)} answer without a token, too")
        if not self._valid:
            return Remark("token", "not tried: add read to allow, or use --prepare", lacking=True)
        answers = Counter(seen.summary for seen in self._valid)
        said = ", ".join(f"{summary} to {count} of {len(self._valid)} requests" for summary, count in answers.items())
        return Remark("token", f"not accepted ({said}): it may be wrong or expired, check auth", lacking=True)


def _tls(handshake: Handshake) -> Remark:
    if handshake.valid_until is None:
        return Remark("TLS", "none: the address starts with http://")
    days = int((handshake.valid_until - time.time()) // _DAY_S)
    until = datetime.fromtimestamp(handshake.valid_until, UTC).date()
    soon = ": it has to be renewed soon" if days < _SOON_DAYS else ""
    return Remark("TLS", f"{handshake.protocol}, the certificate is valid until {until} ({days} more days){soon}")


def _clock(exchanges: list[Exchange]) -> Remark:
    """How far the clocks are apart: a difference is no reason for an incomplete run, it explains one."""
    for seen in exchanges[:1]:
        skew = skew_s(seen)
        if skew is not None:
            return Remark("clock", next(skewed(seen), f"{abs(skew):.0f} s from the service's (its header Date)"))
    return Remark("clock", "not compared: no answer with a header Date")


def _prepared(exchange: Exchange, plan: Prepare, notes: list[str]) -> Remark:
    """The outcome; `notes` tell what the answer holds where the code is not found, or cannot be sent."""
    if not is_granted(exchange):
        why = f"{exchange.summary} to {plan.operation}: check transactions.prepare.json"
        return Remark("prepared", f"no transfer: {why}", lacking=True)
    if not notes:
        where = f"its code is at transactions.prepare.code_at ({plan.code_at})"
        return Remark("prepared", f"one transfer with {plan.operation}, which is not executed: {where}")
    return Remark("prepared", notes[-1], lacking=True)


def in_the_profile(profile: Profile) -> Iterator[Remark]:
    """Which journal counts, and what the profile permits and does not supply; the plan lists the rest."""
    sent_before: Collection[str] = ()
    if "execute" in profile.allow and not profile.is_sandbox:
        try:
            sent_before = codes_sent_before(profile)
            yield Remark("journal", journal_in_words(profile))
        except JournalError as error:
            yield Remark("journal", str(error), lacking=True)
    yield from (Remark("not exercised", gap, lacking=True) for gap in gaps(profile, sent_before))
    for name in without_a_body(profile):
        yield Remark("not exercised", f"{name} gets no valid request: supply requests.{name}")
