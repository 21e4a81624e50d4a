"""Permission to send a request, decided on its final path, by operation and never by method."""

from __future__ import annotations

import secrets
from collections.abc import Set
from dataclasses import dataclass
from itertools import chain
from urllib.parse import quote, unquote, urlsplit

import requests

from environments.door.outgoing import Sending
from environments.door.wrong_tokens import RESTORABLE
from environments.secret_values import Secrets
from spec.exchange import MATRIX_PARAMETER
from spec.interface import MARK, operations, path_parameters_reached

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
        path = sending.path
        if urlsplit(request.url or "")[:2] != urlsplit(self.base_url)[:2]:
            raise ForbiddenError("a request to another origin than base_url")
        if sending.intent.credential in RESTORABLE and "fuzz" not in self.allow:
            raise ForbiddenError("a credential that the token can be restored from needs fuzz in allow")
        reached = sending.reaches
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
        is_synthetic = all(MARK in code for code in read)
        if not sending.with_token:  # in whatever way the path is written
            may_be_meant = frozenset(chain(*known))
            is_known |= all(code in may_be_meant or MARK in code for code in read)
        if _EXECUTION in reached and not is_known and not is_synthetic:
            raise ForbiddenError("a transaction code that is neither known nor synthetic")

    def path(self, request: requests.PreparedRequest) -> str:
        """The path below base_url, as it goes over the wire."""
        return urlsplit(request.url or "").path.removeprefix(urlsplit(self.base_url).path.rstrip("/"))

    def code_in(self, request: requests.PreparedRequest) -> str | None:
        """The real transaction code that stands in the path, in whatever segment."""
        path, codes = self.path(request).removesuffix(MATRIX_PARAMETER), self.secrets.codes
        segments = [*map(unquote, reversed(path.split("/"))), *unquote(path).split("/")]
        return next((segment for segment in segments if segment in codes), None)
