"""What --plan, --explain and --list print instead of a run. They need no target and no token, and write no report.

conftest.py asks for it when pytest is configured. A plan is made in the same way as the traffic of a run, with a wire
that sends nothing and answers as the interface document says.

Self-tests: reports/sentences/test_plan.py, reports/sentences/test_explanation.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Container, Sequence
from functools import partial
from pathlib import Path

import pytest

from environments.door.client import Client
from environments.door.opening import journal_in_words, open_door_for_plan
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
from spec.interface import PREPARING_OPERATIONS, operations
from spec.json_text import parts_of_pointer
from spec.requirements import Requirement, requirements
from spec.rules import Reproduction
from tests.harness.options import PRINTING, explains, options_given
from tests.harness.selection import group_of, ids_tested, permits, requirement_of, selection_in_words
from tests.traffic.enough import few_exchanges
from tests.traffic.phases import send_everything

InPlaceOfTests = Callable[[pytest.Session], None]
"""Prints something about the collected tests instead of running them."""


def what_to_print(config: pytest.Config, profile: Profile, resend: Container[str]) -> InPlaceOfTests | None:
    """Function that prints what --plan, --explain or --list asks for; None without these options.

    pytest still collects the tests, and prints nothing of its own about them. `resend` has the codes that may be sent
    although an earlier run sent them. Raises UsageError if two of the options are given, and for an id that is not
    known.
    """
    options = options_given(config, PRINTING)
    if not options:
        return None
    if not explains(config):
        _silence_pytest(config)
        return partial(_print_plan, profile, resend)
    if len(options) > 1:
        raise pytest.UsageError(f"{' and '.join(options)} each print something; name one of them")
    ids = requirements() if config.getoption("list") else group_of(config.getoption("explain"), "--explain")
    _silence_pytest(config)
    return partial(_print_explanation, profile, ids)


def _silence_pytest(config: pytest.Config) -> None:
    """Have pytest collect the tests without a line about them."""
    config.option.collectonly = False  # with --collect-only, pytest would print the tests instead
    config.option.verbose = -2  # below quiet: pytest prints not even the number of tests


def _print_plan(profile: Profile, resend: Container[str], session: pytest.Session) -> None:
    """Print what a run would send, and what the journal of codes says about it."""
    config = session.config
    plan = planned(config, profile, resend, session.items)
    journal, trouble, _ = journal_in_words(profile)
    if config.getoption("new_journal"):
        trouble = "--new-journal starts it, and what can be read of an old one still counts"
    about_the_journal = "; ".join(text for text in (journal, trouble) if text)
    print_lines(plan_lines(plan, profile, about_the_journal, selection_in_words(config)))


# -- what is required, and what the last run saw ----------------------------------------------------------------------


def _print_explanation(profile: Profile, ids: Container[str], session: pytest.Session) -> None:
    """Print all about one requirement, or a line for each of several. If the command line selects requirements, only
    the selected ones are printed."""
    config = session.config
    chosen = [requirement for requirement in requirements().values() if requirement.id in ids]
    if selection_in_words(config):
        selected = set(map(requirement_of, session.items))
        chosen = [requirement for requirement in chosen if requirement in selected]
    run = _last_run(config, profile, [requirement.id for requirement in chosen])
    if len(chosen) == 1:
        print_lines(explanation(chosen[0], _requests_in_words(chosen[0], session), run))
    else:
        print_lines(listing(chosen, run))


def _requests_in_words(requirement: Requirement, session: pytest.Session) -> list[str]:
    """Lines that say what a run sends to the embedded sandbox for a requirement, by operation and purpose."""
    tests = [item for item in session.items if requirement_of(item) == requirement]
    not_generated = [item for item in tests if not item.get_closest_marker("property")]
    plan = planned(session.config, load("sandbox"), (), not_generated)
    exchanges = [exchange for exchange in plan.exchanges if not isinstance(exchange.purpose, Preflight)]
    lines = list(purposes_in_words(exchanges))
    if len(not_generated) < len(tests):
        lines.append("generated requests")
    return lines


def _last_run(config: pytest.Config, profile: Profile, ids: Collection[str]) -> LastRun:
    """The run in the folder that --report-dir names; else the last run of this profile that is about the ids."""
    clean = Display(listed_secrets(profile)).line
    report_folder = config.getoption("report_dir")
    if report_folder:
        return last_run(Path(report_folder), clean)
    return last_run_about(ids, runs_folder(profile.name), clean)


# -- the plan ---------------------------------------------------------------------------------------------------------

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token of no service. It is a complete JWT, so that every form of wrong token can be made of it."""
_VALUES = {"string": "*", "integer": 1, "number": 1, "null": None}
"""By JSON type, a value of a documented field."""
_SUCCESSFUL = {"status": "DONE", "Success": "true"}
"""The values that the interface document shows, of the fields that say what became of a request."""


def planned(config: pytest.Config, profile: Profile, resend: Container[str], items: Sequence[pytest.Item]) -> Plan:
    """Plan of the requests that a run sends for the selected tests, which are `items`.

    `resend` has the codes that may be sent although an earlier run sent them.
    """
    new_journal = config.getoption("new_journal")
    door = open_door_for_plan(profile, TOKEN, _PlanningWire(profile), resend=resend, new_journal=new_journal)
    client = Client(door)
    preflight(client)
    reproduction = Reproduction(door.exchanges, door.sent_again)
    seed = config.getoption("seed") or 0
    traffic = send_everything(config, client, profile, seed, items, reproduction).traffic
    operations_tested = (
        requirements()[requirement_id].operation for requirement_id in ids_tested(items, "run_traffic")
    )
    denied = frozenset(name for name in operations_tested if name and not permits(profile, name))
    return Plan(
        door.exchanges,
        denied=denied,
        executes=traffic.selection.needs_real_codes,
        barred=list(door.guard.barred),
        cut=list(door.unsent),
        few=list(few_exchanges(traffic)),
        journal_trouble=door.guard.journal_trouble or door.guard.supplied_trouble,
    )


class _PlanningWire:
    """A wire that sends nothing.

    A valid request succeeds, with an answer as in the interface document. Any other request is refused.
    """

    def __init__(self, profile: Profile) -> None:
        self._plan = profile.transactions.prepare
        self._key_at = profile.key_at
        self._count_prepared = 0

    def attempt(self, sending: Sending) -> Response:
        """The answer to a request, which is not sent."""
        intent = sending.intent
        if intent.valid or sending.executes:
            return _answer(200, {"code": 0, "data": self._data_of_success(intent.operation)})
        if intent.credential != VALID:
            return _answer(401, {})
        return _answer(400 if intent.operation else 404, {})

    def connect(self, base_url: str) -> str:
        """Nothing is opened."""
        return ""

    def close(self) -> None:
        """Nothing is open."""

    def _data_of_success(self, operation: str) -> object:
        """The value of `data` in a successful answer: a new code, an empty list of keys, or a documented result."""
        if operation in PREPARING_OPERATIONS and self._plan:
            self._count_prepared += 1
            return _nested(_path_in_data(self._plan.code_at), f"plan-{self._count_prepared}")
        if operation == "listPixKeys" and self._key_at:
            path_to_key = _path_in_data(self._key_at)
            if "*" in path_to_key:  # it stands for each key in the list
                path_to_key = path_to_key[: path_to_key.index("*")]
            return _nested(path_to_key, [])
        fields = operations()[operation].result
        return {field.name: _SUCCESSFUL.get(field.name, _VALUES[field.types[-1]]) for field in fields}


def _path_in_data(pointer: str) -> list[str]:
    """The names that lead from `data` to a place, by a JSON pointer of the profile such as `/data/keys/*/key`."""
    return parts_of_pointer(pointer.removeprefix("/data"))


def _answer(status: int, body: dict[str, object]) -> Response:
    """A response with this JSON body."""
    return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())


def _nested(path: Sequence[str], value: object) -> object:
    """Objects within each other, so that the value stands at the path."""
    for name in reversed(path):
        value = {name: value}
    return value
