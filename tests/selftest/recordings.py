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


def har_entry(seen):
    """A HAR entry of an exchange in memory."""
    named = {"headers": [{"name": name, "value": value} for name, value in seen.request.headers]}
    posted = {"postData": {"text": seen.request.body.decode("utf-8", "replace")}} if seen.request.body else {}
    written = {"request": {"method": seen.request.method, "url": seen.request.url, **named, **posted}}
    if (response := seen.response) is None:
        return written
    content = {"encoding": "base64", "text": b64encode(response.body).decode()}
    named = {"headers": [{"name": name, "value": value} for name, value in response.headers]}
    return written | {"response": {"status": response.status, **named, "content": content}}


def write_recording(file: Path, exchanges: int) -> None:
    """Write a HAR file of so many exchanges: what the sandbox grants in a run, again and again, each time with other
    digits in path and bodies."""
    sent, draw = sent_in_memory(Service()).session.door.exchanges, Random(1)
    granted = [seen for seen in sent if succeeded(seen)]
    with file.open("w", encoding="utf-8") as har:
        har.write('{"log": {"version": "1.2", "entries": [')
        for number, seen in enumerate(islice(cycle(granted), exchanges)):
            entry, digits = har_entry(seen), str.maketrans(_DIGITS, "".join(draw.sample(_DIGITS, len(_DIGITS))))
            entry["request"]["url"] = seen.request.url.replace("http://127.0.0.1", BASE).translate(digits)
            if posted := entry["request"].get("postData"):
                posted["text"] = posted["text"].translate(digits)
            entry["response"]["content"] = {"text": seen.response.body.decode().translate(digits)}
            entry["request"] |= {**_MESSAGE, "queryString": []}
            entry["response"] |= {**_MESSAGE, "statusText": "OK", "redirectURL": ""}
            har.write(",\n" * bool(number) + json.dumps(entry | _TIMES))
        har.write("]}}")
