"""The documented interface as data: the operations, their results and which paths reach them.

Every module that sends, judges or shows an exchange reads them here. Source: `openapi.yaml`, which is written by hand
from the interface document.
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
"""Prefix of every synthetic identifier (one that the suite makes up), so that it names no real account, key or code."""
MONEY_PERMISSIONS = frozenset({"create-pix", "transfer", "execute"})
"""The permissions of the operations that move money, or may move it."""


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
        """The name of the path parameter, such as `accountId` for /v1/pix/keys/{accountId}; None if there is none."""
        match = re.search(r"\{(\w+)}", self.path)  # no documented path has more than one
        return match[1] if match else None


@cache
def openapi() -> Mapping[str, Any]:
    """The content of `openapi.yaml`: the OpenAPI schema of the service, written by hand from the interface document."""
    return dict(read_yaml(OPENAPI))


@cache
def operations() -> Mapping[str, Operation]:
    """The documented operations by operationId, such as `executePix`, in the order of `openapi.yaml`."""
    operations_by_id = {}
    for path, items in openapi()["paths"].items():
        for method, item in items.items():
            if "operationId" in item:  # OpenAPI also writes "parameters" beside the methods of a path
                operations_by_id[item["operationId"]] = _operation(path, method, item)
    return operations_by_id


@cache
def personal_fields() -> frozenset[str]:
    """The names of the fields with data of a person, such as `document`: no report shows their values.

    `openapi.yaml` marks them with `x-personal`.
    """
    names = set[str]()
    for schema in openapi()["components"]["schemas"].values():
        properties = schema.get("properties", {})
        names.update(name for name in properties if properties[name].get("x-personal"))
    return frozenset(names)


def operations_reached(method: str, path: str) -> frozenset[str]:
    """Ids of all operations that a server could run for this request.

    The run asks before it sends a request, so that no request with an unusual path executes a transfer by accident.
    The path is read as sent and as a lenient server may read it: percent-decoded several times, dot segments resolved,
    slashes merged, letter case ignored. If the method is not documented for the path, all operations of the path are
    returned, because a server may run for a HEAD what it runs for a GET.
    """
    operation_ids = set[str]()
    for possible_path in _paths_as_servers_may_read(path):
        operations_at_path = _operations_at(possible_path)
        with_method = [operation for operation in operations_at_path if operation.method == method.upper()]
        # If no operation of the path has the method, all of them count.
        operation_ids.update(operation.id for operation in with_method or operations_at_path)
    return frozenset(operation_ids)


def _operations_at(path: str) -> list[Operation]:
    """The documented operations whose path template fits this path, whatever their method.

    For /v1/pix/keys/ac-1 they are `listPixKeys`, `registerPixKey` and `deletePixKey`.
    """
    return [operation for operation in operations().values() if _pattern_of(operation.path).fullmatch(path)]


def path_parameters_reached(operation: str, path: str) -> frozenset[str]:
    """Every value that a server could read in the path as the path parameter of the operation, such as an account id.

    Servers differ: for /v1/pix/keys/ac%2531 one reads the account `ac%2531`, one `ac%31`, and one `ac1`.
    """
    pattern = _pattern_of(operations()[operation].path)
    matches = [pattern.fullmatch(possible_path) for possible_path in _paths_as_servers_may_read(path)]
    return frozenset(match[1] for match in matches if match)  # group 1 is the path parameter


def _operation(path: str, method: str, item: Mapping[str, Any]) -> Operation:
    """The operation at a path and method of `openapi.yaml`. `item` is what the file says about them.

    If the interface document does not show the response of the operation, the file has no response "200" for it, and
    the operation has no documented fields.
    """
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
    """The schemas of the members of a JSON object, by member name. `schema` is the schema of the object."""
    return dict(_resolve(schema).get("properties", {}))


def _fields(properties: Mapping[str, Any]) -> tuple[Field, ...]:
    """The documented members of a JSON object, each as a `Field`. `properties` has their schemas by member name."""
    return tuple(Field(name, _types(_resolve(schema))) for name, schema in properties.items())


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The JSON types that a schema permits, such as ("string", "null").

    OpenAPI writes one type as a text (`type: string`), and several as a list (`type: [string, "null"]`).
    """
    types = schema["type"]
    return (types,) if isinstance(types, str) else tuple(types)


def _resolve(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema itself; or, if it only refers to another schema with `$ref`, that other schema."""
    while "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]  # "#/components/schemas/KeyRegistration" -> "KeyRegistration"
        schema = openapi()["components"]["schemas"][name]
    return schema


@cache
def _pattern_of(template: str) -> re.Pattern[str]:
    """A pattern of the paths that fit a template such as /v1/pix/keys/{accountId}. Group 1 is the path parameter.

    Letter case is ignored, because some servers ignore it.
    """
    # re.escape turns "{accountId}" into "\{accountId\}", which becomes one path segment of any characters.
    pattern = re.sub(r"\\\{\w+\\}", "([^/]+)", re.escape(template))
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_MOST_DECODINGS = 4
"""How many times a path is percent-decoded, because each gateway before a service may do so once. A choice: hardly any
service has more gateways."""


def _paths_as_servers_may_read(path: str) -> set[str]:
    """The paths that different servers may make of one path, because they decode and resolve it differently.

    The path is returned as it is, and percent-decoded once or several times. Each of these paths is also returned with
    its dot segments resolved, and cut at its first semicolon.
    """
    decoded_paths = {path}
    # A server may decode everything but %2F, because a slash inside an account is no separator.
    decoded_paths.add(unquote(path.replace("%2F", "%252F")))
    # A server may decode only the first %2F, because that slash is the separator before the account.
    decoded_paths.add(path.replace("%2F", "/", 1))
    for _ in range(_MOST_DECODINGS):
        path = unquote(path)
        decoded_paths.add(path)
    possible_paths = set[str]()
    for decoded_path in decoded_paths:
        without_parameters = decoded_path.split(";")[0]  # some servers cut /v1/accounts;session=1 at the semicolon
        possible_paths.update((decoded_path, _resolved(decoded_path), _resolved(without_parameters)))
    return possible_paths


def _resolved(path: str) -> str:
    """The path as a lenient server resolves it: `/v1//pix/../accounts` is `/v1/accounts`.

    Dot segments and empty segments are removed, and a backslash counts as a slash.
    """
    segments: list[str] = []
    for segment in path.replace("\\", "/").split("/"):
        if segment == "..":
            del segments[-1:]  # the slice raises nothing if no segment is left
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)


def _permitted_by(*permissions: str) -> tuple[str, ...]:
    """Ids of the operations that a run may call only with one of these permissions of its settings, such as "read"."""
    return tuple(operation.id for operation in operations().values() if operation.permission in permissions)


READ_OPERATIONS = _permitted_by("read")
"""The operations that only read."""
PREPARING_OPERATIONS = _permitted_by("create-pix", "transfer")
"""The operations that may prepare a transfer and return its transaction code."""
KEY_TYPES: tuple[str, ...] = tuple(
    openapi()["components"]["schemas"]["KeyRegistration"]["properties"]["pixKeyType"]["enum"]
)
"""The documented key types: PHONE, EMAIL, RANDOM, CNPJ and CPF."""
