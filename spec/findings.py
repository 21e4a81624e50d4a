"""Findings: deviations of the service from a requirement, as data. `findings.yaml` has their codes and templates.

Rules, and judgements of several exchanges, make findings; every report renders them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path

from spec.exchange import Exchange
from spec.message import Message, Text, Value, joined, say, say_many, with_texts_changed
from spec.requirements import read_yaml

TEMPLATES = Path(__file__).with_name("findings.yaml")
_PARTS = frozenset({"expected", "got", "says", "at", "level"})
"""The parts that a code of a finding may have, as findings.yaml explains them."""


@cache
def templates() -> Mapping[str, Mapping[str, str]]:
    """The content of findings.yaml: for each code of a finding, such as `missing`, the templates of its sentences.

    The parts of a code are `expected`, `got`, `says`, `at` and `level`. Raises ValueError for any other part.
    """
    templates_by_code = dict(read_yaml(TEMPLATES))
    for code, parts in templates_by_code.items():
        for part, text in parts.items():
            if part not in _PARTS or not isinstance(text, str):  # YAML may read an unquoted text as a mapping
                raise ValueError(
                    f"{TEMPLATES.name}: {code}: expected texts under {', '.join(sorted(_PARTS))}, got {part!r}: "
                    "a text with a comma in braces, or with a colon, needs quotes"
                )
    return templates_by_code


@dataclass(frozen=True)
class Finding:
    """One deviation of the service from a requirement.

    The properties with its texts raise KeyError for a code without templates in findings.yaml.
    """

    code: str
    parameters: tuple[tuple[str, Value], ...] = ()
    pointers: tuple[str, ...] = ()  # JSON pointers to what deviates in the body of the response, or is missing there
    requirement: str = ""
    exchanges: tuple[int, ...] = ()  # the first one shows it best
    alone: bool = True  # False if it shows only with other requests in flight
    # Number of answers that deviate, and number of answers that were judged; zeros if all of them deviate.
    share: tuple[int, int] = (0, 0)
    shown_by: Text = ""  # what makes a generated request special, such as "pixKey, missing"
    times: int = 0  # how many generated requests show it
    seed: int = 0  # what they were generated from

    @property
    def deviation(self) -> tuple[object, ...]:
        """A value that is equal for two findings about the same deviation: code, parameters and JSON pointers.

        Numbers inside the parameters are left out, because the same fault may be at another character in each answer.
        """
        parameters = tuple(_without_numbers(value) for _, value in self.parameters)
        return self.code, parameters, self.pointers

    @property
    def expected(self) -> Text:
        """What the requirement expects, such as "status 200"."""
        return self._filled("expected")

    @property
    def got(self) -> Text:
        """What the service answered instead, such as "204".

        findings.yaml has the templates for each code of a finding, such as `status`. Some codes have no template `got`,
        only a whole sentence (`says`). Then the sentence is returned.
        """
        part = "got" if "got" in templates()[self.code] else "says"
        return self._with_remark(self._filled(part))

    @property
    def statement(self) -> Text:
        """Sentence of the finding, such as "expected status 200, got 204", without the request that shows it."""
        if "says" in templates()[self.code]:  # the code has a whole sentence of its own
            return self._with_remark(self._filled("says"))
        text = say("expected {expected}, got {got}", expected=self.expected, got=self._filled("got"))
        return self._with_remark(text)

    def _with_remark(self, text: Text) -> Text:
        """The text of the finding, followed by a remark in parentheses such as "(in 2 of 9 answers)".

        There is a remark if the deviation shows only while other requests are in flight, or only in some answers.
        """
        if not self.alone:
            text = say("{finding} (only with other requests in flight)", finding=text)
        deviating, judged = self.share
        if judged:  # 0 if all answers deviate
            text = say("{finding} (in {number} of {all} answers)", finding=text, number=deviating, all=judged)
        return text

    @property
    def in_full(self) -> Text:
        """Sentence of the finding. If requests that were drawn at random show it, also what is special about them.

        Such as "pixKey, missing: expected status 200, got 204 (3 times with --seed=7, smallest: exchange 12)". With the
        same seed, a run draws the same requests again.
        """
        text = self.statement
        if self.shown_by:
            text = say("{shown_by}: {finding}", shown_by=self.shown_by, finding=text)
        if not self.times:  # no generated request shows it
            return text
        return say_many(
            "{finding} ({n} time with --seed={seed}, smallest: exchange {number})",
            "{finding} ({n} times with --seed={seed}, smallest: exchange {number})",
            finding=text,
            n=self.times,
            seed=self.seed,
            number=self.exchanges[0],
        )

    @property
    def at(self) -> str:
        """The header or member that a report marks besides the members of the response at `pointers`.

        Such as `request Authorization`, or `request /pixKeyType` for a member of the body of the request. Empty if
        findings.yaml names none for the code.
        """
        return templates()[self.code].get("at", "")

    def map(self, change: Callable[[str], str]) -> Finding:
        """The finding with `change` applied to each text among its parameters, such as a function that redacts secrets.

        The templates of its sentences are not changed: the suite wrote them, so they cannot hold a secret.
        """
        parameters = Message("", self.parameters).map(change).values  # a message knows how to change its values
        return replace(self, parameters=parameters, shown_by=with_texts_changed(self.shown_by, change))

    def _filled(self, part: str) -> Message:
        """The template of a part, such as `expected` or `got`, with the values of the placeholders that are in it.

        The placeholder {at} is replaced by the JSON pointers of the finding.
        """
        template = templates()[self.code][part]
        parameters: list[tuple[str, Value]] = [*self.parameters, ("at", ", ".join(self.pointers))]
        parameters_of_template = []
        for name, value in parameters:
            placeholder = "{" + name + "}"
            if placeholder in template:
                parameters_of_template.append((name, value))
        return Message(template, tuple(parameters_of_template))


MOST_POINTERS = 100
"""Most pointers of a finding. A body may have thousands of members that deviate in the same way, and no reader looks at
all of them. The number is a choice."""


def finding(code: str, /, *pointers: str, **parameters: Value) -> Finding:
    """A finding: `finding("missing", "/data/id", name="id")`.

    `code` names its templates in findings.yaml, `pointers` are JSON pointers to the members that deviate, and
    `parameters` are the values of the placeholders. At most MOST_POINTERS pointers are stored.
    """
    return Finding(code, tuple(parameters.items()), pointers[:MOST_POINTERS])


def merged_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The distinct findings, so that a report says the same thing only once.

    Findings that differ only in the exchanges that show them become one finding with all these exchanges.
    """
    numbers_by_finding: dict[Finding, list[int]] = {}
    for original in findings:
        without_exchanges = replace(original, exchanges=())
        numbers_by_finding.setdefault(without_exchanges, []).extend(original.exchanges)
    merged = []
    for without_exchanges, numbers in numbers_by_finding.items():
        distinct_numbers = dict.fromkeys(numbers)  # in the order in which they came
        merged.append(replace(without_exchanges, exchanges=tuple(distinct_numbers)))
    return tuple(merged)


def distinct_deviations(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each deviation. Two findings are about the same deviation if these three things are equal:

    - the code, such as `status`
    - the parameters, without the numbers in a message, such as the 12 in "Expecting value at character 12"
    - the JSON pointers

    A generated request may show the same deviation as a request of a scenario (a function that sends requests for a
    purpose). Then the finding of the scenario is taken, because its request is easier to understand.
    """
    # `shown_by` is empty for the request of a scenario, and False is sorted before True.
    scenarios_first = sorted(findings, key=lambda finding: bool(finding.shown_by))
    finding_by_deviation: dict[tuple[object, ...], Finding] = {}
    for finding in scenarios_first:
        finding_by_deviation.setdefault(finding.deviation, finding)
    return list(finding_by_deviation.values())


def _without_numbers(value: Value) -> object:
    """The value of a parameter, for comparison. If it is a message, the numbers in it are left out.

    Such as the 12 in "Expecting value at character 12": the same fault is at another character in each answer.
    """
    if not isinstance(value, Message):
        return value
    return value.template, *(_without_numbers(part) for _, part in value.values if not isinstance(part, int))


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
        """The sentences of the findings; or, if the requirement does not deviate, the reason for this conclusion."""
        sentences = [finding.statement for finding in self.findings]
        return joined(sentences) or self.why


def holds(*exchanges: Exchange, why: Text = "") -> Judgement:
    """A judgement: the exchanges show that the requirement is met. `why` is a reason, if there is more to say."""
    return Judgement(Conclusion.HOLDS, exchanges, why=why)


def deviates(findings: Finding | Iterable[Finding], *exchanges: Exchange) -> Judgement:
    """A judgement: the exchanges show that the requirement is not met, and the findings say how.

    A finding that names no exchange is given the numbers of all these exchanges, so that a report can show them.
    """
    if isinstance(findings, Finding):
        findings = [findings]
    # An exchange without a number was not sent, so no report has it.
    numbers = tuple(exchange.number for exchange in exchanges if exchange.number)
    findings_with_exchanges = []
    for deviation in findings:
        names_exchanges = deviation.exchanges != ()
        with_exchanges = deviation if names_exchanges else replace(deviation, exchanges=numbers)
        findings_with_exchanges.append(with_exchanges)
    return Judgement(Conclusion.DEVIATES, exchanges, tuple(findings_with_exchanges))


def inconclusive(why: Text, *exchanges: Exchange) -> Judgement:
    """A judgement: the exchanges do not show whether the requirement is met. `why` says what was missing."""
    return Judgement(Conclusion.INCONCLUSIVE, exchanges, why=why)
