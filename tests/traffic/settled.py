"""Which answers count as what a service does, and which are alike.

An answer that may be another one in a minute shows nothing, and neither does a refusal of a token that has expired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from environments.door.authorization import VALID
from spec.answers import PASSING, RefusalKind, data_of, is_page, refusal_kind, refuses_the_token, registered
from spec.exchange import Exchange
from spec.interface import MARK
from spec.json_text import leaves_of
from tests.traffic.answered import answer_of


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


def answered_alike(one: Exchange, other: Exchange) -> bool:
    """Whether two requests get the same answer: status, media type, shape."""
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
