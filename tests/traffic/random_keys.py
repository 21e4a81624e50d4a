"""Registrations of keys that the service makes."""

from __future__ import annotations

from environments.door.permission import synthetic
from environments.profiles.profile import PixKey
from spec.answers import registered
from spec.findings import inconclusive
from spec.json_text import read_json
from tests.traffic.effects import look_for_effect
from tests.traffic.extras import forms_of_random, registration
from tests.traffic.refused_key_types import was_tried
from tests.traffic.registered import is_refused_outright, told_by
from tests.traffic.registrar import UNKNOWN_KEY, Registrar


def register_random(registrar: Registrar, keys: list[PixKey]) -> None:
    """Register each RANDOM key of the profile, and delete it; none while one of unknown value is left."""
    for key in (key for key in keys if key.type == "RANDOM"):
        for form in forms_of_random(registration(key, registrar.account)):
            before = registrar.look()  # first: it may show that one of unknown value is not there
            if not may_register(registrar):
                return
            exchange = registrar.register(key, json=form)
            registrar.found.fresh.append(exchange)
            look_for_effect(registrar, PixKey("RANDOM", form.get("pixKey", "")), exchange, before)
            if registrar.undo(exchange) and registered(exchange):
                registrar.found.random = exchange
            if not is_refused_outright(exchange):
                break


def may_register(registrar: Registrar) -> bool:
    """True if no RANDOM key of unknown value is left; on a sandbox one more is no harm."""
    is_left = registrar.holds_an_unknown_key()
    if is_left and not was_tried(registrar, "RANDOM"):
        registrar.found.key_types["RANDOM"] = inconclusive(UNKNOWN_KEY)
    return not is_left


def try_another_account(registrar: Registrar) -> None:
    """Register one more, with an unknown account in the body. Only where such a key was deleted: this one is deleted in
    the same way, where the list shows that it belongs to the account of the path."""
    own = registrar.found.random
    if own is None or not registrar.may_try:
        return
    registrar.look()
    key, form = PixKey("RANDOM", ""), {**read_json(own.request.body).value, "account": synthetic()}
    registrar.found.of_another_account = seen = registrar.register(key, json=form, valid=False)
    told, listing = told_by(seen), registrar.look()
    if told is None or (listing is not None and listing.shows(told)):
        registrar.undo(seen)
