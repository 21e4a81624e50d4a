"""Behaviour that the interface document does not show: facts by requirement and situation, and drift between two runs.

A situation is what was sent, in words, such as `without a token`. A fact is a pair of a place in an answer and what was
there: a type, a status and media type, or a word. `spec/facts.py` makes facts of answers.

Pure: facts in, plain data and words out. The same requests give the same behaviour, whatever their order and number.

A behaviour drifts at a place if it has no fact in common with the record there, although both know the situation. It
does not drift if the service answers in several ways and one of them is in the record. It does not drift either if only
one of the two knows the situation, because the other run did not exercise it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from reports.result.published import BehaviourData, Day, Published, RequirementId
from reports.sentences.wording import grouped, listed, shortened
from spec.facts import Facts, contradictions, facts_as_text, merged_facts, redacted_facts, types_in_words
from spec.requirements import requirements

REQUIRED, NOT_REQUIRED = "required", "not required"
"""Facts about the token, and about a field of a body."""
_LONGEST_FACTS = 400
"""Characters of the facts of one situation in a line."""
_LONGEST_DRIFT = 300
"""Characters of the facts at one place that drifts."""
Situations = dict[str, Facts]
"""Facts of the answers, by what was sent. If the service answers in several ways, a place has several facts."""
Behaviour = dict[str, Situations]
"""Situations by requirement, in the order of the interface document. Situations are sorted."""


class Drift(Published):
    """A place at which the behaviour of this run contradicts the record."""

    id: RequirementId
    situation: str
    """Words for what was sent."""
    place: str
    """The place in an answer, as in facts."""
    was: str
    """Facts of the record."""
    now: str = Field(serialization_alias="is")
    """Facts of this run."""


class Record(Published):
    """Behaviour of an environment that somebody accepted: <name>.observed.yaml."""

    model_config = ConfigDict(strict=True)  # anybody may have written the file

    format: Literal[2]
    environment: Annotated[str, Field(max_length=200)]
    accepted: Day
    suite_version: Annotated[str, Field(pattern="^[A-Za-z0-9.+-]{1,50}$")]
    observations: BehaviourData


def behaviour(observations: Iterable[tuple[str, str, Facts]]) -> Behaviour:
    """The behaviour that observations show, in whatever order they come.

    An observation is a requirement id, a situation in words, and the facts of one answer.
    """
    facts_by_id: dict[str, dict[str, list[Facts]]] = defaultdict(lambda: defaultdict(list))
    for requirement_id, situation, facts in observations:
        facts_by_id[requirement_id][situation].append(facts)
    ids_in_order = [id for id in requirements() if id in facts_by_id]
    return {id: _situations(facts_by_id[id]) for id in ids_in_order}


def _situations(facts_of_answers: Mapping[str, list[Facts]]) -> Situations:
    """The merged facts of all answers, by situation."""
    return {situation: merged_facts(facts) for situation, facts in sorted(facts_of_answers.items())}


def data_of_behaviour(behaviour: Behaviour) -> BehaviourData:
    """A behaviour as plain data: texts by requirement, situation and place."""
    data = {}
    for requirement_id, situations in behaviour.items():
        data[requirement_id] = {situation: _texts_by_place(facts) for situation, facts in situations.items()}
    return data


def _texts_by_place(facts: Facts) -> dict[str, list[str]]:
    """Facts as plain data: for each place in an answer, the sorted texts of what was there."""
    by_place = grouped(sorted(facts), lambda fact: fact[0])  # a fact is a pair of a place and a text
    return {place: [text for _, text in facts_at_place] for place, facts_at_place in by_place.items()}


def behaviour_of_data(data: BehaviourData, clean: Callable[[str], str]) -> Behaviour:
    """The behaviour that plain data stands for, the opposite of `data_of_behaviour`.

    The data may come from a file that anybody wrote, so `clean` hides known values in every text. A member name that
    may be a value, such as a key, becomes `*`.
    """
    observations = []
    for requirement_id, situations in data.items():
        for situation, places in situations.items():
            facts = redacted_facts(facts_of_data(places), clean)
            observations.append((requirement_id, clean(situation), facts))
    return behaviour(observations)


def facts_of_data(places: Mapping[str, Iterable[str]]) -> Facts:
    """The facts of plain data: texts by place, as `_texts_by_place` makes them."""
    facts: set[tuple[str, str]] = set()
    for place, texts in places.items():
        facts.update((place, text) for text in texts)
    return frozenset(facts)


def behaviour_in_words(situations: Situations) -> str:
    """The behaviour of a requirement in one line. Situations with the same facts are named together."""
    situations_by_words = grouped(situations, lambda situation: facts_in_words(situations[situation]))
    parts = []
    for words, names in situations_by_words.items():
        has_named_situation = any(names)  # the situation of a requirement that has only one has no name
        parts.append(f"{listed(names)}: {words}" if has_named_situation else words)
    return "; ".join(parts)


def facts_in_words(facts: Facts) -> str:
    """The facts of one situation in words, cut at 400 characters."""
    return shortened(facts_as_text(facts), _LONGEST_FACTS)


def drifts(was: Behaviour, now: Behaviour) -> list[Drift]:
    """Every place of an answer at which the behaviour `now` contradicts the behaviour that `was` recorded.

    They are in the order of requirements. A situation that the record does not have cannot drift.
    """
    drifts_in_order = []
    for requirement_id, situations in now.items():
        recorded = was.get(requirement_id, {})
        for situation in situations:
            if situation not in recorded:
                continue
            for place, before, after in contradictions(recorded[situation], situations[situation]):
                drift = Drift(
                    id=requirement_id,
                    situation=situation,
                    place=place,
                    was=shortened(types_in_words(before), _LONGEST_DRIFT),
                    now=shortened(types_in_words(after), _LONGEST_DRIFT),
                )
                drifts_in_order.append(drift)
    return drifts_in_order
