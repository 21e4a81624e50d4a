"""Judgements that compare several exchanges, for instance of the same request with and without the token.

A rule in `spec/rules` judges one exchange. These functions judge a requirement by several exchanges of the log. Each
returns a `Judgement`: the requirement holds, deviates, or is inconclusive because the exchanges do not show it. The
conformance tests ask them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from environments.profiles.model import Prepare
from spec.answers import (
    RefusalKind,
    answer_in_words,
    answers_in_words,
    data_of,
    grants_protected_result,
    is_granted,
    is_judged_as_success,
    is_page,
    is_refusal,
    is_served,
    refusal_kind,
    says_done_in_words,
    says_success_false,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts, facts_of
from spec.findings import Conclusion, Finding, Judgement, deviates, finding, holds, inconclusive
from spec.interface import READ_OPERATIONS
from spec.json_text import is_number
from spec.log import Log
from spec.message import Text, joined, say
from spec.observed import indistinguishable
from spec.rules import Reproduction, judge
from spec.rules.robustness import never_answered
from tests.traffic.at_times import REFUSALS_OF_THE_TOKEN, refused_at_times
from tests.traffic.keys.purposes import type_sent, understood_registrations, valid_registrations
from tests.traffic.keys.refused_types import deviations_if_more_is_needed
from tests.traffic.money.executions import Execution, Preparation, answers_to_real_codes, executed_and_refused
from tests.traffic.money.preparing import amounts_of
from tests.traffic.refused_credentials import MOST_CITED, accepted_credentials_in_words, credentials_in_words
from tests.traffic.scenario import Traffic

CodeAndExchanges = tuple[str, list[Exchange]]
"""The code of a finding in `findings.yaml`, and the exchanges that show it; no exchanges if nothing does."""

# -- a valid token is accepted --------------------------------------------------------------------------------------


def token_is_accepted(traffic: Traffic, operation: str, answers: list[Exchange]) -> Judgement:
    """The judgement that an operation accepts the valid token. `answers` are those to requests to the operation.

    It holds if a valid request succeeded. A 401 to a valid request deviates only in these cases:

    - The service mixes up its answers, and this is the answer to another request.
    - The same request was granted before and after it.
    - Every valid request to the operation gets a 401, and other operations show that the token is valid.
    """
    mixed_up = traffic.reproduction.mixed_up(operation, RefusalKind.TOKEN)
    if mixed_up:
        return deviates(finding("token-mixed-up"), *mixed_up[:MOST_CITED])
    at_times = refused_at_times(traffic.log, operation, REFUSALS_OF_THE_TOKEN)
    if at_times.refused:
        answer = answer_in_words(at_times.refused[0])
        breach = finding("token-refused-at-times", answer=answer, number=len(at_times.refused))
        return deviates(breach, *at_times.refused[:MOST_CITED], *at_times.accepted)

    valid = [answer for answer in answers if answer.credential == VALID and answer.expects_success]
    successes = list(filter(succeeded, valid))
    if successes:
        return holds(successes[0])
    statuses = {answer.response.status for answer in valid if answer.response}
    if statuses == {401}:
        return _judgement_of_refused_token(traffic, operation, valid[0])
    in_words = answers_in_words(valid) if valid else say("no answer")
    return inconclusive(say("no valid request succeeded ({answer})", answer=in_words), *valid[:1])


def _judgement_of_refused_token(traffic: Traffic, operation: str, refused: Exchange) -> Judgement:
    """The judgement of an operation that answers 401 to every valid request; `refused` is the first one.

    It deviates only if another operation shows that the token is valid. If no read succeeded, nobody can tell whether
    the token expired in between, so the other operation must have accepted it after the refusal.
    """
    proof = _proof_of_the_token(traffic, operation)
    no_read_succeeded = traffic.client.door.token_monitor.witness is None
    if not proof or (no_read_succeeded and proof[0].number < refused.number):
        return inconclusive(say("status 401, and no other operation shows that the token is valid"), refused)
    return deviates(finding("token-refused", operation=proof[0].operation), refused, *proof)


def _proof_of_the_token(traffic: Traffic, operation: str) -> tuple[Exchange, ...]:
    """Exchanges of another operation which show that the token is valid; empty if none do.

    They are a request that is granted with the token and, for a read, one that is refused without it, because the
    interface document does not say that a read needs the token.
    """
    for name in ("executePix", "registerPixKey", *READ_OPERATIONS):
        if name == operation:
            continue
        exchanges = traffic.log.targeted(name)
        successes = list(filter(succeeded, exchanges))
        without_token = [exchange for exchange in exchanges if exchange.credential == NO_HEADER and exchange.response]
        refused = [exchange for exchange in without_token if not is_granted(exchange)]
        if successes and (refused or name not in READ_OPERATIONS):
            return successes[-1], *refused[:1]
    return ()


def token_is_accepted_as_bearer_only(log: Log) -> Judgement:
    """The judgement that the valid token is not accepted bare, or under another scheme than Bearer.

    Synthetic codes show it, so that no real code is spent: it deviates if the token in another form gets the same
    answer as the token as a bearer. If even a wrong token gets that answer, it is inconclusive.
    """
    unauthorized = log.of("executePix", Execution.UNKNOWN_CODE_REFUSED)
    with_token = log.of("executePix", Execution.UNKNOWN_CODE)[:1]
    with_wrong_token = [exchange for exchange in unauthorized if exchange.credential == ANOTHER]
    if not with_token or not with_token[0].response or not with_wrong_token:
        return inconclusive(say("no answer"))
    if indistinguishable(with_token[0], with_wrong_token[0]):
        return inconclusive(say("a synthetic code is answered alike with and without a valid token"))

    in_other_forms = [exchange for exchange in unauthorized if exchange.credential not in (ANOTHER, NO_HEADER)]
    if not any(exchange.response for exchange in in_other_forms):
        return inconclusive(say("no answer to the token under another scheme"))
    accepted = [exchange for exchange in in_other_forms if indistinguishable(exchange, with_token[0])]
    if accepted:
        return deviates(
            finding("scheme-accepted", credentials=accepted_credentials_in_words(accepted)), with_token[0], *accepted
        )
    return holds(*in_other_forms)


# -- without a valid token nothing is granted -----------------------------------------------------------------------

_NO_SUCCESS = say("no valid request succeeded: that answers are alike without a token shows nothing then")


def none_granted(refusable: list[Exchange], code: str, *others: CodeAndExchanges) -> Judgement:
    """The judgement that none of these requests, which must all be refused, got what only a valid token may get.

    It has one finding, the first of these that an exchange shows:

    1. The finding with the code `code`: a request was granted.
    2. The finding "result-in-refusal": an answer says that it refuses, and carries the result nevertheless.
    3. The findings of `others`, in their order.

    If there is none, a 200 that cannot be read makes the judgement inconclusive, because it may be the result.
    """
    with_result = []
    for exchange in refusable:
        if grants_protected_result(exchange) or _says_done_in_a_text(exchange):
            with_result.append(exchange)
    granted = list(filter(is_granted, with_result))
    for code_of_finding, exchanges in ((code, granted), ("result-in-refusal", with_result), *others):
        if exchanges:
            credentials, answer = accepted_credentials_in_words(exchanges), answer_in_words(exchanges[0])
            return deviates(finding(code_of_finding, credentials=credentials, answer=answer), *exchanges)

    unread = []
    for exchange in refusable:
        is_unread = exchange.response is not None and bool(exchange.response.broken)
        if is_unread and is_granted(exchange):
            unread.append(exchange)
    if unread:
        return inconclusive(say("a 200 that cannot be read: {names}", names=credentials_in_words(unread)), *unread)
    return holds(*refusable[:MOST_CITED])


def _says_done_in_a_text(exchange: Exchange) -> bool:
    """True if an answer to an execution that is no JSON says DONE.

    For a refusal or an HTML page, the word must be the whole body, because a longer text may have the word by chance.
    """
    response = exchange.response
    if exchange.operation != "executePix" or response is None or not says_done_in_words(response):
        return False
    is_the_word_alone = response.start.strip() == b"DONE"
    return is_the_word_alone or not (is_refusal(response) or is_page(response))


def token_is_required(
    without_token: list[Exchange], valid: list[Exchange], code: str, *others: CodeAndExchanges
) -> Judgement:
    """The judgement that requests without a valid token are refused. `valid` are the valid requests.

    It deviates if a request without a valid token was accepted. That is so if one of these is true:

    - Its answer says success or carries the result. `none_granted` judges that, and explains `code` and `others`.
    - Its answer cannot be told apart from the answer to a valid request that succeeded.
    - It is no refusal, and differs from such an answer in nothing but values.

    If no valid request succeeded, there is nothing to compare with: equal answers may mean that nobody is served.
    """
    judgement = none_granted(without_token, code, *others)
    if judgement.deviates:
        return judgement
    successes = list(filter(is_served, valid))
    if not successes:
        return inconclusive(_NO_SUCCESS, *without_token[:1])

    success_by_shape = _first_by_shape(successes)
    successes_alike: dict[Exchange, Exchange] = {}  # by request without a valid token, the success that is alike
    for exchange in without_token:
        success = _indistinguishable_success(exchange, successes) or success_by_shape.get(_shape_of(exchange))
        if success is not None:
            successes_alike[exchange] = success
    if not successes_alike:
        return judgement
    accepted = list(successes_alike)
    compared = dict.fromkeys(successes_alike.values())  # each success once
    return deviates(
        finding("answered-alike", credentials=accepted_credentials_in_words(accepted)), *accepted, *compared
    )


def _indistinguishable_success(exchange: Exchange, successes: Sequence[Exchange]) -> Exchange | None:
    """The first success whose answer cannot be told apart from that of an exchange; None if there is none."""
    for success in successes:
        if indistinguishable(exchange, success):
            return success
    return None


def _first_by_shape(successes: Sequence[Exchange]) -> dict[Facts, Exchange]:
    """By shape of the answer, the first success that has it. An answer without a shape is left out."""
    first_by_shape: dict[Facts, Exchange] = {}
    for success in successes:
        shape = _shape_of(success)
        if shape:
            first_by_shape.setdefault(shape, success)
    return first_by_shape


def _shape_of(exchange: Exchange) -> Facts:
    """The places and types of the members in an answer that grants something; empty for any other answer.

    Two answers with the same shape differ in nothing but values.
    """
    response = exchange.response
    if response is None or not is_granted(exchange):
        return frozenset()
    if says_success_false(response) or not data_of(response):
        return frozenset()
    return facts_of(response.json.value)


# -- a refusal does nothing -----------------------------------------------------------------------------------------


def no_refusal_had_an_effect(effects: list[Exchange]) -> Judgement:
    """The judgement that no refused registration registered its key. `effects` are the refused ones that did."""
    if not effects:
        return holds()
    answers = [say("{type}: {answer}", type=type_sent(effect), answer=answer_in_words(effect)) for effect in effects]
    return deviates(finding("refusal-with-effect", refused=joined(answers, ", ")), *effects)


def no_refusal_was_executed(log: Log) -> Judgement:
    """The judgement that no execution is answered as refused although the answer shows a transfer that is DONE."""
    refused = executed_and_refused(log)
    if not refused:
        return holds()
    return deviates(finding("executed-and-refused", answer=answer_in_words(refused[0])), *refused[:MOST_CITED])


# -- the documented request is enough -------------------------------------------------------------------------------

_NOT_UNDERSTOOD = say(
    "no registration was understood ({answers}): perhaps the service expects another body, or the account holds as "
    "many keys as it may"
)
_ENOUGH_PREPARED = 3
"""Prepared transfers that it takes to show that an execution needs more than is documented: the first and the last one
are executed as documented, and the one between them with extra parts."""


def documented_execution_is_enough(log: Log, prepare: Prepare | None) -> Judgement:
    """The judgement that an execution needs no more than the documented request.

    It deviates if the service refuses at least two prepared codes as documented, and executes a third one that is sent
    with extra parts: a body, further headers and a query. `prepare` says how the profile has transfers prepared; None
    if it has none prepared.
    """
    answers = answers_to_real_codes(log)
    successes = list(filter(succeeded, answers))
    if successes:
        return holds(successes[0])
    prepared = log.of("executePix", Execution.PREPARED)
    successes_with_more = list(filter(succeeded, log.of("executePix", Execution.PREPARED_WITH_EXTRA_PARTS)))
    # One refused code may be a bad one. With two, one was refused before and one after the success with extra parts.
    refused_before_and_after = len(prepared) >= 2
    if successes_with_more and refused_before_and_after:
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
    """The judgement that the service understands requests with the Content-Type application/json.

    It deviates if each answer refuses the media type (status 415), and holds if one is no refusal. If it is
    inconclusive, `otherwise` is the reason.
    """
    refusal_kinds = {refusal_kind(answer.response) for answer in answers if answer.response}
    if refusal_kinds == {RefusalKind.MEDIA_TYPE}:
        return deviates(finding("json-refused"), *answers[:1])
    one_is_granted = None in refusal_kinds  # None stands for no refusal
    if one_is_granted:
        return holds(*answers[:1])
    return inconclusive(otherwise, *answers[:1])


def registration_is_understood(requirement_id: str, log: Log) -> Judgement:
    """The judgement that the service understands a registration as documented: it takes the key type for a known one.

    If it understood none, but accepted a changed registration, it needs the change. Then the requirement about what was
    changed deviates, such as the name of a field.
    """
    deviations = deviations_if_more_is_needed(log)
    if requirement_id in deviations:
        return deviations[requirement_id]
    understood = understood_registrations(log)
    if understood:
        return holds(understood[0])

    answers = valid_registrations(log)
    if deviations:
        why: Text = say("no registration as documented was understood")
    elif not any(answer.response for answer in answers):
        why = say("no registration was answered ({answers})", answers=answers_in_words(answers))
    else:
        why = _NOT_UNDERSTOOD.of(answers=answers_in_words(answers))
    if requirement_id == "registerPixKey.contentType.accepted":
        return json_is_understood(answers, why)
    return inconclusive(why, *answers[:1])


# -- values that the run itself knows -------------------------------------------------------------------------------


def value_is_of_no_other_request(requirement_id: str, values_sent: Mapping[Exchange, object]) -> Judgement:
    """The judgement that no result has the value of another request in the field of the requirement.

    `values_sent` has, by exchange, the value that its request named, such as its transaction code. If no result has the
    value of its own request, the field means something else, and a value of another request is there by chance.
    """
    field = requirement_id.split(".")[1]
    judgements = {exchange: judge(requirement_id, exchange) for exchange in values_sent}
    if not any(judgement.holds for judgement in judgements.values()):
        return holds()
    mixed_up = []
    for exchange, judgement in judgements.items():
        if judgement.deviates and _value_in_result(exchange, field) in values_sent.values():
            mixed_up.append(exchange)
    if not mixed_up:
        return holds()
    return deviates(finding("of-another", f"/data/{field}", field=field), *mixed_up)


def value_is_the_prepared_amount(log: Log) -> Judgement:
    """The judgement that the results of transfers which the run prepared have the amount of one of them."""
    amounts = amounts_of(log.with_purpose(Preparation.TO_EXECUTE))
    executions = filter(succeeded, log.of("executePix", Execution.PREPARED))
    with_number = [exchange for exchange in executions if is_number(_value_in_result(exchange, "value"))]
    if not amounts or not with_number:
        return inconclusive(say("no transfer was executed that the run prepared with a number as value"))
    deviating = [exchange for exchange in with_number if _value_in_result(exchange, "value") not in amounts]
    if deviating:
        return deviates(finding("other-amount", "/data/value"), *deviating)
    return holds(*with_number)


def _value_in_result(exchange: Exchange, field: str) -> object:
    """The value of a field in the data of an answer; None if there is none."""
    return (data_of(exchange.response) or {}).get(field)


# -- one of many answers --------------------------------------------------------------------------------------------


def holds_in_one_answer(requirement_id: str, answers: list[Exchange]) -> Judgement:
    """The judgement that the requirement holds in at least one answer.

    It is for an example that cannot hold in every answer. Of the judgements of the answers, the best one counts.
    """
    judgements = [judge(requirement_id, answer) for answer in answers if is_judged_as_success(answer)]
    for conclusion in (Conclusion.HOLDS, Conclusion.INCONCLUSIVE, Conclusion.DEVIATES):
        for judgement in judgements:
            if judgement.conclusion is conclusion:
                return judgement
    if not answers:
        return inconclusive(say("no code was executed"))
    return inconclusive(say("no code was executed: {answers}", answers=answers_in_words(answers)))


def never_broken(requirement_id: str, log: Log, reproduction: Reproduction, not_sent: Text = "") -> Judgement:
    """The judgement that no request to the operation breaks a robustness requirement, such as "no server error".

    Generated invalid requests are left out, because test_property.py judges them. `not_sent` is a sentence about
    requests that were not sent, or that tested nothing: the report shows it if the requirement holds.
    """
    operation = requirement_id.partition(".")[0]
    attempts = log.attempts(operation)
    exchanges = [exchange for exchange in attempts if exchange.valid or not exchange.is_generated]
    judgements = [(exchange, reproduction.judge(requirement_id, exchange)) for exchange in exchanges]
    breaking = [exchange for exchange, judgement in judgements if judgement.deviates]
    if breaking:
        findings: list[Finding] = []
        for _, judgement in judgements:
            findings += judgement.findings
        return deviates(findings, *breaking)
    unanswered = never_answered(operation, log.attempts()) if requirement_id.endswith(".connection") else []
    if unanswered:
        return deviates(finding("not-answered", requests=len(unanswered)), *unanswered)

    if not exchanges:
        return inconclusive(say("no answer to judge"))
    if not any(exchange.response for exchange in exchanges):
        answers = joined(map(answer_in_words, exchanges))
        return inconclusive(say("no answer to judge: {answers}", answers=answers))
    # Reasons of judgements that are no deviation, such as "not seen again with nothing else in flight".
    remarks = {exchange: judgement.why for exchange, judgement in judgements if judgement.why}
    holding = [exchange for exchange, judgement in judgements if judgement.holds]
    return holds(*remarks, *holding[:1], why=joined([*remarks.values(), not_sent]))
