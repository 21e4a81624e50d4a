"""Wrong on a connection that has carried a request before: the first one on each connection is answered as stated."""

from __future__ import annotations

import socket
import threading

from environments.sandbox import Request, Response, Service, Transfer
from tests.selftest.proof.registry import broken, mutant


class KnowsItsConnections(Service):
    """The sandbox, which counts the requests of each connection. One thread serves a connection from first to last."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = threading.local()

    def serve(self, request: Request, connection: socket.socket) -> Response | None:
        response = super().serve(request, connection)
        self.connection.carried = self.carried + 1
        return response

    @property
    def carried(self) -> int:
        """How many requests the connection has carried before this one."""
        return getattr(self.connection, "carried", 0)


class ForgetsOnAKeptConnection(KnowsItsConnections):
    """The sandbox, whose results lack a field from the second request of a connection on."""

    FIELD = ""

    def execution_result(self, transfer: Transfer) -> dict[str, object]:
        result = super().execution_result(transfer)
        return {name: value for name, value in result.items() if not self.carried or name != self.FIELD}


for _field in ("digit", "document"):
    broken(
        "kept connection", f"ExecutionForgets{_field.title()}OnAKeptConnection",
        f"From the second request of a connection on, {_field} is missing.",
        ForgetsOnAKeptConnection, f"executePix.{_field}.present", FIELD=_field,
    )  # fmt: skip


@mutant("kept connection", "executePix.document.masked")
class ExecutionUnmasksOnAKeptConnection(KnowsItsConnections):
    """From the second request of a connection on, the document is not masked."""

    def mask(self, document: str) -> str:
        return document if self.carried else super().mask(document)


@mutant("kept connection", "executePix.token.required", hides=("executePix.token.scheme",))
class ExecutionTrustsAConnection(KnowsItsConnections):
    """The token is not checked on a connection that was authorized before."""

    OPERATION = "executePix"

    def authorize(self, request: Request, operation: str) -> None:
        if operation != self.OPERATION or not getattr(self.connection, "authorized", False):
            super().authorize(request, operation)
        self.connection.authorized = True


@mutant("kept connection", "registerPixKey.token.required", warns=("registerPixKey.token.scheme",))
class RegistrationTrustsAConnection(ExecutionTrustsAConnection):
    """The token is not checked on a connection that was authorized before."""

    OPERATION = "registerPixKey"
