"""The pydantic model of a profile, for people and for editors: a JSON Schema, and the commented example, filled in or
not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from environments.profiles.profile import Limits, ProfileFile

SCHEMA_FILE = "profile.schema.json"
_MODELINE = "# yaml-language-server: $schema="
"""What editors read: the schema beside the profile completes and explains its keys."""
_WIDTH = 1_000_000
"""Characters of a line: YAML would fold a longer one."""
_SWITCHED_ON: Mapping[str, Any] = {
    "base_url": "https://staging.example.test",
    "auth": {"token_env": "PIX_TOKEN"},
    "allow": ["read"],
    "limits": {name: value and int(value) for name, value in asdict(Limits()).items()},
    "fail_on": ["documented", "robustness"],
}
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
    """JSON Schema draft-07, which editors read: of what is newer, pydantic uses $defs alone. Every key may be empty."""
    made = TypeAdapter(ProfileFile).json_schema(schema_generator=_Generator)
    for name, rule in made["properties"].items():
        if name not in made["required"] and "anyOf" not in rule:
            made["properties"][name] = {"anyOf": [rule, {"type": "null"}]}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **made}


def rule_of(*place: str | int) -> dict[str, Any]:
    """What the schema says of a place: of the last one on the way to it that it knows."""
    rule = _resolved(editor_schema())
    for step in place:
        others = "additionalProperties" if isinstance(step, str) else "items"
        inner = rule.get("properties", {}).get(step) or rule.get(others)
        if not isinstance(inner, dict):
            break
        rule = _resolved(inner)
    return rule


def _resolved(rule: Mapping[str, Any]) -> dict[str, Any]:
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
    value = said[name] if name in said else rule.get("examples", [None])[0]
    style = None if isinstance(value, dict | list) else False  # None: each innermost collection on a line
    lines = [f"{name}:"] if "properties" in rule else _yaml({name: value}, default_flow_style=style).splitlines()
    yield from _comment(rule.get("description", ""))
    if "enumDescriptions" in rule.get("items", {}):
        yield f"{name}:"
        yield from _choices(rule["items"], value)
    else:
        yield from (line if name in said else re.sub("^ *", r"\g<0>#", line) for line in lines)
    for inner in rule.get("properties", ()):
        yield from (f"  {line}" for line in _key((*place, inner), said.get(name, {})))


def in_flow(value: Any) -> str:
    """A value in the flow style of YAML, as an item of a list."""
    return _yaml([value], default_flow_style=True).strip()[1:-1]


def _yaml(value: Any, **style: Any) -> str:
    text: str = yaml.safe_dump(value, width=_WIDTH, sort_keys=False, allow_unicode=True, **style)
    return text


def _choices(rule: Mapping[str, Any], chosen: Collection[str]) -> Iterator[str]:
    for name, meaning in zip(rule["enum"], rule["enumDescriptions"], strict=True):
        yield from (f"  {line}" for line in _comment(meaning))
        yield f"  {'' if name in chosen else '#'}- {name}"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}".rstrip() for line in text.splitlines())
