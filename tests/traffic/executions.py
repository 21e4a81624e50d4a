"""The executions of a run: refusals first, then the one valid execution of each code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial

from environments.door.authorization import OTHER_SCHEMES
from environments.door.budget import Spending, spending
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER
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
    sender = _Sender(client, token, beside or Beside(client))
    with suppress(UnreachableError), sender.behind_an_execution:  # what was learned until then is judged
        sender.send_synthetic_code()
        sender.send_codes(spending_of(client, profile), prepared)
    return sender.found


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


class _Sender:
    """Sends codes, and keeps the answers in `found`. From an execution until the next request the turn of the journal
    and the wire are kept, in `behind_an_execution`."""

    def __init__(self, client: Client, token: str, beside: Beside) -> None:
        self.found = Executions(missing=NO_CODE)
        self.behind_an_execution = ExitStack()
        self._client, self._token, self._beside = client, token, beside
        self._door = client.door
        self._unanswered: set[str] = set()
        self._breaking: set[str] = set()
        self._lost_in_company = False

    def send_synthetic_code(self) -> None:
        """The right token comes last, and wrong ones with a real code right behind it. What the others are compared with
        is alone on the wire: that a service is busy tells no credential from another."""
        code, found = synthetic(), self.found
        send = partial(self._client.send, _EXECUTE, code)
        found.unknown_unauthorized = send(credential=ANOTHER, alone=True)
        found.unknown_without_a_token = send(credential=FOR_EVERY_KEY, alone=True)
        schemes = (partial(send, credential=scheme) for scheme in OTHER_SCHEMES)
        found.other_schemes = self._beside.send_each_with_companions(_EXECUTE, *schemes, tries=TRIES)
        found.unknown = send(alone=True)

    def send_codes(self, spends: Spending, prepared: Callable[[], list[str]]) -> None:
        """Send each code with credentials that are to be refused, then with the token: the last two at the same time,
        where the run prepared them and may do that."""
        codes, pair = len(spends.codes) + spends.prepared, list[str]()
        for index, (code, was_prepared) in enumerate(self._codes(spends, prepared)):
            if self._send_all_refusable(code, of_code(self._token, index, codes)):
                continue
            self.behind_an_execution.enter_context(self._door.guard.turn())
            self.behind_an_execution.enter_context(self._door.in_flight.alone())
            if was_prepared and index >= codes - 2 and self._may_pair():
                pair.append(code)
                self.behind_an_execution.close()
            else:
                self._execute_one(code, was_prepared)
            if self._door.guard.keep_codes_back():
                return
        self.behind_an_execution.close()
        self._execute_together(pair)

    def _codes(self, spends: Spending, prepared: Callable[[], list[str]]) -> Iterator[tuple[str, bool]]:
        """Each code once that there is room for, and whether the run prepared it."""
        self.found.missing = spends.left_out or (SENT_BEFORE if spends.sent_before and not spends.codes else NO_CODE)
        if spends.left_out:
            self._door.unsent[spends.left_out] = {_EXECUTE}
        for code in spends.codes:
            self.found.missing = ""
            yield code, False
        self.behind_an_execution.close()  # another thread may be preparing transfers, and wait for the wire
        supplied = (*spends.codes, *spends.sent_before)
        for code in dict.fromkeys(prepared()):
            if code not in supplied:
                self.found.missing = ""
                yield code, True

    # -- with a credential that is to be refused ------------------------------------------------------------------

    def _send_all_refusable(self, code: str, credentials: Sequence[str]) -> bool:
        """Send a code with each of these, the first right behind the execution before. True where the code is spent."""
        at_once = self._send_refusable(code, credentials[0], Beside(self._client))
        self.behind_an_execution.close()
        return at_once or any(self._send_refusable(code, name, self._beside) for name in credentials[1:])

    def _send_refusable(self, code: str, credential: str, beside: Beside) -> bool:
        """Send a code with a credential that is to be refused, beside a valid token. True where the code is spent by
        it. Until one was executed it is sent alone, and again where company made the service lose a probe: that costs a
        code.

        A credential that got no answer is not tried again; where one breaks the service, a synthetic code reproduces
        that.
        """
        found = self.found
        if credential in self._unanswered:
            return False
        in_company = bool(found.successes) and not self._lost_in_company
        send = partial(self._client.send, _EXECUTE, code, credential=credential, alone=not in_company)
        [exchange] = beside.send_each_with_companions(_EXECUTE, send) if in_company else [send()]
        if not exchange.number:  # not sent: the code can still be executed
            return False
        found.refusals.append(exchange)
        if exchange.response is None:
            self._unanswered.add(credential)
        if exchange.response is None or exchange.response.status >= 500:
            self._lost_in_company |= in_company
            self._reproduce(credential)
        return grants_protected_result(exchange) or exchange.response is None

    def _reproduce(self, credential: str) -> None:
        """Send a synthetic code with a credential that broke the service, once for each."""
        if credential not in self._breaking:
            self._breaking.add(credential)
            self._client.send(_EXECUTE, synthetic(), credential=credential)

    # -- with the valid token -------------------------------------------------------------------------------------

    def _may_pair(self) -> bool:
        """Whether an execution may wait for another one, to be sent at the same time."""
        return self._beside.is_possible and self.found.all_confirmed

    def _execute_together(self, codes: list[str]) -> None:
        """Execute two transfers that the run prepared at the same time, on this machine; else one after the other."""
        if len(codes) == 2 and self._door.guard.permit_together(*codes):
            sends = (partial(self._client.send, _EXECUTE, code, valid=True) for code in codes)
            answers = self._beside.send_all(self._beside.meeting(*sends))
            self.found.answers += answers
            self.found.prepared |= {answer.number for answer in answers}
            return
        for code in codes:
            self._execute_one(code, True)

    def _execute_one(self, code: str, was_prepared: bool) -> None:
        found = self.found
        prepared = [answer.response for answer in found.answers if answer.number in found.prepared and answer.response]
        refused = [response for response in prepared if refusal_kind(response) in ABOUT_THE_REQUEST]
        if was_prepared and len(refused) == 1 and not found.generous and not found.successes:
            more = partial(self._client.send, json={}, headers=EXTRA_HEADERS, query="?pixconf=1")
            found.generous.append(more(_EXECUTE, code, valid=True))
            return
        exchange = self._client.send(_EXECUTE, code, valid=True)
        found.answers.append(exchange)
        if was_prepared:
            found.prepared.add(exchange.number)
