"""How many requests a run sends at most, counted from what the arrangements send; a self-test compares the two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import pytest

from environments.door.authorization import OTHER_SCHEMES, WITHOUT_A_TOKEN
from environments.door.journal import JournalError
from environments.door.preflight import MOST_ACCOUNTS
from environments.profiles.profile import PixKey, Profile
from reports.spending import Spending, spending
from spec.exchange import Exchange, Request
from spec.interface import operations
from spec.requirements import ledger
from tests.harness.planner import UNDOCUMENTED, Plan
from tests.harness.selection import requirements, uses, uses_any
from tests.traffic.endpoints import WITH_A_BODY
from tests.traffic.extras import alternatives
from tests.traffic.generation.counting import executes_twice, generated, sequences
from tests.traffic.generation.phases import EXAMPLES
from tests.traffic.generation.positive import REGISTERED
from tests.traffic.generation.settings import GenerationSettings
from tests.traffic.malformed import malformed
from tests.traffic.operations import PREPARING
from tests.traffic.reach import READS, Reach, permits, reach_of
from tests.traffic.refused_credentials import OF_AN_OPERATION
from tests.traffic.refused_kinds import CONTROLS, MOST_EXPLAINED
from tests.traffic.registrar import PATIENCE_S
from tests.traffic.registrations import NUMERIC_KINDS, ROUNDS, UNDOCUMENTED_KINDS

_FORMS_OF_RANDOM = 3
_MISTAKES = 2
"""What tells an endpoint that refuses a good request like an unknown path from no endpoint."""
_LOOKS_FOR_A_KEY = 4
"""How often the list is asked about a key: after it is registered, or twice after it is refused; where its type is
refused, and where it cannot be deleted."""
_LOOKS_FOR_A_MADE_KEY = 4
"""Before a registration of a key that the service makes, twice after it, and after its deletion."""
_LOOKS_BESIDE = 6
"""Before the first registration and the first valid one, and when all is cleaned up."""
_WITNESSES = 2
"""Harmless requests that are asked again where the token seems to have expired."""
_BAD_CREDENTIALS = OF_AN_OPERATION + len(WITHOUT_A_TOKEN)


def planned(
    items: Sequence[pytest.Item],
    profile: Profile,
    settings: GenerationSettings,
    sent_before: Callable[[], Collection[str]] = frozenset,
) -> Plan:
    """What the selected tests would send. `sent_before` gives the codes that the journal keeps from being sent again;
    it is asked where a code would be sent."""
    reach = reach_of(requirements(items, "traffic"), profile)
    in_sequences = reach_of(requirements(items, "traffic", "world") if uses_any(items, "world") else (), profile)
    phases = _phases(items)
    spent, trouble = _spent(profile, reach, sent_before)
    return Plan(
        targeted(profile, reach, spent),
        Counter(generated(profile, settings, phases)) + Counter(sequences(profile, in_sequences)),
        bodies=_bodies(profile, reach, spent),
        denied=_denied(items, profile),
        mistakes=_mistakes(profile, reach, phases),
        registers="registerPixKey" in reach.operations | in_sequences.operations or (REGISTERED, EXAMPLES) in phases,
        generates=reach.surveys or bool(phases) or uses_any(items, "world"),
        spending=spent,
        follows=executes_twice(profile, in_sequences),
        wrong_tokens=_wrong_tokens(profile, reach, spent),
        journal_trouble=trouble,
    )


def _denied(items: Sequence[pytest.Item], profile: Profile) -> frozenset[str]:
    """The operations that the selection is about and the profile does not permit."""
    about = {ledger()[name].operation for name in requirements(items, "traffic", "world", "generation")}
    return frozenset(name for name in about if name and not permits(profile, name))


def _phases(items: Sequence[pytest.Item]) -> list[tuple[str, str]]:
    """The operation and the phase of each item of generated traffic."""
    found = [item.callspec.params for item in items if uses(item, "generation")]  # type: ignore[attr-defined]
    return [(params["operation"], params["phase"]) for params in found]


def _spent(profile: Profile, reach: Reach, sent_before: Callable[[], Collection[str]]) -> tuple[Spending | None, str]:
    """What is executed, None where nothing is to be; and why the journal keeps it from being sent."""
    if not reach.spends_codes:
        return None, ""
    try:
        return spending(profile, sent_before()), ""
    except (JournalError, OSError) as error:
        return spending(profile), str(error)


def _wrong_tokens(profile: Profile, reach: Reach, spent: Spending | None) -> int:
    executes = spent not in (None, Spending())
    registers = bool("registerPixKey" in reach.subjects and profile.accounts and profile.pix_keys)
    return OF_AN_OPERATION * (executes + registers)


def targeted(profile: Profile, reach: Reach, spent: Spending | None) -> Counter[str]:
    """What the targeted tests send, the preflight and the reads that are repeated for the token included."""
    counts = Counter(_preflight(profile))
    for operation in operations():
        if operation in reach.operations:
            counts[operation] += _sent_to(operation, profile, reach, spent)
    counts[UNDOCUMENTED] = len(reach.subjects) + _MISTAKES * len(reach.subjects & set(WITH_A_BODY))
    return counts


def _preflight(profile: Profile) -> Mapping[str, int]:
    if not permits(profile, "listAccounts"):
        return {}
    return {"listAccounts": 2 + _WITNESSES, "getBalance": len(profile.accounts[:MOST_ACCOUNTS])}


def _sent_to(operation: str, profile: Profile, reach: Reach, spent: Spending | None) -> int:
    mistakes = _MISTAKES if operation in reach.subjects & set(WITH_A_BODY) else 0
    if reach.surveys and operation in reach.subjects:
        mistakes += len(list(malformed(operation, profile)))
    if operation in READS:
        looks = operation == "listPixKeys" and "registerPixKey" in reach.operations
        return 2 + _WITNESSES + _looks(profile) * looks + mistakes
    if operation == "executePix":
        return _executions(spent) + mistakes
    if operation == "registerPixKey":
        return _registrations(profile, reach) + 3 * ("fuzz" in profile.allow) + mistakes
    if operation == "deletePixKey":
        return _deletions(profile, _registrations(profile, reach)) + mistakes
    return max(1, _bodies(profile, reach, spent).get(operation, 0)) + mistakes


def _bodies(profile: Profile, reach: Reach, spent: Spending | None) -> Mapping[str, int]:
    """How many valid bodies of the profile go to each operation that may move money by itself."""
    prepare = profile.transactions.prepare
    found = {}
    for operation in PREPARING:
        of_the_plan = prepare is not None and prepare.operation == operation
        prepares = spent.prepared if of_the_plan and spent else 0
        has_a_body = operation in profile.requests or (of_the_plan and permits(profile, "executePix"))
        if operation in reach.operations and (prepares or (has_a_body and operation in reach.subjects)):
            found[operation] = max(1, prepares)
    return found


def _mistakes(profile: Profile, reach: Reach, phases: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """The operations that write and get mistaken requests."""
    asked = {name for name, phase in phases if phase != EXAMPLES} | (reach.subjects if reach.surveys else set())
    writing = [each.id for each in operations().values() if each.method != "GET" and permits(profile, each.id)]
    return tuple(name for name in writing if name in asked) if "fuzz" in profile.allow else ()


def _executions(spent: Spending | None) -> int:
    codes = len(spent.codes) + spent.prepared if spent else 0
    refusals = _BAD_CREDENTIALS + codes - 1 if codes else 0
    invented = 2 + len(OTHER_SCHEMES) + _BAD_CREDENTIALS + _WITNESSES
    checks = codes  # whether wrong tokens have locked the caller out
    return invented + refusals + codes + checks


def _registrations(profile: Profile, reach: Reach) -> int:
    if not profile.accounts or not profile.pix_keys:
        return 0
    keys, deletes = profile.pix_keys, _deletes(profile)
    random = sum(key.type == "RANDOM" for key in keys)
    own = len(keys) - random
    refused = len(UNDOCUMENTED_KINDS) + random + len(keys) + _BAD_CREDENTIALS
    refused += (len(OTHER_SCHEMES) + 1 + len(NUMERIC_KINDS)) * deletes
    good = own * (3 + 2 * (ROUNDS - 1) * deletes) + _FORMS_OF_RANDOM * random
    explained = MOST_EXPLAINED * (_alternatives(keys[0], profile.accounts[0]) + 1)
    explained += (3 * MOST_EXPLAINED + len(CONTROLS) + 1 + len(PATIENCE_S) + 1) * len(keys)
    refused = refused if "registerPixKey" in reach.subjects else len(UNDOCUMENTED_KINDS) + 1
    return refused + good + explained


def _looks(profile: Profile) -> int:
    """How often the list of keys is read for what becomes of the keys."""
    if not profile.accounts or not profile.pix_keys:
        return 0
    made = _FORMS_OF_RANDOM * sum(key.type == "RANDOM" for key in profile.pix_keys)
    again = _LOOKS_FOR_A_MADE_KEY * len(profile.pix_keys)
    return _LOOKS_BESIDE + _LOOKS_FOR_A_KEY * len(profile.pix_keys) + _LOOKS_FOR_A_MADE_KEY * made + again


def _deletes(profile: Profile) -> bool:
    return "delete-keys" in profile.allow and "deletePixKey" in profile.requests


def _deletions(profile: Profile, registrations: int) -> int:
    """One for each registration, those that free a key, and those that a slow service makes us wait for."""
    freeing = len(profile.pix_keys) * ROUNDS + len(PATIENCE_S)
    return 1 + (registrations + freeing) * _deletes(profile)


def _alternatives(key: PixKey, account: str) -> int:
    """How many registrations are tried for a kind that is refused with a text that names fields."""
    refusal = Exchange(0, "registerPixKey", Request("POST", "", ()), failure=None)
    tried = list(alternatives(key, account, refusal))
    return len(tried) + sum(each.unless is not None for each in tried) + 3 + 3
