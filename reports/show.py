"""What may be shown: of a service's answer and of any other text, in one place.

- A sentence of ours: all of it. It passes nothing here; only what is put into it does.
- A text of a service: documented names, words of lower-case letters, and the words of `words.txt` in any letter case.
  Every other word, and a piece between blanks that holds a digit, `@`, `_` or an inner capital, is its shape (`Aaaa`,
  `999`). Of a success that is no JSON, and where a text has members that name somebody, as in a form, only the words
  of the list are shown.
- JSON: names, structure and types; `true`, `false` and `null`; the form of a number; the shape of a string. Shown as
  they are: short values of documented members that name nobody. Texts in a refusal are texts of a service; those
  whose name does not say that they tell why show the words of the list alone, and of personal members only `message`
  is one.
- Names of members: documented ones in any spelling, and those made of words of the list. Any other name is `*`, and so
  are the names of an object that has more than fifty.
- Headers of an answer: those of a list, their values in the form that the header has, or as a text of a service.
- A known value (the token; accounts, keys and codes of the profile): its placeholder, such as `<token>` or
  `<account 2>`, for the value as it is and in percent, JSON and base64 form.
- A text that is not ours to build (pytest, libraries, tracebacks): all of it but the known values.

So an encoding that nobody thought of shows nothing. Out of scope: names of people in lower-case letters within an error
message, and what a shape tells, which is length and punctuation.
"""

from __future__ import annotations

import json
import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from environments.secrets import Secrets
from reports.known import KnownValues
from reports.loose_json import Token, decoded, is_json_like, tokens
from reports.wording import one_line
from spec.exchange import LARGE, named_media_type
from spec.interface import personal_fields
from spec.json_text import folded, is_integer, parts_of_pointer
from spec.names import DOCUMENTED, WORDS, is_name, words_of

SHOWN = 4_000
"""Characters of a body that are shown: what a screen or two hold."""
_LONGEST_SHAPE, _LONGEST_TEXT, _LONGEST_WORD, _LONGEST_CODE, _LONGEST_INSIDE = 64, 300, 20, 5, 3
_PLACE = re.compile(r"[0-9]{1,3}")
"""A place in a JSON pointer. A longer number is as likely a name, such as that of an account."""
_MOST_SIBLINGS = 50
"""An object of more members is a table, and its names are data."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_QUOTES = "\"'`.,:;()[]{}"
_MASKS = "*#•●○■□█▇▒▓▪∙…"


def printable(text: str) -> str:
    r"""What is not seen, reorders what is read or has no bytes in UTF-8 as `\x1b` or `\u200b`; new lines, tabs stay."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Shapes(dict[int, str]):
    """The shape of each character, filled in as characters turn up: what is no letter, digit or punctuation is `?`."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        stays = character in _MASKS or character in "\n\t" or " " <= character <= "~"
        other = character if stays else "?"
        self[code] = {"L": "A" if category == "Lu" else "a", "M": "a", "N": "9"}.get(category[0], other)
        return self[code]


_SHAPES = _Shapes()


def shape(text: str) -> str:
    """Letters as `A` or `a`, digits as `9`, punctuation as it is; of more than 64 characters the first four."""
    if len(text) <= _LONGEST_SHAPE:
        return text.translate(_SHAPES)
    return f"{text[:4].translate(_SHAPES)}…({len(text)} characters)"


# -- words and names ----------------------------------------------------------------------------------------------

_PIECE = re.compile(r"[^\s<>]+")
_WORD = re.compile(r"([^\W\d_]+)")
_OPAQUE = re.compile(r"[\d@_]|[a-zà-öø-ÿ][A-ZÀ-ÖØ-Þ]")
_LOWER_CASE = re.compile(r"[a-zà-öø-ÿ]+")
_SYNTHETIC = re.compile(r"(?<![\w-])(pixconf-[0-9a-f]{8}(?:@example\.com)?)(?![\w.@-])")
_BLANKS, _DIGIT = re.compile(r"[^\S\n]+|\n\n+"), re.compile(r"[0-9]")
_ENUMERATED = re.compile(r"(?:[A-Z]{2,20}|[A-Z]?[a-z]{2,20})(?:[ _-]?(?:[A-Z]{2,20}|[A-Z]?[a-z]{2,20})){0,4}")
_PERSONAL_PAIR = re.compile(rf"\b(?:{'|'.join(map(folded, personal_fields()))})\b[\"'\]]?\s?[:=>]", re.IGNORECASE)
"""A personal member within a text that is no JSON: a form, XML, a line. Its value may be written in small letters."""
_NAMES_NOBODY = frozenset(map(folded, ("code", "status", "Success", "type", "accountType")))
_SAYS_WHY = re.compile(
    "caus[ea]|descri|detail|detalhe|err|except|fault|messag|mensage|msg|motiv|reason|titl|titulo|trace|warn"
)
"""Starts of words in the names of members that hold an error message."""
_DOCUMENTED_TEXTS = ("Message", "error")
"""Texts for people in a success. `message` is what the payer wrote."""


def has_personal_pairs(text: str) -> bool:
    """True for a text with members that name somebody, such as `name=`."""
    return bool(_PERSONAL_PAIR.search(text))


# -- headers ------------------------------------------------------------------------------------------------------

_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_COUNT = re.compile(r"\d{1,10}")
_MEDIA_TYPE = re.compile(r"(?P<type>[a-z]+/[a-z+.-]+)(?:; ?charset=(?:utf-8|us-ascii|iso-8859-1))?", re.IGNORECASE)
_VERSION = re.compile(r"(?:[A-Z]?[a-z]{2,15}(?:-[A-Za-z]{2,15})?/)?v?\d{1,3}(?:\.\d{1,3}){1,3}")
_TELLS_A_VERSION = "server x-powered-by api-version x-api-version x-version x-service-version x-app-version x-build"
_TOLD = {
    **dict.fromkeys(("date", "expires", "last-modified", "deprecation", "sunset"), _DATE),
    **dict.fromkeys(("content-length", "retry-after", "age", "keep-alive"), _COUNT),
    **dict.fromkeys(("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-limit"), _COUNT),
    **dict.fromkeys(("x-ratelimit-remaining", "x-ratelimit-reset"), _COUNT),
    **dict.fromkeys(_TELLS_A_VERSION.split(), _VERSION),
    **dict.fromkeys(("www-authenticate", "allow", "cache-control", "connection", "content-encoding", "location")),
    **dict.fromkeys(("transfer-encoding", "vary", "x-content-type-options", "content-language")),
    "content-type": _MEDIA_TYPE,
}
"""The headers of an answer that are shown, and the form in which a value is shown as it is."""


# -- texts -------------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LITERALS = ("true", "false", "null")


class Display:
    """Turns what may not be shown as it is into what may. `secrets` is the registry of what is known, also of what
    becomes known later. No input makes a method raise, and none takes more than time in proportion to its length. Any
    thread may call it."""

    def __init__(self, secrets: Secrets) -> None:
        self.known = KnownValues(secrets)

    def foreign(self, text: str) -> str:
        """A text that is not ours to build, without the known values."""
        return printable("".join(self.known.split(text)))

    def line(self, text: str) -> str:
        """The same in one line, in which no CI system finds a command of its own."""
        return one_line(self.foreign(text))

    def text(self, text: str, *, lower_case: bool = True) -> str:
        """A text of a service, such as an error message; without `lower_case` only the words of the list."""
        shown = self._said(text[:_LONGEST_TEXT], lower_case)
        return shown if len(text) <= _LONGEST_TEXT else f"{shown}…({len(text)} characters)"

    def value(self, value: Any) -> str:
        """A JSON value of a service, as JSON."""
        return self._json(json.dumps(value, default=_as_number, ensure_ascii=False))

    def name(self, name: str) -> str:
        """The name of a member."""
        return name if is_name(name) and not self._is_known(name) else "*"

    def pointer(self, pointer: str) -> str:
        """A JSON pointer: places, and the names of members."""
        parts = parts_of_pointer(pointer)
        return "".join(f"/{part if _PLACE.fullmatch(part) else self.name(part)}" for part in parts)

    def body(self, body: bytes, content_type: str = "", *, refusal: bool = False, size: int = 0) -> str:
        """A body, cut after 4,000 characters. `size`: bytes of the whole, where `body` is its start. A byte order mark
        shows as an escape."""
        text, size = decoded(body[:LARGE], content_type), max(size, len(body))
        shown = self._json(text, refusal) if is_json_like(text) else self._said(text[: 2 * SHOWN], refusal)
        shown = r"\ufeff" * body.startswith(BOM_UTF8) + shown
        return shown if len(shown) <= SHOWN and size <= LARGE else f"{shown[:SHOWN]}… ({size} bytes in all)"

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """The headers of an answer, those of the list."""
        return [[name, self._header(name.lower(), value)] for name, value in headers if name.lower() in _TOLD]

    def _header(self, name: str, value: str) -> str:
        form = _TOLD[name]
        is_told = form is not None and form.fullmatch(value) and not self._is_known(value)
        if form is _MEDIA_TYPE:
            is_told = is_told and named_media_type(value.split(";")[0].lower()) != "another media type"
        return value if is_told else self._shape(value) if form else self.text(value)

    def _is_known(self, text: str) -> bool:
        """True for a text that is or holds a known value, or has a word of one."""
        words = (word for word in words_of(text) if len(word) > 1)
        return bool(self.known.whole(text) or self.known.find(text)) or any(map(self.known.has_word, words))

    def _split(self, text: str) -> list[str]:
        """The text in pieces: every second one stands for a known value, or is a synthetic identifier."""
        pieces: list[str] = []
        for at, piece in enumerate(self.known.split(text)):
            pieces += [piece] if at % 2 else _SYNTHETIC.split(piece)
        return pieces

    def _said(self, text: str, lower_case: bool = True) -> str:
        """A text in words. Where it has members that name somebody, small letters may be a name, too."""
        lower_case = lower_case and not (self.known.may_look_like_words() or has_personal_pairs(text))
        pieces = enumerate(self._split(_BLANKS.sub(" ", unicodedata.normalize("NFC", text))))
        return "".join(piece if at % 2 else self._words(piece, lower_case) for at, piece in pieces)

    def _words(self, text: str, lower_case: bool) -> str:
        return _PIECE.sub(lambda piece: self._piece(piece.group(), lower_case), text)

    def _piece(self, piece: str, lower_case: bool) -> str:
        if _OPAQUE.search(piece):
            return piece if piece.strip(_QUOTES) in DOCUMENTED else shape(piece)
        words = enumerate(_WORD.split(piece))
        return "".join(word if at % 2 and self._is_shown(word, lower_case) else shape(word) for at, word in words)

    def _is_shown(self, word: str, lower_case: bool) -> bool:
        if self.known.has_word(word.lower()):
            return False
        is_small = len(word) <= _LONGEST_WORD and _LOWER_CASE.fullmatch(word)
        return word.lower() in WORDS or bool(lower_case and is_small)

    def _json(self, text: str, is_refusal: bool = False) -> str:
        pieces: list[str] = []
        for token in tokens(text):
            pieces += [_BLANKS.sub(" ", token.layout), self._token(token, is_refusal) if token.text else ""]
            if token.kind == "name":
                names = token.holder.names
                names.append(len(pieces) - 1)
                for at in names if len(names) == _MOST_SIBLINGS + 1 else names[_MOST_SIBLINGS:][-1:]:
                    pieces[at] = '"*"'
        return "".join(pieces)

    def _token(self, token: Token, is_refusal: bool) -> str:
        if token.kind == "name":
            return json.dumps(self.name(token.content))
        if token.kind == "string":
            shown = json.dumps(self._string(token, is_refusal), ensure_ascii=False)
            return shown if token.text[1:].endswith('"') else shown[:-1]
        if token.text in _LITERALS:
            return token.text
        if not _NUMBER.fullmatch(token.text):
            return self._said(token.text) if is_refusal else shape(token.text)
        if _is_short_code(token) and not self._is_known(token.text):
            return token.text
        return _DIGIT.sub("9", token.text[:_LONGEST_SHAPE])

    def _string(self, token: Token, is_refusal: bool) -> str:
        text = token.content
        if known := self.known.whole(text):
            return known
        if self._is_enumerated(text, token, is_refusal) and not self._is_known(text):
            return text
        says_why = any(map(_SAYS_WHY.match, words_of(token.member)))
        if token.member in _DOCUMENTED_TEXTS or (is_refusal and (says_why or not token.personal)):
            is_result = token.personal and token.holder.name == "data"
            return self.text(text, lower_case=says_why and not is_result)
        return self._shape(text)

    def _is_enumerated(self, text: str, token: Token, is_refusal: bool) -> bool:
        """True for one of a few values that a member may have, such as `DONE` or `ACCOUNT_NOT_FOUND`."""
        member = folded(token.member)
        if member not in _NAMES_NOBODY:
            return is_refusal and not token.personal and is_name(text)
        is_free = member != "code" and not self.known.may_look_like_words() and _ENUMERATED.fullmatch(text)
        return is_name(text) or bool(is_free) or (text.isdecimal() and _is_short_code(token))

    def _shape(self, text: str) -> str:
        return "".join(piece if at % 2 else shape(piece) for at, piece in enumerate(self._split(text)))


def _as_number(value: object) -> float:
    """A number that JSON has no type for here; its size is not shown anyway."""
    if not isinstance(value, Decimal):
        return 0
    return int(value) if is_integer(value) else float(value)


def _is_short_code(token: Token) -> bool:
    """True for a short number that names nobody: deeper than the envelope, `code` may be that of a transfer."""
    most = _LONGEST_CODE if not token.holder.name else _LONGEST_INSIDE
    return folded(token.member) in _NAMES_NOBODY and len(token.content) <= most
