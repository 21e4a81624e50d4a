"""What a run would send: the same traffic on a wire that sends nothing and answers as the interface document says."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence

import pytest

from environments.door.client import Client
from environments.door.opening import open_planned_door
from environments.door.outgoing import Sending
from environments.door.preflight import check
from environments.profiles.model import Profile
from reports.plan import Plan
from spec.exchange import VALID, Response
from spec.interface import PREPARING, operations
from spec.json_text import parts_of_pointer
from spec.reproduction import Reproduction
from spec.requirements import requirements
from tests.harness.selection import ids_tested
from tests.traffic.phases import send_all
from tests.traffic.reach import permits
from tests.traffic.settings import settings_of

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token from which every form of wrong token can be made."""
_OF_TYPE = {"string": "*", "integer": 1, "number": 1, "null": None}
_SUCCESSFUL = {"status": "DONE", "Success": "true"}
"""Documented fields that say what became of a request."""


def planned(config: pytest.Config, profile: Profile, resend: Container[str], items: Sequence[pytest.Item]) -> Plan:
    """What the selected tests would send. `resend` has the codes that may be sent although an earlier run sent them."""
    door = open_planned_door(profile, TOKEN, _Wire(profile), resend=resend)
    client = Client(door)
    check(client, profile)
    traffic = send_all(
        client,
        profile,
        settings_of(config, profile, seed=config.getoption("seed") or 0),
        items,
        Reproduction(door.exchanges),
    ).traffic
    return Plan(
        door.exchanges,
        denied=_denied(items, profile),
        executes=traffic.reach.spends_codes,
        barred=list(door.guard.barred),
        cut=list(door.unsent),
        journal_trouble=door.guard.journal_trouble or door.guard.supplied_trouble,
    )


class _Wire:
    """Connections that send nothing. A valid request succeeds, as the interface document says; any other is refused."""

    def __init__(self, profile: Profile) -> None:
        self._plan = profile.transactions.prepare
        self._prepared = 0

    def attempt(self, sending: Sending) -> Response:
        """The answer to a request that is not sent."""
        intent = sending.intent
        if intent.credential != VALID:
            return _answer(401, {})
        if intent.valid or sending.executes:
            return _answer(200, {"code": 0, "data": self._data(intent.operation)})
        return _answer(400 if intent.operation else 404, {})

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def _data(self, operation: str) -> object:
        if operation in PREPARING and self._plan:
            self._prepared += 1
            value: object = f"plan-{self._prepared}"
            for part in reversed(parts_of_pointer(self._plan.code_at.removeprefix("/data"))):
                value = {part: value}
            return value
        fields = operations()[operation].result
        return {each.name: _SUCCESSFUL.get(each.name, _OF_TYPE[each.types[-1]]) for each in fields}


def _answer(status: int, body: object) -> Response:
    return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())


def _denied(items: Sequence[pytest.Item], profile: Profile) -> frozenset[str]:
    """The operations that the selection is about and the profile does not permit."""
    about = {requirements()[name].operation for name in ids_tested(items, "sent")}
    return frozenset(name for name in about if name and not permits(profile, name))
