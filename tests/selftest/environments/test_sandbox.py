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
PREPARATION = {"transactionId", "status", "value", "date"}
EXECUTION = {field.name for field in operations()["executePix"].result}


def transfer_body(to, value=1.5, payer="ac-0001"):
    """The body of a transfer."""
    return {"from": payer, "to": to, "value": value, "date": DATE, "description": "Test"}


EMAIL = {"pixKey": "qa@example.com", "pixKeyType": "EMAIL", "account": "ac-0001"}
OWN_KEYS = [f"c0ffee00-000{n}-4000-8000-00000000000{n}" for n in (1, 2)]
OPERATIONS = {
    "executePix": ("GET", EXECUTE, None, EXECUTION),
    "registerPixKey": ("POST", KEYS, EMAIL, {"Success", "Message", "Key", "DocumentNumber"}),
    "deletePixKey": ("DELETE", KEYS, {"pixKey": OWN_KEYS[0]}, {"message"}),
    "listPixKeys": ("GET", KEYS, None, {"keys"}),
    "listAccounts": ("GET", "/v1/accounts", None, {"accounts"}),
    "getBalance": ("GET", "/v1/accounts/balance/ac-0001", None, {"account", "balance"}),
    "listEntries": ("GET", "/v1/accounts/entries/ac-0001", None, {"entries"}),
    "createPix": ("POST", "/v1/pix", {"account": "ac-0001", "pixKey": PHONE, "value": 0.01}, PREPARATION),
    "transferExternal": ("POST", "/v1/transfer/external", transfer_body("98765432000198"), PREPARATION),
    "transferInternal": ("POST", "/v1/transfer/internal", transfer_body(OWN_KEYS[1]), PREPARATION),
    "transferP2p": ("POST", "/v1/transfer/p2p", transfer_body("24681357928"), PREPARATION),
}


@pytest.fixture
def service():
    """A sandbox in this process."""
    return Service(token=TOKEN)


@pytest.fixture
def call_operation(service):
    """Calls an operation of the sandbox: the response, and the data in its envelope."""

    def respond(method, path, body=None, authorization=f"Bearer {TOKEN}"):
        headers = {"content-type": "application/json"} | ({"authorization": authorization} if authorization else {})
        response = service.respond(Request(method, path, "", headers, json.dumps(body).encode() if body else b""))
        return response, json.loads(response.body)["data"]

    return respond


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_succeeds_with_the_token_alone(call_operation, operation):
    """A valid request gets 200, code 0 and the fields of the operation.

    With a wrong credential it gets 401, which names the scheme.
    """
    *request, fields = OPERATIONS[operation]
    wrong_credentials = ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN)
    refused = [call_operation(*request, authorization)[0] for authorization in wrong_credentials]
    response, data = call_operation(*request)

    assert {(refusal.status, dict(refusal.headers)["WWW-Authenticate"]) for refusal in refused} == {(401, "Bearer")}
    assert response.status == 200
    assert dict(response.headers)["Content-Type"] == "application/json"
    assert json.loads(response.body)["code"] == 0
    assert set(data) == fields


# Execution


def sum_of_entries(ledger):
    """The sum of all entries, which is 0 unless money was made or lost."""
    return sum(ledger.balance(account) for account in ("ac-0001", "ac-0002", "ac-0003", "clearing"))


def test_execution_moves_the_money_once(call_operation, monkeypatch):
    """The value leaves the payer's account as one entry, with the time of the execution in milliseconds.

    A second execution gets 409 and moves nothing.
    """
    monkeypatch.setattr("environments.sandbox.protocol.time", SimpleNamespace(time_ns=lambda: DATE * 1_000_000))
    balance = lambda: call_operation("GET", "/v1/accounts/balance/ac-0001")[1]["balance"]  # noqa: E731 - read twice
    balance_before = balance()
    _, result = call_operation("GET", EXECUTE)
    repeated, _ = call_operation("GET", EXECUTE)

    assert (result["type"], result["status"], result["error"], result["date"]) == ("PHONE", "DONE", None, DATE)
    assert repeated.status == 409
    assert balance_before - balance() == 150
    assert call_operation("GET", "/v1/accounts/entries/ac-0001")[1]["entries"][-1] == {
        "transactionId": "SBX-PHONE-1", "date": DATE, "value": -150,
    }  # fmt: skip


def test_books_balance_under_eight_threads(call_operation, service):
    """Each code is executed once, however many callers send it at the same time. No money is made or lost."""
    codes = []
    start = threading.Barrier(8)

    def prepare_and_execute(_):
        body = transfer_body(OWN_KEYS[1], 1.01)
        codes.extend(call_operation("POST", "/v1/transfer/internal", body)[1]["transactionId"] for _ in range(4))
        start.wait()
        return [(code, call_operation("GET", f"/v1/execute/pix/{code}")[0].status) for code in sorted(codes)]

    with ThreadPoolExecutor(8) as pool:
        answers = Counter(chain.from_iterable(pool.map(prepare_and_execute, range(8))))

    assert answers == {(code, 200): 1 for code in codes} | {(code, 409): 7 for code in codes}
    with service.database.transaction() as ledger:
        assert sum_of_entries(ledger) == 0
        assert ledger.balance("ac-0001") == 500_000_000 - 32 * 101


# The server


def test_a_server_stops_with_a_connection_open(monkeypatch):
    """`stop` does not wait for a silent client, and closes every open connection."""
    monkeypatch.setattr("environments.sandbox.server._Handler.timeout", None)
    with Server(Service()) as server:
        connection = socket.create_connection(server.base_url[7:].split(":"))
        connection.sendall(b"GET /v1/accounts HTTP/1.1\r\nHost: x\r\n\r\n")
        while not connection.recv(65_536).endswith(b"}"):
            continue
    with connection:
        assert connection.recv(1) == b""


# Alone


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_command_prints_curl_lines_that_work():
    """`python -m environments.sandbox` prints how to try it. After a SIGTERM it ends with 0 and prints no error."""
    command = [sys.executable, "-m", "environments.sandbox", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as sandbox:
        lines = [sandbox.stdout.readline() for _ in range(7)]
        curls = [shlex.split(line) for line in lines if line.startswith("curl")]
        outputs = [json.loads(subprocess.check_output([*curl, "-s"])) for curl in curls]
        sandbox.send_signal(signal.SIGTERM)
        _, errors = sandbox.communicate()

    assert [output["code"] for output in outputs] == [0, 0]
    assert sandbox.returncode == 0
    assert errors == ""
