"""The lines of a shell by which a person sends a request of the run again.

They run in any POSIX shell. A value that may not be shown is a variable, such as `${PIX_TOKEN:?}`: the shell stops if
the variable is not set, or empty. Comments before the line say what it does, and which variables it needs.

This module decides which lines there are. `shell_words.py` quotes the texts in them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from urllib.parse import unquote, urlsplit

from environments.door.wrong_tokens import FORMS_BY_NAME
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
from reports.showing.shell_words import commands_that_print, commands_that_require_variables, shell_argument
from reports.showing.show import Display
from spec.answers import data_of
from spec.exchange import HTTP_1_0, VALID, Exchange, Request, json_error
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, SYNTHETIC_PREFIX

SHOWN_AFTER_STEPS = "# the last line shows it, because of the lines before it"
"""Comment on the lines of steps after which the last request is answered otherwise."""
PERHAPS_SHOWN_AFTER_STEPS = "# the last line may show it because of the lines before it, and does not alone"
"""The same if that was seen beside other requests, or if the steps cannot be tried again, because they move money."""
NOT_SHOWN_ALONE = "# the request alone does not show it"
"""Comment on a request whose answer depends on requests before it, or on chance."""
# First lines of the shell lines for a request that moves money, or may move money.
EXECUTES = "# this line moves money: the run has sent the code in it, so set its variable to another one"
MAY_EXECUTE = (
    "# this line may move money: set its variable to another code, or to an executed one if the finding says so"
)
MAY_MOVE = "# this line may move money"
_LONGEST_BODY_IN_LINE = 4_000
"""Most characters that the body of a request may take in a shell line. A longer line cannot be read or pasted well."""
_LARGEST_ARGUMENT = 100_000
"""Most bytes of a body that is passed as one argument of a command. Linux permits 128 KiB, other systems less."""
_HEADERS_OF_CURL = frozenset(("user-agent", "accept-encoding", "content-length", "connection", "host"))
"""Headers that the line need not have: curl sends them by itself, except Accept-Encoding, without which the
answer is not compressed."""
_ACCEPT_OF_CURL = ("accept", ["*/*"])
"""The header Accept as curl sends it by itself, with its name in small letters."""
_CA_BUNDLE = variable_expression("ca bundle")
_CLIENT_CERT = variable_expression("client cert")
_CLIENT_KEY = variable_expression("client key")
_KEYS_OF_FILES = {
    TOKEN_FILE: "auth.token_file",
    _CA_BUNDLE: "tls.ca_bundle",
    _CLIENT_CERT: "tls.client_cert",
    _CLIENT_KEY: "tls.client_key",
}
"""Keys of the profile that name files, by the shell expression for the path. The path is a variable, because the path
in the profile is a path on another machine than that of the reader."""
_DOCUMENTS = {11: "CPF", 14: "CNPJ"}
"""Tax documents by their number of characters."""
_REWRITTEN_BY_CURL = re.compile(r"[\[\]{}]|/(?:\.|%2e)", re.IGNORECASE)
"""Parts of an address that curl does not send as they are: its ranges and lists, and the segments `.` and `..`."""


class Resending:
    """Writes the lines that send a request again."""

    preparation_by_code: Mapping[str, Request]
    """By transaction code, the request that prepared it in this run. The end of the run (tests/harness/finishing.py)
    sets it, because all of them were sent by then."""
    key_changes_before: Mapping[int, Sequence[Request]]
    """By the number of a registration or deletion, the last granted registration of the same key before it, and the
    deletion that came after that, if there was one. The answer may depend on them. The end of the run sets it."""

    steps_before: Mapping[int, Sequence[Exchange]]
    """By the number of an exchange of a sequence, the exchanges before it in that sequence. The service may answer
    otherwise without them. The end of the run sets it."""
    shown_after_steps: Container[int]
    """Numbers of the exchanges that surely deviate because of the steps before them. The end of the run sets it."""
    same_without_deviation: Mapping[int, int]
    """By the number of an exchange that deviates, the number of an exchange with the same request that does not.

    The end of the run sets it."""

    def __init__(self, display: Display, profile: Profile) -> None:
        """`display` knows which values are secret. `profile` says how the run connected: TLS, proxy and token."""
        self.display = display
        self.splitter = RequestSplitter(display, profile)  # separates the secret values of a request from its texts
        self.preparation_by_code = {}
        self.key_changes_before = {}
        self.steps_before = {}
        self.same_without_deviation = {}
        self.shown_after_steps = frozenset()
        self._profile_name = profile.path.name
        self._token_in_shell = expressions_of_secrets(profile)["token"]  # such as "${PIX_TOKEN:?}"
        self._connection_options = list(_connection_options(profile))
        prepare = profile.transactions.prepare
        self._code_at = prepare.code_at if prepare else ""  # JSON pointer to the code in the answer that prepares it

    def lines(self, exchange: Exchange, parts: RequestParts) -> list[str]:
        """The shell lines by which a person sends the request of an exchange again. The last line is the curl command.

        `parts` are the parts of the request, without secret values. In this order, each only if it applies:

        1. a comment: the command moves money, or may move money
        2. a comment: which transfer the command confirms
        3. a comment: which variables to set, and where their values come from
        4. a line that makes the wrong token from the right one
        5. a comment: the status that the run got
        6. a comment: the request alone does not show it
        7. for a step of a sequence: lines that send the steps before it;
           for another registration or deletion: lines that register (and delete) the same key, as the run did before;
           for an execution: a line that prepares a transfer
        8. the curl command
        """
        steps = self._steps_that_matter(exchange)
        if steps:
            lines_that_run, requests = self._lines_of_steps(exchange, steps)
        else:
            key_changes = list(map(self.splitter.parts_of, self.key_changes_before.get(exchange.number, ())))
            lines_that_run = [_with_its_answer_thrown_away(self.curl(change)) for change in key_changes]
            requests = list(reversed(key_changes))
        variable_of_code = ""  # such as "CODE_1"
        if exchange.operation == "executePix":
            variable_of_code = _last_variable(parts.url)
            preparation = self._preparation_of(exchange)
            is_prepared_by_a_step = preparation is not None and preparation.request in [
                sent.request for sent in requests
            ]
            if preparation and variable_of_code and not is_prepared_by_a_step:
                lines_that_run.append(self._line_that_prepares(preparation, variable_of_code))
                requests.append(preparation)
        lines_that_run.append(self.curl(parts, *_options_of(exchange)))
        return [
            *self._money_warnings(exchange, variable_of_code, steps),
            *self._variables_explained(exchange, "\n".join(lines_that_run), [parts, *requests]),
            *self._line_that_makes_wrong_token(exchange),
            f"# shows it: {exchange.response.status if exchange.response else 'no answer'}",
            *self._comment_if_not_shown_alone(exchange),
            *lines_that_run,
        ]

    def _comment_if_not_shown_alone(self, exchange: Exchange) -> Iterator[str]:
        """A comment if the request alone does not show the deviation: the steps before it do, or that is unknown."""
        number = self.same_without_deviation.get(exchange.number)
        if exchange.number in self.shown_after_steps:
            yield SHOWN_AFTER_STEPS
        elif number is not None:
            comment = PERHAPS_SHOWN_AFTER_STEPS if self._steps_that_matter(exchange) else NOT_SHOWN_ALONE
            yield f"{comment}: exchange {number} sent the same, and was answered as it should be"

    def _steps_that_matter(self, exchange: Exchange) -> Sequence[Exchange]:
        """The steps before an exchange in its sequence. Empty if they probably are not the reason for the answer.

        | the exchange and its steps | result |
        |---|---|
        | the same request was never answered rightly | the steps, because they may be the reason |
        | the run sent the steps again, and they were the reason | the steps |
        | a step is an execution, which the run cannot send again because it moves money | the steps |
        | any other | empty: the same request was answered rightly, and nothing shows that the steps matter |
        """
        steps = self.steps_before.get(exchange.number, ())
        was_answered_rightly = exchange.number in self.same_without_deviation
        if not was_answered_rightly:
            return steps
        steps_are_the_reason = exchange.number in self.shown_after_steps
        has_execution = any(step.operation == "executePix" for step in steps)
        return steps if steps_are_the_reason or has_execution else ()

    def _lines_of_steps(self, last: Exchange, steps: Sequence[Exchange]) -> tuple[list[str], list[RequestParts]]:
        """The lines that send the steps before the last step of a sequence, and the requests that they send, in parts.

        If a step prepares a transfer that a later step executes, its line sets the variable of the transaction code. If
        no step prepares the transfer of an execution, a line before the execution does.
        """
        variable_by_preparation: dict[Request, str] = {}
        for step in [*steps, last]:
            preparation = self._preparation_of(step) if step.operation == "executePix" else None
            if preparation is not None:
                variable = _last_variable(self.splitter.parts_of(step.request).url)
                variable_by_preparation.setdefault(preparation.request, variable)
        lines: list[str] = []
        requests: list[RequestParts] = []
        for step in steps:
            preparation = self._preparation_of(step) if step.operation == "executePix" else None
            if preparation is not None and preparation.request not in [sent.request for sent in requests]:
                lines.append(self._line_that_prepares(preparation, variable_by_preparation[preparation.request]))
                requests.append(preparation)
            parts = self.splitter.parts_of(step.request)
            variable = variable_by_preparation.get(step.request, "")
            if variable:
                lines.append(self._line_that_prepares(parts, variable))
            else:
                lines.append(_with_its_answer_thrown_away(self.curl(parts, *_options_of(step))))
            requests.append(parts)
        return lines, requests

    def curl(self, parts: RequestParts, *options: str) -> str:
        """The curl command that sends a request again. Secret values are variables that a person sets before.

        `options` are written directly after the word `curl`. If the body is too long for a line, the command is a
        comment, so that nobody sends a request that is not the same.
        """
        request = parts.request
        body_size = len(request.body)
        header_names = [name.lower() for name, _ in parts.headers]
        words = [" ".join(["curl", *options, "-sS -i"]), *self._connection_options]
        if _REWRITTEN_BY_CURL.search(request.url):
            words.append("--globoff --path-as-is")  # make curl send the address unchanged
        # With `-X HEAD` curl would wait for a body that never comes.
        words.append("--head" if request.method == "HEAD" else f"-X {shlex.quote(request.method)}")
        for name, value in parts.headers:
            is_accept_of_curl = (name.lower(), list(value)) == _ACCEPT_OF_CURL
            if name.lower() not in _HEADERS_OF_CURL and not is_accept_of_curl:
                words.append(_header_option(name, value))
        has_body = body_size > 0 or "content-length" in header_names
        if has_body and "content-type" not in header_names:
            words.append("-H 'Content-Type:'")  # without a value, because curl would send the type of a form
        commands_before = ""
        body_fits_in_line = _body_fits_in_line(parts)
        if has_body and body_fits_in_line:
            commands_before, body_option = _commands_and_option_for_body(parts)
            words.append(body_option)
        words.append(shell_argument(parts.url))
        line = " ".join(words)
        if not body_fits_in_line:
            return f"# not the whole request, which has a body of {body_size} bytes: {line}"
        return f"{commands_before}{line}"

    def _money_warnings(
        self, exchange: Exchange, variable_of_code: str, steps: Sequence[Exchange] = ()
    ) -> Iterator[str]:
        """Comments that warn a person if the curl command, or the line of a step before it, moves money or may move it.

        `variable_of_code` is the shell variable for the transaction code; empty if the command has none. A comment says
        of what kind of transfer that code was, because a person has to set the variable to such a code.
        """
        executions_before = [
            step for step in steps if step.operation == "executePix" and self._has_real_code(step.request)
        ]
        if executions_before and exchange.operation != "executePix":
            yield EXECUTES if any(step.credential == VALID for step in executions_before) else MAY_EXECUTE
            return
        prepares_a_transfer = any(
            request.valid and request.operation in PREPARING_OPERATIONS for request in (exchange, *steps)
        )
        if (
            prepares_a_transfer and exchange.operation != "executePix"
        ):  # some services move the money already when they prepare a transfer
            yield MAY_MOVE
        if exchange.operation != "executePix" or not self._has_real_code(exchange.request):
            return
        yield EXECUTES if exchange.credential == VALID else MAY_EXECUTE  # a wrong token should not move money
        transfer = _types_of_transfer(exchange)
        if variable_of_code and transfer:
            yield f"# {variable_of_code}: of a transfer with {transfer}"

    def _has_real_code(self, execution: Request) -> bool:
        """True if the code in the address of this request may be the code of a transfer, so that money could move.

        A code that starts with `SYNTHETIC_PREFIX` was made up by the suite and confirms nothing. But a code that the
        run knows is a real one even if it starts so.
        """
        code = execution.last_segment
        is_made_up = code.startswith(SYNTHETIC_PREFIX) and not self.display.known.has(code)
        return not is_made_up

    def _variables_explained(
        self, exchange: Exchange, lines_that_run: str, requests: Iterable[RequestParts]
    ) -> Iterator[str]:
        """At most one comment: the variables that a person has to set before, and where to find their values.

        For example `# ACCOUNT: pix.yaml, accounts, 99999`. `requests` are the requests that `lines_that_run` send.
        """
        values = [*_redacted_values_of(requests), *self._variables_for_files()]
        values_to_set = [value for value in values if value.origin and value.expression in lines_that_run]
        explanations = dict.fromkeys(f"{value.variable}: {value.origin}" for value in values_to_set)
        if explanations:
            # Every wrong token has the same placeholder. The name of the credential tells which wrong token was sent.
            yield f"# {'; '.join(explanations)}".replace(ANOTHER_TOKEN, exchange.credential)

    def _variables_for_files(self) -> Iterator[Redacted]:
        """A shell variable for the path of each file that a profile may name, such as the file with a certificate.

        For example `${CLIENT_CERT:?}`, with the origin "pix.yaml, tls.client_cert": there a reader finds the path. The
        line has a variable and not the path, because the file may be at another path on the machine of the reader.
        """
        for variable_in_shell, key_of_profile in _KEYS_OF_FILES.items():
            yield Redacted(variable_in_shell, origin=f"{self._profile_name}, {key_of_profile}")

    def _line_that_makes_wrong_token(self, exchange: Exchange) -> Iterator[str]:
        """A line that sets WRONG_TOKEN to the wrong token that was sent, made from the right token.

        There is no line if the right token was sent, or if no shell filter can make the wrong one. Then a person makes
        the wrong token.
        """
        wrong_token_form = FORMS_BY_NAME.get(exchange.credential)  # such as the form "the token cut short"
        if wrong_token_form and wrong_token_form.filter:
            # A file with the token often ends with a line end, which is no part of the token. `tr` removes it.
            yield f'WRONG_TOKEN=$(printf %s "{self._token_in_shell}" | tr -d "[:space:]" | {wrong_token_form.filter})'

    def _preparation_of(self, execution: Exchange) -> RequestParts | None:
        """The request that prepared the code of an execution, in parts; None if the run did not prepare the code."""
        code_in_address = urlsplit(execution.request.url).path.rpartition("/")[2]
        for code in (code_in_address, unquote(code_in_address)):  # the address may have it percent-encoded
            if code in self.preparation_by_code:
                return self.splitter.parts_of(self.preparation_by_code[code])
        return None

    def _line_that_prepares(self, preparation: RequestParts, variable: str) -> str:
        """A line that prepares a new transfer and sets the shell variable to its code, if the variable is not set yet.

        A transaction code can confirm a transfer only once, so a person needs a new code to send the request again. The
        line finds the code in the answer by the name of its JSON member. If the code has no such name, because it is an
        array item, the line is a comment, and a person has to find the code.
        """
        member_name = self._code_at.rpartition("/")[2]  # the last part of a JSON pointer, such as /data/code
        line = self.curl(preparation)
        if not re.fullmatch(r"[A-Za-z_][\w-]*", member_name):
            return f"# {variable} is at {self._code_at} of the answer to: {line}"
        # The value of the member: up to the next quote, comma or closing brace. A quote before it is optional.
        print_code = f"""sed -n 's/.*"{member_name}" *: *"\\{{0,1\\}}\\([^",}}]*\\).*/\\1/p' | head -n 1"""
        return f'[ "${{{variable}:-}}" ] || {variable}=$({line} | {print_code})'


def _with_its_answer_thrown_away(line: str) -> str:
    """The line of a request that comes before the one that shows something: nobody has to see its answer."""
    is_comment = line.startswith("#")  # the body of the request is too long for a line
    return line if is_comment else f"{line} > /dev/null"


# -- what the lines say --------------------------------------------------------------------------------------------


def _redacted_values_of(requests: Iterable[RequestParts]) -> Iterator[Redacted]:
    """The secret values of these requests (`Redacted`), in the order in which a curl command has them."""
    for request in requests:
        values_of_headers = chain.from_iterable(value for _, value in request.headers)
        for part in chain(request.url, values_of_headers, request.body):
            if isinstance(part, Redacted):
                yield part


def _last_variable(url: Parts) -> str:
    """The last shell variable in an address; empty if the address has no variable.

    In the address of an execution it is the variable of the transaction code, because the code is at the end.
    """
    variables = [part.variable for part in url if isinstance(part, Redacted)]
    return variables[-1] if variables else ""


def _types_of_transfer(exchange: Exchange) -> str:
    """Types of the key and of the tax document in the answer to an execution: `type PHONE, document CPF`.

    Empty if the answer has none. The answer hides some characters of the document with `*`, but the number of
    characters still tells whether it is a CPF or a CNPJ.
    """
    data = data_of(exchange.response) or {}
    document = re.sub(r"[-./\s]", "", str(data.get("document")))
    types = {"type": data.get("type"), "document": _DOCUMENTS.get(len(document))}
    return ", ".join(f"{name} {value}" for name, value in types.items() if value in KEY_TYPES)


# -- options of curl ------------------------------------------------------------------------------------------------


def _options_of(exchange: Exchange) -> Iterator[str]:
    """Options of curl that the service may need in order to answer in the same way again."""
    # The spelling of an exchange names everything that is unusual in how its request was written.
    was_sent_in_http_1_0 = HTTP_1_0 in exchange.spelling
    if was_sent_in_http_1_0:
        yield "--http1.0"
    if exchange.response and json_error(exchange.response):
        yield "--compressed"  # perhaps the body is broken only if it is compressed


def _connection_options(profile: Profile) -> Iterator[str]:
    """Options of curl for the certificates and the proxy of a profile. Paths of files are shell variables."""
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
    """Option of curl for a header: `-H 'Accept-Language: pt'`.

    curl sends a header with an empty value only if it is written with a semicolon: `-H 'Accept-Language;'`.
    """
    if any(value):
        return f"-H {shell_argument([f'{name}: ', *value])}"
    return f"-H {shell_argument([f'{name};'])}"


def _body_fits_in_line(parts: RequestParts) -> bool:
    """True if a shell line can have the whole body of the request; also true if the request has no body."""
    return not parts.body_is_left_out and len(commands_that_print(parts.body)) <= _LONGEST_BODY_IN_LINE


def _commands_and_option_for_body(parts: RequestParts) -> tuple[str, str]:
    """The shell commands before curl, often none, and the option of curl, which together send the body.

    A shell argument cannot hold a NUL byte, loses line ends at its end, and may not be too long. If the body is not
    possible as an argument, commands print it and curl reads their output from a pipe.
    """
    body = parts.request.body
    is_short = len(body) <= _LARGEST_ARGUMENT
    argument_equals_body = b"\0" not in body and not body.endswith(b"\n")
    if is_short and argument_equals_body:
        return "", f"--data-raw {shell_argument(parts.body)}"
    require_variables = commands_that_require_variables(parts.body)
    return f"{require_variables}{{ {commands_that_print(parts.body)}; }} | ", "--data-binary @-"
