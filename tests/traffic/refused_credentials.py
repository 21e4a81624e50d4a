"""Which credentials are refused where: with codes that are offered before their execution, and with keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.authorization import forms
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES
from environments.profiles.profile import PixKey, Profile
from spec.exchange import Exchange
from spec.message import Text, in_a_row, say

MOST_CITED = 9
"""Exchanges that are named where none was granted."""
_MOST_NAMED = 6
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


class OfKeys:
    """The credentials that are tried with keys: `first`, before any key is registered; then in turn with the key that is
    registered next, and with one that is not, right after another one was. No key of the profile is tried but on a
    sandbox: a synthetic e-mail address stands for it."""

    def __init__(self, names: Sequence[str] | None, keys: Sequence[PixKey], registrations: int, *, own: bool) -> None:
        self._synthetic = None if own else PixKey("EMAIL", f"{synthetic()}@example.com")
        self._keys = keys if own else [self.of(keys[0])]
        self.first = [(key, NO_HEADER) for key in self._keys if names is not None]
        self._turns = 2 * registrations
        self._left: list[str] = []
        if names is not None:
            self._left = self._in_order(names)

    def _in_order(self, names: Sequence[str]) -> list[str]:
        """ANOTHER is the first to be taken right behind the first registration."""
        rest = [name for name in names if name != ANOTHER]
        often = [*([ANOTHER] if ANOTHER in names else []), NO_HEADER]
        share = -(-(len(rest) + len(often)) // max(1, self._turns))
        return [*rest[:share], *often, *rest[share:]]

    def of(self, key: PixKey) -> PixKey:
        """The key that is tried in the place of this one."""
        return self._synthetic or key

    def take(self) -> list[str]:
        """The next few credentials, so that all are taken in as many turns as there may be."""
        share = -(-len(self._left) // max(1, self._turns))
        self._turns -= 1
        taken, self._left = self._left[:share], self._left[share:]
        return taken

    def rest(self) -> list[str]:
        """All that were not taken."""
        taken, self._left = self._left, []
        return taken

    def other_than(self, key: PixKey, *, deletes: bool) -> PixKey | None:
        """A key that is not registered while this one is: the last; beside the last one none, unless keys are deleted."""
        if self._synthetic or key != self._keys[-1]:
            return self._keys[-1]
        return self._keys[0] if deletes and len(self._keys) > 1 else None


def tried(exchanges: Iterable[Exchange]) -> Text:
    """The forms that were tried, for people."""
    return say("credentials tried: {names}", names=in_a_row(_names(exchanges), ", "))


def credentials_of(granted: Iterable[Exchange]) -> Text:
    """What was granted to whom, for people."""
    names = _names(granted)
    shown, others = in_a_row(names[:_MOST_NAMED], ", "), len(names) - _MOST_NAMED
    return say("{names} and {n} more", names=shown, n=others) if others > 0 else shown


def _names(exchanges: Iterable[Exchange]) -> list[Text]:
    return [say(name) for name in dict.fromkeys(exchange.credential for exchange in exchanges)]
