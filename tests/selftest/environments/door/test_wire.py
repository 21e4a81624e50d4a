"""Own authorities, client certificates, and proxies for TLS; what is wrong with them is one line."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from environments.door.ending import Ending
from environments.door.outgoing import Intent, Sending
from environments.door.wire import Wire
from environments.profiles.model import Limits, Profile, ProfileError, Tls
from spec.exchange import FailureKind
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.secured import Certificates, Proxy, Secured

WHAT_TO_CHECK = "check base_url, the certificate of the service, and ca_bundle, client_cert and client_key of tls"
PASSPHRASE = "pass-phrase-of-qa"


@pytest.fixture
def certificates(tmp_path):
    """The certificates of a new authority."""
    return Certificates(tmp_path)


def service_with_certificate(certificates, *names, **options):
    """A service over TLS with another certificate of the authority."""
    certificates.server = certificates.authority.issue_cert(*names, **options)
    return Secured(certificates, mutual=False)


def wire_of(proxy=None, **tls):
    """A wire of a profile with this section `tls`."""
    profile = Profile(name="", path=Path("staging.yaml"), base_url="", tls=Tls(**tls))
    return Wire(SimpleNamespace(**{**vars(profile), "limits": Limits(), "proxy": proxy}), Ending())


def attempt(wire, service):
    """Send one request: its response or its failure."""
    request = requests.Request("GET", f"{service.base_url}/v1/accounts").prepare()
    return wire.attempt(Sending(request, Intent("listAccounts")))


@pytest.mark.parametrize(
    ("made", "is_trusted", "why"),
    [
        (lambda made: Secured(made, mutual=False), False, "self-signed certificate in certificate chain"),
        (lambda made: service_with_certificate(made, "bank.example"), True, "Hostname mismatch, certificate is not valid for 'localhost'"),
    ],
    ids=["an unknown authority", "another host"],
)  # fmt: skip
def test_a_failed_tls_handshake_is_one_line(made, is_trusted, why, certificates):
    """A failed handshake gives the reason of the library and what to check, for a request and for a mere connection.

    Nothing was sent.
    """
    ca_bundle = certificates.ca_bundle if is_trusted else None
    with made(certificates) as service, closing(wire_of(ca_bundle=ca_bundle)) as wire:
        failure = attempt(wire, service)
        message_of_connecting = wire.connect(service.base_url)

    assert failure.kind is FailureKind.TLS
    assert failure.message == f"TLS failed ({why}): {WHAT_TO_CHECK}"
    assert message_of_connecting == failure.message
    assert service.received == []


def test_a_client_certificate_that_is_missing_is_named(certificates):
    """TLS 1.3 reports the missing certificate only after the handshake, when the request was sent."""
    with Secured(certificates) as service, closing(wire_of(ca_bundle=certificates.ca_bundle)) as wire:
        failure = attempt(wire, service)

    assert failure.kind is FailureKind.TLS
    assert service.received == []
    assert failure.message.endswith(f"): {WHAT_TO_CHECK}")


def test_a_connection_is_opened_and_closed(certificates):
    """`connect` opens TLS, directly or through a proxy, and sends nothing.

    If the proxy is gone, nothing goes around it.
    """
    with Secured(certificates, mutual=False) as service, Proxy() as proxy:
        proxies = (None, proxy.base_url, "http://127.0.0.1:9")
        wires = [wire_of(proxy, ca_bundle=certificates.ca_bundle) for proxy in proxies]
        direct, through, nowhere = [wire.connect(service.base_url) for wire in wires]

    assert (direct, through) == ("", "")
    assert service.received == []
    assert [request.method for request in proxy.received] == ["CONNECT"]
    assert nowhere == "the proxy cannot be reached: check proxy"


@pytest.fixture
def encrypted(certificates):
    """The section `tls` of a profile whose client key has a passphrase."""
    key = load_pem_private_key(certificates.client_key.read_bytes(), None)
    encryption = BestAvailableEncryption(PASSPHRASE.encode())
    certificates.client_key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    names = ("ca_bundle", "client_cert", "client_key")
    files = {name: str(getattr(certificates, name)) for name in names}
    return {**files, "client_key_passphrase_env": "PIX_KEY_PASSPHRASE"}


def test_everything_goes_through_the_proxy(certificates, encrypted, tmp_path):
    """The proxy of the profile gets a CONNECT and nothing else; HTTPS_PROXY is not read.

    The passphrase of the client key is nowhere in the files and output of the run.
    """
    with Secured(certificates) as service, Proxy() as proxy:
        profile = write_profile(tmp_path, service.base_url, tls=encrypted, proxy=proxy.base_url)
        variables = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:1")
        result = run_suite(profile, "-k", "executePix.document.type", PIX_KEY_PASSPHRASE=PASSPHRASE, **variables)

    assert result.status == 0, result.output
    assert service.executions == ["SBX-PHONE-1"]
    assert {request.method for request in proxy.received} == {"CONNECT"}
    assert PASSPHRASE not in result.output + "".join(file.read_text() for file in result.folder.iterdir())


def test_an_unreadable_pem_file_is_one_line(certificates, encrypted, monkeypatch):
    """A file without a certificate, and a key with another passphrase, are mistakes in the profile."""
    monkeypatch.setenv("PIX_KEY_PASSPHRASE", "another")
    with pytest.raises(
        ProfileError, match=r"^tls.client_cert, tls.client_key: .*, or the passphrase is wrong or missing$"
    ):
        wire_of(**encrypted)
    certificates.ca_bundle.write_text("no certificate")
    with pytest.raises(ProfileError, match=r"^tls.ca_bundle: no certificate of an authority in PEM$"):
        wire_of(ca_bundle=encrypted["ca_bundle"])
