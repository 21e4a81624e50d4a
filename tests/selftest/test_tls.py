"""Own authorities, client certificates, and proxies for TLS; what is wrong with them is one line."""

from __future__ import annotations

import pytest

from tests.selftest.services.running import run, write_profile
from tests.selftest.services.secured import Certificates, Proxy, Secured

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


@pytest.mark.parametrize(
    ("files", "mutual"),
    [((), False), (("ca_bundle",), True)],
    ids=["an authority that nobody knows", "no client certificate"],
)
def test_what_tls_refuses_is_one_line(files, mutual, certificates, tmp_path):
    """The run ends with exit status 7 and says what to check; nothing was sent."""
    with Secured(certificates, mutual=mutual) as service:
        result = run(write_profile(tmp_path, service.base_url, tls=tls(certificates, *files)), *PART)

    assert result.status == 7
    assert result.document["verdict"] == "unreachable"
    assert service.seen == []


def test_a_certificate_for_another_host_is_refused(tmp_path):
    """The host name is always checked."""
    certificates = Certificates(tmp_path, name="bank.example")
    with Secured(certificates, mutual=False) as service:
        result = run(write_profile(tmp_path, service.base_url, tls=tls(certificates, "ca_bundle")), *PART)

    assert (result.status, service.seen) == (7, [])
    assert "TLS failed: check tls.ca_bundle, tls.client_cert and the host name" in result.output


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
    assert "the proxy cannot be spoken to: check proxy" in result.output


def test_the_passphrase_of_the_key_comes_from_the_environment(certificates, tmp_path):
    """An encrypted key is opened with it, and it is nowhere in what the run leaves."""
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(certificates.client_key.read_bytes(), None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"pass-phrase-of-qa"),
    )
    certificates.client_key.write_bytes(encrypted)
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
