"""`python -m environments cleanup staging`: deletes the keys that earlier runs registered and did not delete."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from environments.cleanup import (
    CLEAN,
    LEFT,
    UNREACHABLE,
    WRONG_USE,
    Cleanup,
    Entry,
    NoListError,
    left_by_runs,
    refuse_wrong_use,
)
from environments.door.journal import JournalError
from environments.door.key_record import KeyRecord
from environments.door.liveness import UnreachableError
from environments.door.opening import Share, open_client, open_door, outlives, record_of_keys
from environments.profiles.loading import load
from environments.profiles.profile import EMBEDDED, Profile, ProfileError
from environments.profiles.target import open_target
from environments.secrets import Secrets
from reports.redaction import Redactor, redactor_of
from reports.wording import counted
from reports.writing import RUNS

_FOLDER = Path(__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    """0: nothing is left; 1: keys are left; 4: a bad profile or command line; 7: the target cannot be reached."""
    options = _parser().parse_args(arguments)
    redactor = Redactor(Secrets(), fields=())
    try:
        profile = load(options.environment, folder=_FOLDER)
        redactor = redactor_of(profile)
        return _clean_up(profile, yes=options.yes)
    except (ProfileError, JournalError) as error:
        return _error(redactor.text(str(error)), WRONG_USE)
    except OSError as error:
        return _error(f"the record of keys cannot be read or written ({error.strerror}): check journal", WRONG_USE)


def _clean_up(profile: Profile, *, yes: bool) -> int:
    refuse_wrong_use(profile)
    if not outlives(profile, profile.base_url):
        where = "the embedded sandbox forgets its keys" if profile.base_url == EMBEDDED else "loopback is not recorded"
        print(f"nothing to clean up: {where}, unless the profile names a journal")
        return CLEAN
    run = secrets.token_hex(8)
    record = record_of_keys(profile, run=run, kept=RUNS / profile.name)
    entries = left_by_runs(profile, record)
    if not entries:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    return _at_the_target(replace(profile, allow=profile.allow & {"read", "delete-keys"}), run, record, entries, yes)


def _at_the_target(profile: Profile, run: str, record: KeyRecord, entries: Sequence[Entry], yes: bool) -> int:
    target = open_target(profile)
    redactor = redactor_of(profile, target.secrets)
    with tempfile.TemporaryDirectory(prefix="pix-conformance-") as folder:
        door = open_door(profile, target, Share(run, Path(folder)), kept=RUNS / profile.name)
        with closing(door):
            try:
                if why := door.connect():
                    raise UnreachableError(why)
                client = open_client(door, profile)
                cleanup = Cleanup(client, profile, record, lambda line: print(redactor.text(line)))
                return _ask_and_delete(cleanup, entries, yes=yes)
            except UnreachableError as error:
                return _error(redactor.text(f"{profile.base_url} cannot be reached: {error}"), UNREACHABLE)
            except NoListError as error:
                why = f"the list of keys cannot be read ({error}): nothing more is deleted"
                return _error(redactor.text(why), UNREACHABLE if error.unreachable else LEFT)


def _ask_and_delete(cleanup: Cleanup, entries: Sequence[Entry], *, yes: bool) -> int:
    print("keys that earlier runs left:")
    to_delete = cleanup.survey(entries)
    if not to_delete:
        print("nothing to delete")
        return CLEAN
    keys = counted(len(to_delete), "key")
    if not yes and not sys.stdin.isatty():
        why = "standard input is not a terminal to ask on"
        return _error(f"{why}: --yes deletes {keys}", WRONG_USE)
    if not yes and not _confirmed(f"delete {keys}? [y/N] "):
        print("nothing was deleted")
        return LEFT
    gone = [cleanup.delete(entry) for entry in to_delete]
    return CLEAN if all(gone) else LEFT


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
        """One line and exit status 4, as for every wrong use; argparse's own is 2, which means interrupted here."""
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments")
    commands = parser.add_subparsers(dest="command", required=True)
    said = "delete the keys of the profile that earlier runs registered and left; they are listed and asked for first"
    cleanup = commands.add_parser("cleanup", help=said, description=said)
    cleanup.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")
    cleanup.add_argument("--yes", action="store_true", help="do not ask")
    return parser


if __name__ == "__main__":
    sys.exit(main())
