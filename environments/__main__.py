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
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from environments.commands.checking import Remark, at_the_target, connected, in_the_profile, left_prepared, to_check
from environments.commands.cleanup import (
    CLEAN,
    LEFT,
    UNREACHABLE,
    WRONG_USE,
    Cleanup,
    Entry,
    left_by_runs,
    refuse_wrong_use,
)
from environments.commands.new_profile import OPTIONS, next_steps, path_of_new, text_of_new
from environments.commands.sent_codes import code_from, lines_of, opened_journal, settle
from environments.door.client import Client
from environments.door.event_log import JournalError
from environments.door.liveness import UnreachableError
from environments.door.opening import open_client, open_door, record_of_keys
from environments.process import forget_variables, protect
from environments.profiles.credentials import refuse_missing_credentials
from environments.profiles.loading import load, named
from environments.profiles.profile import EMBEDDED, Profile, ProfileError, shown
from environments.profiles.target import open_target
from environments.secrets import Secrets, listed_secrets
from reports.show import Display
from reports.writing import write
from spec.message import say_many

INCOMPLETE, INTERRUPTED = 6, 2
"""Exit statuses of a check, as those of a run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all is well; 1: keys are left; 2: interrupted; 4: a bad profile or command line; 6: a run would be incomplete;
    7: the target cannot be reached."""
    options = _parser().parse_args(arguments)
    display = Display(Secrets())
    try:
        if options.command == "new":
            return _write_new(path_of_new(options.environment), vars(options))
        protect()
        if options.command == "journal":
            return _show_journal(load(options.environment) if options.environment else None, options.settle)
        profile = load(options.environment)
        display = Display(listed_secrets(profile))
        return _clean_up(profile, options.yes) if options.command == "cleanup" else _check(profile, options.prepare)
    except ProfileError as error:
        return max(_error(display.foreign(problem), WRONG_USE) for problem in error.problems)
    except JournalError as error:
        return _error(display.foreign(str(error)), WRONG_USE)
    except UnreachableError as error:
        return _error(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return _error("interrupted: nothing more is sent", INTERRUPTED)


def _write_new(path: Path, options: Mapping[str, Any]) -> int:
    if os.path.lexists(path) and not options["force"]:
        return _error(f"{shown(path)}: exists already; --force replaces it", WRONG_USE)
    text = text_of_new(path, options)
    try:
        write(path, text)
    except OSError as error:
        return _error(f"{shown(path)}: cannot be written ({error.strerror})", WRONG_USE)
    print(*next_steps(path, options), sep="\n")
    return CLEAN


def _show_journal(profile: Profile | None, settles: str | None) -> int:
    journal = opened_journal(profile)
    if settles:
        is_named = settles == "-" or os.path.isfile(settles)
        print(settle(journal, code_from(settles, "--settle") if is_named else settles))
        return CLEAN
    print(*lines_of(journal, profile.name if profile else ""), sep="\n")
    refusal = journal.refusal()
    return _error(refusal, INCOMPLETE) if refusal else CLEAN


def _check(profile: Profile, prepares: bool) -> int:
    narrow = to_check(profile, prepares=prepares)
    supplied = list(in_the_profile(profile))
    refuse_missing_credentials(profile)
    where = "a sandbox" if profile.is_sandbox else "no sandbox"
    told: list[Remark] = []
    with _opened(narrow) as (client, display):

        def say(remarks: Iterable[Remark]) -> None:
            for each in remarks:
                print(display.foreign(f"{each.topic}: {each.text}"))
                told.append(each)

        say([Remark("profile", f"{shown(profile.path)} is valid; its target is {where}")])
        try:
            say(at_the_target(client, narrow, prepares=prepares))
        finally:
            say(left_prepared(client))
        say(supplied)
    lacking = any(each.lacking for each in told)
    ready = f"ready: pytest --environment={named(profile.path)} --plan"
    print("not ready: a run would be incomplete" if lacking else ready)
    return INCOMPLETE if lacking else CLEAN


@contextmanager
def _opened(profile: Profile, run: str = "") -> Iterator[tuple[Client, Display]]:
    """A client of the target through a door of its own, and what hides its known values."""
    target = open_target(profile)
    with ExitStack() as stack:
        stack.callback(target.stop)
        door = stack.enter_context(closing(open_door(profile, target, run)))
        client, display = open_client(door, profile), Display(target.secrets)
        forget_variables(profile)
        try:
            yield client, display
            if why := door.liveness.unreachable:
                raise UnreachableError(why)
        except UnreachableError as error:
            raise UnreachableError(display.foreign(f"{profile.base_url} cannot be reached: {error}")) from None


def _clean_up(profile: Profile, yes: bool) -> int:
    refuse_wrong_use(profile)
    if profile.base_url == EMBEDDED:
        print("nothing to clean up: the embedded sandbox forgets its keys")
        return CLEAN
    run = secrets.token_hex(8)
    record = record_of_keys(profile, run=run)
    entries = left_by_runs(profile, record)
    if not entries:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    narrow = replace(profile, allow=profile.allow & {"delete-keys"})
    with _opened(narrow, run) as (client, _):
        connected(client)
        return _ask_and_delete(Cleanup(client, narrow, record, print), entries, yes=yes)


def _ask_and_delete(cleanup: Cleanup, entries: Sequence[Entry], *, yes: bool) -> int:
    print("keys that earlier runs left:")
    to_delete = cleanup.name(entries)
    if not to_delete:
        cleanup.forget(entries)
        print("nothing that can be deleted")
        return LEFT
    keys = say_many("{n} key", "{n} keys", n=len(to_delete))
    if not yes and not sys.stdin.isatty():
        why = "standard input is not a terminal to ask on"
        return _error(f"{why}: --yes deletes {keys}", WRONG_USE)
    if not yes and not _confirmed(f"delete {keys}? [y/N] "):
        print("nothing was deleted")
        return LEFT
    cleanup.forget(entries)
    gone = [cleanup.delete(entry) for entry in to_delete]
    return CLEAN if all(gone) and len(gone) == len(entries) else LEFT


def _confirmed(question: str) -> bool:
    """Ask; True where the answer is yes. The end of input and an interruption are a no."""
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False


def _error(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 4, as for every wrong use; argparse's own is 2, which means interrupted here. An
        argument that is not known is not repeated: it may be a pasted token."""
        message = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


_COMMANDS = {
    "new": "write a profile: the commented example with the options filled in; it names secrets and never holds one",
    "check": "list every problem of a profile, and say whether a run could begin; nothing is executed or registered",
    "cleanup": "delete the keys that earlier runs registered and left; they are listed and asked for first",
    "journal": "list the transaction codes that earlier runs sent, by environment, time and outcome; no code is shown",
}


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    added = (commands.add_parser(name, help=said, description=said) for name, said in _COMMANDS.items())
    new, check, cleanup, journal = added
    for name, kept in OPTIONS.items():
        new.add_argument(name, **kept)
    new.add_argument("--force", action="store_true", help="replace the profile where it exists already")
    prepare = "prepare one transfer, to see that code_at finds its code"
    check.add_argument("--prepare", action="store_true", help=prepare)
    cleanup.add_argument("--yes", action="store_true", help="do not ask")
    settles = "end the unknown outcome of a code: the code, a file that holds it, or - to be asked for it"
    journal.add_argument("--settle", metavar="CODE", help=settles)
    journal.add_argument("environment", metavar="NAME", nargs="?", help="those of environments/NAME.yaml, or of a path")
    for command in (new, check, cleanup):
        command.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")
    return parser


if __name__ == "__main__":
    sys.exit(main())
