"""Looks whether a run could begin: what the preflight asks, the token, the journal, and what the profile lacks.

Only reads are sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from environments.door.backoff import UnreachableError
from environments.door.client import Client
from environments.door.opening import journal_in_words
from environments.profiles.loading import gaps
from environments.profiles.model import Profile
from spec.answers import is_granted


@dataclass(frozen=True)
class Remark:
    """One line. `lacking`: a run would be incomplete for it."""

    topic: str
    text: str
    lacking: bool = False


def at_the_target(client: Client, profile: Profile) -> Iterator[Remark]:
    """Ask what a run asks first. Raises UnreachableError."""
    if unreachable := client.preflight():
        raise UnreachableError(unreachable)
    yield Remark("reachable", client.door.permission.base_url)
    if "read" not in profile.allow:
        yield Remark("token", "not tried: add read to allow", lacking=True)
    for listed in client.door.exchanges[:1]:
        lacking = not is_granted(listed)
        remedy = ": it may be wrong or expired, or may not read; check auth" if lacking else ""
        yield Remark("token", f"{listed.summary} to listAccounts{remedy}", lacking)


def in_the_profile(profile: Profile) -> Iterator[Remark]:
    """Which journal counts, and what the profile permits and does not supply; the plan lists the rest."""
    journal, trouble, sent_before = journal_in_words(profile)
    if "execute" in profile.allow and not profile.is_sandbox:
        yield Remark("journal", trouble or journal, lacking=bool(trouble))
    yield from (Remark("not exercised", gap, lacking=True) for gap in gaps(profile, sent_before))
