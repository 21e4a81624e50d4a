"""A request of the suite taken apart: texts that may be shown as they were sent, and values that may not.

A value that is not shown is `Redacted`. A person reads its placeholder, such as `<account>`, or its shape (letters as
`a`, digits as `9`), such as `Aaaa`. In a line of a shell it is a variable, such as `${ACCOUNT:?}`. These values are
redacted:

- known values: the token, and the accounts, keys, codes, header values and body texts of the profile;
- known values in another spelling, such as percent-encoded or in other letter case;
- values of personal members, such as `name`.

Synthetic identifiers, which the suite makes up (`pixconf-…`), are shown as they were sent. Answers have rules of their
own (`show.py`), because a service may write any value there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from environments.door.wrong_tokens import FORMS, INVALID_CREDENTIALS
from environments.profiles.model import Profile
from environments.secret_values import patterns_of_filled_texts
from reports.showing.json_tokens import Token, is_json_like, tokens
from reports.showing.show import END_OF_CUT_BODY, MOST_BYTES_SHOWN, Display, printable, shape
from spec.exchange import Request
from spec.facts import is_surely_no_data
from spec.interface import SYNTHETIC_PREFIX, personal_fields
from spec.json_text import folded

_LARGEST_BODY = 150_000
"""Most characters of a body that is divided into parts. Of a larger body only the size is shown, to save time."""
_LONGEST_VARIABLE = 40
"""Most characters of the name of a member that become the name of a variable, so that the line is short. A choice."""
_PROFILE_KEYS = {"account": "accounts", "key": "pix_keys", "code": ""}
"""Key of the profile that lists a known value, by the name of the value in its placeholder. For a code it is empty,
because another comment says which kind of transfer the code is of."""
ANOTHER_TOKEN = "<another token>"
"""Placeholder of a wrong token."""
_SEPARATORS = re.compile(r"([/?&=;#]+)")
"""Signs between the segments of a path, and between names and values of a query."""
_SCHEME = re.compile(r"\A((?:bearer|token|dpop|oauth|basic|digest|negotiate|ntlm|apikey)(?: +|\Z)|)", re.IGNORECASE)
"""The scheme at the start of an Authorization header, or nothing. `split` gives an empty text, the scheme with its
blanks, and the credential."""
_AUTHORIZATIONS_WITHOUT_TOKEN = (
    *INVALID_CREDENTIALS.values(),
    *(form.scheme for form in FORMS if not form.make),
)
"""Values of the Authorization header that are not made from the token."""
_PUBLIC_CREDENTIALS = {_SCHEME.split(value)[2] for value in _AUTHORIZATIONS_WITHOUT_TOKEN}
"""Credentials that are not made from the token, and may be shown. The empty one is among them."""
_PERSONAL_PAIR = re.compile(rf"\b(?:{'|'.join(map(folded, personal_fields()))})\b[\"'\]]?\s?[:=>]", re.IGNORECASE)
"""A personal member within a body that is no JSON, such as a form."""
_IMPERSONAL_WORD = re.compile(r"-?\d{0,3}|-?\d+[eE][+-]?\d+|-?\d{21,}|-?[A-Za-z]+")
"""Words without quotes that cannot tell who a person is: NaN and the like, and numbers that are too short or too long
for the number of an account, a tax document or a telephone."""


@dataclass(frozen=True)
class Redacted:
    """A value of a request that may not be shown, with what is written instead of it."""

    expression: str  # written instead of the value in a shell line, between double quotes: `${ACCOUNT:?}`
    shown: str = ""  # written instead of the value elsewhere: `<account>`
    origin: str = ""  # where a person finds it, or what it looks like; empty if its variable says enough

    @property
    def variable(self) -> str:
        """Name of the shell variable that a person sets to this value: `ACCOUNT` for the expression `${ACCOUNT:?}`."""
        return self.expression.removeprefix("${").removesuffix(":?}")


Part = str | Redacted
Parts = list[Part]
"""Pieces of a text in their order: as they were sent, or redacted."""


@dataclass(frozen=True)
class RequestParts:
    """A request whose address, header values and body are divided into parts: texts, and values that are not shown."""

    request: Request
    url: Parts
    headers: list[tuple[str, Parts]]  # name, and the parts of the value
    body: Parts
    body_is_left_out: bool  # then `body` only says how large it is


def variable_expression(name: str) -> str:
    """The expression by which a shell line uses a variable: `account 2` gives `${ACCOUNT_2:?}`.

    Because of `:?` a shell stops with an error if the variable is empty or not set.
    """
    name_in_shell = re.sub("[^A-Z0-9]+", "_", name.upper()).strip("_")  # such as ACCOUNT_2
    return "${" + name_in_shell + ":?}"


TOKEN_FILE = variable_expression("token file")
"""Expression for the path of the file with the token. It is a variable, because the path in the profile is a path on
another machine than that of the reader."""


def expressions_of_secrets(profile: Profile) -> dict[str, str]:
    """Shell expressions for the token and the secret headers, by name: `{"token": "${PIX_TOKEN:?}"}`.

    A line that sends a request again has the expression instead of the secret. If the profile reads the secret from an
    environment variable, the expression is that variable, because the person has set it already. If the profile reads
    the token from a file, the expression prints the file.
    """
    token = variable_expression(profile.auth.token_env or "PIX_TOKEN")
    if profile.auth.token_file:
        token = f'$(cat "{TOKEN_FILE}")'
    expressions = {"token": token}
    for header in profile.headers:
        if header.env:
            expressions[f"header {header.name}"] = variable_expression(header.env)
    return expressions


def shown_parts(parts: Iterable[Part]) -> str:
    """The parts of a request as one text for people: at most 4,000 characters, without secret values.

    For each secret value the text has its placeholder, such as `<account>`. A longer text ends with its size.
    """
    text = ""
    for part in parts:
        text += part.shown if isinstance(part, Redacted) else part
    text = printable(text)
    if len(text) <= MOST_BYTES_SHOWN:
        return text
    return f"{text[:MOST_BYTES_SHOWN]}… ({len(text.encode())}{END_OF_CUT_BODY}"


class RequestSplitter:
    """Divides the requests of a run into texts that may be shown and values that may not."""

    def __init__(self, display: Display, profile: Profile) -> None:
        """`display` knows which values are secret. `profile` has the keys under which a person finds these values.

        The keys become comments of the shell lines, such as `# ACCOUNT: pix.yaml, accounts, 99999`.
        """
        self._display = display
        self._profile_name = profile.path.name
        self._expressions_of_secrets = expressions_of_secrets(profile)
        # By the pattern of a text with gaps, such as `to {key}`: the key of the profile that has the text.
        self._patterns_of_filled_texts = patterns_of_filled_texts(profile)
        self._header_texts = {header.name.lower(): header.text for header in profile.headers if header.text}

    def parts_of(self, request: Request) -> RequestParts:
        """A request divided into texts that may be shown and secret values that may not.

        The body is left out, and only its size is told, in two cases: it is very large; or it is no JSON and may hold
        personal data, because only in JSON the suite can tell which values are personal.
        """
        url: Parts = []
        for piece in _SEPARATORS.split(request.url):
            url += self._parts_of_text(piece, "path")
        headers = [(name, self._parts_of_header(name, value)) for name, value in request.headers]
        text = request.body.decode("utf-8", "surrogateescape")
        may_not_be_shown = not is_json_like(text) and self._has_personal_data(text)
        if may_not_be_shown or len(text) > _LARGEST_BODY:
            size_in_words = f"… ({len(request.body)}{END_OF_CUT_BODY}"
            return RequestParts(request, url, headers, [size_in_words], body_is_left_out=True)
        return RequestParts(request, url, headers, self._parts_of_body(text), body_is_left_out=False)

    def _has_personal_data(self, text: str) -> bool:
        """True if a text has a secret value of the run, or a personal field such as `name=`. The text is no JSON."""
        has_secret_value = self._display.known.has(text)
        has_personal_field = _PERSONAL_PAIR.search(text) is not None
        return has_secret_value or has_personal_field

    def _parts_of_text(self, text: str, name: str) -> Parts:
        """The parts of a text. Each token, account number, key or code in it becomes `Redacted`.

        `Redacted` is a value that is not shown, with the shell variable that replaces it. If the text has the value in
        another form than the profile, for example percent-encoded, the whole text becomes one `Redacted` value with its
        shape (letters as `a`, digits as `9`). So a person sees in which form to write it. Its variable is `SENT_`
        followed by `name`.
        """
        known_values = self._display.known
        placeholder_of_all = known_values.placeholder_of(text)  # empty if the text is more than a value
        # Every second piece is a placeholder; the others are text.
        pieces = ["", placeholder_of_all, ""] if placeholder_of_all else known_values.split(text)
        if self._has_value_in_another_form(text, pieces):
            return [_redacted_as_sent(name, text)]
        parts: Parts = []
        for index, piece in enumerate(pieces):
            is_placeholder = index % 2 == 1
            if is_placeholder:
                parts.append(self._redacted_known_value(piece))
            elif piece:
                parts.append(piece)
        return parts

    def _has_value_in_another_form(self, text: str, pieces: list[str]) -> bool:
        """True if a text has a secret value in another form than the profile, for example percent-encoded.

        `pieces` are the pieces of the text. Every second one is a placeholder, which stands for a value.
        """
        known_values = self._display.known
        text_as_in_profile = ""
        for index, piece in enumerate(pieces):
            is_placeholder = index % 2 == 1
            text_as_in_profile += known_values.value_by_placeholder[piece] if is_placeholder else piece
        if text_as_in_profile != text:  # `AC-1` for the account `ac-1`: the value is found, in another letter case
            return True
        # `%61c-1` for the account `ac-1`: no value is found in the text, only in the decoded text.
        decoded_text = unquote(text)
        return decoded_text != text and known_values.has(decoded_text)

    def _redacted_known_value(self, placeholder: str) -> Redacted:
        """The value that a placeholder such as `<account>` replaces, with the shell variable that a line has instead.

        Its origin tells a person where to find the value, for example `pix.yaml, accounts, 99999`. The token and secret
        headers need no origin, because the profile names their environment variable or file.
        """
        known_values = self._display.known
        name = placeholder.strip("<>")  # such as `account 2`
        if name in self._expressions_of_secrets:
            return Redacted(self._expressions_of_secrets[name], placeholder)
        name_without_number = name.partition(" ")[0]  # `account` for `<account 2>`
        key_of_list = _PROFILE_KEYS.get(name_without_number)  # such as `accounts`; None if no list has such values
        profile_key = known_values.profile_key_by_placeholder.get(placeholder, key_of_list)
        if profile_key is None:  # the value is not in the profile: a wrong token, for instance
            # Its origin is its placeholder, so that a comment still says what the variable is.
            return Redacted(variable_expression(f"sent {name}"), shown=placeholder, origin=placeholder)
        origin = ""
        if profile_key:  # it is empty for a transaction code, whose comment says of which kind of transfer the code is
            origin = self._origin_in_words(profile_key, known_values.value_by_placeholder[placeholder])
        return Redacted(variable_expression(name), placeholder, origin)

    def _origin_in_words(self, profile_key: str, text: str) -> str:
        """Where a person finds a secret value, in one line: profile, key in the profile, and the shape of the value.

        For example `pix.yaml, accounts, 99999`. The shape, in which digits are `9` and letters `a`, tells which value
        of a list is meant.
        """
        return _in_one_line(f"{self._profile_name}, {profile_key}, {shape(text)}")

    def _parts_of_header(self, name: str, value: str) -> Parts:
        """The value of a request header, divided into texts that may be shown and secret values that may not."""
        if name.lower() == "authorization":
            return self._parts_of_authorization(value)
        is_from_the_profile = value == self._header_texts.get(name.lower())
        if is_from_the_profile:
            # Even a short value such as `1` is hidden here. In any other text a `1` is shown: it is there by chance.
            placeholder = self._display.known.placeholder_in_request(value)  # such as `<header X-Channel>`
            if placeholder:  # it is empty if the value has only blanks
                return [self._redacted_known_value(placeholder)]
        return self._parts_of_text(value, name)

    def _parts_of_authorization(self, value: str) -> Parts:
        """The value of an Authorization header in parts: its scheme, such as `Bearer `, and the token as a variable.

        A value that is not made from the token, such as an invented one, may be shown as it is. The right token has the
        variable of the token. Any other token is a wrong one that was made from the right one, and has the variable
        `WRONG_TOKEN`, because a line before it makes that token.
        """
        known_values = self._display.known
        _, scheme, credential = _SCHEME.split(value)  # the first part, before the scheme, is always empty
        if credential.strip() in _PUBLIC_CREDENTIALS:
            return [value] if value else []
        # Such as `<token>`. It is found in any letter case, so the credential may be a wrong token.
        placeholder = known_values.placeholder_of(credential)
        is_secret_of_profile = placeholder.strip("<>") in self._expressions_of_secrets
        if is_secret_of_profile and known_values.value_by_placeholder[placeholder] == credential:
            return [scheme, self._redacted_known_value(placeholder)]
        return [scheme, Redacted(variable_expression("wrong token"), ANOTHER_TOKEN, ANOTHER_TOKEN)]

    def _parts_of_body(self, text: str) -> Parts:
        """A JSON body, divided into texts that may be shown and secret values that may not."""
        number_of_variables: Counter[str] = Counter()  # by the name of the JSON member whose value a variable replaces
        parts: Parts = []
        for token in tokens(text):
            parts += self._parts_of_token(token, number_of_variables)
        return parts

    def _parts_of_token(self, token: Token, number_of_variables: Counter[str]) -> Parts:
        """The parts of a token, which is the smallest piece of a JSON body: a name, a string, a number, a brace.

        It is one part if it may be shown, else its quotes with a variable between them. `number_of_variables` counts
        the variables by member name, so that each gets a name of its own; this method may increase it.
        """
        if token.kind in ("sign", "blank"):  # a brace or a space is never secret, and most of a body is such
            return [token.text]
        known_values = self._display.known
        content = token.content  # without quotes and escapes
        quote = '"' if token.kind == "text" else ""
        placeholder = self._placeholder_of_token(token)
        if placeholder:
            text_as_in_profile = f"{quote}{known_values.value_by_placeholder[placeholder]}{quote}"
            if token.text == text_as_in_profile:
                return [quote, self._redacted_known_value(placeholder), quote]
        profile_key = self._profile_key_of_token(token, placeholder)
        is_secret = profile_key != "" or _is_personal_value(token) or known_values.has(content)
        if not is_secret:
            return [token.text]
        text_without_quotes = token.text.strip('"')
        value = _redacted_as_sent(_name_of_variable(token, number_of_variables), text_without_quotes)
        if profile_key:
            value = replace(value, origin=self._origin_in_words(profile_key, text_without_quotes))
        return [quote, value, quote]

    def _placeholder_of_token(self, token: Token) -> str:
        """The name that replaces a token in outputs, such as `<account>`; empty if it is no secret of the run.

        A short text of the profile, such as `1`, is replaced only if it is a value, and not the name of a member.
        """
        if _is_value(token):
            return self._display.known.placeholder_in_request(token.content)
        return self._display.known.placeholder_of(token.content)

    def _profile_key_of_token(self, token: Token, placeholder: str) -> str:
        """The key of the profile that has the text of a token, such as `requests.createPix.json.to`; empty if none has.

        `placeholder` is the name that replaces the token in outputs.
        """
        profile_key = self._display.known.profile_key_by_placeholder.get(placeholder, "")
        if profile_key or not _is_value(token):
            return profile_key
        return self._key_of_text_filled_in(token.content)

    def _key_of_text_filled_in(self, content: str) -> str:
        """The key of the profile from whose text this content was made, such as `requests.createPix.json.message`.

        A text of the profile may have a gap, such as `to {key}`. The suite fills in a key before it sends the text, so
        the content is compared with the text of the profile as a pattern. Empty if no text of the profile matches.
        """
        for pattern, profile_key in self._patterns_of_filled_texts.items():
            if pattern.fullmatch(content):
                return profile_key
        return ""


def _redacted_as_sent(name: str, text: str) -> Redacted:
    """A secret text that is no value of the profile, but for example a part of one.

    The shell variable in the place of the text is `SENT_` and the name `name` in capitals. In outputs the text is shown
    as its shape, such as `Aaaa 99`, so that a person knows what to set the variable to.
    """
    return Redacted(variable_expression(f"sent {name}"), shape(text), _in_one_line(shape(text)))


def _name_of_variable(token: Token, number_of_variables: Counter[str]) -> str:
    """A new name for the shell variable of a secret value in a body: `document`, then `document 2`, and so on.

    It is the name of the JSON member that has the value. `number_of_variables` counts the variables by that name, and
    is increased here. A name that interfaces do not commonly use may be data, so `member` is used instead.
    """
    name = token.member[:_LONGEST_VARIABLE] if is_surely_no_data(token.member) else "member"
    number_of_variables[name] += 1
    number = number_of_variables[name]
    return name if number == 1 else f"{name} {number}"


def _in_one_line(text: str) -> str:
    """The text in one line with single blanks, because a line end would end the comment of a shell."""
    return " ".join(text.split())


def _is_value(token: Token) -> bool:
    """True if a piece of JSON is a string or a number, or a word without quotes that broken JSON has instead.

    Names of members are no values. True, false and null are never secret, so they do not count either.
    """
    return token.kind in ("text", "word") and token.text not in ("true", "false", "null")


def _is_personal_value(token: Token) -> bool:
    """True for a value that may tell who a person is, because its member describes a person, such as `document`.

    False for a value that tells nothing: a short number, a text of punctuation, or an identifier that the suite made up
    (it starts with `SYNTHETIC_PREFIX`).
    """
    if not _is_value(token) or not token.is_personal:
        return False
    if token.kind == "word" and _IMPERSONAL_WORD.fullmatch(token.text):
        return False
    is_made_up = token.content.startswith(SYNTHETIC_PREFIX)
    has_letters_or_digits = shape(token.content) != token.content  # the shape replaces letters and digits only
    return has_letters_or_digits and not is_made_up
