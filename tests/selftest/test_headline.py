"""The headline says the verdict, what was permitted, what the verdict rests on and what was left out."""

import pytest

from reports.headline import headline, permitted, run_line
from reports.verdicts import RunVerdict
from spec.requirements import ledger

EVERYTHING = ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"]


def row(row_id, level, verdict, **more):
    return {"id": row_id, "level": level, "verdict": verdict, **more}


def document(verdict="conformant", *rows, allow=("read",), tested=5, testable=117, **changes):
    """A conformance.json of so many requirements that nothing was selected, as far as a headline reads it."""
    filling = [row(f"a.{number}", "documented", "out-of-scope") for number in range(len(ledger()) - len(rows))]
    return {
        "verdict": verdict,
        "incomplete": "",
        "environment": {"name": "staging", "base_url": "https://staging.example.test", "allow": list(allow)},
        "selection": None,
        "requirements": [*rows, *filling],
        "coverage": {"documented": {"tested": tested, "testable": testable}},
        "traffic": {"requests": 41, "executions": 1},
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
TESTED = "5 of 117 testable documented requirements tested"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (document(), f"CONFORMANT, read only: {TESTED}"),
        (
            document("interrupted"),
            f"INTERRUPTED, read only: the run was stopped; the report has what it found until then; {TESTED}",
        ),
        (
            document("interrupted", tested=0),
            "INTERRUPTED, read only: the run was stopped before anything was tested; this is no verdict on the service",
        ),
        (
            document(allow=EVERYTHING, tested=117),
            "CONFORMANT, everything permitted: all 117 testable documented requirements tested",
        ),
        (document(drift=DRIFT[:1]), f"CONFORMANT, read only: {TESTED}; 1 place drifts from the record of 20 Nov"),
        (
            document("drifted", drift=DRIFT),
            f"DRIFTED, read only: nothing failed, but 2 places drift from the record of 20 Nov; {TESTED}",
        ),
        (
            document("drifted", KNOWN, drift=DRIFT, incomplete="no operation granted anything"),
            "DRIFTED, read only: nothing failed except 1 known failure, but 2 places drift from the record of 20 Nov; "
            f"no operation granted anything; {TESTED}",
        ),
        (
            document("non-conformant", FAILING, drift=DRIFT),
            f"NON-CONFORMANT, read only: 1 documented requirement fails; {TESTED}; "
            "2 places drift from the record of 20 Nov",
        ),
        (document("conformant", KNOWN), f"CONFORMANT except 1 known failure, read only: {TESTED}"),
        (
            document("non-conformant", FAILING),
            f"NON-CONFORMANT, read only: 1 documented requirement fails; {TESTED}",
        ),
        (
            document("non-conformant", FAILING, FAILING, CRASH, KNOWN),
            "NON-CONFORMANT, read only: 2 documented and 1 robustness requirements fail, besides 1 known failure; "
            + TESTED,
        ),
        (
            document("not-robust", CRASH),
            f"NOT ROBUST, read only: no documented requirement fails, but 1 robustness requirement fails; {TESTED}",
        ),
        (
            document("incomplete", incomplete="2 documented requirements in scope were not exercised"),
            f"INCOMPLETE, read only: nothing failed, but 2 documented requirements in scope were not exercised; {TESTED}",
        ),
        (
            document("incomplete", KNOWN, incomplete="no operation granted anything", granted=[]),
            "INCOMPLETE, read only: nothing failed except 1 known failure, but no operation granted anything; "
            + TESTED,
        ),
        (
            document(granted_nothing=["getBalance", "listEntries"]),
            f"CONFORMANT, read only: {TESTED}; nothing was granted by getBalance and listEntries",
        ),
        (
            document(cut=[{"why": "limits.requests (300) is spent", "operations": ["createPix"]}]),
            f"CONFORMANT, read only: {TESTED}; cut short, as limits.requests (300) is spent (createPix)",
        ),
        (
            document("unreachable"),
            "UNREACHABLE: the target could not be reached; this is no verdict on the service",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else value["verdict"],
)
def test_headline(said, line):
    """One line, with the verdict first."""
    assert str(headline(said)) == line


def test_a_selection_is_about_what_was_selected():
    """The requirements that were not selected are not counted."""
    said = document(tested=4, testable=4, selection="-k executePix.document")
    said["requirements"] = said["requirements"][:5]

    assert str(headline(said)) == (
        "CONFORMANT, read only, only -k executePix.document: all 4 selected testable documented requirements tested"
    )


def test_a_selection_without_a_documented_requirement():
    """It counts the level that it has."""
    said = document(coverage={"robustness": {"tested": 3, "testable": 33}}, selection="-k serverError")

    assert str(headline(said)).endswith(": 3 of 33 testable robustness requirements tested")


def test_one_requirement_is_said_in_the_singular():
    """A selection may hold a single requirement that can be tested."""
    said = document(coverage={"documented": {"tested": 1, "testable": 1}})

    assert str(headline(said)).endswith(": the 1 testable documented requirement was tested")


@pytest.mark.parametrize("verdict", RunVerdict)
def test_every_verdict_has_a_headline(verdict):
    """It begins with the verdict in capital letters."""
    assert headline(document(verdict)).word.lower().replace(" ", "-") == verdict


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
    assert permitted(allow) == words


def test_where_the_run_went():
    """The seed is named only where requests were generated."""
    said = document(generated={"seed": 7, "refused": {"getBalance": {}}}, traffic={"requests": 1, "executions": 0})

    assert run_line(said) == (
        "staging at https://staging.example.test: 1 request, 0 executions; generated with --seed=7"
    )
