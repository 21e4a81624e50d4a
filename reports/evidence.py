"""Exchanges as evidence: dictionaries of what may be shown of them, with the line of curl that sends each again.

A line is for any POSIX shell. A known value in it is a variable that must be set, never an empty text. The content of a
personal member, and a known value in another spelling, is a variable for what was sent. Synthetic identifiers stay.
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
from reports.json_tokens import Token, is_json_like, tokens
from reports.show import CUT, SHOWN, Display, printable, shape
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
_LONGEST, _LARGEST, _LARGEST_ARGUMENT = 4_000, 150_000, 100_000
"""Characters of a line that a body takes, characters of a body that are looked at, and bytes that a shell passes on as
one argument."""
_OMITTED = frozenset(("user-agent", "accept", "accept-encoding", "content-length", "connection", "host"))
_OF_THE_PROFILE = {"account": "accounts", "key": "pix_keys", "code": ""}
"""Known values whose variable has their name, and the number of their place in the profile; with its key there. What a
code is of is said in a line of its own."""
_FILES = {
    "token": ("token file", "auth.token_file"),
    "cacert": ("ca bundle", "tls.ca_bundle"),
    "cert": ("client cert", "tls.client_cert"),
    "key": ("client key", "tls.client_key"),
}
"""Files that a profile names: the variable for the path, which is of another machine than the reader's, and the key of
the profile that has it."""
_DOCUMENTS = {11: "CPF", 14: "CNPJ"}
"""Tax documents by their number of characters."""
_WRONG = "<another token>"
_SEGMENT = re.compile(r"([/?&=;#]+)")
_SCHEME = re.compile(r"\A((?:bearer|token|dpop|oauth|basic|digest|negotiate|ntlm|apikey)(?: +|\Z)|)", re.IGNORECASE)
"""The scheme at the start of a header, or nothing."""
_PUBLIC = {
    _SCHEME.split(value)[2]
    for value in (*INVALID_CREDENTIALS.values(), *(form.scheme for form in FORMS if not form.make))
}
"""Credentials that are made of no token; nothing is one, too."""
_REWRITTEN = re.compile(r"[\[\]{}]|/(?:\.|%2e)", re.IGNORECASE)
"""Parts of an address that curl reads as more than their characters."""
_PERSONAL_PAIR = re.compile(rf"\b(?:{'|'.join(map(folded, personal_fields()))})\b[\"'\]]?\s?[:=>]", re.IGNORECASE)
"""A personal member within a body that is no JSON, such as a form."""
_SPECIAL = re.compile(
    r"(?P<repeated>[A-Za-z0-9[\]])(?P=repeated){199,}"
    r"|(?P<unit>[!-&(-,.-~][ -&(-~]{1,11}?)(?P=unit){199,}"
    r"|[^ -~]+.?|'",
    re.DOTALL,
)
"""Long runs of one character or of a few, such as `{"a":`; what is no ASCII, and one more, as a shell drops a line end
at the end of an output."""
_TELLS_NOTHING = re.compile(r"-?\d{0,3}|-?\d+[eE][+-]?\d+|-?\d{21,}|-?[A-Za-z]+")
"""Words of a body that name nobody: NaN and the like, and numbers that are too short or too long for an account, a tax
document or a telephone."""


def outline(exchange: Exchange) -> Evidence:
    """One exchange without its content: all of it may be shown."""
    operation, response, failure = operations().get(exchange.operation), exchange.response, exchange.failure
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
    shown |= {"response": {"status": response.status, "cut": response.cut, **content}} if response else {}
    return shown | ({"kind": failure.kind.value} if failure else {})


def evidence(exchange: Exchange, resending: Resending) -> Evidence:
    """One exchange in the same shape with its content, as far as it may be shown, and the lines that send it again."""
    response, failure, display = exchange.response, exchange.failure, resending.display
    shown, sent = outline(exchange), resending.sent(exchange.request)
    curl = "\n".join(_reproduced(exchange, resending, sent))
    shown |= {"operation": exchange.operation or UNDOCUMENTED, "curl": curl}
    headers = [[printable(name), shown_parts(value)] for name, value in sent.headers]
    shown["request"] |= {"url": shown_parts(sent.url), "headers": headers, "body": shown_parts(sent.body)}
    if response:
        media_type = response.header("Content-Type")
        body = display.body(response.start, media_type, size=response.size)
        shown["response"] |= {"headers": display.headers(response.headers[:50]), "body": body}
    if failure:
        shown["failure"] = display.foreign(f"{failure.kind.value}: {failure.message}")
    return shown


def _reproduced(exchange: Exchange, resending: Resending, sent: Sent) -> Iterator[str]:
    """The line that sends the request. Before it a comment where the line moves money, or may, one that says which
    transfer it was, one that says where variables come from, and what makes a wrong token of the right one, where a
    shell can."""
    options = ["--http1.0"] if HTTP_1_0 in exchange.written else []
    if exchange.response and json_error(exchange.response):  # perhaps only where a coding is accepted
        options.append("--compressed")
    line = resending.curl(sent, *options)
    preparation = resending.preparation_of(exchange) if exchange.operation == "executePix" else None
    in_the_address = [part.expression for part in sent.url if isinstance(part, _Redacted) and part.expression in line]
    if exchange.operation == "executePix" and resending.has_real_code(exchange.request):
        yield EXECUTES if exchange.credential == VALID else OFFERED
        if in_the_address and (transfer := _transfer_in(exchange)):
            yield f"# {in_the_address[-1][2:-3]}: of a transfer with {transfer}"
    elif exchange.operation in PREPARING and exchange.valid:
        yield MAY_MOVE
    lines = [line]
    requests_in_lines = [sent]
    if preparation:
        sent_before = resending.sent(preparation)
        requests_in_lines.append(sent_before)
        if in_the_address:
            variable_of_the_code = in_the_address[-1][2:-3]
            lines.insert(0, resending.prepares(sent_before, variable_of_the_code))
    asked = resending.asked("\n".join(lines), *requests_in_lines)
    if told := dict.fromkeys(f"{part.expression[2:-3]}: {part.origin}" for part in asked):
        yield f"# {'; '.join(told)}".replace(_WRONG, exchange.credential)
    if (form := BY_NAME.get(exchange.credential)) and form.filter:
        yield f'WRONG_TOKEN=$(printf %s "{resending.token}" | tr -d "[:space:]" | {form.filter})'
    yield f"# shows it: {exchange.response.status if exchange.response else 'no answer'}"
    yield from lines


def _transfer_in(exchange: Exchange) -> str:
    """The type of the key and the form of the document in an answer, as far as it tells: a mask hides its places."""
    data = data_of(exchange.response) or {}
    told = {
        "type": data.get("type"),
        "document": _DOCUMENTS.get(len(re.sub(r"[-./\s]", "", str(data.get("document"))))),
    }
    return ", ".join(f"{name} {value}" for name, value in told.items() if value in KEY_TYPES)


# -- requests taken apart ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Redacted:
    """A value that is not shown: what stands for it in a shell, between double quotes, and elsewhere. `origin`: where a
    person finds it, or what it looks like."""

    expression: str
    shown: str = ""
    origin: str = ""


Part = str | _Redacted
Parts = list[Part]
"""Texts as they were sent, and values that are not shown."""


@dataclass(frozen=True)
class Sent:
    """A request in parts. `is_whole`: a line can have all of its body."""

    request: Request
    url: Parts
    headers: list[tuple[str, Parts]]
    body: Parts
    is_whole: bool


class Resending:
    """Takes requests apart by what is known, and says how a person sends them again."""

    def __init__(self, display: Display, profile: Profile) -> None:
        self.display, self._profile = display, profile.path.name
        self._filled_in = texts_filled_in(profile)
        self._headers = {header.name.lower(): header.text for header in profile.headers if header.text}
        auth, tls = profile.auth, profile.tls
        file, phrase = auth.token_file, tls.client_key_passphrase_env
        self.preparations: Mapping[str, Request] = {}  # what prepared the codes that the run prepared, by code
        self._files = {_variable(name): key for name, key in _FILES.values()}
        token_file, _ = _FILES["token"]
        self.token = f'$(cat "{_variable(token_file)}")' if file else _variable(auth.token_env or "PIX_TOKEN")
        self._named = {"token": self.token} | {
            f"header {each.name}": _variable(each.env) for each in profile.headers if each.env
        }
        files = {"cacert": tls.ca_bundle, "cert": tls.client_cert, "key": tls.client_key}
        self._options = [f'--{option} "{_variable(_FILES[option][0])}"' for option, path in files.items() if path]
        self._options += [f"--proxy {shlex.quote(profile.proxy)}"] if profile.proxy else []
        self._code_at = profile.transactions.prepare.code_at if profile.transactions.prepare else ""
        self._options += [f'--pass "{_variable(phrase)}"'] if phrase else []

    def sent(self, request: Request) -> Sent:
        """The request."""
        url = [part for piece in _SEGMENT.split(request.url) for part in self._parts(piece, "path")]
        headers = [(name, self._header(name, value)) for name, value in request.headers]
        text, known = request.body.decode("utf-8", "surrogateescape"), self.display.known
        if len(text) > _LARGEST or (not is_json_like(text) and (known.has(text) or _PERSONAL_PAIR.search(text))):
            return Sent(request, url, headers, [_Redacted("", f"… ({len(request.body)}{CUT}")], is_whole=False)
        times: Counter[str] = Counter()
        body = [part for token in tokens(text) for part in self._token(token, times)]
        return Sent(request, url, headers, body, is_whole=len(_piped(body)) <= _LONGEST)

    def has_real_code(self, request: Request) -> bool:
        """True if the address of an execution has a code that the suite did not make up, however it is written. One
        that is known may look like a synthetic one."""
        code = request.last_segment
        return not code.startswith(MARK) or self.display.known.has(code)

    def asked(self, line: str, *sent: Sent) -> Iterator[_Redacted]:
        """What a person has to set before the line: values of these requests, and files that the profile names."""
        for each in sent:
            for part in chain(each.url, *(value for _, value in each.headers), each.body):
                if isinstance(part, _Redacted) and part.origin and part.expression in line:
                    yield part
        for expression, key in self._files.items():
            if expression in line:
                yield _Redacted(expression, origin=f"{self._profile}, {key}")

    def preparation_of(self, execution: Exchange) -> Request | None:
        """The request that prepared the code of an execution, if the run prepared it."""
        code = urlsplit(execution.request.url).path.rpartition("/")[2]
        return self.preparations.get(code) or self.preparations.get(unquote(code))

    def prepares(self, preparation: Sent, variable: str) -> str:
        """A line that prepares a transfer and sets the variable to its code, unless somebody has set it."""
        name, line = self._code_at.rpartition("/")[2], self.curl(preparation)
        if not re.fullmatch(r"[A-Za-z_][\w-]*", name):
            return f"# {variable} is at {self._code_at} of the answer to: {line}"
        found = f"""sed -n 's/.*"{name}" *: *"\\{{0,1\\}}\\([^",}}]*\\).*/\\1/p' | head -n 1"""
        return f'[ "${{{variable}:-}}" ] || {variable}=$({line} | {found})'

    def curl(self, sent: Sent, *options: str) -> str:
        """A line that sends a request again, once the variables in it are set. One that cannot be whole is a
        comment."""
        request, size = sent.request, len(sent.request.body)
        names, pipe = [name.lower() for name, _ in sent.headers], ""
        words = [" ".join(["curl", *options, "-sS -i"]), *self._options]
        words += ["--globoff --path-as-is"] * bool(_REWRITTEN.search(request.url))
        words += ["--head" if request.method == "HEAD" else f"-X {shlex.quote(request.method)}"]
        for name, value in sent.headers:
            if name.lower() not in _OMITTED:
                words.append(f"-H {word([f'{name}: ', *value] if any(value) else [f'{name};'])}")
        if size or "content-length" in names:
            words += ["-H 'Content-Type:'"] * ("content-type" not in names)
            # An argument of a shell holds no NUL, loses the line ends at its end, and may not be too long.
            is_argument = size <= _LARGEST_ARGUMENT and b"\0" not in request.body and not request.body.endswith(b"\n")
            pipe = "" if is_argument else f"{_required(sent.body)}{{ {_piped(sent.body)}; }} | "
            body = f"--data-raw {word(sent.body)}" if is_argument else "--data-binary @-"
            words += [body] * sent.is_whole
        line = f"{pipe}{' '.join([*words, word(sent.url)])}" if sent.is_whole else " ".join([*words, word(sent.url)])
        return line if sent.is_whole else f"# not the whole request, which has a body of {size} bytes: {line}"

    def _value(self, placeholder: str) -> _Redacted:
        """The variable and the placeholder of a known value."""
        name, known = placeholder.strip("<>"), self.display.known
        key = known.origins.get(placeholder, _OF_THE_PROFILE.get(name.partition(" ")[0]))
        if name in self._named:
            return _Redacted(self._named[name], placeholder)
        if key is None:
            return _Redacted(_variable(f"sent {name}"), placeholder, placeholder)
        origin = key and self._origin(key, known.plain[placeholder])
        return _Redacted(_variable(name), placeholder, origin)

    def _origin(self, key: str, text: str) -> str:
        """The key of the profile that has a value, and the form of the value, in one line."""
        return " ".join(f"{self._profile}, {key}, {shape(text)}".split())

    def _parts(self, text: str, name: str) -> Parts:
        """A text with the known values in it; all of it is one value where one is written otherwise."""
        known, plain = self.display.known, unquote(text)
        whole = known.whole(text)
        pieces = ["", whole, ""] if whole else known.split(text)
        as_known = "".join(known.plain[piece] if at % 2 else piece for at, piece in enumerate(pieces))
        if as_known != text or (plain != text and known.has(plain)):
            return [_as_sent(name, text)]
        return [self._value(piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece]

    def _header(self, name: str, value: str) -> Parts:
        if name.lower() != "authorization":
            is_of_the_profile = value == self._headers.get(name.lower())
            shown = self.display.known.whole_in_request(value) if is_of_the_profile else ""
            return [self._value(shown)] if shown else self._parts(value, name)
        _, scheme, credential = _SCHEME.split(value)
        if credential.strip() in _PUBLIC:
            return [value] if value else []
        shown = self.display.known.whole(credential)
        if shown.strip("<>") in self._named and self.display.known.plain[shown] == credential:
            return [scheme, self._value(shown)]
        return [scheme, _Redacted(_variable("wrong token"), _WRONG, _WRONG)]

    def _token(self, token: Token, times: Counter[str]) -> Iterator[Part]:
        """A piece of a body. A second value of a member has a variable with a number."""
        if token.kind in ("sign", "blank"):  # most of a body, and nothing of it needs to be looked up
            yield token.text
            return
        known, content, quote = self.display.known, token.content, '"' * (token.kind == "text")
        is_value = token.kind in ("text", "word") and token.text not in ("true", "false", "null")
        whole = known.whole_in_request(content) if is_value else known.whole(content)
        key = known.origins.get(whole, "") or (self._key_filled_in(content) if is_value else "")
        if whole and token.text == f"{quote}{known.plain[whole]}{quote}":
            yield from (quote, self._value(whole), quote)
        elif not (key or _is_masked(token) or known.has(content)):
            yield token.text
        else:
            name = token.member[:40] if is_name(token.member) else "member"
            times[name] += 1
            value = _as_sent(f"{name} {times[name]}" if times[name] > 1 else name, token.text.strip('"'))
            if key:
                value = replace(value, origin=self._origin(key, token.text.strip('"')))
            yield from (quote, value, quote)

    def _key_filled_in(self, content: str) -> str:
        """The key of the profile with the text of which this one was made; empty if there is none."""
        return next((key for pattern, key in self._filled_in.items() if pattern.fullmatch(content)), "")


def _variable(name: str) -> str:
    """A variable that must be set and not empty."""
    return f"${{{re.sub('[^A-Z0-9]+', '_', name.upper()).strip('_')}:?}}"


def _as_sent(name: str, text: str) -> _Redacted:
    return _Redacted(_variable(f"sent {name}"), shape(text), " ".join(shape(text).split()))


def _is_masked(token: Token) -> bool:
    """True for what a personal member holds, unless it is made up, or says nothing."""
    if token.kind == "name" or token.text in ("true", "false", "null") or not token.is_personal:
        return False
    if token.kind == "word" and _TELLS_NOTHING.fullmatch(token.text):
        return False
    return not token.content.startswith(MARK) and shape(token.content) != token.content


def shown_parts(parts: Iterable[Part]) -> str:
    """The parts for people, the first 4,000 characters of them."""
    text = printable("".join(part.shown if isinstance(part, _Redacted) else part for part in parts))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text.encode())}{CUT}"


# -- quoting --------------------------------------------------------------------------------------------------------


def word(parts: Iterable[Part]) -> str:
    """One word of a line."""
    in_turn = groupby(parts, key=lambda part: f'"{part.expression}"' if isinstance(part, _Redacted) else "")
    quoted = (redacted or f"'{_SPECIAL.sub(_special, ''.join(map(str, group)))}'" for redacted, group in in_turn)
    return "".join(quoted) or "''"


def _special(match: re.Match[str]) -> str:
    """What single quotes cannot hold, or not in one short line, in a word."""
    return "'\"'\"'" if match[0] == "'" else f"'\"$({_made(match)})\"'"


def _made(match: re.Match[str]) -> str:
    """A command that prints such a piece."""
    piece, repeated, unit = match[0], match["repeated"], match["unit"]
    if repeated:
        return f"head -c {len(piece)} /dev/zero | tr '\\000' '{repeated}'"
    if unit:
        return f"yes {shlex.quote(unit)} | head -n {len(piece) // len(unit)} | tr -d '\\n'"
    octal = "".join(f"\\{byte:03o}" for byte in piece.encode("utf-8", "surrogateescape"))
    return f"printf '{octal}'"


def _piped(parts: Iterable[Part]) -> str:
    """Commands that print the parts one after the other, whatever bytes they hold."""
    commands = []
    for redacted, group in groupby(parts, key=lambda part: part.expression if isinstance(part, _Redacted) else ""):
        if redacted:
            commands.append(f'printf %s "{redacted}"')
            continue
        text, end = "".join(map(str, group)), 0
        for match in _SPECIAL.finditer(text):
            commands += _printed(text[end : match.start()])
            commands.append(_made(match))
            end = match.end()
        commands += _printed(text[end:])
    return "; ".join(commands)


def _required(parts: Iterable[Part]) -> str:
    """What stops a line before its pipe if a variable is missing: curl would send the rest of the body otherwise."""
    names = dict.fromkeys(part.expression for part in parts if isinstance(part, _Redacted))
    return "".join(f': "{name}" && ' for name in names)


def _printed(text: str) -> list[str]:
    return [f"printf %s {shlex.quote(text)}"] if text else []
