"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, repeat
from uuid import uuid4

from environments.door.wrong_tokens import ANOTHER, FOR_A_REGISTERED_KEY, NO_HEADER, OTHER_SCHEMES, Row, forms
from environments.profiles.loading import NOTHING_TO_REGISTER, named
from environments.profiles.model import PixKey
from spec.answers import answer_in_words, answers_in_words, refused_or_lost, registered
from spec.exchange import VALID, Exchange
from spec.interface import MARK
from spec.log import Log
from spec.message import Text, say
from spec.rules import ROBUSTNESS
from tests.traffic.keys.listed import REFUSALS, KeyLists
from tests.traffic.keys.purposes import (
    OTHER_TYPES,
    KeyListing,
    Registering,
    accepted_registrations,
    is_refused_outright,
    valid_registrations,
)
from tests.traffic.keys.refused_types import send_refused_types_again
from tests.traffic.keys.registrar import FORGET_KEY, UNKNOWN_KEY, Registrar, given, registration
from tests.traffic.refused_credentials import wrong_token_rows
from tests.traffic.scenario import Traffic, scenario

_REGISTER = "registerPixKey"
_NOTHING_TO_DELETE = say(
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
UNDOCUMENTED_TYPES = {"IBAN": "RANDOM", "CELLPHONE": "PHONE", "MAIL": "EMAIL", "TAX_ID": "CNPJ", f"{MARK}type": "CPF"}
"""Types that are not documented, and whose keys they may be taken for: a service may look whether a key fits."""
_ROBUST = tuple(f"registerPixKey.{what}" for what in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUST)
"""The requirements that registrations with a wrong token are for."""
_FOR_OWN_KEY = [Row(name, (FOR_A_REGISTERED_KEY,)) for name in (NO_HEADER, ANOTHER)]
_BEHIND = 3  # wrong tokens that go right behind each registration


def nothing_to_delete(log: Log) -> Text:
    """Reason why no key was deleted: all registrations were refused, or which key to supply."""
    answers = valid_registrations(log)
    if answers and not accepted_registrations(log):
        return say("no key was registered: {answers}", answers=answers_in_words(answers))
    return _NOTHING_TO_DELETE


@scenario(serves=["registerPixKey.*", "deletePixKey.*"], needs="register-keys")
def register(traffic: Traffic) -> None:
    """Register keys and delete them, with the requests that are to be refused."""
    profile = traffic.profile
    if not profile.accounts or not profile.pix_keys:
        traffic.missing[_REGISTER] = NOTHING_TO_REGISTER.format("pix_keys" if profile.accounts else "accounts")
        return
    registrar = Registrar(traffic.client, profile)
    _register(registrar, registrar.choose_keys(), traffic)
    send_refused_types_again(registrar)
    registrar.clean_up()


def _register(registrar: Registrar, keys: list[PixKey], traffic: Traffic) -> None:
    """Register each key alone, a second time right after that, and later beside others. Whatever was granted is deleted
    before the next step, where the run may:

    1. the synthetic key, where keys are deleted: registered, tried with wrong tokens, and registered a second time. It
       goes first, as an account may have room for one more;
    2. on a sandbox the keys of the profile, else one of nobody, without a token; on a sandbox those that are no e-mail
       address with another token, too; then keys of nobody under other schemes. The first and the last go beside valid
       requests that do nothing;
    3. the keys of the profile but RANDOM, one by one, as in 1, with wrong tokens for keys of nobody;
    4. types that are not documented;
    5. those of 1 and 3 that could be deleted, once more, at the same moment;
    6. the wrong tokens that are left, with keys of nobody;
    7. types in lower case and as digits, where keys are deleted;
    8. the RANDOM keys.
    """
    wants, nobody = traffic.reach.wants, iter(registrar.key_of_nobody, None)
    wrong_tokens = wants(*SHOWN_BY_WRONG_TOKENS)
    wrong_for_nobody, wrong_for_own_key = map(
        iter, (wrong_token_rows(traffic, _REGISTER), _FOR_OWN_KEY) if wrong_tokens else ([], [])
    )
    registered_and_deleted = [
        key for key in registrar.synthetic_keys() if _register_new(registrar, key, wrong_for_own_key)
    ]
    if wrong_tokens:
        own = keys * registrar.profile.is_sandbox
        _send(registrar, Registering.WITHOUT_A_TOKEN, own or [next(nobody)], repeat(Row(NO_HEADER)), company=True)
        others = [key for key in own if key.type != "EMAIL"]  # a check may depend on the type
        _send(registrar, Registering.WITHOUT_A_TOKEN, others, repeat(Row(ANOTHER)))
    if registrar.deletes and wants("registerPixKey.token.scheme", *_ROBUST):
        schemes = [Row(form.name) for form in forms(registrar.profile, among=OTHER_SCHEMES)]
        _send(registrar, Registering.OTHER_SCHEME, nobody, schemes, company=True)
    registrar.clean_up()  # what was refused, and registered all the same, is in the way
    registrar.look()
    registrar.client.send_to_siblings(  # what comes next may suffer from it
        _REGISTER, registrar.account, body=b"{}", purpose=Registering.UNDOCUMENTED_PATH
    )
    registered_and_deleted += [key for key in given(keys) if _register_new(registrar, key, wrong_for_nobody)]
    _send_undocumented(registrar, keys)
    if registrar.deletes and registrar.together.is_possible:
        _register_beside_each_other(registrar, registered_and_deleted)
    elif registrar.deletes:
        for key in registered_and_deleted:
            _register_new(registrar, key, wrong_for_nobody)
    left = list(wrong_for_nobody)
    for unusual in (False, True):
        rows = [row for row in left if bool(row.written) is unusual]
        _send(registrar, Registering.WITHOUT_A_TOKEN, nobody, rows, company=not unusual)
    if registrar.deletes:
        _send_other_spellings(registrar)
    _register_random(registrar, keys, traffic)  # last, as a key that the service made may be beyond deletion
    registrar.clean_up()
    _learn_keys_refused_with_effect(registrar)
    registrar.clean_up()


# -- what must be refused, or may be ------------------------------------------------------------------------------


def _send(
    registrar: Registrar,
    what: Registering,
    keys: Iterable[PixKey],
    rows: Iterable[Row] = repeat(Row(VALID)),
    *,
    company: bool = False,
) -> None:
    """Send keys, each with a row of the table, at the same time, and delete what is granted at once. With `company`,
    valid requests that do nothing are under way."""
    tries = zip(keys, rows, strict=False)
    sends = [partial(registrar.register, key, what, valid=False, **row._asdict()) for key, row in tries]
    together = registrar.together
    answers = together.send_each_with_a_companion(_REGISTER, *sends) if company else together.send_all(sends)
    sent = [answer for answer in answers if answer.number]  # 0: limits.wrong_tokens is spent
    if what in OTHER_TYPES[:-1]:  # how digits are understood is not shown, nor what a list shows of such a key
        _read_lists_after(registrar, sent)
    registrar.undo_all(sent)


def _send_undocumented(registrar: Registrar, keys: Sequence[PixKey]) -> None:
    """Types that are not documented, and the Central Bank's own name for RANDOM: on a sandbox of these keys, as far as
    there are any."""
    own = {key.type: key for key in keys} if registrar.profile.is_sandbox and registrar.deletes else {}
    made = [key for key in own.values() if key.type == "RANDOM"]  # elsewhere nobody could name the key
    names = [replace(key, type="EVP") for key in (registrar.key_of_nobody(), *made)]
    _send(registrar, Registering.OTHER_NAME, names)
    others = [replace(own.get(fits, registrar.key_of_nobody()), type=name) for name, fits in UNDOCUMENTED_TYPES.items()]
    _send(registrar, Registering.UNDOCUMENTED_TYPE, others)


def _send_other_spellings(registrar: Registrar) -> None:
    """Types in lower case and as digits: the interface document does not say that they are refused, nor accepted. A key
    that the service makes of digits can be named on a sandbox, or where the RANDOM entry is disposable. These are
    EMAIL if the documented names are numbered from 0, and from 1."""
    _send(registrar, Registering.LOWER_CASE, [replace(registrar.key_of_nobody(), type="email")])
    for number in ("1", "2") if registrar.keys.may_tell_random_by_lists else ():
        _send(registrar, Registering.NUMERIC, [replace(registrar.key_of_nobody(), type=number)])


# -- what must be accepted --------------------------------------------------------------------------------------


def _register_new(registrar: Registrar, key: PixKey, wrong: Iterator[Row]) -> bool:
    """Register the key as a new one, with wrong tokens right behind it, for the key itself where the row says so, and
    delete it. True where it is free again."""
    was_readable = registrar.listing is not None
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key, Registering.FIRST_TIME if seems_free else Registering.PERHAPS_REGISTERED)
    if registered(exchange):
        for row in islice(wrong, _BEHIND):
            named = key if FOR_A_REGISTERED_KEY in row.written else registrar.key_of_nobody()
            _send(registrar, Registering.WITHOUT_A_TOKEN, [named], [row])
        registrar.look()
        registrar.register(key, Registering.SECOND_TIME)
    elif was_readable:
        _look_for_effect(registrar, exchange)
    return registrar.undo(exchange) and registrar.keys.seems_free(key.key)


def _register_beside_each_other(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register keys at the same time that were registered one after the other before, and delete them. The first one
    and a read of the list, where it is permitted, leave at the same moment: that list says nothing of the keys. One
    that the list does not show later, although it showed all of them before, is lost."""
    together = registrar.together
    sends: list[Callable[[], Exchange]] = [partial(registrar.register, key, Registering.BESIDE_OTHERS) for key in keys]
    if keys and registrar.may_list:
        purpose = KeyListing.BESIDE_A_REGISTRATION
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True, purpose=purpose)
        sends[:1] = together.meeting(read, sends[0])
    together.send_all(sends)
    answers = registrar.log.of(_REGISTER, Registering.BESIDE_OTHERS)
    _read_lists_after(registrar, answers)
    registrar.undo_all(answers)


def _register_random(registrar: Registrar, keys: list[PixKey], traffic: Traffic) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left. How such a key
    is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    for key in [key for key in keys if key.type == "RANDOM"]:
        body = registration(key, registrar.account)
        without = {name: value for name, value in body.items() if name != "pixKey"}
        for sent in (body, {**body, "pixKey": str(uuid4())}, without):
            listing = registrar.look()  # first: it may show that one of unknown value is not there
            if registrar.holds_an_unknown_key():
                tells_the_value = registrar.profile.key_at is not None
                why = FORGET_KEY.of(name=named(registrar.profile)) if tells_the_value else UNKNOWN_KEY
                traffic.missing["registerPixKey.pixKeyType.RANDOM"] = why
                return
            exchange = registrar.register(sent, Registering.FIRST_TIME)
            if listing is not None:
                _look_for_effect(registrar, exchange)
            registrar.undo(exchange)
            if not is_refused_outright(exchange):
                break


# -- what is read after them --------------------------------------------------------------------------------------


def _look_for_effect(registrar: Registrar, exchange: Exchange) -> None:
    """Read the list twice after a registration that was refused: it may show the key nevertheless."""
    if refused_or_lost(exchange) in REFUSALS:
        registrar.look()
        registrar.look()


def _read_lists_after(registrar: Registrar, sent: list[Exchange]) -> None:
    """Read the list twice after registrations of which one was granted, if it has shown accepted keys."""
    granted = [exchange.number for exchange in sent if registered(exchange)]
    lists = KeyLists(registrar.log, registrar.profile)
    if granted and lists.have_shown_an_accepted_key(before=min(granted)):
        registrar.look()
        registrar.look()


def _learn_keys_refused_with_effect(registrar: Registrar) -> None:
    """Learn the value of a key that the service made and refused, so that it can be deleted. If no registration was
    accepted, a note says what the list shows."""
    lists = KeyLists(registrar.log, registrar.profile)
    effects = [*lists.effects_of_refusals(), *lists.effects_without_a_token()]
    if effects and not accepted_registrations(registrar.log):
        first = effects[0].exchange
        has_effect = say(
            "a registration was answered {answer} (exchange {number}), and the list shows its key: look whether it is "
            "registered",
            answer=answer_in_words(first),
            number=first.number,
        )
        registrar.client.door.guard.notes.append(has_effect)
    for effect in effects:
        key = registrar.keys.key_of(effect.exchange) if effect.is_certain else None
        if key and (key.value is not None or registrar.keys.may_tell_random_by_lists):
            registrar.keys.learn_value(key, effect.key)
