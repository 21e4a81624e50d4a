"""The registry of secrets: one call makes a value known, so that the door guards it and no output shows it.

The door takes the token and the codes from here and nowhere else, and every output is compared with the values that are
known by then. So a value is never sent without being hidden. That holds for a token that is fetched again, too, and for
a code that is prepared in the middle of a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from environments.door.wrong_tokens import secret_parts_of, wrong_tokens
from environments.profiles.model import Profile
from spec.interface import KEY_TYPES

# Names that stand for values in output.
TOKEN = "token"
ACCOUNT = "account"
KEY = "key"
CODE = "code"
IDENTIFIER = "identifier"
"""A text or a number in the bodies of the profile: who is paid, for instance."""
ANOTHER_PREFIX = "another "
"""Stands before the name of a secret, in the name of values that are made from it: `another token` is a wrong one."""
_AMOUNT = "value"
"""The member whose numbers are shown: a reader needs the amount, and it names nobody."""
_PLACEHOLDER = re.compile(r"\{(?:account|key|type)\}")
"""A placeholder in a body of the profile. An account, a key or a key type replaces it before the body is sent."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""A name of a member that can stand in a comment of a shell line."""


@dataclass(frozen=True, repr=False)
class Known:
    """A value that is guarded and never shown."""

    name: str
    """Stands for the value in output."""
    value: str
    secret: bool = False
    """True if not even a word of it, or a piece in small letters, is shown."""
    place: int | None = None
    """The number of the value in the list of the profile; None if the profile does not list it."""
    origin: str = ""
    """The key of the profile under which a text of a body or of a header stands: `requests.createPix.json.to`."""


class Secrets:
    """Secrets of a run, in the order in which they became known.

    `listed` are the values that the profile lists, by the name that stands for them.
    """

    def __init__(self, listed: Mapping[str, Iterable[str]] | None = None) -> None:
        self.known: list[Known] = []
        """Every value that is hidden in outputs. It only grows, because an output may still have an old value."""
        for name, values in (listed or {}).items():
            for place, value in enumerate(values, 1):
                self.known.append(Known(name, value, place=place))
        self.tokens: list[str] = []
        """The access tokens of the run. The last one is sent."""
        self._codes: frozenset[str] = frozenset()
        self._known_when_codes_were_read = 0

    def token(self) -> str:
        """The access token of the run, without its scheme."""
        return self.tokens[-1] if self.tokens else ""

    @property
    def codes(self) -> frozenset[str]:
        """The transaction codes that the run may execute: supplied, or prepared by it.

        They are read again only if a value became known since, because each request asks for them.
        """
        if self._known_when_codes_were_read != len(self.known):
            self._known_when_codes_were_read = len(self.known)
            self._codes = frozenset(secret.value for secret in self.known if secret.name == CODE and secret.value)
        return self._codes

    def learn(self, name: str, *values: str) -> None:
        """Guard and hide values, such as keys and codes. The name stands for them in output."""
        self.known += [Known(name, value) for value in values]

    def learn_secret(self, name: str, *values: str) -> None:
        """Guard and hide values of which no part may be shown."""
        self.known += [Known(name, value, secret=True) for value in values]

    def learn_token(self, token: str) -> None:
        """Send this token from now on. Hide it and the wrong tokens that are made from it."""
        self.learn_secret(TOKEN, *secret_parts_of(token))
        for wrong_token in wrong_tokens(token).values():
            self.learn_secret(ANOTHER_PREFIX + TOKEN, *secret_parts_of(wrong_token))
        self.tokens.append(token)  # last: another thread may send it from now on


def listed_secrets(profile: Profile) -> Secrets:
    """The registry with the values that a profile lists, and with the texts and numbers of its bodies and headers."""
    listed = {ACCOUNT: profile.accounts, KEY: [key.key for key in profile.pix_keys], CODE: profile.transactions.codes}
    secrets = Secrets(listed)
    origins = identifiers(profile)
    for place, value in enumerate(origins, 1):
        secrets.known.append(Known(IDENTIFIER, value, place=place, origin=origins[value]))
    for header in profile.headers:
        if header.text:
            secrets.known.append(Known(f"header {header.name}", header.text, origin=f"headers.{header.name}"))
    return secrets


def identifiers(profile: Profile) -> dict[str, str]:
    """Every text and number in the bodies of a profile, as JSON writes it, with the key of the profile that has it.

    The suite cannot know what a member means to the bank, so nothing is guessed. Only amounts (`value`, if it is a
    number), documented key types, booleans and null are left out, because they name nobody.
    """
    origins: dict[str, str] = {}
    for origin, value in _texts_of_bodies(profile):
        for text in _PLACEHOLDER.split(value):  # what is filled in is known as an account or a key
            if text.strip() and text not in KEY_TYPES:
                origins.setdefault(text, origin)
    return origins


def texts_filled_in(profile: Profile) -> dict[re.Pattern[str], str]:
    """Patterns of the texts in bodies that have both a placeholder and words of the profile, such as `to {key}`.

    A pattern matches the text as it is sent. The value is the key of the profile that holds the text.
    """
    patterns: dict[re.Pattern[str], str] = {}
    for origin, value in _texts_of_bodies(profile):
        pieces = _PLACEHOLDER.split(value)
        has_placeholder = len(pieces) > 1
        if has_placeholder and any(map(str.isalnum, "".join(pieces))):
            pattern = re.compile(".*".join(map(re.escape, pieces)), re.DOTALL)
            patterns.setdefault(pattern, origin)
    return patterns


def _texts_of_bodies(profile: Profile) -> Iterator[tuple[str, str]]:
    """Each text and number in the bodies of a profile, as text, after the key of the profile that holds it."""
    for operation, body in profile.requests.items():
        yield from _texts(body.json, f"requests.{operation}.json")
    if profile.transactions.prepare:
        yield from _texts(profile.transactions.prepare.json, "transactions.prepare.json")


def _texts(value: Any, origin: str, member_name: str = "") -> Iterator[tuple[str, str]]:
    """The origin and the text of each text and number in a JSON value, without amounts."""
    if isinstance(value, dict):
        for name, member in value.items():
            step = name if _PLAIN_NAME.fullmatch(name) else "…"
            yield from _texts(member, f"{origin}.{step}", name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{origin}.{number}", member_name)
    elif isinstance(value, str):
        yield origin, value
    elif isinstance(value, int | float) and not isinstance(value, bool) and member_name != _AMOUNT:
        yield origin, json.dumps(value)
