"""The executions of a run: GET /v1/execute/pix/{transactionId}, the rule of the interface document.

Each real code is executed once. `money/executions.py` has the purposes of these requests, and says what the log shows.
Words of this module:

| word | meaning |
|---|---|
| real code | the transaction code of a prepared transfer: with the valid token it moves money |
| unauthorized request | a request without a token or with a wrong one, which must not execute a code |
| spelling | unusual ways to write a request, such as two spaces behind `Bearer`; empty if there are none |
| spent code | a code that the service does not execute any more, perhaps because of a wrong token |
| pair | two codes that the run prepares, to execute both at the same moment |
| index | the position of a code among all codes that the run sends, counted from 0 |

Some requests are sent right before an execution, or at the same moment, because a service at fault may then give a
wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from environments.door.door import NoteSubject
from environments.door.permission import synthetic
from environments.door.wrong_tokens import (
    NO_HEADER,
    OTHER_SCHEMES,
    WRONG_TOKEN,
    UnauthorizedRequest,
    permitted_credential_forms,
)
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
    perhaps_spent_by_wrong_tokens,
    successful_executions,
)
from tests.traffic.money.preparing import prepare_executable_transfers
from tests.traffic.neighbours import (
    RequestsOnSandbox,
    first_index_without_wrong_tokens,
    requests_before_executions,
)
from tests.traffic.refused_credentials import (
    REQUESTS_FOR_EXECUTED_CODE,
    remedy_for_spent_codes,
    send_first_code_again,
    unauthorized_requests,
    unauthorized_requests_for_code,
)
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Send

_SCHEME = f"{EXECUTE}.token.scheme"
"""The requirement that the token is accepted only behind the word Bearer."""
_TOKEN = f"{EXECUTE}.token.required"
"""The requirement that nothing is executed without a valid token."""
_ROBUST = tuple(f"{EXECUTE}.{end_of_id}" for end_of_id in ROBUSTNESS)
"""The requirements such as "no server error". Every answer to an execution is judged by them."""
_TESTED_BY_WRONG_TOKENS = (_TOKEN, *_ROBUST)
"""The requirements for which real codes are sent without the valid token."""
_TESTED_BY_SIMULTANEOUS_REQUESTS = f"{EXECUTE}.id.matches"
"""The requirement for which an execution is sent at the same moment as another request: a service may give one request
the result of the other."""
_CODES_OF_A_PAIR = 2
"""Codes that are executed at the same moment."""
_MOST_SPENT = 3
"""Most codes that were perhaps spent by wrong tokens, after which a sandbox still gets wrong tokens: a service that is
closed for a while may refuse three codes one after the other."""
_FEWEST_EXECUTIONS_WITH_A_PAIR = 4
"""Smallest limits.executions with which two executions are kept for the pair. Of the other two, the first one is sent
before any wrong token, and the second one after wrong tokens."""
_INDEX_OF_SIMULTANEOUS_EXECUTION = 2
"""Index of the code that is executed at the same moment as another request: the third one, because the first two have
a use of their own."""


@scenario(serves=["executePix.*"], needs="execute")
def execute(traffic: Traffic) -> None:
    """Send the requests to the execution endpoint, with three sorts of codes:

    1. a code that does not exist, with the valid token
    2. each real code (of a prepared transfer), if a selected requirement needs one, because real codes move money
    3. a code that does not exist, with wrong tokens
    """
    executions = _Executions(traffic)
    executions.send_unknown_code()
    executions.send_real_codes()
    executions.note_code_perhaps_spent()
    executions.send_unknown_code_with_wrong_tokens()


@scenario(serves=[_TOKEN], needs="execute")
def send_first_code_at_the_end(traffic: Traffic) -> None:
    """At the end of the run, send the first executed code twice more: without a token, and with a wrong one.

    A service may keep the result in a cache, and show it to anybody who asks later. The same two requests were already
    sent right after the execution.
    """
    send_first_code_again(traffic.client.with_purpose(Execution.UNAUTHORIZED_AFTER_EXECUTION))


@dataclass(frozen=True)
class _CodePlan:
    """The codes that a run sends: as many as limits.executions permits."""

    codes_of_profile: list[str]
    """The codes that are written in the profile. They are sent first."""
    most_prepared: int
    """Most codes that the run prepares, including the two codes of the pair."""
    number_before_pair: int
    """Number of codes that are sent before the pair. A code whose index is this number or more is one of the pair."""
    note_on_codes_left_out: Text
    """Sentence with the number of codes that are not sent because of limits.executions; empty if all are sent."""


_ExecuteCode = Callable[[str, int, _CodePlan], None]
"""Executes one code. It gets the code, its index among all codes of the run, and the plan with these codes."""


class _Executions:
    """Sends the executions of a run.

    | code, by its index | what is sent |
    |---|---|
    | 0 | its execution, before any other real code |
    | 1 | requests with wrong tokens, then its execution |
    | 2 | its execution at the same moment as another request |
    | all others, and a single code | as for 1; on a sandbox a few get no wrong tokens (`RequestsOnSandbox`) |
    | the last two (the pair), on a sandbox | two executions at the same moment |

    The pair consists of codes that the run prepares for that. If the service treats a code as spent (not executable any
    more) after a wrong token, later codes get no wrong tokens.
    """

    def __init__(self, traffic: Traffic) -> None:
        """`traffic` has what the run needs: the client that sends requests, the profile, and the log of all answers."""
        self._traffic = traffic
        self._profile = traffic.profile
        self._log = traffic.log
        self._selection_includes = traffic.selection.includes_any
        self._door = traffic.client.door  # checks and sends every request; its guard keeps real codes from being wasted
        self._together = traffic.together  # sends several requests at the same moment
        self._unknown_code = synthetic()  # a made-up code, which does not exist
        self._requests_before = requests_before_executions(traffic, self._unknown_code)
        self._requests_on_sandbox: RequestsOnSandbox | None = None  # if not None, used instead of `_requests_before`
        self._codes_of_pair: list[str] = []  # the codes that are kept to execute both at the same moment
        self._unauthorized_by_index: dict[int, list[UnauthorizedRequest]] = {}  # planned, by index of a code
        self._unauthorized_by_code: dict[str, Sequence[UnauthorizedRequest]] = {}  # sent, by code
        self._service_is_broken = False  # True once a wrong token, written as usual, got a 5xx or no answer
        self._first_code_is_to_be_sent_again = self._selection_includes(_TOKEN)  # False as soon as it is sent again

    def send_unknown_code(self) -> None:
        """Send a code that does not exist, with the valid token, to observe how the service refuses it."""
        self._send(self._unknown_code, purpose=Execution.UNKNOWN_CODE)

    def send_unknown_code_with_wrong_tokens(self) -> None:
        """Send a code that does not exist with wrong tokens, if a selected requirement is about the answers.

        1. Without a token, and with a wrong token. No other request is under way at the same time, because the answers
           to all other wrong tokens are compared with these two, and a busy service may answer something else.
        2. With the valid token under a scheme other than Bearer, such as Digest. Each of these requests is sent at the
           same moment as a valid request that does nothing, because a service may let a wrong credential pass while a
           valid request is under way.
        """
        code = synthetic()
        purpose = Execution.UNKNOWN_CODE_REFUSED
        if self._selection_includes(_SCHEME, "executePix.refusal", *_ROBUST):
            for credential in (NO_HEADER, WRONG_TOKEN):
                self._send(code, credential=credential, purpose=purpose)
        if self._selection_includes(_SCHEME, *_ROBUST):
            sends: list[Send] = []  # functions that send one request each
            for scheme in permitted_credential_forms(self._profile, among=OTHER_SCHEMES):
                sends.append(partial(self._send, code, credential=scheme.name, purpose=purpose))
            self._together.send_each_with_a_companion(EXECUTE, *sends)

    def send_real_codes(self) -> None:
        """Execute the real codes (those of prepared transfers): first those of the profile, then those of the run.

        Most codes are sent with wrong tokens before. Nothing is sent if no selected requirement needs a real code. If
        an execution is answered 401, the token may have expired. Then the remaining codes are kept back (not sent), so
        that they are not wasted.
        """
        self._reserve_wrong_tokens_for_first_code()
        if not self._traffic.selection.needs_real_codes:
            return
        plan = self._plan_of_codes()
        self._requests_on_sandbox = self._planned_requests_on_sandbox(plan)
        self._unauthorized_by_index = self._unauthorized_by_index_of_code(plan)
        codes_are_kept_back = self._execute_after_wrong_tokens(
            plan.codes_of_profile, 0, plan, self._execute_code_of_profile
        )
        if codes_are_kept_back:
            return
        codes_are_kept_back = self._execute_prepared_codes(plan)
        if codes_are_kept_back:
            return
        self._send_first_code_again_once()  # if no wrong token was sent between the executions, it was not done there
        self._execute_pair()

    def _reserve_wrong_tokens_for_first_code(self) -> None:
        """Reserve a part of limits.wrong_tokens, if the first executed code is to be sent again with wrong tokens.

        That is done later. Without the reserve, other requests with wrong tokens could reach the limit before.
        """
        later_requests = REQUESTS_FOR_EXECUTED_CODE if self._first_code_is_to_be_sent_again else 0
        self._door.budget.reserve_for_executed_code(EXECUTE, later_requests)

    def _execute_prepared_codes(self, plan: _CodePlan) -> bool:
        """Prepare transfers, and execute their codes, except for two codes that are kept to execute them together.

        Returns True if codes are kept back (not sent any more), because an execution was answered 401.
        """
        codes = self._prepared_codes(plan)
        first_index = len(plan.codes_of_profile)
        codes_are_kept_back = self._execute_after_wrong_tokens(codes, first_index, plan, self._execute_prepared_or_keep)
        if self._requests_on_sandbox:
            # The requests between the executions registered a key, and delete it before the last code. If the last code
            # was not sent, the key is deleted now.
            self._requests_on_sandbox.delete_registered_key()
        return codes_are_kept_back

    def _execute_after_wrong_tokens(
        self, codes: Sequence[str], first_index: int, plan: _CodePlan, execute: _ExecuteCode
    ) -> bool:
        """Send each of these codes with the wrong tokens that are planned for it, and then execute it.

        A code is not executed if a wrong token may have executed it already. `first_index` is the index of the first of
        these codes among all codes of the run. `execute` is the method that executes one code.

        Returns True if an execution was answered 401, and no other token is accepted since. Then the guard (the part of
        the door that watches real codes) keeps the remaining codes back, so that they are not wasted.
        """
        for index, code in enumerate(codes, first_index):
            wrong_tokens = self._unauthorized_by_index.get(index, [])
            is_perhaps_executed = self._send_with_wrong_tokens(code, wrong_tokens)
            if is_perhaps_executed:
                continue
            execute(code, index, plan)
            codes_are_kept_back = self._door.guard.check_if_codes_are_kept_back()
            if codes_are_kept_back:
                return True
        return False

    def _send(self, code: str, **options: Any) -> Exchange:
        """Send a request to the execution endpoint. The options are those of `Client.send`, such as `credential`."""
        return self._traffic.client.send(EXECUTE, code, **options)

    # -- which codes there are ------------------------------------------------------------------------------------

    def _plan_of_codes(self) -> _CodePlan:
        """The plan of the codes that are sent: as many as limits.executions permits.

        The limit is divided in this order:

        1. the pair (two codes that are executed at the same moment)
        2. the codes of the profile, except those that an earlier run has sent
        3. the other codes that the run prepares: transactions.prepare.count, without the pair

        The journal, a file with all codes that were ever sent, says which codes earlier runs have sent.
        """
        executions_without_pair = self._profile.limits.executions - self._size_of_pair()
        usable = self._door.guard.open_journal_and_find_usable(self._profile.transactions.codes)
        codes_of_profile = usable[:executions_without_pair]
        prepare_plan = self._profile.transactions.prepare
        wanted_without_pair = prepare_plan.count if prepare_plan else 0
        prepared_without_pair = min(wanted_without_pair, executions_without_pair - len(codes_of_profile))

        number_before_pair = len(codes_of_profile) + prepared_without_pair
        return _CodePlan(
            codes_of_profile=codes_of_profile,
            most_prepared=prepared_without_pair + self._size_of_pair(),  # the pair is prepared in addition
            number_before_pair=number_before_pair,
            note_on_codes_left_out=self._note_codes_left_out(number_before_pair, len(usable) + wanted_without_pair),
        )

    def _planned_requests_on_sandbox(self, plan: _CodePlan) -> RequestsOnSandbox | None:
        """The requests that are sent right before the executions on a sandbox, such as a registration or a deletion.

        They need three codes in a row that are executed without wrong tokens in between. `first_index` is the index of
        the first of these codes. None of them is in the pair: the last two codes, which are executed at one moment.

        None outside a sandbox, or if there are too few codes. Then requests that change nothing are sent before the
        executions (`requests_before_executions`).
        """
        first_index = first_index_without_wrong_tokens(len(plan.codes_of_profile), plan.number_before_pair)
        if first_index is None or not self._profile.is_sandbox:
            return None
        return RequestsOnSandbox(self._traffic, self._unknown_code, first_index, plan.number_before_pair)

    def _note_codes_left_out(self, number_sent: int, number_of_all: int) -> Text:
        """Note for the report how many codes are not sent because of limits.executions, and return the note.

        Empty if all codes are sent.
        """
        if number_sent >= number_of_all:
            return ""
        note = say(
            "limits.executions ({limit}) leaves out {number} of {in_all} transaction codes",
            limit=self._profile.limits.executions,
            number=number_of_all - number_sent,
            in_all=number_of_all,
        )
        self._door.note(NoteSubject.NOT_ALL_SENT, note, EXECUTE)
        return note

    def _size_of_pair(self) -> int:
        """Number of codes in the pair, two codes that are executed at the same moment: 2, or 0 without a pair.

        There is a pair on a sandbox only: a service may refuse simultaneous requests, and then two real codes are
        wasted. The run must also prepare codes, may send two requests at once, and may execute at least four codes.
        """
        if not self._profile.is_sandbox or not self._profile.transactions.prepare:
            return 0
        is_wanted = self._together.may_send_several and self._selection_includes(_TESTED_BY_SIMULTANEOUS_REQUESTS)
        are_enough_permitted = self._profile.limits.executions >= _FEWEST_EXECUTIONS_WITH_A_PAIR
        if is_wanted and are_enough_permitted:
            return _CODES_OF_A_PAIR
        return 0

    def _prepared_codes(self, plan: _CodePlan) -> list[str]:
        """Prepare transfers, and return their codes. The list is empty if no preparation succeeded.

        If the run has no code at all, neither prepared nor from the profile, the reason is put in `why_not_sent`: the
        verdicts on executions say it.
        """
        guard = self._door.guard  # watches real codes: it counts executions, and has the codes of prepared transfers
        most = min(plan.most_prepared, guard.count_possible_executions())
        preparations = prepare_executable_transfers(self._traffic.client, self._profile, most, Preparation.TO_EXECUTE)
        codes = list(dict.fromkeys(guard.prepared.codes_of(preparations)))  # a code that is given twice is sent once
        if not codes and not plan.codes_of_profile:
            self._traffic.why_not_sent[EXECUTE] = plan.note_on_codes_left_out or self._why_no_code(preparations)
        return codes

    def _why_no_code(self, preparations: Sequence[Exchange]) -> Text:
        """Reason why the run has no code to execute. The first of these that applies:

        1. The answer to the last preparation, if a preparation was sent.
        2. A problem of the journal (the file with all codes that were ever sent). It may concern all codes, or only the
           codes of the profile: an earlier run may have sent such a code, while a code that this run prepares is new.
        3. Earlier runs have sent all codes of the profile, or the profile has none.
        """
        if preparations:
            return _why_a_preparation_gave_no_code(preparations[-1])
        guard = self._door.guard
        trouble = guard.journal_trouble or guard.trouble_with_profile_codes
        if trouble:
            return trouble
        return SENT_BEFORE if guard.codes_sent_before else NO_CODE

    # -- real codes without the valid token -------------------------------------------------------------------------

    def _unauthorized_by_index_of_code(self, plan: _CodePlan) -> dict[int, list[UnauthorizedRequest]]:
        """By index of a code, the unauthorized requests that are sent with the code before its execution.

        An unauthorized request has no token or a wrong one. All of these requests are divided among some of the codes
        (`_indexes_of_codes_for_wrong_tokens`). The other codes are not in the result.
        """
        if not self._selection_includes(*_TESTED_BY_WRONG_TOKENS):
            return {}
        all_requests = unauthorized_requests(self._traffic, EXECUTE)
        indexes = self._indexes_of_codes_for_wrong_tokens(plan)
        requests_by_index = {}
        for position, index in enumerate(indexes):  # the position among the codes that get some
            requests_by_index[index] = unauthorized_requests_for_code(all_requests, position, len(indexes))
        return requests_by_index

    def _indexes_of_codes_for_wrong_tokens(self, plan: _CodePlan) -> list[int]:
        """Indexes of the codes that are sent with wrong tokens before their execution. Left out are:

        - The first code, so that one code is executed even if wrong tokens break the service. It gets wrong tokens only
          if no other code can get any.
        - The two codes of the pair, and the code that is executed at the same moment as another request.
        - On a sandbox the codes whose execution must be sent right after a certain other request.
        """
        indexes = []
        for index in range(1, plan.number_before_pair):
            has_companion = self._is_executed_with_companion(index, plan)
            follows_another_request = (
                self._requests_on_sandbox is not None
                and index in self._requests_on_sandbox.indexes_without_wrong_tokens
            )
            if not has_companion and not follows_another_request:
                indexes.append(index)
        if not indexes:
            return [0]
        return indexes

    def _send_with_wrong_tokens(self, code: str, requests: list[UnauthorizedRequest]) -> bool:
        """Send a code without a token and with wrong tokens, one request after the other.

        Returns True as soon as one of them may have executed the code: its answer has a result, or there is no answer.
        Then the code must not be sent any more.

        The first request is sent right after the execution of the code before, on the same connection, because some
        services do not check the token on a connection that was authorized before. After a wrong token that breaks the
        service (a 5xx or no answer), no further wrong token is sent before an execution.
        """
        requests = self._unauthorized_unless_spent(requests)
        requests_with_companion = self._requests_with_companion(requests)
        self._unauthorized_by_code[code] = requests
        for request in requests:
            if self._service_is_broken:
                return False
            has_companion = request in requests_with_companion  # a valid request that is sent at the same moment
            exchange = self._send_unauthorized(code, request, with_companion=has_companion)
            # This comes after the first request with a wrong token, because nothing may be sent between an execution
            # and that request.
            self._send_first_code_again_once()
            was_sent = exchange.number > 0  # 0: limits.wrong_tokens is reached
            if not was_sent:
                continue
            self._send_again_if_broken(exchange, request)
            # The guard (the part of the door that watches real codes) also counts unclear answers as unknown outcomes.
            outcome_is_unknown = exchange.response is None or exchange.number in self._door.guard.unknown_outcomes
            if outcome_is_unknown or grants_protected_result(exchange):
                return True
        return False

    def _unauthorized_unless_spent(self, requests: list[UnauthorizedRequest]) -> list[UnauthorizedRequest]:
        """The unauthorized requests (without the valid token) that are sent with the next code before its execution.

        `requests` are those that are planned for this code. An earlier code is perhaps spent (not executable any more)
        if the service refused to execute it after wrong tokens. Then other requests are sent, or none:

        | codes perhaps spent | on a sandbox | elsewhere |
        |---|---|---|
        | none | the planned requests | the planned requests |
        | one to three | the requests of the first spent code | none |
        | more | none | none |

        On a sandbox the requests of the first spent code are sent once more, with the next code. If the service
        executes that code, these requests were not the reason for the refusal. They replace the planned requests,
        because limits.wrong_tokens does not permit both.
        """
        spent = perhaps_spent_by_wrong_tokens(self._log)
        if not spent:
            return requests
        if len(spent) > _MOST_SPENT or not self._profile.is_sandbox:
            return []
        first_spent_code = spent[0].request.last_segment
        return list(self._unauthorized_by_code.get(first_spent_code, []))

    def _requests_with_companion(self, requests: Sequence[UnauthorizedRequest]) -> list[UnauthorizedRequest]:
        """Those of the unauthorized requests that are sent at the same moment as a companion (a valid request).

        `requests` are the requests without the valid token for one code. Two of them are chosen, one without a token
        and one with a wrong token, because a service may let these pass while a valid request is under way. The first
        request in `requests` is not chosen, because it is sent right after an execution, alone.

        Empty outside a sandbox: a service may refuse simultaneous requests, and then a real code may be wasted. Also
        empty until a code was executed: at least one success must not depend on simultaneous requests.
        """
        if not self._profile.is_sandbox or not successful_executions(self._log):
            return []
        later_requests = requests[1:]
        without_header = [request for request in later_requests if request.credential == NO_HEADER]
        with_wrong_token = [request for request in later_requests if request.credential != NO_HEADER]
        return [*without_header[:1], *with_wrong_token[:1]]

    def _send_unauthorized(self, code: str, request: UnauthorizedRequest, *, with_companion: bool) -> Exchange:
        """Send a real code without the valid token, as the unauthorized request says. The service must refuse it.

        With a companion, a valid request that does nothing is sent at the same moment.
        """
        purpose = Execution.UNAUTHORIZED_BEFORE_EXECUTION
        send = partial(self._send, code, credential=request.credential, spelling=request.spelling, purpose=purpose)
        if not with_companion:
            return send()
        [exchange] = self._together.send_each_with_a_companion(EXECUTE, send)
        return exchange

    def _send_again_if_broken(self, exchange: Exchange, request: UnauthorizedRequest) -> None:
        """If a wrong token broke the service, send it again with a made-up code, to see whether that happens again.

        The service is broken if the exchange has a 5xx or no answer. Then no further wrong tokens are sent with real
        codes. A request that is written in an unusual way (`spelling`), such as with two spaces behind Bearer, does not
        count, because a service need not understand it.
        """
        is_error = exchange.response is None or exchange.response.status >= 500
        self._service_is_broken = is_error and not request.spelling
        if self._service_is_broken:
            purpose = Execution.BREAKS_AGAIN
            self._send(synthetic(), credential=request.credential, spelling=request.spelling, purpose=purpose)

    def _send_first_code_again_once(self) -> None:
        """Send the first executed code without a token and with a wrong one, unless that was done before.

        A service may keep the result of the execution in a cache, and give it to anybody. Nothing is sent until a code
        was executed: `first_executed` is empty before.
        """
        if self._first_code_is_to_be_sent_again and self._door.guard.first_executed:
            self._first_code_is_to_be_sent_again = False
            send_first_code_again(self._traffic.client.with_purpose(Execution.UNAUTHORIZED_AFTER_EXECUTION))

    def note_code_perhaps_spent(self) -> None:
        """Note for the report the first code that the service refused to execute, perhaps because of a wrong token.

        This is done after all codes were sent, because the answer to a later code may show another reason.
        """
        spent = perhaps_spent_by_wrong_tokens(self._log)
        if spent:
            note = say(
                "a code was perhaps spent by a wrong token: exchange {number} refused it, and wrong tokens were sent "
                "with it before; {remedy}",
                number=spent[0].number,
                remedy=remedy_for_spent_codes(self._profile),
            )
            self._door.note(NoteSubject.SET_UP, note)

    # -- executions: requests with the valid token --------------------------------------------------------------------

    def _execute_code_of_profile(self, code: str, index: int, plan: _CodePlan) -> None:
        """Execute a code of the profile. `plan` has the codes that the run executes; `index` says which one this is.

        Right before it another request is sent on the same connection, such as one that is refused, because the answer
        of a service at fault may depend on it. The third code is executed at the same moment as another request.
        """
        self._send_request_before(index)
        send = partial(self._send, code, valid=True, purpose=Execution.SUPPLIED)
        self._send_alone_or_with_companion(send, index, plan)

    def _execute_prepared_or_keep(self, code: str, index: int, plan: _CodePlan) -> None:
        """Execute a code that the run prepared, or keep it for the pair.

        The pair is two codes that are executed at the same moment, after all others. The last two codes are meant for
        it. They are kept only if the service executed all real codes so far, and at least one, because only results
        can be mixed up, and not refusals. Otherwise they are executed one by one.

        If the service seems to need more than is documented, the execution has extra parts: a body, headers, a query.
        """
        is_for_pair = index >= plan.number_before_pair
        one_succeeded = len(successful_executions(self._log)) > 0
        all_succeeded = all(succeeded(answer) for answer in answers_to_real_codes(self._log))
        if is_for_pair and one_succeeded and all_succeeded:
            self._codes_of_pair.append(code)  # `_execute_pair` executes both
            return
        self._send_request_before(index)
        if self._may_need_more():
            extra_parts = {"json": {}, "headers": EXTRA_HEADERS, "query": "?pixconf=1"}
            self._send(code, valid=True, **extra_parts, purpose=Execution.PREPARED_WITH_EXTRA_PARTS)
            return
        send = partial(self._send, code, valid=True, purpose=Execution.PREPARED)
        self._send_alone_or_with_companion(send, index, plan)

    def _send_request_before(self, index: int) -> None:
        """Send a request right before the execution of the code with this index, because it may disturb the execution.

        The answer of a service at fault may depend on the request before. On a sandbox with enough codes the request
        may change data, such as a registration. Otherwise it is a refused request or a read.

        The first real code (index 0) needs none, because the code that does not exist was sent right before it.
        """
        if index == 0:
            return
        if self._requests_on_sandbox:
            self._requests_on_sandbox.send_before_execution(index)
        else:
            send_request = next(self._requests_before)  # an endless iterator of functions that send one request each
            send_request()

    def _send_alone_or_with_companion(self, send: Send, index: int, plan: _CodePlan) -> None:
        """Send an execution: the third of a run at the same moment as a companion (another request), all others alone.

        `send` sends the execution. A service at fault may mix up simultaneous requests: then the companion gets the
        result of the execution. One execution is enough to show that.
        """
        if self._is_executed_with_companion(index, plan):
            self._together.send_with_companion(send, self._send_companion_of_execution)
        else:
            send()

    def _is_executed_with_companion(self, index: int, plan: _CodePlan) -> bool:
        """True if the code with this index is executed at the same moment as another request: the third code (index 2).

        The first two codes have other uses: the first one is executed without any wrong token before, and the second
        one is the first that is sent with wrong tokens.

        False if the third code is one of the pair, if the run may send only one request at a time, or if no selected
        requirement is about mixed-up results.
        """
        is_third_and_not_of_the_pair = index == _INDEX_OF_SIMULTANEOUS_EXECUTION and index < plan.number_before_pair
        is_wanted = self._together.may_send_several and self._selection_includes(_TESTED_BY_SIMULTANEOUS_REQUESTS)
        return is_third_and_not_of_the_pair and is_wanted

    def _send_companion_of_execution(self) -> Exchange:
        """Send the companion: the request that is sent at the same moment as an execution.

        It is a read; or, if the profile does not permit reads, an execution of a made-up code with a wrong token.
        Neither changes anything.
        """
        purpose = Execution.BESIDE_ANOTHER
        if "read" in self._profile.allow:
            return self._traffic.client.send("listAccounts", valid=True, purpose=purpose)
        return self._send(synthetic(), credential=WRONG_TOKEN, purpose=purpose)

    def _may_need_more(self) -> bool:
        """True if an execution perhaps needs more than is documented, such as a body, and this was not tried yet.

        That is so if nothing was executed so far, and exactly one prepared code was refused because of the request.
        After one refusal the next code is sent with extra parts. If the service refuses that code as well, the missing
        parts were not the reason, and the other codes are sent as documented.
        """
        if successful_executions(self._log) or self._log.of(EXECUTE, Execution.PREPARED_WITH_EXTRA_PARTS):
            return False
        refused = []
        for answer in self._log.of(EXECUTE, Execution.PREPARED):
            is_refused = refusal_or_failure(answer) in ABOUT_THE_REQUEST
            was_executed = is_refused_and_done(answer)  # such as a 400 whose result has the status DONE
            if is_refused and not was_executed:
                refused.append(answer)
        return len(refused) == 1

    def _execute_pair(self) -> None:
        """Execute the two codes that were kept for it at the same moment, if the guard of codes permits that.

        The guard does not permit it if the outcome of an earlier execution is unknown: money may have moved then.
        """
        codes = self._codes_of_pair
        if len(codes) != _CODES_OF_A_PAIR or not self._door.guard.may_execute_unusually:
            return
        sends: list[Send] = []  # functions that send one execution each
        for code in codes:
            sends.append(partial(self._send, code, valid=True, purpose=Execution.PREPARED))
        sends_at_same_moment = self._together.pair_at_same_moment(*sends)
        self._together.send_all(sends_at_same_moment)


def _why_a_preparation_gave_no_code(preparation: Exchange) -> Text:
    """Reason why the answer to the preparation of a transfer has no code: a refusal, or nothing at `code_at`.

    `code_at` of the profile says where the code is in the answer.
    """
    answer = answer_in_words(preparation)
    if not is_granted(preparation):
        return say("no transfer was prepared: {answer}", answer=answer)
    return say(
        "no transaction code at transactions.prepare.code_at (exchange {number}: {answer})",
        number=preparation.number,
        answer=answer,
    )
