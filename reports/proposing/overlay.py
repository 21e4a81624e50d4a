"""What a run observed, as an overlay of spec/openapi.yaml (OpenAPI Overlay Specification 1.0.0).

Pure: a behaviour in, plain data out. Nothing that is documented is contradicted or narrowed: the overlay adds what the
interface document leaves open, marks it with `x-observed`, and says the rest in descriptions. What it replaces it
removes first, because tools merge lists each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reports.observations.behaviour import Answer, Behaviour
from reports.proposing.origin import Origin, Seen, answers_in, phrases_in
from reports.proposing.responses import responses_of, success_schema
from spec.interface import Operation, openapi, operations

Action = dict[str, Any]
Answers = Sequence[Seen[Answer]]
Phrases = Sequence[Seen[str]]
EXTENDS = "spec/openapi.yaml"
"""The schema that the overlay is made for, as it is called from the root of this project."""
FIELDS = {
    "executePix.status.values": ("ExecutionResult", "status"),
    "executePix.date.unit": ("ExecutionResult", "date"),
    "executePix.accountType.meaning": ("ExecutionResult", "accountType"),
    "registerPixKey.pixKeyType.numeric": ("KeyRegistration", "pixKeyType"),
    "registerPixKey.pixKey.format": ("KeyRegistration", "pixKey"),
    "registerPixKey.account.relation": ("KeyRegistration", "account"),
}
"""The requirements that are about one field: the schema that has it, and its name."""
BODY, BODY_SCHEMA = "registerPixKey.body.required", "KeyRegistration"
"""The requirement whose situations are `without <field>`, and the schema of that body."""
REFUSED, REQUIRED = "refused", "required"
"""What is said of a body without a required field, and of the token."""


def overlay_of(behaviour: Behaviour, origin: Origin) -> dict[str, Any]:
    """The overlay; without `actions` where there is nothing to propose."""
    answers, phrases = answers_in(behaviour), phrases_in(behaviour)
    actions = [
        *_of_the_whole([one for one in phrases if one.operation is None], origin),
        *_of_operations(answers, [one for one in phrases if one.id not in {*FIELDS, BODY}], origin),
        *_of_fields(phrases, origin),
        *_of_the_body([one for one in phrases if one.id == BODY], origin),
    ]
    return {
        "overlay": "1.0.0",
        "info": {"title": f"Observed behaviour of {origin.environment}, {origin.date}", "version": origin.date},
        "extends": EXTENDS,
        "actions": actions,
    }


def _of_the_whole(phrases: Phrases, origin: Origin) -> Iterator[Action]:
    if phrases:
        yield _update("$.info", "General", _described(openapi()["info"], phrases, origin))


def _of_operations(answers: Answers, phrases: Phrases, origin: Origin) -> Iterator[Action]:
    for operation in operations().values():
        answered = [one for one in answers if one.operation == operation.id]
        said = [one for one in phrases if one.operation == operation.id]
        if answered or said:
            yield from _of_an_operation(operation, answered, said, origin)


def _of_an_operation(operation: Operation, answers: Answers, phrases: Phrases, origin: Origin) -> Iterator[Action]:
    method = operation.method.lower()
    target, documented = f"$.paths['{operation.path}'].{method}", openapi()["paths"][operation.path][method]
    update = _described(documented, phrases, origin)
    if answers:
        update["responses"] = responses_of(answers, documented["responses"], origin)
    if _is_known_to_require_the_token(operation, phrases):
        yield _removal(f"{target}.security", operation.id)
        update["security"] = [{"bearer": []}]
    yield _update(target, operation.id, update)
    if operation.described and not operation.result:
        yield from _of_data(f"{target}.responses['200'].content['application/json']", operation.id, answers)


def _is_known_to_require_the_token(operation: Operation, phrases: Phrases) -> bool:
    """Whether every request without the token was refused, where the interface document leaves that open."""
    said = {one.value for one in phrases if one.id == f"{operation.id}.token"}
    return said == {REQUIRED}


def _of_data(target: str, name: str, answers: Answers) -> Iterator[Action]:
    """The fields of `data`, where the envelope is documented and they are not."""
    schema = success_schema(answers)
    if schema is not None:
        yield _removal(f"{target}.schema", name)
        yield _update(target, name, {"schema": schema})


def _of_fields(phrases: Phrases, origin: Origin) -> Iterator[Action]:
    for requirement_id, (schema, field) in FIELDS.items():
        said = [one for one in phrases if one.id == requirement_id]
        if said:
            documented = openapi()["components"]["schemas"][schema]["properties"][field]
            target = f"$.components.schemas.{schema}.properties.{field}"
            yield _update(target, f"{schema}.{field}", _described(documented, said, origin, Seen.in_place))


def _of_the_body(phrases: Phrases, origin: Origin) -> Iterator[Action]:
    """Which fields the body of a key registration needs: those without which it was refused each time."""
    if phrases:
        documented = openapi()["components"]["schemas"][BODY_SCHEMA]
        needed = [field for field in documented["properties"] if _is_needed(field, phrases)]
        update = _described(documented, phrases, origin, Seen.in_place) | ({"required": needed} if needed else {})
        yield _update(f"$.components.schemas.{BODY_SCHEMA}", BODY_SCHEMA, update)


def _is_needed(field: str, phrases: Phrases) -> bool:
    return {one.value for one in phrases if one.situation == f"without {field}"} == {REFUSED}


def _described(
    documented: Mapping[str, Any], phrases: Phrases, origin: Origin, words: Callable[[Seen[str]], str] = str
) -> dict[str, Any]:
    if not phrases:
        return {}
    said = origin.say(map(words, phrases), documented.get("description", ""))
    return {"description": said, **origin.mark(one.id for one in phrases)}


def _update(target: str, what: str, update: dict[str, Any]) -> Action:
    return {"target": target, "description": f"{what}: what was observed", "update": update}


def _removal(target: str, what: str) -> Action:
    return {"target": target, "description": f"{what}: the next action replaces this", "remove": True}
