"""Opens the door of a run, which is the only way by which requests reach the service, and the client that uses it.

A door has a budget (the limits of the profile) and a key record (a file with the PIX keys that runs registered). At a
real service it also has a journal (a file with the transaction codes that runs sent). A sandbox (a test system without
real money) needs none.

This module also decides where both files are: in the folder of the user's state (XDG Base Directory Specification), or
beside the journal that the profile names.

Self-tests: promises/test_promises.py, environments/door/test_journal.py.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

from environments.credentials import Target, fixed_headers_of, journal_key_of
from environments.door.amounts import Amounts
from environments.door.client import Client
from environments.door.door import Channel, Door, permit_everything
from environments.door.event_log import DigestKey
from environments.door.identifiers import Identifiers
from environments.door.journal import Journal, ReadJournal
from environments.door.key_record import KeyRecord
from environments.door.limits import Budget
from environments.door.run_keys import Keys
from environments.door.wire import Wire
from environments.profiles.model import EMBEDDED, Profile, ProfileError
from environments.secret_values import listed_secrets


def open_door(profile: Profile, target: Target, *, codes_to_resend: Container[str] = ()) -> Door:
    """The door of a run: the object through which all its requests are sent to the service (the target).

    It has these parts:

    - the limits of the profile (the settings of the run)
    - the journal (a file with the transaction codes that were sent), unless the target is a sandbox without real money
    - the key record (a file with the PIX keys that were registered)

    Executions of earlier runs whose outcome is unknown are read from the journal at once, so that the report can name
    them. `codes_to_resend` has the code that this run may send although an earlier run sent it and was refused. Raises
    ProfileError.
    """
    run = secrets.token_hex(8)
    record = None
    if profile.base_url != EMBEDDED:  # the sandbox of the suite ends with the run, and its keys with it
        record = record_of_keys(profile, run=run)
    journal = None if profile.is_sandbox else journal_of(profile, run=run, codes_to_resend=codes_to_resend)
    preparation = profile.transactions.prepare
    budget = Budget(
        profile.limits,
        preparing_operation=preparation.operation if preparation else "",
        code_at=preparation.code_at if preparation else "",
        is_sandbox=profile.is_sandbox,
    )
    wire = Wire(profile, budget.run_end)
    door = _door(profile, target, wire, budget, journal, record)
    door.guard.find_unknown_outcomes()
    return door


def open_door_for_plan(
    profile: Profile, token: str, connections: Channel, *, codes_to_resend: Container[str], new_journal: bool = False
) -> Door:
    """The door for a plan (--plan), which shows what a run would send, and sends nothing to the service.

    `connections` answers the requests without a network. The journal (a file with the transaction codes that were
    sent) is read, so that the plan leaves out the same codes as a run would. No file is written. With `new_journal`
    there is no journal, because the run would start a new one. `codes_to_resend` has the code that the run might send
    although an earlier run sent it.
    """
    secret_values = listed_secrets(profile)
    secret_values.learn_token(token)
    # The service inside the suite (EMBEDDED) gets its address only when it is started, which a plan does not do.
    address = profile.base_url if profile.base_url != EMBEDDED else "http://127.0.0.1"
    target = Target(address, secret_values)
    journal = None
    if not profile.is_sandbox and not new_journal:
        journal = journal_of(profile, codes_to_resend=codes_to_resend, kind=ReadJournal)
    limits_without_waiting = replace(profile.limits, rate=None)
    budget = Budget(limits_without_waiting, is_sandbox=profile.is_sandbox)
    return _door(profile, target, connections, budget, journal, None)


def _door(
    profile: Profile,
    target: Target,
    wire: Channel,
    budget: Budget,
    journal: Journal | None,
    record: KeyRecord | None,
) -> Door:
    """A door (through which all requests are sent) with these parts.

    At a real service, the door checks the values in each request:

    - An amount may be at most the amount in the profile (the settings of the run).
    - An account or a key belongs to the profile, was made up by the suite, or was registered by a run.

    On a sandbox, which is a test system, all amounts, accounts and keys are permitted.
    """
    keys = Keys(
        profile.pix_keys,
        record,
        profile.accounts,
        is_sandbox=profile.is_sandbox,
        key_at=profile.key_at,
    )
    check_amounts = permit_everything
    check_identifiers = permit_everything
    if not profile.is_sandbox:
        check_amounts = Amounts.of_profile(profile).check
        check_identifiers = Identifiers(profile, keys).check
    return Door(
        target,
        allow=profile.allow,
        wire=wire,
        budget=budget,
        check_amounts=check_amounts,
        check_identifiers=check_identifiers,
        journal=journal,
        is_sandbox=profile.is_sandbox,
        deletes_keys=profile.may_delete_keys,
        keys=keys,
        other_success_codes=profile.other_success_codes,
    )


def journal_of(
    profile: Profile | None, *, run: str = "", codes_to_resend: Container[str] = (), kind: type[Journal] = Journal
) -> Journal:
    """The journal of a run, which is a file with the transaction codes that were sent.

    It is the file that the profile (the settings of the run) names. If the profile names none, or is None, it is the
    one file of this user of the machine. `kind` is ReadJournal if it must not be written. Raises ProfileError if the
    profile takes the secret key of the file from an environment variable that is not set.
    """
    path, digest_key = _journal_file_and_digest_key(profile)
    name_of_profile = profile.name if profile else ""
    return kind(path, digest_key, environment=name_of_profile, run=run, codes_to_resend=codes_to_resend)


def _journal_file_and_digest_key(profile: Profile | None) -> tuple[Path, DigestKey]:
    """The path of the journal, and the secret key with which the digests in it are made (it is no PIX key).

    The path is the one in the profile (the settings of the run). If the profile names none, each user of the machine
    has one journal. `DigestKey` uses the secret of the profile, or, if there is none, a file beside the journal
    (`journal.key` beside `journal.jsonl`). Raises ProfileError.
    """
    path = profile.journal if profile is not None else None
    if path is None:
        path = _state_folder() / "pix-conformance" / "journal.jsonl"
    secret_of_profile = journal_key_of(profile) if profile is not None else None
    return path, DigestKey(path.with_suffix(".key"), secret_of_profile)


def _state_folder() -> Path:
    """The folder in which programs of this user keep files that outlive them (XDG Base Directory Specification).

    Raises ProfileError if the user has no home.
    """
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    except RuntimeError:  # neither HOME nor an entry in passwd, as in a container
        raise ProfileError("the journal has no place, as this user has no home; set XDG_STATE_HOME or HOME") from None


def journal_in_words(profile: Profile) -> tuple[str, str, list[str]]:
    """Three facts about the journal (the file with the transaction codes that were sent), for a plan (--plan).

    A plan shows what a run would send:

    - the file that a run would use, and its number of codes, in words
    - the reason why no code of the profile (the settings of the run) would be sent; empty if there is none
    - the codes of the profile that would not be sent, because earlier runs sent them

    A sandbox (a test system without real money) has no journal, so there the run only knows what it sends itself.
    Nothing is written. If the journal cannot be read, its error is both the first and the second fact.
    """
    codes = profile.transactions.codes
    if profile.is_sandbox:
        return "none, as the target is a sandbox: only what the run itself sends counts", "", []
    try:
        journal = journal_of(profile)
        # Only codes of the profile need the earlier journal: a code that the run itself prepares is new.
        reason_not_to_send = journal.reason_not_to_trust() if codes else ""
        codes_sent_before: list[str] = []
        if not reason_not_to_send:
            codes_sent_before = [code for code in codes if journal.entry_that_forbids(code)]
        return f"codes in {journal.path}: {len(journal.entries())}", reason_not_to_send, codes_sent_before
    except ProfileError as error:
        return str(error), str(error), []


def record_of_keys(profile: Profile, *, run: str = "") -> KeyRecord:
    """The record of the PIX keys that runs registered and did not delete.

    It is a file in the folder of the journal (the file of transaction codes), one for each profile (the settings of a
    run). Raises ProfileError if the profile takes a secret from an environment variable that is not set.
    """
    journal_path, digest_key = _journal_file_and_digest_key(profile)
    record_path = journal_path.with_name(f"keys-{profile.name}.jsonl")
    return KeyRecord(record_path, digest_key, run=run, environment=profile.name, base_url=profile.base_url)


def open_client(door: Door, profile: Profile) -> Client:
    """The client, which builds requests to the documented operations and sends them through the door.

    Each request has the headers of the profile (the settings of the run).
    """
    return Client(door, headers=fixed_headers_of(profile), correlation_header=profile.correlation_header)
