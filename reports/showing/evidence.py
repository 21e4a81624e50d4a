"""Exchanges as evidence: dictionaries of what may be shown of them, with the line of curl that sends each again.

The report, the page and conformance.json are made from evidence alone. A line is for any POSIX shell:

- A known value, such as the token, is a variable in it. The shell stops if the variable is not set, or empty.
- So is the value of a personal member, and a known value in another spelling.
- Synthetic identifiers stay as they were sent.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.door.wrong_tokens import BY_NAME, FORMS, INVALID_CREDENTIALS
from environments.profiles.model import Profile
from environments.secret_values import texts_filled_in
from reports.showing.json_tokens import Token, is_json_like, tokens
from reports.showing.show import CUT, SHOWN, Display, printable, shape
from spec.answers import data_of
from spec.exchange import HTTP_1_0, VALID, Exchange, Request, json_error
from spec.facts import is_name
from spec.interface import KEY_TYPES, MARK, PREPARING, operations, personal_fields
from spec.json_text import folded

Evidence = dict[str, Any]
"""An exchange as `outline` and `evidence` give it."""
UNDOCUMENTED = "(an undocumented path)"
EXECUTES = "# this line moves money: the run has sent the code in it, so set its variable to another one"
OFFERED = "# this line may move money: set its variable to another code, or to an executed one if the finding says so"
MAY_MOVE = "# this line may move money"
_LONGEST_BODY_IN_LINE = 4_000
"""Characters of a line that a body takes. A longer line is no help to a person who pastes it."""
_LARGEST_BODY = 150_000
"""Characters of a body that is taken apart. Of a larger one only its size is shown, so that it costs little."""
_LARGEST_ARGUMENT = 100_000
"""Bytes of one argument: Linux passes 128 KiB on, other systems fewer."""
_MOST_HEADERS = 50
"""Headers of a response that are looked at. A service may send thousands."""
_OMITTED_HEADERS = frozenset(("user-agent", "accept", "accept-encoding", "content-length", "connection", "host"))
"""Headers that curl sends by itself."""
_PROFILE_KEYS = {"account": "accounts", "key": "pix_keys", "code": ""}
"""Known values that have a number in the profile, by their name: the key of the profile that lists them. A code has
none, because a line of its own says which transfer it is of."""
_FILES = {
    "token": ("token file", "auth.token_file"),
    "cacert": ("ca bundle", "tls.ca_bundle"),
    "cert": ("client cert", "tls.client_cert"),
    "key": ("client key", "tls.client_key"),
}
"""Files that a profile names: the variable for the path, and the key of the profile. The path in the profile is of
another machine than the reader's."""
_DOCUMENTS = {11: "CPF", 14: "CNPJ"}
"""Tax documents by their number of characters."""
_WRONG = "<another token>"
_SEPARATORS = re.compile(r"([/?&=;#]+)")
"""What stands between the segments of a path, and between names and values of a query."""
_SCHEME = re.compile(r"\A((?:bearer|token|dpop|oauth|basic|digest|negotiate|ntlm|apikey)(?: +|\Z)|)", re.IGNORECASE)
"""The scheme at the start of an Authorization header, or nothing."""
_PUBLIC_CREDENTIALS = {
    _SCHEME.split(value)[2]
    for value in (*INVALID_CREDENTIALS.values(), *(form.scheme for form in FORMS if not form.make))
}
"""Credentials that are not made from the token, and may be shown. The empty one is among them."""
_REWRITTEN_BY_CURL = re.compile(r"[\[\]{}]|/(?:\.|%2e)", re.IGNORECASE)
"""Parts of an address that curl does not send as they are: its ranges and lists, and the segments `.` and `..`."""
_PERSONAL_PAIR = re.compile(rf"\b(?:{'|'.join(map(folded, personal_fields()))})\b[\"'\]]?\s?[:=>]", re.IGNORECASE)
"""A personal member within a body that is no JSON, such as a form."""
_SPECIAL = re.compile(
    r"(?P<repeated>[A-Za-z0-9[\]])(?P=repeated){199,}"
    r"|(?P<unit>[!-&(-,.-~][ -&(-~]{1,11}?)(?P=unit){199,}"
    r"|[^ -~]+.?|'",
    re.DOTALL,
)
"""Pieces of a text that single quotes cannot hold, or not in a short line: 200 times the same character, 200 times the
same few characters such as `{"a":`, characters that are no printable ASCII, and a single quote. After the third stands
one character more, because a shell drops a line end at the end of an output."""
_NAMES_NOBODY = re.compile(r"-?\d{0,3}|-?\d+[eE][+-]?\d+|-?\d{21,}|-?[A-Za-z]+")
"""Words of a body that name nobody: NaN and the like, and numbers that are too short or too long for an account, a tax
document or a telephone."""


def outline(exchange: Exchange) -> Evidence:
    """One exchange without its content: number, operation, purpose, time, method, status. All of it may be shown."""
    operation = operations().get(exchange.operation)
    content = {"headers": [], "body": ""}
    shown: Evidence = {
        "number": exchange.number,
        "operation": exchange.operation,
        "credential": exchange.credential,
        "started": exchange.started,
        "beside": exchange.beside,
        "part": exchange.part,
        "purpose": exchange.purpose.value if exchange.purpose else "",
        "elapsed_ms": round(exchange.elapsed_s * 1000, 1),
        "request": {"method": exchange.request.method, "url": operation.path if operation else "", **content},
        "curl": "",
    }
    if exchange.response:
        shown["response"] = {"status": exchange.response.status, "cut": exchange.response.cut, **content}
    if exchange.failure:
        shown["kind"] = exchange.failure.kind.value
    return shown


def evidence(exchange: Exchange, resending: Resending) -> Evidence:
    """One exchange in the shape of `outline` with its content, as far as it may be shown, and the lines that send it
    again."""
    display = resending.display
    shown = outline(exchange)
    request = resending.parts_of(exchange.request)
    shown["operation"] = exchange.operation or UNDOCUMENTED
    shown["curl"] = "\n".join(_lines_that_resend(exchange, request, resending))
    headers = [[printable(name), shown_parts(value)] for name, value in request.headers]
    shown["request"] |= {"url": shown_parts(request.url), "headers": headers, "body": shown_parts(request.body)}
    if response := exchange.response:
        media_type = response.header("Content-Type")
        body = display.body(response.start, media_type, size=response.size)
        shown["response"] |= {"headers": display.headers(response.headers[:_MOST_HEADERS]), "body": body}
    if failure := exchange.failure:
        shown["failure"] = display.foreign(f"{failure.kind.value}: {failure.message}")
    return shown


def _lines_that_resend(exchange: Exchange, request: RequestParts, resending: Resending) -> Iterator[str]:
    """The line that sends a request again, after lines that a person needs to run it.

    In this order, each only if it applies:

    1. a comment: the line moves money, or may move money
    2. a comment: which transfer it is about
    3. a comment: which variables to set, and where their values come from
    4. a line that makes the wrong token from the right one
    5. a comment: the status that the run got
    6. a line that prepares a transfer, and the line itself
    """
    line = resending.curl(request, *_options_of(exchange))
    preparation = resending.preparation_of(exchange) if exchange.operation == "executePix" else None
    variable_of_code = _last_variable(request.url, line) if exchange.operation == "executePix" else ""
    yield from _money_warnings(exchange, resending, variable_of_code)
    lines = [line]
    requests = [request]
    if preparation:
        preparing_request = resending.parts_of(preparation)
        requests.append(preparing_request)
        if variable_of_code:
            lines.insert(0, resending.line_that_prepares(preparing_request, variable_of_code))
    to_set = resending.variables_to_set("\n".join(lines), requests)
    explanations = dict.fromkeys(f"{value.variable}: {value.origin}" for value in to_set)
    if explanations:
        yield f"# {'; '.join(explanations)}".replace(_WRONG, exchange.credential)
    form = BY_NAME.get(exchange.credential)
    if form and form.filter:
        yield f'WRONG_TOKEN=$(printf %s "{resending.token}" | tr -d "[:space:]" | {form.filter})'
    yield f"# shows it: {exchange.response.status if exchange.response else 'no answer'}"
    yield from lines


def _options_of(exchange: Exchange) -> Iterator[str]:
    """Options of curl that make a deviation show again."""
    if HTTP_1_0 in exchange.written:
        yield "--http1.0"
    if exchange.response and json_error(exchange.response):
        yield "--compressed"  # perhaps the body is broken only if a content coding is accepted


def _money_warnings(exchange: Exchange, resending: Resending, variable_of_code: str) -> Iterator[str]:
    """Comments on a line that moves money, or may move money."""
    if exchange.operation in PREPARING and exchange.valid:
        yield MAY_MOVE
    if exchange.operation != "executePix" or not resending.has_real_code(exchange.request):
        return
    yield EXECUTES if exchange.credential == VALID else OFFERED
    transfer = _transfer_in(exchange)
    if variable_of_code and transfer:
        yield f"# {variable_of_code}: of a transfer with {transfer}"


def _last_variable(url: Parts, line: str) -> str:
    """Variable of the last segment of an address that is not shown; empty if there is none in the line."""
    redacted = [part for part in url if isinstance(part, _Redacted) and part.expression in line]
    return redacted[-1].variable if redacted else ""


def _transfer_in(exchange: Exchange) -> str:
    """The types of the key and of the document in an answer, such as `type PHONE, document CPF`; empty if it has none.

    A masked document has as many characters as a whole one, so that their number tells its type.
    """
    data = data_of(exchange.response) or {}
    document = re.sub(r"[-./\s]", "", str(data.get("document")))
    types = {"type": data.get("type"), "document": _DOCUMENTS.get(len(document))}
    return ", ".join(f"{name} {value}" for name, value in types.items() if value in KEY_TYPES)


# -- requests taken apart ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Redacted:
    """A value that is not shown."""

    expression: str  # stands for it in a shell, between double quotes: `${ACCOUNT:?}`
    shown: str = ""  # stands for it elsewhere: `<account>`
    origin: str = ""  # where a person finds it, or what it looks like; empty if its variable says enough

    @property
    def variable(self) -> str:
        """The variable of an expression `${VARIABLE:?}`."""
        return self.expression[2:-3]


Part = str | _Redacted
Parts = list[Part]
"""Texts as they were sent, and values that are not shown."""


@dataclass(frozen=True)
class RequestParts:
    """A request in parts."""

    request: Request
    url: Parts
    headers: list[tuple[str, Parts]]
    body: Parts
    is_whole: bool  # a line of curl can have all of its body


class Resending:
    """Takes requests apart by the values that are known, and writes the lines that send them again."""

    preparations: Mapping[str, Request]
    """Requests that prepared the codes of this run, by code. The collector sets it when they were sent."""

    def __init__(self, display: Display, profile: Profile) -> None:
        self.display = display
        self.preparations = {}
        self._profile = profile.path.name
        self._filled_in = texts_filled_in(profile)
        self._headers = {header.name.lower(): header.text for header in profile.headers if header.text}
        self._files = {_variable(name): key for name, key in _FILES.values()}
        prepare = profile.transactions.prepare
        self._code_at = prepare.code_at if prepare else ""
        token_file, _ = _FILES["token"]
        token_variable = _variable(profile.auth.token_env or "PIX_TOKEN")
        self.token = f'$(cat "{_variable(token_file)}")' if profile.auth.token_file else token_variable
        self._named = {"token": self.token}  # expressions of known values, by the name in their placeholder
        for header in profile.headers:
            if header.env:
                self._named[f"header {header.name}"] = _variable(header.env)
        self._options = list(_connection_options(profile))

    def parts_of(self, request: Request) -> RequestParts:
        """The parts of a request. A body that is too large, or holds a known value and is no JSON, is left out."""
        pieces = _SEPARATORS.split(request.url)
        url = list(chain.from_iterable(self._parts(piece, "path") for piece in pieces))
        headers = [(name, self._header(name, value)) for name, value in request.headers]
        text = request.body.decode("utf-8", "surrogateescape")
        may_not_be_shown = not is_json_like(text) and self._names_somebody(text)
        if may_not_be_shown or len(text) > _LARGEST_BODY:
            size = _Redacted("", f"… ({len(request.body)}{CUT}")
            return RequestParts(request, url, headers, [size], is_whole=False)
        times: Counter[str] = Counter()
        body = list(chain.from_iterable(self._token(token, times) for token in tokens(text)))
        return RequestParts(request, url, headers, body, is_whole=len(_piped(body)) <= _LONGEST_BODY_IN_LINE)

    def _names_somebody(self, text: str) -> bool:
        """True for a text with a known value, or with a personal member, such as `name=` in a form."""
        return self.display.known.has(text) or _PERSONAL_PAIR.search(text) is not None

    def has_real_code(self, request: Request) -> bool:
        """True if the address of an execution has a code that the suite did not make up, in any spelling.

        A known code is real even if it looks like a synthetic one.
        """
        code = request.last_segment
        return not code.startswith(MARK) or self.display.known.has(code)

    def variables_to_set(self, line: str, requests: Iterable[RequestParts]) -> Iterator[_Redacted]:
        """Values in the line that a person has to supply: those of these requests, and files that the profile names."""
        for request in requests:
            for part in chain(request.url, *(value for _, value in request.headers), request.body):
                if isinstance(part, _Redacted) and part.origin and part.expression in line:
                    yield part
        for expression, key in self._files.items():
            if expression in line:
                yield _Redacted(expression, origin=f"{self._profile}, {key}")

    def preparation_of(self, execution: Exchange) -> Request | None:
        """The request that prepared the code of an execution; None if the run did not prepare it."""
        code = urlsplit(execution.request.url).path.rpartition("/")[2]
        return self.preparations.get(code) or self.preparations.get(unquote(code))

    def line_that_prepares(self, preparation: RequestParts, variable: str) -> str:
        """A line that prepares a transfer and sets the variable to its code, unless the variable is set.

        The line finds the code by the name of its member. A code at a place without a name is left to the reader.
        """
        name = self._code_at.rpartition("/")[2]
        line = self.curl(preparation)
        if not re.fullmatch(r"[A-Za-z_][\w-]*", name):
            return f"# {variable} is at {self._code_at} of the answer to: {line}"
        print_code = f"""sed -n 's/.*"{name}" *: *"\\{{0,1\\}}\\([^",}}]*\\).*/\\1/p' | head -n 1"""
        return f'[ "${{{variable}:-}}" ] || {variable}=$({line} | {print_code})'

    def curl(self, parts: RequestParts, *options: str) -> str:
        """A line that sends a request again, once the variables in it are set.

        It is a comment if it cannot have the whole body.
        """
        request = parts.request
        size = len(request.body)
        names = [name.lower() for name, _ in parts.headers]
        words = [" ".join(["curl", *options, "-sS -i"]), *self._options]
        if _REWRITTEN_BY_CURL.search(request.url):
            words.append("--globoff --path-as-is")
        words.append("--head" if request.method == "HEAD" else f"-X {shlex.quote(request.method)}")
        words += [_header_option(name, value) for name, value in parts.headers if name.lower() not in _OMITTED_HEADERS]
        pipe = ""
        has_body = size > 0 or "content-length" in names
        if has_body and "content-type" not in names:
            words.append("-H 'Content-Type:'")  # curl would send that of a form
        if has_body and parts.is_whole:
            pipe, body_option = _body_in_line(request, parts)
            words.append(body_option)
        words.append(_word(parts.url))
        line = " ".join(words)
        if not parts.is_whole:
            return f"# not the whole request, which has a body of {size} bytes: {line}"
        return f"{pipe}{line}"

    def _value(self, placeholder: str) -> _Redacted:
        """The variable and the placeholder of a known value."""
        name = placeholder.strip("<>")
        known_values = self.display.known
        key = known_values.origins.get(placeholder, _PROFILE_KEYS.get(name.partition(" ")[0]))
        if name in self._named:
            return _Redacted(self._named[name], placeholder)
        if key is None:
            return _Redacted(_variable(f"sent {name}"), placeholder, placeholder)
        origin = self._origin(key, known_values.plain[placeholder]) if key else ""
        return _Redacted(_variable(name), placeholder, origin)

    def _origin(self, key: str, text: str) -> str:
        """The key of the profile that has a value, and the shape of the value, in one line."""
        return " ".join(f"{self._profile}, {key}, {shape(text)}".split())

    def _parts(self, text: str, name: str) -> Parts:
        """A text with a variable for each known value in it.

        If a known value is spelled in another way, the whole text is one variable, because a person has to see what to
        write there. `name` is what that variable is called.
        """
        known_values = self.display.known
        plain_text = unquote(text)
        whole = known_values.whole(text)
        pieces = ["", whole, ""] if whole else known_values.split(text)  # every second piece is a placeholder
        in_usual_spelling = "".join(known_values.plain[piece] if at % 2 else piece for at, piece in enumerate(pieces))
        is_escaped = plain_text != text and known_values.has(plain_text)
        if in_usual_spelling != text or is_escaped:
            return [_as_sent(name, text)]
        return [self._value(piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece]

    def _header(self, name: str, value: str) -> Parts:
        """The parts of the value of a header. A wrong token is one variable, however it was made."""
        known_values = self.display.known
        if name.lower() != "authorization":
            is_of_the_profile = value == self._headers.get(name.lower())
            placeholder = known_values.whole_in_request(value) if is_of_the_profile else ""
            return [self._value(placeholder)] if placeholder else self._parts(value, name)
        _, scheme, credential = _SCHEME.split(value)
        if credential.strip() in _PUBLIC_CREDENTIALS:
            return [value] if value else []
        placeholder = known_values.whole(credential)
        if placeholder.strip("<>") in self._named and known_values.plain[placeholder] == credential:
            return [scheme, self._value(placeholder)]
        return [scheme, _Redacted(_variable("wrong token"), _WRONG, _WRONG)]

    def _token(self, token: Token, times: Counter[str]) -> Iterator[Part]:
        """A piece of a body. `times` counts the variables by name, so that a second one of a name gets a number."""
        if token.kind in ("sign", "blank"):  # most of a body, and nothing of it needs to be looked up
            yield token.text
            return
        known_values = self.display.known
        content = token.content
        quote = '"' if token.kind == "text" else ""
        is_value = token.kind in ("text", "word") and token.text not in ("true", "false", "null")
        placeholder = known_values.whole_in_request(content) if is_value else known_values.whole(content)
        key = known_values.origins.get(placeholder, "")
        if is_value and not key:
            key = self._key_filled_in(content)
        is_in_usual_spelling = placeholder and token.text == f"{quote}{known_values.plain[placeholder]}{quote}"
        if is_in_usual_spelling:
            yield from (quote, self._value(placeholder), quote)
            return
        is_secret = key or _is_personal_value(token) or known_values.has(content)
        if not is_secret:
            yield token.text
            return
        name = token.member[:40] if is_name(token.member) else "member"
        times[name] += 1
        written = token.text.strip('"')
        value = _as_sent(f"{name} {times[name]}" if times[name] > 1 else name, written)
        if key:
            value = replace(value, origin=self._origin(key, written))
        yield from (quote, value, quote)

    def _key_filled_in(self, content: str) -> str:
        """The key of the profile whose text was filled in, which gave this content; empty if there is none."""
        return next((key for pattern, key in self._filled_in.items() if pattern.fullmatch(content)), "")


def _connection_options(profile: Profile) -> Iterator[str]:
    """Options of curl for certificates and the proxy of a profile. Paths are variables."""
    files = {"cacert": profile.tls.ca_bundle, "cert": profile.tls.client_cert, "key": profile.tls.client_key}
    for option, path in files.items():
        if path:
            yield f'--{option} "{_variable(_FILES[option][0])}"'
    if profile.proxy:
        yield f"--proxy {shlex.quote(profile.proxy)}"
    if profile.tls.client_key_passphrase_env:
        yield f'--pass "{_variable(profile.tls.client_key_passphrase_env)}"'


def _header_option(name: str, value: Parts) -> str:
    """Option of curl for a header. curl sends an empty one only if a semicolon stands behind its name."""
    return f"-H {_word([f'{name}: ', *value] if any(value) else [f'{name};'])}"


def _body_in_line(request: Request, parts: RequestParts) -> tuple[str, str]:
    """Commands before curl that print the body, or nothing, and the option of curl that takes the body.

    An argument of a shell holds no NUL, loses the line ends at its end, and may not be too long. Such a body is piped.
    """
    is_argument = (
        len(request.body) <= _LARGEST_ARGUMENT and b"\0" not in request.body and not request.body.endswith(b"\n")
    )
    if is_argument:
        return "", f"--data-raw {_word(parts.body)}"
    return f"{_required(parts.body)}{{ {_piped(parts.body)}; }} | ", "--data-binary @-"


def _variable(name: str) -> str:
    """Expression of a variable: the shell stops if it is not set, or empty."""
    return f"${{{re.sub('[^A-Z0-9]+', '_', name.upper()).strip('_')}:?}}"


def _as_sent(name: str, text: str) -> _Redacted:
    """A text that is not shown but as its shape, with a variable `SENT_…` for what was sent."""
    return _Redacted(
        expression=_variable(f"sent {name}"),
        shown=shape(text),
        origin=" ".join(shape(text).split()),  # in one line, for the comment before the line
    )


def _is_personal_value(token: Token) -> bool:
    """True for the value of a personal member, unless the suite made it up, or it names nobody."""
    if token.kind == "name" or token.text in ("true", "false", "null") or not token.is_personal:
        return False
    if token.kind == "word" and _NAMES_NOBODY.fullmatch(token.text):
        return False
    return not token.content.startswith(MARK) and shape(token.content) != token.content


def shown_parts(parts: Iterable[Part]) -> str:
    """The first 4,000 characters of the parts, for people."""
    text = printable("".join(part.shown if isinstance(part, _Redacted) else part for part in parts))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text.encode())}{CUT}"


# -- quoting --------------------------------------------------------------------------------------------------------


def _word(parts: Iterable[Part]) -> str:
    """One word of a line. Texts stand in single quotes, and expressions in double quotes."""
    quoted = ""
    for expression, text in _expressions_and_texts(parts):
        quoted += f'"{expression}"' if expression else f"'{_SPECIAL.sub(_special_in_word, text)}'"
    return quoted or "''"


def _expressions_and_texts(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    """The parts in turn: an expression, or a text as long as it goes, with the other one empty."""
    for expression, group in groupby(parts, key=lambda part: part.expression if isinstance(part, _Redacted) else ""):
        yield expression, "" if expression else "".join(map(str, group))


def _special_in_word(match: re.Match[str]) -> str:
    """A special piece within single quotes: they are closed before it, and opened again behind it."""
    return "'\"'\"'" if match[0] == "'" else f"'\"$({_command_that_prints(match)})\"'"


def _command_that_prints(match: re.Match[str]) -> str:
    """A command that prints a special piece."""
    piece = match[0]
    repeated = match["repeated"]
    unit = match["unit"]
    if repeated:
        return f"head -c {len(piece)} /dev/zero | tr '\\000' '{repeated}'"
    if unit:
        return f"yes {shlex.quote(unit)} | head -n {len(piece) // len(unit)} | tr -d '\\n'"
    octal = "".join(f"\\{byte:03o}" for byte in piece.encode("utf-8", "surrogateescape"))
    return f"printf '{octal}'"


def _piped(parts: Iterable[Part]) -> str:
    """Commands that print the parts one after the other, whatever bytes they hold."""
    commands = []
    for expression, text in _expressions_and_texts(parts):
        if expression:
            commands.append(f'printf %s "{expression}"')
        printed = 0  # characters of the text that the commands print so far
        for match in _SPECIAL.finditer(text):
            commands += _commands_for_plain(text[printed : match.start()])
            commands.append(_command_that_prints(match))
            printed = match.end()
        commands += _commands_for_plain(text[printed:])
    return "; ".join(commands)


def _required(parts: Iterable[Part]) -> str:
    """Commands that stop a line before its pipe if a variable is missing. curl would send the rest of the body.

    The command `:` only expands its argument, which fails for a missing variable.
    """
    expressions = dict.fromkeys(part.expression for part in parts if isinstance(part, _Redacted))
    return "".join(f': "{expression}" && ' for expression in expressions)


def _commands_for_plain(text: str) -> list[str]:
    """A command that prints a text without special pieces; none for an empty text."""
    return [f"printf %s {shlex.quote(text)}"] if text else []
