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

RANDOM is left out: the service makes these keys, and an account may have few of them.

`registration.py` calls `repeat_types_refused_at_times`, and `refused_types.py` asks for the judgement.
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
from tests.traffic.scenario import Traffic

_FEWEST_REFUSALS = 2
"""Smallest number of refusals that counts, because a single one may be an accident."""
_REFUSALS_OF_A_TYPE = (RefusalKind.CONTENT, RefusalKind.ENVELOPE)
"""Refusals that may be about the key type: a 400 or 422, or a 200 with a code in the envelope that is not 0. A 404 is
not among them, because one server of several may not know the path: another requirement is about that."""
_MOST_TURNS = 16
"""Most times that both keys are registered in turn. If one server of three refuses the type, 69 runs of 70 see two
refusals among so many answers."""
_TURNS_AFTER_A_DOUBTFUL_REFUSAL = 6
"""Turns after which the run gives up if none of them was refused, and if only registrations beside other requests were
refused before: many conforming services refuse a request while another one is under way."""


# -- what is sent ---------------------------------------------------------------------------------------------------


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
        control = _accepted_of_another_type(registrar, key_type)
        if is_selected and control is not None:
            _register_in_turn(registrar, of_the_type, control)


def _register_in_turn(registrar: Registrar, of_the_type: Exchange, control: Exchange) -> None:
    """Register and delete the control key, and then a key of the type that is refused at times, up to sixteen times.

    The control key is of another type, and shows that the account takes keys now. `of_the_type` and `control` are
    earlier registrations of the two keys, which the service accepted. The turns end early in these cases:

    - The control key is refused, or a key cannot be deleted.
    - Two refusals count (`_refused_between_accepted`).
    - The first six turns have no refusal, and every earlier refusal came beside other requests. Then the account was
      probably just busy.
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
        has_enough_refusals = len(_refused_between_accepted(registrar.log, key_type)) >= _FEWEST_REFUSALS
        if not key_is_free or has_enough_refusals:
            return


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

    Only registrations of free keys count, because a key that is registered already is refused for that. A free key is
    one that was not registered before, or that was deleted.

    If `alone` is true, a registration counts only if no other request was under way. Otherwise any refusal counts. A
    refusal beside another request proves nothing, because the account may have been busy. But such a type is worth more
    requests.
    """
    refused_types = set()
    # `attempts` has every registration. If the run sent one again because of a doubtful answer, `log.of` has the second
    # one only.
    for exchange in log.attempts(REGISTER):
        key_was_free = exchange.purpose in PURPOSES_OF_FREE_KEYS
        counts = exchange.was_alone or not alone
        if key_was_free and counts and _may_refuse_the_type(exchange):
            refused_types.add(type_sent(exchange))
    return refused_types


def _accepted_of_another_type(registrar: Registrar, key_type: str) -> Exchange | None:
    """An accepted registration of another key type that can be sent again, to see whether the account takes keys.

    If possible, it is of a type that the service never refused. None if no other type was accepted.
    """
    refused_types = _types_that_were_refused(registrar.log)
    of_refused_types: list[Exchange] = []
    for exchange in registrations_of_free_keys(registrar.log):
        if type_sent(exchange) == key_type or not _can_be_sent_again(registrar, exchange):
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
    out, because the service makes another key each time.
    """
    is_permitted = registrar.profile.is_sandbox or key_sent(exchange).startswith(SYNTHETIC_PREFIX)
    has_fixed_key = type_sent(exchange) != "RANDOM"
    key_is_free_again = registered(exchange) and registrar.is_deleted(exchange)
    return is_permitted and has_fixed_key and key_is_free_again


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


def _refused_between_accepted(log: Log, key_type: str) -> list[Exchange]:
    """The refusals of a key type that count: the service accepted the same registration before and after them."""
    answers = [turn.of_the_type for turn in _turns_of(log, key_type)]
    numbers_of_accepted = [answer.number for answer in answers if registered(answer)]
    if not numbers_of_accepted:
        return []
    first_accepted, last_accepted = numbers_of_accepted[0], numbers_of_accepted[-1]
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
