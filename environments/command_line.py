"""Command lines of `python -m …`: a wrong one is one line and exit status 4, as for a run."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

WRONG_USE = 4


class CommandParser(argparse.ArgumentParser):
    """A parser whose own exit status for a wrong command line would be 2, which means interrupted for a run."""

    def error(self, message: str) -> NoReturn:
        """One line. An unknown argument is not repeated, because it may be a pasted token."""
        line = " ".join(re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL).split())
        self.exit(WRONG_USE, f"error: {line}; see {self.prog} --help\n")
