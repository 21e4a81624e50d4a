"""`journal`: the codes that earlier runs sent, and the end of an unknown outcome."""

from __future__ import annotations

from environments.door.event_log import JournalError
from environments.door.journal import Journal, JournalEntry, Outcome
from environments.door.opening import journal_of
from environments.profiles.loading import name_for_commands
from environments.profiles.model import Profile


def journal_lines(profile: Profile | None) -> tuple[list[str], str]:
    """A line for each code that the journal has, and the reason why a run could send none; empty if it could.

    With a profile these are the codes of its environment, else all.
    """
    journal = journal_of(profile)
    entries = [entry for entry in journal.entries() if journal.environment in ("", entry.environment)]
    lines = [f"{entry.name}  {entry.environment}  {entry.at}  {outcome_in_words(entry, profile)}" for entry in entries]
    needs_a_journal = profile is not None and bool(profile.transactions.codes) and not profile.is_sandbox
    refusal = journal.why_not_relied_on() if needs_a_journal or journal.fault() else ""
    return [*lines, f"codes in {journal.path}: {len(entries)}"], refusal


def outcome_in_words(entry: JournalEntry, profile: Profile | None) -> str:
    """What became of a code, in words. If nobody knows, also the command to call after somebody looked it up."""
    if entry.is_unknown or entry.is_perhaps_prepared:
        of_profile = f" {name_for_commands(profile)}" if profile else ""
        what = "unknown" if entry.is_unknown else "perhaps prepared, by a run that saw no answer"
        settle = f"python -m environments journal{of_profile} --settle {entry.name}"
        return f"{what}: look the transfer up; then {settle}"
    if entry.outcome is Outcome.PREPARED:
        return "prepared by a run that did not send it: the transfer may wait for its execution"
    return f"{entry.outcome} {entry.status}".strip()


def settle_outcome(profile: Profile | None, code: str) -> str:
    """End an unknown outcome, so that later runs do not repeat it. Returns a line about it.

    `code` may be the name that the list gives to its entry.

    Raises JournalError if no outcome of this code is unknown.
    """
    journal = journal_of(profile)
    with journal.locked():
        entry = journal.entry(code) or _entry_with_name(code, journal)
        is_open = entry is not None and (entry.is_unknown or entry.is_perhaps_prepared)
        if entry is None or not is_open:
            raise JournalError(f"--settle: {journal.path} has no unknown outcome of this code")
        journal.environment = entry.environment
        journal.write(code, Outcome.SETTLED, digest=entry.digest)
    return f"settled: {entry.environment}, sent at {entry.at}; no later run sends this code, or repeats its outcome"


def _entry_with_name(name: str, journal: Journal) -> JournalEntry | None:
    """The entry to which the list gives this name."""
    return next((entry for entry in journal.entries() if entry.name == name), None)
