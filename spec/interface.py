"""The documented interface as data: the operations, their results and which paths reach them.

Source: `openapi.yaml`, which is written by hand from the interface document.
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
MARK = "pixconf-"
"""Every synthetic identifier starts with it, so that it names no real account, key or code."""
MONEY = frozenset({"create-pix", "transfer", "execute"})
"""The permissions of the operations that move money, or may."""


@dataclass(frozen=True)
class Field:
    """A documented field. `types` are its JSON types, such as `("string", "null")`."""

    name: str
    types: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Operation:
    """One documented operation.

    `described` says that its response is shown. `envelope` has the fields of the response, `result` those of its data.
    """

    id: str
    method: str
    path: str
    permission: str
    described: bool
    envelope: tuple[Field, ...]
    result: tuple[Field, ...]

    @property
    def path_parameter(self) -> str | None:
        """The name of the path parameter; None where the path has none."""
        match = re.search(r"\{(\w+)}", self.path)
        return match[1] if match else None


@cache
def openapi() -> Mapping[str, Any]:
    """The content of `openapi.yaml`."""
    return dict(read_yaml(OPENAPI))


@cache
def operations() -> Mapping[str, Operation]:
    """The operations by operationId, in the order of the schema."""
    return {
        item["operationId"]: _operation(path, method, item)
        for path, methods in openapi()["paths"].items()
        for method, item in methods.items()
        if "operationId" in item
    }


@cache
def personal_fields() -> frozenset[str]:
    """The names of the fields that the schema marks with `x-personal`."""
    return frozenset(
        name
        for schema in openapi()["components"]["schemas"].values()
        for name, member in schema.get("properties", {}).items()
        if member.get("x-personal")
    )


def operations_reached(method: str, path: str) -> frozenset[str]:
    """Every operation that a server could take this request for.

    The path is read as sent and as a lenient server may read it: percent-decoded several times, dot segments resolved,
    slashes merged, letter case ignored. A method that is not documented for a path counts for all operations of the
    path: a HEAD may run what a GET runs.
    """
    reached = set[str]()
    for reading in _readings(path):
        at_path = [op for op in operations().values() if _matcher(op.path).fullmatch(reading)]
        exact = [op for op in at_path if op.method == method.upper()]
        reached.update(op.id for op in exact or at_path)
    return frozenset(reached)


def path_parameters_reached(operation: str, path: str) -> frozenset[str]:
    """Every value that a server could read as the path parameter of the operation."""
    found = map(_matcher(operations()[operation].path).fullmatch, _readings(path))
    return frozenset(match[1] for match in found if match)


def _operation(path: str, method: str, item: Mapping[str, Any]) -> Operation:
    success = item["responses"].get("200")
    envelope = _properties(success["content"]["application/json"]["schema"]) if success else {}
    result = _properties(envelope["data"]) if success else {}
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
    return dict(_resolve(schema).get("properties", {}))


def _fields(properties: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(Field(name, _types(_resolve(schema))) for name, schema in properties.items())


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    types = schema["type"]
    return (types,) if isinstance(types, str) else tuple(types)


def _resolve(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = openapi()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema


@cache
def _matcher(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{\w+\\}", "([^/]+)", re.escape(template)), re.IGNORECASE | re.DOTALL)


def _readings(path: str) -> set[str]:
    readings = {path, unquote(path.replace("%2F", "%252F"))}  # a slash in an account may stay encoded
    readings.add(path.replace("%2F", "/", 1))  # and one before it may not
    for _ in range(4):
        path = unquote(path)
        readings.add(path)
    return {form for reading in readings for form in (reading, _resolved(reading), _resolved(reading.split(";")[0]))}


def _resolved(path: str) -> str:
    kept: list[str] = []
    for segment in path.replace("\\", "/").split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "/" + "/".join(kept)


def _permitted_by(*permissions: str) -> tuple[str, ...]:
    return tuple(operation.id for operation in operations().values() if operation.permission in permissions)


READS = _permitted_by("read")
PREPARING = _permitted_by("create-pix", "transfer")
"""The operations that may prepare a transfer and return its transaction code."""
KEY_TYPES: tuple[str, ...] = tuple(
    openapi()["components"]["schemas"]["KeyRegistration"]["properties"]["pixKeyType"]["enum"]
)
