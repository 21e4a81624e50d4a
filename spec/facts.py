"""Facts of an answer that the interface document does not show: which type stands at which place, and never a value.

A fact is a place and one type that was seen there. A place is a JSON pointer (RFC 6901) with three differences:

- `*` stands for any item of an array, and for any member whose name may be data
- `/` is the body
- the empty text is the answer as a whole

Facts merge by union. Two sets of facts contradict each other if their types at one place have nothing in common. The
holder of a place is the object or array that holds it.

A member is shown by its name if the interface document has it, or if it is made of ordinary words.

The record of a run, its drift (what changed since an earlier run) and its report ask this module.
Source: interface document, Resources and their fields, last line.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from spec.interface import KEY_TYPES, openapi, operations
from spec.json_text import folded, is_number

Fact = tuple[str, str]
"""A place, and a type that was seen there. At the place ANSWER it is the answer in words, such as `404 text/plain`."""
Facts = frozenset[Fact]
_TypesByPlace = Mapping[str, set[str]]
ANSWER = ""
"""Place of the answer as a whole."""
BODY = "/"
ANY = "*"
"""Stands in a place for any item of an array, and for any member whose name may be data."""
# Types, beside string, date, date and time, number and boolean.
ABSENT = "absent"
NULL = "null"
OBJECT = "object"
ARRAY = "array"
DEEP = "…"
"""Type of an object or array that lies too deep: its content is not looked at."""
_DEEPEST = 8
"""Levels of an answer that are looked at: no known service comes near."""
_MOST_FACTS = 1_000
"""Facts of one answer: no known service comes near, and a record of hundreds of answers stays readable."""
_MOST_NAMES = 50
"""Members of one object. An object with more of them is keyed by data, such as words."""
_DATE = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]")
_MOMENT = re.compile(rf"{_DATE.pattern}[Tt ][0-2][0-9]:[0-5][0-9].{{0,30}}")
"""A date and a time, with seconds, a fraction and a time zone or without them."""
_PAGING_NAME = re.compile(
    r"(?:next|prev|previous|proxim[ao]|anterior)(?P<target>(?:[_-]?(?:page|cursor|token|link|url|pagina)){0,2})", re.I
)
"""Names of members that come and go with the length of a list, and not with the service."""


def words_as_facts(words: str) -> Facts:
    """An observation in words of the suite, or a word of the service that is no payload, such as `DONE`."""
    return frozenset({(ANSWER, words)})


def facts_of(body: Any) -> Facts:
    """Facts of a JSON value as `json_text` reads it. A very large value gives only the facts of its upper levels."""
    for depth in range(_DEEPEST, 0, -1):
        facts = _facts_of([body], depth)
        if len(facts) <= _MOST_FACTS:
            break  # else fewer levels are looked at, in the end one
    return frozenset((pointer or BODY, type_name) for pointer, type_name in facts)


def merged_facts(answers: Iterable[Facts]) -> Facts:
    """The union of the facts of several answers. A member that some objects at its place do not have is also absent."""
    facts_of_answers = list(answers)
    union = frozenset[Fact]().union(*facts_of_answers)
    types_of_answers = [_types_by_place(facts) for facts in facts_of_answers]
    absences = set[Fact]()
    for place in {place for place, _ in union}:
        if any(_types_at(place, types) == {ABSENT} for types in types_of_answers):
            absences.add((place, ABSENT))
    return union | absences


def updated_facts(was: Facts, now: Facts) -> Facts:
    """The new facts, and each old fact of a place of which the new facts say nothing.

    The items of an empty array are such a place. An old fact is dropped with its holder: if a member is gone, so is all
    that was in it.
    """
    current = set(now)
    new_types = _types_by_place(now)
    for place, type_name in sorted(was):  # so that an object or array comes before its members and items
        holder = _holder_of(place)
        holder_exists = holder == ANSWER or (holder, OBJECT) in current or (holder, ARRAY) in current
        new_facts_tell = bool(_telling_types(_types_at(place, new_types)))
        if holder_exists and not new_facts_tell:
            current.add((place, type_name))
    return frozenset(current)


def contradictions(was: Facts, now: Facts) -> Iterator[tuple[str, set[str], set[str]]]:
    """Each place whose old and new types have nothing in common, with both sets of types.

    If the answer as a whole is such a place, it comes alone: everything inside differs then for the same reason.
    """
    types_before = _types_by_place(was)
    types_after = _types_by_place(now)
    for place in sorted({*types_before, *types_after}):
        old = _telling_types(_types_at(place, types_before))
        new = _telling_types(_types_at(place, types_after))
        contradict_each_other = bool(old and new) and old.isdisjoint(new)
        if contradict_each_other and not _is_of_paging(place, old | new):
            yield place, old, new
            if place == ANSWER:
                break


def redacted_facts(facts: Facts, change: Callable[[str], str]) -> Facts:
    """The facts with `*` in the place of each name that may be data, or that `change` alters.

    `change` redacts a text: what it alters is known to be data. It is applied to the types, too, because the answer in
    words stands among them.
    """

    def safe_name(part: str) -> str:
        """A part of a place, or `*` if it may be data. The empty part before the first / stays."""
        is_safe = not part or (is_name(part) and change(part) == part)
        return part if is_safe else ANY

    safe_facts = set[Fact]()
    for place, type_name in facts:
        safe_place = "/".join(safe_name(part) for part in place.split("/"))
        # If a member whose name is data is absent, that says nothing, because other names stand in its place.
        says_nothing = type_name == ABSENT and safe_place.endswith(ANY)
        if not says_nothing:
            safe_facts.add((safe_place, change(type_name)))
    return frozenset(safe_facts)


def facts_as_text(facts: Facts) -> str:
    """The facts on one line, such as `200 application/json: /code number, /data/*/id string`.

    A place that only holds others is left out, because the members in it imply that it is an object.
    """
    types = _types_by_place(facts)
    holders = {_holder_of(place) for place in types}
    shown_places = []
    for place in sorted(types):
        only_holds_others = place in holders and types[place] <= _HOLDER_TYPES
        if place != ANSWER and not only_holds_others:
            shown_places.append(place)
    inner_text = ", ".join(f"{place} {types_in_words(types[place])}" for place in shown_places)
    answer_text = types_in_words(types.get(ANSWER, ()))
    return ": ".join(text for text in (answer_text, inner_text) if text)


def types_in_words(types: Iterable[str]) -> str:
    """Types, or whole answers, that were seen at one place."""
    return " or ".join(sorted(types))


def _holder_of(place: str) -> str:
    """The place of the object or array that holds a place. The answer holds the body and itself."""
    if place in (ANSWER, BODY):
        return ANSWER
    return place.rpartition("/")[0] or BODY


# -- the types at a place -----------------------------------------------------------------------------------------

_HOLDER_TYPES = frozenset({OBJECT, ARRAY})


def _types_by_place(facts: Facts) -> dict[str, set[str]]:
    """All types that stand in facts, by their place."""
    types = defaultdict(set)
    for place, type_name in facts:
        types[place].add(type_name)
    return dict(types)


def _types_at(place: str, types: _TypesByPlace) -> set[str]:
    """The types at a place. ABSENT for a member that its object does not have; none if nothing is known about it."""
    if place in types:
        return types[place]
    name = place.rpartition("/")[2]
    if place == ANSWER or name == ANY:  # an empty array has no items, and that says nothing about them
        return set()
    is_missing_member = OBJECT in types.get(_holder_of(place), ())
    is_missing_body = place == BODY and ANSWER in types
    return {ABSENT} if is_missing_member or is_missing_body else set()


def _telling_types(types: set[str]) -> set[str]:
    """The types that say what a service does.

    Null says nothing about the type of a member. So a member that is sometimes null and otherwise absent has none.
    """
    telling_types = types - {NULL, DEEP}
    is_sometimes_null_else_absent = telling_types == {ABSENT} and types != {ABSENT}
    return set() if is_sometimes_null_else_absent else telling_types


def _is_of_paging(place: str, types: set[str]) -> bool:
    """True for a member that links to a page: a text, an object, or a number if its name says page, cursor or so."""
    match = _PAGING_NAME.fullmatch(place.rpartition("/")[2])
    if match is None:
        return False
    types_of_a_link = {"string", OBJECT, ABSENT}
    if match["target"]:
        types_of_a_link.add("number")
    return types <= types_of_a_link


# -- the types inside a value -------------------------------------------------------------------------------------


def _facts_of(values: list[Any], depth: int) -> set[Fact]:
    """Facts of all values at one place. Places are relative to it; below `depth` levels nothing is looked at."""
    types = {_type_of(value) for value in values}
    if depth == 0:
        return {("", DEEP if type_name in _HOLDER_TYPES else type_name) for type_name in types}
    facts = {("", type_name) for type_name in types}
    objects = [value for value in values if isinstance(value, dict)]
    items: list[Any] = []
    for value in values:
        if isinstance(value, list):
            items.extend(value)
    facts_inside = _facts_of_members(objects, depth - 1)
    if items:
        facts_inside[ANY] = facts_inside.get(ANY, set()) | _facts_of(items, depth - 1)
    for name, inner_facts in facts_inside.items():
        facts.update((f"/{name}{pointer}", type_name) for pointer, type_name in inner_facts)
    return facts


def _facts_of_members(objects: list[dict[str, Any]], depth: int) -> dict[str, set[Fact]]:
    """Facts of the members of all objects at one place, by name. Members whose names may be data are all under `*`."""
    all_names = set[str]().union(*objects)
    names = set(islice(filter(is_name, all_names), _MOST_NAMES + 1))  # no more, because an answer may have very many
    if len(names) > _MOST_NAMES:
        names = set()  # the objects are keyed by data, so every member is under *
    values = defaultdict(list)
    for members in objects:
        for name, value in members.items():
            values[name if name in names else ANY].append(value)
    facts = {name: _facts_of(values[name], depth) for name in values}
    for name in names:
        if len(values[name]) < len(objects):
            facts[name].add(("", ABSENT))
    return facts


def _type_of(value: object) -> str:
    """The JSON type of a value as a word; texts that hold a date, or a date and a time, are told apart."""
    if isinstance(value, str):
        if _DATE.fullmatch(value):
            return "date"
        return "date and time" if _MOMENT.fullmatch(value) else "string"
    if is_number(value):
        return "number"
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "boolean"
    return OBJECT if isinstance(value, dict) else ARRAY


# -- names of members, which may be data ---------------------------------------------------------------------------
# A service may name a member by a person, an account or a day. The name alone decides, so that two answers of one
# service never disagree about it.


def _words_in(file: str) -> frozenset[str]:
    """Words of a list beside this module, in small letters. A line that starts with # is a comment."""
    words = set[str]()
    for line in Path(__file__).with_name(file).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            words.update(line.split())
    return frozenset(words)


def _documented_names() -> frozenset[str]:
    """Names of members and of path parameters in the interface document."""
    names = {operation.path_parameter for operation in operations().values() if operation.path_parameter}
    for schema in openapi()["components"]["schemas"].values():
        names.update(schema.get("properties", ()))
    return frozenset(names)


WORDS = _words_in("words.txt")
"""Words of refusals, the only ones that are shown of a service's text."""
NAME_WORDS = _words_in("member_names.txt")
"""Ordinary words in English and Portuguese, of which a shown name of a member may be made."""
_DOCUMENTED_NAMES = _documented_names()
_FOLDED_NAMES = frozenset(map(folded, _DOCUMENTED_NAMES))
_FORM_OF_A_NAME = re.compile(r"[@$_]?[A-Za-z][A-Za-z_-]{0,60}[0-9]?")
"""Letters and separators with at most one digit at the end, as in `address1`: an identifier has more digits."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word within a name: capitals as in `CNPJ`, or small letters after one capital or none, as in `keyType`."""
_LETTERS = re.compile(r"[A-Za-z _-]*")
"""A documented name in any spelling has no other characters. Names with a number are many, and take time to fold."""
_DOCUMENTED_VALUES = frozenset({"DONE", *KEY_TYPES})
_WORD_IN_CAPITALS = re.compile(r"[A-Z]{2,20}")


def is_name(name: str) -> bool:
    """True for a name of a member that is no data: a documented one in any spelling, or one made of ordinary words."""
    if not name.isascii():
        return False
    if _LETTERS.fullmatch(name) and folded(name) in _FOLDED_NAMES:
        return True
    if not _FORM_OF_A_NAME.fullmatch(name):  # asked first: an answer may have tens of thousands of names
        return False
    words = words_of(name)
    longer_words = [word for word in words if len(word) > 1]
    has_few_single_letters = len(words) - len(longer_words) < 2  # `xTotal` has one; with more it may be an identifier
    return bool(longer_words) and has_few_single_letters and _ORDINARY_WORDS.issuperset(longer_words)


def is_plain_value(text: str) -> bool:
    """True for a value of `status` or `type` that is shown: a documented one, or one word in capitals.

    A service may put the name of a person there; an interface has words such as `PENDING`.
    """
    return text.upper() in _DOCUMENTED_VALUES or bool(_WORD_IN_CAPITALS.fullmatch(text))


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `pixKeyType` has three."""
    return [word.lower() for word in _WORD.findall(name)]


_ORDINARY_WORDS = NAME_WORDS.union(*map(words_of, _DOCUMENTED_NAMES))
