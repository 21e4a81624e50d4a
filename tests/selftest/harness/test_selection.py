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
from tests.harness.selection import ids_selected_by, selection_in_words, selection_of
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
    """The sandbox, which counts the requests to each operation. It counts other requests under None."""

    def __init__(self, **options):
        super().__init__(**options)
        self.number_of_requests = Counter()

    def finish(self, request, operation, response):
        """Count the request, except one with a path that another service may read as that of an operation.

        For example `//v1/accounts` reaches no operation of the sandbox, but another service may read /v1/accounts. So
        it belongs to no operation here, and it is no undocumented path either.
        """
        operations_at_other_services = operations_reached(request.method, request.path)
        is_undocumented_path = operation is None and not operations_at_other_services
        if operation or is_undocumented_path:
            self.number_of_requests[operation] += 1
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
    assert ids_selected_by(expression) == ids


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
        ids_selected_by(expression)

    assert str(error_info.value) == line


def test_a_requirement_that_any_answer_shows_is_not_tested_with_requests_that_move_money():
    """Any answer shows if `general.versionPrefix` holds (all paths carry /v1). A run of it alone uses reads.

    The profile (the settings of the run) permits only operations that move money. So nothing is sent, and no transaction
    code is needed.
    """
    only_money = selection_of({"general.versionPrefix"}, replace(SANDBOX, allow=MONEY_PERMISSIONS))

    assert only_money.operations == frozenset()
    assert not only_money.needs_real_codes


def groups_with_the_same_traffic(names):
    """The ids of requirements in groups: runs that select one requirement of a group each would all send the same.

    So one run can try the whole group, which is quicker.
    """
    groups = defaultdict(set)
    for name in names:
        exchanges = plan_of(SANDBOX, {name}, generated=True).exchanges
        traffic = Counter(
            (exchange.operation, exchange.valid, exchange.credential, bool(exchange.generator))
            for exchange in exchanges
        )
        operations = selection_of({name}, SANDBOX).operations
        groups[frozenset(traffic.items()), operations].add(name)
    return list(groups.values())


def requests_beyond_plan(service, group):
    """By operation, how many requests the service got, if these are more than `--plan` says for these requirements.

    A run may send 18 more (BEYOND_THE_PLAN) to an operation that the plan names, because the plan cannot know the RANDOM
    keys that a service makes, nor their deletions. To any other operation it may send nothing, the preflight excepted.
    """
    plan = plan_of(SANDBOX, group, generated=True)
    operations_of_group = selection_of(group, SANDBOX).operations | OPERATIONS_OF_PREFLIGHT
    most = {operation: len(plan.requests_to(operation)) + BEYOND_THE_PLAN for operation in operations_of_group}
    return {
        operation: count
        for operation, count in service.number_of_requests.items()
        if operation and count > most.get(operation, 0)
    }


@pytest.mark.slow
def test_a_selected_requirement_sends_only_what_it_needs():
    """Runs select one requirement each, or several with the same traffic. Each sends about what --plan says.

    It sends only to the operations of the requirement and to those that must come first. The requirement gets the same
    verdict as in a run of all requirements.
    """
    names = [row.id for row in requirements().values() if not row.untestable] if EXHAUSTIVE else SAMPLE_OF_REQUIREMENTS
    results_of_whole_run = trial_of_plain_sandbox("sandbox").results
    verdicts_alone, sent_beyond_plan, errors = {}, [], []
    for group in groups_with_the_same_traffic(names):
        service = CountsRequests()
        trial = try_in_memory(service, ids=group, generated=True)
        errors += trial.errors
        verdicts_alone |= {name: trial.results[name].verdict for name in group & trial.results.keys()}
        sent_beyond_plan += [(sorted(group), requests_beyond_plan(service, group))]

    assert errors == []
    assert [(group, requests) for group, requests in sent_beyond_plan if requests] == []
    assert verdicts_alone == {name: results_of_whole_run[name].verdict for name in verdicts_alone}
    # A requirement without a result alone has none in a run of all requirements, either.
    assert set(names) - verdicts_alone.keys() == set(names) - results_of_whole_run.keys()


def shows_in_a_run_of_one_requirement(mutant):
    """True if the fault of a mutant shows in this process, in a run that selects one of the requirements that it breaks.

    Left out are mutants that break none, mutants that need real connections or requests at the same time, and those whose
    fault shows only right after a request of another requirement.
    """
    needs_other_requests = mutant.kind_of_change in ("right after", "kept refusal")
    return bool(mutant.fails) and not mutant.on_the_wire and not mutant.parallel and not needs_other_requests


@pytest.mark.parametrize(
    "mutant",
    [
        mutant
        for name, mutant in MUTANTS.declared_services.items()
        if name in MUTANTS_THAT_ARE_EASILY_MISSED or (EXHAUSTIVE and shows_in_a_run_of_one_requirement(mutant))
    ],
    ids=lambda mutant: mutant.name,
)
def test_a_fault_is_caught_by_its_requirement_alone(mutant):
    """A mutant is the sandbox with one fault, which may break several requirements.

    A run that selects one of them alone finds the fault. Here it is the first one of the alphabet.
    """
    broken_requirement = min(mutant.fails)
    trial = try_in_memory(mutant.service_class(), mutant.environment, ids={broken_requirement})

    assert trial.failing == {broken_requirement}


@pytest.mark.parametrize(
    ("options", "operations_that_may_be_reached"),
    [
        (["-k", "listAccounts"], set(READ_OPERATIONS)),
        (
            [f"{CONFORMANCE}/test_existence.py::test_endpoint_exists[createPix.exists]"],
            {"createPix", *READ_OPERATIONS},
        ),
    ],
    ids=["-k", "the name of a test"],
)
def test_every_way_to_select_narrows_what_is_sent(options, operations_that_may_be_reached, tmp_path):
    """A run selects requirements by -k, or by the name of a test. It sends only to the operations that they are about.

    It may also send any read: a read that accepts the account shows that a request is valid, and a read that refuses a
    wrong token shows that the token is valid. The verdict is at best "partial", because other requirements were left out.
    """
    services = []

    def make_service(**options_of_service):
        services.append(CountsRequests(**options_of_service))
        return services[0]

    result = run_with_files(tmp_path, make_service, "-m", "not property", *options)
    operations_sent_to = services[0].number_of_requests.keys() - {None}  # None: paths that belong to no operation

    assert result.status == 0
    assert result.document["verdict"] == "partial"
    assert result.document["selection"] == " ".join([*options, "-m not property"])
    assert operations_sent_to <= operations_that_may_be_reached | OPERATIONS_OF_PREFLIGHT


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("last_failed", "--last-failed"), ("stepwise", "--stepwise"), ("deselect", "--deselect"), ("ignore", "--ignore"),
        ("ignore_glob", "--ignore-glob"), ("markexpr", "-m ['x']"),
    ],
)  # fmt: skip
def test_an_option_of_pytest_that_leaves_tests_out_is_a_selection(name, option, monkeypatch):
    """The report names the option, because the verdict of a run that left tests out is at best partial.

    Without such an option there is no selection (None). Here each option gets the same value, a list with the text x.
    """
    config = collected_tests().config
    selection_without_option = selection_in_words(config)
    monkeypatch.setattr(config.option, name, ["x"], raising=False)
    selection_with_option = selection_in_words(config)

    assert selection_without_option is None
    assert selection_with_option == option


class FailsInThreePlaces(Service):
    """Both documented results have a member of another type, and one list fails with status 500."""

    def execution_result(self, transfer):
        """The execution result of the sandbox with a number as `digit`, which must be a text."""
        return super().execution_result(transfer) | {"digit": 6}

    def registration_result(self, registration):
        """The registration result of the sandbox with a number as `Message`, which must be a text."""
        return super().registration_result(registration) | {"Message": 7}

    def finish(self, request, operation, response):
        """The answer, with status 500 if it is a list of entries."""
        if operation == "listEntries":
            return replace(response, status=500)
        return response


def test_last_failed_selects_the_failed_requirements_alone(tmp_path):
    """--last-failed selects the requirements that failed when they were last tested. Here these are three.

    A run about another requirement keeps these failures. Then a run with --last-failed tests the three again. When the
    service is repaired, they pass. After that --last-failed selects nothing, and nothing is sent (exit status 5).
    """

    def run_of(service_class, *options):
        with Server(service_class(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
            profile = write_profile(tmp_path, server.base_url, allow=["read", "register-keys", "execute"])
            return run_suite(profile, *options)

    three_fail = run_of(FailsInThreePlaces, "-k", "executePix or registerPixKey or listEntries")
    about_another = run_of(Service, "-k", "listAccounts.json")
    three_fail_again = run_of(FailsInThreePlaces, "--last-failed")
    repaired = run_of(Service, "--last-failed")
    nothing_failed = run_of(Service, "--last-failed", "-q")

    failed = {"executePix.digit.type", "registerPixKey.Message.type", "listEntries.serverError"}
    assert set(three_fail.messages_with_verdict("fail")) == failed
    assert verdicts_of(about_another).keys() == {"listAccounts.json"}
    assert verdicts_of(three_fail_again) == dict.fromkeys(failed, "fail")
    assert verdicts_of(repaired) == dict.fromkeys(failed, "pass")
    assert verdicts_of(nothing_failed) == {}
    assert nothing_failed.status == 5
    assert nothing_failed.document["traffic"]["requests"] == 0
    assert (
        "NOTHING-SELECTED: nothing failed when it was last tested here, so --last-failed selects nothing"
        in nothing_failed.output
    )


def verdicts_of(result):
    """The verdict of each requirement that a run selected, by its id."""
    return {row["id"]: row["verdict"] for row in result.document["requirements"]}
