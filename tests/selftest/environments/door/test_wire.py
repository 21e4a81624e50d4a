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

from environments.door.outgoing import Intent, Sending
from environments.door.run_end import RunEnd
from environments.door.wire import Wire
from environments.profiles.model import Limits, Profile, ProfileError, Tls
from spec.exchange import FailureKind
from tests.selftest.services.running import run_suite, write_profile
from tests.selftest.services.secured import Certificates, Proxy, SpeaksTls

WHAT_TO_CHECK = "check base_url, the certificate of the service, and ca_bundle, client_cert and client_key of tls"
PASSPHRASE = "pass-phrase-of-qa"


@pytest.fixture
def certificates(tmp_path):
    """The certificates of a new authority."""
    return Certificates(tmp_path)


def service_with_certificate_for(host, certificates):
    """A service at localhost over TLS, whose certificate is for this host."""
    certificates.server = certificates.authority.issue_cert(host)
    return SpeaksTls(certificates, needs_client_certificate=False)


def wire_of(proxy=None, **tls):
    """The wire of a run: what opens its connections. `proxy` and `tls` are sections of its profile (its settings)."""
    profile = Profile(name="", path=Path("staging.yaml"), base_url="", tls=Tls(**tls))
    return Wire(SimpleNamespace(**{**vars(profile), "limits": Limits(), "proxy": proxy}), RunEnd())


def send_a_read(wire, service):
    """Send GET /v1/accounts. Returns its response or its failure."""
    request = requests.Request("GET", f"{service.base_url}/v1/accounts").prepare()
    return wire.attempt(Sending(request, Intent("listAccounts")))


@pytest.mark.parametrize(
    ("host_of_certificate", "is_authority_trusted", "reason"),
    [
        ("localhost", False, "self-signed certificate in certificate chain"),
        ("bank.example", True, "Hostname mismatch, certificate is not valid for 'localhost'"),
    ],
    ids=["an authority that is not trusted", "the certificate of another host"],
)
def test_a_failed_tls_handshake_is_reported_in_one_line(
    host_of_certificate, is_authority_trusted, reason, certificates
):
    """The certificate of the service (at localhost) is not accepted, so nothing is sent.

    The message gives the reason of the TLS library and what to check in the profile (the settings of the run). It is
    the same for a request and for a mere connection.
    """
    ca_bundle = certificates.ca_bundle if is_authority_trusted else None
    with (
        service_with_certificate_for(host_of_certificate, certificates) as service,
        closing(wire_of(ca_bundle=ca_bundle)) as wire,
    ):
        failure = send_a_read(wire, service)
        message_of_connecting = wire.connect(service.base_url)

    assert failure.kind is FailureKind.TLS
    assert failure.message == f"TLS failed ({reason}): {WHAT_TO_CHECK}"
    assert message_of_connecting == failure.message
    assert service.received == []


def test_a_missing_client_certificate_is_a_message_of_tls_failure(certificates):
    """The service asks for a client certificate, and the profile (the settings of the run) has none.

    TLS 1.3 reports that only after the handshake, when the request is on its way. The service does not get it.
    """
    with (
        SpeaksTls(certificates, needs_client_certificate=True) as service,
        closing(wire_of(ca_bundle=certificates.ca_bundle)) as wire,
    ):
        failure = send_a_read(wire, service)

    assert failure.kind is FailureKind.TLS
    assert service.received == []
    assert failure.message.endswith(f"): {WHAT_TO_CHECK}")


def test_a_connection_is_opened_without_a_request(certificates):
    """`connect` makes a TLS connection, directly or through a proxy, to find out if the service can be reached.

    It returns no trouble, and the service gets no request. The proxy gets the CONNECT alone.
    """
    with SpeaksTls(certificates, needs_client_certificate=False) as service, Proxy() as proxy:
        trouble_without_proxy = wire_of(ca_bundle=certificates.ca_bundle).connect(service.base_url)
        trouble_with_proxy = wire_of(proxy.base_url, ca_bundle=certificates.ca_bundle).connect(service.base_url)

    assert trouble_without_proxy == ""
    assert trouble_with_proxy == ""
    assert service.received == []
    assert [request.method for request in proxy.received] == ["CONNECT"]


def test_no_connection_goes_around_a_proxy_that_is_gone(certificates):
    """Nothing listens at the address of the proxy. `connect` says so, although the service itself could be reached."""
    with SpeaksTls(certificates, needs_client_certificate=False) as service:
        wire = wire_of("http://127.0.0.1:9", ca_bundle=certificates.ca_bundle)
        trouble = wire.connect(service.base_url)

    assert trouble == "the proxy cannot be reached: check proxy"
    assert service.received == []


@pytest.fixture
def tls_with_encrypted_key(certificates):
    """The section `tls` of a profile whose client key has a passphrase."""
    key = load_pem_private_key(certificates.client_key.read_bytes(), None)
    encryption = BestAvailableEncryption(PASSPHRASE.encode())
    certificates.client_key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    names = ("ca_bundle", "client_cert", "client_key")
    files = {name: str(getattr(certificates, name)) for name in names}
    return {**files, "client_key_passphrase_env": "PIX_KEY_PASSPHRASE"}


def test_everything_goes_through_the_proxy_of_the_profile(certificates, tls_with_encrypted_key, tmp_path):
    """A run goes through the proxy in its settings, which gets a CONNECT and nothing else. The service gets the
    request.

    The variable HTTPS_PROXY is not read; here it has an address at which nothing listens. The client key has a
    passphrase, which is nowhere in the files and the output of the run.
    """
    with SpeaksTls(certificates) as service, Proxy() as proxy:
        profile = write_profile(tmp_path, service.base_url, tls=tls_with_encrypted_key, proxy=proxy.base_url)
        unused_address = "http://127.0.0.1:1"
        variables = {
            "PIX_KEY_PASSPHRASE": PASSPHRASE,
            "HTTPS_PROXY": unused_address,
            "https_proxy": unused_address,
        }
        result = run_suite(profile, "-k", "executePix.document.type", **variables)
    text_of_report = "".join(file.read_text() for file in result.folder.iterdir())

    assert result.status == 0, result.output
    assert service.executions_with_valid_token == ["SBX-PHONE-1"]
    assert {request.method for request in proxy.received} == {"CONNECT"}
    assert PASSPHRASE not in result.output + text_of_report


def test_a_wrong_passphrase_of_the_client_key_is_a_mistake_in_the_profile(tls_with_encrypted_key, monkeypatch):
    """The client key has a passphrase. The profile (the settings of the run) names a variable that has another text.

    The message names the two settings that belong together: the certificate and its key.
    """
    monkeypatch.setenv("PIX_KEY_PASSPHRASE", "another")
    message = r"^tls.client_cert, tls.client_key: .*, or the passphrase is wrong or missing$"

    with pytest.raises(ProfileError, match=message):
        wire_of(**tls_with_encrypted_key)


def test_a_file_without_a_certificate_is_a_mistake_in_the_profile(certificates):
    """The profile (the settings of the run) names a file of trusted authorities in `tls.ca_bundle`. The file has none."""
    certificates.ca_bundle.write_text("no certificate")

    with pytest.raises(ProfileError, match=r"^tls.ca_bundle: no certificate of an authority in PEM$"):
        wire_of(ca_bundle=certificates.ca_bundle)
