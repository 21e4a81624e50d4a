"""`python -m environments COMMAND staging`: helps to set a profile up, and cleans up after its runs.

`new` asks for what a profile needs and writes it. `check` tells every problem of a profile, and looks whether a run
could begin. `cleanup` deletes the keys that earlier runs registered and did not delete.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from environments.commands.checking import Finding, at_the_target, in_the_profile, to_check
from environments.commands.cleanup import (
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
from environments.commands.new_profile import NewProfile, fill_in, path_of_new
from environments.commands.questions import QUESTIONS
from environments.door.client import Client
from environments.door.journal import JournalError
from environments.door.key_record import KeyRecord
from environments.door.liveness import UnreachableError
from environments.door.opening import Share, codes_sent_before, open_client, open_door, outlives, record_of_keys
from environments.profiles.credentials import refuse_missing_credentials
from environments.profiles.loading import load, named
from environments.profiles.profile import EMBEDDED, Profile, ProfileError, shown
from environments.profiles.target import open_target
from environments.secrets import Secrets
from reports.redaction import Redactor, redactor_of
from reports.wording import counted
from reports.writing import RUNS

INCOMPLETE, INTERRUPTED = 6, 2
"""Exit statuses of a check, as those of a run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all is well; 1: keys are left; 4: a bad profile or command line; 6: a run would be incomplete; 7: the target
    cannot be reached."""
    options = _parser().parse_args(arguments)
    redactor = Redactor(Secrets(), fields=())
    try:
        if options.command == "new":
            return _write_new(path_of_new(options.environment), vars(options))
        profile = load(options.environment)
        redactor = redactor_of(profile)
        return (
            _check(profile, prepares=options.prepare) if options.command == "check" else _clean_up(profile, options.yes)
        )
    except ProfileError as error:
        return _errors(map(redactor.text, error.problems if options.command == "check" else [str(error)]))
    except JournalError as error:
        return _error(redactor.text(str(error)), WRONG_USE)


def _write_new(path: Path, options: Mapping[str, Any]) -> int:
    profile, where = NewProfile(path), shown(path)
    if path.exists() and not options["force"]:
        return _error(f"{where}: exists already; --force replaces it", WRONG_USE)
    try:
        if problems := fill_in(profile, options, print, asks=sys.stdin.isatty()):
            return _errors(problems)
        profile.write(force=options["force"])
    except (EOFError, KeyboardInterrupt):
        print()
        return _error("nothing was written", WRONG_USE)
    except OSError as error:
        return _error(f"{where}: cannot be written ({error.strerror})", WRONG_USE)
    print(*profile.summary, sep="\n")
    return CLEAN


def _check(profile: Profile, *, prepares: bool) -> int:
    narrow = to_check(profile, prepares=prepares)
    sent_before = codes_sent_before(profile, kept=RUNS / profile.name)
    refuse_missing_credentials(profile)
    with _opened(narrow) as (client, redactor):
        say = _Findings(redactor)
        say(Finding("profile", f"{shown(profile.path)} is valid"))
        if status := _look(client, narrow, prepares, say):
            return status
        for finding in in_the_profile(profile, sent_before):
            say(finding)
    ready = f"ready: pytest --environment={named(profile.path)} --plan"
    print("not ready: a run would be incomplete" if say.lacking else ready)
    return INCOMPLETE if say.lacking else CLEAN


class _Findings:
    """Prints findings, redacted, and remembers whether a run would be incomplete for one of them."""

    def __init__(self, redactor: Redactor) -> None:
        self.redact, self.lacking = redactor.text, False

    def __call__(self, finding: Finding) -> None:
        self.lacking |= finding.lacking
        print(self.redact(f"{finding.topic}: {finding.text}"))


def _look(client: Client, profile: Profile, prepares: bool, say: _Findings) -> int:
    """Look at the target; whatever ends that, a transfer that was prepared is told."""
    try:
        for finding in at_the_target(client, profile, prepares=prepares):
            say(finding)
    except UnreachableError as error:
        return _error(say.redact(f"{profile.base_url} cannot be reached: {error}"), UNREACHABLE)
    except KeyboardInterrupt:
        return _error("interrupted: nothing more is sent", INTERRUPTED)
    finally:
        for line in client.door.guard.prepared.not_executed():
            say(Finding("not cleaned up", line))
    return CLEAN


@contextmanager
def _opened(profile: Profile, run: str = "") -> Iterator[tuple[Client, Redactor]]:
    """A client of the target through a door of its own, and what redacts all that is said of it."""
    target = open_target(profile)
    with ExitStack() as stack:
        stack.callback(target.stop)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pix-conformance-"))
        share = Share(run or secrets.token_hex(8), Path(folder))
        door = stack.enter_context(closing(open_door(profile, target, share, kept=RUNS / profile.name)))
        yield open_client(door, profile), redactor_of(profile, target.secrets)


def _clean_up(profile: Profile, yes: bool) -> int:
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
    return _delete(replace(profile, allow=profile.allow & {"read", "delete-keys"}), run, record, entries, yes)


def _delete(profile: Profile, run: str, record: KeyRecord, entries: Sequence[Entry], yes: bool) -> int:
    with _opened(profile, run) as (client, redactor):
        try:
            if why := client.door.connect().failure:
                raise UnreachableError(why)
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


def _errors(messages: Iterable[str]) -> int:
    return [_error(message, WRONG_USE) for message in messages][-1]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 4, as for every wrong use; argparse's own is 2, which means interrupted here. An
        argument that is not known is not repeated: it may be a pasted token."""
        message = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    said = "delete the keys of the profile that earlier runs registered and left; they are listed and asked for first"
    cleanup = commands.add_parser("cleanup", help=said, description=said)
    cleanup.add_argument("--yes", action="store_true", help="do not ask")
    said = "list every problem of a profile, and whether a run could begin; nothing is executed, registered or deleted"
    check = commands.add_parser("check", help=said, description=said)
    check.add_argument(
        "--prepare", action="store_true", help="prepare one transfer, to see that code_at finds its code"
    )
    for command in (cleanup, check, _new_parser(commands)):
        command.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")
    return parser


def _new_parser(commands: Any) -> argparse.ArgumentParser:
    said = "ask for what a profile needs, where no option says it, and write the profile; it never holds a secret"
    new: argparse.ArgumentParser = commands.add_parser("new", help=said, description=said)
    for question in QUESTIONS:
        action = "store_true" if question.is_flag else "append" if question.repeats else "store"
        new.add_argument(question.option, action=action, help=question.help)
    new.add_argument("--force", action="store_true", help="replace the profile where it exists already")
    return new


if __name__ == "__main__":
    sys.exit(main())
