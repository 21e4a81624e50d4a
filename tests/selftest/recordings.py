"""HAR entries of exchanges in memory, and recordings (HAR files) of any size."""

import json
from base64 import b64encode
from itertools import cycle, islice
from pathlib import Path
from random import Random

from environments.sandbox import Service
from spec.answers import succeeded
from tests.selftest.proof.directly import sent_in_memory

BASE = "https://bank.test"
"""The address in the recordings."""
_DIGITS = "23456789"
"""Digits that are replaced by each other. 0 and 1 are not among them, because of the code 0 and the path /v1."""
_TIMES = {
    "startedDateTime": "2026-11-20T09:00:00.123456+00:00", "time": 81.25, "cache": {},
    "timings": {"connect": -1, "ssl": -1, "send": 0.125, "wait": 80.5, "receive": 0.625},
}  # fmt: skip
_MESSAGE = {"httpVersion": "HTTP/2.0", "cookies": [], "headersSize": -1, "bodySize": -1}
"""Members that every entry has (HAR 1.2), and every request and response in it."""


def har_entry(exchange):
    """The entry of a HAR file for an exchange (a request with its answer), with the members that the suite reads.

    It has no `response` if the exchange has none.
    """
    request, response = exchange.request, exchange.response
    recorded_request = {"method": request.method, "url": request.url, "headers": _har_headers(request)}
    if request.body:
        recorded_request["postData"] = {"text": request.body.decode("utf-8", "replace")}
    if response is None:
        return {"request": recorded_request}
    content = {"encoding": "base64", "text": b64encode(response.body).decode()}
    recorded_response = {"status": response.status, "headers": _har_headers(response), "content": content}
    return {"request": recorded_request, "response": recorded_response}


def _har_headers(message):
    """The headers of a request or a response in the form of HAR: a list such as [{"name": "Accept", "value": "*/*"}]."""
    return [{"name": name, "value": value} for name, value in message.headers]


def write_recording(file: Path, exchanges: int) -> None:
    """Write a HAR file with this number of exchanges.

    They are the successful exchanges of a run against the sandbox, repeated as often as needed. Each has other digits
    in its path and its bodies, so that hardly two are equal. The random numbers are the same in each call.
    """
    exchanges_of_run = sent_in_memory(Service()).session.door.exchanges
    successes = [exchange for exchange in exchanges_of_run if succeeded(exchange)]
    draw = Random(1)
    with file.open("w", encoding="utf-8") as har:
        har.write('{"log": {"version": "1.2", "entries": [')
        for number, exchange in enumerate(islice(cycle(successes), exchanges)):
            other_digits = str.maketrans(_DIGITS, "".join(draw.sample(_DIGITS, len(_DIGITS))))
            separator = ",\n" if number else ""
            har.write(separator + json.dumps(_whole_entry(exchange, other_digits)))
        har.write("]}}")


def _whole_entry(exchange, other_digits):
    """The entry of a HAR file for an exchange, with all members of HAR 1.2, and with other digits in path and bodies.

    `other_digits` is a table for `str.translate` that says by which digit each digit is replaced.
    """
    entry = har_entry(exchange)
    request, response = entry["request"], entry["response"]
    request["url"] = exchange.request.url.replace("http://127.0.0.1", BASE).translate(other_digits)
    if "postData" in request:
        request["postData"]["text"] = request["postData"]["text"].translate(other_digits)
    response["content"] = {"text": exchange.response.body.decode().translate(other_digits)}
    request |= {**_MESSAGE, "queryString": []}
    response |= {**_MESSAGE, "statusText": "OK", "redirectURL": ""}
    return {"request": request, "response": response, **_TIMES}
