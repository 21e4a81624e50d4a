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
    """In as many requests as a search may send, it finds the one character of one member that a service does not stand.

    Here that is a percent sign. It is left with four other characters at most.
    """
    body = json.dumps({"description": f"{SYNTHETIC_PREFIX}{text}", "to": f"{SYNTHETIC_PREFIX}b", "value": 1}).encode()
    shown_by_body = {}

    def shows(part):
        if part.body not in shown_by_body and len(shown_by_body) < MOST_SMALLER_CASES:
            shown_by_body[part.body] = b"%" in part.body
        return shown_by_body.get(part.body, False)

    search_for_smallest(parts_of(Case("transferInternal", body=body), BANK), shows)
    smallest_body = min((body for body, is_shown in shown_by_body.items() if is_shown), key=len)
    [(name, smallest_text)] = json.loads(smallest_body).items()

    assert name == "description"
    assert "%" in smallest_text
    assert len(smallest_text.removeprefix(SYNTHETIC_PREFIX)) <= 5


def test_each_part_names_nobody():
    """A part of a text gets the prefix `pixconf-` again, because a part such as "12345" may name somebody."""
    body = json.dumps({"to": f"{SYNTHETIC_PREFIX}12345"}).encode()

    parts = distinct_values(parts_of(Case("transferInternal", body=body), BANK), seed="seed 5", count=30)

    receivers = [json.loads(part.body)["to"] for part in parts if "to" in json.loads(part.body)]
    assert len(receivers) > 1
    assert all(receiver.startswith(SYNTHETIC_PREFIX) for receiver in receivers)
