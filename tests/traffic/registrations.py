"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from uuid import uuid4

from environments.door.authorization import OTHER_SCHEMES
from environments.door.client import Client
from environments.door.door import UnreachableError
from environments.door.touched_keys import State
from environments.profiles.profile import PixKey, Profile
from spec.answers import registered
from spec.interface import MARK
from spec.rules import inconclusive
from tests.traffic.effects import look_for_effect, settle_suspicions
from tests.traffic.extras import registration
from tests.traffic.refused_credentials import OfKeys
from tests.traffic.refused_kinds import explained
from tests.traffic.registrar import Registrar, Registrations, is_refused_outright

UNDOCUMENTED_KINDS = ("EVP", "IBAN", "PASSPORT", "CELLPHONE", f"{MARK}kind")
OTHER_NAME_OF_RANDOM = "EVP"
NOTHING_TO_DELETE = (
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
NUMERIC_KINDS = ("1", "3")
ROUNDS = 2
_STAYS = (State.THERE_BEFORE, State.LISTED)
"""A key that is still there is no new one."""


def register_all(client: Client, profile: Profile, token: str, *, to_delete: bool = False) -> Registrations:
    """Send everything that one run sends to the key registration; refusals first. With `to_delete` only what a deletion
    needs: valid registrations, and why they are refused."""
    if not profile.accounts or not profile.pix_keys:
        what = "accounts" if not profile.accounts else "pix_keys"
        return Registrations("", missing=f"nothing to register: supply {what}")
    registrar = Registrar(client, profile)
    first = {key.type: key for key in reversed(profile.pix_keys)}
    registrar.found.kinds = {kind: inconclusive("not reached") for kind in first}
    with suppress(UnreachableError):  # what was learned until then is judged
        if to_delete:
            _register_to_delete(registrar, profile.pix_keys)
        else:
            _register(registrar, profile.pix_keys, token)
        for kind, key in first.items():
            registrar.found.kinds[kind] = explained(registrar, key)
        registrar.clean_up()
    return registrar.found


def _register(registrar: Registrar, keys: tuple[PixKey, ...], token: str) -> None:
    send_undocumented(registrar, keys)
    free, rounds = [key for key in keys if key.type != "RANDOM"], ROUNDS if registrar.deletes else 1
    wrong = OfKeys(token, keys, registrations=rounds * len(free))
    _without_token(registrar, keys, wrong)
    registrar.look()
    for turn in range(rounds):
        free = [key for key in free if _good(registrar, key, wrong, repeat=turn == 0)]
    _probe(registrar, [(keys[0], name) for name in wrong.rest()])
    _other_spellings(registrar, keys)
    for key in keys:  # last, as a key that the service made may be beyond deletion
        if key.type == "RANDOM":
            _random(registrar, key)
    settle_suspicions(registrar)


def _register_to_delete(registrar: Registrar, keys: tuple[PixKey, ...]) -> None:
    free = [key for key in keys if key.type != "RANDOM"]
    for _ in range(ROUNDS if registrar.deletes else 1):
        free = [key for key in free if _registered_and_freed(registrar, key)]
    for key in keys:
        if key.type == "RANDOM":
            _random(registrar, key)


# -- what must be refused ---------------------------------------------------------------------------------------


def send_undocumented(registrar: Registrar, keys: Iterable[PixKey]) -> None:
    """Registrations of types that are not documented."""
    own = [key for key in keys if key.type != "RANDOM"] or list(keys)
    for index, kind in enumerate(UNDOCUMENTED_KINDS):
        key = own[index % len(own)]
        exchange = registrar.register(replace(key, type=kind), valid=False)
        found = registrar.found.other_names if kind == OTHER_NAME_OF_RANDOM else registrar.found.undocumented
        found.append(exchange)
        registrar.settle(exchange, key)
    for key in keys:
        if key.type == "RANDOM":
            exchange = registrar.register(replace(key, type=OTHER_NAME_OF_RANDOM), valid=False)
            registrar.found.other_names.append(exchange)
            registrar.settle(exchange, key)


def _without_token(registrar: Registrar, keys: tuple[PixKey, ...], wrong: OfKeys) -> None:
    _probe(registrar, wrong.first)
    own = next((key for key in keys if key.type != "RANDOM"), keys[0])
    if registrar.deletes:
        for scheme in OTHER_SCHEMES:
            exchange = registrar.register(own, credential=scheme, valid=False)
            registrar.found.other_schemes.append(exchange)
            registrar.settle(exchange, own)


def _probe(registrar: Registrar, probes: Iterable[tuple[PixKey, str]]) -> None:
    for key, name in probes:
        exchange = registrar.register(key, credential=name, valid=False)
        registrar.found.refusals.append(exchange)
        registrar.settle(exchange, key)


def _other_spellings(registrar: Registrar, keys: tuple[PixKey, ...]) -> None:
    """Kinds in lower case and as digits: the document does not say that they are refused, nor accepted."""
    own = [key for key in keys if key.type != "RANDOM"]
    if not own or not registrar.deletes:
        return
    lower = registrar.register(replace(own[0], type=own[0].type.lower()), valid=False)
    registrar.found.lower_case.append(lower)
    registrar.settle(lower, own[0])
    for kind in NUMERIC_KINDS:
        numeric = registrar.register(replace(own[0], type=kind), valid=False)
        registrar.found.numeric.append(numeric)
        registrar.settle(numeric, own[0])


# -- what must be accepted --------------------------------------------------------------------------------------


def _good(registrar: Registrar, key: PixKey, wrong: OfKeys, *, repeat: bool) -> bool:
    """Register the key as a new one, between wrong tokens, and delete it. Whether it may be registered anew.

    A key that is there already is the operator's, who receives payments with it: it is left alone.
    """
    before = registrar.listing
    _probe(registrar, [(key, name) for name in wrong.take()])
    exchange = registrar.register(key)
    registrar.found.fresh.append(exchange)
    if registered(exchange) and (other := wrong.other_than(key, deletes=registrar.deletes)):
        _probe(registrar, [(other, name) for name in wrong.take()])
    if registered(exchange) and repeat:
        registrar.look()
        registrar.found.repeated.append(registrar.register(key))
    elif repeat:
        look_for_effect(registrar, key, exchange, before)
    return registrar.settle(exchange, key) and registrar.keys.state(key.key) not in _STAYS


def _registered_and_freed(registrar: Registrar, key: PixKey) -> bool:
    exchange = registrar.register(key)
    registrar.found.fresh.append(exchange)
    return registrar.settle(exchange, key) and not registrar.keys.was_there_before(key.key)


def _random(registrar: Registrar, key: PixKey) -> None:
    """How a RANDOM key is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    body = registration(key, registrar.account)
    without = {name: value for name, value in body.items() if name != "pixKey"}
    for form in (body, {**body, "pixKey": str(uuid4())}, without):
        before = registrar.look()
        exchange = registrar.register(key, json=form)
        registrar.found.fresh.append(exchange)
        made = replace(key, key=form.get("pixKey", ""))
        registrar.settle(exchange, made)
        look_for_effect(registrar, made, exchange, before)
        if not is_refused_outright(exchange):
            return
