"""What a process that knows secrets does not leave behind: core dumps, logs of others, variables for its children."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import pytest

from environments.__main__ import main
from environments.credentials import TRACING
from tests.selftest.services.forking import ROOT
from tests.selftest.services.running import TOKEN, environment, run, started, write_profile

SECRETS = {
    "PIX_TOKEN": TOKEN["PIX_TOKEN"],
    "PIX_API_KEY": "A-key-of-the-gateway",
    "PIX_JOURNAL_KEY": "0123456789abcdef0123456789abcdef",
}
KEEPS = """#!/bin/sh
env >> {kept}
echo "" >> {kept}
exec {git} "$@"
"""


@pytest.fixture
def profile(service, tmp_path):
    """A profile that names three secrets."""
    return write_profile(
        tmp_path, service.base_url, headers={"X-Api-Key": {"env": "PIX_API_KEY"}},
        journal_key_env="PIX_JOURNAL_KEY",
    )  # fmt: skip


@pytest.mark.parametrize("name", TRACING)
def test_a_variable_that_has_secrets_written_down_is_refused(name, service, tmp_path):
    """In a run and in a check: exit status 4, one line, and nothing is sent or written."""
    path, log = write_profile(tmp_path, service.base_url), tmp_path / "keys.log"
    result = run(path, **{name: str(log)})
    check = [sys.executable, "-m", "environments", "check", str(path)]
    checked = subprocess.run(
        check, cwd=ROOT, env=environment(**TOKEN, **{name: str(log)}), capture_output=True, text=True
    )
    line = f"{name} has tokens and codes written down; unset it"

    assert (result.status, checked.returncode, service.seen) == (4, 4, [])
    assert f"ERROR: {line}" in result.output.splitlines()
    assert checked.stderr == f"error: {line}\n"
    assert not log.exists()


@pytest.mark.parametrize("line", ["pass", "environments.credentials.protect()"], ids=["before", "after"])
def test_no_core_is_dumped(line, tmp_path):
    """A process that aborts leaves no image of its memory, whatever the shell permits; without the line it may."""
    code = f"import os, environments.credentials; {line}; os.abort()"
    variables = environment(PYTHONPATH=str(ROOT))
    child = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=variables, preexec_fn=_permit_core_dumps)
    _, status = os.waitpid(child.pid, 0)
    child.returncode = -os.WTERMSIG(status)

    assert child.returncode == -signal.SIGABRT
    assert not os.WCOREDUMP(status) or line == "pass"
    assert list(tmp_path.iterdir()) == [] or line == "pass"


def _permit_core_dumps():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def test_a_run_dumps_no_core_and_forgets_the_variables(profile, tmp_path):
    """As its own code sees it at its end."""
    (tmp_path / "process_seen.py").write_text(
        "import os, resource\ndef pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line(f'core {resource.getrlimit(resource.RLIMIT_CORE)}')\n"
        "    terminalreporter.write_line(f'variables {[name for name in os.environ if name.startswith(\"PIX_\")]}')\n"
    )
    options, variables = ("-k", "listAccounts", "-p", "process_seen"), SECRETS | {"PYTHONPATH": str(tmp_path)}
    with started(profile, *options, **variables) as process:
        output, _ = process.communicate()

    assert "core (1, 1)" in output or "core (0, 0)" in output
    assert "variables []" in output


def test_children_see_no_secret(profile, tmp_path):
    """The git that tells the commit of the suite is started without the variables that the profile names."""
    fake, kept = tmp_path / "bin", tmp_path / "kept"
    fake.mkdir()
    (fake / "git").write_text(KEEPS.format(kept=kept, git=shutil.which("git")))
    (fake / "git").chmod(0o755)
    variables = SECRETS | {"PATH": f"{fake}:{os.environ['PATH']}"}
    with started(profile, "-k", "listAccounts", **variables) as process:
        output, _ = process.communicate()
    document = json.loads((tmp_path / "report/conformance.json").read_text())

    assert process.returncode == 0, output
    assert document["provenance"]["suite_commit"]
    assert kept.read_text().count("PATH=") == 2
    assert [name for name, value in SECRETS.items() if value in kept.read_text()] == []


def test_a_token_command_sees_no_other_secret(service, tmp_path):
    """Nor those that the shell has for it under other names: these it keeps."""
    kept = tmp_path / "kept"
    command = ["sh", "-c", f"env >> {kept}; echo {TOKEN['PIX_TOKEN']}"]
    path = write_profile(
        tmp_path, service.base_url, auth={"token_command": command}, headers={"X-Api-Key": {"env": "PIX_API_KEY"}}
    )
    result = run(path, "-k", "listAccounts", **SECRETS, VAULT_TOKEN="of-the-vault")

    assert result.status == 0, result.output
    assert "VAULT_TOKEN=of-the-vault" in kept.read_text()
    assert SECRETS["PIX_API_KEY"] not in kept.read_text()


def test_the_commands_forget_what_they_have_read(profile, monkeypatch, capsys):
    """After a check the environment has none of the secrets that the profile names."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    main(["check", str(profile)])

    assert "token: 200 application/json" in capsys.readouterr().out
    assert [name for name in SECRETS if name in os.environ] == []
