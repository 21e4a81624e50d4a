"""Permission to send a request, by `allow` of the profile, the address and the transaction code.

It is the first check that a request passes before it is sent. It decides on the final path, by every operation that a
server may read in it, and never by the method alone. Source: a rule of the suite, `x-permission` in spec/openapi.yaml.

| word | meaning |
|---|---|
| profile | the settings of a run; its `allow` has the permissions, such as `read` and `execute` |
| `fuzz` | the permission for drawn requests and for altered tokens, which may end up in a log of the service |
| synthetic | made up by the suite: a text with `pixconf-` in it, such as `pixconf-1a2b3c4d`, which names nobody |
| known code | a transaction code of the profile, or of a transfer that the run prepared |
"""

from __future__ import annotations

import secrets
from collections.abc import Set
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

import requests

from environments.door.outgoing import Sending
from environments.door.wrong_tokens import RESTORABLE_FORMS
from environments.secret_values import Secrets
from spec.exchange import FILE_EXTENSION, MATRIX_PARAMETER
from spec.interface import SYNTHETIC_PREFIX, operations, path_parameters_reached

_EXECUTION = "executePix"


def synthetic() -> str:
    """A new made-up account, key or transaction code, such as `pixconf-1a2b3c4d`, which belongs to nobody.

    It is random, so that no service knows it. Its beginning (SYNTHETIC_PREFIX) shows that the suite made it up.
    """
    return f"{SYNTHETIC_PREFIX}{secrets.token_hex(4)}"


class ForbiddenError(Exception):
    """The suite tried to send a request that the settings of the run (the profile) do not permit. It is a fault of the
    suite, never of the service."""


@dataclass(frozen=True)
class Permission:
    """The address of the service, and the permissions that the profile (the settings of a run) has for it."""

    base_url: str
    allow: Set[str]
    """The permissions, such as `read` and `execute`."""
    secrets: Secrets
    """The secret values of the run, among them the real transaction codes."""

    def check(self, sending: Sending) -> None:
        """Raises ForbiddenError for a request that the profile (the settings of a run) does not permit:

        1. to another origin than that of base_url
        2. with a wrong token that reveals the right one, such as the token in another letter case
        3. that may reach an operation whose permission `allow` does not have
        4. to an undocumented path that has no made-up part
        5. with a transaction code that is neither known (of the profile, or prepared by the run) nor made up

        The second is permitted if `allow` has `fuzz`. It is dangerous because a service may write refused tokens to a
        log. The fourth is forbidden because an undocumented path may be a real operation.
        """
        request = sending.request
        path = sending.path
        if _origin_of(request.url or "") != _origin_of(self.base_url):
            raise ForbiddenError("a request to another origin than base_url")
        reveals_right_token = sending.intent.credential in RESTORABLE_FORMS
        if reveals_right_token and "fuzz" not in self.allow:
            raise ForbiddenError("a credential that the token can be restored from needs fuzz in allow")
        reached = sending.reachable_operations
        missing_permissions = {operations()[operation].permission for operation in reached} - self.allow
        if missing_permissions:
            raise ForbiddenError(f"{request.method} needs {', '.join(sorted(missing_permissions))} in allow")
        is_undocumented_path = not reached
        if is_undocumented_path and SYNTHETIC_PREFIX not in unquote(path):
            raise ForbiddenError("an undocumented path that is not synthetic")
        if _EXECUTION in reached and not self._may_execute(path, with_token=sending.with_token):
            raise ForbiddenError("a transaction code that is neither known nor synthetic")

    def _may_execute(self, path: str, *, with_token: bool) -> bool:
        """True if each transaction code that a server may read in the path may be sent.

        | codes in the path | permitted |
        |---|---|
        | all are made up by the suite (they have `pixconf-` in them) | always |
        | a known code (of the profile, or prepared by the run), in exactly the documented path | always |
        | known and made-up codes, in a path written in an unusual way, such as with two slashes | without the token |

        With the right token such an unusual path is forbidden, because a server might read another code in it and
        execute another transfer. Without the token the service has to refuse the request anyway.
        """
        codes_reached = path_parameters_reached(_EXECUTION, path)
        if all(SYNTHETIC_PREFIX in code for code in codes_reached):
            return True
        documented_path = operations()[_EXECUTION].path
        before_code, _, last_segment = path.rpartition("/")  # the code is the last segment of the documented path
        is_documented_path = before_code + "/{transactionId}" == documented_path
        if is_documented_path and unquote(last_segment) in self.secrets.codes:
            return True
        if with_token:
            return False
        known_codes = self._readings_of_known_codes()
        other_codes = codes_reached - known_codes
        return all(SYNTHETIC_PREFIX in code for code in other_codes)

    def _readings_of_known_codes(self) -> set[str]:
        """Every text that a server may read as the transaction code if the path has a known code.

        The code `a;b` may be read as it is, or as `a` alone. A way to write the path adds `.json` to it. Known are the
        codes in the profile (the settings of the run), and the codes of transfers that the run prepared.
        """
        documented_path = operations()[_EXECUTION].path
        readings: set[str] = set()
        for code in self.secrets.codes:
            path_of_code = documented_path.replace("{transactionId}", quote(code, safe=""))
            readings |= path_parameters_reached(_EXECUTION, path_of_code)
            readings |= path_parameters_reached(_EXECUTION, path_of_code + FILE_EXTENSION)
        return readings

    def path_below_base_url(self, request: requests.PreparedRequest) -> str:
        """The path of a request as it is sent, without the path of base_url.

        `/v1/accounts`, if base_url is `https://bank.example/api` and the address is `…/api/v1/accounts`.
        """
        path_of_base_url = urlsplit(self.base_url).path.rstrip("/")
        return urlsplit(request.url or "").path.removeprefix(path_of_base_url)

    def code_in(self, request: requests.PreparedRequest) -> str | None:
        """The real transaction code in the path of a request; None if there is none.

        Such a request may move money, with the right token or with a wrong one. Each segment of the path is compared
        with the known codes. A server may percent-decode the path before it splits it at the slashes, or afterwards, so
        both readings are tried.
        """
        # The suite may have added a parameter (`;…`) or `.json` behind the code. These are no part of the code.
        path = self.path_below_base_url(request).removesuffix(MATRIX_PARAMETER).removesuffix(FILE_EXTENSION)
        # From the end: the documented place of the code is the last segment, so a code there comes first.
        split_and_decoded = [unquote(segment) for segment in reversed(path.split("/"))]
        decoded_and_split = unquote(path).split("/")
        for segment in (*split_and_decoded, *decoded_and_split):
            if segment in self.secrets.codes:
                return segment
        return None


def _origin_of(url: str) -> tuple[str, str]:
    """The origin of an address: its scheme, and its host with the port, such as `("https", "bank.example:8443")`."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
