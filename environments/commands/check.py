"""`check`: prints every problem of a profile and of its set-up. It sends only requests that read.

The first requests to the service are those of `preflight` (environments/door/preflight.py), with which a run begins,
too. This module says in words what their answers mean, and asks for the accounts and keys of the profile.

Some lines depend on what `refusal_or_failure` returns for an answer: None if it is a success, a `RefusalKind` if the
service refused the request, such as with a 403, or a `FailureKind` if there is no answer that can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from environments.commands import CLEAN, INCOMPLETE, UNREACHABLE, WRONG_USE, OpenClient
from environments.commands.cleanup import keys_left_by_runs
from environments.commands.journal import outcome_in_words
from environments.commands.suggestions import lines_to_add_to_profile
from environments.credentials import require_variables
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.opening import journal_in_words, record_of_keys
from environments.door.preflight import preflight
from environments.profiles.loading import name_for_commands, reasons_for_incomplete_run
from environments.profiles.model import EMBEDDED, Profile, ProfileError, path_in_messages
from spec.answers import RefusalKind, answer_in_words, is_granted, refusal_or_failure
from spec.exchange import VALID, FailureKind
from spec.success_codes import perhaps_success_codes

Line = tuple[int, str]
"""The exit status that a run would have for this reason, and a line about it. The status is CLEAN (0) for a line that
only informs: a run could begin nevertheless."""
_LINES_ABOUT_ACCOUNT_LIST: dict[object, Line] = {
    None: (CLEAN, "token: {} to listAccounts"),  # a success
    RefusalKind.GATEWAY: (UNREACHABLE, "not ready: the service answers {} to listAccounts; it may be starting"),
    RefusalKind.SERVER_ERROR: (INCOMPLETE, "the service fails: {} to listAccounts"),
    # If listAccounts is not answered, `preflight` asks other operations. If none is answered, there is another line.
    **dict.fromkeys(FailureKind, (INCOMPLETE, "listAccounts is broken: {}; another operation is answered")),
}
"""The line about the answer to listAccounts, by what `refusal_or_failure` returns for the answer. If the kind of
refusal is not in this table, the line is `_LINE_IF_REFUSED`. `{}` becomes the answer in words, such as `403`."""
_LINE_IF_REFUSED = (
    INCOMPLETE,
    "token: {} to listAccounts: it may be wrong, expired or not permitted; check auth and base_url",
)


_MOST_SERIOUS_LAST = (CLEAN, INCOMPLETE, UNREACHABLE, WRONG_USE)
"""Exit statuses of lines. The command ends with the most serious one."""


def check(profile: Profile, open_client: OpenClient) -> int:
    """Print every problem of a profile, and whether a run with it could begin. Returns the exit status of the command.

    It is the status that a run would have for the most serious problem; 0 if a run could begin.
    """
    status = CLEAN
    for status_of_line, line in _lines_of_check(profile, open_client):
        status = max(status, status_of_line, key=_MOST_SERIOUS_LAST.index)  # the more serious one of both
        print(line)
    if status:
        print(f"not ready: exit status {status}; the lines above say why")
    else:
        print(f"ready: pytest --environment={name_for_commands(profile)} --plan")
    return status


def _lines_of_check(profile: Profile, open_client: OpenClient) -> Iterator[Line]:
    """Everything that `check` prints, in its order. Each line comes with the exit status that a run would have for it.

    The lines are about the profile, the journal (the file with the transaction codes that runs sent), keys and
    transfers of earlier runs, the service, and what the profile lacks.
    """
    yield from _lines_about_the_profile(profile)
    # The journal is read before `open_client` is called, which removes the environment variable with its secret key.
    # `trouble` says why no code can be sent, and `sent_before` are the codes that earlier runs sent.
    journal, trouble, sent_before = journal_in_words(profile)
    needs_journal = "execute" in profile.allow and not profile.is_sandbox
    if needs_journal and trouble:
        yield INCOMPLETE, f"journal: {trouble}"
    elif needs_journal:
        yield _informing_line(f"journal: {journal}")
    try:
        if profile.base_url != EMBEDDED:
            # Not for the sandbox inside the suite: it needs no variables, and its keys are gone when it stops.
            require_variables(profile)
            yield from _line_about_keys(profile)
        only_reading = replace(profile, allow=profile.allow & {"read"})  # so that `check` changes nothing at the bank
        with open_client(only_reading) as client:
            yield from _lines_about_unknown_outcomes(profile, client)
            yield from _lines_about_the_service(profile, client)
    except UnreachableError as error:
        yield UNREACHABLE, f"error: {error}"
    except ProfileError as error:
        for problem in error.problems:
            yield WRONG_USE, f"error: {problem}"
    # Only on a sandbox a run executes a transfer twice, and only one that it prepared itself: it may move money again.
    if profile.is_sandbox and "execute" in profile.allow and profile.transactions.prepare is None:
        yield _informing_line(
            "not judged: a repeated execution, because the run prepares no transfer: set transactions.prepare"
        )
    for reason in reasons_for_incomplete_run(profile, sent_before):
        yield INCOMPLETE, f"not exercised: {reason}"


def _lines_about_the_profile(profile: Profile) -> Iterator[Line]:
    """A line that says whether the target is a sandbox, and one about another address that the user gave."""
    target = "a sandbox" if profile.is_sandbox else "not a sandbox"
    yield _informing_line(f"profile: {path_in_messages(profile.path)} is valid; its target is {target}")
    address_was_replaced = profile.redirection_note is not None  # by --base-url
    if address_was_replaced:
        # The note of the profile is a text if --base-url changed more than the address, else it is empty.
        note_on_address = f"--base-url: {profile.base_url} is not the address of the profile"
        yield _informing_line(profile.redirection_note or note_on_address)


def _line_about_keys(profile: Profile) -> Iterator[Line]:
    """At most one line: how many PIX keys earlier runs registered and did not delete.

    If the value of a key is not known (a RANDOM key, which the service makes), a run registers no further RANDOM key.
    """
    keys = keys_left_by_runs(profile, record_of_keys(profile))
    if not keys:
        return
    command = f"python -m environments cleanup {name_for_commands(profile)}"
    line = f"keys left by earlier runs: {len(keys)}; {command} lists them"
    if all(key.value for key in keys):
        yield _informing_line(line)
    else:
        yield INCOMPLETE, f"{line}; while the value of one is not known, no RANDOM key is registered"


def _lines_about_unknown_outcomes(profile: Profile, client: Client) -> Iterator[Line]:
    """A line for each transfer of an earlier run of which nobody knows whether it moved money.

    A person has to look such a transfer up. The guard, which decides whether a transaction code may be sent, finds such
    transfers in the journal: requests that perhaps prepared a transfer, and executions without a clear answer.
    """
    guard = client.door.guard
    for entry in guard.perhaps_prepared:
        yield _informing_line(f"transfer of a request at {entry.at}: {outcome_in_words(entry, profile)}")
    for entry in guard.unknown_of_earlier_runs:
        yield _informing_line(f"outcome of an execution at {entry.at}: {outcome_in_words(entry, profile)}")


def _lines_about_the_service(profile: Profile, client: Client) -> Iterator[Line]:
    """Send the requests with which a run begins, and say what they show about the service, token and accounts.

    Raises UnreachableError if the service cannot be reached.
    """
    reason_if_unreachable = preflight(client)  # sends them; empty if the service answers
    if reason_if_unreachable:
        raise UnreachableError(reason_if_unreachable)
    yield _informing_line(f"reachable: {client.door.permission.base_url}")
    if "read" not in profile.allow:
        yield _informing_line("token: not tried, because allow has no read")
    account_lists = []  # the requests for the list of accounts that `preflight` sent with the valid token
    for exchange in client.door.exchanges:  # all requests so far, with their answers
        if exchange.operation == "listAccounts" and exchange.credential == VALID:
            account_lists.append(exchange)
    if not account_lists:
        return
    account_list = account_lists[-1]
    refusal = refusal_or_failure(account_list)  # None if the list was answered
    status, line = _LINES_ABOUT_ACCOUNT_LIST.get(refusal, _LINE_IF_REFUSED)
    yield status, line.format(answer_in_words(account_list))
    for code in set(perhaps_success_codes(account_lists).values()):
        yield _informing_line(f"perhaps missing: other_success_codes: [{code}] (if code {code} says success)")
    if status == CLEAN:  # otherwise each account would be refused for the same reason
        yield from _lines_about_accounts(profile, client)


def _lines_about_accounts(profile: Profile, client: Client) -> Iterator[Line]:
    """Ask for the balance of each account, and say which accounts the service does not know.

    If a run may register or delete keys, say also which settings for this the profile perhaps lacks. For example
    `key_at` says at which place of a list the keys are, and the list of keys of the first account shows that place.
    """
    for number, account in enumerate(profile.accounts, 1):
        balance = client.send("getBalance", account)
        if refusal_or_failure(balance) is RefusalKind.NOT_FOUND:
            yield INCOMPLETE, f"number {number} of accounts: 404 to getBalance: check accounts"
    may_change_keys = "register-keys" in profile.allow or "delete-keys" in profile.allow
    if profile.accounts and may_change_keys:
        key_list = client.send("listPixKeys", profile.accounts[0])
        if key_list.response and is_granted(key_list):
            for line in lines_to_add_to_profile(key_list.response.json.value, profile):
                yield _informing_line(f"perhaps missing: {line}")


def _informing_line(text: str) -> Line:
    """A line that only informs. It does not keep a run from beginning, so it leaves the exit status at 0 (CLEAN)."""
    return CLEAN, text
