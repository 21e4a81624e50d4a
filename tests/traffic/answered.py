"""How a request was answered, as an observation keeps it: status, media type, a few headers and the facts of the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from reports.observations.behaviour import said
from spec.exchange import Exchange, Response, kept_beside, named_media_type
from spec.facts import Facts, facts_of

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
_TOKEN_ERROR = re.compile(r'\berror="?(invalid_request|invalid_token|insufficient_scope)\b')
PRESENT = "present"


Values = dict[str, list[Facts | str]]
"""By situation, what was seen in it."""


def by_situation(seen: Iterable[tuple[str, Facts | str]]) -> Values:
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


def answer_of(exchange: Exchange) -> Facts:
    """How the request was answered. There is an answer."""
    assert exchange.response is not None
    return said(head_of(exchange.response)) | _facts_in(exchange.response)


def head_of(response: Response) -> str:
    """The answer without its body: `401 application/json [WWW-Authenticate: Bearer]`."""
    media_type = named_media_type(response.media_type) if response.media_type else ""
    headers = "; ".join(f"{name}: {value}" for name, value in sorted(_headers(response)))
    return " ".join(filter(None, (str(response.status), media_type, headers and f"[{headers}]")))


@kept_beside
def _facts_in(response: Response) -> Facts:
    text = response.json
    return facts_of(text.value) if text.readable and response.size else frozenset()


def _headers(response: Response) -> Iterator[tuple[str, str]]:
    for name, kept in _HEADERS.items():
        if value := response.header(name):
            yield name, kept(value)
    if response.status == _OVER_A_LIMIT:
        yield from ((name, PRESENT) for name in limit_headers(response))


def limit_headers(response: Response) -> list[str]:
    """The headers that say how many requests are permitted."""
    return [name for name in _OF_A_LIMIT if response.header(name)]
