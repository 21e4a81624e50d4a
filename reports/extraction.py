"""What `pybabel extract` (babel.cfg) finds besides calls of `say`: texts of tables, facts that tests state, and words.

A word or text that stands in no call of `say` (a name of a credential, the title of a chapter) is found where it has an
entry in a catalogue already: a new one is wrapped in `say`, or gets its entry by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import IO, Any

import yaml
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po

from reports.language import catalogues

_TEXTS = ("text", "section", "untestable", "fix", "expected", "got", "says")
"""Members of the tables that are texts."""
Extracted = tuple[int, Any, Any, Any]


def of_table(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """The texts of requirements.yaml, findings.yaml or fixes.yaml."""
    table = yaml.safe_load(file.read())
    for entry in table.values() if isinstance(table, dict) else table:
        texts = [entry[name] for name in _TEXTS if name in entry]
        texts += [entry["section"].split(";")[0].split(",")[0]] if "section" in entry else []
        yield from ((1, "", " ".join(text.split()), []) for text in texts)


def of_module(file: IO[bytes], keywords: Any, comment_tags: Any, options: Any) -> Iterator[Extracted]:
    """The messages of a module, the docstrings of its tests, and its literals that have an entry."""
    source = file.read()
    yield from extract_python(BytesIO(source), keywords, comment_tags, options)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in _known():
            yield node.lineno, "", node.value, []
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.lineno, "", " ".join((ast.get_docstring(node) or "").split()), []


@cache
def _known() -> frozenset[str]:
    """The texts without a plural that have an entry."""
    found = [read_po(BytesIO(file.read_bytes())) for file in catalogues().values()]
    return frozenset(message.id for catalogue in found for message in catalogue if isinstance(message.id, str)) - {""}
