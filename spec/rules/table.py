"""What a rule needs: the judgement that it leads to, the table that its decorator fills, and how it reads an exchange.

A rule returns what deviates, a `Contrast` of what was expected and what was got, or the empty string where the
requirement is met. It raises InconclusiveError where the exchange does not show it. The docstring of a rule is the
text of its requirement in the ledger. A rule for several requirements has braces where their texts differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

from spec.answers import data_of, find, is_judged_as_success
from spec.exchange import Exchange, Response
from spec.interface import Field, operations
from spec.json_text import is_integer, is_number
from spec.shapes.data_names import is_data

Rule = Callable[[Exchange], str]
Place = Callable[[Exchange], Mapping[str, Any]]
FieldRule = Callable[[Place, Field, Exchange], str]
RULES: dict[str, Rule] = {}
_MOST_NAMED = 10


class Contrast(str):
    """A message, `expected X, got Y` or another one, that keeps what was expected and what was got apart."""

    expected: str
    got: str

    def __new__(cls, expected: str, got: object, message: str = "") -> Contrast:
        contrast = super().__new__(cls, message or f"expected {expected}, got {got}")
        contrast.expected, contrast.got = expected, str(got)
        return contrast

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]  # what pickle makes a copy with
        return self.expected, self.got, str(self)

    def map(self, change: Callable[[str], str]) -> Contrast:
        """The same with each of its texts changed."""
        return Contrast(change(self.expected), change(self.got), change(str(self)))


def got(message: str, *, instead_of: str) -> Contrast:
    """A message that says only what was got, with what was expected instead."""
    return Contrast(instead_of, message, message)


def joined(messages: Iterable[str]) -> str:
    """The distinct messages in one; a contrast where each of them is one."""
    distinct = list(dict.fromkeys(filter(None, messages)))
    text = "; ".join(distinct)
    contrasts = [message for message in distinct if isinstance(message, Contrast)]
    if not distinct or len(contrasts) < len(distinct):
        return text
    expected, got = ([getattr(one, part) for one in contrasts] for part in ("expected", "got"))
    return Contrast("; ".join(dict.fromkeys(expected)), "; ".join(dict.fromkeys(got)), text)


def remarked(message: str, remark: str) -> str:
    """The message with a remark at its end; a contrast stays one."""
    text = message + remark
    return Contrast(message.expected, message.got + remark, text) if isinstance(message, Contrast) else text


def reworded(message: str, text: str) -> str:
    """Another text for a message; a contrast stays one."""
    return Contrast(message.expected, message.got, text) if isinstance(message, Contrast) else text


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


class InconclusiveError(Exception):
    """The exchange does not show whether the requirement is met. The text says why."""


def rule(ids: str) -> Callable[[Rule], Rule]:
    """Register the rule of one requirement, or of several: ids with spaces between them."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ids.split(), function))
        return function

    return register


def field_rule(ids: str) -> Callable[[FieldRule], FieldRule]:
    """Register a rule for documented fields. It is called with the place of a field, the field and the exchange.

    The id gives both: the place is data, or the envelope where the id has `envelope`. KeyError for an unknown field.
    """

    def register(function: FieldRule) -> FieldRule:
        for each in ids.split():
            operation, *envelope, name, _ = each.split(".")
            documented = operations()[operation].envelope if envelope else operations()[operation].result
            field = {field.name: field for field in documented}[name]
            RULES[each] = partial(function, envelope_in if envelope else data_in, field)
        return function

    return register


def success_in(exchange: Exchange) -> Response:
    """The response, where it is judged as a success."""
    if exchange.response is None or not is_judged_as_success(exchange):
        raise InconclusiveError(f"no success to judge: {exchange.summary}")
    return exchange.response


def json_in(exchange: Exchange) -> Any:
    """The JSON value of a success."""
    text = success_in(exchange).json
    if not text.readable:
        raise InconclusiveError(text.limit or f"not JSON: {text.error}")
    return text.value


def envelope_in(exchange: Exchange) -> Mapping[str, Any]:
    """The envelope of a success."""
    value = json_in(exchange)
    if not isinstance(value, dict):
        raise InconclusiveError("the answer is no object")
    return value


def data_in(exchange: Exchange) -> Mapping[str, Any]:
    """The object data in the envelope of a success."""
    json_in(exchange)
    data = data_of(success_in(exchange))
    if data is None:
        raise InconclusiveError("the envelope holds no object data")
    return data


def member_in(members: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The member of that name, misspelled or not: its name as written, and its value."""
    member = find(members, name)
    if member is None:
        raise InconclusiveError(f"{name} is missing")
    return member


def text_in(exchange: Exchange, name: str) -> str:
    """The text of a field of the result."""
    value = member_in(data_in(exchange), name)[1]
    if not isinstance(value, str):
        raise InconclusiveError(f"{name} is of another type")
    return value


# -- words for messages --------------------------------------------------------------------------------------------


def missing(name: str) -> Contrast:
    """A member that is not there."""
    return Contrast(name, "no such member", f"{name} is missing")


def type_of(value: object) -> str:
    """The JSON type of a value as a noun: `an integer`, `a string`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if is_number(value):
        return "an integer" if is_integer(value) else "a number with a fraction"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def first_names(names: list[str]) -> str:
    """Names of members for a message, the first few of them; the others are counted.

    A service may name a member by a person or an account: only names that are surely names of fields are shown.
    """
    plain = [name for name in names if not is_data(name)][:_MOST_NAMED]
    rest = len(names) - len(plain)
    if not plain:
        return f"{rest} whose names may be data"
    return " and ".join(filter(None, (", ".join(plain), f"{rest} more" if rest else "")))
