"""The executions of a run: each code once, and which of them are offered with wrong tokens before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from environments.door.permission import synthetic
from environments.door.preparing import prepare
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, Row, forms
from environments.profiles.loading import NO_CODE, SENT_BEFORE
from spec.answers import (
    ABOUT_THE_CALLER,
    ABOUT_THE_REQUEST,
    RefusalKind,
    answer_in_words,
    execution_results,
    grants_protected_result,
    is_done,
    is_granted,
    is_refusal,
    refused_or_lost,
    succeeded,
)
from spec.exchange import Exchange
from spec.message import Text, say
from spec.rules import ROBUSTNESS
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.refused_credentials import ASKED_AGAIN, ask_again, of_code, wrong_token_rows
from tests.traffic.scenario import Traffic, gathering_scenario, scenario

_EXECUTE, _SCHEME = "executePix", "executePix.token.scheme"
_ROBUST = tuple(f"{_EXECUTE}.{what}" for what in ROBUSTNESS)
_SHOWN_BY_A_PAIR = f"{_EXECUTE}.id.matches"
"""The requirement that executions beside other requests are for."""
_TOKEN = f"{_EXECUTE}.token.required"
_SHOWN_BY_WRONG_TOKENS = (_TOKEN, *_ROBUST)
"""The requirements that codes with a wrong token are for."""
_LEAST_WITH_A_PAIR = 4
"""Executions: one first, one that is offered with wrong tokens before, and the two at the same time."""
_IN_COMPANY = slice(1, 3)
"""The wrong tokens of a code that go beside a valid request: no header, and one of the other forms."""


@dataclass(frozen=True)
class Executions:
    """Everything that was sent to GET /v1/execute/pix/{transactionId}, and its answers. `unknown` is a synthetic code
    with the valid token, `unauthorized` are synthetic codes without it, `refusals` real codes without it. `answers` are
    real codes with it, and `sent_with_more` has the one that goes with a body, headers and a query, too. `prepared` and
    `offered` are the numbers of those whose code the run prepared, or offered with wrong tokens before; `missing` says
    why no code was sent."""

    unknown: Exchange | None = None
    unauthorized: list[Exchange] = field(default_factory=list)
    refusals: list[Exchange] = field(default_factory=list)
    answers: list[Exchange] = field(default_factory=list)
    prepared: set[int] = field(default_factory=set)
    offered: set[int] = field(default_factory=set)
    sent_with_more: list[Exchange] = field(default_factory=list)
    preparations: list[Exchange] = field(default_factory=list)
    missing: Text = ""

    @property
    def successes(self) -> list[Exchange]:
        """The executions that were confirmed."""
        return list(filter(succeeded, (*self.answers, *self.sent_with_more)))

    @property
    def executed_and_refused(self) -> list[Exchange]:
        """The executions that were refused with the result of the transfer, whose status is DONE: of codes that the run
        prepared, and had not sent before."""
        own = [answer for answer in self.answers if answer.number in self.prepared]
        not_offered = [answer for answer in (*own, *self.sent_with_more) if answer.number not in self.offered]
        return [answer for answer in not_offered if _is_refused_and_done(answer)]

    @property
    def perhaps_spent(self) -> list[Exchange]:
        """The executions that were refused after wrong tokens with their codes, while one without them was confirmed:
        of the codes that were supplied, or of those that the run prepared. Or with a conflict, where all had some."""
        unoffered = (answer.number for answer in self.successes if answer.number not in self.offered)
        confirmed = {number in self.prepared for number in unoffered}
        offered = [seen for seen in self.answers if seen.number in self.offered and seen.response]
        if len(offered) == len(self.answers):
            return [seen for seen in offered if refused_or_lost(seen) is RefusalKind.CONFLICT]
        refused = [seen for seen in offered if refused_or_lost(seen) in ABOUT_THE_REQUEST | ABOUT_THE_CALLER]
        return [seen for seen in refused if (seen.number in self.prepared) in confirmed]


def _is_refused_and_done(answer: Exchange) -> bool:
    response = answer.response
    return response is not None and is_refusal(response) and any(map(is_done, execution_results(response)))


@gathering_scenario(serves=["executePix.*"], needs="execute", otherwise=Executions(missing=NO_CODE))
def execute(traffic: Traffic) -> Executions:
    """A synthetic code; each real code, where a selected requirement needs one; and a synthetic code with wrong
    tokens."""
    sender = _Sender(traffic)
    sender.send_codes()
    return sender.send_synthetic_codes()


@scenario(serves=[_TOKEN], needs="execute")
def ask_in_the_end(traffic: Traffic) -> None:
    """The code that was executed first, without a token and with a wrong one, as right behind its execution."""
    ask_again(traffic.client)


def _why_no_code(preparation: Exchange) -> Text:
    """Reason why the answer to a preparation gave no code."""
    answer = answer_in_words(preparation)
    if not is_granted(preparation):
        return say("no transfer was prepared: {answer}", answer=answer)
    return say(
        "no transaction code at transactions.prepare.code_at (exchange {number}: {answer})",
        number=preparation.number,
        answer=answer,
    )


class _Sender:
    """Sends codes, and keeps the answers in `found`.

    A synthetic code goes first. The first real code is executed before any other is sent. The second is offered with
    wrong tokens, then executed. The third is executed beside one other request. All others go as the second, as a
    single code does. A service that takes a code for spent after a wrong token is offered no more of them. The last two
    are executed at the same time where the run prepared them for that.
    """

    found: Executions

    def __init__(self, traffic: Traffic) -> None:
        self._traffic, self._profile, self._wants = traffic, traffic.profile, traffic.reach.wants
        self._door, self._together = traffic.client.door, traffic.together
        self._send = partial(traffic.client.send, _EXECUTE)
        self._is_broken, self._has_yet_to_ask = False, self._wants(_TOKEN)

    def send_codes(self) -> None:
        """Send a synthetic code, then each real one that there is room for."""
        self.found = Executions(unknown=self._send(synthetic()))
        codes, ordinary = self._codes() if self._traffic.reach.spends_codes else ([], 0)
        offered, pair = self._offered(ordinary), list[str]()
        self._door.budget.kept_to_ask_again[_EXECUTE] = ASKED_AGAIN * self._has_yet_to_ask
        for place, (code, is_prepared) in enumerate(codes):
            is_offered = bool(offered.get(place)) and not self.found.perhaps_spent
            if is_offered and self._offer(code, offered[place]):
                continue
            if place >= ordinary and self.found.successes and all(map(succeeded, self.found.answers)):
                pair.append(code)
            else:
                self._execute(code, is_prepared, is_offered=is_offered, beside=self._is_beside(place, ordinary))
            if self._door.guard.keep_codes_back():
                return
        self._ask_again()
        self._execute_pair(pair)

    def send_synthetic_codes(self) -> Executions:
        """Send a synthetic code with wrong tokens. What the others are compared with is alone on the wire: that a
        service is busy tells no credential from another."""
        send = partial(self._send, synthetic())
        if self._wants(_SCHEME, "executePix.refusal", *_ROBUST):
            self.found.unauthorized.extend(send(credential=name) for name in (NO_HEADER, ANOTHER))
        if self._wants(_SCHEME, *_ROBUST):
            sends = (partial(send, credential=form.name) for form in forms(self._profile, among=OTHER_SCHEMES))
            self.found.unauthorized.extend(self._together.send_each_with_a_companion(_EXECUTE, *sends))
        return self.found

    # -- which codes there are, and how each is sent ----------------------------------------------------------------

    def _codes(self) -> tuple[Iterable[tuple[str, bool]], int]:
        """Each code once that there is room for, and whether the run prepared it; and the number of those that are not
        for the same moment. On a sandbox two are, and have the first share of limits.executions; then come the supplied
        codes that the journal lets this run send, then those of other transfers that the run prepares."""
        profile, limit = self._profile, self._profile.limits.executions
        plan, usable = profile.transactions.prepare, self._door.guard.open(profile.transactions.codes)
        may_pair = profile.is_sandbox and plan and self._together.is_possible and self._wants(_SHOWN_BY_A_PAIR)
        at_once = 2 if may_pair and limit >= _LEAST_WITH_A_PAIR else 0
        supplied = usable[: limit - at_once]
        asked = plan.count if plan else 0
        wanted = min(asked, limit - at_once - len(supplied))
        in_all, ordinary = len(usable) + asked, len(supplied) + wanted
        left_out: Text = ""
        if ordinary < in_all:
            left_out = say(
                "limits.executions ({limit}) leaves out {number} of {in_all} transaction codes",
                limit=limit,
                number=in_all - ordinary,
                in_all=in_all,
            )
            self._door.unsent[left_out] = {_EXECUTE}
        return self._in_order(supplied, wanted + at_once, left_out), ordinary

    def _in_order(self, supplied: list[str], wanted: int, left_out: Text) -> Iterator[tuple[str, bool]]:
        """The supplied codes; then those of transfers that are prepared when these were sent, or why there is none."""
        guard = self._door.guard
        yield from ((code, False) for code in supplied)
        self.found.preparations.extend(prepare(self._traffic.client, self._profile, min(wanted, guard.room)))
        prepared = dict.fromkeys(guard.prepared.codes_of(self.found.preparations))
        if not supplied and not prepared:
            why: Text = guard.journal_trouble or guard.supplied_trouble or (SENT_BEFORE if guard.barred else NO_CODE)
            for preparation in self.found.preparations[-1:]:
                why = _why_no_code(preparation)
            self.found = replace(self.found, missing=left_out or why)
        yield from ((code, True) for code in prepared)

    def _offered(self, ordinary: int) -> dict[int, list[Row]]:
        """The rows that each code is offered with, by its place."""
        if not self._wants(*_SHOWN_BY_WRONG_TOKENS):
            return {}
        rows = wrong_token_rows(self._traffic, _EXECUTE)
        places = [place for place in range(1, ordinary) if not self._is_beside(place, ordinary)] or [0]
        return {place: of_code(rows, turn, len(places)) for turn, place in enumerate(places)}

    def _is_beside(self, place: int, ordinary: int) -> bool:
        return place == 2 < ordinary and self._together.is_possible and self._wants(_SHOWN_BY_A_PAIR)

    # -- with a credential that is to be refused ------------------------------------------------------------------

    def _ask_again(self) -> None:
        """Ask for the code that was executed first, once."""
        if self._has_yet_to_ask and self._door.guard.first_executed:
            self._has_yet_to_ask = False
            ask_again(self._traffic.client)

    def _offer(self, code: str, rows: Sequence[Row]) -> bool:
        """Send a code with each of these, the first right behind the execution before, until one breaks the service. On
        a sandbox some have company with the valid token. True where the code is spent."""
        company = rows[_IN_COMPANY] if self._profile.is_sandbox and self.found.successes else ()
        for row in rows:
            send = partial(self._send, code, **row._asdict())
            if self._is_broken:
                break
            [exchange] = self._together.send_each_with_a_companion(_EXECUTE, send) if row in company else [send()]
            self._ask_again()  # behind the first, which is to leave right behind an execution
            if not exchange.number:  # not sent: the code can still be executed
                continue
            self.found.refusals.append(exchange)
            is_broken = exchange.response is None or exchange.response.status >= 500
            self._is_broken = is_broken and not row.written  # a service may not take what is unusual
            if self._is_broken:  # a synthetic code reproduces that
                self._send(synthetic(), **row._asdict())
            may_be_spent = exchange.response is None or exchange.number in self._door.guard.unknown
            if may_be_spent or grants_protected_result(exchange):
                return True
        return False

    # -- with the valid token -------------------------------------------------------------------------------------

    def _execute(self, code: str, is_prepared: bool, *, is_offered: bool = False, beside: bool = False) -> None:
        found, send = self.found, partial(self._send, code, valid=True)
        if is_prepared and self._needs_more():
            exchange = send(json={}, headers=EXTRA_HEADERS, query="?pixconf=1")
            found.sent_with_more.append(exchange)
            if is_offered:
                found.offered.add(exchange.number)
            return
        exchange = self._together.send_beside(send, self._other) if beside else send()
        found.answers.append(exchange)
        found.prepared.update([exchange.number] * is_prepared)
        if is_offered:
            found.offered.add(exchange.number)
            self._door.guard.notes += [
                say(
                    "a code was perhaps spent by a wrong token: exchange {number} refused it, and wrong tokens were "
                    "sent with it before",
                    number=each.number,
                )
                for each in found.perhaps_spent[:1]
            ]

    def _execute_pair(self, codes: list[str]) -> None:
        """Execute two transfers that the run prepared at the same time, on a sandbox."""
        if len(codes) == 2 and self._door.guard.permit_again(*codes):
            sends = (partial(self._send, code, valid=True) for code in codes)
            answers = self._together.send_all(self._together.meeting(*sends))
            self.found.answers.extend(answers)
            self.found.prepared.update(answer.number for answer in answers)

    def _other(self) -> Exchange:
        """A request that an execution may meet: a read, or else a synthetic code with a wrong token."""
        if "read" in self._profile.allow:
            return self._traffic.client.send("listAccounts", valid=True)
        return self._send(synthetic(), credential=ANOTHER)

    def _needs_more(self) -> bool:
        """True where the one prepared code so far was refused: perhaps an execution needs more than is documented."""
        found = self.found
        refused = [
            answer
            for answer in found.answers
            if answer.number in found.prepared
            and refused_or_lost(answer) in ABOUT_THE_REQUEST
            and not _is_refused_and_done(answer)
        ]
        return len(refused) == 1 and not found.sent_with_more and not found.successes
