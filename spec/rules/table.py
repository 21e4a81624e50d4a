"""What every rule needs: the decorator `rule`, which puts it into the table RULES, and functions that read an answer.

A rule returns a finding, or None if the requirement is met. It raises InconclusiveError if the exchange does not show
whether it is. The docstring of a rule is the text of its requirement. A rule for several requirements has a pattern of
ids (grep for the last part of an id), and braces at the places where their texts differ.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from typing import Any

from spec.answers import answer_in_words, data_of, is_judged_as_success, member_named
from spec.exchange import Exchange, Response
from spec.facts import is_surely_no_data
from spec.findings import Finding
from spec.interface import operations
from spec.json_text import is_integer, is_number, pointer
from spec.message import Text, message_of, say
from spec.requirements import requirements

Rule = Callable[[Exchange], Finding | None]
"""A function that checks an exchange for one requirement. It returns None if the requirement is met."""
ObjectReader = Callable[[Exchange], Mapping[str, Any]]
"""A function that reads an object from an answer: `envelope_in` for the envelope, or `data_in` for `data` in it."""
RULES: dict[str, Rule] = {}
"""The rule of each requirement that has one, by its id. Importing the modules of this folder fills it."""
_MOST_NAMED = 10
"""Most names of members in one message, so that the message stays a line or two. A choice."""


class InconclusiveError(Exception):
    """The exchange does not show whether the requirement is met. `why` says what was missing."""

    def __init__(self, why: Text) -> None:
        """`why` is the reason for the judgement "inconclusive", as a message or a text."""
        super().__init__(why)
        self.why = why


def rule(pattern: str) -> Callable[[Rule], Rule]:
    """Decorator that registers a function as the rule of one requirement or several, so that `judge` finds it by id.

    `pattern` is the id of the requirement, or a pattern for several ids, such as `*.json`.
    """

    def register(function: Rule) -> Rule:
        """Put the function into RULES for each requirement whose id fits the pattern."""
        for requirement_id in fnmatch.filter(requirements(), pattern):
            RULES[requirement_id] = function
        return function

    return register


def successful_response(exchange: Exchange) -> Response:
    """The response, if it is judged as a success. Raises InconclusiveError if it is not.

    Rules on successful answers call it first, so that a refusal or a missing answer is inconclusive for them.
    """
    if exchange.response is None or not is_judged_as_success(exchange):
        raise InconclusiveError(say("no success to judge: {answer}", answer=answer_in_words(exchange)))
    return exchange.response


def json_in(exchange: Exchange) -> Any:
    """The JSON value of a success. Raises InconclusiveError if there is none.

    | body | result |
    |---|---|
    | JSON | its value; for the JSON text `null` that is None |
    | no JSON only because of NaN or Infinity | its value, with None in their place |
    | any other that is no JSON | an error, which says why (`error`) |
    | larger than the suite reads | an error, which names the limit (`why_not_read`) |
    """
    text = successful_response(exchange).json
    if text.readable:  # JSON; also if its value is None
        return text.value
    if text.value is not None:  # NaN or Infinity
        return text.value
    raise InconclusiveError(text.why_not_read or say("not JSON: {error}", error=message_of(text.error)))


def envelope_in(exchange: Exchange) -> Mapping[str, Any]:
    """The envelope (the JSON object with `code` and `data`) of a success.

    Raises InconclusiveError if the answer is no success, or its body is no JSON object.
    """
    value = json_in(exchange)
    if not isinstance(value, dict):
        raise InconclusiveError("the answer is no object")
    return value


def data_in(exchange: Exchange) -> Mapping[str, Any]:
    """The object `data` in the envelope of a success. Raises InconclusiveError if there is none."""
    data = data_of(successful_response(exchange))
    if data is None:
        json_in(exchange)  # if the body is no JSON, this raises an error with that reason, which is more exact
        raise InconclusiveError("the envelope holds no object data")
    return data


def member_in(members: Mapping[str, Any], name: str) -> tuple[str, Any]:
    """The member of a JSON object with that name or a misspelling of it: its name in the answer, and its value.

    For `accountType` it may be ("account_type", 1). Raises InconclusiveError if there is none, because another rule
    reports the missing member.
    """
    member = member_named(members, name)
    if member is None:
        raise InconclusiveError(say("{name} is missing", name=name))
    return member


def documented_names_in(exchange: Exchange) -> list[str]:
    """Names of the documented fields that are in `data` of the answer, as the answer spells them."""
    data = data_in(exchange)
    names = []
    for field in operations()[exchange.operation].result:
        member = member_named(data, field.name)
        if member is not None:
            name_in_answer, _ = member
            names.append(name_in_answer)
    return names


def text_in(exchange: Exchange, name: str) -> str:
    """The text of a field of `data`. Raises InconclusiveError if it is missing or no text: other rules report that."""
    _, value = member_in(data_in(exchange), name)
    if not isinstance(value, str):
        raise InconclusiveError(say("{name} is of another type", name=name))
    return value


def pointer_to(read_object: ObjectReader, name: str, exchange: Exchange) -> str:
    """The JSON pointer to a member in the body of an answer, such as `/data/id`, for a report to mark it.

    `read_object` returns the object that has the member. The pointer has the names as the answer spells them; a member
    that is missing has its documented name.
    """
    name_in_answer = spelling_of(read_object(exchange), name)
    if read_object is envelope_in:  # a member of the envelope itself, such as /code
        return pointer(name_in_answer)
    name_of_data = spelling_of(envelope_in(exchange), "data")
    return pointer(name_of_data, name_in_answer)


def spelling_of(members: Mapping[str, Any], name: str) -> str:
    """The name of a member as the answer spells it, such as `account_type`; `name` itself if the member is missing."""
    member = member_named(members, name)
    if member is None:
        return name
    name_in_answer, _ = member
    return name_in_answer


# -- words for messages --------------------------------------------------------------------------------------------


def type_in_words(value: object) -> Text:
    """The JSON type of a value in words for a message: `an integer`, `a string`, `null`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return say("a boolean")
    if is_number(value):
        return say("an integer") if is_integer(value) else say("a number with a fraction")
    if isinstance(value, str):
        return say("a string")
    return say("an array") if isinstance(value, list) else say("an object")


def names_for_message(names: list[str]) -> Text:
    """Names of members in one text for a message: `total, nextPage and 3 more`.

    Only names that are surely no data are shown, and the others are counted. A service may use data as names: the name
    of a person, as in {"Maria Silva": 10}, or an account.
    """
    shown_names: list[str] = []
    for name in names:
        if len(shown_names) == _MOST_NAMED:
            break  # because an answer may have tens of thousands of names
        if is_surely_no_data(name):
            shown_names.append(name)
    number_of_others = len(names) - len(shown_names)
    if not shown_names:
        return say("{n} members whose names may be data", n=number_of_others)
    text = ", ".join(shown_names)
    if number_of_others == 0:
        return text
    return say("{names} and {n} more", names=text, n=number_of_others)
