"""Rules of what may be shown of a service's answer and of any other text, in one place.

- A sentence of ours: all of it. It passes nothing here; only what is put into it does.
- A text of a service: documented names, words of lower-case letters, and the words of `words.txt` in any letter case.
  Every other word, and a piece between blanks that holds a digit, `@`, `_` or an inner capital, is its shape (`Aaaa`,
  `999`). Of a success that is no JSON, and where a text has members that name somebody, as in a form, only the words
  of the list are shown.
- JSON: names, structure and types; `true`, `false` and `null`; the form of a number; the shape of a string. Shown as
  they are: short values of documented members that name nobody. Texts in a refusal are texts of a service; those
  whose name does not say that they tell why show the words of the list alone, and of personal members only `message`
  is one.
- Names of members: documented ones in any spelling, and those made of words of the list. Any other name is `*`.
- Headers of an answer: those of a list, in the form that the header has, or in words of the list.
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
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import islice

from environments.secret_values import Secrets
from reports.json_tokens import Token, is_json_like, tokens
from reports.known import KnownValues
from reports.wording import one_line
from spec.exchange import COMMON_TYPES
from spec.facts import WORDS, is_name, words_of
from spec.interface import personal_fields
from spec.json_text import folded, parts_of_pointer

SHOWN = 4_000
"""Bytes of a body that are shown: what a screen or two hold."""
_MOST_TOKENS = 1_000
"""Tokens of a body that are shown: some 200 members. Each may become a line of the page."""
BYTE_ORDER_MARK, CUT = r"\ufeff", " bytes in all)"
"""Start of a body that has such a mark, and end of one that is shown in part."""
_LONGEST_SHAPE, _LONGEST_TEXT, _LONGEST_WORD = 64, 300, 20
_PLACE = re.compile(r"[0-9]{1,3}")
"""A place in a JSON pointer. A longer number is as likely a name, such as that of an account."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_QUOTES = "\"'`.,:;()[]{}"
_STAYS = "\n\t*#•●○■□█▇▒▓▪∙…"
"""Line ends, and what masks a value, beside the punctuation of ASCII."""


def printable(text: str) -> str:
    r"""The text with characters that are not seen, reorder others or have no bytes in UTF-8 as `\x1b` or `\u200b`."""
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shape(text: str) -> str:
    """Letters as `A` or `a`, digits as `9`, punctuation as it is; of more than 64 characters the first four."""
    if len(text) <= _LONGEST_SHAPE:
        return "".join(map(_shape_of, text))
    return f"{shape(text[:4])}…({len(text)} characters)"


@lru_cache(10_000)
def _shape_of(character: str) -> str:
    category = unicodedata.category(character)
    stays = character in _STAYS or " " <= character <= "~"
    form = {"L": "A" if category == "Lu" else "a", "M": "a", "N": "9"}
    return form.get(category[0], character if stays else "?")


# -- words and names ----------------------------------------------------------------------------------------------

_PIECE = re.compile(r"[^\s<>]+")
_WORD = re.compile(r"([^\W\d_]+)")
_OPAQUE = re.compile(r"[\d@_]|[a-zà-öø-ÿ][A-ZÀ-ÖØ-Þ]")
_LOWER_CASE = re.compile(r"[a-zà-öø-ÿ]+")
_SYNTHETIC = re.compile(r"(?<![\w-])(pixconf-[0-9a-f]{8}(?:@example\.com)?)(?![\w.@-])")
_BLANKS, _DIGIT = re.compile(r"[^\S\n]+|\n\n+"), re.compile(r"[0-9]")
_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)
PERSONAL_PAIR = re.compile(rf"\b(?:{'|'.join(map(folded, personal_fields()))})\b[\"'\]]?\s?[:=>]", re.IGNORECASE)
"""A personal member within a text that is no JSON: a form, XML, a line. Its value may be written in small letters."""
_NAMES_NOBODY = ("code", "status", "success", "type", "accounttype")
_ENUMERATED = re.compile(r"(?:[A-Z]{2,20}|[A-Z]?[a-z]{2,20})(?:[ _-]?(?:[A-Z]{2,20}|[A-Z]?[a-z]{2,20})){0,4}")
"""One of a few values that a member may have, such as `DONE`."""
_SAYS_WHY = re.compile(
    "caus[ea]|descri|detail|detalhe|err|except|fault|messag|mensage|msg|motiv|reason|titl|titulo|trace|warn"
)
"""Starts of words in the names of members that hold an error message."""
_DOCUMENTED_TEXTS = ("Message", "error")
"""Texts for people in a success. `message` is what the payer wrote."""
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LITERALS = ("true", "false", "null")


# -- headers ------------------------------------------------------------------------------------------------------

_DATE = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_COUNT = re.compile(r"\d{1,10}")
_MEDIA_TYPE = re.compile(
    rf"(?:{'|'.join(map(re.escape, COMMON_TYPES.split()))})(?:; ?charset=(?:utf-8|us-ascii|iso-8859-1))?", re.IGNORECASE
)
_VERSION = re.compile(r"(?:[A-Z]?[a-z]{2,15}(?:-[A-Za-z]{2,15})?/)?v?\d{1,3}(?:\.\d{1,3}){1,3}")
_WORDS_ALONE = re.compile("")
_FORMS = {
    _MEDIA_TYPE: "content-type",
    _DATE: "date expires last-modified deprecation sunset",
    _COUNT: "content-length retry-after age ratelimit-limit ratelimit-remaining ratelimit-reset",
    _VERSION: "server x-powered-by api-version x-api-version x-version x-service-version x-app-version x-build",
    _WORDS_ALONE: "www-authenticate allow cache-control connection content-encoding location transfer-encoding vary",
}
_TOLD = {name: form for form, names in _FORMS.items() for name in names.split()}
"""The headers of an answer that are shown, and the form in which a value is shown as it is."""


class Display:
    """Turns what may not be shown as it is into what may. `secrets` is the registry of what is known, also of what
    becomes known later. No input makes a method raise, and none takes more than time in proportion to its length. Any
    thread may call it."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets, self._known = secrets, KnownValues(())

    @property
    def known(self) -> KnownValues:
        """The values that are known by now."""
        if self._known.size < len(self._secrets.known):
            self._known = KnownValues(tuple(self._secrets.known))
        return self._known

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

    def name(self, name: str) -> str:
        """The name of a member."""
        return name if is_name(name) and not self._is_known(name) else "*"

    def pointer(self, pointer: str) -> str:
        """A JSON pointer: places, and the names of members."""
        parts = parts_of_pointer(pointer)
        return "".join(f"/{part if _PLACE.fullmatch(part) else self.name(part)}" for part in parts)

    def body(self, body: bytes, content_type: str = "", *, refusal: bool = False, size: int = 0) -> str:
        """A body, the first 4,000 bytes and 1,000 tokens of it. `size`: bytes of the whole, where `body` is its start.
        A byte order mark shows as an escape."""
        start, size = body[:SHOWN], max(size, len(body))
        text = start.decode("latin-1" if _LATIN.search(content_type) else json.detect_encoding(start), "replace")
        is_cut = size > SHOWN
        if is_json_like(text):
            first_tokens = list(islice(tokens(text), _MOST_TOKENS + 1))
            is_cut = is_cut or len(first_tokens) > _MOST_TOKENS
            shown = "".join(self._token(token, refusal) for token in first_tokens[:_MOST_TOKENS])
        else:
            shown = self._said(text, refusal)
        mark = BYTE_ORDER_MARK if body.startswith(BOM_UTF8) else ""
        rest = f"… ({size}{CUT}" if is_cut else ""
        return mark + shown + rest

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """The headers of an answer, those of the list."""
        return [[name, self._header(_TOLD[name.lower()], value)] for name, value in headers if name.lower() in _TOLD]

    def _header(self, form: re.Pattern[str], value: str) -> str:
        is_told = form.fullmatch(value) and not self._is_known(value)
        return value if is_told else self.text(value, lower_case=False)

    def _is_known(self, text: str) -> bool:
        """True for a text that is or holds a known value, or has a word of one."""
        return self.known.has(text) or any(self.known.has_word(word) for word in words_of(text) if len(word) > 1)

    def _unknown(self, change: Callable[[str], str], text: str) -> str:
        """The text with its placeholders and synthetic identifiers, and all else changed."""
        pieces: list[str] = []
        for at, piece in enumerate(self.known.split(text)):
            pieces += [piece] if at % 2 else _SYNTHETIC.split(piece)
        return "".join(piece if at % 2 else change(piece) for at, piece in enumerate(pieces))

    def _said(self, text: str, lower_case: bool) -> str:
        """A text in words. Where it has members that name somebody, small letters may be a name, too."""
        lower_case = lower_case and not (self.known.may_look_like_words or PERSONAL_PAIR.search(text))

        def in_words(text: str) -> str:
            return _PIECE.sub(lambda piece: self._piece(piece.group(), lower_case), text)

        return self._unknown(in_words, _BLANKS.sub(" ", unicodedata.normalize("NFC", text)))

    def _piece(self, piece: str, lower_case: bool) -> str:
        if _OPAQUE.search(piece):
            name = piece.strip(_QUOTES)
            return piece if is_name(name) and not self._is_known(name) else shape(piece)
        words = enumerate(_WORD.split(piece))
        return "".join(word if at % 2 and self._is_shown(word, lower_case) else shape(word) for at, word in words)

    def _is_shown(self, word: str, lower_case: bool) -> bool:
        if self.known.has_word(word.lower()):
            return False
        is_small = len(word) <= _LONGEST_WORD and _LOWER_CASE.fullmatch(word)
        return word.lower() in WORDS or bool(lower_case and is_small)

    def _token(self, token: Token, is_refusal: bool) -> str:
        """A piece of JSON."""
        if token.kind == "name":
            return json.dumps(self.name(token.content))
        if token.kind == "text":
            shown = json.dumps(self._string(token, is_refusal), ensure_ascii=False)
            return shown if token.text[1:].endswith('"') else shown[:-1]
        if token.kind != "word" or token.text in _LITERALS:
            return _BLANKS.sub(" ", token.text)
        if _NUMBER.fullmatch(token.text):
            return token.text if self._names_nobody(token) else _DIGIT.sub("9", token.text[:_LONGEST_SHAPE])
        return self._said(token.text, lower_case=True) if is_refusal else shape(token.text)

    def _string(self, token: Token, is_refusal: bool) -> str:
        text = token.content
        if known := self.known.whole(text):
            return known
        if self._names_nobody(token):
            return text
        says_why = any(map(_SAYS_WHY.match, words_of(token.member)))
        if token.member in _DOCUMENTED_TEXTS or (is_refusal and (says_why or not token.is_personal)):
            return self.text(text, lower_case=says_why and not (token.is_personal and "data" in token.path))
        return self._unknown(shape, text)

    def _names_nobody(self, token: Token) -> bool:
        """True for a value that a documented member may have: a short number, or words. Deeper than the envelope,
        `code` may be that of a transfer."""
        text, member = token.content, folded(token.member)
        if member not in _NAMES_NOBODY or self._is_known(text):
            return False
        if _NUMBER.fullmatch(text):
            return len(text) <= (5 if len(token.path) == 2 else 3)
        is_free = member != "code" and not self.known.may_look_like_words
        return is_name(text) or (is_free and bool(_ENUMERATED.fullmatch(text)))
