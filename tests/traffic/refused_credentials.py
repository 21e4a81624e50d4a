"""Requests with real codes and keys, but without the valid token: how many are sent, and how messages name them.

| word | meaning |
|---|---|
| real code, real key | the transaction code of a transfer; a key that a service may register |
| unauthorized request | a request without a token or with a wrong one, which must be refused |
| form | a kind of wrong credential, such as a token with another signature, or no header at all |
| way | an unusual way to write the request, such as two spaces behind the scheme; also called its spelling |
| table | all unauthorized requests that are worth sending, each with a form and perhaps a way (`wrong_tokens.py`) |
| plain request | the request without a token that is written in the usual way |

The interface document says which two operations need the token (Authentication 1).

Self-tests: promises/test_open_token_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from environments.door.client import Client
from environments.door.wrong_tokens import (
    FOR_A_REGISTERED_KEY,
    NO_HEADER,
    OTHER_SCHEMES,
    WRONG_TOKEN,
    UnauthorizedRequest,
    permitted_credential_forms,
    table_of_unauthorized_requests,
)
from environments.profiles.model import Profile
from reports.sentences.wording import capped
from spec.exchange import Exchange
from spec.message import Text, joined, message_of, say
from tests.traffic.scenario import Traffic

MOST_CITED = 9
"""Exchanges that a judgement names if they all show the same. The number is a choice."""
_MOST_NAMED = 6
"""Credentials that a finding names. The number is a choice."""
_CODES_WITH_WRONG_TOKENS = 5
"""Codes of a sandbox among which the wrong tokens are divided: four codes and one more. If a code is refused after its
wrong tokens, they may have spent it. Then they are sent again with the fifth code, to see if they were the reason."""
_WITH_A_REGISTERED_KEY = 3
"""Requests without the valid token for keys that are registered already. The table does not have them."""
_AT_THE_END = 3
"""Requests on a sandbox that are kept for the end of a run (`trust/asking.py`). They are sent if equal requests without
the valid token are answered in different ways: perhaps one of several servers does not check tokens. If three servers
take turns, each of them gets one."""
_FEWEST_WITH_REQUESTS_AT_THE_END = 40
"""Smallest limits.wrong_tokens from which requests are kept for the end of a run. A lower limit has too little room
for the forms and ways of the table. The number is a choice."""
MOST_IDENTIFIERS_WITH_ONE_WRONG_TOKEN = 2
"""Most codes, and most accounts, with which the valid token is sent right after one wrong token. If the service refuses
the valid token then, it keeps its refusal for that code or account: one wrong token is too little to lock an account.
Two, to see the refusal twice."""
REQUESTS_FOR_EXECUTED_CODE = 4
"""Requests without the valid token for the code that was executed first. There are two right after its execution, and
two at the end of the run: one without a token and one with a wrong one.

On a sandbox the same number is kept for registrations: wrong tokens with keys that are no e-mail addresses."""


# -- which unauthorized requests are sent ---------------------------------------------------------------------------


def unauthorized_requests(traffic: Traffic, operation: str) -> list[UnauthorizedRequest]:
    """The requests without a token or with a wrong one that are sent to an operation with real codes or keys.

    They come from the table of all such requests that are worth sending, in its order: the likeliest faults first. They
    are as many as limits.wrong_tokens permits. The plain request (without a token, and written in the usual way) is
    always among them, because the limit does not count it.
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
    """Largest number of requests from the table of wrong tokens that are sent to an operation with real codes or keys.

    It is limits.wrong_tokens minus the requests that are kept for other uses. For example, with a limit of 20, at most
    13 of them are sent with real codes to a sandbox: 4 are kept for the first executed code, and a fifth of the other
    16 (3). With a high limit, 3 more are kept for the end of the run. At least one request of the table is sent, except
    if the limit is too small for the first use.
    """
    profile = traffic.profile
    is_execution = operation == "executePix"
    most = profile.limits.wrong_tokens
    if is_execution or profile.is_sandbox:
        # For executions, the later requests for the first executed code. For registrations on a sandbox, those with a
        # wrong token and a key that is no e-mail address.
        most -= REQUESTS_FOR_EXECUTED_CODE
    if most < 1:
        return 0
    if profile.is_sandbox and profile.limits.wrong_tokens >= _FEWEST_WITH_REQUESTS_AT_THE_END:
        most -= _AT_THE_END
    if not is_execution:
        most -= _registrations_outside_the_table(profile)
    elif profile.is_sandbox:
        # If a wrong token perhaps spent a code, the requests of this code are sent once more with another code. The
        # table is divided among the codes, so they are the share of one code.
        most -= most // _CODES_WITH_WRONG_TOKENS
    return max(1, most)


def _registrations_outside_the_table(profile: Profile) -> int:
    """Number of registrations without the valid token that count against limits.wrong_tokens, but are not in the table.

    There are three sorts:

    - for keys that are registered already
    - with the token under a scheme other than Bearer
    - on a sandbox, for accounts of the profile (`kept_refusals.py`): a service at fault stores the refusal of a wrong
      token, and then also refuses the valid token for this account
    """
    with_other_schemes = len(permitted_credential_forms(profile, among=OTHER_SCHEMES))
    with_own_accounts = 0
    if profile.is_sandbox:
        with_own_accounts = min(len(profile.accounts), MOST_IDENTIFIERS_WITH_ONE_WRONG_TOKEN)
    return _WITH_A_REGISTERED_KEY + with_other_schemes + with_own_accounts


def _whole_table(traffic: Traffic, operation: str) -> list[UnauthorizedRequest]:
    """All requests without the valid token that are worth sending to an operation.

    Which wrong tokens there are depends on the valid token: only a signed token (JWT) can get another signature. Only
    a registration has a body, which some of the requests write in an unusual way.
    """
    names = [form.name for form in permitted_credential_forms(traffic.profile, traffic.client.door.secrets.token())]
    return table_of_unauthorized_requests(names, has_a_body=operation == "registerPixKey", seed=traffic.seed)


def unauthorized_requests_for_code(
    requests: Sequence[UnauthorizedRequest], index_of_code: int, number_of_codes: int
) -> list[UnauthorizedRequest]:
    """The requests without the valid token that are sent with one of several codes, in the order of sending.

    The requests with wrong tokens are divided among the codes, and so are the requests without a token. For example,
    the first of three codes (index 0) gets the first, the fourth and the seventh request with a wrong token, and so on.

    The first request of a code has a wrong token. It is sent right after the execution of another code, on the same
    connection, because some services do not check the token on a connection that was authorized before. Then come the
    requests without a token, at least one, and then the other requests with wrong tokens.
    """
    all_without_token = [request for request in requests if request.credential == NO_HEADER]
    all_with_wrong_token = [request for request in requests if request.credential != NO_HEADER]
    without_token = all_without_token[index_of_code::number_of_codes]
    with_wrong_token = all_with_wrong_token[index_of_code::number_of_codes]
    if not without_token:  # there are more codes than requests without a token
        without_token = all_without_token[:1]
    return [*with_wrong_token[:1], *without_token, *with_wrong_token[1:]]


def send_first_code_again(client: Client) -> None:
    """Send the first executed code once more without a token, and once more with a wrong one.

    A service with a cache may answer anybody with the result of the execution. Nothing is sent if no code was executed.
    If limits.wrong_tokens is reached, the door (which sends all requests) does not send these requests.
    """
    code = client.door.guard.first_executed
    if code:
        for credential in (NO_HEADER, WRONG_TOKEN):
            client.send("executePix", code, credential=credential)


def remedy_for_spent_codes(profile: Profile) -> Text:
    """Sentence with the limits.wrong_tokens at which no real code gets a wrong token before its execution.

    Some services cancel a code that comes with a wrong token. REQUESTS_FOR_EXECUTED_CODE is the largest such limit,
    because the code that was executed first comes before all others. The request without a token is not counted, so no
    limit keeps it back.
    """
    largest_limit = REQUESTS_FOR_EXECUTED_CODE
    if profile.limits.wrong_tokens <= largest_limit:
        return say("ask whether the service cancels a code that comes without a token; then this cannot be tested")
    return say(
        "if the service cancels such codes, set limits.wrong_tokens to {limit}: then no code gets a wrong token before "
        "its execution",
        limit=largest_limit,
    )


# -- credentials in words ---------------------------------------------------------------------------------------------


def credentials_tried_in_words(operation: str, exchanges: Sequence[Exchange], traffic: Traffic) -> Text:
    """Sentence for the verdict: which wrong credentials were tried in these requests, and how many are left out.

    A pair is a wrong credential (form) and an unusual way to write the request, such as ("no header", "a query"). The
    sentence says how many of all pairs for the operation were tried.
    """
    pairs = _pairs_of_form_and_way(_whole_table(traffic, operation))
    pairs_tried = pairs & _pairs_of_form_and_way(exchanges)
    share = say("{number} of {all} pairs of a form and a way", number=len(pairs_tried), all=len(pairs))
    return say("credentials tried: {names} ({share})", names=credentials_in_words(exchanges), share=share)


def _pairs_of_form_and_way(requests: Iterable[UnauthorizedRequest | Exchange]) -> set[tuple[str, str]]:
    """Each pair of a wrong credential (form) and an unusual way to write the request, such as ("no header", "a query").

    The second part is empty for a request that is written in the usual way.
    """
    pairs: set[tuple[str, str]] = set()
    for request in requests:
        for way in request.spelling or ("",):
            pairs.add((request.credential, way))
    return pairs


def accepted_credentials_in_words(exchanges: Sequence[Exchange]) -> Text:
    """Names of the wrong credentials in these exchanges, all of which a service accepted, for a finding.

    They are the first few names, and the number of the others. If a credential was also accepted in a request that is
    written in the usual way, its unusual spellings are left out, because they are not the cause.
    """
    accepted_as_usual = {exchange.credential for exchange in exchanges if not exchange.spelling}
    named = []
    for exchange in exchanges:
        if not exchange.spelling or exchange.credential not in accepted_as_usual:
            named.append(exchange)
    names = list(dict.fromkeys(map(_credential_in_words, named)))  # each name once, in order
    return joined(capped(names, _MOST_NAMED), ", ")


def credentials_in_words(exchanges: Sequence[Exchange]) -> Text:
    """Names of the credentials in these requests, as a list in one line: "no header, the text null".

    Only requests that are written in the usual way are named, because the others repeat their credentials. If all
    requests have an unusual spelling, all are named.
    """
    with_usual_spelling = [exchange for exchange in exchanges if not exchange.spelling]
    return joined(map(_credential_in_words, with_usual_spelling or exchanges), ", ")


def _credential_in_words(exchange: Exchange) -> Text:
    """Name of the credential of a request and of its unusual spellings: "the text null + a slash at the end".

    FOR_A_REGISTERED_KEY is no spelling, so it is in parentheses: "no header (for a key that is registered already)".
    """
    spellings = [spelling for spelling in exchange.spelling if spelling != FOR_A_REGISTERED_KEY]
    credential = joined((say(exchange.credential), *spellings), " + ")
    if FOR_A_REGISTERED_KEY in exchange.spelling:
        return say("{credential} (for a key that is registered already)", credential=message_of(credential))
    return credential
