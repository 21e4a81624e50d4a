"""A process that knows secrets hands them to nobody: not to core dumps, logs of libraries or child processes."""

import json
import os
import resource
import shutil

import pytest

from environments.__main__ import main
from environments.credentials import NOT_FROM_A_VARIABLE, TRACING
from tests.selftest.proof.trial import CONFORMANCE, QUIET_PYTEST, status_and_run
from tests.selftest.services.running import TOKEN_VARIABLES, suite_in_background, write_profile
from tests.selftest.services.serving import SocketService

# environment variables with secrets
SECRETS = {
    **TOKEN_VARIABLES,
    "PIX_API_KEY": "A-key-of-the-gateway",
    "PIX_JOURNAL_KEY": "0123456789abcdef0123456789abcdef",
}
# a program that takes the place of git: it appends its variables and its limit of core dumps to a file, and calls git
GIT = """#!/bin/sh
(env; echo "core $(ulimit -c)") >> {kept}
exec {git} "$@"
"""
# changes of a profile that name the variables
NAMES = {"headers": {"X-Api-Key": {"env": "PIX_API_KEY"}}, "journal_key_env": "PIX_JOURNAL_KEY"}


@pytest.mark.parametrize("name", TRACING)
def test_a_variable_that_makes_libraries_log_secrets_is_refused(name, service, tmp_path, monkeypatch, capsys):
    """With such a variable, for example SSLKEYLOGFILE, a command ends with exit status 4 and one line.

    Nothing is sent, and no log is written.
    """
    log = tmp_path / "keys.log"
    for variable, value in {**TOKEN_VARIABLES, name: str(log)}.items():
        monkeypatch.setenv(variable, value)
    status = main(["check", str(write_profile(tmp_path, service.base_url))])

    assert status == 4
    assert service.received == []
    assert not log.exists()
    assert capsys.readouterr().err == f"error: {name} makes libraries write tokens and codes down; unset it\n"


@pytest.mark.parametrize("command", ["check", "cleanup", "journal"])
def test_a_variable_names_no_service(command, service, tmp_path, monkeypatch, capsys):
    """PYTEST_BASE_URL names a service, because other test suites set that variable. Here it is refused.

    A command and a run end with exit status 4 and one line. Neither that service nor the one of the profile gets a
    request.
    """
    with SocketService() as other_service:
        for variable, value in {**TOKEN_VARIABLES, "PYTEST_BASE_URL": other_service.base_url}.items():
            monkeypatch.setenv(variable, value)
        profile = write_profile(tmp_path, service.base_url)
        statuses = [
            main([command, str(profile)]),
            pytest.main([*QUIET_PYTEST, f"--environment={profile}", str(CONFORMANCE)]),
        ]

    assert statuses == [4, 4]
    assert service.received == other_service.received == []
    line = f"PYTEST_BASE_URL {NOT_FROM_A_VARIABLE}; unset it\n"
    assert capsys.readouterr().err == f"error: {line}ERROR: {line}\n"


def test_children_see_no_secret(service, tmp_path):
    """A run calls git, for the commit of the suite, and the token command of the profile.

    Neither gets a variable with a secret that the profile names, and neither may write a core dump. The token command
    gets the other variables of the shell, such as the token of a vault.
    """
    fake_bin = tmp_path / "bin"
    environment_of_git = tmp_path / "kept"
    environment_of_command = tmp_path / "kept of the command"
    fake_bin.mkdir()
    (fake_bin / "git").write_text(GIT.format(kept=environment_of_git, git=shutil.which("git")))
    (fake_bin / "git").chmod(0o755)
    auth = {"token_command": ["sh", "-c", f"env >> '{environment_of_command}'; echo {TOKEN_VARIABLES['PIX_TOKEN']}"]}
    path = write_profile(tmp_path, service.base_url, auth=auth, **NAMES)
    variables = SECRETS | {"PATH": f"{fake_bin}:{os.environ['PATH']}", "VAULT_TOKEN": "of-the-vault"}
    hard_limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard_limit, hard_limit))  # as a shell may permit it
    # the token command writes its variables into `environment_of_command`
    with suite_in_background(path, "-k", "listAccounts", **variables) as process:
        output, _ = process.communicate()
    document = json.loads((tmp_path / "report/conformance.json").read_text())
    git_text = environment_of_git.read_text()
    command_text = environment_of_command.read_text()

    assert process.returncode == 0, output
    assert document["provenance"]["suite_commit"]
    assert git_text.count("core 0\n") == git_text.count("core") == 2  # git is called twice
    assert "VAULT_TOKEN=of-the-vault" in command_text
    assert [name for name in ("PIX_API_KEY", "PIX_JOURNAL_KEY") if SECRETS[name] in git_text + command_text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [lambda path: main(["check", path]), lambda path: status_and_run("--no-report", "-k", "listAccounts", f"--environment={path}")],
    ids=["check", "run"],
)  # fmt: skip
def test_variables_with_secrets_are_removed_once_they_were_read(act, service, tmp_path, monkeypatch):
    """After a command or a run the process has no variable with a secret that the profile names."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    act(str(write_profile(tmp_path, service.base_url, **NAMES)))

    assert service.received
    assert [name for name in SECRETS if name in os.environ] == []
