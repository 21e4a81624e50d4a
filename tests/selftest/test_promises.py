"""What docs/traffic.md promises is a self-test, and the promises that no other module proves."""

import re
from pathlib import Path

from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| .+ \| `(\w+)` \|$", re.MULTILINE)


def test_each_never_is_a_self_test_by_that_name():
    """The name stands in one of the modules, as that of a test."""
    names = ROW.findall((ROOT / "docs" / "traffic.md").read_text("utf-8"))
    tests = "\n".join(path.read_text("utf-8") for path in ROOT.glob("tests/selftest/test_*.py"))

    assert len(names) >= 20
    assert [name for name in names if not re.search(rf"^def test_{name}\(", tests, re.MULTILINE)] == []


def test_proxies_and_credentials_of_the_machine_are_not_used(service, tmp_path):
    """Neither the variables of a proxy, nor .netrc, which has a password for the host."""
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password pa55word\n", "utf-8")
    (tmp_path / ".netrc").chmod(0o600)
    with Raw() as proxy:
        names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
        variables = {
            **dict.fromkeys(names, proxy.base_url),
            "NETRC": str(tmp_path / ".netrc"),
            "NO_PROXY": "",
            "no_proxy": "",
        }
        ended = run(write_profile(tmp_path, service.base_url), "-k", "listAccounts", **variables)
    sent = {seen.header("Authorization") for seen in service.seen}

    assert ended.status == 0, ended.output
    assert proxy.seen == []
    assert not {header for header in sent if header and header.startswith("Basic") and "cGl4Y29uZ" not in header}
