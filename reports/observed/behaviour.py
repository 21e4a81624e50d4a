"""Behaviour that the interface document does not show: facts by requirement and situation, and drift from the record.

| word | meaning |
|---|---|
| situation | what was sent, in words, such as `without a token` |
| fact | a place in an answer and what was there: ("/data/id", "string"), or ("", "404 text/plain") for all of it |
| place | a JSON pointer in which `*` is any item of an array; empty for the answer as a whole (`spec/facts.py`) |
| record | the facts of an earlier run that somebody accepted as right, in the file `<name>.observed.yaml` |
| drift | a change: at some place, the facts of this run and those of the record have nothing in common |

Two cases are no drift:

- the service answers in several ways, and one of them is in the record;
- the situation is only in the run or only in the record, so that there is nothing to compare.

Pure: facts in, plain data and words out. The same requests give the same behaviour, whatever their order and number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from reports.result.published import BehaviourData, Day, Published, RequirementId
from reports.sentences.wording import joined_with_and, shortened
from spec.facts import Facts, contradictions, facts_as_text, merged_facts, redacted_facts, types_in_words
from spec.requirements import requirements

REQUIRED, NOT_REQUIRED = "required", "not required"
"""The two facts that an operation can have about the token or about a field of a body, instead of JSON types."""
_LONGEST_FACTS = 400
"""Most characters of the facts of one situation, so that they stay one line of a report. A choice."""
_LONGEST_DRIFT = 300
"""Most characters of the facts at one place that drifts, so that one place is one line. A choice."""
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
    """The behaviour of a service: the facts of its answers by requirement and situation.

    An observation is a requirement id, a situation (what was sent, in words), and the facts of one answer (pairs of a
    place in the answer and a type). The order of the observations makes no difference.
    """
    facts_by_id: dict[str, dict[str, list[Facts]]] = {}
    for requirement_id, situation, facts in observations:
        facts_by_situation = facts_by_id.setdefault(requirement_id, {})
        facts_by_situation.setdefault(situation, []).append(facts)
    ids_in_order = [id for id in requirements() if id in facts_by_id]
    return {id: _with_merged_facts(facts_by_id[id]) for id in ids_in_order}


def _with_merged_facts(facts_of_answers: Mapping[str, list[Facts]]) -> Situations:
    """For each situation (what was sent, in words), the facts of all its answers merged into one set."""
    return {situation: merged_facts(facts) for situation, facts in sorted(facts_of_answers.items())}


def data_of_behaviour(behaviour: Behaviour) -> BehaviourData:
    """A behaviour as plain data that can be written to a file: texts by requirement, situation and place.

    A behaviour has the facts of the answers of a service. A situation is what was sent, in words, and a place is a JSON
    pointer into the answer.
    """
    data = {}
    for requirement_id, situations in behaviour.items():
        data[requirement_id] = {situation: _texts_by_place(facts) for situation, facts in situations.items()}
    return data


def _texts_by_place(facts: Facts) -> dict[str, list[str]]:
    """The facts as plain data that can be written to a file, such as {"/data/id": ["null", "string"]}.

    Facts are pairs of a place in an answer (a JSON pointer) and a text. The texts of each place are sorted.
    """
    texts_by_place: defaultdict[str, list[str]] = defaultdict(list)
    for place, text in sorted(facts):
        texts_by_place[place].append(text)
    return dict(texts_by_place)


def behaviour_of_data(data: BehaviourData, clean: Callable[[str], str]) -> Behaviour:
    """The behaviour that was written as plain data: facts of answers, by requirement and by situation (what was sent).

    It is the opposite of `data_of_behaviour`. Anybody may have written the file that the data come from. So `clean`
    redacts secrets in every text, and a member name that may be data, such as a key, is replaced by `*`.
    """
    observations = []
    for requirement_id, situations in data.items():
        for situation, places in situations.items():
            facts = redacted_facts(facts_of_data(places), clean)
            observations.append((requirement_id, clean(situation), facts))
    return behaviour(observations)


def facts_of_data(places: Mapping[str, Iterable[str]]) -> Facts:
    """The facts of plain data such as {"/data/id": ["null", "string"]}, which a file has.

    Facts are pairs of a place in an answer (a JSON pointer) and a text, here ("/data/id", "null") and ("/data/id",
    "string").
    """
    facts: set[tuple[str, str]] = set()
    for place, texts in places.items():
        facts.update((place, text) for text in texts)
    return frozenset(facts)


def behaviour_in_words(situations: Situations) -> str:
    """The behaviour of one requirement in one line: "without a token, with a wrong token: 401; as usual: 200".

    `situations` has the facts by situation (what was sent, in words). Situations with equal facts are named together.
    """
    situations_by_words: defaultdict[str, list[str]] = defaultdict(list)
    for situation, facts in situations.items():
        situations_by_words[facts_in_words(facts)].append(situation)
    parts = []
    for words, names in situations_by_words.items():
        has_named_situation = any(names)  # False if the requirement has only one situation: its name is empty
        parts.append(f"{joined_with_and(names)}: {words}" if has_named_situation else words)
    return "; ".join(parts)


def facts_in_words(facts: Facts) -> str:
    """The facts of the answers to one kind of request, in words of at most 400 characters: "404 text/plain"."""
    return shortened(facts_as_text(facts), _LONGEST_FACTS)


def drifts(accepted: Behaviour, observed: Behaviour) -> list[Drift]:
    """What has changed in the behaviour of a service: each place in an answer at which it contradicts the record.

    `accepted` is the behaviour in the record, which somebody accepted earlier, and `observed` that of this run. Both
    have facts of the answers, by requirement and by situation (what was sent, in words). The drifts are in the order of
    the requirements.
    """
    drifts_in_order = []
    for requirement_id, situations in observed.items():
        recorded = accepted.get(requirement_id, {})
        for situation in situations:
            if situation not in recorded:  # there is nothing to compare
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
