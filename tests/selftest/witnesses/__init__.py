"""Outside witnesses: tools that are not ours. `make witnesses` installs them from npm, pinned in package.json."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
BIN = ROOT / ".venv" / "witnesses" / "node_modules" / ".bin"
SCHEMA = ROOT / "spec" / "openapi.yaml"
_LISTENING = re.compile(r"Prism is listening on (http://127\.0\.0\.1:[0-9]+)")
_LOOKS_AFTER_S = 0.1


def installed() -> bool:
    """True if `make witnesses` has installed its four tools here."""
    tools = ("redocly", "prism", "html-validate", "ajv")
    return all((BIN / tool).exists() for tool in tools)


def lint() -> subprocess.CompletedProcess[str]:
    """Check the OpenAPI schema with Redocly's linter. The exit status is 0 if it finds nothing."""
    config = Path(__file__).with_name("redocly.yaml")
    environment = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    command = [str(BIN / "redocly"), "lint", str(SCHEMA), "--config", str(config)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def validate(page: Path) -> list[str]:
    """The faults that html-validate finds in a page, one line each. html_validate.json has its rules."""
    config = Path(__file__).with_name("html_validate.json")
    command = [str(BIN / "html-validate"), "--config", str(config), "--formatter", "text", page.name]
    process = subprocess.run(command, cwd=page.parent, capture_output=True, text=True, check=False)
    return process.stdout.splitlines() + process.stderr.splitlines()


def compile_schema(schema: Path) -> subprocess.CompletedProcess[str]:
    """Compile a JSON schema with Ajv in its strict mode, without any other file. The exit status is 0 if it is valid."""
    command = [str(BIN / "ajv"), "compile", "--strict=true", "--spec=draft2020", "-s", str(schema)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def prism(log: Path, *options: str) -> Iterator[str]:
    """Start a service that Prism makes from the OpenAPI schema, and give its address. It ends with the block.

    `log` is the file into which Prism prints. `options` are more options of `prism mock`.
    """
    command = [str(BIN / "prism"), "mock", str(SCHEMA), "--host", "127.0.0.1", "--port", "0", *options]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield _address(process, log)
        finally:
            process.terminate()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address at which Prism listens, as soon as its log has it. RuntimeError if the process ends before."""
    while process.poll() is None:
        match = _LISTENING.search(log.read_text("utf-8", "replace"))
        if match:
            return match[1]
        time.sleep(_LOOKS_AFTER_S)
    raise RuntimeError(f"Prism does not listen: {log.read_text('utf-8', 'replace')[-500:]}")
