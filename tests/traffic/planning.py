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
from spec.rules.reproduction import Reproduction
from tests.harness.options import OPTIONS_THAT_PRINT_INSTEAD, options_given
from tests.harness.selection import ids_in_group, permits, requirement_ids_of, requirement_of, selection_in_words
from tests.traffic.enough import lines_about_few_exchanges
from tests.traffic.phases import send_everything

InPlaceOfTests = Callable[[pytest.Session], None]
"""Prints something about the collected tests instead of running them."""


def what_to_print(config: pytest.Config, profile: Profile, codes_to_resend: Container[str]) -> InPlaceOfTests | None:
    """Function that prints what --plan, --explain or --list asks for, instead of running tests; None without these.

    pytest still collects the tests, because they say what would be sent, but prints nothing of its own about them.
    `codes_to_resend` has the transaction codes that may be sent although an earlier run sent them. Raises UsageError if
    two of the options are given, and for an id of a requirement that does not exist.
    """
    options = options_given(config, OPTIONS_THAT_PRINT_INSTEAD)  # of the three options, those that the user gave
    if not options:
        return None
    if len(options) > 1:
        raise pytest.UsageError(f"{' and '.join(options)} each print something; name one of them")
    if config.getoption("plan"):
        _silence_pytest(config)
        return partial(_print_plan, profile, codes_to_resend)
    ids = requirements() if config.getoption("list") else ids_in_group(config.getoption("explain"), "--explain")
    _silence_pytest(config)
    return partial(_print_explanation, profile, ids)


def _silence_pytest(config: pytest.Config) -> None:
    """Change the options of pytest, so that it collects the tests without printing anything about them.

    What the suite prints is then the only output.
    """
    config.option.collectonly = False  # with --collect-only, pytest would print the tests instead
    config.option.verbose = -2  # below quiet: pytest prints not even the number of tests


def _print_plan(profile: Profile, codes_to_resend: Container[str], session: pytest.Session) -> None:
    """Print what a run would send for the collected tests, for --plan.

    It also prints what the journal says: the file with the transaction codes that earlier runs sent. `codes_to_resend`
    has the codes that may be sent nevertheless.
    """
    config = session.config
    plan = planned(config, profile, codes_to_resend, session.items)
    # The name of the file with its number of codes; and the reason why no code of the profile would be sent, if any.
    journal, why_no_code, _ = journal_in_words(profile)
    if config.getoption("new_journal"):  # a run starts a new journal then, so a damaged journal keeps no code back
        why_no_code = "--new-journal starts it, and what can be read of an old one still counts"
    about_the_journal = "; ".join(text for text in (journal, why_no_code) if text)
    print_lines(plan_lines(plan, profile, about_the_journal, selection_in_words(config)))


# -- what is required, and what the last run saw ----------------------------------------------------------------------


def _print_explanation(profile: Profile, ids: Container[str], session: pytest.Session) -> None:
    """Print an explanation of the requirements with these ids, for --explain and --list.

    One requirement is explained in full, several have a line each. What the last run saw of them is also printed. If
    the command line selects requirements (-k), only the selected ones are printed.
    """
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
    """Lines that say what a run sends for a requirement, by operation and by the purpose of the requests.

    They are planned for the sandbox that the suite contains, because the profile of the user may permit less. Generated
    requests have one line together, because they are many and drawn at random.
    """
    tests = [item for item in session.items if requirement_of(item) == requirement]
    without_generated_requests = [item for item in tests if not item.get_closest_marker("property")]
    plan = planned(session.config, load("sandbox"), (), without_generated_requests)
    # The preflight, which checks the connection first, is sent for every requirement.
    exchanges = [exchange for exchange in plan.exchanges if not isinstance(exchange.purpose, Preflight)]
    lines = list(purposes_in_words(exchanges))
    if len(without_generated_requests) < len(tests):
        lines.append("generated requests")
    return lines


def _last_run(config: pytest.Config, profile: Profile, ids: Collection[str]) -> LastRun:
    """The record of an earlier run, from which an explanation says what was seen of a requirement.

    It is the run in the folder that --report-dir names; without that option, the last run with this profile that is
    about requirements with these ids.
    """
    without_secrets = Display(
        listed_secrets(profile)
    ).safe_line  # hides accounts, keys and codes in a line of an old report
    report_folder = config.getoption("report_dir")
    if report_folder:
        return last_run(Path(report_folder), without_secrets)
    return last_run_about(ids, runs_folder(profile.name), without_secrets)


# -- the plan ---------------------------------------------------------------------------------------------------------

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwaXhjb25mLXBsYW4iLCJleHAiOjE5OTk5OTk5OTl9.cGl4Y29uZi1wbGFuLXNpZ25hdHVyZQ"
"""A token of no service. It is a complete JWT, so that every form of wrong token can be made of it."""
_VALUE_BY_TYPE = {"string": "*", "integer": 1, "number": 1, "null": None}
"""By JSON type, a value of a documented field."""
_VALUE_BY_FIELD_OF_A_SUCCESS = {"status": "DONE", "Success": "true"}
"""The values that the interface document shows, of the fields that say what became of a request."""


def planned(
    config: pytest.Config, profile: Profile, codes_to_resend: Container[str], items: Sequence[pytest.Item]
) -> Plan:
    """Plan of the requests that a run sends for the selected tests, which are `items`.

    Everything is done as in a run, but the network is replaced by an object that sends nothing and answers as the
    interface document says. `codes_to_resend` has the codes that may be sent although an earlier run sent them.
    """
    new_journal = config.getoption("new_journal")
    door = open_door_for_plan(
        profile, TOKEN, _PlanningWire(profile), codes_to_resend=codes_to_resend, new_journal=new_journal
    )
    client = Client(door)
    preflight(client)
    reproduction = Reproduction(door.exchanges, door.sent_again)
    seed = config.getoption("seed") or 0
    traffic = send_everything(config, client, profile, seed, items, reproduction).traffic
    # The ids of the requirements whose tests judge requests of the run.
    requirement_ids = requirement_ids_of(items, "run_traffic")
    operations_of_tests = [requirements()[requirement_id].operation for requirement_id in requirement_ids]
    tested_operations = filter(None, operations_of_tests)  # None: a requirement about no single operation
    not_permitted = frozenset(name for name in tested_operations if not permits(profile, name))
    return Plan(
        door.exchanges,
        operations_not_permitted=not_permitted,
        needs_an_execution=traffic.selection.needs_real_codes,
        codes_sent_before=list(door.guard.codes_sent_before),
        limits_reached=list(door.unsent),  # limits that keep requests back
        situations_with_few_exchanges=list(lines_about_few_exchanges(traffic)),
        journal_trouble=door.guard.journal_trouble or door.guard.trouble_with_profile_codes,
    )


class _PlanningWire:
    """A wire that sends nothing.

    A valid request succeeds, with an answer as in the interface document. Any other request is refused.
    """

    def __init__(self, profile: Profile) -> None:
        """`profile` says where an answer has the transaction code or the keys, so that the run finds them there."""
        self._prepare = profile.transactions.prepare  # how the profile has transfers prepared; None if it has none
        self._key_at = profile.key_at  # JSON pointer to the keys in a list, such as "/data/keys/*/key"
        self._count_prepared = 0  # transfers that seem to be prepared so far, to number their codes

    def attempt(self, sending: Sending) -> Response:
        """The answer that a conforming service would give to a request. The request is not sent.

        - A valid request, and an execution with the valid token, gets a 200 with a documented result.
        - A request without the valid token gets a 401.
        - An invalid request gets a 400, or a 404 if its path is not documented.
        """
        intent = sending.intent
        if intent.valid or sending.executes:
            return _answer(200, {"code": 0, "data": self._data_of_success(intent.operation)})
        if intent.credential != VALID:
            return _answer(401, {})
        return _answer(400 if intent.operation else 404, {})

    def connect(self, base_url: str) -> str:
        """Connect to nothing. The empty text means that no error occurred."""
        return ""

    def close(self) -> None:
        """Close nothing, because nothing was opened."""

    def _data_of_success(self, operation: str) -> object:
        """The value of `data` in a successful answer, so that the run continues as after a real answer.

        - For a preparation a new transaction code, such as "plan-1", at the path where the profile says that it is.
        - For the list of keys an empty list, at the path where the profile says that keys are.
        - For any other operation a result with the documented fields.
        """
        if operation in PREPARING_OPERATIONS and self._prepare:
            self._count_prepared += 1
            return _nested(_path_in_data(self._prepare.code_at), f"plan-{self._count_prepared}")
        if operation == "listPixKeys" and self._key_at:
            path_to_key = _path_in_data(self._key_at)
            if "*" in path_to_key:  # means each item of the list, so the names before it lead to the list itself
                path_to_key = path_to_key[: path_to_key.index("*")]
            return _nested(path_to_key, [])
        result = {}
        for field in operations()[operation].result:
            # If a field may have several types, the last one is that of a success: null for the field error.
            result[field.name] = _VALUE_BY_FIELD_OF_A_SUCCESS.get(field.name, _VALUE_BY_TYPE[field.types[-1]])
        return result


def _path_in_data(pointer: str) -> list[str]:
    """The names that lead from `data` to a value: ["keys", "*", "key"] for the JSON pointer `/data/keys/*/key`."""
    return parts_of_pointer(pointer.removeprefix("/data"))


def _answer(status: int, body: dict[str, object]) -> Response:
    """An HTTP response with this status and JSON body, which no service has sent."""
    return Response(status, (("Content-Type", "application/json"),), json.dumps(body).encode())


def _nested(path: Sequence[str], value: object) -> object:
    """Objects within each other that hold the value at this path: {"a": {"b": 1}} for the path a, b and the value 1."""
    for name in reversed(path):  # the innermost object is made first
        value = {name: value}
    return value
