"""The commands of `python -m environments`, one module each, and their exit statuses, which are those of a run.

They print nothing that a service said but its status. A command that asks a service gets the function that opens the
door to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from environments.command_line import WRONG_USE as WRONG_USE
from environments.door.client import Client
from environments.profiles.model import Profile

CLEAN, LEFT, INTERRUPTED, INCOMPLETE, UNREACHABLE = 0, 1, 2, 6, 7
"""LEFT: keys are left."""
OpenClient = Callable[[Profile], AbstractContextManager[Client]]
"""Opens a client of the target of a profile. Raises UnreachableError."""


def report_error(message: str, status: int) -> int:
    """Print one line, and give the exit status back."""
    print(f"error: {message}", file=sys.stderr)
    return status
