"""The record of what was observed: written to be read by people, and read as what anybody may have written."""

import json
import os
from dataclasses import replace
from datetime import date
from decimal import Decimal
from itertools import pairwise

import jsonschema_rs
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reports.observations.behaviour import Answer, Phrase, behaviour, behaviour_of, data_of_behaviour, in_words
from reports.observations.drift import drifts
from reports.observations.record import MOST_BYTES, Record, RecordError, read_record, text_of_record, write_record
from spec.requirements import ledger
from spec.shapes import shape_of
from tests.selftest.schemas import CONFORMANCE

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = Answer(404, "application/json", {"Allow": "GET"}, shape_of({"code": Decimal(1), "data": {"keys": []}}))
SEEN = behaviour([(UNKNOWN, "without a token", ANSWER), (CODES, "", Phrase("DONE")), (CODES, "", Phrase("NO"))])
RECORD = Record("staging", date(2026, 11, 20), "0.1.0", SEEN)
TEXT = text_of_record(RECORD)


def test_its_text():
    """A comment says what it is; blocks, in the order of the ledger, every value on lines of its own."""
    assert TEXT == (
        "# What was observed of this environment where the interface document does not show it: statuses, names and types, and\n"
        "# no value of an answer. `pytest --environment=staging --accept` writes it. Each run is compared with it, and says\n"
        "# what drifts. Keep it beside the profile.\n"
        "format: 1\n"
        "environment: staging\n"
        "accepted: 2026-11-20\n"
        "suite_version: 0.1.0\n"
        "observations:\n"
        "  executePix.status.values:\n"
        "    '':\n"
        "    - text: DONE\n"
        "    - text: 'NO'\n"
        "  executePix.unknownCode:\n"
        "    without a token:\n"
        "    - status: 404\n"
        "      media_type: application/json\n"
        "      headers:\n"
        "        Allow: GET\n"
        "      shape:\n"
        "        type: object\n"
        "        properties:\n"
        "          code:\n"
        "            type: integer\n"
        "          data:\n"
        "            type: object\n"
        "            properties:\n"
        "              keys:\n"
        "                type: array\n"
        "            required:\n"
        "            - keys\n"
        "        required:\n"
        "        - code\n"
        "        - data\n"
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
    seen = behaviour([(SIZE, "", Phrase("none")), (UNKNOWN, "again", Answer(410)), (CODES, "", Phrase("PAID"))])
    whole = RECORD.accepting(seen)

    assert whole[CODES] == {"": (Phrase("PAID"),)}
    assert whole[UNKNOWN] == {"again": (Answer(410),), "without a token": (ANSWER,)}
    assert list(whole) == [id for id in ledger() if id in (CODES, UNKNOWN, SIZE)]


def test_what_a_run_did_not_see_of_an_answer_stays():
    """A list that was empty, in the answer that was seen before; another answer is as it is now."""
    full, empty = ({"type": "array", **items} for items in ({"items": {"type": "string"}}, {}))
    record = replace(RECORD, behaviour=behaviour([(UNKNOWN, "", Answer(404, shape=full))]))
    whole = record.accepting(behaviour((UNKNOWN, "", Answer(status, shape=empty)) for status in (404, 410)))

    assert whole == {UNKNOWN: {"": (Answer(404, shape=full), Answer(410, shape=empty))}}


def planted(**members):
    """A record with other members."""
    return yaml.safe_dump(yaml.safe_load(TEXT) | {"accepted": "2026-11-20"} | members)


def observed(value):
    return planted(observations={UNKNOWN: {"": [value]}})


LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
BAD = {
    "empty": ("", "not a record of what was observed"),
    "a list": ("- planted", "not a record of what was observed"),
    "not UTF-8": (b"\xff\xfe", "not UTF-8 at byte 1"),
    "not YAML": ("a: [planted", ":1: "),
    "an alias": (LAUGHS, ":2: an alias; write it out"),
    "a key twice": (TEXT + "format: 1\n", ":34: duplicate key format"),
    "no format": (TEXT.replace("format: 1\n", ""), "format: expected 1, which this version of the suite reads"),
    "a later format": (planted(format=2), "format: expected 1, which this version of the suite reads"),
    "another format": (planted(format=True), "format: expected 1, which this version of the suite reads"),
    "a later member": (planted(planted=1), "a member is not what --accept writes"),
    "a missing member": (TEXT.replace("suite_version: 0.1.0\n", ""), "suite_version is not what --accept writes"),
    "no day": (planted(accepted="planted"), "accepted is not what --accept writes"),
    "a day that is none": (planted(accepted="2026-02-30"), "not what --accept writes"),
    "an id that is none": (planted(observations={"planted\n": {}}), "observations is not what --accept writes"),
    "no value": (planted(observations={UNKNOWN: {"": []}}), "observations is not what --accept writes"),
    "a value of both sorts": (observed({"status": 404, "text": "planted"}), "observations is not what --accept writes"),
    "a status that is none": (observed({"status": "planted"}), "observations is not what --accept writes"),
    "a header that is none": (
        observed({"status": 404, "headers": {"a b": ""}}),
        "observations is not what --accept writes",
    ),
    "a type that is none": (
        observed({"status": 4, "shape": {"type": "planted"}}),
        "observations is not what --accept writes",
    ),
    "another keyword": (observed({"status": 404, "shape": {"const": 1}}), "observations is not what --accept writes"),
    "nested too deeply": ("format: 1\nobservations: " + "[" * 100 + "]" * 100, "nested too deeply"),
    "nested very deeply": ("format: 1\nobservations: " + "[" * 5000 + "]" * 5000, "nested too deeply"),
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


PUBLISHED = json.loads(CONFORMANCE.read_text("utf-8"))
BEHAVIOUR = {"$ref": "#/$defs/behaviour", "$defs": PUBLISHED["$defs"]}
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
PLAIN = st.fixed_dictionaries({}, optional={"type": TYPES | st.lists(TYPES, max_size=3)})


def larger(inner):
    """Shapes that hold shapes."""
    named = {"properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3), "additionalProperties": inner}
    named["required"] = st.lists(st.sampled_from("abcd"), max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("object")}, optional=named),
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"type": st.just("string"), "format": st.sampled_from(["date", "planted"])}),
    )


SHAPES = st.recursive(PLAIN, larger, max_leaves=6)


@settings(deadline=None, max_examples=60)
@given(SHAPES, SHAPES)
def test_any_shape_that_is_valid_can_be_worked_with(one, other):
    """Merged, compared, said and written, without a warning of a library."""
    observations = [{UNKNOWN: {"": [{"status": 404, "shape": shape}]}} for shape in (one, other)]
    assume(all(map(jsonschema_rs.Draft202012Validator(BEHAVIOUR).is_valid, observations)))
    was, now = map(behaviour_of, observations)

    assert {drift.id for drift in drifts(was, now)} <= {UNKNOWN}
    assert in_words(was[UNKNOWN])
    assert behaviour_of(data_of_behaviour(was)) == was
