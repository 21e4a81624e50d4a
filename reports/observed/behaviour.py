"""Behaviour that the interface document does not show: facts by requirement and situation, and drift.

Pure: facts in, plain data and words out. The same requests give the same behaviour in any order and any number. For a
situation that two behaviours both know, they drift at a place where they have nothing in common: what varies in one of
them is no drift where the other is within it, and what only one of them knows was not exercised in the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from reports.result.published import BehaviourData, Day, Published, RequirementId
from reports.sentences.wording import grouped, listed, shortened
from spec.facts import Facts, contradictions, merged, renamed, text_of
from spec.facts import in_words as types_in_words
from spec.requirements import requirements

REQUIRED, NOT_REQUIRED = "required", "not required"
"""Words for the token, and for a field of a body."""
_LONGEST, _LONGEST_DRIFT = 400, 300
"""Characters of what was observed in a situation, and at one place that drifts."""
Situations = dict[str, Facts]
"""By what was sent, the facts of the answers: several at one place where the behaviour varies."""
Behaviour = dict[str, Situations]
"""By requirement, in the order of the requirements; situations are sorted."""


class Drift(Published):
    """A place in an answer where what was observed contradicts the record."""

    id: RequirementId
    situation: str
    place: str
    """As in facts."""
    was: str
    now: str = Field(serialization_alias="is")


class Record(Published):
    """What was observed of an environment and accepted: <name>.observed.yaml."""

    model_config = ConfigDict(strict=True)  # anybody may have written the file

    format: Literal[2]
    environment: Annotated[str, Field(max_length=200)]
    accepted: Day
    suite_version: Annotated[str, Field(pattern="^[A-Za-z0-9.+-]{1,50}$")]
    observations: BehaviourData


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


def data_of_behaviour(behaviour: Behaviour) -> BehaviourData:
    """A behaviour as plain data: by requirement, situation and place, what is there."""
    return {
        requirement_id: {situation: _data_of(facts) for situation, facts in situations.items()}
        for requirement_id, situations in behaviour.items()
    }


def _data_of(facts: Facts) -> dict[str, list[str]]:
    by_place = grouped(sorted(facts), lambda fact: fact[0])
    return {place: [what for _, what in each] for place, each in by_place.items()}


def behaviour_of(data: BehaviourData, clean: Callable[[str], str]) -> Behaviour:
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
        Drift(
            id=requirement_id,
            situation=situation,
            place=place,
            was=shortened(types_in_words(before), _LONGEST_DRIFT),
            now=shortened(types_in_words(after), _LONGEST_DRIFT),
        )
        for requirement_id, situations in now.items()
        for situation in situations
        if situation in was.get(requirement_id, {})
        for place, before, after in contradictions(was[requirement_id][situation], situations[situation])
    ]
