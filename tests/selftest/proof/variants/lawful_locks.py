"""A service that locks its callers out for a while after wrong tokens, right requests too."""

from __future__ import annotations

import time
from collections import Counter

from environments.sandbox import Headers, Refusal, Request, Service
from tests.selftest.proof.registry import lawful


class LocksCallersOut(Service):
    """The sandbox, which locks a caller out for `SECONDS` after `MOST` wrong tokens."""

    STATUS = 423
    MOST = 3
    SECONDS = 1.0
    HEADERS: Headers = ()
    BY_OPERATION = False
    AGAIN = False
    """Whether a wrong token that comes while the caller is locked out begins the time anew."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: Counter[str] = Counter()
        self.until: dict[str, float] = {}

    def authorize(self, request: Request, operation: str) -> None:
        scope = operation if self.BY_OPERATION else ""
        locked = time.monotonic() < self.until.get(scope, 0.0)
        try:
            super().authorize(request, operation)
        except Refusal:
            self.count(scope, locked)
            if not locked:
                raise
        if locked:
            raise Refusal(self.STATUS, "Too many wrong tokens.", self.HEADERS)

    def count(self, scope: str, locked: bool) -> None:
        """A wrong token."""
        self.wrong[scope] += not locked
        if self.wrong[scope] >= self.MOST or (locked and self.AGAIN):
            self.wrong[scope] = 0
            self.until[scope] = time.monotonic() + self.SECONDS


SOON: Headers = (("Retry-After", "1"),)
LOCKS: dict[str, tuple[str, dict[str, object]]] = {
    "LocksWith423": ("423 for a second", {}),
    "LocksWith423AndSaysWhen": ("423 for a second, with Retry-After", {"HEADERS": SOON}),
    "LocksWith403AndSaysWhen": ("403 for a second, with Retry-After", {"STATUS": 403, "HEADERS": SOON}),
    "LocksWith429": ("429 for a second", {"STATUS": 429}),
    "LocksWith429AndSaysWhen": ("429 for a second, with Retry-After", {"STATUS": 429, "HEADERS": SOON}),
    "LocksAnOperationWith423": ("423 for a second, that operation alone", {"BY_OPERATION": True}),
    "LocksAnOperationWith403": (
        "403 for a second, with Retry-After, that operation alone",
        {"STATUS": 403, "HEADERS": SOON, "BY_OPERATION": True},
    ),
    "LocksAfterNine": ("423 for a second, after nine wrong tokens", {"MOST": 9}),
    "LocksOnAndOn": ("423 for a second, which each further wrong token begins anew", {"MOST": 6, "AGAIN": True}),
}
for _name, (_fact, _parts) in LOCKS.items():
    lawful("lock", _name, f"Wrong tokens lock the caller out: {_fact}.", LocksCallersOut, slow=True, **_parts)
lawful(
    "lock", "LocksForAMoment", "Five wrong tokens lock the caller out for a tenth of a second: 423.", LocksCallersOut,
    MOST=5, SECONDS=0.1,
)  # fmt: skip


class RefusesWith403AndSaysWhen(LocksCallersOut):
    """The sandbox, which says Retry-After with each refusal of a token, and does not lock."""

    def count(self, scope: str, locked: bool) -> None:
        raise Refusal(403, "Another token.", SOON)


lawful(
    "lock",
    "Says403AndSoonToEveryWrongToken",
    "Each wrong token gets a 403 with Retry-After.",
    RefusesWith403AndSaysWhen,
)
