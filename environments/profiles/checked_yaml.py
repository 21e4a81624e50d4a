"""Reads a profile's file and checks it against ``profile.yaml`` beside this module.

Of YAML, only what JSON can hold is read: keys are text and unique, numbers are written as in JSON, and dates are text.
No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, ClassVar

import jsonschema_rs
import yaml

from environments.profiles.profile import RECORD, ProfileError, shown
from spec.requirements import read_yaml

SCHEMA: dict[str, Any] = read_yaml(Path(__file__).with_name("profile.yaml"))
_VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA, validate_formats=True)
_TAG = "tag:yaml.org,2002:"
_JSON_TAGS = (None, *(_TAG + name for name in ("null", "bool", "str", "seq", "map")))  # None: any other tag
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?")
_NAME = re.compile(r"[A-Za-z_]{1,40}(-[A-Za-z0-9]{1,12})*")
_TYPES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a mapping",
}


def _number(_: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    """A number as JSON writes it. YAML 1.1 reads 010 as 8 and 1:30 as 90, which is no amount and no account."""
    if not _NUMBER.fullmatch(node.value) or not math.isfinite(float(node.value)):
        raise _wrong("a number that YAML would change (as it does 0001, 1_000 and 1:30); write it in quotes", node)
    return float(node.value) if set(node.value) & set(".eE") else int(node.value)


def _wrong(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


class _Loader(yaml.SafeLoader):
    """The part of YAML that JSON can hold."""

    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        **{tag: yaml.SafeLoader.yaml_constructors[tag] for tag in _JSON_TAGS},
        _TAG + "int": _number,
        _TAG + "float": _number,
        _TAG + "timestamp": yaml.SafeLoader.construct_yaml_str,
    }

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping whose keys are text and unique."""
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag not in (_TAG + "str", _TAG + "merge"):
                raise _wrong("a key that YAML does not read as text; write it in quotes", key)
            if key.value in seen:
                raise _wrong(f"duplicate key {_printable(key.value)}; keep one of the two", key)
            seen.add(key.value)
        return node

    def construct_document(self, node: yaml.Node) -> Any:
        """The document, from its leaves up, so that an alias of a value that contains it is an error and not a loop."""
        self.deep_construct = True
        return super().construct_document(node)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value that JSON can hold. Where PyYAML fails without naming the line, the error names it."""
        try:
            value = super().construct_object(node, deep)
            if isinstance(value, str):
                value.encode()
        except (ValueError, KeyError):
            raise _wrong("a value that cannot be read; write it in quotes", node) from None
        return value


class _WithoutAliases(_Loader):
    """The part in which everything is written where it stands."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias; write it out", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def read(path: Path, folder: Path) -> Any:
    """What stands in the profile at ``path``, in whatever shape; ``folder`` holds the others."""
    data = parsed(_text(path, folder), shown(path))
    if data is None:
        raise ProfileError(f"{shown(path)}: empty; expected {SCHEMA['x-expected']}")
    return data


def problems_of_shape(data: Any) -> list[tuple[str, str]]:
    """What is not as ``profile.yaml`` says: the key at the top, or "", and the problem, each once. Unknown keys come
    before what is missing because of them."""
    broken = sorted(
        _VALIDATOR.iter_errors(data), key=lambda e: (e.schema_path[-1] != "additionalProperties", str(e.instance_path))
    )
    return list(dict.fromkeys(explained for error in broken for explained in _explanations(error)))


def _text(path: Path, folder: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        files = [file for ending in ("yaml", "yml") for file in folder.glob(f"*.{ending}")]
        names = sorted({file.stem for file in files if not file.name.endswith(RECORD)})
        there = f"the environments in {shown(folder)} are: {', '.join(names) or 'none'}"
        raise ProfileError(f"{shown(path)}: no such file; {there}") from None
    except OSError as error:
        raise ProfileError(f"{shown(path)}: cannot be read ({error.strerror}); expected a YAML file") from None
    except UnicodeDecodeError as error:
        raise ProfileError(f"{shown(path)}: not UTF-8 at byte {error.start + 1}; save it as UTF-8") from None


def parsed(text: str, name: str, *, aliases: bool = True) -> Any:
    """What the text of a file of that name holds. Without aliases, nothing in it is larger than it is written. Raises
    ProfileError."""
    try:
        return yaml.load(text, _Loader if aliases else _WithoutAliases)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = re.sub(r"(['\"])(.*?)\1", _quoted, error.problem or "not YAML")
        raise ProfileError(f"{name}: line {line}: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ProfileError(f"{name}: line {line}: a character that YAML does not allow; remove it") from None
    except RecursionError:
        raise ProfileError(f"{name}: nested too deeply; write it flatter") from None


def _quoted(match: re.Match[str]) -> str:
    """What PyYAML quotes comes from the file and may be a secret. Punctuation and <stream end> are kept."""
    return match[0] if re.fullmatch(r".{0,2}|<[a-z ]+>", match[2]) else "…"


def _explanations(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    *place, keyword = error.schema_path
    rule: dict[str, Any] = reduce(getitem, place, SCHEMA)  # type: ignore[arg-type]
    for below, problem in _EXPLANATIONS.get(str(keyword), _unexpected)(error, rule):
        where = [*error.instance_path, *below]
        yield str(next(iter(where), "")), _at(where, problem)


_Explained = Iterator[tuple[list[str | int], str]]
"""The key or the place below the value that was checked, and what is wrong with it."""


def _unknown_keys(error: Any, rule: dict[str, Any]) -> _Explained:
    for key in error.kind.unexpected:
        yield [key], f"unknown key; {_nearest(key, list(rule['properties']), rule)}"


def _unknown_value(error: Any, rule: dict[str, Any]) -> _Explained:
    yield [], f"unknown value; {_nearest(error.instance, rule['enum'], rule)}"


def _missing(error: Any, rule: dict[str, Any]) -> _Explained:
    missing = rule["properties"][error.kind.property]
    expected = missing.get("x-expected") or f"one of {', '.join(missing['enum'])}"
    yield [error.kind.property], f"missing; expected {expected}"


def _repeated(error: Any, rule: dict[str, Any]) -> _Explained:
    items = error.instance
    for place, item in enumerate(items):
        if item in items[:place]:
            yield [place], "listed twice; remove one of the two"


def _unexpected(error: Any, rule: dict[str, Any]) -> _Explained:
    value, keyword = error.instance, error.schema_path[-1]
    other_type = keyword == "type" or (keyword == "anyOf" and not isinstance(value, str | dict))
    yield [], f"expected {rule['x-expected']}{_instead(value, rule['x-expected']) if other_type else ''}"


_EXPLANATIONS: dict[str, Callable[[Any, dict[str, Any]], _Explained]] = {
    "additionalProperties": _unknown_keys,
    "enum": _unknown_value,
    "required": _missing,
    "uniqueItems": _repeated,
}
"""By keyword of JSON Schema; what is not listed is a value that is not the expected one."""


def _nearest(value: Any, known: list[str], rule: dict[str, Any]) -> str:
    hints: dict[str, str] = rule.get("x-unknown", {})
    if hint := hints.get(str(value)) or hints.get("*"):
        return hint
    by_letters = {name.lower(): name for name in known}
    near = get_close_matches(str(value).lower(), by_letters, 1)
    return f'did you mean "{by_letters[near[0]]}"?' if near else f"expected one of {', '.join(known)}"


def _instead(value: Any, expected: str) -> str:
    quotes = "quotes" in expected and isinstance(value, bool | int | float)
    hint = "; YAML reads 0001 as a number and NO as false: write it in quotes" if quotes else ""
    return f", not {_TYPES.get(type(value), 'nothing')}{hint}"


def _at(where: list[str | int], problem: str) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{_printable(step)}" for step in where)
    path = "".join(steps).removeprefix(".")
    return f"{path}: {problem}" if path else problem


def _printable(key: str) -> str:
    """A key as a message may show it. Without a space, YAML reads ``token:abc`` as a key."""
    name = key.partition(":")[0]
    return name if _NAME.fullmatch(name) else "…"
