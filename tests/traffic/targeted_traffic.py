"""The targeted traffic of a run, by operation: each part is sent once, when it is first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import cached_property, partial

from environments.door.authorization import VALID
from environments.door.budget import Spending
from environments.door.client import Client
from environments.door.preparing import filled, prepare, prepare_one
from environments.door.wrong_tokens import ANOTHER
from environments.profiles.gaps import NO_ACCOUNT, NO_REGISTRATION, deletes_keys
from environments.profiles.profile import Prepare, Profile, RequestBody, Transactions
from spec.exchange import Exchange
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import NotExercised
from tests.harness.lanes import Part
from tests.traffic.beside import Beside
from tests.traffic.classes import incomplete, malformed, unauthorized
from tests.traffic.executions import Executions, execute, spending_of
from tests.traffic.reach import MAY_BE_OPEN, Reach, permits
from tests.traffic.registered import Registrations
from tests.traffic.registrar import RETRY_WAITS_S, Registrar
from tests.traffic.registrations import register_all

CHANGE_ACCOUNTS = frozenset({"registerPixKey", "executePix", *PREPARING})
"""What may change the answers of reads: then each read is sent once more."""
_CLEANINGS = 2
"""How often synthetic keys are deleted, those again whose deletion was refused: after the incomplete registrations, and
when everything was sent."""
UNAUTHORIZED = ("no header", ANOTHER)
"""The credentials of requests that can do nothing even where an operation wants none."""


class TargetedTraffic:
    """What a run sends that is not generated, and to no operation that the selection does not reach."""

    def __init__(self, client: Client, profile: Profile, token: str, reach: Reach, beside: Beside) -> None:
        self.client, self.profile, self.token, self.reach = client, profile, token, reach
        self.beside = beside
        self.prepare_once, self.execute_once = Part(self._prepare), Part(self._execute)
        self.register_once, self.send_incomplete_registrations = Part(self._register), Part(self._send_incomplete)
        self._unauthorized = {
            (operation, credential): Part(partial(self._send_unauthorized, operation, credential))
            for operation in MAY_BE_OPEN
            for credential in (*UNAUTHORIZED, VALID)
        }
        self._visits = {operation: Part(partial(self._visited, operation)) for operation in (*READS, *PREPARING)}

    def permitted(self, operation: str) -> bool:
        """Whether the profile allows the operation, and the selection reaches it."""
        return operation in self.reach.operations

    def targeted(self, operation: str) -> list[Exchange]:
        """What was sent to the operation so far, without generated traffic."""
        return [seen for seen in self.client.door.exchanges if (seen.operation, seen.part) == (operation, "")]

    @cached_property
    def account(self) -> str:
        """The first account of the profile. Raises NotExercised where there is none."""
        if not self.profile.accounts:
            raise NotExercised(NO_ACCOUNT)
        return self.profile.accounts[0]

    def _prepare(self) -> list[Exchange]:
        """Prepare transfers as transactions.prepare says."""
        if not self.reach.spends_codes:
            return []
        wanted = min(spending_of(self.client, self.profile, self.reach.wants).prepared, self.client.door.guard.room)
        return prepare(self.client, self.profile, wanted)

    def _execute(self) -> Executions:
        """Send everything that goes to the execution; no real code where no selected requirement needs one."""
        profile = self.profile if self.reach.spends_codes else replace(self.profile, transactions=Transactions())
        prepared = lambda: self.client.door.guard.prepared.codes_of(self.prepare_once())  # noqa: E731 - asked for late
        return execute(self.client, profile, prepared, self.token, self.beside, self.reach.wants)

    def _register(self) -> Registrations:
        """Register keys and delete them, with the requests that are to be refused."""
        if not self.permitted("registerPixKey"):
            return Registrations("", missing=NO_REGISTRATION)
        to_delete = "registerPixKey" not in self.reach.subjects
        return register_all(
            self.client, self.profile, self.token, to_delete=to_delete, beside=self.beside, wants=self.reach.wants
        )

    def visit(self, operation: str) -> list[Exchange]:
        """The requests to an operation whose answer the interface document does not describe, the valid one first."""
        return self._visits[operation]()

    def valid_answers(self, operation: str) -> list[Exchange]:
        """The visit, and what is read beside registrations that the selection is about."""
        registers = operation == "listPixKeys" and "registerPixKey" in self.reach.subjects
        return [*self.visit(operation), *(self.register_once().read_beside if registers else ())]

    def visits(self, operations: Collection[str]) -> list[Part[list[Exchange]]]:
        """The parts that visit those of the operations that the selection is about."""
        return [self._visits[operation] for operation in operations if operation in self.reach.subjects]

    def _visited(self, operation: str) -> list[Exchange]:
        if operation in READS:
            path_parameter = self.account if operations()[operation].path_parameter else None
            known = [seen for seen in self.targeted(operation) if seen.expects_success]
            valid = known[-1] if known else self.client.send(operation, path_parameter, valid=True)
            return [valid, self.client.send(operation, path_parameter, credential="no header")]
        prepared = [seen for seen in self.prepare_once() if seen.operation == operation]
        if prepared:
            return prepared
        body = _body_of(operation, self.profile)
        if body is None:
            return [self.client.send(operation, json={})]
        if isinstance(body, Prepare):  # it is not executed, and listed as that
            return [prepare_one(self.client, self.profile, body)]
        return [self.client.send(operation, json=filled(body.json, self.profile), valid=True)]

    def _send_incomplete(self) -> dict[str, Exchange]:
        """Registrations of a synthetic key, each without one of the documented members, by that member."""
        sent = {case.where: case.send(self.client) for case in incomplete(self.profile, self.account)}
        self.delete_synthetic_keys()
        return sent

    def send_unauthorized(self) -> dict[str, Exchange]:
        """Requests without a token that can do nothing, to the operations of which it is not shown whether they want it."""
        return {name: self._unauthorized[name, UNAUTHORIZED[0]]() for name in MAY_BE_OPEN if self.permitted(name)}

    def send_unauthorized_to(self, operation: str) -> list[Exchange]:
        """The one to this operation, and one with a wrong token, if the profile permits it."""
        permitted = operation in MAY_BE_OPEN and self.permitted(operation) and "fuzz" in self.profile.allow
        return [self._unauthorized[operation, name]() for name in UNAUTHORIZED] if permitted else []

    def send_the_same_with_the_token(self, operation: str) -> Exchange:
        """The request that can do nothing, with the valid token: whether that makes a difference to the operation."""
        return self._unauthorized[operation, VALID]()

    def _send_unauthorized(self, operation: str, credential: str) -> Exchange:
        return unauthorized(operation, credential).send(self.client)

    def delete_synthetic_keys(self) -> None:
        """Delete the synthetic keys that invalid requests registered after all."""
        if not self.permitted("registerPixKey") or not self.profile.accounts:
            return
        registrar = Registrar(self.client, self.profile)
        for exchange in list(self.client.door.exchanges):
            if not exchange.valid:
                registrar.undo_invalid(exchange)


def most_visits(profile: Profile, reach: Reach, spent: Spending | None) -> Counter[str]:
    """The requests that `TargetedTraffic` sends at most where no answer is described, and the incomplete registrations."""
    reads = 3 if reach.operations & CHANGE_ACCOUNTS else 2
    counts = Counter(dict.fromkeys(READS, reads) | dict.fromkeys(PREPARING, 1) | valid_bodies(profile, reach, spent))
    counts["registerPixKey"] = len(list(incomplete(profile, ""))) if "fuzz" in profile.allow else 0
    return counts + Counter(MAY_BE_OPEN * (len(UNAUTHORIZED) + 1) if "fuzz" in profile.allow else ())


def most_synthetic_keys(profile: Profile) -> int:
    """The deletions of synthetic keys that are sent at most."""
    registrations = (*malformed("registerPixKey", profile), *incomplete(profile, ""))
    return _CLEANINGS * (len(registrations) + len(RETRY_WAITS_S)) * deletes_keys(profile)


def valid_bodies(profile: Profile, reach: Reach, spent: Spending | None) -> dict[str, int]:
    """How many valid bodies of the profile go to each operation that may move money by itself."""
    found, prepare = {}, profile.transactions.prepare
    for operation in reach.operations & set(PREPARING):
        prepared = spent.prepared if spent and prepare and prepare.operation == operation else 0
        if prepared or (operation in reach.subjects and _body_of(operation, profile)):
            found[operation] = max(1, prepared)
    return found


def _body_of(operation: str, profile: Profile) -> RequestBody | Prepare | None:
    """A valid body: the one of the profile, or that of a transfer which a whole run would prepare and execute."""
    plan = profile.transactions.prepare
    prepares = plan is not None and plan.operation == operation and permits(profile, "executePix")
    return profile.requests.get(operation) or (plan if prepares else None)
