"""Invalid requests from tables: those that a requirement names, and those that Schemathesis cannot draw.

Bodies that are no JSON, texts that are no UTF-8, queries, credentials and Content-Types are no part of the OpenAPI
schema. So Schemathesis does not draw them (`drawing/cases.py`), and the tables here have them.

The kind of an invalid request is the part that is unusual, and how: ("query", "long"). Each row of a table is a kind,
with the value that replaces the usual one. `invalid_requests` makes a case (a request that is not sent yet) of each
kind. The rest of the request is valid, or has synthetic identifiers, which begin with `pixconf-` (`SYNTHETIC_PREFIX`).

Two modules send these cases: `robustness.py` the kinds whose answers are observed, `property.py` all others.

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from environments.door.limits import OPERATIONS_WITH_DOCUMENTED_TOKEN
from environments.door.permission import synthetic
from environments.door.wrong_tokens import INVALID_CREDENTIALS, NO_HEADER, WRONG_TOKEN
from environments.profiles.model import Profile
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import as_bytes
from spec.message import Text, joined, joined_keeping_repeats, say
from tests.traffic.case import (
    AMOUNT,
    DOCUMENTED_MEMBERS,
    Case,
    EncodedText,
    Members,
    harmless_cases,
    harmless_path_parameter,
    synthetic_text,
    transfers_name_real_accounts,
    usual_body_for_an_unknown_payee,
    usual_body_that_names_nobody,
)

Values = Mapping[str, Any]
"""By the second part of a kind, such as "long", the value of one part of a request.

The first table of a part is for every operation that has the part. A table `MORE_…` is for some operations only."""
_LONG = 5_000
"""Characters of a text that is longer than a buffer of 4 KiB."""
_LONGEST = 110_000
"""Characters of a text that is longer than 64 KiB, and than the 100 kB that some services read of a body."""
_DEEP = 20_000
"""Levels of a deeply nested body. The number is a choice."""
_MARK = SYNTHETIC_PREFIX.encode()
"""The prefix `pixconf-` of made-up identifiers, for bodies that are written as bytes."""
_REGISTER, _DELETE = "registerPixKey", "deletePixKey"

# -- tables of kinds ---------------------------------------------------------------------------------------------------

PATH_PARAMETERS = {
    "unknown": synthetic_text("0"),
    "with an encoded slash": synthetic_text("%2f%2F"),
    "that is no UTF-8": _MARK + b"\xff\xc0\x80\xed\xa0\x80",  # … and half of a surrogate pair
    "with a broken percent-encoding": EncodedText(synthetic_text("%zz%25ff")),  # after decoding once: %zz%ff
}
"""Unusual accounts and transaction codes in the path."""
MORE_PATH_PARAMETERS = {
    "with quotes": synthetic_text("'\"`"),
    "very long": synthetic_text("9" * _LONG),
    "with NUL": synthetic_text("\0"),
    "percent-encoded twice": synthetic_text("%252f%00%0a"),
    "with a line break": synthetic_text("\r\nX-Pixconf: 1"),
    "with a question mark": synthetic_text("?a=1#b"),
    "outside the basic plane": synthetic_text("🏦"),
}
"""Further unusual transaction codes, for executions only."""
QUERIES = {"a query": f"?{SYNTHETIC_PREFIX}=1&page=-1&limit=99999999999&sort[]=a&filter={{}}"}
"""A query, which no operation has in the interface document."""
MORE_QUERIES = {
    "a query that is no UTF-8": "?a=%ff&a=&&=",
    "texts for numbers in a query": "?page=a&limit=a&offset=a&size=a",
    "long": f"?{SYNTHETIC_PREFIX}=" + "x" * 2 * _LONG,  # longer than the 8 KiB that many servers read of the first line
}
"""Further queries, for operations without a body only: a service that gets a body reads no query."""
_EMPTY_HEADER = "an empty header"
"""Name of the wrong credential that is an Authorization header without a value."""
ALL_CREDENTIALS = (NO_HEADER, WRONG_TOKEN, *INVALID_CREDENTIALS)
"""Credentials for one operation, listAccounts: a service reads the header in one place. `_credentials` says which of
them the other operations get."""
CONTENT_TYPES = {
    "missing": None,
    "a form": "application/x-www-form-urlencoded",
}
"""Unusual values of the header Content-Type, with a body that is JSON as usual. None: the header is left out."""
MORE_CONTENT_TYPES = {"XML": "application/xml", "of an unknown charset": "application/json; charset=pixconf"}
"""Further values of Content-Type, for registrations and deletions only."""
ACCEPT = {"with a quality that is no number": (("Accept", "application/json;q=high, */*;q=0.1"),)}
"""Unusual values of the header Accept, for one operation, listAccounts: a service reads the header in one place."""
UNREADABLE = {"cut short": b'{"' + _MARK, "no UTF-8": b'{"pixKey": "' + _MARK + b'\xff\xfe"}'}
"""Bodies that no service should understand as a request.

A careless service may understand them, and the bodies below, as a request to delete all keys. Deletions with these
bodies name an account of the profile on a sandbox only."""
TEXTS = {
    "empty": b"",
    **UNREADABLE,
    "NaN": b'{"value": NaN, "pixKey": NaN}',
    "very deeply nested": b"[" * _DEEP + b"]" * _DEEP,
}
"""Bodies that are no JSON, or that some services cannot read as JSON."""
NO_OBJECTS = {"an array": b"[]", "a text": b'"' + _MARK + b'"'}
"""Bodies in JSON that are no object, for registrations and deletions only."""
MORE_TEXTS = {
    "an empty object": b"{}",
    "null": b"null",
    "a number": b"-1",
    "a trailing comma": b'{"account": "' + _MARK + b'",}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "no JSON": _MARK,
    "a huge exponent": b'{"value": 1e999999, "date": -1e400, "pixKey": -1e400}',
    "many digits": b'{"value": ' + b"9" * _LONG + b', "pixKey": -' + b"9" * _LONG + b"}",
}
"""Further unusual bodies, for registrations only."""
_NUMBER = {"a number": -1}
"""The number that replaces a member of a body."""
_MADE_UP_TEXT = f"{SYNTHETIC_PREFIX}text"
_TEXT = {"text": _MADE_UP_TEXT}
"""The made-up text that replaces a member of a body."""
MEMBERS: Mapping[str, Mapping[str, Values]] = {
    _REGISTER: {
        "account": {"null": None, **_NUMBER, "an object": {}, **_TEXT},
        "pixKeyType": {"null": None, **_NUMBER},
        "pixKey": {"null": None, **_NUMBER},
    },
    **{operation: {AMOUNT: {**_NUMBER, **_TEXT}} for operation in PREPARING_OPERATIONS},
}
"""By operation and member of the body, the values whose answers are observed. Schemathesis draws others."""
_TEXT_WITH_QUOTES = {"text with quotes": f"{SYNTHETIC_PREFIX}'\"; SELECT 1; --"}
"""A quote and a statement of SQL: together they find what a quote alone does not."""
ODD_KEYS = {
    "a very long text": synthetic_text("x" * _LONGEST),
    "text outside the basic plane": f"{SYNTHETIC_PREFIX}🏦",
    "text with NUL": f"{SYNTHETIC_PREFIX}\0",
    **_TEXT_WITH_QUOTES,
    "text with half a surrogate pair": f"{SYNTHETIC_PREFIX}\ud800",
}
"""Unusual keys, for registrations. Of these, deletions only have the key with quotes."""

_OF_A_READ = frozenset({"unknown", "with an encoded slash", WRONG_TOKEN})
"""How requests are unusual whose answers are observed for each operation that only reads."""
_OF_A_TRANSFER = frozenset({"empty", "cut short", "a form", "value: text", "value: a number"})
"""How requests are unusual whose answers are observed for each operation that prepares a transfer."""
OBSERVED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(READ_OPERATIONS, _OF_A_READ),
    **dict.fromkeys(PREPARING_OPERATIONS, _OF_A_TRANSFER),
    "executePix": frozenset(
        {
            "very long", "with an encoded slash", "outside the basic plane", "with quotes", "with NUL",
            "with a question mark",
        }
    ),
    "listAccounts": frozenset({"long", WRONG_TOKEN}),
    _REGISTER: frozenset(
        {
            "unknown", "a synthetic key", "missing", "null", "a number", "account: text", "account: an object",
            "a very long text", "text outside the basic plane", "text with NUL", "empty", "cut short", "body: an array",
            "a text", "an empty object", "very deeply nested", "no UTF-8", "a form",
        }
    ),
    _DELETE: frozenset(
        {"unknown", "a synthetic key", "empty", "cut short", "body: an array", "a text", "a form"}
    ),
}  # fmt: skip
"""By operation, the kinds whose answers are observations. The scenario `send_invalid` sends them.

A kind is named by how a part of the request is unusual, such as "missing", whatever the part is; or as `part: how`, for
one part alone."""


# -- cases for an operation --------------------------------------------------------------------------------------------


def invalid_requests(operation: str, profile: Profile) -> Iterator[Case]:
    """The invalid requests to an operation that this profile permits, one for each kind. They are not sent yet.

    A kind is the part of a request that is invalid, and how: ("pixKey", "missing").
    """
    return harmless_cases(_all_cases(operation, profile), profile)


def observed_invalid_requests(operation: str, profile: Profile) -> Iterator[Case]:
    """The invalid requests to an operation whose answers the report shows as observations (the table OBSERVED).

    The scenario `send_invalid` sends them. If the run may delete keys, each request has a made-up key of its own.
    Otherwise they share one, so that at most one key stays registered.
    """
    cases = [case for case in _all_cases(operation, profile) if _is_observed(case)]
    if profile.may_delete_keys:
        cases = [_with_its_own_key(case) for case in cases]
    return harmless_cases(cases, profile)


def other_invalid_requests(operation: str, profile: Profile) -> Iterator[Case]:
    """The invalid requests to an operation whose answers the report does not show as observations.

    They are part of the generated traffic.
    """
    cases = [case for case in _all_cases(operation, profile) if not _is_observed(case)]
    return harmless_cases(cases, profile)


def _is_observed(case: Case) -> bool:
    """True if the report shows the answer to this invalid request as an observation: the table OBSERVED has its kind.

    The table names a kind as "missing", for any part of a request, or as "body: an array", for one part.
    """
    kinds = OBSERVED[case.operation]
    return case.how_unusual in kinds or f"{case.unusual_part}: {case.how_unusual}" in kinds


def _with_its_own_key(case: Case) -> Case:
    """The case (an invalid request) with a made-up key that no other case has, if its body has the usual made-up key.

    The cases come from tables that have the same made-up key for all. A service may refuse a key because it is
    registered already, and not because of the invalid part.
    """
    if not case.body:
        return case
    shared_key = as_bytes(DOCUMENTED_MEMBERS[_REGISTER]["pixKey"])
    return replace(case, body=case.body.replace(shared_key, as_bytes(synthetic())))


def unreadable_request(operation: str, credential: str) -> Case:
    """A request with a body that cannot be read and a made-up account, so that it does nothing even without a token.

    `credential` is the name of the token or of the wrong token to send.
    """
    return Case(operation, path_parameter=synthetic(), body=UNREADABLE["cut short"], credential=credential)


def kinds_in_words(kinds: Iterable[tuple[str, str]]) -> Text:
    """Kinds of invalid requests as a text, by the part that is invalid: `body: empty, null; pixKey: missing`.

    A kind is a pair, such as ("body", "empty"). A request that was drawn at random has the pair ("", "").
    """
    descriptions_by_part: dict[str, list[Text]] = {}  # such as {"body": ["empty", "null"]}
    for part, how in kinds:
        descriptions_by_part.setdefault(part, []).append(say(how))
    texts = []
    for part, descriptions in descriptions_by_part.items():
        if part:
            in_words = joined_keeping_repeats(descriptions, ", ")
            texts.append(say("{where}: {kinds}", where=say(part), kinds=in_words))
        else:
            texts.append(say("generated requests"))
    return joined(texts)


def with_transfers_last(cases: Iterable[Case]) -> list[Case]:
    """The cases (requests) in the order in which they are sent: those that may prepare a transfer come last.

    The profile limits the number of transfers, so perhaps not all of these requests can be sent. So they are ordered
    such that operations alternate and, within an operation, the invalid parts alternate. Then some requests to each
    operation, and for each part, are sent before the limit is reached.
    """
    cases = list(cases)
    transfers = [case for case in cases if case.operation in PREPARING_OPERATIONS]
    others = [case for case in cases if case.operation not in PREPARING_OPERATIONS]
    with_alternating_parts = _one_of_each_group_in_turn(transfers, _operation_and_part_of)
    # The invalid parts still alternate within an operation, because the order within a group stays.
    with_alternating_operations = _one_of_each_group_in_turn(with_alternating_parts, _operation_of)
    return others + with_alternating_operations


def _operation_and_part_of(case: Case) -> tuple[str, str]:
    """The operation of a case, and the part of the request that is invalid, such as ("createPix", "body")."""
    return case.operation, case.unusual_part


def _operation_of(case: Case) -> str:
    """The operation of a case, such as "createPix"."""
    return case.operation


def _one_of_each_group_in_turn(cases: Sequence[Case], group_of: Callable[[Case], Hashable]) -> list[Case]:
    """The cases in another order: the first case of each group, then the second case of each group, and so on.

    `group_of` gives the group of a case. Within a group the order stays.
    """
    cases_so_far = Counter[Hashable]()  # by group, the number of its cases so far
    cases_by_turn = defaultdict[int, list[Case]](list)  # turn 0 has the first case of each group
    for case in cases:
        group = group_of(case)
        turn = cases_so_far[group]
        cases_by_turn[turn].append(case)
        cases_so_far[group] += 1
    in_order: list[Case] = []
    for turn in sorted(cases_by_turn):
        in_order += cases_by_turn[turn]
    return in_order


def _all_cases(operation: str, profile: Profile) -> Iterator[Case]:
    """All invalid requests to an operation, one for each kind: the part that is invalid and how, ("query", "long").

    Each is a usual request in which one part is replaced: the body or a member of it, the path parameter, the query or
    the credential. The rest of the request is valid, or names a made-up account, key or code.
    """
    # Names and values of a usual body, whose payee is made up; None without a body.
    members = usual_body_for_an_unknown_payee(operation, profile)
    name_of_path_parameter = operations()[operation].path_parameter  # such as "accountId"; None without one
    case = Case(operation, path_parameter=harmless_path_parameter(operation, profile))
    if members:
        case = replace(case, body=as_bytes(members))
        yield from _cases_with_unusual_bodies(case, members, profile)
    if name_of_path_parameter:  # the case keeps its body, because a service may read the body first
        yield from _with_each_value(case, name_of_path_parameter, "path_parameter", PATH_PARAMETERS)
        if operation == "executePix":
            yield from _with_each_value(case, name_of_path_parameter, "path_parameter", MORE_PATH_PARAMETERS)
    # Most services read no query if the request has a body. So registrations alone are enough to try that.
    if members is None or operation == _REGISTER:
        yield from _with_each_value(case, "query", "query", QUERIES)
    if members is None:
        yield from _with_each_value(case, "query", "query", MORE_QUERIES)
    if operation == "listAccounts":
        yield from _with_each_value(case, "Accept", "headers", ACCEPT)
    # A wrong credential is sent with a body that names nobody, because the operation may need no token.
    synthetic_members = usual_body_that_names_nobody(operation, profile)
    synthetic_body = as_bytes(synthetic_members) if synthetic_members else None
    case = replace(case, body=synthetic_body)
    for credential in _credentials(operation):
        # A case has only the name of its credential. The header is made from the name when the case is sent.
        yield replace(case, unusual_part="Authorization", how_unusual=credential, credential=credential)


def _credentials(operation: str) -> Sequence[str]:
    """The names of the wrong credentials that are sent to an operation, each in one invalid request.

    Most of them are sent to listAccounts alone, because a service reads the header in the same way for each operation.

    | operation | credentials |
    |---|---|
    | listAccounts | all, also the over-long token |
    | executePix, registerPixKey | the empty header: scenarios send the other wrong tokens (`wrong_tokens.py`) |
    | any other | no header, a wrong token, the empty header |
    """
    if operation == "listAccounts":
        return ALL_CREDENTIALS
    if operation in OPERATIONS_WITH_DOCUMENTED_TOKEN:
        return [_EMPTY_HEADER]
    return [NO_HEADER, WRONG_TOKEN, _EMPTY_HEADER]


# -- cases with an unusual body ----------------------------------------------------------------------------------------


def _cases_with_unusual_bodies(case: Case, members: Members, profile: Profile) -> Iterator[Case]:
    """Invalid requests with an unusual body or Content-Type. `case` is a usual request, and `members` its body."""
    if case.operation == _REGISTER:
        return _cases_of_registrations(case, members)
    if case.operation == _DELETE:
        return _cases_of_deletions(case, members, profile)
    return _cases_of_transfers(case, members, profile)


def _cases_of_registrations(case: Case, members: Members) -> Iterator[Case]:
    """Invalid registrations: those with an unusual body, an unusual member of the body, or an unusual Content-Type.

    `case` is a usual registration, and `members` are the names and values in its body. Each registration replaces one
    part of it. The constants in capital letters are tables of such parts, by the words that describe them.
    """
    yield from _with_each_body(case, TEXTS, NO_OBJECTS, MORE_TEXTS)
    yield from _with_each_body(case, _objects_with_odd_members(members))
    yield from _with_observed_members(case, members)
    for name in members:
        remaining = {member: value for member, value in members.items() if member != name}
        yield replace(case, unusual_part=name, how_unusual="missing", body=as_bytes(remaining))
    # This one is complete. Registrations that lack a field are compared with it. Its key is a synthetic one: the suite
    # made it up, as in all of these registrations.
    yield replace(case, unusual_part="pixKey", how_unusual="a synthetic key")
    yield from _with_each_value_of_member(case, members, "pixKey", ODD_KEYS)
    yield from _with_each_value(case, "Content-Type", "content_type", CONTENT_TYPES, MORE_CONTENT_TYPES)


def _cases_of_deletions(case: Case, members: Members, profile: Profile) -> Iterator[Case]:
    """Invalid deletions: those with an unusual body or Content-Type.

    `case` is a usual deletion of a made-up key for a made-up account, and `members` are the names and values in its
    body. Deletions that name a made-up key in a body that can be read are for an account of the profile instead,
    because an existing account shows more. The deletion of a made-up key counts as invalid, too: this key was never
    registered.
    """
    for_own_account = _deletion_for_own_account(case, profile)  # `case` itself if the profile has no account
    yield from _deletions_without_members(case, for_own_account, profile)
    yield from _with_each_body(for_own_account, _objects_with_odd_members(members))
    yield replace(for_own_account, unusual_part="pixKey", how_unusual="a synthetic key")
    yield from _with_each_value_of_member(for_own_account, members, _member_of_key(members), _TEXT_WITH_QUOTES)
    # For the made-up account, because a service that does not read the body may delete all keys of the account.
    yield from _with_each_value(case, "Content-Type", "content_type", CONTENT_TYPES, MORE_CONTENT_TYPES)


def _deletions_without_members(case: Case, for_own_account: Case, profile: Profile) -> list[Case]:
    """Deletions with bodies that cannot be read, or that name no key (the tables TEXTS and NO_OBJECTS).

    | profile | deletions |
    |---|---|
    | without an account | each body, for a made-up account (`case`) |
    | outside a sandbox | the same; and the UNREADABLE bodies for an account of the profile (`for_own_account`) |
    | of a sandbox | each body for an account of the profile; and those of the row above that the report observes |

    Outside a sandbox a service may understand such a body as a deletion of all keys of the account. So `harmless_cases`
    (case.py) replaces the account of the profile there by a made-up one, before the deletions are sent.
    """
    for_made_up_account = list(_with_each_body(case, TEXTS, NO_OBJECTS))
    if for_own_account == case:
        return for_made_up_account
    outside_a_sandbox = [*for_made_up_account, *_with_each_body(for_own_account, UNREADABLE)]
    if not profile.is_sandbox:
        return outside_a_sandbox
    all_for_own_account = _with_each_body(for_own_account, TEXTS, NO_OBJECTS)
    # Also sent on a sandbox, so that the observations of runs on a sandbox and elsewhere can be compared.
    observed_outside_a_sandbox = [deletion for deletion in outside_a_sandbox if _is_observed(deletion)]
    deletions = [*all_for_own_account, *observed_outside_a_sandbox]
    return list(dict.fromkeys(deletions))  # each once


def _cases_of_transfers(case: Case, members: Members, profile: Profile) -> Iterator[Case]:
    """Invalid preparations of transfers: those with an unusual body, member of the body, or Content-Type.

    `case` is a usual preparation, and `members` are the names and values in its body. TEXTS and CONTENT_TYPES are
    tables of unusual bodies and Content-Types, by the words that describe them, such as "cut short".
    """
    bodies_with_account: Values = {}  # by the words that describe them, such as "cut short"
    if transfers_name_real_accounts(case.operation, profile):
        bodies_with_account = _unreadable_transfers_of_own_account(members)
    for case_without_account in _with_each_body(case, TEXTS):
        is_also_sent_with_account = case_without_account.how_unusual in bodies_with_account
        # A service looks further into a body that names an account, so the body without an account is left out. It is
        # sent only if its answer is in the list of observations of the report.
        if not is_also_sent_with_account or _is_observed(case_without_account):
            yield case_without_account
    yield from _with_each_body(case, bodies_with_account)
    yield from _with_each_body(case, _objects_with_odd_members(members))
    yield from _with_observed_members(case, members)
    # The amount is a text here, so that a service which ignores the Content-Type prepares no transfer.
    case_without_amount = replace(case, body=as_bytes({**members, AMOUNT: _MADE_UP_TEXT}))
    yield from _with_each_value(case_without_amount, "Content-Type", "content_type", CONTENT_TYPES)


def _deletion_for_own_account(case: Case, profile: Profile) -> Case:
    """The deletion `case` for an account of the profile instead of a made-up account.

    The result is `case` itself if the profile has no account; or if the body of the profile for deletions does not have
    the placeholder `{key}`, because nobody knows then which key of the account a service would delete.
    """
    body_in_profile = profile.requests.get(case.operation)
    names_a_key = body_in_profile is None or "{key}" in str(body_in_profile.json)
    if not profile.accounts or not names_a_key:
        return case
    return replace(case, path_parameter=profile.accounts[0])


def _member_of_key(members: Members) -> str:
    """The name of the member that probably has the key in the body of a deletion: the last member with a text.

    For example "pixKey" in {"account": "pixconf-a", "pixKey": "pixconf-b"}. The interface document does not show this
    body, so the name is a guess. If no member has a text, a new name is returned, `pixconf-`.
    """
    names = [name for name, value in members.items() if isinstance(value, str)]
    if not names:
        return SYNTHETIC_PREFIX
    return names[-1]


def _objects_with_odd_members(members: Members) -> Values:
    """Two unusual bodies: one with each member twice, and one with a large member that is not documented.

    The result has them by the words that describe them. `members` are the names and values in a usual body.
    """
    text = as_bytes(members)
    without_closing_brace = text[:-1]
    without_opening_brace = text[1:]
    return {
        "members that stand twice": without_closing_brace + b", " + without_opening_brace,
        "a large member beside it": as_bytes({**members, SYNTHETIC_PREFIX: "x" * 2 * _LONGEST}),
    }


def _unreadable_transfers_of_own_account(members: Members) -> Values:
    """Bodies of transfers that many services cannot read to their end, but that begin with an account of the profile.

    The result has them by the words that describe them. A lenient service may look the account up, and only then fail
    to read the rest, so these bodies test more of the service than bodies that name no account. No body has a readable
    amount, so no service can make a transfer of it. `members` are the names and values in a usual body.
    """
    without_amount = as_bytes({name: value for name, value in members.items() if name != AMOUNT})
    cut_short = without_amount.removesuffix(b"}")
    with_an_open_member = cut_short + b', "' + _MARK + b'": '
    return {
        "cut short": cut_short,
        "no UTF-8": with_an_open_member + b'"\xff\xfe"}',
        "NaN": json.dumps({**members, AMOUNT: math.nan}).encode(),
        "very deeply nested": with_an_open_member + TEXTS["very deeply nested"] + b"}",
        "many digits": with_an_open_member + b"9" * _LONG + b"}",
    }


# -- one part replaced -------------------------------------------------------------------------------------------------


def _with_each_value(case: Case, part: str, field: str, *tables: Values) -> Iterator[Case]:
    """Requests like `case` in which one part is replaced, one request for each value of the tables.

    `part` is the name of that part in reports, such as "Content-Type", and `field` its name in a case, "content_type".
    A table has the values by the words that describe them, such as {"XML": "application/xml"}.
    """
    for table in tables:
        for description, value in table.items():
            yield replace(case, unusual_part=part, how_unusual=description, **{field: value})


def _with_each_body(case: Case, *tables: Values) -> Iterator[Case]:
    """Requests like `case` with another body, one request for each body of the tables.

    A table has the bodies by the words that describe them, such as {"an array": b"[]"}.
    """
    return _with_each_value(case, "body", "body", *tables)


def _with_each_value_of_member(case: Case, members: Members, name: str, values: Values) -> Iterator[Case]:
    """Requests like `case` in which the member `name` of the body has another value, one request for each value.

    `members` are the names and values in the body of `case`. `values` has the values by the words that describe them,
    such as {"a number": -1}.
    """
    bodies = {description: as_bytes({**members, name: value}) for description, value in values.items()}
    return _with_each_value(case, name, "body", bodies)


def _with_observed_members(case: Case, members: Members) -> Iterator[Case]:
    """Requests like `case` in which one member of the body has another value, as the table MEMBERS says.

    For each operation, the table has names of members, and the values whose answers the report observes. `members` are
    the names and values in the body of `case`.
    """
    for name, values in MEMBERS[case.operation].items():
        yield from _with_each_value_of_member(case, members, name, values)
