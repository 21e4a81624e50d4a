"""Codes other than 0 in the envelope with which a service perhaps says that a request succeeded.

The interface document shows that the envelope has the code 0 in a success, and that the meaning of other codes is not
shown (Errors 3 and 4). So a 200 with another code is taken for a refusal. If that was wrong, the profile has to name
the code in `other_success_codes`. The functions here say which code that may be, so that a message can name the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spec.answers import RefusalKind, code_may_be_shown, code_of, data_of, is_granted, refusal_or_failure
from spec.exchange import VALID, Exchange
from spec.interface import SYNTHETIC_PREFIX
from spec.message import Text, say


def perhaps_success_codes(exchanges: Iterable[Exchange]) -> Mapping[str, int]:
    """By operation, the code other than 0 with which its valid requests perhaps succeeded.

    An operation is in the result under these conditions:

    - None of its valid requests succeeded, and at least one was answered 200 with a code other than 0.
    - All such answers have the same code, and an object in `data`, as a success has.
    - A request that names a made-up account or code is not answered with that code, because it cannot succeed.
    """
    answers_by_operation: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        if exchange.response is not None and exchange.credential == VALID:
            answers_by_operation.setdefault(exchange.operation, []).append(exchange)
    codes: dict[str, int] = {}
    for operation, answers in answers_by_operation.items():
        code = _perhaps_success_code(answers)
        if operation and code is not None:  # an undocumented path has an empty operation
            codes[operation] = code
    return codes


def _perhaps_success_code(answers: list[Exchange]) -> int | None:
    """The code with which the valid requests of one operation perhaps succeeded; None if there is no such code."""
    valid = [exchange for exchange in answers if exchange.expects_success]
    if any(map(is_granted, valid)):
        return None
    with_another_code = list(filter(_is_refused_by_its_code, valid))
    codes = {code_of(exchange.response) for exchange in with_another_code if exchange.response}
    if len(codes) != 1 or not all(data_of(exchange.response) is not None for exchange in with_another_code):
        return None
    [code] = codes
    for exchange in filter(_is_refused_by_its_code, answers):
        names_nobody = SYNTHETIC_PREFIX in exchange.request.last_segment
        if names_nobody and exchange.response and code_of(exchange.response) == code:
            return None
    return code if code_may_be_shown(code) else None


def _is_refused_by_its_code(exchange: Exchange) -> bool:
    """True for a 200 that counts as a refusal because of its code alone."""
    return refusal_or_failure(exchange) is RefusalKind.ENVELOPE


def line_for_success_code(code: int) -> Text:
    """What to put into the profile if this code says that a request succeeded."""
    return say("set other_success_codes: [{code}] if this code says success", code=str(code))
