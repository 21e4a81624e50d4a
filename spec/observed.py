"""Answers as an observation keeps them, and the answers that count as what a service does.

An answer that may be another one in a minute shows nothing, and neither does a refusal of a token that has expired.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from hashlib import sha256
from itertools import zip_longest
from urllib.parse import unquote, urlsplit

from spec.answers import (
    PASSING,
    RefusalKind,
    carries_result,
    code_of,
    is_page,
    refusal_kind,
    refuses_the_token,
    registered,
)
from spec.exchange import LARGE, VALID, Exchange, Response, kept_beside, named_media_type
from spec.facts import Facts, facts_of, said
from spec.key_list import VARYING
from spec.log import Log
from spec.message import Text

ObservedValues = dict[Text, list[Facts | str]]
"""By situation, what was seen in it."""


# -- which answers count --------------------------------------------------------------------------------------------


def answer_that_stands(exchange: Exchange, log: Log) -> Exchange:
    """The exchange; or the one with the same request that was sent once more, if that alone counts."""
    repetition = log.repetition_of(exchange)
    if repetition is not None and not counts(exchange) and counts(repetition):
        return repetition
    return exchange


def counts(exchange: Exchange) -> bool:
    """True if the same request gets this answer again in a minute, by all that is known."""
    if exchange.response is None or is_passing(exchange):
        return False
    return exchange.credential != VALID or not refuses_the_token(exchange.response)


def is_passing(exchange: Exchange) -> bool:
    """True if the answer, or that there is none, may be another one in a minute."""
    return exchange.response is None or refusal_kind(exchange.response) in PASSING


def is_refused(exchange: Exchange) -> bool:
    """True if a request is refused for what it is, and not for its size: by status, by a page for people, or by a
    registration result that declines it."""
    response = exchange.response
    if response is None or not counts(exchange):
        return False
    kind = refusal_kind(response)
    declines = exchange.operation == "registerPixKey" and carries_result(exchange) and not registered(exchange)
    return kind is not RefusalKind.SIZE and (kind is not None or is_page(response) or declines)


# -- how an answer looks ---------------------------------------------------------------------------------------------

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
_OF_A_REFUSAL = ("Allow", "Location", "Retry-After", "WWW-Authenticate")
"""Headers that say how a request is refused."""


def answer_of(exchange: Exchange) -> Facts:
    """The answer as an observation keeps it. There is one."""
    assert exchange.response is not None
    return said(head_of(exchange.response)) | _facts_in(exchange.response)


def head_of(response: Response) -> str:
    """The answer without its body: `401 application/json [WWW-Authenticate: Bearer]`."""
    media_type = named_media_type(response.media_type) if response.media_type else ""
    headers = "; ".join(f"{name}: {_told(name, value)}" for name in _OF_A_REFUSAL if (value := response.header(name)))
    return " ".join(filter(None, (str(response.status), media_type, headers and f"[{headers}]")))


@kept_beside
def _facts_in(response: Response) -> Facts:
    text = response.json
    return facts_of(text.value) if text.readable and response.size else frozenset()


def _told(header: str, value: str) -> str:
    """The scheme of a challenge; of another header that it is there."""
    if header != "WWW-Authenticate":
        return "present"
    written = value.partition(" ")[0].casefold()
    return next((name for name in _SCHEMES if name.casefold() == written), "another scheme")


# -- which answers are alike -----------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\s\"'<>{}(),;]+")
_HEX_DIGITS = b"0123456789abcdefABCDEF"


def indistinguishable(one: Exchange, *others: Exchange) -> bool:
    """True if status, media type, code and the body are the same, but for the path, digits and long hex numbers, and
    the words in which the others differ from each other. Of a body that is large the words of its start are compared,
    and the rest as a whole."""
    prints = [_kept_print(seen, seen.response) for seen in (one, *others) if seen.response]
    if len(prints) <= len(others) or len({each[:3] for each in prints}) > 1:
        return False
    return all(first in rest or len({*rest}) > 1 for first, *rest in zip_longest(*prints))


def _kept_print(exchange: Exchange, response: Response) -> tuple[object, ...]:
    """The print of an answer. A short one is kept beside its exchange: most are compared with several others."""
    if response.size > _MOST_BYTES_OF_A_KEPT_PRINT:
        return _print(exchange, response)
    known = vars(exchange)
    if "print" not in known:
        known["print"] = _print(exchange, response)
    kept: tuple[object, ...] = known["print"]
    return kept


_MOST_BYTES_OF_A_KEPT_PRINT = 2_000
"""So that the prints of the 2,000 exchanges of a run take a few MB. Ordinary answers have up to 1,000 bytes."""


def _print(exchange: Exchange, response: Response) -> tuple[object, ...]:
    text = response.start.decode("utf-8", "replace")
    for part in _parts_of_path(exchange):
        text = text.replace(part, "·")
    rest = _digest_of_the_rest(exchange, response)
    return response.status, response.media_type, code_of(response), rest, *_WORD.findall(VARYING.sub("#", text))


def _digest_of_the_rest(exchange: Exchange, response: Response) -> bytes:
    """Digest of what follows the start of a large body, without the path and the digits of hexadecimal numbers: a tenth
    of the work that its words would be."""
    if response.size <= LARGE:
        return b""
    return _digest_without(tuple(_parts_of_path(exchange)), response.kept[0])


@lru_cache(maxsize=64)  # an answer is compared with several others
def _digest_without(parts: tuple[str, ...], packed: bytes) -> bytes:
    rest = zlib.decompress(packed)[LARGE:]
    for part in parts:
        rest = rest.replace(part.encode(), b"")
    return sha256(rest.translate(None, _HEX_DIGITS)).digest()


def _parts_of_path(exchange: Exchange) -> list[str]:
    """The path of the request and its segments as they may stand in an answer, the longest first."""
    path = urlsplit(exchange.request.url).path
    forms = {form for part in (path, *path.split("/")) for form in (part, unquote(part))}
    return sorted((form for form in forms if len(form) > 2), key=len, reverse=True)
