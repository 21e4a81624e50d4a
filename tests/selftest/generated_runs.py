"""Runs of the generated traffic alone, against one service."""

import json
import os
from pathlib import Path
from typing import Any

from environments.sandbox import Request, Response, Server, Service
from tests.selftest.proof.trial import CONFORMANCE, Trial, try_service
from tests.selftest.services.forking import run_pytest
from tests.selftest.services.running import sandbox_at
from tests.traffic import drawing

ROOT = Path(__file__).parents[2]
DRAWS_HERE = drawing
"""A run in this process draws in it: what draws is imported once for all of them."""
NEEDED = ("html", "metadata", "base_url")
PLUGINS = ["--disable-plugin-autoload", *(part for name in NEEDED for part in ("-p", f"pytest_{name}.plugin"))]
"""Only what a run needs: pytest rewrites the assertions of every plugin that it finds, and that takes seconds."""


PROPERTY, STATEFUL = (str(CONFORMANCE / f"test_{name}.py") for name in ("property", "stateful"))


def generated(operation: str) -> str:
    """The test of the generated requests to an operation."""
    return f"{PROPERTY}::test_generated_requests[{operation}.serverError]"


class Logs(Service):
    """The sandbox, which keeps every request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.requests.append(request)
        return response


def generate(service: Service, *arguments: str, environment: str = "sandbox") -> Trial:
    """Run the generated traffic against the service, in this process."""
    return try_service(service, *PLUGINS, "-m", "property", *arguments, environment=environment)


def run_apart(service: Service, folder: Path, *arguments: str, environment: str = "sandbox") -> dict[str, Any]:
    """Run the suite against the service in a process of its own. The report."""
    paths = [] if any(argument.startswith(str(CONFORMANCE)) for argument in arguments) else [str(CONFORMANCE)]
    folder.mkdir(exist_ok=True)
    with Server(service) as server:
        profile = sandbox_at(server.base_url, folder, environment)
        options = [f"--environment={profile}", f"--report-dir={folder}", "-q"]
        variables = {**os.environ, "PIX_SANDBOX_TOKEN": service.token}
        run_pytest([*options, *arguments, *paths], variables)
    report: dict[str, Any] = json.loads((folder / "conformance.json").read_text("utf-8"))
    return report
