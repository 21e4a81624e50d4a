"""The record beside the profile: a run is compared with it, or with --accept writes it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from environments.profiles.profile import Profile, shown, today
from reports.handover import Note, NoteKind
from reports.observations.behaviour import redacted_behaviour
from reports.observations.drift import drifts
from reports.observations.record import Record, RecordError, odd_in_words, read_record, write_record
from reports.provenance import VERSION
from reports.run import Run
from spec.message import say_many


def record_beside(profile: Profile, *, accepts: bool) -> Record | None:
    """The record beside the profile; None where there is none. UsageError, in one line, for one that cannot be read, or
    cannot be written."""
    if accepts and not os.access(profile.record.absolute().parent, os.W_OK):
        raise pytest.UsageError(f"--accept: {shown(profile.record)} cannot be written: the folder is read-only")
    try:
        return read_record(profile.record)
    except RecordError as error:
        raise pytest.UsageError(str(error)) from None


class BesideProfile:
    """The record of the profile; `clean` is applied to what is shown of it. `accepts`: the run writes a new one."""

    def __init__(self, record: Record | None, clean: Callable[[str], str], *, accepts: bool) -> None:
        self._record, self._clean, self._accepts = record, clean, accepts

    def __call__(self, run: Run) -> bool:
        """Compare the run with the record, or write what it observed: gives whether that could be written. The results
        of the run stand."""
        if self._accepts:
            try:
                run.accepted = self._accepted(run)
            except OSError as error:
                run.accepted = (
                    f"not accepted: {self._clean(shown(run.profile.record))} cannot be written: {error.strerror}"
                )
                return False
        elif self._record is not None:
            run.record = self._record.redacted(self._clean)
            run.drift = drifts(run.record.behaviour, redacted_behaviour(run.behaviour, self._clean))
            odd = odd_in_words(self._record, run.profile.name, today())
            run.said += [Note(NoteKind.RECORD, said) for said in odd]
        return True

    def _accepted(self, run: Run) -> str:
        """What became of the record, in one line. OSError where it cannot be written, or could not be read again."""
        path = run.profile.record
        name = self._clean(shown(path))
        if why := _why_not(run):
            return f"not accepted: {why}; {name} is not written"
        before = self._record.redacted(self._clean) if self._record else None
        seen = redacted_behaviour(run.behaviour, self._clean)
        record = Record(run.profile.name, today(), VERSION, before.accepting(seen) if before else seen)
        write_record(path, record)
        run.record = record
        changed = len(drifts(before.behaviour, seen)) if before else 0
        changes = say_many("; {n} place had drifted", "; {n} places had drifted", n=changed) if changed else ""
        requirements = say_many("{n} requirement", "{n} requirements", n=len(record.behaviour))
        return f"accepted: {name} ({requirements}{changes})"


def _why_not(run: Run) -> str:
    """Why nothing that the run observed is accepted; empty where it is. Without a valid token everything looks refused."""
    reasons = {
        "the suite failed": run.errors,
        "the run was interrupted": run.interrupted,
        "the target could not be reached": run.unreachable,
        (ungranted := run.grants.lacking(run.operations)): ungranted,
        "nothing was observed": not run.behaviour,
    }
    return next((str(why) for why, applies in reasons.items() if applies), "")
