"""The key registrations of a run: POST /v1/pix/keys/{accountId} in the interface document.

The scenario `register` takes the steps of `_STEPS`. Some registrations must be accepted, some must be refused, and of
others the document says neither. Words of this module:

| word | meaning |
|---|---|
| synthetic key | an e-mail address that the suite makes up, and that belongs to nobody |
| unauthorized request | a request without the valid token; it has a form of token and unusual ways to write it |
| free key | a key that is not registered as far as the run knows, so that a registration must be accepted |
| made key | a RANDOM key: the service makes its value, and often only a list of keys tells it |
| companion | a valid request that does nothing, sent at the same moment as one that must be refused |
| neighbour | a refused request or a read, sent right before a valid registration, on the same connection |

Self-tests: promises/test_keys.py.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from environments.door.door import NoteAbout
from environments.door.wrong_tokens import (
    ANOTHER,
    FOR_A_REGISTERED_KEY,
    NO_HEADER,
    OTHER_SCHEMES,
    UnauthorizedRequest,
    forms,
)
from environments.profiles.loading import NOTHING_TO_REGISTER, name_for_commands
from environments.profiles.model import PixKey
from spec.answers import answer_in_words, answers_in_words, refusal_or_failure, registered
from spec.exchange import VALID, Exchange
from spec.interface import SYNTHETIC_PREFIX
from spec.log import Log
from spec.message import Text, say
from spec.rules import ROBUSTNESS
from tests.traffic.keys.listed import REFUSALS, KeyLists
from tests.traffic.keys.purposes import (
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
from tests.traffic.keys.registrar import (
    FORGET_KEY,
    UNKNOWN_KEY,
    Registrar,
    keys_with_a_value,
    registration_body,
)
from tests.traffic.keys.undocumented_types import EMPTY, undocumented_types
from tests.traffic.neighbours import requests_before_registrations
from tests.traffic.refused_credentials import unauthorized_requests
from tests.traffic.scenario import ENOUGH_ANSWERS, Traffic, scenario
from tests.traffic.together import Send

_REGISTER = "registerPixKey"
_NOTHING_TO_DELETE = say(
    "no key was registered whose value is known: supply one in pix_keys that is not RANDOM and not registered yet"
)
_ROBUSTNESS_IDS = tuple(f"registerPixKey.{end_of_id}" for end_of_id in ROBUSTNESS)
SHOWN_BY_WRONG_TOKENS = ("registerPixKey.token.required", "registerPixKey.refusal", *_ROBUSTNESS_IDS)
"""The requirements that registrations with a wrong token are for."""
_REQUESTS_FOR_A_REGISTERED_KEY = [UnauthorizedRequest(name, (FOR_A_REGISTERED_KEY,)) for name in (NO_HEADER, ANOTHER)]
"""Unauthorized requests that name the synthetic key while it is registered."""
_REQUESTS_BEHIND_A_REGISTRATION = 3
"""Unauthorized requests that are sent right after each granted registration, on the same connection, because some
services do not check the token on a connection that was authorized before."""
_ENOUGH_RANDOM = ENOUGH_ANSWERS + 4
"""Enough registrations of RANDOM keys. Of other types ENOUGH_ANSWERS will do, because each of their keys is registered
a second time, too, which gives further answers."""
_MOST_MADE = 4
"""Most RANDOM keys that are registered at a time before they are deleted, because an account may have few keys."""
_LISTS_ARE_READ_AFTER = (Registering.UNDOCUMENTED_TYPE, Registering.OTHER_NAME, Registering.LOWER_CASE)
"""Purposes of registrations after which the list is read, to see whether the key was registered. NUMERIC is not among
them: the interface document says neither which type a number means, nor what a list shows of such a key."""


@dataclass(frozen=True)
class _Attempt:
    """A registration that must be refused, or may be refused."""

    key_or_body: PixKey | dict[str, Any]
    """The key to register at the account of the run; or the whole body of the request."""
    credential: str = VALID
    spelling: tuple[str, ...] = ()
    """The unusual ways in which the request is written; empty if it is written as documented."""


def nothing_to_delete(log: Log) -> Text:
    """Reason why no key was deleted: all registrations were refused, or which key to supply."""
    answers = valid_registrations(log)
    if answers and not accepted_registrations(log):
        return say("no key was registered: {answers}", answers=answers_in_words(answers))
    return _NOTHING_TO_DELETE


@scenario(serves=["registerPixKey.*", "deletePixKey.*"], needs="register-keys")
def register(traffic: Traffic) -> None:
    """Register keys, delete them, and send the registrations that must be refused, in the order of `_STEPS`."""
    profile = traffic.profile
    if not profile.accounts or not profile.pix_keys:
        traffic.why_not_sent[_REGISTER] = NOTHING_TO_REGISTER.format("pix_keys" if profile.accounts else "accounts")
        return
    scene = _prepared_scene(traffic)
    for step in _STEPS:
        step(scene)


@dataclass
class _Scene:
    """What the steps of the scenario share."""

    traffic: Traffic
    registrar: Registrar
    keys: list[PixKey]
    """The keys of the profile that may be registered."""
    sends_wrong_tokens: bool
    """True if the selection has a requirement that wrong tokens can show."""
    unsent_requests: list[UnauthorizedRequest]
    """Unauthorized requests that were not sent so far. Each is sent once, with a synthetic key."""
    registered_and_deleted: list[PixKey] = field(default_factory=list)

    @property
    def keys_for_wrong_tokens(self) -> list[PixKey]:
        """The keys of the profile that may be sent with a wrong token: all on a sandbox, none elsewhere."""
        return self.keys if self.traffic.profile.is_sandbox else []

    def requests_for_a_registered_key(self) -> list[UnauthorizedRequest]:
        """Unauthorized requests that name the synthetic key while it is registered."""
        return _REQUESTS_FOR_A_REGISTERED_KEY if self.sends_wrong_tokens else []

    def take_unsent_requests(self) -> list[UnauthorizedRequest]:
        """Remove the next few `unsent_requests` and return them. They are sent right after the next registration."""
        requests = self.unsent_requests[:_REQUESTS_BEHIND_A_REGISTRATION]
        self.unsent_requests = self.unsent_requests[_REQUESTS_BEHIND_A_REGISTRATION:]
        return requests


def _prepared_scene(traffic: Traffic) -> _Scene:
    """Make the keys of the profile free, and return what the steps need."""
    registrar = Registrar(traffic.client, traffic.profile)
    keys = registrar.make_keys_free()
    sends_wrong_tokens = traffic.selection.includes_any(*SHOWN_BY_WRONG_TOKENS)
    requests = unauthorized_requests(traffic, _REGISTER) if sends_wrong_tokens else []
    return _Scene(traffic, registrar, keys, sends_wrong_tokens, requests)


# -- the steps ----------------------------------------------------------------------------------------------------


def _register_synthetic_key(scene: _Scene) -> None:
    """Register the synthetic key twice, and delete it. In between, registrations of it with a wrong token are sent.

    Nothing is sent if the profile does not let keys be deleted, because the key would stay at the account.
    """
    key = scene.registrar.key_for_deletions()
    if key is None:
        return
    key_is_free = _register_and_delete(scene.registrar, key, scene.requests_for_a_registered_key)
    if key_is_free:
        scene.registered_and_deleted.append(key)


def _send_keys_without_a_token(scene: _Scene) -> None:
    """Send registrations of the keys of the profile without a token. Off a sandbox send a synthetic key instead.

    On a sandbox the keys that are no e-mail address go with a wrong token, too, because the check of the token may
    depend on the key type. Synthetic keys are e-mail addresses, so other requests cover that type.
    """
    if not scene.sends_wrong_tokens:
        return
    purpose = Registering.WITHOUT_A_TOKEN
    keys = scene.keys_for_wrong_tokens or [scene.registrar.synthetic_key()]
    without_header = [_Attempt(key, NO_HEADER) for key in keys]
    _send_and_delete(scene.registrar, purpose, without_header, with_companions=True)
    keys_but_email = [key for key in scene.keys_for_wrong_tokens if key.type != "EMAIL"]
    with_another_token = [_Attempt(key, ANOTHER) for key in keys_but_email]
    _send_and_delete(scene.registrar, purpose, with_another_token, with_companions=True)


def _send_other_schemes(scene: _Scene) -> None:
    """Send synthetic keys with the token under other schemes than Bearer, if the profile lets keys be deleted."""
    registrar = scene.registrar
    if registrar.deletes_keys and scene.traffic.selection.includes_any("registerPixKey.token.scheme", *_ROBUSTNESS_IDS):
        requests = [UnauthorizedRequest(form.name) for form in forms(registrar.profile, among=OTHER_SCHEMES)]
        attempts = _with_synthetic_keys(registrar, requests)
        _send_and_delete(registrar, Registering.OTHER_SCHEME, attempts, with_companions=True)


def _prepare_for_valid_registrations(scene: _Scene) -> None:
    """Delete the keys that were refused and registered nevertheless, and read the list.

    Then a request goes to an unknown path, to see in the next steps whether later registrations suffer from it.
    """
    registrar = scene.registrar
    registrar.clean_up()
    registrar.read_key_list()
    purpose = Registering.UNDOCUMENTED_PATH
    registrar.client.send_to_siblings(_REGISTER, registrar.account, body=b"{}", purpose=purpose)


def _register_keys_of_the_profile(scene: _Scene) -> None:
    """Register each key of the profile but RANDOM, twice, and delete it. Wrong tokens go between the registrations."""
    for key in keys_with_a_value(scene.keys):
        key_is_free = _register_and_delete(scene.registrar, key, scene.take_unsent_requests)
        if key_is_free:
            scene.registered_and_deleted.append(key)


def _send_other_name_of_random(scene: _Scene) -> None:
    """Send EVP, the Central Bank's name for RANDOM, as the type of a synthetic key.

    On a sandbox a RANDOM key of the profile goes with it, too. Elsewhere the service might make a key for it that
    nobody can name.
    """
    keys = [scene.registrar.synthetic_key()]
    random_key = _own_keys_by_type(scene).get("RANDOM")
    if random_key is not None:
        keys.append(random_key)
    attempts = [_Attempt(replace(key, type="EVP")) for key in keys]
    _send_and_delete(scene.registrar, Registering.OTHER_NAME, attempts)


def _send_undocumented_types(scene: _Scene) -> None:
    """Send registrations with a pixKeyType that is not documented, which must be refused.

    On a sandbox each type goes with a key of the profile that fits it, if there is one; else with a synthetic key.

    A service may take some of these types for RANDOM, and make a key. They are sent only if a list of keys tells the
    value of such a key, because otherwise nobody could delete it.
    """
    registrar = scene.registrar
    own_keys = _own_keys_by_type(scene)
    # An empty key is how some services are asked for a RANDOM key. So empty keys are sent only if the profile has such
    # a key, and lets the run delete it.
    may_send_empty_keys = "RANDOM" in own_keys
    attempts = []
    for undocumented in undocumented_types(with_empty_keys=may_send_empty_keys):
        if undocumented.may_make_a_key and not registrar.keys.may_tell_random_by_lists:
            continue
        key = own_keys.get(undocumented.fits) or registrar.synthetic_key()
        body = {**registration_body(key, registrar.account), "pixKeyType": undocumented.name}
        if undocumented.with_an_empty_key:
            body["pixKey"] = ""
        attempts.append(_Attempt(body))
    _send_and_delete(registrar, Registering.UNDOCUMENTED_TYPE, attempts)


def _own_keys_by_type(scene: _Scene) -> dict[str, PixKey]:
    """By type, the keys of the profile that may be sent with another type. Empty off a sandbox, and if the profile does
    not let keys be deleted."""
    if not scene.registrar.deletes_keys:
        return {}
    return {key.type: key for key in scene.keys_for_wrong_tokens}


def _send_without_a_type(scene: _Scene) -> None:
    """Send a registration without pixKeyType if one with an empty type was accepted.

    If this one is accepted, too, the service treats an empty type like a missing one, so the empty type is no
    deviation: the interface document does not show whether a type is required.
    """
    registrar = scene.registrar
    for exchange in registrations_for(registrar.log, Registering.UNDOCUMENTED_TYPE):
        type_is_empty = body_sent(exchange)["pixKeyType"] in EMPTY
        if type_is_empty and registered(exchange):
            body = {name: value for name, value in body_sent(exchange).items() if name != "pixKeyType"}
            _send_and_delete(registrar, Registering.WITHOUT_A_TYPE, [_Attempt(body)])
            return


def _register_keys_at_once(scene: _Scene) -> None:
    """Register all keys that were registered and deleted before once more, and delete them again.

    They go at the same time if the run may send several requests at once; else one after the other.
    """
    if not scene.registrar.deletes_keys:
        return
    if scene.registrar.together.may_send_several:
        _register_and_delete_at_once(scene.registrar, scene.registered_and_deleted)
        return
    for key in scene.registered_and_deleted:
        _register_and_delete(scene.registrar, key, scene.take_unsent_requests)


def _send_remaining_wrong_tokens(scene: _Scene) -> None:
    """Send synthetic keys with the wrong tokens that were not sent so far: first those with the usual spelling."""
    registrar = scene.registrar
    purpose = Registering.WITHOUT_A_TOKEN
    usual_requests = [request for request in scene.unsent_requests if not request.spelling]
    unusual_requests = [request for request in scene.unsent_requests if request.spelling]
    _send_and_delete(registrar, purpose, _with_synthetic_keys(registrar, usual_requests), with_companions=True)
    _send_and_delete(registrar, purpose, _with_synthetic_keys(registrar, unusual_requests))


def _send_other_spellings(scene: _Scene) -> None:
    """Send the type EMAIL in lower case, and as a digit, if the profile lets keys be deleted.

    The interface document says neither that they are refused nor that they are accepted. The digits 1 and 2 mean EMAIL
    if a service numbers the documented types from 0 or from 1. A service may also take a digit for RANDOM, and make a
    key. So digits are sent only if a list of keys tells the value of such a key.
    """
    registrar = scene.registrar
    if not registrar.deletes_keys:
        return
    lower_case_key = replace(registrar.synthetic_key(), type="email")
    _send_and_delete(registrar, Registering.LOWER_CASE, [_Attempt(lower_case_key)])
    if registrar.keys.may_tell_random_by_lists:
        for number in ("1", "2"):
            key = replace(registrar.synthetic_key(), type=number)
            _send_and_delete(registrar, Registering.NUMERIC, [_Attempt(key)])


def _register_random_keys(scene: _Scene) -> None:
    """Register each RANDOM key of the profile, and delete it.

    Stop if the run does not know the value of a key that the service made, because nobody can delete that key.
    """
    random_keys = [key for key in scene.keys if key.type == "RANDOM"]
    for key in random_keys:
        reason_to_stop = _register_random(scene.registrar, key)
        if reason_to_stop:
            scene.traffic.why_not_sent["registerPixKey.pixKeyType.RANDOM"] = reason_to_stop
            return


def _register_until_enough(scene: _Scene) -> None:
    """Register a key of each type again and again, and delete it, until the log has enough answers for each type.

    A statement on all registrations rests on several answers. A neighbour goes right before each of the first
    registrations: a request that is refused, or a read. Off a sandbox only the synthetic key is registered again.
    """
    registrar = scene.registrar
    if not registrar.deletes_keys:
        return
    bodies = _bodies_to_send_again(registrar)
    neighbours_left = requests_before_registrations(scene.traffic)
    made: list[Exchange] = []
    while bodies:
        neighbours = neighbours_left[: len(bodies)]
        neighbours_left = neighbours_left[len(bodies) :]
        answers = _register_once_more(registrar, bodies, neighbours)
        registrar.delete_keys_of([answer for answer in answers if type_sent(answer) != "RANDOM"])
        made += [answer for answer in answers if type_sent(answer) == "RANDOM"]
        refused_types = {type_sent(answer) for answer in answers if is_refused_outright(answer)}
        bodies = [body for body in bodies if _needs_more_answers(registrar.log, body, refused_types)]
        if len(made) >= _MOST_MADE or not bodies:
            _delete_made_keys(registrar, made)
            made = []


def _register_once_more(
    registrar: Registrar, bodies: Sequence[dict[str, Any]], neighbours: Sequence[Send]
) -> list[Exchange]:
    """Send a registration with each of these bodies, and return the answers.

    The first ones go alone, each right after one of the neighbours. Those without a neighbour go at the same time.
    """
    answers = []
    for body, send_neighbour in zip(bodies, neighbours, strict=False):  # there may be fewer neighbours than bodies
        send_neighbour()
        answers.append(registrar.register(body, Registering.ONCE_MORE))
    bodies_left = bodies[len(answers) :]
    sends = [partial(registrar.register, body, Registering.ONCE_MORE) for body in bodies_left]
    return answers + registrar.together.send_all(sends)


def _delete_made_keys(registrar: Registrar, registrations: list[Exchange]) -> None:
    """Delete RANDOM keys, whose values the service made.

    The first one is deleted alone: for this a list of keys is read, which tells the values of all of them.
    """
    for registration in registrations[:1]:
        registrar.delete_key_of(registration)
    registrar.delete_keys_of(registrations[1:])


def _bodies_to_send_again(registrar: Registrar) -> list[dict[str, Any]]:
    """For each key type that needs more answers, the body of a registration whose key was deleted again.

    Off a sandbox only synthetic keys.
    """
    bodies: dict[str, dict[str, Any]] = {}
    for answer in filter(registered, registrations_of_free_keys(registrar.log)):
        body = body_sent(answer)
        is_permitted = registrar.profile.is_sandbox or key_sent(answer).startswith(SYNTHETIC_PREFIX)
        if is_permitted and registrar.is_deleted(answer) and _needs_more_answers(registrar.log, body):
            bodies.setdefault(body["pixKeyType"], body)
    return list(bodies.values())


def _needs_more_answers(log: Log, body: Mapping[str, Any], refused_types: Container[str] = ()) -> bool:
    """True if the log has too few registrations of the key type in this body, and the type was not just refused.

    Registrations that were refused count, too. `refused_types` are the types that the last round of registrations
    refused: they are not sent again.
    """
    key_type = body["pixKeyType"]
    if key_type in refused_types:
        return False
    same_type = [answer for answer in registrations_of_free_keys(log) if type_sent(answer) == key_type]
    enough = _ENOUGH_RANDOM if key_type == "RANDOM" else ENOUGH_ANSWERS
    return len(same_type) < enough


def _clean_up(scene: _Scene) -> None:
    """Delete the keys that are left."""
    scene.registrar.clean_up()


def _learn_keys_that_were_refused_and_registered(scene: _Scene) -> None:
    """Find keys in the lists that the service registered although it refused, so that they can be deleted.

    Their values are learned from the lists. If no registration was accepted, a note for the report says that the list
    shows a refused key.
    """
    registrar = scene.registrar
    lists = KeyLists(registrar.log, registrar.profile)
    effects = [*lists.effects_of_refusals(), *lists.effects_without_a_token()]
    if effects and not accepted_registrations(registrar.log):
        _note_that_a_refused_key_is_listed(registrar, effects[0].exchange)
    for effect in effects:  # an effect is a refused registration whose key is listed after it
        # If the key is not surely registered, the run does not take it for its own, and so does not delete it.
        key = registrar.keys.key_of(effect.exchange) if effect.is_certain else None
        if key is None:
            continue
        if key.value is not None or registrar.keys.may_tell_random_by_lists:
            registrar.keys.learn_value(key, effect.key)


def _note_that_a_refused_key_is_listed(registrar: Registrar, exchange: Exchange) -> None:
    """Leave a note for the report: somebody has to look whether the key of this exchange is registered."""
    text = say(
        "a registration was answered {answer} (exchange {number}), and the list shows its key: look whether it is "
        "registered",
        answer=answer_in_words(exchange),
        number=exchange.number,
    )
    registrar.client.door.note(NoteAbout.SET_UP, text)


def _ask_why_types_are_refused(scene: _Scene) -> None:
    """Send changed registrations for each key type that is refused, to see what the service expects instead."""
    send_refused_types_again(scene.registrar)


_STEPS: tuple[Callable[[_Scene], None], ...] = (
    _register_synthetic_key,  # first, because an account may have room for one more
    _send_keys_without_a_token,
    _send_other_schemes,
    _prepare_for_valid_registrations,
    _register_keys_of_the_profile,
    _send_other_name_of_random,
    _send_undocumented_types,
    _send_without_a_type,  # after the empty type, whose answer decides whether it is sent
    _register_keys_at_once,  # after each key was registered alone
    _send_remaining_wrong_tokens,
    _send_other_spellings,
    _register_random_keys,  # late, because a key that the service made may be beyond deletion
    _register_until_enough,  # after one key of each type was registered alone
    _clean_up,
    _learn_keys_that_were_refused_and_registered,
    _clean_up,
    _ask_why_types_are_refused,  # when all types were tried
    _clean_up,
)
"""The steps of the scenario, in their order. Each deletes the keys that it registered, if the profile lets it."""


# -- registrations that must be refused, or may be refused --------------------------------------------------------


def _with_synthetic_keys(registrar: Registrar, requests: list[UnauthorizedRequest]) -> list[_Attempt]:
    """For each of these unauthorized requests, an attempt to register a new synthetic key with it."""
    return [_Attempt(registrar.synthetic_key(), request.credential, request.spelling) for request in requests]


def _send_and_delete(
    registrar: Registrar, purpose: Registering, attempts: Sequence[_Attempt], *, with_companions: bool = False
) -> None:
    """Send registrations that must be refused, or may be refused, at the same time. Delete the keys that are granted.

    If `with_companions`, each leaves at the same moment as a valid request that does nothing. After some purposes the
    list of keys is read before the deletion.
    """
    sends: list[Send] = []
    for attempt in attempts:
        key = attempt.key_or_body
        token_and_spelling = {"credential": attempt.credential, "spelling": attempt.spelling}
        sends.append(partial(registrar.register, key, purpose, valid=False, **token_and_spelling))
    if with_companions:
        answers = registrar.together.send_each_with_a_companion(_REGISTER, *sends)
    else:
        answers = registrar.together.send_all(sends)
    sent_registrations = [answer for answer in answers if answer.number]  # 0: limits.wrong_tokens kept it back
    if purpose in _LISTS_ARE_READ_AFTER:
        _read_lists_after_granted(registrar, sent_registrations)
    registrar.delete_keys_of(sent_registrations)


# -- registrations that must be accepted --------------------------------------------------------------------------


def _register_and_delete(
    registrar: Registrar, key: PixKey, requests_to_send: Callable[[], list[UnauthorizedRequest]]
) -> bool:
    """Register a key twice, and delete it. Returns True if it is deleted, and the key is free again.

    `requests_to_send` returns unauthorized requests. It is called only if the first registration is granted. They go
    between the two registrations: with the key itself if a request says so, else with a synthetic key.
    """
    was_list_readable = registrar.last_list is not None
    seems_free = registrar.keys.seems_free(key.key)
    purpose = Registering.FIRST_TIME if seems_free else Registering.PERHAPS_REGISTERED
    first_answer = registrar.register(key, purpose)
    if registered(first_answer):
        for request in requests_to_send():
            is_for_this_key = FOR_A_REGISTERED_KEY in request.spelling
            named_key = key if is_for_this_key else registrar.synthetic_key()
            attempt = _Attempt(named_key, request.credential, request.spelling)
            _send_and_delete(registrar, Registering.WITHOUT_A_TOKEN, [attempt])
        registrar.read_key_list()
        registrar.register(key, Registering.SECOND_TIME)
    elif was_list_readable:
        _read_lists_after_refusal(registrar, first_answer)
    is_deleted = registrar.delete_key_of(first_answer)
    return is_deleted and registrar.keys.seems_free(key.key)


def _register_and_delete_at_once(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register keys at the same time that were registered one after the other before, and delete them.

    If the run may read lists, a read leaves at the same moment as the first registration. The two lists that are read
    later show whether a key was lost.
    """
    together = registrar.together
    sends: list[Send] = [partial(registrar.register, key, Registering.BESIDE_OTHERS) for key in keys]
    if sends and registrar.may_read_list:
        purpose = KeyListing.BESIDE_A_REGISTRATION
        read = partial(registrar.client.send, "listPixKeys", registrar.account, valid=True, purpose=purpose)
        sends = [*together.pair_at_same_moment(read, sends[0]), *sends[1:]]
    together.send_all(sends)
    answers = registrar.log.of(_REGISTER, Registering.BESIDE_OTHERS)
    _read_lists_after_granted(registrar, answers)
    registrar.delete_keys_of(answers)


def _register_random(registrar: Registrar, key: PixKey) -> Text:
    """Ask for a RANDOM key with different bodies, until one is not refused, and delete the key.

    The interface document does not show how such a key is asked for. Returns an empty text; or, if nothing more may be
    sent because a key of unknown value is left, the reason.
    """
    for body in _bodies_for_random(registrar, key):
        listing = registrar.read_key_list()  # first: it may show that a key of unknown value is gone
        if registrar.holds_an_unknown_key():
            list_tells_the_value = registrar.profile.key_at is not None
            return FORGET_KEY.of(name=name_for_commands(registrar.profile)) if list_tells_the_value else UNKNOWN_KEY
        answer = registrar.register(body, Registering.FIRST_TIME)
        if listing is not None:
            _read_lists_after_refusal(registrar, answer)
        registrar.delete_key_of(answer)
        if not is_refused_outright(answer):
            break
    return ""


def _bodies_for_random(registrar: Registrar, key: PixKey) -> list[dict[str, Any]]:
    """Bodies that may ask for a RANDOM key: with pixKey as the profile has it, with a UUID, and without pixKey."""
    body = registration_body(key, registrar.account)
    body_with_uuid = {**body, "pixKey": str(uuid4())}
    body_without_key = {name: value for name, value in body.items() if name != "pixKey"}
    return [body, body_with_uuid, body_without_key]


# -- lists that are read after registrations ----------------------------------------------------------------------


def _read_lists_after_refusal(registrar: Registrar, exchange: Exchange) -> None:
    """Read the list twice if a registration was refused, because the list may show the key nevertheless."""
    if refusal_or_failure(exchange) in REFUSALS:
        registrar.read_key_list()
        registrar.read_key_list()


def _read_lists_after_granted(registrar: Registrar, registrations: list[Exchange]) -> None:
    """Read the list twice if one of the registrations was granted, and an earlier list showed an accepted key."""
    granted = [exchange.number for exchange in registrations if registered(exchange)]
    lists = KeyLists(registrar.log, registrar.profile)
    if granted and lists.have_shown_an_accepted_key(before=min(granted)):
        registrar.read_key_list()
        registrar.read_key_list()
