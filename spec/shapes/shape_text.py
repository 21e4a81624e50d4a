"""A shape on one line: `{code: integer, data: {keys: [{id: string, type?: string}]}}`; `?` marks an optional member."""

from __future__ import annotations

from spec.shapes.schema_parts import Shape, alternatives

ABSENT = "absent"
_LONGEST = 400


def text_of(shape: Shape, longest: int = _LONGEST) -> str:
    """The shape on one line. What is longer is cut, with the length of the whole."""
    text = _text(shape)
    return text if len(text) <= longest else f"{text[:longest]}…({len(text)} characters)"


def _text(shape: Shape) -> str:
    """The types, null last; texts of several formats are a string."""
    each = {_of_one_type(schema): schema for schema in alternatives(shape)}
    formats = [text for text, schema in each.items() if schema["type"] == "string"]
    if len(formats) > 1:
        each = {text: schema for text, schema in each.items() if text not in formats} | {"string": {}}
    return " or ".join(sorted(each, key=lambda text: (text == "null", text))) or "anything"


def _of_one_type(schema: Shape) -> str:
    if schema["type"] == "object":
        return _of_an_object(schema)
    if schema["type"] == "array":
        return f"[{_text(schema['items'])}]" if "items" in schema else "[]"
    return f"{schema['format']} string" if "format" in schema else str(schema["type"])


def _of_an_object(schema: Shape) -> str:
    named, required = schema.get("properties", {}), schema.get("required", [])
    members = [f"{name}{'' if name in required else '?'}: {_text(inner)}" for name, inner in named.items()]
    if "additionalProperties" in schema:
        members.append(f"any name: {_text(schema['additionalProperties'])}")
    return f"{{{', '.join(members)}}}"
