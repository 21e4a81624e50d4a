"""The public face of redaction: one method for each kind of thing that leaves the process; and how a person sends a
request of a run again: the options of curl and the variables, as the profile has them.
"""

from __future__ import annotations

import shlex
import threading
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from environments.profiles.profile import Header, Profile, shown
from environments.profiles.target import is_secret
from environments.secrets import Secrets, listed_secrets
from reports.curl import Shell, Value, curl_line, variable
from reports.redaction import http_parts, masks
from reports.redaction.bodies import decoded, is_json_like, personal_values, redact_body
from reports.redaction.curl_parts import CurlParts
from reports.redaction.engine import Engine, SecondEngine
from reports.redaction.knowledge import Knowledge
from reports.redaction.masks import mask_others
from reports.wording import one_line
from spec.exchange import LARGE
from spec.interface import personal_fields


def shell_of(profile: Profile) -> Shell:
    """What stands in reproduce lines for what a profile names and keeps elsewhere."""
    headers = {f"header {header.name}": _header(header, profile) for header in profile.headers if is_secret(header)}
    return Shell(
        options=tuple(_options(profile)),
        values={"token": _token(profile), **headers},
        supplied={
            "account": len(profile.accounts),
            "key": len(profile.pix_keys),
            "code": len(profile.transactions.codes),
        },
    )


def _token(profile: Profile) -> Value:
    """A token command is not repeated: what it is given may be a secret."""
    auth = profile.auth
    if auth.token_file:
        read = f"$(cat {shlex.quote(str(auth.token_file))})"
        return Value(read, read)
    if auth.token_command:
        return variable("PIX_TOKEN", f"what auth.token_command of {shown(profile.path)} prints")
    return variable(auth.token_env or "PIX_TOKEN", "the access token")


def _header(header: Header, profile: Profile) -> Value:
    where = f"the header {header.name}"
    return variable(header.env or header.name, where if header.env else f"{where} of {shown(profile.path)}")


def _options(profile: Profile) -> Iterator[str]:
    tls = profile.tls
    for option, file in (("--cacert", tls.ca_bundle), ("--cert", tls.client_cert), ("--key", tls.client_key)):
        if file:
            yield f"{option} {shlex.quote(str(file))}"
    if tls.client_key_passphrase_env:
        yield f'--pass "{variable(tls.client_key_passphrase_env, "the passphrase of tls.client_key").expression}"'
    if profile.proxy:
        yield f"--proxy {shlex.quote(profile.proxy)}"


_SHELL = Shell()
_MARK = r"\ufeff"
SHOWN = 4_000
"""Characters of a body that are shown."""


_Sent = ParamSpec("_Sent")
_Given = TypeVar("_Given")


def _one_at_a_time(
    method: Callable[Concatenate[Redactor, _Sent], _Given],
) -> Callable[Concatenate[Redactor, _Sent], _Given]:
    """What is known is read before each text, by one thread at a time."""

    @wraps(method)
    def held(redactor: Redactor, /, *args: _Sent.args, **kwargs: _Sent.kwargs) -> _Given:
        with redactor._pen:
            return method(redactor, *args, **kwargs)

    return held


class Redactor:
    """Hides secrets, values of the profile and personal data in everything that leaves the process.

    `secrets` is the registry of what is known, also of what becomes known later, `fields` are the names of personal
    members, and `shell` says how a person sends a request again. Results are safe to print: control
    characters, bidi overrides and lone surrogates are escaped. No input makes a method raise, and none takes more
    than time in proportion to its length. Any thread may call it.
    """

    def __init__(self, secrets: Secrets, fields: Iterable[str], shell: Shell = _SHELL) -> None:
        self._secrets, self._knowledge = secrets, Knowledge(secrets, fields)
        self._of_known = Engine(self._knowledge)
        self._of_refusals = Engine(self._knowledge, mask_others)
        self._of_redacted = SecondEngine(self._knowledge)
        self.shell = shell
        self._pen = threading.RLock()

    @property
    def _engine(self) -> Engine:
        """The engine, which redacts everything that is known by now."""
        self._knowledge.read()
        return self._of_known

    @_one_at_a_time
    def learn_from(self, body: bytes, others: Iterable[str] = ()) -> None:
        """Hide what the personal members of a JSON body hold, and `others`, wherever else they turn up.

        Learned are strings of four characters or more and numbers of five digits or more; not learned are
        words of the interface such as `DONE`, and synthetic identifiers of the suite.
        """
        text = decoded(body)
        self._knowledge.read()
        values = dict.fromkeys([*others, *(personal_values(text, self._knowledge) if is_json_like(text) else ())])
        self._secrets.learn_personal(*filter(self._knowledge.is_unknown, values))

    @_one_at_a_time
    def text(self, text: str) -> str:
        """Free text; doing it twice changes nothing more."""
        return masks.printable(self._engine.redact(text))

    def line(self, text: str) -> str:
        """Free text in one line, in which no CI system finds a command of its own."""
        return one_line(self.text(text))

    @_one_at_a_time
    def again(self, redacted: str) -> str:
        """What was redacted when less was known, redacted by what is known by now. Nothing else changes."""
        self._knowledge.read()
        return masks.printable(self._of_redacted.redact(redacted))

    @_one_at_a_time
    def body(self, body: bytes, content_type: str = "", *, refusal: bool = False, size: int = 0) -> str:
        """A body for people: redacted in its own layout, then cut after 4,000 characters. Personal texts of a refusal
        show the words of the vocabulary. `size`: bytes of the whole, where `body` is its start. A byte order mark,
        which decoding drops, shows as an escape."""
        self._knowledge.read()
        engine = self._of_refusals if refusal else self._of_known
        size = max(size, len(body))
        text, whole = decoded(body[:LARGE], content_type), size <= LARGE
        redacted = redact_body(text, content_type, engine, SHOWN, whole=whole)
        mark = _MARK if body.startswith(BOM_UTF8) else ""
        shown = mark + masks.printable(redacted.text[: SHOWN + 1])
        if redacted.complete and len(shown) <= SHOWN:
            return shown
        return f"{shown[:SHOWN]}… ({size} bytes in all)"

    @_one_at_a_time
    def url(self, url: str) -> str:
        """An address without known values in its path, query and user information."""
        return masks.printable(http_parts.redact_url(url, self._engine))

    @_one_at_a_time
    def headers(self, headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Headers; credentials and cookies are replaced whole, their scheme stays."""
        return tuple(
            (masks.printable(name), masks.printable(value))
            for name, value in http_parts.redact_headers(headers, self._engine)
        )

    @_one_at_a_time
    def curl(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]],
        body: bytes,
        credential: str = "as it was sent",
        *,
        shows_headers: bool = True,
    ) -> str:
        """A line that sends the request again, once the variables that it names are set. `credential` says which one
        was sent in place of the token."""
        sent = CurlParts(self._engine, self.shell).line(method, url, headers, body, credential)
        return curl_line(sent, self.shell, shows_headers=shows_headers)


def redactor_of(profile: Profile, secrets: Secrets | None = None) -> Redactor:
    """Hides the secrets of a target, or where there is none the values that the profile lists."""
    return Redactor(secrets or listed_secrets(profile), personal_fields(), shell_of(profile))
