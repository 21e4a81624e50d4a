"""The parser for the command lines of `python -m environments`, `reports` and `spec`.

For a wrong command line it prints one line, and ends the process with exit status 4, as pytest does.
"""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

WRONG_USE = 4
"""Exit status of a wrong command line. That of argparse is 2, which means interrupted for a run."""


class CommandParser(argparse.ArgumentParser):
    """A parser that prints one line for a wrong command line, and repeats no secret in it."""

    def error(self, message: str) -> NoReturn:
        """Print in one line what is wrong with the command line, and end the process with status 4.

        argparse calls this. An unknown argument is not repeated, because it may be a token that was pasted.
        """
        without_arguments = re.sub(r"(unrecognized arguments): .*", r"\1", message, flags=re.DOTALL)
        line = " ".join(without_arguments.split())  # a line break becomes a blank
        self.exit(WRONG_USE, f"error: {line}; see {self.prog} --help\n")
