"""The reads and the orders, whose answers the interface document does not describe, and whether each endpoint exists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from environments.door.authorization import VALID
from environments.door.client import NOTHING
from environments.door.permission import synthetic
from environments.door.preparing import filled, prepare_one
from environments.door.wrong_tokens import NO_HEADER
from environments.profiles.gaps import NO_ACCOUNT
from environments.profiles.profile import PixKey, Prepare, Profile, RequestBody
from spec.answers import RefusalKind, is_page, is_refusal, refusal_kind, succeeded
from spec.exchange import Exchange
from spec.findings import Judgement, inconclusive
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import NotExercised
from tests.traffic import invalid
from tests.traffic.endpoint_evidence import (
    Comparison,
    EndpointEvidence,
    Question,
    comparable,
    conclude,
    granted,
    indistinguishable,
    is_passing,
)
from tests.traffic.execution import execute
from tests.traffic.reach import permits
from tests.traffic.registrar import Registrar
from tests.traffic.registration import NOTHING_TO_DELETE, register, send
from tests.traffic.scenario import Asking, Traffic, scenario
from tests.traffic.unusual_registrations import Attempted, undocumented

WITH_A_BODY = ("deletePixKey", *PREPARING)
_SUPPLY = {operation: f"supply requests.{operation}" for operation in WITH_A_BODY} | {
    "executePix": "supply transactions.prepare"
}


CHANGE_ACCOUNTS = frozenset({"registerPixKey", "executePix", *PREPARING})
"""What may change the answers of reads: then each read is sent once more."""
_BOTH = (VALID, NO_HEADER)
Visits = dict[str, list[Exchange]]
"""By operation the requests to it, the valid one first."""


@scenario(shows=[f"{operation}.*" for operation in PREPARING], alone=True, otherwise=Visits())
def order(traffic: Traffic) -> Visits:
    """A valid body to each operation that prepares transfers, where none was sent."""
    sent = traffic.sent(execute).preparations
    return {
        operation: [seen for seen in sent if seen.operation == operation] or [_order(traffic, operation)]
        for operation in traffic.is_about(*PREPARING)
    }


def _order(traffic: Traffic, operation: str) -> Exchange:
    client, profile = traffic.client, traffic.profile
    body = _body_of(operation, profile)
    if body is None:
        return client.send(operation, json={})
    if isinstance(body, Prepare):  # it is not executed, and listed as that
        return prepare_one(client, profile, body)
    return client.send(operation, json=filled(body.json, profile), valid=True)


def _body_of(operation: str, profile: Profile) -> RequestBody | Prepare | None:
    """A valid body: the one of the profile, or that of a transfer which a whole run would prepare and execute."""
    plan = profile.transactions.prepare
    prepares = plan is not None and plan.operation == operation and permits(profile, "executePix")
    return profile.requests.get(operation) or (plan if prepares else None)


@scenario(shows=[f"{operation}.*" for operation in READS], otherwise=Visits())
def read(traffic: Traffic) -> Asking[Visits]:
    """Each read with the token and without."""
    return (yield from _visits(traffic, traffic.is_about(*READS)))


def _visits(traffic: Traffic, reads: Iterable[str]) -> Asking[Visits]:
    """The reads that need no account, or have one."""
    possible = [name for name in reads if operations()[name].path_parameter is None or traffic.profile.accounts]
    sent = yield [partial(_read, traffic, name, credential) for name in possible for credential in _BOTH]
    answers = iter(sent)
    return {name: [next(answers), next(answers)] for name in possible}


def _read(traffic: Traffic, operation: str, credential: str) -> Exchange:
    place = traffic.profile.accounts[0] if operations()[operation].path_parameter else None
    return traffic.client.send(operation, place, credential=credential, valid=credential == VALID)


@scenario(shows=[f"{operation}.shape" for operation in READS], alone=True, otherwise=None)
def read_again(traffic: Traffic) -> None:
    """Each read once more, where what was sent may have changed its answer."""
    for operation in traffic.sent(read) if traffic.reach.operations & CHANGE_ACCOUNTS else ():
        _read(traffic, operation, VALID)


def visit(traffic: Traffic, operation: str) -> list[Exchange]:
    """The requests to an operation whose answer the interface document does not describe. Raises NotExercised where no
    account is supplied."""
    if found := (traffic.sent(read) | traffic.sent(order)).get(operation):
        return found
    raise NotExercised(NO_ACCOUNT)


def valid_answers(traffic: Traffic, operation: str) -> list[Exchange]:
    """The visit, and what is read beside registrations that the selection is about."""
    registers = operation == "listPixKeys" and traffic.is_about("registerPixKey")
    return [*visit(traffic, operation), *(traffic.sent(register).read_beside if registers else ())]


@scenario(shows=["*.exists", "general.versionPrefix", "*.token.accepted"], alone=True, otherwise=dict[str, Judgement]())
def find_out(traffic: Traffic) -> dict[str, Judgement]:
    """Ask of each endpoint what the answers leave open; and show whether the token is valid where it is refused."""
    endpoints, wants = _Endpoints(traffic), traffic.reach.wants
    about = [
        operation
        for operation in operations()
        if wants(f"{operation}.exists") or (wants("general.versionPrefix") and traffic.permitted(operation))
    ]
    found = {operation: endpoints.find_out(operation) for operation in about}
    for operation in ("executePix", "registerPixKey"):
        valid = [seen.response for seen in traffic.targeted(operation) if seen.expects_success]
        refuses = all(answer and refusal_kind(answer) is RefusalKind.TOKEN for answer in valid)
        if refuses and wants(f"{operation}.token.accepted"):
            endpoints.send_witnesses()
    return found


class _Endpoints:
    """Asks, question by question, until `endpoint_evidence` can decide."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic, self._client, self._profile = traffic, traffic.client, traffic.profile
        self._has_witnesses = False

    def find_out(self, operation: str) -> Judgement:
        """Find out whether an endpoint exists."""
        try:
            return self._gather(operation)
        except NotExercised as missing:
            return inconclusive(missing.why)

    def send_witnesses(self) -> None:
        """Send the reads that were not sent yet: they show whether an account, or the token, is valid."""
        if not self._has_witnesses:
            self._has_witnesses = True
            reads = [name for name in READS if self.traffic.permitted(name) and name not in self.traffic.sent(read)]
            for send in next(_visits(self.traffic, reads)):
                send()

    def _gather(self, operation: str) -> Judgement:
        questions = {
            Question.ELSEWHERE: self._send_elsewhere,
            Question.SIBLING: self._send_it_to_sibling,
            Question.VALID: self._send_what_shows_that_it_is_valid,
            Question.INVALID: self._send_invalid_requests,
        }
        evidence = EndpointEvidence(tuple(self._send_what_can_show(operation)))
        while isinstance(concluded := conclude(evidence), Question):
            evidence = questions[concluded](operation, evidence)
        return concluded

    def _send_what_can_show(self, operation: str) -> list[Exchange]:
        """The exchanges that can show the operation, the surest first."""
        if operation == "executePix":
            executions = self.traffic.sent(execute)
            prepared = [seen for seen in executions.answers if seen.number in executions.prepared]
            return [*executions.successes, *prepared, *([executions.unknown] if executions.unknown else [])]
        if operation == "registerPixKey":
            found = self.traffic.sent(register)
            return [*found.accepted, *found.fresh]
        if operation == "deletePixKey":
            deletions = self.traffic.sent(register).deletions if self.traffic.permitted("registerPixKey") else []
            return deletions or [self._client.send("deletePixKey", synthetic(), json={})]
        return visit(self.traffic, operation)[:1]

    def _send_elsewhere(self, operation: str, evidence: EndpointEvidence) -> EndpointEvidence:
        """See what other requests of the run show of the endpoint, and send another harmless one."""
        others = [seen for seen in self._client.door.exchanges if seen.operation == operation]
        if seen := granted([seen for seen in others if seen.credential == VALID]):
            return replace(evidence, answers=(*evidence.answers, seen))
        compared = next((each for each in map(self._send_to_sibling, comparable(others)) if _counts(each)), None)
        if compared is None and not is_passing(harmless := self._send_harmlessly(operation)):
            compared = self._send_to_sibling(harmless)
        return replace(evidence, elsewhere=(compared,) if compared and _counts(compared) else ())

    def _send_it_to_sibling(self, operation: str, evidence: EndpointEvidence) -> EndpointEvidence:
        """Send the request that was refused to the sibling of the endpoint."""
        assert evidence.answer is not None
        return replace(evidence, comparison=self._send_to_sibling(evidence.answer))

    def _send_invalid_requests(self, operation: str, evidence: EndpointEvidence) -> EndpointEvidence:
        """A valid request may be refused like an unknown path (no such key, no such payee), and an invalid one not.

        For a synthetic account: what a deletion without a key does to a real one is not shown.
        """
        path_parameter = synthetic() if operations()[operation].path_parameter else None
        compared: list[Comparison] = []
        for body in _invalid_bodies(operation, self._profile):
            if not any(each.tells_apart for each in compared):
                compared.append(
                    self._send_to_sibling(self._client.send(operation, path_parameter, body=body, alone=True))
                )
        return replace(evidence, invalid=tuple(compared))

    def _send_to_sibling(self, seen: Exchange) -> Comparison:
        """Send a request once more, to the sibling of the endpoint; never with a real code."""
        path_parameter = synthetic() if seen.operation == "executePix" else _path_parameter_of(seen)
        return Comparison(
            seen, self._client.send_to_sibling(seen.operation, path_parameter, body=seen.request.body or None)
        )

    def _send_harmlessly(self, operation: str) -> Exchange:
        """A request that can do nothing to anybody: for a synthetic identifier, or an empty object as body. A read is
        valid."""
        documented = operations()[operation]
        reads, body = documented.permission == "read", NOTHING if documented.method == "GET" else {}
        account = self._profile.accounts[0] if reads and self._profile.accounts else synthetic()
        place = account if documented.path_parameter else None
        return self._client.send(operation, place, json=body, valid=reads, alone=True)

    # -- whether the refused request is known to be valid -----------------------------------------------------

    def _send_what_shows_that_it_is_valid(self, operation: str, evidence: EndpointEvidence) -> EndpointEvidence:
        """Find out whether the request is surely valid: else its refusal says nothing of the endpoint."""
        assert evidence.comparison is not None
        seen = evidence.comparison.endpoint
        known = seen.expects_success and self._seek_proof_that_it_is_valid(seen, evidence.comparison.sibling)
        return replace(evidence, known_valid=known, needed=self._needed(seen))

    def _seek_proof_that_it_is_valid(self, seen: Exchange, sibling: Exchange) -> bool:
        """A prepared code, a key that is listed, or an account that a read or another operation accepts. Where nothing
        was granted the token may be wrong, and a 404 alone says that there is no such path."""
        if seen.operation == "executePix":
            return seen.number in self.traffic.sent(execute).prepared
        if seen.operation == "deletePixKey" and self._send_and_compare_registrations(sibling):
            deletion = self._delete_a_listed_key(seen)
            return deletion is not None and indistinguishable(seen, deletion)
        self.send_witnesses()
        others = [other for other in self._client.door.exchanges if other.operation != seen.operation]
        accepted = [other for other in others if succeeded(other) and other.response and not is_page(other.response)]
        if operations()[seen.operation].path_parameter is None:
            return bool(accepted) or bool(seen.response and refusal_kind(seen.response) is RefusalKind.NOT_FOUND)
        return any(_path_parameter_of(other) == _path_parameter_of(seen) for other in accepted)

    def _send_and_compare_registrations(self, sibling: Exchange) -> bool:
        """Send registrations that may be refused, where no requirement of the registration is selected. True where all
        that are refused are refused like an unknown path."""
        found = self.traffic.sent(register)
        if not found.tried[Attempted.UNDOCUMENTED_TYPE]:
            registrar = Registrar(self._client, self._profile)
            send(registrar, undocumented(registrar.to_be_refused(self._profile.pix_keys[:1])))
            found.tried = registrar.found.tried
        sent = [*found.tried[Attempted.UNDOCUMENTED_TYPE], *found.tried[Attempted.OTHER_NAME], *found.fresh]
        return all(indistinguishable(seen, sibling) for seen in sent if seen.response and is_refusal(seen.response))

    def _delete_a_listed_key(self, seen: Exchange) -> Exchange | None:
        """Delete the key that a deletion named, where the list shows it by now: a registration may be done later than
        it is answered."""
        registrar, body = Registrar(self._client, self._profile), seen.request.body.decode("utf-8", "replace")
        left = [(key.value, key.type) for key in registrar.keys.not_cleaned_up() if key.value and key.value in body]
        for value, key_type in left:
            listing = registrar.look() if registrar.keys.may_be_deleted(value) else None
            if listing is not None and listing.shows(value):
                return registrar.delete(PixKey(key_type, value), valid=True)
        return None

    def _needed(self, seen: Exchange) -> str:
        """What would tell the endpoint from no endpoint."""
        if seen.operation != "deletePixKey" or seen.operation not in self._profile.requests:
            return _SUPPLY.get(seen.operation, "supply an account that exists")
        return (
            "the list of keys does not show that the key is registered by now"
            if seen.expects_success
            else NOTHING_TO_DELETE
        )


def _counts(compared: Comparison) -> bool:
    """Whether it tells the endpoint from no endpoint, and no passing trouble of its sibling does."""
    return compared.tells_apart and not is_passing(compared.sibling)


def _path_parameter_of(exchange: Exchange) -> str | None:
    return exchange.request.last_segment if operations()[exchange.operation].path_parameter else None


def _invalid_bodies(operation: str, profile: Profile) -> list[bytes]:
    """What is compared where a valid request is refused like an unknown path."""
    objects = [b"{}"] if operation == "deletePixKey" else []
    texts = [invalid.TEXTS["cut short"]] if operation in WITH_A_BODY and "fuzz" in profile.allow else []
    return objects + texts
