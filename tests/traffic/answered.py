"""How a request was answered, as an observation keeps it: status, media type, a few headers and the shape of the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reports.observations.behaviour import Answer
from spec.exchange import Exchange, Response, kept_beside, named_media_type
from spec.json_text import JsonPath, folded, leaves_of
from spec.shapes import Shape, shape_of
from tests.traffic.extras import OTHER_NAMES

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
_TOKEN_ERROR = re.compile(r'\berror="?(invalid_request|invalid_token|insufficient_scope)\b')
PRESENT = "present"


Values = dict[str, list[Answer | str]]
"""By situation, what was seen in it."""


def by_situation(seen: Iterable[tuple[str, Answer | str]]) -> Values:
    """What was seen in each situation, from pairs of both."""
    found: Values = {}
    for situation, value in seen:
        found.setdefault(situation, []).append(value)
    return found


def _challenge(value: str) -> str:
    scheme = value.partition(" ")[0].casefold()
    name = next((each for each in _SCHEMES if each.casefold() == scheme), "another scheme")
    error = _TOKEN_ERROR.search(value)
    return f"{name} {error[1]}" if error else name


def _wait(value: str) -> str:
    return "seconds" if value.strip().isdecimal() else "a date"


_HEADERS: Mapping[str, Callable[[str], str]] = {
    "WWW-Authenticate": _challenge, "Retry-After": _wait, "Location": lambda value: PRESENT,
    "Allow": lambda value: PRESENT,
}  # fmt: skip
"""Headers that say how a request is refused, and what is kept of them: of RFC 6750 the scheme and the error."""
_OF_A_LIMIT = (
    "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Used",
    "X-Rate-Limit-Limit", "X-Rate-Limit-Remaining", "X-Rate-Limit-Reset",
)  # fmt: skip
_OVER_A_LIMIT = 429


_OF_A_KEY = frozenset(map(folded, ("pixKey", *OTHER_NAMES["pixKey"])))
"""Names of members that may hold a PIX key: what format that has depends on which keys there are."""


def answer_of(exchange: Exchange, known: Container[str] = ()) -> Answer:
    """How the request was answered. There is an answer. A text that is `known` (without letter case) has no format in the
    shape, and neither has a PIX key."""
    response = exchange.response
    assert response is not None
    text = response.json
    if known and text.readable and any(_is_known(item, _name_of(path), known) for path, item in leaves_of(text.value)):
        return replace(head_of(response), shape=shape_of(_without(text.value, known)))
    return replace(head_of(response), shape=_shape_in(response))


def _without(value: Any, known: Container[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {member: _without(inner, known, member) for member, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, known, name) for inner in value]
    return "" if _is_known(value, name, known) else value


def _is_known(value: Any, name: str, known: Container[str]) -> bool:
    return isinstance(value, str) and (folded(name) in _OF_A_KEY or value.casefold() in known)


def _name_of(path: JsonPath) -> str:
    """The name of the innermost member."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def head_of(response: Response) -> Answer:
    """The answer without the shape of its body."""
    media_type = named_media_type(response.media_type) if response.media_type else ""
    return Answer(response.status, media_type, dict(_headers(response)))


@kept_beside
def _shape_in(response: Response) -> Shape | None:
    text = response.json
    return shape_of(text.value) if text.readable and response.size else None


def _headers(response: Response) -> Iterator[tuple[str, str]]:
    for name, kept in _HEADERS.items():
        if value := response.header(name):
            yield name, kept(value)
    if response.status == _OVER_A_LIMIT:
        yield from ((name, PRESENT) for name in limit_headers(response))


def limit_headers(response: Response) -> list[str]:
    """The headers that say how many requests are permitted."""
    return [name for name in _OF_A_LIMIT if response.header(name)]
