"""Faults that only a drawn value shows: what a run finds by default, and how small the case is that it names."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from environments.profiles.loading import load
from tests.traffic.case import Case

SANDBOX = load("sandbox")
SEEDS = (1, 2)
_OTHERS = 60
"""Bytes of what is not the fault: the names of members, and what makes an identifier synthetic."""


@dataclass(frozen=True)
class Fault:
    """A service fails if `fails` is true of the body of a request to the operation, or of its path parameter."""

    operation: str
    fails: Callable[[Any], bool]
    is_of_the_path: bool = False

    def is_shown_by(self, case: Case) -> bool:
        """True if the service fails."""
        if self.is_of_the_path:
            return self.fails(case.path_parameter)
        return case.body is not None and self.fails(json.loads(case.body))


def member(name: str, fails: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A body whose member has a value that fails."""
    return lambda body: isinstance(body, dict) and name in body and fails(body[name])


def text(name: str, fails: Callable[[str], bool]) -> Callable[[Any], bool]:
    """A body whose member is a text that fails."""
    return member(name, lambda value: isinstance(value, str) and fails(value))


def number(name: str, fails: Callable[[float], bool]) -> Callable[[Any], bool]:
    """A body whose member is a number that fails."""
    return member(name, lambda value: type(value) in (int, float) and fails(value))


FAULTS: Mapping[str, Fault] = {
    "a percent sign": Fault("transferInternal", text("description", lambda value: "%" in value)),
    "a backslash": Fault("registerPixKey", text("pixKey", lambda value: "\\" in value)),
    "a quote": Fault("deletePixKey", text("pixKey", lambda value: '"' in value)),
    "a bracket": Fault("transferExternal", text("to", lambda value: "<" in value)),
    "a control character": Fault("createPix", text("pixKey", lambda value: "\0" in value)),
    "a character outside the basic plane": Fault("registerPixKey", text("account", lambda value: max(value, default="") > "\uffff")),
    "a text of one letter": Fault("transferP2p", text("description", lambda value: len(value) == 1)),
    "an empty text": Fault("transferInternal", text("from", lambda value: not value)),
    "a text of 256 characters": Fault("createPix", text("message", lambda value: len(value) > 255)),
    "digits alone": Fault("createPix", text("value", str.isdecimal)),
    "a boolean": Fault("createPix", member("message", lambda value: isinstance(value, bool))),
    "null": Fault("transferP2p", member("to", lambda value: value is None)),
    "an array": Fault("transferInternal", member("to", lambda value: isinstance(value, list))),
    "an object": Fault("createPix", member("account", lambda value: isinstance(value, dict))),
    "a negative number": Fault("transferExternal", number("value", lambda value: value < 0)),
    "a huge number": Fault("transferP2p", number("value", lambda value: value > 1e12)),
    "a fraction": Fault("transferInternal", number("date", lambda value: value % 1 != 0)),
    "two members without a third": Fault(
        "transferExternal", lambda body: isinstance(body, dict) and {"from", "to"} <= body.keys() and "date" not in body
    ),
    "one member alone": Fault("transferP2p", lambda body: isinstance(body, dict) and body.keys() == {"value"}),
    "a type with digits": Fault(
        "registerPixKey",
        lambda body: member("pixKeyType", lambda value: value in ("CPF", "CNPJ"))(body) and text("pixKey", str.isdecimal)(body),
    ),
    "a member that is not documented": Fault(
        "registerPixKey", lambda body: isinstance(body, dict) and bool(body.keys() - {"pixKey", "account", "pixKeyType"})
    ),
    "a path of digits alone": Fault("getBalance", str.isdecimal, is_of_the_path=True),
    "an apostrophe in the path": Fault("listEntries", lambda place: "'" in place, is_of_the_path=True),
    "two capital letters in the path": Fault(
        "executePix", lambda place: any(a.isupper() and b.isupper() for a, b in pairwise(place)), is_of_the_path=True
    ),
}  # fmt: skip
"""By what a service fails on."""
