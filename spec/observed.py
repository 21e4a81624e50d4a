"""Observations of behaviour that the interface document does not show, such as the answer to an unknown code.

An observation is no verdict: the report says what the service answered, and a later run whether that has changed. For
this the module tells

- whether an answer is evidence: it is if the same request would get it again in a minute. A server error, a rate limit
  or the refusal of a token that has expired is none.
- what is kept of an answer (`answer_of`): status, media type, and the places and types of its JSON, but no value.
- whether two answers are alike (`indistinguishable`), although a time or a request id in them differs.

The modules of `tests/traffic` and `tests/conformance` ask this module.
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
    TEMPORARY_REFUSALS,
    RefusalKind,
    carries_result,
    code_of,
    is_page,
    refusal_kind,
    refuses_the_token,
    registered,
)
from spec.exchange import LARGE, VALID, Exchange, Response, cached_on_response, named_media_type
from spec.facts import Facts, facts_of, words_as_facts
from spec.key_list import VARYING
from spec.log import Log
from spec.message import Text

ObservedValues = dict[Text, list[Facts | str]]
"""The values that were observed, by the situation in which they were."""


# -- which answers are evidence --------------------------------------------------------------------------------------


def final_answer(exchange: Exchange, log: Log) -> Exchange:
    """The exchange itself; or, if only the answer to the repeated request is evidence, the exchange of that request.

    The run sends some requests once more, to see whether the answer stays the same (`Exchange.repeats`).
    """
    repetition = log.repetition_of(exchange)
    if repetition is not None and not is_evidence(exchange) and is_evidence(repetition):
        return repetition
    return exchange


def is_evidence(exchange: Exchange) -> bool:
    """True if the same request would get this answer again in a minute, by all that is known.

    There must be an answer, and neither a server error nor a limit. If the valid token is refused, it has expired, and
    this says nothing about the request.
    """
    if exchange.response is None or is_temporary(exchange):
        return False
    valid_token_is_refused = exchange.credential == VALID and refuses_the_token(exchange.response)
    return not valid_token_is_refused


def is_temporary(exchange: Exchange) -> bool:
    """True if the same request may get another answer in a minute: after a server error, a limit, or no answer."""
    return exchange.response is None or refusal_kind(exchange.response) in TEMPORARY_REFUSALS


def is_refused(exchange: Exchange) -> bool:
    """True if the service refuses the request, and would do so again.

    It refuses by its status, by an HTML page in the place of JSON, or by a registration result with a false `Success`.
    A refusal for the size of the request does not count: the observation general.sizeLimit shows it.
    """
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
    """Status, media type, telling headers, and the places and types of the JSON, as facts for an observation.

    A fact (`spec/facts.py`) holds no value of the service. The exchange must have a response.
    """
    assert exchange.response is not None
    return words_as_facts(answer_without_body(exchange.response)) | _facts_in(exchange.response)


def answer_without_body(response: Response) -> str:
    """The answer without its body: `401 application/json [WWW-Authenticate: Bearer]`."""
    parts = [str(response.status)]
    if response.media_type:
        parts.append(named_media_type(response.media_type))
    values = {name: response.header(name) for name in _HEADERS_OF_A_REFUSAL}
    headers = "; ".join(f"{name}: {_header_in_words(name, value)}" for name, value in values.items() if value)
    if headers:
        parts.append(f"[{headers}]")
    return " ".join(parts)


@cached_on_response
def _facts_in(response: Response) -> Facts:
    """Places and types of the JSON body; none if it is empty or no JSON."""
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
_Fingerprint = tuple[object, ...]
"""Status, media type, code, a digest of the end of a large body, and then each word of the body, as compared.

Answers with equal fingerprints differ in nothing but numbers, and the path where they repeat it."""
_HEAD_OF_A_FINGERPRINT = 3
"""Elements at the begin of a fingerprint that must be equal in all answers: status, media type and code."""


def indistinguishable(exchange: Exchange, *references: Exchange) -> bool:
    """True if the answer is the same as those of the references, but for words that vary by themselves.

    Status, media type, code and body are compared. These do not count: the path, if the body repeats it; digits and
    long hexadecimal numbers, such as a time or a request id; and each word in which the references differ from each
    other. Of a large body the words of its start are compared, and the rest as a whole. False if an answer is missing.
    """
    exchanges = (exchange, *references)
    fingerprints = [_fingerprint_of(answered, answered.response) for answered in exchanges if answered.response]
    is_unanswered = len(fingerprints) < len(exchanges)
    heads = {fingerprint[:_HEAD_OF_A_FINGERPRINT] for fingerprint in fingerprints}
    if is_unanswered or len(heads) > 1:
        return False
    for element, *reference_elements in zip_longest(*fingerprints):
        varies_among_references = len(set(reference_elements)) > 1
        if element not in reference_elements and not varies_among_references:
            return False
    return True


def _fingerprint_of(exchange: Exchange, response: Response) -> _Fingerprint:
    """The fingerprint of an answer.

    That of a short answer is stored in the attributes of its exchange, because most answers are compared with several
    others. (An exchange is a frozen dataclass, so it cannot be assigned to.)
    """
    if response.size > _MOST_BYTES_WITH_A_STORED_FINGERPRINT:
        return _make_fingerprint(exchange, response)
    attributes = vars(exchange)
    if "fingerprint" not in attributes:
        attributes["fingerprint"] = _make_fingerprint(exchange, response)
    stored: _Fingerprint = attributes["fingerprint"]
    return stored


_MOST_BYTES_WITH_A_STORED_FINGERPRINT = 2_000
"""So that the fingerprints of the 2,000 exchanges of a run take a few MB. Ordinary answers have up to 1,000 bytes."""


def _make_fingerprint(exchange: Exchange, response: Response) -> _Fingerprint:
    """Status, media type, code, a digest of the end of a large body, and each word of the start of the body.

    The path of the request is replaced, and each number is `#`, because they differ between requests.
    """
    text = response.start.decode("utf-8", "replace")
    for part in _parts_of_path(exchange):
        text = text.replace(part, "·")
    words = _WORD.findall(VARYING.sub("#", text))
    return response.status, response.media_type, code_of(response), _digest_of_the_rest(exchange, response), *words


def _digest_of_the_rest(exchange: Exchange, response: Response) -> bytes:
    """SHA-256 of a large body after its first LARGE bytes, without the path and without hexadecimal digits.

    They are left out because numbers and the path differ between requests. A digest takes a tenth of the work that
    comparing the words would take. Empty for a body that is not large.
    """
    if response.size <= LARGE:
        return b""
    return _digest_without(tuple(_parts_of_path(exchange)), response.content[0])


@lru_cache(maxsize=64)  # an answer is compared with several others
def _digest_without(parts: tuple[str, ...], packed_body: bytes) -> bytes:
    """SHA-256 of a body after its first LARGE bytes, without these parts of a path and without hexadecimal digits."""
    rest = zlib.decompress(packed_body)[LARGE:]
    for part in parts:
        rest = rest.replace(part.encode(), b"")
    return sha256(rest.translate(None, _HEX_DIGITS)).digest()


_SHORTEST_PART = 3
"""Fewest characters of a path segment that is looked for in an answer: a shorter one, such as `v1`, stands in other
words, too."""


def _parts_of_path(exchange: Exchange) -> list[str]:
    """The path of the request and its segments, each as it is and percent-decoded, the longest first.

    The longest comes first because each is replaced in the body, and a short one may stand in a longer one.
    """
    path = urlsplit(exchange.request.url).path
    parts = [path, *path.split("/")]
    forms = {*parts, *map(unquote, parts)}
    return sorted((form for form in forms if len(form) >= _SHORTEST_PART), key=len, reverse=True)
