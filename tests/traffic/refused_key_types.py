"""Whether a documented key type is accepted, and where it is refused, whether that is surely wrong.

What the answers show is decided by one table, which names the question that comes next where they do not decide. The
questions below it send registrations until the table decides.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from environments.door.request_texts import key_sent
from environments.door.run_keys import KeyState
from environments.profiles.profile import PixKey
from spec.answers import RefusalKind, refusal_kind, registered
from spec.exchange import Exchange
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.message import Message, joined, say
from tests.traffic.endpoint_evidence import indistinguishable
from tests.traffic.extras import Alternative, alternatives
from tests.traffic.registered import is_refused_outright, is_understood
from tests.traffic.registrar import RETRY_WAITS_S, UNKNOWN_KEY, Registrar

MOST_EXPLAINED = 2
"""For how many refused key types it is tried what else would be accepted; for the others, only what helped before."""
CONTROLS = (True, True, False, True, False)
"""After a difference helped: whether the documented body is sent, or the one with the difference."""


class Question(Enum):
    """What must be asked before the evidence decides."""

    DIFFERENCE = "is a registration with one difference accepted?"
    AGAIN = "is the documented registration refused again, after a while?"
    LISTED = "is the key registered already?"
    CONTROL = "is a key of another type still accepted?"


@dataclass(frozen=True)
class KeyTypeEvidence:
    """What a run knows of one key type; None stands for what was not asked yet.

    `tried` are the first registrations, `effects` those that were refused and listed nevertheless. `broken` is the
    requirement whose breach explains the refusal, empty where none does, and `breach` says how it is broken. `again` is
    the last registration, `mentioned`: the list has the key elsewhere than key_at, `accepted` one of another type, and `accepted_again` the same after it.
    """

    key_type: str
    tried: tuple[Exchange, ...]
    effects: tuple[Exchange, ...] = ()
    accepted: Exchange | None = None
    broken: str | None = None
    breach: Judgement | None = None
    again: Exchange | None = None
    listed: bool | None = None
    mentioned: bool = False
    accepted_again: Exchange | None = None

    @property
    def understood(self) -> tuple[Exchange, ...]:
        """Registrations that show that the type is understood."""
        again = (self.again,) if self.again else ()
        return (*(seen for seen in (*self.tried, *again) if is_understood(seen)), *self.effects)[:1]

    @property
    def last(self) -> Exchange:
        """The last registration."""
        return self.again or self.tried[-1]

    @property
    def refused_for_its_type(self) -> bool:
        """Whether the last refusal may be about the type."""
        kind = refusal_kind(self.last.response) if self.last.response else None
        return kind in (RefusalKind.CONTENT, RefusalKind.MEDIA_TYPE)


def _unsure(seen: KeyTypeEvidence) -> Judgement:
    refused = say("refused ({answer}), which may have another reason", answer=say(seen.last.summary))
    return inconclusive(joined((refused, _remedy(seen))), seen.last)


def _remedy(seen: KeyTypeEvidence) -> Message:
    return say("where the account may have no such key, set not_for_this_account: [{type}]", type=seen.key_type)


def _refused_wrongly(seen: KeyTypeEvidence) -> Judgement:
    assert seen.accepted is not None
    assert seen.accepted_again is not None
    found = finding(
        "key-type-refused",
        name=seen.key_type,
        answer=say(seen.last.summary),
        other=type_sent(seen.accepted),
        remedy=_remedy(seen),
    )
    return deviates(found, seen.last, seen.accepted, seen.accepted_again)


_TABLE: Sequence[tuple[Callable[[KeyTypeEvidence], object], Question | Callable[[KeyTypeEvidence], Judgement]]] = (
    (lambda seen: seen.understood, lambda seen: holds(*seen.understood)),
    (
        lambda seen: not any(map(is_refused_outright, seen.tried)),
        lambda seen: inconclusive(
            say("no {type} key was registered: {answer}", type=seen.key_type, answer=say(seen.last.summary)), seen.last
        ),
    ),
    (lambda seen: seen.broken is None, Question.DIFFERENCE),
    (lambda seen: seen.breach, lambda seen: seen.breach or _unsure(seen)),
    (
        lambda seen: seen.broken,
        lambda seen: inconclusive(
            say("refused, which {requirement} answers for", requirement=str(seen.broken)), seen.last
        ),
    ),
    (lambda seen: seen.again is None, Question.AGAIN),
    (lambda seen: not seen.refused_for_its_type or seen.accepted is None, _unsure),
    (lambda seen: seen.listed is None, Question.LISTED),
    (lambda seen: seen.listed, lambda seen: holds(seen.last)),
    (lambda seen: seen.mentioned, _unsure),
    (lambda seen: seen.accepted_again is None, Question.CONTROL),
    (lambda seen: seen.accepted_again and not registered(seen.accepted_again), _unsure),
    (lambda seen: True, _refused_wrongly),
)
"""What evidence says of the requirement, or what must be asked next. The first line that applies counts."""


def conclude(evidence: KeyTypeEvidence) -> Judgement | Question:
    """Whether the key type is accepted, or what must be asked first."""
    result = next(result for applies, result in _TABLE if applies(evidence))
    return result if isinstance(result, Question) else result(evidence)


# -- the questions ----------------------------------------------------------------------------------------------


def was_tried(registrar: Registrar, key_type: str) -> bool:
    """Whether a key of the type was sent in a documented registration."""
    return any(type_sent(seen) == key_type for seen in registrar.found.fresh)


def explain(registrar: Registrar, key: PixKey) -> Judgement:
    """Find out whether the type of the key is accepted."""
    found = registrar.found
    others = [answer for answer in found.accepted if type_sent(answer) != key.type]
    evidence = KeyTypeEvidence(
        key.type,
        tuple(answer for answer in found.fresh if type_sent(answer) == key.type),
        tuple(answer for answer in found.effects if type_sent(answer) == key.type),
        next((answer for answer in others if _may_be_sent_again(registrar, answer)), None),
    )
    while isinstance(concluded := conclude(evidence), Question):
        if key.type == "RANDOM" and registrar.holds_an_unknown_key():
            return inconclusive(UNKNOWN_KEY)
        evidence = _QUESTIONS[concluded](registrar, key, evidence)
    return concluded


def _may_be_sent_again(registrar: Registrar, answer: Exchange) -> bool:
    """Whether the key that it registered was deleted, or the service makes another one."""
    sent, _ = key_sent(answer.request.body)
    if sent is None:
        return not registrar.keys.holds_an_unknown_key(registrar.account)
    return registrar.keys.state(sent) is KeyState.GONE


def _seek_a_difference(registrar: Registrar, key: PixKey, evidence: KeyTypeEvidence) -> KeyTypeEvidence:
    """Register with one difference after the other, until one is accepted that is not accepted without it."""
    registrar.explained += 1
    for alternative in alternatives(key, registrar.account, evidence.last):
        if registrar.explained > MOST_EXPLAINED and alternative.what not in registrar.helped:
            continue
        if alternative.unless is not None:
            without = registrar.try_alternative(replace(alternative, body=alternative.unless))
            registrar.undo(without)
            if registered(without):
                continue
        exchange = registrar.try_alternative(alternative)
        if registered(exchange):
            return _confirm(registrar, key, alternative, evidence, exchange)
    return replace(evidence, broken="")


def _confirm(
    registrar: Registrar, key: PixKey, alternative: Alternative, evidence: KeyTypeEvidence, accepted: Exchange
) -> KeyTypeEvidence:
    """Register on, to see that the difference decides and not the moment: an account may be busy right after a
    registration. Where the key could not be deleted, the documented body is to be refused on and on."""
    if registrar.undo(accepted) or (
        key.type == "RANDOM" and not registrar.keys.holds_an_unknown_key(registrar.account)
    ):
        decides = _alternate(registrar, key, alternative)
    else:
        decides = all(indistinguishable(again, evidence.last) for again in _register_on_and_on(registrar, key))
    if not decides:
        return replace(evidence, broken="")
    breach = deviates(finding("key-needs-more", name=key.type, what=say(alternative.what)), evidence.last, accepted)
    registrar.helped.add(alternative.what)
    registrar.found.broken[alternative.requirement] = breach
    own = alternative.requirement == f"registerPixKey.pixKeyType.{key.type}"
    return replace(evidence, broken=alternative.requirement, breach=breach if own else None)


def _alternate(registrar: Registrar, key: PixKey, alternative: Alternative) -> bool:
    """Send the documented body and the other one in turn. True where only the other one is ever accepted."""
    for documented in CONTROLS:
        exchange = registrar.register(key) if documented else registrar.try_alternative(alternative)
        registrar.undo(exchange)
        if registered(exchange) is documented:
            return False
    return True


def _register_on_and_on(registrar: Registrar, key: PixKey) -> Iterator[Exchange]:
    for wait in (0.0, *RETRY_WAITS_S):
        time.sleep(wait)
        yield registrar.register(key)


def _register_again(registrar: Registrar, key: PixKey, evidence: KeyTypeEvidence) -> KeyTypeEvidence:
    """Register once more; where another type is accepted, after each wait, until the type is understood."""
    for exchange in _register_on_and_on(registrar, key):
        if is_understood(exchange) or evidence.accepted is None:
            break
    registrar.undo(exchange)
    return replace(evidence, again=exchange)


def _look(registrar: Registrar, key: PixKey, evidence: KeyTypeEvidence) -> KeyTypeEvidence:
    """Read the list: a key that it shows is refused because it is there, and one that it mentions may wait. An account
    may have only so many keys that a service makes."""
    listing = registrar.look()
    if listing is None:
        return replace(evidence, listed=False)
    if not key.key:
        return replace(evidence, listed=False, mentioned=listing.may_have_made_keys(registrar.keys.values))
    return replace(evidence, listed=listing.shows(key.key), mentioned=listing.mentions(key.key))


def _register_another(registrar: Registrar, key: PixKey, evidence: KeyTypeEvidence) -> KeyTypeEvidence:
    """Send the registration of another type that was accepted once more, and delete its key."""
    assert evidence.accepted is not None
    sent = json.loads(evidence.accepted.request.body)
    other = PixKey(sent["pixKeyType"], sent["pixKey"])
    exchange = registrar.register(other)
    registrar.undo(exchange)
    return replace(evidence, accepted_again=exchange)


_QUESTIONS: Mapping[Question, Callable[[Registrar, PixKey, KeyTypeEvidence], KeyTypeEvidence]] = {
    Question.DIFFERENCE: _seek_a_difference,
    Question.AGAIN: _register_again,
    Question.LISTED: _look,
    Question.CONTROL: _register_another,
}


def type_sent(exchange: Exchange) -> str:
    """The key type that a registration names."""
    return str(json.loads(exchange.request.body)["pixKeyType"])
