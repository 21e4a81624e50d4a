"""Requests that name nobody, with something in the place of the valid token.

`let_in.py` reads in the log which of them passed the check of the token. The scenarios ask it, too, because an answer
that may show something is followed by further requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.interface import MARK
from spec.message import Text, joined, say
from spec.observed import is_passing
from tests.traffic.keys.registrar import Registrar
from tests.traffic.refused_credentials import tried_in_words
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.trust.let_in import (
    ORDER,
    PLAIN_AT_THE_START,
    TIMES,
    Trust,
    answer_with_the_token,
    fits_if_let_in,
    is_like_with_the_token,
    is_refused,
    is_refused_at_each_place,
    is_refused_at_some_place,
    is_refused_like_the_plain_request,
    key_type_of,
    last_answers_show_it,
    may_be_let_in_at_the_start,
    stand_ins_let_in,
    tells_of_the_identifier,
)
from tests.traffic.trust.stand_ins import StandIn, cookies_of, stand_ins

_REQUIRED = {"executePix": "executePix.token.required", "registerPixKey": "registerPixKey.token.required"}
_MOST_SHOWN = 3
"""Stand-ins of an operation that are shown: further ones cost time, and say no more."""
_MOST_APART = 60
"""Parts of families that are asked apart, for each operation."""
_MOST_NAMED = 6


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_at_the_start(traffic: Traffic) -> None:
    """Send plain requests without a token in the first second: a service may not be ready to check it."""
    for asker in _askers(traffic):
        for _ in range(PLAIN_AT_THE_START):
            answer = asker.ask(StandIn(), Trust.AT_THE_START)
            if is_passing(answer):  # such as a lock: the requests with real codes need the patience of the service
                break


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_in_place_of_a_token(traffic: Traffic) -> None:
    """Send each stand-in for a token to the operations that want one, and follow up what may have been let in."""
    askers = _askers(traffic)
    for asker in askers:
        asker.send_chains()
    comparable = [asker for asker in askers if is_refused_at_each_place(traffic.log, asker.operation)]
    secrets = traffic.client.door.secrets
    cookies = cookies_of(traffic.log, traffic.profile)
    set_by_the_service = [value for _, value in cookies if MARK not in value]
    secrets.learn_secret("session cookie", *set_by_the_service)
    asked: list[tuple[_Asker, StandIn]] = []
    for asker in comparable:
        all_of_them = stand_ins(asker.operation, traffic.profile, secrets.token(), cookies)
        asked += [(asker, stand_in) for stand_in in asker.with_room(all_of_them)]
    sends = [partial(asker.ask, stand_in, Trust.STAND_IN) for asker, stand_in in asked]
    answers = traffic.together.send_all(sends)
    for (asker, stand_in), answer in zip(asked, answers, strict=True):
        asker.follow_up(stand_in, answer)
    for asker in comparable:
        asker.follow_up_the_start()


def tried_with_stand_ins_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """The forms and ways that were tried in these requests, and the first few stand-ins for a token."""
    tried = tried_in_words(operation, exchanges, traffic)
    sent = traffic.log.sent(operation, Trust.STAND_IN)
    names = dict.fromkeys(joined((say(exchange.credential), *exchange.written), " + ") for exchange in sent)
    if not names:
        return tried
    first_few = joined(capped([*names], _MOST_NAMED), ", ")
    return joined((tried, say("tried only with synthetic codes and accounts: {names}", names=first_few)), "; ")


def _askers(traffic: Traffic) -> list[_Asker]:
    """One for each operation that the selection asks of. A read shows whether a stand-in is refused for what it is, so
    none is sent if nothing may be read, nor if limits.wrong_tokens forbids it."""
    profile = traffic.profile
    if "read" not in profile.allow or not profile.limits.wrong_tokens or not profile.accounts:
        return []
    wanted = [operation for operation, name in _REQUIRED.items() if traffic.reach.wants(name)]
    return [_Asker(traffic, operation) for operation in filter(traffic.permitted, wanted)]


class _Asker:
    """Sends requests that name nobody to one operation. It keeps no answer: what was answered stands in the log."""

    def __init__(self, traffic: Traffic, operation: str) -> None:
        self.operation = operation
        self._client = traffic.client
        self._log = traffic.log
        self._together = traffic.together
        self._registrar = Registrar(traffic.client, traffic.profile)

    def ask(self, stand_in: StandIn, purpose: Trust) -> Exchange:
        """Send a request that names nobody, without the valid token."""
        return self._send(purpose, stand_in.key_type, **_sent(stand_in))

    def _ask_with_the_token(self, answer: Exchange) -> None:
        """Send what an answer is compared with, if it may be like that: once for each key type."""
        if tells_of_the_identifier(answer) and not answer_with_the_token(answer, self._log):
            self._send(Trust.WITH_THE_TOKEN, key_type_of(answer))

    def _send(self, purpose: Trust, key_type: str, **sent: Any) -> Exchange:
        """Send a request that names nobody. What is registered all the same is deleted."""
        if self.operation == "executePix":
            return self._client.send(self.operation, synthetic(), purpose=purpose, **sent)
        answer = self._registrar.register_at_synthetic_account(key_type, purpose, **sent)
        self._registrar.delete_key_of(answer)
        return answer

    # -- plain requests ---------------------------------------------------------------------------------------------

    def send_chains(self) -> None:
        """Send a chain; further ones if some of its requests are refused and others are not, to see what decides.

        They differ in length, because nodes that take turns would be shown by chains of one length.
        """
        first_chain = self._send_chain()
        if not any(is_refused(answer, self._log) for answer in first_chain):
            return  # nothing is compared where nobody is refused
        for answer in first_chain:
            self._ask_with_the_token(answer)
        if is_refused_at_some_place(self._log, self.operation):
            for turn in range(TIMES):
                self._send_chain(reads=1 + turn % 3)

    def _send_chain(self, reads: int = 1) -> list[Exchange]:
        """Send requests one behind the other, over one connection: a read, then without the valid token."""
        for _ in range(reads):
            self._client.send("listAccounts", valid=True, purpose=Trust.BEFORE)
        return [
            self.ask(StandIn(), Trust.BEHIND_A_SUCCESS),
            self.ask(StandIn(), Trust.BEHIND_A_REFUSAL),
            self.ask(StandIn(ANOTHER), Trust.ANOTHER_TOKEN_BEHIND),
        ]

    def follow_up_the_start(self) -> None:
        """Send plain requests once more if those of the first second may have been let in."""
        at_the_start = self._log.sent(self.operation, Trust.AT_THE_START)
        if len(at_the_start) == PLAIN_AT_THE_START:
            self._ask_with_the_token(at_the_start[0])
        if may_be_let_in_at_the_start(self._log, self.operation):
            for _ in range(TIMES):
                self.ask(StandIn(), Trust.AFTER_THE_START)

    # -- stand-ins --------------------------------------------------------------------------------------------------

    def with_room(self, all_of_them: list[StandIn]) -> list[StandIn]:
        """The stand-ins that limits.wrong_tokens has room for: those beside no token, and so many others that it can be
        shown of one that it was let in."""
        left = self._client.door.budget.wrong_tokens_left_for_nobody(self.operation) - ORDER.count(Trust.SHOWS_IT)
        others = [stand_in for stand_in in all_of_them if stand_in.credential != NO_HEADER]
        left_out = others[max(0, left) :]
        return [stand_in for stand_in in all_of_them if stand_in not in left_out]

    def follow_up(self, stand_in: StandIn, answer: Exchange) -> None:
        """Send a stand-in again if it may have been let in, a family in parts.

        The parts go, too, if the family is refused otherwise than without a token, because one part may keep the others
        from being looked at.
        """
        number_let_in = self._number_let_in()
        if answer.response is None or number_let_in >= _MOST_SHOWN:
            return
        self._ask_with_the_token(answer)
        may_be_let_in = is_like_with_the_token(answer, self._log)
        if not may_be_let_in and is_refused_like_the_plain_request(answer, self._log):
            return
        self._follow_up_parts(stand_in)
        if may_be_let_in and self._number_let_in() == number_let_in:
            self._send_what_shows_it(stand_in)

    def _number_let_in(self) -> int:
        return len(stand_ins_let_in(self._log, self.operation))

    def _follow_up_parts(self, stand_in: StandIn) -> None:
        room = _MOST_APART - len(self._log.of(self.operation, Trust.APART))
        parts = stand_in.parts()[:room]
        answers = self._together.send_all([partial(self.ask, part, Trust.APART) for part in parts])
        for part, answer in zip(parts, answers, strict=True):
            self.follow_up(part, answer)

    def _send_what_shows_it(self, stand_in: StandIn) -> None:
        """Send a stand-in several times, with plain requests in between; if it is let in each time, a read with it.

        It is sent alone, and if it was not let in, beside a valid request that does nothing.
        """
        send = partial(self.ask, stand_in, Trust.SHOWS_IT)
        self._send_in_order(stand_in.key_type, send)
        if not last_answers_show_it(self._log, self.operation) and self._together.is_possible:
            self._send_in_order(stand_in.key_type, partial(self._send_beside, send))
        if last_answers_show_it(self._log, self.operation):
            self._client.send("listAccounts", purpose=Trust.OF_A_READ, **_sent(stand_in))

    def _send_in_order(self, key_type: str, send: Callable[[], Exchange]) -> None:
        """Send what ORDER asks for, until an answer does not fit."""
        send_plain = partial(self.ask, StandIn(key_type=key_type), Trust.IN_BETWEEN)
        sends: dict[Trust, Callable[[], Exchange]] = {Trust.SHOWS_IT: send, Trust.IN_BETWEEN: send_plain}
        for purpose in ORDER:
            answer = sends[purpose]()
            if not fits_if_let_in(answer, self._log):
                return

    def _send_beside(self, send: Callable[[], Exchange]) -> Exchange:
        [answer] = self._together.send_each_with_a_companion(self.operation, send)
        return answer


def _sent(stand_in: StandIn) -> dict[str, Any]:
    """What a request with a stand-in has beside its path and body."""
    parts = "&".join(f"{name}={value}" for name, value in stand_in.query)
    return {
        "credential": stand_in.credential,
        "headers": stand_in.headers,
        "query": f"?{parts}" if parts else "",
        "written": (stand_in.name,) if stand_in.name else (),
    }
