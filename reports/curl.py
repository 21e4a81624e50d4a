"""A request as one line for any POSIX shell: what is not shown is a variable that must be set, never an empty text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from environments.secrets import ordinal

LARGEST = 2_000
"""Characters of a body, long runs of one character apart, that a line shows."""

_OMITTED = frozenset(("user-agent", "accept", "accept-encoding", "content-length", "connection", "host"))
_GLOB = re.compile(r"[\[\]{}]")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:[/?#]|\Z)", re.IGNORECASE)
_METHOD = re.compile(r"[A-Za-z]{1,20}")
_RUN = re.compile(r"([A-Za-z0-9])\1{199,}")
_PLACE = re.compile(r"(?P<kind>.*?)(?: (?P<number>[0-9]+))?")
_LISTS = {
    "account": "accounts",
    "key": "pix_keys",
    "code": "transactions.codes",
    "identifier": "what identifies somebody in requests and transactions.prepare",
}
"""Where the values of a kind stand in the profile."""
_UNSAFE_IN_A_GUARD = re.compile(r"[^A-Za-z0-9 .,:;()/_-]")


@dataclass(frozen=True)
class Value:
    """What stands for a value that is not shown, to be put between double quotes. `plain` is the same where
    `expression` was checked before: a check within a pipe would not stop the line. `shown` stands for it where no shell
    reads."""

    expression: str
    plain: str
    shown: str = ""


Part = str | Value
"""Text as it is, or a value that is not shown."""


def variable(name: str, meaning: str) -> Value:
    """A shell variable that must be set and not empty; what it stands for is said where it is not."""
    name = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_") or "VALUE"
    return Value(f"${{{name}:?{_UNSAFE_IN_A_GUARD.sub(' ', meaning)}}}", f"${{{name}}}")


@dataclass(frozen=True)
class Shell:
    """How a person sends what the run sent. `options` are those of curl, quoted. `values` stand for what has a name of
    its own: the token, secret headers. `supplied` says how many values of a kind stand in the profile: further ones
    were prepared by the run."""

    options: tuple[str, ...] = ()
    values: Mapping[str, Value] = field(default_factory=lambda: {"token": variable("PIX_TOKEN", "the access token")})
    supplied: Mapping[str, int] = field(default_factory=dict)

    def value(self, placeholder: str, meaning: str) -> Value:
        """What stands for a placeholder; `meaning` is said of one that the profile does not explain."""
        name = placeholder.strip("<>")
        if name in self.values:
            return self.values[name]
        place = _PLACE.fullmatch(name)
        kind, number = (place["kind"], int(place["number"] or 1)) if place else (name, 1)
        if kind in _LISTS:
            return variable(name, self._entry(kind, number))
        if name.startswith("another ") or kind in ("credentials", "cookie"):
            return variable(f"WRONG {name.removeprefix('another ')}", meaning)
        return variable(f"SENT {name}", meaning)

    def _entry(self, kind: str, number: int) -> str:
        if number > self.supplied.get(kind, number):
            return f"a {kind} that the run prepared: prepare a new one"
        return f"{ordinal(number)} of {_LISTS[kind]}"


@dataclass(frozen=True)
class Line:
    """What a line sends. `body` is None where it cannot be shown, `size` its length in bytes; `left_out` says what else
    of the request cannot be shown."""

    method: str
    url: Sequence[Part]
    headers: Sequence[tuple[str, Sequence[Part]]]
    body: Sequence[Part] | None
    size: int
    left_out: str = ""


def curl_line(line: Line, shell: Shell, *, shows_headers: bool = True) -> str:
    """The line. One that cannot be complete is a comment."""
    guards: list[str] = []
    empty = not line.size and any(name.lower() == "content-length" for name, _ in line.headers)
    words = ["curl", "-sS", *["-i"] * shows_headers, *shell.options, *_method(line.method)]
    words += _headers(line, has_body=bool(line.size) or empty)
    before, body = _body(line.body, guards) if line.size and line.body is not None else ("", [])
    words += ["--data-raw", "''"] if empty else body
    command = before + " ".join([*words, *_address(line.url)])
    checks = "".join(f': "{guard}" && ' for guard in dict.fromkeys(guards))
    missing = line.left_out or (f"a body of {line.size} bytes" if line.size and line.body is None else "")
    return f"# not the whole request, which has {missing}: {checks}{command}" if missing else checks + command


def _headers(line: Line, *, has_body: bool) -> list[str]:
    """The options of the headers that were sent, and of those that curl would add by itself."""
    kept = [(name, value) for name, value in line.headers if name.strip().lower() not in _OMITTED]
    values = [word([f"{name}: ", *value] if any(value) else [f"{name};"]) for name, value in kept]
    if has_body and not any(name.lower() == "content-type" for name, _ in kept):
        values.append("'Content-Type:'")
    if line.size > 1_000:
        values.append("'Expect:'")
    return [option for value in values for option in ("-H", value)]


def word(parts: Iterable[Part]) -> str:
    """One word of a line."""
    words = (f'"{part.expression}"' if isinstance(part, Value) else _of_text(part) for part in joined(parts))
    return "".join(words) or "''"


def _of_text(text: str) -> str:
    return "".join(f'"$({_repeated(piece)})"' if _RUN.fullmatch(piece) else _quoted(piece) for piece in _split(text))


def _split(text: str) -> list[str]:
    """The text, with long runs of one character as pieces of their own."""
    pieces, last = [], 0
    for run in _RUN.finditer(text):
        pieces += [text[last : run.start()], run.group()]
        last = run.end()
    return [piece for piece in (*pieces, text[last:]) if piece]


def _repeated(piece: str) -> str:
    return f"head -c {len(piece)} /dev/zero | tr '\\000' {piece[0]}"


def _quoted(text: str) -> str:
    if not text.isprintable():
        return f"\"$(printf '{_format(text)}')\""
    quoted = shlex.quote(text)
    return quoted if quoted != text else f"'{text}'"


def _format(text: str) -> str:
    """The text as a format of printf, between single quotes."""
    shown = "".join(_octal(c) if c in "\\%'" or not c.isprintable() else c for c in text)
    return "\\055" + shown[1:] if shown.startswith("-") else shown


def _octal(character: str) -> str:
    code = ord(character)
    data = bytes([code - 0xDC00]) if 0xDC80 <= code <= 0xDCFF else character.encode("utf-8", "surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def _body(parts: Sequence[Part], guards: list[str]) -> tuple[str, list[str]]:
    """What goes before curl, and its words: a body that no argument can hold is piped."""
    texts = [part for part in parts if isinstance(part, str)]
    if all(text.isprintable() for text in texts) and sum(map(len, texts)) < 100_000:
        return "", ["--data-raw", word(parts)]
    commands = [command for part in parts for command in _printed(part, guards)]
    piped = commands[0] if len(commands) == 1 else f"{{ {'; '.join(commands)}; }}"
    return f"{piped} | ", ["--data-binary", "@-"]


def _printed(part: Part, guards: list[str]) -> list[str]:
    if isinstance(part, Value):
        guards.append(part.expression)
        return [f'printf %s "{part.plain}"']
    return [_repeated(piece) if _RUN.fullmatch(piece) else f"printf '{_format(piece)}'" for piece in _split(part)]


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Neighbouring texts as one."""
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
        yield part
        text = ""
    if text:
        yield text


def shown_length(parts: Iterable[Part]) -> int:
    """Characters of a body that a line would show."""
    pieces = [piece for part in parts if isinstance(part, str) for piece in _split(part)]
    return sum(len(piece) for piece in pieces if not _RUN.fullmatch(piece))


def _method(method: str) -> list[str]:
    if method.upper() == "HEAD":
        return ["--head"]
    return ["-X", method if _METHOD.fullmatch(method) else word([method])]


def _address(url: Sequence[Part]) -> list[str]:
    text = "".join(part for part in url if isinstance(part, str))
    options = ["--globoff"] * bool(_GLOB.search(text)) + ["--path-as-is"] * bool(_DOTS.search(text))
    return [*options, *(["--url"] if text.startswith("-") else []), word(url)]
