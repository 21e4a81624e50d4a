"""How long a whole run takes, against `st run` on the same schema, service and machine, and how long the redaction of
large answers takes, against reading them with `json.loads`: `make bench`.

Both are run in turn, as other work on the machine slows both down. The floor is a replay of the run's own traffic
with plain `requests`, without rules, evidence or reports.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import requests

from environments.profiles.loading import load
from environments.sandbox import Request, Server
from environments.secrets import listed_secrets
from reports.redaction import Redactor
from spec.interface import personal_fields
from tests.selftest.generated_runs import Logs

ROOT = Path(__file__).parents[2]
SCHEMATHESIS = Path(sys.executable).with_name("st")


@dataclass(frozen=True)
class Timed:
    """Seconds of wall time, and what the service was sent meanwhile."""

    seconds: float
    requests: list[Request]


def timed(act: Callable[[str, str], object]) -> Timed:
    """Time one act against a fresh service; it gets the address and the token."""
    service = Logs()
    with Server(service) as server:
        start = time.perf_counter()
        act(server.base_url, service.token)
        return Timed(time.perf_counter() - start, service.requests)


def suite(*target: str, **environment: str) -> float:
    """The default run: targeted and property tests, with reports, against the embedded sandbox. Seconds."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        _call([sys.executable, "-m", "pytest", "-q", f"--report-dir={folder}", *target], ROOT, environment)
        return time.perf_counter() - start


def schemathesis(base_url: str, token: str) -> None:
    """`st run` with all of its phases but the stateful one."""
    with tempfile.TemporaryDirectory() as folder:
        phases = ["--phases=examples,coverage,fuzzing", "-n", "20", "--continue-on-failure"]
        command = [str(SCHEMATHESIS), "run", str(ROOT / "spec/openapi.yaml"), "--url", base_url]
        _call([*command, *phases, "-H", f"Authorization: Bearer {token}"], Path(folder), {})


def replay(sent: list[Request]) -> Callable[[str, str], None]:
    """The same requests with plain `requests`."""

    def act(base_url: str, token: str) -> None:
        with requests.Session() as session:
            session.trust_env = False
            for seen in sent:
                headers = {**dict(seen.headers), "authorization": f"Bearer {token}"}
                for name in ("host", "content-length", "connection"):
                    headers.pop(name, None)
                url = f"{base_url}{seen.path}" + (f"?{seen.query}" if seen.query else "")
                session.request(seen.method, url, headers=headers, data=seen.body or None)

    return act


def answers() -> dict[str, bytes]:
    """Answers of about a megabyte: many people, one text, and brackets."""
    people = [{"name": f"Maria{n} Silva", "account": f"{n:07d}", "document": "***.456.789-**"} for n in range(12_000)]
    return {
        "people": json.dumps({"code": 0, "data": {"list": people}}).encode(),
        "text": json.dumps({"code": 0, "data": {"text": "lorem ipsum " * 80_000}}).encode(),
        "brackets": b"[" * 900 + b" " * 1_000_000 + b"]" * 900,
    }


def redaction(body: bytes, times: int = 20) -> float:
    """CPU seconds that learning from an answer and showing it takes, over those of a replay that only reads it."""
    secrets = listed_secrets(load("sandbox", folder=ROOT / "environments"))
    secrets.learn_token("s3cr3t-T0ken/with+odd=Chars.9xQ")
    pen = Redactor(secrets, personal_fields())

    def shown() -> None:
        pen.learn_from(body[:65_536])
        pen.body(body, "application/json")

    return _cpu(shown, times) / _cpu(lambda: json.loads(body), times)


def _cpu(act: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        act()
    return time.process_time() - start


def _call(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    for name, body in answers().items():
        print(f"redaction / json.loads of {name}: {redaction(body):.2f}", flush=True)
    if not shutil.which(SCHEMATHESIS):
        sys.exit(f"{SCHEMATHESIS} is not there: install schemathesis into this environment")
    sent = timed(lambda base_url, token: suite(f"--base-url={base_url}", PIX_SANDBOX_TOKEN=token)).requests
    ours, theirs, floor = [], [], []
    for number in range(1, rounds + 1):
        ours.append(Timed(suite(), sent))
        theirs.append(timed(schemathesis))
        floor.append(timed(replay(sent)))
        shown = ", ".join(f"{one[-1].seconds:.2f} s" for one in (ours, theirs, floor))
        print(f"round {number}: suite, st run, replay: {shown}", flush=True)
    ratio = median(our.seconds / their.seconds for our, their in zip(ours, theirs, strict=True))
    for name, runs in (("suite", ours), ("st run", theirs), ("replay", floor)):
        count = median(len(run.requests) for run in runs)
        print(f"{name:<7} {median(run.seconds for run in runs):6.2f} s  {count:.0f} requests")
    print(f"suite / st run: {ratio:.2f}")


if __name__ == "__main__":
    main()
