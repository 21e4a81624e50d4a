"""Speaks the documented operations: builds a request, sends it through the door, gives the exchange."""

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

__all__ = ["NOTHING", "Client", "synthetic"]

NOTHING = object()
"""No body at all, which is not the same as the JSON value null."""


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

        Characters in `safe` stand in the path as they are. `valid` says that the document promises a success.
        """
        documented = operations()[operation]
        path = documented.path
        if documented.argument and argument is not None:
            path = path.replace(f"{{{documented.argument}}}", quote(argument, safe=safe))
        request = self._request(documented.method, path + query, json, body, content_type, credential, headers)
        return self.door.exchange(request, Intent(operation, credential, valid))

    def send_to_sibling(
        self, operation: str, argument: str | None = None, *, json: Any = NOTHING, body: bytes | None = None
    ) -> Exchange:
        """The same request to a path beside the documented one, which nobody documented."""
        documented = operations()[operation]
        static = [part for part in documented.path.split("/") if not part.startswith("{")]
        path = "/".join([*static[:-1], synthetic(), *([quote(argument, safe="")] if argument else [])])
        request = self._request(documented.method, path, json, body, "application/json", VALID, ())
        return self.door.exchange(request, Intent(""))

    def _harmless(self) -> requests.PreparedRequest:
        """An execution of a code that nobody has, with an id of its own in the correlation header."""
        execution = operations()["executePix"]
        path = execution.path.replace(f"{{{execution.argument}}}", synthetic())
        return self._request(execution.method, path, NOTHING, None, None, VALID, ())

    def _request(
        self,
        method: str,
        path: str,
        json: Any,
        body: bytes | None,
        content_type: str | None,
        credential: str,
        headers: Iterable[tuple[str, str]],
    ) -> requests.PreparedRequest:
        if json is not NOTHING:
            body = json_module.dumps(json, ensure_ascii=False).encode("utf-8", "surrogatepass")
        request = requests.Request(method, self._base_url + path, data=body).prepare()
        request.headers["User-Agent"] = "pix-conformance"
        request.headers["Accept"] = "*/*"
        request.headers["Accept-Encoding"] = "gzip, deflate"
        if body is not None and content_type:
            request.headers["Content-Type"] = content_type
        sent = authorization(credential, self._token())
        if sent is not None:
            request.headers["Authorization"] = sent
        for name, value in (*self._headers, *headers):
            request.headers[name] = value
        if self._correlation_header:
            request.headers[self._correlation_header] = secrets.token_hex(16)
        return request
