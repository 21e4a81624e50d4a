"""Requests that the valid token was granted, and answers to generated traffic.

An operation that granted nothing was not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from environments.profiles.model import Auth
from reports.sentences.wording import listed
from spec.answers import LATER, RefusalKind, answer_in_words, is_granted, is_page, refusal_kind
from spec.exchange import VALID, Exchange
from spec.interface import READS, operations
from spec.message import Text, in_a_row, say, say_many

NOTHING_GRANTED = say("no operation succeeded")
_NOT_READY = LATER | {RefusalKind.GATEWAY}


@dataclass
class Grants:
    """By operation how often the valid token was answered with a status, or with a 200 that is a refusal.

    `granted` are the operations that granted a request, `promised` those that answered a valid request and were ready.
    `ready`: one was. `certificate`: a gateway refused the client certificate, which says nothing of the token.
    """

    answered: dict[str, Counter[Text]] = field(default_factory=dict)
    granted: set[str] = field(default_factory=set)
    promised: set[str] = field(default_factory=set)
    ready: bool = False
    certificate: bool = False

    @classmethod
    def of_exchanges(cls, exchanges: Iterable[Exchange]) -> Grants:
        """The grants that the exchanges show."""
        grants = cls()
        seen = [exchange for exchange in exchanges if exchange.operation]
        told_apart = {
            one.operation for one in seen if one.credential != VALID and one.response and not is_page(one.response)
        }
        for exchange in seen:
            if exchange.credential == VALID:
                grants._take(exchange, page_is_an_answer=exchange.operation in told_apart)
        return grants

    def _take(self, exchange: Exchange, *, page_is_an_answer: bool) -> None:
        operation, response = exchange.operation, exchange.response
        tally = self.answered.setdefault(operation, Counter())
        if response is None:
            return
        refusal = refusal_kind(response)
        if exchange.expects_success and refusal not in _NOT_READY:
            self.promised.add(operation)
        in_envelope = refusal is RefusalKind.ENVELOPE
        tally[answer_in_words(exchange) if in_envelope else str(response.status)] += 1
        self.ready |= refusal not in _NOT_READY
        self.certificate |= refusal is RefusalKind.CERTIFICATE
        if refusal is None and (page_is_an_answer or not is_page(response)):
            self.granted.add(operation)

    def asked(self, selected: Collection[str]) -> list[str]:
        """The selected operations that got a request with the valid token, in the order of the interface document."""
        return [operation for operation in operations() if operation in self.answered and operation in selected]

    @property
    def refused_all(self) -> bool:
        """True if the service answered the valid token, and granted it nothing."""
        return not self.granted and any(self.answered.values())

    def lacking(self, selected: Collection[str]) -> Text:
        """Reason why the verdict on the selected operations has nothing to rest on; empty where it has.

        Where none of them answered a valid request (only invalid ones were sent, or a 503 came), a grant of any
        operation shows that the token is valid.
        """
        if not self.granted:
            return NOTHING_GRANTED
        if self.promised.isdisjoint(selected) or not self.granted.isdisjoint(selected):
            return ""
        return say("no selected operation succeeded")

    def notes(self, auth: Auth) -> Iterator[Text]:
        """A line that says why no operation succeeded, where the answers show that."""
        together: Counter[Text] = sum(self.answered.values(), Counter())
        if not self.refused_all or self.certificate:
            return
        answers = [
            say_many("{status} to {n} request", "{status} to {n} requests", status=answer, n=count)
            for answer, count in together.most_common(3)
        ]
        source = auth.token_env or ("token_command" if auth.token_command else "token_file")
        if set(together) == {"401"}:
            yield say(
                "the token was refused with 401 by {operations}: it is wrong, has expired, or is for another "
                "environment, check auth ({source})",
                operations=listed(self.asked(operations())),
                source=source,
            )
            return
        why = say("the token may be wrong or expired, check auth ({source})", source=source)
        commonest = str(max(together, key=together.__getitem__))
        if not self.ready:
            why = say("the service was not ready, run again later")
        elif commonest >= "5":
            why = say("the service fails, see its log")
        elif commonest in ("301", "307", "308"):  # the others often lead to a page to log in
            why = say(
                "every path leads elsewhere, perhaps to https or to one with a slash at its end: check base_url and "
                "the paths of the service"
            )
        elif commonest in ("200", "302", "303", "404"):
            why = say("base_url may lead elsewhere, such as to a page to log in, or {token}", token=why)
        yield say("no operation succeeded ({answers}): {why}", answers=in_a_row(answers, ", "), why=why)


@dataclass
class Generated:
    """For each operation how many generated requests were accepted, and how the others were refused.

    `cut` says what was left out.
    """

    accepted: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[Text]] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)

    def take(self, operation: str, answers: Collection[Exchange]) -> None:
        """Add the answers of one test."""
        refused = self.refused[operation] = Counter(answer_in_words(seen) for seen in answers if not is_granted(seen))
        self.accepted[operation] = len(answers) - refused.total()

    def notes(self, granted: Collection[str]) -> Iterator[Text]:
        """One line naming the operations that refused every generated request; no line if nothing was granted.

        Valid requests are generated for reads alone. For another operation it is enough that another test sent one.
        """
        refusing = [
            operation
            for operation, tally in self.refused.items()
            if tally.total() and not self.accepted[operation]
            if operation in READS or operation not in granted
        ]
        if refusing and granted:
            together = sum((self.refused[operation] for operation in refusing), Counter())
            answers = [
                say_many("{summary} {n} time", "{summary} {n} times", summary=summary, n=count)
                for summary, count in together.most_common(3)
            ]
            yield say_many(
                "{operations}: no generated request was ever accepted ({answers}): generated traffic did not test it",
                "{operations}: no generated request was ever accepted ({answers}): generated traffic did not test them",
                n=len(refusing),
                operations=", ".join(refusing),
                answers=in_a_row(answers, ", "),
            )
