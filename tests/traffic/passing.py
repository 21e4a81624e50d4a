"""Passing trouble: an answer such as 503 says nothing of an endpoint, and what else the run saw of it does."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from environments.door.authorization import VALID
from environments.door.client import NOTHING, Client, synthetic
from spec.answers import is_refusal, puts_off
from spec.exchange import Exchange
from spec.interface import MARK, operations

_ABOUT_THE_CALLER = (401, 403)
_ABOUT_THE_SIZE = (413, 414, 415, 431)
_MOST_COMPARED = 3
_NOT_READY = (500, 502, 503, 504)


def is_passing(exchange: Exchange) -> bool:
    """Whether the answer, or that there is none, may be another one in a minute."""
    response = exchange.response
    return response is None or response.status in _NOT_READY or puts_off(response)


def granted(exchanges: Collection[Exchange]) -> Exchange | None:
    """The first that was granted, with JSON: it shows its endpoint by effect."""
    for seen in exchanges:
        if seen.response is not None and not is_refusal(seen.response) and seen.response.json.readable:
            return seen
    return None


def comparable(exchanges: Collection[Exchange]) -> Iterator[Exchange]:
    """Refusals of plain requests that can be sent to a path beside the documented one, one for each status."""
    found: dict[int, Exchange] = {}
    for seen in exchanges:
        status = seen.response.status if seen.response else 0
        caller = status in (*_ABOUT_THE_CALLER, *_ABOUT_THE_SIZE) or 300 <= status < 400
        if not is_passing(seen) and not caller and _is_plain(seen):
            found.setdefault(status, seen)
    yield from list(found.values())[:_MOST_COMPARED]


def _is_plain(exchange: Exchange) -> bool:
    """Whether nothing but path and body tells the request from another: no real code, no query, no other media type."""
    types = {value for name, value in exchange.request.headers if name.lower() == "content-type"}
    real_code = exchange.operation == "executePix" and not exchange.request.last_segment.startswith(MARK)
    return exchange.credential == VALID and not real_code and "?" not in exchange.request.url and types <= {_JSON}


_JSON = "application/json"


def ask_harmlessly(client: Client, operation: str, account: str) -> Exchange:
    """A request that can do nothing to anybody: for a synthetic identifier, or an empty object as body. A read is
    valid."""
    documented = operations()[operation]
    if documented.permission == "read":
        return client.send(operation, account if documented.argument else None, valid=True)
    argument = synthetic() if documented.argument else None
    return client.send(operation, argument, json=NOTHING if documented.method == "GET" else {})
