"""Quoting for a shell: each word and each command gives the text that was meant."""

import subprocess

import pytest

from reports.showing.request_parts import Redacted
from reports.showing.shell_words import commands_that_print, commands_that_require_variables, word

ACCOUNT = Redacted("${ACCOUNT:?}", "<account>")
PARTS = [
    ([ACCOUNT], "ac-1"),
    ([ACCOUNT, ACCOUNT], "ac-1ac-1"),
    (["it's ", ACCOUNT, "\n\t", ACCOUNT, "é"], "it's ac-1\n\tac-1é"),
    (["x" * 300, "ab" * 300], "x" * 300 + "ab" * 300),
    (["", ACCOUNT, ""], "ac-1"),
    ([], ""),
]


def printed(commands, **variables):
    """What a shell prints."""
    done = subprocess.run(["sh", "-c", commands], env={"PATH": "/usr/bin:/bin", **variables}, capture_output=True)
    return done.stdout.decode()


@pytest.mark.parametrize(("parts", "text"), PARTS)
def test_a_shell_reads_the_text_that_was_meant(parts, text):
    """This holds for one word and for commands. A value that stands twice in a row is read twice."""
    assert printed(f"printf %s {word(parts)}", ACCOUNT="ac-1") == text
    assert printed(commands_that_print(parts), ACCOUNT="ac-1") == text


def test_a_variable_that_is_not_set_ends_the_commands():
    """The shell runs nothing after such a variable. A text needs no variable."""
    required = commands_that_require_variables(["a text", ACCOUNT, ACCOUNT])

    assert required == ': "${ACCOUNT:?}" && '
    assert printed(f"{required}echo SENT") == ""
    assert printed(f"{required}echo SENT", ACCOUNT="ac-1") == "SENT\n"
