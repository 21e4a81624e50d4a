"""How many requests a run sends at most: the sum of what each part of the traffic says beside the code that sends it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

import pytest

from environments.door.budget import Spending, spending
from environments.door.event_log import JournalError
from environments.door.preflight import MOST_ACCOUNTS
from environments.profiles.profile import Profile
from reports.plan import UNDOCUMENTED, Plan
from spec.interface import READS, operations
from spec.requirements import ledger
from tests.harness.selection import requirements, uses
from tests.traffic import executions, registrations
from tests.traffic.classes import malformed
from tests.traffic.endpoints import most_comparisons
from tests.traffic.executions import SHOWN_BY_A_PAIR, most_executions
from tests.traffic.generation.phases import EXAMPLES, most_generated
from tests.traffic.generation.settings import settings_of
from tests.traffic.generation.world import executes_twice, most_in_sequences
from tests.traffic.reach import Reach, permits, reach_of
from tests.traffic.registrations import most_registrations
from tests.traffic.targeted_traffic import most_synthetic_keys, most_visits, valid_bodies

_FOR_THE_TOKEN = 2
"""Reads or synthetic codes that the door sends once more where the token seems to have expired."""


def planned(
    config: pytest.Config, profile: Profile, sent_before: Callable[[], Collection[str]], items: Sequence[pytest.Item]
) -> Plan:
    """What the selected tests would send. `sent_before` gives the codes that the journal keeps from being sent again;
    it is asked where a code would be sent."""
    settings = settings_of(config, profile, seed=0)
    reach = reach_of(requirements(items, "traffic"), profile)
    sequences = any(uses(item, "world") for item in items)
    in_sequences = reach_of(requirements(items, "traffic", "world") if sequences else (), profile)
    phases = _phases(items)
    spent, trouble = _spent(profile, reach, sent_before)
    registers = "registerPixKey" in reach.operations | in_sequences.operations
    return Plan(
        _targeted(profile, reach, spent),
        most_generated(profile, settings, phases, reach.surveyed) + most_in_sequences(profile, in_sequences),
        denied=_denied(items, profile),
        bodies=valid_bodies(profile, reach, spent),
        invalid=_invalid(profile, reach, phases),
        registers=registers or ("registerPixKey", EXAMPLES) in phases,
        generates=reach.surveys or bool(phases) or sequences,
        spending=spent,
        follows=executes_twice(profile, in_sequences),
        wrong_tokens=_wrong_tokens(profile, reach, spent),
        journal_trouble=trouble,
    )


def _targeted(profile: Profile, reach: Reach, spent: Spending | None) -> Counter[str]:
    """What the targeted tests send, and what the door sends by itself."""
    counts = most_visits(profile, reach, spent) + most_comparisons(profile, reach)
    parallel = profile.limits.parallel > 1
    counts += most_registrations(profile, to_delete="registerPixKey" not in reach.subjects, parallel=parallel)
    counts["executePix"] += most_executions(spent, profile)
    for operation in reach.surveyed:
        counts[operation] += len(list(malformed(operation, profile)))
    if "registerPixKey" in reach.surveyed and "fuzz" in profile.allow:
        counts["deletePixKey"] += most_synthetic_keys(profile)
    for operation in (*READS, "executePix"):
        counts[operation] += _FOR_THE_TOKEN
    sent = {name: count for name, count in counts.items() if name in reach.operations | {UNDOCUMENTED}}
    return _preflight(profile) + Counter(sent)


def _preflight(profile: Profile) -> Counter[str]:
    if not permits(profile, "listAccounts"):
        return Counter()
    return Counter({"listAccounts": 2 + _FOR_THE_TOKEN, "getBalance": len(profile.accounts[:MOST_ACCOUNTS])})


def _spent(profile: Profile, reach: Reach, sent_before: Callable[[], Collection[str]]) -> tuple[Spending | None, str]:
    """What is executed, None where nothing is to be; and why the journal keeps it from being sent."""
    if not reach.spends_codes:
        return None, ""
    try:
        return spending(profile, sent_before(), pair=reach.wants(SHOWN_BY_A_PAIR)), ""
    except JournalError as error:
        return spending(profile, pair=reach.wants(SHOWN_BY_A_PAIR)), str(error)


def _phases(items: Sequence[pytest.Item]) -> list[tuple[str, str]]:
    """The operation and the phase of each item of generated traffic."""
    found = [item.callspec.params for item in items if uses(item, "generation")]  # type: ignore[attr-defined]
    return [(params["operation"], params["phase"]) for params in found]


def _denied(items: Sequence[pytest.Item], profile: Profile) -> frozenset[str]:
    """The operations that the selection is about and the profile does not permit."""
    about = {ledger()[name].operation for name in requirements(items, "traffic", "world", "generation")}
    return frozenset(name for name in about if name and not permits(profile, name))


def _invalid(profile: Profile, reach: Reach, phases: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """The operations that write and get invalid requests."""
    asked = {name for name, phase in phases if phase != EXAMPLES} | reach.surveyed
    writing = [each.id for each in operations().values() if each.method != "GET" and permits(profile, each.id)]
    return tuple(name for name in writing if name in asked) if "fuzz" in profile.allow else ()


def _wrong_tokens(profile: Profile, reach: Reach, spent: Spending | None) -> tuple[str, ...]:
    """The operations that get wrong tokens."""
    executes = spent not in (None, Spending()) and reach.wants(*executions.SHOWN_BY_WRONG_TOKENS)
    registers = "registerPixKey" in reach.subjects and profile.accounts and profile.pix_keys
    asked = {"executePix": executes, "registerPixKey": registers and reach.wants(*registrations.SHOWN_BY_WRONG_TOKENS)}
    return tuple(name for name, wanted in asked.items() if wanted) if profile.limits.wrong_tokens else ()
