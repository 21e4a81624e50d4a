"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from environments.door.authorization import VALID, forms
from environments.door.client import Client
from environments.door.wrong_tokens import OTHER_SCHEMES
from environments.profiles.gaps import NO_REGISTRATION, NOTHING_TO_REGISTER
from environments.profiles.profile import PixKey, Profile
from spec.answers import registered
from spec.exchange import Exchange
from spec.findings import inconclusive
from spec.message import say
from spec.rules import ROBUSTNESS
from tests.traffic.classes import incomplete
from tests.traffic.effects import decide_suspicions, deleted_and_kept, look_for_effect, look_for_lost
from tests.traffic.random_keys import register_random, try_another_account
from tests.traffic.reach import INVALID_BODIES, Wants
from tests.traffic.refused_credentials import OfKeys, to_try
from tests.traffic.refused_key_types import explain, was_tried
from tests.traffic.registered import Registrations
from tests.traffic.registrar import Registrar
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Together
from tests.traffic.unusual_registrations import (
    Attempt,
    Attempted,
    given,
    other_schemes,
    spellings,
    undocumented,
    without_token,
)

_REGISTER = "registerPixKey"
NOTHING_TO_DELETE = (
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
ROUNDS = 2
_ROBUST = tuple(f"registerPixKey.{what}" for what in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUST)
"""The requirements that registrations with a wrong token are for."""


NOTHING_WAS_SENT = Registrations("", missing=NO_REGISTRATION)


@scenario(shows=["registerPixKey.*", "deletePixKey.*"], needs="register-keys", alone=True, otherwise=NOTHING_WAS_SENT)
def register(traffic: Traffic) -> Registrations:
    """Register keys and delete them, with the requests that are to be refused."""
    return register_all(
        traffic.client,
        traffic.profile,
        to_delete=not traffic.is_about(_REGISTER),
        together=traffic.together,
        wants=traffic.reach.wants,
    )


@scenario(
    shows=[f"registerPixKey.{what}" for what in INVALID_BODIES],
    needs="fuzz",
    alone=True,
    otherwise=dict[str, Exchange](),
)
def register_incomplete(traffic: Traffic) -> dict[str, Exchange]:
    """Registrations of a synthetic key, each without one of the documented members, by that member."""
    cases = incomplete(traffic.profile, traffic.profile.accounts[0]) if traffic.profile.accounts else ()
    return {case.where: case.send(traffic.client) for case in cases}


def register_all(
    client: Client,
    profile: Profile,
    *,
    to_delete: bool = False,
    together: Together | None = None,
    wants: Wants = lambda *_: True,
) -> Registrations:
    """Send everything that one run sends to the key registration; refusals first. With `to_delete` only what a deletion
    needs: valid registrations, and why they are refused. `wants` says which requirements are selected."""
    if not profile.accounts or not profile.pix_keys:
        what = "accounts" if not profile.accounts else "pix_keys"
        return Registrations("", missing=NOTHING_TO_REGISTER.format(what))
    registrar = Registrar(client, profile, together)
    registrar.found.key_types = {key.type: inconclusive(say("not reached")) for key in profile.pix_keys}
    keys = registrar.choose_keys()
    if to_delete:
        _register_to_delete(registrar, keys)
    else:
        names = to_try(profile, client.door.secrets.token()) if wants(*SHOWN_BY_WRONG_TOKENS) else None
        schemes = forms(profile, among=OTHER_SCHEMES) if wants("registerPixKey.token.scheme", *_ROBUST) else []
        _register(registrar, keys, names, [form.name for form in schemes], own=profile.is_sandbox)
    for name, key in {key.type: key for key in reversed(keys)}.items():
        if was_tried(registrar, name):
            registrar.found.key_types[name] = explain(registrar, key)
    registrar.clean_up()
    registrar.found.kept = deleted_and_kept(registrar)
    return registrar.found


def _register(
    registrar: Registrar, keys: list[PixKey], names: list[str] | None, schemes: list[str], *, own: bool
) -> None:
    """`names` are the wrong tokens to try; None where not even a request without a token is sent."""
    free, rounds = registrar.with_synthetic(keys), ROUNDS if registrar.deletes else 1
    refused = registrar.to_be_refused(keys)
    wrong = OfKeys(names, refused, registrations=rounds * len(free), own=own)
    send(registrar, undocumented(refused))
    send(registrar, without_token(wrong.first))
    if registrar.deletes:
        send(registrar, other_schemes(wrong.of((given(refused) or refused)[0]), schemes))
    registrar.look()
    for turn in range(rounds):
        if turn and registrar.together.is_possible:
            free = _register_beside_each_other(registrar, free, wrong)
        else:
            free = [key for key in free if _register_new(registrar, key, wrong, repeat=turn == 0)]
    send(registrar, without_token((wrong.of(refused[0]), name) for name in wrong.rest()))
    if registrar.deletes:
        send(registrar, spellings(registrar.that_come_and_go() or refused))
    register_random(registrar, keys)  # last, as a key that the service made may be beyond deletion
    try_another_account(registrar)
    decide_suspicions(registrar)
    registrar.clean_up()


def _register_to_delete(registrar: Registrar, keys: list[PixKey]) -> None:
    free = [key for key in registrar.with_synthetic(keys) if registrar.comes_and_goes(key)]
    for _ in range(ROUNDS):
        free = [key for key in free if _register_and_free(registrar, key)]
    if registrar.deletes:
        register_random(registrar, keys)


# -- what must be refused, or may be ------------------------------------------------------------------------------


def send(registrar: Registrar, attempts: Iterable[Attempt]) -> None:
    """Send registrations, those of different keys beside each other where the run does that; the first ones of each key
    that have no valid token go with companions."""
    waiting, company = list(attempts), True
    while waiting:
        registrar.look_before_all()  # not from several threads, and not in the place of a request that meets another one
        first = {attempt.key: attempt for attempt in reversed(waiting)}
        now = list(reversed(first.values())) if registrar.together.is_possible else waiting[:1]
        waiting = [attempt for attempt in waiting if not any(attempt is sent for sent in now)]
        sends = [partial(_try, registrar, attempt) for attempt in now]
        if company and all(attempt.credential != VALID for attempt in now):
            _take(registrar, now, registrar.together.send_each_with_a_companion(_REGISTER, *sends))
        else:
            _take(registrar, now, registrar.together.send_all(sends))
        company = False


def _send_at_once(registrar: Registrar, attempts: list[Attempt]) -> None:
    """Send the first of these, right behind the request before."""
    _take(registrar, attempts[:1], [_try(registrar, attempt) for attempt in attempts[:1]])


def _take(registrar: Registrar, attempts: list[Attempt], sent: list[Exchange]) -> None:
    """Keep the answers; what is granted is deleted at once."""
    for attempt, exchange in zip(attempts, sent, strict=True):
        if not exchange.number:  # limits.wrong_tokens is spent
            continue
        registrar.found.tried[attempt.what].append(exchange)
        registrar.undo(exchange)


def _try(registrar: Registrar, attempt: Attempt) -> Exchange:
    key = replace(attempt.key, type=attempt.type)
    return registrar.register(key, credential=attempt.credential, valid=False)


# -- what must be accepted --------------------------------------------------------------------------------------


def _register_new(registrar: Registrar, key: PixKey, wrong: OfKeys, *, repeat: bool) -> bool:
    """Register the key as a new one, between wrong tokens, and delete it. True where it may be registered anew.

    A key that is there already is the operator's, who receives payments with it: it is left alone.
    """
    before = registrar.listing
    send(registrar, without_token((wrong.of(key), name) for name in wrong.take()))
    behind: list[Attempt] = []
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key)
    registrar.found.fresh += [exchange] if seems_free else []
    if registered(exchange) and (other := wrong.other_than(key, deletes=registrar.deletes)):
        behind = list(without_token((other, name) for name in wrong.take()))
        _send_at_once(registrar, behind)
    elif repeat and not registered(exchange):
        look_for_effect(registrar, key, exchange, before)
    send(registrar, behind[1:])
    if registered(exchange) and repeat:
        _look_where_it_stands(registrar, key)
        registrar.found.repeated.append(registrar.register(key, alone=True))
    return registrar.undo(exchange) and registrar.keys.seems_free(key.key)


def _look_where_it_stands(registrar: Registrar, key: PixKey) -> None:
    """Read the list after a key was accepted: where it stands, others do not that were refused."""
    listing = registrar.look()
    if listing is not None and (places := listing.places(key.key, key.type)):
        registrar.references[key.key] = places


def _register_beside_each_other(registrar: Registrar, keys: list[PixKey], wrong: OfKeys) -> list[PixKey]:
    """Register keys at the same time that were registered one after the other before, beside wrong tokens for the last
    one and a read of their list, and delete them. A key that the list does not show, although it showed all of them
    before, is lost."""
    together, last = (keys[:-1], keys[-1:]) if len(keys) > 1 else (keys, [])
    deleted = {key.key for key in keys if registrar.keys.seems_free(key.key)}
    attempts = list(without_token((wrong.of(key), name) for key in last for name in wrong.take() + wrong.take()))
    tries = [partial(_try, registrar, each) for each in attempts]
    answers, tried = _register_beside(registrar, together, tries)
    registrar.found.fresh += [answer for answer, key in zip(answers, together, strict=True) if key.key in deleted]
    registrar.found.tried[Attempted.WITHOUT_A_TOKEN] += (each for each in tried if each.number)
    found = list(zip(answers, together, strict=True))
    look_for_lost(registrar, [(exchange, key) for exchange, key in found if registered(exchange)])
    registrar.undo_all([*answers, *filter(registered, tried)])
    return [key for key in last if _register_new(registrar, key, wrong, repeat=False)]


def _register_beside(
    registrar: Registrar, keys: list[PixKey], tries: Sequence[Callable[[], Exchange]]
) -> tuple[list[Exchange], list[Exchange]]:
    """Register keys and send these tries, all at the same time. The first registration and a read of the list, where it
    is permitted, leave at the same moment. What that list shows says nothing of the keys."""
    sends: list[Callable[[], Exchange]] = [partial(registrar.register, key) for key in keys]
    reads: list[Callable[[], Exchange]] = []
    if keys and registrar.may_list:
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True)
        sends[0], *reads = registrar.together.meeting(sends[0], read)
    sent = registrar.together.send_all([*sends, *reads, *tries])
    registrar.found.read_beside += sent[len(keys) : len(keys) + len(reads)]
    return sent[: len(keys)], sent[len(keys) + len(reads) :]


def _register_and_free(registrar: Registrar, key: PixKey) -> bool:
    exchange = registrar.register(key)
    registrar.found.fresh.append(exchange)
    return registrar.undo(exchange)
