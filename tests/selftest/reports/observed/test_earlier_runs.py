"""The record of what was observed: written to be read by people, read as what anybody may have written, and what a run
does with it."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import yaml

from environments.profiles.model import today
from environments.sandbox import Service
from reports.observed.behaviour import behaviour, behaviour_of_data
from reports.observed.earlier_runs import (
    MOST_BYTES_OF_RECORD,
    UnreadableError,
    accepting,
    read_record,
    record_of,
    write_record,
)
from reports.result.provenance import VERSION
from spec.facts import facts_of, words_as_facts
from spec.requirements import requirements
from tests.harness.reporter import accept_behaviour
from tests.selftest.recorded_runs import record, recorded

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = words_as_facts("404 application/json [Allow: present]") | facts_of({"error": None, "data": {"keys": []}})
SEEN = behaviour(
    [(UNKNOWN, "without a token", ANSWER), (CODES, "", words_as_facts("DONE")), (CODES, "", words_as_facts("NO"))]
)
RECORD = record_of("staging", SEEN)
TEXT = (
    "# What was observed of this environment where the interface document does not show it: statuses, names and types, and\n"
    "# no value of an answer. `pytest --environment=staging --accept` writes it. Each run is compared with it, and says\n"
    "# what drifts. Keep it beside the profile.\n"
    "format: 2\n"
    "environment: staging\n"
    f"accepted: '{today()}'\n"
    f"suite_version: {VERSION}\n"
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
    assert behaviour_of_data(RECORD.observations, str) == SEEN
    assert read_record(tmp_path / "other.observed.yaml") is None


def test_what_a_run_did_not_exercise_stays():
    """Requirements and situations; the order is that of the requirements."""
    seen = behaviour(
        [
            (SIZE, "", words_as_facts("none")),
            (UNKNOWN, "again", words_as_facts("410")),
            (CODES, "", words_as_facts("PAID")),
        ]
    )
    whole = accepting(SEEN, seen)

    assert whole[CODES] == {"": words_as_facts("PAID")}
    assert whole[UNKNOWN] == {"again": words_as_facts("410"), "without a token": ANSWER}
    assert list(whole) == [id for id in requirements() if id in (CODES, UNKNOWN, SIZE)]


def test_what_a_run_did_not_see_of_an_answer_stays():
    """The items of a list that was empty; the rest is as it is now."""
    full, empty = (words_as_facts("404") | facts_of({"keys": keys}) for keys in (["a"], []))
    was = behaviour([(UNKNOWN, "", full)])

    assert accepting(was, behaviour([(UNKNOWN, "", empty)])) == {UNKNOWN: {"": full}}
    assert accepting(was, behaviour([(UNKNOWN, "", words_as_facts("410"))])) == {UNKNOWN: {"": words_as_facts("410")}}


def planted(**members):
    """A record with other members."""
    return yaml.safe_dump(yaml.safe_load(TEXT) | members)


def observed(places):
    return planted(observations={UNKNOWN: {"": places}})


LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
NOT_YAML, ODD = "not YAML as --accept writes it", "is not as the suite writes it"
BAD = {
    "a list": ("- planted", "not as the suite writes it"),
    "not UTF-8": (b"\xff\xfe", NOT_YAML),
    "an alias": (LAUGHS, NOT_YAML),
    "a key twice": (TEXT + "format: 2\n", NOT_YAML),
    "a later format": (planted(format=3), f"format {ODD}"),
    "a later member": (planted(planted=1), f"a member {ODD}"),
    "a day that does not exist": (planted(accepted="2026-02-30"), f"accepted {ODD}"),
    "an id that is none": (planted(observations={"planted\n": {}}), f"observations {ODD}"),
    "no fact": (observed({"": []}), f"observations {ODD}"),
    "no place": (observed({"planted": ["404"]}), f"observations {ODD}"),
    "too large": ("#" * (MOST_BYTES_OF_RECORD + 1), "larger than 1 MB"),
}


@pytest.mark.parametrize(("content", "why"), BAD.values(), ids=BAD)
def test_what_is_no_record_is_one_line(content, why, file):
    """It names the file, what is wrong and what to do, and repeats nothing of its content."""
    path = file(content)
    with pytest.raises(UnreadableError) as error:
        read_record(path)
    line = str(error.value)

    assert re.fullmatch(rf"{path}:.*{why}; restore the file, or delete it and run pytest --accept", line)
    assert "planted" not in line


# -- runs -----------------------------------------------------------------------------------------------------------

ACCOUNTS, BALANCE = "listAccounts.shape", "getBalance.shape"
LINE = f"{ACCOUNTS}: 200 application/json → 201 application/json"


class Changed(Service):
    """Its list of accounts is answered with 201; a warning, and drift."""

    def finish(self, request, operation, response):
        return replace(response, status=201) if operation == "listAccounts" and response.status == 200 else response


def test_a_run_writes_what_it_observed_and_later_ones_compare(tmp_path):
    """Beside the profile, for its owner alone; requirements that exist no more are left out. What another service answers
    otherwise drifts, and nothing else: that is on the terminal, in the headline, on the page, in conformance.json
    and in junit.xml; it fails where the profile says so."""
    path, options = tmp_path / "staging.observed.yaml", ("-k", f"{ACCOUNTS} or {BALANCE}")
    path.write_text(TEXT.replace(CODES, "executePix.gone"))
    accepted = record(tmp_path, Service, *options, "--accept", allow=["read"])
    before, seen = path.read_bytes(), accepted.document["observed"]
    drifted = record(tmp_path, Changed, *options, allow=["read"])
    kinds = [part.tag for part in run_case(drifted)]
    found, page = drifted.document, drifted.text("report.html")
    fails = record(tmp_path, Changed, *options, allow=["read"], drift="fail")

    content = read_record(path).observations
    assert {id: content[id] for id in (ACCOUNTS, BALANCE)} == seen
    assert list(content) == [ACCOUNTS, BALANCE, UNKNOWN]
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"\naccepted: {path} (3 requirements)\n" in accepted.output
    assert (accepted.status, drifted.status, found["verdict"]) == (0, 0, "partial")
    place = {"id": ACCOUNTS, "situation": "", "place": "", "was": "200 application/json", "is": "201 application/json"}
    assert found["drift"] == [place]
    assert f"; drift since the record of {today()}: 1 place" in found["headline"]
    assert f": 1 place\n     {LINE}\n" in drifted.output
    assert 'id="drift"' in page
    assert "201 application/json" in page
    assert "failure" not in kinds
    assert (fails.status, fails.document["verdict"]) == (1, "drifted")
    assert LINE in next(part.text for part in run_case(fails) if part.tag == "failure")
    assert path.read_bytes() == before


def run_case(ended):
    """The results of the run's own test case in junit.xml."""
    cases = ElementTree.fromstring(ended.text("junit.xml")).iter("testcase")
    return next(case for case in cases if case.get("name") == "run")


def accepted_of(**changes):
    """What a run, with these changes, says of accepting what it observed."""
    run = replace(recorded("partial").run, finished=None, **changes)
    accept_behaviour(run, str)
    return run.accepted.partition(";")[0]


def test_what_is_not_accepted():
    """One line says why, and the record stays: everything looks refused to a wrong token, and a stopped run has seen a
    part of what varies."""
    run = recorded("partial").run

    assert [
        accepted_of(errors=["a fault"]),
        accepted_of(interrupted=True),
        accepted_of(unreachable="gone"),
        accepted_of(grants=replace(run.grants, granted=set())),
        accepted_of(observations=[]),
    ] == [
        "not accepted: the suite failed",
        "not accepted: the run was interrupted",
        "not accepted: the target could not be reached",
        "not accepted: no operation succeeded",
        "not accepted: nothing was observed",
    ]
    assert not run.profile.record.exists()


@pytest.mark.parametrize("options", [(), ("--accept",)], ids=["compared", "accepted"])
def test_a_record_that_cannot_be_read_is_one_line_and_exit_4(options, tmp_path):
    """Before any request, also where it is to be written anew: what it holds would be lost."""
    path = tmp_path / "staging.observed.yaml"
    path.write_text(LAUGHS)
    refused = record(tmp_path, Service, *options)

    assert (refused.status, refused.run) == (4, None)
    assert re.fullmatch(rf"ERROR: {path}:.*\n+", refused.output)
