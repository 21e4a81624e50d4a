"""What one answer says as a whole: a refusal of some kind, a success, or a result that only a valid token may get.

The rules, judgements of several exchanges, recorded traffic and the door (which sends the requests) ask this module. A
rule about one field of an answer is in `spec/rules/`; what several exchanges show together is in `tests/traffic/`.

Source: interface document, Endpoints, general rule 3, and Errors. The document shows no refusal. So the suite reads
these as refusals: any status but 2xx, and a 200 whose envelope has an integer code other than 0 and no sign of success.

| function | true for |
|---|---|
| `is_granted` | any answer that is no refusal, also to an invalid request |
| `succeeded` | the same, but only if the request was valid |
| `is_fulfilled` | the same as `succeeded`, but not a registration that was declined with `Success: "false"` |
| `registered` | a registration whose answer has `Success: "true"`, also if the request was invalid |
| `carries_result` | an answer with the documented result, also a registration result with `Success: "false"` |
| `grants_protected_result` | an answer that only a valid token may get: an execution result, or `Success: "true"` |
| `is_judged_as_success` | `succeeded` or `carries_result`: the rules on successful answers judge these exchanges |

| word | meaning |
|---|---|
| envelope | the JSON object of an answer, with the members `code` and `data` |
| result | the object under `data`: an execution result, or a key registration result |
| grant | to answer with a result that the document promises to the valid token alone |
| member | a name and its value in a JSON object; it is filled if its value is not null, empty or 0 |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from itertools import islice
from json import JSONDecoder
from typing import Any
from urllib.parse import urlsplit

from spec.exchange import (
    VALID,
    Exchange,
    FailureKind,
    Response,
    cached_on_response,
    computed_before_large_json_is_dropped,
    json_error,
    media_type_for_report,
)
from spec.interface import operations
from spec.json_text import JsonObject, folded, is_integer, texts_in
from spec.message import Message, joined, message_of, say

# -- the parts of an answer ------------------------------------------------------------------------------------------


def member_named(members: Mapping[str, Any], name: str) -> tuple[str, Any] | None:
    """The member of a JSON object with that name, or with a misspelling of it: (name in the answer, value).

    For `accountType` it may be ("account_type", 1). None if there is no such member. A misspelled member is found, too:
    one rule reports its spelling, and the other rules still judge its value.
    """
    if name in members:
        return name, members[name]
    if not isinstance(members, JsonObject):  # only objects that were read from JSON find misspelled names
        return None
    name_in_answer = members.by_folded_name.get(folded(name))
    if name_in_answer is None:
        return None
    return name_in_answer, members[name_in_answer]


def value_named(members: Mapping[str, Any], name: str) -> Any:
    """The value of the member of a JSON object with that name, or with a misspelling of it; None if there is none."""
    member = member_named(members, name)
    if member is None:
        return None
    _, value = member
    return value


def envelope_of(response: Response | None) -> Mapping[str, Any]:
    """The envelope (the JSON object of an answer, with `code` and `data`); empty if the body is no JSON object."""
    value = response.json.value if response is not None else None
    return value if isinstance(value, dict) else {}


def data_of(response: Response | None) -> Mapping[str, Any] | None:
    """The object under `data` in the envelope, or under a misspelling such as `Data`; None if there is none."""
    value = value_named(envelope_of(response), "data")
    return value if isinstance(value, dict) else None


# -- refusals --------------------------------------------------------------------------------------------------------


class RefusalKind(Enum):
    """What a refusal is about, with the HTTP statuses that say so. The first kind that has a status is its kind."""

    TOKEN = (401,)
    FORBIDDEN = (403,)
    CERTIFICATE = (495, 496)  # the client certificate; nginx sends both as a 400 with a page, which counts here, too
    REDIRECT = range(300, 400)
    LOCK = (423,)  # the caller is locked out for a while; a 403 with Retry-After counts here, too
    RATE_LIMIT = (429,)
    CONTENT = (400, 422)
    MEDIA_TYPE = (415,)
    SIZE = (413, 414, 431)
    NOT_FOUND = (404,)
    METHOD = (405,)
    CONFLICT = (409,)
    ENVELOPE = (200,)  # an integer code other than 0, and no sign of success
    GATEWAY = (502, 503, 504)  # a gateway answered instead of the service: nobody knows what the service did
    NOT_IMPLEMENTED = (501,)  # wrong here: it is for a method that a service does not know
    SERVER_ERROR = range(500, 1000)
    OTHER = range(1000)


REFUSED_FOR_NOW = frozenset((RefusalKind.LOCK, RefusalKind.RATE_LIMIT))
"""Refusals that tell the caller to come back later, whatever the request was. Nothing was done."""
TIMEOUT_STATUSES = (408, 499)
"""Statuses that say that a client or a gateway gave up: the service may go on."""
NOT_SUPPORTED = (501, 505)
"""Statuses that say that the service does not know such a way to write a request, and did nothing (RFC 9110 sections
15.6.2 and 15.6.6)."""
TEMPORARY_REFUSALS = REFUSED_FOR_NOW | {RefusalKind.GATEWAY, RefusalKind.SERVER_ERROR}
"""Temporary refusals: the same request may get another answer in a minute."""
ABOUT_THE_CALLER = frozenset((RefusalKind.TOKEN, RefusalKind.FORBIDDEN, RefusalKind.CERTIFICATE, RefusalKind.REDIRECT))
"""Refusals because of who asks: another caller may get another answer to the same request. A redirect is one of them,
because it often leads to a page to log in."""
ABOUT_THE_REQUEST = frozenset(RefusalKind) - TEMPORARY_REFUSALS - ABOUT_THE_CALLER - {RefusalKind.NOT_IMPLEMENTED}
"""Refusals because of what the request says: another request of the same caller may get another answer."""


_BEGIN_OF_A_PAGE = 2_000
"""Bytes at the start of a page in which the reason for a refusal is looked for. The number is a choice."""


@computed_before_large_json_is_dropped
@cached_on_response
def refusal_kind(response: Response) -> RefusalKind | None:
    """What the refusal is about, such as RefusalKind.TOKEN for a 401; None if the answer is no refusal.

    A 200 is a refusal, too, if its envelope has an integer code other than 0 and no sign of success. Codes that the
    profile names in `other_success_codes` count like 0.
    """
    status = response.status
    if 200 <= status < 300:
        code_says_refused = status == 200 and code_of(response) not in (None, 0, *response.other_success_codes)
        if code_says_refused and not _says_success(response):
            return RefusalKind.ENVELOPE
        return None
    # With Retry-After the caller is locked out for some minutes, such as after many wrong tokens. A 403 without this
    # header forbids the request for good.
    if status == 403 and response.header("Retry-After"):
        return RefusalKind.LOCK
    if status == 400 and b"SSL certificate" in response.start[:_BEGIN_OF_A_PAGE]:  # a page of nginx
        return RefusalKind.CERTIFICATE
    # There is at least one such kind, because OTHER has every status. The kinds before OTHER are more specific.
    kinds_with_status = [kind for kind in RefusalKind if status in kind.value]
    return kinds_with_status[0]


def is_refusal(response: Response) -> bool:
    """True if the answer refuses the request: its status is not 2xx, or it is 200 with a code that says refused."""
    return refusal_kind(response) is not None


def refusal_or_failure(exchange: Exchange) -> RefusalKind | FailureKind | None:
    """What the refusal is about; or why there is no answer, such as FailureKind.TIMEOUT.

    None if the request was answered without a refusal, or was not sent.
    """
    if exchange.response is None:
        return exchange.failure.kind if exchange.failure else None
    return refusal_kind(exchange.response)


def refuses_the_token(response: Response) -> bool:
    """True if the answer refuses the token: by status 401, or by a refusal whose envelope has the code 401."""
    says_401 = response.status == 401 or code_of(response) == 401
    return is_refusal(response) and says_401


@cached_on_response
def may_be_due_to_a_bad_token(response: Response) -> bool:
    """True if a bad token can be the cause of this answer.

    True for a refusal, and for a page to log in instead of JSON. False for a server error, a lock or a rate limit,
    because these do not depend on the token.
    """
    refusal = refusal_kind(response)
    if refusal is None:  # an answer in JSON that is no refusal accepts the token; a page may ask people to log in
        return bool(json_error(response))
    # Refusals about the request count, too: some services answer a bad token with 400 or 404 instead of 401.
    return refusal in ABOUT_THE_CALLER | ABOUT_THE_REQUEST


@cached_on_response
def is_page(response: Response) -> bool:
    """True if a 200 is an HTML page, such as one to log in, and not the JSON answer of the service."""
    if response.status != 200:
        return False
    has_type_of_a_page = response.media_type in ("text/html", "application/xhtml+xml")
    begins_with_a_tag = response.start[:200].lstrip().startswith(b"<")  # after at most 200 blanks
    looks_like_a_page = has_type_of_a_page or begins_with_a_tag
    if not looks_like_a_page:
        return False
    return bool(json_error(response))  # an answer in JSON is no page, whatever its media type says


def refusal_about_the_caller(response: Response) -> RefusalKind | None:
    """The kind of a refusal that is about who sent the request, such as a wrong token; None for any other answer.

    An HTML page with status 200 counts as a redirect, because both usually ask people to log in.
    """
    if refuses_the_token(response):
        return RefusalKind.TOKEN
    if is_page(response):
        return RefusalKind.REDIRECT
    refusal = refusal_kind(response)
    return refusal if refusal in ABOUT_THE_CALLER else None


@computed_before_large_json_is_dropped
@cached_on_response
def code_of(response: Response) -> int | None:
    """The integer under `code` in the envelope; None if there is none.

    An integer with more than 1,000 digits gives -1, because callers only ask whether it is 0 or a known code.
    """
    code = value_named(envelope_of(response), "code")
    if not is_integer(code):
        return None
    return int(code) if isinstance(code, Decimal) else -1  # any other integer is a HugeNumber


# -- redirects -------------------------------------------------------------------------------------------------------


def path_of_redirect(response: Response) -> str:
    """The path that a response redirects to; empty if it does not redirect."""
    return urlsplit(response.header("Location")).path


def adds_a_slash(exchange: Exchange) -> bool:
    """True if the answer redirects to the path of its request with a slash at its end."""
    if exchange.response is None:
        return False
    return path_of_redirect(exchange.response) == f"{urlsplit(exchange.request.url).path}/"


def target_of_redirect_in_words(exchange: Exchange) -> Message:
    """Where the answer redirects to, and what to do about it. The address itself is not named: it may name an account.

    The suite follows no redirect, because the token would go to an address that the profile does not name.
    """
    path = urlsplit(exchange.request.url).path
    if adds_a_slash(exchange):
        return say("the same path with a slash at its end, which the interface document does not have")
    if exchange.response is not None and path_of_redirect(exchange.response) == path:
        return say("the same path at another address: set base_url to that address")
    return say("another path, perhaps one to log in: the token may lack the scope")


# -- the answer in words ---------------------------------------------------------------------------------------------

_MOST_ANSWERS_NAMED = 3
"""Most distinct answers that one line of a report names. A choice."""
_LARGEST_CODE = 99_999_999
"""The largest code that is shown. A CPF has 11 digits: a number of more than eight may name somebody."""


def answer_in_words(exchange: Exchange) -> Message:
    """The answer in a few words for a report, without data of the service: `404 application/json`.

    For a 200 that is a refusal the words say why: `200 with code 3, not 0`. For another refusal they name the code in
    its envelope if it differs from the status: `400 with code 3`.
    """
    response = exchange.response
    if response is None:
        failure = exchange.failure
        if failure is None:
            return say("not sent")
        if failure.kind is FailureKind.LIMIT:
            return message_of(failure.message)  # says which limit of the suite it was
        return message_of(failure.kind.value)  # such as "TLS refused"
    code = code_of(response)
    if refusal_kind(response) is RefusalKind.ENVELOPE:
        if not code_may_be_shown(code):
            return say("{status} with a code that is not 0", status=response.status)
        return say("{status} with code {code}, not 0", status=response.status, code=str(code))
    is_refused = 400 <= response.status < 500
    code_adds_information = code is not None and code not in (0, response.status)
    if is_refused and code_adds_information and code_may_be_shown(code):
        return say("{status} with code {code}", status=response.status, code=str(code))
    if is_page(response):
        return say("{status} with a page of HTML", status=response.status)
    return say(f"{response.status} {media_type_for_report(response.media_type)}")


def code_may_be_shown(code: int | None) -> bool:
    """True if there is a code, and it has too few digits to be a tax document or a phone number of somebody."""
    return code is not None and abs(code) <= _LARGEST_CODE


def answers_in_words(exchanges: Iterable[Exchange]) -> Message:
    """The first distinct answers for a report, and the number of the others: `400 text/html, timeout, 2 more`."""
    answers = [answer_in_words(exchange) for exchange in exchanges]
    distinct = list(dict.fromkeys(answers))  # without repeats, in the order of sending
    if not distinct:
        return say("nothing was sent")
    parts = distinct[:_MOST_ANSWERS_NAMED]
    count_of_others = len(distinct) - len(parts)
    if count_of_others > 0:
        parts.append(say("{n} more", n=count_of_others))
    return message_of(joined(parts, ", "))


# -- successes -------------------------------------------------------------------------------------------------------


def is_granted(exchange: Exchange) -> bool:
    """True if the request was answered and not refused, also if the request was invalid."""
    return exchange.response is not None and not is_refusal(exchange.response)


def succeeded(exchange: Exchange) -> bool:
    """True if a valid request was answered, and the answer is no refusal.

    A request does not count as valid if the run has learned that the token had expired when it was sent.
    """
    return exchange.expects_success and is_granted(exchange)


def is_judged_as_success(exchange: Exchange) -> bool:
    """True if the rules on successful answers apply to this exchange.

    They apply if a valid request succeeded, or if an invalid request was answered with the documented result.
    """
    return succeeded(exchange) or carries_result(exchange)


def carries_result(exchange: Exchange) -> bool:
    """True if the answer has the documented result: an execution result, or a key registration result.

    A registration result counts with `Success: "false"`, too, because its other fields are as documented.
    """
    if exchange.response is None or is_refusal(exchange.response):
        return False
    if exchange.operation == "executePix":
        return grants_protected_result(exchange)
    if exchange.operation != "registerPixKey":  # the interface document shows a result for no other operation
        return False
    data = data_of(exchange.response)
    return data is not None and "Success" in data


def grants_protected_result(exchange: Exchange) -> bool:
    """True if the answer has what only a valid token may get: the result of an execution or of a registration.

    If the request had no valid token, less is enough: a part of a result, or a word of success such as DONE, even
    inside a refusal. Such an answer shows that the service did what the request asked for, or that it showed the
    transfer of another person.
    """
    response = exchange.response
    if response is None:
        return False
    is_execution = exchange.operation == "executePix"
    has_valid_token = exchange.credential == VALID
    if has_valid_token and is_refusal(response):
        return False
    if is_execution:
        return _has_an_execution_result(response) if has_valid_token else _shows_transfer_without_token(response)
    return _success_is_true(response) if has_valid_token else _says_success_true_anywhere(response)


@computed_before_large_json_is_dropped
@cached_on_response
def _has_an_execution_result(response: Response) -> bool:
    """True if any object in the body is an execution result, with more than half of its documented members."""
    return any(_is_execution_result(members) for members in _objects_inside(response.json.value))


def _says_success_true_anywhere(response: Response) -> bool:
    """True if `Success` is true in the body, or in a JSON object that the body contains as text."""
    return any(_success_is_true(answer) for answer in (response, *_answers_in_texts(response)))


@cached_on_response
def _shows_transfer_without_token(response: Response) -> bool:
    """True if an answer to a request without a valid token shows that a transfer was executed, or what it was.

    Any answer shows it with an execution result, whole or in part, or with the word DONE. An answer that is no refusal
    shows it, too, if members that only a transfer has are filled (not null, empty or 0).
    """
    says_done = any(_says_done(answer) for answer in (response, *_answers_in_texts(response)))
    if says_done or execution_results(response):
        return True
    if is_refusal(response):
        return False
    return any(_may_be_transfer_data(members) for members in _objects_inside(data_of(response)))


def _may_be_transfer_data(members: Mapping[str, Any]) -> bool:
    """True if an object under `data` may be about a transfer, because members that only a transfer has are filled.

    Two such members are enough, as in {"bank": "001", "key": "a@b.example"}. A single one may be chance, so it needs
    two other members beside it, as in {"bank": "001", "status": "OK", "id": "7"}. Without any such member an object is
    no transfer: {"status": "OK", "id": "7", "date": 1}. The members `error` and `message` do not count, because any
    refusal may have them.
    """
    filled = _filled_members(members) - _ERROR_AND_MESSAGE
    only_in_a_transfer = filled - _ALSO_IN_ERRORS  # without status, type, id and date, which errors have, too
    if len(only_in_a_transfer) >= _FEWEST_MEMBERS_OF_A_TRANSFER:
        return True
    return bool(only_in_a_transfer) and len(filled) >= _FEWEST_FILLED


def _answers_in_texts(response: Response) -> Iterator[Response]:
    """JSON objects that a body contains as text, each as a response of its own, so that it can be read like an answer.

    There are two cases. A gateway may pass on the answer of a service as a string inside its own JSON. And a faulty
    service may write a refusal and then a result, so that the body as a whole is no JSON.
    """
    texts = [text for text in texts_in(response.json.value) if "{" in text]
    if response.json.error:
        texts.append(response.start.decode("utf-8", "replace"))
    for text in texts:
        for json_object in _objects_written_in(text):
            yield Response(response.status, (), json_object.encode())


def _objects_written_in(text: str) -> Iterator[str]:
    """Each JSON object in a text, as the piece of text that it is. Objects inside other objects are not given."""
    end_of_last_object = 0
    braces = re.finditer("{", text)
    for brace in islice(braces, _MOST_BEGINS_OF_OBJECTS):  # the first braces
        start = brace.start()
        if start < end_of_last_object:  # this brace is inside the last object
            continue
        with suppress(ValueError, RecursionError):  # no JSON object begins at this brace, so the next one is tried
            _, end_of_last_object = _TOLERANT_DECODER.raw_decode(text, start)
            yield text[start:end_of_last_object]


_MOST_BEGINS_OF_OBJECTS = 100
"""Most opening braces of a text at which an object may begin. For each of them the whole text may be read, which takes
time. The number is a choice."""
_TOLERANT_DECODER = JSONDecoder(strict=False)
"""Reads JSON, and permits control characters in strings, such as the line ends that a faulty service writes."""


@cached_on_response
def may_have_unread_result(response: Response) -> bool:
    """True if the suite could not read the whole body, so that it may have an execution result that nobody has seen.

    There are four reasons:

    - the body broke off, or its content coding could not be undone
    - a limit of the suite cut the body
    - its charset is unknown
    - it begins as a JSON object that does not end, or that is nested too deep
    """
    if response.broken or response.json.why_not_read:
        return True
    has_value = response.json.value is not None  # there is one in spite of an error if only NaN or Infinity is wrong
    if not response.json.error or has_value:
        return False
    if b"\0" in response.start:  # an unknown charset, such as JSON in UTF-16
        return True
    text = response.start.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if not _BEGINS_AS_OBJECT.match(text):
        return False
    try:
        _TOLERANT_DECODER.raw_decode(text)
    except (ValueError, RecursionError):  # the object does not end, or is too deep to be read
        return True
    return False


_BEGINS_AS_OBJECT = re.compile(r'(\[\s*)?\{\s*("|$)')
"""The begin of an object, or of a list of objects. A text in braces begins otherwise, such as `{id} was not found`."""


@cached_on_response
def says_done_in_words(response: Response) -> bool:
    """True if a body that is not JSON contains the word DONE in capitals, the documented status of an execution."""
    return bool(json_error(response)) and re.search(rb"\bDONE\b", response.start) is not None


# -- registrations ---------------------------------------------------------------------------------------------------


def registered(exchange: Exchange) -> bool:
    """True if the answer says that a key was registered: `Success` is true in the result of a key registration."""
    return exchange.operation == "registerPixKey" and grants_protected_result(exchange)


def is_fulfilled(exchange: Exchange) -> bool:
    """True if the service did what a valid request asks for.

    The request succeeded, and it is no registration that was declined by a 200 with `Success: "false"`.
    """
    is_declined = exchange.operation == "registerPixKey" and says_success_false(exchange.response)
    return succeeded(exchange) and not is_declined


def says_success_false(response: Response | None) -> bool:
    """True if there is an answer with `Success: "false"` in data, by which a service declines a registration.

    Callers ask it for registrations only: the interface document does not say what it means in other answers.
    """
    return response is not None and _success_is_false(response)


@computed_before_large_json_is_dropped
@cached_on_response
def _success_is_false(response: Response) -> bool:
    """True if `Success` in data is the text "false", in any letter case, with or without blanks around it."""
    success_text = _text_of_member(data_of(response), "Success") or ""
    return success_text.strip().casefold() == "false"


def is_uncertain_registration(exchange: Exchange) -> bool:
    """True if nobody can tell from the answer to a registration whether the key is registered.

    There are two cases. The answer neither says that the key was registered nor refuses the request. Or a valid
    registration got no answer of the service, because a gateway answered or the connection was lost.
    """
    if exchange.operation != "registerPixKey":
        return False
    has_no_answer = exchange.expects_success and refusal_or_failure(exchange) in _OUTCOME_UNKNOWN
    return has_no_answer or _leaves_open_if_registered(exchange)


def _leaves_open_if_registered(registration: Exchange) -> bool:
    """True if a registration was answered without a refusal, but with neither `Success: "true"` nor "false".

    So nobody can tell whether the key is registered. An HTML page as the answer to an invalid registration counts as a
    refusal, because it may be a page to log in.
    """
    response = registration.response
    if response is None or is_refusal(response):
        return False
    if is_page(response) and not registration.expects_success:
        return False
    says_if_registered = registered(registration) or says_success_false(response)
    return not says_if_registered


_OUTCOME_UNKNOWN = {RefusalKind.GATEWAY, *FailureKind} - {FailureKind.NO_CONNECTION, FailureKind.TLS}
"""Refusals and failures after which the service may have done what the request asks for. If there was no connection, or
TLS refused it, the request never arrived."""


# -- execution results -----------------------------------------------------------------------------------------------

_XML_ELEMENT = re.compile(r"<(\w+)>([^<>]+)</\1>")
"""An element of XML that holds nothing but text: its name and the text."""


@cached_on_response
def execution_results(response: Response) -> Sequence[Mapping[str, Any]]:
    """Objects of an answer that are execution results, whole or in part. They come from JSON, texts in it, or XML.

    A refusal is searched, too, because a service may refuse a request and still have executed the transfer.
    """
    in_data = list[Mapping[str, Any]]()  # documented there, so less is enough to recognize a result than elsewhere
    anywhere = list[Mapping[str, Any]]()
    for answer in (response, *_answers_in_texts(response)):
        in_data += [members for members in _objects_inside(data_of(answer)) if _is_part_of_execution_result(members)]
        anywhere += [members for members in _objects_inside(answer.json.value) if _names_a_counterparty(members)]
    if response.json.error:  # the body may be XML: its elements are read as the members of one object
        text = response.start.decode("utf-8", "replace")
        elements = JsonObject(_XML_ELEMENT.findall(text))  # pairs of a name and a text
        if _names_a_counterparty(elements):
            anywhere.append(elements)
    return [*in_data, *anywhere]


def is_done(result: Mapping[str, Any]) -> bool:
    """True if the status of an execution result is DONE."""
    return _text_of_member(result, "status") == "DONE"


_FEWEST_FILLED = 3
"""Fewest documented members that must be filled, so that an object counts as a part of an execution result. With fewer,
it may only repeat the code that was sent. The number is a choice."""
_ERROR_AND_MESSAGE = frozenset({"error", "message"})
"""They say why something was refused. Any error has them filled, so they do not show that there was a transfer."""
_FEWEST_MEMBERS_OF_A_TRANSFER = 2
"""Fewest filled members that only a transfer has, such as key and bank, so that an answer that is no refusal counts as
the data of a transfer. One alone may be in the answer by chance. The number is a choice."""
_ALSO_IN_ERRORS = _ERROR_AND_MESSAGE | {"status", "type", "id", "date"}
"""Members that both errors and execution results have. The errors are those of Spring, of RFC 9457 and of banks."""
_ALSO_IN_OTHER_OBJECTS = _ALSO_IN_ERRORS | {"name"}
"""Members that any object may have, also one that is not about a transfer."""


def _is_part_of_execution_result(members: Mapping[str, Any]) -> bool:
    """True for an object under `data` that is part of an execution result: at least three of its members are filled.

    Filled is a member whose value is not null, empty or 0. The members `error` and `message`, which tell the reason of
    a refusal, do not count. The result is False for an object that may be an error: its status is not DONE, and it has
    no member that only a transfer has, such as `bank`.
    """
    filled = _filled_members(members) - _ERROR_AND_MESSAGE
    only_in_a_transfer = filled - _ALSO_IN_OTHER_OBJECTS  # without status, type, id, date and name
    cannot_be_an_error = bool(only_in_a_transfer) or is_done(members)
    return len(filled) >= _FEWEST_FILLED and cannot_be_an_error


def _names_a_counterparty(members: Mapping[str, Any]) -> bool:
    """True for an object with at least three members about a counterparty or an amount, such as bank and value.

    They must be filled (not null, empty or 0). Members that any object may have, such as id and status, do not count.
    """
    only_in_a_transfer = _filled_members(members) - _ALSO_IN_OTHER_OBJECTS
    return len(only_in_a_transfer) >= _FEWEST_FILLED


def _filled_members(members: Mapping[str, Any]) -> set[str]:
    """Names of the documented members of an execution result that an object has with a value (not null, empty or 0)."""
    filled = set[str]()
    for field in operations()["executePix"].result:
        value = value_named(members, field.name)
        if value not in (None, "", 0):
            filled.add(field.name)
    return filled


def _is_execution_result(members: Mapping[str, Any]) -> bool:
    """True if more than half of the documented members of an execution result are filled (not null, empty or 0)."""
    number_of_documented_members = len(operations()["executePix"].result)
    return len(_filled_members(members)) > number_of_documented_members // 2


# -- signs of success, and the objects inside an answer --------------------------------------------------------------


def _says_success(response: Response) -> bool:
    """True if the answer says that the request succeeded: its status is DONE, or its member `Success` is true."""
    return _says_done(response) or _success_is_true(response)


def _says_done(response: Response) -> bool:
    """True if the member `status` is DONE in the envelope, in data, or in an execution result anywhere in the body.

    DONE in any other object does not count, because a refusal may mention another transfer that is done.
    """
    results = [members for members in _objects_inside(response.json.value) if _is_execution_result(members)]
    data = data_of(response) or {}
    objects_with_a_status = (envelope_of(response), data, *results)
    return any(is_done(members) for members in objects_with_a_status)


@computed_before_large_json_is_dropped
@cached_on_response
def _success_is_true(response: Response) -> bool:
    """True if a registration result says that the key was registered: its member `Success` is true.

    Under `data` the name may be misspelled, such as `success`. If `data` has no such member, a `Success` in any other
    object of the body counts, too, but only if it is spelled exactly as documented.
    """
    success_text = _text_of_member(data_of(response), "Success")
    if success_text is not None:
        return _is_true(success_text)
    objects_with_success = [members for members in _objects_inside(response.json.value) if "Success" in members]
    return any(_is_true(members["Success"]) for members in objects_with_success)


def _is_true(value: object) -> bool:
    """True if the value is the boolean true, or the text "true" in any letter case, also with blanks around it."""
    return isinstance(value, str | bool) and str(value).strip().casefold() == "true"


def _text_of_member(members: Mapping[str, Any] | None, name: str) -> str | None:
    """The value of a member as text; None if there is no such member. The name in the answer may be misspelled."""
    member = member_named(members or {}, name)
    if member is None:
        return None
    _, value = member
    return str(value)


def _objects_inside(value: Any) -> Iterator[Mapping[str, Any]]:
    """The JSON value itself if it is an object, and every object inside it, the outer objects first."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects_inside(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects_inside(item)
