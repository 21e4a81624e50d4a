"""Where an observation comes from, and how a proposal says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from reports.observations.behaviour import Answer, Behaviour
from spec.interface import operations
from spec.requirements import ledger

V = TypeVar("V")

SUCCESS = frozenset({"shape", "data"})
"""The last part of the ids of requirements that are about the answer to a valid request."""
_WORDS = {
    "shape": "a valid request",
    "data": "a valid request",
    "refusal": "a refused request",
    "token": "access token",
    "unknownCode": "an unknown transaction code",
    "repeated": "the same request again",
    "otherTokens": "access token",
    "codeValues": "values of code",
    "rateLimit": "rate limit",
    "sizeLimit": "size limit",
    "deprecation": "deprecation",
}
"""What was sent, by the last part of the id, where the situation does not say it."""


@dataclass(frozen=True)
class Origin:
    """The run whose observations are proposed. `date` is its day: `2026-11-20`."""

    environment: str
    date: str

    def mark(self, ids: Iterable[str]) -> dict[str, Any]:
        """The mark of what is proposed: where and when it was observed, and the requirements that it answers."""
        observed = {"environment": self.environment, "date": self.date, "requirement": list(dict.fromkeys(ids))}
        return {"x-observed": observed}

    def say(self, what: Iterable[str], before: str = "") -> str:
        """A description, after the one that is documented."""
        observed = f"Observed, not documented ({self.environment}, {self.date}): {'; '.join(dict.fromkeys(what))}."
        documented = before if not before or before.endswith(".") else f"{before}."
        return f"{documented} {observed}".strip()


@dataclass(frozen=True)
class Seen(Generic[V]):
    """One value of one requirement in one situation."""

    id: str
    situation: str
    value: V

    @property
    def topic(self) -> str:
        """The last part of the id."""
        return self.id.rsplit(".", 1)[-1]

    @property
    def operation(self) -> str | None:
        """The operationId, by the requirement or the situation; None where it is about no single operation."""
        return ledger()[self.id].operation or (self.situation if self.situation in operations() else None)

    @property
    def is_success(self) -> bool:
        """Whether a valid request was granted so."""
        return self.topic in SUCCESS and isinstance(self.value, Answer) and self.value.status < 300

    @property
    def when(self) -> str:
        """What was sent, in words."""
        situation = "" if self.situation == self.operation else self.situation
        topic = "" if self.topic == "refusal" and situation else _WORDS.get(self.topic, self.id)
        return ", ".join(filter(None, (topic, situation)))

    def in_place(self) -> str:
        """The value, where its requirement is plain from the place."""
        return ": ".join(filter(None, (self.situation, str(self.value))))

    def __str__(self) -> str:
        """The value, and what was sent."""
        return f"{self.when}: {self.value}"


def answers_in(behaviour: Behaviour) -> list[Seen[Answer]]:
    """The answers of the operations, in the order of the behaviour."""
    return [Seen(one.id, one.situation, one.value) for one in _seen_in(behaviour) if _is_response(one)]


def phrases_in(behaviour: Behaviour) -> list[Seen[str]]:
    """All other values, in words."""
    return [Seen(one.id, one.situation, str(one.value)) for one in _seen_in(behaviour) if not _is_response(one)]


def _is_response(seen: Seen[Any]) -> bool:
    """Whether the value has a place among the responses of an operation."""
    if seen.operation is None or not isinstance(seen.value, Answer) or seen.value.status not in range(100, 600):
        return False
    return _is_documented(seen.value) or not seen.is_success


def _is_documented(answer: Answer) -> bool:
    """Whether a success is as the interface document says that each is: 200 and the envelope (Endpoints, general rule
    3). What contradicts that is said in words alone."""
    shape = answer.shape or {}
    types = {name: shape.get("properties", {}).get(name, {}).get("type") for name in shape.get("required", ())}
    return answer.status == 200 and (types.get("code"), types.get("data")) == ("integer", "object")


def _seen_in(behaviour: Behaviour) -> Iterator[Seen[Any]]:
    """The values one by one; those of another ledger are left out."""
    for requirement_id, situations in behaviour.items():
        for situation, values in situations.items() if requirement_id in ledger() else ():
            yield from (Seen(requirement_id, situation, value) for value in values)
