"""All that a run sends, phase after phase, before the first test judges.

1. Preflight: `check_target`.
2. Alone and in order: the keys, then the executions, then transfers that are only prepared, then sequences of all
   three. Within this phase wrong tokens, two registrations and two executions go at the same moment as another request.
3. Together: all that names nobody, or only reads.
4. In pairs that leave at the same moment; then stand-ins, together: what a service may take for a token.
5. What the answers leave open, and what may have changed since; and the generated requests, together.
6. Clean up: keys that the run registered are deleted.

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
from environments.door.door import NoteAbout
from environments.door.limits import DOCUMENT_THE_TOKEN
from environments.door.preflight import preflight
from environments.profiles.model import Profile
from reports.result.verdicts import RunVerdict
from spec.exchange import VALID
from spec.interface import PREPARING_OPERATIONS, operations
from spec.message import say
from spec.requirements import Requirement
from spec.rules import Reproduction
from tests.harness.options import examples_of
from tests.harness.pen import OurLine
from tests.harness.selection import ids_tested, in_scope, requirement_of, selection_of, uses
from tests.harness.session import Session
from tests.traffic.at_times import ask_where_answers_disagree
from tests.traffic.execution import execute, send_first_code_at_the_end
from tests.traffic.existence import send_requests_about_existence
from tests.traffic.kept_refusals import ask_again_after_wrong_tokens
from tests.traffic.keys.registrar import Registrar
from tests.traffic.keys.registration import register
from tests.traffic.property import Generation
from tests.traffic.refused_credentials import credentials_in_words
from tests.traffic.robustness import send_for_unknown_accounts, send_invalid, send_unreadable_requests
from tests.traffic.scenario import Scenario, Traffic
from tests.traffic.stateful import DrawnSequences
from tests.traffic.trust.asking import ask_at_the_start, ask_in_place_of_a_token
from tests.traffic.undescribed import (
    prepare_transfers,
    send_reads,
    send_reads_after_changes,
    send_reads_beside_refusals,
)

IN_ORDER: tuple[Scenario, ...] = (ask_at_the_start, register, execute, prepare_transfers)
"""Scenarios that are sent alone and in this order: what needs the first second of a run; the keys; the executions; the
transfers that are only prepared."""
AT_ONCE: tuple[Scenario, ...] = (send_reads, send_invalid, send_unreadable_requests)
"""Scenarios that are sent together, because they name nobody, or only read."""
SIDE_BY_SIDE: tuple[Scenario, ...] = (send_reads_beside_refusals,)
"""Scenarios whose requests leave in pairs, each at the same moment, to find answers that are mixed up."""
WITH_STAND_INS: tuple[Scenario, ...] = (ask_again_after_wrong_tokens, ask_in_place_of_a_token)
"""Wrong tokens that name nobody. They go behind the others, because a service that locks the caller out after them
would answer nothing else."""
AFTER_OTHER_ANSWERS: tuple[Scenario, ...] = (
    send_reads_after_changes,
    send_first_code_at_the_end,
    send_requests_about_existence,
)
"""Scenarios that go after all others, because they depend on the answers so far: these leave a question open, or may
have changed since."""
LAST: tuple[Scenario, ...] = (send_for_unknown_accounts, ask_where_answers_disagree)
"""What other answers are compared with. It is sent last, so that it takes no place in limits.transfers from them."""
ALL = (*IN_ORDER, *AT_ONCE, *SIDE_BY_SIDE, *WITH_STAND_INS, *AFTER_OTHER_ANSWERS, *LAST)


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
    """Send everything that these tests judge. Then delete the keys that the run registered, if the profile lets it.

    The keys are deleted whatever happens.
    """
    client, profile = session.client, session.profile
    items_to_send_for = _items_to_send_for(client, items)
    try:
        return send_everything(config, client, profile, session.run.seed, items_to_send_for, session.reproduction)
    finally:
        if profile.accounts and "register-keys" in profile.allow:
            Registrar(client, profile).clean_up_at_the_end()


def _items_to_send_for(client: Client, items: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    """The tests that requests are sent for, by what the preflight found.

    None of them if the token is refused. If no path is known, base_url may lead elsewhere, so no key is registered and
    no code is sent there. An endpoint may be missing all the same, so requests are sent for the tests of that.
    """
    if client.token_is_refused:
        return []
    if client.knows_no_path:
        return [item for item in items if _shows_a_missing_path(requirement_of(item))]
    return items


def _shows_a_missing_path(requirement: Requirement | None) -> bool:
    """True if a 404 like that of an undocumented path shows that the requirement is not met.

    A path with an account or a code does not show it, because the account or the code may be unknown.
    """
    if requirement is None:
        return False
    if requirement.operation is None:
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
    """Send everything that these tests judge, through this client. The seed decides what is drawn.

    A test says by its fixtures which traffic it judges: `traffic` (the scenarios), `generation` (generated requests)
    or `sequences` (sequences).
    """
    items_in_scope = in_scope(items, profile)
    traffic = Traffic(client, profile, selection_of(ids_tested(items_in_scope, "traffic"), profile), reproduction)
    _share_transfers(traffic)
    sent_by_scenarios = traffic.selection.tested_operations if traffic.selects(send_invalid) else frozenset()
    generation = Generation(client, profile, reproduction, observed=sent_by_scenarios)
    sequences = None
    if profile.accounts and any(uses(item, "sequences") for item in items_in_scope):
        selection = selection_of(ids_tested(items_in_scope, "traffic", "sequences"), profile)
        sequences = DrawnSequences(client, profile, selection, reproduction)
    run_traffic = RunTraffic(traffic, generation, sequences)
    _begin_to_draw(run_traffic, config, seed, items_in_scope)
    _send_in_phases(run_traffic)
    _note_lockouts(traffic)
    return run_traffic


def _begin_to_draw(run_traffic: RunTraffic, config: pytest.Config, seed: int, items: Sequence[pytest.Item]) -> None:
    """Start to draw the sequences and the generated requests that the tests want.

    They are drawn in a thread of their own, one after the other, while other requests wait for their answers.
    """
    profile = run_traffic.traffic.profile
    thread = ThreadPoolExecutor(1, "pix-drawing")
    if run_traffic.sequences is not None:  # first, because the sequences are sent first
        run_traffic.sequences.begin(thread, seed, examples_of(config, profile))
    for item in items:
        if uses(item, "generation"):
            operation = item.callspec.params["operation"]  # type: ignore[attr-defined]
            run_traffic.generation.draw(operation, seed, examples_of(config, profile, 0))
    run_traffic.generation.begin(thread)
    thread.shutdown(wait=False)  # the thread ends by itself when everything is drawn


def _share_transfers(traffic: Traffic) -> None:
    """Have the door share limits.transfers among the operations that may prepare a transfer."""
    preparing = [operation for operation in PREPARING_OPERATIONS if traffic.may_send_to(operation)]
    with_valid_body = [operation for operation in preparing if operation in traffic.profile.requests]
    traffic.client.door.budget.share_transfers(preparing, with_valid_body)


def _send_in_phases(run_traffic: RunTraffic) -> None:
    """Send the traffic of a run, phase after phase."""
    traffic, generation = run_traffic.traffic, run_traffic.generation
    sequences = run_traffic.sequences
    traffic.send(IN_ORDER)
    if sequences is not None:  # after the executions, because it executes a transfer twice if there is room left
        sequences.follow()
    traffic.send(AT_ONCE)
    traffic.send(SIDE_BY_SIDE)
    traffic.send(WITH_STAND_INS)
    traffic.send(AFTER_OTHER_ANSWERS)
    generation.send(traffic.together)
    traffic.send(LAST)
    generation.send_smaller_cases()
    if sequences is not None:
        sequences.send_shorter_sequences()


def _note_lockouts(traffic: Traffic) -> None:
    """Note each operation that locks the caller out after wrong tokens, with the credentials that were tried."""
    door = traffic.client.door
    for operation in filter(door.backoff.has_locked_out_caller, DOCUMENT_THE_TOKEN):
        refusable = [exchange for exchange in traffic.log.targeted(operation) if exchange.credential != VALID]
        credentials = credentials_in_words(refusable)
        why = say("the service locks the caller out after wrong tokens (tried: {tried})", tried=credentials)
        door.note(NoteAbout.CUT, why, operation)


# -- the run -------------------------------------------------------------------------------------------------------

_NEW_LINE = "\r\x1b[K"
"""Carriage return, and a line without text (ECMA-48, EL)."""
_SHOWN_IN_PLACE_S, _SHOWN_IN_A_LOG_S = 0.25, 15
"""Seconds between two lines of progress: on a terminal, in the place of the line before; elsewhere below it."""


def check_target(session: Session) -> None:
    """Check the target once. A run whose target cannot be reached ends here."""
    run, without_known_values = session.run, session.display.without_known_values
    reason = preflight(session.client)
    if reason:
        run.unreachable = without_known_values(reason)
        why = f"{run.base_url} cannot be reached: {reason}; this is no verdict on the service"
        pytest.exit(without_known_values(why), returncode=RunVerdict.UNREACHABLE.exit_status)


def send_showing_progress(session: Session, tests: pytest.Session) -> None:
    """Send everything that the tests judge, and print how far it is, unless pytest is quiet."""
    terminal = tests.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or terminal.verbosity < 0:
        tests.config.stash[RUN_TRAFFIC] = send_and_clean_up(tests.config, session, tests.items)
        return
    progress = partial(_progress_of, session)
    terminal.write_line(OurLine(f"sending to {session.run.base_url}: {progress()}"))
    with _progress_printed(sys.stdout, progress):
        tests.config.stash[RUN_TRAFFIC] = send_and_clean_up(tests.config, session, tests.items)
    terminal.write_line(OurLine(f"judging {len(session.door.exchanges)} answers"))


def _progress_of(session: Session) -> str:
    """The number of requests that were sent, and the most that may be sent."""
    return f"{len(session.door.exchanges)} of at most {session.profile.limits.requests} requests"


@contextmanager
def _progress_printed(file: TextIO, line: Callable[[], str]) -> Iterator[None]:
    """Have a thread print the line of this moment again and again, while the body of `with` runs and prints nothing.

    On a terminal each line takes the place of the line before, and at the end nothing of it stays.
    """
    in_place = file.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    interval_s = _SHOWN_IN_PLACE_S if in_place else _SHOWN_IN_A_LOG_S
    stopped = threading.Event()

    def print_until_stopped() -> None:
        """Print the line after each interval, until the body of `with` has ended."""
        while not stopped.wait(interval_s):
            _print(file, f"{_NEW_LINE}{line()}" if in_place else f"{line()}\n")

    thread = threading.Thread(target=print_until_stopped, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        if in_place:
            _print(file, _NEW_LINE)


def _print(file: TextIO, text: str) -> None:
    """Write a text at once. If the file is closed, such as a pipe, nobody reads it any more."""
    with suppress(OSError):
        file.write(text)
        file.flush()
