"""A request that is not sent yet (`Case`), and the identifiers and bodies that name nobody.

- A synthetic identifier is one that the suite makes up. It begins with `pixconf-` (`SYNTHETIC_PREFIX`), so that no
  service takes it for an account, a key or a code of somebody.
- An invalid request has a class: which part of it is invalid, and how, such as ("pixKey", "missing"). A case without a
  class was drawn by Schemathesis. This has nothing to do with a class of Python.
- Members are the names and values in a JSON body. The interface document shows them in its section Endpoints.

A number in an invalid body names no account and no key either: each function says how it keeps to that.

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from environments.profiles.model import Profile
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, PREPARING_OPERATIONS, READ_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, JsonPath, as_bytes, is_nested_deeper_than, leaves_of

if TYPE_CHECKING:
    from environments.door.client import Client

Members = Mapping[str, Any]
"""The members of the JSON object that is the body of a request."""
_Leaf = tuple[JsonPath, Any]
"""A text, a number or another value in a JSON body that holds nothing else, with the path to it."""

JSON = "application/json"
AMOUNT = "value"
"""Member of the documented transfers that has the amount."""
NAMED_TYPES = tuple(name for name in KEY_TYPES if name != "RANDOM")
"""The key types of a synthetic key: for RANDOM the service would make a key of its own."""
SMALLER = "smaller"
"""How a case is unusual that was sent because it is smaller than one that shows a finding."""
WITH_EXECUTION = "with an execution"
"""How a case of a sequence is unusual that executes a transfer, so that no shorter sequence is looked for."""

_SMALLEST_AMOUNT = 0.01
"""The amount if the profile has none: one cent."""
_TRANSFER = {
    "from": f"{SYNTHETIC_PREFIX}from",
    "to": f"{SYNTHETIC_PREFIX}to",
    AMOUNT: _SMALLEST_AMOUNT,
    "date": 1767225600000,
}
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
"""Characters that may stand in a path segment as they are (RFC 3986, pchar)."""


@dataclass(frozen=True)
class Case:
    """A request to an operation, which is not sent yet."""

    operation: str
    unusual_part: str = ""
    """The part of the request that is invalid, such as "query" or a member; empty if Schemathesis drew the case."""
    how_unusual: str = ""
    """How that part is invalid, in words without its value, such as "missing"; empty if Schemathesis drew the case."""
    path_parameter: str | bytes | None = None
    body: bytes | None = None
    content_type: str | None = JSON
    query: str = ""
    valid: bool = False
    credential: str = VALID
    steps: tuple[str, ...] = ()
    """What a sequence sent up to this request."""

    @property
    def size(self) -> int:
        """Number of steps of a sequence; or, of a single request, characters of its path parameter, body and query.

        Of cases that show the same deviation, the report shows the smallest one.
        """
        if self.steps:
            return len(self.steps)
        return len(self.path_parameter or "") + len(self.body or b"") + len(self.query)

    def send(self, client: Client) -> Exchange:
        """Send the request with this client, and return its exchange."""
        return client.send(
            self.operation,
            self.path_parameter,
            body=self.body,
            content_type=self.content_type,
            credential=self.credential,
            query=self.query,
            safe="" if self.valid else _SAFE_IN_A_SEGMENT,
            valid=self.valid,
            unusual=(self.unusual_part, self.how_unusual),
        )


# -- synthetic identifiers ---------------------------------------------------------------------------------------------

_SEPARATOR = re.compile(r"([/\\\u2215\u2044\u29f8\uff0f\uff3c\ufe68]|%(?:25)*(?:2f|5c))", re.IGNORECASE)
"""Slashes and backslashes: plain, in other widths, and percent-encoded once or more often."""
_SHORT = re.compile(r"[A-Za-z]|[0-9]{1,30}")
"""One letter, or digits alone. At most 30 digits is a choice."""
_TEXTS_KEPT = frozenset({"", *NAMED_TYPES})
"""Texts that name nobody."""
_NO_IDENTIFIERS = frozenset({AMOUNT, "date", "pixKeyType", "description", "message"})
"""Members whose numbers are no account and no key."""


def synthetic_text(text: str) -> str:
    """The text with the mark `pixconf-` before it and behind each slash, so that it names nobody.

    Behind each slash, because a lenient service may split the text there, and read each piece as an identifier.
    """
    return SYNTHETIC_PREFIX + _SEPARATOR.sub(rf"\1{SYNTHETIC_PREFIX}", text)


def synthetic_path_parameter(operation: str, text: str, profile: Profile) -> str:
    """A drawn path parameter as a synthetic identifier, which names nobody.

    On a sandbox one letter, or digits alone, stay as they are, unless they would be a transaction code.
    """
    if operation == "executePix":
        return synthetic_text(text.removeprefix(SYNTHETIC_PREFIX))
    return _synthetic_or_short(text, profile)


def with_synthetic_identifiers(value: Any, operation: str, profile: Profile) -> Any:
    """A JSON value in which every text is a synthetic identifier, and every number is replaced that may name somebody.

    | in the value | on a sandbox | elsewhere |
    |---|---|---|
    | the empty text, a documented key type but RANDOM | stays | stays |
    | the account that a registration is for | stays | stays |
    | the account that pays for a transfer | stays | becomes synthetic |
    | one letter, or digits as text | stays | becomes synthetic |
    | any other text | becomes synthetic | becomes synthetic |
    | a number in an amount, a date or another member that names nobody | stays | stays |
    | any other number | becomes a negative one | becomes a synthetic text |
    """
    account = harmless_path_parameter(operation, profile) if operation == "registerPixKey" else None
    own = texts_that_name_own_account(operation, profile)

    def synthetic_leaf(leaf: Any, member: str) -> Any:
        """What takes the place of a text or a number in a member of this name, by the table above."""
        if isinstance(leaf, str):
            is_own_account = leaf in own or (member == "account" and leaf == account)
            return leaf if is_own_account else _synthetic_or_short(leaf, profile)
        if member in _NO_IDENTIFIERS:
            return leaf
        return -abs(leaf) - 1 if profile.is_sandbox else f"{SYNTHETIC_PREFIX}{member}"

    return _with_leaves_changed(value, synthetic_leaf)


def _synthetic_or_short(text: str, profile: Profile) -> str:
    """The text as a synthetic identifier. On a sandbox one letter, or digits alone, stay as they are.

    They may name a key or an account there, but nothing on a sandbox is worth anything.
    """
    if profile.is_sandbox and _SHORT.fullmatch(text):
        return text
    return synthetic_text(text.removeprefix(SYNTHETIC_PREFIX))


def _with_leaves_changed(value: Any, change: Callable[[Any, str], Any], member: str = "") -> Any:
    """The JSON value, in which `change` gives the new value for each text and each number.

    `change` gets the old value, and the name of the member that holds it. Booleans, null, the empty text and names of
    key types stay as they are.
    """
    if isinstance(value, dict):
        return {name: _with_leaves_changed(element, change, name) for name, element in value.items()}
    if isinstance(value, list):
        return [_with_leaves_changed(element, change, member) for element in value]
    is_text = isinstance(value, str) and value not in _TEXTS_KEPT
    return change(value, member) if is_text or _is_json_number(value) else value


# -- bodies and path parameters that name nobody -----------------------------------------------------------------------

_PAYERS = frozenset({"account", "from"})
"""Members of the documented transfers that name the account which pays."""


def names_own_account(operation: str, profile: Profile) -> bool:
    """True if invalid transfers of this operation name an account of the profile.

    They do so on a sandbox alone, because a service may look the account up before it reads the rest of a body.
    """
    return profile.is_sandbox and operation in PREPARING_OPERATIONS and bool(profile.accounts)


def documented_members(operation: str, profile: Profile) -> Members | None:
    """The members of a complete, usual body: as documented, or as `requests` of the profile has them.

    They name nobody, except the account that a registration is for and, on a sandbox, the account that pays. None if
    the operation has no body.
    """
    accounts = profile.accounts if names_own_account(operation, profile) else ()
    return _members_with_payer(operation, profile, accounts)


def members_with_synthetic_values(operation: str, profile: Profile) -> Members | None:
    """The same members, but a transfer names no account of the profile, on a sandbox either."""
    return _members_with_payer(operation, profile, ())


def _members_with_payer(operation: str, profile: Profile, accounts: Sequence[str]) -> Members | None:
    """The members of a complete, usual body, in which the first of these accounts pays for a transfer.

    Without an account, a synthetic one pays. None if the operation has no body.
    """
    if operation not in DOCUMENTED_MEMBERS:
        return None
    documented = DOCUMENTED_MEMBERS[operation]
    if operation == "registerPixKey":
        return {**documented, "account": harmless_path_parameter(operation, profile)}
    body_in_profile = profile.requests.get(operation)
    if body_in_profile is not None and isinstance(body_in_profile.json, dict):
        members: Members = _without_names_of_anybody(body_in_profile.json, accounts)
        return members
    filled_in = dict(documented)
    if accounts:
        for payer in _PAYERS & documented.keys():
            filled_in[payer] = accounts[0]
    return filled_in


def _without_names_of_anybody(value: Any, accounts: Sequence[str]) -> Any:
    """A JSON value of the profile with nothing in it that any reader could take for somebody.

    - A text becomes the mark and the name of its member, unless it names one of the accounts.
    - A number becomes 0, unless it is an amount or a date. An amount that is not above 0 becomes the smallest one.
    """

    def anonymous_leaf(leaf: Any, member: str) -> Any:
        """What takes the place of a text or a number in a member of this name."""
        if isinstance(leaf, str):
            filled_in = leaf.replace("{account}", accounts[0]) if accounts else leaf
            has_own_account = filled_in in accounts or filled_in != leaf
            return filled_in if has_own_account else f"{SYNTHETIC_PREFIX}{member}"
        if member not in _NO_IDENTIFIERS:
            return 0
        return _SMALLEST_AMOUNT if member == AMOUNT and leaf <= 0 else leaf

    return _with_leaves_changed(value, anonymous_leaf)


def texts_that_name_own_account(operation: str, profile: Profile) -> frozenset[str]:
    """The texts of an invalid transfer that name an account of the profile."""
    if not names_own_account(operation, profile):
        return frozenset()
    leaves = leaves_of(documented_members(operation, profile))
    return frozenset(text for _, text in leaves if isinstance(text, str) and SYNTHETIC_PREFIX not in text)


def harmless_path_parameter(operation: str, profile: Profile) -> str | None:
    """The path parameter of an invalid request; None if the operation has none.

    It is an account of the profile only if the request can harm nothing: for a read and a registration.
    """
    if operations()[operation].path_parameter is None:
        return None
    is_harmless = operation in ("registerPixKey", *READ_OPERATIONS) and profile.accounts
    return profile.accounts[0] if is_harmless else synthetic_text("account")


# -- what may be sent off a sandbox ------------------------------------------------------------------------------------

_NOT_TO_BE_DELETED = re.compile(rf"(?:{SYNTHETIC_PREFIX})?\s*|.{{201,}}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a list may not show as they are, and that a deletion may not name: empty but for the mark, longer than 200
characters (as for `_NOT_TO_BE_NAMED` of the door), or with control characters or halves of surrogate pairs."""


def safe_cases(cases: Iterable[Case], profile: Profile) -> Iterator[Case]:
    """The cases that may be sent: on a sandbox all of them. Elsewhere:

    - A case is left out if a number in it may be the key or the account of somebody.
    - A case is left out if it has an amount above that of the profile, or not above 0.
    - If its key may be impossible to delete, a synthetic account takes the place of the account of the profile.
    """
    for case in cases:
        if profile.is_sandbox:
            yield case
            continue
        names_keys = case.operation in ("registerPixKey", "deletePixKey")
        leaves = list(leaves_of(_value_for_a_lenient_reader(case.body))) if case.body else []
        if case.body and not _body_may_be_sent(case.operation, leaves, profile):
            continue
        yield _with_synthetic_account(case, profile) if names_keys and _key_may_be_undeletable(leaves) else case


def _body_may_be_sent(operation: str, leaves: list[_Leaf], profile: Profile) -> bool:
    """True if no number in a body may name somebody, and its amounts are permitted."""
    for path, leaf in leaves:
        is_number_of_somebody = _is_json_number(leaf) and leaf != 0  # zero names nobody
        is_amount = AMOUNT in path
        if is_number_of_somebody and not is_amount and _may_name_somebody(path):
            return False
    return _are_permitted_amounts(operation, leaves, profile)


def has_permitted_amounts(operation: str, body: Any, profile: Profile) -> bool:
    """True if every amount in the JSON value is above 0 and at most that of the profile; on a sandbox any."""
    return profile.is_sandbox or _are_permitted_amounts(operation, leaves_of(body), profile)


def _are_permitted_amounts(operation: str, leaves: Iterable[_Leaf], profile: Profile) -> bool:
    """True if the operation prepares no transfer, or each amount is permitted off a sandbox."""
    if operation not in PREPARING_OPERATIONS:
        return True
    greatest = greatest_amount(operation, profile)
    amounts = [leaf for path, leaf in leaves if AMOUNT in path]
    are_permitted = all(0 < number <= greatest for number in amounts if _is_json_number(number))
    has_true = any(leaf is True for leaf in amounts)  # a service may read true as 1
    return are_permitted and not has_true


def greatest_amount(operation: str, profile: Profile) -> float:
    """The greatest amount of the profile for an operation off a sandbox."""
    leaves = leaves_of(documented_members(operation, profile))
    amounts = [number for path, number in leaves if AMOUNT in path and _is_json_number(number)]
    return max(amounts, default=_SMALLEST_AMOUNT)


def _key_may_be_undeletable(leaves: Iterable[_Leaf]) -> bool:
    """True if a service may register a key for this body that no deletion can name afterwards.

    `leaves` are the texts and numbers in the body. A key may be too long or have control characters, for instance. If
    the body has no key, the service may register an empty one.
    """
    keys = [leaf for path, leaf in leaves if isinstance(leaf, str) and (not path or _may_name_somebody(path))]
    return not keys or any(map(_NOT_TO_BE_DELETED.fullmatch, keys))


def _may_name_somebody(path: JsonPath) -> bool:
    """True if a service may read the value at this path of a body as a key, or as the account of a payee.

    Values of the members account, amount, date, key type and free text are read as neither. Nor is a body that is just
    one text or number, whose path is empty.
    """
    return bool(path) and (_NO_IDENTIFIERS | {"account"}).isdisjoint(path)


def _with_synthetic_account(case: Case, profile: Profile) -> Case:
    """The case with a synthetic account in place of those of the profile, in the path and in the body."""
    synthetic_account = synthetic_text("account")
    body = case.body
    if body is not None:
        for own_account in profile.accounts:
            body = body.replace(as_bytes(own_account), as_bytes(synthetic_account))
    path_parameter = case.path_parameter
    if path_parameter in profile.accounts:
        path_parameter = synthetic_account
    return replace(case, path_parameter=path_parameter, body=body)


def _value_for_a_lenient_reader(body: bytes) -> Any:
    """The JSON value that a lenient reader finds in the body, which takes NaN for a number; None if there is none."""
    if is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        return None
    try:
        return json.loads(body, parse_int=float)  # as floats: Python refuses integers of more than 4,300 digits
    except ValueError:
        return None


def _is_json_number(value: Any) -> bool:
    """True for a number of JSON. Python counts booleans among the integers."""
    return isinstance(value, int | float) and not isinstance(value, bool)
