"""The key registrations of a run: what must be refused, what must be accepted, and why if it is not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import uuid4

from environments.authorization import BAD_CREDENTIALS, OTHER_SCHEMES, is_bad
from environments.client import Client
from environments.door import UnreachableError
from environments.profile import PixKey, Profile, fill
from reports.recording import Finding
from spec.exchange import Exchange
from spec.interface import MARK
from spec.reading import data_of, find, is_refusal, registered, succeeded
from spec.rules import Outcome
from tests.conformance.extras import Alternative, alternatives, registration
from tests.conformance.fingerprint import indistinguishable

UNDOCUMENTED_KINDS = ("EVP", "IBAN", "PASSPORT", "CELLPHONE", f"{MARK}kind")
OTHER_NAME_OF_RANDOM = "EVP"
PATIENCE_S = (0.2, 0.5)
"""How long a deletion that is refused right after the registration is waited with, in all of a run; and a kind that
is refused, where the account may be busy."""
NOTHING_TO_DELETE = (
    "no key was registered whose value is known: supply pix_keys of another kind than RANDOM that can be registered"
)
NUMERIC_KINDS = ("1", "3")
FOR_EVERY_KIND = ("no header", "a wrong token")
ROUNDS = 2
MOST_EXPLAINED = 2
"""For how many refused kinds it is tried what else would be accepted."""
_SENT = {"type": "pixKeyType", "key": "pixKey"}
_PROBED_AGAIN = FOR_EVERY_KIND


@dataclass
class Registrations:
    """What was sent to POST and DELETE /v1/pix/keys/{accountId}, and what came of it."""

    account: str
    answers: list[Exchange] = field(default_factory=list)
    repeated: list[Exchange] = field(default_factory=list)
    fresh: list[Exchange] = field(default_factory=list)
    deletions: list[Exchange] = field(default_factory=list)
    refusals: list[Exchange] = field(default_factory=list)
    other_schemes: list[Exchange] = field(default_factory=list)
    undocumented: list[Exchange] = field(default_factory=list)
    lower_case: list[Exchange] = field(default_factory=list)
    numeric: list[Exchange] = field(default_factory=list)
    kinds: dict[str, Finding] = field(default_factory=dict)
    broken: dict[str, Finding] = field(default_factory=dict)
    missing: str = ""

    @property
    def understood(self) -> list[Exchange]:
        """The good registrations whose kind was understood."""
        return [answer for answer in self.answers if _understood(answer)]

    @property
    def declined(self) -> list[Exchange]:
        """Registration results that were given to a kind that is not documented: a 200 with code 0 and Success."""
        others = (*self.undocumented, *self.lower_case, *self.numeric)
        return [replace(seen, good=True) for seen in others if _carries_result(seen)]

    @property
    def accepted(self) -> list[Exchange]:
        """The good registrations that were granted."""
        return [answer for answer in self.answers if registered(answer)]


class Registrar:
    """Registers and deletes the keys of the profile, and nobody else's."""

    def __init__(self, client: Client, profile: Profile, settled: set[int]) -> None:
        self.client = client
        self.account = profile.accounts[0]
        self.found = Registrations(self.account)
        self.explained = 0
        self._patience = list(PATIENCE_S)
        self._settled = settled
        self._may_list = "read" in profile.allow
        body = profile.requests.get("deletePixKey")
        self._deletion = body.json if body and "delete-keys" in profile.allow else None

    @property
    def deletes(self) -> bool:
        """Whether the profile says how a key is deleted, and permits it."""
        return self._deletion is not None

    def register(self, key: PixKey, **changes: object) -> Exchange:
        """A good registration of the key."""
        body = registration(key, self.account)
        exchange = self.client.send("registerPixKey", self.account, **{"json": body, "good": True, **changes})  # type: ignore[arg-type]
        if changes.get("good", True):
            self.found.answers.append(exchange)
        return exchange

    def register_again(self, accepted: Exchange) -> Exchange:
        """A registration that was accepted before, once more; it is deleted again."""
        key = PixKey(**{name: json.loads(accepted.request.body)[sent] for name, sent in _SENT.items()})
        exchange = self.register(key)
        self.settle(exchange, key)
        return exchange

    def try_alternative(self, alternative: Alternative) -> Exchange:
        """A registration with one difference."""
        return self.client.send(
            "registerPixKey",
            self.account,
            json=alternative.body,
            headers=alternative.headers,
            query=alternative.query,
            content_type=alternative.content_type,
        )

    def settle(self, exchange: Exchange, key: PixKey) -> bool:
        """Delete at once what was registered. Whether nothing is left behind."""
        if not registered(exchange):
            return True
        made = self._key_of(exchange, key)
        if self.deletes and made.key:
            deletion = self.delete(made, good=True)
            while _refused(deletion) and self._patience:
                time.sleep(self._patience.pop(0))
                deletion = self.delete(made, good=True)
            self.found.deletions.append(deletion)
            if not _refused(deletion):
                self._settled.add(exchange.number)
                return True
        return False

    def lists(self, key: PixKey) -> bool:
        """Whether the list of keys, where it may be read, shows the key: its shape is not shown."""
        if not key.key or not self._may_list:
            return False
        listed = self.client.send("listPixKeys", self.account, good=True)
        shown = listed.response.body.decode("utf-8", "replace") if listed.response and succeeded(listed) else ""
        return key.key in shown

    def delete(self, key: PixKey, *, good: bool) -> Exchange:
        """Delete a key as the profile says. `good` where it was registered just now."""
        body = fill(self._deletion, account=self.account, key=key.key, type=key.type)
        return self.client.send("deletePixKey", self.account, json=body, good=good)

    def _key_of(self, exchange: Exchange, key: PixKey) -> PixKey:
        if key.type != "RANDOM" or exchange.response is None:
            return key
        member = find(data_of(exchange.response) or {}, "Key")
        made = member[1] if member and isinstance(member[1], str) else key.key
        return replace(key, key=made)


def register_all(client: Client, profile: Profile, token: str, settled: set[int]) -> Registrations:
    """Send everything that one run sends to the key registration; refusals first."""
    if not profile.accounts or not profile.pix_keys:
        what = "accounts" if not profile.accounts else "pix_keys"
        return Registrations("", missing=f"nothing to register: supply {what}")
    registrar = Registrar(client, profile, settled)
    first = {key.type: key for key in reversed(profile.pix_keys)}
    registrar.found.kinds = {kind: Finding(Outcome.HIDDEN, "not reached") for kind in first}
    with suppress(UnreachableError):  # what was learned until then is judged
        _register(registrar, profile.pix_keys, token)
        for kind, key in first.items():
            registrar.found.kinds[kind] = _explained(registrar, key)
    return registrar.found


def _register(registrar: Registrar, keys: tuple[PixKey, ...], token: str) -> None:
    _undocumented(registrar, keys)
    _without_token(registrar, keys, token)
    free = [key for key in keys if key.type != "RANDOM"]
    for turn in range(ROUNDS if registrar.deletes else 1):
        free = [key for key in free if _good(registrar, key, repeat=turn == 0)]
    _without_token_again(registrar, keys, token)
    _other_spellings(registrar, keys)
    for key in keys:  # last, as a key that the service made may be beyond deletion
        if key.type == "RANDOM":
            _random(registrar, key)


# -- what must be refused ---------------------------------------------------------------------------------------


def _undocumented(registrar: Registrar, keys: Iterable[PixKey]) -> None:
    own = [key for key in keys if key.type != "RANDOM"] or list(keys)
    for index, kind in enumerate(UNDOCUMENTED_KINDS):
        key = own[index % len(own)]
        exchange = registrar.register(replace(key, type=kind), good=False)
        registrar.found.undocumented.append(exchange)
        registrar.settle(exchange, key)
    for key in keys:
        if key.type == "RANDOM":
            exchange = registrar.register(replace(key, type=OTHER_NAME_OF_RANDOM), good=False)
            registrar.found.undocumented.append(exchange)
            registrar.settle(exchange, key)


def _without_token(registrar: Registrar, keys: tuple[PixKey, ...], token: str) -> None:
    rest = [name for name in BAD_CREDENTIALS if name not in FOR_EVERY_KIND]
    probes = [(key, name) for key in keys for name in FOR_EVERY_KIND]
    probes += [(keys[index % len(keys)], name) for index, name in enumerate(rest)]
    _probe(registrar, [(key, name) for key, name in probes if is_bad(name, token)])
    own = next((key for key in keys if key.type != "RANDOM"), keys[0])
    if registrar.deletes:
        for scheme in OTHER_SCHEMES:
            exchange = registrar.register(own, credential=scheme, good=False)
            registrar.found.other_schemes.append(exchange)
            registrar.settle(exchange, own)


def _without_token_again(registrar: Registrar, keys: tuple[PixKey, ...], token: str) -> None:
    """After good registrations, as a service may look at the token of the first request only."""
    free = [key for key in keys if registrar.deletes and key.type != "RANDOM"]
    _probe(registrar, [(free[0], name) for name in _PROBED_AGAIN if free and is_bad(name, token)])


def _probe(registrar: Registrar, probes: Iterable[tuple[PixKey, str]]) -> None:
    for key, name in probes:
        exchange = registrar.register(key, credential=name, good=False)
        registrar.found.refusals.append(exchange)
        registrar.settle(exchange, key)


def _other_spellings(registrar: Registrar, keys: tuple[PixKey, ...]) -> None:
    """Kinds in lower case and as digits: the document does not say that they are refused, nor accepted."""
    own = [key for key in keys if key.type != "RANDOM"]
    if not own or not registrar.deletes:
        return
    lower = registrar.register(replace(own[0], type=own[0].type.lower()), good=False)
    registrar.found.lower_case.append(lower)
    registrar.settle(lower, own[0])
    for kind in NUMERIC_KINDS:
        numeric = registrar.register(replace(own[0], type=kind), good=False)
        registrar.found.numeric.append(numeric)
        registrar.settle(numeric, own[0])


# -- what must be accepted --------------------------------------------------------------------------------------


def _good(registrar: Registrar, key: PixKey, *, repeat: bool) -> bool:
    """Register the key as a new one, and delete it. Whether it may be registered anew."""
    exchange = registrar.register(key)
    may_be_there = _understood(exchange) or _refused_outright(exchange)  # which status says so is not shown
    if not registered(exchange) and registrar.deletes and key.key and may_be_there:
        registrar.delete(key, good=False)
        exchange = registrar.register(key)
    registrar.found.fresh.append(exchange)
    if registered(exchange) and repeat:
        registrar.found.repeated.append(registrar.register(key))
    return registrar.settle(exchange, key)


def _random(registrar: Registrar, key: PixKey) -> None:
    """How a RANDOM key is asked for is not shown: as the profile does, with a UUID, or without pixKey."""
    body = registration(key, registrar.account)
    without = {name: value for name, value in body.items() if name != "pixKey"}
    for form in (body, {**body, "pixKey": str(uuid4())}, without):
        exchange = registrar.register(key, json=form)
        registrar.found.fresh.append(exchange)
        registrar.settle(exchange, replace(key, key=form.get("pixKey", "")))
        if not _refused_outright(exchange):
            return


def _understood(exchange: Exchange) -> bool:
    """Whether the kind is understood: a 409, or a well-formed answer with any Success."""
    if exchange.response is None:
        return False
    return exchange.response.status == 409 or succeeded(exchange)


def _explained(registrar: Registrar, key: PixKey) -> Finding:
    """Whether a documented kind is accepted; where it is refused, whether that is surely wrong."""
    tried = [answer for answer in registrar.found.fresh if _kind_sent(answer) == key.type]
    understood = [answer for answer in tried if _understood(answer)]
    if understood:
        return Finding(Outcome.HOLDS, exchanges=tuple(understood[:1]))
    if not any(_refused_outright(answer) for answer in tried):
        return Finding(Outcome.HIDDEN, f"no {key.type} key was registered: {tried[-1].summary}", tuple(tried[-1:]))
    registrar.explained += 1
    broken = _broken_otherwise(registrar, key, tried[-1]) if registrar.explained <= MOST_EXPLAINED else ""
    if broken:
        return Finding(Outcome.HIDDEN, f"refused, which {broken} answers for", tuple(tried[-1:]))
    return _refused_between(registrar, key)


def _broken_otherwise(registrar: Registrar, key: PixKey, refusal: Exchange) -> str:
    """The row that explains the refusal: a request with one difference is accepted, and the good one refused again.

    Empty where no difference helps, or none is seen to decide.
    """
    for alternative in alternatives(key, registrar.account, refusal):
        if _accepted_without(registrar, key, alternative):
            continue
        exchange = registrar.try_alternative(alternative)
        if not registered(exchange):
            continue
        free = registrar.settle(exchange, key) or key.type == "RANDOM"
        if not _helps_for_sure(registrar, key, alternative, refusal, free=free):
            return ""
        registrar.found.broken[alternative.row] = Finding(
            Outcome.DEVIATES,
            f"a {key.type} key is refused as documented and accepted with {alternative.what}",
            (refusal, exchange),
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
    for documented in (True, True, False, True, False):
        exchange = registrar.register(key) if documented else registrar.try_alternative(alternative)
        registrar.settle(exchange, key)
        if registered(exchange) is documented:
            return False
    return True


def _refused_on_and_on(registrar: Registrar, key: PixKey, refusal: Exchange) -> bool:
    for wait in (0.0, *PATIENCE_S):
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


def _refused_between(registrar: Registrar, key: PixKey) -> Finding:
    """The kind is refused wrongly where another one is accepted before it and again after it.

    A key that the list shows is refused because it is there; that keys of its kind can be registered is seen then.
    """
    before = [answer for answer in registrar.found.accepted if _kind_sent(answer) != key.type]
    for wait in (0.0, *PATIENCE_S):
        time.sleep(wait)
        refused = registrar.register(key)
        if _understood(refused):
            registrar.settle(refused, key)
            return Finding(Outcome.HOLDS, exchanges=(refused,))
    unsure = Finding(Outcome.HIDDEN, f"refused ({refused.summary}), which may have another reason", (refused,))
    wrong = refused.response is not None and refused.response.status in (400, 415, 422)
    control = next((answer for answer in before if registrar.deletes or _kind_sent(answer) == "RANDOM"), None)
    if not wrong or control is None:
        return unsure
    if registrar.lists(key):
        return Finding(Outcome.HOLDS, exchanges=(refused,))
    after = registrar.register_again(control)
    if not registered(after):
        return unsure
    message = f"{refused.summary} for a {key.type} key, while a {_kind_sent(control)} key is accepted before and after"
    return Finding(Outcome.DEVIATES, message, (control, refused, after))


def _refused(exchange: Exchange) -> bool:
    return exchange.response is None or is_refusal(exchange.response)


def _kind_sent(exchange: Exchange) -> str:
    return str(json.loads(exchange.request.body)["pixKeyType"])


def _refused_outright(exchange: Exchange) -> bool:
    """Refused for what was sent: not for the token, the rate, the load or a key that is there already."""
    response = exchange.response
    return (
        response is not None
        and is_refusal(response)
        and (response.status not in (401, 403, 409, 429) and response.status < 500)
    )


def _carries_result(exchange: Exchange) -> bool:
    response = exchange.response
    return response is not None and not is_refusal(response) and "Success" in (data_of(response) or {})
