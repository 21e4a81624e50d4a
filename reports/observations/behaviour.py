"""What a run observed where the interface document does not show it: requirements, situations, values.

Pure: values in, plain data and words out. The same requests give the same behaviour in any order and any number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from reports.wording import listed
from spec.requirements import ledger
from spec.shapes import Shape, filled, merged, text_of
from spec.shapes.data_names import is_data
from spec.shapes.schema_parts import changed_inside

REQUIRED, NOT_REQUIRED = "required", "not required"
"""What is said of the token, and of a field of a body."""
Data = dict[str, Any]
"""Plain data, as it is in conformance.json and in a record."""


@dataclass(frozen=True)
class Answer:
    """How a request is answered. `headers` are those of a short list; without a shape the body is empty or no JSON."""

    status: int
    media_type: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    shape: Shape | None = None

    def data(self) -> Data:
        """The answer as plain data, without the parts that are not there."""
        parts = {"media_type": self.media_type, "headers": dict(sorted(self.headers.items()))}
        given = {name: part for name, part in parts.items() if part}
        return {"status": self.status, **given} | ({} if self.shape is None else {"shape": self.shape})

    @property
    def head(self) -> Answer:
        """The answer without its shape."""
        return replace(self, shape=None)

    @property
    def identity(self) -> str:
        """What tells it from other values: all of it but how its shape looks."""
        shape = {} if self.shape is None else {"shape": True}
        return json.dumps(self.head.data() | shape)

    def __str__(self) -> str:
        headers = "; ".join(f"{name}: {value}" for name, value in sorted(self.headers.items()))
        shape = "" if self.shape is None else text_of(self.shape)
        return " ".join(filter(None, (str(self.status), self.media_type, headers and f"[{headers}]", shape)))


@dataclass(frozen=True)
class Phrase:
    """What is observed, in words of ours, or a word of the service that is no payload, such as `DONE`."""

    text: str

    def data(self) -> Data:
        """The phrase as plain data."""
        return {"text": self.text}

    @property
    def head(self) -> Phrase:
        """All of it."""
        return self

    @property
    def identity(self) -> str:
        """What tells it from other values."""
        return json.dumps(self.data())

    def __str__(self) -> str:
        return self.text


Value = Answer | Phrase
Situations = dict[str, tuple[Value, ...]]
"""By what was sent, the different values that were seen: more than one where the behaviour varies."""
Behaviour = dict[str, Situations]
"""By requirement, in the order of the ledger; situations and values are sorted."""


def value_of(data: Mapping[str, Any]) -> Value:
    """The value that plain data stands for."""
    return Phrase(data["text"]) if "text" in data else Answer(**data)


def data_of_behaviour(behaviour: Behaviour) -> Data:
    """A behaviour as plain data."""
    return {
        requirement_id: {situation: [value.data() for value in values] for situation, values in situations.items()}
        for requirement_id, situations in behaviour.items()
    }


def behaviour_of(data: Mapping[str, Any]) -> Behaviour:
    """The behaviour that plain data stands for."""
    return behaviour(
        (requirement_id, situation, value_of(value))
        for requirement_id, situations in data.items()
        for situation, values in situations.items()
        for value in values
    )


def behaviour(seen: Iterable[tuple[str, str, Value]]) -> Behaviour:
    """The one merge: what was seen for a requirement in a situation, by any process of the run, in any order."""
    found: dict[str, dict[str, list[Value]]] = {}
    for requirement_id, situation, value in seen:
        found.setdefault(requirement_id, {}).setdefault(situation, []).append(value)
    places = {requirement_id: place for place, requirement_id in enumerate(ledger())}
    return {
        requirement_id: {
            situation: merged_values(values) for situation, values in sorted(found[requirement_id].items())
        }
        for requirement_id in sorted(found, key=lambda one: (places.get(one, len(places)), one))
    }


def merged_values(values: Iterable[Value]) -> tuple[Value, ...]:
    """The different values, sorted. Answers that differ in how their shapes look are one, with the merged shape."""
    alike: dict[str, list[Value]] = {}
    for value in values:
        alike.setdefault(value.identity, []).append(value)
    return tuple(_one_value(same) for _, same in sorted(alike.items()))


def with_what_was_known(now: Situations, was: Situations) -> Situations:
    """What is seen now in place of what was known, which stays in other situations, and in the shape of an answer where
    that says nothing: the items of an empty list."""
    known = {(situation, value.identity): value for situation, values in was.items() for value in values}
    return was | {
        situation: tuple(_with_its_shape(value, known.get((situation, value.identity))) for value in values)
        for situation, values in now.items()
    }


def _with_its_shape(value: Value, known: Value | None) -> Value:
    if isinstance(value, Phrase) or not isinstance(known, Answer) or value.shape is None or known.shape is None:
        return value
    return replace(value, shape=filled(value.shape, known.shape))


def in_words(situations: Situations) -> str:
    """What was observed for a requirement, in one line; what was the same in several situations once."""
    alike: dict[str, list[str]] = {}
    for situation, values in situations.items():
        alike.setdefault(values_in_words(values), []).append(situation)
    return "; ".join(f"{listed(names)}: {said}" if any(names) else said for said, names in alike.items())


def values_in_words(values: Iterable[Value]) -> str:
    """What was seen in one situation."""
    return " or ".join(map(str, values))


def redacted_behaviour(found: Behaviour, clean: Callable[[str], str]) -> Behaviour:
    """A behaviour with every text of it cleaned. What is the same then is merged."""
    return behaviour(
        (requirement_id, clean(situation), redacted_value(value, clean))
        for requirement_id, situations in found.items()
        for situation, values in situations.items()
        for value in values
    )


def redacted_value(value: Value, redact: Callable[[str], str]) -> Value:
    """The value with its texts redacted, and without names of members that are data."""
    if isinstance(value, Phrase):
        return Phrase(redact(value.text))
    headers = {redact(name): redact(said) for name, said in value.headers.items()}
    shape = None if value.shape is None else redacted_shape(value.shape, redact)
    return replace(value, media_type=redact(value.media_type), headers=headers, shape=shape)


def redacted_shape(shape: Shape, redact: Callable[[str], str]) -> Shape:
    """The shape, in which a name that is data, or that the redaction knows to be data, is any name."""
    whole = changed_inside(shape, lambda inner: redacted_shape(inner, redact))
    members = dict(whole.get("properties", {}))
    others = [members.pop(name) for name in list(members) if is_data(name) or redact(name) != name]
    if members or others:
        whole["properties"] = members
    if not others:
        return whole
    others += [whole["additionalProperties"]] if "additionalProperties" in whole else []
    required = [name for name in shape.get("required", ()) if name in members]
    return merged([{**whole, "required": required, "additionalProperties": merged(others)}])


def _one_value(same: list[Value]) -> Value:
    first, shapes = same[0], [one.shape for one in same if isinstance(one, Answer) and one.shape is not None]
    if not isinstance(first, Answer) or len(same) == 1:
        return first
    return Answer(first.status, first.media_type, first.headers, merged(shapes) if shapes else None)
