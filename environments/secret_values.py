"""The list of secrets of a run: one call adds a value, and from then on no output shows it.

All code that sends requests reads the token and the transaction codes from this list. Every output is compared with the
values in the list. So each value that is sent is hidden, even a token that is fetched again, and a code that is
prepared during a run. The list also has the values of the profile that may name a person, such as accounts.

credentials.py reads secrets from variables and files, and adds them here. reports/showing/ replaces them in outputs.
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

# Names that replace values in outputs: `<token>`, `<account 2>`.
TOKEN = "token"
ACCOUNT = "account"
KEY = "key"
CODE = "code"
IDENTIFIER = "identifier"
"""A text or a number in the bodies of the profile: who is paid, for instance."""
ANOTHER_PREFIX = "another "
"""Start of the name of a value that is made from a secret: `another token` is a wrong token made from the right one."""
_AMOUNT = "value"
"""The member whose numbers are shown: a reader needs the amount, and it names nobody."""
_PLACEHOLDER = re.compile(r"\{(?:account|key|type)\}")
"""A placeholder in a body of the profile. An account, a key or a key type replaces it before the body is sent."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""The name of a JSON member that needs no quotes. A report has curl commands with comments that say which value of the
profile to fill in, such as `# requests.createPix.json.to`. A line break in a name would end the comment."""


@dataclass(frozen=True, repr=False)
class Known:
    """A value that no output shows."""

    name: str
    """Replaces the value in outputs, such as `account` in `<account 2>`."""
    value: str
    secret: bool = False
    """True for a token, a passphrase and the like. Outputs hide such a value within longer words, too, even if it is
    short. If it has no digit, each of its words is hidden: `correct` and `horse` for the passphrase `Correct horse`."""
    number: int | None = None
    """The number of the value in the list of the profile, from 1 on; None if the profile has no list of such values."""
    origin: str = ""
    """The key of the profile that has the value in a body or in a header: `requests.createPix.json.to`."""


class Secrets:
    """Secrets of a run, in the order in which they became known."""

    def __init__(self, listed: Mapping[str, Iterable[str]] | None = None) -> None:
        """Begin with the values that the profile (the settings of the run) lists, and without a token.

        `listed` has these values, by the name that replaces them in outputs: `{"account": ["0001"], "code": ["T1"]}`.
        """
        self.known: list[Known] = []
        """Every value that is hidden in outputs. It only grows, because an output may still have an old value."""
        for name, values in (listed or {}).items():
            for number, value in enumerate(values, 1):
                self.known.append(Known(name, value, number=number))
        self.tokens: list[str] = []
        """The access tokens of the run. The last one is sent."""
        self._collected_codes: frozenset[str] = frozenset()
        """The result of `codes`: all transaction codes in `known`. It is kept until `known` has more values."""
        self._values_at_collection = 0  # number of values in `known` when the codes were collected

    def token(self) -> str:
        """The access token to be sent, without the word "Bearer": the newest one; empty if there is none."""
        return self.tokens[-1] if self.tokens else ""

    @property
    def codes(self) -> frozenset[str]:
        """The transaction codes that the run may execute: those in the profile, and those that the run prepared.

        The set is made again only after a value was added to the list, because it is needed for each request.
        """
        number_of_values = len(self.known)
        if self._values_at_collection != number_of_values:
            codes = [secret.value for secret in self.known if secret.name == CODE and secret.value]
            self._collected_codes = frozenset(codes)
            self._values_at_collection = number_of_values  # last: another thread may read the codes meanwhile
        return self._collected_codes

    def learn(self, name: str, *values: str) -> None:
        """Hide these values, such as keys and codes, in all outputs from now on. `name` replaces them: `<key>`."""
        self.known += [Known(name, value) for value in values]

    def learn_secret(self, name: str, *values: str) -> None:
        """Hide these values in all outputs from now on, even single words of them, because they are secret.

        `name` replaces them: `<passphrase>`.
        """
        self.known += [Known(name, value, secret=True) for value in values]

    def learn_token(self, token: str) -> None:
        """Make this the token that is sent from now on, and hide it in all outputs.

        The wrong tokens that the suite makes from it, such as a shortened one, are hidden as well, because a reader
        could restore the token from them.
        """
        self.learn_secret(TOKEN, *secret_parts_of(token))  # the token, and its claims and signature if it is signed
        for wrong_token in wrong_tokens(token).values():
            self.learn_secret(ANOTHER_PREFIX + TOKEN, *secret_parts_of(wrong_token))
        self.tokens.append(token)  # last: another thread may send it from now on


def listed_secrets(profile: Profile) -> Secrets:
    """The values of a profile that no output may show: accounts, keys, codes, and texts in its bodies and headers."""
    listed = {ACCOUNT: profile.accounts, KEY: [key.key for key in profile.pix_keys], CODE: profile.transactions.codes}
    secrets = Secrets(listed)
    origins = texts_of_bodies(profile)
    for number, value in enumerate(origins, 1):  # outputs show the number: `<identifier 2>`
        secrets.known.append(Known(IDENTIFIER, value, number=number, origin=origins[value]))
    for header in profile.headers:
        if header.text:
            secrets.known.append(Known(f"header {header.name}", header.text, origin=f"headers.{header.name}"))
    return secrets


def texts_of_bodies(profile: Profile) -> dict[str, str]:
    """Every text and number in the request bodies of a profile, with the key of the profile that has it.

    For example `{"12345-6": "requests.createPix.json.to"}`. The suite cannot know which of them name a person, so all
    are hidden in outputs. Only amounts (`value`, if it is a number), documented key types, booleans and null are left
    out, because they name nobody.
    """
    origins: dict[str, str] = {}
    for origin, value in _all_texts_of_bodies(profile):
        for text in _PLACEHOLDER.split(value):  # a value that is filled in is hidden as an account or a key already
            if text.strip() and text not in KEY_TYPES:
                origins.setdefault(text, origin)
    return origins


def patterns_of_filled_texts(profile: Profile) -> dict[re.Pattern[str], str]:
    """Patterns of the texts in request bodies into which the suite fills a value, such as `to {key}`.

    A pattern matches the text as it is sent, such as `to ana@example.com`, so that the sent text can be hidden as well.
    The value for each pattern is the key of the profile that has the text: `requests.createPix.json.message`.
    """
    patterns: dict[re.Pattern[str], str] = {}
    for origin, value in _all_texts_of_bodies(profile):
        pieces = _PLACEHOLDER.split(value)
        has_placeholder = len(pieces) > 1
        # Without words of its own, a text such as `{key}` is only a key when it is sent, and hidden as a key.
        has_words_of_its_own = any(character.isalnum() for character in "".join(pieces))
        if has_placeholder and has_words_of_its_own:
            escaped_pieces = [re.escape(piece) for piece in pieces]
            pattern = re.compile(".*".join(escaped_pieces), re.DOTALL)  # `to .*` for `to {key}`
            patterns.setdefault(pattern, origin)
    return patterns


def _all_texts_of_bodies(profile: Profile) -> Iterator[tuple[str, str]]:
    """Pairs of a key of the profile and a text or number in its request bodies: `("requests.createPix.json.to", "12")`.

    The profile has a body for some operations, and one for the request that prepares a transfer.
    """
    for operation, body in profile.requests.items():
        yield from _places_and_texts(body.json, f"requests.{operation}.json")
    if profile.transactions.prepare:
        yield from _places_and_texts(profile.transactions.prepare.json, "transactions.prepare.json")


def _places_and_texts(value: Any, origin: str, member_name: str = "") -> Iterator[tuple[str, str]]:
    """Pairs of the place and the text for each text and number in a JSON value, except amounts.

    `origin` is the place of the value itself, such as `requests.createPix.json`, and `member_name` is the name of the
    JSON member that has it. Reports write a place into a comment of a shell script, so an unusual member name, such as
    one with a line break, is replaced by `…`.
    """
    if isinstance(value, dict):
        for name, member in value.items():
            step = name if _PLAIN_NAME.fullmatch(name) else "…"
            yield from _places_and_texts(member, f"{origin}.{step}", name)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places_and_texts(item, f"{origin}.{number}", member_name)
    elif isinstance(value, str):
        yield origin, value
    elif isinstance(value, bool):  # true and false name nobody; in Python they are integers, too
        return
    elif isinstance(value, int | float) and member_name != _AMOUNT:
        yield origin, json.dumps(value)
