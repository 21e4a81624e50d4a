"""Registrations that are unusual: they must not be granted, or need not be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from environments.door.authorization import VALID
from environments.profiles.profile import PixKey
from spec.interface import MARK


class Attempted(Enum):
    """Registrations that must not be granted, or need not be, by what is unusual about them."""

    UNDOCUMENTED_TYPE = "a type that is not documented"
    OTHER_NAME = "another name of RANDOM"
    LOWER_CASE = "a type in lower-case letters"
    NUMERIC = "a number as type"
    OTHER_SCHEME = "the token under another scheme"
    WITHOUT_A_TOKEN = "no valid token"


OTHER_TYPES = (Attempted.UNDOCUMENTED_TYPE, Attempted.OTHER_NAME, Attempted.LOWER_CASE, Attempted.NUMERIC)
UNDOCUMENTED = (Attempted.OTHER_NAME, Attempted.UNDOCUMENTED_TYPE)
UNDOCUMENTED_TYPES = ("IBAN", "PASSPORT", "CELLPHONE", f"{MARK}type")
OTHER_NAME_OF_RANDOM = "EVP"
NUMERIC_TYPES = ("1", "3")


@dataclass(frozen=True)
class Attempt:
    """One of them: a key of the profile, and the type and the credential that it is sent with."""

    what: Attempted
    key: PixKey
    type: str
    credential: str = VALID


def given(keys: Iterable[PixKey]) -> list[PixKey]:
    """The keys that the service does not make."""
    return [key for key in keys if key.type != "RANDOM"]


def undocumented(keys: Sequence[PixKey]) -> Iterator[Attempt]:
    """Types that are not documented; EVP, the Central Bank's own name for RANDOM, is one of them."""
    own = given(keys) or list(keys)
    yield Attempt(Attempted.OTHER_NAME, own[0], OTHER_NAME_OF_RANDOM)
    for index, name in enumerate(UNDOCUMENTED_TYPES, 1):
        yield Attempt(Attempted.UNDOCUMENTED_TYPE, own[index % len(own)], name)
    for key in keys:
        if key.type == "RANDOM":
            yield Attempt(Attempted.OTHER_NAME, key, OTHER_NAME_OF_RANDOM)


def without_token(credentials: Iterable[tuple[PixKey, str]]) -> Iterator[Attempt]:
    """Registrations of these keys with these credentials, which are no valid token."""
    return (Attempt(Attempted.WITHOUT_A_TOKEN, key, key.type, credential) for key, credential in credentials)


def other_schemes(key: PixKey, schemes: Iterable[str]) -> Iterator[Attempt]:
    """The valid token under each other scheme."""
    return (Attempt(Attempted.OTHER_SCHEME, key, key.type, scheme) for scheme in schemes)


def spellings(keys: Sequence[PixKey]) -> Iterator[Attempt]:
    """Types in lower case and as digits: the interface document does not say that they are refused, nor accepted."""
    for key in given(keys)[:1]:
        yield Attempt(Attempted.LOWER_CASE, key, key.type.lower())
        yield from (Attempt(Attempted.NUMERIC, key, number) for number in NUMERIC_TYPES)
