"""Facts of an answer that the interface document does not show: the JSON types of its members, and never a value.

A fact is a pointer and one JSON type that a service sent there, such as ("/data/keys/*/id", "string"). A pointer is a
JSON pointer (RFC 6901) with three differences:

- `*` is any item of an array, and any member whose name may be data
- `/` is the body
- the empty text is the answer as a whole

Facts of several answers are merged by union. Two sets of facts contradict each other if their types at one pointer have
nothing in common. The holder of a pointer is the object or array that holds the value: /data is the holder of /data/id.

A member is shown by its name if the interface document has it, or if it is made of ordinary words.

The record of a run, its drift (what changed since an earlier run) and its report ask this module.
Source: interface document, Resources and their fields, last line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from spec.interface import KEY_TYPES, openapi, operations
from spec.json_text import folded, is_number

Fact = tuple[str, str]
"""A pointer, and a type that a service sent there. At the pointer ANSWER it is the whole answer in words, such as
`404 text/plain`."""
Facts = frozenset[Fact]
"""All facts of an answer, or of several answers that were merged."""
_TypesByPointer = Mapping[str, set[str]]
"""The types that were sent at each pointer."""
ANSWER = ""
"""Pointer to the answer as a whole."""
BODY = "/"
"""Pointer to the whole body."""
ANY_MEMBER = "*"
"""Part of a pointer for any item of an array, and for any member whose name may be data."""
# Types, beside string, date, date and time, number and boolean.
ABSENT = "absent"
"""Type of a member that an object lacks, although other answers have it there."""
NULL = "null"
OBJECT = "object"
ARRAY = "array"
TOO_DEEP = "…"
"""Type of an object or array that is nested too deep: its content is not looked at."""
_DEEPEST = 8
"""Most levels of an answer that are looked at. A choice: no known service has nearly so many."""
_MOST_FACTS = 1_000
"""Most facts of one answer. A choice: no known service has nearly so many, and people can still read the record."""
_MOST_NAMES = 50
"""Most members of one object whose names count as names. An object with more of them has data as names, such as the
words of a language. The number is a choice."""
_DATE = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]")
"""A day, such as 2026-11-20."""
_MOMENT = re.compile(rf"{_DATE.pattern}[Tt ][0-2][0-9]:[0-5][0-9].{{0,30}}")
"""A date and a time, with seconds, a fraction and a time zone or without them."""
_PAGING_NAME = re.compile(
    r"(?:next|prev|previous|proxim[ao]|anterior)(?P<target>(?:[_-]?(?:page|cursor|token|link|url|pagina)){0,2})", re.I
)
"""Names of members that lead to another page of a list. An answer has them only if there is such a page, so they may be
missing although the service has not changed."""


def words_as_facts(words: str) -> Facts:
    """Words of the suite about an answer, in the form in which facts (pairs of a JSON pointer and a type) are stored.

    The words are the only fact, and its pointer is ANSWER, the answer as a whole. They may describe the answer, such as
    `404 text/plain`, or say what the suite learned from it, such as `the body is refused first`.
    """
    return frozenset({(ANSWER, words)})


def facts_of(body: Any) -> Facts:
    """Facts of a JSON body: pairs of a JSON pointer and a type.

    {"data": 1} has the facts ("/", "object") and ("/data", "number"). `body` is a value as `read_json` returns it. A
    very large value gives only the facts of its upper levels.
    """
    for depth in range(_DEEPEST, 0, -1):
        facts = _facts_of_values([body], depth)
        if len(facts) <= _MOST_FACTS:
            break  # if there are too many facts, the next round looks at one level less
    # Inside, pointers are relative to the body, so that the body itself has the empty one.
    return frozenset((pointer or BODY, type_name) for pointer, type_name in facts)


def merged_facts(answers: Iterable[Facts]) -> Facts:
    """The union of the facts (pairs of a JSON pointer and a type) of several answers to one kind of request.

    If only some of the answers have a member, the member also gets the type "absent", because it is optional.
    """
    facts_of_answers = list(answers)
    union = frozenset[Fact]().union(*facts_of_answers)
    types_of_answers = [_types_by_pointer(facts) for facts in facts_of_answers]
    absences = set[Fact]()
    for pointer in {pointer for pointer, _ in union}:
        # {ABSENT} for an answer that has the object around the member, but not the member.
        some_answer_lacks_it = any(_types_at(pointer, types) == {ABSENT} for types in types_of_answers)
        if some_answer_lacks_it:
            absences.add((pointer, ABSENT))
    return union | absences


def updated_facts(was: Facts, now: Facts) -> Facts:
    """The facts to store after a new run: its facts, and the earlier facts about which the new answers show nothing.

    A fact is a pair of a JSON pointer and a type. An earlier fact about the items of an array is kept, for example, if
    the array is empty now. An earlier fact is dropped if its holder (the object or array around it) is gone.
    """
    current = set(now)
    new_types = _types_by_pointer(now)
    for pointer, type_name in sorted(was):  # so that an object or array comes before its members and items
        holder = _holder_of(pointer)
        is_object_or_array = (holder, OBJECT) in current or (holder, ARRAY) in current
        holder_exists = holder == ANSWER or is_object_or_array
        # Null alone does not count as an answer, because a member of any type may be null.
        types_now = _types_that_matter(_types_at(pointer, new_types))
        if holder_exists and not types_now:
            current.add((pointer, type_name))
    return frozenset(current)


def contradictions(was: Facts, now: Facts) -> Iterator[tuple[str, set[str], set[str]]]:
    """Each JSON pointer whose earlier and new types have nothing in common, with both sets of types.

    Such as ("/data/id", {"string"}, {"number"}): the service has changed since the earlier run. If the answer as a
    whole has changed, such as from 200 to 404, only this is yielded, because its members differ for the same reason.
    `was` and `now` have facts: pairs of a pointer and a type.
    """
    types_before = _types_by_pointer(was)
    types_after = _types_by_pointer(now)
    for pointer in sorted({*types_before, *types_after}):  # the answer as a whole, the empty pointer, comes first
        old_types = _types_that_matter(_types_at(pointer, types_before))
        new_types = _types_that_matter(_types_at(pointer, types_after))
        both_are_known = bool(old_types) and bool(new_types)
        contradict_each_other = both_are_known and old_types.isdisjoint(new_types)
        # A link such as `next` is a text on the first page of a list and absent on the last one. That is no change of
        # the service.
        if contradict_each_other and not _is_link_to_a_page(pointer, old_types | new_types):
            yield pointer, old_types, new_types
            if pointer == ANSWER:
                break


def redacted_facts(facts: Facts, change: Callable[[str], str]) -> Facts:
    """The facts (pairs of a JSON pointer and a type) with `*` for each member name that may be data.

    So a report may show them. `change` is a function that redacts a text: a name that it alters is data, such as an
    account. It is applied to the types, too, because one of them may be the whole answer in words.
    """

    def safe_name(part: str) -> str:
        """A part of a pointer, or `*` if it may be data. The empty part before the first slash is kept."""
        if part == "":
            return part
        if not is_surely_no_data(part):
            return ANY_MEMBER
        is_redacted = change(part) != part
        return ANY_MEMBER if is_redacted else part

    safe_facts = set[Fact]()
    for pointer, type_name in facts:
        safe_pointer = "/".join(safe_name(part) for part in pointer.split("/"))
        # That a member such as `maria` is absent is no fact about the service, because its name is data.
        is_absent_data = type_name == ABSENT and safe_pointer.endswith(ANY_MEMBER)
        if not is_absent_data:
            safe_facts.add((safe_pointer, change(type_name)))
    return frozenset(safe_facts)


def facts_as_text(facts: Facts) -> str:
    """The facts (pairs of a JSON pointer and a type) on one line.

    Such as `200 application/json: /code number, /data/*/id string`. /data itself is not in the line, because /data/*/id
    implies that it is an object or an array.
    """
    types = _types_by_pointer(facts)
    holders = {_holder_of(pointer) for pointer in types}
    shown_pointers = []
    for pointer in sorted(types):
        is_implied_by_its_members = pointer in holders and types[pointer] <= _HOLDER_TYPES
        if pointer != ANSWER and not is_implied_by_its_members:
            shown_pointers.append(pointer)
    inner_text = ", ".join(f"{pointer} {types_in_words(types[pointer])}" for pointer in shown_pointers)
    answer_text = types_in_words(types.get(ANSWER, ()))
    if answer_text and inner_text:
        return f"{answer_text}: {inner_text}"
    return answer_text or inner_text


def types_in_words(types: Iterable[str]) -> str:
    """The types at one pointer for a report: "number or string"."""
    return " or ".join(sorted(types))


def _holder_of(pointer: str) -> str:
    """The pointer to the object or array that holds a value: /data for /data/id, and / (the body) for /data.

    The holder of the body is the answer. The answer is its own holder, so that every pointer has one.
    """
    if pointer in (ANSWER, BODY):
        return ANSWER
    return pointer.rpartition("/")[0] or BODY


# -- the types at a pointer ---------------------------------------------------------------------------------------

_HOLDER_TYPES = frozenset({OBJECT, ARRAY})
"""Types of the values that hold other values."""


def _types_by_pointer(facts: Facts) -> dict[str, set[str]]:
    """All types in the facts (pairs of a JSON pointer and a type), by their pointer."""
    types = defaultdict(set)
    for pointer, type_name in facts:
        types[pointer].add(type_name)
    return dict(types)


def _types_at(pointer: str, types: _TypesByPointer) -> set[str]:
    """The types at a pointer: {ABSENT} for a member that its object lacks; empty if nothing is known about the pointer.

    `types` are the types of all known facts.
    """
    if pointer in types:
        return types[pointer]
    name = pointer.rpartition("/")[2]  # the last part
    if pointer == ANSWER or name == ANY_MEMBER:  # if an array is empty, nothing is known about the type of its items
        return set()
    is_missing_member = OBJECT in types.get(_holder_of(pointer), ())
    is_missing_body = pointer == BODY and ANSWER in types
    return {ABSENT} if is_missing_member or is_missing_body else set()


def _types_that_matter(types: set[str]) -> set[str]:
    """The types of one member that can contradict others: without null, which a member of any type may be.

    An object that is too deep is left out, too. The result is empty for a member that is sometimes null and otherwise
    absent, because its type is unknown.
    """
    types_that_matter = types - {NULL, TOO_DEEP}
    is_sometimes_null_else_absent = types_that_matter == {ABSENT} and types != {ABSENT}
    return set() if is_sometimes_null_else_absent else types_that_matter


def _is_link_to_a_page(pointer: str, types: set[str]) -> bool:
    """True for a member with a link to another page of a list, such as `next` or `prev_page`, judged by name and types.

    The last page has no link, so such a member may be absent although the service has not changed.
    """
    match = _PAGING_NAME.fullmatch(pointer.rpartition("/")[2])
    if match is None:
        return False
    types_of_a_link = {"string", OBJECT, ABSENT}
    if match["target"]:  # `next_page` may be the number of a page; `next` alone may not
        types_of_a_link.add("number")
    return types <= types_of_a_link


# -- the types inside a value -------------------------------------------------------------------------------------


def _facts_of_values(values: list[Any], depth: int) -> set[Fact]:
    """Facts (pairs of a JSON pointer and a type) of all values at one pointer, such as of all items of an array.

    The pointers of these facts are relative: the empty pointer is the values themselves, and /id a member of them. At
    most `depth` levels are looked at.
    """
    types = {_type_of(value) for value in values}
    if depth == 0:  # objects and arrays are not looked into
        if types & _HOLDER_TYPES:
            types = (types - _HOLDER_TYPES) | {TOO_DEEP}
        return {("", type_name) for type_name in types}
    facts = {("", type_name) for type_name in types}
    objects = [value for value in values if isinstance(value, dict)]
    items: list[Any] = []
    for value in values:
        if isinstance(value, list):
            items.extend(value)
    facts_inside = _facts_of_members(objects, depth - 1)
    if items:  # items of arrays, and members whose names may be data, are both under *
        facts_of_items = _facts_of_values(items, depth - 1)
        facts_inside[ANY_MEMBER] = facts_inside.get(ANY_MEMBER, set()) | facts_of_items
    for name, inner_facts in facts_inside.items():
        facts.update((f"/{name}{pointer}", type_name) for pointer, type_name in inner_facts)
    return facts


def _facts_of_members(objects: list[dict[str, Any]], depth: int) -> dict[str, set[Fact]]:
    """Facts (pairs of a JSON pointer and a type) of the members of objects, by the name of the member.

    `objects` are all objects at one pointer, such as all items of an array. Members whose names may be data, such as
    names of people, are all under `*`. Pointers are relative to the member.
    """
    all_names = set[str]().union(*objects)
    names = set[str]()
    for name in all_names:
        if is_surely_no_data(name):
            names.add(name)
        if len(names) > _MOST_NAMES:
            names = set()  # the objects are keyed by data, so every member is under *
            break  # because an answer may have tens of thousands of names
    values = defaultdict(list)
    for members in objects:
        for name, value in members.items():
            shown_name = name if name in names else ANY_MEMBER
            values[shown_name].append(value)
    facts = {name: _facts_of_values(values[name], depth) for name in values}
    for name in names:
        some_objects_lack_it = len(values[name]) < len(objects)
        if some_objects_lack_it:
            facts[name].add(("", ABSENT))  # the empty pointer is the member itself
    return facts


def _type_of(value: object) -> str:
    """The JSON type of a value as a word, such as "number".

    A text such as 2026-11-20 has the type "date". A text with a date and a time has the type "date and time".
    """
    if isinstance(value, str):
        if _DATE.fullmatch(value):
            return "date"
        if _MOMENT.fullmatch(value):
            return "date and time"
        return "string"
    if is_number(value):
        return "number"
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, dict):
        return OBJECT
    return ARRAY


# -- names of members, which may be data ---------------------------------------------------------------------------
# A service may name a member by a person, an account or a day. Whether a name may be data is decided from the name
# alone, so that the decision is the same for all answers of a service.


def _words_in(file_name: str) -> frozenset[str]:
    """The words in a text file beside this module, such as words.txt. A line that begins with # is a comment."""
    words = set[str]()
    for line in Path(__file__).with_name(file_name).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            words.update(line.split())
    return frozenset(words)


def _documented_names() -> frozenset[str]:
    """Names of members and of path parameters in the interface document: they are no data, so reports show them."""
    names = {operation.path_parameter for operation in operations().values() if operation.path_parameter}
    for schema in openapi()["components"]["schemas"].values():
        names.update(schema.get("properties", ()))
    return frozenset(names)


WORDS = _words_in("words.txt")
"""Words of refusals. Of the text of a service only these words are shown."""
NAME_WORDS = _words_in("member_names.txt")
"""Ordinary words in English and Portuguese, of which a shown name of a member may be made."""
_DOCUMENTED_NAMES = _documented_names()
_FOLDED_NAMES = frozenset(map(folded, _DOCUMENTED_NAMES))
"""The same in small letters and without separators, so that misspelled names are recognized."""
_FORM_OF_A_NAME = re.compile(r"[@$_]?[A-Za-z][A-Za-z_-]{0,60}[0-9]?")
"""Letters and separators with at most one digit at the end, as in `address1`: an identifier has more digits."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word within a name: capitals as in `CNPJ`, or small letters after one capital or none, as in `keyType`."""
_LETTERS = re.compile(r"[A-Za-z _-]*")
"""A documented name in any spelling has no other characters. Other names need no comparison, which saves time."""
_DOCUMENTED_VALUES = frozenset({"DONE", *KEY_TYPES})
"""The values of `status` and `type` that the interface document names."""
_WORD_IN_CAPITALS = re.compile(r"[A-Z]{2,20}")
"""A word such as PENDING, with which an interface names a status."""


def is_surely_no_data(name: str) -> bool:
    """True if a member name is surely no data, so that a report may show it.

    It is a documented name in any spelling, or made of ordinary words, such as `totalItems`. A service may also name a
    member by a person or an account, such as `maria`.
    """
    if not name.isascii():
        return False
    if _LETTERS.fullmatch(name) and folded(name) in _FOLDED_NAMES:
        return True
    if not _FORM_OF_A_NAME.fullmatch(name):  # a quick check first: an answer may have tens of thousands of names
        return False
    words = words_of(name)
    longer_words = [word for word in words if len(word) > 1]
    number_of_single_letters = len(words) - len(longer_words)
    if not longer_words or number_of_single_letters > 1:  # `xTotal` has one; with more it may be an identifier
        return False
    return _ORDINARY_WORDS.issuperset(longer_words)


def is_plain_value(text: str) -> bool:
    """True if a report may show this value of `status` or `type`: a documented value, or one word in capitals.

    Any other value may be the name of a person. A status of an interface is a word such as `PENDING`.
    """
    return text.upper() in _DOCUMENTED_VALUES or bool(_WORD_IN_CAPITALS.fullmatch(text))


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `pix`, `key` and `type` for `pixKeyType`."""
    return [word.lower() for word in _WORD.findall(name)]


_ORDINARY_WORDS = NAME_WORDS.union(*map(words_of, _DOCUMENTED_NAMES))
"""Words of which a member name may be made so that a report shows it: ordinary ones, and those of documented names."""
