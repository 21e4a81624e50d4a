"""A request that is not sent yet (`Case`), and the identifiers and bodies that name nobody.

- A synthetic identifier is one that the suite makes up. It begins with `pixconf-` (`SYNTHETIC_PREFIX`), so that no
  service takes it for an account, a key or a code of somebody.
- An invalid request has a kind: which part of it is invalid, and how, such as ("pixKey", "missing"). A case without a
  kind was drawn by Schemathesis.
- Members are the names and values in a JSON body. The interface document shows them in its section Endpoints.

A number cannot have the prefix, and may be the account or the key of somebody. So each function that makes a body says
what becomes of numbers: they become 0 or a negative number, for instance, or the case is left out (`harmless_cases`).

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from environments.profiles.model import Profile
from spec.exchange import VALID, Exchange, Headers
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, JsonPath, as_bytes, is_nested_deeper_than, leaves_of, texts_in

if TYPE_CHECKING:
    from environments.door.client import Client

Members = Mapping[str, Any]
"""The members of the JSON object that is the body of a request."""
_Leaf = tuple[JsonPath, Any]
"""A text, a number or another value in a JSON body that holds nothing else, with the path to it."""

JSON = "application/json"
AMOUNT = "value"
"""Member of the documented transfers that has the amount."""
TYPES_EXCEPT_RANDOM = tuple(name for name in KEY_TYPES if name != "RANDOM")
"""The key types that a made-up key can have. For RANDOM the service makes the key, so the suite cannot."""
SMALLER = "smaller"
"""Mark (`Case.how_unusual`) of a case that was sent to find the smallest request that shows a finding."""
WITH_EXECUTION = "with an execution"
"""Mark (`Case.how_unusual`) of a sequence that executes a transfer. No shorter one is searched then, because each
try would execute another transfer."""

_SMALLEST_AMOUNT = 0.01
"""The amount if the profile has none: one cent."""
_TRANSFER = {
    "from": f"{SYNTHETIC_PREFIX}from",
    "to": f"{SYNTHETIC_PREFIX}to",
    AMOUNT: _SMALLEST_AMOUNT,
    "date": 1767225600000,
}
"""The body of a transfer that names nobody: the fields of the interface document with made-up accounts."""
DOCUMENTED_MEMBERS: Mapping[str, Members] = {
    "registerPixKey": {"account": "", "pixKeyType": "EMAIL", "pixKey": f"{SYNTHETIC_PREFIX}key"},
    "deletePixKey": {"pixKey": f"{SYNTHETIC_PREFIX}unknown"},
    "createPix": {
        "account": f"{SYNTHETIC_PREFIX}account",
        "pixKey": f"{SYNTHETIC_PREFIX}key",
        AMOUNT: _SMALLEST_AMOUNT,
        "message": f"{SYNTHETIC_PREFIX}message",
    },
    "transferExternal": _TRANSFER,
    "transferInternal": {**_TRANSFER, "description": f"{SYNTHETIC_PREFIX}description"},
    "transferP2p": {**_TRANSFER, "description": f"{SYNTHETIC_PREFIX}description"},
}
"""By operation, the members of a body that names nobody. The interface document shows no body for deletePixKey and
createPix: theirs is a choice of the suite, and a profile may have another one in `requests`."""
EXTRA_HEADERS = tuple(
    (name, "pixconf-0001")
    for name in (
        "X-Request-Id", "X-Correlation-Id", "X-Idempotency-Key", "Idempotency-Key", "X-Client-Id", "X-Api-Key",
        "X-Api-Version", "X-Channel", "X-Tenant", "X-Tenant-Id", "X-Trace-Id",
    )
)  # fmt: skip
"""Headers that a service might ask for beyond the interface document."""

_SAFE_IN_A_SEGMENT = ";,:@&=+$!'()*~"
"""Characters that may be in a path segment as they are (RFC 3986, pchar)."""


class EncodedText(str):
    """A path parameter whose percent signs are sent as they are, because it is percent-encoded already."""


@dataclass(frozen=True)
class Case:
    """A request to an operation, which is not sent yet."""

    operation: str
    unusual_part: str = ""
    """The part of the request that is invalid, such as "query" or a member; empty if Schemathesis drew the case."""
    how_unusual: str = ""
    """How that part is invalid, in words without its value, such as "missing"; or the mark SMALLER or WITH_EXECUTION.
    Empty for any other case that Schemathesis drew."""
    path_parameter: str | bytes | None = None
    body: bytes | None = None
    content_type: str | None = JSON
    headers: Headers = ()
    """Further headers, or headers in the place of usual ones."""
    query: str = ""
    valid: bool = False
    credential: str = VALID
    steps: tuple[str, ...] = ()
    """What a sequence sent up to this request."""

    @property
    def is_of_the_search(self) -> bool:
        """True if the case was sent only to find a smaller request that shows a finding."""
        return self.how_unusual == SMALLER

    @property
    def executes_a_transfer(self) -> bool:
        """True if the case is of a sequence in which a transfer is executed before it or by it."""
        return self.how_unusual == WITH_EXECUTION

    @property
    def size(self) -> int:
        """Size of a case, by which the report chooses: of cases that show the same deviation, it shows the smallest.

        For the last request of a sequence it is the number of requests in the sequence. For a single request it is the
        number of characters in its path parameter, body and query.
        """
        if self.steps:
            return len(self.steps)
        return len(self.path_parameter or "") + len(self.body or b"") + len(self.query)

    @property
    def _characters_sent_as_they_are(self) -> str:
        """The special characters that are not percent-encoded in the path parameter, such as ";,:".

        In a valid request there are none. In an invalid request a service may read such a character in a special way.
        """
        if self.valid:
            return ""
        if isinstance(self.path_parameter, EncodedText):  # it is percent-encoded already
            return f"{_SAFE_IN_A_SEGMENT}%"
        return _SAFE_IN_A_SEGMENT

    def send(self, client: Client) -> Exchange:
        """Send the request with this client, and return its exchange: the request with its answer.

        The exchange keeps, in `unusual`, which part of the request is invalid and how, such as ("query", "long").
        """
        return client.send(
            self.operation,
            self.path_parameter,
            body=self.body,
            content_type=self.content_type,
            headers=self.headers,
            credential=self.credential,
            query=self.query,
            safe=self._characters_sent_as_they_are,
            valid=self.valid,
            unusual=(self.unusual_part, self.how_unusual),
        )


def body_as_bytes(value: Any) -> bytes:
    """The JSON text of a body. An infinite number of Python that is the value of a member is written as 1e400.

    JSON has no infinity. But a parser that reads numbers as doubles makes infinity of 1e400. (The suite puts no
    infinite number into an array. There it would stay as Python writes it: Infinity.)
    """
    return as_bytes(value).replace(b": Infinity", b": 1e400").replace(b": -Infinity", b": -1e400")


# -- synthetic identifiers ---------------------------------------------------------------------------------------------

_SLASH = re.compile(r"([/\\\u2215\u2044\u29f8\uff0f\uff3c\ufe68]|%(?:25)*(?:2f|5c))", re.IGNORECASE)
"""Slashes and backslashes: plain, in other widths, and percent-encoded once or more often."""
_PLAIN = re.compile(
    r"""
    \+?[A-Za-z]{1,30} | [0-9A-Z]{12}[0-9]{2}
    | [+-]?[0-9]{1,30}([.,_/-][0-9]{1,30}){0,4}
    | [0-9]{1,30}[eE][+-]?[0-9]{1,3} | 0x[0-9]{1,30} | \u00b2
    | ([0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9:.]{2,15}(Z|[+-][0-9]{2}:[0-9]{2})?
    """,
    re.VERBOSE,
)
"""A plain text: letters alone, a number in any notation, a date or a time, such as "AB", "1e5" or "15/01/2026".

A phone and a tax number are numbers, too; a CNPJ may have letters. At most 30 characters in a row is a choice.
`\u00b2` is a small 2 (²)."""
_TEXTS_THAT_NAME_NOBODY = frozenset({"", *TYPES_EXCEPT_RANDOM})
"""Texts that name nobody. RANDOM is none of them, because the service would make a key for it."""
_MEMBERS_WITHOUT_IDENTIFIER = frozenset({AMOUNT, "date", "pixKeyType", "description", "message"})
"""Members whose numbers are no account and no key."""


def synthetic_text(text: str) -> str:
    """The text with the prefix `pixconf-` before it and behind each slash, so that it names nobody.

    For example "a/b" becomes "pixconf-a/pixconf-b". The prefix is needed behind each slash because a lenient service
    may split the text there, and read each piece as an identifier.
    """
    return SYNTHETIC_PREFIX + _SLASH.sub(rf"\1{SYNTHETIC_PREFIX}", text)


def synthetic_path_parameter(operation: str, text: str, profile: Profile) -> str:
    """A path parameter for a request that is drawn at random: the text with a prefix, so that it names nobody.

    On a sandbox (a service without real money) a plain text stays as it is, so that such accounts are also tried:
    letters alone, a number or a date. Two texts get the prefix in any case: a transaction code, because a real code
    would move money, and the empty text, because the path would be another one without its parameter.
    """
    is_code = operation == "executePix"
    if text and not is_code:
        return _text_that_may_be_sent(text, profile)
    return synthetic_text(text.removeprefix(SYNTHETIC_PREFIX))


def with_synthetic_identifiers(value: Any, operation: str, profile: Profile) -> Any:
    """A copy of a JSON value that names nobody, so that it may be sent although it was drawn at random.

    A text becomes synthetic: it gets the prefix `pixconf-`, so that it is no account and no key of somebody. A number
    cannot have the prefix, so another value replaces it. A sandbox has no real money, so more values may stay there:

    | in the value | on a sandbox | elsewhere |
    |---|---|---|
    | true, null, the empty text, a key type except RANDOM (for which a service would make a key) | stays | stays |
    | the account of the profile, in a registration | stays | stays |
    | a text of the usual transfer, such as its payer and its payee | stays | becomes synthetic |
    | an account of the profile in another form, such as "AC-0001" | stays | becomes synthetic |
    | a plain text: letters alone, a number or a date, such as "AB"; it may have blanks around it | stays | synthetic |
    | any other text, such as "a@b" | becomes synthetic: "pixconf-a@b" | becomes synthetic |
    | a number in an amount, a date or another member that names nobody | stays | stays |
    | any other number, such as 7 | becomes negative: -8; 0 stays | becomes a text, such as "pixconf-to" |
    """
    account_of_registration = harmless_path_parameter(operation, profile)  # an account of the profile if it has one
    texts_that_stay = texts_of_usual_transfer(operation, profile)  # empty outside a sandbox

    def synthetic_leaf(leaf: Any, member: str) -> Any:
        """The value that replaces a text or a number (`leaf`) in a member of this name, so that it names nobody.

        A permitted account of the profile stays. Any other text gets the prefix, unless it is harmless on a sandbox. A
        number stays in an amount or a date. Elsewhere it becomes negative on a sandbox, and a made-up text outside one.
        """
        if isinstance(leaf, str):
            names_account_of_registration = member == "account" and leaf == account_of_registration
            is_permitted_account = operation == "registerPixKey" and names_account_of_registration
            if is_permitted_account or leaf in texts_that_stay:
                return leaf
            return _text_that_may_be_sent(leaf, profile)
        if member in _MEMBERS_WITHOUT_IDENTIFIER:
            return leaf
        if not profile.is_sandbox:
            return f"{SYNTHETIC_PREFIX}{member}"
        if leaf == 0:
            return leaf
        return -abs(leaf) - 1  # such as -8 for 7: no account and no key is 0 or negative

    return _with_leaves_changed(value, synthetic_leaf)  # changes no value of the first row


def _text_that_may_be_sent(text: str, profile: Profile) -> str:
    """The text with the prefix `pixconf-`, so that it names nobody. On a sandbox two sorts of texts stay as they are:

    - a plain text: letters alone, a number or a date, such as "AB" or "2026-01-15" (`_PLAIN`). It may have blanks
      around it, or be nothing but blanks. It may name a key or an account, but a sandbox has no real money.
    - an account of the profile in another form: "AC-0001" or "ac-0001 " for ac-0001. A service may take it for the
      account, and then fail.
    """
    without_blanks = text.strip(" \n")
    is_plain = not without_blanks or _PLAIN.fullmatch(without_blanks)
    accounts_in_small_letters = [account.lower() for account in profile.accounts]
    is_account_in_another_form = text not in profile.accounts and without_blanks.lower() in accounts_in_small_letters
    if profile.is_sandbox and (is_plain or is_account_in_another_form):
        return text
    return synthetic_text(text.removeprefix(SYNTHETIC_PREFIX))


def _with_leaves_changed(value: Any, change: Callable[[Any, str], Any], member: str = "") -> Any:
    """A copy of a JSON value, in which each text and each number is replaced by what `change` returns for it.

    `change` gets the old value, and the name of the member that holds it: ("a@example.com", "pixKey"). An item of an
    array has the name of the member that holds the array. `change` is not called for values that name nobody, which
    stay as they are: booleans, null, the empty text, and the names of key types except RANDOM.
    """
    if isinstance(value, dict):
        return {name: _with_leaves_changed(element, change, name) for name, element in value.items()}
    if isinstance(value, list):
        return [_with_leaves_changed(element, change, member) for element in value]
    is_text = isinstance(value, str) and value not in _TEXTS_THAT_NAME_NOBODY
    may_name_somebody = is_text or _is_json_number(value)
    if may_name_somebody:
        return change(value, member)
    return value


# -- bodies and path parameters that name nobody -----------------------------------------------------------------------

_MEMBERS_NAMING_THE_PAYER = frozenset({"account", "from"})
"""Members of the documented transfers that name the payer."""


def transfers_name_real_accounts(operation: str, profile: Profile) -> bool:
    """True if drawn transfers of this operation name the payer and the payee of the profile, instead of made-up ones.

    A service may look both up before it reads the rest of a body. So only real ones show what the service does with the
    invalid part. They are named on a sandbox alone, because a transfer would move real money elsewhere.
    """
    return profile.is_sandbox and operation in PREPARING_OPERATIONS and bool(profile.accounts)


def usual_body(operation: str, profile: Profile) -> Members | None:
    """The names and values in a complete, usual body of an operation; None if the operation has no body.

    They are from the interface document, or from the body that the profile has in `requests`. The values name nobody,
    except for two bodies: a registration is for the account of the profile, and on a sandbox a transfer is from the
    account of the profile to the payee of the profile, so that the service accepts it.
    """
    if not transfers_name_real_accounts(operation, profile):
        return usual_body_that_names_nobody(operation, profile)
    account = profile.accounts[0]
    body_in_profile = _body_in_profile(operation, profile)
    if body_in_profile is not None:
        members: Members = _with_account(account, body_in_profile)
        return members
    members_from_document = dict(DOCUMENTED_MEMBERS[operation])
    for name in _MEMBERS_NAMING_THE_PAYER:
        if name in members_from_document:
            members_from_document[name] = account
    return members_from_document


def usual_body_that_names_nobody(operation: str, profile: Profile) -> Members | None:
    """The names and values in a complete body, like `usual_body`, but payer and payee of a transfer are made up.

    It is for requests without a valid token: if the service accepted such a request, nobody would lose money. A
    registration is for the account of the profile here, too.
    """
    if operation not in DOCUMENTED_MEMBERS:
        return None
    documented = DOCUMENTED_MEMBERS[operation]
    if operation == "registerPixKey":
        return {**documented, "account": harmless_path_parameter(operation, profile)}
    body_in_profile = _body_in_profile(operation, profile)
    if body_in_profile is None:
        return documented
    members: Members = _anonymous(body_in_profile)
    return members


def usual_body_for_an_unknown_payee(operation: str, profile: Profile) -> Members | None:
    """The names and values in a complete body, like `usual_body`, but the payee of a transfer is made up.

    Outside a sandbox the account that pays is made up, too. None if the operation has no body.
    """
    usual = usual_body(operation, profile)
    that_names_nobody = usual_body_that_names_nobody(operation, profile)
    if usual is None or that_names_nobody is None:
        return usual
    members = dict(that_names_nobody)
    for name in members_with_account_of_profile(operation, profile):  # no transfer has any outside a sandbox
        members[name] = usual[name]
    return members


def _body_in_profile(operation: str, profile: Profile) -> Any:
    """The body that the profile has in `requests` for an operation, if it is a JSON object; else None."""
    request_body = profile.requests.get(operation)
    if request_body is None or not isinstance(request_body.json, dict):
        return None
    return request_body.json


def _with_account(account: str, body: Any) -> Any:
    """A body of the profile (a JSON value) with an account in the place of `{account}`.

    A text with `{key}` or `{type}` becomes the prefix and the name of its member, such as "pixconf-to", because the run
    may have no key that somebody has registered.
    """

    def leaf_with_account(leaf: Any, member: str) -> Any:
        """The value that replaces a text or a number (`leaf`) in a member of this name."""
        if not isinstance(leaf, str):
            return leaf
        has_other_placeholder = "{key}" in leaf or "{type}" in leaf
        if has_other_placeholder:
            return f"{SYNTHETIC_PREFIX}{member}"
        return leaf.replace("{account}", account)

    return _with_leaves_changed(body, leaf_with_account)


def _anonymous(body: Any) -> Any:
    """A body of the profile (a JSON value) for invalid requests, with values that name nobody.

    - A text becomes the prefix and the name of its member, such as "pixconf-to".
    - A number becomes 0, unless it is an amount or a date. An amount of 0 or less becomes one cent. Outside a sandbox,
      the door (the only module that sends requests) refuses 0 and less, because a service may misunderstand it.
    """

    def anonymous_leaf(leaf: Any, member: str) -> Any:
        """The value that replaces a text or a number (`leaf`) in a member of this name."""
        if isinstance(leaf, str):
            return f"{SYNTHETIC_PREFIX}{member}"
        may_be_identifier = member not in _MEMBERS_WITHOUT_IDENTIFIER
        if may_be_identifier:
            return 0  # no account and no key
        would_be_refused_by_the_door = member == AMOUNT and leaf <= 0
        if would_be_refused_by_the_door:
            return _SMALLEST_AMOUNT
        return leaf

    return _with_leaves_changed(body, anonymous_leaf)


def texts_of_usual_transfer(operation: str, profile: Profile) -> frozenset[str]:
    """The texts in the usual body of a transfer, if it names the payer and the payee of the profile, as on a sandbox.

    For example {"ac-0001", "98765432000198"}. Such texts stay as they are, while all other texts of a body may be
    changed. Outside a sandbox there are none, because payer and payee are made up there.
    """
    if not transfers_name_real_accounts(operation, profile):
        return frozenset()
    return frozenset(texts_in(usual_body(operation, profile)))


def _has_account_of(profile: Profile, text: str) -> bool:
    """True if a text is an account of the profile or has one in it, such as "from ac-0001"."""
    return any(account in text for account in profile.accounts)


def members_with_account_of_profile(operation: str, profile: Profile) -> list[str]:
    """The names of the members in a usual body that name an account of the profile, such as ["from"].

    In a registration it is the member `account`. In a transfer it is the member with the payer, on a sandbox only:
    elsewhere the payer is made up, so the result is empty.
    """
    if operation == "registerPixKey":
        return ["account"]
    if not transfers_name_real_accounts(operation, profile):
        return []
    members = usual_body(operation, profile) or {}
    names = []
    for name, value in members.items():
        has_account = any(_has_account_of(profile, text) for text in texts_in(value))
        if has_account:
            names.append(name)
    return names


def members_with_payee_of_profile(operation: str, profile: Profile) -> list[str]:
    """The names of the members in a usual transfer that name the payee of the profile, such as ["to"].

    Outside a sandbox the payee is made up, so the result is empty. It is also empty for an operation that prepares no
    transfer.
    """
    if not transfers_name_real_accounts(operation, profile):
        return []
    members = usual_body(operation, profile) or {}
    # A member whose name and value are of no other kind names the payee.
    payers = members_with_account_of_profile(operation, profile)
    members_that_name_no_payee = {*_MEMBERS_WITHOUT_IDENTIFIER, *payers}
    return [name for name in members if name not in members_that_name_no_payee]


def harmless_path_parameter(operation: str, profile: Profile) -> str | None:
    """The path parameter of an invalid request: an account or a transaction code. None if the operation has none.

    It is an account of the profile for a read and for a registration, because these move no money and delete no key
    even if the service accepts the request. For any other operation it is a made-up text.
    """
    if operations()[operation].path_parameter is None:
        return None
    may_name_real_account = operation in ("registerPixKey", *READ_OPERATIONS)
    if may_name_real_account and profile.accounts:
        return profile.accounts[0]
    return synthetic_text("account")


# -- what may be sent outside a sandbox --------------------------------------------------------------------------------

_UNDELETABLE_KEY = re.compile(rf"(?:{SYNTHETIC_PREFIX})?\s*|.{{201,}}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a list may not show as they are, and that a deletion may not name: nothing but the mark, longer than 200
characters (as for `_AMBIGUOUS_KEY` of the door), or with control characters or halves of surrogate pairs."""


def harmless_cases(cases: Iterable[Case], profile: Profile) -> Iterator[Case]:
    """The cases (requests) that can do no harm to a bank, so that they may be sent.

    On a sandbox, a service without real money, all of them. Elsewhere:

    - A case is left out if a number in it may be the key or the account of somebody.
    - A case is left out if it has an amount above the amount of the profile, or an amount of 0 or less.
    - If a service could register a key that cannot be deleted, the case gets a made-up account instead of a real one.
    """
    for case in cases:
        if profile.is_sandbox:
            yield case
            continue
        is_about_keys = case.operation in ("registerPixKey", "deletePixKey")
        leaves: list[_Leaf] = []  # the texts, numbers and other values in the body, with their paths
        if case.body:
            leaves = list(leaves_of(_value_for_a_lenient_service(case.body)))
            if not _body_may_be_sent(case.operation, leaves, profile):
                continue
        if is_about_keys and _key_may_be_undeletable(leaves):
            yield _with_synthetic_account(case, profile)
        else:
            yield case


def _body_may_be_sent(operation: str, leaves: list[_Leaf], profile: Profile) -> bool:
    """True if a body may be sent outside a sandbox: no number in it may name somebody, and its amounts are permitted.

    `leaves` are the texts, numbers and other values in the body with their paths, such as (("to",), 12345). Texts need
    no check, because they are made up.
    """
    for path, leaf in leaves:
        is_number_but_zero = _is_json_number(leaf) and leaf != 0  # zero names nobody
        is_amount = AMOUNT in path
        if is_number_but_zero and not is_amount and _may_name_somebody(path):
            return False
    return _are_permitted_amounts(operation, leaves, profile)


def has_permitted_amounts(operation: str, body: Any, profile: Profile) -> bool:
    """True if every amount in a body (a JSON value) is permitted: above 0 and at most the amount of the profile.

    On a sandbox, a service without real money, any amount is permitted. Also if the operation prepares no transfer.
    """
    if profile.is_sandbox:
        return True
    return _are_permitted_amounts(operation, leaves_of(body), profile)


def _are_permitted_amounts(operation: str, leaves: Iterable[_Leaf], profile: Profile) -> bool:
    """True if each amount in a body is above 0 and at most the amount of the profile, or if nothing can be transferred.

    `leaves` are the texts, numbers and other values in the body with their paths. A negative amount or 0 is not sent,
    because nobody knows what a service would do with it.
    """
    if operation not in PREPARING_OPERATIONS:  # the operation prepares no transfer
        return True
    greatest = greatest_amount(operation, profile)
    for path, leaf in leaves:
        if AMOUNT not in path:  # the leaf is no amount
            continue
        if leaf is True:  # a service may read true as the amount 1
            return False
        if _is_json_number(leaf) and not 0 < leaf <= greatest:
            return False
    return True


def greatest_amount(operation: str, profile: Profile) -> float:
    """The greatest amount that may be sent outside a sandbox: the amount in the body of the profile for the operation.

    It is one cent if the body has no amount.
    """
    leaves = leaves_of(usual_body(operation, profile))
    amounts = [number for path, number in leaves if AMOUNT in path and _is_json_number(number)]
    return max(amounts, default=_SMALLEST_AMOUNT)


def _key_may_be_undeletable(leaves: Iterable[_Leaf]) -> bool:
    """True if a service may register a key for this body that no deletion can name afterwards.

    `leaves` are the texts, numbers and other values in the body, with their paths. A key may be too long or have
    control characters, for instance. It may also be an array or an object, of which a service makes a text in its own
    way. If the body has no key, the service may register an empty one.
    """
    has_key = False
    for path, leaf in leaves:
        is_whole_body = len(path) == 0  # a service may read a body that is just a text as the key
        may_be_key = isinstance(leaf, str) and (is_whole_body or _may_name_somebody(path))
        if not may_be_key:
            continue
        has_key = True
        is_inside_another_value = len(path) > 1  # inside an array or an object
        if is_inside_another_value or _UNDELETABLE_KEY.fullmatch(leaf):
            return True
    return not has_key


def _may_name_somebody(path: JsonPath) -> bool:
    """True if a service may read the value at this path of a body as a key, or as the account of a payee.

    A path has the names of members that lead to the value, such as ("to",). No service reads a key or a payee in the
    amount, date, key type or free text. The member `account` names the payer or the account of a registration, so it is
    no payee. A body that is just one text or number has an empty path, and names nobody.
    """
    if not path:
        return False
    members_that_name_nobody = _MEMBERS_WITHOUT_IDENTIFIER | {"account"}
    return members_that_name_nobody.isdisjoint(path)


def _with_synthetic_account(case: Case, profile: Profile) -> Case:
    """The case with a made-up account instead of the accounts of the profile, in the path and in the body.

    A key that cannot be deleted is then never registered for a real account.
    """
    synthetic_account = synthetic_text("account")
    body = case.body
    if body is not None:
        for account_of_profile in profile.accounts:
            body = body.replace(as_bytes(account_of_profile), as_bytes(synthetic_account))
    path_parameter = case.path_parameter
    if path_parameter in profile.accounts:
        path_parameter = synthetic_account
    return replace(case, path_parameter=path_parameter, body=body)


def _value_for_a_lenient_service(body: bytes) -> Any:
    """The value of a body as a service reads it that accepts more than JSON allows, such as NaN.

    The tested service may be so lenient. So a number that only such a service understands must also name nobody. None
    if not even such a service can read the body, or if the body is nested too deeply to be read here.
    """
    if is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):  # a parser of Python may crash on it
        return None
    try:
        return json.loads(body, parse_int=float)  # as floats: Python refuses integers of more than 4,300 digits
    except ValueError:
        return None


def _is_json_number(value: Any) -> bool:
    """True if a Python value is a number in JSON. A boolean is not, although Python counts it among the integers."""
    return isinstance(value, int | float) and not isinstance(value, bool)
