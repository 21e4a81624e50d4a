"""`python -m environments COMMAND staging`: helps to set a profile up, and cleans up after its runs.

`new` writes the commented example with the given options filled in. `check` tells every problem of a profile, and
looks whether a run could begin. `cleanup` deletes the keys that earlier runs registered and did not delete. `journal`
lists the codes that earlier runs sent.
"""

from __future__ import annotations

from environments import early_signals, uncaught  # noqa: F401 - uncaught acts when it is imported

# The first import says what a signal and an exception do during all others.
# isort: split
import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any, NoReturn

from environments.credentials import forget_variables, open_target, protect, require_variables
from environments.door.backoff import UnreachableError
from environments.door.client import Client
from environments.door.event_log import GONE, REGISTERED, JournalError, KeyRecord
from environments.door.journal import Journal, JournalEntry, Outcome
from environments.door.key_changes import KEY_GONE
from environments.door.opening import journal_in_words, journal_of, open_client, open_door, record_of_keys
from environments.door.run_keys import can_be_named, name_of
from environments.profiles.loading import document, from_example, gaps, load, missing_for_deletions, named, path_of
from environments.profiles.model import EMBEDDED, PixKey, Profile, ProfileError, fill, shown
from reports.show import Display
from reports.terminal import print_lines
from reports.writing import write
from spec.answers import RefusalKind, answer_in_words, refused_or_lost
from spec.exchange import VALID, Exchange, FailureKind
from spec.interface import PREPARING, operations

CLEAN, LEFT, INTERRUPTED, WRONG_USE, INCOMPLETE, UNREACHABLE = 0, 1, 2, 4, 6, 7
"""Exit statuses, as those of a run. LEFT: keys are left."""
_ANSWERS: dict[object, tuple[int, str]] = {
    None: (CLEAN, "token: {} to listAccounts"),
    RefusalKind.GATEWAY: (UNREACHABLE, "not ready: the service answers {} to listAccounts; it may be starting"),
    RefusalKind.SERVER_ERROR: (INCOMPLETE, "the service fails: {} to listAccounts"),
    **dict.fromkeys(FailureKind, (INCOMPLETE, "listAccounts is broken: {}; another operation is answered")),
}
_REFUSED = INCOMPLETE, "token: {} to listAccounts: it may be wrong, expired or not permitted; check auth and base_url"
_OF_THE_OPERATOR = "it is yours: delete it by hand, or mark it `disposable: true`"
_ANOTHER_ACCOUNT = "its account is not in accounts of the profile any more: add it, or delete the key by hand"
_PERHAPS_YOURS = "it is yours, and perhaps it was there before: look at the list, and delete it by hand"
_HARD_TO_NAME = "a service may read its name as another one: delete it by hand"
_UNKNOWN = "its value is not known: delete it by hand, set key_at in the profile, and call cleanup --yes"
_FORGOTTEN = "its value is not known: delete it by hand; --yes makes the record forget it, as key_at is set"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "new":
            return _write_new(options)
        protect()
        profile = load(options.environment, base_url=options.base_url) if options.environment else None
        if options.command == "journal" or profile is None:
            return _show_journal(profile, options.settle)
        return _clean_up(profile, options.yes) if options.command == "cleanup" else _check(profile)
    except ProfileError as error:
        return max(_error(problem, WRONG_USE) for problem in error.problems)
    except OSError as error:
        return _error(f"{error.filename}: {error.strerror}", WRONG_USE)
    except UnreachableError as error:
        return _error(str(error), UNREACHABLE)
    except KeyboardInterrupt:
        return _error("interrupted: nothing more is sent", INTERRUPTED)


def _error(message: str, status: int) -> int:
    print(f"error: {message}", file=sys.stderr)
    return status


def _write_new(options: argparse.Namespace) -> int:
    path, operation, tls = path_of(options.environment), options.prepare_with, dict[str, Any]()
    if not re.fullmatch(r"\w[\w .-]*\.ya?ml", path.name):
        raise ProfileError(f"{shown(path)}: expected a name such as staging, or a path that ends in .yaml")
    if os.path.lexists(path):
        if not options.force:
            raise ProfileError(f"{shown(path)}: exists already; choose another name, or --force, which keeps tls alone")
        tls = document(path.read_text("utf-8"), shown(path)).data.get("tls") or {}
    if options.ca_bundle:
        tls["ca_bundle"] = os.path.relpath(options.ca_bundle, path.absolute().parent)
    given = {"base_url": options.base_url, "accounts": options.account, "tls": tls}
    values = {key: json.dumps(value) for key, value in given.items() if value}
    if options.count and "executions=" not in " ".join(options.limit):
        options.limit.append(f"executions={options.count + 4}")  # docs/traffic.md, A sandbox
    if options.limit:
        values["limits"] = f"{{{', '.join(options.limit).replace('=', ': ')}}}"
    if options.count and not operation:
        raise ProfileError("--count: add --prepare-with")
    if operation:
        values |= {
            "transactions": "",
            "prepare": "",
            "json": "",
            "code_at": "",
            "operation": operation,
            "count": str(options.count or ""),
            "allow": f"[read, {operations()[operation].permission}]",
        }
    write(path, from_example(values, path))
    name = quote(options.environment)
    print(f"wrote {shown(path)}: allow is {values.get('allow', '[read]')}; the rest is explained and switched off")
    if operation:
        print("  correct the body of transactions.prepare; execute is not in allow, as it moves money")
    print(f"  export PIX_TOKEN=…\n  python -m environments check {name}\n  pytest --environment={name} --plan")
    return CLEAN


def _show_journal(profile: Profile | None, settles: str | None) -> int:
    journal = journal_of(profile)
    if settles:
        print(_settle(journal, settles))
        return CLEAN
    entries = [entry for entry in journal.entries() if journal.environment in ("", entry.environment)]
    lines = [f"{entry.name}  {entry.environment}  {entry.at}  {_outcome(entry, profile)}" for entry in entries]
    print_lines([*lines, f"codes in {journal.path}: {len(entries)}"])
    needs_it = (profile and profile.transactions.codes and not profile.is_sandbox) or journal.fault()
    return _error(refusal, INCOMPLETE) if needs_it and (refusal := journal.refusal()) else CLEAN


def _outcome(entry: JournalEntry, profile: Profile | None) -> str:
    if entry.is_unknown or entry.is_perhaps_prepared:
        of = f" {named(profile)}" if profile else ""
        what = "unknown" if entry.is_unknown else "perhaps prepared, by a run that saw no answer"
        return f"{what}: look the transfer up; then python -m environments journal{of} --settle {entry.name}"
    if entry.outcome is Outcome.PREPARED:
        return "prepared by a run that did not send it: the transfer may wait for its execution"
    return f"{entry.outcome} {entry.status}".strip()


def _settle(journal: Journal, code: str) -> str:
    """End a repeated unknown outcome; `code` may be the name of its entry. Gives a line about it. Raises JournalError
    where there is none."""
    with journal.turn():
        entry = journal.entry(code) or next((one for one in journal.entries() if one.name == code), None)
        if entry is None or not (entry.is_unknown or entry.is_perhaps_prepared):
            raise JournalError(f"--settle: {journal.path} has no unknown outcome of this code")
        journal.environment = entry.environment
        journal.write(code, Outcome.SETTLED, digest=entry.digest)
    return f"settled: {entry.environment}, sent at {entry.at}; no later run sends this code, or repeats its outcome"


def _check(profile: Profile) -> int:
    """Say whether a run could begin, with every problem."""
    status = CLEAN
    for each, line in _state(profile):
        status = max(status, each, key=(CLEAN, INCOMPLETE, UNREACHABLE, WRONG_USE).index)
        print(line)
    print(
        f"not ready: exit status {status}; the lines above say why"
        if status
        else f"ready: pytest --environment={named(profile)} --plan"
    )
    return status


def _state(profile: Profile) -> Iterator[tuple[int, str]]:
    """Lines about the profile, the journal, what earlier runs left, what the preflight asks, and what a run would lack:
    each with the exit status of a run that begins so."""
    yield CLEAN, f"profile: {shown(profile.path)} is valid; its target is {'a' if profile.is_sandbox else 'no'} sandbox"
    if profile.redirected is not None:
        yield CLEAN, profile.redirected or f"--base-url: {profile.base_url} is not the address of the profile"
    journal, trouble, sent_before = journal_in_words(profile)  # its key is in a variable that is forgotten below
    if "execute" in profile.allow and not profile.is_sandbox:
        yield INCOMPLETE if trouble else CLEAN, f"journal: {trouble or journal}"
    try:
        yield from _reached(profile)
    except UnreachableError as error:
        yield UNREACHABLE, f"error: {error}"
    except ProfileError as error:
        yield from ((WRONG_USE, f"error: {problem}") for problem in error.problems)
    yield from ((INCOMPLETE, f"not exercised: {gap}") for gap in gaps(profile, sent_before))


def _reached(profile: Profile) -> Iterator[tuple[int, str]]:
    if profile.base_url != EMBEDDED:
        require_variables(profile)
        if left := list(_left_by_runs(profile, record_of_keys(profile))):
            unknown = any(not key.value for key in left)
            told = f"keys left by earlier runs: {len(left)}; python -m environments cleanup {named(profile)} lists them"
            yield unknown * INCOMPLETE, told + "; while one is of unknown value, no RANDOM key is registered" * unknown
    with _opened(replace(profile, allow=profile.allow & {"read"})) as client:
        for entry in client.door.guard.perhaps_prepared:
            yield CLEAN, f"transfer of a request at {entry.at}: {_outcome(entry, profile)}"
        for entry in client.door.guard.earlier:
            yield CLEAN, f"outcome of an execution at {entry.at}: {_outcome(entry, profile)}"
        if unreachable := client.preflight():
            raise UnreachableError(unreachable)
        yield CLEAN, f"reachable: {client.door.permission.base_url}"
        if "read" not in profile.allow:
            yield CLEAN, "token: not tried, as allow has no read"
        stands = {seen.operation: seen for seen in client.door.exchanges if seen.credential == VALID}
        if listed := stands.get("listAccounts"):
            status, told = _ANSWERS.get(refused_or_lost(listed), _REFUSED)
            yield status, told.format(answer_in_words(listed))
            for number, account in enumerate(profile.accounts * (status == CLEAN), 1):
                if refused_or_lost(client.send("getBalance", account)) is RefusalKind.NOT_FOUND:
                    yield INCOMPLETE, f"number {number} of accounts: 404 to getBalance: check accounts"


@dataclass(frozen=True)
class _Left:
    """One key that earlier runs left, or may have. `value` is None where it is unknown. `keeps` says why it is not
    deleted; empty where it is."""

    name: str
    account: str
    type: str
    value: str | None
    keeps: str


def _left_by_runs(profile: Profile, record: KeyRecord) -> Iterator[_Left]:
    """Every open entry of the key record, synthetic keys included. Raises JournalError."""
    for account in profile.accounts:
        for place, key in enumerate(profile.pix_keys):
            state = record.state(account, key.type, key.key) if key.key else ""
            if state:
                keeps = _reason_to_keep(key, state, profile)
                yield _Left(f"{name_of(profile.pix_keys, place)}", account, key.type, key.key, keeps)
    for account, event in record.left(profile.accounts):
        key_type, value = event["type"], event.get("key") or None
        if not account:
            keeps = _ANOTHER_ACCOUNT
        elif value is None:
            keeps = _FORGOTTEN if profile.key_at else _UNKNOWN
        else:
            keeps = "" if profile.is_sandbox or can_be_named(value) else _HARD_TO_NAME
        named = ascii(value or f"(of a request at {event['at']})")[1:-1][:80]
        yield _Left(f"{key_type or 'key'} {named}", account, key_type, value, keeps)


def _reason_to_keep(key: PixKey, state: str, profile: Profile) -> str:
    """Reason why a key of the profile is left alone; empty if it is deleted. A key that is not disposable, or of which
    no run knows that it registered it, may have been there before."""
    if profile.is_sandbox:
        return ""
    if not key.disposable:
        return _OF_THE_OPERATOR
    return "" if state == REGISTERED else _PERHAPS_YOURS


def _clean_up(profile: Profile, yes: bool) -> int:
    if yes and "delete-keys" not in profile.allow:
        raise ProfileError(f"{profile.path}: cleanup deletes keys: add delete-keys to allow, and requests.deletePixKey")
    if yes and (missing := missing_for_deletions(profile)):
        raise ProfileError(f"{profile.path}: cleanup deletes keys: {missing}")
    record = record_of_keys(profile)
    left = list(_left_by_runs(profile, record))
    for key in left:
        print(f"left by an earlier run: {key.name}{': ' if key.keeps else ''}{key.keeps}")
    if not left:
        print(f"nothing to clean up: no earlier run left a key of {profile.name}")
        return CLEAN
    if not yes:
        print("nothing was deleted: --yes deletes the keys without a reason to stay")
        return LEFT
    remaining = len(left)
    with _opened(replace(profile, allow=profile.allow & {"delete-keys", "read"})) as client:
        for key in left:
            is_closed = _delete(client, profile, key) or key.keeps == _FORGOTTEN
            remaining -= is_closed
            if is_closed:
                record.note(key.account, key.type, key.value, GONE, ours=True)
        if client.door.keys.gone:
            return _error(f"{KEY_GONE}: restore it, unless somebody else deleted it", INCOMPLETE)
    return LEFT if remaining else CLEAN


def _delete(client: Client, profile: Profile, key: _Left) -> bool:
    """Delete a key and say so. True if it is gone."""
    if key.keeps:
        return False
    keys, value = client.door.keys, key.value or ""
    if "read" in profile.allow and key.account not in keys.lists_before:
        client.send("listPixKeys", key.account)
    before = keys.lists_before.get(key.account)
    is_of_the_profile = value in {own.key for own in profile.pix_keys}
    if is_of_the_profile and not profile.is_sandbox and before and before.hides_keys:
        print(f"not deleted: {key.name} (the list of keys is masked, so nobody can tell whether the key is yours)")
        return False
    body = fill(profile.requests["deletePixKey"].json, account=key.account, key=value, type=key.type)
    exchange = client.send("deletePixKey", key.account, json=body)
    is_gone = _is_gone(client, exchange, key)
    print(f"{'gone' if is_gone else 'not deleted'}: {key.name} ({answer_in_words(exchange)})")
    return is_gone


def _is_gone(client: Client, exchange: Exchange, key: _Left) -> bool:
    """True if a deletion was granted and no list after it shows the key, or if it was refused and a list does not show
    the key. Without a list, on a sandbox, the answer says it."""
    refusal = refused_or_lost(exchange)
    if exchange.number == 0:
        return False
    if refusal is not None and "read" in client.door.permission.allow:
        client.send("listPixKeys", key.account)
        last = client.door.keys.last_lists.get(key.account)
        return last is not None and not last.may_show(key.value or "")
    last = client.door.keys.last_lists.get(key.account)
    is_still_there = last is not None and last.number > exchange.number and last.shows(key.value or "")
    return refusal in (None, RefusalKind.NOT_FOUND) and not is_still_there


@contextmanager
def _opened(profile: Profile) -> Iterator[Client]:
    """A client of the target through a door of its own. Raises UnreachableError."""
    target = open_target(profile)
    try:
        with closing(open_door(profile, target)) as door:
            client = open_client(door, profile)
            forget_variables(profile)
            yield client
            if why := door.liveness.unreachable:
                raise UnreachableError(why)
    except UnreachableError as error:
        why = Display(target.secrets).foreign(f"{profile.base_url} cannot be reached: {error}")
        raise UnreachableError(why) from None
    finally:
        target.stop()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line and exit status 4, as for every wrong use; argparse's own is 2, which means interrupted here. An
        argument that is not known is not repeated: it may be a pasted token."""
        message = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        self.exit(WRONG_USE, f"error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m environments", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    profile = _Parser(add_help=False)
    profile.add_argument("environment", metavar="NAME", help="environments/NAME.yaml, or a path")

    new = commands.add_parser("new", parents=[profile], help="write a profile, which only reads by default")
    new.add_argument("--base-url", required=True, metavar="URL", help="address of the service, without /v1")
    new.add_argument("--account", action="append", default=[], metavar="ID", help="that the token may see; repeatable")
    new.add_argument("--ca-bundle", metavar="FILE", help="authority that signed the certificate of the service, as PEM")
    new.add_argument("--limit", action="append", default=[], metavar="NAME=N", help="such as rate=5; repeatable")
    new.add_argument("--prepare-with", choices=PREPARING, metavar="OPERATION", help="permit it, and prepare transfers")
    new.add_argument("--count", type=int, metavar="N", help="how many transfers --prepare-with prepares; 1 by default")
    new.add_argument("--force", action="store_true", help="replace a profile that is there, and keep its tls")
    check = commands.add_parser("check", parents=[profile], help="say whether a run could begin; only reads are sent")

    cleanup = commands.add_parser("cleanup", parents=[profile], help="list the keys that earlier runs left")
    cleanup.add_argument("--yes", action="store_true", help="delete them")

    journal = commands.add_parser("journal", help="list the codes that earlier runs sent, by time and outcome")
    journal.add_argument("environment", metavar="NAME", nargs="?", help="those of environments/NAME.yaml, or of a path")
    journal.add_argument("--settle", metavar="CODE", help="end an unknown outcome: the code, or its name in the list")
    for command in (check, cleanup, journal):
        command.add_argument("--base-url", metavar="URL", help="replaces that of the profile, as for the run")
    return parser


if __name__ == "__main__":
    early_signals.raise_from_now_on()
    sys.exit(main())
