"""The part of YAML that JSON can hold, without aliases: numbers, true, false and null as YAML 1.2 writes them. All else
is text: a date, 0001, 1_000, NO.

No message repeats a value, because any value may be a secret or personal data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import yaml

from environments.profiles.model import ProfileError

_TAG = "tag:yaml.org,2002:"
_KINDS = {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "int": r"-?(0|[1-9]\d*)",
    "float": r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?",
}
"""What is no text when it stands without quotes (YAML 1.2, section 10.3). YAML 1.1 reads 010 as 8 and 1:30 as 90."""
_QUOTED = re.compile(r"""(['"])(?:(?P<plain>.{1,2}|<[a-z ]+>)|.*?)\1""")
"""What PyYAML quotes comes from the file and may be a secret; punctuation and <stream end> are none."""


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}  # type: ignore[misc]  # as PyYAML has it
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        tag: make
        for tag, make in yaml.SafeLoader.yaml_constructors.items()
        if tag in (None, *(_TAG + name for name in (*_KINDS, "str", "seq", "map")))  # None: any other tag
    }

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node that is no alias: nothing is larger than it is written."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias; write it out", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping whose keys are unique."""
        node = super().compose_mapping_node(anchor)
        keys: list[Any] = []
        for key, _ in node.value:
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem="a duplicate key; keep one of the two", problem_mark=key.start_mark)
            keys.append(key.value)
        return node


for _name, _form in _KINDS.items():
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_form})$"), None)


@dataclass(frozen=True)
class Document:
    """What a file holds, and where."""

    data: Any
    root: yaml.Node | None

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of the key or item at a place, or of the one around it."""
        node, mark = self.root, self.root and self.root.start_mark
        for step in place:
            if isinstance(node, yaml.MappingNode) and isinstance(step, str):
                key, node = next((pair for pair in node.value if pair[0].value == step), (None, None))
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                key = node = node.value[step]
            else:
                break
            mark = key.start_mark if key else mark
        return mark.line + 1 if mark else 1


def document(text: str, name: str) -> Document:
    """The text of a file of that name. Raises ProfileError."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
        written = json.dumps(data, ensure_ascii=False, allow_nan=False).encode()  # no NaN, no half of a character
        return Document(json.loads(written), root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _QUOTED.sub(lambda quoted: quoted[0] if quoted["plain"] else "…", error.problem or "not YAML")
        raise ProfileError(f"{name}:{mark.line + 1 if mark else 1}: {problem}") from None
    except (yaml.YAMLError, RecursionError, KeyError, ValueError):
        raise ProfileError(f"{name}: a value or a character that cannot be read, or nested too deeply") from None
