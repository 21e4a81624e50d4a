"""The key registrations of a run: what must be refused, and what must be accepted; and what a list says of them.

A refusal had an effect where the list shows its key like one that was accepted. And what is granted may have none: a
key that is not listed after it was registered, or still is after it was deleted.

What a list may hold is not shown: keys that wait, attempts that failed, the last key that was named. So a refusal
counts only where its key stands exactly as an accepted key stands, was absent before and is there in two lists after.
It does not count where a registered key gets the same answer: another client may have registered this one in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, repeat
from uuid import uuid4

from environments.door.door import NoteAbout
from environments.door.wrong_tokens import ANOTHER, FOR_A_REGISTERED_KEY, NO_HEADER, OTHER_SCHEMES, Row, forms
from environments.profiles.loading import NO_REGISTRATION, NOTHING_TO_REGISTER, named
from environments.profiles.model import PixKey
from spec.answers import RefusalKind, answer_in_words, answers_in_words, refused_or_lost, registered
from spec.exchange import VALID, Exchange
from spec.findings import inconclusive
from spec.interface import KEY_TYPES, MARK
from spec.key_list import Listing, Place
from spec.message import Text, say
from spec.observed import indistinguishable
from spec.rules import ROBUSTNESS
from tests.traffic.key_types import explain_refusals
from tests.traffic.refused_credentials import wrong_token_rows
from tests.traffic.registrar import (
    FORGET_KEY,
    OTHER_TYPES,
    UNKNOWN_KEY,
    KeyListing,
    Registering,
    Registrar,
    Registrations,
    Suspicion,
    body_sent,
    given,
    is_refused_outright,
    registration,
    type_sent,
)
from tests.traffic.scenario import Traffic, gathering_scenario

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


def nothing_to_delete(registrations: Registrations) -> Text:
    """Reason why no key was deleted: all registrations were refused, or which key to supply."""
    if registrations.answers and not registrations.accepted:
        return say("no key was registered: {answers}", answers=answers_in_words(registrations.answers))
    return _NOTHING_TO_DELETE


@gathering_scenario(
    serves=["registerPixKey.*", "deletePixKey.*"],
    needs="register-keys",
    otherwise=Registrations(missing=NO_REGISTRATION),
)
def register(traffic: Traffic) -> Registrations:
    """Register keys and delete them, with the requests that are to be refused."""
    profile = traffic.profile
    if not profile.accounts or not profile.pix_keys:
        return Registrations(missing=NOTHING_TO_REGISTER.format("pix_keys" if profile.accounts else "accounts"))
    registrar = Registrar(traffic.client, profile)
    found = registrar.found
    found.key_types = {key.type: inconclusive(say("not reached")) for key in profile.pix_keys}
    _register(registrar, registrar.choose_keys(), traffic)
    explain_refusals(registrar)
    registrar.clean_up()
    _compare_types_with_the_list(registrar)
    return found


def _compare_types_with_the_list(registrar: Registrar) -> None:
    """Note the accepted keys of documented types that no list ever showed: they wait, or are lost. A list that lacks
    those proves nothing about keys of other types, whose registration counts as it was answered."""
    found = registrar.found
    listed = (seen for seen in found.accepted if body_sent(seen).get("pixKey") in registrar.references)
    listed_types = {"RANDOM", *map(type_sent, listed)}
    missed = [seen for seen in found.accepted if (key := registrar.keys.key_of(seen)) and key.was_missed]
    never_listed = [seen for seen in missed if type_sent(seen) not in listed_types]
    if never_listed:
        found.lost = [seen for seen in found.lost if seen.valid]
    if registrar.listing:
        found.lost += never_listed


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
    _register_random(registrar, keys)  # last, as a key that the service made may be beyond deletion
    registrar.clean_up()
    _decide_suspicions(registrar)
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
        registrar.found.lost += _find_lost(registrar, sent)
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
    before = registrar.listing
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key, Registering.FIRST_TIME if seems_free else Registering.PERHAPS_REGISTERED)
    if registered(exchange):
        for row in islice(wrong, _BEHIND):
            named = key if FOR_A_REGISTERED_KEY in row.written else registrar.key_of_nobody()
            _send(registrar, Registering.WITHOUT_A_TOKEN, [named], [row])
        listing = registrar.look()
        if listing is not None and (places := listing.places(key.key, key.type)):
            registrar.references[key.key] = places
        registrar.register(key, Registering.SECOND_TIME)
    else:
        _look_for_effect(registrar, key, exchange, before)
    return registrar.undo(exchange) and registrar.keys.seems_free(key.key)


def _register_beside_each_other(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register keys at the same time that were registered one after the other before, and delete them. The first one
    and a read of the list, where it is permitted, leave at the same moment: that list says nothing of the keys. One
    that the list does not show later, although it showed all of them before, is lost."""
    found, together = registrar.found, registrar.together
    sends: list[Callable[[], Exchange]] = [partial(registrar.register, key, Registering.BESIDE_OTHERS) for key in keys]
    if keys and registrar.may_list:
        purpose = KeyListing.BESIDE_A_REGISTRATION
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True, purpose=purpose)
        sends[:1] = together.meeting(read, sends[0])
    together.send_all(sends)
    answers = found.log.of(_REGISTER, Registering.BESIDE_OTHERS)
    found.lost += _find_lost(registrar, answers)
    registrar.undo_all(answers)


def _register_random(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left. How such a key
    is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    found = registrar.found
    for key in (key for key in keys if key.type == "RANDOM"):
        body = registration(key, registrar.account)
        without = {name: value for name, value in body.items() if name != "pixKey"}
        for sent in (body, {**body, "pixKey": str(uuid4())}, without):
            before = registrar.look()  # first: it may show that one of unknown value is not there
            if registrar.holds_an_unknown_key():
                found.key_types[key.type] = inconclusive(
                    FORGET_KEY.of(name=named(registrar.profile)) if registrar.keys.key_at else UNKNOWN_KEY
                )
                return
            exchange = registrar.register(sent, Registering.FIRST_TIME)
            _look_for_effect(registrar, replace(key, key=sent.get("pixKey", "")), exchange, before)
            registrar.undo(exchange)
            if not is_refused_outright(exchange):
                break


# -- what a list says of them -------------------------------------------------------------------------------------

REFUSALS = (
    RefusalKind.CONTENT,
    RefusalKind.FORBIDDEN,
    RefusalKind.LOCK,
    RefusalKind.MEDIA_TYPE,
    RefusalKind.NOT_FOUND,
)
"""They say that nothing was done; a conflict, a time-out or a gateway's answer leaves that open."""
_MOST_REFERENCES = 20
"""Keys of an earlier day that a key is compared with."""


def _look_for_effect(registrar: Registrar, key: PixKey, exchange: Exchange, before: Listing | None) -> None:
    """Read the list twice after a registration that was refused: it may show the key nevertheless."""
    if before is None or refused_or_lost(exchange) not in REFUSALS:
        return
    since = [seen.request.body for seen in registrar.client.door.exchanges if seen.number > before.number]
    if since.count(exchange.request.body) > 1:  # not sent once: the first one may have registered the key
        return
    lists = [registrar.look(), registrar.look()]
    made = registrar.made_since(exchange.number)
    value = key.key or (made[0] if len(made) == 1 else "")
    places = tuple(each.places(value, key.type) for each in lists if each and each.shows(value))
    if value and not before.shows(value) and len(places) == len(lists):
        registrar.suspicions.append(Suspicion(exchange, value, places))


def _decide_suspicions(registrar: Registrar) -> None:
    """Decide which refusals had an effect: their keys stand like one that was accepted. Where none was, like all that
    stood there before the run; if none stood there either, a note says what the list shows."""
    found = registrar.found
    if registrar.suspicions and not found.accepted:
        suspicious = registrar.suspicions[0].exchange
        has_effect = say(
            "a registration was answered {answer} (exchange {number}), and the list shows its key: look whether it is "
            "registered",
            answer=answer_in_words(suspicious),
            number=suspicious.number,
        )
        registrar.client.door.note(NoteAbout.SET_UP, has_effect)
    for one in registrar.suspicions:
        is_a_duplicate = any(indistinguishable(one.exchange, repeated) for repeated in found.repeated)
        if not is_a_duplicate and all(_stands_like_an_accepted_key(registrar, places) for places in one.places):
            (found.effects if one.exchange.credential == VALID else found.let_in).append(one.exchange)
            key = registrar.keys.key_of(one.exchange)
            if key and (key.value is not None or registrar.keys.may_tell_random_by_lists):
                registrar.keys.learn_value(key, one.value)


def _stands_like_an_accepted_key(registrar: Registrar, places: frozenset[Place]) -> bool:
    before = registrar.keys.before
    if registrar.references or before is None:
        return places in registrar.references.values()
    return places in islice(before.places_like(places), _MOST_REFERENCES)


def _find_lost(registrar: Registrar, sent: list[Exchange]) -> list[Exchange]:
    """Read the list twice after registrations: those that were granted and whose keys it does not show, although it
    showed keys that were registered one after the other. A key that the service makes, or that has a type of its own,
    may be any text that is new."""
    granted = list(filter(registered, sent)) if registrar.references else []
    known = registrar.listing.texts if registrar.listing else frozenset()
    lists = [registrar.look(), registrar.look()] if granted else []

    def is_listed(seen: Exchange, listing: Listing) -> bool:
        key = body_sent(seen)["pixKey"]
        is_shown = listing.shows(key) or listing.may_hide(key or "")
        return is_shown or not ((key and type_sent(seen) in KEY_TYPES) or listing.texts <= known)

    return [seen for seen in granted if all(each and not is_listed(seen, each) for each in lists)]
