"""What drift is: where two behaviours have nothing in common in a situation that both know, and nowhere else."""

import pytest

from reports.observations.behaviour import behaviour, said
from reports.observations.drift import Drift, drifts
from spec.facts import facts_of

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
    return [(one.place, one.was, one.now) for one in drifts(was, now)]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ([JSON], [JSON]),
        ([JSON], [JSON, HTML]),
        ([JSON, HTML], [HTML]),
        ([said("refused")], [said("refused"), said("accepted")]),
        ([answer({"account": "a"})], [answer({"account": "b"})]),
        ([answer({"account": ""}), answer({})], [answer({})]),
        ([answer({"account": ""}), answer({"account": True})], [answer({"account": ""})]),
        ([answer({"account": ""}, 404), JSON], [JSON]),
        ([answer({"account": ""}), answer({"error": ""}, 404)], [answer({"error": ""}, 404)]),
    ],
)
def test_what_varies_or_is_not_known_is_no_drift(was, now):
    """One answer in common is enough; a member that is not always there may be gone."""
    assert drifts(seen(*was), seen(*now)) == drifts(seen(*now), seen(*was)) == []


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ([JSON], [HTML], [("", "404 application/json", "404 text/html")]),
        ([JSON, HTML], [said("410")], [("", "404 application/json or 404 text/html", "410")]),
        ([said("refused")], [said("accepted")], [("", "refused", "accepted")]),
        ([said("401 [WWW-Authenticate: Bearer]")], [said("401")], [("", "401 [WWW-Authenticate: Bearer]", "401")]),
        ([answer({"account": ""}, 404)], [JSON], [("/", "object", "absent")]),
        (
            [answer({"account": ""})],
            [answer({"bank": ""}, 404)],
            [("", "200 application/json", "404 application/json")],
        ),
        ([answer({"account": ""})], [answer({"account": True})], [("/account", "string", "boolean")]),
        ([answer({"account": ""})], [answer({})], [("/account", "string", "absent")]),
        ([answer({})], [answer({"account": ""})], [("/account", "absent", "string")]),
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


def test_drift_is_in_the_order_of_the_ledger():
    """With its situation; a requirement that is in no ledger is passed over."""
    was = {**seen(JSON, situation="again"), **seen(answer([True]), requirement=SHAPE), "executePix.gone": {"": JSON}}
    now = {**seen(HTML, situation="again"), **seen(answer(["x"]), requirement=SHAPE), "executePix.gone": {"": HTML}}

    assert drifts(was, now) == [
        Drift(SHAPE, "", "/*", "boolean", "string"),
        Drift(UNKNOWN, "again", "", "404 application/json", "404 text/html"),
    ]
    assert drifts(was, now)[0].data() == {"id": SHAPE, "situation": "", "place": "/*", "was": "boolean", "is": "string"}


def test_what_is_said_of_a_place_is_short():
    """A service may answer in very many ways."""
    (found,) = drifts(seen(*(said(f"{status} application/json") for status in range(400, 600))), seen(HTML))

    assert found.was.endswith("…")
    assert len(found.was) < 400
