"""A request of the suite taken apart: texts that may be shown as they were sent, and values that may not.

A value that is not shown is `Redacted`. A person reads its placeholder, such as `<account>`, or its shape, such as
`Aaaa`. In a line of a shell it is a variable, such as `${ACCOUNT:?}`. These values are redacted:

- known values: the token, and the accounts, keys, codes, header values and body texts of the profile;
- known values in another spelling, such as percent-encoded or in other letter case;
- values of personal members, such as `name`.

Synthetic identifiers, which the suite makes up (`pixconf-…`), stay as they were sent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote

from environments.door.wrong_tokens import FORMS, INVALID_CREDENTIALS
from environments.profiles.model import Profile
from environments.secret_values import texts_filled_in
from reports.showing.json_tokens import Token, is_json_like, tokens
from reports.showing.show import CUT, SHOWN, Display, printable, shape
from spec.exchange import Request
from spec.facts import is_name
from spec.interface import SYNTHETIC_PREFIX, personal_fields
from spec.json_text import folded

_LARGEST_BODY = 150_000
"""Characters of a body that is taken apart. Of a larger one only its size is shown, so that it costs little."""
_LONGEST_VARIABLE = 40
"""Characters of the name of a member that become the name of a variable. A choice: it keeps the line readable."""
_PROFILE_KEYS = {"account": "accounts", "key": "pix_keys", "code": ""}
"""Key of the profile that lists a known value, by the name of the value. It is empty for a code, because a comment of
its own says which transfer the code is of."""
ANOTHER_TOKEN = "<another token>"
"""Placeholder of a wrong token."""
_SEPARATORS = re.compile(r"([/?&=;#]+)")
"""What stands between the segments of a path, and between names and values of a query."""
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
_HARMLESS_TOKEN = re.compile(r"-?\d{0,3}|-?\d+[eE][+-]?\d+|-?\d{21,}|-?[A-Za-z]+")
"""Words of a body that name nobody: NaN and the like, and numbers that are too short or too long for an account, a tax
document or a telephone."""


@dataclass(frozen=True)
class Redacted:
    """A value that is not shown."""

    expression: str  # stands for it in a shell, between double quotes: `${ACCOUNT:?}`
    shown: str = ""  # stands for it elsewhere: `<account>`
    origin: str = ""  # where a person finds it, or what it looks like; empty if its variable says enough

    @property
    def variable(self) -> str:
        """Name of the variable in an expression `${VARIABLE:?}`."""
        return self.expression.removeprefix("${").removesuffix(":?}")


Part = str | Redacted
Parts = list[Part]
"""Pieces of a text in their order: as they were sent, or redacted."""


@dataclass(frozen=True)
class RequestParts:
    """A request in parts."""

    request: Request
    url: Parts
    headers: list[tuple[str, Parts]]  # name, and the parts of the value
    body: Parts
    body_is_left_out: bool  # then `body` only says how large it is


def variable_expression(name: str) -> str:
    """Expression of a variable: `account 2` gives `${ACCOUNT_2:?}`. A shell stops if it is not set, or empty."""
    return f"${{{re.sub('[^A-Z0-9]+', '_', name.upper()).strip('_')}:?}}"


TOKEN_FILE = variable_expression("token file")
"""Expression for the path of the file with the token. The path in the profile is of another machine than the
reader's."""


def expressions_of_secrets(profile: Profile) -> dict[str, str]:
    """Expressions for the token and for headers whose values are secret, by the name in their placeholders.

    A secret that the profile takes from an environment variable has the expression of that variable.
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
    """The parts as a text for people: at most its first 4,000 characters, with placeholders for redacted values."""
    text = printable("".join(part.shown if isinstance(part, Redacted) else part for part in parts))
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}… ({len(text.encode())}{CUT}"


class RequestSplitter:
    """Takes the requests of a run apart by the values that are known."""

    def __init__(self, display: Display, profile: Profile) -> None:
        self._display = display
        self._profile_name = profile.path.name
        self._expressions_of_secrets = expressions_of_secrets(profile)
        self._texts_filled_in = texts_filled_in(profile)
        self._header_texts = {header.name.lower(): header.text for header in profile.headers if header.text}

    def parts_of(self, request: Request) -> RequestParts:
        """The parts of a request. A body that is too large, or holds a known value and is no JSON, is left out."""
        url: Parts = []
        for piece in _SEPARATORS.split(request.url):
            url += self._parts_of_text(piece, "path")
        headers = [(name, self._parts_of_header(name, value)) for name, value in request.headers]
        text = request.body.decode("utf-8", "surrogateescape")
        may_not_be_shown = not is_json_like(text) and self._names_somebody(text)
        if may_not_be_shown or len(text) > _LARGEST_BODY:
            size_in_words = f"… ({len(request.body)}{CUT}"
            return RequestParts(request, url, headers, [size_in_words], body_is_left_out=True)
        return RequestParts(request, url, headers, self._parts_of_body(text), body_is_left_out=False)

    def _names_somebody(self, text: str) -> bool:
        """True for a text with a known value, or with a personal member, such as `name=` in a form."""
        return self._display.known.has(text) or _PERSONAL_PAIR.search(text) is not None

    def _parts_of_text(self, text: str, name: str) -> Parts:
        """The parts of a text, in which each known value is redacted.

        If a known value has another spelling, the whole text is redacted, because a person has to see what to write
        there. Its variable is `SENT_` with this name.
        """
        known_values = self._display.known
        whole = known_values.whole(text)
        pieces = ["", whole, ""] if whole else known_values.split(text)  # every second piece is a placeholder
        parts: Parts = []
        in_usual_spelling = ""
        for at, piece in enumerate(pieces):
            is_placeholder = at % 2 == 1
            if is_placeholder:
                parts.append(self._known_value(piece))
                in_usual_spelling += known_values.plain[piece]
            elif piece:
                parts.append(piece)
                in_usual_spelling += piece
        decoded_text = unquote(text)
        has_encoded_value = decoded_text != text and known_values.has(decoded_text)
        if in_usual_spelling != text or has_encoded_value:
            return [_redacted_as_sent(name, text)]
        return parts

    def _known_value(self, placeholder: str) -> Redacted:
        """The known value behind a placeholder, with its variable, and the key of the profile that has it."""
        known_values = self._display.known
        name = placeholder.strip("<>")
        if name in self._expressions_of_secrets:
            return Redacted(self._expressions_of_secrets[name], placeholder)
        name_without_number = name.partition(" ")[0]
        key = known_values.origins.get(placeholder, _PROFILE_KEYS.get(name_without_number))
        if key is None:  # no key of the profile has it: a wrong token, for instance
            return Redacted(variable_expression(f"sent {name}"), placeholder, placeholder)
        origin = self._origin(key, known_values.plain[placeholder]) if key else ""
        return Redacted(variable_expression(name), placeholder, origin)

    def _origin(self, key: str, text: str) -> str:
        """The profile and its key that has a value, and the shape of the value, in one line."""
        return _in_one_line(f"{self._profile_name}, {key}, {shape(text)}")

    def _parts_of_header(self, name: str, value: str) -> Parts:
        """The parts of the value of a header."""
        if name.lower() == "authorization":
            return self._parts_of_authorization(value)
        is_of_the_profile = value == self._header_texts.get(name.lower())
        placeholder = self._display.known.whole_in_request(value) if is_of_the_profile else ""
        if placeholder:
            return [self._known_value(placeholder)]
        return self._parts_of_text(value, name)

    def _parts_of_authorization(self, value: str) -> Parts:
        """The parts of an Authorization header. A wrong token is one variable, however it was made."""
        known_values = self._display.known
        _, scheme, credential = _SCHEME.split(value)
        if credential.strip() in _PUBLIC_CREDENTIALS:
            return [value] if value else []
        placeholder = known_values.whole(credential)
        is_secret = placeholder.strip("<>") in self._expressions_of_secrets
        if is_secret and known_values.plain[placeholder] == credential:
            return [scheme, self._known_value(placeholder)]
        return [scheme, Redacted(variable_expression("wrong token"), ANOTHER_TOKEN, ANOTHER_TOKEN)]

    def _parts_of_body(self, text: str) -> Parts:
        """The parts of a body, token after token of its JSON."""
        number_of_variables: Counter[str] = Counter()  # by the name of their member
        parts: Parts = []
        for token in tokens(text):
            parts += self._parts_of_token(token, number_of_variables)
        return parts

    def _parts_of_token(self, token: Token, number_of_variables: Counter[str]) -> Parts:
        """The parts of a token of a body. If its value gets a variable of its own, that is counted."""
        if token.kind in ("sign", "blank"):  # most of a body, and nothing of it needs to be looked up
            return [token.text]
        known_values = self._display.known
        content = token.content
        quote = '"' if token.kind == "text" else ""
        placeholder = known_values.whole_in_request(content) if _is_value(token) else known_values.whole(content)
        if placeholder and token.text == f"{quote}{known_values.plain[placeholder]}{quote}":
            return [quote, self._known_value(placeholder), quote]
        key = known_values.origins.get(placeholder, "")
        if _is_value(token) and not key:
            key = self._key_of_text_filled_in(content)
        is_secret = key or _is_personal_value(token) or known_values.has(content)
        if not is_secret:
            return [token.text]
        written = token.text.strip('"')
        value = _redacted_as_sent(_name_of_variable(token, number_of_variables), written)
        if key:
            value = replace(value, origin=self._origin(key, written))
        return [quote, value, quote]

    def _key_of_text_filled_in(self, content: str) -> str:
        """The key of the profile that has a text with a placeholder, such as `to {key}`, from which this content was
        made; empty if there is none."""
        for pattern, key in self._texts_filled_in.items():
            if pattern.fullmatch(content):
                return key
        return ""


def _redacted_as_sent(name: str, text: str) -> Redacted:
    """A text that is shown as its shape, with the variable `SENT_…` for what was sent."""
    return Redacted(variable_expression(f"sent {name}"), shape(text), _in_one_line(shape(text)))


def _name_of_variable(token: Token, number_of_variables: Counter[str]) -> str:
    """Name of the variable for the value of a member: `name`, then `name 2`, and so on. It is counted."""
    name = token.member[:_LONGEST_VARIABLE] if is_name(token.member) else "member"
    number_of_variables[name] += 1
    number = number_of_variables[name]
    return name if number == 1 else f"{name} {number}"


def _in_one_line(text: str) -> str:
    """The text with one blank for each space and line end, for a comment of a shell."""
    return " ".join(text.split())


def _is_value(token: Token) -> bool:
    """True for a string, a number, or a word that stands in the place of one, and not for true, false or null."""
    return token.kind in ("text", "word") and token.text not in ("true", "false", "null")


def _is_personal_value(token: Token) -> bool:
    """True for the value of a personal member, unless the suite made it up, or it names nobody."""
    if not _is_value(token) or not token.is_personal:
        return False
    if token.kind == "word" and _HARMLESS_TOKEN.fullmatch(token.text):
        return False
    is_synthetic = token.content.startswith(SYNTHETIC_PREFIX)
    tells_more_than_its_shape = shape(token.content) != token.content
    return tells_more_than_its_shape and not is_synthetic
