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

OPTIONS_BEFORE_A_VALUE = ("-k", "-m")
"""Options whose value is the next word."""
OPTIONS_WITH_EQUALS_SIGN = ("--parallel", "--seed", "--examples", "--resend-code")
"""Options whose value follows a `=`. After a blank, pytest could read the value as the path of a test to run."""
OPTIONS_WITHOUT_VALUE = ("--new-journal",)
ADDRESS = "--base-url"
"""The option for another address. It is permitted if `also_at` of the profile lists the address."""
OPTION_WITH_ENTRY = "--settle"
"""The only option with a value among those of COMMANDS. The value is the name of an entry of the journal, which is the
file with the transaction codes that runs sent. The option marks the transfer as looked up by a person."""
COMMANDS = {"cleanup": ("--yes",), "journal": (OPTION_WITH_ENTRY,)}
"""Commands of FIRST, with their options."""
USAGE_ERROR = 4
"""Exit status of pytest for a wrong command line."""
VARIABLES_THAT_PYTEST_READS = ("PYTEST_ADDOPTS", "PYTEST_BASE_URL", "PYTEST_PLUGINS")
"""Variables from which pytest takes further options, an address or code. A person who starts a pipeline of GitLab may
set any variable."""
_NAME = re.compile(r"-{0,2}[a-z][a-z-]{0,30}")
"""The name of an option or a command, such as `--resend-code`. A longer word may be a secret."""


class _RefusedError(Exception):
    """What is refused, and why, in one line."""


def shown(word: str) -> str:
    """A word of the command line as an error message may show it: the name of an option or a command.

    Any other word is not repeated, because it may be an address with a password.
    """
    return word if _NAME.fullmatch(word) else "a word (not repeated here)"


def _check_options(options: Sequence[str], environment: str) -> None:
    """Check that a pipeline may give these options to pytest: only those in the lists above. Raises _RefusedError.

    `environment` is the name of the profile, which lists the addresses that --base-url may have.
    """
    words = list(options)
    while words:
        name, equals_sign, value = words.pop(0).partition("=")
        if name == ADDRESS and equals_sign:
            _check_address(value, environment)
        elif name in OPTIONS_BEFORE_A_VALUE and not equals_sign:
            if not words or words.pop(0).startswith("-"):  # the next word is the value
                raise _RefusedError(f"{name}: expected a value")
        else:
            permitted_names = OPTIONS_WITH_EQUALS_SIGN if equals_sign else OPTIONS_WITHOUT_VALUE
            if name not in permitted_names:
                raise _RefusedError(f"{shown(name)} is no option of a pipeline; {_permitted_options()}")


def _permitted_options() -> str:
    """The part of an error message that lists the options which a pipeline may give to pytest."""
    with_value = [f"{option}=VALUE" for option in OPTIONS_WITH_EQUALS_SIGN]
    names = ", ".join((*OPTIONS_BEFORE_A_VALUE, *with_value, *OPTIONS_WITHOUT_VALUE))
    return f"its options are {names}, and {ADDRESS}=URL if also_at of the profile lists the URL"


def _check_first(first: str, environment: str) -> None:
    """Check the command that a pipeline runs before pytest (the variable FIRST): `cleanup staging --yes`.

    Raises _RefusedError if the command or an option is not in `COMMANDS`, or if it is about another environment than
    this job.
    """
    if not first.strip():
        return
    command, *words = first.split()
    if command not in COMMANDS:
        raise _RefusedError(f"FIRST: {shown(command)} is no command of a pipeline; those are {', '.join(COMMANDS)}")
    while words:
        word = words.pop(0)
        name, equals_sign, value = word.partition("=")
        if name == ADDRESS and equals_sign:
            _check_address(value, environment)
        elif name in COMMANDS[command]:
            value_is_next_word = name == OPTION_WITH_ENTRY and not equals_sign
            if value_is_next_word and (not words or words.pop(0).startswith("-")):
                raise _RefusedError(f"FIRST: {name}: expected the name of an entry of the journal")
        elif word != environment:
            raise _RefusedError(
                f"FIRST: {shown(name)} is neither {environment}, the environment of this job, nor an option of "
                f"{command}"
            )


def _check_address(address: str, environment: str) -> None:
    """Check that the profile of this environment names the address, because the token is sent there.

    Raises _RefusedError if it does not, or if the profile is wrong.
    """
    # The suite can be imported only after its folder was added to the path, because this file is run as a script.
    sys.path.append(str(Path(__file__).parents[1]))
    from environments.profiles.addresses import normalized_address
    from environments.profiles.loading import load
    from environments.profiles.model import ProfileError

    try:
        profile = load(environment)
    except ProfileError as error:
        raise _RefusedError(str(error)) from None
    if normalized_address(address) not in (profile.base_url, *profile.also_at):
        raise _RefusedError(f"{ADDRESS}: the address is not in also_at of {environment}; add it to the profile first")


def _check_variables() -> None:
    """Check that no variable gives pytest options, an address or code. Raises _RefusedError."""
    for name in VARIABLES_THAT_PYTEST_READS:
        if os.environ.get(name):
            raise _RefusedError(f"{name} gives pytest what a pipeline does not take; unset it")


def main(environment: str, *options: str) -> int:
    """Check everything that a person gives to a pipeline: options of pytest, the command in FIRST, and variables.

    Returns the exit status: 0, or that of a usage error after a printed line that says what is wrong.
    """
    try:
        _check_variables()
        _check_options(options, environment)
        _check_first(os.environ.get("FIRST", ""), environment)
    except _RefusedError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
