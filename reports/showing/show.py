"""Rules of what may be shown of an answer and of any other text, in one place.

- A sentence of the suite is shown whole. Only the values in it are changed by the following rules.
- Of a text of a service, ordinary words are shown: those of `spec/words.txt`, in any letter case. Any other piece
  between blanks becomes its shape (`Aaaa`, `999`), as a whole, because half of a name may be an ordinary word.
- The name of a member is shown if it is documented, in any spelling, or made of words of `spec/member_names.txt`. Any
  other name becomes `*`.
- A header of an answer is shown if it is in a list (`_HEADER_FORMS`). If its value is built as values of this header
  usually are, the value is shown unchanged, else as a text of a service.
- A known value becomes its placeholder, such as `<token>` or `<account 2>`, also if it is percent-encoded, escaped as
  in JSON, or in base64.
- A text that the suite does not write (pytest, libraries, tracebacks) is shown whole, except for known values.
- Of JSON the structure, `true`, `false` and `null` are shown, and numbers as their shape. A string is shown as a text
  of a service. A string that describes a person becomes its shape. `message` within `data` is such a string, because
  the payer wrote it. Some values are shown unchanged: `status` and `type` with a documented value or one word in
  capitals, short numbers of `code` and `accountType`, and `Success`.

So if a value is in an encoding that nobody thought of, it is not shown. The length and the punctuation of a value are
shown, because a shape has them.

Words of this module: a known value is a token, account number, key or transaction code that the run knows; the name of
a known value, such as `<token>`, replaces the value in every output (its placeholder). A synthetic identifier is one
that the suite made up, such as `pixconf-0123abcd`. A member is a name with its value in a JSON object.
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
from spec.facts import WORDS, is_plain_value, is_surely_no_data, words_of
from spec.json_text import folded, parts_of_pointer

MOST_BYTES_SHOWN = 4_000
"""Most bytes of a body that are shown: as many as one or two screens hold."""
_MOST_TOKENS = 1_000
"""Most tokens of a body that are shown: those of some 200 members. Each may become a line of the page."""
_BODIES_REMEMBERED = 64
"""Most bodies whose shown text is remembered, because a service gives the same answer to many requests. A choice."""
BYTE_ORDER_MARK = r"\ufeff"
"""Start of a shown body that begins with a byte order mark: its escape."""
END_OF_CUT_BODY = " bytes in all)"
"""End of a body that is shown in part."""
_LONGEST_SHAPE = 64
"""Most characters of a shape that are shown. A choice: a longer shape tells a reader nothing more."""
_LONGEST_TEXT = 300
"""Most characters of a text of a service that are shown. A choice: a longer text tells a reader nothing more."""
_ARRAY_INDEX = re.compile(r"[0-9]{1,3}")
"""The number of an array item in a JSON pointer. A longer number may be a member name, such as an account number."""
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters, invisible ones, those that change the direction of writing, and halves of surrogate pairs."""
_UNCHANGED_IN_SHAPE = "\n\t*#•●○■□█▇▒▓▪∙…"
"""Characters that a shape has as they are, beside ASCII: blanks, and the signs that mask a value."""


def printable(text: str) -> str:
    r"""The text with an escape, such as `\x1b` or `\u200b`, for each character that is not safe to show.

    `_UNSAFE` matches characters that cannot be seen, that reorder the characters around them, or that UTF-8 cannot
    encode. A service could use them to make a report say something else than it seems to say.
    """
    return _UNSAFE.sub(_escape_of_match, text)


def _escape_of_match(match: re.Match[str]) -> str:
    r"""The escape for a character that is not safe to show, such as `\x1b` for the character that starts a colour."""
    return match[0].encode("unicode_escape").decode()


def shape(text: str) -> str:
    """A text that shows how a secret text is built, but not what it says: `Ana 12` becomes `Aaa 99`.

    Letters become `A` or `a`, digits become `9`, and punctuation is unchanged. If the text has more than 64 characters,
    only the shape of its first four characters and its length are returned: `Aaaa…(90 characters)`.
    """
    if len(text) <= _LONGEST_SHAPE:
        return "".join(map(_shape_of_character, text))
    return f"{shape(text[:4])}…({len(text)} characters)"


@lru_cache(10_000)  # results for so many characters are remembered: to look up the category each time is slow
def _shape_of_character(character: str) -> str:
    """The sign that is shown instead of a character that may be part of a secret.

    A capital letter becomes `A`, any other letter or accent `a`, a numeral `9`. ASCII punctuation and signs that mask a
    value, such as `*`, are unchanged. Any other character becomes `?`.
    """
    category = unicodedata.category(character)  # two letters: a group, such as L for letters, and a kind within it
    is_capital_letter = category == "Lu"
    is_letter_or_accent = category[0] in ("L", "M")
    is_numeral = category[0] == "N"
    if is_capital_letter:
        return "A"
    if is_letter_or_accent:
        return "a"
    if is_numeral:
        return "9"
    is_printable_ascii = " " <= character <= "~"
    if is_printable_ascii or character in _UNCHANGED_IN_SHAPE:  # the latter are signs that mask a value
        return character
    return "?"


# -- words and names ----------------------------------------------------------------------------------------------

_PIECE = re.compile(r"[^\s<>/]+")
"""A text between blanks, tags, and the slashes of a path."""
_WORD = re.compile(r"([^\W\d_]+)")
"""Letters, without digits and underscores. `split` gives punctuation and words in turn."""
_SIGN_OF_IDENTIFIER = re.compile(r"[\d@]")
"""A digit or an @, which identifiers and addresses have. Encoded text has digits, too, and may contain an ordinary word
by chance."""
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
"""Most characters of a `code` of the envelope that is shown. A longer code may identify a person. A choice."""
_LONGEST_INNER_NUMBER = 3
"""Most characters of an `accountType`, or of a `code` within `data`, that is shown. A longer number may be the code of
a transfer. A choice."""
_LITERALS = ("true", "false", "null")
"""The words that JSON has as values. None of them is data of a person."""
_OF_FEW_VALUES = ("status", "type")
"""Documented members that have only few different values."""


# -- headers ------------------------------------------------------------------------------------------------------

_DATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}"
    r" \d{2}:\d{2}:\d{2} GMT"
)
"""A date in a header, such as Fri, 20 Nov 2026 09:30:00 GMT (RFC 9110 section 5.6.7)."""
_COUNT = re.compile(r"\d{1,7}")
"""A number with fewer digits than a telephone number or a tax document has."""
_MEDIA_TYPE = re.compile(
    rf"(?:{'|'.join(map(re.escape, SHOWN_MEDIA_TYPES.split()))})(?:; ?charset=(?:utf-8|us-ascii|iso-8859-1))?",
    re.IGNORECASE,
)
"""A common media type, with a common charset or none."""
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
"""Words of headers such as Cache-Control and Allow, separated by commas. Other words may be data."""
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
    """Turns texts into what may be shown of them.

    No input makes a method raise, and the time that a method takes grows with the length of its input alone. Any thread
    may call it.
    """

    def __init__(self, secrets: Secrets) -> None:
        """`secrets` lists every value that no output may show: tokens, account numbers, keys, transaction codes.

        The run may add values later, for example a token that is fetched again.
        """
        self._secrets = secrets
        self._known = KnownValues(())  # finds these values in texts; `known` replaces it when it is needed
        # A service gives many requests the same answer, so the results for the last bodies are remembered.
        self._remembered_body = lru_cache(_BODIES_REMEMBERED)(self._body)

    @property
    def known(self) -> KnownValues:
        """A search for all values that must be hidden: tokens, account numbers, keys and codes that the run knows.

        It is built again only if the run has learned further values. Values are only ever added, so that their number
        shows whether there are further ones.
        """
        if self._known.size < len(self._secrets.known):
            self._known = KnownValues(tuple(self._secrets.known))
        return self._known

    def without_known_values(self, text: str) -> str:
        """A text of another program, such as a traceback, that may be printed.

        Tokens, account numbers, keys and codes in it are replaced by names such as `<token>`, and characters that are
        not safe to show by escapes such as `\\x1b`. Everything else is unchanged.
        """
        return printable("".join(self.known.split(text)))

    def safe_line(self, text: str) -> str:
        """A text of another program as one line for a CI log, without tokens, account numbers, keys and codes.

        `one_line` also breaks what a CI system would execute as a command of its own, such as `::error::`.
        """
        return one_line(self.without_known_values(text))

    def shown_text(self, text: str) -> str:
        """What may be shown of a text that the service wrote, such as an error message, in its first 300 characters.

        Ordinary words are shown as they are. Any other word, such as the name of a person, becomes its shape: `Aaaa`.
        """
        shown = self._ordinary_words(text[:_LONGEST_TEXT])
        if len(text) <= _LONGEST_TEXT:
            return shown
        return f"{shown}…({len(text)} characters)"

    def shown_name(self, name: str) -> str:
        """The name of a JSON member if interfaces commonly use such a name, else `*`.

        A service may use data as the name of a member: `{"Ana": 12}` would show the name of a person.
        """
        is_common_name = is_surely_no_data(name)
        if is_common_name and not self._holds_a_secret(name):
            return name
        return "*"

    def shown_pointer(self, pointer: str) -> str:
        """A JSON pointer that may be shown: `/data/Ana/0` becomes `/data/*/0`.

        Numbers of array items are unchanged, and so are member names that interfaces commonly use. Any other name
        becomes `*`, because it may be data.
        """
        shown = ""
        for part in parts_of_pointer(pointer):
            is_array_index = _ARRAY_INDEX.fullmatch(part) is not None
            shown += f"/{part if is_array_index else self.shown_name(part)}"
        return shown

    def shown_body(self, body: bytes, content_type: str = "", *, size: int = 0) -> str:
        """What may be shown of the body of an answer: at most its first 4,000 bytes and 1,000 pieces of JSON.

        `body` may be only the start of the body. Then `size` is the number of bytes of the whole body. A byte order
        mark at the start becomes the escape `\\ufeff`, because a reader could not see it.
        """
        is_latin = _LATIN.search(content_type) is not None
        whole_size = max(size, len(body))
        # The number of known values is an argument only for the cache, which finds a result by its arguments. If the
        # run has learned a further secret value, the body is prepared again, without that value.
        return self._remembered_body(body[:MOST_BYTES_SHOWN], is_latin, whole_size, self.known.size)

    def _body(self, start: bytes, is_latin: bool, size: int, number_of_known_values: int) -> str:
        """What may be shown of a body: `start` are its first bytes, and `size` is the number of bytes of the whole.

        `number_of_known_values` is not used here. The cache compares it: if the run learns a further value that must be
        hidden, a remembered result is no longer correct.
        """
        encoding = "latin-1" if is_latin else json.detect_encoding(start)  # UTF-8, UTF-16 or UTF-32
        text = start.decode(encoding, "replace")
        is_cut = size > MOST_BYTES_SHOWN
        if is_json_like(text):
            first_tokens = list(islice(tokens(text), _MOST_TOKENS + 1))  # one more than shown tells if there are more
            is_cut = is_cut or len(first_tokens) > _MOST_TOKENS
            shown = "".join(self._shown_token(token) for token in first_tokens[:_MOST_TOKENS])
        else:
            shown = self._ordinary_words(text)
        if start.startswith(BOM_UTF8):
            shown = BYTE_ORDER_MARK + shown
        if is_cut:
            shown += f"… ({size}{END_OF_CUT_BODY}"
        return shown

    def shown_headers(self, headers: Headers) -> Headers:
        """The headers of an answer that may be shown, with values as far as these may be shown.

        A header that is not listed in `_HEADER_FORMS` is left out, because its name and value may be data of a person.
        """
        listed = [(name, value) for name, value in headers if name.lower() in _HEADER_FORMS]
        return tuple((name, self._header_value(name.lower(), value)) for name, value in listed)

    def _header_value(self, name: str, value: str) -> str:
        """What may be shown of the value of a header; `name` is in lower-case letters.

        The value is shown unchanged if it is built as values of this header usually are, such as a date for `date`.
        Such a value says nothing about a person. Any other value is shown like an error message: ordinary words only.
        """
        usual_form = _HEADER_FORMS[name]  # a regular expression
        is_built_as_usual = usual_form.fullmatch(value) is not None
        if is_built_as_usual and not self._holds_a_secret(value):
            return value
        return self.shown_text(value)

    def _holds_a_secret(self, text: str) -> bool:
        """True if a text holds a value that must be hidden, or a word of one, such as `horse` of `correct horse`.

        These values are the tokens, account numbers, keys and transaction codes that the run knows. One letter alone is
        not compared with their words, because it is in too many texts by chance.
        """
        longer_words = [word for word in words_of(text) if len(word) > 1]
        has_a_word_of_a_secret = any(self.known.has_word(word) for word in longer_words)
        return has_a_word_of_a_secret or self.known.has(text)

    def _with_known_values_hidden(self, text: str, *, change_rest: Callable[[str], str]) -> str:
        """The text with placeholders for known values, and with the rest changed by the function `change_rest`.

        - Known values, such as tokens and account numbers, become placeholders such as `<token>`.
        - Identifiers that the suite made up, such as `pixconf-0123abcd`, are unchanged.
        - The rest may be data of a person. `change_rest` gets each piece of text between the values and identifiers.
        """

        def with_rest_changed(piece: str) -> str:
            """A text in which `change_rest` changes everything except identifiers such as `pixconf-0123abcd`.

            The suite made these identifiers up. The text has no known values, such as tokens.
            """
            texts_and_identifiers = _SYNTHETIC.split(piece)  # text, identifier, text, identifier, …, text
            return _joined_with_texts_changed(texts_and_identifiers, change_rest)

        texts_and_placeholders = self.known.split(text)
        return _joined_with_texts_changed(texts_and_placeholders, with_rest_changed)

    def _ordinary_words(self, text: str) -> str:
        """A text in which only ordinary words are readable, because any other word may be the name of a person.

        A piece between blanks that is not made of ordinary words becomes its shape: `payment of Ana` becomes `payment
        of Aaa`. A known value, such as an account number, becomes a placeholder (`<account>`). Several blanks become
        one.
        """
        with_single_blanks = _BLANKS.sub(" ", unicodedata.normalize("NFC", text))
        return self._with_known_values_hidden(with_single_blanks, change_rest=self._with_shapes_for_unusual_words)

    def _with_shapes_for_unusual_words(self, text: str) -> str:
        """The text with a shape (`Aaa`) instead of each piece between blanks that is not made of ordinary words.

        A piece becomes a shape as a whole, because half of a name may be an ordinary word. The caller has replaced
        tokens, account numbers, keys and codes before, so the text has none of them.
        """
        return _PIECE.sub(lambda piece: self._word_or_shape(piece[0]), text)

    def _word_or_shape(self, piece: str) -> str:
        """A piece of text without blanks: unchanged if all of its words are ordinary, else its shape, such as `Aaaa`.

        A piece with a digit or an `@` always becomes its shape, because it may be an identifier or an address.
        Characters between the words are always shown as their shape, in which ASCII punctuation is unchanged.
        """
        parts = _WORD.split(piece)  # every second part is a word; the others are the characters between words
        words = parts[1::2]
        has_only_ordinary_words = all(map(self._is_ordinary, words))
        may_be_identifier = _SIGN_OF_IDENTIFIER.search(piece) is not None  # it has a digit or an `@`
        if may_be_identifier or not has_only_ordinary_words:
            return shape(piece)
        return _joined_with_texts_changed(parts, shape)  # the words are unchanged

    def _is_ordinary(self, word: str) -> bool:
        """True if the word is in the list of ordinary words and in no secret of the run.

        A password such as `correct horse` is made of ordinary words: these must be hidden in spite of the list.
        """
        return word.lower() in WORDS and not self.known.has_word(word.lower())

    def _shown_token(self, token: Token) -> str:
        """What may be shown of a token, the smallest piece of a JSON text: a name, a string, a number, a brace.

        Of the names only common ones are shown. Strings and numbers are shown as far as they are no data of a person.
        """
        if token.kind == "name":
            return json.dumps(self.shown_name(token.content))
        if token.kind == "text":  # a string in quotes
            shown = json.dumps(self._shown_value(token), ensure_ascii=False)
            has_closing_quote = token.text[1:].endswith('"')  # a body that was cut may end within a string
            return shown if has_closing_quote else shown[:-1]
        if token.kind in ("sign", "blank"):
            return _BLANKS.sub(" ", token.text)
        if token.text in _LITERALS:  # true, false and null
            return token.text
        is_number = _NUMBER.fullmatch(token.text) is not None
        if is_number and not self._is_safe_to_show(token):  # its digits are hidden, and its sign and point are not
            return _DIGIT.sub("9", token.text[:_LONGEST_SHAPE])
        return self._shown_value(token)

    def _shown_value(self, token: Token) -> str:
        """What may be shown of a string, or of a word without quotes that a broken JSON text has instead of a string.

        `token` is the piece of a JSON text that has it. The first rule that applies is used:

        1. a secret that the run knows becomes its placeholder, such as `<account 2>`
        2. a value that cannot tell who a person is, such as `DONE` of `status`, is unchanged
        3. a value of a member that describes a person, and any other `status` or `type`, becomes its shape (`Aaaa`)
        4. of any other value the ordinary words are shown
        """
        text = token.content
        placeholder = self.known.placeholder_of(text)
        if placeholder:
            return placeholder
        if self._is_safe_to_show(token):
            return text
        member = folded(token.member)
        # The payer may have written `message` within `data`. The service wrote `Message` of a registration.
        is_message_of_envelope = member == "message" and "data" not in token.path
        service_wrote_it = token.member == "Message" or is_message_of_envelope
        is_personal = token.is_personal and not service_wrote_it
        if is_personal or member in _OF_FEW_VALUES:
            return self._with_known_values_hidden(text, change_rest=shape)
        return self.shown_text(text)

    def _is_safe_to_show(self, token: Token) -> bool:
        """True if the value of a JSON member is shown unchanged, because it cannot tell who a person is.

        `token` is the piece of a JSON text that has the value; it is no access token. Values that describe a person and
        secrets of the run, such as an account number, are never shown. Of the other values, these are shown:

        | member | values |
        |---|---|
        | `status`, `type` | the documented values, and one word in capitals |
        | `Success` | `true` and `false`, in any letter case |
        | `code`, `accountType` | short numbers, because a long one may identify a transfer |
        """
        text = token.content
        member = folded(token.member)
        if token.is_personal or self._holds_a_secret(text):
            return False
        if member in _OF_FEW_VALUES:
            return is_plain_value(text)
        if member == "success":
            return text.strip().lower() in ("true", "false")
        if member not in ("code", "accounttype"):
            return False
        # The path of a member of the outermost object is ("", name): the first part is the name of the whole text.
        is_code_of_envelope = member == "code" and len(token.path) == 2
        # A bank may use five digits for codes of refusals. A number within `data` may be the code of a transfer.
        longest = _LONGEST_CODE if is_code_of_envelope else _LONGEST_INNER_NUMBER
        return len(text) <= longest and _NUMBER.fullmatch(text) is not None


def _joined_with_texts_changed(pieces: Sequence[str], change: Callable[[str], str]) -> str:
    """The pieces joined to one text, after `change` was applied to the first piece, the third piece, and so on.

    The second piece, the fourth piece, and so on are separators that may be shown, so they are unchanged. `re.split`
    with a group, and `KnownValues.split`, return such lists: a text, a separator, a text, …, a text.
    """
    joined = ""
    for index, piece in enumerate(pieces):
        is_separator = index % 2 == 1
        joined += piece if is_separator else change(piece)
    return joined
