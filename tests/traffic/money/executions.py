"""Why transfers are prepared and executed, and questions to the log about executions.

`execution.py` gives each execution one of these purposes. Judgements and tests ask the log by them.

A code is the transaction code of a transfer. It is supplied by the profile, or the run has prepared its transfer. To
offer a code is to send it with a wrong token, before the valid token executes it. A code is spent if the service does
not execute it any more. (Interface document, GET /v1/execute/pix/{transactionId}.)
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
from spec.log import Log
from spec.observed import indistinguishable

EXECUTE = "executePix"
_WrongToken = tuple[str, tuple[str, ...]]
"""A wrong token by its name, and the unusual ways in which its request was spelled."""


class Preparation(Purpose):
    """Why a transfer is prepared."""

    TO_EXECUTE = "a transfer that the run executes"


class Execution(Purpose):
    """Why a request is sent to GET /v1/execute/pix/{transactionId}."""

    UNKNOWN_CODE = "a code that does not exist"
    UNKNOWN_CODE_REFUSED = "a code that does not exist, without the valid token"
    OFFERED = "a real code without the valid token, before its execution"
    BREAKS_AGAIN = "a code that does not exist, with the token that broke the service"
    SUPPLIED = "a supplied code"
    PREPARED = "a code that the run prepared"
    PREPARED_WITH_EXTRA_PARTS = "a code that the run prepared, with a body, more headers and a query"
    BESIDE_ANOTHER = "a request at the same moment as an execution"
    AFTER_EXECUTION = "the code that was executed first, without the valid token"


# -- executions with the valid token --------------------------------------------------------------------------------


def answers_to_real_codes(log: Log) -> list[Exchange]:
    """The executions of real codes, supplied or prepared, that were sent as documented and with the valid token."""
    return log.of(EXECUTE, Execution.SUPPLIED, Execution.PREPARED)


def successful_executions(log: Log) -> list[Exchange]:
    """The executions of real codes that succeeded.

    First come those that were sent as documented, then those with extra parts: a body, more headers and a query.
    """
    executions = [*answers_to_real_codes(log), *log.of(EXECUTE, Execution.PREPARED_WITH_EXTRA_PARTS)]
    return list(filter(succeeded, executions))


def repeated_executions(log: Log) -> list[Exchange]:
    """The executions of a code that had been executed before, if their answer says success or carries a result.

    The rules judge such an answer as they judge the first execution.
    """
    codes_executed: set[str] = set()
    repeated = []
    for exchange in log.attempts(EXECUTE):
        is_repeated = exchange.credential == VALID and _transaction_code_of(exchange) in codes_executed
        if is_repeated and grants_protected_result(exchange):
            repeated.append(exchange)
        if succeeded(exchange):
            codes_executed.add(_transaction_code_of(exchange))
    return repeated


def executed_and_refused(log: Log) -> list[Exchange]:
    """Executions that were answered as refused, although the answer shows a transfer with status DONE.

    Only codes that the run prepared count, because an earlier run may have executed a supplied code. A code that was
    offered with a wrong token does not count, because that request may have executed it.
    """
    prepared = log.of(EXECUTE, Execution.PREPARED, Execution.PREPARED_WITH_EXTRA_PARTS)
    wrong_tokens = _wrong_tokens_by_code(log)
    not_offered = [execution for execution in prepared if _transaction_code_of(execution) not in wrong_tokens]
    return list(filter(is_refused_and_done, not_offered))


def is_refused_and_done(execution: Exchange) -> bool:
    """True if an execution was answered as refused, although the answer shows a transfer with status DONE."""
    response = execution.response
    return response is not None and is_refusal(response) and any(map(is_done, execution_results(response)))


# -- codes that wrong tokens may have spent -------------------------------------------------------------------------


def perhaps_spent(log: Log) -> list[Exchange]:
    """The executions that were refused, perhaps because wrong tokens had spent their codes before.

    Wrong tokens are not the reason in two cases:

    - Codes that were offered with the same wrong tokens were executed.
    - A code that was not offered was refused in the same way. A service may execute nothing at night, for example.
    """
    refused = _refused_after_wrong_tokens(log)
    if not refused:
        return []
    wrong_tokens = _wrong_tokens_by_code(log)
    harmless = _wrong_tokens_before_a_success(log)
    not_offered = [answer for answer in answers_to_real_codes(log) if _transaction_code_of(answer) not in wrong_tokens]
    refused_anyway = [answer for answer in not_offered if refusal_or_failure(answer) is not None]
    spent = []
    for answer in refused:
        had_harmless_tokens = wrong_tokens[_transaction_code_of(answer)] <= harmless
        is_refused_anyway = any(indistinguishable(answer, reference) for reference in refused_anyway)
        if not had_harmless_tokens and not is_refused_anyway:
            spent.append(answer)
    return spent


def _refused_after_wrong_tokens(log: Log) -> list[Exchange]:
    """The executions that were refused after their codes had been sent with wrong tokens.

    They count only if a code of the same origin (supplied, or prepared) succeeded without having been sent with a wrong
    token, because otherwise all such codes may be bad. If all codes were sent with wrong tokens, there is nothing to
    compare with, and only refusals with a conflict (409) count.
    """
    executions = answers_to_real_codes(log)
    wrong_tokens = _wrong_tokens_by_code(log)
    answered = [execution for execution in executions if execution.response]
    offered = [execution for execution in answered if _transaction_code_of(execution) in wrong_tokens]
    if len(offered) == len(executions):
        return [execution for execution in offered if refusal_or_failure(execution) is RefusalKind.CONFLICT]

    refused = [
        execution for execution in offered if refusal_or_failure(execution) in ABOUT_THE_REQUEST | ABOUT_THE_CALLER
    ]
    not_offered = [answer for answer in successful_executions(log) if _transaction_code_of(answer) not in wrong_tokens]
    origins_that_succeeded = {
        _is_of_prepared_code(success) for success in not_offered
    }  # True: prepared; False: supplied
    return [execution for execution in refused if _is_of_prepared_code(execution) in origins_that_succeeded]


def _wrong_tokens_by_code(log: Log) -> dict[str, set[_WrongToken]]:
    """By code that was offered, the wrong tokens that were sent with it."""
    wrong_tokens: dict[str, set[_WrongToken]] = {}
    for offer in log.sent(EXECUTE, Execution.OFFERED):
        wrong_tokens.setdefault(_transaction_code_of(offer), set()).add((offer.credential, offer.spelling))
    return wrong_tokens


def _wrong_tokens_before_a_success(log: Log) -> set[_WrongToken]:
    """The wrong tokens that were sent with a code which was executed afterwards."""
    wrong_tokens = _wrong_tokens_by_code(log)
    harmless: set[_WrongToken] = set()
    for success in successful_executions(log):
        harmless |= wrong_tokens.get(_transaction_code_of(success), set())
    return harmless


def _is_of_prepared_code(execution: Exchange) -> bool:
    """True if the run has prepared the code of an execution that was sent as documented."""
    return execution.purpose is Execution.PREPARED


def _transaction_code_of(execution: Exchange) -> str:
    """The transaction code that an execution names."""
    return execution.request.last_segment
