"""The key registrations of a run: what must be refused, and what must be accepted."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any
from uuid import uuid4

from environments.door.door import NoteAbout
from environments.door.wrong_tokens import ANOTHER, FOR_A_REGISTERED_KEY, NO_HEADER, OTHER_SCHEMES, Row, forms
from environments.profiles.loading import NOTHING_TO_REGISTER, name_for_commands
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
    body_sent,
    is_refused_outright,
    key_sent,
    registrations_for,
    registrations_of_free_keys,
    type_sent,
    valid_registrations,
)
from tests.traffic.keys.refused_types import send_refused_types_again
from tests.traffic.keys.registrar import FORGET_KEY, UNKNOWN_KEY, Registrar, given, registration
from tests.traffic.keys.undocumented_types import EMPTY, undocumented_types
from tests.traffic.neighbours import neighbours_of_registrations
from tests.traffic.refused_credentials import wrong_token_rows
from tests.traffic.scenario import ENOUGH, Traffic, scenario

_REGISTER = "registerPixKey"
_NOTHING_TO_DELETE = say(
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
_ROBUST = tuple(f"registerPixKey.{what}" for what in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUST)
"""The requirements that registrations with a wrong token are for."""
_FOR_OWN_KEY = [Row(name, (FOR_A_REGISTERED_KEY,)) for name in (NO_HEADER, ANOTHER)]
_BEHIND = 3  # wrong tokens that go right behind each registration
_ENOUGH_RANDOM = ENOUGH + 4  # keys of other types are registered a second time, too, which gives further answers
_MOST_MADE = 4  # RANDOM keys that are there at once: an account may have few


def nothing_to_delete(log: Log) -> Text:
    """Reason why no key was deleted: all registrations were refused, or which key to supply."""
    answers = valid_registrations(log)
    if answers and not accepted_registrations(log):
        return say("no key was registered: {answers}", answers=answers_in_words(answers))
    return _NOTHING_TO_DELETE


@scenario(serves=["registerPixKey.*", "deletePixKey.*"], needs="register-keys")
def register(traffic: Traffic) -> None:
    """Register keys and delete them, with the requests that are to be refused, in the order of `_STEPS`."""
    profile = traffic.profile
    if not profile.accounts or not profile.pix_keys:
        traffic.missing[_REGISTER] = NOTHING_TO_REGISTER.format("pix_keys" if profile.accounts else "accounts")
        return
    scene = _scene_of(traffic)
    for step in _STEPS:
        step(scene)


@dataclass
class _Scene:
    """What the steps share."""

    traffic: Traffic
    registrar: Registrar
    keys: list[PixKey]  # of the profile, that may be registered
    sends_wrong_tokens: bool
    rows_left: list[Row]  # of the table of wrong tokens, that were not sent for a key of nobody
    registered_and_deleted: list[PixKey] = field(default_factory=list)

    @property
    def own_keys(self) -> list[PixKey]:
        """The keys of the profile that may be sent with a wrong token: on a sandbox all."""
        return self.keys if self.traffic.profile.is_sandbox else []

    def rows_for_own_key(self) -> list[Row]:
        """The wrong tokens that go with a key which was registered just before."""
        return _FOR_OWN_KEY if self.sends_wrong_tokens else []

    def take_rows(self) -> list[Row]:
        """The next wrong tokens for keys of nobody, which go right behind a registration."""
        rows, self.rows_left = self.rows_left[:_BEHIND], self.rows_left[_BEHIND:]
        return rows


def _scene_of(traffic: Traffic) -> _Scene:
    registrar = Registrar(traffic.client, traffic.profile)
    keys = registrar.choose_keys()
    sends_wrong_tokens = traffic.reach.wants(*SHOWN_BY_WRONG_TOKENS)
    rows = wrong_token_rows(traffic, _REGISTER) if sends_wrong_tokens else []
    return _Scene(traffic, registrar, keys, sends_wrong_tokens, rows)


# -- the steps ----------------------------------------------------------------------------------------------------


def _register_synthetic_key(scene: _Scene) -> None:
    """Register the synthetic key, if keys are deleted; try it with wrong tokens; and register it a second time."""
    for key in scene.registrar.synthetic_keys():
        if _register_new(scene.registrar, key, scene.rows_for_own_key):
            scene.registered_and_deleted.append(key)


def _send_keys_without_a_token(scene: _Scene) -> None:
    """Send on a sandbox the keys of the profile, else one of nobody, without a token; and on a sandbox those that are
    no e-mail address with another token, too, because a check may depend on the type."""
    if not scene.sends_wrong_tokens:
        return
    registrar, purpose = scene.registrar, Registering.WITHOUT_A_TOKEN
    keys = scene.own_keys or [registrar.key_of_nobody()]
    _send(registrar, purpose, [(key, Row(NO_HEADER)) for key in keys], company=True)
    others = [key for key in scene.own_keys if key.type != "EMAIL"]
    _send(registrar, purpose, [(key, Row(ANOTHER)) for key in others], company=True)


def _send_other_schemes(scene: _Scene) -> None:
    """Send keys of nobody with the token under other schemes, if keys are deleted."""
    registrar = scene.registrar
    if registrar.deletes and scene.traffic.reach.wants("registerPixKey.token.scheme", *_ROBUST):
        schemes = [Row(form.name) for form in forms(registrar.profile, among=OTHER_SCHEMES)]
        _send(registrar, Registering.OTHER_SCHEME, _with_keys_of_nobody(registrar, schemes), company=True)


def _clear_the_way(scene: _Scene) -> None:
    """Delete what was refused and registered all the same. Ask an unknown path, from which later registrations may
    suffer."""
    registrar = scene.registrar
    registrar.clean_up()
    registrar.look()
    purpose = Registering.UNDOCUMENTED_PATH
    registrar.client.send_to_siblings(_REGISTER, registrar.account, body=b"{}", purpose=purpose)


def _register_keys_of_the_profile(scene: _Scene) -> None:
    """Register the keys of the profile but RANDOM, one by one and a second time, with wrong tokens for keys of
    nobody."""
    for key in given(scene.keys):
        if _register_new(scene.registrar, key, scene.take_rows):
            scene.registered_and_deleted.append(key)


def _send_undocumented_types(scene: _Scene) -> None:
    """Send types that are not documented, and the Central Bank's own name for RANDOM: on a sandbox with keys of the
    profile, as far as there are any. Elsewhere no type that a service may make a key for, which nobody could name,
    unless lists tell it."""
    registrar = scene.registrar
    own = {key.type: key for key in scene.own_keys} if registrar.deletes else {}
    made = [own["RANDOM"]] if "RANDOM" in own else []  # elsewhere nobody could name the key
    names = [replace(key, type="EVP") for key in (registrar.key_of_nobody(), *made)]
    _send(registrar, Registering.OTHER_NAME, _with_the_token(names))
    bodies = []
    for undocumented in undocumented_types(with_empty_keys=bool(made)):
        if undocumented.may_make_a_key and not registrar.keys.may_tell_random_by_lists:
            continue
        key = own.get(undocumented.fits) or registrar.key_of_nobody()
        body = {**registration(key, registrar.account), "pixKeyType": undocumented.name}
        if undocumented.with_an_empty_key:
            body["pixKey"] = ""
        bodies.append(body)
    _send(registrar, Registering.UNDOCUMENTED_TYPE, _with_the_token(bodies))
    _send_without_a_type(registrar)


def _send_without_a_type(registrar: Registrar) -> None:
    """Send a registration without pixKeyType if an empty type was accepted: then it stands for none, and whether a type
    is required is not shown."""
    sent = registrations_for(registrar.log, Registering.UNDOCUMENTED_TYPE)
    accepted = [exchange for exchange in sent if registered(exchange) and body_sent(exchange)["pixKeyType"] in EMPTY]
    for exchange in accepted[:1]:
        body = {name: value for name, value in body_sent(exchange).items() if name != "pixKeyType"}
        _send(registrar, Registering.WITHOUT_A_TYPE, _with_the_token([body]))


def _register_keys_beside_each_other(scene: _Scene) -> None:
    """Register the keys that could be deleted once more, at the same moment."""
    if not scene.registrar.deletes:
        return
    if scene.registrar.together.is_possible:
        _register_beside_each_other(scene.registrar, scene.registered_and_deleted)
        return
    for key in scene.registered_and_deleted:
        _register_new(scene.registrar, key, scene.take_rows)


def _send_wrong_tokens_that_are_left(scene: _Scene) -> None:
    """Send keys of nobody with the wrong tokens that are left: those that are written as usual first."""
    registrar, rows = scene.registrar, scene.rows_left
    usual, unusual = [row for row in rows if not row.written], [row for row in rows if row.written]
    purpose = Registering.WITHOUT_A_TOKEN
    _send(registrar, purpose, _with_keys_of_nobody(registrar, usual), company=True)
    _send(registrar, purpose, _with_keys_of_nobody(registrar, unusual))


def _send_other_spellings(scene: _Scene) -> None:
    """Send types in lower case and as digits, if keys are deleted: the interface document does not say that they are
    refused, nor accepted. A key that the service makes of digits can be named on a sandbox, or if the RANDOM entry is
    disposable. 1 and 2 are EMAIL if the documented names are numbered from 0 and from 1."""
    registrar = scene.registrar
    if not registrar.deletes:
        return
    _send(registrar, Registering.LOWER_CASE, _with_the_token([replace(registrar.key_of_nobody(), type="email")]))
    for number in ("1", "2") if registrar.keys.may_tell_random_by_lists else ():
        _send(registrar, Registering.NUMERIC, _with_the_token([replace(registrar.key_of_nobody(), type=number)]))


def _register_random_keys(scene: _Scene) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left."""
    for key in [key for key in scene.keys if key.type == "RANDOM"]:
        why_not = _register_random(scene.registrar, key)
        if why_not:
            scene.traffic.missing["registerPixKey.pixKeyType.RANDOM"] = why_not
            return


def _register_until_enough(scene: _Scene) -> None:
    """Register keys of each type again and again, and delete them, until each type was registered often enough. Right
    before the first ones go requests that are refused, and reads. Off a sandbox only the synthetic key goes again."""
    registrar = scene.registrar
    if not registrar.deletes:
        return
    bodies = _bodies_to_send_again(registrar)
    neighbours = iter(neighbours_of_registrations(scene.traffic))
    made: list[Exchange] = []
    while bodies:
        sends_before = list(islice(neighbours, len(bodies)))
        sends = [partial(registrar.register, body, Registering.ONCE_MORE) for body in bodies]
        answers = []
        for send_neighbour, send in zip(sends_before, sends, strict=False):
            send_neighbour()
            answers.append(send())
        answers += registrar.together.send_all(sends[len(sends_before) :])
        registrar.undo_all([answer for answer in answers if type_sent(answer) != "RANDOM"])
        made += [answer for answer in answers if type_sent(answer) == "RANDOM"]
        refused_types = {type_sent(answer) for answer in answers if is_refused_outright(answer)}
        bodies = [body for body in bodies if _is_wanted(registrar.log, body, refused_types)]
        if len(made) >= _MOST_MADE or not bodies:
            _undo_made(registrar, made)
            made = []


def _undo_made(registrar: Registrar, made: list[Exchange]) -> None:
    """Delete keys that the service made: one list tells the values of all."""
    for answer in made[:1]:
        registrar.undo(answer)
    registrar.undo_all(made[1:])


def _bodies_to_send_again(registrar: Registrar) -> list[dict[str, Any]]:
    """A body of each key type whose key was registered, and is free again."""
    bodies: dict[str, dict[str, Any]] = {}
    for answer in filter(registered, registrations_of_free_keys(registrar.log)):
        body = body_sent(answer)
        may_be_sent = registrar.profile.is_sandbox or key_sent(answer).startswith(MARK)
        if may_be_sent and registrar.is_undone(answer) and _is_wanted(registrar.log, body):
            bodies.setdefault(body["pixKeyType"], body)
    return list(bodies.values())


def _is_wanted(log: Log, body: Mapping[str, Any], refused_types: Container[str] = ()) -> bool:
    """True if too few keys of the type were registered, and it was not refused the last time."""
    if body["pixKeyType"] in refused_types:
        return False
    same_type = [answer for answer in registrations_of_free_keys(log) if type_sent(answer) == body["pixKeyType"]]
    return len(same_type) < (_ENOUGH_RANDOM if body["pixKeyType"] == "RANDOM" else ENOUGH)


def _clean_up(scene: _Scene) -> None:
    """Delete what is left."""
    scene.registrar.clean_up()


def _learn_keys_refused_with_effect(scene: _Scene) -> None:
    """Learn the value of a key that the service made and refused, so that it can be deleted. If no registration was
    accepted, a note says what the list shows."""
    registrar = scene.registrar
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
        registrar.client.door.note(NoteAbout.SET_UP, has_effect)
    for effect in effects:
        key = registrar.keys.key_of(effect.exchange) if effect.is_certain else None
        if key and (key.value is not None or registrar.keys.may_tell_random_by_lists):
            registrar.keys.learn_value(key, effect.key)


def _ask_why_types_are_refused(scene: _Scene) -> None:
    """Send more for each key type that is refused."""
    send_refused_types_again(scene.registrar)


_STEPS: tuple[Callable[[_Scene], None], ...] = (
    _register_synthetic_key,  # first, because an account may have room for one more
    _send_keys_without_a_token,
    _send_other_schemes,
    _clear_the_way,
    _register_keys_of_the_profile,
    _send_undocumented_types,
    _register_keys_beside_each_other,  # after those that were registered alone
    _send_wrong_tokens_that_are_left,
    _send_other_spellings,
    _register_random_keys,  # late, because a key that the service made may be beyond deletion
    _register_until_enough,  # after one of each type went alone
    _clean_up,
    _learn_keys_refused_with_effect,
    _clean_up,
    _ask_why_types_are_refused,  # when all types were tried
    _clean_up,
)
"""The steps of the scenario. Whatever was granted is deleted before the next step, if the run may."""


# -- what must be refused, or may be ------------------------------------------------------------------------------


def _with_keys_of_nobody(registrar: Registrar, rows: list[Row]) -> list[tuple[PixKey, Row]]:
    return [(registrar.key_of_nobody(), row) for row in rows]


def _with_the_token(keys: Sequence[PixKey | dict[str, Any]]) -> list[tuple[PixKey | dict[str, Any], Row]]:
    return [(key, Row(VALID)) for key in keys]


def _send(
    registrar: Registrar,
    what: Registering,
    keys: Sequence[tuple[PixKey | dict[str, Any], Row]],
    *,
    company: bool = False,
) -> None:
    """Send keys, each with a row of the table, at the same time, and delete what is granted at once. With `company`,
    valid requests that do nothing are under way."""
    sends = [partial(registrar.register, key, what, valid=False, **row._asdict()) for key, row in keys]
    together = registrar.together
    answers = together.send_each_with_a_companion(_REGISTER, *sends) if company else together.send_all(sends)
    sent = [answer for answer in answers if answer.number]  # 0: limits.wrong_tokens is spent
    if what in OTHER_TYPES[:-1]:  # how digits are understood is not shown, nor what a list shows of such a key
        _read_lists_after(registrar, sent)
    registrar.undo_all(sent)


# -- what must be accepted --------------------------------------------------------------------------------------


def _register_new(registrar: Registrar, key: PixKey, take_rows: Callable[[], list[Row]]) -> bool:
    """Register the key as a new one, with wrong tokens right behind it, for the key itself if the row says so, and
    delete it. The wrong tokens are taken if it was granted. True if it is free again."""
    was_readable = registrar.listing is not None
    seems_free = registrar.keys.seems_free(key.key)
    exchange = registrar.register(key, Registering.FIRST_TIME if seems_free else Registering.PERHAPS_REGISTERED)
    if registered(exchange):
        for row in take_rows():
            named = key if FOR_A_REGISTERED_KEY in row.written else registrar.key_of_nobody()
            _send(registrar, Registering.WITHOUT_A_TOKEN, [(named, row)])
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


def _register_random(registrar: Registrar, key: PixKey) -> Text:
    """Register a RANDOM key, and delete it. How such a key is asked for is not shown: as the profile does, with a UUID,
    or without pixKey. Returns the reason why none may be registered, if there is one."""
    body = registration(key, registrar.account)
    without_key = {name: value for name, value in body.items() if name != "pixKey"}
    for sent in (body, {**body, "pixKey": str(uuid4())}, without_key):
        listing = registrar.look()  # first: it may show that one of unknown value is not there
        if registrar.holds_an_unknown_key():
            tells_the_value = registrar.profile.key_at is not None
            return FORGET_KEY.of(name=name_for_commands(registrar.profile)) if tells_the_value else UNKNOWN_KEY
        exchange = registrar.register(sent, Registering.FIRST_TIME)
        if listing is not None:
            _look_for_effect(registrar, exchange)
        registrar.undo(exchange)
        if not is_refused_outright(exchange):
            break
    return ""


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
