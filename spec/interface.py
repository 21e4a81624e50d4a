"""The documented interface as data: the operations, their results and which paths reach them.

Everything that sends, judges or shows an exchange asks it. Source: `openapi.yaml`, which is written by hand from the
interface document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from spec.requirements import read_yaml

OPENAPI = Path(__file__).with_name("openapi.yaml")
SYNTHETIC_PREFIX = "pixconf-"
"""Prefix of every synthetic identifier, so that it names no real account, key or code."""
MONEY_PERMISSIONS = frozenset({"create-pix", "transfer", "execute"})
"""The permissions of the operations that move money, or may."""


@dataclass(frozen=True)
class Field:
    """A documented field. `types` are its JSON types, such as `("string", "null")`."""

    name: str
    types: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Operation:
    """One documented operation."""

    id: str
    method: str
    path: str
    """Its template, such as /v1/pix/keys/{accountId}."""
    permission: str
    """The permission of a profile that a run needs to call it."""
    described: bool
    """True if the interface document shows its response."""
    envelope: tuple[Field, ...]
    """The fields of the response; none if it is not described."""
    result: tuple[Field, ...]
    """The fields of `data` in the response."""

    @property
    def path_parameter(self) -> str | None:
        """The name of the path parameter; None if the path has none."""
        match = re.search(r"\{(\w+)}", self.path)
        return match[1] if match else None


@cache
def openapi() -> Mapping[str, Any]:
    """The content of `openapi.yaml`."""
    return dict(read_yaml(OPENAPI))


@cache
def operations() -> Mapping[str, Operation]:
    """The operations by operationId, in the order of the schema."""
    documented = {}
    for path, items in openapi()["paths"].items():
        for method, item in items.items():
            if "operationId" in item:  # parameters stand beside the methods of a path
                documented[item["operationId"]] = _operation(path, method, item)
    return documented


@cache
def personal_fields() -> frozenset[str]:
    """The names of the fields that the schema marks with `x-personal`."""
    names = set[str]()
    for schema in openapi()["components"]["schemas"].values():
        properties = schema.get("properties", {})
        names.update(name for name in properties if properties[name].get("x-personal"))
    return frozenset(names)


def operations_reached(method: str, path: str) -> frozenset[str]:
    """Every operation that a server could take this request for.

    The path is read as sent and as a lenient server may read it: percent-decoded several times, dot segments resolved,
    slashes merged, letter case ignored. A method that is not documented for a path counts for all operations of the
    path: a HEAD may run what a GET runs.
    """
    reached = set[str]()
    for reading in _readings(path):
        at_path = [operation for operation in operations().values() if _pattern_of(operation.path).fullmatch(reading)]
        with_method = [operation for operation in at_path if operation.method == method.upper()]
        reached.update(operation.id for operation in with_method or at_path)
    return frozenset(reached)


def path_parameters_reached(operation: str, path: str) -> frozenset[str]:
    """Every value that a server could read as the path parameter of the operation."""
    pattern = _pattern_of(operations()[operation].path)
    matches = [pattern.fullmatch(reading) for reading in _readings(path)]
    return frozenset(match[1] for match in matches if match)


def _operation(path: str, method: str, item: Mapping[str, Any]) -> Operation:
    """The operation that an item of the schema describes. Only a described one has a response "200"."""
    success = item["responses"].get("200")
    envelope: Mapping[str, Any] = {}
    result: Mapping[str, Any] = {}
    if success:
        envelope = _properties(success["content"]["application/json"]["schema"])
        result = _properties(envelope["data"])
    return Operation(
        item["operationId"],
        method.upper(),
        path,
        item["x-permission"],
        described=bool(success),
        envelope=_fields(envelope),
        result=_fields(result),
    )


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schemas of the members of an object, by name."""
    return dict(_resolve(schema).get("properties", {}))


def _fields(properties: Mapping[str, Any]) -> tuple[Field, ...]:
    """The members of an object as fields, by the schemas of its members."""
    return tuple(Field(name, _types(_resolve(schema))) for name, schema in properties.items())


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The JSON types that a schema permits: OpenAPI writes one as a text, and several as a list."""
    types = schema["type"]
    return (types,) if isinstance(types, str) else tuple(types)


def _resolve(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema, or the one that it refers to."""
    while "$ref" in schema:
        schema = openapi()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


@cache
def _pattern_of(template: str) -> re.Pattern[str]:
    """A pattern of the paths of a template. Its group is the path parameter, one segment."""
    return re.compile(re.sub(r"\\\{\w+\\}", "([^/]+)", re.escape(template)), re.IGNORECASE | re.DOTALL)


_MOST_DECODINGS = 4
"""How often a path is percent-decoded, because each gateway before a service may do so."""


def _readings(path: str) -> set[str]:
    """The path as servers may read it: decoded several times, resolved, and without what follows a semicolon."""
    decoded = {path, unquote(path.replace("%2F", "%252F"))}  # a slash in an account may stay encoded
    decoded.add(path.replace("%2F", "/", 1))  # and one before it may not
    for _ in range(_MOST_DECODINGS):
        path = unquote(path)
        decoded.add(path)
    readings = set[str]()
    for form in decoded:
        without_parameters = form.split(";")[0]  # /v1/accounts;session=1
        readings.update((form, _resolved(form), _resolved(without_parameters)))
    return readings


def _resolved(path: str) -> str:
    """The path without dot segments and empty segments, with slashes in the place of backslashes."""
    segments: list[str] = []
    for segment in path.replace("\\", "/").split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)


def _permitted_by(*permissions: str) -> tuple[str, ...]:
    """Ids of the operations that need one of these permissions."""
    return tuple(operation.id for operation in operations().values() if operation.permission in permissions)


READ_OPERATIONS = _permitted_by("read")
"""The operations that only read."""
PREPARING_OPERATIONS = _permitted_by("create-pix", "transfer")
"""The operations that may prepare a transfer and return its transaction code."""
KEY_TYPES: tuple[str, ...] = tuple(
    openapi()["components"]["schemas"]["KeyRegistration"]["properties"]["pixKeyType"]["enum"]
)
"""The documented key types: PHONE, EMAIL, RANDOM, CNPJ and CPF."""
