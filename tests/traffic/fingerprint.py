"""Whether two answers can be told apart, when what differs in any two answers is left out."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from spec.answers import code_of
from spec.exchange import Exchange, Response

_VARYING = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)


def indistinguishable(one: Exchange, other: Exchange) -> bool:
    """Status, media type, code and body are the same, but for the path, digits and long hex numbers."""
    if one.response is None or other.response is None:
        return False
    return _print(one, one.response) == _print(other, other.response)


def _print(exchange: Exchange, response: Response) -> tuple[Any, ...]:
    text = response.body.decode("utf-8", "replace")
    path = urlsplit(exchange.request.url).path
    for part in sorted({path, *path.split("/")}, key=len, reverse=True):
        for form in {part, unquote(part)}:
            text = text.replace(form, "·") if len(form) > 2 else text
    return response.status, response.media_type, code_of(response), _VARYING.sub("#", text)
