"""Commands: `python -m reports compare A B` says what changed from run A to run B, `python -m reports recorded FILE…`
judges recorded traffic."""

from __future__ import annotations

import environments.early_signals
import environments.uncaught  # noqa: F401 - it acts when it is imported

# These two come first, because they handle signals and exceptions during all other imports.
# isort: split
import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from environments.secret_values import Secrets
from reports.observed.comparison import compared, lists_of, result_line
from reports.observed.earlier_runs import UnreadableError, read_run
from reports.outputs.terminal import print_lines
from reports.recorded.reading import judge_files
from reports.result.document import EarlierRun
from reports.sentences.wording import one_line
from reports.showing.show import Display
from spec.requirements import requirements

SAME = 0
WORSE = 1
WRONG_USE = 2
"""Exit statuses of `compare`:

- 0: nothing newly fails
- 1: a requirement newly fails, or one at a failing level is no longer exercised
- 2: a file cannot be read, or the command line is wrong; one line says so
"""


def text(was: EarlierRun, now: EarlierRun, clean: Callable[[str], str]) -> Iterator[str]:
    """Changes from one run to another as lines of plain text. `clean` is applied to free texts of the runs."""
    comparison = compared(was, now, clean)
    yield str(comparison.line)
    for words, ids in lists_of(comparison).items():
        if ids:
            yield f"{words}:"
        yield from (f"  {_with_statement(id)}" for id in ids)
    yield result_line(was, now, comparison)


def _with_statement(id: str) -> str:
    """An id with the statement of its requirement. An id of another version of the suite may be unknown."""
    return f"{id}: {requirements()[id].text}" if id in requirements() else id


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and give its exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["recorded"]:
        return judge_files(words[1:])
    options = _parser().parse_args(words)
    display = Display(Secrets())
    try:
        was, now = read_run(Path(options.a)), read_run(Path(options.b))
    except UnreadableError as error:
        print(f"error: {display.line(str(error))}", file=sys.stderr)
        return WRONG_USE
    print_lines(text(was, now, display.line))
    return WORSE if compared(was, now, display.line).worse else SAME


class _OneLineParser(argparse.ArgumentParser):
    """A parser that says an error in one line, where argparse prints its usage, too."""

    def error(self, message: str) -> NoReturn:
        """Print one line, and exit with status 2."""
        self.exit(WRONG_USE, f"error: {one_line(message)}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _OneLineParser(prog="python -m reports", description="Say what changed from run A to run B.")
    parser.add_argument("command", choices=["compare"], help="exit status 1 if something newly fails")
    for name in ("a", "b"):
        parser.add_argument(name, metavar=name.upper(), help="the conformance.json of a run, or its folder")
    return parser


if __name__ == "__main__":
    sys.exit(main())
