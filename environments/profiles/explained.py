"""The pydantic model of a profile, for people and for editors: a JSON Schema, and the commented example, filled in or
not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from environments.profiles.model import ProfileFile

SCHEMA_FILE = "profile.schema.json"
_MODELINE = "# yaml-language-server: $schema="
"""What editors read: the schema beside the profile completes and explains its keys."""
_WIDTH = 1_000_000
"""Characters of a line: YAML would fold a longer one."""
_SWITCHED_ON: Mapping[str, Any] = {
    "base_url": "https://staging.example.test", "auth": {"token_env": "PIX_TOKEN"}, "allow": ["read"],
}  # fmt: skip
"""The keys that the example does not switch off."""


class _Generator(GenerateJsonSchema):
    """JSON Schema as pydantic writes it, in the order of the model, and without titles that say no more than names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        return sorted(dft) if isinstance(dft, frozenset) else super().encode_default(dft)

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value


@cache
def editor_schema() -> dict[str, Any]:
    """JSON Schema draft-07, which editors read: of what is newer, pydantic uses $defs alone."""
    made = TypeAdapter(ProfileFile).json_schema(schema_generator=_Generator)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made}


def rule_of(*place: str | int) -> dict[str, Any]:
    """What the schema says of a place."""
    rule = _resolved(editor_schema())
    for step in place:
        others = rule.get("items") if isinstance(step, int) else rule.get("additionalProperties")
        rule = _resolved(rule.get("properties", {}).get(step) or others)
    return rule


def _resolved(rule: Any) -> dict[str, Any]:
    """The rule with what it refers to, and without the null that it may be."""
    whole = {**next(iter(rule.get("anyOf", [])), {}), **rule}
    return {**editor_schema()["$defs"].get(whole.get("$ref", "").rpartition("/")[2], {}), **whole}


def example(said: Mapping[str, Any] = MappingProxyType({}), schema: str = SCHEMA_FILE) -> str:
    """A profile with every key: descriptions as comments, and what is `said`, else an example that is switched off.
    `schema` is the path of the schema for editors, from the folder of the profile."""
    whole, said = rule_of(), {**_SWITCHED_ON, **said}
    names = sorted(whole["properties"], key=whole["required"].__contains__, reverse=True)
    parts = [_comment(whole["description"]), *(_key((name,), said) for name in names)]
    return "\n\n".join([_MODELINE + schema, *("\n".join(part) for part in parts)]) + "\n"


def _key(place: tuple[str, ...], said: Mapping[str, Any]) -> Iterator[str]:
    """One key and, below it, the keys that it holds."""
    name, rule = place[-1], rule_of(*place)
    value = said.get(name, rule.get("examples", [rule.get("default")])[0])
    style = None if isinstance(value, dict | list) else False  # None: each innermost collection on a line
    written = yaml.safe_dump({name: value}, width=_WIDTH, sort_keys=False, allow_unicode=True, default_flow_style=style)
    lines = [f"{name}:"] if "properties" in rule else written.splitlines()
    yield from _comment(rule.get("description", ""))
    yield from (line if name in said else re.sub("^ *", r"\g<0>#", line) for line in lines)
    for inner in rule.get("properties", ()):
        yield from (f"  {line}" for line in _key((*place, inner), said.get(name, {})))


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}".rstrip() for line in text.splitlines())
