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

CODES = "executePix.status.values"
ALL_PERMISSIONS = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def document_for_headline(verdict="partial", *entries, allow=("read",), incomplete="", **changes):
    """A document with the members that a headline reads."""
    blank = document_with()
    environment = {"name": "staging", "base_url": "https://staging.example.test", "sandbox": False, "allow": allow}
    environment |= {"fail_on": ("documented", "robustness")}
    members = {
        "verdict": RunVerdict(verdict),
        "incomplete": incomplete,
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


KNOWN = reported_requirement("executePix.digit.type", known_failure="fixed in 2.4")
UNTIL = KNOWN.model_copy(update={"known_until": "2027-01-31"})
LATER = KNOWN.model_copy(update={"known_until": "2027-02-28"})
FAILING = reported_requirement("executePix.digit.present")
CRASH = reported_requirement("executePix.serverError")
DRIFT = (Drift(id="executePix.refusal", situation="", place="", was="401", now="403"),)
SINCE = "drift since the record of 2026-11-20"
CUT = (CutShort(why="limits.requests (300) is spent", operations=("createPix",)),)
WHOLE = {"documented": Coverage(tested=4, testable=4)}


@pytest.mark.parametrize(
    ("run_document", "line"),
    [
        (document_for_headline(), "PARTIAL, read only: no failure, {}"),
        (
            document_for_headline("interrupted", FAILING, CRASH),
            "INTERRUPTED, read only: the run was stopped; fails 1 documented and 1 robustness requirements, {}",
        ),
        (
            document_for_headline("conformant", allow=ALL_PERMISSIONS, coverage=WHOLE),
            "CONFORMANT, everything permitted: no failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("conformant", UNTIL, allow=ALL_PERMISSIONS, coverage=WHOLE),
            "CONFORMANT except 1 known failure, until 2027-01-31, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("conformant", LATER, UNTIL, KNOWN, allow=ALL_PERMISSIONS, coverage=WHOLE),
            "CONFORMANT except 3 known failures, the first until 2027-01-31, everything permitted: "
            "no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("conformant", KNOWN, allow=ALL_PERMISSIONS, coverage=WHOLE),
            "CONFORMANT except 1 known failure, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (
            document_for_headline("partial", UNTIL),
            "PARTIAL, read only: no failure except 1 known failure, until 2027-01-31, {}",
        ),
        (
            document_for_headline("drifted", KNOWN, drift=DRIFT * 2, incomplete="no operation succeeded"),
            f"DRIFTED, read only: no operation succeeded; no failure except 1 known failure, {{}}; {SINCE}: 2 places",
        ),
        (
            document_for_headline("non-conformant", FAILING, FAILING, CRASH, KNOWN),
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
            document_for_headline(cut=CUT),
            "PARTIAL, read only: no failure, {}; cut short, as limits.requests (300) is spent (createPix)",
        ),
        (
            document_for_headline("unreachable"),
            "UNREACHABLE: the target could not be reached; this is no verdict on the service",
        ),
        (document_for_headline(selection="-k executePix"), "PARTIAL, read only, only -k executePix: no failure, {}"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value.verdict),
)
def test_the_headline_of_a_run(run_document, line):
    """The headline has the verdict first, and counts tested requirements at the levels that fail."""
    assert str(headline(run_document)) == line.format("8 of 117 requirements tested")


def test_every_verdict_has_a_headline():
    """The headline begins with the verdict in capital letters."""
    words = [str(headline(document_for_headline(verdict)).word).lower().replace(" ", "-") for verdict in RunVerdict]

    assert words == [*RunVerdict]


def test_permissions_in_words():
    """The permissions stand in a fixed order, and not in the order of the profile."""
    words = {
        "nothing permitted": [],
        "read only": ["read"],
        "execute transfers only": ["execute"],
        "read, delete keys and send generated requests": ["fuzz", "delete-keys", "read"],
        "everything permitted except to send generated requests": ALL_PERMISSIONS[:-1],
        "everything permitted": ALL_PERMISSIONS,
    }

    assert {str(permissions_in_words(allow)): allow for allow in words.values()} == words


def test_a_report_names_the_last_day_of_a_known_failure():
    """The last day stands in the headline, at the requirement and at its finding."""
    known = KnownFailure("executePix.digit.type", "fixed in 2.4", until=date(2999, 1, 31))
    wrong = finding("type", "/data/digit", name="digit", types="string", type="integer")
    profile = replace(SANDBOX_PROFILE, known_failures=(known,))
    run_document = document_of(run_with_results((known.id, "fail", wrong), profile=profile))

    assert "no failure except 1 known failure, until 2999-01-31, 1 of 1 requirements tested" in run_document.headline
    assert [entry.known_until for entry in (*run_document.requirements, *run_document.findings)] == ["2999-01-31"] * 2


# -- drift in words --------------------------------------------------------------------------------------------------


def document_with_drift(number):
    """The document of a run in which this number of places drift."""
    places = [
        Drift(id=CODES, situation="a" if place else "", place=f"/{place}" if place else "", was="x", now="y")
        for place in range(number)
    ]
    return document_with(drift=places, record=AcceptedRecord(accepted="2026-11-20", suite_version="0.1.0"))


def test_the_number_of_places_that_drift():
    """The text is empty if no place drifts."""
    assert drift_in_words(document_with_drift(0)) == ""
    assert str(drift_in_words(document_with_drift(1))) == "drift since the record of 2026-11-20: 1 place"
    assert str(drift_in_words(document_with_drift(2))) == "drift since the record of 2026-11-20: 2 places"


def test_ten_places_that_drift_are_listed():
    """Each place has a line with the situation, if there is one. Places beyond ten are counted in one line."""
    assert list(drift_lines(document_with_drift(2))) == [f"{CODES}: x → y", f"{CODES}, a, /1: x → y"]
    assert len(list(drift_lines(document_with_drift(10)))) == 10
    assert list(drift_lines(document_with_drift(11)))[10:] == ["1 more"]
