"""Exchanges (a request with its answer) for tests of rules. They are as documented, and a test changes one thing."""

import json
from typing import Any

from spec.exchange import Exchange, Failure, FailureKind, Request, Response

JSON_HEADERS = (("Content-Type", "application/json"),)
EXECUTION_RESULT = {
    "id": "TX-1", "date": 1767225600000, "bank": "341", "account": "12345", "digit": "6", "branch": "0001",
    "accountType": 1, "document": "***.456.789-**", "name": "Ana", "type": "PHONE", "key": "+5511955500101",
    "value": 10.5, "message": "", "status": "DONE", "error": None,
}  # fmt: skip
REGISTRATION_RESULT = {"Success": "true", "Message": "received", "Key": None, "DocumentNumber": 7}


def answer(
    operation: str,
    body: object,
    *,
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = JSON_HEADERS,
    method: str = "GET",
    path: str = "/v1/execute/pix/TX-1",
    sent: object = None,
    **changes: Any,
) -> Exchange:
    """The exchange of a valid request that got an answer with this body.

    If `body` is bytes, the answer has exactly these bytes; any other value is written as JSON. `sent` is the JSON body
    of the request. `changes` are other members of the exchange, such as `purpose`.
    """
    body_of_answer = body if isinstance(body, bytes) else json.dumps(body).encode()
    body_of_request = json.dumps(sent).encode() if sent else b""
    request = Request(method, f"http://127.0.0.1:1{path}", (), body_of_request)
    response = Response(status, headers, body_of_answer)
    members = {"number": 1, "valid": True, **changes}
    return Exchange(operation=operation, request=request, response=response, **members)


def execution(data: object = EXECUTION_RESULT, **changes: Any) -> Exchange:
    """The exchange of an execution, whose answer has this `data`. `changes` are parameters of `answer`."""
    return answer("executePix", {"code": 0, "data": data}, **changes)


def registration(data: object = REGISTRATION_RESULT, **changes: Any) -> Exchange:
    """The exchange of a registration of a RANDOM key, whose answer has this `data`. `changes`: parameters of `answer`."""
    request_body = {"account": "a", "pixKeyType": "RANDOM", "pixKey": ""}
    options = {"method": "POST", "path": "/v1/pix/keys/a", "sent": request_body, **changes}
    return answer("registerPixKey", {"code": 0, "data": data}, **options)


def unanswered(kind: FailureKind, operation: str = "executePix") -> Exchange:
    """The exchange of a valid request that got no answer. `kind` says why, such as a dropped connection."""
    request = Request("GET", "http://127.0.0.1:1/v1/execute/pix/TX-1", ())
    return Exchange(1, operation, request, failure=Failure(kind, kind.value), valid=True)
