"""The responses that a proposal adds to one operation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from reports.observations.behaviour import Answer
from reports.proposing.origin import Origin, Seen
from spec.shapes import Shape, merged

Answers = Sequence[Seen[Answer]]
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+")
_ANY_TYPE = "*/*"


def responses_of(answers: Answers, documented: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """The responses by status. Of a status that is documented, the description alone is extended."""
    by_status = groupby(sorted(answers, key=_status), key=_status)
    return {
        status: _extended([*same], documented[status], origin) if status in documented else _added([*same], origin)
        for status, same in by_status
    }


def success_schema(answers: Answers) -> Shape | None:
    """The schema of the successes: the documented envelope, and what was observed in it. None where none was seen."""
    shapes = _shapes(one for one in answers if one.is_success)
    return {"allOf": [{"$ref": "#/components/schemas/Envelope"}, merged(shapes)]} if shapes else None


def _status(seen: Seen[Answer]) -> str:
    return str(seen.value.status)


def _added(answers: Answers, origin: Origin) -> dict[str, Any]:
    parts = {"headers": _headers(answers), "content": _content(answers)}
    given = {name: part for name, part in parts.items() if part}
    return {"description": origin.say(one.when for one in answers), **origin.mark(one.id for one in answers), **given}


def _extended(answers: Answers, documented: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    said = [one.when if one.is_success else str(one) for one in answers]
    return {"description": origin.say(said, documented["description"]), **origin.mark(one.id for one in answers)}


def _headers(answers: Answers) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name, value in (header for one in answers for header in one.value.headers.items()):
        found.setdefault(name, []).append(value)
    return {
        name: {"schema": {"type": "string", "examples": sorted(set(values))}} for name, values in sorted(found.items())
    }


def _content(answers: Answers) -> dict[str, Any]:
    with_body = sorted((one for one in answers if one.value.media_type or one.value.shape), key=_media_type)
    return {media_type: _media([*same]) for media_type, same in groupby(with_body, key=_media_type)}


def _media_type(seen: Seen[Answer]) -> str:
    return seen.value.media_type if _MEDIA_TYPE.fullmatch(seen.value.media_type) else _ANY_TYPE


def _media(answers: Answers) -> dict[str, Any]:
    """The schema of the answers of one status and media type: a success first, then what a refusal looks like."""
    refusals = _shapes(one for one in answers if not one.is_success)
    each = [success_schema(answers), merged(refusals) if refusals else None]
    schemas = [schema for schema in each if schema is not None]
    if len(schemas) == 2:
        return {"schema": {"anyOf": schemas}}
    return {"schema": schemas[0]} if schemas else {}


def _shapes(answers: Iterable[Seen[Answer]]) -> list[Shape]:
    return [dict(one.value.shape) for one in answers if one.value.shape is not None]
