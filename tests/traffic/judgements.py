"""Judgements that compare several exchanges (requests with their answers), for instance with and without the token.

A rule in `spec/rules` judges one exchange. These functions judge a requirement by several exchanges of the log. Each
returns a `Judgement`: the requirement holds, deviates, or is inconclusive because the exchanges do not show it. The
conformance tests ask them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from environments.profiles.model import Prepare
from spec.answers import (
    ABOUT_THE_CALLER,
    RefusalKind,
    answer_in_words,
    answers_in_words,
    data_of,
    grants_protected_result,
    is_fulfilled,
    is_granted,
    is_judged_as_success,
    is_page,
    is_refusal,
    refusal_kind,
    refusal_or_failure,
    says_done_in_words,
    says_success_false,
    succeeded,
)
from spec.exchange import VALID, Exchange
from spec.facts import Facts, facts_of
from spec.findings import Conclusion, Finding, Judgement, deviates, finding, holds, inconclusive
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS
from spec.json_text import is_number
from spec.log import SEQUENCES, Log
from spec.message import Text, joined, say
from spec.observed import is_answered_like, is_answered_like_each
from spec.rules import judge
from spec.rules.reproduction import Reproduction
from spec.rules.robustness import never_answered
from tests.traffic.at_times import REFUSALS_OF_THE_TOKEN, Disagreement, refused_at_times
from tests.traffic.keys.purposes import type_sent, understood_registrations, valid_registrations
from tests.traffic.keys.refused_types import deviations_if_more_is_needed
from tests.traffic.money.executions import (
    Execution,
    Preparation,
    answers_to_real_codes,
    executed_and_refused,
    later_executions,
    successful_executions,
)
from tests.traffic.money.preparing import amounts_of
from tests.traffic.neighbours import RightBefore
from tests.traffic.refused_credentials import MOST_CITED, accepted_credentials_in_words, credentials_in_words
from tests.traffic.scenario import Traffic

_NO_PROOF_OF_THE_TOKEN = say("status 401, and no other operation shows that the token is valid")
CodeAndExchanges = tuple[str, list[Exchange]]
"""The code of a finding in `findings.yaml`, and the exchanges that show it; no exchanges if nothing does."""

# -- a valid token is accepted --------------------------------------------------------------------------------------


def token_is_accepted(traffic: Traffic, operation: str, answers: list[Exchange]) -> Judgement:
    """Judges that an operation accepts the valid token. `answers` are the exchanges of its requests.

    The judgement holds if a valid request succeeded. A refusal of the token, such as a 401, deviates in these cases:

    - The service mixes up answers of requests at the same moment, and this is the answer to another request.
    - The same request was granted before and after it.
    - Every valid request to the operation gets a 401, and other operations show that the token is valid.

    In any other case the judgement is inconclusive, because the token may have expired, for example.
    """
    # Valid requests that got the refusal of a request that was under way at the same time.
    mixed_up = traffic.reproduction.refused_by_mix_up(operation, RefusalKind.TOKEN)
    if mixed_up:
        return deviates(finding("token-mixed-up"), *mixed_up[:MOST_CITED])
    # Requests whose token was refused, although the same request was accepted before and after.
    requests = refused_at_times(traffic.log, operation, REFUSALS_OF_THE_TOKEN)
    if requests.refused:
        answer = answer_in_words(requests.refused[0])
        is_after_wrong_token = all(_is_right_after_wrong_token(exchange, traffic.log) for exchange in requests.refused)
        code = "token-refused-after-wrong-one" if is_after_wrong_token else "token-refused-at-times"
        breach = finding(code, answer=answer, number=len(requests.refused))
        return deviates(breach, *requests.refused[:MOST_CITED], *requests.accepted)

    valid_requests = [answer for answer in answers if answer.credential == VALID and answer.expects_success]
    successes = list(filter(succeeded, valid_requests))
    if successes:
        return holds(*successes)
    statuses = {answer.response.status for answer in valid_requests if answer.response}
    if statuses == {401}:
        return _judgement_of_refused_token(traffic, operation, valid_requests[0])
    in_words = answers_in_words(valid_requests) if valid_requests else say("no answer")
    return inconclusive(say("no valid request succeeded ({answer})", answer=in_words), *valid_requests[:1])


def _is_right_after_wrong_token(refused: Exchange, log: Log) -> bool:
    """True if the request for the same code or account right before this one had no valid token.

    Then a service may have kept its refusal for this code or account, such as in a cache.
    """
    code_or_account = refused.request.last_segment
    before = [exchange for exchange in log.attempts() if exchange.number < refused.number]
    for_the_same = [exchange for exchange in before if exchange.request.last_segment == code_or_account]
    return bool(for_the_same) and for_the_same[-1].credential != VALID


def _judgement_of_refused_token(traffic: Traffic, operation: str, refused: Exchange) -> Judgement:
    """Judges an operation that answers 401 to every valid request; `refused` is the first of these requests.

    The judgement deviates if another operation shows that the token is valid, else it is inconclusive. The run repeats
    a read that succeeded to see whether the token has expired. If there was no such read, the token may have expired
    before the refusal, so the other operation must have accepted the token after it.
    """
    proof = _exchanges_that_prove_the_token(traffic, operation)
    no_read_succeeded = traffic.client.door.token_monitor.last_granted_read is None
    if not proof:
        return inconclusive(_NO_PROOF_OF_THE_TOKEN, refused)
    success = proof[0]
    was_before_the_refusal = success.number < refused.number
    if no_read_succeeded and was_before_the_refusal:
        return inconclusive(_NO_PROOF_OF_THE_TOKEN, refused)
    return deviates(finding("token-refused", operation=success.operation), refused, *proof)


def _exchanges_that_prove_the_token(traffic: Traffic, operation: str) -> tuple[Exchange, ...]:
    """Exchanges of another operation which show that the token is valid; empty if there are none.

    The first one is a request that was granted with the token. A second one shows that the operation refuses a request
    without the token. A read proves nothing without this second one, because the interface document does not say that a
    read needs the token.
    """
    for name in ("executePix", "registerPixKey", *READ_OPERATIONS):
        if name == operation:
            continue
        exchanges = traffic.log.sent_by_scenarios(name)
        successes = list(filter(succeeded, exchanges))
        without_token = [exchange for exchange in exchanges if exchange.credential == NO_HEADER and exchange.response]
        refused = [exchange for exchange in without_token if not is_granted(exchange)]
        needs_the_token = name not in READ_OPERATIONS or bool(refused)
        if successes and needs_the_token:
            return successes[-1], *refused[:1]
    return ()


def token_is_accepted_as_bearer_only(log: Log) -> Judgement:
    """Judges that the valid token is accepted only as "Bearer <token>": neither alone nor as "Basic <token>".

    Executions of made-up codes show it, so that no real code is used up. The judgement deviates if the token in another
    form gets the same answer as the token as a bearer each time, such as 404. (One server of several may not know the
    path, or check no token, and give both the same answer by chance.) If even a wrong token gets that answer, the token
    is not checked before the code, and the judgement is inconclusive.
    """
    # Without a token, with a wrong token, and with the valid token in other forms.
    to_be_refused = log.of("executePix", Execution.UNKNOWN_CODE_REFUSED, Disagreement.REFUSED_SCHEME)
    with_bearer = log.of("executePix", Execution.UNKNOWN_CODE, RightBefore.UNKNOWN_CODE)
    with_wrong_token = [exchange for exchange in to_be_refused if exchange.credential == WRONG_TOKEN]
    if not with_bearer or not with_bearer[0].response or not with_wrong_token:
        return inconclusive(say("no answer"))
    in_other_forms = [exchange for exchange in to_be_refused if exchange.credential not in (WRONG_TOKEN, NO_HEADER)]
    if not any(exchange.response for exchange in in_other_forms):
        return inconclusive(say("no answer to the token under another scheme"))
    refused_forms = set()
    for exchange in in_other_forms:
        if not is_answered_like_each(exchange, with_bearer):
            refused_forms.add(exchange.credential)
    accepted = [exchange for exchange in in_other_forms if exchange.credential not in refused_forms]
    if accepted and any(is_answered_like(with_bearer[0], exchange) for exchange in with_wrong_token):
        return inconclusive(say("a synthetic code is answered alike with and without a valid token"))
    if accepted:
        credentials = accepted_credentials_in_words(accepted)
        return deviates(finding("scheme-accepted", credentials=credentials), with_bearer[0], *accepted)
    return holds(*in_other_forms)


# -- without a valid token nothing is granted -----------------------------------------------------------------------

_NO_SUCCESS_TO_COMPARE_WITH = say(
    "no valid request succeeded: that answers are alike without a token shows nothing then"
)


def none_granted(exchanges_to_refuse: list[Exchange], code_of_finding: str, *others: CodeAndExchanges) -> Judgement:
    """Judges that none of these requests got what only a valid request may get: a result or a word of success.

    All of them must be refused, for example because they have no valid token. The judgement has one finding (the
    description of a deviation), the first of these that an exchange shows:

    1. The finding with the code `code_of_finding`, such as "executed": a request was granted.
    2. The finding "result-in-refusal": an answer says that it refuses, and carries the result nevertheless.
    3. The findings of `others`, in their order. Each of these pairs has the code of a finding and what shows it.

    If there is none, a 200 that cannot be read makes the judgement inconclusive, because it may be the result.
    """
    with_result = []
    for exchange in exchanges_to_refuse:
        if grants_protected_result(exchange) or _says_done_in_a_text(exchange):
            with_result.append(exchange)
    granted = list(filter(is_granted, with_result))  # the others of `with_result` say that they refuse
    possible_findings = ((code_of_finding, granted), ("result-in-refusal", with_result), *others)
    for code, exchanges in possible_findings:
        if exchanges:
            credentials, answer = accepted_credentials_in_words(exchanges), answer_in_words(exchanges[0])
            return deviates(finding(code, credentials=credentials, answer=answer), *exchanges)

    unreadable = []
    for exchange in exchanges_to_refuse:
        is_unreadable = exchange.response is not None and bool(exchange.response.broken)
        if is_unreadable and is_granted(exchange):
            unreadable.append(exchange)
    if unreadable:
        names = credentials_in_words(unreadable)
        return inconclusive(say("a 200 that cannot be read: {names}", names=names), *unreadable)
    return holds(*exchanges_to_refuse)


def _says_done_in_a_text(exchange: Exchange) -> bool:
    """True if the answer to an execution is no JSON, but a text with the word DONE, the status of an executed transfer.

    In a refusal or an HTML page the word must be the whole body, because a longer text may have the word by chance.
    """
    response = exchange.response
    if exchange.operation != "executePix" or response is None or not says_done_in_words(response):
        return False
    is_the_word_alone = response.start.strip() == b"DONE"
    return is_the_word_alone or not (is_refusal(response) or is_page(response))


def executions_to_compare_with(log: Log, without_token: Sequence[Exchange]) -> list[Exchange]:
    """The successful executions with which requests without a valid token (`without_token`) are compared.

    If none succeeded at that time, later ones count, but only if a request without the token was refused because of the
    caller (such as a 401), and the valid token never was: so the service checked tokens already, although it executed
    nothing.
    """
    successes = successful_executions(log)
    if successes:
        return successes
    were_tokens_checked = any(refusal_or_failure(exchange) in ABOUT_THE_CALLER for exchange in without_token)
    with_the_token = answers_to_real_codes(log)
    was_valid_token_refused = any(refusal_or_failure(exchange) in ABOUT_THE_CALLER for exchange in with_the_token)
    return later_executions(log) if were_tokens_checked and not was_valid_token_refused else []


def token_is_required(
    without_token: list[Exchange], valid: list[Exchange], code_of_finding: str, *others: CodeAndExchanges
) -> Judgement:
    """Judges that requests without a valid token (`without_token`) are refused. `valid` are requests with the token.

    The judgement deviates if a request without a valid token was accepted. That is so if one of these is true:

    - Its answer says success or carries the result. `code_of_finding` names this deviation, such as "executed".
      `others` are further deviations, as pairs: the code of a finding, and the exchanges that show it.
    - Its answer is the same as the answer to a valid request that succeeded.
    - Its answer is no refusal, and has the same members and types as such an answer, with other values.

    If no valid request succeeded, there is nothing to compare with: equal answers may mean that nobody is served. Then
    the judgement is inconclusive.
    """
    judgement = none_granted(without_token, code_of_finding, *others)
    if judgement.deviates:
        return judgement
    successes = list(filter(is_fulfilled, valid))
    if not successes:
        return inconclusive(_NO_SUCCESS_TO_COMPARE_WITH, *without_token[:1])

    success_by_shape = _first_by_shape(successes)
    success_with_equal_answer: dict[Exchange, Exchange] = {}  # by request without a valid token
    for exchange in without_token:
        success = _indistinguishable_success(exchange, successes) or success_by_shape.get(_shape_of(exchange))
        if success is not None:
            success_with_equal_answer[exchange] = success
    if not success_with_equal_answer:
        return judgement
    accepted = list(success_with_equal_answer)
    compared_with = dict.fromkeys(success_with_equal_answer.values())  # each success once
    credentials = accepted_credentials_in_words(accepted)
    return deviates(finding("answered-alike", credentials=credentials), *accepted, *compared_with)


def _indistinguishable_success(exchange: Exchange, successes: Sequence[Exchange]) -> Exchange | None:
    """The first of these successful exchanges whose answer is the same as that of `exchange`; None if there is none.

    Differences such as a time or a request id do not count.
    """
    for success in successes:
        if is_answered_like(exchange, success):
            return success
    return None


def _first_by_shape(successes: Sequence[Exchange]) -> dict[Facts, Exchange]:
    """The first successful exchange for each shape of an answer. A shape is the members of the JSON with their types.

    An answer that grants nothing has no shape, and is left out.
    """
    first_by_shape: dict[Facts, Exchange] = {}
    for success in successes:
        shape = _shape_of(success)
        if shape:
            first_by_shape.setdefault(shape, success)
    return first_by_shape


def _shape_of(exchange: Exchange) -> Facts:
    """The paths and types of the members in an answer that grants something; empty for any other answer.

    Two answers with the same shape differ only in values. A refusal has no shape here, because a service may refuse
    many requests with the same members.
    """
    response = exchange.response
    if response is None or not is_granted(exchange):
        return frozenset()
    if says_success_false(response) or not data_of(response):
        return frozenset()
    return facts_of(response.json.value)


# -- a refusal does nothing -----------------------------------------------------------------------------------------


def no_refusal_had_an_effect(refused_but_registered: list[Exchange]) -> Judgement:
    """Judges that no registration was refused although the service registered its key.

    `refused_but_registered` are the registrations for which that happened. The finding names key type and answer of
    each, such as "PHONE: 400 application/json".
    """
    if not refused_but_registered:
        return holds()
    answers = []
    for registration in refused_but_registered:
        answers.append(say("{type}: {answer}", type=type_sent(registration), answer=answer_in_words(registration)))
    return deviates(finding("refusal-with-effect", refused=joined(answers, ", ")), *refused_but_registered)


def no_refused_execution_shows_done(log: Log) -> Judgement:
    """Judges that no answer to an execution refuses it, for example with status 400, and also shows the status DONE.

    DONE means that the transfer was executed.
    """
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
    """Judges that an execution needs no more than the documented request: a path with the code, and the token.

    The judgement deviates if the service refuses at least two codes that are sent as documented, and executes a third
    one that is sent with extra parts: a body, further headers and a query. The run has prepared these transfers.
    `prepare` says how the profile has transfers prepared; None if it has none prepared.
    """
    answers = answers_to_real_codes(log)
    successes = [*filter(succeeded, answers), *later_executions(log)]
    if successes:
        return holds(*successes)
    prepared = log.of("executePix", Execution.PREPARED)
    successes_with_extra_parts = list(filter(succeeded, log.of("executePix", Execution.PREPARED_WITH_EXTRA_PARTS)))
    # The run executes the first code as documented, the second code with extra parts, and all others as documented
    # (`_may_need_more` in `execution.py`). So the second code in `prepared` was refused after the success with extra
    # parts. A single refused code may just be a bad code.
    refused_before_and_after = len(prepared) >= 2
    if successes_with_extra_parts and refused_before_and_after:
        return deviates(finding("needs-more"), *prepared, *successes_with_extra_parts)

    refused = prepared or answers
    why = say("no code was executed as documented ({answers})", answers=answers_in_words(refused))
    if prepare is None or prepare.count < _ENOUGH_PREPARED:
        why = say(
            "no code was executed as documented ({answers}): supply more codes, or set transactions.prepare.count to "
            "{count} or more",
            answers=answers_in_words(refused),
            count=_ENOUGH_PREPARED,
        )
    return inconclusive(why, *refused[:1], *successes_with_extra_parts)


def json_is_understood(answers: list[Exchange], why_inconclusive: Text) -> Judgement:
    """Judges that the service understands requests with the Content-Type application/json, by these answers.

    The judgement deviates if each answer refuses the media type (status 415), and holds if one is no refusal. In any
    other case the requests were refused for another reason, which `why_inconclusive` says.
    """
    refusal_kinds = {refusal_kind(answer.response) for answer in answers if answer.response}
    if refusal_kinds == {RefusalKind.MEDIA_TYPE}:
        return deviates(finding("json-refused"), *answers[:1])
    # The kind of an answer that is no refusal is None.
    granted = [answer for answer in answers if answer.response and refusal_kind(answer.response) is None]
    if granted:
        return holds(*granted)
    return inconclusive(why_inconclusive, *answers[:1])


def registration_is_understood(requirement_id: str, log: Log) -> Judgement:
    """Judges that the service understands a registration that is sent as documented.

    The service understood it if it answered with a result (whether Success is true or false), or with 409: a conflict
    with another registration. Then the judgement holds.

    If it understood none, the run sends registrations with one difference each, such as another name of a field. If the
    service accepts one of them, it needs the difference. Then the requirement about that part deviates, such as
    "registerPixKey.body.pixKey".
    """
    deviations = deviations_if_more_is_needed(log)
    if requirement_id in deviations:
        return deviations[requirement_id]
    understood = understood_registrations(log)
    if understood:
        return holds(*understood)

    answers = valid_registrations(log)
    if deviations:
        why: Text = say("no registration as documented was understood")
    elif not any(answer.response for answer in answers):
        why = say("no registration was answered ({answers})", answers=answers_in_words(answers))
    else:
        why = _NOT_UNDERSTOOD.with_values(answers=answers_in_words(answers))
    if requirement_id == "registerPixKey.contentType.accepted":  # a refusal can show that the body was read as JSON
        return json_is_understood(answers, why)
    return inconclusive(why, *answers[:1])


# -- values that the run itself knows -------------------------------------------------------------------------------


def value_is_of_no_other_request(requirement_id: str, values_sent: Mapping[Exchange, object]) -> Judgement:
    """Judges that a service does not mix up requests: no result has the value that another request sent.

    For example, the field `id` of an execution result has the transaction code of its request. If the codes P1 and P2
    are executed, and the result of P1 has the `id` P2, the judgement deviates.

    `requirement_id` names the field: "executePix.id.matches". `values_sent` has, by exchange, the value that its
    request sent, such as the code.

    If not one result has the value of its own request, the judgement holds. Then the service seems to use the field for
    something else, and has the value of another request there by chance.
    """
    field = requirement_id.split(".")[1]  # such as "id"
    judgements = {exchange: judge(requirement_id, exchange) for exchange in values_sent}
    repeats_own_value = any(judgement.holds for judgement in judgements.values())
    if not repeats_own_value:
        return holds()
    mixed_up = []
    for exchange, judgement in judgements.items():
        if judgement.deviates and _value_in_result(exchange, field) in values_sent.values():
            mixed_up.append(exchange)
    if not mixed_up:
        return holds()
    return deviates(finding("of-another", f"/data/{field}", field=field), *mixed_up)


def value_is_the_prepared_amount(log: Log) -> Judgement:
    """Judges that the value in an execution result is the amount that the run sent when it prepared the transfer.

    If the run prepared transfers with several amounts, each value must be one of them. Codes of the profile do not
    count, because the run did not prepare their transfers. Drawn sequences of requests prepare transfers, too.
    """
    preparations = [*log.with_purpose(Preparation.TO_EXECUTE), *_preparations_in_sequences(log)]
    amounts = amounts_of(preparations)
    executions = filter(succeeded, [*log.of("executePix", Execution.PREPARED), *log.valid("executePix", SEQUENCES)])
    with_number = [exchange for exchange in executions if is_number(_value_in_result(exchange, "value"))]
    if not amounts or not with_number:
        return inconclusive(say("no transfer was executed that the run prepared with a number as value"))
    deviating = [exchange for exchange in with_number if _value_in_result(exchange, "value") not in amounts]
    if deviating:
        return deviates(finding("other-amount", "/data/value"), *deviating)
    return holds(*with_number)


def _preparations_in_sequences(log: Log) -> list[Exchange]:
    """The requests in drawn sequences that prepared a transfer, or tried to."""
    preparations = []
    for operation in PREPARING_OPERATIONS:
        preparations += [exchange for exchange in log.attempts(operation) if exchange.generator == SEQUENCES]
    return preparations


def _value_in_result(exchange: Exchange, field: str) -> object:
    """The value of a field in the result (the member `data` of an answer), such as the field `id`; None without one."""
    result = data_of(exchange.response) or {}
    return result.get(field)


# -- one of many answers --------------------------------------------------------------------------------------------


def holds_in_one_answer(requirement_id: str, answers: list[Exchange]) -> Judgement:
    """Judges that the requirement holds in at least one answer.

    It is for an example of the document that cannot hold in every answer, such as the type PHONE. The answers are
    judged one by one, and the judgement that is best for the service is returned.
    """
    judgements = [judge(requirement_id, answer) for answer in answers if is_judged_as_success(answer)]
    from_best_to_worst = (Conclusion.HOLDS, Conclusion.INCONCLUSIVE, Conclusion.DEVIATES)
    for conclusion in from_best_to_worst:
        for judgement in judgements:
            if judgement.conclusion is conclusion:
                return judgement
    if not answers:
        return inconclusive(say("no code was executed"))
    return inconclusive(say("no code was executed: {answers}", answers=answers_in_words(answers)))


def never_broken(requirement_id: str, log: Log, reproduction: Reproduction, not_sent: Text = "") -> Judgement:
    """Judges that no request to the operation breaks a robustness requirement, such as "no server error".

    Invalid requests that were generated are left out, because test_property.py judges them. `not_sent` is a sentence
    about requests that were not sent, or that tested nothing: the report shows it if the requirement holds.
    `reproduction` judges an answer. It says "broken" only if the deviation was seen twice, or if the request cannot be
    sent again.
    """
    operation = requirement_id.partition(".")[0]
    attempts = log.attempts(operation)
    exchanges = [exchange for exchange in attempts if exchange.valid or not exchange.is_generated]
    judgements = {exchange: reproduction.judge(requirement_id, exchange) for exchange in exchanges}
    breaking = [exchange for exchange, judgement in judgements.items() if judgement.deviates]
    if breaking:
        findings: list[Finding] = []
        for judgement in judgements.values():
            findings += judgement.findings
        return deviates(findings, *breaking)
    if requirement_id.endswith(".connection"):  # "no connection is dropped without a response"
        # All requests to the operation, if none was answered while requests to other operations were; else empty.
        unanswered = never_answered(operation, log.attempts())
        if unanswered:
            return deviates(finding("not-answered", requests=len(unanswered)), *unanswered)
    if not exchanges:
        return inconclusive(say("no answer to judge"))
    if not any(exchange.response for exchange in exchanges):
        answers = joined(map(answer_in_words, exchanges))
        return inconclusive(say("no answer to judge: {answers}", answers=answers))
    return _holds_with_remarks(judgements, not_sent)


def _holds_with_remarks(judgements: Mapping[Exchange, Judgement], not_sent: Text) -> Judgement:
    """The judgement that a requirement holds, with all remarks, for the report.

    A remark says why the deviation of an exchange does not count, such as "not seen again with nothing else in flight".
    `not_sent` is one more remark. The judgement rests on all exchanges in which the requirement holds. The report cites
    the first few of them as examples, so those with a remark come first.
    """
    remark_by_exchange = {exchange: judgement.why for exchange, judgement in judgements.items() if judgement.why}
    holding = [exchange for exchange, judgement in judgements.items() if judgement.holds]
    return holds(*remark_by_exchange, *holding, why=joined([*remark_by_exchange.values(), not_sent]))
