"""What runs left, without a run: `python -m reports compare A B` says what changed from run A to run B.

Markdown holds ids, counts and sentences of ours, and no text of the service: summaries of pipelines are often public.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NoReturn

from environments.secrets import Secrets
from reports.comparing.comparison import WORDS, RunToCompare, compared, run_to_compare
from reports.comparing.reading import UnreadableError, read
from reports.formats.conformance_json import as_json
from reports.moments import moment_in_words
from reports.observations.drift import where
from reports.show import Display
from reports.wording import one_line
from spec.requirements import ledger

SAME, WORSE, WRONG_USE = 0, 1, 2
"""Exit statuses: nothing got worse; something did; bad input or a wrong command line, in one line."""

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
    yield f"**{_escaped(str(comparison['line']))}**"
    for name, words in WORDS.items():
        yield from _items(words, [f"`{id}`{_escaped(_statement(id))}" for id in comparison[name]])
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


def _escaped(text: str) -> str:
    """A text that means nothing to Markdown or HTML."""
    return escape(re.sub(r"[\\`*_{}\[\]#!|~@]", r"\\\g<0>", text), quote=False)


_FORMATS: dict[str, Callable[[Comparison], Iterable[str]]] = {
    "text": text,
    "markdown": markdown,
    "json": lambda comparison: [as_json(dict(comparison)).rstrip()],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing got worse; 1: newly failing, or no longer exercised at a failing level; 2: wrong use."""
    options = _parser().parse_args(arguments)
    display = Display(Secrets())
    try:
        comparison = compared(_run_to_compare(options.a, display), _run_to_compare(options.b, display))
    except UnreadableError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    _print("\n".join(_FORMATS[options.format](comparison)))
    return WORSE if comparison["worse"] else SAME


def _run_to_compare(path: str, display: Display) -> RunToCompare:
    """The run at `path`; what is wrong with its file is said with its name."""
    try:
        return run_to_compare(read(Path(path)), display.line)
    except UnreadableError as error:
        raise UnreadableError(f"{display.line(path)}: {error}") from None


def _print(text: str) -> None:
    """Print in any encoding; a reader such as `head` that has seen enough is no fault."""
    try:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 2."""
        self.exit(WRONG_USE, f"error: {one_line(message)}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m reports")
    said = "say what changed from run A to run B; exit status 1 where something got worse"
    compare = parser.add_subparsers(required=True).add_parser("compare", help=said, description=said)
    for name in ("a", "b"):
        compare.add_argument(name, metavar=name.upper(), help="the conformance.json of a run, or its folder")
    compare.add_argument("--format", choices=_FORMATS, default="text", help="text (the default), markdown or json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
