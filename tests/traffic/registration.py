"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from uuid import uuid4

from environments.door.client import Client
from environments.door.wrong_tokens import NO_HEADER, OTHER_SCHEMES, forms
from environments.profiles.loading import NO_REGISTRATION, NOTHING_TO_REGISTER
from environments.profiles.model import PixKey, Profile
from spec.answers import registered
from spec.exchange import VALID, Exchange
from spec.findings import inconclusive
from spec.interface import MARK
from spec.message import say
from spec.rules import ROBUSTNESS
from tests.traffic.effects import decide_suspicions, deleted_and_kept, look_for_effect, look_for_lost
from tests.traffic.reach import Wants
from tests.traffic.refused_credentials import of_keys, to_try
from tests.traffic.refused_key_types import explain_refusals
from tests.traffic.registrar import (
    UNKNOWN_KEY,
    Attempted,
    Registrar,
    Registrations,
    given,
    is_refused_outright,
    registration,
)
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.together import Together

_REGISTER = "registerPixKey"
NOTHING_TO_DELETE = (
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
UNDOCUMENTED_TYPES = ("IBAN", "PASSPORT", "CELLPHONE", f"{MARK}type")
OTHER_NAME_OF_RANDOM = "EVP"
"""The Central Bank's own name for it."""
NUMERIC_TYPES = ("1", "3")
_ROBUST = tuple(f"registerPixKey.{what}" for what in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUST)
"""The requirements that registrations with a wrong token are for."""
_BEHIND = 2
"""Wrong tokens that go right behind each registration."""


@scenario(
    shows=["registerPixKey.*", "deletePixKey.*"],
    needs="register-keys",
    alone=True,
    otherwise=Registrations(missing=NO_REGISTRATION),
)
def register(traffic: Traffic) -> Registrations:
    """Register keys and delete them, with the requests that are to be refused."""
    to_delete = not traffic.is_about(_REGISTER)
    return register_all(
        traffic.client, traffic.profile, to_delete=to_delete, together=traffic.together, wants=traffic.reach.wants
    )


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
        return Registrations(missing=NOTHING_TO_REGISTER.format(what))
    registrar = Registrar(client, profile, together)
    registrar.found.key_types = {key.type: inconclusive(say("not reached")) for key in profile.pix_keys}
    keys = registrar.choose_keys()
    _register(registrar, keys, wants, to_delete=to_delete)
    explain_refusals(registrar, keys)
    registrar.clean_up()
    registrar.found.kept = deleted_and_kept(registrar)
    return registrar.found


def _register(registrar: Registrar, keys: list[PixKey], wants: Wants, *, to_delete: bool) -> None:
    """Register each key twice: one after the other, and beside each other."""
    wrong: Iterator[str] = iter(())
    if not to_delete:
        _send_undocumented(registrar, keys)
    if wants(*SHOWN_BY_WRONG_TOKENS):
        wrong = iter(of_keys(to_try(registrar.profile, registrar.client.door.secrets.token())))
        own = keys if registrar.profile.is_sandbox else []
        for key in own or [registrar.key_of_nobody()]:
            _send(registrar, Attempted.WITHOUT_A_TOKEN, (key, NO_HEADER), company=True)
    if registrar.deletes and wants("registerPixKey.token.scheme", *_ROBUST):
        schemes = forms(registrar.profile, among=OTHER_SCHEMES)
        _send(registrar, Attempted.OTHER_SCHEME, *_of_nobody(registrar, (form.name for form in schemes)), company=True)
    registrar.look()
    new = [*given(keys), *registrar.synthetic_keys()]
    free = [key for key in new if _register_new(registrar, key, wrong, again=to_delete)]
    if registrar.deletes and registrar.together.is_possible:
        _register_beside_each_other(registrar, free, wrong)
    elif registrar.deletes:
        free = [key for key in free if _register_new(registrar, key, wrong, again=True)]
    _send(registrar, Attempted.WITHOUT_A_TOKEN, *_of_nobody(registrar, wrong))
    if registrar.deletes and not to_delete:
        _send_other_spellings(registrar)
    _register_random(registrar, keys)  # last, as a key that the service made may be beyond deletion
    decide_suspicions(registrar)
    registrar.clean_up()


# -- what must be refused, or may be ------------------------------------------------------------------------------

Try = tuple[PixKey, str]
"""A key as it is sent, and the credential."""


def _send(registrar: Registrar, what: Attempted, *tries: Try, company: bool = False) -> None:
    """Send registrations at the same time, and delete what is granted at once. With `company`, valid requests that do
    nothing are under way."""
    sends = _sends(registrar, tries)
    together = registrar.together
    _keep(
        registrar, what, together.send_each_with_a_companion(_REGISTER, *sends) if company else together.send_all(sends)
    )


def _sends(registrar: Registrar, tries: Iterable[Try]) -> list[Callable[[], Exchange]]:
    return [partial(registrar.register, key, credential=credential, valid=False) for key, credential in tries]


def _keep(registrar: Registrar, what: Attempted, answers: Iterable[Exchange]) -> None:
    sent = [answer for answer in answers if answer.number]  # 0: limits.wrong_tokens is spent
    registrar.found.tried[what] += sent
    registrar.undo_all(sent)


def _of_nobody(registrar: Registrar, credentials: Iterable[str]) -> list[Try]:
    return [(registrar.key_of_nobody(), credential) for credential in credentials]


def _send_undocumented(registrar: Registrar, keys: Sequence[PixKey]) -> None:
    """Types that are not documented: on a sandbox of these keys, as far as there are any."""
    own = keys if registrar.profile.is_sandbox else ()
    sent = chain(given(own), iter(registrar.key_of_nobody, None))
    made = [key for key in own if key.type == "RANDOM"]  # elsewhere a service may make a key that nobody can name
    names = [replace(key, type=OTHER_NAME_OF_RANDOM) for key in (next(sent), *made)]
    _send(registrar, Attempted.OTHER_NAME, *((key, VALID) for key in names))
    others = [replace(key, type=name) for name, key in zip(UNDOCUMENTED_TYPES, sent, strict=False)]
    _send(registrar, Attempted.UNDOCUMENTED_TYPE, *((key, VALID) for key in others))


def _send_other_spellings(registrar: Registrar) -> None:
    """Types in lower case and as digits: the interface document does not say that they are refused, nor accepted."""
    [key, *_] = registrar.that_come_and_go() or [registrar.key_of_nobody()]
    _send(registrar, Attempted.LOWER_CASE, (replace(key, type=key.type.lower()), VALID))
    for number in NUMERIC_TYPES:
        _send(registrar, Attempted.NUMERIC, (replace(key, type=number), VALID))


# -- what must be accepted --------------------------------------------------------------------------------------


def _register_new(registrar: Registrar, key: PixKey, wrong: Iterator[str], *, again: bool = False) -> bool:
    """Register the key as a new one, with wrong tokens for others right behind it, and delete it. True where it may be
    registered anew."""
    before, found = registrar.listing, registrar.found
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key)
    found.fresh += [exchange] if seems_free else []
    if registered(exchange):
        for each in _of_nobody(registrar, islice(wrong, _BEHIND)):
            _send(registrar, Attempted.WITHOUT_A_TOKEN, each)
    if registered(exchange) and not again:
        listing = registrar.look()
        if listing is not None and (places := listing.places(key.key, key.type)):
            registrar.references[key.key] = places
        found.repeated.append(registrar.register(key))
    elif not again:
        look_for_effect(registrar, key, exchange, before)
    return registrar.undo(exchange) and registrar.keys.seems_free(key.key)


def _register_beside_each_other(registrar: Registrar, keys: list[PixKey], wrong: Iterator[str]) -> None:
    """Register keys at the same time that were registered one after the other before, beside wrong tokens, and delete
    them. The first one and a read of the list, where it is permitted, leave at the same moment: that list says nothing of
    the keys. One that the list does not show later, although it showed all of them before, is lost."""
    found, together = registrar.found, registrar.together
    sends: list[Callable[[], Exchange]] = [partial(registrar.register, key) for key in keys]
    reads: list[Callable[[], Exchange]] = []
    if keys and registrar.may_list:
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True)
        sends[0], *reads = together.meeting(sends[0], read)
    tries = _sends(registrar, _of_nobody(registrar, islice(wrong, len(keys))))
    sent = together.send_all([*sends, *reads, *tries])
    answers, others = sent[: len(keys)], sent[len(keys) :]
    found.read_beside += others[: len(reads)]
    look_for_lost(registrar, [(seen, key) for seen, key in zip(answers, keys, strict=True) if registered(seen)])
    registrar.undo_all(answers)
    _keep(registrar, Attempted.WITHOUT_A_TOKEN, others[len(reads) :])


def _register_random(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left. How such a key is
    asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    found = registrar.found
    for key in (key for key in keys if key.type == "RANDOM"):
        for value in (key.key, str(uuid4()), None):
            before = registrar.look()  # first: it may show that one of unknown value is not there
            if registrar.holds_an_unknown_key():
                found.key_types[key.type] = inconclusive(UNKNOWN_KEY)
                return
            body = registration(replace(key, key=value or ""), registrar.account)
            body = body if value is not None else {name: each for name, each in body.items() if name != "pixKey"}
            exchange = registrar.register(key, json=body)
            found.fresh.append(exchange)
            look_for_effect(registrar, replace(key, key=value or ""), exchange, before)
            registrar.undo(exchange)
            if not is_refused_outright(exchange):
                break
