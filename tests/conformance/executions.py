"""The executions of a run: refusals first, then the one good execution of each code."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle

from environments.authorization import BAD_CREDENTIALS, OTHER_SCHEMES, is_bad
from environments.client import Client, invented
from environments.door import UnreachableError
from environments.profile import Profile, fill
from spec.exchange import Exchange
from spec.reading import gives_result, is_refusal, succeeded
from tests.conformance.extras import EXTRA_HEADERS

FIRST_CODE = tuple(BAD_CREDENTIALS)
EVERY_CODE = ("no header", "a wrong token")
"""The first code is refused with every bad credential; each later one with these and one more in turn."""


@dataclass
class Executions:
    """What was sent to GET /v1/execute/pix/{transactionId}, and what came of it."""

    unknown: Exchange | None = None
    unknown_unauthorized: Exchange | None = None
    other_schemes: list[Exchange] = field(default_factory=list)
    refusals: list[Exchange] = field(default_factory=list)
    answers: list[Exchange] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    breaking: set[str] = field(default_factory=set)
    generous: list[Exchange] = field(default_factory=list)
    missing: str = ""

    @property
    def successes(self) -> list[Exchange]:
        """The executions that were confirmed."""
        return [answer for answer in (*self.answers, *self.generous) if succeeded(answer)]


def execute(client: Client, profile: Profile, prepared: list[str], token: str) -> Executions:
    """Send everything that one run sends to the execution; each code is executed once."""
    codes = [*profile.transactions.codes, *prepared][: profile.limits.executions]
    client.door.codes |= set(codes)
    found = Executions()
    if not codes:
        found.missing = "no transaction code: supply transactions.codes or transactions.prepare"
    with suppress(UnreachableError):  # what was learned until then is judged
        _try_invented_code(client, found)
        others = cycle(name for name in BAD_CREDENTIALS if name not in EVERY_CODE)
        for index, code in enumerate(codes):
            names = FIRST_CODE if index == 0 else (*EVERY_CODE, next(others))
            if not any(_spent(client, code, name, token, found) for name in names):
                _execute_one(client, code, code in prepared, found)
    return found


def prepare(client: Client, profile: Profile, wanted: int) -> list[Exchange]:
    """Prepare transfers as the profile says, at most `wanted`."""
    plan = profile.transactions.prepare
    if plan is None:
        return []
    key = profile.pix_keys[0] if profile.pix_keys else None
    account = profile.accounts[0] if profile.accounts else ""
    body = fill(plan.json, account=account, key=key.key if key else "", type=key.type if key else "")
    return [client.send(plan.operation, json=body, good=True) for _ in range(min(plan.count, wanted))]


def _try_invented_code(client: Client, found: Executions) -> None:
    code = invented()
    found.unknown = client.send("executePix", code)
    found.unknown_unauthorized = client.send("executePix", code, credential="a wrong token")
    found.other_schemes = [client.send("executePix", code, credential=scheme) for scheme in OTHER_SCHEMES]


def _spent(client: Client, code: str, credential: str, token: str, found: Executions) -> bool:
    """Send a refusal probe. Whether the code is spent by it. What was not answered once is not asked again.

    Whether a credential breaks the service is seen a second time with an invented code.
    """
    if not is_bad(credential, token) or credential in found.unanswered:
        return False
    exchange = client.send("executePix", code, credential=credential)
    found.refusals.append(exchange)
    if exchange.response is None:
        found.unanswered.add(credential)
    if (exchange.response is None or exchange.response.status >= 500) and credential not in found.breaking:
        found.breaking.add(credential)
        client.send("executePix", invented(), credential=credential)
    return gives_result(exchange) or exchange.response is None


def _execute_one(client: Client, code: str, was_prepared: bool, found: Executions) -> None:
    refused = [answer for answer in found.answers if answer.number in found.prepared and _plainly_refused(answer)]
    if was_prepared and len(refused) == 1 and not found.generous and not found.successes:
        exchange = client.send("executePix", code, json={}, headers=EXTRA_HEADERS, query="?pixconf=1", good=True)
        found.generous.append(exchange)
        return
    exchange = client.send("executePix", code, good=True)
    found.answers.append(exchange)
    if was_prepared:
        found.prepared.add(exchange.number)


def _plainly_refused(exchange: Exchange) -> bool:
    response = exchange.response
    return (
        response is not None
        and is_refusal(response)
        and response.status not in (401, 403, 429)
        and (response.status < 500)
    )
