"""What was observed is one behaviour, no matter who saw it and in which order; what has nothing in common drifts."""

import pytest

from reports.observed.behaviour import behaviour, behaviour_in_words, drifts
from reports.outputs.conformance_json import document_of
from reports.result.run import Observation, Run
from reports.result.run_verdict import result_of_run
from reports.result.verdicts import RequirementResult, Verdict
from spec.facts import facts_of, redacted_facts, words_as_facts
from tests.selftest.hand_made import SANDBOX_PROFILE

STATUS_VALUES, UNKNOWN_CODE, SHAPE_OF_ACCOUNTS = (
    "executePix.status.values",
    "executePix.unknownCode",
    "listAccounts.shape",
)
FACTS_OF_REFUSAL = words_as_facts("401 application/problem+json [WWW-Authenticate: Bearer]")


def run_with(*observations):
    """A finished run with these observations of what the service does. Each observation was made by another test."""
    run = Run(SANDBOX_PROFILE, "http://127.0.0.1:1", observations=[*observations])
    run.results += (RequirementResult(observation.id, Verdict.OBSERVED) for observation in observations)
    run.close()
    return run


FACTS_OF_ACCOUNTS = words_as_facts("200 application/json") | facts_of({"accounts": [{"bank": "341"}]})


def test_a_behaviour_in_words_joins_situations_with_the_same_facts():
    """A behaviour is printed as its situations, each with the facts that were observed. Situations with the same facts
    are printed together.

    A situation is a kind of request, such as one with the first digit; facts are statuses, media types, names and
    types.
    """
    situations = {
        "": words_as_facts("refused"),
        "digit 1": FACTS_OF_REFUSAL | words_as_facts("404"),
        "digit 2": FACTS_OF_ACCOUNTS,
        "digit 3": FACTS_OF_ACCOUNTS,
    }

    text = str(behaviour_in_words(situations))

    assert text == (
        "refused; digit 1: 401 application/problem+json [WWW-Authenticate: Bearer] or 404; "
        "digit 2 and digit 3: 200 application/json: /accounts/*/bank string"
    )


def test_the_message_of_a_requirement_has_the_observations_of_all_tests():
    """If several tests observe something about one requirement, its message has all observations.

    The name of a member that may be data, such as an account number, becomes `*`.
    """
    observed_facts = words_as_facts("404") | {("/ac-0001-77", "number"), ("/id", "number")}
    facts = redacted_facts(observed_facts, str)  # str: there is no secret to replace in a text
    run = run_with(Observation(UNKNOWN_CODE, facts, "situation b"), Observation(UNKNOWN_CODE, facts, "situation a"))

    document = document_of(run)
    [requirement] = [entry for entry in document.requirements if entry.id == UNKNOWN_CODE]

    assert str(requirement.message) == "situation a and situation b: 404: /* number, /id number"
    assert document.observed[UNKNOWN_CODE]["situation a"] == {"": ["404"], "/*": ["number"], "/id": ["number"]}


def test_an_urgent_observation_is_also_a_note():
    """An observation that may cost money is urgent, so the report repeats it as a note of the run."""
    urgent = Observation(UNKNOWN_CODE, words_as_facts("MONEY MOVED TWICE"), "", may_cost_money=True)

    notes = [str(note.text) for note in result_of_run(run_with(urgent)).notes]

    assert notes == [f"{UNKNOWN_CODE}: MONEY MOVED TWICE"]


# -- drift ----------------------------------------------------------------------------------------------------------

HTML_404, JSON_404 = words_as_facts("404 text/html"), words_as_facts("404 application/json")


def facts_of_answer(body, status=200):
    """The facts of a JSON answer with this body: its status and media type, and the names and types of its members."""
    return words_as_facts(f"{status} application/json") | facts_of(body)


def behaviour_with(*facts_of_answers, situation="", requirement=UNKNOWN_CODE):
    """What a run observed: the answers to one kind of request (the situation) have these facts."""
    return behaviour((requirement, situation, facts) for facts in facts_of_answers)


@pytest.mark.parametrize(
    ("earlier_answers", "answers_now", "differences"),
    [
        ([JSON_404, HTML_404], [words_as_facts("410")], [("", "404 application/json or 404 text/html", "410")]),
        (
            [facts_of_answer({"account": ""})],
            [facts_of_answer({"bank": ""}, 404)],
            [("", "200 application/json", "404 application/json")],
        ),
        (
            [facts_of_answer([{"account": "2026-11-20", "bank": ""}])],
            [facts_of_answer([{"account": "20/11/2026", "bank": True}])],
            [("/*/account", "date", "string"), ("/*/bank", "string", "boolean")],
        ),
        ([JSON_404, HTML_404], [HTML_404, words_as_facts("410")], []),
    ],
    ids=[
        "no answer in common: one difference",
        "another status: one difference, whatever the body is",
        "same status, other types in the body: one difference for each member",
        "one answer in common: no difference",
    ],
)
def test_answers_drift_as_a_whole_unless_one_stays(earlier_answers, answers_now, differences):
    """Two runs that have no status and media type in common differ as a whole. Otherwise only the bodies are compared.

    Drift is a difference between what two runs observed: a place in the answer, what it was, and what it is now.
    """
    earlier_behaviour, behaviour_now = behaviour_with(*earlier_answers), behaviour_with(*answers_now)

    drift = drifts(earlier_behaviour, behaviour_now)
    drift_backwards = drifts(behaviour_now, earlier_behaviour)

    assert [(difference.place, difference.was, difference.now) for difference in drift] == differences
    assert len(drift_backwards) == len(differences)


def test_a_situation_that_one_run_did_not_exercise_does_not_drift():
    """Drift is a difference between what two runs observed. Only what both runs observed can drift.

    A situation (a kind of request) or a requirement that only one run exercised is no difference.
    """
    situation_a = behaviour_with(JSON_404, situation="a")
    situation_b = behaviour_with(HTML_404, situation="b")
    unit_of_date = behaviour_with(words_as_facts("milliseconds"), requirement="executePix.date.unit")
    shape_of_accounts = behaviour_with(facts_of_answer({}), requirement=SHAPE_OF_ACCOUNTS)
    earlier = situation_a | unit_of_date
    now = situation_b | shape_of_accounts

    drift_between_other_situations = [*drifts(earlier, now), *drifts(now, earlier)]
    drift_from_or_to_nothing = [*drifts({}, now), *drifts(now, {})]

    assert drift_between_other_situations == []
    assert drift_from_or_to_nothing == []


def test_long_observations_are_cut():
    """A long text about what was observed is cut and ends with `…`.

    In a message it is cut after 400 characters, in a difference between two runs (drift) after 300.
    """
    many_facts = frozenset({("", f"{number:03}") for number in range(200)})

    message = str(behaviour_in_words({"": many_facts}))
    [difference] = drifts({STATUS_VALUES: {"": many_facts}}, {STATUS_VALUES: {"": words_as_facts("404")}})

    assert len(message) == 400 + len("…")
    assert (len(difference.was), difference.now) == (300 + len("…"), "404")
