"""A signal that comes while Python still imports ends a run or a command with one line and exit status 2."""

import signal
import subprocess
import sys

import pytest

from tests.selftest.services.running import ROOT, clean_environment

SLOW = """
import os, signal, sys

class Sends:
    '''Sends the signal when the first module after early_signals is imported.'''

    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
        return None

sys.meta_path.insert(0, Sends())
sys.argv = {arguments!r}
import runpy
runpy.run_module({command!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("pytest", "tests.harness.starting"),
        ("environments", "environments.door.client"),
        ("reports", "reports.observed.comparison"),
        ("spec", "spec.requirements"),
    ],
)
def test_a_signal_during_imports_is_one_line(command, module, number):
    """The process prints no traceback and is never silent."""
    arguments = {"environments": ["check", "sandbox"], "reports": ["compare", "a", "b"], "spec": []}.get(
        command, ["--no-report"]
    )
    code = SLOW.format(module=module, number=int(number), arguments=[command, *arguments], command=command)
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True
    )

    assert process.returncode == 2
    assert process.stderr == "error: interrupted: nothing was sent\n"
    assert "Traceback" not in process.stdout
