"""Permission to send a request, decided on its final path, by operation and never by method."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Set
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import requests

from environments.door.outgoing import Sending
from environments.door.wrong_tokens import RESTORABLE
from environments.secret_values import Secrets
from spec.interface import KEY_TYPES, MARK, operations, operations_reached, path_parameters_reached
from spec.json_text import leaves_of

_EXECUTION = "executePix"


def synthetic() -> str:
    """A synthetic identifier, which names nobody: MARK and eight random hex digits."""
    return f"{MARK}{secrets.token_hex(4)}"


class ForbiddenError(Exception):
    """The suite tried to send what the profile does not permit. A fault of the suite, never of the service."""


@dataclass(frozen=True)
class Permission:
    """The address and the permissions of a profile. `secrets` knows the real transaction codes."""

    base_url: str
    allow: Set[str]
    secrets: Secrets

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for another origin, a missing permission, an unknown code that is not synthetic, or a
        credential that tells the token."""
        request, codes = sending.request, self.secrets.codes
        path = self.path(request)
        if urlsplit(request.url or "")[:2] != urlsplit(self.base_url)[:2]:
            raise ForbiddenError("a request to another origin than base_url")
        if sending.intent.credential in RESTORABLE and "fuzz" not in self.allow:
            raise ForbiddenError("a credential that the token can be restored from needs fuzz in allow")
        reached = operations_reached(request.method or "", path)
        if missing := {operations()[op].permission for op in reached} - self.allow:
            raise ForbiddenError(f"{request.method} needs {', '.join(sorted(missing))} in allow")
        if not reached and MARK not in unquote(path):
            raise ForbiddenError("an undocumented path that is not synthetic")
        before, _, last = path.rpartition("/")
        read, execution = path_parameters_reached(_EXECUTION, path), operations()[_EXECUTION].path  # however it is read
        is_known = unquote(last) in codes and f"{before}/{{transactionId}}" == execution
        known = (
            path_parameters_reached(_EXECUTION, execution.replace("{transactionId}", quote(code, safe="")))
            for code in codes
        )
        is_known |= not sending.with_token and read.issubset(chain(*known))
        is_synthetic = all(MARK in code for code in read)
        if _EXECUTION in reached and not is_known and not is_synthetic:
            raise ForbiddenError("a transaction code that is neither known nor synthetic")

    def path(self, request: requests.PreparedRequest) -> str:
        """The path below base_url, as it goes over the wire."""
        return urlsplit(request.url or "").path.removeprefix(urlsplit(self.base_url).path.rstrip("/"))

    def code_in(self, request: requests.PreparedRequest) -> str | None:
        """The real transaction code that stands in the path, in whatever segment."""
        path, codes = self.path(request), self.secrets.codes
        segments = [*map(unquote, reversed(path.split("/"))), *unquote(path).split("/")]
        return next((segment for segment in segments if segment in codes), None)


# -- what a body names ----------------------------------------------------------------------------------------------


def texts_of(body: bytes) -> list[str]:
    """Every text and number of a body, in JSON or in a form."""
    return _texts(_read(body))


def key_sent(body: bytes) -> tuple[str | None, str]:
    """The key and the type in the body of a registration, a number as the text that it is. None where the service has
    to make the key."""
    value = _read(body)
    members = value if isinstance(value, dict) else {}
    key, key_type = (next(iter(_texts(members.get(name))), None) for name in ("pixKey", "pixKeyType"))
    is_made = not key and (key_type == "RANDOM" or key_type not in KEY_TYPES)
    return None if is_made else key, key_type or ""


def names(text: str, key: str) -> bool:
    """True if the text names the key, and not a longer one that it is a part of."""
    return key in text and re.search(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", text) is not None


def _read(body: bytes) -> Any:
    """The body with each number as the text that it is: some are beyond a float, or too long for an int."""
    try:
        return json.loads(body, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return parse_qs(body.decode("utf-8", "replace"))


def _texts(value: Any) -> list[str]:
    try:
        return [str(leaf) for _, leaf in leaves_of(value) if not isinstance(leaf, dict | list | bool | None)]
    except RecursionError:  # nobody reads as deep a body
        return []
