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
_TYPES = ("PHONE", "EMAIL", "RANDOM", "CNPJ", "CPF")
_MIXED = {"balance": 40, "entries": 30, "execution": 12, "registration": 4, "transfer": 9, "refusal": 3, "other": 2}
"""Of a hundred requests, those of each sort."""


def recording(file: Path, exchanges: int, *, executions_alone: bool = False) -> None:
    """Write a HAR file of so many exchanges."""
    head = {"version": "1.2", "creator": {"name": "mitmproxy", "version": "12.2.0"}, "pages": []}
    traffic = entries({"execution": 1} if executions_alone else _MIXED)
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
        (sort,) = draw.choices([*shares], [*shares.values()])
        yield _entry(draw, number, token, *_exchange(draw, sort, account))


def _exchange(draw: Random, sort: str, account: str) -> tuple[str, str, Any, int, Any]:
    """Method, path, body of the request; status and data of the answer."""
    key, code, date = f"{draw.randrange(10**6)}@example.com", f"TX{draw.randrange(10**12):012}", draw.randrange(10**12)
    value, registering = date % 10**6 / 100, {"pixKey": key, "account": account, "pixKeyType": draw.choice(_TYPES)}
    paid = {
        "id": code, "date": date, "bank": "341", "account": f"{date % 10**6}", "digit": f"{date % 10}", "branch": "0001",
        "accountType": draw.choice((1, 2)), "document": f"***.{date % 1000:03}.{draw.randrange(1000):03}-**",
        "name": draw.choice(("Ana Souza", "João Nascimento", "D'Ávila & Filhos Ltda")), "type": draw.choice(_TYPES),
        "key": key, "value": value, "message": "", "status": "DONE", "error": None,
    }  # fmt: skip
    registered = {"Success": "true", "Message": "Request received.", "Key": key, "DocumentNumber": date}
    transfer = {"from": account, "to": key, "value": value, "date": "2026-11-20", "description": key}
    seen = [{"transactionId": f"TX{date + at}", "date": date + at, "value": value + at} for at in range(date % 30)]
    return {
        "balance": ("GET", f"/v1/accounts/balance/{account}", None, 200, {"account": account, "balance": value}),
        "entries": ("GET", f"/v1/accounts/entries/{account}", None, 200, {"entries": seen}),
        "execution": ("GET", f"/v1/execute/pix/{code}", None, 200, paid),
        "registration": ("POST", f"/v1/pix/keys/{account}", registering, 200, registered),
        "transfer": ("POST", "/v1/transfer/p2p", transfer, 200, {"transactionId": code, "date": date}),
        "refusal": ("POST", f"/v1/pix/keys/{account}", registering, draw.choice((400, 401, 404, 409, 422)), None),
        "other": ("GET", f"/assets/{code}.json", None, 200, {"theme": "dark"}),
    }[sort]


def _entry(
    draw: Random, number: int, token: str, method: str, path: str, sent: Any, status: int, data: Any
) -> dict[str, Any]:
    at, text = _START + timedelta(milliseconds=17 * number), "" if sent is None else json.dumps(sent)
    body = json.dumps({"code": 0, "data": data} if status == 200 else {"code": status, "error": "Recusado."})
    request = {
        "user-agent": "Dalvik/2.1.0 (Linux; U; Android 15)", "accept": "application/json",
        "content-type": "application/json", "authorization": f"Bearer {token}", "x-request-id": draw.randbytes(16).hex(),
    }  # fmt: skip
    response = {
        "date": f"{at:%a, %d %b %Y %H:%M:%S GMT}", "content-type": "application/json; charset=utf-8",
        "content-length": str(len(body)), "cache-control": "no-store", "server": "envoy",
        "strict-transport-security": "max-age=31536000",
    }  # fmt: skip
    posted = {"postData": {"mimeType": "application/json", "text": text}} if text else {}
    return {
        "startedDateTime": at.isoformat(),
        "time": draw.random() * 90,
        "request": {
            "method": method, "url": BASE + path, "httpVersion": "HTTP/2.0", "cookies": [], "headers": _headers(request),
            "queryString": [], "bodySize": len(text), **posted,
        },
        "response": {
            "status": status, "statusText": "", "httpVersion": "HTTP/2.0", "cookies": [], "headers": _headers(response),
            "content": {"size": len(body), "mimeType": "application/json; charset=utf-8", "text": body},
            "redirectURL": "", "bodySize": len(body),
        },
        "timings": {"send": draw.random(), "receive": draw.random(), "wait": draw.random() * 80},
        "serverIPAddress": "10.0.0.7",
    }  # fmt: skip


def _headers(named: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in named.items()]
