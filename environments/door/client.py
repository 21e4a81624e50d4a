"""Calls the documented operations: builds a request, sends it through the door, returns the exchange."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from copy import copy
from typing import Any
from urllib.parse import quote

import requests

from environments.door.door import Door
from environments.door.outgoing import Intent
from environments.door.permission import synthetic
from environments.door.wrong_tokens import authorization, write
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from spec.json_text import as_bytes

NOTHING = object()
"""No body at all, which is not the same as the JSON value null."""
_NO_PURPOSE: Purpose | None = None
_HEADERS = {"User-Agent": "pix-conformance", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


class Client:
    """The documented operations of one target. Headers of the profile go with every request.

    `part` is the part of the generated traffic that it sends, if any. `token_is_refused`: the preflight found no
    operation that accepts the token.
    """

    def __init__(
        self,
        door: Door,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        correlation_header: str | None = None,
    ) -> None:
        self.door = door
        self._headers, self._correlation_header = headers, correlation_header
        self.part, self._purpose, self.token_is_refused = "", _NO_PURPOSE, False

    def of_part(self, name: str) -> Client:
        """The same client for a part of the generated traffic."""
        client = copy(self)
        client.part = name
        return client

    def with_purpose(self, purpose: Purpose) -> Client:
        """The same client, whose requests have this purpose unless they name another one."""
        client = copy(self)
        client._purpose = purpose
        return client

    def send(
        self,
        operation: str,
        path_parameter: str | bytes | None = None,
        *,
        credential: str = VALID,
        query: str = "",
        safe: str = "",
        valid: bool = False,
        written: tuple[str, ...] = (),
        purpose: Purpose | None = None,
        unusual: tuple[str, str] = ("", ""),
        **sent: Any,
    ) -> Exchange:
        """Call an operation. `path_parameter` goes into its path, if that has a place for it; `sent` is what else
        `_request` takes: `json` or `body` (raw bytes go as they are), `content_type` and `headers`.

        Characters in `safe` stay as they are in the path. `valid`, `written`, `purpose` and `unusual` are those of
        Intent.
        """
        documented = operations()[operation]
        path = documented.path
        if path_parameter is not None:
            path = path.replace(f"{{{documented.path_parameter}}}", quote(path_parameter, safe=safe))
        request = self._request(documented.method, path + query, credential=credential, **sent)
        for way in written:
            write(request, way)
        intent = Intent(operation, credential, valid, self.part, written, purpose or self._purpose, unusual)
        return self.door.exchange(request, intent)

    def send_to_siblings(
        self, operation: str, path_parameter: str | None, *, purpose: Purpose | None = None, **sent: Any
    ) -> list[Exchange]:
        """Send the same request to two undocumented paths beside the documented one: a part of each answer may differ
        from all others."""
        documented = operations()[operation]
        static = [part for part in documented.path.split("/") if not part.startswith("{")]
        ends = [quote(path_parameter, safe="")] if path_parameter else []
        paths = ("/".join([*static[:-1], synthetic(), *ends]) for _ in range(2))
        intent = Intent("", purpose=purpose)
        return [self.door.exchange(self._request(documented.method, path, **sent), intent) for path in paths]

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
            body = as_bytes(json)
        request = requests.Request(method, self.door.permission.base_url + path, data=body).prepare()
        request.headers.update(_HEADERS)
        if body is not None and content_type:
            request.headers["Content-Type"] = content_type
        if (sent := authorization(credential, self.door.secrets.token())) is not None:
            request.headers["Authorization"] = sent
        request.headers.update((*self._headers, *headers))
        if self._correlation_header:
            request.headers[self._correlation_header] = secrets.token_hex(16)
        return request
