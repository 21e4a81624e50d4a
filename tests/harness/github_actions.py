"""In a job of GitHub: the summary of the job, annotations, and no workflow command that a service has written."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from reports.formats.conformance_json import Document
from reports.formats.github import step_summary, workflow_commands
from reports.writing import no_link


class GitHubActions:
    """What a run tells GitHub, by the `variables` of the job; nothing anywhere else.

    The runner of GitHub takes each line that begins with `::` for a command, and a body that a service sent may stand in
    such a line: while tests run, it is told to take none.
    """

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._is_there = variables.get("GITHUB_ACTIONS") == "true"
        self._summary = variables.get("GITHUB_STEP_SUMMARY", "")
        self._token = secrets.token_hex(16)

    def stop_commands(self, terminal: Any) -> None:
        """From now on, no printed line is a command."""
        if self._is_there and terminal is not None:
            terminal.write_line(f"::stop-commands::{self._token}")

    def annotate(self, terminal: Any, document: Document) -> None:
        """Print the annotations; from now on, lines are commands again."""
        if self._is_there:
            for line in (f"::{self._token}::", *workflow_commands(document)):
                terminal.write_line(line)

    def write_summary(self, document: Document) -> str:
        """Append to the summary of the job, where there is one. Gives why it failed, else an empty text."""
        try:
            if self._summary:
                with open(self._summary, "a", encoding="utf-8", opener=no_link) as file:
                    file.write(step_summary(document))
        except OSError as error:
            return str(error.strerror)
        return ""
