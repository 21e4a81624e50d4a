"""Requests that name nobody, with something in the place of the valid token, and which of these passed the check of it.

A real code is not needed to see that. Without a token a synthetic code is refused in one way, with the valid token in
another one: as unknown. A request with a stand-in that is answered in that other way passed the check. It counts only
if that happens each time, while the plain request without a token is refused each time in between, because some
services answer the same request now this way, now that way: two nodes in turn, for instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from reports.sentences.wording import capped
from spec.answers import ABOUT_THE_CALLER, PASSING, grants_protected_result, refusal_kind
from spec.exchange import Exchange, Purpose
from spec.interface import MARK
from spec.message import Text, joined, say
from spec.observed import indistinguishable, is_passing
from tests.traffic.keys.registrar import Registrar
from tests.traffic.refused_credentials import tried_in_words
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.trust.stand_ins import StandIn, cookies_of, stand_ins

_REQUIRED = {"executePix": "executePix.token.required", "registerPixKey": "registerPixKey.token.required"}
_AT_THE_START = 2
"""Plain requests in the first second, to each operation: few, because some services lock a caller out after three."""
_ORDER = "-++-+--++-"
"""Requests without a token (-) and with a stand-in (+) that show whether it was let in. Nodes that take turns, in
whatever order, do not answer all of the one kind in one way, and all of the other kind in another way."""
_TIMES = _ORDER.count("+")
_MOST_SHOWN = 3
"""Stand-ins of an operation that are shown: further ones cost time, and say no more."""
_MOST_APART = 60
"""Parts of families that are asked apart, for each operation."""
_MOST_NAMED = 6


class Trust(Purpose):
    """Why a request is sent that names nobody, to see what the check of the token lets in."""

    AT_THE_START = "a synthetic identifier without a token, in the first second"
    BEFORE = "a read right before a request without a token"
    WITHOUT_A_TOKEN = "a synthetic identifier without the valid token, to compare with"
    WITH_THE_TOKEN = "a synthetic identifier with the token, to compare with"
    STAND_IN = "a synthetic identifier with something in the place of the token"
    APART = "a synthetic identifier with one part of that, because it was answered otherwise"
    SHOWS_IT = "a synthetic identifier again with what was answered as with the token"
    OF_A_READ = "a read with what was answered as with the token"


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_at_the_start(traffic: Traffic) -> None:
    """Send plain requests without a token in the first second: a service may not be ready to check it."""
    for asker in _askers(traffic):
        for _ in range(_AT_THE_START):
            answer = asker.ask(StandIn(), Trust.AT_THE_START)
            if is_passing(answer):  # such as a lock: the requests with real codes need the patience of the service
                break


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def ask_in_place_of_a_token(traffic: Traffic) -> None:
    """Send each stand-in for a token, and note the requests that passed the check, by operation."""
    askers = _askers(traffic)
    comparable = [asker for asker in askers if asker.compare()]
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
        asker.look_at(stand_in, answer)
    for asker in comparable:
        asker.look_at_the_start()
    for asker in askers:
        traffic.let_in[asker.operation] = asker.let_in


def let_in(traffic: Traffic, operation: str) -> tuple[tuple[str, list[Exchange]], ...]:
    """The requests that passed the check of the token, by the finding that says so."""
    exchanges = traffic.let_in.get(operation, [])
    at_first = [exchange for exchange in exchanges if exchange.purpose is Trust.AT_THE_START]
    later = [exchange for exchange in exchanges if exchange not in at_first]
    return ("let-in", later), ("let-in-at-first", at_first)


def granted_to_anybody(traffic: Traffic, operation: str) -> list[Exchange]:
    """The requests that name nobody, have no valid token, and got a result all the same."""
    purposes = (Trust.AT_THE_START, Trust.WITHOUT_A_TOKEN, Trust.STAND_IN, Trust.APART, Trust.SHOWS_IT)
    return list(filter(grants_protected_result, traffic.log.sent(operation, *purposes)))


def tried_with_stand_ins_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """The forms and ways that were tried in these requests, and the first few stand-ins for a token."""
    tried = tried_in_words(operation, exchanges, traffic)
    sent = traffic.log.sent(operation, Trust.STAND_IN)
    names = dict.fromkeys(joined((say(exchange.credential), *exchange.written), " + ") for exchange in sent)
    if not names:
        return tried
    first_few = joined(capped([*names], _MOST_NAMED), ", ")
    return joined((tried, say("tried where they name nobody: {names}", names=first_few)), "; ")


def _askers(traffic: Traffic) -> list[_Asker]:
    """One for each operation that the selection asks of. A read shows whether a stand-in is refused for what it is, so
    none is sent if nothing may be read, nor if limits.wrong_tokens forbids it."""
    profile = traffic.profile
    if "read" not in profile.allow or not profile.limits.wrong_tokens or not profile.accounts:
        return []
    wanted = [operation for operation, name in _REQUIRED.items() if traffic.reach.wants(name)]
    return [_Asker(traffic, operation) for operation in filter(traffic.permitted, wanted)]


class _Asker:
    """Asks of one operation. `let_in` are the requests that passed the check of the token, each several times."""

    def __init__(self, traffic: Traffic, operation: str) -> None:
        self.operation, self.let_in = operation, list[Exchange]()
        self._client, self._log, self._together = traffic.client, traffic.log, traffic.together
        self._registrar = Registrar(traffic.client, traffic.profile)
        self._with_the_token: dict[str, Exchange] = {}  # by key type
        self._shown = self._apart = 0

    # -- requests ---------------------------------------------------------------------------------------------------

    def ask(self, stand_in: StandIn, purpose: Trust) -> Exchange:
        """Send a request that names nobody. What is registered all the same is deleted."""
        if self.operation == "executePix":
            return self._client.send(self.operation, synthetic(), purpose=purpose, **_sent(stand_in))
        return self._register(stand_in.key_type, purpose, **_sent(stand_in))

    def _register(self, key_type: str, purpose: Trust, **sent: Any) -> Exchange:
        answer = self._registrar.register_for_nobody(key_type, purpose, **sent)
        self._registrar.undo(answer)
        return answer

    def _answer_with_the_token(self, key_type: str) -> Exchange:
        """The answer to a request with the token, which is sent once for each key type."""
        if key_type not in self._with_the_token:
            if self.operation == "executePix":
                answer = self._client.send(self.operation, synthetic(), purpose=Trust.WITH_THE_TOKEN)
            else:
                answer = self._register(key_type, Trust.WITH_THE_TOKEN)
            self._with_the_token[key_type] = answer
        return self._with_the_token[key_type]

    # -- what is compared -------------------------------------------------------------------------------------------

    def _is_like_with_the_token(self, answer: Exchange, key_type: str) -> bool:
        """True for the answer that the valid token gets, if that tells of the identifier and not of the caller."""
        if answer.response is None or refusal_kind(answer.response) in ABOUT_THE_CALLER | PASSING:
            return False
        return indistinguishable(answer, self._answer_with_the_token(key_type))

    def _is_refused(self, answer: Exchange, key_type: str = "EMAIL") -> bool:
        """True for a refusal that the valid token does not get."""
        if answer.response is None or refusal_kind(answer.response) in {None, *PASSING}:
            return False
        return not self._is_like_with_the_token(answer, key_type)

    def with_room(self, all_of_them: list[StandIn]) -> list[StandIn]:
        """The stand-ins that limits.wrong_tokens has room for: those beside no token, and so many others that it can be
        shown of one that it was let in."""
        left = self._client.door.budget.wrong_tokens_left_for_nobody(self.operation) - _TIMES
        others = [stand_in for stand_in in all_of_them if stand_in.credential != NO_HEADER]
        left_out = others[max(0, left) :]
        return [stand_in for stand_in in all_of_them if stand_in not in left_out]

    def compare(self) -> bool:
        """Send what the others are compared with. True if a token makes a difference: without it each request is
        refused."""
        chain = self._chain()
        if all(map(self._is_refused, chain)):
            return True
        if any(map(self._is_refused, chain)):
            self._look_at_places(chain)
        return False

    def _chain(self, reads: int = 1) -> list[Exchange]:
        """Requests one behind the other, over one connection: without a token right behind a success and right behind
        a refusal, and with a wrong token."""
        for _ in range(reads):
            self._client.send("listAccounts", valid=True, purpose=Trust.BEFORE)
        in_their_order = (StandIn(), StandIn(), StandIn(ANOTHER))
        return [self.ask(stand_in, Trust.WITHOUT_A_TOKEN) for stand_in in in_their_order]

    def _look_at_places(self, first_chain: list[Exchange]) -> None:
        """See whether the requests at one place of the chain are let in each time, and those at another one never.
        Nodes that take turns would be shown by chains of one length."""
        chains = [first_chain, *(self._chain(reads=1 + turn % 3) for turn in range(_TIMES))]
        places = [[chain[place] for chain in chains] for place, _ in enumerate(first_chain)]
        if any(all(map(self._is_refused, place)) for place in places):
            for place in places:
                if all(self._is_like_with_the_token(answer, "EMAIL") for answer in place):
                    self.let_in += place

    def look_at_the_start(self) -> None:
        """See whether the plain requests of the first second were all let in, while later ones are refused."""
        at_the_start = self._log.sent(self.operation, Trust.AT_THE_START)
        if len(at_the_start) < _AT_THE_START or not all(
            self._is_like_with_the_token(answer, "EMAIL") for answer in at_the_start
        ):
            return
        later = [self.ask(StandIn(), Trust.WITHOUT_A_TOKEN) for _ in range(_TIMES)]
        if all(map(self._is_refused, later)):
            self.let_in += at_the_start

    # -- stand-ins --------------------------------------------------------------------------------------------------

    def look_at(self, stand_in: StandIn, answer: Exchange) -> None:
        """See whether an answer shows that its stand-in was let in. A family is asked apart if it was let in, or was
        refused otherwise than without a token: one part may keep the others from being looked at."""
        if answer.response is None or self._shown >= _MOST_SHOWN:
            return
        is_let_in = self._is_like_with_the_token(answer, stand_in.key_type)
        if not is_let_in and self._is_refused_as_without_a_token(answer):
            return
        shown_before = self._shown
        self._look_at_parts(stand_in)
        if is_let_in and self._shown == shown_before:
            self._show(stand_in)

    def _is_refused_as_without_a_token(self, answer: Exchange) -> bool:
        plain = self._log.sent(self.operation, Trust.WITHOUT_A_TOKEN)[0]
        kinds = [refusal_kind(each.response) for each in (plain, answer) if each.response]
        return len(set(kinds)) == 1

    def _look_at_parts(self, stand_in: StandIn) -> None:
        parts = stand_in.parts()[: _MOST_APART - self._apart]
        self._apart += len(parts)
        answers = self._together.send_all([partial(self.ask, part, Trust.APART) for part in parts])
        for part, answer in zip(parts, answers, strict=True):
            self.look_at(part, answer)

    def _show(self, stand_in: StandIn) -> None:
        """Send it several times, while plain requests are refused in between: alone, and if that shows nothing, beside
        a valid request that does nothing."""
        send = partial(self.ask, stand_in, Trust.SHOWS_IT)
        answers = self._answers_that_show(stand_in.key_type, send)
        if not answers and self._together.is_possible:
            answers = self._answers_that_show(stand_in.key_type, partial(self._send_beside, send))
        if answers and not self._is_refused_for_what_it_is(stand_in, answers[0]):
            self.let_in += answers
            self._shown += 1

    def _send_beside(self, send: Callable[[], Exchange]) -> Exchange:
        [answer] = self._together.send_each_with_a_companion(self.operation, send)
        return answer

    def _answers_that_show(self, key_type: str, send: Callable[[], Exchange]) -> list[Exchange]:
        """The answers with the stand-in, if each is that of the valid token and each plain one in between is a refusal;
        else nothing."""
        answers: list[Exchange] = []
        for sign in _ORDER:
            if sign == "-":
                plain = self.ask(StandIn(key_type=key_type), Trust.WITHOUT_A_TOKEN)
                if not self._is_refused(plain, key_type):
                    return []
                continue
            answer = send()
            if not self._is_like_with_the_token(answer, key_type):
                return []
            answers.append(answer)
        return answers

    def _is_refused_for_what_it_is(self, stand_in: StandIn, answer: Exchange) -> bool:
        """True if a read with the same stand-in is answered alike: then a filter refuses what is unusual, in the same
        words as an unknown identifier."""
        read = self._client.send("listAccounts", purpose=Trust.OF_A_READ, **_sent(stand_in))
        return read.response is None or indistinguishable(read, answer)


def _sent(stand_in: StandIn) -> dict[str, Any]:
    """What a request with a stand-in has beside its path and body."""
    parts = "&".join(f"{name}={value}" for name, value in stand_in.query)
    return {
        "credential": stand_in.credential,
        "headers": stand_in.headers,
        "query": f"?{parts}" if parts else "",
        "written": (stand_in.name,) if stand_in.name else (),
    }
