"""The lines of a shell with which a report shows how to send a request again: they send what the run sent."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from environments.profiles.loading import load
from environments.profiles.model import Auth
from environments.sandbox import Refusal, Server, Service
from environments.secret_values import Secrets, texts_of_bodies
from reports.showing.evidence import shown_in_full
from reports.showing.resending import EXECUTES, MAY_EXECUTE, Resending
from reports.showing.show import Display
from spec.exchange import Request
from spec.key_list import UUID
from tests.harness.session import SESSION
from tests.selftest.exchanges import answer
from tests.selftest.hand_made import SANDBOX_PROFILE
from tests.selftest.proof.trial import CONFORMANCE, QUIET_PYTEST
from tests.selftest.services.running import TOKEN_VARIABLES, write_profile, write_sandbox_profile
from tests.selftest.services.signed import SignsItsToken
from tests.selftest.shared_runs import WHOLE_PROFILE, run_in_this_process

COMPARED_HEADERS = ("authorization", "content-type", "x-tenant", "x-request-id", "x-pixconf")
SELECTED_TESTS = ("--seed=1", "--parallel=1", "-k", "executePix or registerPixKey")
GATEWAY = "gateway-4711-secret"
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


class KeepsTheLastRequest(Service):
    """Keeps the last request that arrived."""

    last_request = None

    def finish(self, request, operation, response):
        """The answer of the sandbox. The request is kept."""
        self.last_request = request
        return response


class SessionKeeper:
    """A plugin that keeps the session of a run, which has its exchanges."""

    def pytest_sessionfinish(self, session):
        """Keep the session at the end of the run."""
        self.session = session.config.stash[SESSION]


@pytest.fixture(scope="module")
def run_with_service(tmp_path_factory):
    """A run whose service is still up: the service, the session, the profile and the variables of the environment."""
    keeper = SessionKeeper()
    service = KeepsTheLastRequest(token=f"{SignsItsToken().token}==")
    variables = {"PIX_OTHER_TOKEN": service.token, "PIX_GATEWAY": GATEWAY}
    headers = {"X-Tenant": "qa o'hara", "X-Pixconf": {"env": "PIX_GATEWAY"}}
    changes = {"auth": {"token_env": "PIX_OTHER_TOKEN"}, "headers": headers, "correlation_header": "X-Request-Id"}
    with Server(service) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        folder = tmp_path_factory.mktemp("run")
        path = str(write_profile(folder, server.base_url, **changes, **WHOLE_PROFILE))
        arguments = ["--no-report", f"--environment={path}", *SELECTED_TESTS, str(CONFORMANCE)]
        pytest.main([*QUIET_PYTEST, *arguments], plugins=[keeper])
        yield service, keeper.session, load(path), variables


def variables_to_export(line, exchange, profile, known):
    """By name, the variables that a person must set before running a line: those that the line uses.

    ACCOUNT_2 is the second account of the profile, SENT_NAME the member `name` of the body that was sent. `known` has
    further variables, such as that of the token.
    """
    variables = {**known, **values_of_profile(profile), **values_sent(exchange)}
    for header in profile.headers:
        variables[f"HEADER_{header.name.upper().replace('-', '_')}"] = header.text
    number_of_codes = len(profile.transactions.codes)
    for number in range(number_of_codes + 1, 20):
        variables[f"CODE_{number}"] = "TX-NEW"  # codes that the run prepared, in the place of which a new one is sent
    names_in_line = re.findall(r"\$\{(\w+):\?", line)
    return {name: variables[name] for name in names_in_line if name in variables}


def values_of_profile(profile):
    """By name, variables with the values of a profile: accounts, keys, codes and texts in the bodies of requests.

    The second account has the name ACCOUNT_2, for example.
    """
    values_by_name = {
        "ACCOUNT": profile.accounts,
        "KEY": [key.key for key in profile.pix_keys],
        "CODE": profile.transactions.codes,
        "IDENTIFIER": texts_of_bodies(profile),
    }
    variables = {}
    for name, values in values_by_name.items():
        for number, value in enumerate(values, 1):
            variables[name if number == 1 else f"{name}_{number}"] = value
    return variables


def values_sent(exchange):
    """By name, variables with the values that a request had in its body (SENT_…) and in its Authorization header."""
    authorization = dict(exchange.request.headers).get("Authorization", "")
    credential_as_utf8 = authorization.encode("latin-1").decode("utf-8", "surrogateescape")
    members = dict(re.findall(r'"(\w+)": "?([^",}]*)', exchange.request.body.decode("utf-8", "replace")))
    variables = {f"SENT_{name.upper()}": value for name, value in members.items()}
    variables["WRONG_TOKEN"] = credential_as_utf8.split(" ")[-1]
    names_of_random_key = ["SENT_RANDOM_KEY", *(f"SENT_RANDOM_KEY_{number}" for number in range(2, 20))]
    for name in names_of_random_key:
        variables[name] = members.get("pixKey")
    return variables


def differences(exchange, arrived):
    """The parts in which the request that arrived differs from the request of the exchange.

    Each difference is a tuple: the name of the part, what was sent, what arrived. The path of an execution is not
    compared, because its code was executed already, so the line sends a new one.
    """
    sent = exchange.request
    url = urlsplit(sent.url)
    headers = {name.lower(): value for name, value in sent.headers}
    has_real_code = exchange.operation == "executePix" and "pixconf" not in url.path
    parts = [("method", sent.method, arrived.method), ("body", sent.body, arrived.body)]
    for name in COMPARED_HEADERS:
        parts.append((name, headers.get(name, "").strip(), arrived.header(name).strip()))
    if not has_real_code:
        parts += [("path", url.path, arrived.path), ("query", url.query, arrived.query)]
    return [
        (name, value_sent, value_arrived) for name, value_sent, value_arrived in parts if value_sent != value_arrived
    ]


def lines_by_exchange(session):
    """Pairs of an exchange of a run, and the lines of a shell that send its request again."""
    return [
        (exchange, shown_in_full(exchange, session.resending).lines_that_resend) for exchange in session.door.exchanges
    ]


@dataclass(frozen=True)
class SortOfLines:
    """The sort of the lines that send a request again. The test runs one example of each sort."""

    operation: str
    credential: str
    shell_constructs: tuple[str, ...]
    """The variables and commands in the lines, and the options of curl: such as `${ACCOUNT`, `$(printf`, `--data`."""


def sort_of(exchange, lines):
    """The sort of the lines that send the request of an exchange again."""
    shell_constructs = re.findall(r"\$\{[A-Z_]+|\$\(\w+|--[a-z-]+", lines)
    return SortOfLines(exchange.operation, exchange.credential, tuple(shell_constructs))


@needs_curl
def test_each_sort_of_lines_of_a_run_sends_the_same_request(run_with_service):
    """The lines that a report gives for a request send the same method, path, headers and body as the run did.

    One example of each sort of lines is run, each in a shell that is installed here, with the variables that a person
    has to export. Left out are lines that cannot be run as they are, because a name in them is not shown. The command
    printf makes six forms of a wrong token from the valid one, and writes a credential that is not ASCII.
    """
    service, session, profile, variables = run_with_service
    shells = [name for name in ("dash", "bash", "sh") if shutil.which(name)]
    sorts = set()
    failures = []
    for exchange, lines in lines_by_exchange(session):
        sort = sort_of(exchange, lines)
        cannot_be_run = lines.splitlines()[-1].startswith("#") or "SENT_MEMBER" in lines
        if cannot_be_run or sort in sorts:
            continue
        environment = {"PATH": os.environ["PATH"], **variables_to_export(lines, exchange, profile, variables)}
        service.last_request = None
        shell = shells[len(sorts) % len(shells)]
        process = subprocess.run([shell, "-c", lines], env=environment, capture_output=True, check=False)
        problems = differences(exchange, service.last_request) if service.last_request else [process]
        if process.returncode or problems:
            failures.append((exchange.number, exchange.credential, problems, lines[:600]))
        sorts.add(sort)
    credentials_written_with_printf = {sort.credential for sort in sorts if "$(printf" in sort.shell_constructs}

    assert not failures, f"{len(failures)} of {len(sorts)}: {failures[:5]}"
    assert len(sorts) > 30  # each form of a wrong token is a sort of its own
    assert len(credentials_written_with_printf) == 6 + 1


def test_lines_that_send_again_show_no_value_and_say_what_to_export(run_with_service):
    """The lines that send a request again have no secret value and no key that the service made.

    They have variables in the place of these values, and a comment says for each what a person has to export.
    """
    _, session, _, _ = run_with_service
    all_lines = [lines for _, lines in lines_by_exchange(session)]
    with_a_known_value = [lines for lines in all_lines if session.display.without_known_values(lines) != lines]
    # The shape of a made-up UUID, such as a99a9a99-999a-…, shows no value: it has the digits of the UUID as 9, its letters as a.
    uuids = [match[0] for lines in all_lines for match in UUID.finditer(lines)]
    keys_of_the_service = [uuid for uuid in uuids if not set(uuid) <= set("a9-")]
    variables_without_a_comment = []
    for lines in all_lines:
        variables = re.findall(r"\$\{((?:ACCOUNT|KEY|IDENTIFIER|SENT|WRONG)\w*):", lines)
        variables_without_a_comment += [name for name in variables if f"{name}: " not in lines]

    assert with_a_known_value == []
    assert keys_of_the_service == []
    assert variables_without_a_comment == []


def test_lines_that_move_money_say_so(run_with_service):
    """The first line for an execution says that it moves money, and the second names the kind of the transfer.

    CODE_2, for example, is the second of six codes of the profile: the sandbox answers it with an e-mail address as key,
    and a CNPJ as document. CODE_7 is the first code that the run prepared, for a telephone number.
    """
    _, session, _, _ = run_with_service
    texts = [
        lines for exchange, lines in lines_by_exchange(session) if exchange.operation == "executePix" and exchange.valid
    ]
    first_lines = {text.splitlines()[0] for text in texts}
    second_lines = {text.splitlines()[1] for text in texts}

    assert len(texts) > 5
    assert len(set(texts)) == len(texts)  # each execution has a code of its own
    assert first_lines == {EXECUTES}
    assert "# CODE_2: of a transfer with type EMAIL, document CNPJ" in second_lines
    assert "# CODE_7: of a transfer with type PHONE, document CPF" in second_lines


@pytest.mark.parametrize(
    "code", ["dHgx+/A=", "TX 1", "a%41", "x", "TX:1;v=2", "'quoted'", "TX%2F1", "pixconf-of-a-bank"]
)
@pytest.mark.parametrize(
    "spelling",
    [quote, partial(quote, safe=""), lambda code: "".join(f"%{ord(c):02x}" for c in code)],
    ids=["as in a URL", "with an encoded slash", "percent-encoded whole"],
)
def test_every_line_that_executes_says_so(code, spelling):
    """The first line for an execution says that it moves money, however the code is written in the path.

    Without a token it says that it may move money. Only a code that the suite made up (`pixconf-` and hexadecimal
    digits) moves none, so its first line says nothing about money.
    """

    def first_line(name, **changes):
        """The first of the lines that send an execution again. `name` is the code as it is in the path."""
        exchange = answer("executePix", {}, path=f"/v1/execute/pix/{name}", **changes)
        return shown_in_full(exchange, Resending(Display(secrets), SANDBOX_PROFILE)).lines_that_resend.splitlines()[0]

    secrets = Secrets({"code": (code,)})
    without_token = {"credential": "no header", "valid": False}
    assert first_line(spelling(code)) == EXECUTES
    assert first_line(spelling(code), **without_token) == MAY_EXECUTE
    assert first_line("TX-THAT-NO-PROFILE-NAMES") == EXECUTES
    assert first_line("pixconf-0a1b2c3d") == "# shows it: 200"


@pytest.mark.parametrize(
    ("auth", "token_in_the_line"),
    [
        (Auth(token_env="BANK_TOKEN"), '"${BANK_TOKEN:?}"'),
        (Auth(token_file=Path("/secrets/the token")), '"$(cat "${TOKEN_FILE:?}")"'),
        (Auth(token_command=("vault", "--password=hunter2")), '"${PIX_TOKEN:?}"'),
    ],
    ids=["token_env", "token_file", "token_command"],
)
def test_lines_read_the_token_from_the_source_in_the_profile(auth, token_in_the_line):
    """The lines that send a request again read the token from the variable or the file that the profile names.

    The arguments of token_command may be secrets, and the path of a file belongs to another machine, so for both the
    lines have a variable.
    """
    secrets = Secrets()
    secrets.learn_secret("token", "token-4711-abc")
    request = Request("GET", "https://host/v1/accounts", (("Authorization", "Bearer token-4711-abc"),))
    resending = Resending(Display(secrets), replace(SANDBOX_PROFILE, auth=auth))
    line = resending.curl(resending.splitter.parts_of(request))

    assert line == f"curl -sS -i -X GET -H 'Authorization: Bearer '{token_in_the_line} 'https://host/v1/accounts'"


def test_curl_accepts_compressed_answers_if_one_was_no_json():
    """The curl line has --compressed if the answer was no JSON, because it may be compressed: the run accepts that, too."""
    exchange = answer("listAccounts", b"\x1f\x8b")

    assert (
        "curl --compressed "
        in shown_in_full(exchange, Resending(Display(Secrets()), SANDBOX_PROFILE)).lines_that_resend
    )


class ShowsTheDocumentAndBreaksOnOddBodies(Service):
    """Its execution results have an unmasked tax document. It answers 500 to a body that is no JSON or deeply nested."""

    def respond(self, request):
        """Answer a request, with status 500 if its body has NaN, many brackets, or a byte that is no UTF-8."""
        response = super().respond(request)
        has_odd_body = b"NaN" in request.body or b"[[[[" in request.body or b"\xff" in request.body
        if request.method == "POST" and has_odd_body:
            return replace(response, status=500)
        return response

    def execution_result(self, transfer):
        """The execution result of the sandbox, with a whole tax document."""
        return super().execution_result(transfer) | {"document": "12345678909"}


@needs_curl
def test_the_lines_of_a_report_reproduce_the_status(tmp_path):
    """The lines of a report, run in a shell, get an answer with the status that the comment "shows it" in them gives.

    A person needs the token and the values of the profile for that. This service has two faults: an unmasked document in
    execution results, and a 500 for odd bodies. The lines for an execution prepare a transfer of their own, and get its
    unmasked document. No line has a path of the machine.
    """
    selected = "executePix.document or registerPixKey.serverError or transferP2p.serverError"
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN_VARIABLES["PIX_TOKEN"])
    token_file.chmod(0o600)
    changes = {
        "auth": {"token_file": str(token_file)},
        "transactions": {"prepare": WHOLE_PROFILE["transactions"]["prepare"]},  # and no codes, which are sent only once
        "limits": WHOLE_PROFILE["limits"],
    }
    with Server(ShowsTheDocumentAndBreaksOnOddBodies(token=TOKEN_VARIABLES["PIX_TOKEN"])) as server:
        profile = write_profile(tmp_path, server.base_url, **changes)
        result = run_in_this_process(f"--environment={profile}", f"--report-dir={tmp_path / 'report'}", "-k", selected)
        environment = {"TOKEN_FILE": str(token_file), **environment_of_a_person(load(str(profile)))}
        lines_by_cause = {finding["cause"]: finding["reproduce"] for finding in result.document["findings"]}
        output_by_cause = {cause: output_of_shell(lines, environment) for cause, lines in lines_by_cause.items()}
    expected_statuses = {
        cause: re.search("^# shows it: (.*)$", lines, re.MULTILINE)[1] for cause, lines in lines_by_cause.items()
    }
    statuses = {cause: status_in(output) for cause, output in output_by_cause.items()}

    assert {"executePix.document.masked", "registerPixKey.serverError"} <= lines_by_cause.keys()
    assert [lines for lines in lines_by_cause.values() if str(tmp_path) in lines] == []
    assert statuses == expected_statuses, lines_by_cause
    assert '"document": "12345678909"' in output_by_cause["executePix.document.masked"]


class BreaksOnWhatIsDoneTwice(Service):
    """The sandbox, which answers 500 to the second registration of a key, and to the second deletion of a key."""

    def __init__(self, **options):
        """`options` are those of the sandbox. No key was deleted yet."""
        super().__init__(**options)
        self.deleted_keys = set()

    def register(self, ledger, account_id, key_type, value):
        """Register a key. Raises Refusal (500) if it is registered already."""
        if ledger.key(value):
            raise Refusal(500, "A constraint of the database failed.")
        return super().register(ledger, account_id, key_type, value)

    def remove(self, ledger, account_id, value):
        """Delete a key. Raises Refusal (500) if it was deleted before."""
        if value in self.deleted_keys and not ledger.key(value):
            raise Refusal(500, "None has no attribute account.")
        super().remove(ledger, account_id, value)
        self.deleted_keys.add(value)


@needs_curl
@pytest.mark.parametrize("requirement_id", ["registerPixKey.serverError", "deletePixKey.serverError"])
def test_the_lines_for_a_second_change_of_a_key_make_the_first_one(requirement_id, tmp_path, monkeypatch):
    """If the second registration or deletion of a key shows a fault, its lines show it on a fresh service, too.

    They register the key before, and delete it once if the run did so. Only the last answer is printed.
    """
    token = TOKEN_VARIABLES["PIX_TOKEN"]
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", token)
    with Server(BreaksOnWhatIsDoneTwice(token=token)) as server:
        profile = write_sandbox_profile(server.base_url, tmp_path)
        report = f"--report-dir={tmp_path / 'report'}"
        result = run_in_this_process(f"--environment={profile}", report, "-k", "registerPixKey or deletePixKey")
        [lines] = [
            finding["reproduce"] for finding in result.document["findings"] if finding["cause"] == requirement_id
        ]
        server.service = BreaksOnWhatIsDoneTwice(token=token)  # a fresh one at the same address
        environment = environment_of_a_person(load(str(profile))) | {"PIX_SANDBOX_TOKEN": token}
        output = output_of_shell(lines, environment)

    assert status_in(output) == "500", lines


class FailsAfterASecondExecution(Service):
    """The sandbox, which cannot read a balance if the last execution was that of a transfer that was executed before."""

    was_executed_again = False

    def finish(self, request, operation, response):
        """Answer with status 500 in the place of each balance after a second execution."""
        if operation == "executePix":
            self.was_executed_again = response.status == 409
        return replace(response, status=500) if operation == "getBalance" and self.was_executed_again else response


class FailsAfterTwoRegistrations(Service):
    """The sandbox, which cannot read the list of keys if the last registration was the same as the one before."""

    last_registration = b""
    was_repeated = False

    def finish(self, request, operation, response):
        """Answer with status 500 in the place of each list of keys after two equal registrations."""
        if operation == "registerPixKey":
            self.was_repeated = request.body == self.last_registration
            self.last_registration = request.body
        return replace(response, status=500) if operation == "listPixKeys" and self.was_repeated else response


@needs_curl
@pytest.mark.parametrize(
    ("service", "operations"),
    [
        (FailsAfterASecondExecution, "executePix or getBalance"),
        (FailsAfterTwoRegistrations, "registerPixKey or listPixKeys"),
    ],
)
def test_the_lines_of_a_sequence_send_its_steps(service, operations, tmp_path, monkeypatch):
    """If only certain steps before a request show a fault, the lines of the finding show it on a fresh service.

    They prepare and execute a transfer if the run did so. Only the last answer is printed.
    """
    token = TOKEN_VARIABLES["PIX_TOKEN"]
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", token)
    with Server(service(token=token)) as server:
        profile = write_sandbox_profile(server.base_url, tmp_path)
        report = f"--report-dir={tmp_path / 'report'}"
        result = run_in_this_process(f"--environment={profile}", report, "--seed=1", "-k", operations)
        [lines] = [finding["reproduce"] for finding in result.document["findings"]]
        server.service = service(token=token)  # a fresh one at the same address
        output = output_of_shell(lines, values_of_profile(load(str(profile))) | {"PIX_SANDBOX_TOKEN": token})

    assert status_in(output) == "500", lines


def status_in(output):
    """The status of the answer that curl printed; None if it printed no answer."""
    status_line = re.match(r"HTTP/1.1 (\d+)", output)
    return status_line[1] if status_line else None


def output_of_shell(lines, environment):
    """What bash prints to standard output for these lines."""
    process = subprocess.run(["bash", "-c", lines], env=environment, capture_output=True, text=True, errors="replace")
    return process.stdout


def environment_of_a_person(profile):
    """The variables of a shell in which a person with the profile runs lines of a report: its values, and a PATH.

    It has no transaction codes, because the lines prepare a transfer of their own.
    """
    variables = values_of_profile(profile)
    without_codes = {name: value for name, value in variables.items() if not name.startswith("CODE")}
    return {**without_codes, "PATH": os.environ["PATH"], "SENT_MESSAGE": "x"}
