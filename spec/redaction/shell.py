"""A redacted request as one line for bash and zsh, with variables where known values were."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from spec.redaction.detectors import NAMES

LARGEST_BODY = 2_000
"""Characters of a body that a curl line shows."""

_OMITTED = frozenset(("user-agent", "accept", "accept-encoding", "content-length", "connection", "host"))
_NO_VARIABLE = frozenset((*NAMES, "credentials", "cookie"))
_GLOB = re.compile(r"[\[\]{}]")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:[/?#]|\Z)", re.IGNORECASE)
_METHOD = re.compile(r"[A-Za-z]{1,20}")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def curl_line(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    body: str | None,
    *,
    size: int,
    placeholder: re.Pattern[str],
) -> str:
    """The line for a request that is redacted already. `body` is None where it is too large to show.

    `size` is the length of the body in bytes; `placeholder` tells what becomes a variable.
    """
    kept = [(name, value) for name, value in headers if name.strip().lower() not in _OMITTED]
    words = ["curl", *_method(method, placeholder)]
    for name, value in kept:
        words += ["-H", word(f"{name}: {value}" if value else f"{name};", placeholder)]
    if size and not any(name.lower() == "content-type" for name, _ in kept):
        words += ["-H", "'Content-Type:'"]
    if size and body is not None:
        words += ["--data-raw", word(body, placeholder)]
    words += _address(url, placeholder)
    return " ".join(words) + _remark(body, size)


def word(text: str, placeholder: re.Pattern[str]) -> str:
    """One word of a shell line: placeholders of known values as `"$ACCOUNT_2"`, all else quoted."""
    words: list[str] = []
    literal = ""
    for at, piece in enumerate(placeholder.split(text)):
        name = variable(piece) if at % 2 else ""
        if name:
            words += [_quoted(literal), f'"${name}"']
            literal = ""
        else:
            literal += piece
    return "".join([*words, _quoted(literal)]) or "''"


def variable(placeholder: str) -> str:
    """The shell variable of a placeholder; empty for what is no value of the profile."""
    name = placeholder.strip("<>")
    if name in _NO_VARIABLE or name.startswith("another "):
        return ""
    return "PIX_TOKEN" if name == "token" else re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")


def _method(method: str, placeholder: re.Pattern[str]) -> list[str]:
    if method.upper() == "HEAD":
        return ["--head"]
    return ["-X", method if _METHOD.fullmatch(method) else word(method, placeholder)]


def _address(url: str, placeholder: re.Pattern[str]) -> list[str]:
    options = ["--globoff"] * bool(_GLOB.search(url)) + ["--path-as-is"] * bool(_DOTS.search(url))
    return [*options, *(["--url"] if url.startswith("-") else []), word(url, placeholder)]


def _remark(body: str | None, size: int) -> str:
    if size and body is None:
        return f"  # and a body of {size} bytes, not shown here"
    if body and "\0" in body:
        return "  # the body holds NUL, which a shell cannot pass on"
    return ""


def _quoted(text: str) -> str:
    if not text:
        return ""
    if text.isprintable():
        quoted = shlex.quote(text)
        return quoted if quoted != text else f"'{text}'"
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    known = _ESCAPES.get(character)
    if known or character.isprintable():
        return known or character
    code = ord(character)
    data = bytes([code - 0xDC00]) if 0xDC80 <= code <= 0xDCFF else character.encode("utf-8", "surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in data)
