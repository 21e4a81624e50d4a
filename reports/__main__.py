"""What runs left, without a run: `python -m reports compare A B` says what changed from run A to run B,
`python -m reports overview RUN …` shows several runs in one table, and `python -m reports propose RUN` writes what a
run observed as an overlay of the OpenAPI schema.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

from environments.secrets import Secrets
from reports.comparing import overview
from reports.comparing.comparison import RunToCompare, compared, run_to_compare
from reports.comparing.comparison_text import Comparison, markdown, text
from reports.comparing.overview import Row, row_of
from reports.comparing.reading import UnreadableError, read
from reports.formats.outputs import PAGE
from reports.proposing.proposal import proposal_of
from reports.redaction import Redactor
from reports.wording import one_line
from reports.writing import write
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
    try:
        status: int = options.command(options, Redactor(Secrets(), personal_fields()))
    except UnreadableError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USE
    return status


def _compare(options: argparse.Namespace, redactor: Redactor) -> int:
    comparison = compared(_run_to_compare(options.a, redactor), _run_to_compare(options.b, redactor))
    _print("\n".join(_FORMATS[options.format](comparison)))
    return WORSE if comparison["worse"] else SAME


def _overview(options: argparse.Namespace, redactor: Redactor) -> int:
    _print("\n".join(_OVERVIEWS[options.format]([_row(run, redactor) for run in options.runs])))
    return SAME


def _propose(options: argparse.Namespace, redactor: Redactor) -> int:
    with _named(options.run, redactor):
        proposal = proposal_of(read(Path(options.run)), redactor.line)
    if options.output is None:
        _print(proposal.rstrip("\n"))
        return SAME
    with _named(options.output, redactor):
        _write(Path(options.output), proposal)
    return SAME


def _write(path: Path, text: str) -> None:
    try:
        write(path, text)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be written: {getattr(error, 'strerror', None) or 'not a path'}") from None


@contextmanager
def _named(path: str, redactor: Redactor) -> Iterator[None]:
    """What is wrong with a file is said with its name."""
    try:
        yield
    except UnreadableError as error:
        raise UnreadableError(f"{redactor.line(path)}: {error}") from None


_OVERVIEWS: dict[str, Callable[[Sequence[Row]], Iterable[str]]] = {"markdown": overview.markdown, "html": overview.html}


def _row(run: str, redactor: Redactor) -> Row:
    """The row of a run; of a folder without a readable report, why. A report of the same folder is linked to."""
    path = Path(run)
    page = "./" + quote(f"{path.as_posix()}/{PAGE}")
    try:
        return row_of(read(path), redactor.line, page if not path.is_absolute() and (path / PAGE).is_file() else "")
    except UnreadableError as error:
        return Row(redactor.line(path.name), why=str(error))


def _run_to_compare(path: str, redactor: Redactor) -> RunToCompare:
    with _named(path, redactor):
        return run_to_compare(read(Path(path)), redactor.line)


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
    commands = parser.add_subparsers(required=True)
    said = "say what changed from run A to run B; exit status 1 where something got worse"
    compare = _command(commands, "compare", _compare, said)
    for name in ("a", "b"):
        compare.add_argument(name, metavar=name.upper(), help=_RUN)
    compare.add_argument("--format", choices=_FORMATS, default="text", help="text (the default), markdown or json")
    said = "show several runs in one table, for the overview page of a pipeline; a run without a report is a row, too"
    table = _command(commands, "overview", _overview, said)
    table.add_argument("runs", metavar="RUN", nargs="+", help="the folder of a run")
    table.add_argument("--format", choices=_OVERVIEWS, default="markdown", help="markdown (the default) or html")
    said = "write what a run observed, and the interface document does not show, as an OpenAPI overlay"
    propose = _command(commands, "propose", _propose, said)
    propose.add_argument("run", metavar="RUN", help=_RUN)
    propose.add_argument("--output", metavar="FILE", help="where to write it; default: the terminal")
    return parser


_RUN = "the conformance.json of a run, or its folder"


def _command(commands: Any, name: str, run: Callable[..., int], said: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=said, description=said)
    parser.set_defaults(command=run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
