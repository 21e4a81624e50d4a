"""The headline says the verdict, what was permitted, what the verdict rests on and what was left out."""

from dataclasses import replace
from datetime import date

import pytest

from environments.profiles.model import KnownFailure
from reports.formats.conformance_json import document_of
from reports.headline import headline, permitted
from reports.verdicts import RunVerdict
from spec.findings import finding
from tests.selftest.hand_made import SANDBOX, hand_made

EVERYTHING = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def row(row_id, level, verdict, **more):
    return {"id": row_id, "level": level, "verdict": verdict, **more}


def document(verdict="partial", *rows, allow=("read",), **changes):
    """A conformance.json, as far as a headline reads it."""
    where = {"name": "staging", "base_url": "https://staging.example.test", "sandbox": False}
    return {
        "verdict": verdict,
        "incomplete": "",
        "environment": {**where, "allow": list(allow), "fail_on": ["documented", "robustness"]},
        "selection": None,
        "recorded": "",
        "requirements": [*rows, row("executePix.id.type", "documented", "out-of-scope")],
        "coverage": {
            "documented": {"tested": 5, "testable": 84},
            "implied": {"tested": 1, "testable": 45},
            "robustness": {"tested": 3, "testable": 33},
        },
        "traffic": {"requests": 41, "executions": 1, "unknown_outcomes": 0},
        "generated": {"seed": 7, "refused": {}},
        "granted": ["listAccounts"],
        "granted_nothing": [],
        "cut": [],
        "started": "2026-11-22T10:00:00Z",
        "drift": [],
        "record": {"accepted": "2026-11-20", "suite_version": "0.1.0"},
        **changes,
    }


KNOWN = row("executePix.digit.type", "documented", "fail", known_failure="fixed in 2.4")
UNTIL = KNOWN | {"known_until": "2027-01-31"}
LATER = KNOWN | {"known_until": "2027-02-28"}
FAILING = row("executePix.digit.present", "documented", "fail")
CRASH = row("executePix.serverError", "robustness", "fail")
DRIFT = [{"id": "executePix.refusal", "situation": "", "place": "", "was": "401", "is": "403"}]
SINCE = "drift since the record of 2026-11-20"
CUT = [{"why": "limits.requests (300) is spent", "operations": ["createPix"]}]
WHOLE = {"documented": {"tested": 4, "testable": 4}}


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
            "CONFORMANT, everything permitted: no failure, 4 of 4 tested",
        ),
        (
            document("conformant", UNTIL, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 1 known failure, until 2027-01-31, everything permitted: no other failure, 4 of 4 tested",
        ),
        (
            document("conformant", LATER, UNTIL, KNOWN, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 3 known failures, the first until 2027-01-31, everything permitted: "
            "no other failure, 4 of 4 tested",
        ),
        (
            document("conformant", KNOWN, allow=EVERYTHING, coverage=WHOLE),
            "CONFORMANT except 1 known failure, everything permitted: no other failure, 4 of 4 tested",
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
    ids=lambda value: None if isinstance(value, str) else value["verdict"],
)
def test_headline(said, line):
    """One line, with the verdict first. What was tested is counted at the levels that fail."""
    assert str(headline(said)) == line.format("8 of 117 tested")


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

    assert {str(permitted(allow)): allow for allow in words.values()} == words


def test_a_run_says_how_long_a_failure_is_known():
    """In the headline, at the requirement and at its finding."""
    known = KnownFailure("executePix.digit.type", "fixed in 2.4", until=date(2999, 1, 31))
    wrong = finding("type", "/data/digit", name="digit", types="string", type="integer")
    profile = replace(SANDBOX, known_failures=(known,))
    made = document_of(hand_made((known.id, "fail", wrong), profile=profile))

    assert "no failure except 1 known failure, until 2999-01-31, 1 of 1 tested" in made["headline"]
    assert [one["known_until"] for one in (*made["requirements"], *made["findings"])] == ["2999-01-31"] * 2
