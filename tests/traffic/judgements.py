"""Judgements that take several exchanges: whether a token is accepted, under which scheme, and what is enough."""

from __future__ import annotations

from dataclasses import replace

from environments.door.authorization import VALID
from environments.door.wrong_tokens import NO_HEADER
from spec.answers import (
    RefusalKind,
    grants_protected_result,
    is_judged_as_success,
    is_refusal,
    refusal_kind,
    succeeded,
)
from spec.exchange import Exchange
from spec.findings import Judgement, Outcome, deviates, finding, holds, inconclusive
from spec.interface import READS, operations
from spec.message import Text, joined, say
from spec.rules import judge
from tests.harness.judging import require_permission, supplied
from tests.harness.reproduction import Reproduction
from tests.traffic.endpoint_evidence import indistinguishable
from tests.traffic.execution import Executions
from tests.traffic.existence import find_out
from tests.traffic.refused_credentials import MOST_CITED, credentials_of
from tests.traffic.registered import Registrations
from tests.traffic.scenario import Traffic


def token_is_accepted(traffic: Traffic, operation: str, answers: list[Exchange]) -> Judgement:
    """Whether a valid token is accepted. A 401 is a failure only where other requests show that it is valid, or
    where it is the answer to another request."""
    if mixed_up := traffic.client.door.company.mixed_up(operation, RefusalKind.TOKEN):
        return deviates(finding("token-mixed-up"), *mixed_up[:MOST_CITED])
    answers = [answer for answer in answers if answer.credential == VALID and answer.expects_success]
    if granted := list(filter(succeeded, answers)):
        return holds(granted[0])
    statuses = {answer.response.status for answer in answers if answer.response}
    shown = tuple(answers[:1])
    if statuses != {401}:
        seen = ", ".join(str(status) for status in sorted(statuses)) or say("no answer")
        return inconclusive(say("no valid request was granted ({answer})", answer=seen), *shown)
    return _why_it_is_refused(traffic, operation, answers)


def _why_it_is_refused(traffic: Traffic, operation: str, answers: list[Exchange]) -> Judgement:
    """Whether a 401 to every valid request is a fault of the service: only if the token is valid elsewhere."""
    shown = tuple(answers[:1])
    witness = _shows_the_token(traffic, operation)
    unasked = traffic.client.door.token_monitor.witness is None
    if witness and unasked and witness[0].number < answers[0].number:
        why = say("status 401 after the token was accepted: it may have expired, and no harmless request shows it")
        return inconclusive(why, *shown)
    if witness:
        return deviates(finding("token-refused", operation=witness[0].operation), *shown, *witness)
    others = traffic.reach.left_out("executePix", "registerPixKey", *READS)
    return inconclusive(joined((_NO_WITNESS, others)), *shown)


_NO_WITNESS = say("status 401, and no other operation shows that the token is valid")


def _shows_the_token(traffic: Traffic, but: str) -> tuple[Exchange, ...]:
    """What shows that the token is valid: a request that is granted with it and, where the interface document does not say
    that a token is needed, refused without it."""
    for operation in ("executePix", "registerPixKey"):
        granted = list(filter(succeeded, traffic.targeted(operation)))
        if operation != but and granted:
            return (granted[0],)
    for operation in READS:
        sent = traffic.targeted(operation)
        granted = [seen for seen in sent if succeeded(seen)]
        refused = [
            seen for seen in sent if seen.credential == NO_HEADER and seen.response and is_refusal(seen.response)
        ]
        if granted and refused:
            return (granted[-1], refused[0])
    return ()


def accepted_under_another_scheme(executions: Executions) -> Judgement:
    """Whether a synthetic code is answered alike with the bearer token and with the token in another form.

    No real code is spent on this: where a wrong token is answered like the right one, nothing is shown.
    """
    granted, refused = executions.unknown, executions.unknown_unauthorized
    if granted is None or refused is None or granted.response is None:
        return inconclusive(say("no answer"))
    if indistinguishable(granted, refused):
        return inconclusive(say("a synthetic code is answered alike with and without a valid token"))
    taken = [seen for seen in executions.other_schemes if indistinguishable(seen, granted)]
    if taken:
        return deviates(finding("scheme-accepted", credentials=credentials_of(taken)), granted, *taken)
    return holds(*executions.other_schemes)


def seen_in_one_answer(requirement_id: str, answers: list[Exchange]) -> Judgement:
    """Whether at least one answer keeps the requirement: for an example that cannot hold in every answer.

    If a success could not be judged, the result is inconclusive.
    """
    judged = [judge(requirement_id, answer) for answer in answers if is_judged_as_success(answer)]
    for outcome in (Outcome.HOLDS, Outcome.INCONCLUSIVE, Outcome.DEVIATES):
        of_it = [judgement for judgement in judged if judgement.outcome is outcome]
        if of_it:
            shown = (exchange for judgement in of_it[:3] for exchange in judgement.exchanges)
            return replace(of_it[0], exchanges=tuple(shown))
    return inconclusive(say("no code was executed"))


_ONE_MORE = say(
    "one prepared code was refused as documented, and one executed with a query, a body and further headers: "
    "set transactions.prepare.count to 3 or more"
)
"""What decides is a code that is refused again after that."""


def needs_more(executions: Executions) -> Judgement:
    """Whether codes that this run prepared are refused as documented, and executed with more."""
    confirmed = [answer for answer in executions.answers if succeeded(answer)]
    if confirmed:
        return holds(confirmed[0])
    prepared = [answer for answer in executions.answers if answer.number in executions.prepared]
    generous = [answer for answer in executions.generous if succeeded(answer)]
    if generous and len(prepared) >= 2:
        return deviates(finding("needs-more"), *prepared, *generous)
    why = _ONE_MORE if generous else say("no code was executed")
    return inconclusive(why, *(prepared or executions.answers)[:1], *generous)


def none_granted(refusable: list[Exchange], code: str) -> Judgement:
    """Whether none of these requests got the protected result; else a finding of this code."""
    granted = [seen for seen in refusable if grants_protected_result(seen)]
    if granted:
        return deviates(finding(code, credentials=credentials_of(granted)), *granted)
    return holds(*refusable[:MOST_CITED])


def json_is_understood(answers: list[Exchange], otherwise: Text) -> Judgement:
    """Whether a request sent as application/json was granted, or refused for another reason than its media type."""
    kinds = {refusal_kind(answer.response) for answer in answers if answer.response}
    if kinds == {RefusalKind.MEDIA_TYPE}:
        return deviates(finding("json-refused"), *answers[:1])
    return holds(*answers[:1]) if None in kinds else inconclusive(otherwise, *answers[:1])


def registration_is_understood(requirement_id: str, registrations: Registrations) -> Judgement:
    """Whether the documented request is understood. If a changed request was accepted, the change is what the service
    asks for in addition."""
    if requirement_id in registrations.broken:
        return registrations.broken[requirement_id]
    if registrations.understood:
        return holds(*registrations.understood[:1])
    if requirement_id == "registerPixKey.contentType.accepted":
        return json_is_understood(registrations.answers, _NOT_UNDERSTOOD)
    return inconclusive(_NOT_UNDERSTOOD, *registrations.answers[:1])


_NOT_UNDERSTOOD = say("no registration was understood")


def prefix_is_served(traffic: Traffic) -> Judgement:
    """Whether one of the documented paths answers. OutOfScope where the profile permits nothing at all."""
    require_permission(traffic.profile.allow - {"fuzz"}, say("needs any permission in allow"))
    permitted = list(filter(traffic.permitted, operations()))
    supplied(permitted, say("all that is permitted may move money: add read to allow, or select an operation"))
    found = [traffic.sent(find_out)[operation] for operation in permitted]
    exchanges = [seen for judgement in found for seen in judgement.exchanges[:1]]
    if any(judgement.holds for judgement in found):
        return holds(*exchanges)
    if any(judgement.deviates for judgement in found):
        return deviates(finding("no-prefix"), *exchanges)
    return inconclusive(say("no documented path can be told from an undocumented one"), *exchanges)


def never_broken(requirement_id: str, exchanges: list[Exchange], reproduction: Reproduction) -> Judgement:
    """Whether no request to the operation of a robustness requirement breaks it."""
    seen = [each for each in exchanges if each.operation == requirement_id.partition(".")[0]]
    broken = [found for each in seen if (found := reproduction.judge(requirement_id, each)).deviates]
    shown = [each for found in broken for each in found.exchanges]
    if not any(each.response for each in seen):
        return inconclusive(say("no answer to judge"), *shown)
    return deviates([one for found in broken for one in found.findings], *shown) if broken else holds()
