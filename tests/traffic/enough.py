"""Which requirements a run tests with few exchanges only, and which line of the profile would give it more.

A service may have several nodes, of which one is at fault. If a requirement is tested with few exchanges, the fault may
stay hidden, and the requirement passes. `--plan` prints a line for each situation, such as "an execution", that fewer
than ENOUGH_ANSWERS exchanges of the run show.

Self-tests: reports/sentences/test_plan.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
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
_RANDOM = _KEY_OF_TYPE.format("RANDOM")
_ONLY_ON_A_SANDBOX = "sandbox: elsewhere no key of the profile is registered more often"


@dataclass(frozen=True)
class Situation:
    """A situation that requirements of an operation are about, such as "a request without a token"."""

    operation: str
    name: str
    exchanges: Callable[[Log], list[Exchange]]
    """Function that gives the exchanges in the log that show the situation."""
    line: Callable[[Profile], str]
    """Function that gives the line of the profile that would raise their number."""


def _of_type(key_type: str) -> Callable[[Log], list[Exchange]]:
    """A function that gives the registrations, in a log, of keys of this type that were free."""
    return lambda log: [answer for answer in registrations_of_free_keys(log) if type_sent(answer) == key_type]


def _with_credential(operation: str, credential: str) -> Callable[[Log], list[Exchange]]:
    """A function that gives the requests with a real code, or with a key, and with this credential in a log."""

    def requests(log: Log) -> list[Exchange]:
        """The requests with the credential, those that repeat the first code included."""
        if operation == "executePix":
            sent = log.sent(operation, Execution.UNAUTHORIZED_BEFORE_EXECUTION, Execution.UNAUTHORIZED_AFTER_EXECUTION)
        else:
            sent = registrations_for(log, Registering.WITHOUT_A_TOKEN)
        return [exchange for exchange in sent if exchange.credential == credential]

    return requests


def _line_for_executions(profile: Profile) -> str:
    """The line of the profile that limits the number of executions."""
    plan = profile.transactions.prepare
    supplied = len(profile.transactions.codes) + (plan.count if plan else 0)
    if supplied > profile.limits.executions:
        return f"limits.executions ({profile.limits.executions})"
    return f"transactions.prepare.count ({plan.count})" if plan else "transactions.prepare"


def _line_for_type(key_type: str) -> Callable[[Profile], str]:
    """A function that gives the line of a profile that limits the number of registrations of this key type.

    A synthetic key is an e-mail address. It can be registered again and again if the run may delete it. Keys of other
    types belong to somebody, so off a sandbox they are not registered more often.
    """

    def line(profile: Profile) -> str:
        """The line of this profile."""
        return _line_for_deletions(profile) if key_type == "EMAIL" or profile.is_sandbox else _ONLY_ON_A_SANDBOX

    return line


def _line_for_deletions(profile: Profile) -> str:
    """The line of the profile that limits the number of deletions."""
    if "delete-keys" not in profile.allow:
        return "allow: delete-keys"
    return str(missing_for_deletions(profile)) or _ONLY_ON_A_SANDBOX


def _line_for_tokens(profile: Profile) -> str:
    """The line of the profile that limits the number of wrong tokens."""
    return f"limits.wrong_tokens ({profile.limits.wrong_tokens})"


def _situations_without_the_token(operation: str) -> tuple[Situation, Situation]:
    """The situations of an operation without the valid token: without any, and with another one."""
    without_token = _with_credential(operation, NO_HEADER)
    with_another = _with_credential(operation, ANOTHER)
    return (
        Situation(operation, "a request without a token", without_token, _line_for_executions),
        Situation(operation, "a request with another token", with_another, _line_for_tokens),
    )


SITUATIONS = (
    Situation("executePix", "an execution", answers_to_real_codes, _line_for_executions),
    *(
        Situation("registerPixKey", _KEY_OF_TYPE.format(key_type), _of_type(key_type), _line_for_type(key_type))
        for key_type in KEY_TYPES
    ),
    Situation("deletePixKey", "a deletion", valid_deletions, _line_for_deletions),
    *_situations_without_the_token("executePix"),
    *_situations_without_the_token("registerPixKey"),
)
"""The situations of the documented operations."""


def few_exchanges(traffic: Traffic) -> Iterator[str]:
    """A line for each situation that the run tests, but with fewer than ENOUGH_ANSWERS exchanges."""
    log, profile = traffic.log, traffic.profile
    for situation in SITUATIONS:
        shown = len(situation.exchanges(log))
        if situation.name == _RANDOM and profile.is_sandbox and profile.deletes_keys:
            continue  # such a key goes again once a list shows its value, and the lists of a plan are empty
        if traffic.tested_among(situation.operation) and 0 < shown < ENOUGH_ANSWERS:
            line = situation.line(profile)
            yield f"{situation.operation}, {situation.name}: {shown} of {ENOUGH_ANSWERS}, more with {line}"
    if profile.is_sandbox and traffic.selection.needs_real_codes and profile.transactions.prepare is None:
        yield "executePix, an execution that is repeated: 0, more with transactions.prepare"
