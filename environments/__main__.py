"""`python -m environments COMMAND staging`: helps to set a profile up, and cleans up after its runs.

`new` writes the commented example with the given options filled in. `check` tells every problem of a profile, and
says whether a run could begin. `cleanup` deletes the keys that earlier runs registered and did not delete. `journal`
lists the codes that earlier runs sent.

Self-tests: environments/test_command_line.py, environments/commands/test_check.py,
environments/commands/test_cleanup.py, environments/commands/test_journal.py, environments/commands/test_new.py.
"""

from __future__ import annotations

from environments import early_signals, uncaught  # noqa: F401 - uncaught acts when it is imported

# These two are imported first. `early_signals` sets the handler of Ctrl-C and SIGTERM, and `uncaught` the hook for
# exceptions, so that an error during the imports below ends the process with one line.
# isort: split
import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from environments.command_line import CommandParser
from environments.commands import CLEAN, INCOMPLETE, INTERRUPTED, UNREACHABLE, WRONG_USE, report_error
from environments.commands.check import check
from environments.commands.cleanup import clean_up
from environments.commands.journal import journal_lines, settle_outcome
from environments.commands.new import new_profile
from environments.credentials import open_target, protect_secrets, remove_secret_variables
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.opening import open_client, open_door
from environments.profiles.loading import load
from environments.profiles.model import Profile, ProfileError
from reports.outputs.terminal import print_lines
from reports.outputs.writing import write_private_file
from reports.showing.show import Display
from spec.interface import PREPARING_OPERATIONS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the command line names: new, check, cleanup or journal. Returns the exit status.

    Every expected error is printed in one line, and has an exit status of its own.
    """
    options = _parser().parse_args(arguments)
    try:
        if options.command == "new":
            return _write_new(options)
        protect_secrets()
        profile = load(options.environment, base_url=options.base_url) if options.environment else None
        # `journal` is the only command that may have no profile: it prints the codes of all profiles then.
        if options.command == "journal" or profile is None:
            return _show_journal(profile, options.settle)
        if options.command == "cleanup":
            return clean_up(profile, _client_for, yes=options.yes)
        return check(profile, _client_for)
    except ProfileError as error:
        for problem in error.problems:
            report_error(problem, WRONG_USE)
        return WRONG_USE
    except OSError as error:
        is_about_output = error.filename is None  # then the hook in uncaught.py prints what is wrong
        if is_about_output:
            raise
        return report_error(f"{error.filename}: {error.strerror}", WRONG_USE)
    except UnreachableError as error:
        return report_error(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return report_error("interrupted: nothing more is sent", INTERRUPTED)


def _write_new(options: argparse.Namespace) -> int:
    """Write a new profile, and print what to do next. Returns the exit status."""
    path, text, next_steps = new_profile(options)
    write_private_file(path, text)
    print("\n".join(next_steps))
    return CLEAN


def _show_journal(profile: Profile | None, code_to_settle: str | None) -> int:
    """Print the journal, which lists the transaction codes that earlier runs sent. Returns the exit status.

    Nobody knows of some transfers whether they moved money. If `code_to_settle` is given, the journal gets a note that
    a person has checked the transfer with this code. Then the journal is not printed.
    """
    if code_to_settle:
        print(settle_outcome(profile, code_to_settle))
        return CLEAN
    lines, why_no_code_is_sent = journal_lines(profile)
    print_lines(lines)
    if why_no_code_is_sent:
        return report_error(why_no_code_is_sent, INCOMPLETE)
    return CLEAN


@contextmanager
def _client_for(profile: Profile) -> Iterator[Client]:
    """A context in which a client sends requests to the service of a profile. Its connections are closed at the end.

    The client sends through the door: the object that checks every request and owns the connections. Raises
    UnreachableError if the service cannot be reached. If that happened within the `with` block, the error is raised at
    the end of the block, because the client itself raises no error.
    """
    target = open_target(profile)
    try:
        with closing(open_door(profile, target)) as door:
            client = open_client(door, profile)
            remove_secret_variables(profile)  # all of them are read by now, and no child process needs them
            yield client
            if door.liveness.why_unreachable:
                raise UnreachableError(door.liveness.why_unreachable)
    except UnreachableError as error:
        why = Display(target.secrets).without_known_values(f"{profile.base_url} cannot be reached: {error}")
        raise UnreachableError(why) from None
    finally:
        target.stop()


_NEW = """\
Write the profile environments/NAME.yaml: the commented example with these options filled in. Nothing is sent. A run
with it only reads, unless --prepare-with is given. Exit status: 0, or 4 if the profile cannot be written."""
_CHECK = """\
Print every problem of a profile, and whether a run could begin. It only reads. Exit status: 0 if a run could begin,
4 if the profile is wrong, 6 if a run would be incomplete, 7 if the service cannot be reached."""
_CLEAN_UP = """\
List the keys that earlier runs registered and did not delete. With --yes, delete them. Exit status: 0 if no key is
left, 1 if some are left, 4 if the profile is wrong, 6 if a key was lost that was there before, so that nothing more was
deleted, 7 if the service cannot be reached."""
_JOURNAL = """\
List the transaction codes that earlier runs sent, with time and outcome. With --settle, end an unknown outcome after
somebody looked the transfer up. Nothing is sent. Exit status: 0, 4 if the profile is wrong, 6 if the
journal keeps all codes from being sent."""


def _parser() -> argparse.ArgumentParser:
    """The parser of the command line, with a subcommand each for new, check, cleanup and journal."""
    parser = CommandParser(
        prog="python -m environments",
        allow_abbrev=False,
        description="Set a profile up, and clean up after its runs. A wrong command line is exit status 4.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    profile = CommandParser(add_help=False)
    profile.add_argument("environment", metavar="NAME", help="the profile environments/NAME.yaml, or a path")

    _add_new(commands, profile)
    check = commands.add_parser(
        "check",
        parents=[profile],
        help="print every problem of a profile, and whether a run could begin",
        description=_CHECK,
    )

    cleanup = commands.add_parser(
        "cleanup", parents=[profile], help="list or delete the keys that earlier runs left", description=_CLEAN_UP
    )
    cleanup.add_argument("--yes", action="store_true", help="delete the keys that are listed")

    journal = commands.add_parser("journal", help="list the codes that earlier runs sent", description=_JOURNAL)
    journal.add_argument(
        "environment",
        metavar="NAME",
        nargs="?",
        help="the profile environments/NAME.yaml, or a path; without it, the codes of all",
    )
    journal.add_argument("--settle", metavar="ENTRY", help="the code, or its name in the list")
    for command in (check, cleanup, journal):
        command.add_argument("--base-url", metavar="URL", help="use this address in place of that of the profile")
    return parser


def _add_new(commands: Any, profile: CommandParser) -> None:
    """Add the command `new` to the parser of the command line. `profile` has the argument that names a profile."""
    new = commands.add_parser("new", parents=[profile], help="write a profile", description=_NEW)
    new.add_argument("--base-url", required=True, metavar="URL", help="address of the service, without /v1")
    new.add_argument(
        "--account", action="append", default=[], metavar="ID", help="account that the token may see; may be repeated"
    )
    new.add_argument("--ca-bundle", metavar="FILE", help="authority that signed the certificate of the service, as PEM")
    new.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=N",
        help="one of the limits, such as rate=5; may be repeated",
    )
    new.add_argument(
        "--prepare-with",
        choices=PREPARING_OPERATIONS,
        metavar="OPERATION",
        help=f"permit this operation, and prepare transfers with it: {', '.join(PREPARING_OPERATIONS)}",
    )
    new.add_argument("--count", type=int, metavar="N", help="prepare N transfers with it (default: 1)")
    new.add_argument("--force", action="store_true", help="replace an existing profile, of which only tls is kept")


if __name__ == "__main__":
    early_signals.raise_from_now_on()
    sys.exit(main())
