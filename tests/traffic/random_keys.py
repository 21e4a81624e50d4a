"""Registrations of keys that the service makes."""

from __future__ import annotations

from dataclasses import replace

from environments.door.permission import synthetic
from environments.profiles.profile import PixKey
from spec.answers import registered
from spec.json_text import read_json
from tests.traffic.effects import look_for_effect
from tests.traffic.extras import forms_of_random, registration
from tests.traffic.registrar import Registrar, is_refused_outright


def register_random(registrar: Registrar, keys: tuple[PixKey, ...]) -> None:
    """Register each RANDOM key of the profile, and delete it."""
    for key in (key for key in keys if key.type == "RANDOM"):
        for form in forms_of_random(registration(key, registrar.account)):
            before = registrar.look()
            exchange = registrar.register(key, json=form)
            registrar.found.fresh.append(exchange)
            made = replace(key, key=form.get("pixKey", ""))
            if registrar.undo(exchange, made) and registered(exchange):
                registrar.found.random = exchange
            look_for_effect(registrar, made, exchange, before)
            if not is_refused_outright(exchange):
                break


def try_another_account(registrar: Registrar) -> None:
    """Register one more, with an unknown account in the body. Only where such a key was deleted: this one is deleted in
    the same way, where the list shows that it belongs to the account of the path."""
    own = registrar.found.random
    if own is None or not registrar.may_try:
        return
    registrar.look()
    key, form = PixKey("RANDOM", ""), {**read_json(own.request.body).value, "account": synthetic()}
    registrar.found.of_another_account = seen = registrar.register(key, json=form, valid=False)
    registrar.undo(seen, key)


def most_random(keys: int) -> int:
    """How many registrations both send at most for so many RANDOM keys of the profile."""
    return keys * len(list(forms_of_random({}))) + bool(keys)
