"""The lines of a plan, made from a few requests by hand."""

from dataclasses import replace

import pytest

from environments.profiles.model import PixKey, Transactions
from reports.sentences.plan import Plan, plan_lines
from tests.selftest.exchanges import answer, registration
from tests.selftest.hand_made import SANDBOX_PROFILE

ADDRESS = "https://staging.example.test"
PROFILE_OF_NO_SANDBOX = replace(
    SANDBOX_PROFILE, base_url=ADDRESS, sandbox=None, transactions=Transactions(codes=("A", "B")), redirection_note=None
)
PROFILE_OF_A_SANDBOX = replace(PROFILE_OF_NO_SANDBOX, sandbox=ADDRESS)
READS_ONLY = replace(PROFILE_OF_NO_SANDBOX, allow=frozenset({"read"}))


def execution(number, code, *, credential="valid", generator=""):
    """A planned execution of the transfer with this code. `number` is its place in the order of sending.

    `credential` is "valid" for the valid token, or names another one. `generator` names what made the request, such as
    "sequences".
    """
    options = {"path": f"/v1/execute/pix/{code}", "credential": credential, "generator": generator}
    exchange = answer("executePix", {}, valid=credential == "valid", **options)
    return replace(exchange, number=number)


def lines_of_plan(*exchanges, profile=PROFILE_OF_NO_SANDBOX, selected=None, **plan):
    """The lines of a plan with these requests. `selected` is the selection of the user, `plan` are members of `Plan`."""
    return list(plan_lines(Plan(exchanges=exchanges, **plan), profile, journal="a journal", selected=selected))


def lines_about_executions(*exchanges, **options):
    """The lines of a plan about executions, without blanks around them. `options` are those of `lines_of_plan`."""
    plan = lines_of_plan(*exchanges, **options)
    start = plan.index("what moves money:") + 1
    end = plan.index("journal: a journal")
    return [line.strip() for line in plan[start:end]]


FAULTS_NOT_TESTED_OUTSIDE_A_SANDBOX = (
    "unseen outside a sandbox: answers to two executions that are mixed up, a code that moves money twice"
)


@pytest.mark.parametrize(
    ("executions", "expected_line"),
    [
        pytest.param(
            [execution(number=1, code="A")], "each once: number 1 of transactions.codes", id="a code of the profile"
        ),
        pytest.param(
            [execution(number=1, code="B"), execution(number=2, code="A")],
            "each once: number 2 and number 1 of transactions.codes",
            id="two codes of the profile",
        ),
        pytest.param(
            [execution(number=1, code="MADE")], "each once: 1 that the run prepares", id="a code that the run prepares"
        ),
    ],
)
def test_the_plan_names_each_execution_by_the_place_of_its_code(executions, expected_line):
    """The plan names an execution by the number of its code in `transactions.codes` of the profile, or as one that the
    run prepares.

    The codes of the profile are A and B. MADE is a code that the profile does not have.
    """
    assert lines_about_executions(*executions) == [expected_line, FAULTS_NOT_TESTED_OUTSIDE_A_SANDBOX]


def test_the_plan_counts_requests_without_the_valid_token_before_an_execution():
    """The plan counts how often a code is sent without the valid token before it is executed.

    A service that ignores tokens executes the code then. B is never executed, so it has no line.
    """
    lines = lines_about_executions(
        execution(number=1, code="A", credential="no header"),
        execution(number=2, code="B", credential="no header"),
        execution(number=3, code="A"),
    )

    assert lines == [
        "each once: number 1 of transactions.codes",
        "number 1 of transactions.codes: sent once without the valid token before its execution; a service that ignores tokens "
        "executes it then",
        FAULTS_NOT_TESTED_OUTSIDE_A_SANDBOX,
    ]


def test_a_request_without_the_valid_token_after_an_execution_is_not_counted():
    """A code that is sent without the valid token only after its execution has no such line: nothing is left to execute."""
    lines = lines_about_executions(
        execution(number=1, code="MADE"), execution(number=2, code="MADE", credential="no header")
    )

    assert lines == [
        "each once: 1 that the run prepares",
        FAULTS_NOT_TESTED_OUTSIDE_A_SANDBOX,
    ]


def test_on_a_sandbox_no_fault_is_listed_as_not_tested():
    """On a sandbox the plan lists no fault that a run could not see, because a run may execute a transfer twice there.

    Off a sandbox the plan lists `a code that moves money twice` as such a fault.
    """
    lines = lines_about_executions(execution(number=1, code="A"), profile=PROFILE_OF_A_SANDBOX)

    assert lines == ["each once: number 1 of transactions.codes"]


def test_on_a_sandbox_the_plan_counts_transfers_that_are_executed_twice():
    """On a sandbox the plan has a line that counts the prepared transfers of sequences, some of which are executed twice.

    A sequence is a series of requests, such as an execution and its repetition.
    """
    execution_in_a_sequence = execution(number=2, code="MADE", generator="sequences")

    lines = lines_about_executions(execution(number=1, code="A"), execution_in_a_sequence, profile=PROFILE_OF_A_SANDBOX)

    assert lines == [
        "each once: number 1 of transactions.codes",
        "1 more that the run prepares, as steps of sequences; some of them are executed a second time",
    ]


@pytest.mark.parametrize(
    ("state_of_plan", "reason"),
    [
        (
            {"operations_not_permitted": frozenset({"executePix"}), "needs_an_execution": True},
            "it needs execute in allow",
        ),
        ({}, "nothing that was selected needs one"),
        (
            {"needs_an_execution": True, "journal_trouble": "none"},
            "the next line says why; --plan --new-journal prints what ",
        ),
        ({"needs_an_execution": True}, "there is no code in transactions.codes, and no transactions.prepare"),
    ],
)
def test_why_there_is_no_execution(state_of_plan, reason):
    """If nothing is executed, the plan has one line that says why: no permission, no selection, no journal, or no code."""
    [line] = lines_about_executions(**state_of_plan)

    assert line.startswith(f"no execution: {reason}")


def test_a_code_that_an_earlier_run_sent_has_a_line():
    """A code that an earlier run sent is named in a line of its own, by its number in the profile, and is not sent
    again.

    The second line names a limit that left out other executions. No line says that there is no execution.
    """
    expected_lines = [
        "not sent, because the journal says that an earlier run sent it: number 2 of transactions.codes",
        "a limit",
    ]

    lines = lines_about_executions(codes_sent_before=["B"], limits_reached=["a limit"], needs_an_execution=True)

    assert lines == expected_lines


def test_the_first_line_names_the_target():
    """The first line of a plan has the address, says if it is a sandbox, and has the selection of requirements.

    The second line is not about --base-url, because the address is that of the profile.
    """
    first_line, second_line, *_ = lines_of_plan()
    first_line_on_a_sandbox, *_ = lines_of_plan(profile=PROFILE_OF_A_SANDBOX, selected="x")

    assert first_line.endswith(f" would send to {ADDRESS}, not a sandbox, if answered as documented:")
    assert f" {ADDRESS}, a sandbox, only x, if " in first_line_on_a_sandbox
    assert not second_line.startswith("  --base-url")


def test_the_first_line_says_that_the_address_is_that_of_an_option():
    """If --base-url gives another address than the profile, the first line of a plan says so.

    The second line says what follows from it, if anything does.
    """
    profile = replace(PROFILE_OF_NO_SANDBOX, redirection_note="--base-url: it only reads")
    profile_without_consequence = replace(PROFILE_OF_NO_SANDBOX, redirection_note="")
    address_of_option = f" {ADDRESS} (of --base-url, not that of the profile), not a sandbox"

    first_line, second_line, *_ = lines_of_plan(profile=profile)
    other_first_line, other_second_line, *_ = lines_of_plan(profile=profile_without_consequence)

    assert address_of_option in first_line
    assert second_line == "  --base-url: it only reads"
    assert address_of_option in other_first_line
    assert other_second_line.strip() != ""


def test_operations_without_permission_are_listed_as_out_of_scope():
    """The plan lists each operation that the profile does not permit below `out of scope:`.

    Requests that are malformed on purpose need the permission `fuzz`, and have a line there, too.
    """
    lines = lines_of_plan(operations_not_permitted=frozenset({"createPix", "executePix"}), profile=READS_ONLY)
    start = lines.index("out of scope:")
    line_of_execution, line_of_creation, line_of_malformed = lines[start + 1 : start + 4]

    assert line_of_execution.split()[0] == "executePix"
    assert line_of_creation.split()[0] == "createPix"
    assert line_of_malformed.startswith("  generated and malformed requests: need fuzz in allow")


def test_a_plan_with_every_permission_has_nothing_out_of_scope():
    """If the profile permits every selected operation, the plan says that no operation is out of scope."""
    assert "out of scope: no operation" in lines_of_plan()


KEYS = (PixKey("EMAIL", "a@b.example", disposable=True), PixKey("PHONE", "+551199"), PixKey("RANDOM", ""))
STAYS_OFF_SANDBOX = "stays: outside a sandbox a deletion needs delete-keys in allow and requests.deletePixKey, key_at, and read in allow"
STAYS_ON_SANDBOX = "stays: a deletion needs delete-keys in allow and requests.deletePixKey"
EACH_TIME = "deleted each time, unless a list showed it before the run"


def lines_about_keys(**changes_of_profile):
    """The lines about keys in the plan of two registrations of the e-mail key. The profile has these changes."""
    registration_of_email = registration(sent={"pixKeyType": "EMAIL", "pixKey": "a@b.example"})
    profile = replace(PROFILE_OF_NO_SANDBOX, pix_keys=KEYS, **changes_of_profile)
    lines = lines_of_plan(registration_of_email, registration_of_email, profile=profile)
    start = lines.index("keys:") + 1
    number_of_lines = len(KEYS) + 2  # one about the keys that the run makes up, and one about all others
    return lines[start : start + number_of_lines]


@pytest.mark.parametrize(
    ("changes_of_profile", "fates_of_keys"),
    [
        pytest.param(
            {"key_at": "/data/*"},
            {
                "EMAIL": EACH_TIME,
                "PHONE": "stays: it is not disposable",
                "RANDOM": "deleted if the answer (Key) and a list of keys (key_at) have the same value",
            },
            id="off a sandbox, with key_at (the place of the keys in a list)",
        ),
        pytest.param(
            {"key_at": None},
            {"EMAIL": STAYS_OFF_SANDBOX, "PHONE": STAYS_OFF_SANDBOX, "RANDOM": STAYS_OFF_SANDBOX},
            id="off a sandbox, without key_at",
        ),
        pytest.param(
            {"sandbox": ADDRESS},
            {
                "EMAIL": EACH_TIME,
                "PHONE": EACH_TIME,
                "RANDOM": "deleted if the answer (Key) or a list of keys (key_at) has its value",
            },
            id="on a sandbox",
        ),
        pytest.param(
            {"sandbox": ADDRESS, "requests": {}},
            {"EMAIL": STAYS_ON_SANDBOX, "PHONE": STAYS_ON_SANDBOX, "RANDOM": STAYS_ON_SANDBOX},
            id="on a sandbox, without the body of a deletion",
        ),
    ],
)
def test_the_plan_says_of_each_key_whether_it_is_deleted(changes_of_profile, fates_of_keys):
    """The plan says of each key of the profile whether it is deleted or stays, and why.

    The profile has a disposable e-mail address, a phone number that is not disposable, and a RANDOM key, which the
    service makes. Off a sandbox a key is deleted only if the profile calls it disposable, and if the profile says how
    to find it in a list. A deletion also needs its body in `requests` of the profile.
    """
    lines_of_keys = lines_about_keys(**changes_of_profile)[: len(KEYS)]

    fate_by_type = {line.split(",")[0].strip(): line.rpartition("; ")[2] for line in lines_of_keys}

    assert fate_by_type == fates_of_keys
    assert lines_of_keys[0].startswith(
        "  EMAIL, number 1 of pix_keys: registered if no list of keys has it yet, in 2 req"
    )


@pytest.mark.parametrize(
    ("changes_of_profile", "fate"),
    [
        pytest.param({"key_at": "/data/*"}, "is deleted", id="off a sandbox, with key_at"),
        pytest.param({"key_at": None}, STAYS_OFF_SANDBOX, id="off a sandbox, without key_at"),
        pytest.param({"sandbox": ADDRESS}, "is deleted", id="on a sandbox"),
        pytest.param(
            {"sandbox": ADDRESS, "requests": {}}, STAYS_ON_SANDBOX, id="on a sandbox, without the body of a deletion"
        ),
    ],
)
def test_the_plan_says_whether_keys_that_the_run_makes_up_are_deleted(changes_of_profile, fate):
    """The plan says whether a key that the run makes up is deleted. All other keys stay."""
    *_, line_of_made_up_keys, line_of_other_keys = lines_about_keys(**changes_of_profile)

    assert line_of_made_up_keys.endswith(f"if the service registers such a key, the key {fate}")
    assert line_of_other_keys == "  no other key is deleted"


VALID_TRANSFER = answer("createPix", {}, valid=True)
INVALID_TRANSFER = answer("createPix", {}, valid=False)


def test_the_plan_counts_transfers_that_may_succeed():
    """The plan says how many transfers may succeed, at most the limit of the profile.

    A first line counts the bodies of all transfers, also of invalid ones. A second line counts the transfers with the body
    of the profile.
    """
    profile = replace(PROFILE_OF_NO_SANDBOX, limits=replace(PROFILE_OF_NO_SANDBOX.limits, transfers=2))

    lines = lines_of_plan(VALID_TRANSFER, VALID_TRANSFER, INVALID_TRANSFER, profile=profile)

    assert "transfers: at most 2 may succeed (limits.transfers: 2; bodies: 3)" in lines
    assert "  createPix: 2 with the body of the profile, which may move money by itself" in lines


@pytest.mark.parametrize(
    ("profile", "amount", "number_of_lines_about_unseen_faults"),
    [
        (PROFILE_OF_NO_SANDBOX, "of at most the amount of the profile", 1),
        (PROFILE_OF_A_SANDBOX, "of any amount", 0),
    ],
    ids=["not a sandbox", "a sandbox"],
)
def test_the_plan_says_what_invalid_transfers_ask_for(profile, amount, number_of_lines_about_unseen_faults):
    """Invalid transfers name accounts that do not exist, and off a sandbox ask for at most the amount of the profile.

    Off a sandbox no malformed body is sent, and one line says which faults stay unseen because of this.
    """
    lines = lines_of_plan(INVALID_TRANSFER, profile=profile)
    [line_of_invalid_transfers] = [line for line in lines if "synthetic accounts" in line]
    lines_about_unseen_faults = [line for line in lines if line.startswith("unseen")]

    assert line_of_invalid_transfers.endswith(amount)
    assert len(lines_about_unseen_faults) == number_of_lines_about_unseen_faults


def test_a_plan_without_invalid_transfers_has_no_line_about_them():
    """If all planned transfers are valid, the plan has no line about accounts that do not exist."""
    lines_about_them = [line for line in lines_of_plan(VALID_TRANSFER) if "synthetic accounts" in line]

    assert lines_about_them == []
