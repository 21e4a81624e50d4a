"""Lists the journal of executions, settles unknown outcomes, and reads the one code that somebody names.

A code is read from a file or from the terminal: what is on a command line stays in the history of the shell.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

from environments.door.event_log import JournalError
from environments.door.journal import Journal, JournalEntry, Outcome, canonical
from environments.door.opening import journal_of
from environments.profiles.model import Profile, ProfileError


def code_from(where: str) -> str:
    """The code in a file, or, for `-`, the one that is typed. Raises ProfileError, which repeats nothing."""
    try:
        return (getpass.getpass("transaction code: ") if where == "-" else Path(where).read_text("utf-8")).strip()
    except (OSError, ValueError, EOFError):
        raise ProfileError("--resend-code: expected a file that holds one code, or - to be asked for it") from None


def code_to_resend(profile: Profile, code: str) -> str:
    """The code as the profile writes it. Raises ProfileError where it may not be sent again."""
    supplied = {canonical(one): one for one in profile.transactions.codes}.get(canonical(code))
    if profile.is_sandbox or supplied is None:
        raise ProfileError("--resend-code: no such code in transactions.codes, or a sandbox, which has no journal")
    entry = journal_of(profile).entry(supplied)
    if entry and entry.outcome is Outcome.SUCCESS:
        raise ProfileError(f"--resend-code: this code was executed at {entry.at}, the journal says: prepare a new one")
    return supplied


def start_journal(profile: Profile) -> str:
    """Start a journal for the codes of a profile. Gives a line about it. Raises ProfileError where there is nothing to
    start."""
    if profile.is_sandbox:
        raise ProfileError("--new-journal: a sandbox has no journal; leave it out")
    return journal_of(profile).start()


def lines_of(journal: Journal, environment: str = "") -> Iterator[str]:
    """Every code by environment, time and outcome; those of one environment where it is named. Raises JournalError."""
    entries = [entry for entry in journal.entries() if environment in ("", entry.environment)]
    yield from (f"{entry.name}  {entry.environment}  {entry.at}  {_outcome(entry)}" for entry in entries)
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
        if entry is None or not entry.is_unknown:
            why = f"its outcome is not unknown: {_outcome(entry)}" if entry else f"{journal.path} does not know it"
            raise JournalError(f"--settle: {why}")
        journal.environment = entry.environment
        journal.write(code, Outcome.SETTLED, digest=entry.digest)
    return f"settled: {entry.environment}, sent at {entry.at}; no later run sends this code, or repeats its outcome"
