"""Requests with made-up codes and accounts, without the valid token: are some let in nevertheless?

| word | meaning |
|---|---|
| synthetic | made up by the suite: a code, an account or a key that belongs to nobody, so that no request can do harm |
| let in | answered as if the request had the valid token |
| stand-in | what some services trust instead of a token, such as a header that a gateway sets (`stand_ins.py`) |
| family | a group of stand-in headers with one meaning, which are sent in one request; a part of it is some of them |
| series | a read and then three requests without the valid token, one after the other on one connection |

`let_in.py` says which requests were let in. The scenarios ask it, too, because after an answer that may show something
they send further requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from environments.door.permission import synthetic
from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from environments.profiles.model import Profile
from reports.sentences.wording import capped
from spec.answers import grants_protected_result, registered
from spec.exchange import Exchange
from spec.interface import SYNTHETIC_PREFIX
from spec.message import Text, joined, say
from spec.observed import is_temporary
from tests.traffic.keys.purposes import REGISTER, Registering
from tests.traffic.keys.registrar import Registrar
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.money.preparing import prepare_executable_transfers
from tests.traffic.refused_credentials import credentials_tried_in_words
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.trust.let_in import (
    ORDER_OF_PROOF,
    PURPOSES_IN_A_SERIES,
    REQUESTS_AT_THE_START,
    TIMES_SENT_AGAIN,
    Trust,
    answer_with_the_token,
    answered_as_with_the_token_at_times,
    are_all_refused_in_first_series,
    are_only_some_refused_in_first_series,
    is_about_the_identifier,
    is_answered_as_with_the_token,
    is_as_expected_if_let_in,
    is_refused_for_the_token,
    is_refused_like_without_any_token,
    is_stand_in_proved_by_last_answers,
    key_type_of,
    may_be_let_in_at_the_start,
    plain_requests,
    stand_ins_let_in,
)
from tests.traffic.trust.stand_ins import NO_STAND_IN, StandIn, cookies_of, stand_ins, ways_sent_without_token

_REQUIRED = {"executePix": "executePix.token.required", "registerPixKey": "registerPixKey.token.required"}
"""By operation, the requirement that it needs the token. They are the two operations that document the token."""
_MOST_SHOWN = 3
"""Most stand-ins of an operation that are proved to be let in: further proofs cost time, and say no more."""
_TIMES_WITH_REAL_IDENTIFIERS = 12
"""Most requests with a real code or account for each wrong credential, if limits.wrong_tokens permits them. If one
server of three does not check tokens, it gets one of twelve in 129 runs of 130."""
_MOST_PARTS = 60
"""Most requests with one part of a family, for each operation. The number is a choice."""
_MOST_NAMED = 6
"""Stand-ins that a message names. The number is a choice."""


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def send_without_token_at_the_start(traffic: Traffic) -> None:
    """Send requests without a token in the first second of the run, because a service may not check tokens yet.

    They have synthetic (made-up) codes and accounts. After a temporary answer, such as a rate limit, no further one is
    sent to the operation.
    """
    for sender in _senders(traffic):
        for _ in range(REQUESTS_AT_THE_START):
            answer = sender.send_without_token(NO_STAND_IN, Trust.AT_THE_START)
            # After more requests the service might lock the run out, before the run has sent its codes.
            if is_temporary(answer):
                break


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def send_stand_ins(traffic: Traffic) -> None:
    """Send requests with a stand-in instead of the token, such as a header that a gateway sets.

    1. A series of requests without the valid token shows how each operation refuses them. It is compared with the
       answer to the valid token.
    2. Each stand-in is sent to the operations that refused all requests of the series. At the other operations there is
       nothing to compare with.
    3. If an answer is not the usual refusal, more requests are sent, to prove that the service accepts the stand-in in
       place of the token.
    4. Requests without a token that were answered in the first second of the run are sent again.
    """
    senders = _senders(traffic)
    traffic.together.send_all([sender.send_series for sender in senders])
    for sender in senders:
        sender.compare_first_series_with_the_token()
    refusing = [sender for sender in senders if are_all_refused_in_first_series(traffic.log, sender.operation)]
    to_send = _stand_ins_to_send(traffic, refusing)
    sends = [partial(sender.send_without_token, stand_in, Trust.STAND_IN) for sender, stand_in in to_send]
    answers = traffic.together.send_all(sends)
    for (sender, stand_in), answer in zip(to_send, answers, strict=True):
        sender.send_more_after(stand_in, answer)
    for sender in refusing:
        sender.send_again_after_the_start()


@scenario(serves=[*_REQUIRED.values()], needs="fuzz")
def send_real_identifiers_where_answers_disagree(traffic: Traffic) -> None:
    """Send real codes or accounts without the valid token if made-up ones are answered as with it at times.

    One of several servers may not check tokens, or it only looks up the code or account before it checks the token. A
    real code or account shows which it is: such a request is let in, or it is refused. This comes last, because most
    services answer equal requests alike, and because it uses up what is left of limits.wrong_tokens.
    """
    for sender in _senders(traffic):
        sender.send_real_identifiers_if_answers_disagree(traffic.profile)


def _stand_ins_to_send(traffic: Traffic, senders: list[_Sender]) -> list[tuple[_Sender, StandIn]]:
    """The stand-ins that each of these senders sends, as far as limits.wrong_tokens permits them.

    A stand-in is what some services trust instead of a token, such as a header or a session cookie.
    """
    secrets = traffic.client.door.secrets
    cookies = cookies_of(traffic.log, traffic.profile)  # those that the service set, or made-up ones
    set_by_the_service = [value for _, value in cookies if SYNTHETIC_PREFIX not in value]
    secrets.learn_secret("session cookie", *set_by_the_service)  # so that no report shows them
    to_send: list[tuple[_Sender, StandIn]] = []
    for sender in senders:
        ways_sent = ways_sent_without_token(traffic.log, sender.operation)
        all_stand_ins = stand_ins(sender.operation, traffic.profile, secrets.token(), cookies, traffic.seed, ways_sent)
        to_send += [(sender, stand_in) for stand_in in sender.stand_ins_within_the_limit(all_stand_ins)]
    return to_send


def tried_with_stand_ins_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """Sentence for the verdict: the wrong credentials in these requests, and the stand-ins that the run sent.

    A stand-in is what some services trust instead of a token, such as the header `X-Forwarded-For: 127.0.0.1`. The
    stand-ins are those of all requests of the run to this operation, not only of `exchanges`. They were sent with
    made-up codes and accounts only. The first few are named.
    """
    tried = credentials_tried_in_words(operation, exchanges, traffic)
    sent = traffic.log.sent(operation, Trust.STAND_IN)
    names = dict.fromkeys(joined((say(exchange.credential), *exchange.spelling), " + ") for exchange in sent)
    if not names:
        return tried
    first_few = joined(capped([*names], _MOST_NAMED), ", ")
    return joined((tried, say("tried only with synthetic codes and accounts: {names}", names=first_few)), "; ")


def _senders(traffic: Traffic) -> list[_Sender]:
    """A sender for each operation of which a selected requirement says that it needs the token.

    Empty if the profile does not permit reads, because a read is needed to see whether a filter in front of the service
    refuses the requests. Also empty if limits.wrong_tokens is 0, which forbids wrong tokens, or if there is no account.
    """
    profile = traffic.profile
    if "read" not in profile.allow or not profile.limits.wrong_tokens or not profile.accounts:
        return []
    selected = [operation for operation, name in _REQUIRED.items() if traffic.selection.includes_any(name)]
    return [_Sender(traffic, operation) for operation in filter(traffic.may_send_to, selected)]


class _Sender:
    """Sends requests with synthetic codes or accounts (made up by the suite) to one operation.

    It stores no answers, because it finds them in the log of the run.
    """

    def __init__(self, traffic: Traffic, operation: str) -> None:
        """`operation` is executePix or registerPixKey, the two operations that document the token."""
        self.operation = operation
        self._client = traffic.client
        self._log = traffic.log
        self._together = traffic.together
        self._registrar = Registrar(traffic.client, traffic.profile)

    def send_without_token(self, stand_in: StandIn, purpose: Trust) -> Exchange:
        """Send a request without the valid token, for a synthetic (made-up) code or account.

        It has the stand-in instead of the token, such as a header that a gateway sets. NO_STAND_IN makes a request
        without any token.
        """
        return self._send(purpose, stand_in.key_type, **_options_for(stand_in))

    def _send_with_the_token(self, answer: Exchange) -> None:
        """Send a request once more with the valid token, to compare both answers. `answer` is the first exchange.

        If both answers are the same, the first request may have been let in without the valid token. It is sent once
        for each key type. It is not sent if the first answer refuses the caller, such as a 401, because the valid token
        gets another answer in any case.

        A read is sent right before a registration. If the service left the body of the last refused registration
        unread, it takes that body for the beginning of the next request on this connection: then the read gets the
        wrong answer instead.
        """
        if not is_about_the_identifier(answer) or answer_with_the_token(answer, self._log):
            return
        if self.operation == REGISTER:
            self._client.send("listAccounts", valid=True, purpose=Trust.READ_BEFORE_A_COMPARISON)
        self._send(Trust.WITH_THE_TOKEN, key_type_of(answer))

    def _send(self, purpose: Trust, key_type: str, **options: Any) -> Exchange:
        """Send an execution of a made-up (synthetic) code, or a registration of a made-up key at a made-up account.

        A service that trusts something else than the token may register the key; then it is deleted. `purpose` says for
        which question the request is sent. `options` are those of `Client.send`, such as a wrong `credential`.
        """
        if self.operation == "executePix":
            return self._client.send(self.operation, synthetic(), purpose=purpose, **options)
        answer = self._registrar.register_at_synthetic_account(key_type, purpose, **options)
        self._registrar.delete_key_of(answer)
        return answer

    # -- requests without a stand-in --------------------------------------------------------------------------------

    def send_series(self, reads: int = 1) -> None:
        """Send some reads, and right after them, on the same connection, three requests without the valid token.

        `reads` is the number of reads. Two of the three requests have no token, and the third has a wrong one. Some
        services do not check the token on a connection that was authorized before.
        """
        for _ in range(reads):
            self._client.send("listAccounts", valid=True, purpose=Trust.READ_BEFORE_A_SERIES)
        self.send_without_token(NO_STAND_IN, Trust.RIGHT_AFTER_A_SUCCESS)
        self.send_without_token(NO_STAND_IN, Trust.RIGHT_AFTER_A_REFUSAL)
        self.send_without_token(StandIn(WRONG_TOKEN), Trust.WRONG_TOKEN_AFTER_A_REFUSAL)

    def compare_first_series_with_the_token(self) -> None:
        """Compare the first series with the valid token. If only some of its requests are refused, send more series.

        More series show whether the answer depends on the position in the series. They begin with one, two or three
        reads: if two servers take turns, and one of them does not check tokens, then in series of equal length always
        the same position would meet that server.
        """
        first_series = self._log.of(self.operation, *PURPOSES_IN_A_SERIES)
        if not any(is_refused_for_the_token(answer, self._log) for answer in first_series):
            return  # the operation seems to need no token, so there is nothing to compare with
        for answer in first_series:
            self._send_with_the_token(answer)
        if are_only_some_refused_in_first_series(self._log, self.operation):
            for number in range(TIMES_SENT_AGAIN):
                self.send_series(reads=1 + number % 3)  # 1, 2, 3, 1, 2

    def send_again_after_the_start(self) -> None:
        """Send requests without a token again if those in the first second of the run may have been let in.

        The later answers show whether the service checks tokens now. Before, a request with the token is sent, so that
        the answers can be compared with it.
        """
        at_the_start = self._log.sent(self.operation, Trust.AT_THE_START)
        if len(at_the_start) == REQUESTS_AT_THE_START:
            self._send_with_the_token(at_the_start[0])
        if may_be_let_in_at_the_start(self._log, self.operation):
            for _ in range(TIMES_SENT_AGAIN):
                self.send_without_token(NO_STAND_IN, Trust.AFTER_THE_START)

    def send_real_identifiers_if_answers_disagree(self, profile: Profile) -> None:
        """Send a real code or account with each wrong credential that is answered as the valid token at times.

        A credential is none at all, or a wrong token. The code is one that the run prepares for it, on a sandbox only.
        The account is that of the run, with a made-up key, which is deleted if the service registers it.
        """
        for answer in plain_requests(self._log, self.operation):
            self._send_with_the_token(answer)  # once for each key type
        at_times = answered_as_with_the_token_at_times(self._log, self.operation)
        for credential in dict.fromkeys(answer.credential for answer in at_times):
            if self.operation == "executePix":
                self._send_prepared_code(credential, profile)
            elif self._registrar.may_delete_synthetic_keys:
                self._send_registrations(credential)

    def _send_registrations(self, credential: str) -> None:
        """Send registrations at the account of the run with a wrong credential, until one is accepted."""
        for _ in range(_TIMES_WITH_REAL_IDENTIFIERS):
            key = self._registrar.synthetic_key()
            purpose = Registering.WITHOUT_A_TOKEN
            answer = self._registrar.register(key, purpose, valid=False, credential=credential)
            if registered(answer):
                self._registrar.delete_key_of(answer)
                return

    def _send_prepared_code(self, credential: str, profile: Profile) -> None:
        """Prepare a transfer, send its code with a wrong credential until it is executed, or execute it at last.

        Nothing is sent outside a sandbox, or if limits.executions permits no further execution.
        """
        guard = self._client.door.guard
        may_execute = profile.is_sandbox and guard.count_possible_executions() > 0
        if not may_execute:
            return
        preparations = prepare_executable_transfers(self._client, profile, 1, Preparation.TO_EXECUTE)
        for code in guard.prepared.codes_of(preparations):
            for _ in range(_TIMES_WITH_REAL_IDENTIFIERS):
                purpose = Execution.UNAUTHORIZED_BEFORE_EXECUTION
                answer = self._client.send(self.operation, code, credential=credential, purpose=purpose)
                is_perhaps_executed = answer.response is None or grants_protected_result(answer)
                if answer.number and is_perhaps_executed:  # the number is 0 if limits.wrong_tokens is reached
                    return
            self._client.send(self.operation, code, valid=True, purpose=Execution.PREPARED)

    # -- stand-ins --------------------------------------------------------------------------------------------------

    def stand_ins_within_the_limit(self, all_stand_ins: list[StandIn]) -> list[StandIn]:
        """Those of these stand-ins that may be sent: limits.wrong_tokens counts those with an Authorization header.

        A stand-in is what some services trust instead of a token, such as a header that a gateway sets. Stand-ins
        without an Authorization header are all sent. If the limit is too low for all stand-ins with this header, the
        last ones are left out, so that enough requests are left to prove that a stand-in is let in (`ORDER_OF_PROOF`).
        """
        wrong_tokens_left = self._client.door.budget.wrong_tokens_left_for_synthetic(self.operation)
        kept_for_proof = ORDER_OF_PROOF.count(Trust.STAND_IN_AGAIN)
        with_wrong_token = [stand_in for stand_in in all_stand_ins if stand_in.credential != NO_HEADER]
        left_out = with_wrong_token[max(0, wrong_tokens_left - kept_for_proof) :]
        return [stand_in for stand_in in all_stand_ins if stand_in not in left_out]

    def send_more_after(self, stand_in: StandIn, answer: Exchange) -> None:
        """Send more requests after the answer to a stand-in, to prove that it is let in, and which part of it.

        A stand-in is what some services trust instead of a token, such as a group of headers. It is let in if a request
        with it is answered as if it had the valid token.

        | answer to the stand-in | what is sent |
        |---|---|
        | none; or enough stand-ins are proved already | nothing |
        | the same as without any token (the usual refusal) | a request with the token, and nothing more |
        | the same as with the token | each part of the stand-in; if no part is let in, the proof for the whole one |
        | another refusal | each part: one may be refused before the service looks at the others |

        A part is, for example, one half of the headers.
        """
        number_before = self._number_let_in()
        if answer.response is None or number_before >= _MOST_SHOWN:
            return
        self._send_with_the_token(answer)
        may_be_let_in = is_answered_as_with_the_token(answer, self._log)
        is_usual_refusal = not may_be_let_in and is_refused_like_without_any_token(answer, self._log)
        if is_usual_refusal:
            return
        self._send_parts_of(stand_in)
        is_no_part_let_in = self._number_let_in() == number_before
        if may_be_let_in and is_no_part_let_in:
            self._prove_that_it_is_let_in(stand_in)

    def _number_let_in(self) -> int:
        """Number of stand-ins (such as a header) that this operation certainly accepted instead of the valid token."""
        return len(stand_ins_let_in(self._log, self.operation))

    def _send_parts_of(self, stand_in: StandIn) -> None:
        """Send each part of a stand-in on its own, and more requests after each answer (`send_more_after`).

        A stand-in is what some services trust instead of a token, such as a group of headers; each half of the group is
        a part. If a half is let in, its halves are sent in turn, until the one header is found that the service trusts.
        Nothing is sent if the stand-in has no parts, or if as many parts as _MOST_PARTS were sent to the operation.
        """
        parts_left = _MOST_PARTS - len(self._log.of(self.operation, Trust.ONE_PART))
        parts = stand_in.parts()[:parts_left]
        answers = self._together.send_all([partial(self.send_without_token, part, Trust.ONE_PART) for part in parts])
        for part, answer in zip(parts, answers, strict=True):
            self.send_more_after(part, answer)

    def _prove_that_it_is_let_in(self, stand_in: StandIn) -> None:
        """Send a stand-in several times, with requests without any token in between (ORDER_OF_PROOF).

        A stand-in is what some services trust instead of a token, such as a header. It is proved to be let in if it
        gets the answer of the valid token each time, and the others are refused. Each request is sent alone; if that
        proves nothing, at the same moment as a valid request that does nothing. If the stand-in is proved, a read with
        it is sent, too, which shows whether a filter in front of the service refuses any request with this stand-in.
        """
        send = partial(self.send_without_token, stand_in, Trust.STAND_IN_AGAIN)
        self._send_in_order_of_proof(stand_in.key_type, send)
        if not is_stand_in_proved_by_last_answers(self._log, self.operation) and self._together.may_send_several:
            self._send_in_order_of_proof(stand_in.key_type, partial(self._send_with_companion, send))
        if is_stand_in_proved_by_last_answers(self._log, self.operation):
            self._client.send("listAccounts", purpose=Trust.READ_WITH_STAND_IN, **_options_for(stand_in))

    def _send_in_order_of_proof(self, key_type: str, send: Callable[[], Exchange]) -> None:
        """Send requests with a stand-in and requests without any token, in the order of ORDER_OF_PROOF.

        `send` sends a request with the stand-in, which is what some services trust instead of a token. This ends at the
        first answer that is not as expected if the stand-in is let in, because nothing can be proved then.
        """
        send_without_any = partial(self.send_without_token, StandIn(key_type=key_type), Trust.NO_TOKEN_IN_BETWEEN)
        for purpose in ORDER_OF_PROOF:
            answer = send() if purpose is Trust.STAND_IN_AGAIN else send_without_any()
            if not is_as_expected_if_let_in(answer, self._log):
                return

    def _send_with_companion(self, send: Callable[[], Exchange]) -> Exchange:
        """Send a request at the same moment as a companion, and return the exchange of the request.

        A companion is a valid request that does nothing. Some services accept a request without the valid token while a
        valid one is under way.
        """
        [answer] = self._together.send_each_with_a_companion(self.operation, send)
        return answer


def _options_for(stand_in: StandIn) -> dict[str, Any]:
    """The options of `Client.send` for a request with a stand-in instead of the token, such as a certain header.

    The name of the stand-in is in `spelling`, the unusual ways in which a request is written, so that reports show it.
    """
    query = "&".join(f"{name}={value}" for name, value in stand_in.query)
    return {
        "credential": stand_in.credential,
        "headers": stand_in.headers,
        "query": f"?{query}" if query else "",
        "spelling": (stand_in.name,) if stand_in.name else (),
    }
