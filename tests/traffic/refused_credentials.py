"""Wrong tokens that go with real codes and keys: which of them limits.wrong_tokens permits, and how messages name them.

| word | meaning |
|---|---|
| form | a kind of wrong credential, such as a token with another signature, or no header at all |
| way | an unusual spelling of the request, such as two spaces behind the scheme |
| table | all combinations of forms and ways that are worth a request (`wrong_tokens.py`) |
| plain request | the one without a token and with the usual spelling |

The interface document says which two operations need the token (Authentication 1).

Self-tests: promises/test_open_token_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.client import Client
from environments.door.wrong_tokens import (
    ANOTHER,
    NO_HEADER,
    OTHER_SCHEMES,
    UnauthorizedRequest,
    forms,
    table_of_unauthorized_requests,
)
from environments.profiles.model import Profile
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.message import Text, joined, say
from tests.traffic.scenario import Traffic

MOST_CITED = 9
"""Exchanges that a judgement names if they all show the same. The number is a choice."""
_MOST_NAMED = 6
"""Credentials that a finding names. The number is a choice."""
_CODES_WITH_WRONG_TOKENS = 5
"""Codes of a sandbox that share the unauthorized requests: four codes, and a fifth one. If wrong tokens perhaps spent a
code, its requests are sent again with the fifth one."""
_WITH_A_REGISTERED_KEY = 3
"""Requests without the valid token for keys that are registered."""
ASKED_AFTER_A_WRONG_TOKEN = 2
"""Accounts that are asked with the valid token right after a wrong one: to lock an account takes more than one, so a
refusal that both get is kept."""
ASKED_AGAIN = 4
"""Requests for the code that was executed first, sent again: without a token and with a wrong one, both right after its
execution and at the end of the run.

On a sandbox, as many requests are kept back for wrong tokens with keys that are no e-mail addresses."""


# -- which unauthorized requests are sent ---------------------------------------------------------------------------


def unauthorized_requests(traffic: Traffic, operation: str) -> list[UnauthorizedRequest]:
    """The requests of the table that are sent with real codes or keys, in its order.

    There are as many as limits.wrong_tokens permits. The plain request without a token is always among them, because
    the limit does not count it.
    """
    most_counted = _most_unauthorized(traffic, operation)
    chosen: list[UnauthorizedRequest] = []
    counted = 0
    for request in _whole_table(traffic, operation):
        is_plain = request == UnauthorizedRequest(NO_HEADER)
        if is_plain:
            chosen.append(request)
        elif counted < most_counted:
            chosen.append(request)
            counted += 1
    return chosen


def _most_unauthorized(traffic: Traffic, operation: str) -> int:
    """Most requests with a wrong token that may have real codes or keys.

    It is limits.wrong_tokens without the requests that are kept back for other uses:

    1. The requests for the code that was executed first; on a sandbox as many for registrations (`ASKED_AGAIN`).
    2. For registrations: those that are not in the table: for registered keys, with other schemes, and at own accounts.
    3. For executions, on a sandbox: those of one code. They are sent again with another code if the first one was
       perhaps spent by a wrong token.

    If 1 leaves anything, at least one request is sent.
    """
    profile = traffic.profile
    is_execution = operation == "executePix"
    most = profile.limits.wrong_tokens
    if is_execution or profile.is_sandbox:
        most -= ASKED_AGAIN
    fewest = min(most, 1)
    if not is_execution:
        most -= _kept_for_other_uses(profile)
    elif profile.is_sandbox:
        most -= most // _CODES_WITH_WRONG_TOKENS
    return max(fewest, most)


def _kept_for_other_uses(profile: Profile) -> int:
    """Number of unauthorized registrations that are not in the table but count against limits.wrong_tokens, too."""
    with_own_accounts = len(profile.accounts[:ASKED_AFTER_A_WRONG_TOKEN]) if profile.is_sandbox else 0
    return _WITH_A_REGISTERED_KEY + len(forms(profile, among=OTHER_SCHEMES)) + with_own_accounts


def _whole_table(traffic: Traffic, operation: str) -> list[UnauthorizedRequest]:
    """The table for an operation. Which forms there are depends on the access token, such as a JWT."""
    names = [form.name for form in forms(traffic.profile, traffic.client.door.secrets.token())]
    return table_of_unauthorized_requests(names, has_a_body=operation == "registerPixKey")


def requests_with_one_code(
    table: Sequence[UnauthorizedRequest], place: int, number_of_codes: int
) -> list[UnauthorizedRequest]:
    """The unauthorized requests for one of several codes, in the order of sending.

    `number_of_codes` codes share the requests of the table in turns. `place` is the index of this code. Its requests
    are, in this order:

    1. One with a wrong token. It leaves right after the execution of the code before, on the same connection,
       and some services do not check the token on a connection that was authorized before.
    2. Those without a header. Each code has at least one.
    3. The others with wrong tokens.
    """
    without_header = [request for request in table if request.credential == NO_HEADER]
    with_token = [request for request in table if request.credential != NO_HEADER]
    tokens_of_code = with_token[place::number_of_codes]
    bare_of_code = without_header[place::number_of_codes] or without_header[:1]
    return [*tokens_of_code[:1], *bare_of_code, *tokens_of_code[1:]]


def send_first_code_again(client: Client) -> None:
    """Send the code that was executed first once more: without a token, and with a wrong one.

    A service with a cache may answer anybody with the result of the execution. The door does not send the requests if
    as many as limits.wrong_tokens were sent.
    """
    code = client.door.guard.first_executed
    if code:
        for credential in (NO_HEADER, ANOTHER):
            client.send("executePix", code, credential=credential)


# -- credentials in words ---------------------------------------------------------------------------------------------


def tried_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """Sentence with the wrong credentials in these requests, and with the share of all pairs of a form and a way."""
    pairs = _pairs_of_form_and_way(_whole_table(traffic, operation))
    pairs_tried = pairs & _pairs_of_form_and_way(exchanges)
    share = say("{number} of {all} pairs of a form and a way", number=len(pairs_tried), all=len(pairs))
    return say("credentials tried: {names} ({share})", names=credentials_in_words(exchanges), share=share)


def _pairs_of_form_and_way(requests: Iterable[UnauthorizedRequest | Exchange]) -> set[tuple[str, str]]:
    """Each pair of a form and a way in these requests. The way is empty if the request has the usual spelling."""
    pairs: set[tuple[str, str]] = set()
    for request in requests:
        for way in request.spelling or ("",):
            pairs.add((request.credential, way))
    return pairs


def words_for_accepted(exchanges: Sequence[Exchange]) -> Text:
    """Names of the wrong credentials that a service accepted, which are those of the exchanges.

    They are the first few names, and the number of the others. If a credential was accepted with the usual spelling,
    the unusual spellings with which it was accepted, too, are left out.
    """
    accepted_as_usual = {exchange.credential for exchange in exchanges if not exchange.spelling}
    named = []
    for exchange in exchanges:
        if not exchange.spelling or exchange.credential not in accepted_as_usual:
            named.append(exchange)
    names = list(dict.fromkeys(map(_credential_in_words, named)))
    return joined(capped(names, _MOST_NAMED), ", ")


def credentials_in_words(exchanges: Sequence[Exchange]) -> Text:
    """Names of the credentials of the requests with the usual spelling; if there are none, of all requests."""
    with_usual_spelling = [exchange for exchange in exchanges if not exchange.spelling]
    return joined(map(_credential_in_words, with_usual_spelling or exchanges), ", ")


def _credential_in_words(exchange: Exchange) -> Text:
    """Name of the credential of a request, followed by the unusual ways in which the request is spelled."""
    return joined((say(exchange.credential), *exchange.spelling), " + ")
