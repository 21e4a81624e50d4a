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
ROW = re.compile(r"^\| .+ \| (`\w+`(?:, `\w+`)*) \|$", re.MULTILINE)
NAME = re.compile(r"`(\w+)`")


def test_each_never_is_a_self_test_by_that_name():
    """Each name in the tables of docs/traffic.md is the name of a test."""
    rows = ROW.findall((ROOT / "docs" / "traffic.md").read_text("utf-8"))
    names = [name for row in rows for name in NAME.findall(row)]
    tests = "\n".join(path.read_text("utf-8") for path in ROOT.glob("tests/selftest/**/test_*.py"))

    assert len(names) >= 20
    assert [name for name in names if not re.search(rf"^def test_{name}\(", tests, re.MULTILINE)] == []


def test_proxies_and_credentials_of_the_machine_are_not_used(service, tmp_path, monkeypatch):
    """Variables of a proxy are ignored, and so is the password in .netrc."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password pa55word\n", "utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("PIX_TOKEN", service.sandbox.token)
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    profile = load(str(write_profile(tmp_path, service.base_url)))
    with SocketService() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.base_url)
        with closing(open_door(profile, open_target(profile))) as door:
            exchanges = [
                open_client(door, profile).send("listAccounts", credential=name) for name in ("valid", "no header")
            ]

    assert [exchange.response.status for exchange in exchanges] == [200, 401]
    assert proxy.received == []
    assert [request.header("Authorization") for request in service.received] == [f"Bearer {service.sandbox.token}", ""]
