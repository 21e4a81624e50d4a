"""What drift is: where two behaviours have nothing in common in a situation that both know, and nowhere else."""

import pytest

from reports.behaviour import behaviour, drifts
from spec.facts import facts_of, said

SHAPE, UNKNOWN, UNIT = "listAccounts.shape", "executePix.unknownCode", "executePix.date.unit"
HTML = said("404 text/html")
JSON = said("404 application/json")


def answer(body, status=200):
    """An answer that has the facts of a body."""
    return said(f"{status} application/json") | facts_of(body)


def seen(*values, situation="", requirement=UNKNOWN):
    return behaviour((requirement, situation, value) for value in values)


def places(was, now):
    """Every place, was and is."""
    return [(one["place"], one["was"], one["is"]) for one in drifts(was, now)]


def test_one_answer_in_common_is_no_drift():
    """What varies is none, in either direction."""
    was, now = seen(JSON, HTML), seen(HTML, said("410"))

    assert drifts(was, now) == drifts(now, was) == []


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ([JSON, HTML], [said("410")], [("", "404 application/json or 404 text/html", "410")]),
        ([answer({"account": ""}, 404)], [JSON], [("/", "object", "absent")]),
        (
            [answer({"account": ""})],
            [answer({"bank": ""}, 404)],
            [("", "200 application/json", "404 application/json")],
        ),
        (
            [answer([{"account": "2026-11-20", "bank": ""}])],
            [answer([{"account": "20/11/2026", "bank": True}])],
            [("/*/account", "date", "string"), ("/*/bank", "string", "boolean")],
        ),
    ],
)
def test_what_has_nothing_in_common_drifts(was, now, found):
    """As a whole, or place by place in the body of an answer that is the same otherwise."""
    assert places(seen(*was), seen(*now)) == found


def test_what_one_side_did_not_exercise_is_no_drift():
    """Neither a requirement nor a situation."""
    was = seen(JSON, situation="a") | seen(said("milliseconds"), requirement=UNIT)
    now = seen(HTML, situation="b") | seen(answer({}), requirement=SHAPE)

    assert drifts(was, now) == drifts(now, was) == drifts({}, now) == drifts(now, {}) == []


def test_drift_is_in_the_order_of_the_requirements():
    """With its situation."""
    was = seen(JSON, situation="again") | seen(answer([True]), requirement=SHAPE)
    now = behaviour([(UNKNOWN, "again", HTML), (SHAPE, "", answer(["x"]))])

    assert drifts(was, now) == [
        {"id": SHAPE, "situation": "", "place": "/*", "was": "boolean", "is": "string"},
        {"id": UNKNOWN, "situation": "again", "place": "", "was": "404 application/json", "is": "404 text/html"},
    ]


def test_what_is_said_of_a_place_is_short():
    """A service may answer in very many ways."""
    (found,) = drifts(seen(*(said(f"{status} application/json") for status in range(400, 600))), seen(HTML))

    assert found["was"].endswith("…")
    assert len(found["was"]) < 400
