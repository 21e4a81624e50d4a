"""The executions of a run: refusals first, then the one valid execution of each code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from environments.door.authorization import OTHER_SCHEMES
from environments.door.budget import Spending, spending
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.permission import synthetic
from environments.profiles.gaps import NO_CODE, SENT_BEFORE
from environments.profiles.profile import Profile
from spec.answers import ABOUT_THE_REQUEST, grants_protected_result, refusal_kind, succeeded
from spec.exchange import Exchange
from tests.traffic.beside import MOST_COMPANIONS, TRIES, Beside
from tests.traffic.extras import EXTRA_HEADERS
from tests.traffic.refused_credentials import FOR_EVERY_KEY, MOST_CREDENTIALS, of_code

_EXECUTE = "executePix"


@dataclass
class Executions:
    """What was sent to GET /v1/execute/pix/{transactionId}, and how it was answered."""

    unknown: Exchange | None = None
    unknown_unauthorized: Exchange | None = None
    unknown_without_a_token: Exchange | None = None
    other_schemes: list[Exchange] = field(default_factory=list)
    refusals: list[Exchange] = field(default_factory=list)
    answers: list[Exchange] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    breaking: set[str] = field(default_factory=set)
    lost_in_company: bool = False
    generous: list[Exchange] = field(default_factory=list)
    missing: str = ""

    @property
    def successes(self) -> list[Exchange]:
        """The executions that were confirmed."""
        return [answer for answer in (*self.answers, *self.generous) if succeeded(answer)]

    @property
    def all_confirmed(self) -> bool:
        """Whether codes were executed, and each execution that is as documented was confirmed."""
        return bool(self.successes) and all(map(succeeded, self.answers))


def execute(
    client: Client, profile: Profile, prepared: Callable[[], list[str]], token: str, beside: Beside | None = None
) -> Executions:
    """Send everything that one run sends to the execution; each code is executed once. `prepared` prepares transfers
    and gives their codes: it is called when the supplied codes were sent."""
    found, beside = Executions(missing=NO_CODE), beside or Beside(client)
    behind_an_execution = ExitStack()

    def prepared_apart() -> list[str]:
        behind_an_execution.close()  # another thread may be preparing them, and wait for the wire
        return prepared()

    with suppress(UnreachableError), behind_an_execution:  # what was learned until then is judged
        _send_synthetic_code(client, found, beside)
        spends = spending_of(client, profile)
        codes = len(spends.codes) + spends.prepared
        pair: list[str] = []
        for index, (code, was_prepared) in enumerate(_codes(client, spends, prepared_apart, found)):
            names = of_code(token, index, codes)
            at_once = _send_refusable(client, code, names[0], found, Beside(client))
            behind_an_execution.close()
            if at_once or any(_send_refusable(client, code, name, found, beside) for name in names[1:]):
                continue
            behind_an_execution.enter_context(client.door.guard.turn())
            behind_an_execution.enter_context(client.door.in_flight.alone())
            if was_prepared and index >= codes - 2 and _may_pair(found, beside):
                pair.append(code)
                behind_an_execution.close()
            else:
                _execute_one(client, code, was_prepared, found)
            if client.door.guard.keep_codes_back():
                return found
        behind_an_execution.close()
        _execute_together(client, pair, found, beside)
    return found


def _may_pair(found: Executions, beside: Beside) -> bool:
    """Whether an execution may wait for another one, to be sent at the same time."""
    return beside.is_possible and found.all_confirmed


def _execute_together(client: Client, codes: list[str], found: Executions, beside: Beside) -> None:
    """Execute two transfers that the run prepared at the same time, on this machine; else one after the other."""
    if len(codes) == 2 and client.door.guard.permit_together(*codes):
        sends = (partial(client.send, _EXECUTE, code, valid=True) for code in codes)
        answers = beside.send_together(*sends)
        found.answers += answers
        found.prepared |= {answer.number for answer in answers}
        return
    for code in codes:
        _execute_one(client, code, True, found)


def spending_of(client: Client, profile: Profile) -> Spending:
    """What of the profile's transactions this run executes, by what the journal says of its codes."""
    codes = profile.transactions.codes
    return spending(profile, set(codes) - set(client.door.guard.drop_sent(codes)))


def most_executions(spends: Spending | None, *, parallel: bool) -> int:
    """How many requests `execute` sends at most: with synthetic codes, and where any are spent, with real ones; before
    each of these the door may look whether wrong tokens have locked the caller out. With `parallel`, companions too."""
    codes = len(spends.codes) + spends.prepared if spends else 0
    probes = MOST_CREDENTIALS + codes - 1 if codes else 0
    schemes = len(OTHER_SCHEMES) * (TRIES if parallel else 1)
    companions = MOST_COMPANIONS * (schemes + probes) * parallel
    return 3 + schemes + MOST_CREDENTIALS + probes + 2 * codes + companions


def _codes(
    client: Client, spends: Spending, prepared: Callable[[], list[str]], found: Executions
) -> Iterator[tuple[str, bool]]:
    """Each code once that there is room for, and whether the run prepared it."""
    found.missing = spends.left_out or (SENT_BEFORE if spends.sent_before and not spends.codes else NO_CODE)
    if spends.left_out:
        client.door.unsent[spends.left_out] = {"executePix"}
    for code in spends.codes:
        found.missing = ""
        yield code, False
    supplied = (*spends.codes, *spends.sent_before)
    for code in dict.fromkeys(prepared()):
        if code not in supplied:
            found.missing = ""
            yield code, True


def _send_synthetic_code(client: Client, found: Executions, beside: Beside) -> None:
    """The right token comes last, and wrong ones with a real code right behind it. What the others are compared with is
    alone on the wire: that a service is busy tells no credential from another."""
    code = synthetic()
    found.unknown_unauthorized = client.send("executePix", code, credential="a wrong token", alone=True)
    found.unknown_without_a_token = client.send("executePix", code, credential=FOR_EVERY_KEY, alone=True)
    schemes = (partial(client.send, _EXECUTE, code, credential=scheme) for scheme in OTHER_SCHEMES)
    found.other_schemes = beside.send_each_with_companions(_EXECUTE, *schemes, tries=TRIES)
    found.unknown = client.send("executePix", code, alone=True)


def _send_refusable(client: Client, code: str, credential: str, found: Executions, beside: Beside) -> bool:
    """Send a code with a credential that is to be refused, beside a valid token. True where the code is spent by it.
    Until one was executed it is sent alone, and again where company made the service lose a probe: that costs a code.

    A credential that got no answer is not tried again; where one breaks the service, a synthetic code reproduces that.
    """
    if credential in found.unanswered:
        return False
    in_company = bool(found.successes) and not found.lost_in_company
    send = partial(client.send, _EXECUTE, code, credential=credential, alone=not in_company)
    [exchange] = beside.send_each_with_companions(_EXECUTE, send) if in_company else [send()]
    if not exchange.number:  # not sent: the code can still be executed
        return False
    found.refusals.append(exchange)
    if exchange.response is None:
        found.unanswered.add(credential)
    found.lost_in_company |= in_company and (exchange.response is None or exchange.response.status >= 500)
    if (exchange.response is None or exchange.response.status >= 500) and credential not in found.breaking:
        found.breaking.add(credential)
        client.send("executePix", synthetic(), credential=credential)
    return grants_protected_result(exchange) or exchange.response is None


def _execute_one(client: Client, code: str, was_prepared: bool, found: Executions) -> None:
    prepared = [answer.response for answer in found.answers if answer.number in found.prepared and answer.response]
    refused = [response for response in prepared if refusal_kind(response) in ABOUT_THE_REQUEST]
    if was_prepared and len(refused) == 1 and not found.generous and not found.successes:
        exchange = client.send("executePix", code, json={}, headers=EXTRA_HEADERS, query="?pixconf=1", valid=True)
        found.generous.append(exchange)
        return
    exchange = client.send(_EXECUTE, code, valid=True)
    found.answers.append(exchange)
    if was_prepared:
        found.prepared.add(exchange.number)
