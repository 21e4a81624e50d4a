"""Calls the documented operations: builds a request, sends it through the door, returns the exchange."""

from __future__ import annotations

import json as json_module
import secrets
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

import requests

from environments.door.authorization import VALID, authorization
from environments.door.door import Door
from environments.door.outgoing import Intent
from environments.door.permission import synthetic
from spec.exchange import Exchange
from spec.interface import operations

NOTHING = object()
"""No body at all, which is not the same as the JSON value null."""
_HEADERS = {"User-Agent": "pix-conformance", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


class Client:
    """The documented operations of one target. Headers of the profile go with every request."""

    def __init__(
        self,
        door: Door,
        *,
        base_url: str,
        token: Callable[[], str],
        headers: Iterable[tuple[str, str]] = (),
        correlation_header: str | None = None,
    ) -> None:
        self.door = door
        self._base_url, self._token = base_url, token
        self._headers = tuple(headers)
        self._correlation_header = correlation_header
        door.lockout.harmless = self._harmless

    def send(
        self,
        operation: str,
        argument: str | bytes | None = None,
        *,
        json: Any = NOTHING,
        body: bytes | None = None,
        content_type: str | None = "application/json",
        credential: str = VALID,
        headers: Iterable[tuple[str, str]] = (),
        query: str = "",
        safe: str = "",
        valid: bool = False,
    ) -> Exchange:
        """Call an operation. `argument` is its path parameter, `json` or `body` its body (raw bytes go as they are).

        Characters in `safe` stay as they are in the path. `valid` says that the interface document promises a success.
        """
        method, path = operations()[operation].method, _path(operation, argument, safe) + query
        request = self._request(
            method, path, json=json, body=body, content_type=content_type, credential=credential, headers=headers
        )
        return self.door.exchange(request, Intent(operation, credential, valid))

    def send_to_sibling(
        self, operation: str, argument: str | None = None, *, json: Any = NOTHING, body: bytes | None = None
    ) -> Exchange:
        """Send the same request to an undocumented path beside the documented one."""
        documented = operations()[operation]
        static = [part for part in documented.path.split("/") if not part.startswith("{")]
        path = "/".join([*static[:-1], synthetic(), *([quote(argument, safe="")] if argument else [])])
        return self.door.exchange(self._request(documented.method, path, json=json, body=body), Intent(""))

    def _harmless(self) -> requests.PreparedRequest:
        """An execution of a synthetic code, with an id of its own in the correlation header."""
        return self._request("GET", _path("executePix", synthetic()))

    def _request(
        self,
        method: str,
        path: str,
        *,
        json: Any = NOTHING,
        body: bytes | None = None,
        content_type: str | None = "application/json",
        credential: str = VALID,
        headers: Iterable[tuple[str, str]] = (),
    ) -> requests.PreparedRequest:
        if json is not NOTHING:
            body = json_module.dumps(json, ensure_ascii=False).encode("utf-8", "surrogatepass")
        request = requests.Request(method, self._base_url + path, data=body).prepare()
        request.headers.update(_HEADERS)
        if body is not None and content_type:
            request.headers["Content-Type"] = content_type
        if (sent := authorization(credential, self._token())) is not None:
            request.headers["Authorization"] = sent
        request.headers.update((*self._headers, *headers))
        if self._correlation_header:
            request.headers[self._correlation_header] = secrets.token_hex(16)
        return request


def _path(operation: str, argument: str | bytes | None, safe: str = "") -> str:
    documented = operations()[operation]
    if documented.path_parameter is None or argument is None:
        return documented.path
    return documented.path.replace(f"{{{documented.path_parameter}}}", quote(argument, safe=safe))
