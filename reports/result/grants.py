"""Operations that succeeded with the valid token (`Grants`), and answers to generated requests (`Generated`).

An operation grants a request if its answer is a success. An operation was ready if it gave at least one answer that
does not ask to come back later, such as 429, and is not that of a gateway, such as 502.

The verdict of a run asks for them: an operation that never succeeded was not tested, whatever its tests say. If nothing
succeeded, a note says what is probably wrong, such as the token or base_url.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from environments.profiles.model import Auth
from reports.sentences.wording import listed
from spec.answers import REFUSED_FOR_NOW, RefusalKind, answer_in_words, is_granted, is_page, refusal_kind
from spec.exchange import VALID, Exchange
from spec.interface import READ_OPERATIONS, operations
from spec.message import Text, joined_with_repeats, say, say_many

NOTHING_GRANTED = say("no operation succeeded")
_NOT_READY = REFUSED_FOR_NOW | {RefusalKind.GATEWAY}
"""Refusals that say nothing about the request, because the service itself did not look at it."""
_MOST_ANSWERS = 3
"""Different answers that a note names, the commonest first."""


@dataclass
class Grants:
    """Answers to requests with the valid token, and the operations that succeeded."""

    answered: dict[str, Counter[Text]] = field(default_factory=dict)
    """By operation, how often each answer came: a status, or the words of a 200 that is a refusal."""
    granted: set[str] = field(default_factory=set)
    """Operations that succeeded at least once."""
    promised: set[str] = field(default_factory=set)
    """Operations that were ready when they answered a valid request, so that a success was to be expected."""
    ready: bool = False
    """At least one operation was ready."""
    certificate: bool = False
    """A gateway refused the client certificate. Such an answer says nothing about the token."""

    @classmethod
    def of_exchanges(cls, exchanges: Iterable[Exchange]) -> Grants:
        """The grants that the exchanges show.

        An HTML page for people, such as a page to log in, is no success. It counts as one only if the operation answers
        a wrong token without a page, because then the operation did look at the token.
        """
        grants = cls()
        documented = [exchange for exchange in exchanges if exchange.operation]
        distinguishing = {
            exchange.operation for exchange in documented if _answers_wrong_token_without_a_page(exchange)
        }
        for exchange in documented:
            if exchange.credential == VALID:
                grants._add(exchange, page_is_an_answer=exchange.operation in distinguishing)
        return grants

    def _add(self, exchange: Exchange, *, page_is_an_answer: bool) -> None:
        """Count the answer to one request with the valid token."""
        operation = exchange.operation
        response = exchange.response
        answers = self.answered.setdefault(operation, Counter())
        if response is None:
            return
        refusal = refusal_kind(response)  # None for a success
        answer: Text = str(response.status)
        if refusal is RefusalKind.ENVELOPE:  # its status is 200
            answer = answer_in_words(exchange)
        answers[answer] += 1
        is_ready = refusal not in _NOT_READY
        if is_ready:
            self.ready = True
        if is_ready and exchange.expects_success:
            self.promised.add(operation)
        if refusal is RefusalKind.CERTIFICATE:
            self.certificate = True
        is_of_the_operation = page_is_an_answer or not is_page(response)
        if refusal is None and is_of_the_operation:
            self.granted.add(operation)

    def operations_asked(self, selected: Collection[str]) -> list[str]:
        """The selected operations that got a request with the valid token, in the order of the interface document."""
        return [operation for operation in operations() if operation in self.answered and operation in selected]

    @property
    def refused_all(self) -> bool:
        """True if the service answered the valid token, and granted it nothing."""
        return not self.granted and any(self.answered.values())

    def missing_basis(self, selected: Collection[str]) -> Text:
        """Reason why there is no basis for a verdict on the selected operations; empty if there is one.

        Perhaps none of them was ready to answer a valid request, because only invalid ones were sent, or a 503 came.
        Then the success of any operation is enough: it shows that the token is valid.
        """
        if not self.granted:
            return NOTHING_GRANTED
        if self.promised.isdisjoint(selected) or not self.granted.isdisjoint(selected):
            return ""
        return say("no selected operation succeeded")

    def notes(self, auth: Auth) -> Iterator[Text]:
        """One line that says why no operation succeeded. No line if one did, or if the client certificate is why."""
        if not self.refused_all or self.certificate:
            return
        answers: Counter[Text] = sum(self.answered.values(), Counter())
        source = "token_command" if auth.token_command else "token_file"
        if auth.token_env:
            source = auth.token_env
        if set(answers) == {"401"}:
            yield say(
                "the token was refused with 401 by {operations}: it is wrong, has expired, or is for another "
                "environment, check auth ({source})",
                operations=listed(self.operations_asked(operations())),
                source=source,
            )
            return
        commonest_answers = [
            say_many("{status} to {n} request", "{status} to {n} requests", status=answer, n=count)
            for answer, count in answers.most_common(_MOST_ANSWERS)
        ]
        yield say(
            "no operation succeeded ({answers}): {why}",
            answers=joined_with_repeats(commonest_answers, ", "),
            why=self._probable_cause(answers, source),
        )

    def _probable_cause(self, answers: Counter[Text], source: str) -> Text:
        """Guess, by the commonest answer, why nothing succeeded. `source` is where the profile has the token from."""
        token_is_wrong = say("the token may be wrong or expired, check auth ({source})", source=source)
        commonest = str(max(answers, key=answers.__getitem__))
        if not self.ready:
            return say("the service was not ready, run again later")
        if commonest >= "5":  # texts are compared: a status 5xx
            return say("the service fails, see its log")
        if commonest in ("301", "307", "308"):  # other redirects often lead to a page to log in
            return say(
                "every path leads elsewhere, perhaps to https or to one with a slash at its end: check base_url and "
                "the paths of the service"
            )
        if commonest in ("200", "302", "303", "404"):
            return say("base_url may lead elsewhere, such as to a page to log in, or {token}", token=token_is_wrong)
        return token_is_wrong


def _answers_wrong_token_without_a_page(exchange: Exchange) -> bool:
    """True if a wrong token, or none, got an answer that is no page for people."""
    if exchange.credential == VALID or exchange.response is None:
        return False
    return not is_page(exchange.response)


@dataclass
class Generated:
    """Answers to generated requests."""

    accepted: Counter[str] = field(default_factory=Counter)
    """Number of accepted requests by operation."""
    refused: dict[str, Counter[Text]] = field(default_factory=dict)
    """By operation, how often each refusal came, in words."""
    cut: list[str] = field(default_factory=list)
    """Requests that were left out, in words."""

    def take(self, operation: str, answers: Collection[Exchange], why_cut: str = "") -> None:
        """Count the answers to the generated requests of an operation, as accepted or by their refusal.

        `why_cut` is the reason why requests to it were left out. Several tests may call this with the same answers.
        """
        refusals: Counter[Text] = Counter(answer_in_words(exchange) for exchange in answers if not is_granted(exchange))
        self.refused[operation] = refusals
        self.accepted[operation] = len(answers) - refusals.total()
        line = f"{operation} was cut after {len(answers)} requests: {why_cut}"
        if why_cut and line not in self.cut:
            self.cut.append(line)

    def notes(self, granted: Collection[str]) -> Iterator[Text]:
        """One line that names the operations that refused every generated request. No line if nothing was granted.

        `granted` has the operations that succeeded in any test.
        """
        refusing = [operation for operation in self.refused if self._tested_nothing(operation, granted)]
        if not refusing or not granted:
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
            answers=joined_with_repeats(commonest_refusals, ", "),
        )

    def _tested_nothing(self, operation: str, granted: Collection[str]) -> bool:
        """True if every generated request to the operation was refused, and no other test makes up for that.

        Valid requests are generated for reads alone. For any other operation the success of another test is enough.
        """
        was_always_refused = bool(self.refused[operation]) and not self.accepted[operation]
        another_test_succeeded = operation not in READ_OPERATIONS and operation in granted
        return was_always_refused and not another_test_succeeded
