"""How many requests a run sends at most, counted from what the arrangements send; a self-test compares the two."""

from __future__ import annotations

from environments.authorization import BAD_CREDENTIALS, OTHER_SCHEMES
from environments.profile import PixKey, Profile
from reports.plan import UNDOCUMENTED, Plan, prepared
from spec.exchange import Exchange, Request
from spec.interface import operations
from tests.conformance import malformed
from tests.conformance.executions import EVERY_CODE, FIRST_CODE
from tests.conformance.extras import alternatives
from tests.conformance.generation.phases import POSITIVE, Generation
from tests.conformance.generation.settings import GenerationSettings
from tests.conformance.operations import PREPARING, WITH_A_BODY
from tests.conformance.reach import READS
from tests.conformance.refused_kinds import CONTROLS, MOST_EXPLAINED
from tests.conformance.registrar import PATIENCE_S
from tests.conformance.registrations import FOR_EVERY_KIND, NUMERIC_KINDS, ROUNDS, UNDOCUMENTED_KINDS

_MALFORMED_REGISTRATIONS = len(malformed.TEXTS) + len(list(malformed.registrations("ac"))) + 2
_MALFORMED_ELSEWHERE = 4
_FORMS_OF_RANDOM = 3
_PREFLIGHT = 1
_MISTAKES = 2
"""What tells an endpoint that refuses a good request like an unknown path from no endpoint."""
_LOOKS_FOR_A_KEY = 2
"""How often the list is asked whether it shows a key: where it is refused, and where it cannot be deleted."""
_WITNESSES = 2
"""Harmless requests that are asked again where the token seems to have expired."""


def targeted(profile: Profile) -> Plan:
    """What the targeted tests send."""
    counts = dict.fromkeys(operations(), 0)
    for operation in READS:
        counts[operation] = 2 + _PREFLIGHT * max(1, len(profile.accounts)) + _WITNESSES + _malformed(2, profile)
    counts["listPixKeys"] += _LOOKS_FOR_A_KEY * len(profile.pix_keys)
    for operation in PREPARING:
        prepare = profile.transactions.prepare
        own = prepared(profile) if prepare and prepare.operation == operation else 0
        counts[operation] = max(1, own) + _malformed(_MALFORMED_ELSEWHERE, profile)
    counts["executePix"] = _executions(profile)
    counts["registerPixKey"] = _registrations(profile)
    counts["deletePixKey"] = _deletions(profile, counts["registerPixKey"])
    for operation in WITH_A_BODY:
        counts[operation] += _MISTAKES
    allowed = {name: count for name, count in counts.items() if operations()[name].permission in profile.allow}
    siblings = len(allowed) + _MISTAKES * sum(name in allowed for name in WITH_A_BODY)
    return Plan({**allowed, UNDOCUMENTED: siblings})


def _malformed(count: int, profile: Profile) -> int:
    return count if "fuzz" in profile.allow else 0


def _executions(profile: Profile) -> int:
    codes = min(len(profile.transactions.codes) + prepared(profile), profile.limits.executions)
    refusals = len(FIRST_CODE) + (len(EVERY_CODE) + 1) * (codes - 1) if codes else 0
    invented = 2 + len(OTHER_SCHEMES) + len(BAD_CREDENTIALS) + _WITNESSES
    return invented + refusals + codes + _malformed(len(malformed.ARGUMENTS), profile)


def _registrations(profile: Profile) -> int:
    mistakes = _malformed(_MALFORMED_REGISTRATIONS + 3, profile)
    if not profile.accounts or not profile.pix_keys:
        return mistakes
    keys, deletes = profile.pix_keys, _deletes(profile)
    random = sum(key.type == "RANDOM" for key in keys)
    own = len(keys) - random
    refused = len(UNDOCUMENTED_KINDS) + random + len(FOR_EVERY_KIND) * len(keys) + len(BAD_CREDENTIALS)
    refused += (len(OTHER_SCHEMES) + len(FOR_EVERY_KIND) + 1 + len(NUMERIC_KINDS)) * deletes
    good = own * (3 + 2 * (ROUNDS - 1) * deletes) + _FORMS_OF_RANDOM * random
    explained = MOST_EXPLAINED * (_alternatives(keys[0], profile.accounts[0]) + 1)
    explained += (3 * MOST_EXPLAINED + len(CONTROLS) + 1 + len(PATIENCE_S) + 1) * len(keys)
    return refused + good + explained + mistakes


def _deletes(profile: Profile) -> bool:
    return "delete-keys" in profile.allow and "deletePixKey" in profile.requests


def _deletions(profile: Profile, registrations: int) -> int:
    """One for each registration, those that free a key, and those that a slow service makes us wait for."""
    freeing = len(profile.pix_keys) * ROUNDS + len(PATIENCE_S)
    return 1 + (registrations + freeing) * _deletes(profile) + _malformed(_MALFORMED_ELSEWHERE, profile)


def _alternatives(key: PixKey, account: str) -> int:
    """How many registrations are tried for a kind that is refused with a text that names fields."""
    refusal = Exchange(0, "registerPixKey", Request("POST", "", ()), failure=None)
    tried = list(alternatives(key, account, refusal))
    return len(tried) + sum(each.unless is not None for each in tried) + 3 + 3


def generated(profile: Profile, settings: GenerationSettings) -> dict[str, int]:
    """What the property tests send: the classes of mistakes, and examples that are drawn, kept and made small."""
    if "fuzz" not in profile.allow:
        return {}
    generation = Generation(None, profile, None, settings)  # type: ignore[arg-type]  # counts, and sends nothing
    allowed = [name for name, operation in operations().items() if operation.permission in profile.allow]
    counts = {name: sum(1 for _ in generation.cases_of(name)) + 2 * settings.drawn for name in allowed}
    from tests.conformance.generation.search import SHRINKING_SENDS

    counts = {name: count + SHRINKING_SENDS for name, count in counts.items()}
    for name in POSITIVE:
        if name in counts:
            counts[name] += settings.examples
    if "deletePixKey" in counts and "registerPixKey" in counts:
        counts["deletePixKey"] += counts["registerPixKey"]
    return counts
