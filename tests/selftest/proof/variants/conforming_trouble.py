"""A service that is overloaded, limited or restarted for a moment, and says so, or that locks its callers out for a while
after wrong tokens."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import html_answer, json_answer, text_answer
from tests.selftest.proof.variants.conforming_scopes import EXECUTION

MONEY = ("executePix", "createPix", "transferExternal", "transferInternal", "transferP2p")


class Stumbles(Service):
    """The sandbox, which answers some requests with `stumble`. `CALM` operations are left alone."""

    CALM = MONEY
    STATUS = 503
    HEADERS = ()

    requests = 0

    def __init__(self):
        super().__init__()
        self.seen = Counter()

    def respond(self, request):
        self.requests += 1
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        if not operations & set(self.CALM) and self.stumbles(request):
            return self.stumble()
        return super().respond(request)

    def stumble(self):
        return html_answer(self.STATUS, "Please come again", self.HEADERS)


class EverySeventh(Stumbles):
    """The sandbox, which stumbles over each seventh request."""

    def stumbles(self, request):
        return self.requests % 7 == 0


class TheFirstOfAKind(Stumbles):
    """The sandbox, which stumbles over each request that it has not seen before."""

    def stumbles(self, request):
        asked = (request.method, request.path, request.body, request.header("Authorization"))
        self.seen[asked] += 1
        return self.seen[asked] == 1


for _status in (502, 503, 504):
    declare_variant(
        "burst", f"TheFirstThreeAre{_status}", f"The first three requests get {_status}.", Stumbles, STATUS=_status,
        stumbles=lambda self, request: self.requests <= 3,
    )  # fmt: skip
    declare_variant(
        "burst", f"EverySeventhIs{_status}", f"Each seventh request gets {_status} with Retry-After: 0.", EverySeventh,
        STATUS=_status, HEADERS=(("Retry-After", "0"),),
    )  # fmt: skip
declare_variant(
    "burst",
    "EverySeventhStumbles",
    "Each seventh request gets a 503, and no time is named.",
    EverySeventh,
)
declare_variant(
    "burst", "EachRequestTwice", "Each new request gets a 503 once, and works when it comes again; money is left alone.",
    TheFirstOfAKind, HEADERS=(("Retry-After", "0"),), hides=("executePix.value.matches",),
)  # fmt: skip
declare_variant(
    "burst", "RetryAfterMakesNoSense", "Each seventh request gets a 503 with a Retry-After that is no time.",
    EverySeventh, HEADERS=(("Retry-After", "soon"),),
)  # fmt: skip
declare_variant(
    "burst", "RetryAfterIsPast", "Each seventh request gets a 503 with a Retry-After in the past.",
    EverySeventh, HEADERS=(("Retry-After", "Thu, 01 Jan 1970 00:00:00 GMT"),),
)  # fmt: skip
declare_variant(
    "burst", "MoneyStumblesToo", "Each thirteenth request gets a 503, executions too.", EverySeventh,
    CALM=("createPix",), stumbles=lambda self, request: self.requests % 13 == 0, hides=("transfer*.*",),
)  # fmt: skip


@variant("burst", hides=(*EXECUTION, "executePix.exists"))
class ExecutionsAreDown(Service):
    """Every execution of a prepared code ends at a gateway: 504."""

    def check_prepared(self, transfer):
        raise Refusal(504, "No answer from behind.")


@variant("burst", hides=("listEntries.*",))
class EntriesAreUnderMaintenance(Stumbles):
    """Entries are not to be had while the run lasts: 503."""

    def stumbles(self, request):
        return "/entries/" in request.path


class Limited(Stumbles):
    """The sandbox, which asks to slow down: 429, and when to come again."""

    CALM = ()

    def stumble(self):
        return json_answer(429, {"error": "too many requests"}, headers=(("Retry-After", self.when()),))

    def when(self):
        return "0"


_OF_TWO_REFUSALS = ("*.token.scheme",)
"""Two wrong tokens that are too many look like a lock, so no further one is sent."""
declare_variant(
    "rate limit", "EveryTenthIsTooMany", "Each tenth request is one too many, for 0 seconds; executions too.",
    Limited, stumbles=lambda self, request: self.requests % 10 == 0, hides=_OF_TWO_REFUSALS,
)  # fmt: skip
declare_variant(
    "rate limit", "EveryFortiethIsTooManyWithoutADate", "Each fortieth request is one too many, and no time is named.",
    Limited, stumbles=lambda self, request: self.requests % 40 == 0, stumble=lambda self: text_answer(429, "slow down"),
    hides=_OF_TWO_REFUSALS,
)  # fmt: skip


class Window(Limited):
    """The sandbox, which takes `MOST` requests a second, together or for each operation."""

    MOST = 60
    EACH = False

    def stumbles(self, request):
        what = request.path.split("/")[2] if self.EACH else ""
        window = (what, int(time.time()))
        self.seen[window] += 1
        return self.seen[window] > self.MOST

    def when(self):
        return "1"


declare_variant("rate limit", "Takes60ASecond", "60 requests a second are taken.", Window)
declare_variant(
    "rate limit", "Takes40ASecondOfEach", "40 requests a second of each sort are taken.", Window,
    MOST=40, EACH=True,
)  # fmt: skip
declare_variant(
    "rate limit", "Takes60ASecondByDate", "60 requests a second are taken; Retry-After is a date.", Window,
    when=lambda self: format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True),
)  # fmt: skip


@variant("rate limit", hides=_OF_TWO_REFUSALS)
class LocksOutAfterBadTokens(Window):
    """Ten bad tokens in a second are too many: every request is refused until the second is over."""

    MOST = 10

    def stumbles(self, request):
        known = request.header("Authorization") == f"Bearer {self.token}"
        return self.seen["", int(time.time())] > self.MOST if known else super().stumbles(request)


@variant("rate limit", hides=("*",))
class LocksOutForGood(Service):
    """Six bad tokens, and nothing is answered but 423 while the run lasts; unknown paths too."""

    bad = 0

    def respond(self, request):
        return json_answer(423, {"error": "locked"}) if self.bad >= 6 else super().respond(request)

    def authorize(self, request, operation):
        try:
            super().authorize(request, operation)
        except Refusal:
            self.bad += 1
            raise


# -- services that lock their callers out, valid requests too


class LocksCallersOut(Service):
    """The sandbox, which locks a caller out for `SECONDS` after `MOST` wrong tokens."""

    STATUS = 423
    MOST = 3
    SECONDS = 1.0
    HEADERS = ()
    BY_OPERATION = False
    AGAIN = False
    """Whether a wrong token that comes while the caller is locked out begins the time anew."""

    def __init__(self):
        super().__init__()
        self.wrong = Counter()
        self.until = {}

    def authorize(self, request, operation):
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

    def count(self, scope, locked):
        """A wrong token."""
        self.wrong[scope] += not locked
        if self.wrong[scope] >= self.MOST or (locked and self.AGAIN):
            self.wrong[scope] = 0
            self.until[scope] = time.monotonic() + self.SECONDS


SOON = (("Retry-After", "1"),)
_SCHEMES = ("executePix.token.scheme", "registerPixKey.token.scheme")
"""After the second lock no more wrong tokens are sent."""
LOCKS = {
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
    "LocksForAMoment": ("423 for a tenth of a second, after five wrong tokens", {"MOST": 5, "SECONDS": 0.1}),
    "LocksOnAndOn": ("423 for a second, which each further wrong token begins anew", {"MOST": 6, "AGAIN": True}),
}
for _name, (_fact, _parts) in LOCKS.items():
    declare_variant(
        "lock", _name, f"Wrong tokens lock the caller out: {_fact}.", LocksCallersOut, hides=_SCHEMES, **_parts,
    )  # fmt: skip


@variant("lock", hides=_SCHEMES)
class Says403AndSoonToEveryWrongToken(LocksCallersOut):
    """Each wrong token gets a 403 with Retry-After, and nobody is locked out."""

    def count(self, scope, locked):
        raise Refusal(403, "Another token.", SOON)
