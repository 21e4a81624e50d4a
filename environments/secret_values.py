"""The registry of secrets: one call makes a value known, so that the door guards it and no output shows it.

The door takes the token and the codes from here and nowhere else, and what is shown is read against what is known
by then. So neither happens alone, also for a token that is fetched again and a code that is prepared in
the middle of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.door.wrong_tokens import parts_that_tell, wrong_tokens
from environments.profiles.model import Profile

TOKEN, ACCOUNT, KEY, CODE = "token", "account", "key", "code"
IDENTIFIER = "identifier"
"""Whatever else identifies somebody in the bodies of the profile: who is paid, for instance."""
ANOTHER_PREFIX = "another "
"""Stands before the name of a secret for what is like it."""


@dataclass(frozen=True, repr=False)
class Known:
    """A value that is guarded and never shown. `name` stands for it in output. A value that the profile lists has the
    number of its `place` there. Of a `secret`, no word and no piece in small letters is shown either."""

    name: str
    value: str
    secret: bool = False
    place: int | None = None


class Secrets:
    """Secrets of a run, in the order in which they became known. `known` only grows. `tokens` are the access tokens of
    the run, which sends the last one."""

    def __init__(self, listed: Mapping[str, Iterable[str]] | None = None) -> None:
        places = ((name, *each) for name, values in (listed or {}).items() for each in enumerate(values, 1))
        self.known = [Known(name, value, place=place) for name, place, value in places]
        self.tokens: list[str] = []

    def token(self) -> str:
        """The access token of the run, without its scheme."""
        return self.tokens[-1] if self.tokens else ""

    @property
    def codes(self) -> frozenset[str]:
        """The transaction codes that the run may execute: supplied, or prepared by it."""
        return frozenset(one.value for one in self.known if one.name == CODE and one.value)

    def learn(self, name: str, *values: str) -> None:
        """Guard and hide values: accounts, keys, codes, or whatever else has a name."""
        self.known += [Known(name, value) for value in values]

    def learn_secret(self, name: str, *values: str) -> None:
        """Guard and hide values of which no part may be shown."""
        self.known += [Known(name, value, secret=True) for value in values]

    def learn_token(self, token: str) -> None:
        """Send this token from now on. Hide it and the wrong ones that are made from it."""
        self.learn_secret(TOKEN, *parts_that_tell(token))
        wrong = wrong_tokens(token).values()
        self.learn_secret(ANOTHER_PREFIX + TOKEN, *(part for each in wrong for part in parts_that_tell(each)))
        self.tokens.append(token)  # last: another thread may send it from now on


def listed_secrets(profile: Profile) -> Secrets:
    """The registry with the values that a profile lists, and with the identifiers in its bodies."""
    listed = {ACCOUNT: profile.accounts, KEY: [key.key for key in profile.pix_keys], CODE: profile.transactions.codes}
    return Secrets({**listed, IDENTIFIER: dict.fromkeys(identifiers(profile.bodies))})


def identifiers(bodies: Iterable[Any]) -> Iterator[str]:
    """Texts in JSON values that look like an account, a key or a document: with "@", or with at least five digits."""
    for body in bodies:
        if isinstance(body, dict):
            yield from identifiers(body.values())
        elif isinstance(body, list):
            yield from identifiers(body)
        elif isinstance(body, str) and ("@" in body or sum(map(str.isdigit, body)) >= 5):
            yield body
