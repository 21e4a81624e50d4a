"""Recordings of what a run sends to a service of this process; and files of them as large as one likes."""

import json
from base64 import b64encode
from itertools import cycle, islice
from pathlib import Path
from random import Random

from environments.sandbox import Service
from spec.answers import succeeded
from tests.selftest.proof.directly import sent_in_memory

BASE, _DIGITS = "https://bank.test", "23456789"
_TIMES = {
    "startedDateTime": "2026-11-20T09:00:00.123456+00:00", "time": 81.25, "cache": {},
    "timings": {"connect": -1, "ssl": -1, "send": 0.125, "wait": 80.5, "receive": 0.625},
}  # fmt: skip
_MESSAGE = {"httpVersion": "HTTP/2.0", "cookies": [], "headersSize": -1, "bodySize": -1}
"""Members that every entry has (HAR 1.2), and every request and response in it."""


def har_entry(exchange):
    """A HAR entry of an exchange in memory."""
    header_members = {"headers": [{"name": name, "value": value} for name, value in exchange.request.headers]}
    body_members = (
        {"postData": {"text": exchange.request.body.decode("utf-8", "replace")}} if exchange.request.body else {}
    )
    entry = {
        "request": {"method": exchange.request.method, "url": exchange.request.url, **header_members, **body_members}
    }
    if (response := exchange.response) is None:
        return entry
    content = {"encoding": "base64", "text": b64encode(response.body).decode()}
    header_members = {"headers": [{"name": name, "value": value} for name, value in response.headers]}
    return entry | {"response": {"status": response.status, **header_members, "content": content}}


def write_recording(file: Path, exchanges: int) -> None:
    """Write a HAR file with this number of exchanges: those that the sandbox grants in a run, repeated, each time
    with other digits in path and bodies.
    """
    exchanges_sent = sent_in_memory(Service()).session.door.exchanges
    draw = Random(1)
    granted = [exchange for exchange in exchanges_sent if succeeded(exchange)]
    with file.open("w", encoding="utf-8") as har:
        har.write('{"log": {"version": "1.2", "entries": [')
        for number, exchange in enumerate(islice(cycle(granted), exchanges)):
            entry = har_entry(exchange)
            digits = str.maketrans(_DIGITS, "".join(draw.sample(_DIGITS, len(_DIGITS))))
            entry["request"]["url"] = exchange.request.url.replace("http://127.0.0.1", BASE).translate(digits)
            if posted := entry["request"].get("postData"):
                posted["text"] = posted["text"].translate(digits)
            entry["response"]["content"] = {"text": exchange.response.body.decode().translate(digits)}
            entry["request"] |= {**_MESSAGE, "queryString": []}
            entry["response"] |= {**_MESSAGE, "statusText": "OK", "redirectURL": ""}
            har.write((",\n" if number else "") + json.dumps(entry | _TIMES))
        har.write("]}}")
