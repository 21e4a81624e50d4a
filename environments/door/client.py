"""The client of the documented operations: it builds a request, sends it through the door, and returns the exchange.

Every scenario in tests/traffic/ and every command that asks the service has one. Methods and paths come from
spec/openapi.yaml.

Self-tests: environments/door/test_door.py.
"""

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
from environments.door.wrong_tokens import authorization, write_in_way
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from spec.json_text import as_bytes

NOTHING = object()
"""No body at all, which is not the same as the JSON value null."""

_HEADERS = {"User-Agent": "pix-conformance", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}


class Client:
    """The documented operations of one target. Headers of the profile go with every request."""

    def __init__(
        self,
        door: Door,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        correlation_header: str | None = None,
    ) -> None:
        self.door = door
        self._headers, self._correlation_header = headers, correlation_header
        self.part = ""
        """Name of the part of the generated traffic that it sends; empty for other requests."""
        self.token_is_refused = False
        """True if the preflight found no operation that accepts the token."""
        self.knows_no_path = False
        """True if the preflight found that documented paths get the 404 of an undocumented one."""
        self._purpose: Purpose | None = None

    def of_part(self, name: str) -> Client:
        """The same client for a part of the generated traffic."""
        client = copy(self)
        client.part = name
        return client

    def with_purpose(self, purpose: Purpose) -> Client:
        """The same client with another purpose for its requests, unless a request names its own."""
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
        **content: Any,
    ) -> Exchange:
        """Call an operation, and return the exchange.

        | argument | meaning |
        |---|---|
        | `path_parameter` | value in the path, if the path has a place for it |
        | `safe` | characters of it that are not percent-encoded |
        | `content` | `json` or `body` (bytes that go as they are), `content_type` and `headers`, as of `_request` |
        | `valid`, `written`, `purpose`, `unusual` | members of `Intent` |
        """
        documented = operations()[operation]
        path = documented.path
        if path_parameter is not None:
            path = path.replace(f"{{{documented.path_parameter}}}", quote(path_parameter, safe=safe))
        request = self._request(documented.method, path + query, credential=credential, **content)
        for way in written:
            write_in_way(request, way)
        intent = Intent(operation, credential, valid, self.part, written, purpose or self._purpose, unusual)
        return self.door.send(request, intent)

    def send_to_siblings(
        self, operation: str, path_parameter: str | None, *, purpose: Purpose | None = None, **content: Any
    ) -> list[Exchange]:
        """Send the same request to two undocumented paths beside the documented one, and return both exchanges.

        Two answers show which parts, such as a time or a request id, differ from answer to answer.
        """
        documented = operations()[operation]
        static_segments = [segment for segment in documented.path.split("/") if not segment.startswith("{")]
        end_of_path = [quote(path_parameter, safe="")] if path_parameter else []
        intent = Intent("", purpose=purpose)
        exchanges = []
        for _ in range(2):
            path = "/".join([*static_segments[:-1], synthetic(), *end_of_path])
            request = self._request(documented.method, path, **content)
            exchanges.append(self.door.send(request, intent))
        return exchanges

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
        """A request with the headers of the suite, then those of the profile, then `headers`; the last one counts."""
        if json is not NOTHING:
            body = as_bytes(json)
        request = requests.Request(method, self.door.permission.base_url + path, data=body).prepare()
        request.headers.update(_HEADERS)
        if body is not None and content_type:
            request.headers["Content-Type"] = content_type
        authorization_value = authorization(credential, self.door.secrets.token())
        if authorization_value is not None:
            request.headers["Authorization"] = authorization_value
        request.headers.update((*self._headers, *headers))
        if self._correlation_header:
            request.headers[self._correlation_header] = secrets.token_hex(16)
        return request
