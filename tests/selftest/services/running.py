"""Runs the suite as its users do, in a process of its own, against a service and with a profile of the test."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from environments.profiles.loading import path_of
from reports.result.run import Run
from spec.requirements import read_yaml
from tests.selftest.schemas import schema_deviations
from tests.selftest.services.forking import ROOT, run_pytest

TOKEN_VARIABLES = {"PIX_TOKEN": "Tok-3n.Of-The_Service"}
SANDBOX_YAML = ROOT / "environments" / "sandbox.yaml"


@dataclass(frozen=True)
class RunResult:
    """The result of a run: exit status, output, and the folder of its files.

    A run in a process of its own has its peak memory, a run in this process its model.
    """

    status: int
    output: str
    folder: Path
    peak_mb: float = 0.0
    run: Run | None = None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of conformance.json."""
        return json.loads(self.text("conformance.json"))

    def text(self, file: str) -> str:
        """The content of a file of the run."""
        return (self.folder / file).read_text("utf-8")

    def messages_with_verdict(self, verdict: str) -> dict[str, str]:
        """The messages of the requirements with this verdict, by id."""
        return {row["id"]: row["message"] for row in self.document["requirements"] if row["verdict"] == verdict}


def write_profile(folder: Path, base_url: str, **changes: Any) -> Path:
    """Write the profile of the sandbox with another address, which is a sandbox, too, and with a long time-out for
    busy machines. A key with the value None is left out.
    """
    data = read_yaml(SANDBOX_YAML)
    data |= {"base_url": base_url, "sandbox": base_url, "auth": {"token_env": "PIX_TOKEN"}}
    data["limits"] |= {"timeout": 60}
    data |= {"transactions": {"codes": ["SBX-PHONE-1"]}, **changes}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in data.items() if value is not None}))
    return path


def write_sandbox_profile(base_url: str, folder: Path, environment: str = "sandbox") -> Path:
    """Write a copy of a profile whose target is the sandbox at this address."""
    data = read_yaml(path_of(environment))
    data |= {"base_url": base_url, "sandbox": base_url}
    path = folder / f"{path_of(environment).stem}.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def pytest_arguments(profile: Path, *options: str) -> list[str]:
    """The arguments of a run whose report goes to a folder beside the profile."""
    report = f"--report-dir={profile.parent / 'report'}"
    paths = [] if any(not option.startswith("-") and "/" in option for option in options) else ["tests/conformance"]
    cache = f"cache_dir={profile.parent / 'cache'}"
    return [
        "-q", "-o", cache, "-m", "not property",
        f"--environment={profile}", report, *options, *paths,
    ]  # fmt: skip


def clean_environment(**variables: str) -> dict[str, str]:
    """The variables of this machine without those of pytest, make and the suite, and with these.

    Python may keep its compiled files; otherwise every run would compile the whole suite.
    """
    left_out = ("PIX_", "PYTEST_", "MAKE", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return inherited | variables


@contextmanager
def suite_that_is_killed_at_the_end(profile: Path, *options: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run that goes on while the test does. It is killed when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *pytest_arguments(profile, *options)],
        cwd=ROOT,
        env=clean_environment(**TOKEN_VARIABLES | variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        umask=0,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run_suite(profile: Path, *options: str, **variables: str) -> RunResult:
    """Run the suite to its end in a process of its own. Its conformance.json must be valid."""
    status, output, peak_mb = run_pytest(
        pytest_arguments(profile, *options), clean_environment(**TOKEN_VARIABLES | variables)
    )
    result = RunResult(status, output, profile.parent / "report", peak_mb)
    if (result.folder / "conformance.json").exists():
        deviations_from_schema = schema_deviations(result.document)
        assert not deviations_from_schema, deviations_from_schema
    return result
