"""What was observed is one behaviour, no matter who saw it and in which order; what has nothing in common drifts."""

import pytest

from reports.observed.behaviour import behaviour, behaviour_in_words, drifts
from reports.outputs.conformance_json import document_of
from reports.result.run import Observation, Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RequirementResult, Verdict
from spec.facts import facts_of, redacted_facts, words_as_facts
from tests.selftest.hand_made import SANDBOX

CODES, UNKNOWN, SHAPE = "executePix.status.values", "executePix.unknownCode", "listAccounts.shape"
REFUSED = words_as_facts("401 application/problem+json [WWW-Authenticate: Bearer]")


def run_with(*observations):
    """A run in which each observation was made by a test of its own."""
    run = Run(SANDBOX, "http://127.0.0.1:1", observations=[*observations])
    run.results += (RequirementResult(seen.id, Verdict.OBSERVED) for seen in observations)
    run.close()
    return run


ACCOUNTS = words_as_facts("200 application/json") | facts_of({"accounts": [{"bank": "341"}]})


def test_a_behaviour_in_words():
    """Situations, and the facts in each."""
    situations = {
        "": words_as_facts("refused"),
        "digit 1": REFUSED | words_as_facts("404"),
        "digit 2": ACCOUNTS,
        "digit 3": ACCOUNTS,
    }

    assert behaviour_in_words(situations) == (
        "refused; digit 1: 401 application/problem+json [WWW-Authenticate: Bearer] or 404; "
        "digit 2 and digit 3: 200 application/json: /accounts/*/bank string"
    )


def test_a_run_says_what_all_tests_observed():
    """The message of the requirement and `observed` are made from the merged behaviour; no name that may be data is
    shown, and what is said first is a note."""
    facts = redacted_facts(words_as_facts("404") | {("/ac-0001-77", "number"), ("/id", "number")}, str)
    first = Observation(UNKNOWN, words_as_facts("MONEY MOVED TWICE"), "c", first=True)
    run = run_with(Observation(UNKNOWN, facts, "b"), Observation(UNKNOWN, facts, "a"), first)
    document = document_of(run)
    messages = {entry.id: str(entry.message) for entry in document.requirements}

    assert messages[UNKNOWN] == "a and b: 404: /* number, /id number; c: MONEY MOVED TWICE"
    assert document.observed[UNKNOWN]["a"] == {"": ["404"], "/*": ["number"], "/id": ["number"]}
    assert [str(note.text) for note in result_of_run(run).notes] == [f"{UNKNOWN}: MONEY MOVED TWICE"]


# -- drift ----------------------------------------------------------------------------------------------------------

HTML, JSON = words_as_facts("404 text/html"), words_as_facts("404 application/json")


def answer(body, status=200):
    """An answer that has the facts of a body."""
    return words_as_facts(f"{status} application/json") | facts_of(body)


def seen(*values, situation="", requirement=UNKNOWN):
    return behaviour((requirement, situation, value) for value in values)


@pytest.mark.parametrize(
    ("was", "now", "places"),
    [
        ([JSON, HTML], [words_as_facts("410")], [("", "404 application/json or 404 text/html", "410")]),
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
        ([JSON, HTML], [HTML, words_as_facts("410")], []),
    ],
    ids=["answers", "an answer, so not its body", "places of a body", "one answer in common"],
)
def test_what_has_nothing_in_common_drifts(was, now, places):
    """As a whole, or place by place in the body of an answer that is the same otherwise."""
    assert [(drift.place, drift.was, drift.now) for drift in drifts(seen(*was), seen(*now))] == places
    assert len(drifts(seen(*now), seen(*was))) == len(places)


def test_what_one_side_did_not_exercise_is_no_drift():
    """Neither a requirement nor a situation."""
    was = seen(JSON, situation="a") | seen(words_as_facts("milliseconds"), requirement="executePix.date.unit")
    now = seen(HTML, situation="b") | seen(answer({}), requirement=SHAPE)

    assert drifts(was, now) == drifts(now, was) == drifts({}, now) == drifts(now, {}) == []


def test_long_observations_are_cut():
    """400 characters of what was observed in a situation, and 300 at one place that drifts."""
    many = frozenset({("", f"{number:03}") for number in range(200)})
    (place,) = drifts({CODES: {"": many}}, {CODES: {"": words_as_facts("404")}})

    assert len(str(behaviour_in_words({"": many}))) == 401
    assert (len(place.was), place.now) == (301, "404")
