"""How a request was answered, as an observation keeps it, and which answers count as what a service does.

An answer that may be another one in a minute shows nothing, and neither does a refusal of a token that has expired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from environments.door.authorization import VALID
from reports.observations.behaviour import said
from spec.answers import PASSING, RefusalKind, data_of, is_page, refusal_kind, refuses_the_token, registered
from spec.exchange import Exchange, Response, kept_beside, named_media_type
from spec.facts import Facts, facts_of
from spec.interface import MARK
from spec.json_text import leaves_of

Values = dict[str, list[Facts | str]]
"""By situation, what was seen in it."""


def by_situation(seen: Iterable[tuple[str, Facts | str]]) -> Values:
    """What was seen in each situation, from pairs of both."""
    found: Values = {}
    for situation, value in seen:
        found.setdefault(situation, []).append(value)
    return found


# -- which answers count --------------------------------------------------------------------------------------------


def settle(seen: Exchange, exchanges: Iterable[Exchange]) -> Exchange:
    """The exchange, or one of the same request whose answer counts: what broke once was sent again."""
    if counts(seen):
        return seen
    return next((other for other in exchanges if _is_same_request(seen, other) and counts(other)), seen)


def counts(exchange: Exchange) -> bool:
    """Whether the same request gets this answer again in a minute, by all that is known."""
    response = exchange.response
    if response is None or (exchange.credential == VALID and refuses_the_token(response)):
        return False
    return refusal_kind(response) not in PASSING


def _is_same_request(one: Exchange, other: Exchange) -> bool:
    return (one.operation, one.credential, one.request.url, one.request.body, _content_type(one)) == (
        other.operation, other.credential, other.request.url, other.request.body, _content_type(other),
    )  # fmt: skip


def _content_type(exchange: Exchange) -> str:
    return next((value for name, value in exchange.request.headers if name.lower() == "content-type"), "")


def is_refused(exchange: Exchange) -> bool:
    """Whether a request is refused for what it is, and not for its size: by status, by a page for people, or by a
    registration result that declines it."""
    response = exchange.response
    if response is None or not counts(exchange):
        return False
    kind = refusal_kind(response)
    declines = (
        exchange.operation == "registerPixKey" and not registered(exchange) and "Success" in (data_of(response) or {})
    )
    return kind is not RefusalKind.SIZE and (kind is not None or is_page(response) or declines)


# -- how an answer looks ---------------------------------------------------------------------------------------------

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
_TOKEN_ERROR = re.compile(r'\berror="?(invalid_request|invalid_token|insufficient_scope)\b')
PRESENT = "present"


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


# -- which answers are alike -----------------------------------------------------------------------------------------


def answered_alike(one: Exchange, other: Exchange) -> bool:
    """Whether two requests get the same answer: status, media type, facts."""
    return answer_of(one) == answer_of(other)


def answered_in_the_same_words(one: Exchange, other: Exchange) -> bool:
    """Whether two requests get the same answer, sentences too, in any order. What may change from one answer to the
    next is no word: identifiers, numbers, texts without a blank."""
    return answered_alike(one, other) and _sentences(one) == _sentences(other)


_NO_WORD = re.compile(rf"{MARK}[^\s\"'<>,}}]*|\S*\d\S*|[\w-]{{20,}}", re.IGNORECASE)


def _sentences(exchange: Exchange) -> list[str]:
    if exchange.response is None:
        return []
    text, plain = exchange.response.json, exchange.response.body.decode("utf-8", "replace")
    texts = [item for _, item in leaves_of(text.value) if isinstance(item, str)] if text.readable else [plain]
    return sorted(_NO_WORD.sub("#", each) for each in texts if " " in each.strip())
