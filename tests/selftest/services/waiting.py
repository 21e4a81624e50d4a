"""Services that stop at a certain request until the test goes on, and how a test waits: with no clock that decides."""

import threading

from environments.door.ending import Ending

HANG_LIMIT_S = 60
"""No test is decided by it: a test that would hang for ever fails."""
_LOOKS_AFTER_S = 0.1
"""How often it is looked whether the process lives; nothing is decided by it."""


class EndsWhenSet(Ending):
    """Cuts a request when an event is set, on any machine: its time is up."""

    silent = threading.Event()

    @property
    def cuts(self):
        is_set = self.silent.is_set()
        self.silent.clear()
        return is_set or super().cuts


class ThreadWithResult(threading.Thread):
    """Starts at once, and keeps what was given."""

    def __init__(self, act):
        super().__init__(target=lambda: setattr(self, "given", act()), daemon=True)
        self.start()

    def result(self):
        """What the act gave. AssertionError where it has not ended, or was raised from."""
        self.join(HANG_LIMIT_S)
        assert hasattr(self, "given"), "it hangs, or has raised"
        return self.given


def await_event(event, process):
    """Wait until a service has set the event. AssertionError where the run ends without it."""
    while not event.wait(_LOOKS_AFTER_S):
        assert process.poll() is None, f"the run ended with {process.returncode}: {process.stdout.read()}"
