"""Findings: what deviates from a requirement, as data. The codes and their templates stand in `findings.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path

from spec.exchange import Exchange
from spec.message import Message, Text, Value, changed, joined, say, say_many
from spec.requirements import read_yaml

TEMPLATES = Path(__file__).with_name("findings.yaml")
_PARTS = frozenset({"expected", "got", "says", "at", "level"})


@cache
def templates() -> Mapping[str, Mapping[str, str]]:
    """The templates of every code: `expected`, `got`, `says`, `at`, `level`. Raises ValueError for any other part."""
    every = dict(read_yaml(TEMPLATES))
    for code, parts in every.items():
        for part, text in parts.items():
            if part not in _PARTS or not isinstance(text, str):
                raise ValueError(
                    f"{TEMPLATES.name}: {code}: expected texts under {', '.join(sorted(_PARTS))}, got {part!r}: "
                    "a text with a comma in braces, or with a colon, needs quotes"
                )
    return every


@dataclass(frozen=True)
class Finding:
    """One thing that deviates. KeyError for a code without templates."""

    code: str
    parameters: tuple[tuple[str, Value], ...] = ()
    pointers: tuple[str, ...] = ()  # JSON pointers to what deviates in the body of the response, or is missing there
    requirement: str = ""
    exchanges: tuple[int, ...] = ()  # the first one shows it best
    alone: bool = True  # False where it shows only with other requests in flight
    shown_by: Text = ""  # the class of the request, where it was generated
    times: int = 0  # how many generated requests show it
    seed: int = 0  # what they were generated from

    @property
    def expected(self) -> Text:
        return self._filled("expected")

    @property
    def got(self) -> Text:
        return self._alone_or_not(self._filled("got" if "got" in templates()[self.code] else "says"))

    @property
    def statement(self) -> Text:
        """Sentence of the finding, without the request that shows it."""
        return self._alone_or_not(
            self._filled("says")
            if "says" in templates()[self.code]
            else say("expected {expected}, got {got}", expected=self.expected, got=self._filled("got"))
        )

    def _alone_or_not(self, text: Text) -> Text:
        return text if self.alone else say("{finding} (only with other requests in flight)", finding=text)

    @property
    def in_full(self) -> Text:
        """Sentence of the finding, with the generated request that shows it."""
        text = self.statement
        if self.shown_by:
            text = say("{shown_by}: {finding}", shown_by=self.shown_by, finding=text)
        if not self.times:
            return text
        return say_many(
            "{finding} ({n} time with --seed={seed}, smallest: exchange {number})",
            "{finding} ({n} times with --seed={seed}, smallest: exchange {number})",
            **{"finding": text, "n": self.times, "seed": self.seed, "number": self.exchanges[0]},
        )

    @property
    def at(self) -> str:
        """Place that a report marks besides the pointers: `request Authorization`, `request /pixKeyType`."""
        return templates()[self.code].get("at", "")

    def map(self, change: Callable[[str], str]) -> Finding:
        """The same with each text among its parameters changed."""
        parameters = Message("", self.parameters).map(change).values
        return replace(self, parameters=parameters, shown_by=changed(self.shown_by, change))

    def _filled(self, part: str) -> Message:
        """The template with the parameters that it names; `at` are the pointers."""
        template, values = templates()[self.code][part], (*self.parameters, ("at", ", ".join(self.pointers)))
        return Message(template, tuple((name, value) for name, value in values if f"{{{name}}}" in template))


MOST_POINTERS = 100
"""Pointers of a finding: more members than that are not shown of a body."""


def finding(code: str, /, *pointers: str, **parameters: Value) -> Finding:
    """A finding of this code, with the first MOST_POINTERS of its pointers."""
    return Finding(code, tuple(parameters.items()), pointers[:MOST_POINTERS])


def merged_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once, with the exchanges of all that say the same."""
    exchanges: dict[Finding, list[int]] = {}
    for each in findings:
        exchanges.setdefault(replace(each, exchanges=()), []).extend(each.exchanges)
    return tuple(replace(each, exchanges=tuple(dict.fromkeys(numbers))) for each, numbers in exchanges.items())


class Conclusion(Enum):
    """Finding or not, as exchanges show it. An inconclusive one could not be judged."""

    HOLDS = "holds"
    DEVIATES = "deviates"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Judgement:
    """The conclusion, and the exchanges that show it: with findings where it deviates; else `why` may say more."""

    conclusion: Conclusion
    exchanges: tuple[Exchange, ...] = ()
    findings: tuple[Finding, ...] = ()
    why: Text = ""

    @property
    def holds(self) -> bool:
        return self.conclusion is Conclusion.HOLDS

    @property
    def deviates(self) -> bool:
        return self.conclusion is Conclusion.DEVIATES

    @property
    def message(self) -> Text:
        """Sentences of the findings, or why there is none."""
        return joined(each.statement for each in self.findings) or self.why


def holds(*exchanges: Exchange, why: Text = "") -> Judgement:
    """The exchanges show that the requirement is met."""
    return Judgement(Conclusion.HOLDS, exchanges, why=why)


def deviates(found: Finding | Iterable[Finding], *exchanges: Exchange) -> Judgement:
    """The exchanges show that the requirement is not met."""
    numbers = tuple(exchange.number for exchange in exchanges)
    every = [found] if isinstance(found, Finding) else found
    return Judgement(
        Conclusion.DEVIATES, exchanges, tuple(replace(each, exchanges=each.exchanges or numbers) for each in every)
    )


def inconclusive(why: Text, *exchanges: Exchange) -> Judgement:
    """The exchanges do not show whether the requirement is met. `why` says what was missing."""
    return Judgement(Conclusion.INCONCLUSIVE, exchanges, why=why)
