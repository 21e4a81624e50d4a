"""Counts of answers: to requests with the valid token, and to generated requests.

If an operation never succeeded with the valid token, its tests show nothing about the service. So the verdict of a run
depends on these counts. If no operation succeeded, a note says what is probably wrong, such as the token or base_url.

| word | meaning |
|---|---|
| ready | gave at least one answer other than "try again later" (429) or the answer of a gateway (502) |
| page | an HTML page for people, such as one to log in |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from environments.profiles.model import Auth
from reports.sentences.wording import joined_with_and
from spec.answers import REFUSED_FOR_NOW, RefusalKind, answer_in_words, is_granted, is_page, refusal_kind
from spec.exchange import VALID, Exchange
from spec.interface import READ_OPERATIONS, operations
from spec.message import Text, joined_keeping_repeats, say, say_many

NO_OPERATION_SUCCEEDED = say("no operation succeeded")
"""Reason why a run is incomplete: no request with the valid token was answered with a success."""
_NOT_READY = REFUSED_FOR_NOW | {RefusalKind.GATEWAY}
"""Refusals that say nothing about the request, because the service itself did not look at it."""
_MOST_ANSWERS = 3
"""Most different answers that a note names, so that the note is one line. The commonest are named."""


@dataclass
class AnswersToValidToken:
    """How the service answered requests with the valid token, and the operations that succeeded with it."""

    by_operation: dict[str, Counter[Text]] = field(default_factory=dict)
    """By operation, how often each answer to the valid token came: a status such as "404", or the words of a 200 that
    is a refusal. An operation whose requests got no answer at all has an empty counter."""
    succeeded: set[str] = field(default_factory=set)
    """Operations that succeeded at least once."""
    expected_to_succeed: set[str] = field(default_factory=set)
    """Operations from which a success was to be expected, because they were ready when they got a valid request."""
    service_was_ready: bool = False
    """At least one operation was ready."""
    certificate_was_refused: bool = False
    """A gateway refused the client certificate. Such an answer says nothing about the token."""

    @classmethod
    def of_exchanges(cls, exchanges: Iterable[Exchange]) -> AnswersToValidToken:
        """Count the answers of these exchanges, and return the counts.

        An HTML page with status 200 may be a page to log in, which a service sends for a wrong token. So a page for the
        valid token is a success only if a wrong token got an answer from the same operation that is no page.
        """
        counts = cls()
        documented = [exchange for exchange in exchanges if exchange.operation]  # empty for an undocumented path
        without_login_page = [exchange for exchange in documented if _answers_wrong_token_without_a_page(exchange)]
        operations_without_login_page = {exchange.operation for exchange in without_login_page}
        for exchange in documented:
            if exchange.credential == VALID:
                counts._count_answer(exchange, page_is_a_success=exchange.operation in operations_without_login_page)
        return counts

    def _count_answer(self, exchange: Exchange, *, page_is_a_success: bool) -> None:
        """Count the answer to one request with the valid token.

        `page_is_a_success` says whether an HTML page with status 200 is a success of this operation. If it is none, it
        may be a page to log in.
        """
        operation = exchange.operation
        response = exchange.response
        answers = self.by_operation.setdefault(operation, Counter())
        if response is None:
            return
        refusal = refusal_kind(response)  # None for a success
        answer: Text = str(response.status)
        if refusal is RefusalKind.ENVELOPE:  # its status is 200, so the words say which code makes it a refusal
            answer = answer_in_words(exchange)
        answers[answer] += 1
        is_ready = refusal not in _NOT_READY  # no rate limit, such as 429, and no answer of a gateway, such as 502
        if is_ready:
            self.service_was_ready = True
        if is_ready and exchange.expects_success:
            self.expected_to_succeed.add(operation)
        if refusal is RefusalKind.CERTIFICATE:
            self.certificate_was_refused = True
        is_login_page = is_page(response) and not page_is_a_success
        if refusal is None and not is_login_page:
            self.succeeded.add(operation)

    def operations_asked(self, selected: Collection[str]) -> list[str]:
        """The selected operations to which a request with the valid token was sent, even if no answer came.

        They are in the order of the interface document.
        """
        asked = self.by_operation.keys() & selected
        return [operation for operation in operations() if operation in asked]

    @property
    def refused_all(self) -> bool:
        """True if the service answered requests with the valid token, but none of them with a success."""
        an_answer_came = any(self.by_operation.values())
        return an_answer_came and not self.succeeded

    def why_no_basis_for_a_verdict(self, selected: Collection[str]) -> Text:
        """Why the answers are not enough for a verdict on the selected operations; empty if they are enough.

        One success of a selected operation is enough. If the selected operations got only invalid requests, or answered
        only 503, none of them could succeed. Then a success of any other operation is enough, because that success
        shows that the token is valid.
        """
        if not self.succeeded:
            return NO_OPERATION_SUCCEEDED
        a_success_was_expected = any(operation in self.expected_to_succeed for operation in selected)
        a_selected_one_succeeded = any(operation in self.succeeded for operation in selected)
        if a_success_was_expected and not a_selected_one_succeeded:
            return say("no selected operation succeeded")
        return ""

    def notes(self, auth: Auth) -> Iterator[Text]:
        """At most one line, which says why no operation succeeded, so that a person can repair the set-up.

        There is no line if an operation succeeded. There is none either if a gateway refused the client certificate,
        because another note reports this. `auth` is the setting `auth` of the profile: where the token comes from.
        """
        if not self.refused_all or self.certificate_was_refused:
            return
        answers: Counter[Text] = sum(self.by_operation.values(), Counter())  # of all operations together
        source = _source_of_token(auth)
        if set(answers) == {"401"}:  # every answer was a 401
            yield say(
                "the token was refused with 401 by {operations}: it is wrong, has expired, or is for another "
                "environment, check auth ({source})",
                operations=joined_with_and(self.operations_asked(operations())),
                source=source,
            )
            return
        commonest_answers = [
            say_many("{status} to {n} request", "{status} to {n} requests", status=answer, n=count)
            for answer, count in answers.most_common(_MOST_ANSWERS)
        ]
        yield say(
            "no operation succeeded ({answers}): {why}",
            answers=joined_keeping_repeats(commonest_answers, ", "),
            why=self._probable_cause(answers, source),
        )

    def _probable_cause(self, answers: Counter[Text], source: str) -> Text:
        """A guess why nothing succeeded, made from the commonest answer.

        `answers` has how often each answer came, such as {"404": 12}. `source` says where the token comes from, such as
        "token_command".
        """
        token_is_wrong = say("the token may be wrong or expired, check auth ({source})", source=source)
        commonest_answer, _ = answers.most_common(1)[0]  # and how often it came
        commonest = str(commonest_answer)
        if not self.service_was_ready:
            return say("the service was not ready, run again later")
        if commonest >= "5":  # true for each status from 500 on: answers are texts such as "503"
            return say("the service fails, see its log")
        if commonest in ("301", "307", "308"):  # other redirects often lead to a page to log in
            return say(
                "every path leads elsewhere, perhaps to https or to one with a slash at its end: check base_url and "
                "the paths of the service"
            )
        if commonest in ("200", "302", "303", "404"):
            return say("base_url may lead elsewhere, such as to a page to log in, or {token}", token=token_is_wrong)
        return token_is_wrong


def _source_of_token(auth: Auth) -> str:
    """Where the profile has the token from: the name of an environment variable, "token_command" or "token_file"."""
    if auth.token_env:
        return auth.token_env
    return "token_command" if auth.token_command else "token_file"


def _answers_wrong_token_without_a_page(exchange: Exchange) -> bool:
    """True if a request with a wrong token, or without one, got an answer that is no HTML page.

    So the operation does not send a page to log in if the token is bad.
    """
    if exchange.credential == VALID or exchange.response is None:
        return False
    return not is_page(exchange.response)


@dataclass
class AnswersToGeneratedRequests:
    """Answers to generated requests."""

    accepted: Counter[str] = field(default_factory=Counter)
    """Number of accepted requests by operation."""
    refused: dict[str, Counter[Text]] = field(default_factory=dict)
    """By operation, how often each refusal came, in words."""
    cut: list[str] = field(default_factory=list)
    """Requests that were left out, in words."""

    def count_answers(self, operation: str, answers: Collection[Exchange], why_cut: str = "") -> None:
        """Count the answers to the generated requests of an operation: accepted ones, and each kind of refusal.

        `why_cut` is the reason if some of the requests were not sent. Several tests may call this with the same
        answers, so earlier counts of the operation are replaced.
        """
        refused = [exchange for exchange in answers if not is_granted(exchange)]
        self.refused[operation] = Counter(answer_in_words(exchange) for exchange in refused)
        self.accepted[operation] = len(answers) - len(refused)
        if why_cut:
            line = f"{operation} was cut after {len(answers)} requests: {why_cut}"
            if line not in self.cut:
                self.cut.append(line)

    def notes(self, succeeded: Collection[str]) -> Iterator[Text]:
        """At most one line, which names the operations that generated requests did not test.

        These operations refused every generated request. `succeeded` has the operations that succeeded in any test. If
        there is none, there is no line, because another note then says why.
        """
        refusing = [operation for operation in self.refused if self._tested_nothing(operation, succeeded)]
        if not refusing or not succeeded:
            return
        refusals = sum((self.refused[operation] for operation in refusing), Counter())
        commonest_refusals = [
            say_many("{summary} {n} time", "{summary} {n} times", summary=refusal, n=count)
            for refusal, count in refusals.most_common(_MOST_ANSWERS)
        ]
        yield say_many(
            "{operations}: no generated request was ever accepted ({answers}): generated traffic did not test it",
            "{operations}: no generated request was ever accepted ({answers}): generated traffic did not test them",
            n=len(refusing),
            operations=", ".join(refusing),
            answers=joined_keeping_repeats(commonest_refusals, ", "),
        )

    def _tested_nothing(self, operation: str, succeeded: Collection[str]) -> bool:
        """True if the operation refused every generated request, and no other test shows that it can succeed.

        For an operation that only reads, valid requests are generated, so at least one of them must succeed. For any
        other operation all generated requests may be invalid. So a success in another test is enough for it.
        """
        was_always_refused = bool(self.refused[operation]) and not self.accepted[operation]
        another_test_succeeded = operation not in READ_OPERATIONS and operation in succeeded
        return was_always_refused and not another_test_succeeded
