"""Findings: what deviates from a requirement, as data. The codes and their templates stand in `findings.yaml`.

Rules and judgements of several exchanges make them; every report renders them.
"""

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
"""The parts that a code of a finding may have, as findings.yaml explains them."""


@cache
def templates() -> Mapping[str, Mapping[str, str]]:
    """The templates of every code: `expected`, `got`, `says`, `at`, `level`. Raises ValueError for any other part."""
    templates_by_code = dict(read_yaml(TEMPLATES))
    for code, parts in templates_by_code.items():
        for part, text in parts.items():
            if part not in _PARTS or not isinstance(text, str):
                raise ValueError(
                    f"{TEMPLATES.name}: {code}: expected texts under {', '.join(sorted(_PARTS))}, got {part!r}: "
                    "a text with a comma in braces, or with a colon, needs quotes"
                )
    return templates_by_code


@dataclass(frozen=True)
class Finding:
    """One thing that deviates. Its texts raise KeyError for a code without templates."""

    code: str
    parameters: tuple[tuple[str, Value], ...] = ()
    pointers: tuple[str, ...] = ()  # JSON pointers to what deviates in the body of the response, or is missing there
    requirement: str = ""
    exchanges: tuple[int, ...] = ()  # the first one shows it best
    alone: bool = True  # False if it shows only with other requests in flight
    share: tuple[int, int] = (0, 0)  # answers that deviate, and all that were judged; zeros unless the others hold
    shown_by: Text = ""  # the class of the request, if it was generated
    times: int = 0  # how many generated requests show it
    seed: int = 0  # what they were generated from

    @property
    def expected(self) -> Text:
        """What the requirement expects."""
        return self._filled("expected")

    @property
    def got(self) -> Text:
        """What the service answered instead."""
        part = "got" if "got" in templates()[self.code] else "says"
        return self._in_context(self._filled(part))

    @property
    def statement(self) -> Text:
        """Sentence of the finding, without the request that shows it."""
        if "says" in templates()[self.code]:
            return self._in_context(self._filled("says"))
        text = say("expected {expected}, got {got}", expected=self.expected, got=self._filled("got"))
        return self._in_context(text)

    def _in_context(self, text: Text) -> Text:
        """The text, which says so if the finding shows only with other requests in flight, or in some answers only."""
        if not self.alone:
            text = say("{finding} (only with other requests in flight)", finding=text)
        deviating, judged = self.share
        if judged:
            text = say("{finding} (in {number} of {all} answers)", finding=text, number=deviating, all=judged)
        return text

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
        """The finding with each text among its parameters changed, such as redacted."""
        parameters = Message("", self.parameters).map(change).values
        return replace(self, parameters=parameters, shown_by=changed(self.shown_by, change))

    def _filled(self, part: str) -> Message:
        """The template of that part, with the parameters that it names. Its parameter `at` is the pointers."""
        template = templates()[self.code][part]
        parameters = (*self.parameters, ("at", ", ".join(self.pointers)))
        return Message(template, tuple((name, value) for name, value in parameters if f"{{{name}}}" in template))


MOST_POINTERS = 100
"""Pointers of a finding. A body may have thousands of members that deviate alike; no reader looks at more."""


def finding(code: str, /, *pointers: str, **parameters: Value) -> Finding:
    """A finding of this code, with the first MOST_POINTERS of its pointers."""
    return Finding(code, tuple(parameters.items()), pointers[:MOST_POINTERS])


def merged_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The distinct findings. Those that differ in their exchanges alone become one, with the exchanges of all."""
    numbers_by_finding: dict[Finding, list[int]] = {}
    for original in findings:
        without_exchanges = replace(original, exchanges=())
        numbers_by_finding.setdefault(without_exchanges, []).extend(original.exchanges)
    merged = []
    for without_exchanges, numbers in numbers_by_finding.items():
        merged.append(replace(without_exchanges, exchanges=tuple(dict.fromkeys(numbers))))
    return tuple(merged)


class Conclusion(Enum):
    """What exchanges show about a requirement."""

    HOLDS = "holds"
    DEVIATES = "deviates"
    INCONCLUSIVE = "inconclusive"  # it could not be judged


@dataclass(frozen=True)
class Judgement:
    """The conclusion on a requirement, and the exchanges that show it."""

    conclusion: Conclusion
    exchanges: tuple[Exchange, ...] = ()
    findings: tuple[Finding, ...] = ()
    """At least one if the requirement deviates, else none."""
    why: Text = ""
    """The reason for any other conclusion, if there is more to say."""

    @property
    def holds(self) -> bool:
        """True if the exchanges show that the requirement is met."""
        return self.conclusion is Conclusion.HOLDS

    @property
    def deviates(self) -> bool:
        """True if the exchanges show that the requirement is not met."""
        return self.conclusion is Conclusion.DEVIATES

    @property
    def message(self) -> Text:
        """Sentences of the findings, or why there is none."""
        return joined(finding.statement for finding in self.findings) or self.why


def holds(*exchanges: Exchange, why: Text = "") -> Judgement:
    """The exchanges show that the requirement is met."""
    return Judgement(Conclusion.HOLDS, exchanges, why=why)


def deviates(findings: Finding | Iterable[Finding], *exchanges: Exchange) -> Judgement:
    """The exchanges show that the requirement is not met. A finding without exchanges gets all that were sent."""
    if isinstance(findings, Finding):
        findings = [findings]
    # An exchange without a number was not sent, so no report has it.
    numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
    cited = tuple(finding if finding.exchanges else replace(finding, exchanges=numbers) for finding in findings)
    return Judgement(Conclusion.DEVIATES, exchanges, cited)


def inconclusive(why: Text, *exchanges: Exchange) -> Judgement:
    """The exchanges do not show whether the requirement is met. `why` says what was missing."""
    return Judgement(Conclusion.INCONCLUSIVE, exchanges, why=why)
