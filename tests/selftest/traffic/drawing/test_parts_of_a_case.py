"""Smaller requests, parts of a request that shows a finding."""

import json

import pytest

from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.two_profiles import BANK
from tests.traffic.case import Case
from tests.traffic.drawing.parts_of_a_case import parts_of
from tests.traffic.drawing.with_hypothesis import distinct_values, search_for_smallest
from tests.traffic.property import MOST_SMALLER_CASES

SIGNS = "Aa0 ~_-.,:;!?@#$&*()[]{}<>|^`'\"%\\/+=é漢🏦"


@pytest.mark.parametrize("text", ["price: 100 %, or 90", SIGNS, SIGNS * 4], ids=["words", "signs", "many signs"])
def test_the_smallest_part_has_the_character_that_shows_the_finding_and_few_others(text):
    """A service fails if a body has a percent sign. The search makes the body smaller, as long as the service still
    fails.

    In as many requests as a search may send (MOST_SMALLER_CASES), one member is left, whose text has the percent sign
    and at most four other characters.
    """
    body = json.dumps({"description": f"{SYNTHETIC_PREFIX}{text}", "to": f"{SYNTHETIC_PREFIX}b", "value": 1}).encode()
    bodies_sent = set()
    bodies_that_fail = set()

    def fails(part):
        """True if the service fails with this part of the body. It is not sent after MOST_SMALLER_CASES others."""
        if part.body not in bodies_sent and len(bodies_sent) < MOST_SMALLER_CASES:
            bodies_sent.add(part.body)
            if b"%" in part.body:
                bodies_that_fail.add(part.body)
        return part.body in bodies_that_fail

    search_for_smallest(parts_of(Case("transferInternal", body=body), BANK), fails)
    smallest_body = min(bodies_that_fail, key=len)
    [(name, smallest_text)] = json.loads(smallest_body).items()

    assert name == "description"
    assert "%" in smallest_text
    assert len(smallest_text.removeprefix(SYNTHETIC_PREFIX)) <= 5


def test_each_part_names_nobody():
    """To find the smallest request that shows a finding, parts of a request are sent. A part of a text gets the prefix
    `pixconf-` again, because a part such as "12345" may name somebody.
    """
    body = json.dumps({"to": f"{SYNTHETIC_PREFIX}12345"}).encode()
    parts = distinct_values(parts_of(Case("transferInternal", body=body), BANK), seed="seed 5", count=30)
    bodies = [json.loads(part.body) for part in parts]
    receivers = [body["to"] for body in bodies if "to" in body]
    receivers_without_prefix = [receiver for receiver in receivers if not receiver.startswith(SYNTHETIC_PREFIX)]

    assert len(receivers) > 1
    assert receivers_without_prefix == []
