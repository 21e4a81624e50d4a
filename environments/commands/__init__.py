"""The commands of `python -m environments`, one module each, and their exit statuses, which are those of a run.

They print nothing that a service said but its status. A command that asks a service gets the function that opens the
door to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from environments.command_line import WRONG_USE as WRONG_USE  # beside the others, for the commands
from environments.door.client import Client
from environments.profiles.model import Profile

CLEAN = 0
LEFT = 1
"""Keys are left that earlier runs registered."""
INTERRUPTED = 2
INCOMPLETE = 6
UNREACHABLE = 7
OpenClient = Callable[[Profile], AbstractContextManager[Client]]
"""Opens a client of the target of a profile. Raises UnreachableError."""


def report_error(message: str, status: int) -> int:
    """Print one line. Returns the exit status."""
    print(f"error: {message}", file=sys.stderr)
    return status
