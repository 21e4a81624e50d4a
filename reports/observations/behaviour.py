"""What a run observed where the interface document does not show it: facts by requirement and situation.

Pure: facts in, plain data and words out. The same requests give the same behaviour in any order and any number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from reports.wording import listed, shortened
from spec.facts import ANSWER, Facts, merged, renamed, text_of
from spec.requirements import ledger

REQUIRED, NOT_REQUIRED = "required", "not required"
"""What is said of the token, and of a field of a body."""
_LONGEST = 400
Data = dict[str, Any]
"""Plain data, as it is in conformance.json and in a record."""
Situations = dict[str, Facts]
"""By what was sent, the facts of the answers: several at one place where the behaviour varies."""
Behaviour = dict[str, Situations]
"""By requirement, in the order of the ledger; situations are sorted."""


def said(text: str) -> Facts:
    """What is observed, in words of ours, or a word of the service that is no payload, such as `DONE`."""
    return frozenset({(ANSWER, text)})


def behaviour(seen: Iterable[tuple[str, str, Facts]]) -> Behaviour:
    """The one merge: what was seen for a requirement in a situation, in any order. Unknown requirements come last."""
    found: dict[str, dict[str, list[Facts]]] = defaultdict(lambda: defaultdict(list))
    for requirement_id, situation, facts in seen:
        found[requirement_id][situation].append(facts)
    return {
        requirement_id: {situation: merged(each) for situation, each in sorted(found[requirement_id].items())}
        for requirement_id in [*(id for id in ledger() if id in found), *sorted(found.keys() - ledger().keys())]
    }


def data_of_behaviour(behaviour: Behaviour) -> Data:
    """A behaviour as plain data: by requirement, situation and place, what is there."""
    return {
        requirement_id: {situation: _data_of(facts) for situation, facts in situations.items()}
        for requirement_id, situations in behaviour.items()
    }


def _data_of(facts: Facts) -> dict[str, list[str]]:
    data: dict[str, list[str]] = {}
    for place, what in sorted(facts):
        data.setdefault(place, []).append(what)
    return data


def behaviour_of(data: Mapping[str, Any]) -> Behaviour:
    """The behaviour that plain data stands for."""
    return behaviour(
        (requirement_id, situation, facts_of_data(places))
        for requirement_id, situations in data.items()
        for situation, places in situations.items()
    )


def facts_of_data(places: Mapping[str, Iterable[str]]) -> Facts:
    """The facts that plain data stands for."""
    return frozenset((place, what) for place, each in places.items() for what in each)


def redacted_behaviour(found: Behaviour, clean: Callable[[str], str]) -> Behaviour:
    """A behaviour with every text of it cleaned, and without names of members that may be data."""
    return behaviour(
        (requirement_id, clean(situation), renamed(facts, clean))
        for requirement_id, situations in found.items()
        for situation, facts in situations.items()
    )


def in_words(situations: Situations) -> str:
    """What was observed for a requirement, in one line; what was the same in several situations once."""
    alike: dict[str, list[str]] = {}
    for situation, facts in situations.items():
        alike.setdefault(facts_in_words(facts), []).append(situation)
    return "; ".join(f"{listed(names)}: {told}" if any(names) else told for told, names in alike.items())


def facts_in_words(facts: Facts) -> str:
    """What was seen in one situation. What is longer is cut."""
    return shortened(text_of(facts), _LONGEST)
