"""Why transfers are prepared and executed, and functions that find executions of a run by that reason.

`tests/traffic/execution.py` gives each execution one of these purposes. Judgements and tests find the executions of a
purpose in the log, which has all requests of a run with their answers.

A code is the transaction code of a transfer. It is supplied by the profile, or the run has prepared its transfer. Most
codes are sent without the valid token before they are executed, which must not execute them. A code is spent if the
service does not execute it any more. (Interface document, GET /v1/execute/pix/{transactionId}.)
"""

from __future__ import annotations

from spec.answers import (
    ABOUT_THE_CALLER,
    ABOUT_THE_REQUEST,
    RefusalKind,
    execution_results,
    grants_protected_result,
    is_done,
    is_refusal,
    refusal_or_failure,
    succeeded,
)
from spec.exchange import VALID, Exchange, Purpose
from spec.log import SEQUENCES, Log
from spec.observed import is_answered_like

EXECUTE = "executePix"
"""GET /v1/execute/pix/{transactionId}."""
_WrongToken = tuple[str, tuple[str, ...]]
"""The name of a wrong token (or of no token), and the unusual ways in which its request was written, such as
`("no header", ("a slash at the end",))`."""


class Preparation(Purpose):
    """Why a transfer is prepared."""

    TO_EXECUTE = "a transfer that the run executes"


class Execution(Purpose):
    """Why a request is sent to GET /v1/execute/pix/{transactionId}."""

    UNKNOWN_CODE = "a code that does not exist"
    UNKNOWN_CODE_REFUSED = "a code that does not exist, without the valid token"
    UNAUTHORIZED_BEFORE_EXECUTION = "a real code without the valid token, before its execution"
    BREAKS_AGAIN = "a code that does not exist, with the token that broke the service"
    SUPPLIED = "a supplied code"
    PREPARED = "a code that the run prepared"
    PREPARED_WITH_EXTRA_PARTS = "a code that the run prepared, with a body, more headers and a query"
    BESIDE_ANOTHER = "a request at the same moment as an execution"
    UNAUTHORIZED_AFTER_EXECUTION = "the code that was executed first, without the valid token"


# -- executions with the valid token --------------------------------------------------------------------------------


def answers_to_real_codes(log: Log) -> list[Exchange]:
    """The executions of real codes that were sent as documented and with the valid token.

    A real code is the transaction code of a transfer: supplied by the profile, or prepared by the run.
    """
    return log.of(EXECUTE, Execution.SUPPLIED, Execution.PREPARED)


def successful_executions(log: Log) -> list[Exchange]:
    """The executions of real codes (transaction codes of transfers) that succeeded.

    First come those that were sent as documented, then those with extra parts: a body, more headers and a query. The
    extra parts are sent if the service seems to need more than is documented.
    """
    executions = [*answers_to_real_codes(log), *log.of(EXECUTE, Execution.PREPARED_WITH_EXTRA_PARTS)]
    return [execution for execution in executions if succeeded(execution)]


def later_executions(log: Log) -> list[Exchange]:
    """The executions of drawn sequences of requests that succeeded, if no execution before them did. Else empty.

    Sequences are sent after most other executions. A service may execute nothing for a while, such as at night, and
    then execute again.
    """
    if successful_executions(log):
        return []
    executions_of_sequences = log.valid(EXECUTE, generator=SEQUENCES)
    return [execution for execution in executions_of_sequences if succeeded(execution)]


def repeated_executions(log: Log) -> list[Exchange]:
    """The executions of a code that had been executed before, if their answer says success or has a result.

    The rules for results judge such an answer, too, like the answer to the first execution. On a sandbox the run sends
    a code a second time, to see whether money moves again.
    """
    codes_executed: set[str] = set()
    repeated = []
    # Every execution in the order of sending, whatever its purpose: one of them may have executed the code first.
    for exchange in log.attempts(EXECUTE):
        is_repeated = exchange.credential == VALID and _transaction_code_of(exchange) in codes_executed
        if is_repeated and grants_protected_result(exchange):
            repeated.append(exchange)
        if succeeded(exchange):
            codes_executed.add(_transaction_code_of(exchange))
    return repeated


def executed_and_refused(log: Log) -> list[Exchange]:
    """Executions that were answered as refused, although the answer shows a transfer with status DONE.

    Such an answer is wrong: the transfer was executed, so the request was not refused. Two sorts of codes do not count,
    because another request may have executed them:

    - A code of the profile: perhaps an earlier run executed it.
    - A code that was sent without the valid token before: perhaps that request executed it.
    """
    prepared = log.of(EXECUTE, Execution.PREPARED, Execution.PREPARED_WITH_EXTRA_PARTS)
    wrong_tokens = _wrong_tokens_by_code(log)
    contradictory = []
    for execution in prepared:
        had_wrong_token = _transaction_code_of(execution) in wrong_tokens
        if not had_wrong_token and is_refused_and_done(execution):
            contradictory.append(execution)
    return contradictory


def is_refused_and_done(execution: Exchange) -> bool:
    """True if an execution was answered as refused, although the answer shows a transfer with status DONE.

    Such an answer contradicts itself: the transfer was executed.
    """
    response = execution.response  # None if no answer came
    if response is None or not is_refusal(response):
        return False
    return any(is_done(result) for result in execution_results(response))


# -- codes that wrong tokens may have spent -------------------------------------------------------------------------


def perhaps_spent_by_wrong_tokens(log: Log) -> list[Exchange]:
    """The executions that were refused, perhaps because wrong tokens had spent their codes before.

    A wrong token spends a code if the service does not execute the code any more after it. Most codes are sent with
    wrong tokens first, and with the valid token last. In two cases wrong tokens are not the reason for a refusal:

    - The service executed other codes after the same wrong tokens. So these tokens are harmless.
    - Another code was refused in the same way, and wrong tokens are not the reason there: it was sent with none, or
      with harmless ones only. For example, the service executes nothing at night, or nothing for some payees.
    """
    refused = _refused_after_wrong_tokens(log)
    if not refused:
        return []
    harmless_tokens = _wrong_tokens_before_a_success(log)
    refused_for_another_reason = _refused_without_harmful_tokens(log, harmless_tokens)
    spent = []
    for execution in refused:
        # An execution that is itself in the list is equal to itself.
        is_for_another_reason = any(is_answered_like(execution, other) for other in refused_for_another_reason)
        if not is_for_another_reason:
            spent.append(execution)
    return spent


def _refused_without_harmful_tokens(log: Log, harmless_tokens: set[_WrongToken]) -> list[Exchange]:
    """The executions that were refused although their codes were sent with no wrong token, or with harmless ones."""
    wrong_tokens = _wrong_tokens_by_code(log)
    refused = []
    for execution in answers_to_real_codes(log):
        tokens_of_code = wrong_tokens.get(_transaction_code_of(execution), set())  # empty if it was sent with none
        had_only_harmless_tokens = tokens_of_code.issubset(harmless_tokens)
        if had_only_harmless_tokens and refusal_or_failure(execution) is not None:
            refused.append(execution)
    return refused


def _refused_after_wrong_tokens(log: Log) -> list[Exchange]:
    """The executions that were refused after their codes had been sent with wrong tokens.

    A refused code counts only if the service executed a comparable code: one of the same purpose that was never sent
    with a wrong token. The purpose says whether the profile has the code (SUPPLIED), or the run prepared it (PREPARED).
    For example, all codes of the profile may have expired. Then a refusal of one of them does not show that wrong
    tokens spent it.

    If all codes were sent with wrong tokens and answered, there is nothing to compare with. Then only a conflict (409)
    counts, because it says that the code was used before.
    """
    executions = answers_to_real_codes(log)
    wrong_tokens = _wrong_tokens_by_code(log)
    answered = [execution for execution in executions if execution.response]
    after_wrong_token = [execution for execution in answered if _transaction_code_of(execution) in wrong_tokens]
    if len(after_wrong_token) == len(executions):
        return [execution for execution in after_wrong_token if refusal_or_failure(execution) is RefusalKind.CONFLICT]

    refusals_that_judge_the_code = ABOUT_THE_REQUEST | ABOUT_THE_CALLER  # a 5xx or a 429 says nothing about the code
    refused = []
    for execution in after_wrong_token:
        if refusal_or_failure(execution) in refusals_that_judge_the_code:
            refused.append(execution)
    purposes_that_succeeded = set()  # of codes that were never sent with a wrong token
    for success in successful_executions(log):
        if _transaction_code_of(success) not in wrong_tokens:
            purposes_that_succeeded.add(success.purpose)
    return [execution for execution in refused if execution.purpose in purposes_that_succeeded]


def _wrong_tokens_by_code(log: Log) -> dict[str, set[_WrongToken]]:
    """By transaction code, the wrong tokens that were sent with it before its execution.

    A request without a token counts, too. A code that was sent with the valid token alone is not in the result.
    """
    wrong_tokens: dict[str, set[_WrongToken]] = {}
    for exchange in log.sent(EXECUTE, Execution.UNAUTHORIZED_BEFORE_EXECUTION):
        tokens_of_code = wrong_tokens.setdefault(_transaction_code_of(exchange), set())
        tokens_of_code.add((exchange.credential, exchange.spelling))
    return wrong_tokens


def _wrong_tokens_before_a_success(log: Log) -> set[_WrongToken]:
    """The wrong tokens that did no harm to a code: it was sent with them, and the service executed it afterwards.

    So they are not the reason if another code is refused after them.
    """
    wrong_tokens = _wrong_tokens_by_code(log)
    harmless: set[_WrongToken] = set()
    for success in successful_executions(log):
        harmless |= wrong_tokens.get(_transaction_code_of(success), set())
    return harmless


def _transaction_code_of(execution: Exchange) -> str:
    """The transaction code in the path of an execution: its last segment (GET /v1/execute/pix/{transactionId})."""
    return execution.request.last_segment
