"""Personal fields of bodies that are not JSON: `name=value` and `name: value` pairs, and XML elements."""

from __future__ import annotations

import re

from reports.redaction.engine import Engine

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
