"""What `pybabel extract` (babel.cfg) finds besides calls of `say`: texts of tables, and entries by hand.

A word or text that stands in no call of `say` (a name of a credential, the title of a chapter) gets its entry by hand,
with the comment `# by hand`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import yaml
from babel.messages.pofile import read_po

_TEXTS = ("text", "section", "untestable", "fix", "expected", "got", "says")
"""Members of the tables that are texts."""
Extracted = tuple[int, Any, Any, Any]


def of_table(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The texts of requirements.yaml, findings.yaml or fixes.yaml."""
    table = yaml.safe_load(file)
    for entry in table.values() if isinstance(table, dict) else table:
        texts = [entry[name] for name in _TEXTS if name in entry]
        heading = entry.get("section", "").split(";")[0].split(",")[0]
        yield from ((1, "", " ".join(text.split()), []) for text in [*texts, heading] if text)


def of_catalogue(file: IO[bytes], *_: Any, **__: Any) -> Iterator[Extracted]:
    """The entries with the comment `by hand`."""
    yield from ((1, "", message.id, []) for message in read_po(file) if "by hand" in message.user_comments)
