"""Whether an endpoint exists, decided from the answers that a run has gathered. Nothing here sends a request.

The interface document names the endpoints and shows no answer of most of them. A success proves an endpoint. A refusal
is compared with the refusal of a path that is not documented: an endpoint that answers a valid request like such a path
does not exist. `existence.py` gathers the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import unquote, urlsplit

from environments.door.authorization import VALID
from spec.answers import ABOUT_THE_CALLER, PASSING, RefusalKind, code_of, is_granted, refusal_kind
from spec.exchange import Exchange, Response
from spec.findings import Judgement, Outcome, deviates, finding, holds, inconclusive
from spec.interface import MARK
from spec.key_list import VARYING
from spec.message import Text, joined, say
from tests.traffic.case import JSON

_MOST_COMPARED = 3
_NOT_COMPARED = PASSING | ABOUT_THE_CALLER | {RefusalKind.SIZE, RefusalKind.MEDIA_TYPE}
"""Refusals that say nothing of a path."""
_NOT_TOLD_APART = say("cannot be told from an undocumented path")
_NO_ENDPOINT = (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED)


class Question(Enum):
    """What must be asked before the evidence decides."""

    ELSEWHERE = "what do other requests show, where passing trouble answered the surest ones?"
    SIBLING = "how is a path that is not documented answered?"
    VALID = "is the request surely valid?"
    INVALID = "are invalid requests answered like those to a path that is not documented, too?"


@dataclass(frozen=True)
class Comparison:
    """A request to an endpoint, and the same request to its sibling, a path that is not documented."""

    endpoint: Exchange
    sibling: Exchange

    @property
    def tells_apart(self) -> bool:
        """Whether both were answered, and not alike."""
        both = self.endpoint.response is not None and self.sibling.response is not None
        return both and not indistinguishable(self.endpoint, self.sibling)


@dataclass(frozen=True)
class EndpointEvidence:
    """What a run knows of an endpoint; None stands for what was not asked yet."""

    answers: tuple[Exchange, ...]
    """Answers that can show the endpoint, the surest first."""
    elsewhere: tuple[Comparison, ...] | None = None
    """Comparisons of other harmless requests, where every answer is a temporary error."""
    comparison: Comparison | None = None
    """The comparison of the first answer that is no temporary error."""
    known_valid: bool | None = None
    """Whether the compared request is known to be valid."""
    needed: Text = ""
    """What the operator has to supply to know that."""
    invalid: tuple[Comparison, ...] | None = None
    """Comparisons of invalid requests: an endpoint may refuse a valid request like an unknown path, but not these."""

    @property
    def answer(self) -> Exchange | None:
        """The surest answer that is no passing trouble."""
        return next((seen for seen in self.answers if not is_passing(seen)), None)

    @property
    def status(self) -> int:
        """The status of that answer, or else of the first one; 0 where nothing was answered."""
        seen = self.answer or next((seen for seen in self.answers if seen.response), None)
        return seen.response.status if seen and seen.response else 0

    @property
    def refusal(self) -> RefusalKind | None:
        """What that answer refuses."""
        return refusal_kind(self.answer.response) if self.answer and self.answer.response else None

    @property
    def told_apart(self) -> Comparison | None:
        """The first comparison that tells the endpoint from no endpoint."""
        first = (self.comparison,) if self.comparison else ()
        return next(
            (each for each in (*first, *(self.elsewhere or ()), *(self.invalid or ())) if each.tells_apart), None
        )

    @property
    def sibling(self) -> Response | None:
        """The answer of the sibling of the endpoint."""
        return self.comparison.sibling.response if self.comparison else None


Reason = str | Callable[[EndpointEvidence], Text]
"""The code of a finding, or why nothing is found; the empty text for neither."""
_TABLE: tuple[tuple[Callable[[EndpointEvidence], object], Question | Outcome, Reason], ...] = (
    (lambda seen: granted(seen.answers), Outcome.HOLDS, ""),
    (lambda seen: seen.told_apart, Outcome.HOLDS, ""),
    (lambda seen: seen.answer is None and seen.elsewhere is None, Question.ELSEWHERE, ""),
    (lambda seen: seen.answer is None, Outcome.INCONCLUSIVE, lambda seen: _answered(seen)),
    (lambda seen: seen.refusal in _NO_ENDPOINT, Outcome.DEVIATES, "no-endpoint"),
    (lambda seen: seen.comparison is None, Question.SIBLING, ""),
    (lambda seen: seen.sibling is None, Outcome.INCONCLUSIVE, lambda seen: say("no answer")),
    (lambda seen: _limit(seen), Outcome.INCONCLUSIVE, lambda seen: _limit(seen)),
    (
        lambda seen: seen.refusal is RefusalKind.CERTIFICATE,
        Outcome.INCONCLUSIVE,
        lambda seen: say("the gateway refuses the client certificate"),
    ),
    (lambda seen: seen.refusal in ABOUT_THE_CALLER, Outcome.INCONCLUSIVE, lambda seen: _NOT_TOLD_APART),
    (lambda seen: seen.known_valid is None, Question.VALID, ""),
    (
        lambda seen: not seen.known_valid,
        Outcome.INCONCLUSIVE,
        lambda seen: joined((_NOT_TOLD_APART, seen.needed)),
    ),
    (lambda seen: seen.invalid is None, Question.INVALID, ""),
    (lambda seen: True, Outcome.DEVIATES, "like-undocumented"),
)
"""What evidence says of the requirement and why, or what must be asked next. The first line that applies counts."""


def conclude(evidence: EndpointEvidence) -> Judgement | Question:
    """Whether the endpoint exists, or what must be asked first."""
    outcome, reason = next((outcome, reason) for applies, outcome, reason in _TABLE if applies(evidence))
    if isinstance(outcome, Question):
        return outcome
    shown = _shown_by(evidence)
    if callable(reason):
        return inconclusive(reason(evidence), *shown)
    return deviates(finding(reason, status=evidence.status), *shown) if reason else holds(*shown)


def _answered(evidence: EndpointEvidence) -> Text:
    return say("status {status}", status=evidence.status) if evidence.status else say("no answer")


def _limit(evidence: EndpointEvidence) -> Text:
    return evidence.sibling.json.limit if evidence.sibling else ""


def _shown_by(evidence: EndpointEvidence) -> tuple[Exchange, ...]:
    """The exchanges that show it."""
    if seen := granted(evidence.answers):
        return (seen,)
    if compared := evidence.told_apart or evidence.comparison:
        return (compared.endpoint, compared.sibling)
    answered = [seen for seen in evidence.answers if seen.response is not None]
    return (evidence.answer,) if evidence.answer else tuple(answered[:1])


# -- reading answers --------------------------------------------------------------------------------------------


def is_passing(exchange: Exchange) -> bool:
    """Whether the answer, or that there is none, may be another one in a minute."""
    return exchange.response is None or refusal_kind(exchange.response) in PASSING


def granted(exchanges: Collection[Exchange]) -> Exchange | None:
    """The first that was granted, with JSON: it shows its endpoint by effect."""
    for seen in exchanges:
        if seen.response is not None and is_granted(seen) and seen.response.json.readable:
            return seen
    return None


def comparable(exchanges: Collection[Exchange]) -> Iterator[Exchange]:
    """Refusals of plain requests that can be sent to the sibling of the endpoint, one for each status."""
    found: dict[int, Exchange] = {}
    for seen in exchanges:
        if seen.response is not None and refusal_kind(seen.response) not in _NOT_COMPARED and _is_plain(seen):
            found.setdefault(seen.response.status, seen)
    yield from list(found.values())[:_MOST_COMPARED]


def _is_plain(exchange: Exchange) -> bool:
    """Whether nothing but path and body tells the request from another: no real code, no query, no other media type."""
    types = {value for name, value in exchange.request.headers if name.lower() == "content-type"}
    real_code = exchange.operation == "executePix" and not exchange.request.last_segment.startswith(MARK)
    return exchange.credential == VALID and not real_code and "?" not in exchange.request.url and types <= {JSON}


def indistinguishable(one: Exchange, other: Exchange) -> bool:
    """Whether status, media type, code and body are the same, but for the path, digits and long hex numbers."""
    if one.response is None or other.response is None:
        return False
    return _print(one, one.response) == _print(other, other.response)


def _print(exchange: Exchange, response: Response) -> tuple[Any, ...]:
    text = response.body.decode("utf-8", "replace")
    path = urlsplit(exchange.request.url).path
    for part in sorted({path, *path.split("/")}, key=len, reverse=True):
        for form in {part, unquote(part)}:
            text = text.replace(form, "·") if len(form) > 2 else text
    return response.status, response.media_type, code_of(response), VARYING.sub("#", text)
