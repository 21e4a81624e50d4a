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
SAMPLE_OF_REQUIREMENTS = (
    "executePix.id.present", "executePix.exists", "executePix.repeated", "executePix.refusal",
    "registerPixKey.token.required", "deletePixKey.exists", "getBalance.shape", "createPix.status",
    "general.versionPrefix", "general.codeValues",
)  # fmt: skip
"""One of each way in which a test asks for traffic."""
MUTANTS_THAT_ARE_EASILY_MISSED = (
    "CreatePixIsGone", "NoPrefix", "RegistrationRefusesTheToken", "ExecutionRefusesTheToken",
    "RegisterPixKeyFailsForAMissingKind",
)  # fmt: skip
"""Mutants whose fault only the exchanges of other operations make certain, or which one kind of request shows."""
OPERATIONS_OF_PREFLIGHT = {"listAccounts"}
"""What each run asks for first, to see if the service can be reached and takes the token."""


class CountsRequests(Service):
    """The sandbox, which counts the requests to each operation."""

    def __init__(self, **options):
        super().__init__(**options)
        self.sent = Counter()

    def finish(self, request, operation, response):
        if operation or not operations_reached(request.method, request.path):
            self.sent[operation] += 1
        return response


IDS_OF_ACCOUNT = {f"executePix.account.{ending}" for ending in ("present", "type", "spelling")}


@pytest.mark.parametrize(
    ("expression", "ids"),
    [
        ("executePix.account", IDS_OF_ACCOUNT),
        ("executePix.account.type or listAccounts.exists", {"executePix.account.type", "listAccounts.exists"}),
        (
            "executePix.account and not (executePix.account.type or general)",
            IDS_OF_ACCOUNT - {"executePix.account.type"},
        ),
        (" not executePix and executePix.id ", set()),
        ("executePix", {id for id in requirements() if id.startswith("executePix.")}),
        ("not general", {id for id in requirements() if not id.startswith("general.")}),
    ],
)
def test_k_selects_requirements_by_their_ids_and_by_groups_of_them(expression, ids):
    """The option -k takes ids of requirements with and, or, not and parentheses. A group is an id up to one of its dots."""
    assert ids_of(expression) == ids


EXPECTED_IDS = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"


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
        ("executePix.", f"-k: executePix.: {EXPECTED_IDS}"),
        ("executePix listAccounts", f"-k: executePix listAccounts: {EXPECTED_IDS}"),
        ("__import__('os').sep", "-k: __import__('os').sep: no such requirement; pytest --list names them all"),
        ("'executePix'", f"-k: 'executePix': {EXPECTED_IDS}"),
        (" ", f"-k: : {EXPECTED_IDS}"),
        ("(" * 300, f"-k: {'(' * 100}…: {EXPECTED_IDS}"),
    ],
)
def test_k_refuses_words_that_are_no_id(expression, line):
    """The option -k takes ids of requirements with and, or, not and parentheses. The name of a test is no id.

    The line names the nearest requirement, if there is one.
    """
    with pytest.raises(pytest.UsageError) as error_info:
        ids_of(expression)

    assert str(error_info.value) == line


def test_a_requirement_about_any_answer_moves_no_money():
    """A run is about a requirement that any answer can show, and its profile permits only operations that move money.

    So nothing is sent, and no transaction code is needed.
    """
    only_money = selection_of({"general.versionPrefix"}, replace(SANDBOX, allow=MONEY_PERMISSIONS))

    assert only_money.operations == frozenset()
    assert not only_money.needs_real_codes


def requirements_by_traffic(names):
    """The requirements in groups, each with the same traffic, so that one selection shows it of the whole group."""
    groups = defaultdict(set)
    for name in names:
        exchanges = plan_of(SANDBOX, {name}, generated=True).exchanges
        traffic = Counter(
            (exchange.operation, exchange.valid, exchange.credential, bool(exchange.generator))
            for exchange in exchanges
        )
        groups[frozenset(traffic.items()), selection_of({name}, SANDBOX).operations].add(name)
    return groups


@pytest.mark.slow
def test_a_selected_requirement_sends_only_what_it_needs():
    """Runs select one requirement each, or several with the same traffic. Each sends at most what --plan says.

    It sends only to the operations of the requirement and to those that must come first. The requirement gets the same
    verdict as in a run of all requirements.
    """
    names = [row.id for row in requirements().values() if not row.untestable] if EXHAUSTIVE else SAMPLE_OF_REQUIREMENTS
    whole_run = trial_of_plain_sandbox("sandbox").results
    verdicts_alone, sent_beyond_plan, errors = {}, {}, []
    for (_, reached), group in requirements_by_traffic(names).items():
        service = CountsRequests()
        plan = plan_of(SANDBOX, group, generated=True)
        trial = try_in_memory(service, ids=group, generated=True)
        errors += trial.errors
        verdicts_alone |= {name: trial.results[name].verdict for name in group & trial.results.keys()}
        allowed = {name: len(plan.to(name)) + BEYOND_THE_PLAN for name in reached | OPERATIONS_OF_PREFLIGHT}
        more = {name: count for name, count in service.sent.items() if name and count > allowed.get(name, 0)}
        sent_beyond_plan |= {min(group): more} if more else {}

    assert errors == []
    assert sent_beyond_plan == {}
    assert verdicts_alone == {name: whole_run[name].verdict for name in verdicts_alone}
    assert set(names) - verdicts_alone.keys() == set(names) - whole_run.keys()


def _shows_alone(mutant):
    """True if a selection of its requirement shows the fault in memory."""
    needs_other_requests = mutant.kind_of_change in ("right after", "kept refusal")
    return bool(mutant.fails) and not mutant.on_the_wire and not mutant.parallel and not needs_other_requests


@pytest.mark.parametrize(
    "mutant",
    [
        mutant
        for name, mutant in MUTANTS.declared_services.items()
        if name in MUTANTS_THAT_ARE_EASILY_MISSED or (EXHAUSTIVE and _shows_alone(mutant))
    ],
    ids=lambda mutant: mutant.name,
)
def test_a_fault_is_caught_by_its_requirement_alone(mutant):
    """A mutant is the sandbox with one fault. The fault is found if only the requirement that it breaks is selected."""
    alone = {min(mutant.fails)}

    assert try_in_memory(mutant.service_class(), mutant.environment, ids=alone).failing == alone


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
    """A run selects requirements by -k, or by the name of a test. It sends only to the operations that they are about.

    Reads may be among them. The verdict is at best "partial", because other requirements were left out.
    """
    services = []

    def service(**options):
        services.append(CountsRequests(**options))
        return services[0]

    result = run_with_files(tmp_path, service, "-m", "not property", *options)

    assert result.status == 0
    assert result.document["verdict"] == "partial"
    assert result.document["selection"] == " ".join([*options, "-m not property"])
    assert services[0].sent.keys() - {None} <= reached | OPERATIONS_OF_PREFLIGHT


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("last_failed", "--last-failed"), ("stepwise", "--stepwise"), ("deselect", "--deselect"), ("ignore", "--ignore"),
        ("ignore_glob", "--ignore-glob"), ("markexpr", "-m ['x']"),
    ],
)  # fmt: skip
def test_an_option_of_pytest_that_leaves_tests_out_is_a_selection(name, option, monkeypatch):
    """The report names it, because the verdict of a run that left tests out is at best partial.

    Without such an option there is no selection (None).
    """
    config = collected_tests().config
    selection_without_option = selection_in_words(config)
    monkeypatch.setattr(config.option, name, ["x"], raising=False)
    selection_with_option = selection_in_words(config)

    assert selection_without_option is None
    assert selection_with_option == option


class FailsInThreePlaces(Service):
    """Both results have a member of another type, and one list fails."""

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"digit": 6}

    def registration_result(self, registration):
        return super().registration_result(registration) | {"Message": 7}

    def finish(self, request, operation, response):
        return replace(response, status=500) if operation == "listEntries" else response


def test_last_failed_selects_the_failed_requirements_alone(tmp_path):
    """--last-failed selects the requirements that failed when they were last tested. In the first of five runs three fail.

    A run about another requirement keeps these failures. Then --last-failed selects the three, and they fail again. When the service is repaired, they pass. After that nothing
    is selected, and nothing is sent (exit status 5).
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
