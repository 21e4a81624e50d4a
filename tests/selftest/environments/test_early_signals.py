"""A signal that comes while Python still imports ends a run or a command with one line and exit status 2."""

import signal
import subprocess
import sys

import pytest

from tests.selftest.services.running import ROOT, clean_environment

PROGRAM_THAT_SIGNALS_ITSELF = """
import os, signal, sys

class SendsSignalAtImport:
    '''Sends the signal to this process when the chosen module is imported.'''

    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})
        return None

sys.meta_path.insert(0, SendsSignalAtImport())
sys.argv = {arguments!r}
import runpy
runpy.run_module({command!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "arguments", "module"),
    [
        ("pytest", ["--no-report"], "tests.harness.starting"),
        ("environments", ["check", "sandbox"], "environments.door.client"),
        ("reports", ["compare", "a", "b"], "reports.observed.comparison"),
        ("spec", [], "spec.requirements"),
    ],
    ids=["a run", "environments check", "reports compare", "spec"],
)
def test_a_signal_during_the_imports_of_a_command_prints_one_line(command, arguments, module, signal_number):
    """Ctrl-C (SIGINT) or SIGTERM arrives while Python still imports `module`. The line says that nothing was sent.

    Without that line, Python would print a traceback.
    """
    code = PROGRAM_THAT_SIGNALS_ITSELF.format(
        module=module, number=int(signal_number), arguments=[command, *arguments], command=command
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=clean_environment(), capture_output=True, text=True
    )

    assert process.returncode == 2
    assert process.stderr == "error: interrupted: nothing was sent\n"
    assert "Traceback" not in process.stdout
