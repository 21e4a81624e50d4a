"""Reproduce lines: each one of a run sends, from a plain shell, what the run sent."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from environments.profiles.loading import load
from environments.profiles.model import Auth, Header, Tls
from environments.sandbox import Server, Service
from environments.secret_values import Secrets, identifiers
from reports.evidence import EXECUTES, Resending
from reports.show import Display
from spec.exchange import Request
from tests.harness.session import SESSION
from tests.selftest.hand_made import SANDBOX
from tests.selftest.proof.trial import run_of
from tests.selftest.services.running import write_profile

COMPARED = ("authorization", "content-type", "x-tenant", "x-request-id", "x-pixconf")
GATEWAY = "gateway-4711-secret"
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


class Keeps(Service):
    """Keeps the last request that it got."""

    def finish(self, request, operation, response):
        self.kept = request
        return response


class Grab:
    """A plugin that takes the collector of a run, which has its exchanges."""

    def pytest_sessionfinish(self, session):
        self.collector = session.config.stash[SESSION].collector


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run against a service that is still up, with headers and a variable of its own for the token: the service, what
    gives the evidence, the profile, and the exchanges, one of each sort."""
    grab, service = Grab(), Keeps()
    variables = {"PIX_OTHER_TOKEN": service.token, "PIX_GATEWAY": GATEWAY}
    with Server(service) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        path = write_profile(
            tmp_path_factory.mktemp("run"),
            server.base_url,
            auth={"token_env": "PIX_OTHER_TOKEN"},
            headers={"X-Tenant": "qa o'hara", "X-Pixconf": {"env": "PIX_GATEWAY"}},
            correlation_header="X-Request-Id",
            transactions=yaml_of_sandbox("transactions"),
        )
        run_of("--no-report", f"--environment={path}", "--examples=1", "--seed=1", plugins=[grab])
        yield service, grab.collector, load(str(path)), variables


def exported(line, exchange, profile, known):
    """What a person exports before the line: what the profile holds, and what was sent in place of it."""
    codes = [*profile.transactions.codes]
    named = {"ACCOUNT": profile.accounts, "KEY": [key.key for key in profile.pix_keys], "CODE": codes}
    named["IDENTIFIER"] = list(dict.fromkeys(identifiers(profile.bodies)))
    for kind, values in named.items():
        known = known | {kind if at == 1 else f"{kind}_{at}": value for at, value in enumerate(values, 1)}
    header = dict(exchange.request.headers).get("Authorization", "").encode("latin-1").decode("utf-8", "surrogateescape")
    known["WRONG_TOKEN"] = re.sub("^(bearer|token|basic) ", "", header, flags=re.IGNORECASE)
    members = re.findall(r'"(\w+)": "?([^",}]*)', exchange.request.body.decode("utf-8", "replace"))
    known |= {f"SENT_{name.upper()}": value for name, value in members}
    known |= {f"CODE_{place}": "TX-NEW" for place in range(len(codes) + 1, 20)}
    return {name: known[name] for name in re.findall(r"\$\{(\w+):\?", line) if name in known}
