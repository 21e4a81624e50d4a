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

    Only a run in a process of its own has its peak memory, and only a run in this process has the object of the run.
    """

    status: int
    output: str
    folder: Path
    peak_mb: float = 0.0
    run: Run | None = None  # results and exchanges, from which the report is made

    @cached_property
    def document(self) -> dict[str, Any]:
        """The content of conformance.json."""
        return json.loads(self.text("conformance.json"))

    def text(self, file: str) -> str:
        """The content of a file of the run, such as report.html."""
        return (self.folder / file).read_text("utf-8")

    def messages_with_verdict(self, verdict: str) -> dict[str, str]:
        """The messages of the requirements with this verdict, by the id of the requirement."""
        rows = [row for row in self.document["requirements"] if row["verdict"] == verdict]
        return {row["id"]: row["message"] for row in rows}


def write_profile(folder: Path, base_url: str, **changes: Any) -> Path:
    """Write a profile (the settings of a run) for the sandbox at this address, and return its path.

    `changes` are keys of the profile with other values. A key with the value None is left out. The time-out is long,
    because the machine may be busy.
    """
    data = read_yaml(SANDBOX_YAML)
    data |= {"base_url": base_url, "sandbox": base_url, "auth": {"token_env": "PIX_TOKEN"}}
    data["limits"] |= {"timeout": 60}
    data |= {"transactions": {"codes": ["SBX-PHONE-1"]}, **changes}
    keys_with_a_value = {key: value for key, value in data.items() if value is not None}
    path = folder / "profile.yaml"
    path.write_text(yaml.safe_dump(keys_with_a_value))
    return path


def write_sandbox_profile(base_url: str, folder: Path, environment: str = "sandbox") -> Path:
    """Write a copy of a profile of the project, whose target is the sandbox at this address, and return its path.

    `environment` names the profile, such as "sandbox" for environments/sandbox.yaml.
    """
    data = read_yaml(path_of(environment))
    data |= {"base_url": base_url, "sandbox": base_url}
    path = folder / f"{path_of(environment).stem}.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def pytest_arguments(profile: Path, *options: str) -> list[str]:
    """The arguments of a run of pytest with this profile. Its report goes to a folder beside the profile.

    The run has the conformance tests, but not the tests of generated traffic, unless `options` say otherwise.
    """
    report = f"--report-dir={profile.parent / 'report'}"
    cache = f"cache_dir={profile.parent / 'cache'}"
    paths_in_options = [option for option in options if "/" in option and not option.startswith("-")]
    default_paths = [] if paths_in_options else ["tests/conformance"]
    return [
        "-q", "-o", cache, "-m", "not property",
        f"--environment={profile}", report, *options, *default_paths,
    ]  # fmt: skip


def clean_environment(**variables: str) -> dict[str, str]:
    """The environment variables of this process, and `variables`. Variables of pytest, make and the suite are left out.

    Python may keep its compiled files; otherwise every run would compile the whole suite.
    """
    left_out = ("PIX_", "PYTEST_", "MAKE", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return inherited | variables


@contextmanager
def suite_that_is_killed_at_the_end(profile: Path, *options: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run of the suite in a process of its own, and yield the process. It is killed when the `with` block ends.

    `variables` are environment variables of the run.
    """
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
    """Run the suite to its end in a process of its own, and return its result.

    `variables` are environment variables of the run. AssertionError if conformance.json differs from its schema.
    """
    status, output, peak_mb = run_pytest(
        pytest_arguments(profile, *options), clean_environment(**TOKEN_VARIABLES | variables)
    )
    result = RunResult(status, output, profile.parent / "report", peak_mb)
    if (result.folder / "conformance.json").exists():
        deviations_from_schema = schema_deviations(result.document)
        assert not deviations_from_schema, deviations_from_schema
    return result
