"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from environments.door.authorization import VALID, forms
from environments.door.client import Client
from environments.door.liveness import UnreachableError
from environments.door.wrong_tokens import OTHER_SCHEMES
from environments.profiles.gaps import NOTHING_TO_REGISTER, deletes_keys
from environments.profiles.profile import PixKey, Profile
from spec.answers import registered
from spec.exchange import Exchange
from spec.findings import inconclusive
from spec.message import say
from spec.rules import ROBUSTNESS
from tests.traffic.beside import MOST_COMPANIONS, TRIES, Beside
from tests.traffic.effects import decide_suspicions, deleted_and_kept, look_for_effect, look_for_lost
from tests.traffic.random_keys import most_random, register_random, try_another_account
from tests.traffic.reach import Wants
from tests.traffic.refused_credentials import OfKeys, to_try
from tests.traffic.refused_key_types import explain, most_explained, was_tried
from tests.traffic.registered import Registrations
from tests.traffic.registrar import RETRY_WAITS_S, Registrar
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
_LOOKS = 8
"""Number of list requests: before the first registration, before the first valid one, and at cleanup."""
_LOOKS_FOR_A_KEY = 8
"""After it is registered, or twice after it is refused; where its type is refused, and where it cannot be deleted; and
as for a key that the service makes."""
_LOOKS_FOR_A_MADE_KEY = 4
"""Before a registration of a key that the service makes, twice after it, and after its deletion."""


def register_all(
    client: Client,
    profile: Profile,
    token: str,
    *,
    to_delete: bool = False,
    beside: Beside | None = None,
    wants: Wants = lambda *_: True,
) -> Registrations:
    """Send everything that one run sends to the key registration; refusals first. With `to_delete` only what a deletion
    needs: valid registrations, and why they are refused. `wants` says which requirements are selected."""
    if not profile.accounts or not profile.pix_keys:
        what = "accounts" if not profile.accounts else "pix_keys"
        return Registrations("", missing=NOTHING_TO_REGISTER.format(what))
    registrar = Registrar(client, profile, beside)
    registrar.found.key_types = {key.type: inconclusive(say("not reached")) for key in profile.pix_keys}
    with suppress(UnreachableError):  # what was learned until then is judged
        keys = registrar.choose_keys()
        if to_delete:
            _register_to_delete(registrar, keys)
        else:
            names = to_try(profile, token) if wants(*SHOWN_BY_WRONG_TOKENS) else None
            schemes = forms(profile, among=OTHER_SCHEMES) if wants("registerPixKey.token.scheme", *_ROBUST) else []
            _register(registrar, keys, names, [form.name for form in schemes], own=profile.is_sandbox)
        with client.door.in_flight.alone():
            for name, key in {key.type: key for key in reversed(keys)}.items():
                if was_tried(registrar, name):
                    registrar.found.key_types[name] = explain(registrar, key)
        registrar.clean_up()
        registrar.found.kept = deleted_and_kept(registrar)
    return registrar.found


def most_registrations(profile: Profile, *, to_delete: bool, parallel: bool) -> Counter[str]:
    """The requests that `register_all` sends at most. With `parallel`, companions too."""
    keys, deletes = profile.pix_keys, deletes_keys(profile)
    if not profile.accounts or not keys:
        return Counter()
    own = len(given(keys)) + deletes
    made = most_random(len(keys) - len(given(keys)))
    probes = len(keys) + 1 + profile.limits.wrong_tokens
    sent = len(list(undocumented(keys[:1]))) if to_delete else _most_refused(keys, probes, deletes, parallel)
    sent += own * (3 + 2 * (ROUNDS - 1) * deletes) + made + most_explained(keys, profile.accounts[0])
    deletions = (sent + len(keys) * ROUNDS + len(RETRY_WAITS_S)) * deletes
    looks = _LOOKS + (own > 0 and deletes and parallel) + _LOOKS_FOR_A_KEY * len(keys) + _LOOKS_FOR_A_MADE_KEY * made
    return Counter({"registerPixKey": sent, "deletePixKey": deletions, "listPixKeys": looks})


def _most_refused(keys: Sequence[PixKey], probes: int, deletes: bool, parallel: bool) -> int:
    others = len(list(undocumented(keys))) + len(list(spellings(keys))) * deletes
    return others + probes + MOST_COMPANIONS * probes * parallel


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
        send(registrar, other_schemes(wrong.of((given(refused) or refused)[0]), schemes), tries=TRIES)
    registrar.look()
    for turn in range(rounds):
        if turn and registrar.beside.is_possible:
            free = _register_beside_each_other(registrar, free, wrong)
        else:
            free = [key for key in free if _register_new(registrar, key, wrong, repeat=turn == 0)]
    send(registrar, without_token((wrong.of(refused[0]), name) for name in wrong.rest()))
    if registrar.deletes:
        send(registrar, spellings(registrar.that_come_and_go() or refused))
    with registrar.client.door.in_flight.alone():  # nobody else changes the list meanwhile
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


def send(registrar: Registrar, attempts: Iterable[Attempt], *, tries: int = 1) -> None:
    """Send registrations, those of different keys beside each other where the run does that; those without the valid
    token with companions, up to `tries` times until they have met one."""
    waiting = list(attempts)
    while waiting:
        registrar.look_before_all()  # not from several threads, and not in the place of a request that meets another one
        first = {attempt.key: attempt for attempt in reversed(waiting)}
        now = list(reversed(first.values())) if registrar.beside.is_possible else waiting[:1]
        waiting = [attempt for attempt in waiting if not any(attempt is sent for sent in now)]
        sends = [partial(_try, registrar, attempt) for attempt in now]
        if any(attempt.credential == VALID for attempt in now):
            _take(registrar, now, registrar.beside.send_all(sends))
        else:
            _take(registrar, now, registrar.beside.send_each_with_companions(_REGISTER, *sends, tries=tries))


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
    with registrar.client.door.in_flight.alone():
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
        sends[0], *reads = registrar.beside.meeting(sends[0], read)
    sent = registrar.beside.send_all([*sends, *reads, *tries])
    registrar.found.read_beside += sent[len(keys) : len(keys) + len(reads)]
    return sent[: len(keys)], sent[len(keys) + len(reads) :]


def _register_and_free(registrar: Registrar, key: PixKey) -> bool:
    exchange = registrar.register(key)
    registrar.found.fresh.append(exchange)
    return registrar.undo(exchange)
