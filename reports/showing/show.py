"""Rules of what may be shown of an answer and of any other text, in one place.

- A sentence of the suite: all of it. Only the values that are put into it pass through here.
- A text of a service: the words of `spec/words.txt`, in any letter case. Any other piece between blanks is its shape
  (`Aaaa`, `999`), as a whole, because half of a name may be an ordinary word.
- The name of a member: if it is documented, in any spelling, or made of words of `spec/member_names.txt`. Any other is
  `*`.
- A header of an answer: if it is in a list. Its value is shown in the form that the header has, else as a text of a
  service.
- A known value: its placeholder, such as `<token>` or `<account 2>`, for its plain, percent, JSON and base64 form.
- A text that the suite does not build (pytest, libraries, tracebacks): all of it but the known values.
- JSON: structure, types, `true`, `false` and `null`. A number has its shape. A string is a text of a service, and that
  of a personal member is its shape. `message` is personal in `data`, because the payer wrote it. Shown as they are:
  `status` and `type` if they are a documented value or one word in capitals; short numbers as `code` and `accountType`;
  and `Success`.

So an encoding that nobody thought of shows nothing. Not a goal: to hide length and punctuation, which a shape tells.
"""

from __future__ import annotations

import json
import re
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice

from environments.secret_values import Secrets
from reports.sentences.wording import one_line
from reports.showing.json_tokens import Token, is_json_like, tokens
from reports.showing.known import KnownValues
from spec.exchange import SHOWN_MEDIA_TYPES, Headers
from spec.facts import WORDS, is_name, is_plain_value, words_of
from spec.json_text import folded, parts_of_pointer

SHOWN = 4_000
"""Bytes of a body that are shown: as much as one or two screens hold."""
_MOST_TOKENS = 1_000
"""Tokens of a body that are shown: some 200 members. Each may become a line of the page."""
_BODIES_KEPT = 64
"""Bodies whose text is kept, because a service says the same to many requests."""
BYTE_ORDER_MARK = r"\ufeff"
"""Start of a shown body that begins with a byte order mark: its escape."""
CUT = " bytes in all)"
"""End of a body that is shown in part."""
_LONGEST_SHAPE = 64
"""Characters of a shape that are shown. A longer one tells nothing more."""
_LONGEST_TEXT = 300
"""Characters of a text of a service that are shown. A longer one tells nothing more."""
_PLACE = re.compile(r"[0-9]{1,3}")
"""A place in a JSON pointer. A longer number is as likely a name, such as that of an account."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters, invisible ones, those that change the direction of writing, and halves of surrogate pairs."""
_KEPT_IN_SHAPE = "\n\t*#•●○■□█▇▒▓▪∙…"
"""Characters that a shape has as they are, beside ASCII: blanks, and the signs that mask a value."""


def printable(text: str) -> str:
    r"""The text with an escape, such as `\x1b` or `\u200b`, for each character that is not safe to show.

    Such a character cannot be seen, reorders the characters around it, or has no bytes in UTF-8.
    """
    return _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shape(text: str) -> str:
    """The shape of a text: letters become `A` or `a`, digits `9`, and punctuation stays. `Ana 12` is `Aaa 99`.

    Of a text with more than 64 characters it is the shape of the first four, and the number of characters.
    """
    if len(text) <= _LONGEST_SHAPE:
        return "".join(map(_shape_of, text))
    return f"{shape(text[:4])}…({len(text)} characters)"


@lru_cache(10_000)
def _shape_of(character: str) -> str:
    """Shape of one character, by its Unicode category: letters, marks and numbers. `?` for any other outside ASCII."""
    category = unicodedata.category(character)
    if category == "Lu":
        return "A"
    if category[0] in ("L", "M"):
        return "a"
    if category[0] == "N":
        return "9"
    is_kept = character in _KEPT_IN_SHAPE or " " <= character <= "~"
    return character if is_kept else "?"


# -- words and names ----------------------------------------------------------------------------------------------

_PIECE = re.compile(r"[^\s<>/]+")
"""A text between blanks, tags, and the slashes of a path."""
_WORD = re.compile(r"([^\W\d_]+)")
"""Letters, without digits and underscores. `split` gives punctuation and words in turn."""
_SIGN_OF_IDENTIFIER = re.compile(r"[\d@]")
"""Encoded text has digits, too: a part of it that looks like a word does so by chance."""
_SYNTHETIC = re.compile(r"(?<![\w-])(pixconf-[0-9a-f]{8}(?:@example\.com)?)(?![\w.@-])")
"""An identifier that the suite made up. Nothing that belongs to a longer word stands beside it."""
_BLANKS = re.compile(r"[^\S\n]+|\n\n+")
"""Blanks within a line, or empty lines. One blank is shown for them."""
_DIGIT = re.compile(r"[0-9]")
_LATIN = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?(?:iso-8859-1|latin-?1|windows-1252)\b", re.IGNORECASE)
"""Media types whose text is in Latin-1, or in Windows-1252, which has the same letters."""
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
"""A number of JSON. No quantifier gives back what it took (`++`), so that the time grows with the length alone."""
_LONGEST_CODE = 5
"""Characters of the `code` of an envelope that is shown."""
_LONGEST_INNER_NUMBER = 3
"""Characters of an `accountType`, and of a `code` within `data`, that is shown. A longer one may be of a transfer."""
_LITERALS = ("true", "false", "null")
_OF_FEW_VALUES = ("status", "type")
"""Documented members with a value of a closed set."""


# -- headers ------------------------------------------------------------------------------------------------------

_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}"
    r" \d{2}:\d{2}:\d{2} GMT"
)
_COUNT = re.compile(r"\d{1,7}")
"""A number with fewer digits than a telephone number or a tax document has."""
_MEDIA_TYPE = re.compile(
    rf"(?:{'|'.join(map(re.escape, SHOWN_MEDIA_TYPES.split()))})(?:; ?charset=(?:utf-8|us-ascii|iso-8859-1))?",
    re.IGNORECASE,
)
_PRODUCTS = (
    "apache|asp.net|caddy|cloudflare|envoy|express|gunicorn|jetty|kestrel|kong|nginx|openresty|php|uvicorn|werkzeug"
)
_VERSION = re.compile(rf"(?:(?:{_PRODUCTS})(?:/|\Z))?(?:v?\d{{1,2}}(?:\.\d{{1,2}}){{0,2}})?", re.IGNORECASE)
"""A product and a version. The list of products is closed, because a service may write any name there. A version has at
most six digits, fewer than an identifier."""
_DIRECTIVE = (
    "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|no-cache|no-store|no-transform|private|public|must-revalidate"
    r"|max-age=\d{1,7}|keep-alive|close|gzip|deflate|br|chunked|identity|Origin|Accept|Accept-Encoding|Authorization"
)
_DIRECTIVES = re.compile(rf"(?:{_DIRECTIVE})(?:, ?(?:{_DIRECTIVE}))*", re.IGNORECASE)
_NOTHING = re.compile("")
"""Form of an empty value. Any other value of such a header is a text of a service."""
_HEADER_FORMS = {
    "content-type": _MEDIA_TYPE,
    **dict.fromkeys(("date", "expires", "last-modified", "deprecation", "sunset"), _DATE),
    **dict.fromkeys(("content-length", "retry-after", "age"), _COUNT),
    **dict.fromkeys(("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"), _COUNT),
    **dict.fromkeys(("server", "x-powered-by", "api-version", "x-api-version", "x-version"), _VERSION),
    **dict.fromkeys(("x-service-version", "x-app-version", "x-build"), _VERSION),
    **dict.fromkeys(("allow", "cache-control", "connection", "vary"), _DIRECTIVES),
    **dict.fromkeys(("content-encoding", "transfer-encoding"), _DIRECTIVES),
    **dict.fromkeys(("www-authenticate", "location"), _NOTHING),
}
"""Headers of an answer that are shown. A value is shown as it is if it has this form, else as a text of a service."""


class Display:
    """Turns texts into what may be shown of them. No input makes a method raise, and the time that a method takes grows
    with the length of its input alone. Any thread may call it."""

    def __init__(self, secrets: Secrets) -> None:
        """`secrets` is the registry of known values. It may grow later."""
        self._secrets = secrets
        self._known = KnownValues(())
        self._body_kept = lru_cache(_BODIES_KEPT)(self._body)

    @property
    def known(self) -> KnownValues:
        """The values that are known by now. The registry only grows, so that its size tells if there are more."""
        if self._known.size < len(self._secrets.known):
            self._known = KnownValues(tuple(self._secrets.known))
        return self._known

    def without_known_values(self, text: str) -> str:
        """A text that the suite does not build, such as a traceback: all of it but the known values."""
        return printable("".join(self.known.split(text)))

    def line(self, text: str) -> str:
        """A text that the suite does not build, in one line in which no CI system finds a command of its own."""
        return one_line(self.without_known_values(text))

    def text(self, text: str) -> str:
        """A text of a service, such as an error message: the ordinary words in its first 300 characters."""
        shown = self._ordinary_words(text[:_LONGEST_TEXT])
        if len(text) <= _LONGEST_TEXT:
            return shown
        return f"{shown}…({len(text)} characters)"

    def name(self, name: str) -> str:
        """The name of a member if it is an ordinary one, else `*`."""
        return name if is_name(name) and not self._is_known(name) else "*"

    def pointer(self, pointer: str) -> str:
        """A JSON pointer with its places, and the names that may be shown."""
        shown = ""
        for part in parts_of_pointer(pointer):
            is_place = _PLACE.fullmatch(part) is not None
            shown += f"/{part if is_place else self.name(part)}"
        return shown

    def body(self, body: bytes, content_type: str = "", *, size: int = 0) -> str:
        """The first 4,000 bytes and 1,000 tokens of a body, as far as they may be shown.

        If `body` is only the start of a body, `size` is the number of bytes of the whole. A byte order mark shows as an
        escape.
        """
        is_latin = _LATIN.search(content_type) is not None
        return self._body_kept(body[:SHOWN], is_latin, max(size, len(body)), self.known.size)

    def _body(self, start: bytes, is_latin: bool, size: int, number_of_known_values: int) -> str:
        """What may be shown of a body of this size with this start.

        The number of known values is not used here. It is part of the key under which the result is kept, because the
        result is out of date once a further value is known.
        """
        encoding = "latin-1" if is_latin else json.detect_encoding(start)
        text = start.decode(encoding, "replace")
        is_cut = size > SHOWN
        if is_json_like(text):
            first_tokens = list(islice(tokens(text), _MOST_TOKENS + 1))
            is_cut = is_cut or len(first_tokens) > _MOST_TOKENS
            shown = "".join(self._shown_token(token) for token in first_tokens[:_MOST_TOKENS])
        else:
            shown = self._ordinary_words(text)
        if start.startswith(BOM_UTF8):
            shown = BYTE_ORDER_MARK + shown
        if is_cut:
            shown += f"… ({size}{CUT}"
        return shown

    def headers(self, headers: Headers) -> Headers:
        """The headers of an answer that may be shown. A value has as much as may be shown of it."""
        listed = [(name, value) for name, value in headers if name.lower() in _HEADER_FORMS]
        return tuple((name, self._header_value(name.lower(), value)) for name, value in listed)

    def _header_value(self, name: str, value: str) -> str:
        """The value of a listed header: as it is if it has the form of this header, else as a text of a service."""
        has_form = _HEADER_FORMS[name].fullmatch(value) is not None
        if has_form and not self._is_known(value):
            return value
        return self.text(value)

    def _is_known(self, text: str) -> bool:
        """True for a text that is or holds a known value, or has a word of a secret."""
        return self.known.has(text) or any(self.known.has_word(word) for word in words_of(text) if len(word) > 1)

    def _with_unknown_changed(self, text: str, change: Callable[[str], str]) -> str:
        """The text with `change` applied to all of it but known values, which become placeholders, and synthetic
        identifiers, which stay."""

        def changed_between_identifiers(piece: str) -> str:
            """A text without known values, changed between its synthetic identifiers."""
            return _joined_after_change(_SYNTHETIC.split(piece), change)

        return _joined_after_change(self.known.split(text), changed_between_identifiers)

    def _ordinary_words(self, text: str) -> str:
        """A text in which only ordinary words are shown. Every other piece is replaced by its shape, such as `Aaaa`."""
        with_single_blanks = _BLANKS.sub(" ", unicodedata.normalize("NFC", text))
        return self._with_unknown_changed(with_single_blanks, self._words_or_shapes)

    def _words_or_shapes(self, text: str) -> str:
        """A text without known values, with each piece between blanks as it may be shown."""
        return _PIECE.sub(lambda match: self._word_or_shape(match[0]), text)

    def _word_or_shape(self, piece: str) -> str:
        """A piece between blanks: as it is if all of its words are ordinary, else its shape, such as `Aaaa`.

        Characters between the words, such as punctuation, are always shown as their shape.
        """
        parts = _WORD.split(piece)
        words = parts[1::2]  # between them stands punctuation
        has_only_ordinary_words = all(map(self._is_ordinary, words))
        if _SIGN_OF_IDENTIFIER.search(piece) or not has_only_ordinary_words:
            return shape(piece)
        return _joined_after_change(parts, shape)

    def _is_ordinary(self, word: str) -> bool:
        """True for a word of the list that is no part of a secret."""
        return word.lower() in WORDS and not self.known.has_word(word.lower())

    def _shown_token(self, token: Token) -> str:
        """A token of JSON, as far as it may be shown."""
        if token.kind == "name":
            return json.dumps(self.name(token.content))
        if token.kind == "text":
            shown = json.dumps(self._shown_value(token), ensure_ascii=False)
            is_closed = token.text[1:].endswith('"')  # a body that was cut may end within a string
            return shown if is_closed else shown[:-1]
        is_sign_or_blank = token.kind != "word"
        if is_sign_or_blank or token.text in _LITERALS:
            return _BLANKS.sub(" ", token.text)
        is_number = _NUMBER.fullmatch(token.text) is not None
        if is_number and not self._is_shown_as_it_is(token):
            return _DIGIT.sub("9", token.text[:_LONGEST_SHAPE])
        return self._shown_value(token)

    def _shown_value(self, token: Token) -> str:
        """The content of a string, or of a word that stands in the place of one, as far as it may be shown."""
        text = token.content
        placeholder = self.known.whole(text)
        if placeholder:
            return placeholder
        if self._is_shown_as_it_is(token):
            return text
        member = folded(token.member)
        # The payer may have written `message` within `data`. The service wrote `Message` of a registration.
        is_message_of_envelope = member == "message" and "data" not in token.path
        is_of_the_service = token.member == "Message" or is_message_of_envelope
        is_personal = token.is_personal and not is_of_the_service
        if is_personal or member in _OF_FEW_VALUES:
            return self._with_unknown_changed(text, shape)
        return self.text(text)

    def _is_shown_as_it_is(self, token: Token) -> bool:
        """True for a value that is shown as it is, because its member has short values that name nobody."""
        text = token.content
        member = folded(token.member)
        if token.is_personal or self._is_known(text):
            return False
        if member in _OF_FEW_VALUES:
            return is_plain_value(text)
        if member == "success":
            return text.strip().lower() in ("true", "false")
        if member not in ("code", "accounttype"):
            return False
        is_of_envelope = member == "code" and len(token.path) == 2
        longest = _LONGEST_CODE if is_of_envelope else _LONGEST_INNER_NUMBER
        return len(text) <= longest and _NUMBER.fullmatch(text) is not None


def _joined_after_change(pieces: Sequence[str], change: Callable[[str], str]) -> str:
    """The pieces in one text, after `change` was applied to the first one, the third one, and so on.

    The second one, the fourth one, and so on stay. `re.split` with a group, and `KnownValues.split`, give such pieces.
    """
    joined = ""
    for at, piece in enumerate(pieces):
        stays = at % 2 == 1
        joined += piece if stays else change(piece)
    return joined
