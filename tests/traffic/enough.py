"""Which requirements a run tests with few exchanges only, and which line of the profile would give it more.

A service may have several nodes, of which one is at fault. If a requirement is tested with few exchanges, the fault may
stay hidden, and the requirement passes. `--plan` prints a line for each situation, such as "an execution", that fewer
than ENOUGH_ANSWERS exchanges of the run show.

Self-tests: reports/sentences/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from environments.profiles.loading import missing_for_deletions
from environments.profiles.model import Profile
from spec.exchange import Exchange
from spec.interface import KEY_TYPES
from spec.log import Log
from tests.traffic.keys.purposes import (
    Registering,
    registrations_for,
    registrations_of_free_keys,
    type_sent,
    valid_deletions,
)
from tests.traffic.money.executions import Execution, answers_to_real_codes
from tests.traffic.scenario import ENOUGH_ANSWERS, Traffic

_KEY_OF_TYPE = "a key of the type {}"
"""Name of the situation in which a key of this type is registered."""
_RANDOM = _KEY_OF_TYPE.format("RANDOM")
_ONLY_ON_A_SANDBOX = "sandbox: elsewhere no key of the profile is registered more often"
"""The line of a profile that would give more, if nothing but a sandbox does."""


@dataclass(frozen=True)
class CountedSituation:
    """A situation that requirements of an operation are about, such as "a request without a token".

    If few exchanges of a run show it, a fault in one server of several may stay hidden.
    """

    operation: str
    name: str
    exchanges: Callable[[Log], list[Exchange]]
    """Function that gives the exchanges in the log that show the situation."""
    line: Callable[[Profile], str]
    """Function that gives the line of the profile that would raise their number."""


def _finder_of_registrations(key_type: str) -> Callable[[Log], list[Exchange]]:
    """A function that finds, among all exchanges of a run, the registrations of keys of this type that were free.

    A key is free if it was not registered, so that the service must accept its registration.
    """

    def registrations(log: Log) -> list[Exchange]:
        """The registrations with this key type."""
        return [answer for answer in registrations_of_free_keys(log) if type_sent(answer) == key_type]

    return registrations


def _finder_of_requests_with(operation: str, credential: str) -> Callable[[Log], list[Exchange]]:
    """A function that finds, in the log of a run, the exchanges that were sent with this credential.

    The credential is the name of a wrong token, or "no header" for a request without a token.
    """

    def requests(log: Log) -> list[Exchange]:
        """The requests with the credential.

        Requests to the execution endpoint count if they have a real code. The run sends them before or after the
        request with the valid token, which executes the code.
        """
        if operation == "executePix":
            sent = log.sent(operation, Execution.UNAUTHORIZED_BEFORE_EXECUTION, Execution.UNAUTHORIZED_AFTER_EXECUTION)
        else:
            sent = registrations_for(log, Registering.WITHOUT_A_TOKEN)
        return [exchange for exchange in sent if exchange.credential == credential]

    return requests


def _line_for_executions(profile: Profile) -> str:
    """The line of the profile to change so that a run has more executions, such as "limits.executions (5)".

    It is the limit if there are more codes than it permits; otherwise the number of codes that the run prepares.
    """
    plan = profile.transactions.prepare
    number_of_codes = len(profile.transactions.codes) + (plan.count if plan else 0)
    if number_of_codes > profile.limits.executions:
        return f"limits.executions ({profile.limits.executions})"
    return f"transactions.prepare.count ({plan.count})" if plan else "transactions.prepare"


def _line_for_type(key_type: str) -> Callable[[Profile], str]:
    """A function that gives the line of a profile to change so that a run has more registrations of this key type.

    The suite makes up e-mail addresses. They can be registered again and again if the run may delete them, so deletions
    must be permitted. Keys of other types belong to somebody, so outside a sandbox they are not registered more often.
    """

    def line(profile: Profile) -> str:
        """The line to change in this profile."""
        can_be_repeated = key_type == "EMAIL" or profile.is_sandbox
        return _line_for_deletions(profile) if can_be_repeated else _ONLY_ON_A_SANDBOX

    return line


def _line_for_deletions(profile: Profile) -> str:
    """The line of the profile to change so that a run has more deletions of keys.

    It is the permission; or the line that makes a deletion safe, such as `key_at`, so that the run finds the keys in a
    list before it deletes one. If the profile has both, only a sandbox has more deletions.
    """
    if "delete-keys" not in profile.allow:
        return "allow: delete-keys"
    missing_line = missing_for_deletions(profile)  # empty if no line is missing
    return missing_line or _ONLY_ON_A_SANDBOX


def _line_for_tokens(profile: Profile) -> str:
    """The line of the profile to change so that a run sends more wrong tokens: "limits.wrong_tokens (20)"."""
    return f"limits.wrong_tokens ({profile.limits.wrong_tokens})"


def _situations_without_the_token(
    operation: str, line_without_token: Callable[[Profile], str]
) -> tuple[CountedSituation, CountedSituation]:
    """The two situations of an operation in which the valid token is missing: no token, and a wrong one.

    `line_without_token` gives the line of the profile that raises the number of requests without a token. The limit of
    wrong tokens raises the number of the others.
    """
    without_token = _finder_of_requests_with(operation, NO_HEADER)
    with_wrong_token = _finder_of_requests_with(operation, WRONG_TOKEN)
    return (
        CountedSituation(operation, "a request without a token", without_token, line_without_token),
        CountedSituation(operation, "a request with another token", with_wrong_token, _line_for_tokens),
    )


def _registration_of_type(key_type: str) -> CountedSituation:
    """The situation in which a free key of this type is registered. (A free key is not registered yet.)"""
    name = _KEY_OF_TYPE.format(key_type)
    return CountedSituation("registerPixKey", name, _finder_of_registrations(key_type), _line_for_type(key_type))


SITUATIONS = (
    CountedSituation("executePix", "an execution", answers_to_real_codes, _line_for_executions),
    *map(_registration_of_type, KEY_TYPES),
    CountedSituation("deletePixKey", "a deletion", valid_deletions, _line_for_deletions),
    *_situations_without_the_token("executePix", _line_for_executions),  # each code is sent once without a token
    *_situations_without_the_token("registerPixKey", _line_for_tokens),  # they are written in several ways
)
"""The situations of the documented operations."""


def lines_about_few_exchanges(traffic: Traffic) -> Iterator[str]:
    """Lines for `--plan`: each situation that the run tests with too few exchanges, and what would give it more.

    For example "executePix, an execution: 2 of 6, more with transactions.prepare.count (2)". With fewer than
    ENOUGH_ANSWERS exchanges, a fault in one server of several may stay hidden. The log holds what the run would send.
    """
    log, profile = traffic.log, traffic.profile
    for situation in SITUATIONS:
        number = len(situation.exchanges(log))
        if situation.name == _RANDOM and profile.is_sandbox and profile.may_delete_keys:
            # A run reads the value of a RANDOM key from the answer of listPixKeys before it registers the next one. In
            # a plan that list is always empty. So a plan has fewer registrations than a run.
            continue
        is_tested = bool(traffic.operations_tested_among(situation.operation))
        if is_tested and 0 < number < ENOUGH_ANSWERS:
            line = situation.line(profile)
            yield f"{situation.operation}, {situation.name}: {number} of {ENOUGH_ANSWERS}, more with {line}"
    # Only on a sandbox, and only with a code that the run prepares, an execution is repeated.
    if profile.is_sandbox and traffic.selection.needs_real_codes and profile.transactions.prepare is None:
        yield "executePix, an execution that is repeated: 0, more with transactions.prepare"
