"""Generated traffic beside the targeted requests."""

from environments.profiles.loading import load
from environments.sandbox import Service
from spec.requirements import requirements
from tests.selftest.proof.directly import sent_in_memory
from tests.traffic.invalid import invalid_requests

OPERATION = "listEntries"


def classes(cases):
    """Place and class of invalid requests."""
    return {(case.where, case.what) for case in cases if not case.valid}


def test_what_a_targeted_test_sends_is_not_generated_again():
    """Each class of invalid requests is sent for one of them, and judged for both."""
    ids = {id for id in requirements() if id.startswith(f"{OPERATION}.")}
    log = sent_in_memory(Service(), ids=ids, generated=True)
    generated = classes(case for case, _ in log.sent.generation.sent if case.operation == OPERATION)
    targeted = classes(invalid_requests(OPERATION, load("sandbox"), observed=True))

    assert len(generated) > 1
    assert len(targeted) > 1
    assert generated & targeted == set()
