"""Wrong tokens that go with real codes and keys: which of them there is room for, and how messages name them.

A row of the table in `wrong_tokens.py` is a form of credential, such as a token with another signature, and the ways in
which the request is written. The interface document says which two operations need the token (Authentication 1).

Self-tests: promises/test_open_token_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.client import Client
from environments.door.wrong_tokens import ANOTHER, NO_HEADER, OTHER_SCHEMES, Row, forms, rows
from environments.profiles.model import Profile
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.message import Text, joined, say
from tests.traffic.scenario import Traffic

MOST_CITED = 9
"""Exchanges that a judgement names if they all show the same. The number is a choice."""
_MOST_NAMED = 6
"""Credentials that a finding names. The number is a choice."""
_CODES_WITH_ROWS = 5
"""Codes of a sandbox that share the room: four are offered, and the rows of one go again if it was perhaps spent."""
_WITH_A_REGISTERED_KEY = 3
"""Requests without the valid token for keys that are registered."""
ASKED_AFTER_A_WRONG_TOKEN = 2
"""Accounts that are asked with the valid token right after a wrong one: to lock an account takes more than one, so a
refusal that both get is kept."""
ASKED_AGAIN = 4
"""Requests for the code that was executed first: without a token and with a wrong one, at once and at the end.

On a sandbox, room for as many is kept for wrong tokens with the key types that are not e-mail addresses."""


# -- which rows are sent ----------------------------------------------------------------------------------------------


def wrong_token_rows(traffic: Traffic, operation: str) -> list[Row]:
    """The rows that go with real codes or keys, in the order of the table, as many as there is room for.

    The plain request without a token is always among them, because it is not counted as a wrong token.
    """
    room = _room_for_rows(traffic, operation)
    chosen: list[Row] = []
    count = 0
    for row in _whole_table(traffic, operation):
        is_plain = row == Row(NO_HEADER)
        if is_plain:
            chosen.append(row)
        elif count < room:
            chosen.append(row)
            count += 1
    return chosen


def _room_for_rows(traffic: Traffic, operation: str) -> int:
    """Number of wrong tokens that limits.wrong_tokens leaves for the rows with real codes or keys.

    These are taken off the limit:

    1. The requests for the code that was executed first; on a sandbox as many for registrations (`ASKED_AGAIN`).
    2. For registrations, the wrong tokens that go apart with keys, or at own accounts.
    3. For executions, on a sandbox: the rows of one code, which go with another code if the first was perhaps spent.

    If 1 leaves anything, there is room for one row.
    """
    profile = traffic.profile
    is_execution = operation == "executePix"
    room = profile.limits.wrong_tokens
    if is_execution or profile.is_sandbox:
        room -= ASKED_AGAIN
    room_for_one = min(room, 1)
    if not is_execution:
        room -= _apart_with_keys(profile)
    elif profile.is_sandbox:
        room -= room // _CODES_WITH_ROWS
    return max(room_for_one, room)


def _apart_with_keys(profile: Profile) -> int:
    """Number of wrong tokens that go with keys, or at own accounts, beside the rows of the table."""
    with_own_accounts = len(profile.accounts[:ASKED_AFTER_A_WRONG_TOKEN]) if profile.is_sandbox else 0
    return _WITH_A_REGISTERED_KEY + len(forms(profile, among=OTHER_SCHEMES)) + with_own_accounts


def _whole_table(traffic: Traffic, operation: str) -> list[Row]:
    """Every row of the table for an operation, with the forms that apply to the access token of this moment."""
    names = [form.name for form in forms(traffic.profile, traffic.client.door.secrets.token())]
    return rows(names, has_a_body=operation == "registerPixKey")


def rows_for_code(table: Sequence[Row], place: int, number_of_codes: int) -> list[Row]:
    """The rows that one code is offered with, if the table is dealt out to several codes. `place` counts them from 0.

    1. A row with a wrong token, because its request leaves right behind an execution.
    2. The rows without a header. Each code has at least one.
    3. The other rows with wrong tokens.
    """
    without_header = [row for row in table if row.credential == NO_HEADER]
    with_token = [row for row in table if row.credential != NO_HEADER]
    tokens_of_code = with_token[place::number_of_codes]
    bare_of_code = without_header[place::number_of_codes] or without_header[:1]
    return [*tokens_of_code[:1], *bare_of_code, *tokens_of_code[1:]]


def send_first_code_again(client: Client) -> None:
    """Send the code that was executed first without a token and with a wrong one, because a cache may answer anybody.

    The door keeps them back if limits.wrong_tokens is spent.
    """
    code = client.door.guard.first_executed
    if code:
        for credential in (NO_HEADER, ANOTHER):
            client.send("executePix", code, credential=credential)


# -- credentials in words ---------------------------------------------------------------------------------------------


def tried_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """Sentence with the credentials that were tried, and with the share of the table that they are."""
    pairs = _pairs_of_form_and_way(_whole_table(traffic, operation))
    pairs_tried = pairs & _pairs_of_form_and_way(exchanges)
    share = say("{number} of {all} pairs of a form and a way", number=len(pairs_tried), all=len(pairs))
    return say("credentials tried: {names} ({share})", names=credentials_in_words(exchanges), share=share)


def _pairs_of_form_and_way(requests: Iterable[Row | Exchange]) -> set[tuple[str, str]]:
    """Each form with each way in which it is written. The way is empty if the request is written as documented."""
    pairs: set[tuple[str, str]] = set()
    for request in requests:
        for way in request.written or ("",):
            pairs.add((request.credential, way))
    return pairs


def let_in_words(exchanges: Sequence[Exchange]) -> Text:
    """The credentials that were let in: the first few, and the number of the others.

    If a form is let in as it is documented, the unusual ways in which it is let in, too, are left out.
    """
    let_in_as_documented = {exchange.credential for exchange in exchanges if not exchange.written}
    named = []
    for exchange in exchanges:
        if not exchange.written or exchange.credential not in let_in_as_documented:
            named.append(exchange)
    names = list(dict.fromkeys(map(_credential_in_words, named)))
    return joined(capped(names, _MOST_NAMED), ", ")


def credentials_in_words(exchanges: Sequence[Exchange]) -> Text:
    """The credentials of the requests that are written as documented; those of all requests if none is."""
    as_documented = [exchange for exchange in exchanges if not exchange.written]
    return joined(map(_credential_in_words, as_documented or exchanges), ", ")


def _credential_in_words(exchange: Exchange) -> Text:
    """The credential of a request, with the unusual ways in which the request is written."""
    return joined((say(exchange.credential), *exchange.written), " + ")
