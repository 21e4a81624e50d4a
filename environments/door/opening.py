"""Opens the door of a run, with budget and journal, and the client that calls the operations through it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from environments.door.attempt import WireSettings
from environments.door.budget import Budget
from environments.door.client import Client
from environments.door.door import Channel, Door
from environments.door.ending import Ending
from environments.door.event_log import JournalError, LogKey
from environments.door.in_flight import InFlight
from environments.door.journal import Journal, ReadJournal
from environments.door.key_record import KeyRecord
from environments.door.key_states import Keys
from environments.profiles.credentials import CredentialError, resolve_headers, resolve_journal_key, resolve_passphrase
from environments.profiles.profile import EMBEDDED, Profile
from environments.profiles.target import Target
from environments.secrets import listed_secrets

JOURNAL = "journal.jsonl"


def open_door(profile: Profile, target: Target, run: str = "", *, resend: Container[str] = ()) -> Door:
    """The door to the target, which says what earlier runs of the environment left unknown. `run` is the id of this
    one."""
    run = run or secrets.token_hex(8)
    record = record_of_keys(profile, run=run) if profile.base_url != EMBEDDED else None
    journal = None if profile.is_sandbox else journal_of(profile, run=run, resend=resend)
    door = _door(profile, target, _wire_settings(profile), journal, record)
    door.guard.repeat_unknown_outcomes()
    return door


def open_planned_door(profile: Profile, token: str, connections: Channel, *, resend: Container[str]) -> Door:
    """A door to these connections, which asks the journal of the profile and writes nothing."""
    known = listed_secrets(profile)
    known.learn_token(token)
    target = Target(profile.base_url if profile.base_url != EMBEDDED else "http://127.0.0.1", known)
    journal = (
        None
        if profile.is_sandbox
        else ReadJournal(place_of_journal(profile), key_of_logs(profile), environment=profile.name, resend=resend)
    )
    unlimited = replace(profile, limits=replace(profile.limits, rate=None))
    door = _door(unlimited, target, WireSettings(timeout_s=1, response_bytes=1), journal, None)
    door.connections = connections
    return door


def _door(
    profile: Profile, target: Target, wire: WireSettings, journal: Journal | None, record: KeyRecord | None
) -> Door:
    limits = profile.limits
    return Door(
        target,
        allow=profile.allow,
        wire=wire,
        budget=Budget(
            requests=limits.requests,
            executions=limits.executions,
            transfers=limits.transfers,
            rate=limits.rate,
            wrong_tokens=limits.wrong_tokens,
        ),
        journal=journal,
        keys=Keys(
            profile.pix_keys,
            record,
            next(iter(profile.accounts), ""),
            is_sandbox=profile.is_sandbox,
            key_at=profile.key_at,
        ),
        in_flight=InFlight(limits.parallel),
        ending=Ending(limits.duration),
    )


def place_of_journal(profile: Profile | None = None) -> Path:
    """The file of the journal: one for each user of a machine, or the one that the profile names."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return (profile and profile.journal) or Path(state).expanduser() / "pix-conformance" / JOURNAL


def key_of_logs(profile: Profile | None = None) -> LogKey:
    """The key of the journal. Raises CredentialError where the profile names a variable that is not set."""
    given = resolve_journal_key(profile) if profile else None
    return LogKey(place_of_journal(profile).with_suffix(".key"), given)


def journal_of(profile: Profile, *, run: str = "", resend: Container[str] = ()) -> Journal:
    """The journal of a target that is no sandbox. Raises CredentialError."""
    return Journal(place_of_journal(profile), key_of_logs(profile), environment=profile.name, run=run, resend=resend)


def codes_sent_before(profile: Profile, *, resend: Container[str] = ()) -> frozenset[str]:
    """The codes of the profile that its journal keeps a run from sending; nothing is written. Raises
    JournalError where it keeps all of them."""
    codes = profile.transactions.codes
    if profile.is_sandbox or not codes:
        return frozenset()
    try:
        journal = journal_of(profile, resend=resend)
    except CredentialError as error:
        raise JournalError(str(error)) from None
    if refusal := journal.refusal():
        raise JournalError(refusal)
    return frozenset(code for code in codes if journal.barring(code))


def journal_in_words(profile: Profile) -> str:
    """Which journal a run would use, and how many codes it holds; nothing is written."""
    if profile.is_sandbox:
        return "none, as the target is a sandbox: only what the run itself sends counts"
    try:
        journal = journal_of(profile)
        trouble = journal.refusal() if profile.transactions.codes else ""  # a prepared code needs no journal of before
        held = len(journal.entries()) if journal.path.exists() else 0
    except (CredentialError, JournalError) as error:
        return str(error)
    holds = f"{journal.path} holds {held} {'code' if held == 1 else 'codes'}"
    return f"{holds}; {trouble}" if trouble else holds


def record_of_keys(profile: Profile, *, run: str) -> KeyRecord:
    """The record of the keys that runs registered at the target, beside the journal. Raises CredentialError."""
    beside = place_of_journal(profile).with_name(f"keys-{profile.name}.jsonl")
    return KeyRecord(beside, key_of_logs(profile), run=run, environment=profile.name)


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
