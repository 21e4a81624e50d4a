"""The OpenAPI schema from which Schemathesis draws requests, and the hooks that keep drawn requests harmless.

The interface document leaves most types open, so what Schemathesis draws from `spec/openapi.yaml` as it is has few of
the documented members. For drawing alone, a body has no other members than the documented ones, and a member whose type
is not shown may have any JSON type. Each member has an example from a complete body (`usual_body` in
`tests/traffic/case.py`), so that the cases of the coverage phase differ from this body in one member each. (The
coverage phase of Schemathesis tries each value that a schema lists, one member at a time.)

Hooks leave out what may never be sent, and replace drawn identifiers by synthetic ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from itertools import compress
from typing import Any
from urllib.parse import unquote

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case as SchemaCase
from schemathesis.core import NotSet

from environments.profiles.model import Profile
from spec.interface import READ_OPERATIONS, openapi, operations
from tests.traffic.case import (
    JSON,
    TYPES_EXCEPT_RANDOM,
    Members,
    harmless_path_parameter,
    has_permitted_amounts,
    members_with_account_of_profile,
    synthetic_path_parameter,
    usual_body,
    with_synthetic_identifiers,
)
from tests.traffic.drawing.member_schemas import JsonSchema, schemas_of_covered_member, schemas_of_member
from tests.traffic.drawing.unusual_values import is_key_type
from tests.traffic.drawing.with_hypothesis import IS_KEPT
from tests.traffic.unusual_texts import (
    LENGTHS,
    SPECIAL,
    UNUSUAL,
)


def _some_of(characters: str) -> st.SearchStrategy[str]:
    """A Hypothesis strategy for texts that have most of these characters, in their order.

    Some faults show only if two characters are in one text, such as a quote and a semicolon. Other faults show only if
    a certain character is missing. Each character is in three of four texts, so that a few texts show both.
    """
    choices = st.tuples(*(IS_KEPT for _ in characters))  # for each character, whether it is in the text
    return choices.map(lambda chosen: "".join(compress(characters, chosen)))


_FORMATS = {
    "pixconf-special": _some_of(SPECIAL),
    "pixconf-usual": st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)),
    "pixconf-unusual": st.one_of(_some_of(UNUSUAL), st.text()),
    "pixconf-digits": st.tuples(st.sampled_from(("", "-")), st.text("0123456789", min_size=1)).map("".join),
    "pixconf-long": st.builds(
        lambda character, length: character * length, st.sampled_from("x9ã"), st.sampled_from(LENGTHS)
    ),
}
"""Sorts of unusual texts, each with the strategy from which Hypothesis draws them. Schemathesis knows each sort as a
format of a text: a text of the format "pixconf-digits" has digits alone."""
for _name, _strategy in _FORMATS.items():
    schemathesis.openapi.format(_name, _strategy)
_DRAWN_TEXTS: list[JsonSchema] = [{"type": "string", "format": name} for name in _FORMATS]
"""The JSON schemas of these texts."""
_OTHER_JSON_TYPES: JsonSchema = {"enum": [True, False, -1, [], [None], {}]}
"""Values of all types but text. The coverage phase has such values by itself, but drawn bodies that keep the schema do
not. Arrays and objects of any depth are left out, because to draw them would take most of the time."""


# -- the schema for drawing --------------------------------------------------------------------------------------------

ONE_UNUSUAL_MEMBER = "one unusual member"
ALL_MEMBERS = "all members"
ANY_MEMBERS = "any members"
KINDS_OF_BODIES = (ONE_UNUSUAL_MEMBER, ALL_MEMBERS, ANY_MEMBERS)
"""Kinds of bodies, compared with the example body: a complete, usual one (`usual_body` in `case.py`).

- One unusual member: the coverage phase of Schemathesis makes these bodies.
- All members: each of them has a drawn value.
- Any members: the same, but some of the members are missing.

None of the bodies has a member that is not documented. Bodies with several unusual members are in
`combining.py`."""


def _covered_member_schema(operation: str, name: str, usual_value: Any, profile: Profile) -> JsonSchema:
    """JSON schema of one member of a body, from which Schemathesis makes bodies with one unusual member each.

    It does so in its coverage phase, which tries every value and bound instead of drawing some. The usual value is the
    example.
    """
    return {"anyOf": schemas_of_covered_member(operation, name, usual_value, profile), "examples": [usual_value]}


def _drawn_member_schema(operation: str, name: str, usual_value: Any, profile: Profile) -> JsonSchema:
    """JSON schema from which the value of one member of a body is drawn. `usual_value` is its example.

    It has the values of the coverage phase and random texts. A key type is a documented type, because a service would
    refuse any other type before it reads the rest of the body. RANDOM is left out, because the service ignores the
    drawn key then, and makes a key. Any other member of a registration is a text, as documented.
    """
    if is_key_type(operation, name):
        return {"enum": list(TYPES_EXCEPT_RANDOM)}
    schemas = [*schemas_of_member(operation, name, usual_value, profile), *_DRAWN_TEXTS, _OTHER_JSON_TYPES]
    if operation == "registerPixKey":
        schemas = [{"type": "string", "anyOf": schemas}]
    return {"anyOf": schemas, "examples": [usual_value]}


def _schema_without_other_members(members: Mapping[str, JsonSchema], required: bool) -> JsonSchema:
    """JSON schema of an object that has no other members than these. If `required`, it has all of them, else some.

    `members` are the JSON schemas of the members by name.
    """
    names = list(members) if required else []
    return {"type": "object", "properties": dict(members), "required": names, "additionalProperties": False}


def _body_schemas(operation: str, example_body: Members, profile: Profile) -> dict[str, JsonSchema]:
    """By kind of body, the JSON schema from which Schemathesis makes bodies of the operation.

    A kind is, for example, "all members" (each member has a drawn value) or "any members" (some are missing). Each kind
    has a schema of its own. `example_body` has the usual value of each member.
    """
    # By name of a member: its schema for random values, and for the coverage phase.
    drawn, covered = {}, {}
    for name, usual_value in example_body.items():
        drawn[name] = _drawn_member_schema(operation, name, usual_value, profile)
        covered[name] = _covered_member_schema(operation, name, usual_value, profile)
    return {
        ALL_MEMBERS: _schema_without_other_members(drawn, required=True),
        ANY_MEMBERS: _schema_without_other_members(drawn, required=False),
        # All members are there, and the coverage phase itself makes one of them unusual at a time.
        ONE_UNUSUAL_MEMBER: _schema_without_other_members(covered, required=True),
    }


def schema_for_drawing(profile: Profile, kind: str) -> Any:
    """The OpenAPI schema of the service, loaded by Schemathesis, from which requests with bodies of one kind are drawn.

    `kind` is one of `KINDS_OF_BODIES`, such as "all members". Schemas of path parameters, and of bodies whose members
    are documented, are replaced by schemas that reach unusual values more often. Hooks keep drawn requests harmless.
    """
    document = deepcopy(dict(openapi()))
    for parameter in document["components"]["parameters"].values():
        parameter["schema"] = {"anyOf": _DRAWN_TEXTS}
    for methods in document["paths"].values():
        for item in methods.values():
            operation = item.get("operationId") if isinstance(item, dict) else None
            example_body = usual_body(operation, profile) if operation else None
            if operation and example_body:
                body_schema = _body_schemas(operation, example_body, profile)[kind]
                item["requestBody"] = {"required": True, "content": {JSON: {"schema": body_schema}}}
                item["parameters"] = _path_parameters(operation, profile)
    schema = schemathesis.openapi.from_dict(document)
    schema.config.generation.with_security_parameters = False  # no drawn credentials
    schema.config.phases.coverage.unexpected_methods = set()  # otherwise DELETE and TRACE are sent to each path
    _register_hooks(schema, profile)
    return schema


def _path_parameters(operation: str, profile: Profile) -> list[JsonSchema]:
    """The OpenAPI description of the path parameter of an operation, in a list; empty if the path has no parameter.

    Its schema has texts of all sorts, and a usual value as the example.
    """
    name = operations()[operation].path_parameter
    if not name:
        return []
    schema = {"anyOf": _DRAWN_TEXTS, "examples": [example_of_path_parameter(operation, profile)]}
    return [{"name": name, "in": "path", "required": True, "schema": schema}]


def example_of_path_parameter(operation: str, profile: Profile) -> str | None:
    """A usual value of the path parameter, which can do no harm; None if the operation has no path parameter.

    It is an account of the profile, or a made-up text if a real account could be harmed. For a deletion it is an
    account of the profile on a sandbox only: a service without real money, where a deleted key does no harm.
    """
    deletes_on_sandbox = operation == "deletePixKey" and profile.is_sandbox
    if deletes_on_sandbox and profile.accounts:
        return profile.accounts[0]
    return harmless_path_parameter(operation, profile)


def _register_hooks(schema: Any, profile: Profile) -> None:
    """Register three hooks: functions that Schemathesis calls while it draws a request.

    - `flatmap_body` puts usual values into some drawn bodies, because a service may refuse a body at its first wrong
      member, and then the other members show nothing.
    - `filter_case` leaves out a request whose amount is not permitted, or whose body is not JSON.
    - `map_case` replaces everything that may name somebody by a made-up text.

    The last two keep drawn requests harmless. Each request is checked two more times: by `harmless_cases` in `case.py`,
    and by the door (the only module that sends requests).
    """

    @schema.hook  # type: ignore[untyped-decorator]
    def flatmap_body(context: Any, body: Any) -> st.SearchStrategy[Any]:
        """A Hypothesis strategy for the drawn body, and for the same body in which usual values replace drawn ones."""
        operation = str(context.operation.definition.raw["operationId"])
        usual_members = usual_body(operation, profile) or {}
        account_members = members_with_account_of_profile(operation, profile)
        return _with_usual_members(body, usual_members, account_members)

    @schema.hook  # type: ignore[untyped-decorator]
    def filter_case(context: Any, case: SchemaCase[Any]) -> bool:
        """True if Schemathesis may keep a drawn request.

        False if the body is bytes instead of a JSON value, because nobody knows what it names, or if its amount is
        above the amount of the profile.
        """
        is_json = not isinstance(case.body, bytes)
        return is_json and has_permitted_amounts(_operation_of(case), case.body, profile)

    @schema.hook  # type: ignore[untyped-decorator]
    def map_case(context: Any, case: SchemaCase[Any]) -> SchemaCase[Any]:
        """The drawn request, in which all accounts, keys and codes in path and body are replaced by made-up ones.

        The usual path parameter stays, because it was chosen such that it can do no harm (`example_of_path_parameter`).
        But in a read it is replaced: a read with the usual path parameter is valid, and valid reads are sent anyway.
        """
        operation = _operation_of(case)
        for name, value in case.path_parameters.items():
            text = unquote(str(value))  # Schemathesis percent-encodes path parameters: "%3A" is ":"
            is_usual = text == example_of_path_parameter(operation, profile)
            may_stay = is_usual and operation not in READ_OPERATIONS
            case.path_parameters[name] = text if may_stay else synthetic_path_parameter(operation, text, profile)
        if not isinstance(case.body, NotSet):
            case.body = with_synthetic_identifiers(case.body, operation, profile)
        return case


def _with_usual_members(body: Any, usual_members: Members, account_members: Collection[str]) -> st.SearchStrategy[Any]:
    """A Hypothesis strategy for a drawn body, in which usual values replace none, some or almost all drawn ones.

    A service may look up the account of the profile before it reads other members, and it may refuse a body at the
    first member that is wrong. `account_members` are the names of the members that usually name this account, such as
    ["from"]. Usual values replace:

    - no member,
    - the account,
    - the account, and all other members but one.
    """
    unusual = [name for name in body if body[name] != usual_members.get(name)] if isinstance(body, dict) else []
    bodies = [body]
    if unusual:
        bodies.append({**body, **{name: usual_members[name] for name in account_members}})
        bodies += [{**usual_members, name: body[name]} for name in unusual if name not in account_members]
    return st.sampled_from(bodies)


def _operation_of(case: SchemaCase[Any]) -> str:
    """The operation of a request that Schemathesis has drawn, by its id in the OpenAPI schema, such as "createPix"."""
    return str(case.operation.definition.raw["operationId"])
