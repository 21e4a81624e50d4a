"""Generated traffic does not repeat what targeted scenarios send.

Targeted requests are written by hand for one requirement. Generated ones are drawn at random (schemathesis), or come
from tables of invalid requests.
"""

from environments.profiles.loading import load
from environments.sandbox import Service
from spec.requirements import requirements
from tests.selftest.proof.directly import sent_in_memory
from tests.traffic.invalid import observed_invalid_requests

OPERATION = "listEntries"


def kinds_of_invalid_requests(cases):
    """The kinds of the invalid requests among these cases: pairs of the unusual part and how it is unusual.

    ("query", "long") is one.
    """
    return {(case.unusual_part, case.how_unusual) for case in cases if not case.valid}


def test_a_kind_of_invalid_request_that_a_targeted_scenario_sends_is_not_generated_again():
    """A kind of invalid request that is sent for a requirement of its own is not sent again as generated traffic.

    A kind is, for example, ("query", "long"). Generated traffic is drawn at random, or comes from tables of invalid
    requests. `observed_invalid_requests` has the invalid requests that are sent for a requirement of their own.
    """
    ids = {id for id in requirements() if id.startswith(f"{OPERATION}.")}
    sent_in_run = sent_in_memory(Service(), ids=ids, generated=True)
    cases_and_exchanges = sent_in_run.sent.generation.sent
    generated_cases = [case for case, _ in cases_and_exchanges if case.operation == OPERATION]
    targeted_cases = observed_invalid_requests(OPERATION, load("sandbox"))
    generated_kinds = kinds_of_invalid_requests(generated_cases)
    targeted_kinds = kinds_of_invalid_requests(targeted_cases)

    # there are several kinds of both
    assert len(generated_kinds) > 1
    assert len(targeted_kinds) > 1
    assert generated_kinds & targeted_kinds == set()
