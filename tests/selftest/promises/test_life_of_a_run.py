"""conftest.py has the hooks of a run in the order in which pytest calls them."""

import pytest

from tests.selftest.proof.trial import CONFORMANCE
from tests.selftest.shared_runs import PYTEST_OPTIONS

AT_ANY_TIME = {"pytest_internalerror"}
"""Hooks (functions that pytest calls) that have no fixed time."""


class NotesHooks:
    """A plugin of pytest that notes which hooks of conftest.py pytest calls (`called`), in the order of their last calls.

    pytest calls some hooks for every test, so only the last call of a hook counts.
    """

    def __init__(self):
        """No hook was called yet."""
        self.called = {}

    def pytest_configure(self, config):
        """Ask pytest to call `_note` before each call of a hook."""
        config.pluginmanager.add_hookcall_monitoring(self._note, lambda *ignored: None)

    def pytest_sessionstart(self, session):
        """Keep the plugin of the suite, whose class has the hooks of conftest.py."""
        self.conformance_run = session.config.pluginmanager.get_plugin("conformance-run")

    def _note(self, hook_name, hook_impls, arguments):
        """Note a call of a hook that conftest.py has, as the last one. pytest calls this before each call of a hook.

        A hook that says that another plugin than the terminal reporter was registered does not count.
        """
        is_about_another_plugin = arguments.get("plugin_name", "terminalreporter") != "terminalreporter"
        is_in_conftest = any(hook.plugin_name == "conformance-run" for hook in hook_impls)
        if is_in_conftest and not is_about_another_plugin:
            self.called.pop(hook_name, None)  # so that it becomes the last one
            self.called[hook_name] = True


def test_hooks_stand_in_the_order_of_a_run(tmp_path):
    """The functions of conftest.py that pytest calls (hooks) stand there in the order in which pytest calls them.

    So a reader sees the life of a run from top to bottom. pytest calls each of them, except for a hook about errors of
    pytest, which has no fixed time.
    """
    notes = NotesHooks()
    status = pytest.main(
        [*PYTEST_OPTIONS, "-k", "listAccounts.status", f"--report-dir={tmp_path}", str(CONFORMANCE)], [notes]
    )
    hooks_in_the_file = [name for name in vars(type(notes.conformance_run)) if name.startswith("pytest_")]
    hooks_called = list(notes.called)

    assert status == 0
    assert hooks_called == [name for name in hooks_in_the_file if name not in AT_ANY_TIME]
