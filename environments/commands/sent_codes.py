"""Lists the journal of executions, settles unknown outcomes, and reads the one code that somebody names.

A code is read from a file or from the terminal: what is on a command line stays in the history of the shell.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator
from pathlib import Path

from environments.door.event_log import JournalError
from environments.door.journal import Journal, JournalEntry, Outcome, canonical
from environments.door.opening import journal_of, key_of_logs, place_of_journal
from environments.profiles.profile import Profile, ProfileError, shown


def code_from(where: str, option: str) -> str:
    """The code in a file, or, for `-`, the one that is typed. Raises ProfileError, which repeats nothing."""
    if where == "-":
        if not sys.stdin.isatty():
            raise ProfileError(f"{option}: standard input is not a terminal to ask on; name a file that holds the code")
        return getpass.getpass("transaction code: ").strip()
    try:
        code = Path(where).read_text("utf-8").strip()
    except (OSError, ValueError):
        raise ProfileError(
            f"{option}: no such file; expected one that holds the code, or - to be asked for it"
        ) from None
    if not code or "\n" in code:
        raise ProfileError(f"{option}: expected a file that holds one code")
    return code


def code_to_resend(profile: Profile, code: str) -> str:
    """The code as the profile writes it. Raises ProfileError where it may not be sent again."""
    option = "--resend-code"
    if profile.is_sandbox:
        raise ProfileError(f"{option}: a sandbox has no journal; leave it out")
    supplied = {canonical(one): one for one in profile.transactions.codes}.get(canonical(code))
    if supplied is None:
        raise ProfileError(f"{option}: no such code in transactions.codes of {shown(profile.path)}")
    try:
        entry = journal_of(profile).entry(supplied)
    except JournalError as error:
        raise ProfileError(f"{option}: {error}") from None
    if entry and entry.outcome is Outcome.SUCCESS:
        raise ProfileError(f"{option}: the journal says that this code was executed at {entry.at}: prepare a new one")
    return supplied


def start_journal(profile: Profile) -> str:
    """Start a journal for the codes of a profile. Gives a line about it. Raises ProfileError where there is nothing to
    start."""
    if profile.is_sandbox:
        raise ProfileError("--new-journal: a sandbox has no journal; leave it out")
    try:
        return journal_of(profile).start()
    except JournalError as error:
        raise ProfileError(str(error)) from None


def opened_journal(profile: Profile | None) -> Journal:
    """The journal of a profile, or of this user."""
    return journal_of(profile) if profile else Journal(place_of_journal(), key_of_logs())


def lines_of(journal: Journal, environment: str = "") -> Iterator[str]:
    """Every code by environment, time and outcome; those of one environment where it is named. Raises JournalError."""
    entries = [entry for entry in journal.entries() if environment in ("", entry.environment)]
    width = max((len(entry.environment) for entry in entries), default=0)
    yield from (f"{entry.name}  {entry.environment:<{width}}  {entry.at}  {_outcome(entry)}" for entry in entries)
    yield f"{len(entries)} {'code' if len(entries) == 1 else 'codes'} in {journal.path}"


def _outcome(entry: JournalEntry) -> str:
    if entry.is_unknown:
        return f"unknown: look the transfer up, then settle it with --settle {entry.name}"
    return f"{entry.outcome} {entry.status}".strip()


def settle(journal: Journal, code: str) -> str:
    """End a repeated unknown outcome; `code` may be the name of its entry. Gives a line about it. Raises JournalError
    where there is none."""
    with journal.turn():
        entry = journal.entry(code) or next((one for one in journal.entries() if one.name == code), None)
        if entry is None:
            raise JournalError(f"--settle: {journal.path} does not know this code")
        if not entry.is_unknown:
            raise JournalError(f"--settle: the outcome of this code is not unknown: {_outcome(entry)}")
        journal.environment = entry.environment
        journal.write(code, Outcome.SETTLED, digest=entry.digest)
    return f"settled: {entry.environment}, sent at {entry.at}; no later run sends this code, or repeats its outcome"
