"""The executions of a run: each code once, and which of them are offered with wrong tokens before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from environments.door.authorization import forms
from environments.door.budget import Spending, spending
from environments.door.client import Client
from environments.door.permission import synthetic
from environments.door.preparing import prepare
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES
from environments.profiles.gaps import NO_CODE, SENT_BEFORE
from environments.profiles.profile import Profile, Transactions
from spec.answers import ABOUT_THE_REQUEST, LATER, grants_protected_result, is_refusal, refusal_kind, succeeded
from spec.exchange import Exchange, Response
from spec.rules import ROBUSTNESS
from tests.traffic.extras import EXTRA_HEADERS
from tests.traffic.reach import Wants
from tests.traffic.refused_credentials import of_code, to_try
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Together

SHOWN_BY_A_PAIR = "executePix.id.matches"
"""The requirement that executions beside other requests are for."""
PERHAPS_SPENT = (
    "exchange {} refused a code that wrong tokens were sent with, and a code without them was executed: perhaps spent by a "
    "wrong token"
)
_EXECUTE, _SCHEME = "executePix", "executePix.token.scheme"
_ROBUST = tuple(f"{_EXECUTE}.{what}" for what in ROBUSTNESS)
_IN_COMPANY = 2
"""How many wrong tokens of a code go beside a valid request: no header, and one of the other forms."""
SHOWN_BY_WRONG_TOKENS = (f"{_EXECUTE}.token.required", *_ROBUST)
"""The requirements that codes with a wrong token are for."""


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
    offered: set[int] = field(default_factory=set)
    generous: list[Exchange] = field(default_factory=list)
    preparations: list[Exchange] = field(default_factory=list)
    missing: str = ""

    @property
    def successes(self) -> list[Exchange]:
        """The executions that were confirmed."""
        return [answer for answer in (*self.answers, *self.generous) if succeeded(answer)]

    @property
    def perhaps_spent(self) -> list[Exchange]:
        """The executions that were refused after wrong tokens with their codes, while one without them was confirmed:
        of the codes that were supplied, or of those that the run prepared."""
        refused = [answer for answer in self.answers if answer.response and _is_refused(answer.response)]
        unoffered = (answer.number for answer in self.successes if answer.number not in self.offered)
        confirmed = {number in self.prepared for number in unoffered}
        return [one for one in refused if one.number in self.offered and (one.number in self.prepared) in confirmed]

    @property
    def all_confirmed(self) -> bool:
        """Whether codes were executed, and each execution that is as documented was confirmed."""
        return bool(self.successes) and all(map(succeeded, self.answers))


@scenario(shows=["executePix.*"], needs="execute", alone=True, otherwise=Executions(missing=NO_CODE))
def execute(traffic: Traffic) -> Executions:
    """Send everything that goes to the execution; no real code where no selected requirement needs one."""
    client, profile, reach = traffic.client, traffic.profile, traffic.reach
    if not reach.spends_codes:
        profile = replace(profile, transactions=Transactions())
    preparations: list[Exchange] = []

    def prepared() -> list[str]:
        wanted = min(spending_of(client, profile, reach.wants).prepared, client.door.guard.room)
        preparations.extend(prepare(client, profile, wanted))
        return client.door.guard.prepared.codes_of(preparations)

    found = execute_all(client, profile, prepared, traffic.together, reach.wants)
    found.preparations = preparations
    return found


def execute_all(
    client: Client,
    profile: Profile,
    prepared: Callable[[], list[str]],
    together: Together | None = None,
    wants: Wants = lambda *_: True,
) -> Executions:
    """Send everything that one run sends to the execution; each code is executed once. `prepared` prepares transfers
    and gives their codes: it is called when the supplied codes were sent. `wants` says which requirements are selected."""
    sender = _Sender(client, profile, together or Together(client), wants)
    with sender.behind_an_execution:
        sender.found.unknown = client.send(_EXECUTE, synthetic(), alone=True)
        sender.send_codes(spending_of(client, profile, wants), prepared)
        sender.send_synthetic_codes()
    return sender.found


def spending_of(client: Client, profile: Profile, wants: Wants) -> Spending:
    """What of the profile's transactions this run executes, by what the journal says of its codes."""
    codes = profile.transactions.codes
    return spending(profile, set(codes) - set(client.door.guard.drop_sent(codes)), pair=wants(SHOWN_BY_A_PAIR))


class _Sender:
    """Sends codes, and keeps the answers in `found`. From an execution until the next request the turn of the journal is
    kept, in `behind_an_execution`.

    The first code is executed first. The second is offered with wrong tokens, then executed. The third is executed beside
    one other request. All others go as the second, as a single code does. A service that takes a code for spent after a
    wrong token is offered no more of them.
    """

    def __init__(self, client: Client, profile: Profile, together: Together, wants: Wants) -> None:
        self.found = Executions(missing=NO_CODE)
        self.behind_an_execution = ExitStack()
        self._client, self._profile, self._together, self._wants = client, profile, together, wants
        self._door = client.door
        self._unanswered: set[str] = set()
        self._breaking: set[str] = set()
        self._lost_in_company = False

    def send_synthetic_codes(self) -> None:
        """What the others are compared with is alone on the wire: that a service is busy tells no credential from
        another."""
        found, send = self.found, partial(self._client.send, _EXECUTE, synthetic())
        if self._wants(_SCHEME, "executePix.refusal", *_ROBUST):
            found.unknown_without_a_token = send(credential=NO_HEADER, alone=True)
            found.unknown_unauthorized = send(credential=ANOTHER, alone=True)
        if self._wants(_SCHEME, *_ROBUST):
            schemes = forms(self._profile, among=OTHER_SCHEMES)
            sends = (partial(send, credential=form.name) for form in schemes)
            found.other_schemes = self._together.send_each_with_a_companion(_EXECUTE, *sends)

    def send_codes(self, spends: Spending, prepared: Callable[[], list[str]]) -> None:
        """Send each code, the last two at the same time where the run prepared them for that."""
        ordinary, together = len(spends.codes) + spends.prepared - spends.together, list[str]()
        offered = self._offered(ordinary)
        for index, (code, was_prepared) in enumerate(self._codes(spends, prepared)):
            is_offered = index in offered and not self.found.perhaps_spent
            if is_offered and self._offer(code, offered[index]):
                continue
            self.behind_an_execution.enter_context(self._door.guard.turn())
            if index >= ordinary and self._may_pair():
                together.append(code)
                self.behind_an_execution.close()
            else:
                self._execute_one(code, was_prepared, is_offered=is_offered, beside=self._is_beside(index, ordinary))
            if self._door.guard.keep_codes_back():
                together.clear()
                break
        self.behind_an_execution.close()
        self._execute_together(together)

    def _is_beside(self, index: int, ordinary: int) -> bool:
        return index == 2 and index < ordinary and self._together.is_possible and self._wants(SHOWN_BY_A_PAIR)

    def _offered(self, ordinary: int) -> dict[int, tuple[str, ...]]:
        """The credentials that each code is offered with, by its place."""
        if not self._wants(*SHOWN_BY_WRONG_TOKENS):
            return {}
        names = to_try(self._profile, self._door.secrets.token())
        places = [each for each in range(1, ordinary) if not self._is_beside(each, ordinary)] or [0]
        spare = self._profile.limits.wrong_tokens - len(names)
        return {place: of_code(names, turn, len(places), spare) for turn, place in enumerate(places)}

    def _codes(self, spends: Spending, prepared: Callable[[], list[str]]) -> Iterator[tuple[str, bool]]:
        """Each code once that there is room for, and whether the run prepared it."""
        self.found.missing = spends.left_out or (
            self._why_no_code() if spends.sent_before and not spends.codes else NO_CODE
        )
        if spends.left_out:
            self._door.unsent[spends.left_out] = {_EXECUTE}
        for code in spends.codes:
            self.found.missing = ""
            yield code, False
        self.behind_an_execution.close()
        supplied = (*spends.codes, *spends.sent_before)
        for code in dict.fromkeys(prepared()):
            if code not in supplied:
                self.found.missing = ""
                yield code, True

    def _why_no_code(self) -> str:
        guard = self._door.guard
        return guard.journal_trouble or guard.supplied_trouble or SENT_BEFORE

    # -- with a credential that is to be refused ------------------------------------------------------------------

    def _offer(self, code: str, credentials: Sequence[str]) -> bool:
        """Send a code with each of these: the first right behind the execution before, a few in company. True where the
        code is spent."""
        at_once = self._send_refusable(code, credentials[0])
        self.behind_an_execution.close()
        others = enumerate(credentials[1:])
        return at_once or any(self._send_refusable(code, name, company=place < _IN_COMPANY) for place, name in others)

    def _send_refusable(self, code: str, credential: str, *, company: bool = False) -> bool:
        """Send a code with a credential that is to be refused. True where the code is spent by it. On a sandbox it has
        company with the valid token, once a code was executed, and until the service lost a request in company: that
        costs a code.

        A credential that got no answer is not tried again; where one breaks the service, a synthetic code reproduces
        that.
        """
        found = self.found
        if credential in self._unanswered:
            return False
        in_company = company and self._profile.is_sandbox and bool(found.successes) and not self._lost_in_company
        send = partial(self._client.send, _EXECUTE, code, credential=credential, alone=not in_company)
        [exchange] = self._together.send_each_with_a_companion(_EXECUTE, send) if in_company else [send()]
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
        return self._together.is_possible and self.found.all_confirmed

    def _execute_together(self, codes: list[str]) -> None:
        """Execute two transfers that the run prepared at the same time, on this machine; else one after the other."""
        if len(codes) == 2 and self._door.guard.permit_together(*codes):
            sends = (partial(self._client.send, _EXECUTE, code, valid=True) for code in codes)
            answers = self._together.send_all(self._together.meeting(*sends))
            self.found.answers += answers
            self.found.prepared |= {answer.number for answer in answers}
            return
        for code in codes:
            self._execute_one(code, True)

    def _execute_one(self, code: str, was_prepared: bool, *, is_offered: bool = False, beside: bool = False) -> None:
        found = self.found
        send = partial(self._client.send, _EXECUTE, code, valid=True)
        if was_prepared and self._needs_more():
            found.generous.append(send(json={}, headers=EXTRA_HEADERS, query="?pixconf=1"))
            return
        exchange = self._together.send_beside(send, self._other) if beside else send()
        found.answers.append(exchange)
        if was_prepared:
            found.prepared.add(exchange.number)
        if is_offered:
            found.offered.add(exchange.number)
            self._door.guard.notes += [PERHAPS_SPENT.format(each.number) for each in found.perhaps_spent[:1]]

    def _other(self) -> Exchange:
        """A request that an execution may meet: a read, or else a synthetic code with a wrong token."""
        if "read" in self._profile.allow:
            return self._client.send("listAccounts", valid=True)
        return self._client.send(_EXECUTE, synthetic(), credential=ANOTHER)

    def _needs_more(self) -> bool:
        """True where the one prepared code so far was refused: perhaps an execution needs more than is documented."""
        found = self.found
        prepared = [answer.response for answer in found.answers if answer.number in found.prepared and answer.response]
        refused = [response for response in prepared if refusal_kind(response) in ABOUT_THE_REQUEST]
        return len(refused) == 1 and not found.generous and not found.successes


def _is_refused(response: Response) -> bool:
    """Whether an execution was refused for sure: a server error leaves that open, and "later" is not about the code."""
    return is_refusal(response) and response.status < 500 and refusal_kind(response) not in LATER
