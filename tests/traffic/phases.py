"""All that a run sends, phase after phase, before the first test judges.

| phase | what is sent | by |
|---|---|---|
| 1 | The first request shows whether the service can be reached. | `check_target` |
| 2 | Keys, then executions, then prepared transfers: in this order, and most requests alone. | IN_ORDER |
| 3 | Reads and invalid requests with made-up identifiers are sent many at a time. | AT_ONCE |
| 3 | At the same time: drawn sequences of registrations, deletions and executions. | `DrawnSequences` |
| 3 | At the same time: generated requests. | `Generation` |
| 4 | Pairs of requests follow. The two requests of a pair are sent at the same moment. | SIDE_BY_SIDE |
| 4 | Wrong tokens follow, and what some services accept instead of a token. | WITH_WRONG_TOKENS |
| 5 | The answers so far leave questions open, or may have changed: requests that settle them. | AFTER_OTHER_ANSWERS |
| 5 | At last, the requests that other answers are compared with. | LAST |
| 6 | Keys that the run registered are deleted. | `send_and_clean_up` |

Self-tests: harness/test_selection.py, promises/test_stopped_runs.py.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TextIO

import pytest

from environments.door.client import Client
from environments.door.door import NoteSubject
from environments.door.limits import OPERATIONS_WITH_DOCUMENTED_TOKEN
from environments.door.preflight import preflight
from environments.profiles.model import Profile
from reports.result.verdicts import RunVerdict
from spec.exchange import VALID
from spec.interface import PREPARING_OPERATIONS, operations
from spec.message import say
from spec.requirements import Requirement
from spec.rules.reproduction import Reproduction
from tests.harness.options import number_of_examples, number_of_examples_asked_for
from tests.harness.pen import LineOfSuite
from tests.harness.selection import permitted_tests, requirement_ids_of, requirement_of, selection_of, uses_fixture
from tests.harness.session import Session
from tests.traffic.at_times import repeat_schemes_that_seem_accepted, repeat_where_answers_disagree
from tests.traffic.execution import execute, send_first_code_at_the_end
from tests.traffic.existence import send_requests_about_existence
from tests.traffic.kept_refusals import send_valid_token_after_wrong_one
from tests.traffic.keys.registrar import Registrar
from tests.traffic.keys.registration import register
from tests.traffic.keys.types_refused_at_times import repeat_types_refused_at_the_end
from tests.traffic.property import Generation
from tests.traffic.refused_credentials import credentials_in_words
from tests.traffic.robustness import send_for_unknown_accounts, send_invalid, send_unreadable_requests
from tests.traffic.scenario import Scenario, Traffic
from tests.traffic.stateful import DrawnSequences
from tests.traffic.trust.asking import (
    send_real_identifiers_where_answers_disagree,
    send_stand_ins,
    send_without_token_at_the_start,
)
from tests.traffic.undescribed import (
    prepare_transfers,
    send_reads,
    send_reads_after_changes,
    send_reads_beside_refusals,
)

IN_ORDER: tuple[Scenario, ...] = (send_without_token_at_the_start, register, execute, prepare_transfers)
"""Scenarios that are sent alone and in this order: what needs the first second of a run; the keys; the executions; the
transfers that are only prepared.

Nothing else is sent beside them. A conforming service may refuse a request because another one is under way, and an
execution that was refused is not sent again, so the run would have too few."""
AT_ONCE: tuple[Scenario, ...] = (send_reads, send_invalid, send_unreadable_requests)
"""Scenarios that are sent many at a time, because they have made-up identifiers only, or only read."""
SIDE_BY_SIDE: tuple[Scenario, ...] = (send_reads_beside_refusals,)
"""Scenarios whose requests leave in pairs, each at the same moment, to find answers that are mixed up."""
WITH_WRONG_TOKENS: tuple[Scenario, ...] = (send_valid_token_after_wrong_one, send_stand_ins)
"""Scenarios with wrong tokens and made-up identifiers. They come late, because a service that locks the caller out
after them would refuse all later requests."""
AFTER_OTHER_ANSWERS: tuple[Scenario, ...] = (
    send_reads_after_changes,
    send_first_code_at_the_end,
    send_requests_about_existence,
)
"""Scenarios that are sent after all others, because they depend on the answers so far: these answers do not settle a
question, or may have changed since."""
LAST: tuple[Scenario, ...] = (
    send_for_unknown_accounts,
    repeat_where_answers_disagree,
    repeat_schemes_that_seem_accepted,
    repeat_types_refused_at_the_end,
    send_real_identifiers_where_answers_disagree,
)
"""What other answers are compared with. It is sent last, so that it does not use up limits.transfers before them."""
# All scenarios of the suite.
ALL = (*IN_ORDER, *AT_ONCE, *SIDE_BY_SIDE, *WITH_WRONG_TOKENS, *AFTER_OTHER_ANSWERS, *LAST)


@dataclass(frozen=True)
class RunTraffic:
    """The traffic of the selected tests."""

    traffic: Traffic
    """The requests of the scenarios."""
    generation: Generation
    """The generated requests."""
    sequences: DrawnSequences | None
    """The sequences of registrations, deletions, preparations and executions; None if none were selected."""


RUN_TRAFFIC = pytest.StashKey[RunTraffic]()
"""Where pytest keeps the traffic for the tests."""


def send_and_clean_up(config: pytest.Config, session: Session, items: Sequence[pytest.Item]) -> RunTraffic:
    """Send everything that these tests (`items`) judge, and return it. Then delete the keys that the run registered.

    The keys are deleted even if sending fails or the user interrupts the run, so that no key of a test stays at the
    service. No key can have been registered if the profile has no account or does not permit registrations.
    """
    client, profile = session.client, session.profile
    items_to_send_for = _items_to_send_for(client, items)
    try:
        return send_everything(config, client, profile, session.run.seed, items_to_send_for, session.reproduction)
    finally:
        if profile.accounts and "register-keys" in profile.allow:
            Registrar(client, profile).clean_up_at_the_end()


def _items_to_send_for(client: Client, items: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """The tests for which requests are sent. It depends on the first request of the run (GET /v1/accounts).

    If that request showed that the token is refused, nothing is sent, because every answer would be a refusal. If it
    showed that the path is not known, base_url may lead to another service, so no key is registered and no code is sent
    there. But perhaps only that endpoint is missing. So requests are sent for the tests that show a missing path.
    """
    if client.token_is_refused:
        return []
    if client.knows_no_path:
        return [item for item in items if _shows_a_missing_path(requirement_of(item))]
    return items


def _shows_a_missing_path(requirement: Requirement | None) -> bool:
    """True if the test of this requirement finds a path that is missing at the service, by an answer 404.

    Such requirements are "listAccounts.exists" and the one about the prefix /v1. A path with an account or a code shows
    nothing, because a 404 may mean that the account or the code is unknown.
    """
    if requirement is None:  # the test is about no requirement
        return False
    if requirement.operation is None:  # the requirement is about the service as a whole
        return requirement.id == "general.versionPrefix"
    has_path_parameter = operations()[requirement.operation].path_parameter is not None
    return requirement.id.endswith(".exists") and not has_path_parameter


def send_everything(
    config: pytest.Config,
    client: Client,
    profile: Profile,
    seed: int,
    items: Sequence[pytest.Item],
    reproduction: Reproduction,
) -> RunTraffic:
    """Send everything that these tests (`items`) judge, through this client, and return it.

    There are three sorts of requests, and a test names in its fixtures which of them it judges:

    - `traffic`: requests of scenarios, which are functions that send requests for certain requirements
    - `generation`: generated requests, drawn at random or taken from tables. `seed` decides what is drawn.
    - `sequences`: operations in a drawn order, at an account of the profile (the settings of a run)

    `reproduction` judges answers, and knows which deviations appeared a second time when the request was repeated.
    """
    items_in_scope = permitted_tests(items, profile)
    ids_of_requirements = requirement_ids_of(items_in_scope, "traffic")
    traffic = Traffic(client, profile, selection_of(ids_of_requirements, profile), reproduction, seed)
    # Each operation that may prepare a transfer of money gets its share of limits.transfers.
    _divide_transfers_among_operations(traffic)
    # The generated traffic leaves out the invalid requests that the scenario `send_invalid` sends to these operations.
    operations_of_send_invalid = traffic.selection.tested_operations if traffic.selects(send_invalid) else frozenset()
    generation = Generation(client, profile, reproduction, operations_of_send_invalid)
    sequences = _sequences_for(items_in_scope, client, profile, reproduction)
    run_traffic = RunTraffic(traffic, generation, sequences)
    _start_to_draw(run_traffic, config, seed, items_in_scope)
    _send_in_phases(run_traffic)
    _note_operations_that_locked_the_run_out(traffic)
    return run_traffic


def _sequences_for(
    items: Sequence[pytest.Item], client: Client, profile: Profile, reproduction: Reproduction
) -> DrawnSequences | None:
    """What draws and sends the sequences of operations. None if no test (`items`) judges sequences.

    Also None if the profile has no account, because the operations of a sequence need one.
    """
    has_tests_of_sequences = any(uses_fixture(item, "sequences") for item in items)
    if not profile.accounts or not has_tests_of_sequences:
        return None
    # A sequence may send every request that a selected test needs, also one that only tests of `traffic` judge.
    ids_of_requirements = requirement_ids_of(items, "traffic", "sequences")
    return DrawnSequences(client, profile, selection_of(ids_of_requirements, profile), reproduction)


def _start_to_draw(run_traffic: RunTraffic, config: pytest.Config, seed: int, items: Sequence[pytest.Item]) -> None:
    """Start to draw the sequences of operations, and the generated requests that the tests (`items`) need.

    They are drawn in a thread of their own, one after the other, while other requests wait for their answers. How many
    are drawn depends on the option --examples and on the profile.
    """
    profile = run_traffic.traffic.profile
    executor = ThreadPoolExecutor(1, "pix-drawing")  # has a single thread
    if run_traffic.sequences is not None:  # first, because the sequences are sent first
        run_traffic.sequences.begin(executor, seed, number_of_examples(config, profile))
    for item in items:
        if uses_fixture(item, "generation"):
            operation = item.callspec.params["operation"]  # type: ignore[attr-defined]  # the parameter of the test
            # 0 if nobody asks for a number: reads and drawn requests then have different default numbers.
            run_traffic.generation.add_operation(operation, seed, number_of_examples_asked_for(config, profile))
    run_traffic.generation.begin(executor)
    executor.shutdown(wait=False)  # its thread ends by itself when everything is drawn


def _divide_transfers_among_operations(traffic: Traffic) -> None:
    """Divide the number of transfers that the profile permits among the operations that may prepare a transfer.

    The number is `limits.transfers`. It is divided so that requests to one operation cannot use it up before another
    operation is tested. If the profile has a valid body for an operation, one transfer is kept for that body.
    """
    preparing = [operation for operation in PREPARING_OPERATIONS if traffic.may_send_to(operation)]
    with_valid_body = [operation for operation in preparing if operation in traffic.profile.requests]
    traffic.client.door.budget.divide_transfers(preparing, with_valid_body)


def _send_in_phases(run_traffic: RunTraffic) -> None:
    """Send all requests of a run, phase after phase. Each phase ends before the next one begins.

    Each constant in capital letters is a tuple of scenarios, which are functions that send requests. `sender_of` makes
    one function of them, and `traffic.send` calls it. `traffic.send` calls several functions at the same time.
    """
    traffic = run_traffic.traffic
    generation = run_traffic.generation
    sequences = run_traffic.sequences
    sender_of = traffic.sender_of
    traffic.send(sender_of(IN_ORDER))
    senders_of_sequences: list[Callable[[], None]] = []
    if sequences is not None:
        # After the executions of IN_ORDER, because limits.executions may permit only these. If it permits more,
        # sequences execute further transfers.
        sequences.send_alone()
        senders_of_sequences = sequences.senders()
    # Many requests at once, because they do not disturb each other: most only read, or name a made-up account or key.
    traffic.send(*senders_of_sequences, sender_of(AT_ONCE), partial(generation.send, traffic.together))
    if sequences is not None:
        sequences.send_deviating_again()
    traffic.send(sender_of(SIDE_BY_SIDE))  # pairs of requests at the same moment, to find answers that are mixed up
    traffic.send(sender_of(WITH_WRONG_TOKENS))  # late, because a service may lock the caller out after them
    traffic.send(sender_of(AFTER_OTHER_ANSWERS))  # requests that depend on the answers so far
    generation.send_missing_reads(traffic.together)  # so that each operation that reads gets a certain number of reads
    traffic.send(sender_of(LAST))  # requests that other answers are compared with
    # If a generated request or a sequence showed a deviation, parts of it are sent, to find the smallest that shows it.
    generation.send_smaller_cases()
    if sequences is not None:
        sequences.send_shorter_sequences()
        sequences.send_earlier_steps()


def _note_operations_that_locked_the_run_out(traffic: Traffic) -> None:
    """Write a line for the report about each operation that locked the run out because of wrong tokens.

    Such a service also refuses the valid token. The line names the wrong credentials that were tried before.
    """
    door = traffic.client.door  # sends every request, and collects lines for the report
    for operation in OPERATIONS_WITH_DOCUMENTED_TOKEN:
        if not door.backoff.has_locked_out_caller(operation):
            continue
        exchanges = traffic.log.sent_by_scenarios(operation)
        without_valid_token = [exchange for exchange in exchanges if exchange.credential != VALID]
        credentials = credentials_in_words(without_valid_token)
        why = say("the service locks the caller out after wrong tokens (tried: {tried})", tried=credentials)
        door.note(NoteSubject.NOT_ALL_SENT, why, operation)  # a note about an operation that was tested in part only


# -- the run -------------------------------------------------------------------------------------------------------

_ERASE_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""
_INTERVAL_ON_A_TERMINAL_S = 0.25
"""Seconds until the next line of progress replaces the line before."""
_INTERVAL_IN_A_FILE_S = 15
"""Seconds until the next line of progress is written below the line before, so that the file stays short."""


def check_target(session: Session) -> None:
    """Send the first request (the preflight), to see if the service can be reached. If it cannot, pytest ends here.

    The run has the exit status for an unreachable service then, because there is no verdict on the service.
    """
    run = session.run
    without_known_values = session.display.without_known_values  # replaces tokens, accounts and keys in a text
    reason = preflight(session.client)
    if reason:
        run.unreachable = without_known_values(reason)
        why = f"{run.base_url} cannot be reached: {reason}; this is no verdict on the service"
        pytest.exit(without_known_values(why), returncode=RunVerdict.UNREACHABLE.exit_status)


def send_showing_progress(session: Session, tests: pytest.Session) -> None:
    """Send everything that the tests judge, keep it for their fixtures, and print the progress.

    No progress is printed if pytest is quiet (-q) or has no terminal output.
    """
    terminal = tests.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or terminal.verbosity < 0:
        tests.config.stash[RUN_TRAFFIC] = send_and_clean_up(tests.config, session, tests.items)
        return
    progress = partial(_progress_of, session)
    terminal.write_line(LineOfSuite(f"sending to {session.run.base_url}: {progress()}"))
    with _progress_printed(sys.stdout, progress):
        tests.config.stash[RUN_TRAFFIC] = send_and_clean_up(tests.config, session, tests.items)
    terminal.write_line(LineOfSuite(f"judging {len(session.door.exchanges)} answers"))


def _progress_of(session: Session) -> str:
    """The progress of the run in words, such as "120 of at most 2000 requests"."""
    return f"{len(session.door.exchanges)} of at most {session.profile.limits.requests} requests"


@contextmanager
def _progress_printed(file: TextIO, progress: Callable[[], str]) -> Iterator[None]:
    """Have a thread print the progress again and again, while the body of `with` runs and prints nothing.

    `progress` returns the present line. On a terminal each line replaces the line before, and the last one is
    removed at the end. In a file, such as the log of a CI, each line is written below the line before, and less often.
    """
    replaces_line = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"  # a dumb terminal cannot erase a line
    interval_s = _INTERVAL_ON_A_TERMINAL_S if replaces_line else _INTERVAL_IN_A_FILE_S
    body_has_ended = threading.Event()

    def print_until_body_has_ended() -> None:
        """Print the progress after each interval, until the body of `with` has ended."""
        while not body_has_ended.wait(interval_s):  # False if the interval has passed, and the body still runs
            if replaces_line:
                _print(file, f"{_ERASE_LINE}{progress()}")
            else:
                _print(file, f"{progress()}\n")

    thread = threading.Thread(target=print_until_body_has_ended, daemon=True)
    thread.start()
    try:
        yield
    finally:
        body_has_ended.set()
        thread.join()
        if replaces_line:
            _print(file, _ERASE_LINE)


def _print(file: TextIO, text: str) -> None:
    """Write a text to a file, and flush it, so that it is seen at once.

    An error is ignored: it means that nobody reads the text any more, for example because a pipe was closed.
    """
    with suppress(OSError):
        file.write(text)
        file.flush()
