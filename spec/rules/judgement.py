"""What exchanges show about one requirement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spec.exchange import Exchange


class Outcome(Enum):
    """What exchanges show about a requirement. An inconclusive one could not be judged."""

    HOLDS = "holds"
    DEVIATES = "deviates"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Judgement:
    """The outcome, why, and the exchanges that show it. The message holds no value of the service."""

    outcome: Outcome
    message: str = ""
    exchanges: tuple[Exchange, ...] = ()

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HOLDS

    @property
    def deviates(self) -> bool:
        return self.outcome is Outcome.DEVIATES


def holds(*exchanges: Exchange) -> Judgement:
    """The exchanges show that the requirement is met."""
    return Judgement(Outcome.HOLDS, "", exchanges)


def deviates(message: str, *exchanges: Exchange) -> Judgement:
    """The exchanges show that the requirement is not met."""
    return Judgement(Outcome.DEVIATES, message, exchanges)


def inconclusive(message: str, *exchanges: Exchange) -> Judgement:
    """The exchanges do not show whether the requirement is met. The message says why."""
    return Judgement(Outcome.INCONCLUSIVE, message, exchanges)
