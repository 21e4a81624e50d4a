"""The record of what was observed: written to be read by people, and read as what anybody may have written."""

import os
from itertools import pairwise

import pytest
import yaml

from environments.profiles.model import today
from reports.behaviour import behaviour, behaviour_of
from reports.earlier_runs import MOST_BYTES_OF_RECORD, UnreadableError, accepting, read_record, record_of, write_record
from spec.facts import facts_of, said
from spec.requirements import requirements

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = said("404 application/json [Allow: present]") | facts_of({"error": None, "data": {"keys": []}})
SEEN = behaviour([(UNKNOWN, "without a token", ANSWER), (CODES, "", said("DONE")), (CODES, "", said("NO"))])
RECORD = record_of("staging", SEEN)
TEXT = (
    "# What was observed of this environment where the interface document does not show it: statuses, names and types, and\n"
    "# no value of an answer. `pytest --environment=staging --accept` writes it. Each run is compared with it, and says\n"
    "# what drifts. Keep it beside the profile.\n"
    "format: 2\n"
    "environment: staging\n"
    f"accepted: '{today()}'\n"
    "suite_version: 0.1.0\n"
    "observations:\n"
    "  executePix.status.values:\n"
    "    '':\n"
    "      '': [DONE, 'NO']\n"
    "  executePix.unknownCode:\n"
    "    without a token:\n"
    "      '': ['404 application/json [Allow: present]']\n"
    "      /: [object]\n"
    "      /data: [object]\n"
    "      /data/keys: [array]\n"
    "      /error: ['null']\n"
)
"""A comment says what it is; blocks, in the order of the requirements, every place on a line of its own."""


@pytest.fixture
def file(tmp_path):
    """Writes a record."""

    def write(content):
        path = tmp_path / "staging.observed.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return write


def test_it_is_read_as_it_was_written(tmp_path):
    """There and back; without a file there is no record."""
    path = tmp_path / "staging.observed.yaml"
    write_record(path, RECORD)

    assert path.read_text("utf-8") == TEXT
    assert read_record(path) == RECORD
    assert behaviour_of(RECORD["observations"], str) == SEEN
    assert read_record(tmp_path / "other.observed.yaml") is None


def test_requirements_that_exist_no_more_are_left_out(file):
    """And nothing else."""
    found = read_record(file(TEXT.replace(CODES, "executePix.gone")))

    assert list(behaviour_of(found["observations"], str)) == [UNKNOWN]


def test_what_a_run_did_not_exercise_stays():
    """Requirements and situations; the order is that of the requirements."""
    seen = behaviour([(SIZE, "", said("none")), (UNKNOWN, "again", said("410")), (CODES, "", said("PAID"))])
    whole = accepting(SEEN, seen)

    assert whole[CODES] == {"": said("PAID")}
    assert whole[UNKNOWN] == {"again": said("410"), "without a token": ANSWER}
    assert list(whole) == [id for id in requirements() if id in (CODES, UNKNOWN, SIZE)]


def test_what_a_run_did_not_see_of_an_answer_stays():
    """The items of a list that was empty; the rest is as it is now."""
    full, empty = (said("404") | facts_of({"keys": keys}) for keys in (["a"], []))
    was = behaviour([(UNKNOWN, "", full)])

    assert accepting(was, behaviour([(UNKNOWN, "", empty)])) == {UNKNOWN: {"": full}}
    assert accepting(was, behaviour([(UNKNOWN, "", said("410"))])) == {UNKNOWN: {"": said("410")}}


def planted(**members):
    """A record with other members."""
    return yaml.safe_dump(yaml.safe_load(TEXT) | members)


def observed(places):
    return planted(observations={UNKNOWN: {"": places}})


LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
BAD = {
    "empty": ("", "not as the suite writes it"),
    "a list": ("- planted", "not as the suite writes it"),
    "not UTF-8": (b"\xff\xfe", "not YAML as --accept writes it"),
    "not YAML": ("a: [planted", "not YAML as --accept writes it"),
    "an alias": (LAUGHS, "not YAML as --accept writes it"),
    "a key twice": (TEXT + "format: 2\n", "not YAML as --accept writes it"),
    "no format": (TEXT.replace("format: 2\n", ""), "format is not as the suite writes it"),
    "a later format": (planted(format=3), "format is not as the suite writes it"),
    "a later member": (planted(planted=1), "a member is not as the suite writes it"),
    "no day": (planted(accepted="planted"), "accepted is not as the suite writes it"),
    "an id that is none": (planted(observations={"planted\n": {}}), "observations is not as the suite writes it"),
    "no fact": (observed({"": []}), "observations is not as the suite writes it"),
    "no place": (observed({"planted": ["404"]}), "observations is not as the suite writes it"),
    "another form": (observed([{"status": "planted"}]), "observations is not as the suite writes it"),
    "no text": (observed({"": [404]}), "observations is not as the suite writes it"),
    "nested too deeply": ("format: 2\nobservations: " + "[" * 5000 + "]" * 5000, "not YAML as --accept writes it"),
    "many mistakes": (
        TEXT.partition("observations:")[0] + "observations:\n" + "".join(f"  a{at}: [b]\n" for at in range(10_000)),
        "observations is not as the suite writes it",
    ),
    "too large": ("#" * (MOST_BYTES_OF_RECORD + 1), "larger than 1 MB"),
}


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_what_is_no_record_is_one_line(content, why, file):
    """It names the file, what is wrong and what to do, and repeats nothing of its content."""
    path = file(content)
    with pytest.raises(UnreadableError) as error:
        read_record(path)
    said = str(error.value)

    assert said.startswith(f"{path}:")
    assert said.endswith("; restore the file, or delete it and run pytest --accept")
    assert why in said
    assert ("\n" in said, "planted" in said) == (False, False)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["a folder", "a pipe"])
def test_what_is_no_file_is_one_line(make, tmp_path):
    """Nothing waits for a pipe."""
    path = tmp_path / "staging.observed.yaml"
    make(path)
    with pytest.raises(UnreadableError, match=r"not a file|Is a directory"):
        read_record(path)
