"""What --plan, --explain and --list print in place of a run: without a target, a token and a report.

The plan is the traffic of a run on a wire that sends nothing and answers as the interface document says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

import pytest

from environments.door.client import Client
from environments.door.opening import journal_in_words, open_planned_door
from environments.door.outgoing import Sending
from environments.door.preflight import Preflight, preflight
from environments.profiles.loading import load
from environments.profiles.model import Profile
from environments.secret_values import listed_secrets
from reports.outputs.terminal import print_lines
from reports.outputs.writing import runs_folder
from reports.sentences.explanation import LastRun, explanation, last_run, last_run_about, listing
from reports.sentences.plan import Plan, plan_lines, purposes_in_words
from reports.showing.show import Display
from spec.exchange import VALID, Response
from spec.interface import PREPARING, operations
from spec.json_text import parts_of_pointer
from spec.requirements import Requirement, requirements
from spec.rules import Reproduction
from tests.harness.options import PRINTING, explains, options_given
from tests.harness.selection import group_of, ids_tested, permits, requirement_of, selection
from tests.traffic.enough import few_exchanges
from tests.traffic.phases import send_all

InPlaceOfTests = Callable[[pytest.Session], None]
"""Does something with the collected tests in place of running them."""


def what_to_print(config: pytest.Config, profile: Profile, resend: Container[str]) -> InPlaceOfTests | None:
    """Prints what --plan, --explain or --list ask for; None without these options. pytest collects the tests, and
    prints nothing of its own about it. UsageError for two of them, and for an id that is not known."""
    asked = options_given(config, PRINTING)
    if not asked:
        return None
    if explains(config) and len(asked) > 1:
        raise pytest.UsageError(f"{' and '.join(asked)} each print something; name one of them")
    printing = partial(_print_plan, profile, resend)
    if explains(config):
        named = requirements() if config.getoption("list") else group_of(config.getoption("explain"), "--explain")
        printing = partial(_print_explanation, profile, named)
    config.option.collectonly = False
    config.option.verbose = -2
    return printing


def _print_plan(profile: Profile, resend: Container[str], session: pytest.Session) -> None:
    config = session.config
    plan = planned(config, profile, resend, session.items)
    journal, trouble, _ = journal_in_words(profile)
    if config.getoption("new_journal"):
        trouble = "--new-journal starts it, and what can be read of an old one still counts"
    about_the_journal = "; ".join(filter(None, (journal, trouble)))
    print_lines(plan_lines(plan, profile, about_the_journal, selection(config)))


# -- what is required, and what the last run saw ----------------------------------------------------------------------


def _print_explanation(profile: Profile, named: Container[str], session: pytest.Session) -> None:
    """Print the requirement of this name, or a line for each of several. What the command line selects narrows them."""
    config = session.config
    chosen = [requirement for requirement in requirements().values() if requirement.id in named]
    if selection(config):
        selected = set(map(requirement_of, session.items))
        chosen = [requirement for requirement in chosen if requirement in selected]
    run = _last_run(config, profile, [requirement.id for requirement in chosen])
    if len(chosen) == 1:
        print_lines(explanation(chosen[0], _sent_for(chosen[0], session), run))
    else:
        print_lines(listing(chosen, run))


def _sent_for(requirement: Requirement, session: pytest.Session) -> list[str]:
    """What a run sends to the embedded sandbox for a requirement, by operation and purpose."""
    tests = [item for item in session.items if requirement_of(item) == requirement]
    not_generated = [item for item in tests if not item.get_closest_marker("property")]
    plan = planned(session.config, load("sandbox"), (), not_generated)
    sent = [exchange for exchange in plan.sent if not isinstance(exchange.purpose, Preflight)]
    lines = list(purposes_in_words(sent))
    return lines if len(not_generated) == len(tests) else [*lines, "generated requests"]


def _last_run(config: pytest.Config, profile: Profile, ids: Collection[str]) -> LastRun:
    clean = Display(listed_secrets(profile)).line
    if named := config.getoption("report_dir"):
        return last_run(Path(named), clean)
    return last_run_about(ids, runs_folder(profile.name), clean)


# -- the plan ---------------------------------------------------------------------------------------------------------

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token from which every form of wrong token can be made."""
_OF_TYPE = {"string": "*", "integer": 1, "number": 1, "null": None}
_SUCCESSFUL = {"status": "DONE", "Success": "true"}
"""Documented fields that say what became of a request."""


def planned(config: pytest.Config, profile: Profile, resend: Container[str], items: Sequence[pytest.Item]) -> Plan:
    """Plan of the requests of the selected tests. `resend` has the codes that may be sent although an earlier run sent
    them."""
    door = open_planned_door(profile, TOKEN, _Wire(profile), resend=resend, new_journal=config.getoption("new_journal"))
    client = Client(door)
    preflight(client)
    reproduction = Reproduction(door.exchanges, door.sent_again)
    traffic = send_all(config, client, profile, config.getoption("seed") or 0, items, reproduction).traffic
    asked = (requirements()[name].operation for name in ids_tested(items, "sent"))
    return Plan(
        door.exchanges,
        denied=frozenset(name for name in asked if name and not permits(profile, name)),
        executes=traffic.reach.spends_codes,
        barred=list(door.guard.barred),
        cut=list(door.unsent),
        few=list(few_exchanges(traffic)),
        journal_trouble=door.guard.journal_trouble or door.guard.supplied_trouble,
    )


class _Wire:
    """Connections that send nothing. A valid request succeeds, as the interface document says; any other is refused."""

    def __init__(self, profile: Profile) -> None:
        self._plan, self._key_at = profile.transactions.prepare, profile.key_at
        self._prepared = 0

    def attempt(self, sending: Sending) -> Response:
        """The answer to a request that is not sent."""
        intent = sending.intent
        if intent.valid or sending.executes:
            return _answer(200, {"code": 0, "data": self._data(intent.operation)})
        if intent.credential != VALID:
            return _answer(401, {})
        return _answer(400 if intent.operation else 404, {})

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def _data(self, operation: str) -> object:
        if operation in PREPARING and self._plan:
            self._prepared += 1
            value: object = f"plan-{self._prepared}"
            for part in reversed(parts_of_pointer(self._plan.code_at.removeprefix("/data"))):
                value = {part: value}
            return value
        if operation == "listPixKeys" and self._key_at:
            return _empty_list_at(self._key_at)
        fields = operations()[operation].result
        return {field.name: _SUCCESSFUL.get(field.name, _OF_TYPE[field.types[-1]]) for field in fields}


def _answer(status: int, body: dict[str, object]) -> Response:
    return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())


def _empty_list_at(key_at: str) -> object:
    """The data of a list without keys, where a profile says that they stand."""
    value: object = []
    around_the_list = takewhile("*".__ne__, parts_of_pointer(key_at.removeprefix("/data")))
    for part in reversed([*around_the_list]):
        value = {part: value}
    return value
