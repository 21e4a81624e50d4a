"""`python -m environments COMMAND staging`: helps to set a profile up, and cleans up after its runs.

`new` writes the commented example with the given options filled in. `check` tells every problem of a profile, and
looks whether a run could begin. `cleanup` deletes the keys that earlier runs registered and did not delete. `journal`
lists the codes that earlier runs sent.
"""

from __future__ import annotations

from environments import early_signals, uncaught  # noqa: F401 - uncaught acts when it is imported

# The first import says what a signal and an exception do during all others.
# isort: split
import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NoReturn

from environments.commands import CLEAN, INCOMPLETE, INTERRUPTED, UNREACHABLE, WRONG_USE, report_error
from environments.commands.check import check
from environments.commands.cleanup import clean_up
from environments.commands.journal import journal_lines, settle_outcome
from environments.commands.new import new_profile
from environments.credentials import forget_variables, open_target, protect_secrets
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.opening import open_client, open_door
from environments.profiles.loading import load
from environments.profiles.model import Profile, ProfileError
from reports.outputs.terminal import print_lines
from reports.outputs.writing import write
from reports.showing.show import Display
from spec.interface import PREPARING


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "new":
            return _write_new(options)
        protect_secrets()
        profile = load(options.environment, base_url=options.base_url) if options.environment else None
        if options.command == "journal" or profile is None:
            return _show_journal(profile, options.settle)
        if options.command == "cleanup":
            return clean_up(profile, _opened, yes=options.yes)
        return check(profile, _opened)
    except ProfileError as error:
        return max(report_error(problem, WRONG_USE) for problem in error.problems)
    except OSError as error:
        return report_error(f"{error.filename}: {error.strerror}", WRONG_USE)
    except UnreachableError as error:
        return report_error(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return report_error("interrupted: nothing more is sent", INTERRUPTED)


def _write_new(options: argparse.Namespace) -> int:
    """Write a new profile, and print what to do next. Returns the exit status."""
    path, text, next_steps = new_profile(options)
    write(path, text)
    print("\n".join(next_steps))
    return CLEAN


def _show_journal(profile: Profile | None, code_to_settle: str | None) -> int:
    """Print the journal, or end the unknown outcome of one code. Returns the exit status."""
    if code_to_settle:
        print(settle_outcome(profile, code_to_settle))
        return CLEAN
    lines, refusal = journal_lines(profile)
    print_lines(lines)
    return report_error(refusal, INCOMPLETE) if refusal else CLEAN


@contextmanager
def _opened(profile: Profile) -> Iterator[Client]:
    """A client of the target through a door of its own. Raises UnreachableError."""
    target = open_target(profile)
    try:
        with closing(open_door(profile, target)) as door:
            client = open_client(door, profile)
            forget_variables(profile)
            yield client
            if door.liveness.unreachable:
                raise UnreachableError(door.liveness.unreachable)
    except UnreachableError as error:
        why = Display(target.secrets).foreign(f"{profile.base_url} cannot be reached: {error}")
        raise UnreachableError(why) from None
    finally:
        target.stop()


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that repeats no secret."""

    def error(self, message: str) -> NoReturn:
        """Print one line and end with exit status 4, as for every wrong use. That of argparse is 2, which means
        interrupted here. An unknown argument is not repeated, because it may be a pasted token."""
        message = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    profile = _Parser(add_help=False)
    profile.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")

    new = commands.add_parser("new", parents=[profile], help="write a profile, which only reads by default")
    new.add_argument("--base-url", required=True, metavar="URL", help="address of the service, without /v1")
    new.add_argument("--account", action="append", default=[], metavar="ID", help="that the token may see; repeatable")
    new.add_argument("--ca-bundle", metavar="FILE", help="authority that signed the certificate of the service, as PEM")
    new.add_argument("--limit", action="append", default=[], metavar="NAME=N", help="such as rate=5; repeatable")
    new.add_argument("--prepare-with", choices=PREPARING, metavar="OPERATION", help="permit it, and prepare transfers")
    new.add_argument("--count", type=int, metavar="N", help="how many transfers --prepare-with prepares; 1 by default")
    new.add_argument("--force", action="store_true", help="replace a profile that is there, and keep its tls")
    check = commands.add_parser("check", parents=[profile], help="say whether a run could begin; only reads are sent")

    cleanup = commands.add_parser("cleanup", parents=[profile], help="list the keys that earlier runs left")
    cleanup.add_argument("--yes", action="store_true", help="delete them")

    journal = commands.add_parser("journal", help="list the codes that earlier runs sent, by time and outcome")
    journal.add_argument("environment", metavar="NAME", nargs="?", help="those of environments/NAME.yaml, or of a path")
    journal.add_argument("--settle", metavar="CODE", help="end an unknown outcome: the code, or its name in the list")
    for command in (check, cleanup, journal):
        command.add_argument("--base-url", metavar="URL", help="replaces that of the profile, as for the run")
    return parser


if __name__ == "__main__":
    early_signals.raise_from_now_on()
    sys.exit(main())
