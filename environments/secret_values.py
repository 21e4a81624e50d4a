"""The registry of secrets: one call makes a value known, so that the door guards it and no output shows it.

The door takes the token and the codes from here and nowhere else, and what is shown is read against what is known
by then. So neither happens alone, also for a token that is fetched again and a code that is prepared in
the middle of a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.door.wrong_tokens import parts_that_tell, wrong_tokens
from environments.profiles.model import Profile
from spec.interface import KEY_TYPES

TOKEN, ACCOUNT, KEY, CODE = "token", "account", "key", "code"
IDENTIFIER = "identifier"
"""A text or a number in the bodies of the profile: who is paid, for instance."""
ANOTHER_PREFIX = "another "
"""Stands before the name of a secret for what is like it."""
_AMOUNT = "value"
"""The member whose numbers are shown: a reader needs the amount, and it names nobody."""
_FILLED_IN = re.compile(r"\{(?:account|key|type)\}")
_MEMBER = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""A name of a member that can stand in a comment of a shell line."""


@dataclass(frozen=True, repr=False)
class Known:
    """A value that is guarded and never shown. `name` stands for it in output. A value that the profile lists has the
    number of its `place` there. Of a `secret`, no word and no piece in small letters is shown either. `origin`: the key
    of the profile under which a text of a body or of a header stands, such as `requests.createPix.json.to`."""

    name: str
    value: str
    secret: bool = False
    place: int | None = None
    origin: str = ""


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
    """The registry with the values that a profile lists, and with the texts and numbers of its bodies and headers."""
    listed = {ACCOUNT: profile.accounts, KEY: [key.key for key in profile.pix_keys], CODE: profile.transactions.codes}
    secrets = Secrets(listed)
    for place, (value, origin) in enumerate(identifiers(profile).items(), 1):
        secrets.known.append(Known(IDENTIFIER, value, place=place, origin=origin))
    for header in profile.headers:
        if header.text:
            secrets.known.append(Known(f"header {header.name}", header.text, origin=f"headers.{header.name}"))
    return secrets


def identifiers(profile: Profile) -> dict[str, str]:
    """Every text and number in the bodies of a profile, as JSON writes it, with the key of the profile that has it.

    The suite cannot know what a member means to the bank, so nothing is guessed. Only amounts (`value`, if it is a
    number), documented key types, booleans and null are left out, because they name nobody.
    """
    found: dict[str, str] = {}
    for place, body in _bodies(profile):
        for origin, value in _values(body, place):
            for text in _FILLED_IN.split(value):  # what is filled in is known as an account or a key
                if text.strip() and text not in KEY_TYPES:
                    found.setdefault(text, origin)
    return found


def texts_filled_in(profile: Profile) -> dict[re.Pattern[str], str]:
    """The texts of the bodies that hold both words of the profile and what is filled in: a pattern of what is sent,
    with the key of the profile."""
    patterns: dict[re.Pattern[str], str] = {}
    for place, body in _bodies(profile):
        for origin, value in _values(body, place):
            pieces = _FILLED_IN.split(value)
            if len(pieces) > 1 and any(map(str.isalnum, "".join(pieces))):
                patterns.setdefault(re.compile(".*".join(map(re.escape, pieces)), re.DOTALL), origin)
    return patterns


def _bodies(profile: Profile) -> Iterator[tuple[str, Any]]:
    """The JSON values that a profile gives for bodies, each with the key that holds it."""
    for operation, body in profile.requests.items():
        yield f"requests.{operation}.json", body.json
    if prepare := profile.transactions.prepare:
        yield "transactions.prepare.json", prepare.json


def _values(item: Any, place: str, member: str = "") -> Iterator[tuple[str, str]]:
    """The place and the text of each text and number in a JSON value, but of amounts."""
    if isinstance(item, dict):
        for name, value in item.items():
            step = name if _MEMBER.fullmatch(name) else "…"
            yield from _values(value, f"{place}.{step}", name)
    elif isinstance(item, list):
        for number, value in enumerate(item):
            yield from _values(value, f"{place}.{number}", member)
    elif isinstance(item, str):
        yield place, item
    elif isinstance(item, int | float) and not isinstance(item, bool) and member != _AMOUNT:
        yield place, json.dumps(item)
