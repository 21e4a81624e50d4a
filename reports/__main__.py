"""The command line `python -m reports`, which sends nothing.

- `python -m reports compare A B` says what changed from run A to run B.
- `python -m reports recorded FILE…` judges recorded traffic.

Self-tests: environments/test_command_line.py, reports/observed/test_comparison.py, reports/recorded/test_reading.py.
"""

from __future__ import annotations

import environments.early_signals
import environments.uncaught  # noqa: F401 - it acts when it is imported

# These two come first, because they handle signals and exceptions during all other imports.
# isort: split
import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from environments.command_line import WRONG_USE, CommandParser
from environments.secret_values import Secrets
from reports.observed.comparison import comparison_of_two_runs, lists_of, worsening_in_words
from reports.observed.earlier_runs import UnreadableError, read_run
from reports.outputs.terminal import print_lines
from reports.recorded.reading import judge_files
from reports.result.document import EarlierRun
from reports.showing.show import Display
from spec.requirements import requirements

SAME = 0
WORSE = 1
"""Exit statuses of `compare` from run A to run B:

- 0: nothing became worse.
- 1: a requirement fails in B and did not fail in A; or a requirement that was tested in A is not tested in B, and its
  deviation would make a run fail.
"""


def comparison_lines(earlier: EarlierRun, later: EarlierRun, clean: Callable[[str], str]) -> Iterator[str]:
    """Changes from the run `earlier` to the run `later`, in lines. `clean` makes texts of the runs safe to print."""
    comparison = comparison_of_two_runs(earlier, later, clean)
    yield str(comparison.line)
    for words, ids in lists_of(comparison).items():
        if not ids:
            continue
        yield f"{words}:"
        for id in ids:
            yield f"  {_id_with_statement(id)}"
    yield worsening_in_words(earlier, later, comparison)


def _id_with_statement(id: str) -> str:
    """An id with the statement of its requirement. An id of another version of the suite may be unknown."""
    return f"{id}: {requirements()[id].text}" if id in requirements() else id


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command `compare` or `recorded`, and return its exit status.

    The arguments of `recorded` are passed on to pytest, because its options are options of pytest. Only a request for
    help is answered here, so that the user sees the help of `recorded` and not the help of pytest.
    """
    words = sys.argv[1:] if arguments is None else arguments
    asks_for_help = "-h" in words or "--help" in words
    if words[:1] == ["recorded"] and not asks_for_help:
        return judge_files(words[1:])
    options = _parser().parse_args(words)
    display = Display(Secrets())  # no secret is known here, but it makes unsafe characters visible
    try:
        earlier = read_run(Path(options.a))
        later = read_run(Path(options.b))
    except UnreadableError as error:
        print(f"error: {display.safe_line(str(error))}", file=sys.stderr)
        return WRONG_USE
    print_lines(comparison_lines(earlier, later, display.safe_line))
    return WORSE if comparison_of_two_runs(earlier, later, display.safe_line).worse else SAME


_COMPARE = """\
Say what changed from run A to run B. Nothing is sent. Exit status: 0 if nothing became worse, 1 if a requirement newly
fails or is no longer exercised, 4 if a file cannot be used."""
_RECORDED = """\
Judge recorded traffic (HAR), as pytest --recorded does. Nothing is sent. The exit status is that of a run."""


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line, with the commands `compare` and `recorded`."""
    parser = CommandParser(
        prog="python -m reports",
        description="Compare two runs, or judge recorded traffic. A wrong command line is exit status 4.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    compare = commands.add_parser("compare", help="say what changed between two runs", description=_COMPARE)
    for name, run in (("a", "earlier"), ("b", "later")):
        compare.add_argument(name, metavar=name.upper(), help=f"conformance.json of the {run} run, or its folder")
    recorded = commands.add_parser(
        "recorded",
        usage="python -m reports recorded [--OPTION=VALUE ...] FILE [FILE ...]",
        help="judge recorded traffic",
        description=_RECORDED,
        epilog="The options are those of pytest, such as --environment=staging. pytest --help lists them.",
    )
    recorded.add_argument("files", metavar="FILE", nargs="+", help="HAR file, folder, glob or address")
    return parser


if __name__ == "__main__":
    sys.exit(main())
