"""The headline says the verdict, what was permitted, what the verdict rests on and what was left out."""

from dataclasses import replace
from datetime import date

import pytest

from environments.profiles.model import KnownFailure
from reports.observed.behaviour import Drift
from reports.outputs.conformance_json import document_of
from reports.result.document import AcceptedRecord, CutShort
from reports.result.verdicts import Coverage, RunVerdict
from reports.sentences.headline import drift_in_words, drift_lines, headline, permissions_in_words
from spec.findings import finding
from tests.selftest.hand_made import SANDBOX_PROFILE, document_with, reported_requirement, run_with_results

STATUS_VALUES = "executePix.status.values"
ALL_PERMISSIONS = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def document_for_headline(verdict="partial", *entries, allow=("read",), incomplete="", **changes):
    """The content of conformance.json with what a headline reads: the verdict, and requirements (`entries`).

    `allow` is what the profile permits, `incomplete` is the reason why the run is incomplete, and `changes` are other
    members.
    """
    blank = document_with()
    environment = {"name": "staging", "base_url": "https://staging.example.test", "sandbox": False, "allow": allow}
    environment |= {"fail_on": ("documented", "robustness")}
    members = {
        "verdict": RunVerdict(verdict),
        "why_incomplete": incomplete,
        "environment": blank.environment.model_copy(update=environment),
        "requirements": (*entries, reported_requirement("executePix.id.type", "out-of-scope")),
        "coverage": {
            "documented": Coverage(tested=5, testable=84),
            "implied": Coverage(tested=1, testable=45),
            "robustness": Coverage(tested=3, testable=33),
        },
        "granted": ("listAccounts",),
        "record": AcceptedRecord(accepted="2026-11-20", suite_version="0.1.0"),
    }
    return blank.model_copy(update=members | changes)


KNOWN_FAILURE = reported_requirement("executePix.digit.type", known_failure="fixed in 2.4")
KNOWN_UNTIL_JANUARY = KNOWN_FAILURE.model_copy(update={"known_until": "2027-01-31"})
KNOWN_UNTIL_FEBRUARY = KNOWN_FAILURE.model_copy(update={"known_until": "2027-02-28"})
FAILURE_OF_DIGIT = reported_requirement("executePix.digit.present")
SERVER_ERROR = reported_requirement("executePix.serverError")
DRIFT = (Drift(id="executePix.refusal", situation="", place="", was="401", now="403"),)
DRIFT_IN_WORDS = "drift since the record of 2026-11-20"
CUT_SHORT_BY_A_LIMIT = (CutShort(why="limits.requests (300) is spent", operations=("createPix",)),)
EVERYTHING_TESTED = {"documented": Coverage(tested=4, testable=4)}


@pytest.mark.parametrize(
    ("run_document", "line"),
    [
        (document_for_headline(), "PARTIAL, read only: no failure, {}"),
        (
            document_for_headline("interrupted", FAILURE_OF_DIGIT, SERVER_ERROR),
            "INTERRUPTED, read only: the run was stopped; fails 1 documented and 1 robustness requirements, {}",
        ),
        (
            document_for_headline("conformant", allow=ALL_PERMISSIONS, coverage=EVERYTHING_TESTED),
            "CONFORMANT, everything permitted: no failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("conformant", KNOWN_UNTIL_JANUARY, allow=ALL_PERMISSIONS, coverage=EVERYTHING_TESTED),
            "CONFORMANT except 1 known failure, until 2027-01-31, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline(
                "conformant",
                KNOWN_UNTIL_FEBRUARY,
                KNOWN_UNTIL_JANUARY,
                KNOWN_FAILURE,
                allow=ALL_PERMISSIONS,
                coverage=EVERYTHING_TESTED,
            ),
            "CONFORMANT except 3 known failures, the first until 2027-01-31, everything permitted: "
            "no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("conformant", KNOWN_FAILURE, allow=ALL_PERMISSIONS, coverage=EVERYTHING_TESTED),
            "CONFORMANT except 1 known failure, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("partial", KNOWN_UNTIL_JANUARY),
            "PARTIAL, read only: no failure except 1 known failure, until 2027-01-31, {}",
        ),
        (
            document_for_headline("drifted", KNOWN_FAILURE, drift=DRIFT * 2, incomplete="no operation succeeded"),
            f"DRIFTED, read only: no operation succeeded; no failure except 1 known failure, {{}}; {DRIFT_IN_WORDS}: 2 places",
        ),
        (
            document_for_headline("non-conformant", FAILURE_OF_DIGIT, FAILURE_OF_DIGIT, SERVER_ERROR, KNOWN_FAILURE),
            "NON-CONFORMANT, read only: fails 2 documented and 1 robustness requirements besides 1 known failure, {}",
        ),
        (
            document_for_headline("incomplete", incomplete="2 documented requirements in scope were not exercised"),
            "INCOMPLETE, read only: 2 documented requirements in scope were not exercised; no failure, {}",
        ),
        (
            document_for_headline(granted_nothing=["getBalance", "listEntries"]),
            "PARTIAL, read only: no failure, {}; no request to getBalance and listEntries succeeded",
        ),
        (
            document_for_headline(cut=CUT_SHORT_BY_A_LIMIT),
            "PARTIAL, read only: no failure, {}; cut short, as limits.requests (300) is spent (createPix)",
        ),
        (
            document_for_headline("unreachable"),
            "UNREACHABLE: the target could not be reached; this is no verdict on the service",
        ),
        (document_for_headline(selection="-k executePix"), "PARTIAL, read only, only -k executePix: no failure, {}"),
    ],
    ids=[
        "partial",
        "stopped by the user, with two failures",
        "everything was tested",
        "a known failure with a last day",
        "three known failures, two with a last day",
        "a known failure without a last day",
        "partial, with a known failure",
        "drift in two places",
        "failures besides a known one",
        "something was not tested",
        "operations without success",
        "a limit was reached",
        "the service cannot be reached",
        "a selection of requirements",
    ],
)
def test_the_headline_of_a_run(run_document, line):
    """The headline of a run has the verdict, what the profile permits, the failures, and how many requirements were
    tested.

    Known failures are those that the profile lists. Requirements at levels that only warn are not counted. {} stands
    for the usual count.
    """
    expected_line = line.format("8 of 117 requirements tested")

    assert str(headline(run_document)) == expected_line


def test_every_verdict_has_a_headline():
    """The headline of each verdict begins with the verdict itself, in capital letters, such as NOT-ROBUST for not-robust.

    A blank may stand in the place of a hyphen.
    """
    first_words = [str(headline(document_for_headline(verdict)).word) for verdict in RunVerdict]
    expected_words = [verdict.value.upper() for verdict in RunVerdict]

    assert [word.replace(" ", "-") for word in first_words] == expected_words


@pytest.mark.parametrize(
    ("permissions", "text"),
    [
        ([], "nothing permitted"),
        (["read"], "read only"),
        (["execute"], "execute transfers only"),
        (["fuzz", "delete-keys", "read"], "read, delete keys and send generated requests"),
        (
            ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute"],
            "everything permitted except to send generated requests",
        ),
        (ALL_PERMISSIONS, "everything permitted"),
    ],
    ids=str,
)
def test_permissions_in_words(permissions, text):
    """The headline says in words what the profile permits, in a fixed order, whatever their order in the profile is."""
    assert str(permissions_in_words(permissions)) == text


def test_a_report_names_the_last_day_of_a_known_failure():
    """The last day of a known failure stands in the headline, at its requirement, and at its finding.

    A known failure is one that the profile lists, so that it does not fail the run until its last day.
    """
    known = KnownFailure("executePix.digit.type", "fixed in 2.4", until=date(2999, 1, 31))
    wrong = finding("type", "/data/digit", name="digit", types="string", type="integer")
    profile = replace(SANDBOX_PROFILE, known_failures=(known,))
    run_document = document_of(run_with_results((known.id, "fail", wrong), profile=profile))

    [requirement] = run_document.requirements
    [cause] = run_document.findings

    assert "no failure except 1 known failure, until 2999-01-31, 1 of 1 requirements tested" in run_document.headline
    assert (requirement.known_until, cause.known_until) == ("2999-01-31", "2999-01-31")


# -- drift in words --------------------------------------------------------------------------------------------------


def document_with_drift(number):
    """The document of a run in which the service differs from the record at this number of places (drift)."""
    places = [Drift(id=STATUS_VALUES, situation="a", place=f"/{place}", was="x", now="y") for place in range(number)]
    return document_with(drift=places, record=AcceptedRecord(accepted="2026-11-20", suite_version="0.1.0"))


@pytest.mark.parametrize(
    ("number_of_places", "text"),
    [
        (0, ""),
        (1, "drift since the record of 2026-11-20: 1 place"),
        (2, "drift since the record of 2026-11-20: 2 places"),
    ],
)
def test_the_number_of_places_that_drift(number_of_places, text):
    """The headline counts the places at which the service differs from what an earlier run recorded (drift).

    If no place differs, the text is empty.
    """
    assert str(drift_in_words(document_with_drift(number_of_places))) == text


def test_each_place_that_drifts_has_a_line():
    """A line about drift has the requirement, and both values: what an earlier run recorded, and what is there now.

    It also has the situation, which is the kind of request, and the place in the answer, if they are known.
    """
    drift = Drift(id=STATUS_VALUES, situation="", place="", was="DONE", now="PAID")
    drift_at_a_place = drift.model_copy(update={"situation": "a supplied code", "place": "/data/status"})

    lines = list(drift_lines(document_with(drift=[drift, drift_at_a_place])))

    assert lines == [
        f"{STATUS_VALUES}: DONE → PAID",
        f"{STATUS_VALUES}, a supplied code, /data/status: DONE → PAID",
    ]


def test_ten_places_that_drift_are_listed():
    """Of eleven differences from an earlier run (drift) ten are listed, and the last line is `1 more`."""
    lines_of_ten = list(drift_lines(document_with_drift(10)))
    lines_of_eleven = list(drift_lines(document_with_drift(11)))

    assert len(lines_of_ten) == 10
    assert lines_of_eleven == [*lines_of_ten, "1 more"]
