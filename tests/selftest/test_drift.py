"""What drift is: where two behaviours have nothing in common in a situation that both know, and nowhere else."""

import json

import pytest

from reports.observations.behaviour import Answer, Phrase, behaviour
from reports.observations.drift import Drift, drifts
from spec.json_text import read_json
from spec.shapes import merged, shape_of

SHAPE, UNKNOWN, UNIT = "listAccounts.shape", "executePix.unknownCode", "executePix.date.unit"
HTML = Answer(404, "text/html")
JSON = Answer(404, "application/json")


def answer(*values, status=200):
    """An answer that has the shape of these bodies."""
    read = (read_json(json.dumps(value).encode()).value for value in values)
    return Answer(status, "application/json", shape=merged(map(shape_of, read)))


def seen(*values, situation="", requirement=UNKNOWN):
    return behaviour((requirement, situation, value) for value in values)


def places(was, now):
    """Every place, was and is."""
    return [(one.place, one.was, one.now) for one in drifts(was, now)]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ([JSON], [JSON]),
        ([JSON], [JSON, HTML]),
        ([JSON, HTML], [HTML]),
        ([Phrase("refused")], [Phrase("refused"), Phrase("accepted")]),
        ([answer({"account": 1})], [answer({"account": 2})]),
        ([answer({"account": 1}, {})], [answer({})]),
        ([answer({})], [answer({"account": 1}, {})]),
        ([answer({"account": [1]})], [answer({"account": []})]),
        ([answer({"account": {"bank": 1}})], [answer({"account": None})]),
        ([answer({"account": 1}, {"account": "x"})], [answer({"account": "x"})]),
        ([answer({"account": 1}), JSON], [JSON]),
    ],
)
def test_what_varies_or_is_not_known_is_no_drift(was, now):
    """One value in common is enough; an optional member may be gone; an empty list and null say nothing of the rest."""
    assert drifts(seen(*was), seen(*now)) == drifts(seen(*now), seen(*was)) == []


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ([JSON], [HTML], [("", "404 application/json", "404 text/html")]),
        ([JSON, HTML], [Answer(410)], [("", "404 application/json or 404 text/html", "410")]),
        ([Phrase("refused")], [Phrase("accepted")], [("", "refused", "accepted")]),
        ([Phrase("refused")], [JSON], [("", "refused", "404 application/json")]),
        (
            [Answer(401, headers={"WWW-Authenticate": "Bearer"})],
            [Answer(401)],
            [("", "401 [WWW-Authenticate: Bearer]", "401")],
        ),
        (
            [answer({"account": 1}, status=404)],
            [JSON],
            [("", "404 application/json {account: integer}", "404 application/json")],
        ),
        ([answer({"account": 1})], [answer({"account": "x"})], [("/account", "integer", "string")]),
        ([answer({"account": 1})], [answer({})], [("/account", "integer", "absent")]),
        ([answer({})], [answer({"account": 1})], [("/account", "absent", "integer")]),
        (
            [answer([{"account": "2026-11-20", "bank": 1}])],
            [answer([{"account": "20/11/2026", "bank": True}])],
            [("/*/account", "date string", "string"), ("/*/bank", "integer", "boolean")],
        ),
    ],
)
def test_what_has_nothing_in_common_drifts(was, now, found):
    """As a whole, or place by place in the shape of an answer that is the same otherwise."""
    assert places(seen(*was), seen(*now)) == found


def test_what_one_side_did_not_exercise_is_no_drift():
    """Neither a requirement nor a situation."""
    was = seen(JSON, situation="a") | seen(Phrase("milliseconds"), requirement=UNIT)
    now = seen(HTML, situation="b") | seen(answer({}), requirement=SHAPE)

    assert drifts(was, now) == drifts(now, was) == drifts({}, now) == drifts(now, {}) == []


def test_drift_is_in_the_order_of_the_ledger():
    """With its situation; a requirement that is in no ledger is passed over."""
    was = {**seen(JSON, situation="again"), **seen(answer([1]), requirement=SHAPE), "executePix.gone": {"": (JSON,)}}
    now = {**seen(HTML, situation="again"), **seen(answer(["x"]), requirement=SHAPE), "executePix.gone": {"": (HTML,)}}

    assert drifts(was, now) == [
        Drift(SHAPE, "", "/*", "integer", "string"),
        Drift(UNKNOWN, "again", "", "404 application/json", "404 text/html"),
    ]
    assert drifts(was, now)[0].data() == {"id": SHAPE, "situation": "", "place": "/*", "was": "integer", "is": "string"}


def test_what_is_said_of_a_place_is_short():
    """A service may answer in very many ways."""
    (found,) = drifts(seen(*(Answer(status) for status in range(400, 600))), seen(JSON))

    assert found.was.endswith("…")
    assert len(found.was) < 400
