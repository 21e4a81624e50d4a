"""Facts of an answer that the interface document does not show: what is at which place, and never a value.

A fact is a place and one type that was seen there. A place is a JSON pointer (RFC 6901) in which `*` is any item of an
array, and any member whose name may be data; `/` is the body, and the empty place the answer as a whole. Facts merge by
union. Two sets of facts contradict each other where their types at one place have nothing in common.

Members that are shown by name are those of the interface document, and those made of ordinary words.

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
Facts = frozenset[Fact]
ANSWER, BODY, ANY = "", "/", "*"
ABSENT, NULL, OBJECT, ARRAY = "absent", "null", "object", "array"
DEEP = "…"
"""Type of what lies too deep to be looked at."""
_DEEPEST, _MOST_FACTS = 8, 1_000
"""Levels of one answer, and facts: no known service comes near, and a record of hundreds of answers stays readable."""
_MOST_NAMES = 50
"""Members of one object: with more of them it is keyed by data, such as words."""
_DATE = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]")
_MOMENT = re.compile(rf"{_DATE.pattern}[Tt ][0-2][0-9]:[0-5][0-9].{{0,30}}")
_OF_PAGING = re.compile(
    r"(?:next|prev|previous|proxim[ao]|anterior)(?P<what>(?:[_-]?(?:page|cursor|token|link|url|pagina)){0,2})", re.I
)
"""Names of members that come and go with the length of a list, and not with the service."""


def said(text: str) -> Facts:
    """An observation in words of ours, or a word of the service that is no payload, such as `DONE`."""
    return frozenset({(ANSWER, text)})


def facts_of(body: Any) -> Facts:
    """Facts of a JSON value as `json_text` reads it; of a very large one, those of its upper levels."""
    for depth in range(_DEEPEST, 0, -1):
        found = _facts_of([body], depth)
        if len(found) <= _MOST_FACTS:
            break
    return frozenset((pointer or BODY, what) for pointer, what in found)


def merged(several: Iterable[Facts]) -> Facts:
    """The union, in which a member that only some of the objects at its place have is also absent."""
    each = [_by_place(facts) for facts in several]
    whole = {(place, what) for known in each for place in known for what in known[place]}
    absent = {(place, ABSENT) for place, _ in whole if any(_types(known, place) == {ABSENT} for known in each)}
    return frozenset(whole | absent)


def updated(was: Facts, now: Facts) -> Facts:
    """The new facts, and the old ones of places of which those say nothing, such as the items of an empty array."""
    whole, known = set(now), _by_place(now)
    for place, what in sorted(was):  # what a place is in comes before it
        holder = _parent_of(place)
        is_inside = holder == ANSWER or bool({(holder, OBJECT), (holder, ARRAY)} & whole)
        if is_inside and not _telling(_types(known, place)):
            whole.add((place, what))
    return frozenset(whole)


def contradictions(was: Facts, now: Facts) -> Iterator[tuple[str, set[str], set[str]]]:
    """Places where what was and what is have nothing in common, with both; the answer as a whole comes alone."""
    before, after = _by_place(was), _by_place(now)
    for place in sorted({*before, *after}):
        old, new = (_telling(_types(side, place)) for side in (before, after))
        if old and new and old.isdisjoint(new) and not _is_of_paging(place, old | new):
            yield place, old, new
            if place == ANSWER:
                break


def renamed(facts: Facts, change: Callable[[str], str]) -> Facts:
    """The facts, in which a name that may be data, or that a change knows to be data, is `*`."""

    def name(part: str) -> str:
        return part if not part or (is_name(part) and change(part) == part) else ANY

    found = (("/".join(map(name, place.split("/"))), what) for place, what in facts)
    return frozenset((place, change(what)) for place, what in found if what != ABSENT or not place.endswith(ANY))


def text_of(facts: Facts) -> str:
    """The facts on one line, without what others imply: `200 application/json: /code number, /data/*/id string`."""
    known = _by_place(facts)
    holding = {_parent_of(place) for place in known}
    told = [place for place in sorted(known) if place and (place not in holding or known[place] - _HOLDING)]
    inner = ", ".join(f"{place} {in_words(known[place])}" for place in told)
    return ": ".join(filter(None, (in_words(known.get(ANSWER, ())), inner)))


def in_words(types: Iterable[str]) -> str:
    """Types, or whole answers, that were seen at one place."""
    return " or ".join(sorted(types))


def _parent_of(place: str) -> str:
    """The place that a place is in; the answer is in itself."""
    return ANSWER if place == BODY else place.rpartition("/")[0] or (BODY if place else ANSWER)


# -- what is known of a place -------------------------------------------------------------------------------------

_HOLDING = frozenset({OBJECT, ARRAY})


def _by_place(facts: Facts) -> dict[str, set[str]]:
    known = defaultdict(set)
    for place, what in facts:
        known[place].add(what)
    return dict(known)


def _types(known: Mapping[str, set[str]], place: str) -> set[str]:
    """The types at a place, where a member that an object does not have is absent; none where nothing is known."""
    name, inside = place.rpartition("/")[2], _parent_of(place)
    if place in known or place == ANSWER or name == ANY:
        return known.get(place, set())
    return {ABSENT} if OBJECT in known.get(inside, ()) or (place == BODY and ANSWER in known) else set()


def _telling(types: set[str]) -> set[str]:
    """The types that say what a service does: null does not, nor does what is only ever null or absent."""
    told = types - {NULL, DEEP}
    return told if told != {ABSENT} or told == types else set()


def _is_of_paging(place: str, types: set[str]) -> bool:
    """True for a member that links to a page: a text, an object, or a number under a name that says so."""
    found = _OF_PAGING.fullmatch(place.rpartition("/")[2])
    return found is not None and types <= {"string", OBJECT, ABSENT, *["number"] * bool(found["what"])}


# -- what a value is made of --------------------------------------------------------------------------------------


def _facts_of(values: list[Any], depth: int) -> set[Fact]:
    """Facts of the values at one place, seen from there; of what lies deeper than so many levels, nothing is known."""
    found = {("", _type_of(value)) for value in values}
    if depth == 0:
        return {("", DEEP if what in _HOLDING else what) for _, what in found}
    items = [item for value in values if isinstance(value, list) for item in value]
    inside = _members([value for value in values if isinstance(value, dict)], depth - 1)
    if items:
        inside[ANY] = inside.get(ANY, set()) | _facts_of(items, depth - 1)
    return found | {(f"/{name}{pointer}", what) for name, facts in inside.items() for pointer, what in facts}


def _members(objects: list[dict[str, Any]], depth: int) -> dict[str, set[Fact]]:
    """Facts of the members by their name; `*` is that of all that are named by data, or that may be."""
    all_names = {name for each in objects for name in each}
    names = set(islice(filter(is_name, all_names), _MOST_NAMES + 1))
    if len(names) > _MOST_NAMES:
        names = set()
    values = defaultdict(list)
    for each in objects:
        for name, value in each.items():
            values[name if name in names else ANY].append(value)
    found = {name: _facts_of(values[name], depth) for name in values}
    for name in names:
        found[name] |= {("", ABSENT)} if len(values[name]) < len(objects) else set()
    return found


def _type_of(value: object) -> str:
    if isinstance(value, str):
        return "date" if _DATE.fullmatch(value) else "date and time" if _MOMENT.fullmatch(value) else "string"
    if is_number(value):
        return "number"
    if value is None or isinstance(value, bool):
        return NULL if value is None else "boolean"
    return OBJECT if isinstance(value, dict) else ARRAY


# -- names of members, which may be data ---------------------------------------------------------------------------
# A service may name a member by a person, an account or a day. The name alone decides, so that two answers of one
# service never disagree about it.


def _words_in(file: str) -> frozenset[str]:
    """Words of a list beside this module, in small letters. A line that starts with # is a comment."""
    lines = Path(__file__).with_name(file).read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


WORDS = _words_in("words.txt")
"""Words of refusals, the only ones that are shown of a service's text."""
NAME_WORDS = _words_in("member_names.txt")
"""Ordinary words in English and Portuguese, of which a shown name of a member may be made."""
_DOCUMENTED = frozenset(
    name for schema in openapi()["components"]["schemas"].values() for name in schema.get("properties", ())
).union(operation.path_parameter for operation in operations().values() if operation.path_parameter)
"""Names of members, and of what stands in paths, in the interface document."""
_NAME = re.compile(r"[@$_]?[A-Za-z][A-Za-z_-]{0,60}[0-9]?")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FOLDED = frozenset(map(folded, _DOCUMENTED))
_LETTERS = re.compile(r"[A-Za-z _-]*")
"""A documented name in any spelling has no other characters. Names with a number are many, and take time to fold."""
_DOCUMENTED_VALUES = frozenset({"DONE", *KEY_TYPES})
_WORD_IN_CAPITALS = re.compile(r"[A-Z]{2,20}")


def is_name(name: str) -> bool:
    """True for a name of a member that is no data: a documented one in any spelling, or one made of ordinary words."""
    if not name.isascii():
        return False
    if _LETTERS.fullmatch(name) and folded(name) in _FOLDED:
        return True
    if not _NAME.fullmatch(name):  # asked first: an answer may have tens of thousands of names
        return False
    words = words_of(name)
    longer = [word for word in words if len(word) > 1]
    return bool(longer) and _KNOWN.issuperset(longer) and len(words) - len(longer) < 2


def is_plain_value(text: str) -> bool:
    """True for a value of `status` or `type` that is shown: a documented one, or one word in capitals.

    A service may put the name of a person there; an interface has words such as `PENDING`.
    """
    return text.upper() in _DOCUMENTED_VALUES or bool(_WORD_IN_CAPITALS.fullmatch(text))


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `pixKeyType` has three."""
    return [word.lower() for word in _WORD.findall(name)]


_KNOWN = NAME_WORDS.union(*map(words_of, _DOCUMENTED))
