"""A generated case: one request that is not sent yet, and what is unusual about it."""

from __future__ import annotations

from dataclasses import dataclass

from environments.door.authorization import VALID
from environments.door.client import Client
from spec.exchange import Exchange

JSON = "application/json"
UNRESERVED_BY_US = ";,:@&=+$!'()*~"
"""Characters that may stand in a path segment as they are (RFC 3986, pchar)."""
_NOT_RUNNABLE = 1_000_000


@dataclass(frozen=True)
class Case:
    """A request to an operation. `where` is the part that is unusual, `what` says how; neither holds a value.

    With `raw` reserved characters of the argument go as they are where a path segment may hold them.
    """

    operation: str
    where: str
    what: str
    argument: str | bytes | None = None
    body: bytes | None = None
    content_type: str | None = JSON
    query: str = ""
    raw: bool = False
    valid: bool = False
    credential: str = VALID

    @property
    def size(self) -> int:
        """How large the request is; of two cases that show the same the smaller one is shown, and one without NUL, which
        no shell can pass on."""
        body = self.body or b""
        return len(self.argument or "") + len(body) + len(self.query) + _NOT_RUNNABLE * (b"\0" in body)

    def send(self, client: Client) -> Exchange:
        """Send it."""
        return client.send(
            self.operation,
            self.argument,
            body=self.body,
            content_type=self.content_type,
            credential=self.credential,
            query=self.query,
            safe=UNRESERVED_BY_US if self.raw else "",
            valid=self.valid,
        )
