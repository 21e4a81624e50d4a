"""Requests that name nobody, without the valid token: are some let in nevertheless?

A request names nobody if its code, account and key are made up by the suite (synthetic), so it can do no harm. A plain
request has no token at all. A stand-in is something else that some services trust in the place of a token, such as a
header that a gateway sets (`stand_ins.py`); a family is a group of such headers that go in one request.

`let_in.py` says which requests were let in, as the log shows it. The scenarios ask it, too, because after an answer
that may show something they send further requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.interface import SYNTHETIC_PREFIX
from spec.message import Text, joined, say
from spec.observed import is_temporary
from tests.traffic.keys.registrar import Registrar
from tests.traffic.refused_credentials import credentials_tried_in_words
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.trust.let_in import (
    CHAIN,
    ORDER_OF_PROOF,
    PLAIN_AT_THE_START,
    TIMES,
    Trust,
    agrees_with_let_in,
    answer_with_the_token,
    depends_on_the_identifier,
    is_answered_as_with_the_token,
    is_refused,
    is_refused_at_each_place,
    is_refused_at_some_place,
    is_refused_like_the_plain_request,
    key_type_of,
    last_answers_prove_it,
    may_be_let_in_at_the_start,
    stand_ins_let_in,
)
from tests.traffic.trust.stand_ins import StandIn, cookies_of, stand_ins

_REQUIRED = {"executePix": "executePix.token.required", "registerPixKey": "registerPixKey.token.required"}
_MOST_SHOWN = 3
"""Most stand-ins of an operation that are proved to be let in: further proofs cost time, and say no more."""
_MOST_PARTS = 60
"""Most requests with one part of a family, for each operation. The number is a choice."""
_MOST_NAMED = 6
"""Stand-ins that a message names. The number is a choice."""


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_at_the_start(traffic: Traffic) -> None:
    """Send requests without a token in the first second, because a service may not be ready yet to check tokens."""
    for asker in _askers(traffic):
        for _ in range(PLAIN_AT_THE_START):
            answer = asker.ask(StandIn(), Trust.AT_THE_START)
            if is_temporary(answer):  # such as a lock: further requests might lock the run out before its real codes
                break


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_in_place_of_a_token(traffic: Traffic) -> None:
    """Send each stand-in for a token to the operations that want one, and send more after an answer that may show one.

    An operation is left out unless it refuses all requests of a chain: otherwise there is nothing to compare with.
    """
    askers = _askers(traffic)
    traffic.together.send_all([asker.send_chain for asker in askers])
    for asker in askers:
        asker.follow_up_the_chain()
    comparable = [asker for asker in askers if is_refused_at_each_place(traffic.log, asker.operation)]
    secrets = traffic.client.door.secrets
    cookies = cookies_of(traffic.log, traffic.profile)
    set_by_the_service = [value for _, value in cookies if SYNTHETIC_PREFIX not in value]
    secrets.learn_secret("session cookie", *set_by_the_service)
    asked: list[tuple[_Asker, StandIn]] = []
    for asker in comparable:
        all_stand_ins = stand_ins(asker.operation, traffic.profile, secrets.token(), cookies)
        asked += [(asker, stand_in) for stand_in in asker.within_the_limit(all_stand_ins)]
    sends = [partial(asker.ask, stand_in, Trust.STAND_IN) for asker, stand_in in asked]
    answers = traffic.together.send_all(sends)
    for (asker, stand_in), answer in zip(asked, answers, strict=True):
        asker.follow_up(stand_in, answer)
    for asker in comparable:
        asker.follow_up_the_start()


def tried_with_stand_ins_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """The forms and ways that were tried in these requests, and the first few stand-ins for a token."""
    tried = credentials_tried_in_words(operation, exchanges, traffic)
    sent = traffic.log.sent(operation, Trust.STAND_IN)
    names = dict.fromkeys(joined((say(exchange.credential), *exchange.spelling), " + ") for exchange in sent)
    if not names:
        return tried
    first_few = joined(capped([*names], _MOST_NAMED), ", ")
    return joined((tried, say("tried only with synthetic codes and accounts: {names}", names=first_few)), "; ")


def _askers(traffic: Traffic) -> list[_Asker]:
    """An asker for each operation whose need of the token is a selected requirement.

    Empty if the profile does not permit reads, because a read shows whether a filter refuses the stand-in as such; and
    empty if limits.wrong_tokens is 0 or there is no account.
    """
    profile = traffic.profile
    if "read" not in profile.allow or not profile.limits.wrong_tokens or not profile.accounts:
        return []
    selected = [operation for operation, name in _REQUIRED.items() if traffic.selection.includes_any(name)]
    return [_Asker(traffic, operation) for operation in filter(traffic.may_send_to, selected)]


class _Asker:
    """Sends requests that name nobody to one operation. It stores no answers, because it finds them in the log."""

    def __init__(self, traffic: Traffic, operation: str) -> None:
        self.operation = operation
        self._client = traffic.client
        self._log = traffic.log
        self._together = traffic.together
        self._registrar = Registrar(traffic.client, traffic.profile)

    def ask(self, stand_in: StandIn, purpose: Trust) -> Exchange:
        """Send a request that names nobody, without the valid token."""
        return self._send(purpose, stand_in.key_type, **_options_of_request(stand_in))

    def _ask_with_the_token(self, answer: Exchange) -> None:
        """Send a request with the token, to compare an answer with; once for each key type.

        Nothing is sent if the answer is about the caller, because the token cannot get such an answer.
        """
        if depends_on_the_identifier(answer) and not answer_with_the_token(answer, self._log):
            self._send(Trust.WITH_THE_TOKEN, key_type_of(answer))

    def _send(self, purpose: Trust, key_type: str, **sent: Any) -> Exchange:
        """Send a request that names nobody. If a key is registered nevertheless, it is deleted."""
        if self.operation == "executePix":
            return self._client.send(self.operation, synthetic(), purpose=purpose, **sent)
        answer = self._registrar.register_at_synthetic_account(key_type, purpose, **sent)
        self._registrar.delete_key_of(answer)
        return answer

    # -- plain requests ---------------------------------------------------------------------------------------------

    def send_chain(self, reads: int = 1) -> None:
        """Send `reads` reads, and right after them, on the same connection, three requests without the valid token."""
        for _ in range(reads):
            self._client.send("listAccounts", valid=True, purpose=Trust.BEFORE)
        self.ask(StandIn(), Trust.BEHIND_A_SUCCESS)
        self.ask(StandIn(), Trust.BEHIND_A_REFUSAL)
        self.ask(StandIn(ANOTHER), Trust.ANOTHER_TOKEN_BEHIND)

    def follow_up_the_chain(self) -> None:
        """If only some requests of the chain are refused, send more chains, to see why.

        The further chains differ in length: if nodes of a service take turns, and one of them does not check tokens,
        chains of equal length would blame a place in the chain for it.
        """
        chain = self._log.of(self.operation, *CHAIN)
        if not any(is_refused(answer, self._log) for answer in chain):
            return  # the operation seems to want no token, so there is nothing to compare with
        for answer in chain:
            self._ask_with_the_token(answer)
        if is_refused_at_some_place(self._log, self.operation):
            for turn in range(TIMES):
                self.send_chain(reads=1 + turn % 3)

    def follow_up_the_start(self) -> None:
        """Send plain requests once more if those of the first second may have been let in."""
        at_the_start = self._log.sent(self.operation, Trust.AT_THE_START)
        if len(at_the_start) == PLAIN_AT_THE_START:
            self._ask_with_the_token(at_the_start[0])
        if may_be_let_in_at_the_start(self._log, self.operation):
            for _ in range(TIMES):
                self.ask(StandIn(), Trust.AFTER_THE_START)

    # -- stand-ins --------------------------------------------------------------------------------------------------

    def within_the_limit(self, all_stand_ins: list[StandIn]) -> list[StandIn]:
        """The stand-ins that are sent, as many as limits.wrong_tokens permits.

        Stand-ins without an Authorization header are all sent, because the limit does not count them. Of the others so
        many are left out that one of them can still be proved to be let in.
        """
        wrong_tokens_left = self._client.door.budget.wrong_tokens_left_for_synthetic(self.operation)
        kept_for_proof = ORDER_OF_PROOF.count(Trust.STAND_IN_AGAIN)
        with_wrong_token = [stand_in for stand_in in all_stand_ins if stand_in.credential != NO_HEADER]
        left_out = with_wrong_token[max(0, wrong_tokens_left - kept_for_proof) :]
        return [stand_in for stand_in in all_stand_ins if stand_in not in left_out]

    def follow_up(self, stand_in: StandIn, answer: Exchange) -> None:
        """Send more after the answer to a stand-in that may have been let in, to prove which part of it was.

        First each part of a family is sent. If none of them is proved to be let in, the family is proved as a whole.
        The parts are sent, too, if the family is refused in another way than a request without a token, because one
        part may be refused before the service looks at the others.
        """
        number_let_in = self._number_let_in()
        if answer.response is None or number_let_in >= _MOST_SHOWN:
            return
        self._ask_with_the_token(answer)
        may_be_let_in = is_answered_as_with_the_token(answer, self._log)
        if not may_be_let_in and is_refused_like_the_plain_request(answer, self._log):
            return
        self._follow_up_parts(stand_in)
        if may_be_let_in and self._number_let_in() == number_let_in:
            self._prove_that_it_is_let_in(stand_in)

    def _number_let_in(self) -> int:
        """Number of stand-ins that were proved to be let in so far."""
        return len(stand_ins_let_in(self._log, self.operation))

    def _follow_up_parts(self, stand_in: StandIn) -> None:
        """Send each part of a stand-in on its own, and follow up each answer. Nothing if it has no parts."""
        parts_left = _MOST_PARTS - len(self._log.of(self.operation, Trust.ONE_PART))
        parts = stand_in.parts()[:parts_left]
        answers = self._together.send_all([partial(self.ask, part, Trust.ONE_PART) for part in parts])
        for part, answer in zip(parts, answers, strict=True):
            self.follow_up(part, answer)

    def _prove_that_it_is_let_in(self, stand_in: StandIn) -> None:
        """Send a stand-in several times, with requests without a token in between (ORDER_OF_PROOF).

        It is sent alone; if that proves nothing, at the same moment as a valid request that does nothing. If it is let
        in each time, a read with the stand-in follows, which shows whether a filter refuses the stand-in as such.
        """
        send = partial(self.ask, stand_in, Trust.STAND_IN_AGAIN)
        self._send_in_order_of_proof(stand_in.key_type, send)
        if not last_answers_prove_it(self._log, self.operation) and self._together.is_possible:
            self._send_in_order_of_proof(stand_in.key_type, partial(self._send_beside, send))
        if last_answers_prove_it(self._log, self.operation):
            self._client.send("listAccounts", purpose=Trust.OF_A_READ, **_options_of_request(stand_in))

    def _send_in_order_of_proof(self, key_type: str, send: Callable[[], Exchange]) -> None:
        """Send the requests of ORDER_OF_PROOF, and stop at the first answer that speaks against the stand-in."""
        send_plain = partial(self.ask, StandIn(key_type=key_type), Trust.NO_TOKEN_IN_BETWEEN)
        sends: dict[Trust, Callable[[], Exchange]] = {Trust.STAND_IN_AGAIN: send, Trust.NO_TOKEN_IN_BETWEEN: send_plain}
        for purpose in ORDER_OF_PROOF:
            answer = sends[purpose]()
            if not agrees_with_let_in(answer, self._log):
                return

    def _send_beside(self, send: Callable[[], Exchange]) -> Exchange:
        """Send a request at the same moment as a valid one that does nothing, and return its exchange."""
        [answer] = self._together.send_each_with_a_companion(self.operation, send)
        return answer


def _options_of_request(stand_in: StandIn) -> dict[str, Any]:
    """The options of `Client.send` for a request with a stand-in: credential, headers, query and spelling."""
    parts = "&".join(f"{name}={value}" for name, value in stand_in.query)
    return {
        "credential": stand_in.credential,
        "headers": stand_in.headers,
        "query": f"?{parts}" if parts else "",
        "spelling": (stand_in.name,) if stand_in.name else (),
    }
