"""What a process that knows secrets does not leave behind: core dumps, logs of others, variables for its children."""

import json
import os
import resource
import shutil

import pytest

from environments.__main__ import main
from environments.credentials import NOT_FROM_A_VARIABLE, TRACING
from tests.selftest.proof.trial import CONFORMANCE, PYTEST, run_of
from tests.selftest.services.running import TOKEN, started, write_profile
from tests.selftest.services.serving import Raw

SECRETS = {**TOKEN, "PIX_API_KEY": "A-key-of-the-gateway", "PIX_JOURNAL_KEY": "0123456789abcdef0123456789abcdef"}
GIT = """#!/bin/sh
(env; echo "core $(ulimit -c)") >> {kept}
exec {git} "$@"
"""
NAMES = {"headers": {"X-Api-Key": {"env": "PIX_API_KEY"}}, "journal_key_env": "PIX_JOURNAL_KEY"}


@pytest.mark.parametrize("name", TRACING)
def test_a_variable_that_has_secrets_written_down_is_refused(name, service, tmp_path, monkeypatch, capsys):
    """Exit status 4, one line, and nothing is sent or written."""
    log = tmp_path / "keys.log"
    for variable, value in {**TOKEN, name: str(log)}.items():
        monkeypatch.setenv(variable, value)
    status = main(["check", str(write_profile(tmp_path, service.base_url))])

    assert (status, service.seen, log.exists()) == (4, [], False)
    assert capsys.readouterr().err == f"error: {name} makes libraries write tokens and codes down; unset it\n"


@pytest.mark.parametrize("command", ["check", "cleanup", "journal"])
def test_a_variable_names_no_service(command, service, tmp_path, monkeypatch, capsys):
    """Exit status 4 and one line, of the commands as of a run: other test suites export PYTEST_BASE_URL. Neither the
    service of the profile nor the other one is asked."""
    with Raw() as other:
        for variable, value in {**TOKEN, "PYTEST_BASE_URL": other.base_url}.items():
            monkeypatch.setenv(variable, value)
        profile = write_profile(tmp_path, service.base_url)
        statuses = [main([command, str(profile)]), pytest.main([*PYTEST, f"--environment={profile}", str(CONFORMANCE)])]

    assert (statuses, service.seen, other.seen) == ([4, 4], [], [])
    line = f"PYTEST_BASE_URL {NOT_FROM_A_VARIABLE}; unset it\n"
    assert capsys.readouterr().err == f"error: {line}ERROR: {line}\n"


def test_children_see_no_secret(service, tmp_path):
    """The git that tells the commit of the suite is started without the variables that the profile names, and dumps no
    core; nor does the run. A token command has what the shell has for it under other names, and no other secret."""
    fake, kept, of_command = tmp_path / "bin", tmp_path / "kept", tmp_path / "kept of the command"
    fake.mkdir()
    (fake / "git").write_text(GIT.format(kept=kept, git=shutil.which("git")))
    (fake / "git").chmod(0o755)
    auth = {"token_command": ["sh", "-c", f"env >> '{of_command}'; echo {TOKEN['PIX_TOKEN']}"]}
    path = write_profile(tmp_path, service.base_url, auth=auth, **NAMES)
    variables = SECRETS | {"PATH": f"{fake}:{os.environ['PATH']}", "VAULT_TOKEN": "of-the-vault"}
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))  # as a shell may permit it
    with started(path, "-k", "listAccounts", **variables) as process:
        output, _ = process.communicate()
    document = json.loads((tmp_path / "report/conformance.json").read_text())
    seen = kept.read_text(), of_command.read_text()

    assert process.returncode == 0, output
    assert document["provenance"]["suite_commit"]
    assert (seen[0].count("core 0\n"), seen[0].count("core")) == (2, 2)
    assert "VAULT_TOKEN=of-the-vault" in seen[1]
    assert [name for name in ("PIX_API_KEY", "PIX_JOURNAL_KEY") for text in seen if SECRETS[name] in text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "act",
    [lambda path: main(["check", path]), lambda path: run_of("--no-report", "-k", "listAccounts", f"--environment={path}")],
    ids=["check", "run"],
)  # fmt: skip
def test_what_was_read_is_forgotten(act, service, tmp_path, monkeypatch):
    """The environment has none of the secrets that the profile names."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    act(str(write_profile(tmp_path, service.base_url, **NAMES)))

    assert service.seen
    assert [name for name in SECRETS if name in os.environ] == []
