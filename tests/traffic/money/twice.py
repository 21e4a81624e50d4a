"""One transfer of the run that is executed twice, on a sandbox, and what both executions change in the balances.

The interface document does not say what a second execution of a code does. So the balances are read before, between and
after the two executions, to see if money moves again.

Self-tests: promises/test_transfers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from environments.door.client import Client
from environments.profiles.model import Profile
from spec.answers import data_of, grants_protected_result, is_granted, succeeded
from spec.exchange import Exchange, Purpose
from spec.facts import Facts
from spec.json_text import JsonPath, leaves_of
from spec.observed import facts_of_answer, is_lasting_answer
from tests.traffic.money.preparing import prepare_executable_transfers

MOVED_TWICE = "MONEY MOVED TWICE: a second execution of a code changes the balance again"
"""What the report says if money moved a second time. In capital letters, because a bank loses money then."""
_Numbers = Mapping[JsonPath, Decimal]
"""Every number in the answers to balance requests. Its key is the account, followed by the path to the number in the
JSON: `{("ac-0001", "data", "balance"): Decimal("12.50")}`."""
ReadBalances = Callable[[], Mapping[str, Exchange]]
"""Reads the balances of some accounts, and gives the answers by account."""


class Repetition(Purpose):
    """Why a request is sent for the transfer that is executed twice."""

    EXECUTED_TWICE = "a transfer that the run prepares, to execute it twice"
    AGAIN = "the same transfer again"
    BALANCE = "a balance, before or after an execution of the transfer that is executed twice"


@dataclass(frozen=True)
class ExecutedTwice:
    """Two executions of one code, and what they changed in the balances."""

    first: Exchange
    second: Exchange
    changes_by_first: _Numbers
    changes_by_second: _Numbers

    @property
    def moves_money_twice(self) -> bool:
        """True if the second execution changed a number in a balance by the same amount as the first one.

        Other amounts do not count, because another client may have moved money meanwhile.
        """
        changed_by_both = self.changes_by_first.items() & self.changes_by_second.items()
        return len(changed_by_both) > 0

    @property
    def answers(self) -> list[Facts | str]:
        """What the service answered to the second execution of the code, for the report.

        "the same result" or "another result" if the answer has an execution result, else facts of the answer, such as
        its status. A list with at most one item: it is empty if the same request may get another answer in a minute,
        such as after a 503.
        """
        if not is_lasting_answer(self.second):
            return []
        if not grants_protected_result(self.second):
            return [facts_of_answer(self.second)]
        is_the_same = data_of(self.first.response) == data_of(self.second.response)
        return ["the same result" if is_the_same else "another result"]

    @property
    def balances(self) -> list[str]:
        """What the second execution did to the balances, in words for the report: a list with at most one item.

        Empty if no balance shows the first execution, because then none would show the second one.
        """
        if not self.changes_by_first:
            return []
        return [MOVED_TWICE if self.moves_money_twice else "does not change again"]


def execute_twice(
    client: Client, profile: Profile, read_balances: ReadBalances, hand_in_execution: Callable[[Exchange], None]
) -> ExecutedTwice | None:
    """Prepare a transfer, execute it, and execute it again, to see whether money moves a second time.

    The balances are read before, between and after the two executions. `hand_in_execution` is called with each
    execution, so that its answer is judged.

    The second execution is sent only if the first one succeeded, and if the guard (the part of the door that watches
    over codes) permits it, which it does only on a sandbox. Returns None if the second execution was not sent, or not
    answered.
    """
    guard = client.door.guard
    number_of_transfers = min(1, guard.count_possible_executions())  # 0 if no execution is permitted any more
    preparations = prepare_executable_transfers(client, profile, number_of_transfers, Repetition.EXECUTED_TWICE)
    codes = guard.prepared.codes_of(preparations)
    if not codes:
        return None
    code = codes[0]

    balances_before = _numbers_of(read_balances())
    first = client.send("executePix", code, valid=True, purpose=Repetition.EXECUTED_TWICE)
    hand_in_execution(first)
    if not succeeded(first):
        return None

    balances_between = _numbers_of(read_balances())
    is_permitted_again = guard.permit_again(code)
    if not is_permitted_again:
        return None
    # Without `valid=True`, because the interface document does not promise that a second execution succeeds.
    second = client.send("executePix", code, purpose=Repetition.AGAIN)
    hand_in_execution(second)
    if second.response is None:
        return None

    balances_after = _numbers_of(read_balances())
    changes_by_first = _changes(balances_before, balances_between)
    changes_by_second = _changes(balances_between, balances_after)
    return ExecutedTwice(first, second, changes_by_first, changes_by_second)


def _numbers_of(answers: Mapping[str, Exchange]) -> _Numbers:
    """Every number in these answers to balance requests, by the account and the path to the number in the JSON.

    The interface document does not show which number is the balance, so all are compared. `answers` are by account.
    Refusals are left out.
    """
    balances: dict[JsonPath, Decimal] = {}
    for account, answer in answers.items():
        if answer.response and is_granted(answer):
            for path, number in _numbers_in(answer.response.json.value):
                balances[(account, *path)] = number
    return balances


def _numbers_in(value: Any) -> Iterator[tuple[JsonPath, Decimal]]:
    """Every number in a JSON value, each with its path: `{"a": ["1.50"]}` gives `(("a", 0), Decimal("1.50"))`.

    A text that is a number counts, because some services write amounts as text. Infinity and NaN do not count, because
    nothing can be computed with them. (`read_json` makes a Decimal of each JSON number.)
    """
    for path, leaf in leaves_of(value):
        if isinstance(leaf, Decimal | str):
            with suppress(InvalidOperation):  # a text that is no number
                number = Decimal(leaf)
                if number.is_finite():
                    yield path, number


def _changes(before: _Numbers, after: _Numbers) -> _Numbers:
    """The numbers in the balances that changed, and by how much. A number that is only in one of both is left out."""
    changes: dict[JsonPath, Decimal] = {}
    for path, number in after.items():
        if path in before and number != before[path]:
            changes[path] = number - before[path]
    return changes
