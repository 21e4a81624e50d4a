"""How a test waits for a run or a service without a clock that decides."""

import threading

from environments.door.run_end import RunEnd

HANG_LIMIT_S = 60
"""Seconds until a test that would hang for ever fails. No test depends on it."""
_LOOKS_AFTER_S = 0.1
"""Seconds between two looks if the process still runs. No test depends on it."""


class EndsWhenSet(RunEnd):
    """The end of a run, which cuts a request as soon as its event `silent` is set, as if its time were over."""

    silent = threading.Event()

    @property
    def cuts_requests_off(self):
        """True if requests on the wire are cut off: once after the event was set, or if the time of the run is over."""
        is_set = self.silent.is_set()
        self.silent.clear()
        return is_set or super().cuts_requests_off


class ThreadWithResult(threading.Thread):
    """A thread that starts at once and keeps the result of its function."""

    def __init__(self, function):
        super().__init__(target=lambda: setattr(self, "returned", function()), daemon=True)
        self.start()

    def result(self):
        """The result of the function. AssertionError if it does not end, or raised an error."""
        self.join(HANG_LIMIT_S)
        assert hasattr(self, "returned"), "the function hangs, or raised an error"
        return self.returned


def await_event(event, process):
    """Wait until a service has set the event. AssertionError if the run ends without it."""
    while not event.wait(_LOOKS_AFTER_S):
        assert process.poll() is None, f"the run ended with {process.returncode}: {process.stdout.read()}"
