"""What runs left, without a run: `python -m reports compare A B` says what changed from run A to run B, and
`python -m reports overview RUN …` shows several runs in one table.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from environments.secrets import Secrets
from reports.comparing import overview
from reports.comparing.comparison import Outcome, compared
from reports.comparing.comparison_text import Comparison, markdown, text
from reports.comparing.overview import Row, row_of
from reports.comparing.reading import UnreadableError, one_line, outcome_read, read
from reports.formats.outputs import PAGE
from reports.redaction import Redactor
from spec.interface import personal_fields

SAME, WORSE, WRONG_USE = 0, 1, 2
"""Exit statuses: nothing got worse; something did; bad input or a wrong command line, in one line."""

_FORMATS: dict[str, Callable[[Comparison], Iterable[str]]] = {
    "text": text,
    "markdown": markdown,
    "json": lambda comparison: [json.dumps(comparison, indent=1)],
}


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing got worse; 1: newly failing, or no longer exercised at a failing level; 2: wrong use."""
    options = _parser().parse_args(arguments)
    redactor = Redactor(Secrets(), personal_fields())
    if options.command == "overview":
        _print("\n".join(_OVERVIEWS[options.format]([_row(run, redactor) for run in options.runs])))
        return SAME
    try:
        comparison = compared(_outcome(options.a, redactor), _outcome(options.b, redactor))
    except UnreadableError as error:
        return _error(str(error))
    _print("\n".join(_FORMATS[options.format](comparison)))
    return WORSE if comparison["worse"] else SAME


_OVERVIEWS: dict[str, Callable[[Sequence[Row]], Iterable[str]]] = {"markdown": overview.markdown, "html": overview.html}


def _row(run: str, redactor: Redactor) -> Row:
    """The row of a run; of a folder without a readable report, why. A report of the same folder is linked to."""

    def clean(text: str) -> str:
        return one_line(redactor.text(text))

    path = Path(run)
    page = "./" + quote(f"{path.as_posix()}/{PAGE}")
    try:
        return row_of(read(path), clean, page if not path.is_absolute() and (path / PAGE).is_file() else "")
    except UnreadableError as error:
        return Row(clean(path.name), why=str(error))


def _outcome(path: str, redactor: Redactor) -> Outcome:
    try:
        return outcome_read(read(Path(path)), redactor.text)
    except UnreadableError as error:
        raise UnreadableError(f"{one_line(redactor.text(path))}: {error}") from None


def _print(text: str) -> None:
    """Print in any encoding; a reader such as `head` that has seen enough is no fault."""
    try:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _error(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return WRONG_USE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 2."""
        self.exit(WRONG_USE, f"error: {one_line(message)}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m reports")
    commands = parser.add_subparsers(dest="command", required=True)
    said = "say what changed from run A to run B; exit status 1 where something got worse"
    compare = commands.add_parser("compare", help=said, description=said)
    for name in ("a", "b"):
        compare.add_argument(name, metavar=name.upper(), help="the conformance.json of a run, or its folder")
    compare.add_argument("--format", choices=_FORMATS, default="text", help="text (the default), markdown or json")
    said = "show several runs in one table, for the overview page of a pipeline; a run without a report is a row, too"
    table = commands.add_parser("overview", help=said, description=said)
    table.add_argument("runs", metavar="RUN", nargs="+", help="the folder of a run")
    table.add_argument("--format", choices=_OVERVIEWS, default="markdown", help="markdown (the default) or html")
    return parser


if __name__ == "__main__":
    sys.exit(main())
