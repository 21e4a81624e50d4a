"""How many requests the generated traffic sends at most."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from environments.profiles.profile import Profile
from tests.traffic.generation.phases import COVERAGE, EXAMPLES, Generation
from tests.traffic.generation.settings import MOST_SEQUENCES, STEPS, GenerationSettings
from tests.traffic.reach import PREREQUISITES, Reach, may_execute_twice, permits
from tests.traffic.registrar import PATIENCE_S

_BALANCES = 3
"""Readings around a transfer that is executed twice: before, between and after."""


def generated(profile: Profile, settings: GenerationSettings, phases: Collection[tuple[str, str]]) -> Mapping[str, int]:
    """What these phases send: the classes of mistakes, and examples that are drawn, kept and made small."""
    counts: dict[str, int] = {}
    if "fuzz" not in profile.allow:
        return counts
    for operation, phase in phases:
        if permits(profile, operation):
            counts[operation] = counts.get(operation, 0) + _most(operation, phase, profile, settings)
    for cleaning in PREREQUISITES["registerPixKey"] if "registerPixKey" in counts else ():
        if permits(profile, cleaning):
            counts[cleaning] = counts.get(cleaning, 0) + counts["registerPixKey"]
    return counts


def _most(operation: str, phase: str, profile: Profile, settings: GenerationSettings) -> int:
    if phase == EXAMPLES:
        return settings.examples
    if phase == COVERAGE:
        generation = Generation(None, profile, None, settings)  # type: ignore[arg-type]  # counts, and sends nothing
        return sum(1 for _ in generation.cases_of(operation))
    from tests.traffic.generation.search import SHRINKING_SENDS

    return 2 * settings.drawn + SHRINKING_SENDS


def sequences(profile: Profile, reach: Reach) -> Mapping[str, int]:
    """What the state machine sends to the operations that it reaches."""
    if "fuzz" not in profile.allow or not profile.accounts:
        return {}
    steps, keys = MOST_SEQUENCES * STEPS, len(profile.pix_keys)
    tidied = MOST_SEQUENCES + 1
    twice = executes_twice(profile, reach)
    counts = {
        "registerPixKey": steps + 1,
        "deletePixKey": steps + tidied * keys + len(PATIENCE_S),
        "listPixKeys": steps + 2 * tidied,
        "getBalance": steps + _BALANCES * len(profile.accounts[:3]) * twice,
        "executePix": 2 * twice,
    }
    if twice and profile.transactions.prepare:
        counts[profile.transactions.prepare.operation] = 1
    return {operation: count for operation, count in counts.items() if operation in reach.operations}


def executes_twice(profile: Profile, reach: Reach) -> bool:
    """Whether the state machine executes a transfer that it prepares."""
    return "fuzz" in profile.allow and bool(profile.transactions.prepare) and may_execute_twice(reach)
