"""Recordings as large as one likes, as mitmproxy writes the traffic of a bank: sessions of customers, of which each has
a token and an account of its own, and no two values are alike."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

BASE = "https://api.bank.test/pix"
_START = datetime(2026, 11, 20, 9, tzinfo=UTC)
_REQUESTS_OF_A_SESSION = 20
_NAMES = ("Ana Souza", "João Nascimento", "Érica Conceição Brandão", "D'Ávila & Filhos Ltda", "Li")
_TYPES = ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")
_MIXED = {
    "listAccounts": 15, "getBalance": 27, "listEntries": 20, "listPixKeys": 8, "executePix": 12, "registerPixKey": 3,
    "deletePixKey": 1, "createPix": 1, "transferExternal": 2, "transferInternal": 3, "transferP2p": 3,
    "refused": 3, "another path": 2,
}  # fmt: skip
"""Of a hundred requests, those to each operation."""


def recording(file: Path, exchanges: int, *, executions_alone: bool = False) -> None:
    """Write a HAR file of so many exchanges."""
    head = {"version": "1.2", "creator": {"name": "mitmproxy", "version": "12.2.0"}, "pages": []}
    traffic = entries({"executePix": 1} if executions_alone else _MIXED)
    with file.open("w", encoding="utf-8") as har:
        har.write(f'{{"log": {json.dumps(head)[:-1]}, "entries": [')
        for number in range(exchanges):
            har.write(",\n" * bool(number) + json.dumps(next(traffic), ensure_ascii=False))
        har.write("]}}")


def entries(shares: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Endless traffic; always the same."""
    draw = Random(1)
    for number in count():
        if number % _REQUESTS_OF_A_SESSION == 0:
            token, account = f"eyJhbGciOiJFUzI1NiJ9.{draw.randbytes(150).hex()}", f"{draw.randrange(10**8):08}"
        (what,) = draw.choices([*shares], [*shares.values()])
        yield _entry(draw, number, token, *_exchange(draw, what, account))


def _exchange(draw: Random, what: str, account: str) -> tuple[str, str, Any, int, Any]:
    """Method, path, body of the request; status and data of the answer."""
    kind, key, code = draw.choice(_TYPES), f"{draw.randrange(10**6)}@example.com", f"TX{draw.randrange(10**12):012}"
    value, date = draw.randrange(1, 10**6) / 100, 1_763_629_200_000 + draw.randrange(10**8)
    transfer = {"from": account, "to": f"{draw.randrange(10**8):08}", "value": value, "date": "2026-11-20"}
    described = transfer | {"description": draw.choice(_NAMES)}
    holder = {
        "bank": "341", "account": f"{draw.randrange(10**6)}", "digit": f"{draw.randrange(10)}", "branch": "0001",
        "accountType": draw.choice((1, 2)), "document": f"***.{draw.randrange(1000):03}.{draw.randrange(1000):03}-**",
        "name": draw.choice(_NAMES),
    }  # fmt: skip
    paid = {"type": kind, "key": key, "value": value, "message": "", "status": "DONE", "error": None}
    keys = f"/v1/pix/keys/{account}"
    registering = {"pixKey": key, "account": account, "pixKeyType": kind}
    match what:
        case "executePix":
            return "GET", f"/v1/execute/pix/{code}", None, 200, {"id": code, "date": date} | holder | paid
        case "registerPixKey":
            registered = {"Success": "true", "Message": "Request received.", "Key": key, "DocumentNumber": date}
            return "POST", keys, registering, 200, registered
        case "deletePixKey":
            return "DELETE", keys, {"pixKey": key}, 200, {"message": "The key is deleted."}
        case "listPixKeys":
            return "GET", keys, None, 200, {"keys": [{"key": key, "type": kind}] * draw.randrange(6)}
        case "listAccounts":
            return "GET", "/v1/accounts", None, 200, {"accounts": [{"id": account} | holder] * draw.randrange(1, 4)}
        case "getBalance":
            return "GET", f"/v1/accounts/balance/{account}", None, 200, {"account": account, "balance": value}
        case "listEntries":
            seen = [
                {
                    "transactionId": f"TX{draw.randrange(10**12)}",
                    "date": date + at,
                    "value": draw.randrange(10**6) / 100,
                }
                for at in range(draw.randrange(30))
            ]
            return "GET", f"/v1/accounts/entries/{account}", None, 200, {"entries": seen}
        case "createPix":
            return "POST", "/v1/pix", {"key": key, "value": value}, 200, {"transactionId": code}
        case "transferExternal":
            return "POST", "/v1/transfer/external", transfer, 200, {"transactionId": code, "date": date}
        case "transferInternal" | "transferP2p":
            path = f"/v1/transfer/{what.removeprefix('transfer').lower()}"
            return "POST", path, described, 200, {"transactionId": code, "date": date}
        case "refused":
            return "POST", keys, registering, draw.choice((400, 401, 404, 409, 422)), None
    return "GET", f"/assets/{code}.json", None, 200, {"theme": "dark"}


def _entry(
    draw: Random, number: int, token: str, method: str, path: str, sent: Any, status: int, data: Any
) -> dict[str, Any]:
    at, text = _START + timedelta(milliseconds=17 * number), "" if sent is None else json.dumps(sent)
    body = json.dumps({"code": 0, "data": data} if status == 200 else {"code": status, "error": "Recusado."})
    request = {
        "host": "api.bank.test", "user-agent": "Dalvik/2.1.0 (Linux; U; Android 15)", "accept": "application/json",
        "accept-encoding": "gzip, br", "authorization": f"Bearer {token}", "x-request-id": draw.randbytes(16).hex(),
    } | ({"content-type": "application/json", "content-length": str(len(text))} if text else {})  # fmt: skip
    response = {
        "date": f"{at:%a, %d %b %Y %H:%M:%S GMT}", "content-type": "application/json; charset=utf-8",
        "content-length": str(len(body)), "cache-control": "no-store", "x-request-id": request["x-request-id"],
        "strict-transport-security": "max-age=31536000", "server": "envoy",
    }  # fmt: skip
    posted = {"postData": {"mimeType": "application/json", "text": text, "params": []}} if text else {}
    return {
        "startedDateTime": at.isoformat(),
        "time": draw.random() * 90,
        "request": {
            "method": method, "url": BASE + path, "httpVersion": "HTTP/2.0", "cookies": [], "headers": _headers(request),
            "queryString": [], "headersSize": 700, "bodySize": len(text), **posted,
        },
        "response": {
            "status": status, "statusText": "", "httpVersion": "HTTP/2.0", "cookies": [], "headers": _headers(response),
            "content": {"size": len(body), "compression": 0, "mimeType": "application/json; charset=utf-8", "text": body},
            "redirectURL": "", "headersSize": 400, "bodySize": len(body),
        },
        "cache": {},
        "timings": {"connect": -1, "ssl": -1, "send": draw.random(), "receive": draw.random(), "wait": draw.random() * 80},
        "serverIPAddress": "10.0.0.7",
    }  # fmt: skip


def _headers(named: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in named.items()]
