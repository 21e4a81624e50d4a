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
from environments.door.outgoing import Intent, has_broken_percent_encoding
from environments.door.permission import synthetic
from environments.door.wrong_tokens import authorization, write_in_way
from spec.exchange import VALID, Exchange, Purpose
from spec.interface import operations
from spec.json_text import as_bytes

NOTHING = object()
"""No body at all, which is not the same as the JSON value null."""

_HEADERS = {"User-Agent": "pix-conformance", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
"""Headers of the suite, which every request has unless the profile replaces them."""


class Client:
    """Builds requests for the documented operations of one target, and sends them through the door.

    The door is the only way by which requests leave; it checks each of them. Every request has the headers `headers`,
    which come from the profile (the settings of a run). If `correlation_header` is set, such as `X-Request-Id`, every
    request has this header with a new random value, by which the bank finds the request in its logs.
    """

    def __init__(
        self,
        door: Door,
        *,
        headers: tuple[tuple[str, str], ...] = (),
        correlation_header: str | None = None,
    ) -> None:
        """Send through this door, with the headers that the profile (the settings of a run) names.

        `correlation_header` is the name of a header, such as `X-Request-Id`. Each request has it with a new random
        value, by which the bank finds the request in its logs.
        """
        self.door = door
        self._headers = headers
        self._correlation_header = correlation_header
        self.generator = ""
        """What draws the requests at random: `sequences`, or the name of their operation; empty for other requests."""
        self.token_is_refused = False
        """True if the first requests of the run (preflight.py) found no operation that accepts the token."""
        self.knows_no_path = False
        """True if the first requests of the run found that documented paths get the 404 of an undocumented one."""
        self._purpose: Purpose | None = None  # why requests are sent, for the report: `with_purpose` sets it

    def of_generator(self, name: str) -> Client:
        """A copy of this client for requests that are drawn at random. All of its exchanges have this `generator`.

        The tests of random requests find their exchanges by this name: `sequences`, or an operation.
        """
        client = copy(self)
        client.generator = name
        return client

    def with_purpose(self, purpose: Purpose) -> Client:
        """A copy of this client, whose exchanges all have this purpose: why they are sent, for the report.

        An example is "the same key again". If a call of `send` names another purpose, that one is used.
        """
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
        spelling: tuple[str, ...] = (),
        purpose: Purpose | None = None,
        unusual: tuple[str, str] = ("", ""),
        **content: Any,
    ) -> Exchange:
        """Call an operation such as `registerPixKey`, and return the exchange (the request with its answer).

        | argument | meaning |
        |---|---|
        | `path_parameter` | the account or transaction code in the path, if the path has one |
        | `credential` | name of a wrong Authorization header, such as "no header"; the default is the right token |
        | `query` | text behind the path, such as `?page=2` |
        | `safe` | characters of the path parameter that are not percent-encoded |
        | `valid` | true if the interface document promises success |
        | `spelling` | names of unusual ways to write the request, such as "two slashes" in the path |
        | `purpose` | why it is sent, for the report |
        | `unusual` | of an invalid request: the part that is invalid and how, such as `("query", "long")` |
        | `content` | the body and its headers: `json` or `body`, `content_type`, `headers` (see `_request`) |
        """
        documented = operations()[operation]  # its method and its path, as spec/openapi.yaml has them
        path = documented.path
        if path_parameter is not None:
            placeholder = f"{{{documented.path_parameter}}}"  # such as {accountId}
            path = path.replace(placeholder, quote(path_parameter, safe=safe))
        request = self._request(documented.method, path + query, credential=credential, **content)
        for way in spelling:
            write_in_way(request, way)
        intent = Intent(operation, credential, valid, self.generator, spelling, purpose or self._purpose, unusual)
        return self.door.send(request, intent)

    def send_to_undocumented_paths(
        self, operation: str, path_parameter: str | None, *, purpose: Purpose | None = None, **content: Any
    ) -> list[Exchange]:
        """Send a request of an operation to two undocumented paths, and return both exchanges.

        The paths are like the documented one with another last name: `/v1/accounts/pixconf-1a2b3c4d/ac-1` instead of
        `/v1/accounts/balance/ac-1`. They show how the service answers a path that does not exist, so that the suite
        recognises the same answer at a documented path. Two requests are sent, because two answers show which parts,
        such as a time or a request id, differ from answer to answer.
        """
        documented = operations()[operation]
        static_segments = [segment for segment in documented.path.split("/") if not segment.startswith("{")]
        end_of_path = [quote(path_parameter, safe="")] if path_parameter else []
        intent = Intent("", purpose=purpose)  # "" stands for an undocumented path
        exchanges = []
        for _ in range(2):
            path = "/".join([*static_segments[:-1], synthetic(), *end_of_path])  # [:-1]: without the last name
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
        """A request to the target (the service that is tested), which is not sent yet.

        The body is `json` (a value that is written as JSON), or `body` (bytes that are sent as they are), or nothing.
        `credential` is the name of what is sent as the token, such as "no header" or "the token cut short". `headers`
        replace other headers of the same name.
        """
        if json is not NOTHING:
            body = as_bytes(json)
        address_of_service = self.door.permission.base_url
        request = requests.Request(method, address_of_service + path, data=body).prepare()
        if has_broken_percent_encoding(path):
            request.url = address_of_service + path  # `requests` has encoded its percent signs once more
        # Each header that is set replaces an earlier one of the same name.
        request.headers.update(_HEADERS)
        if body is not None and content_type:
            request.headers["Content-Type"] = content_type
        right_token = self.door.secrets.token()
        authorization_value = authorization(credential, right_token)
        if authorization_value is not None:  # it is None for the credential "no header"
            request.headers["Authorization"] = authorization_value
        request.headers.update(self._headers)  # those of the profile, which has the settings of the run
        request.headers.update(headers)
        if self._correlation_header:  # such as `X-Request-Id`, which tells the requests apart in a log
            request.headers[self._correlation_header] = secrets.token_hex(16)
        return request
