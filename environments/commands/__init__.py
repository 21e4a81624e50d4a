"""The commands of `python -m environments`, one module each, and their exit statuses, which mean the same as for a run.

The commands print only the status of an answer, because its content may be confidential. A command that sends requests
gets a function that opens a client, which sends them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from environments.command_line import WRONG_USE as WRONG_USE  # beside the others, for the commands
from environments.door.client import Client
from environments.profiles.model import Profile

CLEAN = 0
"""Nothing is wrong: a run could begin, or no key is left."""
LEFT = 1
"""Keys are left that earlier runs registered."""
INTERRUPTED = 2
"""Ctrl-C ended the command."""
INCOMPLETE = 6
"""A run would leave requirements untested, because the profile or the service lacks something."""
UNREACHABLE = 7
"""The service cannot be reached."""
OpenClient = Callable[[Profile], AbstractContextManager[Client]]
"""Opens a client of the target of a profile. Raises UnreachableError."""


def report_error(message: str, status: int) -> int:
    """Print an error in one line, and return the exit status that the command ends with."""
    print(f"error: {message}", file=sys.stderr)
    return status
