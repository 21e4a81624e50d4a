"""The traffic of a run, sent once for each operation and when the first test asks for it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import Any

from environments.door.authorization import VALID
from environments.door.client import NOTHING, Client, synthetic
from environments.door.preflight import asks_for_a_certificate
from environments.profiles.profile import Prepare, Profile, RequestBody, Transactions, fill
from spec.answers import is_page, is_refusal, succeeded
from spec.exchange import Exchange
from spec.interface import operations
from spec.rules import Outcome
from tests.harness.recorder import Finding, NotExercised
from tests.harness.watcher import Watcher
from tests.traffic import malformed
from tests.traffic.executions import Executions, execute, room_for
from tests.traffic.fingerprint import indistinguishable
from tests.traffic.passing import ask_harmlessly, comparable, granted, is_passing
from tests.traffic.preparing import codes_of, prepare, prepare_one
from tests.traffic.reach import READS, Reach, permits
from tests.traffic.registrar import Registrar, Registrations
from tests.traffic.registrations import NOTHING_TO_DELETE, register_all, send_undocumented

PREPARING = ("createPix", "transferExternal", "transferInternal", "transferP2p")
WITH_A_BODY = ("deletePixKey", *PREPARING)


class Traffic:
    """What one run sends, arranged by operation: each part once, when it is first asked for, and no operation that the
    selection does not reach."""

    def __init__(self, client: Client, profile: Profile, token: str, watcher: Watcher, reach: Reach) -> None:
        self.client, self.profile, self.token, self.reach = client, profile, token, reach
        self._watcher = watcher
        self._visits: dict[str, list[Exchange]] = {}
        self._existence: dict[str, Finding] = {}
        self._left_open: set[str] = set()
        self._incomplete: dict[str, Exchange] = {}

    def permitted(self, operation: str) -> bool:
        """Whether the profile allows the operation, and the selection reaches it."""
        return operation in self.reach.operations

    @cached_property
    def account(self) -> str:
        """The first account of the profile. Raises NotExercised where there is none."""
        if not self.profile.accounts:
            raise NotExercised("no account: supply accounts")
        return self.profile.accounts[0]

    @cached_property
    def preparations(self) -> list[Exchange]:
        """The transfers that were prepared as transactions.prepare says."""
        if not self.reach.spends_codes:
            return []
        wanted = min(room_for(self.client, self.profile).prepared, self.client.door.guard.room)
        return prepare(self.client, self.profile, wanted)

    @cached_property
    def executions(self) -> Executions:
        """Refusals and executions; without a real code where no selected requirement needs one."""
        profile = self.profile if self.reach.spends_codes else replace(self.profile, transactions=Transactions())
        return execute(self.client, profile, lambda: self.prepared_codes, self.token)

    @cached_property
    def prepared_codes(self) -> list[str]:
        """The transaction codes that this run prepared."""
        codes = codes_of(self.preparations, self.profile.transactions.prepare)
        self._watcher.redactor.learn("code", *codes)
        return codes

    @cached_property
    def registrations(self) -> Registrations:
        """Refusals, registrations and deletions of keys."""
        if not self.permitted("registerPixKey"):
            return Registrations(
                "", missing="only a key that the run registered is deleted: add register-keys to allow"
            )
        to_delete = "registerPixKey" not in self.reach.subjects
        return register_all(self.client, self.profile, self.token, to_delete=to_delete)

    def visit(self, operation: str) -> list[Exchange]:
        """The requests to an operation whose answer the document does not describe, the good one first."""
        if operation not in self._visits:
            self._visits[operation] = list(self._visited(operation))
        return self._visits[operation]

    def _visited(self, operation: str) -> list[Exchange]:
        if operation in READS:
            argument = self.account if operations()[operation].argument else None
            known = [
                seen for seen in self.client.door.exchanges if seen.operation == operation and seen.expects_success
            ]
            good = known[-1] if known else self.client.send(operation, argument, valid=True)
            return [good, self.client.send(operation, argument, credential="no header")]
        prepared = [seen for seen in self.preparations if seen.operation == operation]
        if prepared:
            return prepared
        body = self._body_of(operation)
        if body is None:
            return [self.client.send(operation, json={})]
        if isinstance(body, Prepare):  # it is not executed, and listed as that
            prepared = [prepare_one(self.client, self.profile, body)]
            self._watcher.redactor.learn("code", *codes_of(prepared, body))
            return prepared
        account = self.profile.accounts[0] if self.profile.accounts else ""
        key = self.profile.pix_keys[0] if self.profile.pix_keys else None
        filled = fill(body.json, account=account, key=key.key if key else "", type=key.type if key else "")
        return [self.client.send(operation, json=filled, valid=True)]

    def _body_of(self, operation: str) -> RequestBody | Prepare | None:
        """A valid body: the one of the profile, or that of a transfer which a whole run would prepare and execute."""
        plan = self.profile.transactions.prepare
        prepares = plan is not None and plan.operation == operation and permits(self.profile, "executePix")
        return self.profile.requests.get(operation) or (plan if prepares else None)

    def send_incomplete_registrations(self) -> dict[str, Exchange]:
        """Registrations of an invented key, each without one of the documented members, by that member."""
        if not self._incomplete:
            self._incomplete = malformed.without_a_member(self.client, self.account)
            self._settle_mistakes()
        return self._incomplete

    def _settle_mistakes(self) -> None:
        """Delete the invented keys that were registered after all."""
        if not self.permitted("registerPixKey") or not self.profile.accounts:
            return
        registrar = self._registrar()
        for exchange in list(self.client.door.exchanges):
            registrar.settle_mistake(exchange)

    def _registrar(self) -> Registrar:
        return Registrar(self.client, self.profile)

    # -- existence --------------------------------------------------------------------------------------------

    def existence(self, operation: str) -> Finding:
        """Whether the endpoint exists, by effect or by difference. Where passing trouble left that open, what the run
        showed since then counts."""
        if operation not in self._existence or operation in self._left_open:
            self._left_open.discard(operation)
            try:
                self._existence[operation] = self._exists(operation)
            except NotExercised as missing:
                self._existence[operation] = Finding(Outcome.INCONCLUSIVE, str(missing))
        return self._existence[operation]

    def _exists(self, operation: str) -> Finding:
        witnesses = self._witnesses(operation)
        if seen := granted(witnesses):
            return Finding(Outcome.HOLDS, exchanges=(seen,))
        seen = next((seen for seen in witnesses if not is_passing(seen)), None)
        if seen is None:
            return self._shown_otherwise(operation) or self._leave_open(operation, witnesses)
        status = seen.response.status if seen.response else 0
        if status in (405, 501):
            return Finding(Outcome.DEVIATES, f"status {status}", (seen,))
        if status >= 500:
            return Finding(Outcome.INCONCLUSIVE, f"status {status}", (seen,))
        return self._differs(operation, seen)

    def _leave_open(self, operation: str, witnesses: list[Exchange]) -> Finding:
        """To be judged again, when more was sent."""
        self._left_open.add(operation)
        answered = [seen for seen in witnesses if seen.response is not None]
        status = answered[0].response.status if answered and answered[0].response else 0
        return Finding(Outcome.INCONCLUSIVE, f"status {status}" if status else "no answer", tuple(answered[:1]))

    def _shown_otherwise(self, operation: str) -> Finding | None:
        """What other requests of the run show of the endpoint, and another harmless one."""
        others = [seen for seen in self.client.door.exchanges if seen.operation == operation]
        if seen := granted([seen for seen in others if seen.credential == VALID]):
            return Finding(Outcome.HOLDS, exchanges=(seen,))
        for seen in comparable(others):
            if found := self._differs_from_its_sibling(operation, seen):
                return found
        account = self.profile.accounts[0] if self.profile.accounts else synthetic()
        seen = ask_harmlessly(self.client, operation, account)
        return None if is_passing(seen) else self._differs_from_its_sibling(operation, seen)

    def _differs_from_its_sibling(self, operation: str, seen: Exchange) -> Finding | None:
        sibling = self.client.send_to_sibling(operation, _argument(seen), body=seen.request.body or None)
        if is_passing(sibling) or indistinguishable(seen, sibling):
            return None
        return Finding(Outcome.HOLDS, exchanges=(seen, sibling))

    def _differs(self, operation: str, seen: Exchange) -> Finding:
        argument = synthetic() if operation == "executePix" else _argument(seen)
        sibling = self.client.send_to_sibling(operation, argument, json=_body(seen))
        if sibling.response is None or not indistinguishable(seen, sibling):
            holds = sibling.response is not None
            return Finding(
                Outcome.HOLDS if holds else Outcome.INCONCLUSIVE, "" if holds else "no answer", (seen, sibling)
            )
        if limit := sibling.response.json.limit:
            return Finding(Outcome.INCONCLUSIVE, limit, (seen, sibling))
        if asks_for_a_certificate(sibling.response):
            return Finding(Outcome.INCONCLUSIVE, "the gateway refuses the client certificate", (seen, sibling))
        status = sibling.response.status
        about_the_caller = status in (401, 403, 423, 429) or 300 <= status < 400
        if seen.expects_success and not about_the_caller and self._known_good(operation, seen, sibling):
            told_apart = self._told_apart_by_a_mistake(operation)
            return told_apart or Finding(Outcome.DEVIATES, "answers like an undocumented path", (seen, sibling))
        needed = "" if about_the_caller else f"; {self._needed(operation, seen)}"
        return Finding(Outcome.INCONCLUSIVE, f"cannot be told from an undocumented path{needed}", (seen, sibling))

    def _told_apart_by_a_mistake(self, operation: str) -> Finding | None:
        """A good request may be refused like an unknown path (no such key, no such payee), and a mistake not.

        For an invented account: what a deletion without a key does to a real one is not shown.
        """
        if operation not in WITH_A_BODY:
            return None
        argument = synthetic() if operations()[operation].argument else None
        mistakes = [b"{}"] if operation == "deletePixKey" else []
        for body in (*mistakes, *(malformed.TEXTS[:1] if "fuzz" in self.profile.allow else ())):
            seen = self.client.send(operation, argument, body=body)
            sibling = self.client.send_to_sibling(operation, argument, body=body)
            if seen.response and sibling.response and not indistinguishable(seen, sibling):
                return Finding(Outcome.HOLDS, exchanges=(seen, sibling))
        return None

    def _needed(self, operation: str, seen: Exchange) -> str:
        """What would tell the endpoint from no endpoint."""
        if operation != "deletePixKey" or operation not in self.profile.requests:
            return _SUPPLY.get(operation, "supply an account that exists")
        return (
            "the list of keys does not show that the key is registered by now"
            if seen.expects_success
            else NOTHING_TO_DELETE
        )

    def _witnesses(self, operation: str) -> list[Exchange]:
        """The exchanges that can show the operation, the surest first."""
        if operation == "executePix":
            executions = self.executions
            prepared = [seen for seen in executions.answers if seen.number in executions.prepared]
            return [*executions.successes, *prepared, *([executions.unknown] if executions.unknown else [])]
        if operation == "registerPixKey":
            found = self.registrations
            return [*found.accepted, *found.fresh]
        if operation == "deletePixKey":
            deletions = self.registrations.deletions if self.permitted("registerPixKey") else []
            return deletions or self._deletion_of_nothing()
        return self.visit(operation)[:1]

    def _deletion_of_nothing(self) -> list[Exchange]:
        return [self.client.send("deletePixKey", synthetic(), json={})]

    def _known_good(self, operation: str, seen: Exchange, sibling: Exchange) -> bool:
        """Whether the request is surely a good one. Where nothing was granted the token may be wrong, and a 404 alone
        says that there is no such path."""
        if operation == "executePix":
            return seen.number in self.executions.prepared
        if operation == "deletePixKey" and self._refuses_all_alike(sibling):
            return self._deletes_no_listed_key(seen)
        for read in READS:
            if self.permitted(read):
                self.visit(read)
        granted = [
            other for other in self.client.door.exchanges if other.operation not in ("", operation) and _grants(other)
        ]
        if operations()[operation].argument is None:
            return bool(granted) or bool(seen.response and seen.response.status == 404)
        return any(_argument(other) == _argument(seen) for other in granted)

    def _refuses_all_alike(self, sibling: Exchange) -> bool:
        """Whether registrations, too, are refused like an unknown path: then a key that is not there yet is as well."""
        found = self.registrations
        if not found.undocumented:  # where no requirement of the registration is selected, none was sent
            send_undocumented(registrar := self._registrar(), self.profile.pix_keys[:1])
            found.undocumented += registrar.found.undocumented
        refused = [
            seen
            for seen in (*found.undocumented, *found.other_names, *found.fresh)
            if seen.response and is_refusal(seen.response)
        ]
        return all(indistinguishable(seen, sibling) for seen in refused)

    def _deletes_no_listed_key(self, seen: Exchange) -> bool:
        """Whether a key that the list shows cannot be deleted. A registration may be done later than it is answered."""
        body = seen.request.body.decode("utf-8", "replace")
        keys = [key for key in self.profile.pix_keys if key.key and key.key in body]
        registrar = self._registrar()
        listed = next((key for key in keys if registrar.lists(key)), None)
        return listed is not None and indistinguishable(seen, registrar.delete(listed, valid=True))

    # -- all of it --------------------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> list[Exchange]:
        """Every exchange of the run, once everything was sent to the operations that the selection is about."""
        for operation in operations():
            if operation in self.reach.subjects:
                self._send_all(operation)
        self._settle_mistakes()
        return self.client.door.exchanges

    def _send_all(self, operation: str) -> None:
        try:
            self.existence(operation)
            if "fuzz" in self.profile.allow:
                malformed.send_malformed(self.client, operation, self.profile)
                if operation == "registerPixKey":
                    self.send_incomplete_registrations()
        except NotExercised:  # an account is missing: the tests of the operation say so
            return


def _grants(exchange: Exchange) -> bool:
    """Whether a valid request was granted, and not turned away with a page."""
    return succeeded(exchange) and exchange.response is not None and not is_page(exchange.response)


def _argument(exchange: Exchange) -> str | None:
    return exchange.request.last_segment if operations()[exchange.operation].argument else None


def _body(exchange: Exchange) -> Any:
    return json.loads(exchange.request.body) if exchange.request.body else NOTHING


_SUPPLY = {operation: f"supply requests.{operation}" for operation in (*PREPARING, "deletePixKey")} | {
    "executePix": "supply transactions.prepare"
}
