"""`pytest --plan` sends nothing and says what a run would send."""

import re
from dataclasses import replace

import pytest

from environments.door.journal import Outcome
from environments.door.opening import journal_in_words, journal_of
from environments.profiles.loading import load
from reports.sentences.plan import plan_lines
from spec.interface import READ_OPERATIONS
from tests.harness.selection import ids_of
from tests.selftest.planned import plan_of
from tests.selftest.services.running import write_profile
from tests.selftest.shared_runs import run_in_this_process
from tests.traffic.invalid import invalid_requests
from tests.traffic.property import Generated

CODES = ["SBX-PHONE-1", "SBX-EMAIL-1"]
STAGING = "https://staging.example.test"


@pytest.fixture
def lines_of_plan(tmp_path):
    """Makes the lines of a plan, for a profile with these changes and for a selection of requirements."""

    def lines(keyword="", **changes):
        profile = load(str(write_profile(tmp_path, STAGING, **changes)))
        profile = replace(profile, limits=replace(profile.limits, examples=2))
        planned = plan_of(profile, ids_of(keyword) if keyword else None)
        return list(plan_lines(planned, profile, "; ".join(filter(None, journal_in_words(profile)[:2])), keyword))

    return lines


def requests_by_name(lines):
    """The number of requests in the plan, by the name in its first column."""
    return {name: int(count) for name, count in re.findall(r"^  (\w+) +(\d+)  ", "\n".join(lines), re.MULTILINE)}


def test_the_plan_names_executions_without_their_codes(lines_of_plan):
    """The plan names codes, accounts and keys by their places in the profile."""
    lines = lines_of_plan("executePix", transactions={"codes": CODES})

    assert "  each once: number 1 and number 2 of transactions.codes" in lines
    assert [value for value in (*CODES, "ac-0001", "+5511955500777", "13579246828") if value in "\n".join(lines)] == []


def test_the_plan_counts_the_transfers_that_the_run_prepares(lines_of_plan):
    """The plan counts them with the codes of the profile or without any, and has no such line if nothing is
    prepared.
    """
    prepare = {"operation": "createPix", "json": {"account": "{account}"}, "code_at": "/data/id", "count": 2}
    with_codes, without_codes = (
        lines_of_plan("executePix.id", transactions={"codes": codes, "prepare": prepare}) for codes in (CODES, [])
    )
    supplied = lines_of_plan("executePix.id", transactions={"codes": CODES})

    of_profile, of_the_run = (
        "  each once: number 1 and number 2 of transactions.codes",
        "  each once: 4 that the run prepares",
    )

    assert [line for line in with_codes if "each once" in line] == [of_profile, of_the_run]
    assert [line for line in without_codes if "each once" in line] == [of_the_run]
    assert [line for line in supplied if "each once" in line] == [of_profile]


def test_the_plan_says_why_each_request_is_sent(tmp_path):
    """Each request has a purpose, and a line has the number of requests with that purpose."""
    profile = load(str(write_profile(tmp_path, STAGING, sandbox=None)))
    planned = plan_of(profile, ids_of("registerPixKey.pixKeyType.undocumented"))
    lines = list(plan_lines(planned, profile, "", ""))

    assert [exchange for exchange in planned.exchanges if exchange.purpose is None] == []
    assert f"  {'':<17} {22:>5}  a type that is not documented" in lines


def test_the_plan_says_why_generated_requests_are_sent():
    """Valid reads, invalid requests of a table, and drawn ones have a purpose each."""
    profile = load("sandbox")
    lines = list(plan_lines(plan_of(profile, ids_of("listPixKeys.serverError"), generated=True), profile, "", ""))
    purposes = {line.strip().partition("  ")[2] for line in lines}

    assert {Generated.READ.value, Generated.INVALID.value, Generated.DRAWN.value} <= purposes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dHg0Q==", "TX:1", "a/b1", "a+b1", "a;b1", "a%41", "0001/1234-5", "a b", "ação"])
@pytest.mark.parametrize("sandbox", [STAGING, None])
def test_an_account_and_a_code_have_any_form(lines_of_plan, name, sandbox):
    """The door recognises the account and the code in every spelling of a request, so the plan has executions and no
    error of the suite.
    """
    code = {"transactions": {"codes": ["TX1", name, f"{name}2"]}} if name.isascii() and " " not in name else {}

    assert requests_by_name(lines_of_plan(accounts=[name], sandbox=sandbox, **code))["executePix"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"transactions": {"codes": CODES}}, "executePix, an execution: 2 of 6, more with transactions.prepare"),
        (
            {"transactions": {"codes": [*CODES, "SBX-CPF-1"]}, "limits": {"executions": 2}},
            "executePix, an execution: 2 of 6, more with limits.executions (2)",
        ),
        ({"transactions": {"codes": CODES}}, "executePix, an execution that is repeated: 0, more with transactions.prepare"),
        (
            {"sandbox": None, "allow": ["read", "register-keys"]},
            "registerPixKey, a key of the type EMAIL: 1 of 6, more with allow: delete-keys",
        ),
    ],
)  # fmt: skip
def test_the_plan_lists_statements_that_few_exchanges_show(changes, line, lines_of_plan):
    """One node of several may be at fault. The line names the key of the profile that would raise the number."""
    assert f"  {line}" in lines_of_plan(**changes)


def test_on_the_embedded_sandbox_each_situation_is_exercised_six_times():
    """Each situation that a statement names is exercised at least six times."""
    assert plan_of(load("sandbox")).few == []


def test_each_operation_that_is_not_permitted_is_listed_with_its_permission(lines_of_plan):
    """A profile that permits only reads gets a line for each other operation, with the permission that it needs."""
    lines = lines_of_plan(allow=["read"])

    assert requests_by_name(lines).keys() == {*READ_OPERATIONS, "total"}
    assert "  registerPixKey    POST /v1/pix/keys/{accountId}: needs register-keys in allow" in lines
    assert (
        "  generated and malformed requests: need fuzz in allow, except registrations with an empty or cut-off" in lines
    )
    assert "  none is registered" in lines
    assert "transfers: at most 0 may succeed (limits.transfers: 6000; bodies: 0)" in lines
    assert "  no execution: it needs execute in allow" in lines


KEYS = [
    {"type": "RANDOM", "key": ""},
    {"type": "EMAIL", "key": "qa@bank.example", "disposable": True},
    {"type": "PHONE", "key": "+5511955500777"},
]


@pytest.mark.parametrize("sandbox", [None, STAGING], ids=["not a sandbox", "a sandbox"])
def test_the_plan_names_sandbox_deleted_keys_and_most_transfers(sandbox, lines_of_plan):
    """The plan says if the target is a sandbox, which keys are deleted, and how many transfers may succeed."""
    lines = lines_of_plan("registerPixKey or transferP2p", sandbox=sandbox, pix_keys=KEYS)
    fates_of_keys = [line.rpartition("; ")[2] for line in lines if "unless a list shows it" in line]

    assert f"{STAGING}, {'a' if sandbox else 'not a'} sandbox, " in lines[0]
    assert fates_of_keys == [
        "deleted if Key or key_at tells its value" if sandbox else "deleted if Key and the list agree on its value",
        "deleted each time, unless a list showed it before the run",
        "deleted each time, unless a list showed it before the run" if sandbox else "stays: it is not disposable",
    ]
    assert re.search(r"\ntransfers: at most \d+ may succeed \(limits.transfers: (20|6000); ", "\n".join(lines))
    assert ("of any amount" if sandbox else "of at most the amount of the profile") in "\n".join(lines)


def test_the_plan_prints_the_forms_of_wrong_tokens(lines_of_plan):
    """Forms from which the token can be restored are printed if fuzz is permitted.

    Forms for which limits.wrong_tokens has no room are named.
    """
    base = ["read", "register-keys", "execute"]
    selection = "executePix.token or registerPixKey.token"
    with_fuzz, without_fuzz = (lines_of_plan(selection, allow=allow) for allow in ([*base, "fuzz"], base))
    line_of_form = "  the token lengthened; the token can be restored from it, so it needs fuzz"

    assert (
        "wrong tokens, at most 50 to each of executePix and registerPixKey (limits.wrong_tokens), and 100 with "
        "synthetic identifiers; to other operations in requests that change nothing:"
    ) in without_fuzz
    assert line_of_form in with_fuzz
    assert "the token can be restored" not in "\n".join(without_fuzz)
    assert "  executePix: 28 requests with one, and 14 without any" in without_fuzz
    assert "  registerPixKey: 33 requests with one, and 18 without any" in without_fuzz
    assert "no room" not in "".join(with_fuzz)
    assert "no room" not in "".join(lines_of_plan(selection, allow=[*base, "fuzz"], limits={"wrong_tokens": 26}))
    left_out = "  executePix: no room in limits.wrong_tokens for Basic credentials, the text undefined"
    assert left_out in lines_of_plan(selection, allow=[*base, "fuzz"], limits={"wrong_tokens": 20})
    assert (
        "  number 1 of transactions.codes: 38 times without the valid token first; a service that ignores tokens executes it then"
        in without_fuzz
    )
    assert "wrong tokens: none" in lines_of_plan(selection, allow=base, limits={"wrong_tokens": 0})


def test_the_plan_lists_headers_in_the_place_of_a_token(lines_of_plan):
    """Stand-ins, which are headers in the place of a token, are listed beside the spellings of a request.

    Without fuzz none is sent.
    """
    with_fuzz, without_fuzz = (
        lines_of_plan("executePix.token", allow=["read", "execute", *more]) for more in (["fuzz"], [])
    )
    [line] = [line for line in with_fuzz if line.startswith("  in other ways: ")]

    assert ", a loopback address as that of the client, " in line
    assert "a loopback address" not in "\n".join(without_fuzz)


def test_codes_that_the_journal_holds_are_not_sent(lines_of_plan, tmp_path):
    """The plan lists them apart. Without a journal the plan says how to start one, and nothing is written."""
    changes = {"sandbox": None, "journal": "kept/codes.jsonl", "transactions": {"codes": CODES}}
    plan_without_journal = lines_of_plan("executePix.id", **changes)
    files_before = list(tmp_path.iterdir())
    journal = journal_of(load(str(tmp_path / "profile.yaml")), run="earlier")
    journal.start()
    for outcome in (Outcome.SENT, Outcome.SUCCESS):
        journal.write(CODES[0], outcome)
    content = journal.path.read_bytes()
    plan_with_journal = lines_of_plan("executePix.id", **changes)

    assert files_before == [tmp_path / "profile.yaml"]
    assert (
        "  no execution: the next line says why; --plan --new-journal prints what a run with --new-journal would send"
        in plan_without_journal
    )
    assert f"journal: codes in {tmp_path / 'kept/codes.jsonl'}: 1" in plan_with_journal
    assert "  each once: number 2 of transactions.codes" in plan_with_journal
    assert (
        "  not sent, because the journal says that an earlier run sent it: number 1 of transactions.codes"
        in plan_with_journal
    )
    assert journal.path.read_bytes() == content


def test_the_plan_of_the_first_run_has_its_codes(tmp_path):
    """With --new-journal a run sends the codes.

    The plan says so and starts no journal, and pytest prints nothing of its own.
    """
    profile = write_profile(tmp_path, STAGING, sandbox=None, journal="codes.jsonl", transactions={"codes": CODES})
    printed = run_in_this_process(f"--environment={profile}", "--plan", "--new-journal", "-k", "executePix.id").output

    assert printed.startswith("nothing was sent; a run with ")
    assert "  each once: number 1 and number 2 of transactions.codes\n" in printed
    assert [word for word in ("collected", "test session", "no tests ran", "= plan =") if word in printed] == []
    assert [path.name for path in tmp_path.iterdir()] == ["profile.yaml"]


@pytest.mark.parametrize("deletes", [True, False])
def test_synthetic_keys_differ_where_they_are_deleted(deletes):
    """If nothing is deleted, all invalid registrations have the same synthetic key, so that at most one stays."""
    profile = load("sandbox")
    allowed = replace(profile, allow=profile.allow - (set() if deletes else {"delete-keys"}))
    cases = invalid_requests("registerPixKey", allowed, observed=True)
    keys = {key for case in cases for key in re.findall(rb"pixconf-(?:key|[0-9a-f]{8})\b", case.body or b"")}

    assert len(keys) > 10 if deletes else keys == {b"pixconf-key"}
