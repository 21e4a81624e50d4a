"""The sandbox keeps its books, answers every operation, and survives what it is sent."""

import json
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest

from environments.sandbox import Request, Server, Service
from spec.interface import operations

ROOT = Path(__file__).parents[3]
TOKEN = "sandbox-token"
DATE = 1767225600000
PHONE = "+5511955500101"
KEYS = "/v1/pix/keys/ac-0001"
EXECUTE = "/v1/execute/pix/SBX-PHONE-1"
FIELDS_OF_PREPARATION = {"transactionId", "status", "value", "date"}
FIELDS_OF_EXECUTION = {field.name for field in operations()["executePix"].result}


def transfer_body(to, value=1.5, payer="ac-0001"):
    """The body of a transfer of this value, from the account `payer` to the account or key `to`."""
    return {"from": payer, "to": to, "value": value, "date": DATE, "description": "Test"}


REGISTRATION = {"pixKey": "qa@example.com", "pixKeyType": "EMAIL", "account": "ac-0001"}
OWN_KEYS = [f"c0ffee00-000{n}-4000-8000-00000000000{n}" for n in (1, 2)]
OPERATIONS = {
    "executePix": ("GET", EXECUTE, None, FIELDS_OF_EXECUTION),
    "registerPixKey": ("POST", KEYS, REGISTRATION, {"Success", "Message", "Key", "DocumentNumber"}),
    "deletePixKey": ("DELETE", KEYS, {"pixKey": OWN_KEYS[0]}, {"message"}),
    "listPixKeys": ("GET", KEYS, None, {"keys"}),
    "listAccounts": ("GET", "/v1/accounts", None, {"accounts"}),
    "getBalance": ("GET", "/v1/accounts/balance/ac-0001", None, {"account", "balance"}),
    "listEntries": ("GET", "/v1/accounts/entries/ac-0001", None, {"entries"}),
    "createPix": ("POST", "/v1/pix", {"account": "ac-0001", "pixKey": PHONE, "value": 0.01}, FIELDS_OF_PREPARATION),
    "transferExternal": ("POST", "/v1/transfer/external", transfer_body("98765432000198"), FIELDS_OF_PREPARATION),
    "transferInternal": ("POST", "/v1/transfer/internal", transfer_body(OWN_KEYS[1]), FIELDS_OF_PREPARATION),
    "transferP2p": ("POST", "/v1/transfer/p2p", transfer_body("24681357928"), FIELDS_OF_PREPARATION),
}
"""By operation: method, path and body of a valid request, and the fields in `data` of its response."""


@pytest.fixture
def service():
    """A sandbox in this process."""
    return Service(token=TOKEN)


@pytest.fixture
def call_operation(service):
    """A function that sends a request to the sandbox. It returns the response, and the member `data` of its JSON."""

    def respond(method, path, body=None, authorization=f"Bearer {TOKEN}"):
        """The response to a request with this body as JSON, and the member `data` of the response."""
        headers = {"content-type": "application/json"}
        if authorization:
            headers["authorization"] = authorization
        body_bytes = json.dumps(body).encode() if body else b""
        response = service.respond(Request(method, path, "", headers, body_bytes))
        return response, json.loads(response.body)["data"]

    return respond


each_operation = pytest.mark.parametrize(("method", "path", "body", "fields"), OPERATIONS.values(), ids=OPERATIONS)


@each_operation
def test_every_operation_of_the_sandbox_succeeds_with_the_token(method, path, body, fields, call_operation):
    """The sandbox is a test service of the suite. A valid request gets 200, JSON, code 0 and the fields of the
    operation.
    """
    response, data = call_operation(method, path, body)

    assert response.status == 200
    assert dict(response.headers)["Content-Type"] == "application/json"
    assert json.loads(response.body)["code"] == 0
    assert set(data) == fields


@each_operation
@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN])
def test_no_operation_of_the_sandbox_succeeds_without_the_token(
    authorization, method, path, body, fields, call_operation
):
    """The sandbox is a test service of the suite. It answers 401 and names the scheme in WWW-Authenticate."""
    response, _ = call_operation(method, path, body, authorization)

    assert response.status == 401
    assert dict(response.headers)["WWW-Authenticate"] == "Bearer"


# Execution


def sum_of_entries(ledger):
    """The sum of all entries, which is 0 unless money was made or lost."""
    return sum(ledger.balance(account) for account in ("ac-0001", "ac-0002", "ac-0003", "clearing"))


@pytest.fixture
def stopped_clock(monkeypatch):
    """The clock of the sandbox stands at DATE, in milliseconds since 1970."""
    monkeypatch.setattr("environments.sandbox.protocol.time", SimpleNamespace(time_ns=lambda: DATE * 1_000_000))


def test_an_execution_moves_the_money_once(call_operation):
    """The sandbox is a test service of the suite. The code SBX-PHONE-1 stands for a transfer of 1.50 (150 cents).

    Its second execution gets 409 and moves nothing.
    """
    _, balance_before = call_operation("GET", "/v1/accounts/balance/ac-0001")
    call_operation("GET", EXECUTE)
    second_execution, _ = call_operation("GET", EXECUTE)
    _, balance_afterwards = call_operation("GET", "/v1/accounts/balance/ac-0001")

    assert second_execution.status == 409
    assert balance_before["balance"] - balance_afterwards["balance"] == 150


def test_an_execution_is_an_entry_of_the_account_of_the_payer(call_operation, stopped_clock):
    """After an execution the last entry of the account of the payer has its value (-150 cents) and its date.

    The execution result has the same date, in milliseconds. The sandbox is a test service of the suite.
    """
    _, result = call_operation("GET", EXECUTE)
    _, account = call_operation("GET", "/v1/accounts/entries/ac-0001")
    last_entry = account["entries"][-1]

    assert result["type"] == "PHONE"
    assert result["status"] == "DONE"
    assert result["error"] is None
    assert result["date"] == DATE
    assert last_entry == {"transactionId": "SBX-PHONE-1", "date": DATE, "value": -150}


def test_the_books_of_the_sandbox_balance_under_eight_threads(call_operation, service):
    """Eight callers prepare four transfers each of 1.01 (101 cents), and each caller executes all 32 codes at the same
    time.

    Each code is executed once (200) and refused seven times (409). No money is made or lost.
    """
    codes = []
    all_are_prepared = threading.Barrier(8)

    def prepare_and_execute(_):
        """Prepare four transfers, wait for the other callers, and execute all codes. Returns each code with its status."""
        for _ in range(4):
            _, prepared = call_operation("POST", "/v1/transfer/internal", transfer_body(OWN_KEYS[1], 1.01))
            codes.append(prepared["transactionId"])
        all_are_prepared.wait()
        codes_and_statuses = []
        for code in sorted(codes):
            response, _ = call_operation("GET", f"/v1/execute/pix/{code}")
            codes_and_statuses.append((code, response.status))
        return codes_and_statuses

    with ThreadPoolExecutor(8) as pool:
        answers_of_callers = pool.map(prepare_and_execute, range(8))
    number_of_answers = Counter(chain.from_iterable(answers_of_callers))
    expected_number_of_answers = {}
    for code in codes:
        expected_number_of_answers |= {(code, 200): 1, (code, 409): 7}

    assert number_of_answers == expected_number_of_answers
    with service.database.transaction() as ledger:
        assert sum_of_entries(ledger) == 0
        balance_before, number_of_transfers = 500_000_000, 32
        assert ledger.balance("ac-0001") == balance_before - number_of_transfers * 101


# The server


def test_the_server_of_the_sandbox_stops_although_a_connection_is_open(monkeypatch):
    """A client has got an answer, and keeps its connection open without a word. The server stops and closes the
    connection.
    """
    monkeypatch.setattr("environments.sandbox.server._Handler.timeout", None)
    with Server(Service()) as server:
        connection = socket.create_connection(server.base_url.removeprefix("http://").split(":"))
        connection.sendall(b"GET /v1/accounts HTTP/1.1\r\nHost: x\r\n\r\n")
        while not connection.recv(65_536).endswith(b"}"):  # the end of the answer
            continue
    with connection:
        assert connection.recv(1) == b""  # the connection is closed


# Alone


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_command_prints_curl_lines_that_work():
    """`python -m environments.sandbox` starts the test service and prints two curl lines to try it. Both succeed (code
    0).

    After a SIGTERM it ends with status 0 and prints no error.
    """
    command = [sys.executable, "-m", "environments.sandbox", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as sandbox:
        number_of_lines = 7  # all that the command prints while it serves
        lines = [sandbox.stdout.readline() for _ in range(number_of_lines)]
        curls = [shlex.split(line) for line in lines if line.startswith("curl")]
        outputs = [json.loads(subprocess.check_output([*curl, "-s"])) for curl in curls]
        sandbox.send_signal(signal.SIGTERM)
        _, errors = sandbox.communicate()

    assert [output["code"] for output in outputs] == [0, 0]
    assert sandbox.returncode == 0
    assert errors == ""
