"""A wrong command line is one line and exit status 4, whatever the command, and each command says what it does."""

import pytest

from environments.__main__ import main as environments
from environments.sandbox.__main__ import main as sandbox
from reports.__main__ import main as reports
from spec.__main__ import main as requirements

COMMANDS = {
    "spec": (requirements, []),
    "environments": (environments, []),
    "environments new": (environments, ["new", "x", "--base-url=https://x"]),
    "environments check": (environments, ["check", "x"]),
    "environments cleanup": (environments, ["cleanup", "x"]),
    "environments journal": (environments, ["journal"]),
    "environments.sandbox": (sandbox, []),
    "reports": (reports, []),
    "reports compare": (reports, ["compare", "a", "b"]),
}
"""Each command, with its function and the arguments that it needs."""


COMMANDS_WITH_HELP = {**COMMANDS, "reports recorded": (reports, ["recorded"])}
"""The same with `reports recorded`, which passes all its arguments but --help on to pytest."""


@pytest.mark.parametrize("command", COMMANDS_WITH_HELP)
def test_help_says_what_the_command_does(command, capsys):
    """Each command prints its usage with --help, and below it a sentence about what it does."""
    main, arguments = COMMANDS_WITH_HELP[command]
    with pytest.raises(SystemExit) as exit_info:
        main([*arguments, "--help"])
    usage, sentence, *_ = capsys.readouterr().out.split("\n\n")

    assert exit_info.value.code == 0
    assert usage.startswith(f"usage: python -m {command} ")
    assert sentence[0].isupper()
    assert " " in sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_command_line_prints_one_line_and_ends_with_status_4(command, capsys):
    """Each command gets the unknown argument --canary. The line does not repeat it, because it may be a token."""
    main, arguments = COMMANDS[command]
    with pytest.raises(SystemExit) as exit_info:
        main([*arguments, "--canary"])
    printed = capsys.readouterr()

    assert exit_info.value.code == 4
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert "canary" not in printed.err
