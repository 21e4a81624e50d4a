"""The lines of a shell by which a person sends a request of the run again.

They run in any POSIX shell. A value that may not be shown is a variable, such as `${PIX_TOKEN:?}`: the shell stops if
the variable is not set, or empty. Comments before the line say what it does, and which variables it needs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from urllib.parse import unquote, urlsplit

from environments.door.wrong_tokens import BY_NAME
from environments.profiles.model import Profile
from reports.showing.request_parts import (
    ANOTHER_TOKEN,
    TOKEN_FILE,
    Parts,
    Redacted,
    RequestParts,
    RequestSplitter,
    expressions_of_secrets,
    variable_expression,
)
from reports.showing.shell_words import commands_that_print, commands_that_require_variables, word
from reports.showing.show import Display
from spec.answers import data_of
from spec.exchange import HTTP_1_0, VALID, Exchange, Request, json_error
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, SYNTHETIC_PREFIX

EXECUTES = "# this line moves money: the run has sent the code in it, so set its variable to another one"
OFFERED = "# this line may move money: set its variable to another code, or to an executed one if the finding says so"
MAY_MOVE = "# this line may move money"
_LONGEST_BODY_IN_LINE = 4_000
"""Characters of a line that a body takes. A longer line is no help to a person who pastes it."""
_LARGEST_ARGUMENT = 100_000
"""Bytes of one argument: Linux passes 128 KiB on, other systems fewer."""
_OMITTED_HEADERS = frozenset(("user-agent", "accept", "accept-encoding", "content-length", "connection", "host"))
"""Headers that curl sends by itself."""
_CA_BUNDLE = variable_expression("ca bundle")
_CLIENT_CERT = variable_expression("client cert")
_CLIENT_KEY = variable_expression("client key")
_KEYS_OF_FILES = {
    TOKEN_FILE: "auth.token_file",
    _CA_BUNDLE: "tls.ca_bundle",
    _CLIENT_CERT: "tls.client_cert",
    _CLIENT_KEY: "tls.client_key",
}
"""Keys of the profile that name files, by the expression for the path. The path in the profile is of another machine
than the reader's."""
_DOCUMENTS = {11: "CPF", 14: "CNPJ"}
"""Tax documents by their number of characters."""
_REWRITTEN_BY_CURL = re.compile(r"[\[\]{}]|/(?:\.|%2e)", re.IGNORECASE)
"""Parts of an address that curl does not send as they are: its ranges and lists, and the segments `.` and `..`."""


class Resending:
    """Writes the lines that send a request again."""

    preparations: Mapping[str, Request]
    """Requests that prepared the codes of this run, by code. The end of the run (tests/harness/finishing.py) sets it,
    because all of them were sent by then."""

    def __init__(self, display: Display, profile: Profile) -> None:
        self.display = display
        self.splitter = RequestSplitter(display, profile)
        self.preparations = {}
        self._profile_name = profile.path.name
        self._token = expressions_of_secrets(profile)["token"]
        self._connection_options = list(_connection_options(profile))
        prepare = profile.transactions.prepare
        self._code_at = prepare.code_at if prepare else ""

    def lines(self, exchange: Exchange, parts: RequestParts) -> list[str]:
        """The line that sends the request of an exchange again, after lines that a person needs to run it.

        `parts` are those of the request. In this order, each only if it applies:

        1. a comment: the line moves money, or may move money
        2. a comment: which transfer it is about
        3. a comment: which variables to set, and where their values come from
        4. a line that makes the wrong token from the right one
        5. a comment: the status that the run got
        6. a line that prepares a transfer, and the line itself
        """
        lines_that_run = [self.curl(parts, *_options_of(exchange))]
        requests = [parts]
        variable_of_code = ""
        if exchange.operation == "executePix":
            variable_of_code = _last_variable(parts.url, lines_that_run[0])
            preparation = self._preparation_of(exchange)
            if preparation:
                parts_of_preparation = self.splitter.parts_of(preparation)
                requests.append(parts_of_preparation)
                if variable_of_code:
                    lines_that_run.insert(0, self._line_that_prepares(parts_of_preparation, variable_of_code))
        return [
            *self._money_warnings(exchange, variable_of_code),
            *self._variables_explained(exchange, "\n".join(lines_that_run), requests),
            *self._line_that_makes_wrong_token(exchange),
            f"# shows it: {exchange.response.status if exchange.response else 'no answer'}",
            *lines_that_run,
        ]

    def curl(self, parts: RequestParts, *options: str) -> str:
        """A line that sends a request again, once the variables in it are set.

        It is a comment if it cannot have the whole body.
        """
        request = parts.request
        body_size = len(request.body)
        header_names = [name.lower() for name, _ in parts.headers]
        words = [" ".join(["curl", *options, "-sS -i"]), *self._connection_options]
        if _REWRITTEN_BY_CURL.search(request.url):
            words.append("--globoff --path-as-is")
        words.append("--head" if request.method == "HEAD" else f"-X {shlex.quote(request.method)}")
        words += [_header_option(name, value) for name, value in parts.headers if name.lower() not in _OMITTED_HEADERS]
        has_body = body_size > 0 or "content-length" in header_names
        if has_body and "content-type" not in header_names:
            words.append("-H 'Content-Type:'")  # curl would send that of a form
        commands_before = ""
        has_room_for_body = _has_room_for_body(parts)
        if has_body and has_room_for_body:
            commands_before, body_option = _body_in_line(parts)
            words.append(body_option)
        words.append(word(parts.url))
        line = " ".join(words)
        if not has_room_for_body:
            return f"# not the whole request, which has a body of {body_size} bytes: {line}"
        return f"{commands_before}{line}"

    def _money_warnings(self, exchange: Exchange, variable_of_code: str) -> Iterator[str]:
        """Comments that warn a person if the line moves money, or may move money.

        `variable_of_code` is the variable of the shell for the transaction code; empty if the line has none. A comment
        says of what kind of transfer that code was, because a person has to set the variable to such a code.
        """
        if exchange.operation in PREPARING_OPERATIONS and exchange.valid:
            yield MAY_MOVE
        if exchange.operation != "executePix" or not self._has_real_code(exchange.request):
            return
        yield EXECUTES if exchange.credential == VALID else OFFERED
        transfer = _transfer_in(exchange)
        if variable_of_code and transfer:
            yield f"# {variable_of_code}: of a transfer with {transfer}"

    def _has_real_code(self, execution: Request) -> bool:
        """True if the address of an execution has a code that the suite did not make up, in any spelling.

        A known code is real even if it looks like a synthetic one.
        """
        code = execution.last_segment
        return not code.startswith(SYNTHETIC_PREFIX) or self.display.known.has(code)

    def _variables_explained(
        self, exchange: Exchange, lines_that_run: str, requests: Iterable[RequestParts]
    ) -> Iterator[str]:
        """A comment on the variables in these lines that a person has to set, and where their values come from."""
        values = [*_values_of(requests), *self._paths_of_files()]
        values_to_set = [value for value in values if value.origin and value.expression in lines_that_run]
        explanations = dict.fromkeys(f"{value.variable}: {value.origin}" for value in values_to_set)
        if explanations:
            # The placeholder stands for every wrong token. The name of the credential tells which one was sent.
            yield f"# {'; '.join(explanations)}".replace(ANOTHER_TOKEN, exchange.credential)

    def _paths_of_files(self) -> Iterator[Redacted]:
        """Paths of the files that a profile may name, with the key of the profile for each."""
        for expression, key in _KEYS_OF_FILES.items():
            yield Redacted(expression, origin=f"{self._profile_name}, {key}")

    def _line_that_makes_wrong_token(self, exchange: Exchange) -> Iterator[str]:
        """A line that makes the wrong token of an exchange from the right one, if a filter of a shell can make it."""
        form = BY_NAME.get(exchange.credential)
        if form and form.filter:
            yield f'WRONG_TOKEN=$(printf %s "{self._token}" | tr -d "[:space:]" | {form.filter})'

    def _preparation_of(self, execution: Exchange) -> Request | None:
        """The request that prepared the code of an execution; None if the run did not prepare it."""
        code_in_address = urlsplit(execution.request.url).path.rpartition("/")[2]
        for code in (code_in_address, unquote(code_in_address)):  # the address may have it percent-encoded
            if code in self.preparations:
                return self.preparations[code]
        return None

    def _line_that_prepares(self, preparation: RequestParts, variable: str) -> str:
        """A line that prepares a transfer and sets the variable to its code, unless the variable is set.

        The line finds the code by the name of its member. A code at a place without a name is left to the reader.
        """
        name = self._code_at.rpartition("/")[2]
        line = self.curl(preparation)
        if not re.fullmatch(r"[A-Za-z_][\w-]*", name):
            return f"# {variable} is at {self._code_at} of the answer to: {line}"
        # The value of the member: up to the next quote, comma or closing brace. A quote before it is optional.
        print_code = f"""sed -n 's/.*"{name}" *: *"\\{{0,1\\}}\\([^",}}]*\\).*/\\1/p' | head -n 1"""
        return f'[ "${{{variable}:-}}" ] || {variable}=$({line} | {print_code})'


# -- what the lines say --------------------------------------------------------------------------------------------


def _values_of(requests: Iterable[RequestParts]) -> Iterator[Redacted]:
    """The redacted values of these requests, in the order in which a line has them."""
    for request in requests:
        values_of_headers = chain.from_iterable(value for _, value in request.headers)
        for part in chain(request.url, values_of_headers, request.body):
            if isinstance(part, Redacted):
                yield part


def _last_variable(url: Parts, line: str) -> str:
    """Variable of the last segment of an address that is not shown; empty if there is none in the line."""
    redacted = [part for part in url if isinstance(part, Redacted) and part.expression in line]
    return redacted[-1].variable if redacted else ""


def _transfer_in(exchange: Exchange) -> str:
    """The types of the key and of the document in an answer, such as `type PHONE, document CPF`; empty if it has none.

    A masked document has as many characters as a whole one, so that their number tells its type.
    """
    data = data_of(exchange.response) or {}
    document = re.sub(r"[-./\s]", "", str(data.get("document")))
    types = {"type": data.get("type"), "document": _DOCUMENTS.get(len(document))}
    return ", ".join(f"{name} {value}" for name, value in types.items() if value in KEY_TYPES)


# -- options of curl ------------------------------------------------------------------------------------------------


def _options_of(exchange: Exchange) -> Iterator[str]:
    """Options of curl that make a deviation show again."""
    if HTTP_1_0 in exchange.spelling:
        yield "--http1.0"
    if exchange.response and json_error(exchange.response):
        yield "--compressed"  # perhaps the body is broken only if a content coding is accepted


def _connection_options(profile: Profile) -> Iterator[str]:
    """Options of curl for certificates and the proxy of a profile. Paths are variables."""
    tls = profile.tls
    if tls.ca_bundle:
        yield f'--cacert "{_CA_BUNDLE}"'
    if tls.client_cert:
        yield f'--cert "{_CLIENT_CERT}"'
    if tls.client_key:
        yield f'--key "{_CLIENT_KEY}"'
    if profile.proxy:
        yield f"--proxy {shlex.quote(profile.proxy)}"
    if tls.client_key_passphrase_env:
        yield f'--pass "{variable_expression(tls.client_key_passphrase_env)}"'


def _header_option(name: str, value: Parts) -> str:
    """Option of curl for a header. curl sends an empty one only if a semicolon stands behind its name."""
    if any(value):
        return f"-H {word([f'{name}: ', *value])}"
    return f"-H {word([f'{name};'])}"


def _has_room_for_body(parts: RequestParts) -> bool:
    """True if a line can have the whole body of the request, or the request has none."""
    return not parts.body_is_left_out and len(commands_that_print(parts.body)) <= _LONGEST_BODY_IN_LINE


def _body_in_line(parts: RequestParts) -> tuple[str, str]:
    """Commands before curl that print the body, or nothing, and the option of curl that takes the body.

    An argument of a shell holds no NUL, loses the line ends at its end, and may not be too long. Such a body is piped.
    """
    body = parts.request.body
    is_short = len(body) <= _LARGEST_ARGUMENT
    stays_as_it_is = b"\0" not in body and not body.endswith(b"\n")
    if is_short and stays_as_it_is:
        return "", f"--data-raw {word(parts.body)}"
    require_variables = commands_that_require_variables(parts.body)
    return f"{require_variables}{{ {commands_that_print(parts.body)}; }} | ", "--data-binary @-"
