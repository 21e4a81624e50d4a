"""What runs left, without a run: `python -m reports compare A B` says what changed from run A to run B."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from environments.secrets import Secrets
from reports.comparing.comparison import RunToCompare, compared, run_to_compare
from reports.comparing.comparison_text import Comparison, markdown, text
from reports.comparing.reading import UnreadableError, read
from reports.formats.conformance_json import as_json
from reports.show import Display
from reports.wording import one_line

SAME, WORSE, WRONG_USE = 0, 1, 2
"""Exit statuses: nothing got worse; something did; bad input or a wrong command line, in one line."""

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
