"""Observations: behaviour that the interface document does not show, read from the answers of a run.

The table OBSERVATIONS says for each requirement at the level not-shown which requests count, and what is read of their
answers. The tests of tests/conformance/ ask for it with `observation_of`.

- A situation has a phrase that is the same in every run, so that runs can be compared. So only requests count that
  every run sends in the same way: no generated ones, and none that are sent because of an answer.
- A request shows one requirement alone. For example, a request that is too large is not also observed as a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spec.exchange import Exchange, Purpose
from spec.facts import Facts
from spec.interface import PREPARING_OPERATIONS, READ_OPERATIONS, operations
from spec.log import Log
from spec.message import Text
from spec.observed import ObservedValues, final_answer
from spec.requirements import requirements
from tests.traffic import observed_values as values
from tests.traffic.keys.purposes import Registering
from tests.traffic.money.executions import Execution, Preparation
from tests.traffic.robustness import Invalid, Unreadable
from tests.traffic.undescribed import Reading

ANY: tuple[Purpose, ...] = ()
"""Requests of every purpose, without generated traffic."""
REAL_CODES = (
    Execution.SUPPLIED,
    Execution.PREPARED,
    Execution.PREPARED_WITH_EXTRA_PARTS,
    Execution.UNAUTHORIZED_BEFORE_EXECUTION,
)
"""Executions that may have a result. Those without the valid token count if they got one."""


@dataclass(frozen=True)
class Situation:
    """Requests that are alike, and what is read of their answers.

    If the requirement is about an operation, the requests are to this operation.
    """

    phrase: str | Callable[[Exchange, Log], Text | None]
    """The phrase of the situation, or a function that gives it for a request: None if the request does not count."""
    purposes: tuple[Purpose, ...]
    """Purposes of the requests that count."""
    read: Callable[[Exchange, Log], Facts | str | None]
    """Function that gives the value that an answer shows; None if it shows nothing."""
    otherwise: str = ""
    """Value that is observed if no answer shows anything; empty if nothing is observed then."""
    of_any_operation: bool = False
    """True if the requests are to other operations than the operation of the requirement."""
    every_attempt: bool = False
    """True if the first answer to a request counts even if the request was sent again, and its second answer replaces
    the first one."""

    def phrase_of(self, exchange: Exchange, log: Log) -> Text | None:
        """The phrase that names the situation of a request, such as "a 429"; None if it does not count.

        The report shows the phrase beside the value that was observed. It may depend on the request, for example on the
        field that is missing: then `self.phrase` is a function.
        """
        return self.phrase(exchange, log) if callable(self.phrase) else self.phrase

    def requests(self, requirement_id: str, log: Log) -> list[Exchange]:
        """The requests of the run, with their answers, that may show the requirement in this situation.

        They are chosen by their operation and by their purpose, which says why a request was sent. Generated requests
        are left out, because their number differs from run to run.
        """
        operation = None if self.of_any_operation else requirements()[requirement_id].operation  # None: any operation
        if self.every_attempt:  # if a request was sent again, its first answer also counts
            return [exchange for exchange in log.attempts(operation) if not exchange.is_generated]
        if self.purposes == ANY:  # every purpose that a scenario has
            return log.sent_by_scenarios(operation)
        if operation is None:
            return log.with_purpose(*self.purposes)
        return log.of(operation, *self.purposes)


_SHAPE = Situation("", ANY, values.answer_if_successful)
"""How a successful answer looks. The phrase is empty, because there is only one situation."""
_TOKEN = Situation("", (Reading.WITHOUT_TOKEN,), values.need_of_the_token_for_a_read)
"""Whether a read needs the token."""
_REFUSAL = Situation(values.situation_by_what_is_refused, ANY, values.how_it_is_refused)
"""How an operation refuses a request, for each reason to refuse it."""

OBSERVATIONS: Mapping[str, tuple[Situation, ...]] = {
    **{f"{operation}.shape": (_SHAPE,) for operation in (*READ_OPERATIONS, *PREPARING_OPERATIONS)},
    **{f"{operation}.token": (_TOKEN,) for operation in READ_OPERATIONS},
    **{f"{operation}.refusal": (_REFUSAL,) for operation in operations()},
    "deletePixKey.data": (_SHAPE,),
    "executePix.status.values": (Situation(values.situation_by_code_and_status, REAL_CODES, values.status_in_result),),
    "executePix.date.unit": (Situation("", REAL_CODES, values.unit_of_date),),
    "executePix.accountType.meaning": (
        Situation(values.situation_by_code_and_account_type, REAL_CODES, values.account_type_in_result),
    ),
    "executePix.status.transitions": (
        Situation(
            values.situation_by_operation,
            (Preparation.TO_EXECUTE,),
            values.status_before_execution,
            of_any_operation=True,
        ),
    ),
    "executePix.unknownCode": (Situation("", (Execution.UNKNOWN_CODE,), values.answer_if_it_stays),),
    "registerPixKey.repeated": (
        Situation("", (Registering.SECOND_TIME,), values.answer_if_it_stays),
        Situation("the field Success", (Registering.SECOND_TIME,), values.word_of_success),
    ),
    "registerPixKey.pixKeyType.numeric": (
        Situation(values.situation_by_number_as_type, (Registering.NUMERIC,), values.outcome_of_registration),
    ),
    "registerPixKey.body.required": (
        Situation(values.situation_by_missing_field, (Invalid.IS_OBSERVED,), values.need_of_the_field),
    ),
    "registerPixKey.account.relation": (
        Situation("an unknown account in the body", (Invalid.IS_OBSERVED,), values.outcome_with_another_account),
    ),
    "registerPixKey.pixKey.format": (
        Situation(values.situation_by_type_and_format, ANY, values.accepted_format),
        Situation(
            values.situation_by_type_of_a_synthetic_key, (Invalid.IS_OBSERVED,), values.outcome_of_a_synthetic_key
        ),
    ),
    "general.identifierFormat": (Situation(values.situation_by_path_parameter, ANY, values.format_of_identifier),),
    "general.otherTokens": (
        Situation(
            values.situation_by_operation, (Unreadable.IS_THE_TOKEN_WANTED,), values.need_of_the_token_for_a_write
        ),
    ),
    "general.codeValues": (
        Situation(values.situation_by_operation_and_what_is_refused, ANY, values.code_of_refusal, otherwise="no code"),
    ),
    "general.rateLimit": (
        Situation("a 429", ANY, values.answer_to_too_many_requests, otherwise="no 429", every_attempt=True),
        Situation(values.situation_by_operation, ANY, values.headers_of_limits, every_attempt=True),
    ),
    "general.sizeLimit": (
        Situation(values.situation_by_large_request, (Invalid.IS_OBSERVED,), values.refusal_for_its_size),
    ),
    "general.deprecation": (Situation(values.situation_by_operation, ANY, values.headers_of_versions),),
}
"""By requirement, the situations in which it is observed."""
IN_SEQUENCES = ("executePix.repeated",)
"""Requirements that the sequences of `stateful.py` show, which read the balances before and after."""


@dataclass(frozen=True)
class Observed:
    """Observation of one requirement in a run."""

    values: ObservedValues = field(default_factory=dict)
    """The values by situation, in the order of the exchanges."""
    exchanges: list[Exchange] = field(default_factory=list)
    """The exchanges that show the values, in order."""


def observation_of(requirement_id: str, log: Log) -> Observed:
    """What the answers of a run show about a behaviour that the interface document leaves open.

    The table OBSERVATIONS says for each such requirement which situations count, and what is read of an answer. The
    result has the values by situation, such as {"pixKey": ["required"]} for missing fields, and the exchanges that show
    them.

    If no answer shows a value, the table may have words for that, such as "no 429". They have the empty situation.
    """
    observation = Observed()
    for situation in OBSERVATIONS[requirement_id]:
        values_shown = _values_shown_in(situation, requirement_id, log)
        for phrase, value, answer in values_shown:
            observation.values.setdefault(phrase, []).append(value)
            observation.exchanges.append(answer)
        if situation.otherwise and not values_shown:
            observation.values[""] = [situation.otherwise]
    return observation


def _values_shown_in(situation: Situation, requirement_id: str, log: Log) -> list[tuple[Text, Facts | str, Exchange]]:
    """For each answer that shows a value in this situation: the phrase of the situation, the value, and the answer.

    For missing fields: the phrase "pixKey", the value "required", and the exchange of the request without pixKey.
    """
    values_shown = []
    for exchange in situation.requests(requirement_id, log):
        phrase = situation.phrase_of(exchange, log)
        if phrase is None:  # the request is in no situation, so it does not count
            continue
        # `final_answer` is the answer to the same request, sent once more, if only that one may be relied on.
        answer = exchange if situation.every_attempt else final_answer(exchange, log)
        value = situation.read(answer, log)
        if value is not None:
            values_shown.append((phrase, value, answer))
    return values_shown
