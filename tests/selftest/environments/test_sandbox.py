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


def order(to, value=1.5, payer="ac-0001"):
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
    "transferExternal": ("POST", "/v1/transfer/external", order("98765432000198"), PREPARATION),
    "transferInternal": ("POST", "/v1/transfer/internal", order(OWN_KEYS[1]), PREPARATION),
    "transferP2p": ("POST", "/v1/transfer/p2p", order("24681357928"), PREPARATION),
}


@pytest.fixture
def service():
    return Service(token=TOKEN)


@pytest.fixture
def call(service):
    """Ask the service for an operation: its response, and the data in it."""

    def ask(method, path, body=None, authorization=f"Bearer {TOKEN}"):
        headers = {"content-type": "application/json"} | ({"authorization": authorization} if authorization else {})
        response = service.respond(Request(method, path, "", headers, json.dumps(body).encode() if body else b""))
        return response, json.loads(response.body)["data"]

    return ask


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_succeeds_with_the_token_alone(call, operation):
    """A valid request is answered with 200, code 0 and the fields of its data; without the token with 401, which names
    the scheme."""
    *request, fields = OPERATIONS[operation]
    wrong = ("", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN)
    refused = [call(*request, authorization)[0] for authorization in wrong]
    response, data = call(*request)

    assert {(each.status, dict(each.headers)["WWW-Authenticate"]) for each in refused} == {(401, "Bearer")}
    assert (response.status, dict(response.headers)["Content-Type"]) == (200, "application/json")
    assert (json.loads(response.body)["code"], set(data)) == (0, fields)


# Execution


def total(ledger):
    """The sum of all entries, which is 0 unless money was made or lost."""
    return sum(ledger.balance(account) for account in ("ac-0001", "ac-0002", "ac-0003", "clearing"))


def test_execution_moves_the_money_once(call, monkeypatch):
    """The value leaves the payer's account as one entry, which has the time of the execution in milliseconds. A second
    execution is refused with 409 and moves nothing."""
    monkeypatch.setattr("environments.sandbox.protocol.time", SimpleNamespace(time_ns=lambda: DATE * 1_000_000))
    balance = lambda: call("GET", "/v1/accounts/balance/ac-0001")[1]["balance"]  # noqa: E731 - read twice
    before, (_, done) = balance(), call("GET", EXECUTE)
    again, _ = call("GET", EXECUTE)

    assert (done["type"], done["status"], done["error"], done["date"]) == ("PHONE", "DONE", None, DATE)
    assert (again.status, before - balance()) == (409, 150)
    assert call("GET", "/v1/accounts/entries/ac-0001")[1]["entries"][-1] == {
        "transactionId": "SBX-PHONE-1", "date": DATE, "value": -150,
    }  # fmt: skip


def test_books_balance_under_eight_threads(call, service):
    """Each code is executed exactly once, also with concurrent callers, and no money is made or lost."""
    codes, start = [], threading.Barrier(8)

    def work(_):
        body = order(OWN_KEYS[1], 1.01)
        codes.extend(call("POST", "/v1/transfer/internal", body)[1]["transactionId"] for _ in range(4))
        start.wait()
        return [(code, call("GET", f"/v1/execute/pix/{code}")[0].status) for code in sorted(codes)]

    with ThreadPoolExecutor(8) as pool:
        answers = Counter(answer for mine in pool.map(work, range(8)) for answer in mine)

    assert answers == {(code, 200): 1 for code in codes} | {(code, 409): 7 for code in codes}
    with service.database.transaction() as ledger:
        assert (total(ledger), ledger.balance("ac-0001")) == (0, 500_000_000 - 32 * 101)


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
    """`python -m environments.sandbox` says how to try it, and ends quietly."""
    command = [sys.executable, "-m", "environments.sandbox", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as sandbox:
        lines = [sandbox.stdout.readline() for _ in range(7)]
        curls = [shlex.split(line) for line in lines if line.startswith("curl")]
        outputs = [json.loads(subprocess.check_output([*curl, "-s"])) for curl in curls]
        sandbox.send_signal(signal.SIGTERM)
        _, errors = sandbox.communicate()

    assert [output["code"] for output in outputs] == [0, 0]
    assert (sandbox.returncode, errors) == (0, "")
