"""A selection sends the operations that its requirements are about and what these need first, and nothing else.

What was sent is what the service itself has seen. A few requirements are tried by default; PIX_PROOF=exhaustive tries
every one.
"""

import os
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from environments.sandbox import Server, Service
from spec.interface import MONEY_PERMISSIONS, READ_OPERATIONS, operations_reached
from spec.requirements import requirements
from tests.harness.selection import ids_of, selection_in_words, selection_of
from tests.selftest.planned import BEYOND_THE_PLAN, plan_of
from tests.selftest.proof.directly import collected_tests, try_in_memory
from tests.selftest.proof.gate import trial_of_plain_sandbox
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.proof.trial import CONFORMANCE
from tests.selftest.services.running import TOKEN_VARIABLES, run_suite, write_profile
from tests.selftest.shared_runs import run_with_files

EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
PROFILE = load("sandbox")
SANDBOX = replace(PROFILE, limits=replace(PROFILE.limits, examples=2))
SAMPLE = (
    "executePix.id.present", "executePix.exists", "executePix.repeated", "executePix.refusal",
    "registerPixKey.token.required", "deletePixKey.exists", "getBalance.shape", "createPix.status",
    "general.versionPrefix", "general.codeValues",
)  # fmt: skip
"""One of each way in which a test asks for traffic."""
MISSED_EASILY = (
    "CreatePixIsGone", "NoPrefix", "RegistrationRefusesTheToken", "ExecutionRefusesTheToken",
    "RegisterPixKeyFailsForAMissingKind",
)  # fmt: skip
"""Mutants whose fault only the exchanges of other operations make certain, or which one kind of request shows."""
PREFLIGHT = {"listAccounts"}


class CountsRequests(Service):
    """The sandbox, which counts the requests to each operation."""

    def __init__(self, **options):
        super().__init__(**options)
        self.sent = Counter()

    def finish(self, request, operation, response):
        if operation or not operations_reached(request.method, request.path):
            self.sent[operation] += 1
        return response


def test_k_takes_ids_and_groups_of_ids():
    """A group is a prefix that ends at a dot."""
    account_ids = {f"executePix.account.{ending}" for ending in ("present", "type", "spelling")}
    ids_by_expression = {
        "executePix.account": account_ids,
        "executePix.account.type or listAccounts.exists": {"executePix.account.type", "listAccounts.exists"},
        "executePix.account and not (executePix.account.type or general)": account_ids - {"executePix.account.type"},
        " not executePix and executePix.id ": set(),
        "executePix": {name for name in requirements() if name.startswith("executePix.")},
        "not general": {name for name in requirements() if not name.startswith("general.")},
    }

    assert {expression: ids_of(expression) for expression in ids_by_expression} == ids_by_expression


EXPECTED = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("executePix.dat", '-k: executePix.dat: no such requirement; did you mean "executePix.date"?'),
        ("digit", '-k: digit: no such requirement; did you mean "executePix.digit"?'),
        ("masked", '-k: masked: no such requirement; did you mean "executePix.document.masked"?'),
        ("undocum", '-k: undocum: no such requirement; did you mean "registerPixKey.pixKeyType.undocumented"?'),
        ("registerPixKeys", '-k: registerPixKeys: no such requirement; did you mean "registerPixKey"?'),
        ("executepix.json", '-k: executepix.json: no such requirement; did you mean "executePix.json"?'),
        ("executePix or test_existence", "-k: test_existence: no such requirement; pytest --list names them all"),
        ("executePix.", f"-k: executePix.: {EXPECTED}"),
        ("executePix listAccounts", f"-k: executePix listAccounts: {EXPECTED}"),
        ("__import__('os').sep", "-k: __import__('os').sep: no such requirement; pytest --list names them all"),
        ("'executePix'", f"-k: 'executePix': {EXPECTED}"),
        (" ", f"-k: : {EXPECTED}"),
        ("(" * 300, f"-k: {'(' * 100}…: {EXPECTED}"),
    ],
)
def test_k_refuses_words_that_are_no_id(expression, line):
    """The line names the nearest requirement. The name of a test is no id."""
    with pytest.raises(pytest.UsageError) as error_info:
        ids_of(expression)

    assert str(error_info.value) == line


def test_a_requirement_about_any_answer_moves_no_money():
    """If only operations that move money are permitted, nothing is sent."""
    only_money = selection_of({"general.versionPrefix"}, replace(SANDBOX, allow=MONEY_PERMISSIONS))

    assert only_money.operations == frozenset()
    assert not only_money.needs_real_codes


def requirements_by_traffic(names):
    """The requirements in groups, each with the same traffic, so that one selection shows it of the whole group."""
    groups = defaultdict(set)
    for name in names:
        exchanges = plan_of(SANDBOX, {name}, generated=True).exchanges
        traffic = Counter(
            (exchange.operation, exchange.valid, exchange.credential, bool(exchange.part)) for exchange in exchanges
        )
        groups[frozenset(traffic.items()), selection_of({name}, SANDBOX).operations].add(name)
    return groups


@pytest.mark.slow
def test_a_selected_requirement_sends_only_what_it_needs():
    """A selection of one requirement sends to the operation of the requirement and its prerequisites, at most what
    --plan says. The requirement gets the verdict of a whole run.
    """
    names = [row.id for row in requirements().values() if not row.untestable] if EXHAUSTIVE else SAMPLE
    whole_run = trial_of_plain_sandbox("sandbox").rows
    verdicts_alone, sent_beyond_plan, errors = {}, {}, []
    for (_, reached), group in requirements_by_traffic(names).items():
        service = CountsRequests()
        plan = plan_of(SANDBOX, group, generated=True)
        trial = try_in_memory(service, ids=group, generated=True)
        errors += trial.errors
        verdicts_alone |= {name: trial.rows[name].verdict for name in group & trial.rows.keys()}
        allowed = {name: len(plan.to(name)) + BEYOND_THE_PLAN for name in reached | PREFLIGHT}
        more = {name: count for name, count in service.sent.items() if name and count > allowed.get(name, 0)}
        sent_beyond_plan |= {min(group): more} if more else {}

    assert errors == []
    assert sent_beyond_plan == {}
    assert verdicts_alone == {name: whole_run[name].verdict for name in verdicts_alone}
    assert set(names) - verdicts_alone.keys() == set(names) - whole_run.keys()


def _shows_alone(mutant):
    """True if a selection of its requirement shows the fault in memory."""
    needs_other_requests = mutant.operator in ("right after", "kept refusal")
    return bool(mutant.fails) and not mutant.on_the_wire and not needs_other_requests


@pytest.mark.parametrize(
    "mutant",
    [
        mutant
        for name, mutant in MUTANTS.specimens.items()
        if name in MISSED_EASILY or (EXHAUSTIVE and _shows_alone(mutant))
    ],
    ids=lambda mutant: mutant.name,
)
def test_a_fault_is_caught_by_its_requirement_alone(mutant):
    """The fault is found if only the requirement that it breaks is selected."""
    alone = {min(mutant.fails)}

    assert try_in_memory(mutant.make(), mutant.environment, ids=alone).failing == alone


NODE = f"{CONFORMANCE}/test_existence.py::test_endpoint_exists[createPix.exists]"


@pytest.mark.parametrize(
    ("options", "reached"),
    [
        (["-k", "listAccounts"], set(READ_OPERATIONS)),
        ([NODE], {"createPix", *READ_OPERATIONS}),
    ],
    ids=["-k", "a node id"],
)
def test_every_way_to_select_narrows_what_is_sent(options, reached, tmp_path):
    """The verdict is about the selected requirements, and is at best partial."""
    services = []

    def service(**options):
        services.append(CountsRequests(**options))
        return services[0]

    result = run_with_files(tmp_path, service, "-m", "not property", *options)

    assert result.status == 0
    assert result.document["verdict"] == "partial"
    assert result.document["selection"] == " ".join([*options, "-m not property"])
    assert services[0].sent.keys() - {None} <= reached | PREFLIGHT


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("last_failed", "--last-failed"), ("stepwise", "--stepwise"), ("deselect", "--deselect"), ("ignore", "--ignore"),
        ("ignore_glob", "--ignore-glob"), ("markexpr", "-m ['x']"),
    ],
)  # fmt: skip
def test_options_that_leave_tests_out_are_selections(name, option, monkeypatch):
    """The verdict of a selection is at best partial."""
    config = collected_tests().config
    before = selection_in_words(config)
    monkeypatch.setattr(config.option, name, ["x"], raising=False)
    after = selection_in_words(config)

    assert before is None
    assert after == option


class FailsInThreePlaces(Service):
    """Both results have a member of another type, and one list fails."""

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"digit": 6}

    def registration_result(self, registration):
        return super().registration_result(registration) | {"Message": 7}

    def finish(self, request, operation, response):
        return replace(response, status=500) if operation == "listEntries" else response


def test_last_failed_selects_the_failed_requirements_alone(tmp_path):
    """Of a test that judges many requirements only the failed ones are selected.

    A run about another requirement keeps the failures.
    """
    runs = []
    for service, selected in (
        (FailsInThreePlaces, ["-k", "executePix or registerPixKey or listEntries"]),
        (Service, ["-k", "listAccounts.json"]),
        (FailsInThreePlaces, ["--last-failed"]),
        (Service, ["--last-failed"]),
        (Service, ["--last-failed", "-q"]),
    ):
        with Server(service(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
            profile = write_profile(tmp_path, server.base_url, allow=["read", "register-keys", "execute"])
            result = run_suite(profile, *selected)
            runs.append({row["id"]: row["verdict"] for row in result.document["requirements"]})
    first_run, other_selection, failing_again, repaired, nothing_failed = runs

    failed = {id for id, verdict in first_run.items() if verdict == "fail"}
    assert failed == {"executePix.digit.type", "registerPixKey.Message.type", "listEntries.serverError"}
    assert other_selection.keys() == {"listAccounts.json"}
    assert failing_again == dict.fromkeys(failed, "fail")
    assert repaired == dict.fromkeys(failed, "pass")
    assert nothing_failed == {}
    assert result.status == 5
    assert result.document["traffic"]["requests"] == 0
    assert (
        "NOTHING-SELECTED: nothing failed when it was last tested here, so --last-failed selects nothing"
        in result.output
    )
