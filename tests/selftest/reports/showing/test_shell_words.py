"""Quoting for a shell: each word and each command gives the text that was meant."""

import subprocess

import pytest

from reports.showing.request_parts import Redacted
from reports.showing.shell_words import commands_that_print, commands_that_require_variables, shell_argument

ACCOUNT = Redacted("${ACCOUNT:?}", "<account>")
PARTS_AND_THEIR_TEXT = [
    ([ACCOUNT], "ac-1"),
    ([ACCOUNT, ACCOUNT], "ac-1ac-1"),
    (["it's ", ACCOUNT, "\n\t", ACCOUNT, "é"], "it's ac-1\n\tac-1é"),
    (["x" * 300, "ab" * 300], "x" * 300 + "ab" * 300),
    (["", ACCOUNT, ""], "ac-1"),
    ([], ""),
]


def output_of_shell(commands, **variables):
    """The text that a shell prints if it runs these commands. `variables` are its environment variables."""
    environment = {"PATH": "/usr/bin:/bin", **variables}
    process = subprocess.run(["sh", "-c", commands], env=environment, capture_output=True)
    return process.stdout.decode()


@pytest.mark.parametrize(("parts", "text"), PARTS_AND_THEIR_TEXT)
def test_a_shell_reads_the_text_that_was_meant(parts, text):
    """A shell prints exactly the expected text, in which each variable is replaced by its value, here "ac-1".

    The parts of a text are plain texts and variables. `shell_argument` makes one quoted argument of them,
    `commands_that_print` makes commands, which write a long repetition in a short form.
    """
    output_of_argument = output_of_shell(f"printf %s {shell_argument(parts)}", ACCOUNT="ac-1")
    output_of_commands = output_of_shell(commands_that_print(parts), ACCOUNT="ac-1")

    assert (output_of_argument, output_of_commands) == (text, text)


def test_a_variable_that_is_not_set_ends_the_commands():
    """Commands that need a variable run only if it is set. Otherwise the shell stops before the first command."""
    check_of_variables = commands_that_require_variables(["a text", ACCOUNT, ACCOUNT])

    output_without_variable = output_of_shell(f"{check_of_variables}echo SENT")
    output_with_variable = output_of_shell(f"{check_of_variables}echo SENT", ACCOUNT="ac-1")

    assert check_of_variables == ': "${ACCOUNT:?}" && '
    assert (output_without_variable, output_with_variable) == ("", "SENT\n")
