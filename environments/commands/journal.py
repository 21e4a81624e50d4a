"""`journal`: lists the transaction codes that earlier runs sent, and marks a transfer as looked up.

The journal is the file with these codes. If nobody knows whether an execution moved money, its outcome is unknown. It
stays unknown until a person has looked the transfer up, and says so with the option --settle of this command.
"""

from __future__ import annotations

from environments.door.event_log import JournalError
from environments.door.journal import Journal, JournalEntry, Outcome
from environments.door.opening import journal_of
from environments.profiles.loading import name_for_commands
from environments.profiles.model import Profile


def journal_lines(profile: Profile | None) -> tuple[list[str], str]:
    """A line for each transaction code in the journal, and the reason why a run could send no code.

    The reason is empty if a run could send codes. A damaged journal is always a reason. A journal that does not exist
    so far is a reason only if a run needs it.

    With a profile only the codes of its environment are listed. Codes are not printed: each has a short name, which the
    option --settle accepts.
    """
    journal = journal_of(profile)
    entries = []
    for entry in journal.entries():
        is_every_entry_listed = journal.environment == ""  # without a profile
        if is_every_entry_listed or entry.environment == journal.environment:
            entries.append(entry)
    lines = [f"{entry.name}  {entry.environment}  {entry.at}  {outcome_in_words(entry, profile)}" for entry in entries]
    # A run needs the journal if the profile lists codes. On a sandbox a code may be executed twice.
    needs_a_journal = profile is not None and bool(profile.transactions.codes) and not profile.is_sandbox
    why_no_code_is_sent = ""
    # `fault` finds damage. It is asked only if no run needs the journal: it raises an error if a file cannot be read,
    # while `reason_not_to_trust` may find another reason before it reads the file.
    if needs_a_journal or journal.fault():
        why_no_code_is_sent = journal.reason_not_to_trust()
    return [*lines, f"codes in {journal.path}: {len(entries)}"], why_no_code_is_sent


def outcome_in_words(entry: JournalEntry, profile: Profile | None) -> str:
    """What became of a transaction code, in words: "success 200", or that its outcome is unknown.

    `entry` is its entry in the journal, the file with the codes that runs sent. If nobody knows whether money moved,
    the text has the command to call after a person looked the transfer up.
    """
    if _needs_a_person(entry):
        of_profile = f" {name_for_commands(profile)}" if profile else ""
        outcome = "unknown" if entry.is_unknown else "perhaps prepared, by a run that saw no answer"
        settle = f"python -m environments journal{of_profile} --settle {entry.name}"
        return f"{outcome}: look the transfer up; then {settle}"
    if entry.outcome is Outcome.PREPARED:
        return "prepared by a run that did not send it: the transfer may wait for its execution"
    return f"{entry.outcome} {entry.status}".strip()


def settle_outcome(profile: Profile | None, code: str) -> str:
    """Write to the journal that a person looked a transfer up, so that later runs no longer warn about it.

    The journal is the file with the transaction codes that runs sent. `code` is the code of the transfer, or the name
    by which the command `journal` lists it. Returns a line about what was done. Raises JournalError if the outcome of
    this code is not unknown.
    """
    journal = journal_of(profile)
    with journal.locked():
        entry = journal.entry(code) or _entry_with_name(code, journal)
        if entry is None or not _needs_a_person(entry):
            raise JournalError(f"--settle: {journal.path} has no unknown outcome of this code")
        # The new line is about the same code, so it gets the environment (the name of a profile) of the old line.
        # Otherwise `journal` would no longer list the code for that profile.
        journal.environment = entry.environment
        # The journal has a digest of each code instead of the code, and `write` makes the digest of its first argument.
        # Here that may be the name of the entry, so the right digest is passed.
        journal.write(code, Outcome.SETTLED, digest=entry.digest)
    return f"settled: {entry.environment}, sent at {entry.at}; no later run sends this code, or warns about it"


def _needs_a_person(entry: JournalEntry) -> bool:
    """True if a person has to look the transfer up, because no run knows what became of it.

    That is so if money may have moved, or if a run was killed while it asked the service to prepare the transfer.
    """
    return entry.is_unknown or entry.is_perhaps_prepared


def _entry_with_name(name: str, journal: Journal) -> JournalEntry | None:
    """The entry of the journal with this name; None if there is none.

    The command `journal` prints the short names of the transaction codes, and not the codes themselves.
    """
    for entry in journal.entries():
        if entry.name == name:
            return entry
    return None
