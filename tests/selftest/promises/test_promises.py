"""Each promise of docs/traffic.md has a self-test that exists; and a test of a promise that no other module has."""

import re
from contextlib import closing
from itertools import chain
from pathlib import Path

from environments.credentials import open_target
from environments.door.opening import open_client, open_door
from environments.profiles.loading import load
from tests.selftest.services.running import write_profile
from tests.selftest.services.serving import SocketService

ROOT = Path(__file__).parents[3]


def names_in_the_last_cell(row):
    """The names of self-tests, without `test_`, in the last cell of a row of a table.

    For example ["a_redirected_execution_is_not_followed"], for the row
    "| again after a redirect | `a_redirected_execution_is_not_followed` |". Empty if the cell has other words.
    """
    last_cell = row.strip("|").split("|")[-1].strip()
    has_only_names = re.fullmatch(r"`\w+`(, `\w+`)*", last_cell)
    return re.findall(r"`(\w+)`", last_cell) if has_only_names else []


def test_each_promise_in_the_document_names_a_self_test_that_exists():
    """Tables in docs/traffic.md list what a run never does. Each row names the self-test that proves it."""
    lines = (ROOT / "docs" / "traffic.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    names_in_the_document = list(chain.from_iterable(map(names_in_the_last_cell, rows)))
    modules = [path.read_text("utf-8") for path in ROOT.glob("tests/selftest/**/test_*.py")]
    names_of_tests = set(re.findall(r"^def test_(\w+)\(", "\n".join(modules), re.MULTILINE))

    assert len(names_in_the_document) >= 20
    assert [name for name in names_in_the_document if name not in names_of_tests] == []


def test_proxies_and_credentials_of_the_machine_are_not_used(service, tmp_path, monkeypatch):
    """A run uses neither the proxy that variables of the machine name, nor the password in the file .netrc.

    Libraries for HTTP often use both. A request without a token has no Authorization header at all.
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
