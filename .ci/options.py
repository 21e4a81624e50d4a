"""Refuses options that a CI pipeline must not get: `options.py ENVIRONMENT [OPTION ...]`, with the variable FIRST.

A person who starts a pipeline by hand writes OPTIONS (options of pytest) and FIRST (a command that runs before pytest).
Both are closed lists. Neither may name an address that the profile does not have, because the token would be sent
there. Exit status 0, or 4 and one line.

Self-tests: test_pipelines.py.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

BEFORE_A_VALUE = ("-k", "-m")
"""Options whose value is the next word."""
JOINED = ("--parallel", "--seed", "--examples", "--resend-code")
"""Options with `=`: after a blank, pytest takes an existing path for a test to run."""
ALONE = ("--new-journal",)
ADDRESS = "--base-url"
"""The option for another address. It is permitted if `also_at` of the profile lists the address."""
COMMANDS = {"cleanup": ("--yes",), "journal": ("--settle",)}
"""Commands of FIRST, with their options. `--settle` has a value."""
LOADED = ("PYTEST_ADDOPTS", "PYTEST_BASE_URL", "PYTEST_PLUGINS")
"""Variables from which pytest takes further options, an address or code. Whoever starts a pipeline of GitLab may set
any."""


_NAME = re.compile(r"-{0,2}[a-z][a-z-]{0,30}")


class _RefusedError(Exception):
    """What is refused, and why, in one line."""


def shown(word: str) -> str:
    """The word if it is the name of an option or of a command. Any other is not repeated, because it may be an address
    with a password."""
    return word if _NAME.fullmatch(word) else "a word (not repeated here)"


def _check_options(options: Sequence[str], environment: str) -> None:
    """Raises _RefusedError for an option that is not on the list."""
    words = list(options)
    while words:
        name, is_joined, value = words.pop(0).partition("=")
        if name == ADDRESS and is_joined:
            _check_address(value, environment)
        elif name in BEFORE_A_VALUE and not is_joined:
            if not words or words.pop(0).startswith("-"):
                raise _RefusedError(f"{name}: expected a value")
        elif name not in (JOINED if is_joined else ALONE):
            known = ", ".join((*BEFORE_A_VALUE, *(f"{option}=VALUE" for option in JOINED), *ALONE))
            raise _RefusedError(
                f"{shown(name)} is no option of a pipeline; those are {known}, and {ADDRESS}=URL with also_at"
            )


def _check_first(first: str, environment: str) -> None:
    """Raises _RefusedError for a command that is not on the list, or that is about another environment."""
    if not first.strip():
        return
    command, *words = first.split()
    if command not in COMMANDS:
        raise _RefusedError(f"FIRST: {shown(command)} is no command of a pipeline; those are {', '.join(COMMANDS)}")
    while words:
        word = words.pop(0)
        name, is_joined, value = word.partition("=")
        if name == ADDRESS and is_joined:
            _check_address(value, environment)
        elif name in COMMANDS[command]:
            value_is_next_word = name == "--settle" and not is_joined
            if value_is_next_word and (not words or words.pop(0).startswith("-")):
                raise _RefusedError("FIRST: --settle: expected the name of an entry")
        elif word != environment:
            raise _RefusedError(
                f"FIRST: {shown(name)} is neither {environment}, of which this job is, nor an option of {command}"
            )


def _check_address(address: str, environment: str) -> None:
    """Raises _RefusedError for an address that the profile does not name."""
    sys.path.append(str(Path(__file__).parents[1]))
    from environments.profiles.addresses import in_one_form
    from environments.profiles.loading import load
    from environments.profiles.model import ProfileError

    try:
        profile = load(environment)
    except ProfileError as error:
        raise _RefusedError(str(error)) from None
    if in_one_form(address) not in (profile.base_url, *profile.also_at):
        raise _RefusedError(
            f"{ADDRESS}: the address is not in also_at of {environment}; a change of the profile adds it"
        )


def main(environment: str, *options: str) -> int:
    """Check the options, FIRST and the variables of the job. Returns 0, or 4 after a line that says what is wrong."""
    try:
        for name in filter(os.environ.get, LOADED):
            raise _RefusedError(f"{name} gives pytest what a pipeline does not take; unset it")
        _check_options(options, environment)
        _check_first(os.environ.get("FIRST", ""), environment)
    except _RefusedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
