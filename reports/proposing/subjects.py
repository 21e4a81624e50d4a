"""What an observation in words is about: the place in spec/openapi.yaml whose description says it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from reports.proposing.origin import Seen
from spec.interface import openapi, operations

Place = tuple[str, ...]
"""The steps that lead to an object of the schema."""
WHOLE: Place = ("info",)
BODY: Place = ("components", "schemas", "KeyRegistration")
_RESULT: Place = ("components", "schemas", "ExecutionResult")
SUBJECTS: Mapping[str, Place] = {
    "executePix.status.values": (*_RESULT, "properties", "status"),
    "executePix.status.transitions": (*_RESULT, "properties", "status"),
    "executePix.date.unit": (*_RESULT, "properties", "date"),
    "executePix.accountType.meaning": (*_RESULT, "properties", "accountType"),
    "registerPixKey.pixKeyType.numeric": (*BODY, "properties", "pixKeyType"),
    "registerPixKey.pixKey.format": (*BODY, "properties", "pixKey"),
    "registerPixKey.account.relation": (*BODY, "properties", "account"),
    "registerPixKey.body.required": BODY,
}
"""The requirements that are about one field, or about one body."""
FORMATS = "general.identifierFormat"
"""Its situations begin with the name of a path parameter: `transactionId, made by the service`."""
_PLAIN = re.compile(r"[A-Za-z]\w*")


def subject_of(seen: Seen[Any]) -> Place:
    """A field, a body, a path parameter, an operation, or the whole."""
    if seen.id in SUBJECTS:
        return SUBJECTS[seen.id]
    parameter = seen.situation.partition(",")[0]
    if seen.id == FORMATS and parameter in openapi()["components"]["parameters"]:
        return ("components", "parameters", parameter)
    return place_of(seen.operation) if seen.operation else WHOLE


def place_of(name: str) -> Place:
    """Where an operation is."""
    operation = operations()[name]
    return ("paths", operation.path, operation.method.lower())


def documented_at(place: Place) -> Mapping[str, Any]:
    """What the schema has there."""
    found: Mapping[str, Any] = reduce(lambda inside, step: inside[step], place, openapi())
    return found


def target_of(steps: Iterable[str]) -> str:
    """The JSONPath of a place (RFC 9535)."""
    return "$" + "".join(f".{step}" if _PLAIN.fullmatch(step) else f"['{step}']" for step in steps)
