"""Services in passing trouble that conform: overloaded, limited or restarted for a moment, or locking callers out."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from environments.sandbox import Refusal, Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import html_answer, json_answer, text_answer
from tests.selftest.proof.variants.conforming_scopes import EXECUTION

MONEY = ("executePix", "createPix", "transferExternal", "transferInternal", "transferP2p")


class HasTrouble(Service):
    """The sandbox, which is in trouble, such as overloaded, when some requests come, and does not do what they ask for.

    `has_trouble` is true of these requests. Operations in CALM_OPERATIONS are never in trouble. If executions are among
    them, nor are paths that only resemble the path of an execution: a run that gets a 502 with a real code in such a path
    does not know if the code was executed.
    """

    CALM_OPERATIONS = MONEY
    STATUS = 503
    HEADERS = ()

    requests = 0  # how many requests have come, with this one

    def __init__(self):
        super().__init__()
        self.times_seen = Counter()

    def respond(self, request):
        """Answer a request, or say that the service is in trouble."""
        self.requests += 1
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        is_like_an_execution = "execute" in request.path and "executePix" in self.CALM_OPERATIONS
        is_calm = is_like_an_execution or bool(operations & set(self.CALM_OPERATIONS))
        if not is_calm and self.has_trouble(request):
            return self.answer_in_trouble()
        return super().respond(request)

    def answer_in_trouble(self):
        return html_answer(self.STATUS, "Please come again", self.HEADERS)


class EverySeventh(HasTrouble):
    """The sandbox, which is in trouble at each seventh request."""

    def has_trouble(self, request):
        return self.requests % 7 == 0


class TheFirstOfAKind(HasTrouble):
    """The sandbox, which is in trouble at each request that it has not seen before, and answers it the second time."""

    def has_trouble(self, request):
        """True if no equal request came before: with the same path, body and token. Counts the request."""
        kind = (request.method, request.path, request.body, request.header("Authorization"))
        self.times_seen[kind] += 1
        return self.times_seen[kind] == 1


for _status in (502, 503, 504):
    declare_variant(
        "burst", f"TheFirstThreeAre{_status}", f"The first three requests get {_status}.", HasTrouble, STATUS=_status,
        has_trouble=lambda self, request: self.requests <= 3,
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
    CALM_OPERATIONS=("createPix",), has_trouble=lambda self, request: self.requests % 13 == 0, hides=("transfer*.*",),
)  # fmt: skip


@variant("burst", hides=(*EXECUTION, "executePix.exists"))
class ExecutionsAreDown(Service):
    """Every execution of a prepared code gets a 504, as if a gateway got no answer from the bank."""

    def check_prepared(self, transfer):
        raise Refusal(504, "No answer from behind.")


@variant("burst", hides=("listEntries.*",))
class EntriesAreUnderMaintenance(HasTrouble):
    """The list of entries gets a 503 as long as the run lasts."""

    def has_trouble(self, request):
        return "/entries/" in request.path


class AsksToSlowDown(HasTrouble):
    """The sandbox, which asks its callers to slow down: 429 with a header Retry-After."""

    CALM_OPERATIONS = ()

    def answer_in_trouble(self):
        return json_answer(429, {"error": "too many requests"}, headers=(("Retry-After", self.retry_after()),))

    def retry_after(self):
        """The value of Retry-After: seconds, or a date."""
        return "0"


_OF_TWO_REFUSALS = ("*.token.scheme",)
"""Not exercised: if two wrong tokens get 429, that looks like a lock, so a run sends no further wrong token."""
declare_variant(
    "rate limit", "EveryTenthIsTooMany", "Each tenth request is one too many, for 0 seconds; executions too.",
    AsksToSlowDown, has_trouble=lambda self, request: self.requests % 10 == 0, hides=_OF_TWO_REFUSALS,
)  # fmt: skip
declare_variant(
    "rate limit", "EveryFortiethIsTooManyWithoutADate", "Each fortieth request is one too many, and no time is named.",
    AsksToSlowDown, has_trouble=lambda self, request: self.requests % 40 == 0, answer_in_trouble=lambda self: text_answer(429, "slow down"),
    hides=_OF_TWO_REFUSALS,
)  # fmt: skip


class Window(AsksToSlowDown):
    """The sandbox, which takes `MOST` requests a second, all together or for each sort of path, such as "pix"."""

    MOST = 60
    FOR_EACH_SORT = False

    def has_trouble(self, request):
        """Count the request in its second. True if too many have come in this second."""
        sort_of_path = request.path.split("/")[2] if self.FOR_EACH_SORT else ""
        this_second = (sort_of_path, int(time.time()))
        self.times_seen[this_second] += 1
        return self.times_seen[this_second] > self.MOST

    def retry_after(self):
        return "1"


declare_variant("rate limit", "Takes60ASecond", "60 requests a second are taken.", Window)
declare_variant(
    "rate limit", "Takes40ASecondOfEach", "40 requests a second of each sort are taken.", Window,
    MOST=40, FOR_EACH_SORT=True,
)  # fmt: skip
declare_variant(
    "rate limit", "Takes60ASecondByDate", "60 requests a second are taken; Retry-After is a date.", Window,
    retry_after=lambda self: format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True),
)  # fmt: skip


@variant("rate limit", hides=_OF_TWO_REFUSALS)
class LocksOutAfterBadTokens(Window):
    """More than ten wrong tokens in a second are too many: every request is refused until the second is over."""

    MOST = 10

    def has_trouble(self, request):
        """True if too many wrong tokens came in this second. Counts a request that has not the valid token."""
        has_valid_token = request.header("Authorization") == f"Bearer {self.token}"
        if has_valid_token:
            return self.times_seen["", int(time.time())] > self.MOST
        return super().has_trouble(request)


@variant("rate limit", hides=("*",))
class LocksOutForGood(Service):
    """After six wrong tokens every request gets 423 as long as the run lasts, even one to an unknown path."""

    wrong_tokens = 0

    def respond(self, request):
        if self.wrong_tokens >= 6:
            return json_answer(423, {"error": "locked"})
        return super().respond(request)

    def authorize(self, request, operation):
        """Check the token, and count the wrong ones."""
        try:
            super().authorize(request, operation)
        except Refusal:
            self.wrong_tokens += 1
            raise


# -- services that lock their callers out, valid requests too


class LocksCallersOut(Service):
    """The sandbox, which refuses even the valid token for `SECONDS` after `MOST` wrong tokens.

    With BY_OPERATION wrong tokens are counted for each operation, and only that operation is locked.
    """

    STATUS = 423
    MOST = 3
    SECONDS = 1.0
    HEADERS = ()
    BY_OPERATION = False
    PROLONGS = False
    """True if a wrong token that comes while the caller is locked out makes the lock begin anew."""

    def __init__(self):
        super().__init__()
        self.wrong_tokens = Counter()
        self.locked_until = {}

    def authorize(self, request, operation):
        """Check the token, count a wrong one, and refuse every token while the caller is locked out."""
        scope = operation if self.BY_OPERATION else ""
        is_locked = time.monotonic() < self.locked_until.get(scope, 0.0)
        try:
            super().authorize(request, operation)
        except Refusal:
            self.count_wrong_token(scope, is_locked)
            if not is_locked:
                raise
        if is_locked:
            raise Refusal(self.STATUS, "Too many wrong tokens.", self.HEADERS)

    def count_wrong_token(self, scope, is_locked):
        """Count a wrong token, and lock the caller out if it is one too many."""
        if not is_locked:
            self.wrong_tokens[scope] += 1
        is_prolonged = is_locked and self.PROLONGS
        if self.wrong_tokens[scope] >= self.MOST or is_prolonged:
            self.wrong_tokens[scope] = 0
            self.locked_until[scope] = time.monotonic() + self.SECONDS


SOON = (("Retry-After", "1"),)
_SCHEMES = ("executePix.token.scheme", "registerPixKey.token.scheme")
"""Not exercised: a run sends no more wrong tokens after it was locked out twice."""
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
    "LocksOnAndOn": ("423 for a second, which each further wrong token begins anew", {"MOST": 6, "PROLONGS": True}),
}
for _name, (_fact, _parts) in LOCKS.items():
    declare_variant(
        "lock", _name, f"Wrong tokens lock the caller out: {_fact}.", LocksCallersOut, hides=_SCHEMES, **_parts,
    )  # fmt: skip


@variant("lock", hides=_SCHEMES)
class Says403AndSoonToEveryWrongToken(LocksCallersOut):
    """Each wrong token gets a 403 with Retry-After, and nobody is locked out."""

    def count_wrong_token(self, scope, is_locked):
        """Refuse the wrong token with 403 and Retry-After, in the place of the 401 of the sandbox. Lock nobody out."""
        raise Refusal(403, "Another token.", SOON)
