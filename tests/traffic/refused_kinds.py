"""Why a documented kind of key is refused: what else would be accepted, and whether the refusal is surely wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace

from environments.profiles.profile import PixKey
from spec.answers import RefusalKind, refusal_kind, registered
from spec.exchange import Exchange, Request
from spec.rules import Judgement, deviates, holds, inconclusive
from tests.traffic.existence import indistinguishable
from tests.traffic.extras import Alternative, alternatives
from tests.traffic.registrar import RETRY_WAITS_S, Registrar, is_refused_outright, is_understood

MOST_EXPLAINED = 2
"""For how many refused kinds it is tried what else would be accepted; for the others, only what helped before."""
CONTROLS = (True, True, False, True, False)
"""After a difference helped: whether the documented body is sent, or the one with the difference."""


def explained(registrar: Registrar, key: PixKey) -> Judgement:
    """Whether a documented kind is accepted; where it is refused, whether that is surely wrong."""
    tried = [answer for answer in registrar.found.fresh if kind_sent(answer) == key.type]
    understood = [answer for answer in tried if is_understood(answer)]
    understood += [answer for answer in registrar.found.effects if kind_sent(answer) == key.type]
    if understood:
        return holds(*understood[:1])
    if not any(is_refused_outright(answer) for answer in tried):
        return inconclusive(f"no {key.type} key was registered: {tried[-1].summary}", *tried[-1:])
    registrar.explained += 1
    broken = _broken_otherwise(registrar, key, tried[-1])
    if broken == f"registerPixKey.pixKeyType.{key.type}":
        return registrar.found.broken[broken]
    if broken:
        return inconclusive(f"refused, which {broken} answers for", *tried[-1:])
    return _refused_between(registrar, key)


def _broken_otherwise(registrar: Registrar, key: PixKey, refusal: Exchange) -> str:
    """The row that explains the refusal: a request with one difference is accepted, and the good one refused again.

    Empty where no difference helps, or none is seen to decide.
    """
    worth_trying = alternatives(key, registrar.account, refusal)
    if registrar.explained > MOST_EXPLAINED:
        worth_trying = (each for each in worth_trying if each.what in registrar.helped)
    for alternative in worth_trying:
        if _accepted_without(registrar, key, alternative):
            continue
        exchange = registrar.try_alternative(alternative)
        if not registered(exchange):
            continue
        free = registrar.settle(exchange, key) or key.type == "RANDOM"
        if not _helps_for_sure(registrar, key, alternative, refusal, free=free):
            return ""
        registrar.helped.add(alternative.what)
        registrar.found.broken[alternative.row] = deviates(
            f"a {key.type} key is refused as documented and accepted with {alternative.what}", refusal, exchange
        )
        return alternative.row
    return ""


def _helps_for_sure(
    registrar: Registrar, key: PixKey, alternative: Alternative, refusal: Exchange, *, free: bool
) -> bool:
    """Whether the difference decides, and not the moment: an account may be busy right after a registration.

    Where the key could not be deleted, the documented body is refused on and on, and for the same reason.
    """
    if not free:
        return _refused_on_and_on(registrar, key, refusal)
    for documented in CONTROLS:
        exchange = registrar.register(key) if documented else registrar.try_alternative(alternative)
        registrar.settle(exchange, key)
        if registered(exchange) is documented:
            return False
    return True


def _refused_on_and_on(registrar: Registrar, key: PixKey, refusal: Exchange) -> bool:
    for wait in (0.0, *RETRY_WAITS_S):
        time.sleep(wait)
        if not indistinguishable(registrar.register(key), refusal):
            return False
    return True


def _accepted_without(registrar: Registrar, key: PixKey, alternative: Alternative) -> bool:
    """Whether the body without the difference is accepted, so that the difference shows nothing."""
    if alternative.unless is None:
        return False
    without = registrar.try_alternative(replace(alternative, body=alternative.unless))
    registrar.settle(without, key)
    return registered(without)


def _refused_between(registrar: Registrar, key: PixKey) -> Judgement:
    """The kind is refused wrongly where another one is accepted before it and again after it.

    A key that the list shows is refused because it is there; that keys of its kind can be registered is seen then.
    """
    before = [answer for answer in registrar.found.accepted if kind_sent(answer) != key.type]
    control = next((answer for answer in before if registrar.deletes or kind_sent(answer) == "RANDOM"), None)
    refused = _refused_again(registrar, key, RETRY_WAITS_S if control else ())
    if is_understood(refused):
        registrar.settle(refused, key)
        return holds(refused)
    unsure = inconclusive(f"refused ({refused.summary}), which may have another reason", refused)
    refusal = refusal_kind(refused.response) if refused.response else None
    if refusal not in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE) or control is None:
        return unsure
    if registrar.lists(key):
        return holds(refused)
    after = registrar.register_again(control)
    if not registered(after):
        return unsure
    message = f"{refused.summary} for a key of the type {key.type}; {kind_sent(control)} is accepted before and after"
    return deviates(message, refused, control, after)


def _refused_again(registrar: Registrar, key: PixKey, waits: Sequence[float]) -> Exchange:
    """The registration once more, and after each wait, until it is understood."""
    exchange = registrar.register(key)
    for wait in waits:
        if is_understood(exchange):
            break
        time.sleep(wait)
        exchange = registrar.register(key)
    return exchange


def kind_sent(exchange: Exchange) -> str:
    return str(json.loads(exchange.request.body)["pixKeyType"])


def most_explained(keys: Sequence[PixKey], account: str) -> int:
    """How many registrations explain refused key types at most. A refusal may name fields, which are tried in three
    ways, and two members may be numbers."""
    refusal = Exchange(0, "registerPixKey", Request("POST", "", ()))
    tried = list(alternatives(keys[0], account, refusal))
    differences = len(tried) + sum(each.unless is not None for each in tried) + 5
    in_the_end = 1 + len(RETRY_WAITS_S) + 1
    return MOST_EXPLAINED * differences + (3 * MOST_EXPLAINED + len(CONTROLS) + in_the_end) * len(keys)
