"""A process that knows secrets hands them to nobody: not to core dumps, logs of libraries or child processes."""

import json
import os
import resource
import shutil
from types import SimpleNamespace

import pytest

from environments.__main__ import main
from environments.credentials import MUST_NOT_NAME_THE_SERVICE, VARIABLES_THAT_RECORD_SECRETS
from tests.selftest.proof.trial import CONFORMANCE, QUIET_PYTEST, status_and_run
from tests.selftest.services.running import TOKEN_VARIABLES, suite_that_is_killed_at_the_end, write_profile
from tests.selftest.services.serving import SocketService

SECRETS = {
    **TOKEN_VARIABLES,
    "PIX_API_KEY": "A-key-of-the-gateway",
    "PIX_JOURNAL_KEY": "0123456789abcdef0123456789abcdef",
}
"""Environment variables with secrets."""
SCRIPT_THAT_NOTES_WHAT_IT_SEES_AND_CALLS_GIT = """#!/bin/sh
(env; echo "core $(ulimit -c)") >> {notes}
exec {git} "$@"
"""
"""A program that takes the place of git. It appends its variables and its limit of core dumps to a file."""
SETTINGS_THAT_NAME_SECRETS = {"headers": {"X-Api-Key": {"env": "PIX_API_KEY"}}, "journal_key_env": "PIX_JOURNAL_KEY"}
"""Keys of a profile (the settings of a run) that name variables with secrets."""


@pytest.mark.parametrize("name", VARIABLES_THAT_RECORD_SECRETS)
def test_a_variable_that_makes_libraries_log_secrets_is_refused(name, service, tmp_path, monkeypatch, capsys):
    """Some variables, such as SSLKEYLOGFILE, make libraries write secrets into a log. If one is set, a command refuses to work.

    The command ends with exit status 4 and one line. Nothing is sent, and no log is written.
    """
    log = tmp_path / "keys.log"
    for variable, value in {**TOKEN_VARIABLES, name: str(log)}.items():
        monkeypatch.setenv(variable, value)
    status = main(["check", str(write_profile(tmp_path, service.base_url))])
    errors = capsys.readouterr().err

    assert status == 4
    assert errors == f"error: {name} makes libraries write tokens and codes down; unset it\n"
    assert service.received == []
    assert not log.exists()


@pytest.mark.parametrize("command", ["check", "cleanup", "journal"])
def test_the_variable_pytest_base_url_is_refused(command, service, tmp_path, monkeypatch, capsys):
    """The variable PYTEST_BASE_URL may name the service of another test suite, so a command or a run refuses to work with it.

    A command and a run end with exit status 4 and one line. Neither that service nor the one of the profile (the
    settings of the run) gets a request.
    """
    with SocketService() as other_service:
        for variable, value in {**TOKEN_VARIABLES, "PYTEST_BASE_URL": other_service.base_url}.items():
            monkeypatch.setenv(variable, value)
        profile = write_profile(tmp_path, service.base_url)
        status_of_command = main([command, str(profile)])
        status_of_run = pytest.main([*QUIET_PYTEST, f"--environment={profile}", str(CONFORMANCE)])
    errors = capsys.readouterr().err
    line = f"PYTEST_BASE_URL {MUST_NOT_NAME_THE_SERVICE}; unset it\n"

    assert status_of_command == 4
    assert status_of_run == 4
    assert errors == f"error: {line}ERROR: {line}\n"
    assert service.received == []
    assert other_service.received == []


@pytest.fixture(scope="module")
def called_programs(tmp_path_factory):
    """A run that calls git, for the commit of the suite, and a command that prints the token. Both note what they see.

    The profile (the settings of the run) names variables with secrets. The shell also has a variable that the profile
    does not name (VAULT_TOKEN), and it permits core dumps.
    """
    folder = tmp_path_factory.mktemp("run")
    notes_of_git, notes_of_token_command = folder / "git", folder / "token command"
    folder_of_git = folder / "bin"
    folder_of_git.mkdir()
    script = SCRIPT_THAT_NOTES_WHAT_IT_SEES_AND_CALLS_GIT.format(notes=notes_of_git, git=shutil.which("git"))
    (folder_of_git / "git").write_text(script)
    (folder_of_git / "git").chmod(0o755)
    auth = {"token_command": ["sh", "-c", f"env >> '{notes_of_token_command}'; echo {TOKEN_VARIABLES['PIX_TOKEN']}"]}
    variables = SECRETS | {"PATH": f"{folder_of_git}:{os.environ['PATH']}", "VAULT_TOKEN": "of-the-vault"}
    # Core dumps may be off already, so that a run which forgets to switch them off would not be noticed.
    hard_limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard_limit, hard_limit))
    with SocketService() as service:
        path = write_profile(folder, service.base_url, auth=auth, **SETTINGS_THAT_NAME_SECRETS)
        with suite_that_is_killed_at_the_end(path, "-k", "listAccounts", **variables) as process:
            output, _ = process.communicate()
    assert process.returncode == 0, output
    return SimpleNamespace(
        report=json.loads((folder / "report/conformance.json").read_text()),
        notes_of_git=notes_of_git.read_text(),
        notes_of_token_command=notes_of_token_command.read_text(),
    )


def test_the_programs_that_a_run_calls_see_no_secret(called_programs):
    """A run calls git and the command that prints the token. Neither gets a variable with a secret of the profile."""
    notes = called_programs.notes_of_git + called_programs.notes_of_token_command
    secrets_seen = [name for name in ("PIX_API_KEY", "PIX_JOURNAL_KEY") if SECRETS[name] in notes]

    assert called_programs.report["provenance"]["suite_commit"]  # so git was called
    assert secrets_seen == []


def test_git_may_not_write_a_core_dump(called_programs):
    """A core dump is a file with the memory of a process. A run calls git twice, each time with core dumps off (0)."""
    limits_of_core_dumps = [line for line in called_programs.notes_of_git.splitlines() if line.startswith("core")]

    assert limits_of_core_dumps == ["core 0", "core 0"]


def test_the_token_command_gets_the_other_variables_of_the_shell(called_programs):
    """The command that prints the token may need variables of its own, such as the token of a vault."""
    assert "VAULT_TOKEN=of-the-vault" in called_programs.notes_of_token_command


def check_profile(path):
    """Call the command `check` for the profile with this path."""
    main(["check", path])


def run_profile(path):
    """Run the tests of the list of accounts with the profile that has this path."""
    status_and_run("--no-report", "-k", "listAccounts", f"--environment={path}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [check_profile, run_profile],
    ids=["check", "run"],
)
def test_variables_with_secrets_are_removed_once_they_were_read(act, service, tmp_path, monkeypatch):
    """The profile (the settings of a run) names three variables with secrets. After a command or a run they are not
    set.

    So programs that are started later do not get them.
    """
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    act(str(write_profile(tmp_path, service.base_url, **SETTINGS_THAT_NAME_SECRETS)))

    variables_left = [name for name in SECRETS if name in os.environ]

    assert service.received != []
    assert variables_left == []
