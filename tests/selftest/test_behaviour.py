"""What was observed is merged into one behaviour, no matter who saw it and in which order, and said in words."""

import itertools
import json
from pathlib import Path

import pytest

from environments.profiles.loading import load
from reports.behaviour import behaviour, behaviour_of, data_of_behaviour, in_words
from reports.formats.conformance_json import document_of
from reports.run import Observation, Run
from reports.verdicts import RequirementResult, Verdict
from spec.facts import WORDS, facts_of, is_name, renamed, said
from spec.requirements import requirements
from spec.rules import Reproduction
from tests.harness.judging import Recording, current, observe

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
REFUSED = said("401 application/problem+json [WWW-Authenticate: Bearer]")
SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")


def recorded(*calls):
    """What a test for UNKNOWN observes."""
    recording = Recording(RequirementResult(UNKNOWN, Verdict.PASS), Reproduction(), ())
    current.set(recording)
    for seen in calls:
        observe(seen)
    return recording


def run_with(*observations):
    """A run in which each observation was made by a test of its own."""
    run = Run(SANDBOX, "http://127.0.0.1:1")
    for seen in observations:
        result = RequirementResult(seen.id, Verdict.OBSERVED)
        run.results.append(result)
        run.observations.append(seen)
    run.close()
    return run


def test_a_test_observes_values_by_situation():
    """A text is a phrase; with no situation there is one."""
    recording = recorded({"without a token": [REFUSED, "refused"]}, "404")

    assert recording.own.verdict is Verdict.OBSERVED
    assert recording.observations == [
        Observation(UNKNOWN, REFUSED, "without a token"),
        Observation(UNKNOWN, said("refused"), "without a token"),
        Observation(UNKNOWN, said("404")),
    ]


ACCOUNTS = said("200 application/json") | facts_of({"accounts": [{"bank": "341"}]})
SEEN = [
    (CODES, "", said("DONE")),
    (UNKNOWN, "b", said("404 text/html")),
    (UNKNOWN, "b", said("404")),
    (UNKNOWN, "a", ACCOUNTS),
    (UNKNOWN, "a", said("204")),
]


@pytest.mark.parametrize("seen", list(itertools.permutations(SEEN))[::7])
def test_the_order_changes_nothing(seen):
    """Requirements in the order of the requirements, situations, places and types sorted, each once."""
    found = behaviour((*seen, SEEN[0]))

    assert json.dumps(data_of_behaviour(found)) == json.dumps(
        {
            CODES: {"": {"": ["DONE"]}},
            UNKNOWN: {
                "a": {
                    "": ["200 application/json", "204"],
                    "/": ["absent", "object"],
                    "/accounts": ["array"],
                    "/accounts/*": ["object"],
                    "/accounts/*/bank": ["string"],
                },
                "b": {"": ["404", "404 text/html"]},
            },
        }
    )
    assert list(requirements()).index(CODES) < list(requirements()).index(UNKNOWN)


def test_plain_data_is_the_behaviour():
    """There and back."""
    found = behaviour([(UNKNOWN, "a", REFUSED), *SEEN])

    assert behaviour_of(json.loads(json.dumps(data_of_behaviour(found))), str) == found


def test_a_behaviour_in_words():
    """Situations, and the facts in each; what is long is cut."""
    situations = {"": said("refused"), "digit 1": REFUSED | said("404"), "digit 2": ACCOUNTS, "digit 3": ACCOUNTS}

    assert in_words(situations) == (
        "refused; digit 1: 401 application/problem+json [WWW-Authenticate: Bearer] or 404; "
        "digit 2 and digit 3: 200 application/json: /accounts/*/bank string"
    )
    assert len(in_words({"": facts_of(dict.fromkeys(sorted(filter(is_name, WORDS))[:40], ""))})) == 401


def test_a_run_says_what_all_tests_observed():
    """The message of the requirement and `observed` are made from the merged behaviour, in any order."""
    observations = [
        Observation(UNKNOWN, said("404"), "b"),
        Observation(UNKNOWN, said("404"), "a"),
        Observation(SIZE, said("none")),
    ]
    one, other = (document_of(run_with(*each)) for each in (observations, reversed(observations)))
    messages = {entry["id"]: entry["message"] for entry in one["requirements"]}

    assert (messages[UNKNOWN], messages[SIZE]) == ("a and b: 404", "none")
    assert one["observed"] == {
        UNKNOWN: {"a": {"": ["404"]}, "b": {"": ["404"]}},
        SIZE: {"": {"": ["none"]}},
    }
    assert [one["observed"], messages] == [
        other["observed"],
        {entry["id"]: entry["message"] for entry in other["requirements"]},
    ]


def test_no_name_that_may_be_data_is_shown():
    """Neither of an observation nor of a file of another version: what its names are is told anew."""
    facts = said("404") | {("/ac-0001-77", "number"), ("/id", "number")}

    assert document_of(run_with(Observation(UNKNOWN, renamed(facts, str))))["observed"][UNKNOWN][""] == {
        "": ["404"],
        "/*": ["number"],
        "/id": ["number"],
    }


def test_what_is_said_first_is_a_note():
    """And an observation like any other."""
    run = run_with(Observation(UNKNOWN, said("MONEY MOVED TWICE"), first=True))

    assert [str(note.text) for note in run.notes()] == [f"{UNKNOWN}: MONEY MOVED TWICE"]


def test_what_is_the_same_once_it_is_cleaned_is_merged():
    """Nothing is lost of two situations that become one, and no value is said twice."""
    seen = {
        UNKNOWN: {"for  ac-1": said("refused") | said("taken by ac-1"), "for ac-1": said("taken by  ac-1")},
    }

    assert behaviour_of(data_of_behaviour(seen), lambda text: " ".join(text.replace("ac-1", "<account>").split())) == {
        UNKNOWN: {"for <account>": said("refused") | said("taken by <account>")}
    }
