"""`pytest --plan` sends nothing and says what a run would send."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from environments.door.journal import Outcome
from environments.door.opening import journal_of
from environments.profiles.loading import load
from spec.interface import operations, operations_reached
from tests.selftest.planned import plan_of
from tests.selftest.services.running import ROOT, run, write_profile
from tests.selftest.services.serving import Raw
from tests.traffic.invalid import invalid_requests

CODES = ["SBX-PHONE-1", "SBX-EMAIL-1"]
WHOLE = ("-m", "property or not property", "--examples=3")


@pytest.fixture(scope="module")
def planned_and_sent(tmp_path_factory):
    """The plan of a whole run, what was sent for it, and what the run sent then."""
    folder = tmp_path_factory.mktemp("plan")
    with Raw() as service:
        limits = {"executions": 2, "requests": 5000}
        profile = write_profile(folder, service.base_url, transactions={"codes": CODES}, limits=limits)
        plan = run(profile, "--plan", *WHOLE, PIX_TOKEN="")
        during_the_plan = len(service.seen)
        run(profile, *WHOLE, "--no-report")
    return plan, during_the_plan, service


def planned(plan):
    """The requests in the plan, by the name in its first column."""
    return {name: int(count) for name, count in re.findall(r"^  (\w+) +(\d+)  ", plan.output, re.MULTILINE)}


def test_a_plan_sends_nothing(planned_and_sent):
    """It needs no token, either, writes no report, and ends with exit status 0."""
    plan, during_the_plan, _ = planned_and_sent

    assert (plan.status, during_the_plan) == (0, 0)
    assert not plan.folder.exists()


@pytest.mark.parametrize("operation", operations())
def test_a_run_sends_what_its_plan_says(operation, planned_and_sent):
    """But for a few: the service may know a key, and from some tokens no form can be made."""
    plan, _, service = planned_and_sent
    sent = Counter(name for seen in service.seen for name in operations_reached(seen.method, seen.path))

    assert 0.7 * planned(plan)[operation] <= sent[operation] <= planned(plan)[operation] + 9


def test_the_plan_names_what_moves_money_without_its_codes(planned_and_sent):
    """Codes, accounts and keys are named by their places in the profile."""
    output = planned_and_sent[0].output

    assert "each once: the first and the second of transactions.codes" in output
    assert not [value for value in (*CODES, "ac-0001", "+5511955500777", "13579246828") if value in output]


def test_what_is_not_permitted_is_listed_with_its_permission(tmp_path):
    """A profile that only reads is told which permission would bring each operation in."""
    plan = run(write_profile(tmp_path, "https://staging.example.test", allow=["read"]), "--plan")

    assert set(planned(plan)) == {"listAccounts", "getBalance", "listEntries", "listPixKeys", "total"}
    assert "  executePix        GET /v1/execute/pix/{transactionId}: needs execute in allow" in plan.output
    assert "keys:\n  none is registered\ntransfers: at most 0 may succeed" in plan.output
    assert "no execution: it needs execute in allow" in plan.output


KEYS = [
    {"type": "RANDOM", "key": ""},
    {"type": "EMAIL", "key": "qa@bank.example", "disposable": True},
    {"type": "PHONE", "key": "+5511955500777"},
]


@pytest.mark.parametrize("sandbox", [None, "staging.example.test"], ids=["no sandbox", "a sandbox"])
def test_the_plan_says_what_is_at_stake(sandbox, tmp_path):
    """Sandbox or not, the keys that are deleted, the most transfers, and the journal."""
    profile = write_profile(tmp_path, "https://staging.example.test", sandbox=sandbox, pix_keys=KEYS)
    lines = run(profile, "--plan", *WHOLE).output.splitlines()
    says = dict(
        zip((key["type"] for key in KEYS), (line for line in lines if "unless a list shows it" in line), strict=True)
    )
    journal = next(line for line in lines if line.startswith("journal: "))

    assert f"https://staging.example.test, {'a' if sandbox else 'no'} sandbox, " in "\n".join(lines)
    assert says["RANDOM"].endswith("deleted where Key or key_at tells its value")
    assert says["EMAIL"].endswith("deleted, unless a list showed it before the run")
    assert says["PHONE"].endswith(
        "deleted, unless a list showed it before the run" if sandbox else "stays: it is not disposable"
    )
    assert any(line.startswith("transfers: at most 60 may succeed") for line in lines)
    assert ("of any amount" if sandbox else "of at most the amount of the profile") in "\n".join(lines)
    assert ("none, as the target is a sandbox" in journal) is bool(sandbox)


def test_the_plan_says_how_many_codes_the_journal_holds(tmp_path):
    """And that a first journal has to be started."""
    profile = write_profile(tmp_path, "https://staging.example.test", sandbox=None, journal="codes.jsonl")
    before = run(profile, "--plan").output
    journal = journal_of(load(str(profile)), run="earlier")
    journal.start()
    journal.write("SBX-PHONE-1", Outcome.SENT)
    journal.write("SBX-PHONE-1", Outcome.SUCCESS)
    after = run(profile, "--plan").output

    assert "start one with --new-journal" in before
    assert f"journal: {tmp_path / 'codes.jsonl'} holds 1 code\n" in after
    assert "not sent, because the journal says that an earlier run sent it: the first of transactions.codes" in after


def test_the_plan_prints_the_forms_of_wrong_tokens(tmp_path):
    """Those that tell the token are printed where fuzz permits them."""
    base = ["read", "register-keys", "transfer", "create-pix", "execute"]
    address = "https://staging.example.test"
    with_fuzz = run(write_profile(tmp_path, address, allow=[*base, "fuzz"]), "--plan").output
    without = run(write_profile(tmp_path, address, allow=base), "--plan").output
    none = run(write_profile(tmp_path, address, limits={"wrong_tokens": 0}), "--plan").output
    told = "  the token lengthened; tells the token, so it needs fuzz\n"

    assert "wrong tokens, at most 30 to each of executePix and registerPixKey (limits.wrong_tokens):\n" in without
    assert (told in with_fuzz, "tells the token" in without) == (True, False)
    assert "wrong tokens: none\n" in none


def test_a_plan_is_of_the_selection(tmp_path):
    """What was not selected is not sent, not written, not executed and not out of scope."""
    profile = write_profile(tmp_path, "https://staging.example.test", allow=["read", "execute"])
    plan = run(profile, "--plan", "-k", "listAccounts.shape")
    lines = plan.output.partition("as documented:\n")[2].splitlines()

    assert "https://staging.example.test, a sandbox, only -k listAccounts.shape -m not property, if " in plan.output
    assert [" ".join(line.split()[:2]) for line in lines[:4]] == [
        "listAccounts 3", "total 3", "A request", "finding has",
    ]  # fmt: skip
    assert lines[5:12] == [
        "wrong tokens: none",
        "keys:",
        "  none is registered",
        "transfers: at most 0 may succeed (limits.transfers: 60; 0 bodies may be sent)",
        "what moves money:",
        "  no execution: nothing that was selected needs one",
        "journal: none, as the target is a sandbox: only what the run itself sends counts",
    ]


def test_examples_count_in_the_plan():
    """More examples are more generated requests; without generated traffic there are none."""
    few, many = (generated("-k", "listEntries", f"--examples={count}") for count in (3, 30))

    assert 27 < many - few <= 2 * 27  # reads, and what is drawn: no case twice
    assert generated("-k", "listEntries", "-m", "not property") == 0


def generated(*options):
    """How many generated reads a plan has."""
    return sum(bool(seen.part) for seen in plan_of(*options).to("listEntries"))


def test_codes_that_the_journal_holds_are_not_sent(service, tmp_path):
    """The plan names them apart; the journal is read and nothing beside it is written."""
    limits = {"executions": 2, "requests": 5000}
    named = {"sandbox": None, "journal": "journal/codes.jsonl", "limits": limits}
    first = write_profile(tmp_path, service.base_url, transactions={"codes": CODES[:1]}, **named)
    run(first, "--new-journal", "-k", "executePix.id")
    profile = write_profile(tmp_path, service.base_url, transactions={"codes": CODES}, **named)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "journal").iterdir()}
    plan = run(profile, "--plan")
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "journal").iterdir()}

    assert "  each once: the second of transactions.codes\n" in plan.output
    assert (
        "  not sent, because the journal says that an earlier run sent it: the first of transactions.codes\n"
        in plan.output
    )
    assert after == before


def test_a_journal_that_cannot_be_read_stops_every_execution(tmp_path):
    """The plan says so and mends nothing: it makes no key for a journal that lacks its own."""
    (tmp_path / "codes.jsonl").write_text("{ half a line")
    profile = write_profile(tmp_path, "https://staging.example.test", sandbox=None, journal="codes.jsonl")
    plan = run(profile, "--plan", "-k", "executePix.id")
    journal = tmp_path / "codes.jsonl"

    expected = f"  no execution: transactions.codes are not sent: {journal} does not say which were sent ("
    assert expected in plan.output
    assert not journal.with_suffix(".key").exists()


def sandbox():
    """The profile of the sandbox."""
    return load("sandbox", folder=ROOT / "environments")


@pytest.mark.parametrize(("allow", "distinct"), [(True, True), (False, False)], ids=["deletes", "does not delete"])
def test_synthetic_keys_differ_where_they_are_deleted(allow, distinct):
    """Without a deletion at most one of them stays at the account of the profile."""
    profile = sandbox() if allow else replace(sandbox(), allow=sandbox().allow - {"delete-keys"})
    cases = invalid_requests("registerPixKey", profile, observed=True)
    keys = {key for case in cases for key in re.findall(rb"pixconf-(?:key|[0-9a-f]{8})\b", case.body or b"")}

    assert (len(keys) > 10) is distinct
    assert distinct or keys == {b"pixconf-key"}


def test_what_a_selection_only_needs_beside_is_not_out_of_scope(tmp_path):
    """An operation that the profile does not permit is listed where a requirement is about it."""
    profile = write_profile(tmp_path, "https://staging.example.test", allow=["execute"])
    plan = run(profile, "--plan", "-k", "executePix.exists or registerPixKey.repeated")
    lines = plan.output.partition("out of scope:\n")[2].splitlines()

    assert lines[0] == "  registerPixKey    POST /v1/pix/keys/{accountId}: needs register-keys in allow"
    assert lines[2].startswith("budgets: ")
