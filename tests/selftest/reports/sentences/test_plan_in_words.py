"""The lines of a plan, made from a few requests by hand."""

from dataclasses import replace

import pytest

from environments.profiles.model import PixKey, Transactions
from reports.sentences.plan import Plan, plan_lines
from tests.selftest.exchanges import answer, registration
from tests.selftest.hand_made import SANDBOX

ADDRESS = "https://staging.example.test"
BANK = replace(SANDBOX, base_url=ADDRESS, sandbox=None, transactions=Transactions(codes=("A", "B")), redirected=None)
AT_A_SANDBOX = replace(BANK, sandbox=ADDRESS)
READS = replace(BANK, allow=frozenset({"read"}))


def execution(number, code, *, credential="valid", part=""):
    """An execution of this code, with the valid token or without one."""
    options = {"path": f"/v1/execute/pix/{code}", "credential": credential, "part": part}
    exchange = answer("executePix", {}, valid=credential == "valid", **options)
    return replace(exchange, number=number)


def lines(*exchanges, profile=BANK, selected=None, **plan):
    """The lines of a plan of these requests."""
    return list(plan_lines(Plan(exchanges=exchanges, **plan), profile, "a journal", selected))


def money(*exchanges, **options):
    """What the plan says of executions."""
    plan = lines(*exchanges, **options)
    start, end = plan.index("what moves money:") + 1, plan.index("journal: a journal")
    return [line.strip() for line in plan[start:end]]


UNSEEN = "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"


@pytest.mark.parametrize(
    ("sent", "told"),
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
def test_executions_are_told_by_their_code(sent, told):
    """A code is named by its place; of requests without a valid token those before its execution count."""
    assert money(*sent) == told


def test_on_a_sandbox_nothing_stays_unseen():
    """And a transfer may be executed twice."""
    twice = execution(2, "MADE", part="sequences")

    assert money(execution(1, "A"), profile=AT_A_SANDBOX) == ["each once: number 1 of transactions.codes"]
    assert money(execution(1, "A"), twice, profile=AT_A_SANDBOX)[1:] == [
        "1 more that the run prepares, as steps of sequences; some of them are executed a second time"
    ]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"denied": frozenset({"executePix"}), "executes": True}, "it needs execute in allow"),
        ({}, "nothing that was selected needs one"),
        ({"executes": True, "journal_trouble": "none"}, "the next line says why; --plan --new-journal prints what "),
        ({"executes": True}, "there is no code in transactions.codes, and no transactions.prepare"),
    ],
)
def test_why_there_is_no_execution(plan, why):
    """The first reason that fits."""
    (line,) = money(**plan)

    assert line.startswith(f"no execution: {why}")


def test_codes_that_an_earlier_run_sent_are_no_reason():
    """They are named by their places."""
    told = ["not sent, because the journal says that an earlier run sent it: number 2 of transactions.codes", "a limit"]

    assert money(barred=["B"], cut=["a limit"], executes=True) == told


def test_the_first_line_says_where_it_would_go():
    """Whether that is a sandbox, and whether --base-url names it; what was selected; and what that means."""
    assert lines()[0].endswith(f" would send to {ADDRESS}, not a sandbox, if answered as documented:")
    assert f" {ADDRESS}, a sandbox, only x, if " in lines(profile=AT_A_SANDBOX, selected="x")[0]
    for redirected in ("", "--base-url: it only reads"):
        told = lines(profile=replace(BANK, redirected=redirected))
        assert f" {ADDRESS} (of --base-url, not that of the profile), not a sandbox" in told[0]
        assert (told[1] == f"  {redirected}") is bool(redirected)
    assert not lines()[1].startswith("  --base-url")


def test_what_is_out_of_scope():
    """Each operation that was selected and is not permitted, with its permission."""
    assert "out of scope: no operation" in lines()
    told = lines(denied=frozenset({"createPix", "executePix"}), profile=READS)
    start = told.index("out of scope:")
    assert [line.split()[0] for line in told[start + 1 : start + 3]] == ["executePix", "createPix"]
    assert told[start + 3].startswith("  generated and malformed requests: need fuzz in allow")


KEYS = (PixKey("EMAIL", "a@b.example", disposable=True), PixKey("PHONE", "+551199"), PixKey("RANDOM", ""))
STAYS_AT_A_BANK = (
    "stays: off a sandbox a deletion needs delete-keys in allow and requests.deletePixKey, key_at, and read in allow"
)
STAYS_AT_A_SANDBOX = "stays: a deletion needs delete-keys in allow and requests.deletePixKey"
EACH_TIME = "deleted each time, unless a list showed it before the run"


@pytest.mark.parametrize(
    ("changes", "becomes", "made"),
    [
        ({"key_at": "/data/*"}, [EACH_TIME, "stays: it is not disposable", "deleted if Key and the list agree on its value"], "is deleted"),
        ({"sandbox": ADDRESS}, [EACH_TIME, EACH_TIME, "deleted if Key or key_at tells its value"], "is deleted"),
        ({"key_at": None}, [STAYS_AT_A_BANK] * 3, STAYS_AT_A_BANK),
        ({"sandbox": ADDRESS, "requests": {}}, [STAYS_AT_A_SANDBOX] * 3, STAYS_AT_A_SANDBOX),
    ],
)  # fmt: skip
def test_what_becomes_of_each_key(changes, becomes, made):
    """It is deleted, or stays, and why; also of one that the run makes up."""
    sent = registration(sent={"pixKeyType": "EMAIL", "pixKey": "a@b.example"})
    told = lines(sent, sent, profile=replace(BANK, pix_keys=KEYS, **changes))
    start = told.index("keys:")

    assert [line.rpartition("; ")[2] for line in told[start + 1 : start + 4]] == becomes
    assert told[start + 1].startswith(
        "  EMAIL, number 1 of pix_keys: registered unless a list shows it, named by 2 req"
    )
    assert told[start + 4].endswith(f"if the service registers one, it {made}")
    assert told[start + 5] == "  no other key is deleted"


def test_transfers_that_may_be_prepared():
    """Valid bodies by operation, and whom the others name, how much they ask for, and what stays unseen."""
    valid, invalid = (answer("createPix", {}, valid=is_valid) for is_valid in (True, False))
    limited = replace(BANK, limits=replace(BANK.limits, transfers=2))
    of_bank, of_sandbox = lines(valid, valid, invalid, profile=limited), lines(invalid, profile=AT_A_SANDBOX)

    assert "transfers: at most 2 may succeed (limits.transfers: 2; bodies: 3)" in of_bank
    assert "  createPix: 2 with the body of the profile, which may move money by itself" in of_bank
    assert any(
        "synthetic accounts" in line and line.endswith("of at most the amount of the profile") for line in of_bank
    )
    assert any("synthetic accounts" in line and line.endswith("of any amount") for line in of_sandbox)
    assert any(line.startswith("unseen outside a sandbox: malformed bodies") for line in of_bank)
    assert not any(line.startswith("unseen") for line in of_sandbox)
    assert not any("synthetic accounts" in line for line in lines(valid))
