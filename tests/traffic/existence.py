"""The existence of each endpoint, and of the prefix of all.

The interface document names the endpoints and shows no answer of most of them. A success proves an endpoint. A refusal
is compared with that of its sibling, a path that is not documented: an endpoint that answers a valid request like such a
path does not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from environments.door.client import NOTHING
from environments.door.permission import synthetic
from environments.profiles.model import Profile
from spec.answers import ABOUT_THE_CALLER, RefusalKind, is_granted, is_page, refusal_kind, succeeded
from spec.exchange import VALID, Exchange
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING, operations
from spec.message import Text, joined, say
from spec.observed import indistinguishable, is_passing
from tests.harness.judging import NotExercised, require_permission, supplied
from tests.traffic.execution import execute
from tests.traffic.invalid import UNREADABLE
from tests.traffic.registration import NOTHING_TO_DELETE, register
from tests.traffic.scenario import Traffic, scenario
from tests.traffic.undescribed import visit


@scenario(shows=["*.exists", "general.versionPrefix"], alone=True, otherwise=dict[str, Judgement]())
def find_out(traffic: Traffic) -> dict[str, Judgement]:
    """Ask of each endpoint what the answers leave open."""
    endpoints, wants = _Endpoints(traffic), traffic.reach.wants
    prefix = list(filter(traffic.permitted, operations())) if wants("general.versionPrefix") else []
    about = [operation for operation in operations() if wants(f"{operation}.exists") or operation in prefix]
    return {operation: endpoints.find_out(operation) for operation in about}


def prefix_is_served(traffic: Traffic) -> Judgement:
    """The judgement that one of the documented paths answers. OutOfScope where the profile permits nothing at all."""
    require_permission(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    found = traffic.sent(find_out).values()
    supplied(found, say("all that is permitted may move money: add read to allow, or select an operation"))
    exchanges = [seen for judgement in found for seen in judgement.exchanges[:1]]
    if any(judgement.holds for judgement in found):
        return holds(*exchanges)
    if any(judgement.deviates for judgement in found):
        return deviates(finding("no-prefix"), *exchanges)
    return inconclusive(say("no documented path can be told from an undocumented one"), *exchanges)


WITH_A_BODY = ("deletePixKey", *PREPARING)
_NO_ENDPOINT = (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED)
_NOT_TOLD_APART = say("cannot be told from an undocumented path")
_NEEDED: Mapping[str, Text] = {operation: f"supply requests.{operation}" for operation in WITH_A_BODY} | {
    "executePix": "supply transactions.prepare"
}


class _Endpoints:
    """Asks of each endpoint, until an answer decides."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic, self._client, self._profile = traffic, traffic.client, traffic.profile

    def find_out(self, operation: str) -> Judgement:
        """The judgement that an endpoint exists."""
        try:
            answers = self._what_can_show(operation)
        except NotExercised as missing:
            return inconclusive(missing.why)
        if seen := _shows_by_effect(answers):
            return holds(seen)
        answer = next((seen for seen in answers if not is_passing(seen)), None)
        return self._by_difference(answer) if answer else self._elsewhere(operation, answers)

    def _what_can_show(self, operation: str) -> list[Exchange]:
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

    def _elsewhere(self, operation: str, answers: Collection[Exchange]) -> Judgement:
        """The judgement where passing trouble answered: by what else the run saw, or by another harmless request."""
        others = [seen for seen in self._client.door.exchanges if seen.operation == operation]
        if seen := _shows_by_effect([seen for seen in others if seen.credential == VALID]):
            return holds(seen)
        if not is_passing(harmless := self._send_harmlessly(operation)):
            return self._by_difference(harmless)
        status = next((seen.response.status for seen in answers if seen.response), 0)
        return inconclusive(say("status {status}", status=status) if status else say("no answer"), *list(answers)[:1])

    def _send_harmlessly(self, operation: str) -> Exchange:
        """A request that can do nothing to anybody: for a synthetic identifier, or an empty object as body. A read is
        valid."""
        documented = operations()[operation]
        reads, body = documented.permission == "read", NOTHING if documented.method == "GET" else {}
        account = self._profile.accounts[0] if reads and self._profile.accounts else synthetic()
        place = account if documented.path_parameter else None
        return self._client.send(operation, place, json=body, valid=reads)

    def _by_difference(self, seen: Exchange) -> Judgement:
        """The judgement by an answer that proves nothing alone: the first line that applies counts."""
        assert seen.response is not None
        kind, status = refusal_kind(seen.response), seen.response.status
        if kind in _NO_ENDPOINT:
            return deviates(finding("no-endpoint", status=status), seen)
        sibling = self._send_to_sibling(seen)
        if sibling.response is None:
            return inconclusive(say("no answer"), seen, sibling)
        if not indistinguishable(seen, sibling):
            return holds(seen, sibling)
        if kind in ABOUT_THE_CALLER:
            return inconclusive(_NOT_TOLD_APART, seen, sibling)
        if not self._is_known_to_be_valid(seen, sibling):
            return inconclusive(joined((_NOT_TOLD_APART, self._needed(seen))), seen, sibling)
        told_apart = self._refuses_what_is_invalid(seen.operation)
        return (
            holds(*told_apart) if told_apart else deviates(finding("like-undocumented", status=status), seen, sibling)
        )

    def _send_to_sibling(self, seen: Exchange) -> Exchange:
        """Send a request once more, to the sibling of the endpoint; never with a real code."""
        path_parameter = synthetic() if seen.operation == "executePix" else _path_parameter_of(seen)
        return self._client.send_to_sibling(seen.operation, path_parameter, body=seen.request.body or None)

    def _refuses_what_is_invalid(self, operation: str) -> tuple[Exchange, ...]:
        """An invalid request that is not answered like an unknown path, and its comparison: a valid request may be (no
        such key, no such payee). For a synthetic account: what a deletion without a key does to a real one is not
        shown."""
        path_parameter = synthetic() if operations()[operation].path_parameter else None
        for body in _invalid_bodies(operation, self._profile):
            seen = self._client.send(operation, path_parameter, body=body)
            sibling = self._send_to_sibling(seen)
            if seen.response and sibling.response and not indistinguishable(seen, sibling):
                return seen, sibling
        return ()

    def _is_known_to_be_valid(self, seen: Exchange, sibling: Exchange) -> bool:
        """True for a prepared code, or an account that a read or another operation accepts. Where nothing was granted the
        token may be wrong, and a 404 alone says that there is no such path."""
        if not seen.expects_success:
            return False
        if seen.operation == "executePix":
            return seen.number in self.traffic.sent(execute).prepared
        if seen.operation == "deletePixKey" and self._refuses_registrations_like(sibling):
            return False
        others = [other for other in self._client.door.exchanges if other.operation != seen.operation]
        accepted = [other for other in others if succeeded(other) and other.response and not is_page(other.response)]
        if operations()[seen.operation].path_parameter is None:
            return bool(accepted) or bool(seen.response and refusal_kind(seen.response) is RefusalKind.NOT_FOUND)
        return any(_path_parameter_of(other) == _path_parameter_of(seen) for other in accepted)

    def _refuses_registrations_like(self, sibling: Exchange) -> bool:
        """True if an endpoint that exists is answered like an undocumented path, too. Then a deletion may be answered so
        because the key is not registered yet."""
        return indistinguishable(self._client.send("registerPixKey", synthetic(), json={}), sibling)

    def _needed(self, seen: Exchange) -> Text:
        """The thing to supply, so that the request is known to be valid."""
        if seen.operation != "deletePixKey" or seen.operation not in self._profile.requests:
            return _NEEDED.get(seen.operation, "supply an account that exists")
        return "" if seen.expects_success else NOTHING_TO_DELETE


def _shows_by_effect(exchanges: Iterable[Exchange]) -> Exchange | None:
    """The first that was granted, with JSON."""
    return next(
        (seen for seen in exchanges if is_granted(seen) and seen.response and seen.response.json.readable), None
    )


def _path_parameter_of(exchange: Exchange) -> str | None:
    return exchange.request.last_segment if operations()[exchange.operation].path_parameter else None


def _invalid_bodies(operation: str, profile: Profile) -> list[bytes]:
    """The bodies that are compared where a valid request is refused like an unknown path."""
    objects = [b"{}"] if operation == "deletePixKey" else []
    texts = [UNREADABLE["cut short"]] if operation in WITH_A_BODY and "fuzz" in profile.allow else []
    return objects + texts
