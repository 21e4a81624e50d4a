"""Reproduce lines: each one of a failing run sends, from a plain shell, what the run sent."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import tests.selftest.proof.mutants  # noqa: F401 - registers its services
from environments.profiles.loading import load
from environments.profiles.model import Auth, Header, Tls
from environments.sandbox import Server
from environments.secret_values import Secrets, identifiers
from reports.evidence import EXECUTES, Resending
from reports.show import Display
from spec.exchange import Request
from tests.harness.session import SESSION
from tests.selftest.generated_runs import generated
from tests.selftest.mistakes import FallsOver
from tests.selftest.proof.registry import MUTANTS
from tests.selftest.proof.trial import CONFORMANCE

REPOSITORY = Path(__file__).parents[2]
COMPARED = ("authorization", "content-type", "x-tenant", "x-request-id", "x-pixconf")
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


GATEWAY = "gateway-4711-secret"


class Kept:
    """Mixed into a service: keeps every request that it gets."""

    def finish(self, request, operation, response):
        vars(self).setdefault("kept", []).append(request)
        return super().finish(request, operation, response)


class Grab:
    """A plugin that takes the collector of a run, which has its exchanges."""

    def pytest_sessionfinish(self, session):
        self.collector = session.config.stash[SESSION].collector
        self.run = session.config.pluginmanager.get_plugin("conformance-reporter").run


PROFILE = """
base_url: {base_url}
sandbox: 127.0.0.1
auth: {{token_env: PIX_OTHER_TOKEN}}
headers: {{X-Tenant: "qa o'hara", X-Pixconf: {{env: PIX_GATEWAY}}}}
correlation_header: X-Request-Id
"""


def profile_of(folder, base_url):
    """The sandbox's profile, with headers and a variable of its own for the token."""
    said = (REPOSITORY / "environments/sandbox.yaml").read_text()
    said = re.sub(r"(?m)^(base_url|auth):.*$", "", said) + PROFILE.format(base_url=base_url)
    path = folder / "reproducing.yaml"
    path.write_text(said)
    return path


@pytest.fixture(params=["targeted", "generated"])
def failing(request, tmp_path, monkeypatch):
    """A failing run against a service that is still up: the service, what was seen, and the profile."""
    fault = MUTANTS.specimens["EveryExecutionFieldAsObject"].make
    kind = type("Kept", (Kept, fault), {}) if request.param == "targeted" else type("Kept", (Kept, FallsOver), {})
    service = kind() if request.param == "targeted" else kind("registerPixKey", "malformed JSON")
    monkeypatch.setenv("PIX_OTHER_TOKEN", service.token)
    monkeypatch.setenv("PIX_GATEWAY", GATEWAY)
    grab = Grab()
    with Server(service) as server:
        profile = profile_of(tmp_path, server.base_url)
        options = ["--no-report", "-q", "-p", "no:cacheprovider", f"--environment={profile}"]
        chosen = (
            ["-m", "not property", str(CONFORMANCE)]
            if request.param == "targeted"
            else ["-m", "property", generated("registerPixKey")]
        )
        status = pytest.main([*options, *chosen], plugins=[grab])
        assert status == 1
        yield service, grab, load(str(profile), folder=REPOSITORY / "environments")


def exported(line, exchange, profile, service):
    """What a person exports before the line: what the profile holds, and what was sent in place of it."""
    codes = [*profile.transactions.codes]
    named = {"ACCOUNT": profile.accounts, "KEY": [key.key for key in profile.pix_keys], "CODE": codes}
    named["IDENTIFIER"] = list(dict.fromkeys(identifiers(profile.bodies)))
    known = {"PIX_OTHER_TOKEN": service.token, "PIX_GATEWAY": GATEWAY}
    for kind, values in named.items():
        known |= {kind if at == 1 else f"{kind}_{at}": value for at, value in enumerate(values, 1)}
    header = (
        dict(exchange.request.headers).get("Authorization", "").encode("latin-1").decode("utf-8", "surrogateescape")
    )
    known["WRONG_TOKEN"] = re.sub("^(bearer|token|basic) ", "", header, flags=re.IGNORECASE)
    body = exchange.request.body.decode("utf-8", "replace")
    members = dict(re.findall(r'"(\w+)": "?([^",}]*)', body))
    known |= {f"SENT_{name.upper()}": value for name, value in members.items()}
    known |= {f"CODE_{place}": "TX-NEW" for place in range(len(codes) + 1, 20)}
    return {name: known[name] for name in re.findall(r"\$\{(\w+):\?", line) if name in known}


@needs_curl
def test_every_line_of_a_failing_run(failing):
    """Method, path, headers and body arrive as they were sent at first."""
    service, grab, profile = failing
    shells = [name for name in ("dash", "bash", "sh") if shutil.which(name)]
    wrong = []
    shown = [seen for seen in grab.collector.door.exchanges if seen.response or seen.failure]
    for at, exchange in enumerate(shown):
        lines = grab.collector.evidence(exchange)["curl"]
        assert grab.collector.display.foreign(lines) == lines
        if lines.splitlines()[-1].startswith("#") or "SENT_MEMBER" in lines:  # whose name is not shown
            continue
        service.kept = []
        environment = {"PATH": os.environ["PATH"], **exported(lines, exchange, profile, service)}
        script = [shells[at % len(shells)], "-c", lines]
        done = subprocess.run(script, env=environment, capture_output=True, check=False)
        problems = list(differences(exchange, service.kept[-1:]))
        if done.returncode or problems:
            wrong.append((exchange.number, exchange.credential, problems, done.stderr[:200], lines[:600]))

    assert not wrong, f"{len(wrong)} of {len(shown)}: {wrong[:5]}"
    assert len(shown) > 50


@needs_curl
@pytest.mark.parametrize("failing", ["targeted"], indirect=True)
def test_what_moves_money_says_so(failing):
    """Before the line of an execution stands that it moves money; prepared codes count on behind those of the profile."""
    _, grab, _ = failing
    executed = [seen for seen in grab.collector.door.exchanges if seen.operation == "executePix" and seen.valid]
    lines = {
        text.splitlines()[0]: text.splitlines() for text in (grab.collector.evidence(seen)["curl"] for seen in executed)
    }

    assert [len(executed), len(lines)] == [10, 10]
    assert all(first.startswith("# this line moves money") for first in lines)
    assert len(lines[EXECUTES.format("CODE")]) == 2
    assert '"${CODE_7:?}"' in lines[EXECUTES.format("CODE_7")][1]


def differences(exchange, arrived):
    """Where the request that arrived is not the one that was sent at first."""
    if not arrived:
        yield "nothing arrived"
        return
    sent, got = exchange.request, arrived[0]
    there = urlsplit(sent.url)
    headers = {name.lower(): value for name, value in sent.headers}
    prepared = exchange.operation == "executePix" and "pixconf" not in there.path
    yield from [f"method {got.method}"] * (got.method != sent.method)
    yield from [f"path {got.path}"] * (not prepared and (got.path, got.query) != (there.path, there.query))
    yield from [f"body {got.body[:300]!r}"] * (got.body != sent.body)
    for name in COMPARED:
        if headers.get(name, "").strip() != got.header(name):
            yield f"{name} {got.header(name)!r}"


class TestShell:
    @pytest.fixture
    def profile(self):
        """The sandbox's profile, to be changed."""
        return load("sandbox", folder=REPOSITORY / "environments")

    @staticmethod
    def line(profile, name="token", value="token-4711-abc", header="Authorization", said="Bearer token-4711-abc"):
        """The line of a request with one header, which is a secret."""
        secrets = Secrets()
        secrets.learn_secret(name, value)
        request = Request("GET", "https://host/v1/accounts", ((header, said),))
        return Resending(Display(secrets), profile).curl(request)

    @pytest.mark.parametrize(
        ("auth", "shown"),
        [
            (Auth(token_env="BANK_TOKEN"), '"${BANK_TOKEN:?}"'),
            (Auth(token_file=Path("/secrets/the token")), "\"$(cat '/secrets/the token')\""),
            (
                Auth(token_command=("vault", "--password=hunter2")),
                '"${PIX_TOKEN:?}"',
            ),
        ],
        ids=["token_env", "token_file", "token_command"],
    )
    def test_the_token_is_where_the_profile_has_it(self, profile, auth, shown):
        """A variable, a file, or how it is had; the arguments of a command may be secrets, and are not repeated."""
        line = self.line(replace(profile, auth=auth))

        assert line == f"curl -sS -i -X GET -H 'Authorization: Bearer '{shown} 'https://host/v1/accounts'"

    def test_certificates_and_proxy(self, profile):
        """What the profile has for TLS goes to curl; a passphrase stays in its variable."""
        tls = Tls(Path("/c/ca.pem"), Path("/c/cert.pem"), Path("/c/key.pem"), "PIX_PHRASE")

        line = self.line(replace(profile, tls=tls, proxy="http://proxy:3128"))

        assert line.startswith(
            "curl -sS -i --cacert /c/ca.pem --cert /c/cert.pem --key /c/key.pem "
            '--proxy http://proxy:3128 --pass "${PIX_PHRASE:?}" -X GET'
        )

    @pytest.mark.parametrize(
        ("header", "shown"),
        [
            (Header("X-Api", env="BANK_API"), '"${BANK_API:?}"'),
            (
                Header("X-Api-Key", text="v-4711-abc"),
                '"${X_API_KEY:?}"',
            ),
        ],
    )
    def test_secret_headers_are_variables(self, profile, header, shown):
        """A header from the environment has the name of its variable; one that looks like a secret is not shown."""
        changed = replace(profile, headers=(header,))

        line = self.line(changed, f"header {header.name}", "v-4711-abc", header.name, "v-4711-abc")

        assert line == f"curl -sS -i -X GET -H '{header.name}: '{shown} 'https://host/v1/accounts'"
