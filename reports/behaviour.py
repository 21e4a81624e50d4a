"""Behaviour that the interface document does not show: facts by requirement and situation, and drift.

Pure: facts in, plain data and words out. The same requests give the same behaviour in any order and any number. For a
situation that two behaviours both know, they drift at a place where they have nothing in common: what varies in one of
them is no drift where the other is within it, and what only one of them knows was not exercised in the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reports.wording import capped, grouped, listed, shortened
from spec.facts import Facts, contradictions, merged, renamed, text_of
from spec.facts import in_words as types_in_words
from spec.message import Text, say_many
from spec.requirements import requirements

REQUIRED, NOT_REQUIRED = "required", "not required"
"""Words for the token, and for a field of a body."""
_LONGEST, _LONGEST_DRIFT, _MOST_LINES = 400, 300, 10
"""Characters of what was observed in a situation, and at one place that drifts; places that a terminal lists."""
PlainData = dict[str, Any]
"""Plain data, as it is in conformance.json and in a record."""
Situations = dict[str, Facts]
"""By what was sent, the facts of the answers: several at one place where the behaviour varies."""
Behaviour = dict[str, Situations]
"""By requirement, in the order of the requirements; situations are sorted."""
Drift = dict[str, str]
"""One place that drifts: `id`, `situation`, `place` (`spec/facts.py`), and what `was` and `is` there."""


def behaviour(seen: Iterable[tuple[str, str, Facts]]) -> Behaviour:
    """The one merge: what was seen for a requirement in a situation, in any order."""
    found: dict[str, dict[str, list[Facts]]] = defaultdict(lambda: defaultdict(list))
    for requirement_id, situation, facts in seen:
        found[requirement_id][situation].append(facts)
    return {
        id: {situation: merged(each) for situation, each in sorted(found[id].items())}
        for id in requirements()
        if id in found
    }


def data_of_behaviour(behaviour: Behaviour) -> PlainData:
    """A behaviour as plain data: by requirement, situation and place, what is there."""
    return {
        requirement_id: {situation: _data_of(facts) for situation, facts in situations.items()}
        for requirement_id, situations in behaviour.items()
    }


def _data_of(facts: Facts) -> dict[str, list[str]]:
    by_place = grouped(sorted(facts), lambda fact: fact[0])
    return {place: [what for _, what in each] for place, each in by_place.items()}


def behaviour_of(data: PlainData, clean: Callable[[str], str]) -> Behaviour:
    """The behaviour that plain data stands for, with every text cleaned, and without names that may be data."""
    return behaviour(
        (requirement_id, clean(situation), renamed(facts_of_data(places), clean))
        for requirement_id, situations in data.items()
        for situation, places in situations.items()
    )


def facts_of_data(places: Mapping[str, Iterable[str]]) -> Facts:
    """The facts that plain data stands for."""
    return frozenset((place, what) for place, each in places.items() for what in each)


def in_words(situations: Situations) -> str:
    """The observations of a requirement in one line; those that several situations have in common once."""
    alike = grouped(situations, lambda situation: facts_in_words(situations[situation]))
    return "; ".join(f"{listed(names)}: {told}" if any(names) else told for told, names in alike.items())


def facts_in_words(facts: Facts) -> str:
    """The facts of one situation, cut where they are too long."""
    return shortened(text_of(facts), _LONGEST)


def drifts(was: Behaviour, now: Behaviour) -> list[Drift]:
    """Every place that drifts, in the order of the requirements."""
    return [
        {
            "id": requirement_id,
            "situation": situation,
            "place": place,
            "was": shortened(types_in_words(before), _LONGEST_DRIFT),
            "is": shortened(types_in_words(after), _LONGEST_DRIFT),
        }
        for requirement_id, situations in now.items()
        for situation in situations
        if situation in was.get(requirement_id, {})
        for place, before, after in contradictions(was[requirement_id][situation], situations[situation])
    ]


def drift_in_words(document: Mapping[str, Any]) -> Text:
    """Number of places that drift in the run of this conformance.json; empty where none does."""
    if not document["drift"]:
        return ""
    return say_many(
        "drift since the record of {day}: {n} place",
        "drift since the record of {day}: {n} places",
        n=len(document["drift"]),
        day=document["record"]["accepted"],
    )


def drift_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Each place, was and is, and how many more there are."""
    lines = [
        f"{', '.join(filter(None, (one['id'], one['situation'], one['place'])))}: {one['was']} → {one['is']}"
        for one in document["drift"]
    ]
    return map(str, capped(lines, _MOST_LINES))
