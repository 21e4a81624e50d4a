"""Observations of behaviour that the interface document does not show, such as the answer to an unknown code.

An observation is no verdict: the report says what the service answered, and a later run says whether that has changed.
For this the module decides

- whether an answer is lasting, that is, whether the same request would get it again in a minute. A server error, a
  rate limit or the refusal of a token that has expired is not.
- what is stored of an answer (`facts_of_answer`): status, media type, and the JSON types of its members, but no value.
- whether two answers are the same (`is_answered_like`), although a time or a request id in them differs.

The modules of `tests/traffic` and `tests/conformance` ask this module.
Source: interface document, Errors 5: it shows no answer but successes.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
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
from spec.exchange import LARGE, VALID, Exchange, Response, cached_on_response, media_type_for_report
from spec.facts import Facts, facts_of, words_as_facts
from spec.key_list import VARYING
from spec.log import Log
from spec.message import Text

ObservedValues = dict[Text, list[Facts | str]]
"""The values that were observed, by situation (what was sent, in words)."""


# -- which answers last ----------------------------------------------------------------------------------------------


def final_answer(exchange: Exchange, log: Log) -> Exchange:
    """The exchange with the answer that counts: this one, or the one in which the same request was sent once more.

    The run sends some requests once more, to see whether the answer stays the same. The first answer counts, unless
    only the second one is lasting. For example, the first one may be a rate limit, which lasts no minute.
    """
    repetition = log.repetition_of(exchange)
    if repetition is None or is_lasting_answer(exchange):
        return exchange
    return repetition if is_lasting_answer(repetition) else exchange


def is_lasting_answer(exchange: Exchange) -> bool:
    """True if the same request would probably get this answer again in a minute, so that the answer is worth reporting.

    A missing answer, a server error or a rate limit is temporary. If the valid token is refused, it has probably
    expired, and the answer shows nothing about the request.
    """
    if exchange.response is None or is_temporary(exchange):
        return False
    valid_token_is_refused = exchange.credential == VALID and refuses_the_token(exchange.response)
    return not valid_token_is_refused


def is_temporary(exchange: Exchange) -> bool:
    """True if the same request may get another answer in a minute: it got no answer, a server error or a rate limit."""
    return exchange.response is None or refusal_kind(exchange.response) in TEMPORARY_REFUSALS


def is_refused(exchange: Exchange) -> bool:
    """True if the service refuses the request, and would probably refuse it again.

    It refuses by a status such as 400, by an HTML page instead of JSON, or by a registration result with a false
    `Success`. A refusal because the request is too large does not count, because the observation general.sizeLimit
    reports it.
    """
    response = exchange.response
    if response is None or not is_lasting_answer(exchange):
        return False
    kind = refusal_kind(response)
    if kind is not None:
        return kind is not RefusalKind.SIZE
    has_registration_result = exchange.operation == "registerPixKey" and carries_result(exchange)
    is_declined = has_registration_result and not registered(exchange)
    return is_page(response) or is_declined


# -- what is stored of an answer -------------------------------------------------------------------------------------

_SHOWN_SCHEMES = ("Basic", "Bearer", "Digest", "DPoP", "Mutual", "Negotiate")
"""Authentication schemes that are shown. Another word in the header WWW-Authenticate may be a token."""
_HEADERS_OF_A_REFUSAL = ("Allow", "Location", "Retry-After", "WWW-Authenticate")
"""Headers that say how a request is refused."""


def facts_of_answer(exchange: Exchange) -> Facts:
    """What is stored of an answer for an observation: its status, media type and headers in words, and its JSON types.

    They are facts: pairs of a JSON pointer and a type, such as ("", "200 application/json") for the answer as a whole
    and ("/data/id", "string"). A fact has no value of the service. The exchange must have a response.
    """
    assert exchange.response is not None
    return words_as_facts(answer_without_body(exchange.response)) | _facts_in(exchange.response)


def answer_without_body(response: Response) -> str:
    """The answer without its body: `401 application/json [Allow: present; WWW-Authenticate: Bearer]`.

    Only headers that say how a request is refused are named. Their values are not shown, except for the scheme in
    WWW-Authenticate, such as Bearer.
    """
    parts = [str(response.status)]
    if response.media_type:
        parts.append(media_type_for_report(response.media_type))
    headers = []
    for name in _HEADERS_OF_A_REFUSAL:
        value = response.header(name)
        if value:
            headers.append(f"{name}: {_header_in_words(name, value)}")
    if headers:
        parts.append(f"[{'; '.join(headers)}]")
    return " ".join(parts)


@cached_on_response
def _facts_in(response: Response) -> Facts:
    """Pairs of a JSON pointer and a type, such as ("/data/id", "string"), for the body; none if it is not JSON."""
    text = response.json
    return facts_of(text.value) if text.readable else frozenset()


def _header_in_words(name: str, value: str) -> str:
    """What a report shows of a header: the scheme of WWW-Authenticate, such as Bearer, and "present" for any other one.

    The value itself is not shown, because a service may write anything there, even a token.
    """
    if name != "WWW-Authenticate":
        return "present"
    scheme_in_answer = value.split(" ")[0]
    for scheme in _SHOWN_SCHEMES:
        if scheme.casefold() == scheme_in_answer.casefold():
            return scheme
    return "another scheme"


# -- which answers are the same --------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\s\"'<>{}(),;]+")
"""A piece of a body between blanks, quotes, brackets, commas and semicolons, as in JSON, HTML and plain text."""
_HEX_DIGITS = b"0123456789abcdefABCDEF"
"""Hexadecimal digits, which identifiers and times consist of. They are removed before long bodies are compared."""
_Fingerprint = tuple[object, ...]
"""Status, media type, code, a digest of the end of a large body, and then each word of the body.

Two answers with equal fingerprints differ at most in numbers, and in the path of the request if they repeat it."""
_HEAD_OF_A_FINGERPRINT = 3
"""Elements at the start of a fingerprint that must be equal in all answers: status, media type and code."""


def is_answered_like(exchange: Exchange, *references: Exchange) -> bool:
    """True if the answer is the same as the answers of the references, except for words that vary in every answer.

    So the run recognizes, for example, an endpoint that does not exist: it answers like other paths that do not exist.
    Status, media type, code and body are compared. These differences do not count:

    - the path of the request, if the body repeats it
    - digits and long hexadecimal numbers, such as a time or a request id
    - each word in which the references differ from each other

    Of a large body the words of its start are compared one by one, and the rest as a whole. False if an answer is
    missing.
    """
    fingerprints = []
    for compared in (exchange, *references):
        if compared.response is None:
            return False
        fingerprints.append(_fingerprint_of(compared, compared.response))
    heads = {fingerprint[:_HEAD_OF_A_FINGERPRINT] for fingerprint in fingerprints}
    if len(heads) > 1:
        return False
    # The fingerprints are compared element by element, such as the third word of each body. An element may differ only
    # where the references differ from each other. If a fingerprint is shorter than the others, its missing elements are
    # None.
    for elements in zip_longest(*fingerprints):
        own_element, *reference_elements = elements
        varies_among_references = len(set(reference_elements)) > 1  # such as a request id: it differs in every answer
        if own_element not in reference_elements and not varies_among_references:
            return False
    return True


def is_answered_like_each(exchange: Exchange, others: Iterable[Exchange]) -> bool:
    """True if the answer is the same as each of these answers.

    Each is compared alone. If `is_answered_like` compared all at once, words in which the others differ would not
    count, and no word would be left of a service that writes JSON in another way each time.
    """
    return all(is_answered_like(exchange, other) for other in others)


def _fingerprint_of(exchange: Exchange, response: Response) -> _Fingerprint:
    """The fingerprint of an answer: status, media type, code and words of the body, by which answers are compared.

    `response` is the response of the exchange. The fingerprint of a short answer is stored with its exchange, because
    most answers are compared with several others. The fingerprints of long answers would take too much memory.
    """
    if response.size > _MOST_BYTES_WITH_A_STORED_FINGERPRINT:
        return _make_fingerprint(exchange, response)
    attributes = vars(exchange)  # written directly, because a frozen dataclass forbids assignments
    if "fingerprint" not in attributes:
        attributes["fingerprint"] = _make_fingerprint(exchange, response)
    stored: _Fingerprint = attributes["fingerprint"]
    return stored


_MOST_BYTES_WITH_A_STORED_FINGERPRINT = 2_000
"""Most bytes of a body whose fingerprint is stored with the exchange, so that the fingerprints of 2,000 exchanges take
a few MB. Ordinary answers have up to 1,000 bytes. The number is a choice."""


def _make_fingerprint(exchange: Exchange, response: Response) -> _Fingerprint:
    """Status, media type, code, a digest of the end of a large body, and each word of the start of the body.

    In the body each part of the path of the request is replaced by `·`, and each number by `#`. These differ between
    two answers that are otherwise the same.
    """
    text = response.start.decode("utf-8", "replace")
    for part in _parts_of_path(exchange):
        text = text.replace(part, "·")
    words = _WORD.findall(VARYING.sub("#", text))
    return response.status, response.media_type, code_of(response), _digest_of_the_rest(exchange, response), *words


def _digest_of_the_rest(exchange: Exchange, response: Response) -> bytes:
    """SHA-256 of a large body after its first LARGE bytes, without the path and without hexadecimal digits.

    Path and digits are left out because they differ between two answers that are otherwise the same. A digest takes a
    tenth of the time that comparing the words would take. Empty for a body that is not large.
    """
    if response.size <= LARGE:
        return b""
    packed_body, _ = response.stored_body_and_size  # the body as it is stored; a large one is compressed
    return _digest_without(tuple(_parts_of_path(exchange)), packed_body)


@lru_cache(maxsize=64)  # an answer is compared with several others
def _digest_without(path_parts: tuple[str, ...], packed_body: bytes) -> bytes:
    """SHA-256 of a body after its first LARGE bytes, without these parts of a path and without hexadecimal digits.

    `packed_body` is the compressed body.
    """
    rest_of_body = zlib.decompress(packed_body)[LARGE:]
    for part in path_parts:
        rest_of_body = rest_of_body.replace(part.encode(), b"")
    return sha256(rest_of_body.translate(None, _HEX_DIGITS)).digest()


_SHORTEST_PART = 3
"""Fewest characters of a path segment that is looked for in an answer. A shorter segment, such as `v1`, may be a part
of other words by chance. The number is a choice."""


def _parts_of_path(exchange: Exchange) -> list[str]:
    """The path of the request and its segments, each as it is and percent-decoded, the longest first.

    Callers replace them in the body of the answer in this order, because a short one may be part of a longer one.
    """
    path = urlsplit(exchange.request.url).path
    parts = [path, *path.split("/")]
    decoded_parts = [unquote(part) for part in parts]
    encoded_and_decoded = {*parts, *decoded_parts}
    long_parts = [part for part in encoded_and_decoded if len(part) >= _SHORTEST_PART]
    return sorted(long_parts, key=len, reverse=True)
