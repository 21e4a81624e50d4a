"""Judgements that take several exchanges: whether a token is accepted, under which scheme, and what is enough."""

from __future__ import annotations

from collections.abc import Mapping

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from environments.profiles.model import Prepare
from spec.answers import (
    RefusalKind,
    answer_in_words,
    answers_in_words,
    data_of,
    declines,
    grants_protected_result,
    is_granted,
    is_judged_as_success,
    is_page,
    is_refusal,
    is_served,
    refusal_kind,
    says_done_in_words,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts, facts_of
from spec.findings import Conclusion, Judgement, deviates, finding, holds, inconclusive
from spec.interface import READS
from spec.json_text import is_number
from spec.log import Log
from spec.message import Text, joined, say
from spec.observed import indistinguishable
from spec.rules import Reproduction, judge
from spec.rules.robustness import never_answered
from tests.traffic.at_times import FOR_THE_TOKEN, refused_at_times
from tests.traffic.execution import Execution, Preparation, answers_to_real_codes, executed_and_refused
from tests.traffic.keys.purposes import type_sent, understood_registrations, valid_registrations
from tests.traffic.keys.refused_types import deviations_if_more_is_needed
from tests.traffic.money.preparing import amounts_of
from tests.traffic.refused_credentials import MOST_CITED, credentials_of, let_in_words
from tests.traffic.scenario import Traffic

# -- the token ----------------------------------------------------------------------------------------------------


def token_is_accepted(traffic: Traffic, operation: str, answers: list[Exchange]) -> Judgement:
    """The judgement that a valid token is accepted. A 401 is a failure only where other requests show that the token is
    valid, where the same request is taken before and after it, or where it is the answer to another request."""
    if mixed_up := traffic.reproduction.mixed_up(operation, RefusalKind.TOKEN):
        return deviates(finding("token-mixed-up"), *mixed_up[:MOST_CITED])
    answers = [answer for answer in answers if answer.credential == VALID and answer.expects_success]
    at_times = refused_at_times(traffic.log, operation, FOR_THE_TOKEN)
    if at_times.refused:
        number = len(at_times.refused)
        breach = finding("token-refused-at-times", answer=answer_in_words(at_times.refused[0]), number=number)
        return deviates(breach, *at_times.refused[:MOST_CITED], *at_times.taken)
    if granted := list(filter(succeeded, answers)):
        return holds(granted[0])
    statuses = {answer.response.status for answer in answers if answer.response}
    if statuses == {401}:
        return _why_it_is_refused(traffic, operation, answers[0])
    seen = answers_in_words(answers) if answers else say("no answer")
    return inconclusive(say("no valid request succeeded ({answer})", answer=seen), *answers[:1])


def _why_it_is_refused(traffic: Traffic, operation: str, shown: Exchange) -> Judgement:
    """The judgement of a 401 to every valid request: a fault of the service only if the token is valid elsewhere, and
    did not expire in between, as far as harmless requests show that."""
    witness = _shows_the_token(traffic, operation)
    if not witness or (traffic.client.door.token_monitor.witness is None and witness[0].number < shown.number):
        return inconclusive(say("status 401, and no other operation shows that the token is valid"), shown)
    return deviates(finding("token-refused", operation=witness[0].operation), shown, *witness)


def _shows_the_token(traffic: Traffic, but: str) -> tuple[Exchange, ...]:
    """A request that is granted with the token and, where the interface document does not say that a token is needed,
    one that is refused without it."""
    for operation in [name for name in ("executePix", "registerPixKey", *READS) if name != but]:
        sent = traffic.log.targeted(operation)
        granted = list(filter(succeeded, sent))
        refused = [seen for seen in sent if seen.credential == NO_HEADER and seen.response and not is_granted(seen)]
        if granted and (refused or operation not in READS):
            return granted[-1], *refused[:1]
    return ()


def accepted_under_another_scheme(log: Log) -> Judgement:
    """The judgement that a synthetic code is answered otherwise with the token in another form than as a bearer.

    No real code is spent on this: where a wrong token is answered like the right one, nothing is shown.
    """
    granted = log.of("executePix", Execution.UNKNOWN_CODE)[:1]
    unauthorized = log.of("executePix", Execution.UNKNOWN_CODE_REFUSED)
    refused = [exchange for exchange in unauthorized if exchange.credential == ANOTHER]
    if not granted or not granted[0].response or not refused:
        return inconclusive(say("no answer"))
    if indistinguishable(granted[0], refused[0]):
        return inconclusive(say("a synthetic code is answered alike with and without a valid token"))
    others = [exchange for exchange in unauthorized if exchange.credential not in (ANOTHER, NO_HEADER)]
    if not any(exchange.response for exchange in others):
        return inconclusive(say("no answer to the token under another scheme"))
    accepted = [exchange for exchange in others if indistinguishable(exchange, granted[0])]
    if accepted:
        return deviates(finding("scheme-accepted", credentials=let_in_words(accepted)), granted[0], *accepted)
    return holds(*others)


def none_granted(refusable: list[Exchange], code: str, *others: tuple[str, list[Exchange]]) -> Judgement:
    """The judgement that none of these requests got the protected result; else a finding of this code, or of a refusal
    that holds it. `others` are further findings, each with the exchanges that it is about. What cannot be read may be
    the result."""
    told = [exchange for exchange in refusable if grants_protected_result(exchange) or _says_done_in_a_text(exchange)]
    granted = list(filter(is_granted, told))
    for name, seen in ((code, granted), ("result-in-refusal", told), *others):
        if seen:
            return deviates(finding(name, credentials=let_in_words(seen), answer=answer_in_words(seen[0])), *seen)
    if unread := [seen for seen in refusable if is_granted(seen) and seen.response and seen.response.broken]:
        return inconclusive(say("a 200 that cannot be read: {names}", names=credentials_of(unread)), *unread)
    return holds(*refusable[:MOST_CITED])


def _says_done_in_a_text(exchange: Exchange) -> bool:
    """True if a text says that an execution is DONE. A refusal says so with this word alone, and a page never, because
    scripts have it, too."""
    response = exchange.response
    if exchange.operation != "executePix" or response is None or not says_done_in_words(response):
        return False
    is_the_word_alone = response.start.strip() == b"DONE"
    return is_the_word_alone or not (is_refusal(response) or is_page(response))


def token_is_required(
    without_token: list[Exchange], valid: list[Exchange], code: str, *others: tuple[str, list[Exchange]]
) -> Judgement:
    """The judgement that requests without a valid token are refused. `valid` are the valid requests.

    An answer grants the request if it says success or carries the result (`none_granted`, which explains `code` and
    `others`), or if it cannot be told apart from the answer to a valid request: nothing differs, or nothing but the
    values in what is no refusal. Without a success the answers have nothing to be compared with: that all answers are
    equal may then mean that nobody is served.
    """
    judgement = none_granted(without_token, code, *others)
    if judgement.deviates:
        return judgement
    successes = [exchange for exchange in valid if is_served(exchange)]
    if not successes:
        return inconclusive(_NO_SUCCESS, *without_token[:1])
    by_shape = {_shape_of(success): success for success in reversed(successes)}
    by_shape.pop(frozenset(), None)
    alike = {
        exchange: next((success for success in successes if indistinguishable(exchange, success)), None)
        or by_shape.get(_shape_of(exchange))
        for exchange in without_token
    }
    let_in = [exchange for exchange, success in alike.items() if success]
    if let_in:
        compared = dict.fromkeys(success for success in alike.values() if success)
        return deviates(finding("answered-alike", credentials=let_in_words(let_in)), *let_in, *compared)
    return judgement


def _shape_of(exchange: Exchange) -> Facts:
    """The places and types of an answer in JSON that grants something, without its values. Empty for any other."""
    response = exchange.response
    if response is None or not is_granted(exchange) or declines(response) or not data_of(response):
        return frozenset()
    return facts_of(response.json.value)


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """Deviates where a refused registration has registered its key."""
    refused = (say("{type}: {answer}", type=type_sent(seen), answer=answer_in_words(seen)) for seen in effects)
    return deviates(finding("refusal-with-effect", refused=joined(refused, ", ")), *effects) if effects else holds()


def no_refusal_was_executed(log: Log) -> Judgement:
    """Deviates if a refusal carries the result of the execution that it refuses."""
    refused = executed_and_refused(log)
    if not refused:
        return holds()
    return deviates(finding("executed-and-refused", answer=answer_in_words(refused[0])), *refused[:MOST_CITED])


_NO_SUCCESS = say("no valid request succeeded: that answers are alike without a token shows nothing then")


# -- the documented request is enough -----------------------------------------------------------------------------

_NOT_UNDERSTOOD = say(
    "no registration was understood ({answers}): perhaps the service expects another body, or the account holds as "
    "many keys as it may"
)


_ENOUGH_PREPARED = 3
"""Prepared transfers that show whether an execution needs more than is documented."""


def needs_more(log: Log, prepare: Prepare | None) -> Judgement:
    """The judgement that codes which this run prepared are executed as documented, and not with more alone."""
    answers = answers_to_real_codes(log)
    successes = list(filter(succeeded, answers))
    if successes:
        return holds(successes[0])
    prepared = log.of("executePix", Execution.PREPARED)
    successes_with_more = list(filter(succeeded, log.of("executePix", Execution.PREPARED_WITH_MORE)))
    if successes_with_more and len(prepared) >= 2:
        return deviates(finding("needs-more"), *prepared, *successes_with_more)
    refused = prepared or answers
    why = say("no code was executed as documented ({answers})", answers=answers_in_words(refused))
    if prepare is None or prepare.count < _ENOUGH_PREPARED:
        why = say(
            "no code was executed as documented ({answers}): supply more codes, or set transactions.prepare.count to "
            "{count} or more",
            answers=answers_in_words(refused),
            count=_ENOUGH_PREPARED,
        )
    return inconclusive(why, *refused[:1], *successes_with_more)


def json_is_understood(answers: list[Exchange], otherwise: Text) -> Judgement:
    """The judgement that a request sent as application/json was granted, or refused for another reason."""
    kinds = {refusal_kind(answer.response) for answer in answers if answer.response}
    if kinds == {RefusalKind.MEDIA_TYPE}:
        return deviates(finding("json-refused"), *answers[:1])
    return holds(*answers[:1]) if None in kinds else inconclusive(otherwise, *answers[:1])


def registration_is_understood(requirement_id: str, log: Log) -> Judgement:
    """The judgement that the documented request is understood. If a changed request was accepted, the change is what
    the service asks for in addition."""
    needs_more = deviations_if_more_is_needed(log)
    if requirement_id in needs_more:
        return needs_more[requirement_id]
    understood, answers = understood_registrations(log), valid_registrations(log)
    if understood:
        return holds(understood[0])
    why = _NOT_UNDERSTOOD.of(answers=answers_in_words(answers))
    if not any(answer.response for answer in answers):
        why = say("no registration was answered ({answers})", answers=answers_in_words(answers))
    if needs_more:
        why = say("no registration as documented was understood")
    if requirement_id == "registerPixKey.contentType.accepted":
        return json_is_understood(answers, why)
    return inconclusive(why, *answers[:1])


# -- values that the run itself knows ------------------------------------------------------------------------------


def of_no_other(requirement_id: str, sent: Mapping[Exchange, object]) -> Judgement:
    """The judgement that no result has what another request named. It counts where one has what its own request named:
    numbers of two kinds may be the same by chance."""
    judged, field = {seen: judge(requirement_id, seen) for seen in sent}, requirement_id.split(".")[1]
    others = sent.values() if any(each.holds for each in judged.values()) else ()
    mixed_up = [seen for seen, each in judged.items() if each.deviates and _shown(seen, field) in others]
    return deviates(finding("of-another", f"/data/{field}", field=field), *mixed_up) if mixed_up else holds()


def has_the_amount(log: Log) -> Judgement:
    """The judgement that the results of transfers which the run prepared have their amount."""
    amounts = amounts_of(log.with_purpose(Preparation.TO_EXECUTE))
    executions = filter(succeeded, log.of("executePix", Execution.PREPARED))
    values = {exchange: _shown(exchange, "value") for exchange in executions}
    numbers = [seen for seen, value in values.items() if is_number(value)]
    if not (amounts and numbers):
        return inconclusive(say("no transfer was executed that the run prepared with a number as value"))
    other = [seen for seen in numbers if values[seen] not in amounts]
    return deviates(finding("other-amount", "/data/value"), *other) if other else holds(*numbers)


def _shown(seen: Exchange, field: str) -> object:
    return (data_of(seen.response) or {}).get(field)


# -- one of many answers ------------------------------------------------------------------------------------------


_NOTHING_TO_JUDGE = say("no answer to judge")


def seen_in_one_answer(requirement_id: str, answers: list[Exchange]) -> Judgement:
    """The judgement that one answer at least keeps the requirement: for an example that cannot hold in every answer."""
    judged = [judge(requirement_id, answer) for answer in answers if is_judged_as_success(answer)]
    ranks = (Conclusion.HOLDS, Conclusion.INCONCLUSIVE, Conclusion.DEVIATES)
    refused = say("no code was executed: {answers}", answers=answers_in_words(answers))
    none = inconclusive(refused if answers else say("no code was executed"))
    return min(judged, key=lambda judgement: ranks.index(judgement.conclusion), default=none)


def never_broken(requirement_id: str, log: Log, reproduction: Reproduction, not_sent: Text = "") -> Judgement:
    """The judgement that no request to the operation breaks the requirement, of which the first is shown; generated
    invalid ones are judged apart."""
    operation = requirement_id.partition(".")[0]
    attempts = log.attempts(operation)
    seen = [each for each in attempts if each.valid or not each.part]
    judged = [(each, reproduction.judge(requirement_id, each)) for each in seen]
    if broken := [each for each, judgement in judged if judgement.deviates]:
        return deviates([one for _, judgement in judged for one in judgement.findings], *broken)
    late = never_answered(operation, log.attempts()) if requirement_id.endswith(".connection") else []
    if late:
        return deviates(finding("not-answered", requests=len(late)), *late)
    if not any(each.response for each in seen):
        answers = joined(answer_in_words(each) for each in seen)
        return inconclusive(say("no answer to judge: {answers}", answers=answers) if seen else _NOTHING_TO_JUDGE)
    once = {each: judgement.why for each, judgement in judged if judgement.why}
    shown = [each for each, judgement in judged if judgement.holds]
    return holds(*once, *shown[:1], why=joined([*once.values(), not_sent]))
