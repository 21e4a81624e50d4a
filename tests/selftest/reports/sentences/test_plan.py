"""`pytest --plan` sends nothing and says what a run would send."""

import re
from dataclasses import replace

import pytest

from environments.door.journal import Outcome
from environments.door.opening import journal_in_words, journal_of
from environments.profiles.loading import load
from reports.sentences.plan import plan_lines
from spec.interface import READ_OPERATIONS
from tests.harness.selection import ids_selected_by
from tests.selftest.planned import plan_of
from tests.selftest.services.running import write_profile
from tests.selftest.shared_runs import run_in_this_process
from tests.traffic.invalid import observed_invalid_requests
from tests.traffic.keys.undocumented_types import undocumented_types
from tests.traffic.property import Generated

CODES = ["SBX-PHONE-1", "SBX-EMAIL-1"]
STAGING = "https://staging.example.test"


@pytest.fixture
def lines_of_plan(tmp_path):
    """A function that gives the lines that `pytest --plan` prints, for a profile with these changes.

    `selection` is an expression of -k, such as "executePix.token". Without it all requirements are selected.
    """

    def lines(selection="", **changes):
        profile = load(str(write_profile(tmp_path, STAGING, **changes)))
        profile = replace(profile, limits=replace(profile.limits, examples=2))
        selected_ids = ids_selected_by(selection) if selection else None
        planned = plan_of(profile, selected_ids)
        lines_about_journal = [line for line in journal_in_words(profile)[:2] if line]
        return list(plan_lines(planned, profile, "; ".join(lines_about_journal), selection))

    return lines


def requests_by_name(lines):
    """The number of requests in a plan by the name in its first column: {"executePix": 12, …, "total": 40}."""
    plan = "\n".join(lines)
    names_and_numbers = re.findall(r"^  (\w+) +(\d+)  ", plan, re.MULTILINE)
    return {name: int(number) for name, number in names_and_numbers}


def test_the_plan_names_executions_without_their_codes(lines_of_plan):
    """`pytest --plan` names a transaction code by its number in the profile, and shows no code, account or key.

    A plan says what a run would send, and sends nothing.
    """
    lines = lines_of_plan("executePix", transactions={"codes": CODES})

    values_of_the_profile = (*CODES, "ac-0001", "+5511955500777", "13579246828")
    values_shown = [value for value in values_of_the_profile if value in "\n".join(lines)]

    assert "  each once: number 1 and number 2 of transactions.codes" in lines
    assert values_shown == []


PREPARE = {"operation": "createPix", "json": {"account": "{account}"}, "code_at": "/data/id", "count": 2}
"""An entry `transactions.prepare` of a profile: the run prepares transfers with createPix, and so gets codes."""
CODES_OF_PROFILE = "  each once: number 1 and number 2 of transactions.codes"
CODES_OF_RUN = "  each once: 4 that the run prepares"  # 2 (count), and on a sandbox 2 to execute at the same moment


@pytest.mark.parametrize(
    ("transactions", "expected_lines"),
    [
        ({"codes": CODES, "prepare": PREPARE}, [CODES_OF_PROFILE, CODES_OF_RUN]),
        ({"codes": [], "prepare": PREPARE}, [CODES_OF_RUN]),
        ({"codes": CODES}, [CODES_OF_PROFILE]),
    ],
    ids=["codes of the profile and of the run", "codes of the run alone", "codes of the profile alone"],
)
def test_the_plan_counts_the_transfers_that_the_run_prepares(transactions, expected_lines, lines_of_plan):
    """The plan lists which transfers are executed: those whose codes the profile has, and those that the run prepares."""
    plan = lines_of_plan("executePix.id", transactions=transactions)

    lines_about_executions = [line for line in plan if "each once" in line]

    assert lines_about_executions == expected_lines


def test_the_plan_says_why_each_request_is_sent(tmp_path):
    """Each planned request has a purpose in words, and the plan has a line with each purpose and the number of its
    requests.

    Here the purpose is a key type that the interface document does not list. Types for which the service may make a
    key are left out, because the profile does not say where a list shows the key, so that it could not be deleted.
    """
    profile = load(str(write_profile(tmp_path, STAGING, sandbox=None)))
    planned = plan_of(profile, ids_selected_by("registerPixKey.pixKeyType.undocumented"))
    lines = list(plan_lines(planned, profile, journal="", selected=""))
    types_sent = [key_type for key_type in undocumented_types(with_empty_keys=False) if not key_type.may_make_a_key]

    requests_without_purpose = [exchange for exchange in planned.exchanges if exchange.purpose is None]

    assert requests_without_purpose == []
    assert len(types_sent) == 28
    assert f"  {'':<17} {28:>5}  a type that is not documented" in lines


def test_the_plan_says_why_generated_requests_are_sent():
    """The plan names the three kinds of generated requests: valid reads, invalid requests of a table, and requests
    drawn at random.
    """
    profile = load("sandbox")
    planned = plan_of(profile, ids_selected_by("listPixKeys.serverError"), generated=True)
    lines = list(plan_lines(planned, profile, journal="", selected=""))
    purposes = {line.strip().partition("  ")[2] for line in lines}

    assert {Generated.READ.value, Generated.INVALID.value, Generated.DRAWN.value} <= purposes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dHg0Q==", "TX:1", "a/b1", "a+b1", "a;b1", "a%41", "0001/1234-5", "a b", "ação"])
@pytest.mark.parametrize("sandbox", [STAGING, None], ids=["a sandbox", "not a sandbox"])
def test_an_account_and_a_code_have_any_form(lines_of_plan, name, sandbox):
    """A plan has executions whatever signs the account and the codes of the profile have, such as `/`, `%` or a blank.

    The suite compares each request with the codes that it may send, in every spelling of the address. A name that may
    not be a code, because it has a blank or a letter that is not ASCII, is an account only.
    """
    similar_name = f"{name}2"  # begins with the other code, and must not be taken for it
    may_be_a_code = name.isascii() and " " not in name
    codes = {"transactions": {"codes": ["TX1", name, similar_name]}} if may_be_a_code else {}

    numbers_of_requests = requests_by_name(lines_of_plan(accounts=[name], sandbox=sandbox, **codes))

    assert numbers_of_requests["executePix"] > 0


WITHOUT_DELETIONS = {"sandbox": None, "allow": ["read", "register-keys"]}
THREE_WRONG_TOKENS = {**WITHOUT_DELETIONS, "limits": {"wrong_tokens": 3}}


@pytest.mark.parametrize(
    ("changes_of_profile", "line"),
    [
        pytest.param(
            {"transactions": {"codes": CODES}},
            "executePix, an execution: 2 of 6, more with transactions.prepare",
            id="the profile has two codes",
        ),
        pytest.param(
            {"transactions": {"codes": [*CODES, "SBX-CPF-1"]}, "limits": {"executions": 2}},
            "executePix, an execution: 2 of 6, more with limits.executions (2)",
            id="a limit permits two of three codes",
        ),
        pytest.param(
            {"transactions": {"codes": CODES}},
            "executePix, an execution that is repeated: 0, more with transactions.prepare",
            id="only a transfer that the run prepares is repeated",
        ),
        pytest.param(
            WITHOUT_DELETIONS,
            "registerPixKey, a key of the type EMAIL: 1 of 6, more with allow: delete-keys",
            id="without deletions the only e-mail key of the profile is registered once",
        ),
        pytest.param(
            THREE_WRONG_TOKENS,
            "registerPixKey, a request with another token: 1 of 6, more with limits.wrong_tokens (3)",
            id="one of three requests with bad credentials has another token",
        ),
        pytest.param(
            THREE_WRONG_TOKENS,
            "registerPixKey, a request without a token: 2 of 6, more with limits.wrong_tokens (3)",
            id="two of three requests with bad credentials have no token",
        ),
    ],
)
def test_the_plan_lists_statements_that_few_exchanges_show(changes_of_profile, line, lines_of_plan):
    """If fewer than six requests test a statement, the plan names it, and the setting of the profile that would raise
    the number.

    The service may have several nodes of which only one is at fault, so that few requests may all miss it.
    """
    assert f"  {line}" in lines_of_plan(**changes_of_profile)


def test_on_the_embedded_sandbox_each_situation_is_exercised_six_times():
    """On the embedded sandbox every statement is tested by at least six requests, so the plan names none that has
    fewer.
    """
    statements_with_few_requests = plan_of(load("sandbox")).situations_with_few_exchanges

    assert statements_with_few_requests == []


def test_each_operation_that_is_not_permitted_is_listed_with_its_permission(lines_of_plan):
    """If the profile permits only reads, the plan lists each other operation with the permission that it needs.

    Requests that are generated or malformed need the permission `fuzz`.
    """
    lines = lines_of_plan(allow=["read"])
    start = lines.index("out of scope:")
    permission_by_name = dict(
        re.findall(r"^  (\w+) .*needs? ([\w-]+) in allow", "\n".join(lines[start:]), re.MULTILINE)
    )

    assert requests_by_name(lines).keys() == {*READ_OPERATIONS, "total"}
    assert "  registerPixKey    POST /v1/pix/keys/{accountId}: needs register-keys in allow" in lines
    assert permission_by_name == {
        "executePix": "execute",
        "registerPixKey": "register-keys",
        "deletePixKey": "delete-keys",
        "createPix": "create-pix",
        "transferExternal": "transfer",
        "transferInternal": "transfer",
        "transferP2p": "transfer",
        "generated": "fuzz",
    }


def test_the_plan_of_reads_says_that_nothing_is_changed(lines_of_plan):
    """If the profile permits only reads, the plan says that no key is registered, no transfer succeeds and nothing is
    executed.
    """
    lines = lines_of_plan(allow=["read"])

    assert lines[lines.index("keys:") + 1] == "  none is registered"
    assert "transfers: at most 0 may succeed (limits.transfers: 6000; bodies: 0)" in lines  # 6000: limits.requests
    assert "  no execution: it needs execute in allow" in lines
    assert (
        "  generated and malformed requests: need fuzz in allow, except registrations with an empty or cut-off" in lines
    )


EACH_TIME = "deleted each time, unless a list showed it before the run"
KEYS = [
    {"type": "RANDOM", "key": ""},
    {"type": "EMAIL", "key": "qa@bank.example", "disposable": True},
    {"type": "PHONE", "key": "+5511955500777"},
]
FATES_OF_KEYS_ON_A_SANDBOX = [
    "deleted if the answer (Key) or a list of keys (key_at) has its value",  # RANDOM
    EACH_TIME,  # EMAIL, disposable
    EACH_TIME,  # PHONE, not disposable
]
FATES_OF_KEYS_OFF_A_SANDBOX = [
    "deleted if the answer (Key) and a list of keys (key_at) have the same value",  # RANDOM
    EACH_TIME,  # EMAIL, disposable
    "stays: it is not disposable",  # PHONE, not disposable
]
"""For each of KEYS: whether it is deleted after its registration."""


@pytest.mark.parametrize(
    ("sandbox", "target", "fates_of_keys"),
    [
        (None, "not a sandbox", FATES_OF_KEYS_OFF_A_SANDBOX),
        (STAGING, "a sandbox", FATES_OF_KEYS_ON_A_SANDBOX),
    ],
    ids=["not a sandbox", "a sandbox"],
)
def test_the_plan_names_the_target_and_the_keys_that_are_deleted(sandbox, target, fates_of_keys, lines_of_plan):
    """The plan says if the target is a sandbox, and which registered keys are deleted.

    Off a sandbox a key of the profile is deleted only if the profile calls it disposable. A RANDOM key is deleted only
    if its value is known: the answer to the registration has it as `Key`, and the list at `key_at` shows it.
    """
    lines = lines_of_plan("registerPixKey", sandbox=sandbox, pix_keys=KEYS)

    lines_about_keys = [line for line in lines if "if no list of keys has it yet" in line]
    ends_of_lines = [line.rpartition("; ")[2] for line in lines_about_keys]

    assert f"{STAGING}, {target}, " in lines[0]
    assert ends_of_lines == fates_of_keys


@pytest.mark.parametrize(
    ("sandbox", "limit", "amount"),
    [
        (None, 20, "of at most the amount of the profile"),  # the default of limits.transfers
        (STAGING, 6000, "of any amount"),  # limits.requests: on a sandbox no transfer costs anything
    ],
    ids=["not a sandbox", "a sandbox"],
)
def test_the_plan_says_how_many_transfers_may_succeed(sandbox, limit, amount, lines_of_plan):
    """The plan says how many transfers may succeed, and of which amount."""
    plan = "\n".join(lines_of_plan("registerPixKey or transferP2p", sandbox=sandbox, pix_keys=KEYS))

    assert re.search(rf"\ntransfers: at most \d+ may succeed \(limits.transfers: {limit}; ", plan)
    assert amount in plan


SELECTION_OF_TOKENS = "executePix.token or registerPixKey.token"
WITHOUT_FUZZ = ["read", "register-keys", "execute"]
WITH_FUZZ = [*WITHOUT_FUZZ, "fuzz"]


def test_the_plan_counts_requests_with_wrong_tokens(lines_of_plan):
    """The plan counts the requests with a wrong token, and without any token, for each operation.

    The limit is 53, so 106 more may have synthetic identifiers. All 42 executions with bad credentials have the code
    of the profile, which is executed, too: 38 are sent before its execution, 4 after it.
    """
    lines = lines_of_plan(SELECTION_OF_TOKENS, allow=WITHOUT_FUZZ)
    expected_lines = {
        "wrong tokens, at most 53 to each of executePix and registerPixKey (limits.wrong_tokens), and 106 with "
        "synthetic identifiers; to other operations in requests that change nothing:",
        "  executePix: 27 requests with a wrong token, and 15 without a token",
        "  registerPixKey: 32 requests with a wrong token, and 19 without a token",
        "  number 1 of transactions.codes: sent 38 times without the valid token before its execution; a service that "
        "ignores tokens executes it then",
    }
    requests_by_purpose = {
        purpose: int(number) for number, purpose in re.findall(r"^ +(\d+)  (.+)$", "\n".join(lines), re.MULTILINE)
    }

    assert expected_lines - {*lines} == set()
    assert requests_by_purpose["a real code without the valid token, before its execution"] == 38
    assert requests_by_purpose["the code that was executed first, without the valid token"] == 27 + 15 - 38
    assert requests_by_purpose["no valid token"] == 32 + 19  # registrations


def test_wrong_tokens_that_give_the_token_away_need_the_permission_fuzz(lines_of_plan):
    """Some wrong tokens contain the valid token: somebody who reads a log with such a wrong token knows the valid one.

    They are sent only if the profile permits `fuzz`, so without `fuzz` the plan does not list them.
    """
    with_fuzz = lines_of_plan(SELECTION_OF_TOKENS, allow=WITH_FUZZ)
    without_fuzz = lines_of_plan(SELECTION_OF_TOKENS, allow=WITHOUT_FUZZ)

    assert (
        "  the token lengthened; it shows the right token to whoever reads it, so it needs fuzz in allow" in with_fuzz
    )
    assert "it shows the right token" not in "\n".join(without_fuzz)


def test_the_plan_names_wrong_tokens_that_a_limit_leaves_out(lines_of_plan):
    """If limits.wrong_tokens permits fewer wrong tokens than there are kinds, the plan names the kinds that are left out.

    registerPixKey needs a limit of 25 for all of its kinds, and executePix one of 22. The last kinds are left out
    first. With a limit of 0 the plan says that no wrong token is sent.
    """
    plan_with_room = lines_of_plan(SELECTION_OF_TOKENS, allow=WITH_FUZZ)
    plan_for_25 = lines_of_plan(SELECTION_OF_TOKENS, allow=WITH_FUZZ, limits={"wrong_tokens": 25})
    plan_for_24 = lines_of_plan(SELECTION_OF_TOKENS, allow=WITH_FUZZ, limits={"wrong_tokens": 24})
    plan_for_20 = lines_of_plan(SELECTION_OF_TOKENS, allow=WITH_FUZZ, limits={"wrong_tokens": 20})
    plan_for_none = lines_of_plan(SELECTION_OF_TOKENS, allow=WITHOUT_FUZZ, limits={"wrong_tokens": 0})

    assert "no room" not in "".join([*plan_with_room, *plan_for_25])
    assert "  registerPixKey: no room in limits.wrong_tokens for Basic credentials" in plan_for_24
    assert "  executePix: no room in limits.wrong_tokens for Basic credentials, the text undefined" in plan_for_20
    assert "wrong tokens: none" in plan_for_none


def test_the_plan_lists_headers_in_the_place_of_a_token(lines_of_plan):
    """If the profile permits `fuzz`, the plan lists headers that are sent in the place of a token. Without `fuzz` none
    is sent.

    One of them says that the client has a loopback address, because a service may trust such a client without a
    token.
    """
    with_fuzz = lines_of_plan("executePix.token", allow=["read", "execute", "fuzz"])
    without_fuzz = lines_of_plan("executePix.token", allow=["read", "execute"])
    [line] = [line for line in with_fuzz if line.startswith("  in unusual forms: ")]

    assert ", a loopback address as that of the client, " in line
    assert "a loopback address" not in "\n".join(without_fuzz)


OFF_A_SANDBOX_WITH_A_JOURNAL = {"sandbox": None, "journal": "kept/codes.jsonl", "transactions": {"codes": CODES}}


def test_without_a_journal_nothing_is_executed(lines_of_plan, tmp_path):
    """Without a journal, a file with the codes that earlier runs sent, nothing is executed. The plan says how to start one.

    A plan writes nothing.
    """
    plan = lines_of_plan("executePix.id", **OFF_A_SANDBOX_WITH_A_JOURNAL)
    files = list(tmp_path.iterdir())

    assert (
        "  no execution: the next line says why; --plan --new-journal prints what a run with --new-journal would send"
        in plan
    )
    assert files == [tmp_path / "profile.yaml"]


def test_codes_that_the_journal_holds_are_not_sent(lines_of_plan, tmp_path):
    """A code that the journal holds is not sent again: the plan names it apart, by its number in the profile.

    The journal is a file with the codes that earlier runs sent. Here it has the first of two codes. A plan does not
    change it.
    """
    lines_of_plan(**OFF_A_SANDBOX_WITH_A_JOURNAL)  # writes the profile
    journal = journal_of(load(str(tmp_path / "profile.yaml")), run="earlier")
    journal.start()
    for outcome in (Outcome.SENT, Outcome.SUCCESS):
        journal.write(CODES[0], outcome)
    content = journal.path.read_bytes()

    plan = lines_of_plan("executePix.id", **OFF_A_SANDBOX_WITH_A_JOURNAL)

    assert f"journal: codes in {tmp_path / 'kept/codes.jsonl'}: 1" in plan
    assert "  each once: number 2 of transactions.codes" in plan
    assert "  not sent, because the journal says that an earlier run sent it: number 1 of transactions.codes" in plan
    assert journal.path.read_bytes() == content


def test_the_plan_of_the_first_run_has_its_codes(tmp_path):
    """`pytest --plan --new-journal` lists the codes that a first run would send, starts no journal, and prints only the
    plan.

    The journal is a file with the codes that earlier runs sent. --new-journal permits a run to start one.
    """
    profile = write_profile(tmp_path, STAGING, sandbox=None, journal="codes.jsonl", transactions={"codes": CODES})
    printed = run_in_this_process(f"--environment={profile}", "--plan", "--new-journal", "-k", "executePix.id").output

    assert printed.startswith("nothing was sent; a run with ")
    assert "  each once: number 1 and number 2 of transactions.codes\n" in printed
    words_of_pytest = [word for word in ("collected", "test session", "no tests ran", "= plan =") if word in printed]
    files = [path.name for path in tmp_path.iterdir()]

    assert words_of_pytest == []
    assert files == ["profile.yaml"]


def synthetic_keys_of_invalid_registrations(profile):
    """The keys in the bodies of invalid registrations that the suite made up. They begin with `pixconf-`."""
    keys = set()
    for request in observed_invalid_requests("registerPixKey", profile):
        if request.body:
            keys.update(re.findall(rb"pixconf-(?:key|[0-9a-f]{8})\b", request.body))
    return keys


def test_synthetic_keys_differ_if_they_are_deleted():
    """If the run may delete keys, invalid registrations have many different keys, which the suite made up."""
    keys = synthetic_keys_of_invalid_registrations(load("sandbox"))

    assert len(keys) > 10


def test_without_deletions_all_invalid_registrations_have_one_key():
    """If the run may not delete keys, all invalid registrations have the same key, so that at most one key stays."""
    profile = load("sandbox")
    without_deletions = replace(profile, allow=profile.allow - {"delete-keys"})

    keys = synthetic_keys_of_invalid_registrations(without_deletions)

    assert keys == {b"pixconf-key"}
