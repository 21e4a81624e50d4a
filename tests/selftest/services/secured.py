"""TLS on loopback: a service that wants a client certificate, and a proxy that it is reached through."""

import socket
import ssl
import threading

import trustme

from tests.selftest.services.serving import SocketService


class Certificates:
    """An authority with certificates for the service and for a client, as PEM files in a folder."""

    def __init__(self, folder):
        """Make a new authority, and write its certificate and those of a client into the folder."""
        self.authority = trustme.CA()
        self.server = self.authority.issue_cert("localhost")
        client = self.authority.issue_cert("qa@example.com")
        self.ca_bundle = folder / "ca"
        self.client_cert = folder / "cert"
        self.client_key = folder / "key"
        self.authority.cert_pem.write_to_path(str(self.ca_bundle))
        client.cert_chain_pems[0].write_to_path(str(self.client_cert))
        client.private_key_pem.write_to_path(str(self.client_key))


class SpeaksTls(SocketService):
    """The sandbox over TLS. By default the client must have a certificate of the authority.

    With `needs_client_certificate=False` a client needs no certificate.
    """

    host = "https://localhost"

    def __init__(self, certificates, *, needs_client_certificate=True):
        """A service with the certificate for localhost. `certificates` is an object of the class Certificates."""
        super().__init__()
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificates.server.configure_cert(self.context)
        certificates.authority.configure_trust(self.context)
        self.context.verify_mode = ssl.CERT_REQUIRED if needs_client_certificate else ssl.CERT_NONE

    def _serve(self, connection):
        """Answer the requests of a connection over TLS, or close it if the client has no certificate of the authority."""
        try:
            connection = self.context.wrap_socket(connection, server_side=True)
        except OSError:  # the client has no certificate, or one of another authority
            connection.close()
            return
        super()._serve(connection)


class Proxy(SocketService):
    """Opens tunnels (CONNECT) and passes their bytes on. `received` are the requests to the proxy itself."""

    def answer(self, connection, request):
        """Open a tunnel to the target that a CONNECT names, and pass the bytes of both directions on."""
        host, _, port = request.path.partition(":")
        with socket.create_connection((host, int(port))) as target:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            threading.Thread(target=_copy_bytes, args=(target, connection), daemon=True).start()
            _copy_bytes(connection, target)


def _copy_bytes(source, target):
    """Send all bytes that arrive on the connection `source` to the connection `target`, until `source` ends."""
    try:
        piece = source.recv(65_536)
        while piece:
            target.sendall(piece)
            piece = source.recv(65_536)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # the peer of one of the two connections has hung up
        return
