"""Values that the interface document does not list, in the answers that it describes: to executions and to
registrations of keys. They are small, and name nobody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from reports.observed.behaviour import NOT_REQUIRED, REQUIRED
from spec.answers import data_of, find, is_judged_as_success, refusal_of_the_caller, registered, succeeded
from spec.exchange import Exchange
from spec.facts import is_plain_value
from spec.json_text import is_integer
from spec.key_list import UUID
from spec.message import Text, joined
from spec.observed import ObservedValues, answer_of, by_situation, indistinguishable, is_evidence
from tests.traffic.execution import Execution
from tests.traffic.keys.purposes import body_sent, type_sent

_LARGEST = 9_999
_CHARACTERS = (
    ("the form of a UUID", UUID),
    ("digits", re.compile(r"[0-9]+")),
    ("+ and digits", re.compile(r"\+[0-9]+")),
    ("digits and punctuation", re.compile(r"[0-9 ().,/+-]+")),
    ("an e-mail address", re.compile(r"[^@\s]+@[^@\s]+")),
)


def format_of(text: str) -> str:
    """The characters that a text is of."""
    return next((name for name, form in _CHARACTERS if form.fullmatch(text)), "other characters")


# -- fields of the execution result -------------------------------------------------------------------------------


def values_in_results(field: str, answers: Iterable[Exchange], prepared_by: str) -> ObservedValues:
    """Values of a field of the execution result. `prepared_by` is the operation that the run prepares transfers with.

    All but the unit of a date depend on the transfer, so values are kept by the operation that prepared it. Supplied
    codes may be of other transfers in the next run, so a value of theirs is no more than seen.
    """
    values: list[tuple[Exchange, Any]] = []
    for answer in answers:
        data = data_of(answer.response) if is_judged_as_success(answer) else None
        if data and field in data:
            values.append((answer, data[field]))
    if field == "date":
        return by_situation(("", _unit(date)) for _, date in values if isinstance(date, Decimal))
    in_words = word_of if field == "status" else number_of
    observed: list[tuple[Text, str]] = []
    for answer, value in values:
        if answer.purpose is Execution.PREPARED:
            observed.append((prepared_by, in_words(value)))
        else:
            observed.append((joined((in_words(value), "for a supplied code"), " "), "seen"))
    return by_situation(observed)


def states_before(preparations: Iterable[Exchange]) -> ObservedValues:
    """By operation, statuses of transfers in the answers to preparations: they are not executed yet."""
    return by_situation((seen.operation, _status_in(seen)) for seen in filter(succeeded, preparations))


def _status_in(preparation: Exchange) -> str:
    data = data_of(preparation.response) or {}
    return word_of(data["status"]) if "status" in data else "no status"


def word_of(value: object) -> str:
    """A value of `status` as it is shown, or what else it is."""
    if not isinstance(value, str):
        return "no text"
    return value if is_plain_value(value) else "another text"


def number_of(value: object) -> str:
    """A number of few digits as it is, and of any other one the power of ten."""
    if not is_integer(value) or not isinstance(value, Decimal):
        return "no integer"
    return str(int(value)) if abs(value) <= _LARGEST else f"10^{value.adjusted()}"


def _unit(date: Decimal) -> str:
    """The unit that the size of a date suggests."""
    units = {9: "seconds", 12: "milliseconds", 15: "microseconds", 18: "nanoseconds"}
    unit = units.get(date.adjusted())
    return f"{unit} since 1970" if unit else f"10^{date.adjusted()}"


# -- registrations -------------------------------------------------------------------------------------------------

ACCEPTED, REFUSED = "accepted", "refused"
LIKE_COMPLETE = "answered like a complete registration"
"""Accepted, as any key is, or refused: then the service looks at something else first."""
_SUCCESSES = ("true", "false", "True", "False")


def _outcome(seen: Exchange) -> str:
    return ACCEPTED if registered(seen) else REFUSED


def repeated_values(repeated: Iterable[Exchange]) -> ObservedValues:
    """The answers to registrations of keys that are there already, and what they have as Success."""
    found: ObservedValues = {}
    for seen in filter(is_evidence, repeated):
        found.setdefault("", []).append(answer_of(seen))
        success = find(data_of(seen.response) or {}, "Success")
        if success:
            word = success[1] if success[1] in _SUCCESSES else "another value"
            found.setdefault("the field Success", []).append(word)
    return found


def numeric_values(numeric: Iterable[Exchange]) -> ObservedValues:
    """The digits that are accepted as key type. A service may look whether the key fits: so the situation says which
    type is right."""
    return by_situation((f"{type_sent(seen)} = EMAIL", _outcome(seen)) for seen in filter(is_evidence, numeric))


def required_values(without: Mapping[str, Exchange], complete: Exchange | None) -> ObservedValues:
    """The fields that a registration needs: not where one without it is accepted, and surely where a complete one of
    the same key is answered otherwise."""
    return by_situation((name, value) for name, seen in without.items() if (value := _needed(seen, complete)))


def _needed(seen: Exchange, complete: Exchange | None) -> str:
    """Observed answer to an incomplete registration. A service that looks at the key first refuses it, one that takes
    any key accepts it: both answer it like a complete one."""
    if complete is None:
        return NOT_REQUIRED if registered(seen) else ""
    is_alike = registered(seen) and registered(complete)
    if is_alike or indistinguishable(seen, complete):
        return LIKE_COMPLETE
    return NOT_REQUIRED if registered(seen) else REQUIRED


def relation_values(seen: Exchange | None, complete: Exchange | None) -> ObservedValues:
    """Outcome of a registration whose body names another account than its path."""
    told = {NOT_REQUIRED: ACCEPTED, REQUIRED: REFUSED}
    value = _needed(seen, complete) if seen else ""
    return {"an unknown account in the body": [told.get(value, value)]} if value else {}


def formats_of_granted(accepted: Iterable[Exchange]) -> ObservedValues:
    """The formats of the keys of valid registrations that were granted. How a RANDOM key is asked for is the service's
    choice; keys of the other types are those of the profile, and other ones may be accepted as well."""
    bodies = [body_sent(seen) for seen in accepted]
    forms = [(body["pixKeyType"], format_of(body["pixKey"]) if "pixKey" in body else "left out") for body in bodies]
    return by_situation(
        (name, form) if name == "RANDOM" else (joined((name, form), ", "), ACCEPTED) for name, form in forms
    )


def formats_of_synthetic(seen: Exchange | None) -> ObservedValues:
    """Outcome of a synthetic text that is sent as a key: it has the format of none."""
    if seen is None or seen.response is None or refusal_of_the_caller(seen.response):
        return {}
    return {joined((type_sent(seen), "a text that is no such key"), ", "): [_outcome(seen)]}
