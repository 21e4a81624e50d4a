"""Writes what ``profile.yaml`` says for people and for editors: the example, filled in or not, and a JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import yaml

from environments.profiles.checked_yaml import SCHEMA

SCHEMA_FILE = "profile.schema.json"
_MODELINE = "# yaml-language-server: $schema="
"""What editors read: the schema beside the profile completes and explains its keys."""
_WIDTH = 1_000_000
"""Characters of a line: YAML would fold a longer one."""


def example(said: Mapping[str, Any] = MappingProxyType({}), schema: str = SCHEMA_FILE) -> str:
    """A profile with every key: descriptions as comments, and what is `said`, else what ``x-example`` says. `schema` is
    the path of the schema for editors, from the folder of the profile."""
    keys = SCHEMA["properties"].items()
    parts = [_explained(name, key, said[name]) if name in said else _of_the_example(key) for name, key in keys]
    return _file([_comment(SCHEMA["description"]), *parts], schema)


def _file(parts: Collection[Iterator[str]], schema: str) -> str:
    return "\n\n".join([_MODELINE + schema, *("\n".join(part) for part in parts)]) + "\n"


def _of_the_example(key: Mapping[str, Any]) -> Iterator[str]:
    """One key and, below it, the keys that it holds."""
    yield from _comment(key.get("description", ""))
    if "x-descriptions" in key.get("items", {}):
        yield from _permissions(yaml.safe_load(key["x-example"])["allow"])
        return
    yield from key["x-example"].splitlines()
    for inner in key.get("properties", {}).values():
        if "x-example" in inner:
            yield from (f"  {line}" for line in _of_the_example(inner))


def _explained(name: str, key: Mapping[str, Any], value: Any) -> Iterator[str]:
    """A key with its value; below a mapping whose keys are known, each of these."""
    yield from _comment(key.get("description", ""))
    if name == "allow":
        yield from _permissions(value)
    elif "properties" in key and isinstance(value, Mapping):
        yield f"{name}:"
        for inner, rule in key["properties"].items():
            lines = (
                _explained(inner, rule, value[inner]) if inner in value else map(_switched_off, _of_the_example(rule))
            )
            yield from (f"  {line}" for line in lines)
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield f"{name}:"
        yield from (f"  - {_in_one_line(item)}" for item in value)
    else:
        yield f"{name}: {_in_one_line(value)}"


def _switched_off(line: str) -> str:
    return line if line.lstrip().startswith("#") else f"#{line}"


def _in_one_line(value: Any) -> str:
    """A value in the flow style of YAML, as an item of a list."""
    text = yaml.safe_dump([value], default_flow_style=True, width=_WIDTH, sort_keys=False, allow_unicode=True)
    return text.strip()[1:-1]


def _permissions(allowed: Collection[str]) -> Iterator[str]:
    yield "allow:"
    for permission, meaning in SCHEMA["properties"]["allow"]["items"]["x-descriptions"].items():
        yield from (f"  {line}" for line in _comment(meaning))
        yield f"  {'' if permission in allowed else '#'}- {permission}"


def _comment(text: str) -> Iterator[str]:
    return (f"# {line}".rstrip() for line in text.splitlines())


def editor_schema() -> dict[str, Any]:
    """What ``profile.yaml`` says in JSON Schema draft-07, which editors read, and without what is ours alone."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A profile of pix-conformance",
        **_rule(SCHEMA),
    }


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if meaning := _meaning(rule):
        made["description"] = meaning
    if "x-descriptions" in rule:
        made["enumDescriptions"] = [" ".join(rule["x-descriptions"][value].split()) for value in rule["enum"]]
    if "pattern" in rule and "x-expected" in rule:
        made["patternErrorMessage"] = f"expected {rule['x-expected']}"
    for keyword, value in rule.items():
        if keyword != "description" and not keyword.startswith("x-"):
            made[_IN_DRAFT_07.get(keyword, keyword)] = _value(keyword, value)
    return made


_IN_DRAFT_07 = {"dependentRequired": "dependencies"}


def _value(keyword: str, value: Any) -> Any:
    if keyword in ("properties", "patternProperties"):
        return {_portable(name): _rule(rule) for name, rule in value.items()}
    if keyword == "pattern":
        return _portable(value)
    if keyword == "anyOf":
        return [_rule(rule) for rule in value]
    return _rule(value) if isinstance(value, dict) and keyword != "dependentRequired" else value


def _meaning(rule: Mapping[str, Any]) -> str:
    """What a key means, in one paragraph: its description, the comment of its example, or what is expected of it."""
    comment = re.search(r" # (.*)", rule.get("x-example", ""))
    text = rule.get("description") or (comment and comment[1]) or rule.get("x-expected", "")
    return " ".join(str(text).partition("\n\n")[0].split())


def _portable(pattern: str) -> str:
    """A pattern without the flag (?i), which ECMA 262 does not know."""
    if not pattern.startswith("(?i)"):
        return pattern
    return re.sub(r"[a-z]", lambda letter: f"[{letter[0]}{letter[0].upper()}]", pattern.removeprefix("(?i)"))
