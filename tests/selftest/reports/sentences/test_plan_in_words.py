"""The lines of a plan, made from a few requests by hand."""

from dataclasses import replace

import pytest

from environments.profiles.model import PixKey, Transactions
from reports.sentences.plan import Plan, plan_lines
from tests.selftest.exchanges import answer, registration
from tests.selftest.hand_made import SANDBOX_PROFILE

ADDRESS = "https://staging.example.test"
NO_SANDBOX = replace(
    SANDBOX_PROFILE, base_url=ADDRESS, sandbox=None, transactions=Transactions(codes=("A", "B")), redirected=None
)
ON_A_SANDBOX = replace(NO_SANDBOX, sandbox=ADDRESS)
READS_ONLY = replace(NO_SANDBOX, allow=frozenset({"read"}))


def execution(number, code, *, credential="valid", part=""):
    """An execution of this code, with the valid token or another credential."""
    options = {"path": f"/v1/execute/pix/{code}", "credential": credential, "part": part}
    exchange = answer("executePix", {}, valid=credential == "valid", **options)
    return replace(exchange, number=number)


def lines_of_plan(*exchanges, profile=NO_SANDBOX, selected=None, **plan):
    """The lines of a plan with these requests."""
    return list(plan_lines(Plan(exchanges=exchanges, **plan), profile, "a journal", selected))


def lines_about_executions(*exchanges, **options):
    """The lines of a plan about executions."""
    plan = lines_of_plan(*exchanges, **options)
    start, end = plan.index("what moves money:") + 1, plan.index("journal: a journal")
    return [line.strip() for line in plan[start:end]]


UNSEEN = "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"


@pytest.mark.parametrize(
    ("executions", "expected_lines"),
    [
        ([execution(1, "A")], ["each once: number 1 of transactions.codes", UNSEEN]),
        ([execution(1, "B"), execution(2, "A")], ["each once: number 2 and number 1 of transactions.codes", UNSEEN]),
        ([execution(1, "MADE")], ["each once: 1 that the run prepares", UNSEEN]),
        (
            [execution(1, "A", credential="no header"), execution(2, "B", credential="no header"), execution(3, "A")],
            [
                "each once: number 1 of transactions.codes",
                "number 1 of transactions.codes: 1 times without the valid token first; a service that ignores tokens executes it then",
                UNSEEN,
            ],
        ),
        (
            [execution(1, "MADE"), execution(2, "MADE", credential="no header")],
            [
                "each once: 1 that the run prepares",
                "a code that the run prepares: 0 times without the valid token first; a service that ignores tokens executes it then",
                UNSEEN,
            ],
        ),
    ],
)
def test_the_plan_names_each_execution_by_the_place_of_its_code(executions, expected_lines):
    """The place is that in transactions.codes. Requests without a valid token before the execution are counted."""
    assert lines_about_executions(*executions) == expected_lines


def test_on_a_sandbox_no_fault_is_listed_as_unseen():
    """A transfer may be executed twice on a sandbox, so a run can see whether money moves twice."""
    twice = execution(2, "MADE", part="sequences")

    assert lines_about_executions(execution(1, "A"), profile=ON_A_SANDBOX) == [
        "each once: number 1 of transactions.codes"
    ]
    assert lines_about_executions(execution(1, "A"), twice, profile=ON_A_SANDBOX)[1:] == [
        "1 more that the run prepares, as steps of sequences; some of them are executed a second time"
    ]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"denied": frozenset({"executePix"}), "executes": True}, "it needs execute in allow"),
        ({}, "nothing that was selected needs one"),
        ({"executes": True, "journal_trouble": "none"}, "the next line says why; --plan --new-journal prints what "),
        ({"executes": True}, "there is no code in transactions.codes, and no transactions.prepare"),
    ],
)
def test_why_there_is_no_execution(plan, reason):
    """The line gives the first reason that fits."""
    (line,) = lines_about_executions(**plan)

    assert line.startswith(f"no execution: {reason}")


def test_a_code_that_an_earlier_run_sent_has_a_line():
    """The line names the code by its place in the profile.

    The second line has the limit that left out executions. No line says that there is no execution.
    """
    expected_lines = [
        "not sent, because the journal says that an earlier run sent it: number 2 of transactions.codes",
        "a limit",
    ]

    assert lines_about_executions(barred=["B"], cut=["a limit"], executes=True) == expected_lines


def test_the_first_line_names_the_target():
    """The line has the target, if it is a sandbox, and the selection.

    If --base-url gives the address, the second line says what that means.
    """
    assert lines_of_plan()[0].endswith(f" would send to {ADDRESS}, not a sandbox, if answered as documented:")
    assert f" {ADDRESS}, a sandbox, only x, if " in lines_of_plan(profile=ON_A_SANDBOX, selected="x")[0]
    for redirected in ("", "--base-url: it only reads"):
        lines = lines_of_plan(profile=replace(NO_SANDBOX, redirected=redirected))
        assert f" {ADDRESS} (of --base-url, not that of the profile), not a sandbox" in lines[0]
        assert (lines[1] == f"  {redirected}") is bool(redirected)
    assert not lines_of_plan()[1].startswith("  --base-url")


def test_operations_without_permission_are_listed_as_out_of_scope():
    """Each selected operation without its permission is listed."""
    assert "out of scope: no operation" in lines_of_plan()
    lines = lines_of_plan(denied=frozenset({"createPix", "executePix"}), profile=READS_ONLY)
    start = lines.index("out of scope:")
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["executePix", "createPix"]
    assert lines[start + 3].startswith("  generated and malformed requests: need fuzz in allow")


KEYS = (PixKey("EMAIL", "a@b.example", disposable=True), PixKey("PHONE", "+551199"), PixKey("RANDOM", ""))
STAYS_OFF_SANDBOX = (
    "stays: off a sandbox a deletion needs delete-keys in allow and requests.deletePixKey, key_at, and read in allow"
)
STAYS_ON_SANDBOX = "stays: a deletion needs delete-keys in allow and requests.deletePixKey"
EACH_TIME = "deleted each time, unless a list showed it before the run"


@pytest.mark.parametrize(
    ("changes", "becomes", "made"),
    [
        ({"key_at": "/data/*"}, [EACH_TIME, "stays: it is not disposable", "deleted if Key and the list agree on its value"], "is deleted"),
        ({"sandbox": ADDRESS}, [EACH_TIME, EACH_TIME, "deleted if Key or key_at tells its value"], "is deleted"),
        ({"key_at": None}, [STAYS_OFF_SANDBOX] * 3, STAYS_OFF_SANDBOX),
        ({"sandbox": ADDRESS, "requests": {}}, [STAYS_ON_SANDBOX] * 3, STAYS_ON_SANDBOX),
    ],
)  # fmt: skip
def test_the_plan_says_of_each_key_whether_it_is_deleted(changes, becomes, made):
    """Each key of the profile, and each key that the run makes up, is deleted or stays, with the reason."""
    registration_of_email = registration(sent={"pixKeyType": "EMAIL", "pixKey": "a@b.example"})
    lines = lines_of_plan(
        registration_of_email, registration_of_email, profile=replace(NO_SANDBOX, pix_keys=KEYS, **changes)
    )
    start = lines.index("keys:")

    assert [line.rpartition("; ")[2] for line in lines[start + 1 : start + 4]] == becomes
    assert lines[start + 1].startswith(
        "  EMAIL, number 1 of pix_keys: registered unless a list shows it, named by 2 req"
    )
    assert lines[start + 4].endswith(f"if the service registers one, it {made}")
    assert lines[start + 5] == "  no other key is deleted"


def test_transfers_that_may_be_prepared():
    """The plan counts valid bodies by operation, and says whom the others name, how much they ask for, and what
    stays unseen.
    """
    valid, invalid = (answer("createPix", {}, valid=is_valid) for is_valid in (True, False))
    limited = replace(NO_SANDBOX, limits=replace(NO_SANDBOX.limits, transfers=2))
    off_sandbox = lines_of_plan(valid, valid, invalid, profile=limited)
    on_sandbox = lines_of_plan(invalid, profile=ON_A_SANDBOX)

    assert "transfers: at most 2 may succeed (limits.transfers: 2; bodies: 3)" in off_sandbox
    assert "  createPix: 2 with the body of the profile, which may move money by itself" in off_sandbox
    assert any(
        "synthetic accounts" in line and line.endswith("of at most the amount of the profile") for line in off_sandbox
    )
    assert any("synthetic accounts" in line and line.endswith("of any amount") for line in on_sandbox)
    assert any(line.startswith("unseen outside a sandbox: malformed bodies") for line in off_sandbox)
    assert not any(line.startswith("unseen") for line in on_sandbox)
    assert not any("synthetic accounts" in line for line in lines_of_plan(valid))
