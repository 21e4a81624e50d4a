"""What a run observed, as an overlay of spec/openapi.yaml (OpenAPI Overlay Specification 1.0.0).

Pure: a behaviour in, plain data out. Nothing that is documented is contradicted or narrowed: the overlay adds what the
interface document leaves open, marks it with `x-observed`, and says the rest in descriptions. What it replaces it
removes first, because tools merge lists each in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reports.observations.behaviour import REQUIRED, Behaviour
from reports.proposing.origin import Origin, Seen, answers_in, phrases_in
from reports.proposing.responses import Answers, responses_of, success_schema
from reports.proposing.subjects import (
    BODY,
    FORMATS,
    SUBJECTS,
    WHOLE,
    Place,
    documented_at,
    place_of,
    subject_of,
    target_of,
)
from spec.interface import Operation, operations

Action = dict[str, Any]
Phrases = Sequence[Seen[str]]
EXTENDS = "spec/openapi.yaml"
"""The schema that the overlay is made for, as it is called from the root of this project."""
TOKENS = ("token", "otherTokens")
"""The topics of the requirements about the token."""


def overlay_of(behaviour: Behaviour, origin: Origin) -> dict[str, Any]:
    """The overlay; its `actions` are empty where there is nothing to propose."""
    return {
        "overlay": "1.0.0",
        "info": {"title": f"Observed behaviour of {origin.environment}, {origin.date}", "version": origin.date},
        "extends": EXTENDS,
        "actions": [*_actions(answers_in(behaviour), phrases_in(behaviour), origin)],
    }


def _actions(answers: Answers, phrases: Phrases, origin: Origin) -> Iterator[Action]:
    """The whole first, then the operations, then what they share."""
    said: dict[Place, list[Seen[str]]] = {}
    for one in phrases:
        said.setdefault(subject_of(one), []).append(one)
    if WHOLE in said:
        yield _update(WHOLE, _described(WHOLE, said.pop(WHOLE), origin))
    for operation in operations().values():
        answered = [one for one in answers if one.operation == operation.id]
        yield from _of_an_operation(operation, answered, said.pop(place_of(operation.id), []), origin)
    for place in sorted(said):
        needed = {"required": _needed(said[place])} if place == BODY and _needed(said[place]) else {}
        yield _update(place, _described(place, said[place], origin) | needed)


def _of_an_operation(operation: Operation, answers: Answers, phrases: Phrases, origin: Origin) -> Iterator[Action]:
    place = place_of(operation.id)
    update = _described(place, phrases, origin)
    if answers:
        update["responses"] = responses_of(answers, documented_at(place)["responses"], origin)
    if {one.value for one in phrases if one.topic in TOKENS} == {REQUIRED}:
        yield _removal((*place, "security"))
        update["security"] = [{"bearer": []}]
    if update:
        yield _update(place, update)
    if operation.described and not operation.result:
        yield from _of_data((*place, "responses", "200", "content", "application/json"), answers)


def _of_data(place: Place, answers: Answers) -> Iterator[Action]:
    """The fields of `data`, where the envelope is documented and they are not."""
    schema = success_schema(answers)
    if schema is not None:
        yield _removal((*place, "schema"))
        yield _update(place, {"schema": schema})


def _needed(phrases: Phrases) -> list[str]:
    """The fields of the body without which each registration was refused."""
    fields = documented_at(BODY)["properties"]
    return [
        name for name in fields if {one.value for one in phrases if one.situation == f"without {name}"} == {REQUIRED}
    ]


def _described(place: Place, phrases: Phrases, origin: Origin) -> dict[str, Any]:
    if not phrases:
        return {}
    said = origin.say(map(_words, phrases), documented_at(place).get("description", ""))
    return {"description": said, **origin.mark(one.id for one in phrases)}


def _words(seen: Seen[str]) -> str:
    """What was observed, with what it is about where the place does not say it."""
    return seen.in_place() if seen.id in (*SUBJECTS, FORMATS) else str(seen)


def _update(place: Place, update: dict[str, Any]) -> Action:
    return {"target": target_of(place), "description": "What was observed.", "update": update}


def _removal(place: Place) -> Action:
    return {"target": target_of(place), "description": "The next action replaces this.", "remove": True}
