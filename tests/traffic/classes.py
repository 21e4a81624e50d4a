"""Which classes of invalid requests an operation gets: a few of each from the targeted tests, the rest from the coverage
phase; all of them where only that phase is selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, zip_longest
from typing import TypeVar

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER
from environments.profiles.gaps import deletes_keys
from environments.profiles.profile import Profile, fill
from spec.interface import MARK, PREPARING, READS, operations
from spec.json_text import as_bytes
from tests.traffic import invalid
from tests.traffic.case import FORMS, NAMED_TYPES, Case, Form, bounded, form_of, places_of

T = TypeVar("T")
_REGISTER = "registerPixKey"
_PATH_PARAMETERS = (
    "very long", "with an encoded slash", "outside the basic plane", "with quotes", "with NUL", "with a question mark",
)  # fmt: skip
_TEXTS = ("cut short", "empty", "an array", "a text", "null", "an empty object", "deeply nested", "no UTF-8")
_LONG_TEXT = "long, and cut short"
_CONTENT_TYPES = ("a form",)
_STRINGS = ("a long text", "text outside the basic plane", "text with NUL")


def malformed(operation: str, profile: Profile) -> Iterator[Case]:
    """The invalid requests to an operation; none where the profile does not permit them."""
    return bounded(_targeted(operation, profile) if "fuzz" in profile.allow else (), profile)


def _targeted(operation: str, profile: Profile) -> Iterator[Case]:
    documented = operations()[operation]
    if operation == "executePix":
        yield from invalid.with_parameter(Case(operation), _PATH_PARAMETERS)
    elif operation == "listAccounts":
        yield Case(operation, "query", "long", query=invalid.LONG_QUERY)
    elif documented.path_parameter and documented.method == "GET":
        yield from invalid.with_parameter(Case(operation), ("unknown", "with an encoded slash"))
    elif operation == _REGISTER:
        yield from _with_keys_of_their_own(_registrations(profile), profile)
    elif documented.method == "DELETE":
        yield from _deletions(Case(operation, path_parameter=synthetic()), profile)
    elif documented.method == "POST":
        yield from _orders(Case(operation), profile)
    if operation in READS:
        place = next(iter(places_of(operation, profile)), None)
        yield Case(operation, "Authorization", ANOTHER, place, credential=ANOTHER)


def in_turns(cases: Iterable[Case]) -> list[Case]:
    """These cases, those that may prepare a transfer last: one of each operation in turn, and of each operation one of each
    part of a request that is unusual. So limits.transfers is for all of them alike."""
    by_operation: dict[str, dict[str, list[Case]]] = {}
    others = []
    for case in cases:
        if case.operation in PREPARING:
            by_operation.setdefault(case.operation, {}).setdefault(case.where, []).append(case)
        else:
            others.append(case)
    return others + _interleaved(_interleaved(classes.values()) for classes in by_operation.values())


def _interleaved(lists: Iterable[Iterable[T]]) -> list[T]:
    return [one for one in chain.from_iterable(zip_longest(*lists)) if one is not None]


def _deletions(case: Case, profile: Profile) -> Iterator[Case]:
    """Deletions for a synthetic account, and of a synthetic key for an account of the profile. Otherwise they are as the
    operator deletes keys, so that nothing else is wrong with them."""
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, _TEXTS[:4])
    given = profile.requests.get(case.operation)
    if given is None:
        return
    whole = replace(case, body=as_bytes(form_of(case.operation, profile)))
    yield from invalid.with_each(whole, "Content-Type", "content_type", invalid.CONTENT_TYPES, _CONTENT_TYPES)
    yield from invalid.with_parameter(whole, ("unknown",))
    if profile.accounts and "{key}" in str(given.json):
        account, key = profile.accounts[0], f"{MARK}unknown"
        body = as_bytes(fill(given.json, account=account, key=key, type=NAMED_TYPES[0]))
        yield replace(whole, where="pixKey", what="unknown", path_parameter=account, body=body)


def _orders(case: Case, profile: Profile) -> Iterator[Case]:
    """Invalid transfers, and what prepares them: in the form that the operator uses, with synthetic values. None is a
    complete transfer: a service that ignores its Content-Type finds no amount in it."""
    form, is_given = form_of(case.operation, profile) or {}, case.operation in profile.requests
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, _TEXTS[:2])
    yield from invalid.with_member(case, form, "value", invalid.VALUES, ("text", "a number") if is_given else ("text",))
    if is_given:
        without_amount = replace(case, body=as_bytes({**form, "value": invalid.VALUES["text"]}))
        yield from invalid.with_each(
            without_amount, "Content-Type", "content_type", invalid.CONTENT_TYPES, _CONTENT_TYPES
        )


def _registrations(profile: Profile) -> Iterator[Case]:
    form = form_of(_REGISTER, profile) or {}
    case = Case(_REGISTER, path_parameter=profile.accounts[0] if profile.accounts else synthetic(), body=as_bytes(form))
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, (*_TEXTS, _LONG_TEXT))
    for name in form:
        yield from invalid.with_other_type(case, form, name, ("null", "a number"))
    yield from invalid.with_member(case, form, "account", invalid.VALUES, ("an object", "text"))
    yield from invalid.with_member(case, form, "pixKey", invalid.STRINGS, _STRINGS)
    yield from invalid.with_each(case, "Content-Type", "content_type", invalid.CONTENT_TYPES, _CONTENT_TYPES)
    yield replace(case, where="accountId", what="unknown", path_parameter=synthetic())
    yield replace(case, where="pixKey", what="a synthetic text")


def _with_keys_of_their_own(cases: Iterable[Case], profile: Profile) -> Iterable[Case]:
    """The cases, each with a synthetic key that no other one has: one that is registered already may be refused for that.
    Where no key is deleted they share one, so that no more than that stays."""
    return map(_with_its_own_key, cases) if deletes_keys(profile) else cases


def _with_its_own_key(case: Case) -> Case:
    common = as_bytes(FORMS[_REGISTER]["pixKey"])
    return replace(case, body=case.body and case.body.replace(common, as_bytes(synthetic())))


def unauthorized(operation: str, credential: str) -> Case:
    """A request without a valid token that can do nothing, even where the operation is open: its body cannot be read."""
    place = synthetic() if operations()[operation].path_parameter else None
    return Case(operation, path_parameter=place, body=invalid.TEXTS["cut short"], credential=credential)


def incomplete(profile: Profile, account: str) -> Iterable[Case]:
    """Registrations of a synthetic key, each without one of the documented members."""
    case = Case(_REGISTER, path_parameter=account)
    cases = invalid.without_each_member(case, form_of(_REGISTER, profile) or {})
    return bounded(_with_keys_of_their_own(cases, profile), profile)


# -- generated traffic -------------------------------------------------------------------------------------------------

_HARDEST = {
    "registerPixKey": "pixKey", "deletePixKey": "pixKey", "createPix": "message",
    "transferExternal": "to", "transferInternal": "description", "transferP2p": "description",
}  # fmt: skip
"""The member that gets the texts that are hard to hold."""

_OF_EVERY_CREDENTIAL = ("registerPixKey", "listAccounts")
"""One that writes and one that reads: a service reads the header in one place, or in one for each."""

_OF_EVERY_QUERY = ("executePix", _REGISTER, *READS)
"""What writes by the body of its request reads a query in one place, if at all."""


def coverage(operation: str, profile: Profile, *, surveyed: bool = False) -> Iterator[Case]:
    """A case for each class of invalid requests. With `surveyed` without those that the targeted tests send."""
    sent = {_class_of(case, profile) for case in _surveyed(operation, profile)} if surveyed else set()
    cases = (case for case in _every_class(operation, profile) if _class_of(case, profile) not in sent)
    return bounded(cases, profile)


def _class_of(case: Case, profile: Profile) -> tuple[str, str, bool]:
    """What is unusual, how, and whether it goes to an account of the profile."""
    return case.where, case.what, case.path_parameter in profile.accounts


def _surveyed(operation: str, profile: Profile) -> Iterator[Case]:
    yield from _targeted(operation, profile)
    if operation == _REGISTER and profile.accounts:
        yield from incomplete(profile, profile.accounts[0])
    if operation in READS and profile.accounts:
        yield Case(operation, "Authorization", "no header", next(iter(places_of(operation, profile)), None))


def _every_class(operation: str, profile: Profile) -> Iterator[Case]:
    place = next(iter(places_of(operation, profile)), None)
    form = form_of(operation, profile)
    case = Case(operation, path_parameter=place, body=as_bytes(form) if form else None)
    queries = invalid.QUERIES if operation in _OF_EVERY_QUERY else invalid.COMMON_QUERIES
    yield from invalid.with_each(case, "query", "query", invalid.QUERIES, queries)
    if operations()[operation].path_parameter:
        yield from invalid.with_parameter(
            case, invalid.PATH_PARAMETERS if operation == "executePix" else invalid.EVERYWHERE
        )
    credentials = invalid.CREDENTIALS if operation in _OF_EVERY_CREDENTIAL else invalid.COMMON_CREDENTIALS
    yield from invalid.with_each(case, "Authorization", "credential", invalid.CREDENTIALS, credentials)
    if form:
        yield from _bodies(case, form, profile)


def _bodies(case: Case, form: Form, profile: Profile) -> Iterator[Case]:
    registers, deletes = case.operation == "registerPixKey", case.operation == "deletePixKey"
    own = replace(case, path_parameter=profile.accounts[0]) if deletes and profile.accounts else case
    hardest = _HARDEST[case.operation]
    yield from invalid.with_each(case, "body", "body", invalid.TEXTS, None if registers else invalid.ANYWHERE)
    yield from invalid.without_each_member(case, form)
    for name in form:
        every = registers or name in (hardest, "value")
        yield from invalid.with_other_type(case, form, name, invalid.VALUES if every else invalid.COMMON_VALUES)
    if own != case:
        yield from invalid.with_each(own, "body", "body", invalid.TEXTS, invalid.UNREADABLE)
    yield from invalid.with_member(
        own, form, hardest, invalid.STRINGS, None if registers or deletes else invalid.HARDEST
    )
    for name in (name for name, valid in form.items() if isinstance(valid, str) and name != hardest):
        yield from invalid.with_member(case, form, name, invalid.STRINGS, invalid.OVERFLOWING)
    yield from invalid.with_other_shapes(own, form, None if registers else invalid.COMMON_SHAPES)
    yield from _bodies_of_registrations(case, form) if registers else ()
    types = None if registers else invalid.COMMON_TYPES
    yield from invalid.with_each(case, "Content-Type", "content_type", invalid.CONTENT_TYPES, types)


def _bodies_of_registrations(case: Case, form: Form) -> Iterator[Case]:
    """Those that name another account, which is synthetic in other forms anyway, or a key that does not fit its type."""
    yield from invalid.with_member(case, form, "account", invalid.VALUES, ("text",))
    yield from _of_each_type(case, form, NAMED_TYPES, "no")
    others = (name for name in NAMED_TYPES if name != form["pixKeyType"])
    yield from _of_each_type(case, {**form, "pixKey": ""}, others, "an empty")


def _of_each_type(case: Case, form: Form, names: Iterable[str], what: str) -> Iterator[Case]:
    """The case with a key that does not fit its type, for each of the types."""
    wrong = invalid.with_member(case, form, "pixKeyType", {f"{what} {name}": name for name in names})
    return (replace(each, where="pixKey") for each in wrong)  # it is the key that does not fit
