"""Accounts and keys that only the service names: in an answer to listAccounts, those that the profile does not list; in
one to listPixKeys, those that were made.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any

from spec.exchange import Exchange

MOST_TOLD = 200
"""In a run: each has to be sought in all that is written."""
_NAMES_AN_ACCOUNT = frozenset({"id", "account", "accountid", "accountnumber", "number", "iban", "uuid", "conta"})
_SHORTEST, _LONGEST, _LEAST_DIGITS = 4, 100, 5
_DEEPEST = 20
_ITEM, _NAME = "[]", "{}"
"""Stand in a place for an item of a list, and for a name of a member that may itself be an account."""
Place = tuple[str, ...]
_MADE = re.compile(r"(?<![0-9a-z])[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}(?![0-9a-z])", re.IGNORECASE)
"""A key that the service made, whole: a UUID, with or without its dashes."""


def accounts_told(exchange: Exchange, known: Collection[str]) -> list[str]:
    """What stands where an account does that is `known`, or has a name that says so. Words are no accounts."""
    if exchange.operation != "listAccounts" or exchange.response is None or not exchange.response.json.readable:
        return []
    leaves = list(_leaves(exchange.response.json.value, ()))
    places = {place for place, text in leaves if text in known}
    told = (text for place, text in leaves if _may_be_one(text) and (place in places or _is_named(place)))
    return [text for text in dict.fromkeys(told) if text not in known][:MOST_TOLD]


def keys_told(exchange: Exchange) -> list[str]:
    """The made keys in an answer to listPixKeys, whatever holds them. What the request carries, as its id, is none."""
    if exchange.operation != "listPixKeys" or exchange.response is None:
        return []
    carried = {value for _, value in exchange.request.headers}
    text = exchange.response.start.decode("utf-8", "replace")
    return [found[0] for found in _MADE.finditer(text) if found[0] not in carried]


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Texts, integers and names of members, each with its place."""
    if isinstance(value, dict) and len(place) < _DEEPEST:
        for name, item in value.items():
            yield (*place, _NAME), name
            yield from _leaves(item, (*place, name))
    elif isinstance(value, list) and len(place) < _DEEPEST:
        for item in value:
            yield from _leaves(item, (*place, _ITEM))
    elif isinstance(value, str) or (isinstance(value, Decimal) and str(value).isdigit()):
        yield place, str(value)


def _is_named(place: Place) -> bool:
    name = next((part for part in reversed(place) if part != _ITEM), "")
    plain = "".join(filter(str.isalnum, name)).lower()
    return plain.removesuffix("s" * (place[-1:] == (_ITEM,))) in _NAMES_AN_ACCOUNT


def _may_be_one(text: str) -> bool:
    if text.isdigit():
        return _LEAST_DIGITS <= len(text) <= _LONGEST
    return _SHORTEST <= len(text) <= _LONGEST and any(map(str.isdigit, text))
