"""Base of the pydantic models of three files: conformance.json, the conformance.json of another run, and the record.

The record is the file `<name>.observed.yaml` with the behaviour of a service that somebody accepted.

A model is the only place that says which members a file has and what each means. Files, validation and the JSON schemas
in reports/ come from it. The docstring below a field is its description in the schema.
`python -m reports.result.json_schemas` writes the schemas.

Self-tests: reports/outputs/test_conformance_json.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from environments.profiles.parts import one_of, written_as
from spec.message import Text
from spec.requirements import LEVELS

# -- values -----------------------------------------------------------------------------------------------------------


def _day_of_the_calendar(text: str) -> str:
    """Check a day and return it unchanged. Raises ValueError for a day that does not exist, such as 2026-02-30.

    pydantic calls it after the pattern of `Day` has matched, because people may edit the file of a record by hand.
    """
    date.fromisoformat(text)
    return text


ShownText = Annotated[Text, written_as(Any), PlainSerializer(str, return_type=str)]
"""A message. The page translates it, and the files have it in English."""
Count = Annotated[int, Field(ge=0)]
"""A number of things, from 0 on."""
ExchangeNumbers = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(description="Numbers of exchanges.")]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal digits."""
Moment = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
"""A moment in UTC, such as 2026-11-20T09:30:00Z."""
Day = Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), AfterValidator(_day_of_the_calendar)]
"""A day, such as 2026-11-20."""
RequirementId = Annotated[str, Field(pattern=r"^[A-Za-z0-9]+(\.[A-Za-z0-9]+)+$")]
"""The id of a requirement, such as executePix.document.masked."""
OperationId = Annotated[str, Field(pattern="^[a-z][A-Za-z0-9]{0,49}$")]
"""The name of an operation, such as executePix."""
LevelName = Annotated[str, one_of(*LEVELS)]
Place = Annotated[str, Field(pattern="^(?:/[^/]{0,60}){0,20}$")]
"""A place in an answer, as in `spec/facts.py`. The limits keep a file that anybody may have written small."""
_Facts = Annotated[list[Annotated[str, Field(max_length=2000)]], Field(min_length=1, max_length=200)]
"""The facts at one place of an answer, such as ["null", "string"]. The limits keep the file small."""
_FactsByPlace = Annotated[
    dict[Place, _Facts],
    Field(
        max_length=5000,
        description="The empty place is the answer as a whole, / its body, every other one a JSON pointer in which * "
        "is any item or name.",
    ),
]
"""The facts of the answers in one situation, by their place, such as {"/data/id": ["null", "string"]}."""
_Situations = Annotated[dict[Annotated[str, Field(max_length=200)], _FactsByPlace], Field(max_length=200)]
"""The facts for one requirement, by situation (what was sent, in words)."""
BehaviourData = Annotated[dict[RequirementId, _Situations], Field(max_length=500)]
"""Facts by requirement, by what was sent, and by place: a status and media type, types, or words."""


# -- models -----------------------------------------------------------------------------------------------------------


class Published(BaseModel):
    """Part of a file that the suite writes. It has exactly these members.

    A member with a default was added after format 1.0: earlier files do not have it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Untrusted(BaseModel):
    """Part of a file that anybody may have written. It may have further members, which are not read."""

    model_config = ConfigDict(frozen=True, strict=True, use_attribute_docstrings=True, hide_input_in_errors=True)


def left_out_without_a_value(**options: Any) -> Any:
    """The default of an optional member of a file: if its value is None, pydantic does not write the member at all."""
    return Field(default=None, exclude_if=_is_none, **options)


def _is_none(value: object) -> bool:
    """True for None. pydantic calls it for each value that it writes, and leaves out the member if it is True."""
    return value is None


# -- schemas ----------------------------------------------------------------------------------------------------------


class _SchemaGenerator(GenerateJsonSchema):
    """Makes a JSON schema from a pydantic model, as pydantic does, with three changes: one for each method."""

    def model_field_schema(self, schema: Any) -> JsonSchemaValue:
        """The JSON schema of a member of a file. `schema` is how pydantic describes the member.

        Some members are left out of a file if they have no value (`left_out_without_a_value`). Such a member is never
        null in a file, so its schema does not permit null.
        """
        value_schema = schema["schema"]
        if "serialization_exclude_if" in schema:
            # pydantic has the schema of the value inside a schema `nullable`, and that inside a schema `default`.
            value_schema = value_schema["schema"]["schema"]
        return self.generate_inner(value_schema)

    def dict_schema(self, schema: Any) -> JsonSchemaValue:
        """The JSON schema of an object whose member names must match a pattern, such as an object by requirement id.

        pydantic writes `patternProperties`, which also permits members whose names do not match. So it is replaced.
        """
        json_schema = super().dict_schema(schema)
        for pattern, value_schema in json_schema.pop("patternProperties", {}).items():
            json_schema |= {"propertyNames": {"pattern": pattern}, "additionalProperties": value_schema}
        return json_schema

    def field_title_should_be_set(self, schema: Any) -> bool:
        """False, so that members have no titles: those of pydantic would only repeat the names of the members."""
        return False


def schema_of(model: type[BaseModel], title: str) -> Mapping[str, Any]:
    """The JSON Schema (2020-12) of a file of this model.

    For an `Untrusted` model, whose files the suite reads, it says what is accepted. For any other model it says what
    the suite writes.
    """
    mode: JsonSchemaMode = "validation" if issubclass(model, Untrusted) else "serialization"
    schema = model.model_json_schema(schema_generator=_SchemaGenerator, mode=mode)
    return {"$schema": GenerateJsonSchema.schema_dialect, **schema, "title": title}
