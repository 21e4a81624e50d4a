"""A process that knows secrets hands them to nobody: not to core dumps, logs of libraries or child processes."""

import json
import os
import resource
import shutil

import pytest

from environments.__main__ import main
from environments.credentials import NOT_FROM_A_VARIABLE, VARIABLES_THAT_RECORD_SECRETS
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


@pytest.mark.parametrize("name", VARIABLES_THAT_RECORD_SECRETS)
def test_a_variable_that_makes_libraries_log_secrets_is_refused(name, service, tmp_path, monkeypatch, capsys):
    """With such a variable of the environment, for example SSLKEYLOGFILE, a command ends with exit status 4 and one
    line.

    Nothing is sent, and no log is written.
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
    """PYTEST_BASE_URL names a service, because other test suites set that variable. This suite must not send requests
    there.

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
    line = f"PYTEST_BASE_URL {NOT_FROM_A_VARIABLE}; unset it\n"

    assert (status_of_command, status_of_run) == (4, 4)
    assert errors == f"error: {line}ERROR: {line}\n"
    assert service.received == []
    assert other_service.received == []


def test_the_programs_that_a_run_calls_see_no_secret(service, tmp_path):
    """A run calls git, for the commit of the suite, and the command that prints the token. Here git notes what it sees.

    Neither gets a variable with a secret that the profile (the settings of the run) names, and git may not write a core
    dump. The token command gets the other variables of the shell, such as the token of a vault.
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

    limits_of_core_dumps = [line for line in git_text.splitlines() if line.startswith("core")]
    secrets_seen = [name for name in ("PIX_API_KEY", "PIX_JOURNAL_KEY") if SECRETS[name] in git_text + command_text]

    assert process.returncode == 0, output
    assert document["provenance"]["suite_commit"]
    assert limits_of_core_dumps == ["core 0", "core 0"]  # git is called twice
    assert "VAULT_TOKEN=of-the-vault" in command_text
    assert secrets_seen == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [lambda path: main(["check", path]), lambda path: status_and_run("--no-report", "-k", "listAccounts", f"--environment={path}")],
    ids=["check", "run"],
)  # fmt: skip
def test_variables_with_secrets_are_removed_once_they_were_read(act, service, tmp_path, monkeypatch):
    """The profile (the settings of a run) names three variables with secrets. After a command or a run they are not
    set.

    So programs that are started later do not get them.
    """
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    act(str(write_profile(tmp_path, service.base_url, **NAMES)))

    variables_left = [name for name in SECRETS if name in os.environ]

    assert service.received != []
    assert variables_left == []
