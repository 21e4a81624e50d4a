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
from tests.selftest.shared_runs import run_with_files, shared_run

CODES, UNKNOWN, SIZE = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = words_as_facts("404 application/json [Allow: present]") | facts_of({"error": None, "data": {"keys": []}})
BEHAVIOUR = behaviour(
    [(UNKNOWN, "without a token", ANSWER), (CODES, "", words_as_facts("DONE")), (CODES, "", words_as_facts("NO"))]
)
RECORD = record_of("staging", BEHAVIOUR)
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
def write_file(tmp_path):
    """Writes a record of observations with this content."""

    def write_record_file(content):
        path = tmp_path / "staging.observed.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return write_record_file


def test_a_record_is_read_as_it_was_written(tmp_path):
    """Without a file the record is empty."""
    path = tmp_path / "staging.observed.yaml"
    write_record(path, RECORD)

    assert path.read_text("utf-8") == TEXT
    assert read_record(path) == RECORD
    assert behaviour_of_data(RECORD.observations, str) == BEHAVIOUR
    assert read_record(tmp_path / "other.observed.yaml") is None


def test_a_record_keeps_requirements_that_the_run_did_not_exercise():
    """Requirements and situations of the old record stay. The order is that of the requirements."""
    new_behaviour = behaviour(
        [
            (SIZE, "", words_as_facts("none")),
            (UNKNOWN, "again", words_as_facts("410")),
            (CODES, "", words_as_facts("PAID")),
        ]
    )
    whole = accepting(BEHAVIOUR, new_behaviour)

    assert whole[CODES] == {"": words_as_facts("PAID")}
    assert whole[UNKNOWN] == {"again": words_as_facts("410"), "without a token": ANSWER}
    assert list(whole) == [id for id in requirements() if id in (CODES, UNKNOWN, SIZE)]


def test_a_record_keeps_facts_of_items_if_the_list_was_empty():
    """Everything else is replaced by the observations of the run."""
    full, empty = (words_as_facts("404") | facts_of({"keys": keys}) for keys in (["a"], []))
    was = behaviour([(UNKNOWN, "", full)])

    assert accepting(was, behaviour([(UNKNOWN, "", empty)])) == {UNKNOWN: {"": full}}
    assert accepting(was, behaviour([(UNKNOWN, "", words_as_facts("410"))])) == {UNKNOWN: {"": words_as_facts("410")}}


def record_with(**members):
    """A record with other members."""
    return yaml.safe_dump(yaml.safe_load(TEXT) | members)


def record_with_observed(places):
    """A record with these facts of an unknown code."""
    return record_with(observations={UNKNOWN: {"": places}})


LAUGHS = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
NOT_YAML, ODD = "not YAML as --accept writes it", "is not as the suite writes it"
BAD = {
    "a list": ("- planted", "not as the suite writes it"),
    "not UTF-8": (b"\xff\xfe", NOT_YAML),
    "an alias": (LAUGHS, NOT_YAML),
    "a key twice": (TEXT + "format: 2\n", NOT_YAML),
    "a later format": (record_with(format=3), f"format {ODD}"),
    "a later member": (record_with(planted=1), f"a member {ODD}"),
    "a day that does not exist": (record_with(accepted="2026-02-30"), f"accepted {ODD}"),
    "an id that is none": (record_with(observations={"planted\n": {}}), f"observations {ODD}"),
    "no fact": (record_with_observed({"": []}), f"observations {ODD}"),
    "no place": (record_with_observed({"planted": ["404"]}), f"observations {ODD}"),
    "too large": ("#" * (MOST_BYTES_OF_RECORD + 1), "larger than 1 MB"),
}


@pytest.mark.parametrize(("content", "reason"), BAD.values(), ids=BAD)
def test_a_file_that_is_no_record_is_refused_in_one_line(content, reason, write_file):
    """The line names the file, what is wrong and what to do, and repeats nothing of the content."""
    path = write_file(content)
    with pytest.raises(UnreadableError) as error:
        read_record(path)
    line = str(error.value)

    assert re.fullmatch(rf"{path}:.*{reason}; restore the file, or delete it and run pytest --accept", line)
    assert "planted" not in line


# -- runs -----------------------------------------------------------------------------------------------------------

ACCOUNTS, BALANCE = "listAccounts.shape", "getBalance.shape"
LINE = f"{ACCOUNTS}: 200 application/json → 201 application/json"


class AnswersListsWith201(Service):
    """Answers the list of accounts with 201, which is a warning and drift."""

    def finish(self, request, operation, response):
        return replace(response, status=201) if operation == "listAccounts" and response.status == 200 else response


def test_a_run_writes_what_it_observed_and_later_ones_compare(tmp_path):
    """--accept writes the record beside the profile, for its owner alone.

    Another answer in a later run is drift: on the terminal, in the headline, on the page, in conformance.json and in
    junit.xml. It fails the run if the profile says so.
    """
    path = tmp_path / "staging.observed.yaml"
    options = ("-k", f"{ACCOUNTS} or {BALANCE}")
    path.write_text(TEXT.replace(CODES, "executePix.gone"))
    accepted = run_with_files(tmp_path, Service, *options, "--accept", allow=["read"])
    record_before = path.read_bytes()
    observed = accepted.document["observed"]
    drifted = run_with_files(tmp_path, AnswersListsWith201, *options, allow=["read"])
    kinds = [part.tag for part in case_of_the_run(drifted)]
    document = drifted.document
    page = drifted.text("report.html")
    failing = run_with_files(tmp_path, AnswersListsWith201, *options, allow=["read"], drift="fail")

    content = read_record(path).observations
    assert {id: content[id] for id in (ACCOUNTS, BALANCE)} == observed
    assert list(content) == [ACCOUNTS, BALANCE, UNKNOWN]
    assert path.stat().st_mode & 0o777 == 0o600
    assert f"\naccepted: {path} (3 requirements)\n" in accepted.output
    assert accepted.status == drifted.status == 0
    assert document["verdict"] == "partial"
    place = {"id": ACCOUNTS, "situation": "", "place": "", "was": "200 application/json", "is": "201 application/json"}
    assert document["drift"] == [place]
    assert f"; drift since the record of {today()}: 1 place" in document["headline"]
    assert f": 1 place\n     {LINE}\n" in drifted.output
    assert 'id="drift"' in page
    assert "201 application/json" in page
    assert "failure" not in kinds
    assert failing.status == 1
    assert failing.document["verdict"] == "drifted"
    assert LINE in next(part.text for part in case_of_the_run(failing) if part.tag == "failure")
    assert path.read_bytes() == record_before


def case_of_the_run(result):
    """The test case of the run itself in junit.xml."""
    cases = ElementTree.fromstring(result.text("junit.xml")).iter("testcase")
    return next(case for case in cases if case.get("name") == "run")


def message_of_accepting(**changes):
    """The message of a run, with these changes, about accepting what it observed."""
    run = replace(shared_run("partial").run, finished=None, **changes)
    accept_behaviour(run, str)
    return run.accepted.partition(";")[0]


def test_a_broken_run_is_not_accepted():
    """The message says why, and the record stays.

    With a wrong token everything looks refused, and a stopped run saw only a part.
    """
    run = shared_run("partial").run

    assert [
        message_of_accepting(errors=["a fault"]),
        message_of_accepting(interrupted=True),
        message_of_accepting(unreachable="gone"),
        message_of_accepting(grants=replace(run.grants, granted=set())),
        message_of_accepting(observations=[]),
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
    """No request is sent. --accept is refused, too, because it would destroy what the record holds."""
    path = tmp_path / "staging.observed.yaml"
    path.write_text(LAUGHS)
    result = run_with_files(tmp_path, Service, *options)

    assert result.status == 4
    assert result.run is None
    assert re.fullmatch(rf"ERROR: {path}:.*\n+", result.output)
