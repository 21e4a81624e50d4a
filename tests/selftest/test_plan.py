"""`pytest --plan` sends nothing and says what a run would send; the run stays within it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from spec.interface import operations, operations_reached
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw

CODES = ["SBX-PHONE-1", "SBX-EMAIL-1"]
WHOLE = ("-m", "property or not property", "--examples=3")


@pytest.fixture(scope="module")
def planned_and_sent(tmp_path_factory):
    """The plan of a whole run, what was sent for it, and what the run sent then."""
    folder = tmp_path_factory.mktemp("plan")
    with Raw() as service:
        limits = {"executions": 2, "requests": 5000, "timeout": 5}
        profile = write_profile(folder, service.base_url, transactions={"codes": CODES}, limits=limits)
        plan = run(profile, "--plan", *WHOLE, PIX_TOKEN="")
        during_the_plan = len(service.seen)
        run(profile, *WHOLE, "--no-report")
    return plan, during_the_plan, service


def most(plan):
    """The requests that the plan allows, by the name in its first column."""
    return {name: int(count) for name, count in re.findall(r"^  (\w+) +(\d+)  ", plan.output, re.MULTILINE)}


def test_a_plan_sends_nothing(planned_and_sent):
    """It needs no token, either, writes no report, and ends with exit status 0."""
    plan, during_the_plan, _ = planned_and_sent

    assert (plan.status, during_the_plan) == (0, 0)
    assert not plan.folder.exists()


@pytest.mark.parametrize("operation", operations())
def test_a_run_stays_within_its_plan(operation, planned_and_sent):
    """No operation gets more requests than the plan says, and each that it names gets some."""
    plan, _, service = planned_and_sent
    sent = Counter(name for seen in service.seen for name in operations_reached(seen.method, seen.path))

    assert 0 < sent[operation] <= most(plan)[operation]


def test_the_plan_names_what_moves_money_without_its_codes(planned_and_sent):
    """Codes, accounts and keys stand there as placeholders."""
    output = planned_and_sent[0].output

    assert "each once: <code>, <code 2>" in output
    assert not [value for value in (*CODES, "ac-0001", "+5511955500777", "13579246828") if value in output]


def test_what_is_not_permitted_is_listed_with_its_permission(tmp_path):
    """A profile that only reads is told which permission would bring each operation in."""
    plan = run(write_profile(tmp_path, "https://staging.example.test", allow=["read"]), "--plan", "-n", "2")

    assert set(most(plan)) == {"listAccounts", "getBalance", "listEntries", "listPixKeys", "together"}
    assert "  executePix        GET /v1/execute/pix/{transactionId}: needs execute in allow" in plan.output
    assert "what is written:\n  nothing\n" in plan.output
    assert "no execution: it needs execute in allow" in plan.output


def test_mistaken_requests_are_named_as_writing(planned_and_sent):
    """A lenient service may take what it should not, so the plan says where that can be."""
    output = planned_and_sent[0].output

    assert "what the service makes of mistaken requests to registerPixKey, deletePixKey, createPix, " in output
