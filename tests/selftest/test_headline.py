"""The headline says the verdict, what was permitted, what the verdict rests on and what was left out."""

import pytest

from reports.headline import headline, permitted, run_line
from reports.verdicts import RunVerdict

EVERYTHING = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def row(row_id, level, verdict, **more):
    return {"id": row_id, "level": level, "verdict": verdict, **more}


def document(verdict="partial", *rows, allow=("read",), tested=5, testable=84, **changes):
    """A conformance.json, as far as a headline reads it."""
    filling = row("executePix.id.type", "documented", "out-of-scope")
    where = {"name": "staging", "base_url": "https://staging.example.test", "sandbox": False}
    return {
        "verdict": verdict,
        "incomplete": "",
        "environment": {**where, "allow": list(allow), "fail_on": ["documented", "robustness"]},
        "selection": None,
        "requirements": [*rows, filling],
        "coverage": {
            "documented": {"tested": tested, "testable": testable},
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
FAILING = row("executePix.digit.present", "documented", "fail")
CRASH = row("executePix.serverError", "robustness", "fail")
DRIFT = [{"id": "executePix.refusal", "situation": "", "place": "", "was": "401", "is": "403"}] * 2
TESTED = "8 of 117 tested"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (document(), f"PARTIAL, read only: no failure, {TESTED}"),
        (document("interrupted"), f"INTERRUPTED, read only: the run was stopped; no failure, {TESTED}"),
        (
            document("interrupted", FAILING, CRASH),
            "INTERRUPTED, read only: the run was stopped; 1 documented and 1 robustness requirements fail, " + TESTED,
        ),
        (
            document("conformant", allow=EVERYTHING, tested=84, coverage={"documented": {"tested": 4, "testable": 4}}),
            "CONFORMANT, everything permitted: no failure, 4 of 4 tested",
        ),
        (
            document(drift=DRIFT[:1]),
            f"PARTIAL, read only: no failure, {TESTED}; drift since the record of 2026-11-20: 1 place",
        ),
        (
            document("drifted", drift=DRIFT),
            f"DRIFTED, read only: no failure, {TESTED}; drift since the record of 2026-11-20: 2 places",
        ),
        (
            document("drifted", KNOWN, drift=DRIFT, incomplete="no operation granted anything"),
            f"DRIFTED, read only: no operation granted anything; no failure except 1 known failure, {TESTED}; "
            "drift since the record of 2026-11-20: 2 places",
        ),
        (
            document("non-conformant", FAILING, drift=DRIFT),
            f"NON-CONFORMANT, read only: 1 documented requirement fails, {TESTED}; "
            "drift since the record of 2026-11-20: 2 places",
        ),
        (document("partial", KNOWN), f"PARTIAL, read only: no failure except 1 known failure, {TESTED}"),
        (
            document("non-conformant", FAILING, FAILING, CRASH, KNOWN),
            "NON-CONFORMANT, read only: 2 documented and 1 robustness requirements fail besides 1 known failure, "
            + TESTED,
        ),
        (document("not-robust", CRASH), f"NOT ROBUST, read only: 1 robustness requirement fails, {TESTED}"),
        (
            document("incomplete", incomplete="2 documented requirements in scope were not exercised"),
            "INCOMPLETE, read only: 2 documented requirements in scope were not exercised; no failure, " + TESTED,
        ),
        (
            document(granted_nothing=["getBalance", "listEntries"]),
            f"PARTIAL, read only: no failure, {TESTED}; nothing was granted by getBalance and listEntries",
        ),
        (
            document(cut=[{"why": "limits.requests (300) is spent", "operations": ["createPix"]}]),
            f"PARTIAL, read only: no failure, {TESTED}; cut short, as limits.requests (300) is spent (createPix)",
        ),
        (
            document("unreachable"),
            "UNREACHABLE: the target could not be reached; this is no verdict on the service",
        ),
        (
            document(selection="-k executePix.document"),
            f"PARTIAL, read only, only -k executePix.document: no failure, {TESTED}",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else value["verdict"],
)
def test_headline(said, line):
    """One line, with the verdict first. What was tested is counted at the levels that fail."""
    assert str(headline(said)) == line


@pytest.mark.parametrize("verdict", RunVerdict)
def test_every_verdict_has_a_headline(verdict):
    """It begins with the verdict in capital letters."""
    assert str(headline(document(verdict)).word).lower().replace(" ", "-") == verdict


@pytest.mark.parametrize(
    ("allow", "words"),
    [
        ([], "nothing permitted"),
        (["read"], "read only"),
        (["execute"], "execute transfers only"),
        (["read", "register-keys"], "read and register keys"),
        (["fuzz", "delete-keys", "read"], "read, delete keys and send generated requests"),
        (EVERYTHING[:-1], "everything permitted except to send generated requests"),
        (EVERYTHING, "everything permitted"),
    ],
)
def test_what_is_permitted_is_said_in_words(allow, words):
    """In the order of the permissions, not of the profile."""
    assert str(permitted(allow)) == words


@pytest.mark.parametrize(("sandbox", "words"), [(True, "a sandbox"), (False, "no sandbox")])
def test_where_the_run_went(sandbox, words):
    """Sandbox or not, and the transfers executed; the seed is named only where requests were generated."""
    said = document(
        generated={"seed": 7, "refused": {"getBalance": {}}},
        traffic={"requests": 1, "executions": 3, "unknown_outcomes": 0},
    )
    said["environment"]["sandbox"] = sandbox

    assert str(run_line(said)) == (
        f"staging at https://staging.example.test, {words}: 3 transfers executed, 1 request; generated with --seed=7"
    )
