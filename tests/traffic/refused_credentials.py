"""Bad credentials to try, with codes that are offered before their execution, and with keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, forms
from environments.profiles.model import Profile
from spec.exchange import Exchange
from spec.message import Text, in_a_row, say

MOST_CITED = 9
"""Exchanges that are named where none was granted."""
_ONCE = 3
"""Wrong tokens that go without a real code or key: ANOTHER with a synthetic code, and two of the generated traffic."""


def to_try(profile: Profile, token: str) -> list[str]:
    """The forms that go with real codes or keys, as far as limits.wrong_tokens reaches. What goes without them has its
    room, but for the first."""
    limit, others = profile.limits.wrong_tokens, _ONCE + len(forms(profile, among=OTHER_SCHEMES))
    return [form.name for form in forms(profile, token)][: max(min(limit, 1), limit - others)]


def of_code(names: Sequence[str], index: int, codes: int, spare: int) -> tuple[str, ...]:
    """The credentials to try with one of so many codes that are offered. The first leaves right behind the execution
    before. ANOTHER goes with each, as far as `spare` reaches, no header with each, and the other forms in turn."""
    often = [ANOTHER] if ANOTHER in names and index <= spare else []
    return (*often, NO_HEADER, *[name for name in names if name != ANOTHER][index::codes])


def of_keys(names: Sequence[str]) -> list[str]:
    """The credentials to try with keys, in this order: ANOTHER goes right behind the first registration."""
    return sorted([*names, NO_HEADER], key=(ANOTHER, NO_HEADER, *names).index)


def tried(exchanges: Iterable[Exchange]) -> Text:
    """The forms that were tried, for people."""
    return say("credentials tried: {names}", names=credentials_of(exchanges))


def credentials_of(exchanges: Iterable[Exchange]) -> Text:
    """The credentials of requests, for people."""
    return in_a_row([say(name) for name in dict.fromkeys(exchange.credential for exchange in exchanges)], ", ")
