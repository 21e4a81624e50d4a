"""The part of YAML that JSON can hold: keys are text and unique, numbers are written as in JSON, and dates are text.

No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import yaml

from environments.profiles.kinds import printable
from environments.profiles.profile import ProfileError

_TAG = "tag:yaml.org,2002:"
_JSON_TAGS = (None, *(_TAG + name for name in ("null", "bool", "str", "seq", "map")))  # None: any other tag
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Document:
    """What a file holds, and where."""

    data: Any
    root: yaml.Node | None = None

    def line_of(self, place: Sequence[str | int]) -> str:
        """The line of the key or item at a place, or of the one around it, as `:7`; empty where there is no file."""
        node, mark = self.root, self.root and self.root.start_mark
        for step in place:
            inner = dict(_inner(node)).get(step)
            if inner is None:
                break
            mark, node = inner
        return f":{mark.line + 1}" if mark else ""


def _inner(node: yaml.Node | None) -> list[tuple[str | int, tuple[yaml.Mark, yaml.Node]]]:
    """The keys or numbers of a node, each with its mark and its value."""
    if isinstance(node, yaml.MappingNode):
        return [(key.value, (key.start_mark, value)) for key, value in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(number, (item.start_mark, item)) for number, item in enumerate(node.value)]
    return []


def _number(_: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    """A number as JSON writes it. YAML 1.1 reads 010 as 8 and 1:30 as 90, which is no amount and no account."""
    if not _NUMBER.fullmatch(node.value) or not math.isfinite(float(node.value)):
        raise _wrong("a number that YAML would change (as it does 0001, 1_000 and 1:30); write it in quotes", node)
    return float(node.value) if set(node.value) & set(".eE") else int(node.value)


def _wrong(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


class _Loader(yaml.SafeLoader):
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
                raise _wrong(f"duplicate key {printable(key.value)}; keep one of the two", key)
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
    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias; write it out", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def parsed(text: str, name: str, *, aliases: bool = True) -> Any:
    """The data of the text of a file of that name. Without aliases, nothing in it is larger than it is written. Raises
    ProfileError."""
    return document(text, name, aliases=aliases).data


def document(text: str, name: str, *, aliases: bool = True) -> Document:
    """The same with the places of its values."""
    try:
        loader = _Loader(text) if aliases else _WithoutAliases(text)
        root = loader.get_single_node()
        return Document(None if root is None else loader.construct_document(root), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = re.sub(r"(['\"])(.*?)\1", _quoted, error.problem or "not YAML")
        raise ProfileError(f"{name}:{mark.line + 1 if mark else 1}: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ProfileError(f"{name}:{line}: a character that YAML does not allow; remove it") from None
    except RecursionError:
        raise ProfileError(f"{name}: nested too deeply; write it flatter") from None


def _quoted(match: re.Match[str]) -> str:
    """PyYAML quotes what comes from the file and may be a secret. Punctuation and <stream end> are kept."""
    return match[0] if re.fullmatch(r".{0,2}|<[a-z ]+>", match[2]) else "…"
