"""A selection sends the operations that its requirements are about and what these need first, and nothing else.

What was sent is what the service itself has seen. The samples are tried by default; PIX_PROOF=exhaustive tries every
requirement.
"""

import os
from collections import Counter
from dataclasses import replace

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from environments.sandbox import Service
from spec.interface import MONEY, READS, operations, operations_reached
from spec.requirements import requirements
from tests.harness.selection import ids_of
from tests.selftest.planned import plan_of
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.gate import plain
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.services.running import ROOT, run, write_profile
from tests.selftest.services.serving import Raw
from tests.traffic.scenario import MAY_BE_OPEN, reach_of

EXHAUSTIVE = os.environ.get("PIX_PROOF") == "exhaustive"
SANDBOX = load("sandbox", folder=ROOT / "environments")
TESTED = [row.id for row in requirements().values() if not row.untestable]
SAMPLE = (
    "executePix.id.present", "executePix.exists", "executePix.token.accepted", "executePix.token.scheme",
    "executePix.repeated", "executePix.refusal", "registerPixKey.status", "registerPixKey.token.required",
    "deletePixKey.exists", "listPixKeys.shape", "getBalance.shape", "listAccounts.serverError", "createPix.status",
    "transferP2p.exists", "general.versionPrefix", "general.codeValues", "general.deprecation",
)  # fmt: skip
"""One of each entry of the table, and of each way in which a test asks for traffic."""
MISSED_EASILY = (
    "CreatePixIsGone", "DeletePixKeyIsGone", "ExecutePixIsGone", "NoPrefix", "RegistrationRefusesTheToken",
    "ExecutionRefusesTheToken", "RegisterPixKeyFailsForAMissingKind",
)  # fmt: skip
"""Mutants whose fault only the exchanges of other operations make certain, or which one kind of request shows."""
PREFLIGHT = {"listAccounts"}
ALL_TESTS = ("-m", "property or not property", "--examples=2")
UNDOCUMENTED = ""


class Logs(Service):
    """The sandbox, which keeps what was sent to which operation, and which codes and keys had an effect."""

    def __init__(self):
        super().__init__()
        self.sent = Counter()
        self.executed = []
        self.registered = []

    def finish(self, request, operation, response):
        if operation or not operations_reached(request.method, request.path):
            self.sent[operation] += 1
        if operation == "executePix" and b'"DONE"' in response.body:
            self.executed.append(request.path)
        if operation == "registerPixKey" and response.status == 200:
            self.registered.append(request.body)
        return response


def exactly(requirement):
    """The -k expression that takes this requirement alone, where it is the name of a group, too."""
    others = [other for other in TESTED if other.startswith(f"{requirement}.")]
    return " and not ".join([requirement, *others])


def verdict_of(requirement, trial):
    """The verdict of a requirement; none for one that a trial leaves out."""
    return trial.rows[requirement].verdict if requirement in trial.rows else None


def select(ids=None, *, generated=False):
    """Run a selection against the sandbox. What it saw, and the verdicts."""
    service = Logs()
    return service, try_in_memory(service, ids=ids, generated=generated)


def assert_within(sent, plan, reached):
    """Nothing goes to another operation, and no more to each than the plan says, but for what few answers ask for."""
    assert {operation for operation in sent if operation} <= set(reached) | PREFLIGHT
    assert {name: count for name, count in sent.items() if count > len(plan.to(name)) + 9} == {}


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("executePix.json", {"executePix.json", *(f"executePix.json.{what}" for what in ("mediaType", "unique", "byteOrderMark"))}),
        ("executePix.account", {f"executePix.account.{what}" for what in ("present", "type", "spelling")}),
        ("executePix.account.type or listAccounts.exists", {"executePix.account.type", "listAccounts.exists"}),
        ("executePix.account and not executePix.account.type", {"executePix.account.present", "executePix.account.spelling"}),
        ("executePix.account and not (executePix.account.type or general)", {"executePix.account.present", "executePix.account.spelling"}),
        (" not executePix and executePix.id ", set()),
    ],
)  # fmt: skip
def test_k_takes_ids_and_groups_of_ids(expression, taken):
    """A group is a prefix that ends at a dot."""
    assert ids_of(expression) == taken


def test_k_without_an_operator_takes_a_whole_operation():
    """And no other operation whose name begins alike."""
    assert ids_of("executePix") == {name for name in requirements() if name.startswith("executePix.")}
    assert ids_of("not general") == {name for name in requirements() if not name.startswith("general.")}


EXPECTED = "expected ids of requirements, or of groups of them, with and, or, not and parentheses"


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("nothing", "-k: nothing: no such requirement; pytest --list names them all"),
        ("executepix.json", '-k: executepix.json: no such requirement; did you mean "executePix.json"?'),
        ("executePix or digit.type", '-k: digit.type: no such requirement; did you mean "executePix.digit.type"?'),
        ("test_existence", "-k: test_existence: no such requirement; pytest --list names them all"),
        ("executePix.", f"-k: executePix.: {EXPECTED}"),
        ("executePix listAccounts", f"-k: executePix listAccounts: {EXPECTED}"),
        ("executePix | listAccounts", f"-k: executePix | listAccounts: {EXPECTED}"),
        ("executePix(1)", f"-k: executePix(1): {EXPECTED}"),
        ("__import__('os').sep", "-k: __import__('os').sep: no such requirement; pytest --list names them all"),
        ("'executePix'", f"-k: 'executePix': {EXPECTED}"),
        (" ", f"-k: : {EXPECTED}"),
        ("(" * 300, f"-k: {'(' * 100}…: {EXPECTED}"),
    ],
)
def test_k_refuses_other_words_in_one_line(expression, line):
    """With the nearest requirement."""
    with pytest.raises(pytest.UsageError) as refused:
        ids_of(expression)

    assert str(refused.value) == line


@pytest.mark.parametrize(
    "options", [(), ("--plan",), ("--collect-only",), ("tests/conformance/test_execution.py",)], ids=" ".join
)
def test_a_word_of_k_that_is_no_requirement_sends_nothing(options, tmp_path):
    """`nothing` is in the name of a test that executes transfers."""
    with Raw() as service:
        result = run(write_profile(tmp_path, service.base_url), "-k", "nothing", *options)

    assert (result.status, service.seen) == (4, [])
    assert result.output.splitlines() == ["ERROR: -k: nothing: no such requirement; pytest --list names them all", ""]


def test_k_takes_no_test_by_its_name(tmp_path):
    """The verdict is about the requirements of the group alone, and at best partial."""
    with Raw() as service:
        result = run(write_profile(tmp_path, service.base_url, allow=["read"]), "-k", "listAccounts")
    document = result.document

    assert (result.status, document["verdict"], document["selection"]) == (
        0,
        "partial",
        "-k listAccounts -m not property",
    )
    assert {row["operation"] for row in document["requirements"]} == {"listAccounts"}
    assert set(READS) == {name for seen in service.seen for name in operations_reached(seen.method, seen.path)}


@pytest.mark.parametrize(
    ("requirement", "reached"),
    [
        ("listAccounts.shape", {"listAccounts"}),
        ("transferP2p.exists", {"transferP2p", *READS}),
        ("registerPixKey.repeated", {"registerPixKey", "deletePixKey", "listPixKeys"}),
        ("deletePixKey.data", {"registerPixKey", "deletePixKey", "listPixKeys"}),
        ("executePix.unknownCode", {"executePix"}),
        ("executePix.id.type", {"executePix", "createPix"}),
        ("executePix.repeated", {"executePix", "createPix", "getBalance"}),
        ("general.rateLimit", set(READS)),
        ("general.otherTokens", {*READS, *MAY_BE_OPEN}),
    ],
)
def test_the_table_names_what_a_requirement_needs(requirement, reached):
    """Its own operation, what that needs first, and what makes its verdict certain."""
    assert reach_of({requirement}, SANDBOX).operations == reached


@pytest.mark.parametrize("requirement", TESTED if EXHAUSTIVE else SAMPLE)
def test_a_requirement_alone_sends_what_the_table_says(requirement):
    """It sends to its own operation and to its prerequisites, no more than --plan says of the same selection, and that
    is enough for the verdict that it gets in a whole run."""
    service, trial = select({requirement}, generated=True)
    plan = plan_of(*ALL_TESTS, "-k", exactly(requirement))

    assert_within(service.sent, plan, reach_of({requirement}, SANDBOX).operations)
    assert (trial.exit_status, trial.errors) == (0, ())
    assert verdict_of(requirement, trial) == verdict_of(requirement, plain("sandbox"))


@pytest.mark.parametrize(
    ("mutant", "requirement"),
    [
        (mutant, requirement)
        for name, mutant in MUTANTS.specimens.items()
        if name in MISSED_EASILY or (EXHAUSTIVE and not mutant.on_the_wire)
        for requirement in sorted(mutant.fails)[:2]
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_fault_is_caught_by_its_requirement_alone(mutant, requirement):
    """What the selection leaves out is not what shows the fault."""
    trial = try_in_memory(mutant.make(), mutant.environment, ids={requirement})

    assert trial.failing == {requirement}


@pytest.mark.parametrize("generated", [False, True])
@pytest.mark.parametrize(
    ("keyword", "reached"),
    [
        ("listAccounts", set(READS)),
        ("registerPixKey", {"registerPixKey", "deletePixKey", *READS}),
        ("executePix", {"createPix", "executePix", *READS}),
        ("getBalance.shape", {"listAccounts", "getBalance"}),
        ("transferExternal or transferP2p", {"transferExternal", "transferP2p", *READS}),
        ("general.otherTokens", {*READS, *MAY_BE_OPEN}),
        ("general", {*READS, *MAY_BE_OPEN}),
    ],
)
def test_a_group_sends_to_its_operations_alone(keyword, reached, generated):
    """Reads do not write, registrations do not execute, executions do not register."""
    service, trial = select(ids_of(keyword), generated=generated)
    options = ALL_TESTS if generated else ("-m", "not property")

    assert_within(service.sent, plan_of(*options, "-k", keyword), reached)
    assert bool(service.executed) is (keyword == "executePix")
    assert bool(service.registered) is (keyword == "registerPixKey")
    assert trial.errors == ()


def test_a_whole_run_reaches_every_operation():
    """Nothing is left out of a run that was not narrowed."""
    service, trial = select()

    assert set(service.sent) == set(operations())
    assert (trial.exit_status, len(service.executed), len(set(service.executed))) == (0, 8, 8)


def test_where_only_money_is_permitted_a_requirement_of_no_operation_moves_none():
    """It is seen at an operation that moves no money, or not at all."""
    reach = reach_of({"general.versionPrefix"}, replace(SANDBOX, allow=MONEY))

    assert (reach.operations, reach.spends_codes) == (frozenset(), False)


NODE = "tests/conformance/test_existence.py::test_endpoint_exists[createPix.exists]"
GROUP = "tests/conformance/test_deletion.py"


@pytest.mark.parametrize(
    ("options", "reached"),
    [
        ((NODE,), {"createPix", *READS}),
        (("-k", "listAccounts", "-m", "property or not property", "--examples=2"), set(READS)),
        ((GROUP, f"--deselect={GROUP}::test_fields_of_the_answer"), {"deletePixKey", "registerPixKey", *READS}),
    ],
    ids=["a node id", "-k", "--deselect"],
)
def test_every_way_to_select_narrows_what_is_sent(options, reached, tmp_path):
    """Node ids, paths and --deselect count like -k."""
    with Raw() as service:
        result = run(write_profile(tmp_path, service.base_url), *options)
    sent = {name for seen in service.seen for name in operations_reached(seen.method, seen.path)}

    assert (result.status, sent) == (0, reached | PREFLIGHT), result.output
    assert (len(service.executions), result.document["selection"] is not None) == (0, True)


class WithoutEntries(Raw):
    """The list of entries ends in a server error."""

    def answer(self, connection, request):
        if operations_reached(request.method, request.path) == {"listEntries"}:
            connection.sendall(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n")
        else:
            super().answer(connection, request)


def test_what_failed_last_time_is_sent_alone(tmp_path):
    """--last-failed is a selection like any other, and the verdict is of what it selects."""
    with WithoutEntries() as service:
        profile = write_profile(tmp_path, service.base_url, allow=["read"])
        run(profile)
        before = len(service.seen)
        result = run(profile, "--last-failed")
    sent = {name for seen in service.seen[before:] for name in operations_reached(seen.method, seen.path)}

    assert (result.status, sent) == (1, {"listEntries"} | PREFLIGHT), result.output
    assert [row["id"] for row in result.document["requirements"]] == ["listEntries.serverError"]
