"""Smaller requests, parts of a request that shows a finding."""

import json

from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.two_profiles import BANK
from tests.traffic.case import Case
from tests.traffic.drawing.parts_of_a_case import parts_of
from tests.traffic.drawing.with_hypothesis import distinct_values, search_for_smallest


def test_the_smallest_part_has_the_character_that_shows_the_finding_alone():
    """The search finds the one character of one member that a service does not stand: a percent sign."""
    text = f"{SYNTHETIC_PREFIX}price: 100 %, or 90"
    body = json.dumps({"description": text, "to": f"{SYNTHETIC_PREFIX}b", "value": 1}).encode()
    bodies_with_a_percent_sign = []

    def shows(part):
        if b"%" in part.body:
            bodies_with_a_percent_sign.append(part.body)
        return b"%" in part.body

    search_for_smallest(parts_of(Case("transferInternal", body=body), BANK), shows)

    smallest_body = min(bodies_with_a_percent_sign, key=len)
    assert json.loads(smallest_body) == {"description": f"{SYNTHETIC_PREFIX}%"}


def test_each_part_names_nobody():
    """A part of a text gets the prefix `pixconf-` again, because a part such as "12345" may name somebody."""
    body = json.dumps({"to": f"{SYNTHETIC_PREFIX}12345"}).encode()

    parts = distinct_values(parts_of(Case("transferInternal", body=body), BANK), seed="seed 5", count=30)

    receivers = [json.loads(part.body)["to"] for part in parts if "to" in json.loads(part.body)]
    assert len(receivers) > 1
    assert all(receiver.startswith(SYNTHETIC_PREFIX) for receiver in receivers)
