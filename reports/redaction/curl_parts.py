"""A request in parts for a shell: text that is sent as it was, and values that are not shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import quote

from reports.curl import ENCODERS, LARGEST, Line, Part, Shell, Value, joined, shown_length, variable
from reports.redaction.bodies import Token, content, redact_body, redact_fields, redacted, tokens
from reports.redaction.engine import Engine
from reports.redaction.http_parts import redact_headers, redact_url
from reports.redaction.masks import printable_json

_LARGEST_READ = 400_000


class CurlParts:
    """Takes requests apart by what an engine redacts. `meaning` says what a credential was that is not the token."""

    def __init__(self, engine: Engine, shell: Shell) -> None:
        self._engine, self._shell = engine, shell

    def line(self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes, meaning: str) -> Line:
        """What a line sends again."""
        headers = tuple(headers)
        media_type = next((value for name, value in headers if name.lower() == "content-type"), "")
        shown = redact_headers(headers, self._engine)
        return Line(
            self._engine.redact(method),
            self._parts(redact_url(url, self._engine), meaning, "url"),
            [(name, self._parts(value, meaning)) for name, value in shown],
            self._body(body, media_type),
            len(body),
        )

    def _parts(self, text: str, meaning: str, place: str = "") -> list[Part]:
        """A text that is redacted already: its placeholders are values."""
        pieces = self._engine.knowledge.placeholder.split(text)
        values = {piece: self._value(piece, meaning, place) for piece in pieces[1::2]}
        return [values[piece] if at % 2 else piece for at, piece in enumerate(pieces) if piece]

    def _value(self, placeholder: str, meaning: str, place: str) -> Value:
        value = self._shell.value(placeholder, meaning)
        plain = self._engine.knowledge.plain.get(placeholder, "")
        encoded = {"url": quote(plain, safe=""), "json": json.dumps(plain, ensure_ascii=False)[1:-1]}.get(place, plain)
        return value if encoded == plain else replace(value, encoder=ENCODERS[place])

    def _body(self, body: bytes, media_type: str) -> list[Part] | None:
        if len(body) > _LARGEST_READ:
            return None
        text = body.decode("utf-8", "surrogateescape")
        parts = self._tokens(text)
        if parts is None:
            shown = redact_body(text, media_type, self._engine, _LARGEST_READ)
            parts = self._parts(shown.text, "as it was sent") if shown.complete else None
        return parts if parts is not None and shown_length(parts) <= LARGEST else None

    def _tokens(self, text: str) -> list[Part] | None:
        """A text token by token, as JSON or nearly so: each that needs no redaction is sent as it was. None where more
        than its tokens needs redaction, as in a form."""
        parts: list[Part] = []
        names = _Names()
        for token in tokens(text, self._engine.knowledge):
            if token.kind == "name":
                names.member = content(token.text)
            new = list(self._token(token, names))
            value = new[0] if token.kind == "word" else ""
            parts += _with_colon(token.layout, value) if isinstance(value, Value) else [token.layout, *new]
        kept = list(joined(parts))
        texts = [part for part in kept if isinstance(part, str)]
        return kept if all(self._engine.redact(redact_fields(text, self._engine)) == text for text in texts) else None

    def _token(self, token: Token, names: _Names) -> Iterator[Part]:
        long = token.kind == "string" and len(token.text) > self._engine.window and not token.personal
        redacted_text = token.text if long and _is_filler(token.text) else redacted(token, self._engine)
        if redacted_text in (token.text, printable_json(token.text)) or _said(redacted_text) == content(token.text):
            yield token.text
        elif self._engine.knowledge.placeholder.fullmatch(content(redacted_text)) and token.kind != "word":
            yield from ('"', self._redacted(content(redacted_text), content(token.text), names), '"')
        elif token.kind == "word":
            yield names.variable()
        elif self._is_split(redacted_text):
            yield from self._parts(redacted_text, "as it was sent", "json")
        else:
            yield from ('"', names.variable(), '"')

    def _redacted(self, placeholder: str, sent: str, names: _Names) -> Value:
        """A known value, unless more was sent than the value itself."""
        known = self._engine.knowledge.plain.get(placeholder) == sent or placeholder.strip("<>") in self._shell.values
        return self._value(placeholder, "as it was sent", "json") if known else names.variable()

    def _is_split(self, redacted_text: str) -> bool:
        """Whether only known values within a longer text are redacted."""
        pieces = self._engine.knowledge.placeholder.split(redacted_text)
        return len(pieces) > 1 and all(piece in self._engine.knowledge.plain for piece in pieces[1::2])


def _with_colon(layout: str, value: Value) -> list[Part]:
    """A number takes the colon before it along: a name, a colon and a quotation mark of the shell would be taken for a
    personal member wherever the line is redacted once more."""
    if layout.strip() != ":":
        return [layout, value]
    return [replace(value, expression=f"{layout}{value.expression}", plain=f"{layout}{value.plain}")]


class _Names:
    """Names for values of members that are not shown; a second one of a member gets a number."""

    def __init__(self) -> None:
        self.member = ""
        self._times: dict[str, int] = {}

    def variable(self) -> Value:
        """The next value of the member."""
        times = self._times[self.member] = self._times.get(self.member, 0) + 1
        name = f"SENT {self.member[:40]}" + (f" {times}" if times > 1 else "")
        return variable(name, f"{self.member[:40]} as it was sent")


def _said(redacted_text: str) -> str:
    return content(redacted_text) if redacted_text[:1] == '"' else redacted_text


def _is_filler(text: str) -> bool:
    """Whether a long text, closed or not, is one character over and over, behind a short beginning."""
    return re.fullmatch(r'"[a-z-]{0,20}(.)\1*"?', text) is not None
