"""What an observation keeps of an answer, and which answers are evidence of what a service does.

The observations of `tests/traffic` and `tests/conformance` ask this module. An answer that may be another one in a
minute is no evidence, and neither is a refusal of a token that has expired.

Source: interface document, Errors 5: it shows no answer but successes.
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
from spec.facts import Facts, facts_of, words_as_facts
from spec.key_list import VARYING
from spec.log import Log
from spec.message import Text

ObservedValues = dict[Text, list[Facts | str]]
"""The values that were observed, by the situation in which they were."""


# -- which answers are evidence --------------------------------------------------------------------------------------


def answer_that_stands(exchange: Exchange, log: Log) -> Exchange:
    """The exchange, or the one with the same request that was sent once more, if only that one is evidence."""
    repetition = log.repetition_of(exchange)
    if repetition is not None and not is_evidence(exchange) and is_evidence(repetition):
        return repetition
    return exchange


def is_evidence(exchange: Exchange) -> bool:
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
    if response is None or not is_evidence(exchange):
        return False
    kind = refusal_kind(response)
    if kind is not None:
        return kind is not RefusalKind.SIZE
    is_declined = exchange.operation == "registerPixKey" and carries_result(exchange) and not registered(exchange)
    return is_page(response) or is_declined


# -- how an answer looks ---------------------------------------------------------------------------------------------

_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
"""Schemes that are shown. Any other word at that place may be a token."""
_HEADERS_OF_A_REFUSAL = ("Allow", "Location", "Retry-After", "WWW-Authenticate")
"""Headers that say how a request is refused."""


def answer_of(exchange: Exchange) -> Facts:
    """Facts of the answer, for an observation. The exchange must have a response."""
    assert exchange.response is not None
    return words_as_facts(head_of(exchange.response)) | _facts_in(exchange.response)


def head_of(response: Response) -> str:
    """The answer without its body: `401 application/json [WWW-Authenticate: Bearer]`."""
    parts = [str(response.status)]
    if response.media_type:
        parts.append(named_media_type(response.media_type))
    values = {name: response.header(name) for name in _HEADERS_OF_A_REFUSAL}
    headers = "; ".join(f"{name}: {_header_in_words(name, value)}" for name, value in values.items() if value)
    if headers:
        parts.append(f"[{headers}]")
    return " ".join(parts)


@kept_beside
def _facts_in(response: Response) -> Facts:
    """Facts of the body; none if it is empty or no JSON."""
    text = response.json
    return facts_of(text.value) if text.readable and response.size else frozenset()


def _header_in_words(name: str, value: str) -> str:
    """The scheme, for the header WWW-Authenticate; the word "present" for any other header."""
    if name != "WWW-Authenticate":
        return "present"
    scheme_in_answer = value.partition(" ")[0].casefold()
    return next((scheme for scheme in _SCHEMES if scheme.casefold() == scheme_in_answer), "another scheme")


# -- which answers are alike -----------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\s\"'<>{}(),;]+")
"""A piece of a body between blanks, quotes, brackets, commas and semicolons, as in JSON, HTML and plain text."""
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_Print = tuple[object, ...]
"""What an answer is compared by. Equal prints mean that two answers differ in nothing but the path and numbers."""
_HEAD_OF_A_PRINT = 3
"""Elements at the begin of a print that never vary: status, media type and code."""


def indistinguishable(exchange: Exchange, *references: Exchange) -> bool:
    """True if the answer cannot be told apart from those of the references.

    Status, media type, code and body are compared. What varies by itself is left out: the path, digits and long
    hexadecimal numbers, and each word in which the references differ from each other. Of a large body the words of its
    start are compared, and the rest as a whole.
    """
    prints = [_print_of(answered, answered.response) for answered in (exchange, *references) if answered.response]
    is_unanswered = len(prints) < 1 + len(references)
    if is_unanswered or len({elements[:_HEAD_OF_A_PRINT] for elements in prints}) > 1:
        return False
    for element, *reference_elements in zip_longest(*prints):
        varies = len(set(reference_elements)) > 1
        if element not in reference_elements and not varies:
            return False
    return True


def _print_of(exchange: Exchange, response: Response) -> _Print:
    """The print of an answer. That of a short answer is kept, because most answers are compared with several others.

    An exchange is frozen, so the print is written into its attributes.
    """
    if response.size > _MOST_BYTES_OF_A_KEPT_PRINT:
        return _make_print(exchange, response)
    attributes = vars(exchange)
    if "print" not in attributes:
        attributes["print"] = _make_print(exchange, response)
    kept: _Print = attributes["print"]
    return kept


_MOST_BYTES_OF_A_KEPT_PRINT = 2_000
"""So that the prints of the 2,000 exchanges of a run take a few MB. Ordinary answers have up to 1,000 bytes."""


def _make_print(exchange: Exchange, response: Response) -> _Print:
    """Status, media type, code, a digest of the end of a large body, and each word of the start of the body."""
    text = response.start.decode("utf-8", "replace")
    for part in _parts_of_path(exchange):
        text = text.replace(part, "·")
    words = _WORD.findall(VARYING.sub("#", text))
    return response.status, response.media_type, code_of(response), _digest_of_the_rest(exchange, response), *words


def _digest_of_the_rest(exchange: Exchange, response: Response) -> bytes:
    """Digest of the bytes after the start of a large body, without the path and without hexadecimal digits.

    It takes a tenth of the work that comparing the words would take. Empty for a body that is not large.
    """
    if response.size <= LARGE:
        return b""
    return _digest_without(tuple(_parts_of_path(exchange)), response.content[0])


@lru_cache(maxsize=64)  # an answer is compared with several others
def _digest_without(parts: tuple[str, ...], packed_body: bytes) -> bytes:
    """Digest of what follows the start of a body, without these parts of the path and without hexadecimal digits."""
    rest = zlib.decompress(packed_body)[LARGE:]
    for part in parts:
        rest = rest.replace(part.encode(), b"")
    return sha256(rest.translate(None, _HEX_DIGITS)).digest()


_SHORTEST_PART = 3
"""Characters of a segment that is looked for in an answer: a shorter one, such as `v1`, stands in other words too."""


def _parts_of_path(exchange: Exchange) -> list[str]:
    """The path of the request and its segments, as they stand and percent-decoded, the longest first."""
    path = urlsplit(exchange.request.url).path
    parts = [path, *path.split("/")]
    forms = {*parts, *map(unquote, parts)}
    return sorted((form for form in forms if len(form) >= _SHORTEST_PART), key=len, reverse=True)
