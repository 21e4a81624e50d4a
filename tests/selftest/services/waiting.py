"""How a test waits for a run or a service without a clock that decides."""

import threading

from environments.door.run_end import RunEnd

HANG_LIMIT_S = 60
"""Seconds until a test that would hang for ever fails. No test depends on it."""
_SECONDS_BETWEEN_LOOKS = 0.1
"""Seconds between two looks if the process still runs. No test depends on it."""


class EndsWhenSet(RunEnd):
    """The end of a run whose time seems to be over as soon as a test or a service sets the event `silent`.

    The request that is on the wire then is cut off. The event is called `silent` because a service sets it when it is
    silent: it has read a request, and does not answer.
    """

    silent = threading.Event()

    @property
    def cuts_requests_off(self):
        """True if requests on the wire are cut off, because the event was set or the time of the run is over.

        If the event was set, it is cleared here. So it cuts off the request that is on the wire now, and no later one.
        """
        if self.silent.is_set():
            self.silent.clear()
            return True
        return super().cuts_requests_off


class ThreadWithResult(threading.Thread):
    """A thread that calls a function without arguments. It starts at once, and `result()` gives what the function
    returned.
    """

    def __init__(self, function):
        """Start the thread, which calls the function."""
        super().__init__(daemon=True)
        self._function = function
        self._has_returned = False
        self.start()

    def run(self):
        """Call the function and keep its result."""
        self._result = self._function()
        self._has_returned = True

    def result(self):
        """Wait for the function, and return its result. AssertionError if it hangs, or raised an error."""
        self.join(HANG_LIMIT_S)
        assert self._has_returned, "the function hangs, or raised an error"
        return self._result


def await_event(event, process):
    """Wait until a service has set the event. AssertionError if the process of the run ends before that."""
    while not event.wait(_SECONDS_BETWEEN_LOOKS):
        assert process.poll() is None, f"the run ended with {process.returncode}: {process.stdout.read()}"
