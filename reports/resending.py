"""A request of the run in parts: text as it was sent, and values that are not shown, which stand as variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from environments.profiles.profile import Header, Profile, shown
from environments.profiles.target import is_secret
from reports.curl import LARGEST, Line, Part, Shell, Value, curl_line, joined, shown_length, variable
from reports.loose_json import Token, is_json_like, tokens
from reports.show import SHOWN, Display, has_personal_pairs, printable, shape
from spec.exchange import Request
from spec.interface import MARK
from spec.names import is_name

_LARGEST_READ = 400_000
_SEGMENT = re.compile(r"([/?&=;#]+)")
_USER = re.compile(r"(?<=://)[^/?#@]*(?=@)")
_BEARERS = frozenset(("bearer", "token", "dpop", "oauth"))
_SCHEMES = _BEARERS | {"basic", "digest", "negotiate", "ntlm", "mutual", "hoba", "apikey", "scram-sha-256"}
AS_SENT = "as it was sent"
NAMED = "pixconf"
"""What a header or a parameter holds whose name a service gave."""
_MEMBER = re.compile(rb'"([^"\\]{1,60})"\s?:\s?"' + NAMED.encode() + b'"')
_PARAMETER = re.compile(rf"(?<=[?&])[^?&=#]+(?=={NAMED}(?:[&#]|\Z))")


def shell_of(profile: Profile) -> Shell:
    """What stands in reproduce lines for what a profile names and keeps elsewhere."""
    headers = {f"header {header.name}": _header(header, profile) for header in profile.headers if is_secret(header)}
    return Shell(
        options=tuple(_options(profile)),
        values={"token": _token(profile), **headers},
        supplied={
            "account": len(profile.accounts),
            "key": len(profile.pix_keys),
            "code": len(profile.transactions.codes),
        },
    )


def _token(profile: Profile) -> Value:
    """A token command is not repeated: what it is given may be a secret."""
    auth = profile.auth
    if auth.token_file:
        read = f"$(cat {shlex.quote(str(auth.token_file))})"
        return Value(read, read)
    if auth.token_command:
        return variable("PIX_TOKEN", f"what auth.token_command of {shown(profile.path)} prints")
    return variable(auth.token_env or "PIX_TOKEN", "the access token")


def _header(header: Header, profile: Profile) -> Value:
    where = f"the header {header.name}"
    return variable(header.env or header.name, where if header.env else f"{where} of {shown(profile.path)}")


def _options(profile: Profile) -> Iterator[str]:
    tls = profile.tls
    for option, file in (("--cacert", tls.ca_bundle), ("--cert", tls.client_cert), ("--key", tls.client_key)):
        if file:
            yield f"{option} {shlex.quote(str(file))}"
    if tls.client_key_passphrase_env:
        yield f'--pass "{variable(tls.client_key_passphrase_env, "the passphrase of tls.client_key").expression}"'
    if profile.proxy:
        yield f"--proxy {shlex.quote(profile.proxy)}"


@dataclass(frozen=True)
class Resending:
    """Takes requests apart by what is known, and says how a person sends them again."""

    display: Display
    shell: Shell

    def line(self, request: Request, meaning: str = AS_SENT) -> Line:
        """What sends the request again. `meaning` says what a credential was that is not the token."""
        is_data = self._is_data
        url = _PARAMETER.sub(lambda name: "*" if is_data(unquote(name.group())) else name.group(), request.url)
        headers = [(name, value) for name, value in request.headers if value != NAMED or not is_data(name)]
        has_data = any(is_data(name.decode("utf-8", "replace")) for name in _MEMBER.findall(request.body))
        is_whole = url == request.url and len(headers) == len(request.headers) and not has_data
        return Line(
            request.method,
            self._url(url),
            [(name, self._header(name, value, meaning)) for name, value in headers],
            None if has_data else self._body(request.body),
            len(request.body),
            "" if is_whole else "names that the service gave",
        )

    def _is_data(self, name: str) -> bool:
        """True for a name from an answer that may be the name of a person, or an account."""
        return self.display.name(name) != name

    def curl(self, request: Request, meaning: str = AS_SENT, *, shows_headers: bool = True) -> str:
        """A line of a shell that sends it again, once the variables that it names are set."""
        return curl_line(self.line(request, meaning), self.shell, shows_headers=shows_headers)

    # -- texts that may hold a known value ------------------------------------------------------------------------

    def _value(self, placeholder: str, meaning: str = AS_SENT) -> Value:
        """What stands for a known value."""
        return replace(self.shell.value(placeholder, meaning), shown=placeholder)

    def _parts(self, text: str, name: str) -> list[Part]:
        """A text that is sent as it stands: the known values in it, or all of it where one is written otherwise."""
        known = self.display.known
        if whole := known.whole(text):
            return [self._value(whole) if known.plain[whole] == text else _sent(name, text)]
        found = known.find(text)
        if any(known.plain[shown] != text[start:end] for start, end, shown in found):
            return [_sent(name, text)]
        pieces = known.split(text)
        return [self._value(piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece]

    def _url(self, url: str) -> list[Part]:
        pieces = _SEGMENT.split(_USER.sub("<credentials>", url))
        return [part for piece in pieces for part in self._segment(piece)]

    def _segment(self, segment: str) -> list[Part]:
        """A part of an address. A known value that is written in escapes is a value of its own."""
        known, text = self.display.known, unquote(segment)
        if text != segment and (known.whole(text) or known.find(text)):
            return [_sent("path", segment)]
        return self._parts(segment, "path")

    def _header(self, name: str, value: str, meaning: str) -> list[Part]:
        if name.lower() not in ("authorization", "proxy-authorization"):
            return self._parts(value, name)
        scheme, blank, credential = value.partition(" ")
        if scheme.lower() not in _SCHEMES:
            return [self._credential(value, "credentials", meaning)] if value.strip() else [value]
        kind = "another token" if scheme.lower() in _BEARERS else "credentials"
        return [scheme + blank, *([self._credential(credential, kind, meaning)] if credential.strip() else [])]

    def _credential(self, text: str, otherwise: str, meaning: str) -> Value:
        placeholder = self.display.known.whole(text)
        is_exact = self.display.known.plain.get(placeholder) == text
        return self._value(placeholder if placeholder and is_exact else f"<{otherwise}>", meaning)

    # -- bodies ---------------------------------------------------------------------------------------------------

    def _body(self, body: bytes) -> list[Part] | None:
        """A body token by token; None for one that cannot be shown."""
        text = body[: _LARGEST_READ + 1].decode("utf-8", "surrogateescape")
        if len(body) > _LARGEST_READ or (not is_json_like(text) and self._is_somebodys(text)):
            return None
        names = _Names()
        parts = list(joined(part for token in tokens(text) for part in (token.layout, *self._token(token, names))))
        return parts if shown_length(parts) <= LARGEST else None

    def _is_somebodys(self, text: str) -> bool:
        return bool(self.display.known.find(text)) or has_personal_pairs(text)

    def _token(self, token: Token, names: _Names) -> Iterator[Part]:
        known, content = self.display.known, token.content
        is_string = token.kind != "word" and token.text.startswith('"')
        whole = known.whole(content)
        if token.kind == "name":
            names.member = content if is_name(content) else "member"
        if whole and token.text == f'"{known.plain[whole]}"':
            yield from ('"', self._value(whole), '"')
        elif whole or _is_masked(token) or known.find(content):
            value = names.variable(token.text.strip('"') if is_string else token.text)
            yield from ('"', value, '"') if is_string else (value,)
        else:
            yield token.text


def shown_body(line: Line) -> str:
    """The body of a line for people: known values by their placeholders, others by their shape."""
    if line.body is None:
        return f"… ({line.size} bytes in all)"
    text = printable(shown_parts(line.body))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({line.size} bytes in all)"


def shown_parts(parts: Iterable[Part]) -> str:
    """The parts for people."""
    return "".join(part.shown if isinstance(part, Value) else part for part in parts)


def _sent(name: str, text: str) -> Value:
    value = variable(f"SENT {name}", f"{name} {AS_SENT}")
    return Value(value.expression, value.plain, shown=shape(text))


def _is_masked(token: Token) -> bool:
    """True for what a personal member holds, unless it is made up, or says nothing."""
    if not token.personal or token.kind == "name" or token.text in ("true", "false", "null"):
        return False
    return not token.content.startswith(MARK) and shape(token.content) != token.content


class _Names:
    """Names for values of members that are not shown; a second one of a member gets a number."""

    def __init__(self) -> None:
        self.member = ""
        self._times: dict[str, int] = {}

    def variable(self, text: str) -> Value:
        """The next value of the member."""
        times = self._times[self.member] = self._times.get(self.member, 0) + 1
        return _sent(self.member[:40] + (f" {times}" if times > 1 else ""), text)
