"""Gathers what shows whether an endpoint exists, question by question, until `existence` can decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache, partial

from environments.door.authorization import VALID
from environments.door.client import NOTHING
from environments.door.permission import synthetic
from environments.profiles.profile import PixKey, Profile
from reports.plan import UNDOCUMENTED
from spec.answers import RefusalKind, is_page, is_refusal, refusal_kind, succeeded
from spec.exchange import Exchange
from spec.findings import Judgement, Outcome, inconclusive
from spec.interface import PREPARING, READS, operations
from tests.harness.judging import NotExercised
from tests.harness.lanes import Part
from tests.traffic import invalid
from tests.traffic.case import Case
from tests.traffic.classes import malformed
from tests.traffic.existence import (
    Comparison,
    EndpointEvidence,
    Question,
    comparable,
    conclude,
    granted,
    indistinguishable,
    is_passing,
)
from tests.traffic.reach import Reach
from tests.traffic.registrar import Registrar
from tests.traffic.registrations import NOTHING_TO_DELETE, send
from tests.traffic.targeted_traffic import TargetedTraffic
from tests.traffic.unusual_registrations import Attempted, undocumented

WITH_A_BODY = ("deletePixKey", *PREPARING)
_SUPPLY = {operation: f"supply requests.{operation}" for operation in WITH_A_BODY} | {
    "executePix": "supply transactions.prepare"
}


class Endpoints:
    """What the run shows of each endpoint, and everything that it sends to it."""

    def __init__(self, traffic: TargetedTraffic) -> None:
        self.traffic, self._client, self._profile = traffic, traffic.client, traffic.profile
        self._findings: dict[str, Judgement] = {}
        self._left_open: set[str] = set()
        self._malformed = {operation: self._parts_of(operation) for operation in traffic.reach.subjects}
        self.send_everything, self.before_transfers = cache(self._send_everything), Part(lambda: None)

    def find_out_existence(self, operation: str) -> Judgement:
        """Find out whether the endpoint exists. If a temporary error left the question open, everything sent since then
        counts too."""
        if operation not in self._findings or operation in self._left_open:
            self._left_open.discard(operation)
            try:
                self._findings[operation] = self._gather(operation)
            except NotExercised as missing:
                self._findings[operation] = inconclusive(missing.why)
        return self._findings[operation]

    def _send_everything(self) -> list[Exchange]:
        """Send everything to the operations that the selection is about, and give every exchange of the run that is not
        generated traffic."""
        for operation in operations():
            if operation in self.traffic.reach.subjects:
                self._send_all(operation)
        self.traffic.delete_synthetic_keys()
        return [seen for seen in self._client.door.exchanges if not seen.part]

    @property
    def surveys(self) -> dict[str, list[Part[Exchange]]]:
        """The malformed requests to each operation that the selection is about, where it looks at everything."""
        return self._malformed if self.traffic.reach.surveys else {}

    def send_malformed(self, operation: str) -> list[tuple[Case, Exchange]]:
        """Send the malformed requests to an operation that the selection is about, and give each beside its answer."""
        if operation in PREPARING:
            self.before_transfers()
        parts = self._malformed.get(operation, [])
        return [(case, part()) for case, part in zip(malformed(operation, self._profile), parts, strict=False)]

    def _parts_of(self, operation: str) -> list[Part[Exchange]]:
        return [Part(partial(case.send, self._client)) for case in malformed(operation, self._profile)]

    def _send_all(self, operation: str) -> None:
        try:
            self.find_out_existence(operation)
            self.send_malformed(operation)
            if operation == "registerPixKey" and "fuzz" in self._profile.allow:
                self.traffic.send_incomplete_registrations()
        except NotExercised:  # an account is missing: the tests of the operation say so
            return

    # -- the questions ----------------------------------------------------------------------------------------

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
        if concluded.outcome is Outcome.INCONCLUSIVE and evidence.answer is None:
            self._left_open.add(operation)
        return concluded

    def _send_what_can_show(self, operation: str) -> list[Exchange]:
        """The exchanges that can show the operation, the surest first."""
        if operation == "executePix":
            executions = self.traffic.execute_once()
            prepared = [seen for seen in executions.answers if seen.number in executions.prepared]
            return [*executions.successes, *prepared, *([executions.unknown] if executions.unknown else [])]
        if operation == "registerPixKey":
            found = self.traffic.register_once()
            return [*found.accepted, *found.fresh]
        if operation == "deletePixKey":
            deletions = self.traffic.register_once().deletions if self.traffic.permitted("registerPixKey") else []
            return deletions or [self._client.send("deletePixKey", synthetic(), json={})]
        return self.traffic.visit(operation)[:1]

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
            return seen.number in self.traffic.execute_once().prepared
        if seen.operation == "deletePixKey" and self._send_and_compare_registrations(sibling):
            deletion = self._delete_a_listed_key(seen)
            return deletion is not None and indistinguishable(seen, deletion)
        for read in filter(self.traffic.permitted, READS):
            self.traffic.visit(read)
        others = [other for other in self._client.door.exchanges if other.operation != seen.operation]
        accepted = [other for other in others if succeeded(other) and other.response and not is_page(other.response)]
        if operations()[seen.operation].path_parameter is None:
            return bool(accepted) or bool(seen.response and refusal_kind(seen.response) is RefusalKind.NOT_FOUND)
        return any(_path_parameter_of(other) == _path_parameter_of(seen) for other in accepted)

    def _send_and_compare_registrations(self, sibling: Exchange) -> bool:
        """Send registrations that may be refused, where no requirement of the registration is selected. True where all
        that are refused are refused like an unknown path."""
        found = self.traffic.register_once()
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


def most_comparisons(profile: Profile, reach: Reach) -> Counter[str]:
    """The requests that `Endpoints` sends at most besides those of `TargetedTraffic`: to siblings of endpoints, and
    invalid ones to both. A deletion is of no key where none was registered."""
    invalid_ones = {operation: len(_invalid_bodies(operation, profile)) for operation in reach.subjects}
    return Counter({**invalid_ones, UNDOCUMENTED: len(reach.subjects) + sum(invalid_ones.values())}) + Counter(
        {"deletePixKey": 1}
    )
