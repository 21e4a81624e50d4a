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
from tests.selftest.hand_made import SANDBOX, document_with, hand_made, reported

CODES = "executePix.status.values"
EVERYTHING = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def document(verdict="partial", *entries, allow=("read",), incomplete="", **changes):
    """A document, as far as a headline reads it."""
    blank = document_with()
    where = {"name": "staging", "base_url": "https://staging.example.test", "sandbox": False, "allow": allow}
    where |= {"fail_on": ("documented", "robustness")}
    members = {
        "verdict": RunVerdict(verdict),
        "incomplete": incomplete,
        "environment": blank.environment.model_copy(update=where),
        "requirements": (*entries, reported("executePix.id.type", "out-of-scope")),
        "coverage": {
            "documented": Coverage(tested=5, testable=84),
            "implied": Coverage(tested=1, testable=45),
            "robustness": Coverage(tested=3, testable=33),
        },
        "granted": ("listAccounts",),
        "record": AcceptedRecord(accepted="2026-11-20", suite_version="0.1.0"),
    }
    return blank.model_copy(update=members | changes)


KNOWN = reported("executePix.digit.type", known_failure="fixed in 2.4")
UNTIL = KNOWN.model_copy(update={"known_until": "2027-01-31"})
LATER = KNOWN.model_copy(update={"known_until": "2027-02-28"})
FAILING = reported("executePix.digit.present")
CRASH = reported("executePix.serverError")
DRIFT = (Drift(id="executePix.refusal", situation="", place="", was="401", now="403"),)
SINCE = "drift since the record of 2026-11-20"
CUT = (CutShort(why="limits.requests (300) is spent", operations=("createPix",)),)
WHOLE = {"documented": Coverage(tested=4, testable=4)}


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (document(), "PARTIAL, read only: no failure, {}"),
        (
            document("interrupted", FAILING, CRASH),
            "INTERRUPTED, read only: the run was stopped; fails 1 documented and 1 robustness requirements, {}",
        ),
        (
            document("conformant", allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT, everything permitted: no failure, 4 of 4 requirements tested",
        ),
        (
            document("conformant", UNTIL, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 1 known failure, until 2027-01-31, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (
            document("conformant", LATER, UNTIL, KNOWN, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 3 known failures, the first until 2027-01-31, everything permitted: "
            "no other failure, 4 of 4 requirements tested",
        ),
        (
            document("conformant", KNOWN, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 1 known failure, everything permitted: no other failure, 4 of 4 requirements tested",
        ),
        (document("partial", UNTIL), "PARTIAL, read only: no failure except 1 known failure, until 2027-01-31, {}"),
        (
            document("drifted", KNOWN, drift=DRIFT * 2, incomplete="no operation succeeded"),
            f"DRIFTED, read only: no operation succeeded; no failure except 1 known failure, {{}}; {SINCE}: 2 places",
        ),
        (
            document("non-conformant", FAILING, FAILING, CRASH, KNOWN),
            "NON-CONFORMANT, read only: fails 2 documented and 1 robustness requirements besides 1 known failure, {}",
        ),
        (
            document("incomplete", incomplete="2 documented requirements in scope were not exercised"),
            "INCOMPLETE, read only: 2 documented requirements in scope were not exercised; no failure, {}",
        ),
        (
            document(granted_nothing=["getBalance", "listEntries"]),
            "PARTIAL, read only: no failure, {}; no request to getBalance and listEntries succeeded",
        ),
        (
            document(cut=CUT),
            "PARTIAL, read only: no failure, {}; cut short, as limits.requests (300) is spent (createPix)",
        ),
        (document("unreachable"), "UNREACHABLE: the target could not be reached; this is no verdict on the service"),
        (document(selection="-k executePix"), "PARTIAL, read only, only -k executePix: no failure, {}"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value.verdict),
)
def test_headline(said, line):
    """One line, with the verdict first. What was tested is counted at the levels that fail."""
    assert str(headline(said)) == line.format("8 of 117 requirements tested")


def test_every_verdict_has_a_headline():
    """It begins with the verdict in capital letters."""
    words = [str(headline(document(verdict)).word).lower().replace(" ", "-") for verdict in RunVerdict]

    assert words == [*RunVerdict]


def test_what_is_permitted_is_said_in_words():
    """In the order of the permissions, not of the profile."""
    words = {
        "nothing permitted": [],
        "read only": ["read"],
        "execute transfers only": ["execute"],
        "read, delete keys and send generated requests": ["fuzz", "delete-keys", "read"],
        "everything permitted except to send generated requests": EVERYTHING[:-1],
        "everything permitted": EVERYTHING,
    }

    assert {str(permissions_in_words(allow)): allow for allow in words.values()} == words


def test_a_run_says_how_long_a_failure_is_known():
    """In the headline, at the requirement and at its finding."""
    known = KnownFailure("executePix.digit.type", "fixed in 2.4", until=date(2999, 1, 31))
    wrong = finding("type", "/data/digit", name="digit", types="string", type="integer")
    profile = replace(SANDBOX, known_failures=(known,))
    made = document_of(hand_made((known.id, "fail", wrong), profile=profile))

    assert "no failure except 1 known failure, until 2999-01-31, 1 of 1 requirements tested" in made.headline
    assert [entry.known_until for entry in (*made.requirements, *made.findings)] == ["2999-01-31"] * 2


# -- drift in words --------------------------------------------------------------------------------------------------


def drifted(number):
    """The document of a run in which so many places drift."""
    places = [
        Drift(id=CODES, situation="a" if each else "", place=f"/{each}" if each else "", was="x", now="y")
        for each in range(number)
    ]
    return document_with(drift=places, record=AcceptedRecord(accepted="2026-11-20", suite_version="0.1.0"))


def test_the_number_of_places_that_drift():
    """It is empty if none does."""
    assert drift_in_words(drifted(0)) == ""
    assert str(drift_in_words(drifted(1))) == "drift since the record of 2026-11-20: 1 place"
    assert str(drift_in_words(drifted(2))) == "drift since the record of 2026-11-20: 2 places"


def test_ten_places_that_drift_are_listed():
    """Each with its situation and its place, if it has them; of more it is said how many there are."""
    assert list(drift_lines(drifted(2))) == [f"{CODES}: x → y", f"{CODES}, a, /1: x → y"]
    assert len(list(drift_lines(drifted(10)))) == 10
    assert list(drift_lines(drifted(11)))[10:] == ["1 more"]
