"""Rules of what may be shown of a service's answer and of any other text, in one place.

- A sentence of ours: all of it. It passes nothing here; only what is put into it does.
- A text of a service: the words of `spec/words.txt`, in any letter case. A piece between blanks that has another word,
  a digit or `@` is its shape (`Aaaa`, `999`), the whole piece: half of a name may be an ordinary word.
- JSON: names, structure and types; `true`, `false` and `null`; the form of a number. A string is a text of a service,
  and that of a member that names somebody is its shape; `message` is what the payer wrote if it stands in `data`.
  Shown as they are: `status` and `type` if they are a documented value or one word in capitals, short numbers as
  `code` and `accountType`, and `Success`.
- Names of members: documented ones in any spelling, and those made of words of `spec/member_names.txt`. Any other name
  is `*`.
- Headers of an answer: those of a list, in the form that the header has, else as a text of a service.
- A known value (the token; accounts, keys and codes of the profile): its placeholder, such as `<token>` or
  `<account 2>`, for the value as it is and in percent, JSON and base64 form.
- A text that is not ours to build (pytest, libraries, tracebacks): all of it but the known values.

So an encoding that nobody thought of shows nothing. Out of scope: what a shape tells, which is length and punctuation.
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
from spec.facts import WORDS, is_name, is_plain_value, words_of
from spec.json_text import folded, parts_of_pointer

SHOWN = 4_000
"""Bytes of a body that are shown: what a screen or two hold."""
_MOST_TOKENS = 1_000
"""Tokens of a body that are shown: some 200 members. Each may become a line of the page."""
_BODIES_KEPT = 64
"""Bodies whose text is kept, because a service says the same to many requests."""
BYTE_ORDER_MARK, CUT = r"\ufeff", " bytes in all)"
"""Start of a body that has such a mark, and end of one that is shown in part."""
_LONGEST_SHAPE, _LONGEST_TEXT = 64, 300
_PLACE = re.compile(r"[0-9]{1,3}")
"""A place in a JSON pointer. A longer number is as likely a name, such as that of an account."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
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

_PIECE = re.compile(r"[^\s<>/]+")
"""What stands between blanks, tags, and the slashes of a path."""
_WORD = re.compile(r"([^\W\d_]+)")
_OPAQUE = re.compile(r"[\d@]")
"""Signs of an identifier. Encoded text has digits, too: what looks like a word in it is chance."""
_SYNTHETIC = re.compile(r"(?<![\w-])(pixconf-[0-9a-f]{8}(?:@example\.com)?)(?![\w.@-])")
_BLANKS, _DIGIT = re.compile(r"[^\S\n]+|\n\n+"), re.compile(r"[0-9]")
_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_LONGEST_CODE, _LONGEST_INNER_NUMBER = 5, 3
"""Characters of `code` in the envelope, and of `accountType`, or of a `code` that may be that of a transfer."""
_LITERALS = ("true", "false", "null")
_OF_FEW_VALUES = ("status", "type")
"""Documented members with a value of a closed set."""


# -- headers ------------------------------------------------------------------------------------------------------

_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}"
    r" \d{2}:\d{2}:\d{2} GMT"
)
_COUNT = re.compile(r"\d{1,7}")
"""Fewer digits than a telephone number or a tax document has."""
_MEDIA_TYPE = re.compile(
    rf"(?:{'|'.join(map(re.escape, COMMON_TYPES.split()))})(?:; ?charset=(?:utf-8|us-ascii|iso-8859-1))?", re.IGNORECASE
)
_PRODUCTS = (
    "apache|asp.net|caddy|cloudflare|envoy|express|gunicorn|jetty|kestrel|kong|nginx|openresty|php|uvicorn|werkzeug"
)
_VERSION = re.compile(rf"(?:(?:{_PRODUCTS})(?:/|\Z))?(?:v?\d{{1,2}}(?:\.\d{{1,2}}){{0,2}})?", re.IGNORECASE)
"""A product of a closed list, because a service may write any name there, and at most six digits."""
_DIRECTIVE = (
    "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|no-cache|no-store|no-transform|private|public|must-revalidate"
    r"|max-age=\d{1,7}|keep-alive|close|gzip|deflate|br|chunked|identity|Origin|Accept|Accept-Encoding|Authorization"
)
_DIRECTIVES = re.compile(rf"(?:{_DIRECTIVE})(?:, ?(?:{_DIRECTIVE}))*", re.IGNORECASE)
_WORDS_ALONE = re.compile("")
_FORMS = {
    _MEDIA_TYPE: "content-type",
    _DATE: "date expires last-modified deprecation sunset",
    _COUNT: "content-length retry-after age ratelimit-limit ratelimit-remaining ratelimit-reset",
    _VERSION: "server x-powered-by api-version x-api-version x-version x-service-version x-app-version x-build",
    _DIRECTIVES: "allow cache-control connection content-encoding transfer-encoding vary",
    _WORDS_ALONE: "www-authenticate location",
}
_TOLD = {name: form for form, names in _FORMS.items() for name in names.split()}
"""The headers of an answer that are shown, and the form in which a value is shown as it is."""


class Display:
    """Turns what may not be shown as it is into what may. `secrets` is the registry of what is known, also of what
    becomes known later. No input makes a method raise, and none takes more than time in proportion to its length. Any
    thread may call it."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets, self._known = secrets, KnownValues(())
        self._body_kept = lru_cache(_BODIES_KEPT)(self._body)

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

    def text(self, text: str) -> str:
        """A text of a service, such as an error message."""
        shown = self._in_words(text[:_LONGEST_TEXT])
        return shown if len(text) <= _LONGEST_TEXT else f"{shown}…({len(text)} characters)"

    def name(self, name: str) -> str:
        """The name of a member."""
        return name if is_name(name) and not self._is_known(name) else "*"

    def pointer(self, pointer: str) -> str:
        """A JSON pointer: places, and the names of members."""
        parts = parts_of_pointer(pointer)
        return "".join(f"/{part if _PLACE.fullmatch(part) else self.name(part)}" for part in parts)

    def body(self, body: bytes, content_type: str = "", *, size: int = 0) -> str:
        """A body, the first 4,000 bytes and 1,000 tokens of it. `size`: bytes of the whole, where `body` is its start.
        A byte order mark shows as an escape."""
        is_latin = _LATIN.search(content_type) is not None
        return self._body_kept(body[:SHOWN], is_latin, max(size, len(body)), self.known.size)

    def _body(self, start: bytes, is_latin: bool, size: int, number_of_known_values: int) -> str:
        """A body of this size that begins so. The number of known values tells when what was kept is out of date."""
        text = start.decode("latin-1" if is_latin else json.detect_encoding(start), "replace")
        is_cut = size > SHOWN
        if is_json_like(text):
            first_tokens = list(islice(tokens(text), _MOST_TOKENS + 1))
            is_cut = is_cut or len(first_tokens) > _MOST_TOKENS
            shown = "".join(self._token(token) for token in first_tokens[:_MOST_TOKENS])
        else:
            shown = self._in_words(text)
        mark = BYTE_ORDER_MARK if start.startswith(BOM_UTF8) else ""
        rest = f"… ({size}{CUT}" if is_cut else ""
        return mark + shown + rest

    def headers(self, headers: Iterable[tuple[str, str]]) -> list[list[str]]:
        """The headers of an answer, those of the list."""
        return [[name, self._header(_TOLD[name.lower()], value)] for name, value in headers if name.lower() in _TOLD]

    def _header(self, form: re.Pattern[str], value: str) -> str:
        is_told = form.fullmatch(value) and not self._is_known(value)
        return value if is_told else self.text(value)

    def _is_known(self, text: str) -> bool:
        """True for a text that is or holds a known value, or has a word of one."""
        return self.known.has(text) or any(self.known.has_word(word) for word in words_of(text) if len(word) > 1)

    def _unknown(self, change: Callable[[str], str], text: str) -> str:
        """The text with its placeholders and synthetic identifiers, and all else changed."""
        pieces: list[str] = []
        for at, piece in enumerate(self.known.split(text)):
            pieces += [piece] if at % 2 else _SYNTHETIC.split(piece)
        return "".join(piece if at % 2 else change(piece) for at, piece in enumerate(pieces))

    def _in_words(self, text: str) -> str:
        """A text in words of the list."""

        def shown(text: str) -> str:
            return _PIECE.sub(lambda piece: self._piece(piece.group()), text)

        return self._unknown(shown, _BLANKS.sub(" ", unicodedata.normalize("NFC", text)))

    def _piece(self, piece: str) -> str:
        parts = _WORD.split(piece)
        words = parts[1::2]
        if _OPAQUE.search(piece) or not all(map(self._is_shown, words)):
            return shape(piece)
        return "".join(part if at % 2 else shape(part) for at, part in enumerate(parts))

    def _is_shown(self, word: str) -> bool:
        return word.lower() in WORDS and not self.known.has_word(word.lower())

    def _token(self, token: Token) -> str:
        """A piece of JSON."""
        if token.kind == "name":
            return json.dumps(self.name(token.content))
        if token.kind == "text":
            shown = json.dumps(self._value(token), ensure_ascii=False)
            return shown if token.text[1:].endswith('"') else shown[:-1]
        if token.kind != "word" or token.text in _LITERALS:
            return _BLANKS.sub(" ", token.text)
        if _NUMBER.fullmatch(token.text) and not self._is_plain(token):
            return _DIGIT.sub("9", token.text[:_LONGEST_SHAPE])
        return self._value(token)

    def _value(self, token: Token) -> str:
        """A string, or a word that stands in its place."""
        text = token.content
        if known := self.known.whole(text):
            return known
        if self._is_plain(token):
            return text
        member = folded(token.member)
        is_message = token.member == "Message" or (member == "message" and "data" not in token.path)
        if member in _OF_FEW_VALUES or (token.is_personal and not is_message):
            return self._unknown(shape, text)
        return self.text(text)

    def _is_plain(self, token: Token) -> bool:
        """True for a value that is shown as it is: that of a documented member that names nobody."""
        text, member = token.content, folded(token.member)
        if token.is_personal or self._is_known(text):
            return False
        if member in _OF_FEW_VALUES:
            return is_plain_value(text)
        if member == "success":
            return text.strip().lower() in ("true", "false")
        is_envelope = member == "code" and len(token.path) == 2
        longest = _LONGEST_CODE if is_envelope else _LONGEST_INNER_NUMBER
        return member in ("code", "accounttype") and len(text) <= longest and bool(_NUMBER.fullmatch(text))
