"""Observations: what the interface document does not show, read from the answers of a run. One table says of each
requirement at the level not-shown which requests are looked at, and what is read.

Only requests that a run always sends in the same way count, each in a situation with a phrase that is the same in every
run: what is generated, or tried because of an answer, is left out. Each shows one requirement alone: a large one is no
part of a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spec.exchange import Exchange, Purpose
from spec.facts import Facts
from spec.interface import PREPARING, READS, operations
from spec.log import Log
from spec.message import Text
from spec.observed import ObservedValues, answer_that_stands
from spec.requirements import requirements
from tests.traffic import observed_values as values
from tests.traffic.execution import Execution, Preparation
from tests.traffic.keys.purposes import Registering
from tests.traffic.robustness import Invalid, Unreadable
from tests.traffic.undescribed import Reading

ANY: tuple[Purpose, ...] = ()
"""Every request, whatever its purpose, without generated traffic."""
REAL_CODES = (Execution.SUPPLIED, Execution.PREPARED, Execution.PREPARED_WITH_MORE, Execution.OFFERED)
"""Executions that may have a result. Those without the valid token count if they got one."""


@dataclass(frozen=True)
class Situation:
    """Requests that are alike, and what is read of the answer to each. They are requests to the operation of the
    requirement, if it has one."""

    name: str | Callable[[Exchange, Log], Text | None]
    """Its phrase, or what gives the phrase for a request; None if the request is in no situation."""
    purposes: tuple[Purpose, ...]
    read: Callable[[Exchange, Log], Facts | str | None]
    """Gives a value of an answer; None if the answer shows nothing."""
    otherwise: str = ""
    """What is observed, in no situation, if no answer shows anything."""
    of_any_operation: bool = False
    """The requests are to other operations than that of the requirement."""
    every_attempt: bool = False
    """Answers are read, too, that others took the place of."""

    def name_of(self, exchange: Exchange, log: Log) -> Text | None:
        """The phrase of the situation that a request is in."""
        return self.name(exchange, log) if callable(self.name) else self.name

    def requests(self, requirement_id: str, log: Log) -> list[Exchange]:
        """The requests for a requirement."""
        operation = None if self.of_any_operation else requirements()[requirement_id].operation
        if self.every_attempt:
            return [exchange for exchange in log.attempts(operation) if not exchange.part]
        if self.purposes == ANY:
            return log.targeted(operation)
        if operation is None:
            return log.with_purpose(*self.purposes)
        return log.of(operation, *self.purposes)


_SHAPE = Situation("", ANY, values.answer_if_successful)
_TOKEN = Situation("", (Reading.WITHOUT_TOKEN,), values.need_of_the_token_for_a_read)
_REFUSAL = Situation(values.by_what_is_refused, ANY, values.how_it_is_refused)

OBSERVATIONS: Mapping[str, tuple[Situation, ...]] = {
    **{f"{operation}.shape": (_SHAPE,) for operation in (*READS, *PREPARING)},
    **{f"{operation}.token": (_TOKEN,) for operation in READS},
    **{f"{operation}.refusal": (_REFUSAL,) for operation in operations()},
    "deletePixKey.data": (_SHAPE,),
    "executePix.status.values": (Situation(values.by_code_and_status, REAL_CODES, values.status_in_result),),
    "executePix.date.unit": (Situation("", REAL_CODES, values.unit_of_date),),
    "executePix.accountType.meaning": (
        Situation(values.by_code_and_account_type, REAL_CODES, values.account_type_in_result),
    ),
    "executePix.status.transitions": (
        Situation(
            values.by_operation, (Preparation.TO_EXECUTE,), values.status_before_execution, of_any_operation=True
        ),
    ),
    "executePix.unknownCode": (Situation("", (Execution.UNKNOWN_CODE,), values.answer_if_it_stays),),
    "registerPixKey.repeated": (
        Situation("", (Registering.SECOND_TIME,), values.answer_if_it_stays),
        Situation("the field Success", (Registering.SECOND_TIME,), values.word_of_success),
    ),
    "registerPixKey.pixKeyType.numeric": (
        Situation(values.by_number_as_type, (Registering.NUMERIC,), values.outcome_of_registration),
    ),
    "registerPixKey.body.required": (
        Situation(values.by_missing_field, (Invalid.IS_OBSERVED,), values.need_of_the_field),
    ),
    "registerPixKey.account.relation": (
        Situation("an unknown account in the body", (Invalid.IS_OBSERVED,), values.outcome_with_another_account),
    ),
    "registerPixKey.pixKey.format": (
        Situation(values.by_type_and_format, ANY, values.accepted_format),
        Situation(values.by_type_of_a_synthetic_key, (Invalid.IS_OBSERVED,), values.outcome_of_a_synthetic_key),
    ),
    "general.identifierFormat": (Situation(values.by_path_parameter, ANY, values.format_of_identifier),),
    "general.otherTokens": (
        Situation(values.by_operation, (Unreadable.IS_THE_TOKEN_WANTED,), values.need_of_the_token_for_a_write),
    ),
    "general.codeValues": (
        Situation(values.by_operation_and_what_is_refused, ANY, values.code_of_refusal, otherwise="no code"),
    ),
    "general.rateLimit": (
        Situation("a 429", ANY, values.answer_to_too_many_requests, otherwise="no 429", every_attempt=True),
        Situation(values.by_operation, ANY, values.headers_of_limits, every_attempt=True),
    ),
    "general.sizeLimit": (Situation(values.by_large_request, (Invalid.IS_OBSERVED,), values.refusal_for_its_size),),
    "general.deprecation": (Situation(values.by_operation, ANY, values.headers_of_versions),),
}
"""By requirement, its situations."""
IN_SEQUENCES = ("executePix.repeated",)
"""Requirements that a sequence of requests shows, with the balance before and after it: `stateful.py`."""


@dataclass(frozen=True)
class Observed:
    """What a run observed for a requirement: values by situation, and the exchanges that show them, in order."""

    values: ObservedValues = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)


def observed(requirement_id: str, log: Log) -> Observed:
    """What the log shows for a requirement of the table."""
    observation = Observed()
    for situation in OBSERVATIONS[requirement_id]:
        shown = False
        for exchange in situation.requests(requirement_id, log):
            name = situation.name_of(exchange, log)
            answer = exchange if situation.every_attempt else answer_that_stands(exchange, log)
            value = None if name is None else situation.read(answer, log)
            if name is not None and value is not None:
                observation.values.setdefault(name, []).append(value)
                observation.exchanges.append(answer)
                shown = True
        if situation.otherwise and not shown:
            observation.values[""] = [situation.otherwise]
    return observation
