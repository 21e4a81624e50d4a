"""Which credentials are refused where: right before and right after a granted request, one code or key after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.authorization import MOST_WRONG_TOKENS, SPELLINGS, WITHOUT_A_TOKEN, wrong_credentials
from environments.door.tokens import is_guessable
from environments.door.wrong_tokens import ANOTHER
from environments.profiles.profile import PixKey
from spec.exchange import Exchange

FOR_EVERY_KEY = "no header"
"""Tried with every code and every key."""
OF_AN_OPERATION = MOST_WRONG_TOKENS // 2
MOST_CREDENTIALS = OF_AN_OPERATION + len(WITHOUT_A_TOKEN)
"""Credentials that are refused by an operation whose token is documented."""
MOST_CITED = 9
"""Exchanges that are named where none was granted."""
_MOST_NAMED = 6
_OTHERWISE = tuple(spelling for spelling in SPELLINGS if spelling)
GUESSABLE = (
    "the token has fewer than 64 random bits, so no wrong token was made from it and tokens that are like it were not "
    "tried: use a random one"
)


def of_code(token: str, index: int, codes: int) -> tuple[str, ...]:
    """The credentials to try with a code before its execution. The execution of the previous code came right before.

    The first code may be all there is to execute: it gets every form as documented, and alone all others too. The
    further ones get those in turn, and ANOTHER as far as OF_AN_OPERATION reaches. One form as documented is left to the
    second code, as only what is sent before later codes has company: a service may read no other spelling.
    """
    wrong = wrong_credentials(token, "executePix")
    later = [name for name in wrong if name.endswith(_OTHERWISE)] if codes > 1 else []
    documented = [name for name in wrong if name not in later]
    left = documented[-1:] if codes > 1 else []
    if index == 0:
        return (*(name for name in documented if name == ANOTHER or name not in left), *WITHOUT_A_TOKEN)
    often = [ANOTHER] if index <= OF_AN_OPERATION - len(wrong) else []
    return (*often, *later[index - 1 :: max(1, codes - 1)], *left[: index == 1], FOR_EVERY_KEY)


class OfKeys:
    """The credentials that are tried with each key: `first`, before any key is registered; then in turn with the key
    that is registered next, and with one that is not, right after another one was."""

    def __init__(self, token: str, keys: Sequence[PixKey], registrations: int) -> None:
        often = (ANOTHER, FOR_EVERY_KEY)
        wrong = wrong_credentials(token, "registerPixKey")[: OF_AN_OPERATION - 1]
        rest = [name for name in wrong if name != ANOTHER]
        bare = [name for name in WITHOUT_A_TOKEN if name != FOR_EVERY_KEY]
        self.first = [(key, FOR_EVERY_KEY) for key in keys]
        self.first += [(key, ANOTHER) for key in keys[: OF_AN_OPERATION - len(wrong)]]
        self.first += [(keys[at % len(keys)], name) for at, name in enumerate(bare)]
        self._keys = keys
        self._turns = 2 * registrations
        share = -(-(len(rest) + len(often)) // max(1, self._turns))
        self._left = [*rest[:share], *often, *rest[share:]]

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
        if key != self._keys[-1]:
            return self._keys[-1]
        return self._keys[0] if deletes and len(self._keys) > 1 else None


def credentials_of(granted: Iterable[Exchange]) -> str:
    """What was granted to whom, for people."""
    names = list(dict.fromkeys(exchange.credential for exchange in granted))
    others = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {others} more" if others > 0 else "")


def of_a_guessable_token(token: str) -> str:
    """What a pass leaves open where no wrong token could be made from the right one; empty where some were."""
    return GUESSABLE if is_guessable(token) else ""
