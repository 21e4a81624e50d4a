"""The sandbox keeps its books, answers every operation, and survives what it is sent."""

import http.client
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
import requests
import yaml

from environments.sandbox import Response, Server, Service
from environments.sandbox.__main__ import main
from spec.interface import operations

ROOT = Path(__file__).parents[2]
TOKEN = "sandbox-token"
DATE = 1767225600000
PHONE = "+5511955500101"
KEY_TYPES = ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")
KEYS = "/v1/pix/keys/ac-0001"
EXECUTE = "/v1/execute/pix/SBX-PHONE-1"
PREPARATION = {"transactionId", "status", "value", "date", "name", "document"}
EXECUTION = {field.name for field in operations()["executePix"].result}


@pytest.fixture
def service():
    return Service(token=TOKEN)


@pytest.fixture
def server(service):
    with Server(service) as server:
        yield server


@pytest.fixture
def call(server):
    """Send one request with the token, over one connection that is kept alive."""
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {TOKEN}"
        yield lambda method, path, **rest: session.request(method, server.base_url + path, **rest)


def order(to, value=1.5):
    return {"from": "ac-0001", "to": to, "value": value, "date": DATE, "description": "Test"}


EMAIL = {"pixKey": "qa@example.com", "pixKeyType": "EMAIL", "account": "ac-0001"}
OWN_KEY, OTHER_KEY = "c0ffee00-0001-4000-8000-000000000001", "c0ffee00-0002-4000-8000-000000000002"
OPERATIONS = {
    "executePix": ("GET", EXECUTE, None, EXECUTION),
    "registerPixKey": ("POST", KEYS, EMAIL, {"Success", "Message", "Key", "DocumentNumber"}),
    "deletePixKey": ("DELETE", KEYS, {"pixKey": OWN_KEY}, {"message"}),
    "listPixKeys": ("GET", KEYS, None, {"keys"}),
    "listAccounts": ("GET", "/v1/accounts", None, {"accounts"}),
    "getBalance": ("GET", "/v1/accounts/balance/ac-0001", None, {"account", "balance"}),
    "listEntries": ("GET", "/v1/accounts/entries/ac-0001", None, {"entries"}),
    "createPix": ("POST", "/v1/pix", {"account": "ac-0001", "pixKey": PHONE, "value": 0.01}, PREPARATION),
    "transferExternal": ("POST", "/v1/transfer/external", order("98765432000198"), PREPARATION),
    "transferInternal": ("POST", "/v1/transfer/internal", order(OTHER_KEY), PREPARATION),
    "transferP2p": ("POST", "/v1/transfer/p2p", order("24681357928"), PREPARATION),
}


@pytest.mark.parametrize(("method", "path", "body", "fields"), OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_succeeds(call, method, path, body, fields):
    """A valid request to any operation is answered with 200, code 0 and the fields of its data."""
    reply = call(method, path, json=body)

    assert reply.status_code == 200
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json()["code"] == 0
    assert set(reply.json()["data"]) == fields


@pytest.mark.parametrize(("method", "path", "body", "fields"), OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("credential", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN])
def test_every_operation_requires_the_token(server, method, path, body, fields, credential):
    """Without the token every operation answers 401 and names the scheme."""
    headers = {} if credential is None else {"Authorization": credential}
    reply = requests.request(method, server.base_url + path, json=body, headers=headers)

    assert reply.status_code == 401
    assert reply.headers["WWW-Authenticate"] == "Bearer"


# Execution


def total(ledger):
    """The sum of all entries: 0, or money was made or lost."""
    return sum(ledger.balance(account) for account in ("ac-0001", "ac-0002", "ac-0003", "clearing"))


@pytest.mark.parametrize("key_type", KEY_TYPES)
def test_a_transfer_to_each_key_type_is_prepared(call, key_type):
    """One transfer for each key type waits to be executed."""
    data = call("GET", f"/v1/execute/pix/SBX-{key_type}-1").json()["data"]

    assert (data["type"], data["status"], data["error"]) == (key_type, "DONE", None)


def test_execution_moves_the_money(call, monkeypatch):
    """The value leaves the payer's account as one entry, which has the time of the execution in milliseconds."""
    monkeypatch.setattr("environments.sandbox.protocol.time", SimpleNamespace(time_ns=lambda: DATE * 1_000_000))
    before = call("GET", "/v1/accounts/balance/ac-0001").json()["data"]["balance"]
    done = call("GET", EXECUTE).json()["data"]
    after = call("GET", "/v1/accounts/balance/ac-0001").json()["data"]["balance"]
    last = call("GET", "/v1/accounts/entries/ac-0001").json()["data"]["entries"][-1]

    assert after == before - 150
    assert last == {"transactionId": "SBX-PHONE-1", "date": DATE, "value": -150}
    assert done["date"] == DATE


def test_execution_happens_once(call):
    """A second execution is refused with 409 and moves nothing."""
    call("GET", EXECUTE)
    again = call("GET", EXECUTE)

    assert again.status_code == 409
    assert call("GET", "/v1/accounts/balance/ac-0001").json()["data"]["balance"] == 5_000_000 - 150


def test_execution_takes_no_more_than_there_is(call, service):
    """A transfer above the balance is refused with 422, and stays prepared."""
    body = order("98765432000198", 25_000.01) | {"from": "ac-0002"}
    code = call("POST", "/v1/transfer/external", json=body).json()["data"]["transactionId"]
    reply = call("GET", f"/v1/execute/pix/{code}")

    assert reply.status_code == 422
    with service.database.transaction() as ledger:
        assert (ledger.transfer(code).status, total(ledger)) == ("PREPARED", 0)


def test_books_balance_under_eight_threads(server, service):
    """Each code is executed exactly once, also with concurrent callers, and no money is made or lost."""
    codes, start = [], threading.Barrier(8)

    def work(payer):
        with requests.Session() as session:
            session.headers["Authorization"] = f"Bearer {TOKEN}"
            to = f"c0ffee00-000{3 - payer}-4000-8000-00000000000{3 - payer}"
            body = order(to, payer + 0.01) | {"from": f"ac-000{payer}"}
            made = [session.post(f"{server.base_url}/v1/transfer/internal", json=body) for _ in range(4)]
            codes.extend(reply.json()["data"]["transactionId"] for reply in made)
            start.wait()
            return [
                (code, session.get(f"{server.base_url}/v1/execute/pix/{code}").status_code) for code in sorted(codes)
            ]

    with ThreadPoolExecutor(8) as pool:
        seen = Counter(answer for answers in pool.map(work, [1, 2] * 4) for answer in answers)

    assert seen == {(code, 200): 1 for code in codes} | {(code, 409): 7 for code in codes}
    with service.database.transaction() as ledger:
        left = [total(ledger), ledger.balance("ac-0001"), ledger.balance("ac-0002")]
    assert left == [0, 500_000_000 + 16 * 100, 2_500_000 - 16 * 100]


# Keys


REGISTERED = {"PHONE": "+5511955500999", "EMAIL": "a@b.example", "CNPJ": "12ABC34501DE35", "CPF": "12345678909"}


@pytest.mark.parametrize(("key_type", "key"), REGISTERED.items())
def test_a_registered_key_is_listed(call, key_type, key):
    """A key of a documented type is registered, shown and listed."""
    data = call("POST", KEYS, json={"pixKeyType": key_type, "pixKey": key}).json()["data"]

    assert (data["Success"], data["Key"]) == ("true", key)
    assert {"pixKey": key, "pixKeyType": key_type} in call("GET", KEYS).json()["data"]["keys"]


@pytest.mark.parametrize("rest", [{}, {"pixKey": ""}])
def test_a_random_key_is_made_by_the_service(call, rest):
    """A RANDOM key without a value is made by the service, and shown as null."""
    data = call("POST", KEYS, json={"pixKeyType": "RANDOM", **rest}).json()["data"]

    assert (data["Success"], data["Key"]) == ("true", None)
    assert len(call("GET", KEYS).json()["data"]["keys"]) == 2


def test_a_key_is_registered_once(call):
    """A key that is registered already is answered with Success "false", and a number of its own."""
    body = {"pixKeyType": "PHONE", "pixKey": PHONE}
    first, second = (call("POST", KEYS, json=body).json() for _ in range(2))

    assert (first["code"], first["data"]["Success"]) == (0, "false")
    assert second["data"]["DocumentNumber"] == first["data"]["DocumentNumber"] + 1


@pytest.mark.parametrize("key_type", [*KEY_TYPES, "0", "1", "phone", ""])
def test_a_key_in_no_known_format_is_refused(call, key_type):
    """A key that does not fit its type, and an undocumented key type, are refused with 422."""
    reply = call("POST", KEYS, json={"pixKeyType": key_type, "pixKey": "11111111-1"})

    assert reply.status_code == 422
    assert "11111111-1" not in reply.text


# The default profile


def filled(body, key=""):
    text = json.dumps(body).replace("{account}", "ac-0001").replace("{key}", key).replace("{type}", "EMAIL")
    return json.loads(text)


def test_every_request_of_the_profile_succeeds(call):
    """The sandbox accepts the keys, bodies and codes of sandbox.yaml."""
    profile = yaml.safe_load((ROOT / "environments/sandbox.yaml").read_text("utf-8"))
    keys = [{"pixKeyType": key["type"], "pixKey": key["key"]} for key in profile["pix_keys"]]
    made = [call("POST", KEYS, json=key).json()["data"]["Success"] for key in keys]
    bodies = {name: filled(request["json"], keys[1]["pixKey"]) for name, request in profile["requests"].items()}
    replies = [call(*OPERATIONS[name][:2], json=body) for name, body in bodies.items()]
    prepared = call("POST", "/v1/pix", json=profile["transactions"]["prepare"]["json"])
    codes = [*profile["transactions"]["codes"], prepared.json()["data"]["transactionId"]]

    assert made == ["true"] * 5
    assert [reply.status_code for reply in replies] == [200] * 5
    assert [call("GET", f"/v1/execute/pix/{code}").status_code for code in codes] == [200] * 7


# Hostile input


def http_message(method, path, body=b"", *headers):
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode("latin-1") + body


def register(body):
    return http_message("POST", KEYS, body, "Content-Type: application/json")


def pix(value):
    body = b'{"account": "ac-0001", "pixKey": "+5511955500101", "value": %s}' % value
    return http_message("POST", "/v1/pix", body, "Content-Type: application/json")


HOSTILE = {
    "no JSON": register(b"{"),
    "no body": register(b""),
    "wrong types": register(b'{"pixKey": 1, "pixKeyType": [], "account": {}}'),
    "huge integer": register(b'{"pixKeyType": %s}' % (b"9" * 5000)),
    "NaN": register(b"NaN"),
    "deep arrays": register(b"[" * 100_000),
    "lone surrogate": register(b'{"pixKeyType": "RANDOM", "pixKey": "\\ud800"}'),
    "NUL in a key": register(b'{"pixKeyType": "EMAIL", "pixKey": "a\\u0000@b.c"}'),
    "not UTF-8": register(b'{"pixKeyType": "\xff"}'),
    "member twice": register(b'{"pixKeyType": "RANDOM", "pixKeyType": "CPF"}'),
    "body too large": register(b" " * 1_500_000),
    "value 1e400": pix(b"1e400"),
    "value of 4000 digits": pix(b"9" * 4000),
    "negative value": pix(b"-1"),
    "value true": pix(b"true"),
    "no Content-Type": http_message("POST", KEYS, b"{}"),
    "token twice": http_message("GET", EXECUTE, b"", f"Authorization: Bearer {TOKEN}"),
    "token not ASCII": b"GET /v1/accounts HTTP/1.1\r\nAuthorization: Bearer \xff\xe2\x82\xac\r\n\r\n",
    "NUL": http_message("GET", "/v1/execute/pix/\x00"),
    "invalid UTF-8": http_message("GET", "/v1/execute/pix/%ff%fe"),
    "raw bytes in the path": http_message("GET", "/v1/execute/pix/\xff\xe9"),
    "long path": http_message("GET", "/v1/execute/pix/" + "a" * 60_000),
    "absolute, broken": http_message("GET", "http://[/v1/accounts"),
    "asterisk": http_message("OPTIONS", "*"),
    "unknown method": http_message("BREW", EXECUTE),
    "200 headers": http_message("GET", EXECUTE, b"", *(f"X-{n}: 1" for n in range(200))),
    "long header": http_message("GET", EXECUTE, b"", "X: " + "a" * 70_000),
    "two lengths": http_message("POST", KEYS, b"{}", "Content-Length: 3"),
    "length and chunks": http_message("POST", KEYS, b"{}", "Transfer-Encoding: chunked"),
    "long length": b"POST /v1/pix HTTP/1.1\r\nContent-Length: %s\r\n\r\n" % (b"9" * 5000),
    "half a body": b"POST /v1/pix HTTP/1.1\r\nContent-Length: 100\r\n\r\n{",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    "HTTP/9": b"GET / HTTP/9.9\r\n\r\n",
}


def answer(server, message):
    """The one answer to raw bytes, after which no more are sent."""
    with socket.create_connection(server.base_url[7:].split(":")) as connection:
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        with http.client.HTTPResponse(connection) as reply:
            reply.begin()
            return reply.status, json.loads(reply.read())


@pytest.mark.parametrize("message", HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_is_refused_readably(server, call, capfd, message):
    """Hostile input is refused as the client's mistake (a version with 505); nothing is printed, and the service goes
    on."""
    status, body = answer(server, message)

    assert 400 <= status < 500 or status == 505
    assert body["code"] == status
    assert body["data"]["error"]
    assert call("GET", "/v1/accounts").status_code == 200
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("message", [b"", b"GET /v1/acc", b"POST /v1/pix HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"])
def test_a_client_may_go_away_at_any_time(server, call, capfd, message):
    """A client that breaks off leaves neither a trace on the terminal nor a service that is down."""
    with socket.create_connection(server.base_url[7:].split(":")) as connection:
        connection.sendall(message)

    assert call("GET", "/v1/accounts").status_code == 200
    assert capfd.readouterr() == ("", "")


# The server


def test_a_server_stops_with_a_connection_open(monkeypatch):
    """`stop` waits for no client, however long that is silent, and closes what is open."""
    monkeypatch.setattr("environments.sandbox.server._Handler.timeout", None)
    with Server(Service()) as server:
        connection = http.client.HTTPConnection(server.base_url[7:])
        connection.request("GET", "/")
        connection.getresponse().read()
    with connection.sock as open_end:
        assert open_end.recv(1) == b""


def test_an_override_is_seen_from_outside(caplog):
    """A subclass changes one thing; a fault of its own is a 500, with a trace for its author."""

    class ForgetsTheDate(Service):
        def execution_result(self, transfer):
            return {name: value for name, value in super().execution_result(transfer).items() if name != "date"}

        def finish(self, request, operation, response):
            return Response(response.status, response.body, (*response.headers, ("X-Operation", str(operation))))

        def list_accounts(self, request):
            raise RuntimeError("on purpose")

    headers = {"Authorization": f"Bearer {TOKEN}"}
    with Server(ForgetsTheDate(token=TOKEN)) as server:
        done = requests.get(server.base_url + EXECUTE, headers=headers)
        failed = requests.get(f"{server.base_url}/v1/accounts", headers=headers)

    assert EXECUTION - done.json()["data"].keys() == {"date"}
    assert done.headers["X-Operation"] == "executePix"
    assert failed.status_code == 500
    assert "on purpose" in caplog.text


# Alone


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_curl_lines_that_work(ending):
    """`python -m environments.sandbox` says how to try it, and ends quietly."""
    command = [sys.executable, "-m", "environments.sandbox", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as sandbox:
        lines = [sandbox.stdout.readline() for _ in range(7)]
        curls = [shlex.split(line) for line in lines if line.startswith("curl")]
        outputs = [json.loads(subprocess.check_output([*curl, "-s"])) for curl in curls]
        sandbox.send_signal(ending)
        _, errors = sandbox.communicate()

    assert [output["code"] for output in outputs] == [0, 0]
    assert (sandbox.returncode, errors) == (0, "")


def test_a_port_in_use_is_one_line(server, monkeypatch, capsys):
    """It ends with exit status 2."""
    port = server.base_url.rpartition(":")[2]
    monkeypatch.setattr(sys, "argv", ["sandbox", "--port", port])

    assert main() == 2
    assert capsys.readouterr().err.startswith(f"error: cannot listen on 127.0.0.1, port {port}: ")
