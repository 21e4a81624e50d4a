"""A request that is not sent yet, and the identifiers and bodies that name nobody.

Identifiers that the suite makes up carry its mark, numbers are no account and no key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from environments.profiles.model import Profile
from spec.exchange import VALID, Exchange
from spec.interface import KEY_TYPES, MARK, PREPARING, READS, operations
from spec.json_text import MAX_DEPTH_OF_A_REQUEST, JsonPath, as_bytes, is_nested_deeper_than, leaves_of

if TYPE_CHECKING:
    from environments.door.client import Client

JSON = "application/json"
_SAFE_IN_A_SEGMENT = ";,:@&=+$!'()*~"
"""Characters that may stand in a path segment as they are (RFC 3986, pchar)."""
NAMED_TYPES = tuple(name for name in KEY_TYPES if name != "RANDOM")
"""The key types of a synthetic key: for RANDOM the service would make a key of its own."""
_SEPARATOR = re.compile(r"([/\\\u2215\u2044\u29f8\uff0f\uff3c\ufe68]|%(?:25)*(?:2f|5c))", re.IGNORECASE)
"""Slashes and backslashes, those of other widths and those that are percent-encoded however often."""
_NO_IDENTIFIERS = frozenset({"value", "date", "pixKeyType", "description", "message"})
_PAYERS = frozenset({"account", "from"})
"""Members of the documented transfers that name the account which pays."""
AMOUNT = "value"
_NOT_TO_BE_DELETED = re.compile(rf"(?:{MARK})?\s*|.{{201,}}|.*[\0-\x1f\x7f-\x9f\ud800-\udfff].*", re.DOTALL)
"""Keys that a list may not show as they are, and a deletion may not name: empty, but for the mark, long, or with
control characters or halves of surrogate pairs."""
_SHORT = re.compile(r"[A-Za-z]|[0-9]{1,30}")
_TEXTS_KEPT = frozenset({"", *NAMED_TYPES})
Leaf = tuple[JsonPath, Any]
Form = Mapping[str, Any]
"""The JSON object that is the body of a request."""
_LEAST = 0.01
"""The amount where the profile has none."""
_TRANSFER = {"from": f"{MARK}from", "to": f"{MARK}to", "value": _LEAST, "date": 1767225600000}
FORMS: Mapping[str, Form] = {
    "registerPixKey": {"account": "", "pixKeyType": "EMAIL", "pixKey": f"{MARK}key"},
    "deletePixKey": {"pixKey": f"{MARK}unknown"},
    "createPix": {"account": f"{MARK}account", "pixKey": f"{MARK}key", "value": _LEAST, "message": f"{MARK}message"},
    "transferExternal": _TRANSFER,
    "transferInternal": {**_TRANSFER, "description": f"{MARK}description"},
    "transferP2p": {**_TRANSFER, "description": f"{MARK}description"},
}

EXTRA_HEADERS = tuple(
    (name, "pixconf-0001")
    for name in (
        "X-Request-Id", "X-Correlation-Id", "X-Idempotency-Key", "Idempotency-Key", "X-Client-Id", "X-Api-Key",
        "X-Api-Version", "X-Channel", "X-Tenant", "X-Tenant-Id", "X-Trace-Id",
    )
)  # fmt: skip
"""Headers that a service might ask for beyond the interface document."""


SMALLER = "smaller"
"""What is said of a request that was sent because it is smaller than one that shows a finding."""
WITH_EXECUTION = "with an execution"
"""What is said of a request of a sequence that executes a transfer, so that no shorter sequence is looked for."""


@dataclass(frozen=True)
class Case:
    """A request to an operation. `where` is the part that is unusual, `what` says how; neither holds a value. Both are
    empty if Schemathesis drew it."""

    operation: str
    where: str = ""
    what: str = ""
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
        """Length of what is unusual or large: of two cases that show the same the smaller one is shown."""
        if self.steps:
            return len(self.steps)
        return len(self.path_parameter or "") + len(self.body or b"") + len(self.query)

    def send(self, client: Client) -> Exchange:
        """Send it."""
        return client.send(
            self.operation,
            self.path_parameter,
            body=self.body,
            content_type=self.content_type,
            credential=self.credential,
            query=self.query,
            safe="" if self.valid else _SAFE_IN_A_SEGMENT,
            valid=self.valid,
            unusual=(self.where, self.what),
        )


def synthetic_text(text: str) -> str:
    """The text as a synthetic identifier, and so is each part that a lenient reader splits it into."""
    return MARK + _SEPARATOR.sub(rf"\1{MARK}", text)


def harmless(value: Any, operation: str, profile: Profile) -> Any:
    """A JSON value whose strings are synthetic identifiers, and whose numbers name no account and no key; off a sandbox
    these are such identifiers, too.

    The empty string and the documented key types, RANDOM excepted, stay as they are; so do names of members, and the
    account that a registration is for. On a sandbox, letters and numbers alone stay, too, and so does the account that
    pays.
    """
    account = place_of(operation, profile) if operation == "registerPixKey" else None
    own = own_texts(operation, profile)

    def marked(item: Any, name: str) -> Any:
        if isinstance(item, str):
            is_own_account = item in own or (name == "account" and item == account)
            return item if is_own_account else _synthetic_or_short(item, profile)
        if name in _NO_IDENTIFIERS:
            return item
        return -abs(item) - 1 if profile.is_sandbox else f"{MARK}{name}"

    return _with_each(value, marked)


def synthetic_place(operation: str, text: str, profile: Profile) -> str:
    """A drawn path parameter as a synthetic identifier. On a sandbox it may be one letter, or digits, unless it stands
    for a transaction code."""
    if operation == "executePix":
        return synthetic_text(text.removeprefix(MARK))
    return _synthetic_or_short(text, profile)


def _synthetic_or_short(text: str, profile: Profile) -> str:
    """The text as a synthetic identifier. On a sandbox, where nothing is worth anything, one letter or digits alone
    stay."""
    if profile.is_sandbox and _SHORT.fullmatch(text):
        return text
    return synthetic_text(text.removeprefix(MARK))


def _synthetic(value: Any, accounts: Sequence[str]) -> Any:
    """A JSON value of the operator with nothing in it that any reader could take for somebody: each text is the mark
    and the name of its member, and no number but an amount or a date is other than 0. Texts that name one of the
    accounts, if any, stay."""

    def nobody(item: Any, name: str) -> Any:
        if isinstance(item, str):
            filled_in = item.replace("{account}", accounts[0]) if accounts else item
            return filled_in if filled_in in accounts or filled_in != item else f"{MARK}{name}"
        if name not in _NO_IDENTIFIERS:
            return 0
        return _LEAST if name == AMOUNT and item <= 0 else item

    return _with_each(value, nobody)


def _with_each(value: Any, change: Callable[[Any, str], Any], name: str = "") -> Any:
    """The JSON value with each text and number changed, by the name of the member that holds it."""
    if isinstance(value, dict):
        return {member: _with_each(item, change, member) for member, item in value.items()}
    if isinstance(value, list):
        return [_with_each(item, change, name) for item in value]
    is_text = isinstance(value, str) and value not in _TEXTS_KEPT
    return change(value, name) if is_text or _is_number(value) else value


def names_own_account(operation: str, profile: Profile) -> bool:
    """True if invalid transfers of this operation name an account of the profile.

    They do so on a sandbox alone, because a service may look the account up before it reads the rest of a body.
    """
    return profile.is_sandbox and operation in PREPARING and bool(profile.accounts)


def form_of(operation: str, profile: Profile) -> Form | None:
    """A body of the documented form, or the one of the profile; None where there is none.

    It names nobody, but for the account that a registration is for and, on a sandbox, for the account that pays.
    """
    return _form(operation, profile, profile.accounts if names_own_account(operation, profile) else ())


def form_for_nobody(operation: str, profile: Profile) -> Form | None:
    """The same with no account of the profile in a transfer, wherever it is sent to."""
    return _form(operation, profile, ())


def _form(operation: str, profile: Profile, accounts: Sequence[str]) -> Form | None:
    if operation not in FORMS:
        return None
    given = profile.requests.get(operation)
    if operation == "registerPixKey":
        return {**FORMS[operation], "account": place_of(operation, profile)}
    if given is None or not isinstance(given.json, dict):
        payers = dict.fromkeys(_PAYERS & FORMS[operation].keys(), accounts[0]) if accounts else {}
        return {**FORMS[operation], **payers}
    form: Form = _synthetic(given.json, accounts)
    return form


def own_texts(operation: str, profile: Profile) -> frozenset[str]:
    """The texts of an invalid transfer that name an account of the profile."""
    form = form_of(operation, profile) if names_own_account(operation, profile) else {}
    return frozenset(text for _, text in leaves_of(form) if isinstance(text, str) and MARK not in text)


def place_of(operation: str, profile: Profile) -> str | None:
    """The path parameter of an invalid request: an account of the profile only where it can harm nothing."""
    if operations()[operation].path_parameter is None:
        return None
    is_harmless = operation in ("registerPixKey", *READS) and profile.accounts
    return profile.accounts[0] if is_harmless else synthetic_text("account")


# -- off a sandbox -----------------------------------------------------------------------------------------------------


def bounded(cases: Iterable[Case], profile: Profile) -> Iterator[Case]:
    """The cases that may be sent. Off a sandbox none has a number that may be the key or the account of somebody, none
    an amount that is above that of the profile, or not above 0; and a key that may be impossible to delete is for no
    account of the profile."""
    for case in cases:
        names_keys = case.operation in ("registerPixKey", "deletePixKey")
        if profile.is_sandbox:
            yield case
        elif not case.body:
            yield _for_nobody(case, profile) if names_keys else case
        elif _may_be_sent(case.operation, leaves := list(leaves_of(_read(case.body))), profile):
            yield _for_nobody(case, profile) if names_keys and _may_stay(leaves) else case


def _may_be_sent(operation: str, leaves: list[Leaf], profile: Profile) -> bool:
    names_nobody = all(
        AMOUNT in path or not number or not _names_somebody(path) for path, number in leaves if _is_number(number)
    )
    return names_nobody and _are_permitted_amounts(operation, leaves, profile)


def has_permitted_amounts(operation: str, body: Any, profile: Profile) -> bool:
    """True if every amount in the JSON value is above 0 and at most that of the profile; on a sandbox any."""
    return profile.is_sandbox or _are_permitted_amounts(operation, leaves_of(body), profile)


def _are_permitted_amounts(operation: str, leaves: Iterable[Leaf], profile: Profile) -> bool:
    if operation not in PREPARING:
        return True
    greatest = greatest_amount(operation, profile)
    amounts = [item for path, item in leaves if AMOUNT in path]
    are_permitted = all(0 < number <= greatest for number in amounts if _is_number(number))
    return are_permitted and not any(item is True for item in amounts)  # true may be read as 1


def greatest_amount(operation: str, profile: Profile) -> float:
    """The greatest amount of the profile for an operation off a sandbox."""
    form = leaves_of(form_of(operation, profile))
    return max((number for path, number in form if AMOUNT in path and _is_number(number)), default=_LEAST)


def _may_stay(leaves: Iterable[Leaf]) -> bool:
    """True if a key in the body may be impossible to delete, or the body has none: a service may register an empty
    one."""
    keys = [text for path, text in leaves if isinstance(text, str) and (not path or _names_somebody(path))]
    return not keys or any(map(_NOT_TO_BE_DELETED.fullmatch, keys))


def _names_somebody(path: JsonPath) -> bool:
    return bool(path) and (_NO_IDENTIFIERS | {"account"}).isdisjoint(path)


def _for_nobody(case: Case, profile: Profile) -> Case:
    """The case with a synthetic account in place of those of the profile, in the path and in a body."""
    account = synthetic_text("account")
    body = case.body
    if body is not None:
        for own in profile.accounts:
            body = body.replace(as_bytes(own), as_bytes(account))
    place = account if case.path_parameter in profile.accounts else case.path_parameter
    return replace(case, path_parameter=place, body=body)


def _read(body: bytes) -> Any:
    """The body as a lenient reader takes it; null where it is no JSON."""
    if is_nested_deeper_than(MAX_DEPTH_OF_A_REQUEST, body):
        return None
    try:
        return json.loads(body, parse_int=float)
    except ValueError:
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
