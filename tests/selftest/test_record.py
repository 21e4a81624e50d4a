"""The record of what was observed: written to be read by people, and read as what anybody may have written."""

import os
from dataclasses import replace
from datetime import date
from itertools import pairwise

import pytest
import yaml

from reports.observations.behaviour import behaviour, said
from reports.observations.record import MOST_BYTES, Record, RecordError, read_record, text_of_record, write_record
from spec.facts import facts_of
from spec.requirements import ledger

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = said("404 application/json [Allow: present]") | facts_of({"error": None, "data": {"keys": []}})
SEEN = behaviour([(UNKNOWN, "without a token", ANSWER), (CODES, "", said("DONE")), (CODES, "", said("NO"))])
RECORD = Record("staging", date(2026, 11, 20), "0.1.0", SEEN)
TEXT = text_of_record(RECORD)


def test_its_text():
    """A comment says what it is; blocks, in the order of the ledger, every place on a line of its own."""
    assert TEXT == (
        "# What was observed of this environment where the interface document does not show it: statuses, names and types, and\n"
        "# no value of an answer. `pytest --environment=staging --accept` writes it. Each run is compared with it, and says\n"
        "# what drifts. Keep it beside the profile.\n"
        "format: 2\n"
        "environment: staging\n"
        "accepted: 2026-11-20\n"
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


@pytest.fixture
def file(tmp_path):
    """Writes a record."""

    def write(content):
        path = tmp_path / "staging.observed.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return write


def test_it_is_read_as_it_was_written(file, tmp_path):
    """There and back; without a file there is no record."""
    assert read_record(file(TEXT)) == RECORD
    assert read_record(tmp_path / "other.observed.yaml") is None


def test_requirements_that_exist_no_more_are_counted(file):
    """And left out."""
    found = read_record(file(TEXT.replace(CODES, "executePix.gone")))

    assert (list(found.behaviour), found.unknown) == ([UNKNOWN], 1)


def test_what_a_run_did_not_exercise_stays():
    """Requirements and situations; the order is that of the ledger."""
    seen = behaviour([(SIZE, "", said("none")), (UNKNOWN, "again", said("410")), (CODES, "", said("PAID"))])
    whole = RECORD.accepting(seen)

    assert whole[CODES] == {"": said("PAID")}
    assert whole[UNKNOWN] == {"again": said("410"), "without a token": ANSWER}
    assert list(whole) == [id for id in ledger() if id in (CODES, UNKNOWN, SIZE)]


def test_what_a_run_did_not_see_of_an_answer_stays():
    """The items of a list that was empty; the rest is as it is now."""
    full, empty = (said("404") | facts_of({"keys": keys}) for keys in (["a"], []))
    record = replace(RECORD, behaviour=behaviour([(UNKNOWN, "", full)]))

    assert record.accepting(behaviour([(UNKNOWN, "", empty)])) == {UNKNOWN: {"": full}}
    assert record.accepting(behaviour([(UNKNOWN, "", said("410"))])) == {UNKNOWN: {"": said("410")}}


def planted(**members):
    """A record with other members."""
    return yaml.safe_dump(yaml.safe_load(TEXT) | {"accepted": "2026-11-20"} | members)


def observed(places):
    return planted(observations={UNKNOWN: {"": places}})


LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
BAD = {
    "empty": ("", "not a record of what was observed"),
    "a list": ("- planted", "not a record of what was observed"),
    "not UTF-8": (b"\xff\xfe", "not UTF-8 at byte 1"),
    "not YAML": ("a: [planted", ":1: "),
    "an alias": (LAUGHS, ":2: an alias; write it out"),
    "a key twice": (TEXT + "format: 2\n", ":19: duplicate key format"),
    "no format": (TEXT.replace("format: 2\n", ""), "format: expected 2, which this version of the suite reads"),
    "a later format": (planted(format=3), "format: expected 2, which this version of the suite reads"),
    "another format": (planted(format=True), "format: expected 2, which this version of the suite reads"),
    "an earlier format": (planted(format=1), "format: expected 2, which this version of the suite reads"),
    "a later member": (planted(planted=1), "a member is not what --accept writes"),
    "a missing member": (TEXT.replace("suite_version: 0.1.0\n", ""), "suite_version is not what --accept writes"),
    "no day": (planted(accepted="planted"), "accepted is not what --accept writes"),
    "a day that is none": (planted(accepted="2026-02-30"), "not what --accept writes"),
    "an id that is none": (planted(observations={"planted\n": {}}), "observations is not what --accept writes"),
    "no fact": (observed({"": []}), "observations is not what --accept writes"),
    "no place": (observed({"planted": ["404"]}), "observations is not what --accept writes"),
    "another form": (observed([{"status": "planted"}]), "observations is not what --accept writes"),
    "no text": (observed({"": [404]}), "observations is not what --accept writes"),
    "nested too deeply": (
        "format: 2\nobservations: " + "[" * 100 + "]" * 100,
        "environment is not what --accept writes",
    ),
    "nested very deeply": ("format: 2\nobservations: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
    "half a surrogate pair": (TEXT.replace("DONE", '"\\ud800"'), "a value that cannot be read"),
    "too large": ("#" * (MOST_BYTES + 1), "larger than 0.3 MB"),
}


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_what_is_no_record_is_one_line(content, why, file):
    """It names the file, what is wrong and what to do, and repeats nothing of its content."""
    path = file(content)
    with pytest.raises(RecordError) as error:
        read_record(path)
    said = str(error.value)

    assert said.startswith(f"{path}:")
    assert said.endswith("; restore the file, or delete it and run pytest --accept")
    assert why in said
    assert ("\n" in said, "planted" in said) == (False, False)


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    """The record that is there stays."""
    path = tmp_path / "staging.observed.yaml"
    path.write_text(TEXT)
    many = behaviour((UNKNOWN, f"{number:0200}", ANSWER) for number in range(2_000))
    with pytest.raises(OSError, match=r"it would be larger than 0\.3 MB"):
        write_record(path, Record("staging", date(2026, 11, 20), "0.1.0", many))

    assert path.read_text() == TEXT


def test_very_many_mistakes_are_one_line(tmp_path):
    """Where each has the whole of the file beside it, they do not fit into memory."""
    path = tmp_path / "staging.observed.yaml"
    path.write_text(
        TEXT.partition("observations:")[0] + "observations:\n" + "".join(f"  a{at}: [b]\n" for at in range(10_000))
    )

    with pytest.raises(RecordError, match="observations is not what --accept writes"):
        read_record(path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["a folder", "a pipe"])
def test_what_is_no_file_is_one_line(make, tmp_path):
    """Nothing waits for a pipe."""
    path = tmp_path / "staging.observed.yaml"
    make(path)
    with pytest.raises(RecordError) as error:
        read_record(path)

    assert str(error.value).startswith(f"{path}: ")
