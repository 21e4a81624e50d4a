"""Permission to send a request, by `allow` of the profile, the address and the transaction code.

It is the first policy of the door. It decides on the final path, by every operation that a server may read in it, and
never by the method alone. Source: a rule of the suite, `x-permission` in spec/openapi.yaml.
"""

from __future__ import annotations

import secrets
from collections.abc import Set
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

import requests

from environments.door.outgoing import Sending
from environments.door.wrong_tokens import RESTORABLE
from environments.secret_values import Secrets
from spec.exchange import MATRIX_PARAMETER
from spec.interface import SYNTHETIC_PREFIX, operations, path_parameters_reached

_EXECUTION = "executePix"


def synthetic() -> str:
    """A new synthetic identifier, which names nobody: SYNTHETIC_PREFIX and eight random hexadecimal digits."""
    return f"{SYNTHETIC_PREFIX}{secrets.token_hex(4)}"


class ForbiddenError(Exception):
    """The suite tried to send a request that the profile does not permit. A fault of the suite, never of the
    service."""


@dataclass(frozen=True)
class Permission:
    """The address and the permissions of a profile."""

    base_url: str
    allow: Set[str]
    """The permissions, such as `read` and `execute`."""
    secrets: Secrets
    """The secret values of the run, among them the real transaction codes."""

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a request that the profile does not permit:

        - to another origin than that of base_url
        - with a credential from which the token can be restored, without `fuzz`
        - that may reach an operation without its permission
        - to an undocumented path that is not synthetic
        - with a transaction code that is neither known nor synthetic
        """
        request, path = sending.request, sending.path
        if urlsplit(request.url or "")[:2] != urlsplit(self.base_url)[:2]:  # scheme, host and port
            raise ForbiddenError("a request to another origin than base_url")
        if sending.intent.credential in RESTORABLE and "fuzz" not in self.allow:
            raise ForbiddenError("a credential that the token can be restored from needs fuzz in allow")
        reached = sending.reachable_operations
        missing = {operations()[operation].permission for operation in reached} - self.allow
        if missing:
            raise ForbiddenError(f"{request.method} needs {', '.join(sorted(missing))} in allow")
        if not reached and SYNTHETIC_PREFIX not in unquote(path):
            raise ForbiddenError("an undocumented path that is not synthetic")
        if _EXECUTION in reached and not self._may_execute(path, with_token=sending.with_token):
            raise ForbiddenError("a transaction code that is neither known nor synthetic")

    def _may_execute(self, path: str, *, with_token: bool) -> bool:
        """True if each code that a server may read in the path is known or synthetic.

        With the token, the path of a known code must be exactly the documented one. Without it, the path may be written
        in an unusual way, because the request is to be refused.
        """
        codes_reached = path_parameters_reached(_EXECUTION, path)
        if all(SYNTHETIC_PREFIX in code for code in codes_reached):
            return True
        documented_path = operations()[_EXECUTION].path
        before_code, _, last_segment = path.rpartition("/")
        is_documented_path = f"{before_code}/{{transactionId}}" == documented_path
        if is_documented_path and unquote(last_segment) in self.secrets.codes:
            return True
        if with_token:
            return False
        known_codes = self._readings_of_known_codes()
        return all(code in known_codes or SYNTHETIC_PREFIX in code for code in codes_reached)

    def _readings_of_known_codes(self) -> set[str]:
        """Every text that a server may read as a code in the documented path of a known code."""
        documented_path = operations()[_EXECUTION].path
        readings: set[str] = set()
        for code in self.secrets.codes:
            path_of_code = documented_path.replace("{transactionId}", quote(code, safe=""))
            readings |= path_parameters_reached(_EXECUTION, path_of_code)
        return readings

    def path(self, request: requests.PreparedRequest) -> str:
        """The path below base_url, as it goes over the wire."""
        return urlsplit(request.url or "").path.removeprefix(urlsplit(self.base_url).path.rstrip("/"))

    def code_in(self, request: requests.PreparedRequest) -> str | None:
        """The real transaction code that the request would execute or offer; None if its path has none.

        Each segment of the path is looked at. A server may percent-decode the path before it splits it at the slashes,
        or afterwards, so both readings are tried.
        """
        # The suite may have added this parameter behind the code. It is no part of the code.
        path = self.path(request).removesuffix(MATRIX_PARAMETER)
        # From the end: the documented place of the code is the last segment, so a code there comes first.
        split_and_decoded = [unquote(segment) for segment in reversed(path.split("/"))]
        decoded_and_split = unquote(path).split("/")
        for segment in (*split_and_decoded, *decoded_and_split):
            if segment in self.secrets.codes:
                return segment
        return None
