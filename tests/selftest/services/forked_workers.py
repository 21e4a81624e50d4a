"""Workers of `-n` that start with everything imported: each is forked from a process that is as old as the run itself,
instead of a new Python that would import the same modules again, for a second or two of CPU time."""

import atexit
import os
import signal
import socket
import sys
import threading

from execnet import gateway_io
from execnet.gateway_base import ExecModel, Popen2IO

_WAIT = b"wait"
_SHORT = 100


def fork_workers() -> None:
    """From now on, xdist gets its workers from a process that is forked here, while there is but one thread."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _serve(theirs)
    theirs.close()
    forks = _Forks(ours, pid)
    atexit.register(forks.end)
    gateway_io.Popen2IOMaster = _worker_of(forks)


class _Forks:
    """The process that workers are forked from."""

    def __init__(self, connection: socket.socket, pid: int) -> None:
        self._connection, self._pid = connection, pid
        self._lock = threading.Lock()

    def fork(self, stdin: int, stdout: int) -> int:
        """The id of a new worker with these ends of pipes."""
        with self._lock:
            socket.send_fds(self._connection, [b"fork"], [stdin, stdout])
            return int(self._connection.recv(_SHORT))

    def wait(self, pid: int) -> int:
        """Wait for the end of a worker."""
        with self._lock:
            self._connection.sendall(b"%b %d" % (_WAIT, pid))
            return int(self._connection.recv(_SHORT))

    def end(self) -> None:
        """The run is over."""
        self._connection.close()
        os.waitpid(self._pid, 0)


def _worker_of(forks: _Forks) -> type[Popen2IO]:
    class Worker(Popen2IO):
        """What execnet asks of a worker that it has started: its pipes, and to wait for its end, or to end it."""

        def __init__(self, args: list[str], execmodel: ExecModel) -> None:
            (its_stdin, stdin), (stdout, its_stdout) = os.pipe(), os.pipe()
            self.pid = forks.fork(its_stdin, its_stdout)
            os.close(its_stdin)
            os.close(its_stdout)
            super().__init__(os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), execmodel)

        def wait(self) -> int:
            return forks.wait(self.pid)

        def kill(self) -> None:
            os.kill(self.pid, signal.SIGKILL)

    return Worker


def _serve(connection: socket.socket) -> None:
    """Fork a worker, or wait for one, at each message, until the run has ended."""
    while True:
        message, ends, _, _ = socket.recv_fds(connection, _SHORT, 2)
        if not message:
            os._exit(0)
        if message.startswith(_WAIT):
            answer = os.waitstatus_to_exitcode(os.waitpid(int(message.split()[1]), 0)[1])
        elif (answer := os.fork()) == 0:
            connection.close()
            _become_worker(*ends)
        for end in ends:
            os.close(end)
        connection.sendall(b"%d" % answer)


def _become_worker(stdin: int, stdout: int) -> None:
    """What `python -u -c` does with the line that execnet passes to it."""
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    os.close(stdin)
    os.close(stdout)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)  # as Python opens them
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
    sys.exit()
