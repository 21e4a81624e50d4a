"""The search for the steps that a deviation needs, with answers that a function makes up in the place of a service."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest

from spec.exchange import Exchange, Request, Response
from tests.traffic.earlier_steps import search_for_earlier_steps
from tests.traffic.sequences import Step

OPERATIONS = {
    Step.LIST: "listPixKeys",
    Step.BALANCE: "getBalance",
    Step.DELETE: "deletePixKey",
    Step.PREPARE: "createPix",
}
SUCCESS = Response(200, (("Content-Type", "application/json"),), b'{"code": 0, "data": {}}')
FAILURE = replace(SUCCESS, status=500)
REGISTER, DELETE, LIST, BALANCE = Step.REGISTER, Step.DELETE, Step.LIST, Step.BALANCE


class SequencesOfAService:
    """In the place of the sequences of a run. A step fails if `fails` is true of the steps of the service so far."""

    def __init__(self, fails, is_sandbox):
        self.fails = fails
        self.profile = SimpleNamespace(is_sandbox=is_sandbox)
        self.steps = []
        self.numbers = count(1)
        self.found = []

    def exchange(self, step):
        """Send a step, and return its exchange."""
        self.steps.append(step)
        operation = OPERATIONS.get(step, "registerPixKey")
        response = FAILURE if self.fails(self.steps) else SUCCESS
        return Exchange(next(self.numbers), operation, Request("GET", "http://127.0.0.1/", ()), response, valid=True)

    def send_alone_with_new_key(self, steps):
        """Send steps, and return each with its exchange."""
        return [(step, self.exchange(step)) for step in steps]

    def add_steps_that_show_a_finding(self, steps_sent):
        """Note the steps that were found."""
        self.found.append([step for step, _ in steps_sent])


def service_after_search(steps, fails, *, is_sandbox=True):
    """The service after a search. `steps` were sent before the search."""
    sequences = SequencesOfAService(fails, is_sandbox)
    exchanges = [sequences.exchange(step) for step in steps]
    search_for_earlier_steps(sequences, exchanges)
    return sequences


def found_after(steps, fails):
    """The steps that a search finds, and the number of its requests. `steps` were sent before the search."""
    sequences = service_after_search(steps, fails)
    return sequences.found, len(sequences.steps) - len(steps)


def without_reads(steps):
    """The registrations and deletions among these steps."""
    return [step for step in steps if step in (REGISTER, DELETE)]


@pytest.mark.parametrize(
    ("steps", "fails", "found"),
    [
        ([LIST, REGISTER, REGISTER, LIST], lambda steps: steps[-3:] == [REGISTER, REGISTER, LIST], [REGISTER, REGISTER, LIST]),
        ([BALANCE, REGISTER, DELETE, BALANCE], lambda steps: steps[-2:] == [DELETE, BALANCE], [REGISTER, DELETE, BALANCE]),
        ([REGISTER, BALANCE, REGISTER], lambda steps: steps[-2:] == [BALANCE, REGISTER], [BALANCE, REGISTER]),
        (
            [LIST, REGISTER, DELETE, DELETE, LIST],
            lambda steps: steps[-1] is LIST and without_reads(steps)[-2:] == [DELETE, DELETE],
            [REGISTER, DELETE, DELETE, LIST],
        ),
    ],
    ids=["two registrations", "a deletion", "a read", "two deletions, until the next change"],
)  # fmt: skip
def test_the_steps_that_a_deviation_needs_are_found(steps, fails, found):
    """The steps are the first ones of the list after which the request deviates, twice, and right before it did not."""
    all_found, number_of_requests = found_after(steps, fails)

    assert all_found == [found]
    assert number_of_requests <= 40


@pytest.mark.parametrize(
    "fails",
    [lambda steps: False, lambda steps: steps[-1] is LIST],
    ids=["never", "always"],
)
def test_nothing_is_sent_if_all_valid_requests_are_answered_alike(fails):
    """A request that always deviates shows its finding by itself, and one that never does has none."""
    assert found_after([LIST, REGISTER, LIST], fails) == ([], 0)


def test_no_steps_are_found_for_a_deviation_by_chance():
    """Each fifth list fails, whatever comes before it. So no steps show it twice, and the search ends at its limit."""
    all_found, number_of_requests = found_after(
        [LIST] * 6, lambda steps: steps[-1] is LIST and steps.count(LIST) % 5 == 0
    )

    assert all_found == []
    assert 0 < number_of_requests <= 40


@pytest.mark.parametrize("is_sandbox", [False, True])
def test_transfers_are_prepared_on_a_sandbox_only(is_sandbox):
    """Elsewhere a transfer that is prepared may move real money. An execution is never a step."""
    service = service_after_search(
        [LIST, BALANCE, LIST], lambda steps: steps[-2:] == [BALANCE, LIST] and len(steps) < 9, is_sandbox=is_sandbox
    )

    assert (Step.PREPARE in service.steps) is is_sandbox
    assert not {Step.EXECUTE, Step.EXECUTE_AGAIN} & set(service.steps)


def test_two_searches_are_done_at_most():
    """A service with faults in each operation gets at most 80 requests of searches."""
    steps = [LIST, BALANCE, REGISTER, DELETE] * 2
    _, number_of_requests = found_after(steps, lambda steps: len(steps) % 8 > 4)

    assert number_of_requests <= 80
