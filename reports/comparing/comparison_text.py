"""A comparison in words: as plain text for a terminal, and as Markdown for the summary of a pipeline.

Markdown holds ids, counts and sentences of ours, and no text of the service: such summaries are often public.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from reports.comparing.comparison import WORDS
from reports.moments import moment_in_words
from reports.observations.drift import where
from spec.requirements import ledger

Comparison = Mapping[str, Any]
"""What `reports.comparing.comparison.compared` gives."""


def text(comparison: Comparison) -> Iterator[str]:
    """Lines of plain text."""
    yield str(comparison["line"])
    yield f"  was: {_run(comparison['with'])}"
    yield f"  is:  {_run(comparison['of'])}"
    for name, words in WORDS.items():
        yield from _block(f"{words}:", (f"{id}{_statement(id)}" for id in comparison[name]))
    yield from _block("observed differently:", _observed(comparison))
    times = comparison["latency"].items()
    rows = (f"{name:<20} {_ms(both['was_ms']):>9} {_ms(both['is_ms']):>9}" for name, both in times)
    yield from _block(f"{'median latency in ms':<22} {'was':>9} {'is':>9}", rows)
    yield _conclusion(comparison)


def markdown(comparison: Comparison) -> Iterator[str]:
    """Lines of Markdown."""
    yield f"**{escaped(str(comparison['line']))}**"
    for name, words in WORDS.items():
        yield from _items(words, [f"`{id}`{escaped(_statement(id))}" for id in comparison[name]])
    differing = dict.fromkeys(seen["id"] for seen in comparison["observations"])
    yield from _items("observed differently", [f"`{id}`" for id in differing])
    times = comparison["latency"].items()
    rows = (f"| `{name}` | {_ms(both['was_ms'])} | {_ms(both['is_ms'])} |" for name, both in times)
    yield from ("", "| median latency in ms | was | is |", "|---|--:|--:|", *rows)
    yield from ("", _conclusion(comparison))


def _conclusion(comparison: Comparison) -> str:
    """What the exit status of `compare` says."""
    return "something got worse" if comparison["worse"] else "nothing got worse"


def _run(identity: Mapping[str, str]) -> str:
    when = moment_in_words(identity["started"])
    return f"{identity['environment']}, {when}, {identity['verdict']} (suite {identity['suite_version']})"


def _observed(comparison: Comparison) -> Iterator[str]:
    for seen in comparison["observations"]:
        yield from (where(seen), f"  was: {seen['was']}", f"  is:  {seen['is']}")


def _block(heading: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from (heading, *(f"  {line}" for line in found))


def _items(heading: str, items: list[str]) -> Iterator[str]:
    if items:
        yield from ("", f"{heading.capitalize()}: {len(items)}", "", *(f"- {item}" for item in items))


def _statement(requirement_id: str) -> str:
    """The statement of a requirement; nothing for one that the ledger of this suite does not have."""
    requirement = ledger().get(requirement_id)
    return f": {requirement.text}" if requirement else ""


def _ms(value: float | None) -> str:
    return "-" if value is None else str(value)


def escaped(text: str) -> str:
    """A text that means nothing to Markdown or HTML."""
    return escape(re.sub(r"[\\`*_{}\[\]#!|~@]", r"\\\g<0>", text), quote=False)
