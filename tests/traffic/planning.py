"""What a run would send: the same traffic on a wire that sends nothing and answers as the interface document says."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Sequence

import pytest

from environments.door.attempt import Handshake
from environments.door.authorization import VALID
from environments.door.client import Client
from environments.door.opening import open_planned_door
from environments.door.outgoing import Sending
from environments.door.preflight import check
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.profile import Profile
from reports.plan import Plan
from spec.exchange import Exchange, Response
from spec.interface import PREPARING, operations
from spec.json_text import parts_of_pointer
from spec.requirements import ledger
from tests.harness.reproduction import Reproduction
from tests.harness.selection import requirements
from tests.traffic.execution import spending_of
from tests.traffic.phases import SEQUENCES, send_all
from tests.traffic.reach import permits
from tests.traffic.settings import settings_of

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token from which every form of wrong token can be made."""
_TEXTS = ("id", "bank", "account", "digit", "branch", "document", "name", "type", "key", "message")
_EXECUTION = {"date": 1, "accountType": 1, "value": 1, "status": "DONE", "error": None} | dict.fromkeys(_TEXTS, "*")
_REGISTRATION = {"Success": "true", "Message": "", "Key": None, "DocumentNumber": 1}


def planned(config: pytest.Config, profile: Profile, resend: Container[str], items: Sequence[pytest.Item]) -> Plan:
    """What the selected tests would send. `resend` has the codes that may be sent although an earlier run sent them."""
    door = open_planned_door(profile, TOKEN, _Wire(profile), resend=resend)
    client = Client(door)
    check(client, profile)
    traffic = send_all(
        client, profile, settings_of(config, profile, seed=config.getoption("seed") or 0), items, Reproduction()
    ).traffic
    sent, spends = door.exchanges, traffic.reach.spends_codes
    executes_more = any(seen.part == SEQUENCES and seen.operation == "executePix" for seen in sent)
    return Plan(
        Counter(seen.operation for seen in sent if not seen.part),
        Counter(seen.operation for seen in sent if seen.part),
        denied=_denied(items, profile),
        bodies=Counter(seen.operation for seen in sent if seen.valid and seen.operation in PREPARING),
        invalid=_invalid(sent),
        registers=any(seen.operation == "registerPixKey" for seen in sent),
        generates=any(seen.part for seen in sent) or traffic.reach.surveys,
        spending=spending_of(client, profile, traffic.reach.wants) if spends else None,
        follows=executes_more,
        wrong_tokens=_with_wrong_tokens(sent),
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

    def connect(self, base_url: str) -> Handshake:
        """Nothing is opened."""
        return Handshake()

    def close(self) -> None:
        """Nothing is open."""

    def _data(self, operation: str) -> object:
        if operation in PREPARING and self._plan:
            self._prepared += 1
            value: object = f"plan-{self._prepared}"
            for part in reversed(parts_of_pointer(self._plan.code_at.removeprefix("/data"))):
                value = {part: value}
            return value
        return {"executePix": _EXECUTION, "registerPixKey": _REGISTRATION}.get(operation, {})


def _answer(status: int, body: object) -> Response:
    return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())


def _denied(items: Sequence[pytest.Item], profile: Profile) -> frozenset[str]:
    """The operations that the selection is about and the profile does not permit."""
    about = {ledger()[name].operation for name in requirements(items, "sent")}
    return frozenset(name for name in about if name and not permits(profile, name))


def _invalid(sent: Sequence[Exchange]) -> tuple[str, ...]:
    """The operations that write and get invalid requests."""
    invalid = {seen.operation for seen in sent if not seen.valid and seen.credential == VALID}
    return tuple(each.id for each in operations().values() if each.method != "GET" and each.id in invalid)


def _with_wrong_tokens(sent: Sequence[Exchange]) -> tuple[str, ...]:
    """The documented operations that get wrong tokens."""
    wrong = {seen.operation for seen in sent if seen.credential not in (VALID, NO_HEADER)}
    return tuple(name for name in ("executePix", "registerPixKey") if name in wrong)
