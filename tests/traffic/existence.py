"""The existence of each endpoint, and of the prefix of all.

The interface document names the endpoints and shows no answer of most of them. A success proves an endpoint. A refusal
is compared with that of its sibling, a path that is not documented: an endpoint that answers a valid request like such
a path does not exist.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from environments.door.permission import synthetic
from spec.answers import (
    ABOUT_THE_CALLER,
    RefusalKind,
    answer_in_words,
    is_granted,
    is_page,
    refusal_kind,
    refused_or_lost,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose
from spec.findings import Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING, operations
from spec.message import joined, say
from spec.observed import indistinguishable, is_passing
from tests.harness.judging import NotExercised, require_permission, require_supplied
from tests.harness.selection import MAY_BE_OPEN
from tests.traffic.execution import Execution
from tests.traffic.invalid import UNREADABLE
from tests.traffic.registration import register
from tests.traffic.scenario import Traffic, gathering_scenario
from tests.traffic.undescribed import visit


class Existence(Purpose):
    """Why a request is sent to find out whether an endpoint exists."""

    HARMLESS = "for a synthetic identifier, to see whether the endpoint answers"
    UNDOCUMENTED_PATH = "to see how an unknown path is answered"


@gathering_scenario(serves=["*.exists", "general.versionPrefix"], otherwise=dict[str, Judgement]())
def find_out(traffic: Traffic) -> dict[str, Judgement]:
    """Ask of each endpoint what the answers leave open."""
    wants = traffic.reach.wants
    return {
        operation: _find_out(traffic, operation)
        for operation in operations()
        if wants(f"{operation}.exists") or (wants("general.versionPrefix") and traffic.permitted(operation))
    }


def prefix_is_served(traffic: Traffic) -> Judgement:
    """The judgement that one of the documented paths answers. OutOfScope where the profile permits nothing at all."""
    require_permission(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    found = traffic.result_of(find_out).values()
    require_supplied(found, say("all that is permitted may move money: add read to allow, or select an operation"))
    exchanges = [seen for judgement in found for seen in judgement.exchanges[:1]]
    if any(judgement.holds for judgement in found):
        return holds(*exchanges)
    if any(judgement.deviates for judgement in found):
        return deviates(finding("no-prefix"), *exchanges)
    return inconclusive(say("no documented path can be told from an undocumented one"), *exchanges)


_NOT_TOLD_APART = say("no answer of its own, so it cannot be told from an undocumented path")
_NEEDED = {operation: f"needs a body that is accepted in requests.{operation}" for operation in PREPARING} | {
    "executePix": "needs a code that transactions.prepare prepares",
    "deletePixKey": "needs requests.deletePixKey, and a key that is not RANDOM and not registered yet",
}


def _find_out(traffic: Traffic, operation: str) -> Judgement:
    """The judgement that an endpoint exists. Where passing trouble answered, another harmless request is sent."""
    try:
        answers = _what_can_show(traffic, operation)
    except NotExercised as missing:
        return inconclusive(missing.why)
    for seen in traffic.client.door.exchanges:
        is_shown = seen.operation == operation and seen.credential == VALID and is_granted(seen)
        if is_shown and seen.response and seen.response.json.readable:
            return holds(seen)
    lasting = next((seen for seen in answers if not is_passing(seen)), None) or _send_for_nobody(traffic, operation)
    if not is_passing(lasting):
        return _by_difference(traffic, lasting)
    shown = lasting if lasting.number else next(iter(answers), lasting)  # one without a number was not sent
    return inconclusive(say("no valid request succeeded ({answer})", answer=answer_in_words(shown)), shown)


def _what_can_show(traffic: Traffic, operation: str) -> list[Exchange]:
    """The exchanges that can show the operation where none was granted, the surest first."""
    if operation == "executePix":
        executions = traffic.log.of(operation, Execution.PREPARED)
        return [*executions, *traffic.log.of(operation, Execution.UNKNOWN_CODE)]
    found = traffic.result_of(register)
    if operation == "registerPixKey":
        return found.fresh
    if operation == "deletePixKey":
        return found.deletions or [_send_for_nobody(traffic, operation)]
    return visit(traffic, operation)[:1]


def _send_for_nobody(traffic: Traffic, operation: str, body: bytes = b"{}") -> Exchange:
    """A request that can do nothing to anybody: for a synthetic identifier, with an empty object as body."""
    sent_body = None if operations()[operation].method == "GET" else body
    return traffic.client.send(operation, synthetic(), body=sent_body, purpose=Existence.HARMLESS)


def _by_difference(traffic: Traffic, seen: Exchange) -> Judgement:
    """The judgement by an answer that proves nothing alone: the first line that applies counts. A redirect may be that
    of a gateway, to log in; one that only adds a slash is the endpoint's own."""
    assert seen.response is not None
    kind, status = refusal_kind(seen.response), seen.response.status
    if kind in (RefusalKind.METHOD, RefusalKind.NOT_IMPLEMENTED):
        return deviates(finding("no-endpoint", status=status), seen)
    siblings = sibling, _ = _send_to_siblings(traffic, seen)
    pages = {urlsplit(each.response.header("Location")).path for each in (seen, *siblings) if each.response}
    if not all(each.response for each in siblings):
        return inconclusive(say("no answer"), seen, sibling)
    is_its_own = kind is not RefusalKind.REDIRECT or f"{urlsplit(seen.request.url).path}/" in pages
    if is_its_own and not indistinguishable(seen, *siblings):
        return holds(seen, sibling)
    if kind in ABOUT_THE_CALLER and (len(pages) > 1 or "" in pages):  # no redirect to one page, such as to log in
        return inconclusive(
            joined(
                (
                    _NOT_TOLD_APART,
                    say("the token may lack the scope, or the service expects the address that a redirect names"),
                )
            ),
            seen,
            sibling,
        )
    if not _is_known_to_be_valid(traffic, seen, siblings):
        needed = _NEEDED.get(seen.operation, "needs an account that exists")
        return inconclusive(joined((_NOT_TOLD_APART, needed)), seen, sibling)
    if told_apart := _refuses_what_is_invalid(traffic, seen.operation):
        return holds(*told_apart)
    return deviates(finding("like-undocumented", status=status), seen, sibling)


def _send_to_siblings(traffic: Traffic, seen: Exchange) -> list[Exchange]:
    """Send a request once more, to the siblings of the endpoint; never with a real code."""
    return traffic.client.send_to_siblings(
        seen.operation,
        synthetic() if seen.operation == "executePix" else _path_parameter_of(seen),
        body=seen.request.body or None,
        purpose=Existence.UNDOCUMENTED_PATH,
    )


def _refuses_what_is_invalid(traffic: Traffic, operation: str) -> tuple[Exchange, ...]:
    """An invalid request that is not answered like an unknown path, and its comparison: a valid request may be (no such
    key, no such payee). For a synthetic account: what a deletion without a key does to a real one is not shown."""
    bodies = [b"{}"] if operation == "deletePixKey" else []
    bodies += [UNREADABLE["cut short"]] if operation in MAY_BE_OPEN and "fuzz" in traffic.profile.allow else []
    for body in bodies:
        seen = _send_for_nobody(traffic, operation, body)
        siblings = _send_to_siblings(traffic, seen)
        if all(each.response for each in (seen, *siblings)) and not indistinguishable(seen, *siblings):
            return seen, siblings[0]
    return ()


def _is_known_to_be_valid(traffic: Traffic, seen: Exchange, siblings: list[Exchange]) -> bool:
    """True for a prepared code, or an account that a read or another operation accepts. Where nothing was granted the
    token may be wrong, and a 404 alone says that there is no such path."""
    if not seen.expects_success:
        return False
    if seen.operation == "executePix":
        return seen.purpose is Execution.PREPARED
    if seen.operation == "deletePixKey" and indistinguishable(_send_for_nobody(traffic, "registerPixKey"), *siblings):
        return False  # an endpoint that exists is answered so, too: perhaps the key is not registered yet
    accepted = [
        other
        for other in traffic.client.door.exchanges
        if other.operation != seen.operation and succeeded(other) and other.response and not is_page(other.response)
    ]
    if (account := _path_parameter_of(seen)) is None:
        return bool(accepted) or refused_or_lost(seen) is RefusalKind.NOT_FOUND
    return account in map(_path_parameter_of, accepted)


def _path_parameter_of(exchange: Exchange) -> str | None:
    return exchange.request.last_segment if operations()[exchange.operation].path_parameter else None
