"""The sandbox asked by other profiles: what a profile makes possible is exercised, and no more is sent."""

from __future__ import annotations

from environments.sandbox.service import Service
from tests.selftest.proof.variants.making import lawful, profile

HIDDEN: dict[str, tuple[str, ...]] = {
    "one_code": (),
    "prepared_only": (),
    "no_code": (),
    "no_deletion": (),
    "no_deletion_body": (),
    "no_bodies": (),
    "two_kinds": (),
    "random_only": (),
    "read_only": (),
    "read_nothing": (),
    "register_only": (),
    "execute_only": (),
    "prepare_and_execute": (),
    "without_fuzz": (),
    "two_accounts": (),
    "implied_fails": (),
}
for _name, _rows in HIDDEN.items():
    lawful(
        "profile", "".join(part.title() for part in _name.split("_")), f"The sandbox, asked with the profile {_name}.",
        Service, environment=profile(_name), hides=_rows,
    )  # fmt: skip
