"""Redaction of bodies: JSON in its own layout, valid or not, by a scan of its tokens that no input can overflow;
personal fields of forms, of lines of `name: value` and of XML elements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import starmap
from typing import NamedTuple

from reports.redaction import masks
from reports.redaction.encodings import unescape
from reports.redaction.engine import Engine, Redacted
from reports.redaction.knowledge import Knowledge

_PAIRS = re.compile(
    r"""(?:(?<![\w-])|(?<=%5[Bb]))(?P<name>[A-Za-z][\w-]{0,40}+)(?:\]|%5[dD])?["']?[ \t]{0,9}
    (?: [=:][ \t]{0,9}"(?P<double>[^"]*+) | [=:][ \t]{0,9}'(?P<single>[^']*+)
      | =(?P<form>[^\s&;<>"']*+) | :[ \t]{0,9}(?P<line>[^\n&;<>"']*+) )""",
    re.VERBOSE,
)
_TAG = re.compile(r"<(?P<close>/?)(?:[\w.-]{1,60}:)?(?P<name>[\w.-]{1,60})(?P<rest>[^<>]{0,2000}+)>")
_CDATA = re.compile(r"(<!\[CDATA\[|\]\]>)")


def redact_fields(text: str, engine: Engine) -> str:
    """The text with the values of personal fields masked."""
    if "</" in text:
        text = _elements(text, engine)
    return _PAIRS.sub(lambda match: _pair(match, engine), text)


def _pair(match: re.Match[str], engine: Engine) -> str:
    if not engine.knowledge.is_personal(match["name"]):
        return match.group()
    group = next(name for name in ("double", "single", "form", "line") if match[name] is not None)
    start, end = (edge - match.start() for edge in match.span(group))
    return match.group()[:start] + engine.mask(match[group]) + match.group()[end:]


def _elements(text: str, engine: Engine) -> str:
    """Text inside personal elements masked, at any depth; tags stay."""
    pieces: list[str] = []
    inside: list[str] = []
    last = 0
    for tag in _TAG.finditer(text):
        between = text[last : tag.start()]
        pieces += (_masked(between, engine) if inside else between, tag.group())
        last = tag.end()
        name = tag["name"]
        if tag["close"]:
            if inside and inside[-1] == name:
                inside.pop()
        elif engine.knowledge.is_personal(name) and not tag["rest"].endswith("/"):
            inside.append(name)
    return "".join([*pieces, _masked(text[last:], engine) if inside else text[last:]])


def _masked(text: str, engine: Engine) -> str:
    return "".join(piece if at % 2 else engine.mask(piece) for at, piece in enumerate(_CDATA.split(text)))


_STRING = r"""(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))"""
_SINGLE = r"(?P<single>'[^'\\]*+(?:\\.[^'\\]*+)*+')"
_WORD = r"""(?P<word>[^\s"'{}\[\],:]++)"""
_LAYOUT = r"(?P<layout>[\s\[\]{},:]*+)"
_TOKEN = re.compile(rf"{_LAYOUT}(?:(?:{_STRING}|{_SINGLE}|{_WORD})(?P<name>(?=\s*+:))?|(?P<odd>')|\Z)", re.DOTALL)
_AFTER_ODD = re.compile(rf"{_LAYOUT}(?:(?:{_STRING}|{_WORD})(?P<name>(?=\s*+:))?|(?P<odd>')|\Z)", re.DOTALL)
"""Where one single quote is not closed, none after it is: seeking its end for each would take squared time."""
_RUNS = re.compile(r"[\[{]+|[\]}]+|,+")


class Token(NamedTuple):
    """A token, its kind (a group of the pattern above), whether a personal member holds it, and the brackets, commas,
    colons and blanks before it. The last one has no text."""

    kind: str
    text: str
    personal: bool
    layout: str


def tokens(text: str, knowledge: Knowledge) -> Iterator[Token]:
    """The tokens of a text from its start; joined they are the text. Members of personal members are personal."""
    return starmap(Token, _read(text, knowledge))


def _read(text: str, knowledge: Knowledge) -> Iterator[tuple[str, str, bool, str]]:
    """What a token is made of: most of an answer is only read, and needs none."""
    holders = [False]
    personal = False
    for match in _matches(text):
        kind, layout = match.lastgroup or "", match[1]
        token = match[0][len(layout) :]
        for run in _runs(layout):
            if run[0] in "[{":
                holders += [personal] * len(run)
            else:
                del holders[max(1, len(holders) - len(run.strip(","))) :]
                personal = holders[-1]
        if kind == "name":
            personal = holders[-1] or knowledge.is_personal(content(token))
        yield kind, token, personal, layout


@lru_cache(64)
def _runs(layout: str) -> tuple[str, ...]:
    """The brackets of a layout, and its commas, in runs of one sort."""
    return tuple(_RUNS.findall("".join(layout.split())))


def _matches(text: str) -> Iterator[re.Match[str]]:
    for match in _TOKEN.finditer(text):
        yield match
        if match.lastgroup == "odd":
            yield from _AFTER_ODD.finditer(text, match.end())
            return


_LITERALS = ("true", "false", "null")


def content(token: str) -> str:
    """What a string token says; a broken one as far as its escapes can be undone."""
    quote = token[0] if token[0] in ("'", '"') else ""
    inner = token.removeprefix(quote).removesuffix(quote) if quote else token
    if "\\" not in token:
        return inner
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return unescape(inner)


def redact_json(text: str, engine: Engine, limit: int, *, whole: bool = True) -> Redacted:
    """A JSON text, or its start, redacted by member and by value; no more than is needed to show `limit` characters."""
    pieces: list[str] = []
    length, left = 0, len(text)
    valid = True
    for token in tokens(text, engine.knowledge):
        if length > limit + engine.margin * (not valid):
            whole = False
            break
        left -= len(token.layout) + len(token.text)
        if left or whole:
            valid = valid and _is_json(token)
            pieces += (token.layout, redacted(token, engine))
        else:
            pieces += (token.layout, _start(token, engine))
        length += len(pieces[-2]) + len(pieces[-1])
    shown = "".join(pieces)
    if valid:
        return Redacted(shown, whole)
    return engine.start(redact_fields(shown, engine), whole)


def personal_values(text: str, knowledge: Knowledge) -> Iterator[str]:
    """The strings and the numbers of five digits or more that personal members hold."""
    for kind, token, personal, _ in _read(text, knowledge):
        if not personal:
            continue
        if kind in ("string", "single"):
            yield content(token)
        elif kind == "word" and sum(map(str.isdigit, token[: masks.LONGEST])) >= 5:
            yield token


def _is_json(token: Token) -> bool:
    if token.kind == "word":
        return token.text in _LITERALS or masks.is_numeric(token.text)
    return token.kind in ("string", "layout") or (token.kind == "name" and token.text[0] == '"')


def redacted(token: Token, engine: Engine) -> str:
    """The token as it is shown."""
    if token.kind != "word":
        return _string(token, engine) if token.text else ""
    if token.text in _LITERALS:
        return token.text
    if masks.is_numeric(token.text):
        return engine.number(token.text, token.personal)
    return engine.mask(token.text) if token.personal else _shown(token.text, engine)


def _string(token: Token, engine: Engine) -> str:
    text = content(token.text)
    if token.kind == "name":
        shown = engine.start(text[: engine.window], len(text) <= engine.window).text
    else:
        shown = engine.mask(text) if token.personal else _shown(text, engine)
    if shown == text:
        return masks.printable_json(token.text)
    if token.text[0] != '"':
        return f"'{shown}'" if token.text[0] == "'" else shown
    return masks.printable_json(json.dumps(shown, ensure_ascii=False))


def _start(token: Token, engine: Engine) -> str:
    """What is shown of the last token of a text that goes on: of a string its start."""
    if token.kind != "string":
        return ""
    text = content(token.text)
    shown = masks.shape(text[:4]) if token.personal else engine.start(text[: engine.window], complete=False).text
    return masks.printable_json(json.dumps(f"{shown}…", ensure_ascii=False))


def _shown(text: str, engine: Engine) -> str:
    if len(text) <= engine.window:
        return engine.whole(text)
    return f"{engine.start(text[: engine.window], complete=False).text}…({len(text)} characters)"


_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)

_JSON = re.compile(r"[ \t\r\n\ufeff]*+[\[{\"]")


def decoded(body: bytes, content_type: str = "") -> str:
    r"""The characters of a body: Latin-1 where it says so, else UTF-8, -16 or -32 by its first bytes.

    Bytes that are no characters show as `\xff`.
    """
    encoding = "latin-1" if _LATIN.search(content_type) else json.detect_encoding(body)
    return body.decode(encoding, "backslashreplace")


def is_json_like(text: str) -> bool:
    """Whether a text starts as a JSON object, array or string does."""
    return bool(_JSON.match(text))


def redact_body(text: str, content_type: str, engine: Engine, limit: int, *, whole: bool = True) -> Redacted:
    """Redact as much of a body, or of the start of one, as is needed to show `limit` characters of it.

    The cut comes after redaction: what stands near the end of what was looked at is never shown.
    """
    start = text[:100].lstrip(" \t\r\n\ufeff")[:1]
    if is_json_like(text) or ("json" in content_type.lower() and start != "<"):
        return redact_json(text, engine, limit, whole=whole)
    return engine.start(redact_fields(text[: engine.window], engine), whole and len(text) <= engine.window)
