"""The executions of a run: each code once, and which of them are offered with wrong tokens before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from environments.door.door import NoteAbout
from environments.door.permission import synthetic
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
from spec.exchange import VALID, Exchange, Purpose
from spec.log import Log
from spec.message import Text, say
from spec.observed import indistinguishable
from spec.rules import ROBUSTNESS
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.money.preparing import prepare
from tests.traffic.neighbours import neighbours_of_executions
from tests.traffic.refused_credentials import ASKED_AGAIN, ask_again, of_code, wrong_token_rows
from tests.traffic.scenario import Traffic, scenario

_EXECUTE, _SCHEME = "executePix", "executePix.token.scheme"
_ROBUST = tuple(f"{_EXECUTE}.{what}" for what in ROBUSTNESS)
_SHOWN_BY_A_PAIR = f"{_EXECUTE}.id.matches"
"""The requirement that executions beside other requests are for."""
_TOKEN = f"{_EXECUTE}.token.required"
_SHOWN_BY_WRONG_TOKENS = (_TOKEN, *_ROBUST)
"""The requirements that codes with a wrong token are for."""
_LEAST_WITH_A_PAIR = 4
"""Executions: one first, one that is offered with wrong tokens before, and the two at the same time."""


class Preparation(Purpose):
    """Why a transfer is prepared."""

    TO_EXECUTE = "a transfer that the run executes"


class Execution(Purpose):
    """Why a request is sent to GET /v1/execute/pix/{transactionId}."""

    UNKNOWN_CODE = "a code that does not exist"
    UNKNOWN_CODE_REFUSED = "a code that does not exist, without the valid token"
    OFFERED = "a real code without the valid token, before its execution"
    BREAKS_AGAIN = "a code that does not exist, with the token that broke the service"
    SUPPLIED = "a supplied code"
    PREPARED = "a code that the run prepared"
    PREPARED_WITH_MORE = "a code that the run prepared, with a body, more headers and a query"
    BESIDE_ANOTHER = "a request at the same moment as an execution"
    AFTER_EXECUTION = "the code that was executed first, without the valid token"


# -- what the log says of executions ------------------------------------------------------------------------------


def answers_to_real_codes(log: Log) -> list[Exchange]:
    """The valid executions as documented, of supplied codes and of those that the run prepared."""
    return log.of(_EXECUTE, Execution.SUPPLIED, Execution.PREPARED)


def successful_executions(log: Log) -> list[Exchange]:
    """The executions that were confirmed, those as documented first."""
    executions = [*answers_to_real_codes(log), *log.of(_EXECUTE, Execution.PREPARED_WITH_MORE)]
    return list(filter(succeeded, executions))


def repeated_executions(log: Log) -> list[Exchange]:
    """The executions of a code that was executed before which say success, or carry a result: they are judged by every
    rule, as the first one is."""
    executed: set[str] = set()
    repeated = []
    for exchange in log.attempts(_EXECUTE):
        code = exchange.request.last_segment
        if exchange.credential == VALID and code in executed and grants_protected_result(exchange):
            repeated.append(exchange)
        if succeeded(exchange):
            executed.add(code)
    return repeated


def executed_and_refused(log: Log) -> list[Exchange]:
    """The executions that were refused with the result of the transfer, whose status is DONE: of codes that the run
    prepared, and had not sent before."""
    prepared = log.of(_EXECUTE, Execution.PREPARED, Execution.PREPARED_WITH_MORE)
    offered = _offered_codes(log)
    not_offered = [execution for execution in prepared if execution.request.last_segment not in offered]
    return list(filter(_is_refused_and_done, not_offered))


def perhaps_spent(log: Log) -> list[Exchange]:
    """The executions that were refused perhaps because wrong tokens went with their codes before.

    Something else is the reason if codes that were offered with the same wrong tokens were executed, or if a code that
    was not offered was refused alike, such as in a window at night.
    """
    refused = _refused_after_wrong_tokens(log)
    if not refused:
        return []
    offers = _offers_by_code(log)
    executed = {success.request.last_segment for success in successful_executions(log)}
    harmless: set[tuple[str, tuple[str, ...]]] = set()
    for code in executed & offers.keys():
        harmless |= offers[code]
    not_offered = [answer for answer in answers_to_real_codes(log) if answer.request.last_segment not in offers]
    spent = []
    for answer in refused:
        is_harmless = offers[answer.request.last_segment] <= harmless
        is_refused_anyway = any(indistinguishable(answer, other) for other in not_offered if _is_not_confirmed(other))
        if not is_harmless and not is_refused_anyway:
            spent.append(answer)
    return spent


def _is_not_confirmed(answer: Exchange) -> bool:
    """True if an execution was not confirmed."""
    return refused_or_lost(answer) is not None


def _offers_by_code(log: Log) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
    """By code, the wrong tokens that went with it before its execution, and how each was written."""
    offers: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for offer in log.sent(_EXECUTE, Execution.OFFERED):
        offers.setdefault(offer.request.last_segment, set()).add((offer.credential, offer.written))
    return offers


def _refused_after_wrong_tokens(log: Log) -> list[Exchange]:
    """The executions that were refused after wrong tokens with their codes, while one without them was confirmed: of
    the codes that were supplied, or of those that the run prepared. If all codes were offered with wrong tokens, those
    that were refused with a conflict."""
    answers, offered_codes = answers_to_real_codes(log), _offered_codes(log)
    offered = [answer for answer in answers if answer.request.last_segment in offered_codes and answer.response]
    if len(offered) == len(answers):
        return [answer for answer in offered if refused_or_lost(answer) is RefusalKind.CONFLICT]
    successes = successful_executions(log)
    not_offered = [success for success in successes if success.request.last_segment not in offered_codes]
    was_prepared = {success.purpose is Execution.PREPARED for success in not_offered}
    refused = [answer for answer in offered if refused_or_lost(answer) in ABOUT_THE_REQUEST | ABOUT_THE_CALLER]
    return [answer for answer in refused if (answer.purpose is Execution.PREPARED) in was_prepared]


def _offered_codes(log: Log) -> set[str]:
    """The codes that were sent without the valid token before their execution."""
    return {offer.request.last_segment for offer in log.sent(_EXECUTE, Execution.OFFERED)}


def _is_refused_and_done(answer: Exchange) -> bool:
    response = answer.response
    return response is not None and is_refusal(response) and any(map(is_done, execution_results(response)))


# -- what is sent -------------------------------------------------------------------------------------------------


@scenario(serves=["executePix.*"], needs="execute")
def execute(traffic: Traffic) -> None:
    """Send a code that does not exist; each real code, if a selected requirement needs one; and a code that does not
    exist with wrong tokens."""
    sender = _Sender(traffic)
    sender.send_codes()
    sender.send_unknown_code_with_wrong_tokens()


@scenario(serves=[_TOKEN], needs="execute")
def ask_in_the_end(traffic: Traffic) -> None:
    """Send the code that was executed first without a token and with a wrong one, as right behind its execution."""
    ask_again(traffic.client.with_purpose(Execution.AFTER_EXECUTION))


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


def _rows_with_company(rows: Sequence[Row]) -> list[Row]:
    """The rows of a code that go beside a valid request: no header, and one of the other forms. The first one goes
    right behind the execution before."""
    behind = rows[1:]
    bare = [row for row in behind if row.credential == NO_HEADER]
    wrong = [row for row in behind if row.credential != NO_HEADER]
    return [*bare[:1], *wrong[:1]]


class _Sender:
    """Sends codes.

    A synthetic code goes first. The first real code is executed before any other is sent. The second is offered with
    wrong tokens, then executed. The third is executed beside one other request. All others go as the second, as a
    single code does. A service that takes codes for spent after a wrong token is offered no more of them. The last two
    are executed at the same time where the run prepared them for that.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic, self._profile, self._wants = traffic, traffic.profile, traffic.reach.wants
        self._door, self._together, self._log = traffic.client.door, traffic.together, traffic.log
        self._send = partial(traffic.client.send, _EXECUTE)
        self._is_broken, self._has_yet_to_ask = False, self._wants(_TOKEN)
        self._unknown_code = synthetic()
        self._rows_offered: dict[str, Sequence[Row]] = {}  # by code
        self._neighbours = neighbours_of_executions(traffic, self._unknown_code)

    def send_codes(self) -> None:
        """Send a synthetic code, then each real one that there is room for."""
        self._send(self._unknown_code, purpose=Execution.UNKNOWN_CODE)
        self._send_real_codes()
        self._note_code_perhaps_spent()

    def _send_real_codes(self) -> None:
        """Send each real code that there is room for."""
        codes, ordinary = self._codes() if self._traffic.reach.spends_codes else ([], 0)
        offered, pair = self._offered(ordinary), list[str]()
        self._door.budget.keep_to_ask_again(_EXECUTE, ASKED_AGAIN if self._has_yet_to_ask else 0)
        for place, (code, is_prepared) in enumerate(codes):
            if self._offer(code, self._rows_to_offer(offered.get(place, []))):
                continue
            is_for_the_pair = place >= ordinary and bool(successful_executions(self._log))
            if is_for_the_pair and all(map(succeeded, answers_to_real_codes(self._log))):
                pair.append(code)
            else:
                if place > 0:  # before the first one went a code that does not exist
                    self._send_neighbour()
                self._execute(code, is_prepared, beside=self._is_beside(place, ordinary))
            if self._door.guard.keep_codes_back():
                return
        self._ask_again()
        self._execute_pair(pair)

    def send_unknown_code_with_wrong_tokens(self) -> None:
        """Send a code that does not exist with wrong tokens. What the others are compared with is alone on the wire,
        because a busy service says nothing about a credential."""
        send = partial(self._send, synthetic(), purpose=Execution.UNKNOWN_CODE_REFUSED)
        if self._wants(_SCHEME, "executePix.refusal", *_ROBUST):
            for name in (NO_HEADER, ANOTHER):
                send(credential=name)
        if self._wants(_SCHEME, *_ROBUST):
            sends = (partial(send, credential=form.name) for form in forms(self._profile, among=OTHER_SCHEMES))
            self._together.send_each_with_a_companion(_EXECUTE, *sends)

    # -- which codes there are, and how each is sent ----------------------------------------------------------------

    def _codes(self) -> tuple[Iterable[tuple[str, bool]], int]:
        """Each code once that there is room for, and whether the run prepared it; and the number of those that are not
        for the same moment. On a sandbox two are, and have the first share of limits.executions; then come the supplied
        codes that the journal lets this run send, then those of other transfers that the run prepares."""
        profile, limit = self._profile, self._profile.limits.executions
        plan, usable = profile.transactions.prepare, self._door.guard.open_journal(profile.transactions.codes)
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
            self._door.note(NoteAbout.CUT, left_out, _EXECUTE)
        return self._in_order(supplied, wanted + at_once, left_out), ordinary

    def _in_order(self, supplied: list[str], wanted: int, left_out: Text) -> Iterator[tuple[str, bool]]:
        """The supplied codes; then those of transfers that are prepared when these were sent, or why there is none."""
        guard = self._door.guard
        yield from ((code, False) for code in supplied)
        preparations = prepare(self._traffic.client, self._profile, min(wanted, guard.room), Preparation.TO_EXECUTE)
        prepared = dict.fromkeys(guard.prepared.codes_of(preparations))
        if not supplied and not prepared:
            why: Text = guard.journal_trouble or guard.supplied_trouble or (SENT_BEFORE if guard.barred else NO_CODE)
            for preparation in preparations[-1:]:
                why = _why_no_code(preparation)
            self._traffic.missing[_EXECUTE] = left_out or why
        yield from ((code, True) for code in prepared)

    def _offered(self, ordinary: int) -> dict[int, list[Row]]:
        """The rows that each code is offered with, by its place."""
        if not self._wants(*_SHOWN_BY_WRONG_TOKENS):
            return {}
        rows = wrong_token_rows(self._traffic, _EXECUTE)
        places = [place for place in range(1, ordinary) if not self._is_beside(place, ordinary)] or [0]
        return {place: of_code(rows, turn, len(places)) for turn, place in enumerate(places)}

    def _rows_to_offer(self, rows: list[Row]) -> list[Row]:
        """The rows to offer the next code with. After a code that was perhaps spent the next one is offered with the
        same rows besides, on a sandbox: if it is executed, the wrong tokens were not the reason. After a second one,
        and elsewhere, no more code is offered."""
        spent = perhaps_spent(self._log)
        if not spent or not rows:
            return rows
        if len(spent) > 1 or not self._profile.is_sandbox:
            return []
        of_the_spent_code = self._rows_offered.get(spent[0].request.last_segment, [])
        return list(dict.fromkeys([*of_the_spent_code, *rows]))

    def _is_beside(self, place: int, ordinary: int) -> bool:
        return place == 2 < ordinary and self._together.is_possible and self._wants(_SHOWN_BY_A_PAIR)

    # -- with a credential that is to be refused ------------------------------------------------------------------

    def _ask_again(self) -> None:
        """Ask for the code that was executed first, once."""
        if self._has_yet_to_ask and self._door.guard.first_executed:
            self._has_yet_to_ask = False
            ask_again(self._traffic.client.with_purpose(Execution.AFTER_EXECUTION))

    def _offer(self, code: str, rows: Sequence[Row]) -> bool:
        """Send a code with each of these, the first right behind the execution before, until one breaks the service. On
        a sandbox some have company with the valid token. True where the code is spent."""
        may_have_company = self._profile.is_sandbox and bool(successful_executions(self._log))
        company = _rows_with_company(rows) if may_have_company else []
        self._rows_offered[code] = rows
        for row in rows:
            send = partial(self._send, code, **row._asdict(), purpose=Execution.OFFERED)
            if self._is_broken:
                break
            [exchange] = self._together.send_each_with_a_companion(_EXECUTE, send) if row in company else [send()]
            self._ask_again()  # behind the first, which is to leave right behind an execution
            if not exchange.number:  # not sent: the code can still be executed
                continue
            is_broken = exchange.response is None or exchange.response.status >= 500
            self._is_broken = is_broken and not row.written  # a service may not take what is unusual
            if self._is_broken:  # a synthetic code reproduces that
                self._send(synthetic(), **row._asdict(), purpose=Execution.BREAKS_AGAIN)
            may_be_spent = exchange.response is None or exchange.number in self._door.guard.unknown
            if may_be_spent or grants_protected_result(exchange):
                return True
        return False

    # -- with the valid token -------------------------------------------------------------------------------------

    def _send_neighbour(self) -> None:
        """Send what goes right before the next execution."""
        send = next(self._neighbours)
        send()

    def _execute(self, code: str, is_prepared: bool, *, beside: bool = False) -> None:
        send = partial(self._send, code, valid=True)
        if is_prepared and self._needs_more():
            more = {"json": {}, "headers": EXTRA_HEADERS, "query": "?pixconf=1"}
            send(**more, purpose=Execution.PREPARED_WITH_MORE)
            return
        send = partial(send, purpose=Execution.PREPARED if is_prepared else Execution.SUPPLIED)
        if beside:
            self._together.send_beside(send, self._send_another)
        else:
            send()

    def _note_code_perhaps_spent(self) -> None:
        """Note it if something else does not explain why a code was refused: later codes may have shown the reason."""
        for spent in perhaps_spent(self._log)[:1]:
            note = say(
                "a code was perhaps spent by a wrong token: exchange {number} refused it, and wrong tokens were sent "
                "with it before",
                number=spent.number,
            )
            self._door.note(NoteAbout.SET_UP, note)

    def _execute_pair(self, codes: list[str]) -> None:
        """Execute two transfers that the run prepared at the same time, on a sandbox."""
        if len(codes) == 2 and self._door.guard.permit_again(*codes):
            sends = [partial(self._send, code, valid=True, purpose=Execution.PREPARED) for code in codes]
            self._together.send_all(self._together.meeting(*sends))

    def _send_another(self) -> Exchange:
        """Send a request that an execution may meet: a read, or else a synthetic code with a wrong token."""
        purpose = Execution.BESIDE_ANOTHER
        if "read" in self._profile.allow:
            return self._traffic.client.send("listAccounts", valid=True, purpose=purpose)
        return self._send(synthetic(), credential=ANOTHER, purpose=purpose)

    def _needs_more(self) -> bool:
        """True if the one prepared code so far was refused: perhaps an execution needs more than is documented."""
        refused = []
        for answer in self._log.of(_EXECUTE, Execution.PREPARED):
            is_refused = refused_or_lost(answer) in ABOUT_THE_REQUEST
            if is_refused and not _is_refused_and_done(answer):
                refused.append(answer)
        was_tried = bool(self._log.of(_EXECUTE, Execution.PREPARED_WITH_MORE))
        return len(refused) == 1 and not was_tried and not successful_executions(self._log)
