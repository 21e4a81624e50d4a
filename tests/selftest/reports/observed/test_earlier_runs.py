"""The record of what was observed of a service: how it is written and read, and what a run does with it.

People read the record, so its text is compared as a whole. Anybody may have written it, so it is read with care.
"""

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

from environments.profiles.model import today
from environments.sandbox import Service
from reports.observed.behaviour import behaviour, behaviour_of_data
from reports.observed.earlier_runs import (
    MOST_BYTES_OF_RECORD,
    UnreadableError,
    merged_behaviour,
    read_record,
    record_of,
    write_record,
)
from reports.result.answer_counts import AnswersToValidToken
from reports.result.provenance import VERSION
from spec.facts import facts_of, words_as_facts
from spec.requirements import requirements
from tests.harness.reporter import accept_behaviour
from tests.selftest.shared_runs import run_with_files, shared_run

STATUS_VALUES, UNKNOWN_CODE, SIZE_LIMIT = "executePix.status.values", "executePix.unknownCode", "general.sizeLimit"
ANSWER = words_as_facts("404 application/json [Allow: present]") | facts_of({"error": None, "data": {"keys": []}})
BEHAVIOUR = behaviour(
    [
        (UNKNOWN_CODE, "without a token", ANSWER),
        (STATUS_VALUES, "", words_as_facts("DONE")),
        (STATUS_VALUES, "", words_as_facts("NO")),
    ]
)
RECORD = record_of("staging", BEHAVIOUR)
TEXT_OF_RECORD = (
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
"""The text of RECORD: a comment that says what the file is, and the requirements in their order, each place on a line."""


@pytest.fixture
def write_file(tmp_path):
    """A function that writes a file of observations with this content, a text or bytes, and returns its path."""

    def write_record_file(content):
        path = tmp_path / "staging.observed.yaml"
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    return write_record_file


def test_a_record_is_read_as_it_was_written(tmp_path):
    """A record that is written to a file and read again is the same, and so is the behaviour in it.

    A record is a file with what was observed of a service, so that later runs can be compared with it.
    """
    path = tmp_path / "staging.observed.yaml"

    write_record(path, RECORD)

    assert path.read_text("utf-8") == TEXT_OF_RECORD
    assert read_record(path) == RECORD
    assert behaviour_of_data(RECORD.observations, str) == BEHAVIOUR


def test_there_is_no_record_without_a_file(tmp_path):
    """A record whose file does not exist is None, which is no error."""
    assert read_record(tmp_path / "absent.observed.yaml") is None


def test_a_record_keeps_requirements_that_the_run_did_not_exercise():
    """If a run accepts what it observed, the record keeps requirements and situations that this run did not see.

    A record is a file with what was observed of a service. Its requirements are in the order of the interface
    document.
    """
    new_behaviour = behaviour(
        [
            (SIZE_LIMIT, "", words_as_facts("none")),
            (UNKNOWN_CODE, "again", words_as_facts("410")),
            (STATUS_VALUES, "", words_as_facts("PAID")),
        ]
    )
    accepted_behaviour = merged_behaviour(BEHAVIOUR, new_behaviour)

    assert accepted_behaviour == {
        STATUS_VALUES: {"": words_as_facts("PAID")},
        UNKNOWN_CODE: {"again": words_as_facts("410"), "without a token": ANSWER},
        SIZE_LIMIT: {"": words_as_facts("none")},
    }
    assert list(accepted_behaviour) == [id for id in requirements() if id in (STATUS_VALUES, UNKNOWN_CODE, SIZE_LIMIT)]


def test_a_record_keeps_facts_of_items_if_the_list_was_empty():
    """A record (a file with what was observed of a service) keeps what it says of list items if the list is empty now.

    An empty list says nothing of its items. Any other answer replaces what the record says.
    """
    with_an_item = words_as_facts("404") | facts_of({"keys": ["a"]})
    with_empty_list = words_as_facts("404") | facts_of({"keys": []})
    another_answer = words_as_facts("410")
    recorded = behaviour([(UNKNOWN_CODE, "", with_an_item)])

    after_empty_list = merged_behaviour(recorded, behaviour([(UNKNOWN_CODE, "", with_empty_list)]))
    after_another_answer = merged_behaviour(recorded, behaviour([(UNKNOWN_CODE, "", another_answer)]))

    assert after_empty_list == {UNKNOWN_CODE: {"": with_an_item}}
    assert after_another_answer == {UNKNOWN_CODE: {"": another_answer}}


def record_with(**members):
    """The text of the record TEXT_OF_RECORD, in YAML, in which these members are changed or added."""
    record = yaml.safe_load(TEXT_OF_RECORD)
    return yaml.safe_dump(record | members)


def record_with_observed(places):
    """The text of a record with these facts of executePix.unknownCode alone, by place: {"/data": ["object"]}."""
    return record_with(observations={UNKNOWN_CODE: {"": places}})


NESTED_ALIASES = "a: &a [x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi"))
NOT_YAML, ODD = "not YAML as --accept writes it", "is not as the suite writes it"
BAD = {
    "a list": ("- planted", "not as the suite writes it"),
    "not UTF-8": (b"\xff\xfe", NOT_YAML),
    "an alias": (NESTED_ALIASES, NOT_YAML),
    "a key twice": (TEXT_OF_RECORD + "format: 2\n", NOT_YAML),
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
    """A file that is not a record as the suite writes it is refused with one line, which repeats nothing of the file.

    The line names the file, what is wrong and what to do. Anybody may have written the file, so its content is not
    printed.
    """
    path = write_file(content)
    with pytest.raises(UnreadableError) as error:
        read_record(path)
    line = str(error.value)

    assert re.fullmatch(rf"{path}:.*{reason}; restore the file, or delete it and run pytest --accept", line)
    assert "planted" not in line


# -- runs -----------------------------------------------------------------------------------------------------------

ACCOUNTS, BALANCE = "listAccounts.shape", "getBalance.shape"
LINE_ABOUT_DRIFT = f"{ACCOUNTS}: 200 application/json → 201 application/json"


class AnswersListsWith201(Service):
    """Answers the list of accounts with 201. A run warns of that, and it differs from the record (drift)."""

    def finish(self, request, operation, response):
        """Change the status of a successful list of accounts to 201."""
        if operation == "listAccounts" and response.status == 200:
            return replace(response, status=201)
        return response


SELECTED = ("-k", f"{ACCOUNTS} or {BALANCE}")


@pytest.fixture(scope="module")
def runs_around_a_record(tmp_path_factory):
    """Three runs of two requirements about reads in one folder, which has a record (`path`) of an earlier version.

    `accepted` writes what it observed of the sandbox to the record (--accept). `drifted` and `failing` see a service that
    answers the list of accounts with 201. The profile of `failing` says `drift: fail`.
    """
    folder = tmp_path_factory.mktemp("record")
    path = folder / "staging.observed.yaml"
    path.write_text(TEXT_OF_RECORD.replace(STATUS_VALUES, "executePix.gone"))  # a requirement that exists no more
    accepted = run_with_files(folder, Service, *SELECTED, "--accept", allow=["read"])
    accepted_document = accepted.document
    record = path.read_bytes()
    drifted = run_with_files(folder, AnswersListsWith201, *SELECTED, allow=["read"])
    drifted_document, drifted_page = drifted.document, drifted.text("report.html")
    drifted_case = case_of_run_in_junit(drifted)
    failing = run_with_files(folder, AnswersListsWith201, *SELECTED, allow=["read"], drift="fail")
    return SimpleNamespace(
        path=path,
        record=record,
        accepted=accepted,
        accepted_document=accepted_document,
        drifted=drifted,
        drifted_document=drifted_document,
        drifted_page=drifted_page,
        drifted_case=drifted_case,
        failing=failing,
    )


def test_a_run_writes_what_it_observed(runs_around_a_record):
    """A run with --accept writes what it observed to a record, a file beside the profile that only its owner can read.

    Later runs only read it.
    """
    runs = runs_around_a_record
    observations = read_record(runs.path).observations

    assert {id: observations[id] for id in (ACCOUNTS, BALANCE)} == runs.accepted_document["observed"]
    assert runs.path.stat().st_mode & 0o777 == 0o600
    assert f"\naccepted: {runs.path} (3 requirements)\n" in runs.accepted.output
    assert runs.accepted.status == 0
    assert runs.path.read_bytes() == runs.record


def test_a_requirement_that_the_suite_does_not_know_is_left_out_of_the_new_record(runs_around_a_record):
    """A new record leaves out a requirement that the suite no longer has, and keeps others that were not observed now.

    The earlier record has executePix.gone, which does not exist, and executePix.unknownCode. The run observes only two
    other requirements.
    """
    observations = read_record(runs_around_a_record.path).observations

    assert list(observations) == [ACCOUNTS, BALANCE, UNKNOWN_CODE]


def test_each_report_of_a_later_run_shows_what_differs_from_the_record(runs_around_a_record):
    """If a service differs from the record (drift), conformance.json, the terminal and the page show the difference.

    The drift does not fail the run, so junit.xml has no failure.
    """
    runs = runs_around_a_record
    change = {"id": ACCOUNTS, "situation": "", "place": "", "was": "200 application/json", "is": "201 application/json"}

    assert (runs.drifted.status, runs.drifted_document["verdict"]) == (0, "partial")
    assert runs.drifted_document["drift"] == [change]
    assert f"; drift since the record of {today()}: 1 place" in runs.drifted_document["headline"]
    assert f": 1 place\n     {LINE_ABOUT_DRIFT}\n" in runs.drifted.output
    assert 'id="drift"' in runs.drifted_page
    assert "201 application/json" in runs.drifted_page
    assert "failure" not in [part.tag for part in runs.drifted_case]


def test_drift_fails_a_run_if_the_profile_says_so(runs_around_a_record):
    """If the profile says `drift: fail`, a difference from the record fails the run."""
    failing = runs_around_a_record.failing
    texts_of_failures = [part.text for part in case_of_run_in_junit(failing) if part.tag == "failure"]

    assert failing.status == 1
    assert failing.document["verdict"] == "drifted"
    assert LINE_ABOUT_DRIFT in texts_of_failures[0]


def case_of_run_in_junit(result):
    """The test case `run` in junit.xml. It has the verdict of the whole run, and no requirement."""
    cases = ElementTree.fromstring(result.text("junit.xml")).iter("testcase")
    [case_of_run] = [case for case in cases if case.get("name") == "run"]
    return case_of_run


NO_OPERATION_SUCCEEDED = AnswersToValidToken()


def run_that_accepts(**changes):
    """A run after it tried to write what it observed to its record (--accept).

    Without `changes`, which are attributes of the run, it only read and had no trouble.
    """
    run = replace(shared_run("partial").run, finished=None, **changes)
    accept_behaviour(run, str)
    return run


@pytest.mark.parametrize(
    ("change_of_the_run", "reason"),
    [
        ({"errors": ["a fault"]}, "the suite failed"),
        ({"interrupted": True}, "the run was interrupted"),
        ({"unreachable": "gone"}, "the target could not be reached"),
        ({"answers_to_valid_token": NO_OPERATION_SUCCEEDED}, "no operation succeeded"),
        ({"observations": []}, "nothing was observed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_run_is_not_accepted(change_of_the_run, reason):
    """A run that broke off, or in which nothing succeeded, writes no record with --accept, and the message says why.

    The record is a file with what was observed of a service. A stopped run saw only a part of it, and a run with a wrong
    token saw only refusals. Each case is a run without such trouble, in which one thing is changed.
    """
    run = run_that_accepts(**change_of_the_run)
    message = run.acceptance_in_words.partition(";")[0]
    path_of_record = run.profile.record

    assert message == f"not accepted: {reason}"
    assert not path_of_record.exists()


@pytest.mark.parametrize("options", [(), ("--accept",)], ids=["compared", "accepted"])
def test_a_record_that_cannot_be_read_is_one_line_and_exit_4(options, tmp_path):
    """If the record of earlier observations cannot be read, pytest prints one line, starts no run, and ends with 4.

    --accept is refused, too, because it would destroy what the record holds. The record here has aliases of YAML within
    aliases, which would grow without end.
    """
    path = tmp_path / "staging.observed.yaml"
    path.write_text(NESTED_ALIASES)

    result = run_with_files(tmp_path, Service, *options)

    assert result.status == 4
    assert result.run is None
    assert re.fullmatch(rf"ERROR: {path}:.*\n+", result.output)
