"""What was observed is one behaviour, no matter who saw it and in which order; what has nothing in common drifts."""

import pytest

from reports.observed.behaviour import behaviour, behaviour_in_words, drifts
from reports.outputs.conformance_json import document_of
from reports.result.run import Observation, Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RequirementResult, Verdict
from spec.facts import facts_of, redacted_facts, words_as_facts
from tests.selftest.hand_made import SANDBOX_PROFILE

CODES, UNKNOWN, SHAPE = "executePix.status.values", "executePix.unknownCode", "listAccounts.shape"
REFUSED = words_as_facts("401 application/problem+json [WWW-Authenticate: Bearer]")


def run_with(*observations):
    """A run in which each observation was made by a test of its own."""
    run = Run(SANDBOX_PROFILE, "http://127.0.0.1:1", observations=[*observations])
    run.results += (RequirementResult(observation.id, Verdict.OBSERVED) for observation in observations)
    run.close()
    return run


ACCOUNTS = words_as_facts("200 application/json") | facts_of({"accounts": [{"bank": "341"}]})


def test_a_behaviour_in_words():
    """The text has each situation with its facts. Situations with the same facts stand together."""
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


def test_the_message_has_the_observations_of_all_tests():
    """The message and `observed` are made from the merged behaviour.

    A name that may be data is hidden, and an urgent observation is a note.
    """
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
    """The facts of an answer with this body."""
    return words_as_facts(f"{status} application/json") | facts_of(body)


def behaviour_with(*values, situation="", requirement=UNKNOWN):
    """A behaviour with these facts in one situation."""
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
def test_answers_drift_as_a_whole_unless_one_stays(was, now, places):
    """If an answer is the same in both runs, only the places of its body that differ drift."""
    assert [
        (drift.place, drift.was, drift.now) for drift in drifts(behaviour_with(*was), behaviour_with(*now))
    ] == places
    assert len(drifts(behaviour_with(*now), behaviour_with(*was))) == len(places)


def test_a_situation_that_one_run_did_not_exercise_does_not_drift():
    """A requirement that only one run exercised does not drift, either."""
    was = behaviour_with(JSON, situation="a") | behaviour_with(
        words_as_facts("milliseconds"), requirement="executePix.date.unit"
    )
    now = behaviour_with(HTML, situation="b") | behaviour_with(answer({}), requirement=SHAPE)

    assert drifts(was, now) == drifts(now, was) == drifts({}, now) == drifts(now, {}) == []


def test_long_observations_are_cut():
    """A situation is cut after 400 characters, and a place that drifts after 300."""
    many = frozenset({("", f"{number:03}") for number in range(200)})
    (place,) = drifts({CODES: {"": many}}, {CODES: {"": words_as_facts("404")}})

    assert len(str(behaviour_in_words({"": many}))) == 401
    assert len(place.was) == 301
    assert place.now == "404"
