"""What docs/traffic.md promises is a self-test, and the promises that no other module proves."""

import re
from contextlib import closing
from pathlib import Path

from environments.credentials import open_target
from environments.door.opening import open_client, open_door
from environments.profiles.loading import load
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import SocketService

ROOT = Path(__file__).parents[3]
LAST_CELL_WITH_NAMES = re.compile(r"^\| .+ \| (`\w+`(?:, `\w+`)*) \|$", re.MULTILINE)
NAME = re.compile(r"`(\w+)`")


def test_each_never_is_a_self_test_by_that_name():
    """Each line of the tables in docs/traffic.md that says what a run never does names a self-test that exists."""
    last_cells = LAST_CELL_WITH_NAMES.findall((ROOT / "docs" / "traffic.md").read_text("utf-8"))
    names_in_the_document = [name for cell in last_cells for name in NAME.findall(cell)]
    modules = [path.read_text("utf-8") for path in ROOT.glob("tests/selftest/**/test_*.py")]
    names_of_tests = set(re.findall(r"^def test_(\w+)\(", "\n".join(modules), re.MULTILINE))

    assert len(names_in_the_document) >= 20
    assert [name for name in names_in_the_document if name not in names_of_tests] == []


def test_proxies_and_credentials_of_the_machine_are_not_used(service, tmp_path, monkeypatch):
    """A run sends nothing to a proxy that variables of the machine name, and no password that .netrc has for the service.

    Without a token its request has no Authorization at all.
    """
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password pa55word\n", "utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    profile = load(str(write_profile(tmp_path, service.base_url)))
    with SocketService() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url)
        with closing(open_door(profile, open_target(profile))) as door:
            client = open_client(door, profile)
            with_token = client.send("listAccounts", credential="valid")
            without_token = client.send("listAccounts", credential="no header")
    credentials_received = [request.header("Authorization") for request in service.received]

    assert (with_token.response.status, without_token.response.status) == (200, 401)
    assert proxy.received == []
    assert credentials_received == [f"Bearer {service.sandbox.token}", ""]
