"""Rules of robustness, which are the suite's own policy: the interface document is silent about them.

No request ends in a server error, a stack trace or a dropped connection. A deviation counts if it was seen
twice; the class `Reproduction` in `reproduction.py` decides that.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable

from spec.answers import NOT_SUPPORTED, RefusalKind, answer_in_words, refusal_kind
from spec.exchange import Exchange, FailureKind, Response, cached_on_response
from spec.findings import Finding, finding
from spec.json_text import leaves_of, pointer
from spec.message import Message, say
from spec.rules.table import InconclusiveError, rule

ROBUSTNESS = ("serverError", "stackTrace", "connection")
"""The last parts of the ids of the robustness requirements, such as `executePix.serverError`. Every operation has these
requirements, and each exchange with the operation is judged for them."""


def robustness_of(operation: str) -> list[str]:
    """Ids of the robustness requirements of an operation, such as `executePix.serverError`.

    The list is empty for an undocumented path, whose operation is the empty text.
    """
    if operation == "":
        return []
    return [f"{operation}.{end_of_id}" for end_of_id in ROBUSTNESS]


_CODES_OF_FAILURES = {FailureKind.DROPPED: "dropped", FailureKind.NOT_HTTP: "not-http"}
"""Failures without a response that the service alone can cause, each with the code of the finding."""


@rule("*.serverError")
def no_server_error(exchange: Exchange) -> Finding | None:
    """No request to {operation} ends in a server error."""
    response = _response_in(exchange)
    # 501 and 505 are right answers to a request that is written in an unusual way, such as with an unknown transfer
    # coding or version of HTTP (RFC 9112 section 6.1, RFC 9110 section 15.6.6).
    is_written_unusually = bool(exchange.spelling)  # `spelling` names the unusual ways; it is empty for the usual one
    if is_written_unusually and response.status in NOT_SUPPORTED:
        return None
    if refusal_kind(response) in (RefusalKind.SERVER_ERROR, RefusalKind.NOT_IMPLEMENTED):
        return finding("server-error", request=request_in_words(exchange), status=response.status)
    return None


@rule("*.stackTrace")
def no_stack_trace(exchange: Exchange) -> Finding | None:
    """No response of {operation} contains a stack trace or a debug page."""
    response = _response_in(exchange)
    if not _shows_a_trace(response):
        return None
    return finding("stack-trace", *_pointers_to_traces(response), request=request_in_words(exchange))


@rule("*.connection")
def no_dropped_connection(exchange: Exchange) -> Finding | None:
    """No request to {operation} ends in a connection that is dropped without a response."""
    failure = exchange.failure
    # A service may close a connection that was kept open for further requests at any time (RFC 9112 section 9.5).
    if failure and not failure.on_reused_connection:
        code = _CODES_OF_FAILURES.get(failure.kind)
        if code:
            return finding(code, request=request_in_words(exchange))
    _response_in(exchange)  # raises InconclusiveError if there is no response for another reason, such as a time-out
    return None


_FEWEST_TIMEOUTS = 2
"""Fewest time-outs after which an operation is reported as never answered. A single one may come from the network."""


def never_answered(operation: str, exchanges: Iterable[Exchange]) -> list[Exchange]:
    """All requests to an operation, if the service never answers this operation; else an empty list.

    It never answers if all requests timed out and another operation was answered after the first of them. At least two
    requests are needed, and one of them must have been sent alone, because a service may be slow under load. For
    executions the list is empty: an execution without an answer has an unknown outcome, which is reported apart.
    """
    exchanges = list(exchanges)
    requests = [exchange for exchange in exchanges if exchange.operation == operation]
    all_timed_out = all(_timed_out(exchange) for exchange in requests)
    if operation == "executePix" or len(requests) < _FEWEST_TIMEOUTS or not all_timed_out:
        return []
    first_end = min(exchange.started + exchange.elapsed_s for exchange in requests)
    answered_exchanges = [exchange for exchange in exchanges if exchange.response]
    service_still_answers = any(exchange.started >= first_end for exchange in answered_exchanges)
    one_was_alone = any(exchange.was_alone for exchange in requests)
    if service_still_answers and one_was_alone:
        return requests
    return []


def _timed_out(exchange: Exchange) -> bool:
    """True if the request got no answer in time."""
    return exchange.failure is not None and exchange.failure.kind is FailureKind.TIMEOUT


def _pointers_to_traces(response: Response) -> list[str]:
    """JSON pointers to the strings of a body that have a stack trace, for a report to mark them.

    If the body is no JSON, the only pointer is the empty one, which leads to the whole body.
    """
    pointers = []
    for path, value in leaves_of(response.json.value):  # values that hold no other value, with their paths
        if isinstance(value, str) and _has_a_trace(value):
            pointers.append(pointer(*path))
    return pointers or [""]


def _response_in(exchange: Exchange) -> Response:
    """The response. Raises InconclusiveError if there is none, because a rule about responses cannot judge then."""
    if exchange.response is None:
        raise InconclusiveError(say("no answer: {answer}", answer=answer_in_words(exchange)))
    return exchange.response


def request_in_words(exchange: Exchange) -> Message:
    """Validity and method of the request, in words for a finding: `an invalid request (POST)`."""
    validity = say("a valid request") if exchange.expects_success else say("an invalid request")
    return say("{request} ({method})", request=validity, method=exchange.request.method)


# -- stack traces -------------------------------------------------------------------------------------------------
# Each is known by its structure: words such as `exception` alone are in right messages, and in what a service echoes.
# Every repetition is bounded, so that no body makes the search slow.

_SPACE = r"[ \t\xa0]*"
"""Blanks before a frame. Pages of HTML have no-break spaces there."""
_TRACES = (
    # Python
    r"Traceback {1,2}\(most recent call last\)|File [\"'][^\"'\n]{1,300}[\"'], line \d+, in ",
    # Java and related languages: a frame, with `at` or as Tomcat shows it
    rf"^{_SPACE}(?:at )?[\w.$/@<>-]{{1,300}}\([\w$.-]{{1,100}}\.(?:java|kt|scala|clj|groovy):\d+\)",
    rf"^{_SPACE}at [\w.$/@<>-]{{1,300}}\((?:Native Method|Unknown Source)\)",
    r"\bjava\.lang\.\w{1,100}(?:Exception|Error)\b",
    # .NET
    r"\bat [\w.$]{1,300} in .{1,300}:line \d+",
    rf"^{_SPACE}at \w{{1,100}}(?:\.[\w`<>$+]{{1,100}}){{1,30}}(?:\[[^\]\n]{{0,200}}\])?\([^()\n]{{0,300}}\)"
    r"(?: in .{1,300}:line \d+)?\r?$",
    r"An unhandled exception occurred (?:while processing the request|during the execution of the current)"
    r"|Server Error in '[^'\n]{0,100}' Application",
    # JavaScript
    rf"^{_SPACE}at (?:.{{1,300}} )?\(?(?:file://)?[\w/.:\\@-]{{1,300}}\.[cm]?[jt]sx?:\d+:\d+\)?",
    rf"^{_SPACE}at .{{1,300}} \((?:<anonymous>|node:[\w/.]{{1,100}}:\d+:\d+)\)",
    # PHP
    r"\b(?:Fatal error|Parse error|Warning|Notice|Deprecated): .{1,500} in \S{1,300}\.php(?: on line |:)\d+",
    r"Fatal error: {1,2}Uncaught|Stack trace:\s{0,9}#0 ",
    r"\"file\" ?: ?\"[^\"\n]{1,300}\.php\", ?\"line\" ?: ?\d+",
    r"\"exception_class\" ?: ?\"[\w\\]{1,300}\"|class=\"trace trace-as-html\"",
    # Ruby
    r"\.rb:\d+:in [`'\u2018]|Action Controller: Exception caught",
    # Go, Rust, Elixir, Perl
    r"goroutine \d+ \[running\]|runtime error: (?:invalid memory address|index out of range|slice bounds)",
    r"panicked at |rust_begin_unwind",
    r"\(\w{1,100} \d+\.[\w.-]{1,50}\) lib/[\w/]{1,200}\.ex:\d+:|Plug\.Debugger| at \S{1,300}\.p[lm] line \d+\.",
    # Pages
    r"Werkzeug Debugger|Whitelabel Error Page|"
    r"seeing this error because you have (?:DEBUG = True|enabled the show_exceptions)",
)
"""Regular expressions for a line of a stack trace, or for a text that only a debug page has, by language."""
_TRACE = re.compile("|".join(_TRACES), re.MULTILINE)
"""Any of these expressions."""
_TEXTS_IN_TRACES = (
    "(", "at ", ", line ", "Error", "Fatal", "runtime", "seeing", "race", "xception", "java.lang", ".php", ".rb:",
    "goroutine", "rust_", "ebugger",
)  # fmt: skip
"""Short texts, of which every stack trace has at least one. A search for them is a hundred times quicker than a search
for a trace, so it is done first."""
_LINE_BREAKING_TAG = re.compile(r"<(?:br|p|li|div|pre|h[1-6])\b[^<>]{0,200}>", re.IGNORECASE)
"""Tags at which a browser begins a new line, such as <br>. Each frame of a trace is on a line of its own."""
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,300}>")
"""Any other tag, which stands within a line."""
_JSON_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|[\"\\/bfnrt])")
"""An escape in a JSON string, such as a backslash with n."""


@cached_on_response
def _shows_a_trace(response: Response) -> bool:
    """True if the start of the body has a stack trace or is a debug page. No more of a large body is searched."""
    return _has_a_trace(response.start.decode("utf-8", "replace"))


def _has_a_trace(text: str) -> bool:
    """True if a text has a stack trace or is a debug page.

    The text is searched in several forms: as it is, with the escapes of JSON undone, and without the tags of HTML. The
    regular expressions are slow, so only a form with one of the short texts in _TEXTS_IN_TRACES is searched.
    """
    forms = {text, _unescaped(text)}
    if "<" in text:  # it may be HTML
        for markup in tuple(forms):
            # Most expressions look at one line, so a tag at which a browser begins a new line becomes a line end.
            in_lines = _LINE_BREAKING_TAG.sub("\n", markup)
            without_tags = _TAG.sub("", in_lines)
            forms.add(_unescaped(without_tags))
    with_a_hint = [form for form in forms if any(hint in form for hint in _TEXTS_IN_TRACES)]
    return any(_TRACE.search(form) for form in with_a_hint)


def _unescaped(text: str) -> str:
    """The text with the escapes of JSON and HTML undone: `\\n` becomes a line end, and `&lt;` becomes `<`."""

    def unescaped_character(escape: re.Match[str]) -> str:
        """The character that an escape of JSON stands for. It is read as a JSON string of its own."""
        return str(json.loads(f'"{escape[0]}"'))

    # Escape by escape, because the text as a whole may be no JSON.
    without_json_escapes = _JSON_ESCAPE.sub(unescaped_character, text)
    return html.unescape(without_json_escapes)
