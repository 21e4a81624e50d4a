"""The answers that the interface document does not describe: what the valid requests of the targeted tests got."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spec.answers import succeeded
from spec.exchange import Exchange
from spec.facts import Facts
from spec.interface import PREPARING, READS, operations
from tests.harness.lanes import Part
from tests.traffic.answered import answer_of, head_of
from tests.traffic.settled import counts
from tests.traffic.targeted_traffic import TargetedTraffic


def visit_to_the_end(operation: str, traffic: TargetedTraffic) -> list[Exchange]:
    """Send the requests to the operation, and a read once more when all has been sent that may change what it shows.
    Gives what shows how the operation answers."""
    traffic.visit(operation)
    if operation in READS and _send_what_changes_accounts(traffic):
        account = traffic.account if operations()[operation].path_parameter else None
        traffic.client.send(operation, account, valid=True)
    return answers_to(operation, traffic)


def answers_to(operation: str, traffic: TargetedTraffic) -> list[Exchange]:
    """Every success of the operation so far, without generated traffic. How a valid request is refused is left out: it
    is for its time, a limit or an account."""
    return [seen for seen in _valid(operation, traffic) if succeeded(seen)]


def _valid(operation: str, traffic: TargetedTraffic) -> list[Exchange]:
    return [seen for seen in traffic.targeted(operation) if seen.expects_success and counts(seen)]


def values_of(answers: Iterable[Exchange]) -> dict[str, list[Facts]]:
    """What the answers look like. Equal ones are looked at once."""
    different = {(head_of(seen.response), seen.response.kept): seen for seen in answers if seen.response}
    return {"": [answer_of(seen) for seen in different.values()]}


def no_answer(operation: str, traffic: TargetedTraffic) -> str:
    """Why no answer of the operation shows its shape, and what to supply."""
    supply = "accounts that the token may read" if operation in READS else f"requests.{operation}"
    refused = _valid(operation, traffic)
    if not refused:
        return f"no valid request was answered: supply {supply}"
    if not traffic.profile.accounts:
        supply = "accounts"
    return f"no valid request was granted ({refused[0].summary}): supply {supply}"


def _send_what_changes_accounts(traffic: TargetedTraffic) -> bool:
    """Send the registrations, executions and transfers of this run. False where there are none."""
    parts: list[Part[Any]] = [traffic.register_once] if traffic.permitted("registerPixKey") else []
    parts += [traffic.execute_once] if traffic.permitted("executePix") else []
    parts += traffic.visits(PREPARING)
    for send in parts:
        send()
    return bool(parts)
