"""Key types that the service refuses at times, although it registers the same key before and after.

One server of several may not know a documented key type, such as CNPJ. Then some registrations of this type are
accepted, and others are refused because of their content (422, for example).

A conforming service may also refuse a registration for a while: the account is busy or full, or a deletion takes a
moment. So the run registers and deletes two keys in turn: a key of the type that was refused, and a key of another
type, the control key. A refusal counts only under all of these conditions:

- No other request of the run was under way.
- The service accepted the control key each time, so the account takes keys.
- The service accepted the same registration before it and after it, so nothing in the registration is the reason.
- The answer differs from the answers to keys that are registered already.
- There are two such refusals, because a single one may be an accident.

RANDOM is left out except on a sandbox: the service makes these keys, and an account may have few of them. On a sandbox,
a list must show before each further registration that the last RANDOM key is gone.

`registration.py` calls `repeat_types_refused_at_times` when each type was registered a few times. It is called once
more at the end of the run, because the registrations of drawn sequences may be the first ones that the service refuses.
`refused_types.py` asks for the judgement.
"""

from __future__ import annotations

from dataclasses import dataclass

from spec.answers import RefusalKind, answer_in_words, refusal_or_failure, registered
from spec.exchange import Exchange
from spec.findings import Judgement, deviates, finding
from spec.interface import SYNTHETIC_PREFIX
from spec.log import Log
from tests.traffic.keys.purposes import (
    PURPOSES_OF_FREE_KEYS,
    REGISTER,
    Registering,
    body_sent,
    is_answered_like_registered_keys,
    key_sent,
    registrations_of_free_keys,
    type_sent,
)
from tests.traffic.keys.registrar import Registrar
from tests.traffic.scenario import Traffic, scenario

_FEWEST_REFUSALS = 2
"""Smallest number of refusals that counts, because a single one may be an accident."""
_REFUSALS_OF_A_TYPE = (RefusalKind.CONTENT, RefusalKind.ENVELOPE)
"""Refusals that may be about the key type: a 400 or 422, or a 200 with a code in the envelope that is not 0. A 404 is
not among them, because one server of several may not know the path: another requirement is about that."""
_MOST_TURNS = 20
"""Most times that both keys are registered in turn. If one server of three refuses the type, 199 runs of 200 see two
refusals among so many answers, and an accepted registration after them."""
_TURNS_AFTER_A_DOUBTFUL_REFUSAL = 8
"""Turns after which the run gives up if none of them was refused, and if all earlier refusals are doubtful: many
conforming services refuse a request while another one is under way, or a key that is registered already."""


# -- what is sent ---------------------------------------------------------------------------------------------------


@scenario(serves=["registerPixKey.pixKeyType.*"], needs="register-keys")
def repeat_types_refused_at_the_end(traffic: Traffic) -> None:
    """For each key type that was accepted and also refused until the end of the run, register its key once more.

    Types of which two refusals are known already are left out.
    """
    if traffic.profile.accounts and traffic.may_send_to(REGISTER):
        repeat_types_refused_at_times(traffic, Registrar(traffic.client, traffic.profile))


def repeat_types_refused_at_times(traffic: Traffic, registrar: Registrar) -> None:
    """For each key type that was accepted and also refused, register its key and the control key in turn.

    The control key is of another type, and shows that the account takes keys now. A type is left out if no selected
    requirement says that it is accepted. Nothing is sent if the run may not delete keys.
    """
    if not registrar.may_delete_keys:
        return
    for of_the_type in _accepted_of_types_refused_at_times(registrar):
        key_type = type_sent(of_the_type)
        is_selected = traffic.selection.includes_any(f"registerPixKey.pixKeyType.{key_type}")
        is_proved = _has_enough_refusals(registrar.log, key_type)
        control = _accepted_of_another_type(registrar, key_type)
        if is_selected and not is_proved and control is not None:
            _register_in_turn(registrar, of_the_type, control)


def _register_in_turn(registrar: Registrar, of_the_type: Exchange, control: Exchange) -> None:
    """Register and delete the control key, and then a key of the type that is refused at times, up to twenty times.

    The control key is of another type, and shows that the account takes keys now. `of_the_type` and `control` are
    earlier registrations of the two keys, which the service accepted. The turns end early in these cases:

    - The control key is refused, or a key cannot be deleted.
    - Two refusals count (`_refused_between_accepted`).
    - The first eight turns have no refusal, and every earlier refusal is doubtful (`_types_that_were_refused`). Then
      the account was probably just busy.
    """
    key_type = type_sent(of_the_type)
    was_refused_alone = key_type in _types_that_were_refused(registrar.log, alone=True)
    number_of_refusals = 0
    for number_of_turns in range(_MOST_TURNS):
        is_doubtful = not was_refused_alone and not number_of_refusals
        if is_doubtful and number_of_turns == _TURNS_AFTER_A_DOUBTFUL_REFUSAL:
            return
        answer_of_control = registrar.register(body_sent(control), Registering.CONTROL_OF_A_TYPE)
        control_is_free = registrar.delete_key_of(answer_of_control)
        if not registered(answer_of_control) or not control_is_free:
            return
        answer = registrar.register(body_sent(of_the_type), Registering.TYPE_ONCE_MORE)
        key_is_free = registrar.delete_key_of(answer)
        if _may_refuse_the_type(answer):
            number_of_refusals += 1
        if not key_is_free or _may_be_listed(registrar, answer) or _has_enough_refusals(registrar.log, key_type):
            return


def _may_be_listed(registrar: Registrar, registration: Exchange) -> bool:
    """True if a list perhaps still shows a RANDOM key after its deletion. Reads the list.

    An account may have one RANDOM key only. If a service deletes a key some time after its answer, it may refuse the
    next one because of that. Keys of other types are compared with the answers to registered keys instead.
    """
    if type_sent(registration) != "RANDOM" or not registered(registration):
        return False
    listing = registrar.read_key_list()
    key = registrar.keys.key_of(registration)
    if listing is None or key is None or key.value is None:
        return True
    return listing.shows(key.value)


def _accepted_of_types_refused_at_times(registrar: Registrar) -> list[Exchange]:
    """For each key type that the service accepted and also refused, an accepted registration that can be sent again."""
    log = registrar.log
    refused_types = _types_that_were_refused(log)
    accepted_by_type: dict[str, Exchange] = {}
    for exchange in (*registrations_of_free_keys(log), *log.of(REGISTER, Registering.AFTER_A_REFUSAL)):
        if type_sent(exchange) in refused_types and _can_be_sent_again(registrar, exchange):
            accepted_by_type.setdefault(type_sent(exchange), exchange)
    return list(accepted_by_type.values())


def _types_that_were_refused(log: Log, *, alone: bool = False) -> set[str]:
    """The key types of which the service refused a registration, perhaps because of the type.

    Refusals of these registrations are doubtful. If `alone` is true, they do not count:

    - Registrations beside another request, because the account may have been busy.
    - Registrations of a key that is registered already, even if other such keys are answered in another way.
    - Registrations of drawn sequences, because a sequence registers a key in unusual situations.

    They prove nothing, but such a type is worth more requests.
    """
    refused_types = set()
    # `attempts` has every registration. If the run sent one again because of a doubtful answer, `log.of` has the second
    # one only.
    for exchange in log.attempts(REGISTER):
        if not exchange.valid or not _may_refuse_the_type(exchange) or is_answered_like_registered_keys(exchange, log):
            continue
        is_certain = exchange.was_alone and exchange.purpose in PURPOSES_OF_FREE_KEYS
        if is_certain or not alone:
            refused_types.add(type_sent(exchange))
    return refused_types


def _accepted_of_another_type(registrar: Registrar, key_type: str) -> Exchange | None:
    """An accepted registration of another key type that can be sent again, to see whether the account takes keys.

    If possible, it is of a type that the service never refused. It is never a RANDOM key, because an account may have
    few of them. None if no other type was accepted.
    """
    refused_types = _types_that_were_refused(registrar.log)
    of_refused_types: list[Exchange] = []
    for exchange in registrations_of_free_keys(registrar.log):
        if type_sent(exchange) in (key_type, "RANDOM") or not _can_be_sent_again(registrar, exchange):
            continue
        if type_sent(exchange) not in refused_types:
            return exchange
        of_refused_types.append(exchange)
    return next(iter(of_refused_types), None)


def _may_refuse_the_type(registration: Exchange) -> bool:
    """True if the service refused a registration in a way that may be about its key type, such as with a 422."""
    return refusal_or_failure(registration) in _REFUSALS_OF_A_TYPE


def _can_be_sent_again(registrar: Registrar, exchange: Exchange) -> bool:
    """True if a registration was accepted, its key is deleted, and the run may register this key again.

    Outside a sandbox the key must be made up (synthetic), because other keys belong to somebody. RANDOM keys are left
    out there, too, because the service makes another key each time.
    """
    is_permitted = registrar.profile.is_sandbox or key_sent(exchange).startswith(SYNTHETIC_PREFIX)
    return is_permitted and registered(exchange) and registrar.is_deleted(exchange)


# -- what the answers show ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turn:
    """Two registrations that the run sent one after the other: of the control key, and of a key of the judged type."""

    control: Exchange
    """The registration of the control key, which is of another type. The service accepted it."""
    of_the_type: Exchange
    """The registration of the key whose type was refused before, accepted or refused."""


def deviation_if_type_is_refused_at_times(log: Log, key_type: str) -> Judgement | None:
    """The deviation of a service that refuses a documented key type at times; None if fewer than two refusals count.

    A refusal counts if the service accepted the same registration before and after it, and if it accepted a key of
    another type right before it, so that the account takes keys.
    """
    refused = _refused_between_accepted(log, key_type)
    if len(refused) < _FEWEST_REFUSALS:
        return None
    turns = _turns_of(log, key_type)
    accepted = next(turn.of_the_type for turn in turns if registered(turn.of_the_type))
    breach = finding(
        "key-type-refused-at-times",
        name=key_type,
        answer=answer_in_words(refused[0]),
        number=len(refused),
        compared=len(turns),
        other=type_sent(turns[0].control),
    )
    return deviates(breach, *refused, accepted)


def _has_enough_refusals(log: Log, key_type: str) -> bool:
    """True if two refusals of a key type count, so that the service refuses the type at times."""
    return len(_refused_between_accepted(log, key_type)) >= _FEWEST_REFUSALS


def _refused_between_accepted(log: Log, key_type: str) -> list[Exchange]:
    """The refusals of a key type that count: the service accepted the same registration before and after them.

    The one before may also be the earlier registration that is sent again in the turns.
    """
    answers = [turn.of_the_type for turn in _turns_of(log, key_type)]
    if not any(map(registered, answers)):
        return []
    same_before = [answer for answer in registrations_of_free_keys(log) if body_sent(answer) == body_sent(answers[0])]
    numbers_of_accepted = [answer.number for answer in (*same_before, *answers) if registered(answer)]
    first_accepted, last_accepted = min(numbers_of_accepted), max(numbers_of_accepted)
    refused_in_between: list[Exchange] = []
    for answer in answers:
        is_in_between = first_accepted < answer.number < last_accepted
        # Such a key may still be registered, because a deletion may take a moment.
        may_be_registered = is_answered_like_registered_keys(answer, log)
        if is_in_between and _may_refuse_the_type(answer) and not may_be_registered:
            refused_in_between.append(answer)
    return refused_in_between


def _turns_of(log: Log, key_type: str) -> list[_Turn]:
    """The turns in which a key of this type was registered right after the control key, in the order of sending.

    The control key is a key of another type. It is registered first to show that the account takes keys now: then a
    refusal of the second key may be about its type. A turn is left out if the service refused the control key, or if
    another request was under way.
    """
    turns: list[_Turn] = []
    control = None  # the registration right before, if it was that of the control key
    for exchange in log.of(REGISTER, Registering.CONTROL_OF_A_TYPE, Registering.TYPE_ONCE_MORE):
        if exchange.purpose is Registering.CONTROL_OF_A_TYPE:
            control = exchange
            continue
        if control is not None and type_sent(exchange) == key_type:
            were_alone = control.was_alone and exchange.was_alone
            if were_alone and registered(control):
                turns.append(_Turn(control, exchange))
        control = None
    return turns
