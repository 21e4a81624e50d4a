"""The sandbox in a process of its own, each of whose answers takes a while, as over a network."""

import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from threading import Lock

from environments.sandbox import Request, Response, Server, Service


class DelaysEachAnswer(Service):
    """The sandbox, which waits `delay` seconds before each answer. Requests on several connections wait side by side."""

    def __init__(self, delay: float) -> None:
        """A service that has answered nothing. `delay` are the seconds before each answer."""
        super().__init__()
        self.answered = 0
        self._delay = delay
        self._guard = Lock()

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        """The answer of the sandbox, after the delay."""
        time.sleep(self._delay)
        with self._guard:
            self.answered += 1
        return self.respond(request)


@dataclass(frozen=True)
class ServiceProcess:
    """A service in another process: its address, its token, and the pipe to it."""

    base_url: str
    token: str
    _pipe: Connection

    def number_of_answers(self) -> int:
        """The number of requests that the service has answered until now."""
        self._pipe.send("number of answers")  # the other process answers any message with the number
        return int(self._pipe.recv())


def paced_service_process(delay: float) -> AbstractContextManager[ServiceProcess]:
    """A service in a process of its own that waits `delay` seconds before each answer. It ends with the `with` block."""
    return service_process(_serve, delay)


@contextmanager
def service_process(serve: Callable[..., None], *arguments: object) -> Iterator[ServiceProcess]:
    """Run `serve(pipe, *arguments)` in a process of its own, so that its memory and time do not count as those of the
    run.

    The function must first send the address and the token of the service through the pipe. The process is ended with
    the `with` block.
    """
    spawn = multiprocessing.get_context("spawn")
    pipe, pipe_of_service = spawn.Pipe()
    process = spawn.Process(target=serve, args=(pipe_of_service, *arguments), daemon=True)
    process.start()
    try:
        base_url, token = pipe.recv()
        yield ServiceProcess(base_url, token, pipe)
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, delay: float) -> None:
    """Run the service in this process, and tell the other end of the pipe about it.

    The address and the token are sent first. After that, the number of answers is sent for each message that arrives.
    """
    service = DelaysEachAnswer(delay)
    with Server(service) as server:
        pipe.send((server.base_url, service.token))
        while pipe.recv():
            pipe.send(service.answered)
