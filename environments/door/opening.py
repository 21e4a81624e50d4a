"""Opens the door of a process, with budget and journal, and the client that calls the operations through it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from environments.door.attempt import WireSettings
from environments.door.budget import Budget
from environments.door.client import Client
from environments.door.door import Door
from environments.door.in_flight import InFlight
from environments.door.journal import Journal
from environments.door.key_record import KeyRecord
from environments.door.key_states import Keys
from environments.profiles.credentials import resolve_headers, resolve_passphrase
from environments.profiles.profile import Profile, is_loopback
from environments.profiles.target import Target

JOURNAL = "journal.jsonl"
BUDGET = "budget.json"
"""What the workers of a parallel run count in together, in the folder that they share."""
_NUMBERS_OF_A_WORKER = 100_000
"""Exchanges are numbered apart, so that a number names one exchange of a parallel run."""


@dataclass(frozen=True)
class Share:
    """What the processes of one run have in common: its id, a folder that goes with it, and whether the token was
    accepted before they started. `worker` counts from 0; None is the process that the user started."""

    run: str
    folder: Path
    worker: int | None = None
    token_accepted: bool = False

    @property
    def first_number(self) -> int:
        """The number of the first exchange of this process."""
        return 1 if self.worker is None else 1 + _NUMBERS_OF_A_WORKER * (1 + self.worker)


def open_door(
    profile: Profile,
    target: Target,
    share: Share,
    *,
    kept: Path,
    resend: Container[str] = (),
) -> Door:
    """The door to the target. `kept` is the folder of the journal where the profile names none."""
    limits, shared = profile.limits, None if share.worker is None else share.folder / BUDGET
    record = record_of_keys(profile, run=share.run, kept=kept) if outlives(profile, target.base_url) else None
    return Door(
        target,
        allow=profile.allow,
        wire=_wire_settings(profile),
        budget=Budget(requests=limits.requests, executions=limits.executions, rate=limits.rate, shared=shared),
        journal=_journal(profile, target.base_url, run=share.run, kept=kept, folder=share.folder, resend=resend),
        token_accepted=share.token_accepted,
        first_number=share.first_number,
        keys=Keys(profile.pix_keys, record, account=next(iter(profile.accounts), "")),
        in_flight=InFlight(limits.parallel, shared=None if share.worker is None else share.folder),
    )


def _journal(profile: Profile, base_url: str, *, run: str, kept: Path, folder: Path, resend: Container[str]) -> Journal:
    """For loopback, where no later run is kept from sending a code, the journal goes with the `folder` of the run."""
    across_runs = outlives(profile, base_url)
    path = profile.journal or (kept if across_runs else folder) / JOURNAL
    return Journal(path, origin=base_url, run=run, across_runs=across_runs, resend=resend)


def outlives(profile: Profile, base_url: str) -> bool:
    """Whether what is written down is there for the next run."""
    return profile.journal is not None or not is_loopback(base_url)


def codes_sent_before(profile: Profile, *, kept: Path, resend: Container[str] = ()) -> frozenset[str]:
    """The codes of the profile that its journal keeps a run from sending; nothing is written. Raises
    JournalError."""
    journal = _journal(profile, profile.base_url, run="", kept=kept, folder=kept, resend=resend)
    return journal.sent_before(profile.transactions.codes)


def record_of_keys(profile: Profile, *, run: str, kept: Path) -> KeyRecord:
    """The record of the keys that runs with this profile registered. `kept` is the folder of the journal where the
    profile names none."""
    journal = profile.journal or kept / JOURNAL
    beside = journal.with_name(f"{journal.stem}-keys{journal.suffix}")
    return KeyRecord(beside, origin=profile.base_url, run=run)


def _wire_settings(profile: Profile) -> WireSettings:
    tls = profile.tls
    return WireSettings(
        timeout_s=profile.limits.timeout,
        response_bytes=profile.limits.response_bytes,
        verify=str(tls.ca_bundle) if tls.ca_bundle else True,
        client_cert=str(tls.client_cert) if tls.client_cert else None,
        client_key=str(tls.client_key) if tls.client_key else None,
        client_key_passphrase=resolve_passphrase(profile),
        proxy=profile.proxy,
    )


def open_client(door: Door, profile: Profile) -> Client:
    """The client that goes through the door."""
    return Client(door, headers=resolve_headers(profile), correlation_header=profile.correlation_header)
