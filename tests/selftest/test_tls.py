"""Own authorities, client certificates, and proxies for TLS; what is wrong with them is one line."""

import ssl
import warnings
from contextlib import closing
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
import requests
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from environments.door.budget import Ending
from environments.door.outgoing import Intent, Sending
from environments.door.wire import Wire
from environments.profiles.model import Limits, Tls
from spec.exchange import FailureKind
from tests.selftest.services.hostile import AcceptsAndNeverAnswers
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.secured import AnswersBeforeItIsAsked, Certificates, Proxy, Secured, self_signed_pem

PART = ("-k", "executePix.document.type")


@pytest.fixture
def certificates(tmp_path):
    """A fresh authority."""
    return Certificates(tmp_path)


def tls(certificates, *names):
    """The section `tls` of a profile with these files."""
    return {name: str(getattr(certificates, name)) for name in names}


def test_a_client_certificate_is_shown(certificates, tmp_path):
    """With the authority, the certificate and the key the run is like any other."""
    with Secured(certificates) as service:
        section = tls(certificates, "ca_bundle", "client_cert", "client_key")
        result = run(write_profile(tmp_path, service.base_url, tls=section), *PART)

    assert result.status == 0, result.output
    assert service.executions == ["SBX-PHONE-1"]


CHECK = "check base_url, the certificate of the service, and ca_bundle, client_cert and client_key of tls"
YEAR = datetime(2020, 1, 1, tzinfo=UTC)


def self_signed(certificates):
    """A service whose certificate nobody else signed."""
    service = Secured(certificates, mutual=False)
    service.show(self_signed_pem(certificates.ca_bundle.parent))
    return service


def limited(certificates, *, mutual=False, **limits):
    """A service whose context has other limits."""
    service = Secured(certificates, mutual=mutual)
    for name, value in limits.items():
        setattr(service.context, name, value)
    return service


def ancient(certificates):
    """A service that never learned TLS 1.2."""
    service = Secured(certificates, mutual=False)
    service.context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        service.context.minimum_version = ssl.TLSVersion.TLSv1
        service.context.maximum_version = ssl.TLSVersion.TLSv1_1
    return service


def expired(certificates):
    """A service that forgot to renew its certificate."""
    certificates.server = certificates.authority.issue_cert(
        "localhost", not_before=YEAR, not_after=YEAR.replace(month=2)
    )
    return Secured(certificates, mutual=False)


def renamed(certificates):
    """A service with the certificate of another host."""
    certificates.server = certificates.authority.issue_cert("bank.example")
    return Secured(certificates, mutual=False)


ONE_POINT_TWO = {"maximum_version": ssl.TLSVersion.TLSv1_2}
REFUSED = {
    "an unknown authority": (
        lambda made: Secured(made, mutual=False), (), f"TLS failed (self-signed certificate in certificate chain): {CHECK}",
    ),
    "self-signed": (self_signed, (), f"TLS failed (self-signed certificate): {CHECK}"),
    "expired": (expired, ("ca_bundle",), f"TLS failed (certificate has expired): {CHECK}"),
    "another host": (
        renamed, ("ca_bundle",),
        f"TLS failed (Hostname mismatch, certificate is not valid for 'localhost'): {CHECK}",
    ),
    "no client certificate": (
        lambda made: limited(made, mutual=True, **ONE_POINT_TWO), ("ca_bundle",), f"TLS failed (sslv3 alert handshake failure): {CHECK}",
    ),
    "an old version": (ancient, ("ca_bundle",), f"TLS failed (tlsv1 alert protocol version): {CHECK}"),
    "plain HTTP": (lambda made: AnswersBeforeItIsAsked(), ("ca_bundle",), f"TLS failed (wrong version number): {CHECK}"),
}  # fmt: skip


def wire_of(ca_bundle, proxy=None):
    """A wire that trusts this authority."""
    return Wire(SimpleNamespace(limits=Limits(), tls=Tls(ca_bundle=ca_bundle), proxy=proxy), Ending())


@pytest.mark.parametrize(("made", "files", "why"), REFUSED.values(), ids=REFUSED)
def test_why_tls_fails_is_one_line(made, files, why, certificates):
    """The library's own reason and what to do, to a request and to a mere connection; nothing was sent."""
    with made(certificates) as service, closing(wire_of(certificates.ca_bundle if files else None)) as wire:
        request = requests.Request("GET", f"{service.base_url}/v1/accounts").prepare()
        failure = wire.attempt(Sending(request, Intent("listAccounts")))
        refused = wire.connect(service.base_url)

    assert (failure.kind, failure.message, refused) == (FailureKind.TLS, why, why)
    assert service.seen == []


@pytest.mark.parametrize("allow", [["read"], ["register-keys", "delete-keys"]], ids=["asks", "connects"])
def test_a_run_ends_where_tls_fails(allow, certificates, tmp_path):
    """Exit status 7 before any request, also where no read is allowed."""
    with expired(certificates) as service:
        result = run(write_profile(tmp_path, service.base_url, allow=allow, tls=tls(certificates, "ca_bundle")), *PART)
        unreachable = f"{service.base_url} cannot be reached: TLS failed (certificate has expired): {CHECK}"

    assert (result.status, result.document["verdict"], service.seen) == (7, "unreachable", [])
    assert f"{unreachable}; this is no verdict" in result.output


def test_a_connection_is_opened_and_closed(certificates):
    """Where TLS comes about nothing is said and nothing is sent; through a proxy, too."""
    with Secured(certificates, mutual=False) as service, Proxy() as proxy:
        wires = [wire_of(certificates.ca_bundle, each) for each in (None, proxy.base_url, "http://127.0.0.1:9")]
        direct, through, nowhere = [wire.connect(service.base_url) for wire in wires]

    assert (direct, through, service.seen) == ("", "", [])
    assert [seen.method for seen in proxy.seen] == ["CONNECT"]
    assert nowhere == "the proxy cannot be reached: check proxy"


def test_a_client_certificate_that_is_missing_is_named(certificates, tmp_path):
    """TLS 1.3 tells it only after the handshake, when the request has left."""
    with Secured(certificates) as service:
        result = run(write_profile(tmp_path, service.base_url, tls=tls(certificates, "ca_bundle")), *PART)

    assert (result.status, service.seen) == (7, [])
    assert f"): {CHECK}; this is no verdict on the service" in result.output


def test_a_server_that_does_not_shake_hands_is_named(certificates, tmp_path):
    """A service that waits for more than the beginning of a handshake: it is not taken for a slow answer."""
    with AcceptsAndNeverAnswers() as service:
        address = service.base_url.replace("http://127.0.0.1", "https://localhost")
        profile = write_profile(tmp_path, address, limits={"timeout": 0.5})
        result = run(profile, *PART)

    assert (result.status, service.seen) == (7, [])
    assert "no complete answer within limits.timeout (0.5 s)" in result.output


def test_an_authority_that_is_none_is_one_line(certificates, tmp_path):
    """A ca_bundle without a certificate is a mistake in the profile: exit status 4."""
    certificates.ca_bundle.write_text("no certificate")
    with Secured(certificates, mutual=False) as service:
        result = run(write_profile(tmp_path, service.base_url, tls=tls(certificates, "ca_bundle")), *PART)

    assert (result.status, service.seen) == (4, [])
    assert result.output.strip() == "ERROR: tls.ca_bundle: no certificate of an authority in PEM"


def test_everything_goes_through_the_proxy(certificates, tmp_path):
    """The proxy of the profile sees the tunnel and nothing of what goes through it; variables are not read."""
    with Secured(certificates) as service, Proxy() as proxy:
        section = tls(certificates, "ca_bundle", "client_cert", "client_key")
        profile = write_profile(tmp_path, service.base_url, tls=section, proxy=proxy.base_url)
        result = run(profile, *PART, HTTPS_PROXY="http://127.0.0.1:1", https_proxy="http://127.0.0.1:1")

    assert result.status == 0, result.output
    assert service.executions == ["SBX-PHONE-1"]
    assert {seen.method for seen in proxy.seen} == {"CONNECT"}


def test_a_proxy_that_is_gone_is_one_line(certificates, tmp_path):
    """Nothing goes around it."""
    with Secured(certificates, mutual=False) as service:
        profile = write_profile(
            tmp_path, service.base_url, tls=tls(certificates, "ca_bundle"), proxy="http://127.0.0.1:9"
        )
        result = run(profile, *PART)

    assert (result.status, service.seen) == (7, [])
    assert "the proxy cannot be reached: check proxy" in result.output


def test_the_passphrase_of_the_key_comes_from_the_environment(certificates, tmp_path):
    """An encrypted key is opened with it, and it is nowhere in what the run leaves."""
    key = load_pem_private_key(certificates.client_key.read_bytes(), None)
    encryption = BestAvailableEncryption(b"pass-phrase-of-qa")
    certificates.client_key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    with Secured(certificates) as service:
        section = tls(certificates, "ca_bundle", "client_cert", "client_key")
        section["client_key_passphrase_env"] = "PIX_KEY_PASSPHRASE"
        profile = write_profile(tmp_path, service.base_url, tls=section)
        right = run(profile, *PART, PIX_KEY_PASSPHRASE="pass-phrase-of-qa")
        wrong = run(profile, *PART, PIX_KEY_PASSPHRASE="another")

    assert right.status == 0, right.output
    assert wrong.status == 4
    assert "tls.client_key" in wrong.output
    assert "Traceback" not in wrong.output
