"""What was observed is merged into one behaviour, no matter who saw it and in which order, and said in words."""

import itertools
import json
import re
from pathlib import Path

import pytest

from environments.profiles.loading import load
from reports.formats.conformance_json import document_of
from reports.handover import FoundByTest, Observation
from reports.observations.behaviour import (
    Answer,
    Phrase,
    behaviour,
    behaviour_of,
    data_of_behaviour,
    in_words,
    merged_values,
    redacted_behaviour,
    redacted_value,
)
from reports.run import Run
from reports.verdicts import RequirementResult, Verdict
from spec.requirements import ledger
from spec.shapes import merged
from tests.harness.judging import Recording, current, observe

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
REFUSED = Answer(401, "application/problem+json", {"WWW-Authenticate": "Bearer"})
SANDBOX = load("sandbox", folder=Path(__file__).parents[2] / "environments")


def recorded(*calls):
    """What a test for UNKNOWN observes."""
    recording = Recording(ledger()[UNKNOWN])
    current.set(recording)
    for seen in calls:
        observe(seen)
    return recording


def run_with(*observations):
    """A run in which each observation was made by a test of its own."""
    run = Run(SANDBOX, "http://127.0.0.1:1")
    for seen in observations:
        result = RequirementResult(seen.id, Verdict.OBSERVED)
        run.add_found(FoundByTest((result,), (seen.id,), (seen,)), "test")
    run.close()
    return run


def test_a_test_observes_values_by_situation():
    """A text is a phrase; with no situation there is one."""
    recording = recorded({"without a token": [REFUSED, "refused"]}, "404")

    assert recording.verdict is Verdict.OBSERVED
    assert recording.observations == [
        Observation(UNKNOWN, REFUSED, "without a token"),
        Observation(UNKNOWN, Phrase("refused"), "without a token"),
        Observation(UNKNOWN, Phrase("404")),
    ]


SEEN = [
    (CODES, "", Phrase("DONE")),
    (UNKNOWN, "b", Answer(404, "text/html")),
    (UNKNOWN, "b", Answer(404)),
    (UNKNOWN, "a", Answer(404)),
    (CODES, "", Phrase("DONE")),
]


@pytest.mark.parametrize("seen", list(itertools.permutations(SEEN))[::7])
def test_the_order_changes_nothing(seen):
    """Requirements in the order of the ledger, situations and values sorted, each value once."""
    found = behaviour(seen)

    assert json.dumps(data_of_behaviour(found)) == json.dumps(
        {
            CODES: {"": [{"text": "DONE"}]},
            UNKNOWN: {"a": [{"status": 404}], "b": [{"status": 404, "media_type": "text/html"}, {"status": 404}]},
        }
    )
    assert list(ledger()).index(CODES) < list(ledger()).index(UNKNOWN)


def test_plain_data_is_the_behaviour():
    """There and back."""
    found = behaviour([(UNKNOWN, "a", REFUSED), (UNKNOWN, "a", Answer(200, shape={"type": "array"})), *SEEN])

    assert behaviour_of(json.loads(json.dumps(data_of_behaviour(found)))) == found


def test_answers_that_differ_in_their_shape_alone_are_one():
    """With another header, or without a body, it is another answer."""
    shapes = [{"type": "object", "properties": {"id": {"type": "string"}, name: {"type": "null"}}} for name in "ab"]
    values = [Answer(200), *(Answer(200, shape=shape) for shape in shapes), Answer(200, headers={"Allow": "GET"})]

    assert merged_values(values) == (values[3], Answer(200, shape=merged(shapes)), values[0])


def test_a_behaviour_in_words():
    """Situations, and the values in each."""
    situations = {"": (Phrase("refused"),), "digit 1": (REFUSED, Answer(404))}

    assert in_words(situations) == ("refused; digit 1: 401 application/problem+json [WWW-Authenticate: Bearer] or 404")


def test_names_that_are_data_are_any_name():
    """What the redaction knows to be data is no name in a shape, at any depth."""
    text = {"type": "string"}
    inside = {"type": "object", "properties": {"id": text, "maria": text}, "required": ["id", "maria"]}
    value = Answer(200, shape={"type": "array", "items": inside})
    clean = redacted_value(value, lambda text: text.replace("maria", "<name>"))

    assert clean.shape == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"id": text},
            "required": ["id"],
            "additionalProperties": text,
        },
    }
    assert redacted_value(Phrase("maria"), lambda text: "<name>") == Phrase("<name>")


def test_a_run_says_what_all_processes_observed():
    """The message of the requirement and `observed` are made from the merged behaviour, in any order."""
    observations = [
        Observation(UNKNOWN, Answer(404), "b"),
        Observation(UNKNOWN, Answer(404), "a"),
        Observation(SIZE, Phrase("none")),
    ]
    one, other = (document_of(run_with(*each)) for each in (observations, reversed(observations)))
    messages = {entry["id"]: entry["message"] for entry in one["requirements"]}

    assert (messages[UNKNOWN], messages[SIZE]) == ("a and b: 404", "none")
    assert one["observed"] == {
        UNKNOWN: {"a": [{"status": 404}], "b": [{"status": 404}]},
        SIZE: {"": [{"text": "none"}]},
    }
    assert [one["observed"], messages] == [
        other["observed"],
        {entry["id"]: entry["message"] for entry in other["requirements"]},
    ]


def test_no_name_that_may_be_data_is_shown():
    """Neither of an observation nor of a file of another version: what its names are is told anew."""
    number = {"type": "integer"}
    shape = {"type": "object", "properties": {"joao": number, "id": number}, "required": ["id", "joao"]}
    document = document_of(run_with(Observation(UNKNOWN, Answer(404, shape=shape)).redacted(str)))

    found = document["observed"][UNKNOWN][""][0]["shape"]

    assert (found["properties"], found["required"], found["additionalProperties"]) == ({"id": number}, ["id"], number)
    assert "joao" not in re.findall(r"\w+", str(document))


def test_what_is_said_first_is_a_note():
    """And an observation like any other."""
    run = run_with(Observation(UNKNOWN, Phrase("MONEY MOVED TWICE"), first=True))

    assert [note.text for note in run.notes()] == [f"{UNKNOWN}: MONEY MOVED TWICE"]


def test_what_is_the_same_once_it_is_cleaned_is_merged():
    """Nothing is lost of two situations that become one, and no value is said twice."""
    seen = {
        UNKNOWN: {"for  ac-1": (Phrase("refused"), Phrase("taken by ac-1")), "for ac-1": (Phrase("taken by  ac-1"),)}
    }

    assert redacted_behaviour(seen, lambda text: " ".join(text.replace("ac-1", "<account>").split())) == {
        UNKNOWN: {"for <account>": (Phrase("refused"), Phrase("taken by <account>"))}
    }
