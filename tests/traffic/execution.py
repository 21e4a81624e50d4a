"""The executions of a run: GET /v1/execute/pix/{transactionId}, the rule of the interface document.

Each real code is executed once. `money/executions.py` has the purposes of these requests, and says what the log shows.
Words of this module:

| word | meaning |
|---|---|
| real code | the transaction code of a prepared transfer: with the valid token it moves money |
| to offer a code | to send it with wrong tokens before its execution; that must not execute it |
| unauthorized request | a request without the valid token; it has a form of token and unusual ways to write it |
| spent code | a code that the service does not execute any more, perhaps because of a wrong token |
| companion | a valid request that does nothing, sent at the same moment as one that must be refused |
| neighbour | a request right before an execution, on the same connection |

A companion or a neighbour may change the answer of a service that is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from environments.door.door import NoteAbout
from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, UnauthorizedRequest, forms
from environments.profiles.loading import NO_CODE, SENT_BEFORE
from spec.answers import (
    ABOUT_THE_REQUEST,
    answer_in_words,
    grants_protected_result,
    is_granted,
    refusal_or_failure,
    succeeded,
)
from spec.exchange import Exchange
from spec.message import Text, say
from spec.rules import ROBUSTNESS
from tests.traffic.case import EXTRA_HEADERS
from tests.traffic.money.executions import (
    EXECUTE,
    Execution,
    Preparation,
    answers_to_real_codes,
    is_refused_and_done,
    perhaps_spent,
    successful_executions,
)
from tests.traffic.money.preparing import prepare
from tests.traffic.neighbours import Events, first_quiet_place, neighbours_of_executions
from tests.traffic.refused_credentials import (
    ASKED_AGAIN,
    requests_with_one_code,
    send_first_code_again,
    unauthorized_requests,
)
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send

_SCHEME = f"{EXECUTE}.token.scheme"
_TOKEN = f"{EXECUTE}.token.required"
_ROBUST = tuple(f"{EXECUTE}.{end_of_id}" for end_of_id in ROBUSTNESS)
_SHOWN_BY_WRONG_TOKENS = (_TOKEN, *_ROBUST)
"""The requirements for which codes are offered, that is: sent with wrong tokens."""
_SHOWN_BY_SIMULTANEOUS_REQUESTS = f"{EXECUTE}.id.matches"
"""The requirement for which an execution is sent at the same moment as another request: a result may be mixed up."""
_CODES_OF_A_PAIR = 2
"""Codes that are executed at the same moment."""
_MOST_SPENT = 3
"""Most codes that were perhaps spent, on a sandbox: a service that is closed for a while may
refuse three one after the other."""
_LEAST_WITH_A_PAIR = 4
"""Fewest executions in limits.executions with which two of them are kept for the pair: of the other two, one goes
first, and one is offered."""
_PLACE_BESIDE = 2
"""Index of the code that is executed at the same moment as another request: the third one, because the first two have
a use of their own."""


@scenario(serves=["executePix.*"], needs="execute")
def execute(traffic: Traffic) -> None:
    """Send a code that does not exist, each real code, and a code that does not exist with wrong tokens.

    Real codes are sent only if a selected requirement needs one.
    """
    executions = _Executions(traffic)
    executions.send_unknown_code()
    executions.send_real_codes()
    executions.note_code_perhaps_spent()
    executions.send_unknown_code_with_wrong_tokens()


@scenario(serves=[_TOKEN], needs="execute")
def send_first_code_at_the_end(traffic: Traffic) -> None:
    """Send the code that was executed first without a token and with a wrong one, as right after its execution."""
    send_first_code_again(traffic.client.with_purpose(Execution.AFTER_EXECUTION))


@dataclass(frozen=True)
class _CodePlan:
    """The codes that a run sends: as many as limits.executions permits."""

    supplied: list[str]
    """Codes of the profile. They are sent first."""
    most_prepared: int
    """Most codes that the run prepares, those of the pair included."""
    before_pair: int
    """Number of codes that are sent before the pair, so that the index of a code of the pair is this or more."""
    left_out: Text
    """Sentence with the number of codes that are not sent because of limits.executions; empty if all are sent."""


class _Executions:
    """Sends the executions of a run.

    | code, by its place | what is sent |
    |---|---|
    | first | its execution, before any other real code |
    | second | offers with wrong tokens, then its execution |
    | third | its execution at the same moment as another request |
    | all others, and a single code | as for the second; on a sandbox a few are not offered (`Events`) |
    | the pair: the last two, on a sandbox | two executions at the same moment |

    The pair consists of codes that the run prepares for that. If the service takes a code for spent after a wrong
    token, no more codes are offered.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._profile = traffic.profile
        self._log = traffic.log
        self._includes = traffic.selection.includes_any
        self._door = traffic.client.door
        self._together = traffic.together
        self._unknown_code = synthetic()
        self._neighbours = neighbours_of_executions(traffic, self._unknown_code)
        self._events: Events | None = None  # on a sandbox with enough codes, in place of the neighbours
        self._codes_of_pair: list[str] = []
        self._unauthorized_by_index: dict[int, list[UnauthorizedRequest]] = {}  # by index of a code
        self._unauthorized_by_code: dict[str, Sequence[UnauthorizedRequest]] = {}  # those that were sent, by code
        self._service_is_broken = False  # True once an offer with the usual spelling got a 5xx or no answer
        self._first_code_is_to_be_sent_again = self._includes(_TOKEN)  # without the valid token, once it was executed

    def send_unknown_code(self) -> None:
        """Send a code that does not exist, with the valid token."""
        self._send(self._unknown_code, purpose=Execution.UNKNOWN_CODE)

    def send_unknown_code_with_wrong_tokens(self) -> None:
        """Send a code that does not exist with wrong tokens.

        No header and the wrong token are alone on the wire, because the others are compared with them, and a busy
        service says nothing about a credential.
        """
        send = partial(self._send, synthetic(), purpose=Execution.UNKNOWN_CODE_REFUSED)
        if self._includes(_SCHEME, "executePix.refusal", *_ROBUST):
            for credential in (NO_HEADER, ANOTHER):
                send(credential=credential)
        if self._includes(_SCHEME, *_ROBUST):
            other_schemes = forms(self._profile, among=OTHER_SCHEMES)
            sends: list[Send] = [partial(send, credential=form.name) for form in other_schemes]
            self._together.send_each_with_a_companion(EXECUTE, *sends)

    def send_real_codes(self) -> None:
        """Offer and execute each real code that limits.executions permits, unless no selected requirement needs one.

        It ends early if the door keeps codes back, because an execution was answered 401: the token may have expired.
        """
        self._door.budget.keep_to_ask_again(EXECUTE, ASKED_AGAIN if self._first_code_is_to_be_sent_again else 0)
        if not self._traffic.selection.needs_real_codes:
            return
        plan = self._plan_of_codes()
        self._events = self._events_of(plan)
        self._unauthorized_by_index = self._unauthorized_by_index_of_code(plan)
        codes_are_kept_back = self._offer_and_execute(plan.supplied, 0, plan, self._execute_supplied)
        if codes_are_kept_back:
            return
        prepared = self._prepared_codes(plan)
        codes_are_kept_back = self._offer_and_execute(
            prepared, len(plan.supplied), plan, self._execute_prepared_or_keep
        )
        if self._events:
            self._events.end()
        if codes_are_kept_back:
            return
        self._send_first_code_again_once()
        self._execute_pair()

    def _offer_and_execute(
        self, codes: Sequence[str], first_place: int, plan: _CodePlan, execute: Callable[[str, int, _CodePlan], None]
    ) -> bool:
        """Offer each of these codes, and execute it unless an offer may have executed it.

        `first_place` is the index of the first one among all codes of the run. Returns True as soon as the door keeps
        further codes back, because an execution was answered 401.
        """
        for place, code in enumerate(codes, first_place):
            code_is_spent = self._offer(code, self._unauthorized_by_index.get(place, []))
            if code_is_spent:
                continue
            execute(code, place, plan)
            if self._door.guard.check_if_codes_are_kept_back():
                return True
        return False

    def _send(self, code: str, **options: Any) -> Exchange:
        """Send a request to the execution endpoint. The options are those of `Client.send`."""
        return self._traffic.client.send(EXECUTE, code, **options)

    # -- which codes there are ------------------------------------------------------------------------------------

    def _plan_of_codes(self) -> _CodePlan:
        """The codes that are sent, as many as limits.executions permits. The limit is shared out in this order:

        1. the pair
        2. the supplied codes, unless the journal says that an earlier run sent them
        3. the other codes that the run prepares
        """
        room = self._profile.limits.executions - self._size_of_pair()
        usable = self._door.guard.open_journal(self._profile.transactions.codes)
        supplied = usable[:room]
        prepare_plan = self._profile.transactions.prepare
        most_prepared = prepare_plan.count if prepare_plan else 0
        number_to_prepare = min(most_prepared, room - len(supplied))

        before_pair = len(supplied) + number_to_prepare
        left_out = self._note_codes_left_out(before_pair, len(usable) + most_prepared)
        return _CodePlan(supplied, number_to_prepare + self._size_of_pair(), before_pair, left_out)

    def _events_of(self, plan: _CodePlan) -> Events | None:
        """The requests that go right before the executions on a sandbox, such as a registration or a deletion.

        None off a sandbox, or if there are too few codes: then neighbours go there, which change nothing.
        """
        first_quiet = first_quiet_place(len(plan.supplied), plan.before_pair)
        if first_quiet is None or not self._profile.is_sandbox:
            return None
        return Events(self._traffic, self._unknown_code, first_quiet, plan.before_pair)

    def _note_codes_left_out(self, number_sent: int, number_of_all: int) -> Text:
        """Note for the report how many codes limits.executions leaves out, and return the note; empty if none is."""
        if number_sent >= number_of_all:
            return ""
        note = say(
            "limits.executions ({limit}) leaves out {number} of {in_all} transaction codes",
            limit=self._profile.limits.executions,
            number=number_of_all - number_sent,
            in_all=number_of_all,
        )
        self._door.note(NoteAbout.CUT, note, EXECUTE)
        return note

    def _size_of_pair(self) -> int:
        """The number of codes of the pair: 2, or 0 if there is no pair."""
        if not self._profile.is_sandbox or not self._profile.transactions.prepare:
            return 0
        is_wanted = self._together.may_send_several and self._includes(_SHOWN_BY_SIMULTANEOUS_REQUESTS)
        has_room = self._profile.limits.executions >= _LEAST_WITH_A_PAIR
        return _CODES_OF_A_PAIR if is_wanted and has_room else 0

    def _prepared_codes(self, plan: _CodePlan) -> list[str]:
        """Prepare transfers, and return their codes. If the run has no code at all, put the reason in `missing`."""
        guard = self._door.guard
        most = min(plan.most_prepared, guard.count_possible_executions())
        preparations = prepare(self._traffic.client, self._profile, most, Preparation.TO_EXECUTE)
        codes = list(dict.fromkeys(guard.prepared.codes_of(preparations)))
        if not codes and not plan.supplied:
            self._traffic.why_not_sent[EXECUTE] = plan.left_out or self._why_no_code(preparations)
        return codes

    def _why_no_code(self, preparations: Sequence[Exchange]) -> Text:
        """Reason why the run has no code: the answer to the last preparation; if nothing was prepared, the journal."""
        if preparations:
            return _why_a_preparation_gave_no_code(preparations[-1])
        guard = self._door.guard
        trouble = guard.journal_trouble or guard.supplied_trouble
        if trouble:
            return trouble
        return SENT_BEFORE if guard.barred else NO_CODE

    # -- offers: requests with a wrong token ------------------------------------------------------------------------

    def _unauthorized_by_index_of_code(self, plan: _CodePlan) -> dict[int, list[UnauthorizedRequest]]:
        """By index of a code, the unauthorized requests for it. A code that only valid requests name is missing.

        The codes share the requests of the table. The first code has some only if there is no other code.
        """
        if not self._includes(*_SHOWN_BY_WRONG_TOKENS):
            return {}
        table = unauthorized_requests(self._traffic, EXECUTE)
        without_wrong_tokens = self._events.places_without_wrong_tokens if self._events else ()
        may_be_offered = [place for place in range(1, plan.before_pair) if place not in without_wrong_tokens]
        places = [place for place in may_be_offered if not self._is_executed_beside_a_request(place, plan)]
        if not places:
            places = [0]
        requests_by_index = {}
        for turn, place in enumerate(places):
            requests_by_index[place] = requests_with_one_code(table, turn, number_of_codes=len(places))
        return requests_by_index

    def _offer(self, code: str, requests: list[UnauthorizedRequest]) -> bool:
        """Send a code with wrong tokens, one after the other. Returns True as soon as one may have executed it.

        The first one leaves right after the execution of the code before, on the same connection, because some services
        do not check the token on a connection that was authorized before. After one that breaks the service no wrong
        token is sent any more.
        """
        requests = self._unauthorized_unless_spent(requests)
        with_companion = self._requests_with_companion(requests)
        self._unauthorized_by_code[code] = requests
        for request in requests:
            if self._service_is_broken:
                return False
            offer = self._send_offer(code, request, with_companion=request in with_companion)
            # Not before the first offer, because that one has to leave right after an execution.
            self._send_first_code_again_once()
            was_sent = offer.number > 0
            if not was_sent:
                continue
            self._send_again_if_broken(offer, request)
            may_be_executed = offer.response is None or offer.number in self._door.guard.unknown
            if may_be_executed or grants_protected_result(offer):
                return True
        return False

    def _unauthorized_unless_spent(self, requests: list[UnauthorizedRequest]) -> list[UnauthorizedRequest]:
        """The unauthorized requests for the next code. They change if a wrong token may have spent an earlier code.

        | codes perhaps spent | on a sandbox | elsewhere |
        |---|---|---|
        | none | the same | the same |
        | one to three | those of the first spent code: if this code is executed, they were not the reason | none |
        | more | none | none |

        No others go with it, because limits.wrong_tokens has no room for more.
        """
        spent = perhaps_spent(self._log)
        if not spent:
            return requests
        if len(spent) > _MOST_SPENT or not self._profile.is_sandbox:
            return []
        return list(self._unauthorized_by_code.get(spent[0].request.last_segment, []))

    def _requests_with_companion(self, requests: Sequence[UnauthorizedRequest]) -> list[UnauthorizedRequest]:
        """The unauthorized requests that leave at the same moment as a valid one: the first two of different kinds.

        The first request is not among them, because it has to leave right after an execution. Empty off a sandbox, and
        before a code was executed.
        """
        if not self._profile.is_sandbox or not successful_executions(self._log):
            return []
        later_requests = requests[1:]
        without_header = [request for request in later_requests if request.credential == NO_HEADER]
        with_token = [request for request in later_requests if request.credential != NO_HEADER]
        return [*without_header[:1], *with_token[:1]]

    def _send_offer(self, code: str, request: UnauthorizedRequest, *, with_companion: bool) -> Exchange:
        """Send a code with a wrong token, alone or at the same moment as a valid request."""
        purpose = Execution.OFFERED
        send = partial(self._send, code, credential=request.credential, spelling=request.spelling, purpose=purpose)
        if not with_companion:
            return send()
        [offer] = self._together.send_each_with_a_companion(EXECUTE, send)
        return offer

    def _send_again_if_broken(self, offer: Exchange, request: UnauthorizedRequest) -> None:
        """If an offer broke the service, send a synthetic code with the same token, to see whether it does so again.

        A request with an unusual spelling does not count, because a service need not know such a spelling.
        """
        is_error = offer.response is None or offer.response.status >= 500
        self._service_is_broken = is_error and not request.spelling
        if self._service_is_broken:
            purpose = Execution.BREAKS_AGAIN
            self._send(synthetic(), credential=request.credential, spelling=request.spelling, purpose=purpose)

    def _send_first_code_again_once(self) -> None:
        """Send the code that was executed first without the valid token, unless it was sent so before.

        A service may answer anybody with a result that it keeps in a cache.
        """
        if self._first_code_is_to_be_sent_again and self._door.guard.first_executed:
            self._first_code_is_to_be_sent_again = False
            send_first_code_again(self._traffic.client.with_purpose(Execution.AFTER_EXECUTION))

    def note_code_perhaps_spent(self) -> None:
        """Note the first code that was perhaps spent by a wrong token.

        It is called after all codes, because the answer to a later code may show that the reason was another one.
        """
        spent = perhaps_spent(self._log)
        if spent:
            note = say(
                "a code was perhaps spent by a wrong token: exchange {number} refused it, and wrong tokens were sent "
                "with it before",
                number=spent[0].number,
            )
            self._door.note(NoteAbout.SET_UP, note)

    # -- executions: requests with the valid token --------------------------------------------------------------------

    def _execute_supplied(self, code: str, place: int, plan: _CodePlan) -> None:
        """Execute a code of the profile."""
        self._send_neighbour(place)
        send = partial(self._send, code, valid=True, purpose=Execution.SUPPLIED)
        self._send_alone_or_beside(send, place, plan)

    def _execute_prepared_or_keep(self, code: str, place: int, plan: _CodePlan) -> None:
        """Execute a code that the run prepared, or keep it for the pair.

        The pair are two codes that are executed at the same moment, at the end. The last two codes are meant for it. A
        code is kept for it only if the service executed all real codes so far, and at least one. If the service seems
        to need more than is documented, the execution has extra parts: a body, more headers and a query.
        """
        is_for_pair = place >= plan.before_pair
        one_succeeded = bool(successful_executions(self._log))
        none_failed = all(map(succeeded, answers_to_real_codes(self._log)))
        if is_for_pair and one_succeeded and none_failed:
            self._codes_of_pair.append(code)
            return
        self._send_neighbour(place)
        if self._may_need_more():
            more = {"json": {}, "headers": EXTRA_HEADERS, "query": "?pixconf=1"}
            self._send(code, valid=True, **more, purpose=Execution.PREPARED_WITH_EXTRA_PARTS)
            return
        send = partial(self._send, code, valid=True, purpose=Execution.PREPARED)
        self._send_alone_or_beside(send, place, plan)

    def _send_neighbour(self, place: int) -> None:
        """Send what goes right before an execution: on a sandbox with enough codes an event, else a neighbour.

        The first real code (index 0) needs none, because the code that does not exist was sent right before it.
        """
        if place > 0 and self._events:
            self._events.send_before(place)
        elif place > 0:
            send_neighbour = next(self._neighbours)
            send_neighbour()

    def _send_alone_or_beside(self, send: Send, place: int, plan: _CodePlan) -> None:
        """Send an execution: at the same moment as another request if it is that of the third code, else alone."""
        if self._is_executed_beside_a_request(place, plan):
            self._together.send_with_companion(send, self._send_beside_execution)
        else:
            send()

    def _is_executed_beside_a_request(self, place: int, plan: _CodePlan) -> bool:
        """True if the code with this index is executed at the same moment as another request: only the third one is."""
        is_third_and_not_of_the_pair = place == _PLACE_BESIDE and place < plan.before_pair
        is_wanted = self._together.may_send_several and self._includes(_SHOWN_BY_SIMULTANEOUS_REQUESTS)
        return is_third_and_not_of_the_pair and is_wanted

    def _send_beside_execution(self) -> Exchange:
        """Send the request that goes at the same moment as an execution.

        It is a read; or, if the profile does not permit reads, a synthetic code with a wrong token.
        """
        purpose = Execution.BESIDE_ANOTHER
        if "read" in self._profile.allow:
            return self._traffic.client.send("listAccounts", valid=True, purpose=purpose)
        return self._send(synthetic(), credential=ANOTHER, purpose=purpose)

    def _may_need_more(self) -> bool:
        """True if an execution perhaps needs more than is documented, such as a body, and this was not tried yet.

        It perhaps does if nothing was executed so far, and exactly one prepared code was refused.
        """
        if successful_executions(self._log) or self._log.of(EXECUTE, Execution.PREPARED_WITH_EXTRA_PARTS):
            return False
        refused = []
        for answer in self._log.of(EXECUTE, Execution.PREPARED):
            is_refused = refusal_or_failure(answer) in ABOUT_THE_REQUEST
            if is_refused and not is_refused_and_done(answer):  # a code that is DONE was executed all the same
                refused.append(answer)
        return len(refused) == 1

    def _execute_pair(self) -> None:
        """Execute the two codes of the pair at the same moment, if the guard of codes permits that."""
        codes = self._codes_of_pair
        if len(codes) != _CODES_OF_A_PAIR:
            return
        is_permitted = self._door.guard.permit_again(*codes)  # not spent, but an unknown outcome forbids them
        if is_permitted:
            sends = [partial(self._send, code, valid=True, purpose=Execution.PREPARED) for code in codes]
            self._together.send_all(self._together.pair_at_same_moment(*sends))


def _why_a_preparation_gave_no_code(preparation: Exchange) -> Text:
    """Reason why the answer to a preparation has no code."""
    answer = answer_in_words(preparation)
    if not is_granted(preparation):
        return say("no transfer was prepared: {answer}", answer=answer)
    return say(
        "no transaction code at transactions.prepare.code_at (exchange {number}: {answer})",
        number=preparation.number,
        answer=answer,
    )
