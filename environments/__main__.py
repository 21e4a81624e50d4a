"""`python -m environments COMMAND staging`: helps to set a profile up, and cleans up after its runs.

`new` writes the commented example with the given options filled in. `check` tells every problem of a profile, and
looks whether a run could begin. `cleanup` deletes the keys that earlier runs registered and did not delete. `journal`
lists the codes that earlier runs sent.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import NoReturn

from environments.commands.checking import Remark, at_the_target, in_the_profile
from environments.commands.cleanup import delete, left_by_runs, refuse_wrong_use
from environments.commands.sent_codes import lines_of, settle
from environments.credentials import forget_variables, open_target, protect
from environments.door.backoff import UnreachableError
from environments.door.client import Client
from environments.door.event_log import JournalError
from environments.door.opening import journal_of, open_client, open_door, record_of_keys
from environments.profiles.explained import SCHEMA_FILE, example
from environments.profiles.loading import load, named, path_of, profile_of
from environments.profiles.model import ENVIRONMENTS, Profile, ProfileError, shown
from environments.secret_values import Secrets, listed_secrets
from reports.show import Display
from reports.writing import write

CLEAN, LEFT, INTERRUPTED, WRONG_USE, INCOMPLETE, UNREACHABLE = 0, 1, 2, 4, 6, 7
"""Exit statuses, as those of a run. LEFT: keys are left."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    display = Display(Secrets())
    try:
        if options.command == "new":
            return _write_new(options)
        protect()
        profile = load(options.environment) if options.environment else None
        if options.command == "journal" or profile is None:
            return _show_journal(profile, options.settle)
        display = Display(listed_secrets(profile))
        return _clean_up(profile, options.yes) if options.command == "cleanup" else _check(profile)
    except ProfileError as error:
        return max(_error(display.foreign(problem), WRONG_USE) for problem in error.problems)
    except JournalError as error:
        return _error(display.foreign(str(error)), WRONG_USE)
    except UnreachableError as error:
        return _error(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return _error("interrupted: nothing more is sent", INTERRUPTED)


def _error(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _write_new(options: argparse.Namespace) -> int:
    path = path_of(options.environment)
    if not re.fullmatch(r"\w[\w .-]*\.ya?ml", path.name):
        raise ProfileError(f"{shown(path)}: expected a name such as staging, or a path that ends in .yaml")
    if os.path.lexists(path):
        raise ProfileError(f"{shown(path)}: exists already; delete it, or choose another name")
    said = {"base_url": options.base_url, **({"accounts": options.account} if options.account else {})}
    text = example(said, os.path.relpath(ENVIRONMENTS / SCHEMA_FILE, path.absolute().parent))
    profile_of(text, path)
    try:
        write(path, text)
    except OSError as error:
        return _error(f"{shown(path)}: cannot be written ({error.strerror})", WRONG_USE)
    name = shlex.quote(named(path))
    print(f"wrote {shown(path)}: it only reads; what else it may allow is explained in it and switched off")
    print(f"  export PIX_TOKEN=…\n  python -m environments check {name}\n  pytest --environment={name} --plan")
    return CLEAN


def _show_journal(profile: Profile | None, settles: str | None) -> int:
    journal = journal_of(profile)
    if settles:
        print(settle(journal, settles))
        return CLEAN
    print(*lines_of(journal, profile.name if profile else ""), sep="\n")
    refusal = journal.refusal()
    return _error(refusal, INCOMPLETE) if refusal else CLEAN


def _check(profile: Profile) -> int:
    narrow = replace(profile, allow=profile.allow & {"read"})
    where = f"{shown(profile.path)} is valid; its target is {'a' if profile.is_sandbox else 'no'} sandbox"
    supplied = list(in_the_profile(profile))  # before the variables are forgotten: the key of the journal may be one
    lacking = False
    with _opened(narrow) as (client, display):
        for remark in chain([Remark("profile", where)], at_the_target(client, narrow), supplied):
            print(display.foreign(f"{remark.topic}: {remark.text}"))
            lacking |= remark.lacking
    ready = f"ready: pytest --environment={named(profile.path)} --plan"
    print("not ready: a run would be incomplete" if lacking else ready)
    return INCOMPLETE if lacking else CLEAN


def _clean_up(profile: Profile, yes: bool) -> int:
    refuse_wrong_use(profile)
    run = secrets.token_hex(8)
    record = record_of_keys(profile, run=run)
    entries = list(left_by_runs(profile, record))
    for entry in entries:
        print(f"left by an earlier run: {entry.name}{': ' if entry.keeps else ''}{entry.keeps}")
    if not entries:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    if not yes:
        print("nothing was deleted: --yes deletes the keys without a reason to stay")
        return LEFT
    narrow = replace(profile, allow=profile.allow & {"delete-keys"})
    with _opened(narrow, run) as (client, _):
        gone = [delete(client, profile, record, entry) for entry in entries]
    return CLEAN if all(gone) else LEFT


@contextmanager
def _opened(profile: Profile, run: str = "") -> Iterator[tuple[Client, Display]]:
    """A client of the target through a door of its own, and what hides its known values. Raises UnreachableError."""
    target = open_target(profile)
    display = Display(target.secrets)
    try:
        with closing(open_door(profile, target, run)) as door:
            client = open_client(door, profile)
            forget_variables(profile)
            if why := door.connect():
                raise UnreachableError(why)
            yield client, display
            if why := door.liveness.unreachable:
                raise UnreachableError(why)
    except UnreachableError as error:
        raise UnreachableError(display.foreign(f"{profile.base_url} cannot be reached: {error}")) from None
    finally:
        target.stop()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 4, as for every wrong use; argparse's own is 2, which means interrupted here. An
        argument that is not known is not repeated: it may be a pasted token."""
        message = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    profile = _Parser(add_help=False)
    profile.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")

    new = commands.add_parser("new", parents=[profile], help="write a profile, which only reads")
    new.add_argument("--base-url", required=True, metavar="URL", help="address of the service, without /v1")
    account = "an account that the token may see; may be repeated"
    new.add_argument("--account", action="append", default=[], metavar="ID", help=account)
    commands.add_parser("check", parents=[profile], help="say whether a run could begin; only reads are sent")

    cleanup = commands.add_parser("cleanup", parents=[profile], help="list the keys that earlier runs left")
    cleanup.add_argument("--yes", action="store_true", help="delete them")

    journal = commands.add_parser("journal", help="list the codes that earlier runs sent, by time and outcome")
    journal.add_argument("environment", metavar="NAME", nargs="?", help="those of environments/NAME.yaml, or of a path")
    journal.add_argument("--settle", metavar="CODE", help="end an unknown outcome: the code, or its name in the list")
    return parser


if __name__ == "__main__":
    sys.exit(main())
