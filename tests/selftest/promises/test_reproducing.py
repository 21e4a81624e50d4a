"""Reproduce lines: each one of a run sends, from a plain shell, what the run sent."""

import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from environments.profiles.loading import load
from environments.profiles.model import Auth
from environments.sandbox import Server, Service
from environments.secret_values import Secrets, identifiers
from reports.showing.evidence import evidence
from reports.showing.resending import EXECUTES, OFFERED, Resending
from reports.showing.show import Display
from spec.exchange import Request
from spec.key_list import UUID
from tests.harness.session import SESSION
from tests.selftest.exchanges import answer
from tests.selftest.hand_made import SANDBOX
from tests.selftest.proof.trial import CONFORMANCE, PYTEST
from tests.selftest.recorded_runs import WHOLE, run_here
from tests.selftest.services.running import TOKEN, write_profile
from tests.selftest.services.signed import Signing

COMPARED = ("authorization", "content-type", "x-tenant", "x-request-id", "x-pixconf")
CHOSEN = ("--seed=1", "--parallel=1", "-k", "executePix or registerPixKey")
GATEWAY = "gateway-4711-secret"
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


class Keeps(Service):
    """Keeps the last request that it got."""

    def finish(self, request, operation, response):
        self.kept = request
        return response


class Grab:
    """A plugin that takes the session of a run, which has its exchanges."""

    def pytest_sessionfinish(self, session):
        self.session = session.config.stash[SESSION]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """A run against a service that is still up: the service, what gives evidence, the profile, and its variables."""
    grab, service = Grab(), Keeps(token=f"{Signing().token}==")
    variables = {"PIX_OTHER_TOKEN": service.token, "PIX_GATEWAY": GATEWAY}
    headers = {"X-Tenant": "qa o'hara", "X-Pixconf": {"env": "PIX_GATEWAY"}}
    said = {"auth": {"token_env": "PIX_OTHER_TOKEN"}, "headers": headers, "correlation_header": "X-Request-Id"}
    with Server(service) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        path = str(
            write_profile(
                tmp_path_factory.mktemp("run"),
                server.base_url,
                **said,
                **WHOLE,
            )
        )
        pytest.main([*PYTEST, "--no-report", f"--environment={path}", *CHOSEN, str(CONFORMANCE)], plugins=[grab])
        yield service, grab.session, load(path), variables


def exported(line, exchange, profile, known):
    """What a person exports before the line: what the profile holds, and what was sent in place of it."""
    codes = profile.transactions.codes
    named = {"ACCOUNT": profile.accounts, "KEY": [key.key for key in profile.pix_keys], "CODE": codes}
    named["IDENTIFIER"] = identifiers(profile)
    known = known | {f"HEADER_{each.name.upper().replace('-', '_')}": each.text for each in profile.headers}
    for kind, values in named.items():
        known = known | {kind if at == 1 else f"{kind}_{at}": value for at, value in enumerate(values, 1)}
    header = (
        dict(exchange.request.headers).get("Authorization", "").encode("latin-1").decode("utf-8", "surrogateescape")
    )
    known["WRONG_TOKEN"] = header.rpartition(" ")[2]
    members = re.findall(r'"(\w+)": "?([^",}]*)', exchange.request.body.decode("utf-8", "replace"))
    known |= {f"SENT_{name.upper()}": value for name, value in members}
    random_keys = ("SENT_RANDOM_KEY", *(f"SENT_RANDOM_KEY_{number}" for number in range(2, 20)))
    known |= dict.fromkeys(random_keys, dict(members).get("pixKey"))
    known |= {f"CODE_{place}": "TX-NEW" for place in range(len(codes) + 1, 20)}
    return {name: known[name] for name in re.findall(r"\$\{(\w+):\?", line) if name in known}


def differences(exchange, got):
    """Where the request that arrived is not the one that was sent at first."""
    sent, there = exchange.request, urlsplit(exchange.request.url)
    headers = {name.lower(): value for name, value in sent.headers}
    is_prepared = exchange.operation == "executePix" and "pixconf" not in there.path
    told = {"method": (sent.method, got.method), "body": (sent.body, got.body)}
    told |= {name: (headers.get(name, "").strip(), got.header(name).strip()) for name in COMPARED}
    told |= {} if is_prepared else {"path": (there.path, got.path), "query": (there.query, got.query)}
    return [(name, *values) for name, values in told.items() if values[0] != values[1]]


@needs_curl
def test_every_line_of_a_run(ended):
    """Method, path, headers and body arrive as they were sent at first. One line of each sort is tried. What a person
    has to export is said before the line; of wrong tokens those with another signature or other claims alone."""
    service, session, profile, variables = ended
    shells = [name for name in ("dash", "bash", "sh") if shutil.which(name)]
    sorts, wrong = Counter(), []
    for exchange in session.door.exchanges:
        lines = evidence(exchange, session.resending).lines_that_resend
        assert session.display.foreign(lines) == lines
        assert not UUID.search(lines)  # no key that the service made
        assert all(
            f"{name}: " in lines for name in re.findall(r"\$\{((?:ACCOUNT|KEY|IDENTIFIER|SENT|WRONG)\w*):", lines)
        )
        sort = exchange.operation, exchange.credential, *re.findall(r"\$\{[A-Z_]+|\$\(\w+|--[a-z-]+", lines)
        if lines.splitlines()[-1].startswith("#") or "SENT_MEMBER" in lines or sort in sorts:  # whose name is not shown
            continue
        environment = {"PATH": os.environ["PATH"], **exported(lines, exchange, profile, variables)}
        service.kept, script = None, [shells[len(sorts) % len(shells)], "-c", lines]
        done = subprocess.run(script, env=environment, capture_output=True, check=False)
        problems = differences(exchange, service.kept) if service.kept else [done]
        wrong += [(exchange.number, exchange.credential, problems, lines[:600])] * bool(done.returncode or problems)
        sorts[sort] += 1

    assert not wrong, f"{len(wrong)} of {len(sorts)}: {wrong[:5]}"
    assert len(sorts) > 30
    assert len({sort[1] for sort in sorts if "$(printf" in sort}) == 7  # six forms; beside the token what is no ASCII


def test_what_moves_money_says_so(ended):
    """Before the line of an execution stands that it moves money, and which transfer the code was of; prepared codes
    count on behind those of the profile."""
    session = ended[1]
    executed = [seen for seen in session.door.exchanges if seen.operation == "executePix" and seen.valid]
    lines = {evidence(seen, session.resending).lines_that_resend for seen in executed}

    assert len(executed) == len(lines) > 5
    assert {text.splitlines()[0] for text in lines} == {EXECUTES}
    assert {
        "# CODE_2: of a transfer with type EMAIL, document CNPJ",
        "# CODE_7: of a transfer with type PHONE, document CPF",
    } <= {text.splitlines()[1] for text in lines}


@pytest.mark.parametrize(
    "code", ["dHgx+/A=", "TX 1", "a%41", "x", "TX:1;v=2", "'quoted'", "TX%2F1", "pixconf-of-a-bank"]
)
@pytest.mark.parametrize(
    "spelling", [quote, partial(quote, safe=""), lambda code: "".join(f"%{ord(c):02x}" for c in code)]
)
def test_every_line_that_executes_says_so(code, spelling):
    """However the code is written in the address, a percent-encoded letter or sign included; also one that no profile
    names, as in recorded traffic. An identifier that the suite made up moves nothing."""

    def first_line(name, **changes):
        seen = answer("executePix", {}, path=f"/v1/execute/pix/{name}", **changes)
        return evidence(seen, Resending(Display(secrets), SANDBOX)).lines_that_resend.splitlines()[0]

    secrets = Secrets({"code": (code,)})
    assert first_line(spelling(code)) == EXECUTES
    assert first_line(spelling(code), credential="no header", valid=False) == OFFERED
    assert first_line("TX-OF-NOBODY") == EXECUTES
    assert first_line("pixconf-0a1b2c3d") == "# shows it: 200"


@pytest.mark.parametrize(
    ("auth", "shown"),
    [
        (Auth(token_env="BANK_TOKEN"), '"${BANK_TOKEN:?}"'),
        (Auth(token_file=Path("/secrets/the token")), '"$(cat "${TOKEN_FILE:?}")"'),
        (Auth(token_command=("vault", "--password=hunter2")), '"${PIX_TOKEN:?}"'),
    ],
    ids=["token_env", "token_file", "token_command"],
)
def test_the_token_is_where_the_profile_has_it(auth, shown):
    """A variable, a file, or how it is had; the arguments of a command may be secrets, and are not repeated. The path of
    a file is that of another machine than the reader's."""
    secrets = Secrets()
    secrets.learn_secret("token", "token-4711-abc")
    request = Request("GET", "https://host/v1/accounts", (("Authorization", "Bearer token-4711-abc"),))
    resending = Resending(Display(secrets), replace(SANDBOX, auth=auth))
    line = resending.curl(resending.splitter.parts_of(request))

    assert line == f"curl -sS -i -X GET -H 'Authorization: Bearer '{shown} 'https://host/v1/accounts'"


def test_an_answer_that_is_no_json_may_be_one_that_is_compressed():
    """As the run does, curl then accepts that."""
    seen = answer("listAccounts", b"\x1f\x8b")

    assert "curl --compressed " in evidence(seen, Resending(Display(Secrets()), SANDBOX)).lines_that_resend


class BreaksOnOddBodies(Service):
    """A body that is no JSON, or that is nested deeply, ends in an error of the server. The tax document is not masked."""

    def respond(self, request):
        response = super().respond(request)
        is_odd = request.method == "POST" and (
            b"NaN" in request.body or b"[[[[" in request.body or b"\xff" in request.body
        )
        return replace(response, status=500) if is_odd else response

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {"document": "12345678909"}


@needs_curl
def test_the_lines_of_a_report_do_what_they_say(tmp_path):
    """Whoever has the report, the token and the values of the profile that a line names gets the status that it shows.
    An execution prepares its own transfer. No path of the machine of the run is in a line."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN["PIX_TOKEN"])
    token_file.chmod(0o600)
    changes = WHOLE | {"auth": {"token_file": str(token_file)}}
    changes["transactions"] = {"prepare": WHOLE["transactions"]["prepare"]}
    with Server(BreaksOnOddBodies(token=TOKEN["PIX_TOKEN"])) as server:
        profile = write_profile(tmp_path, server.base_url, **changes)
        result = run_here(f"--environment={profile}", f"--report-dir={tmp_path / 'report'}", "-k", REPRODUCED)
        known = {"TOKEN_FILE": str(token_file), **values_of(load(str(profile)))}
        lines = {one["cause"]: one["reproduce"] for one in result.document["findings"]}
        outputs = {
            cause: subprocess.run(
                ["bash", "-c", text], env=known, capture_output=True, text=True, errors="replace"
            ).stdout
            for cause, text in lines.items()
        }

    assert {"executePix.document.masked", "registerPixKey.serverError"} <= lines.keys()
    assert [text for text in lines.values() if str(tmp_path) in text] == []
    shown = {cause: re.search("^# shows it: (.*)$", text, re.MULTILINE)[1] for cause, text in lines.items()}
    assert shown == {cause: re.search(r"^HTTP/1.1 (\d+)|$", text)[1] for cause, text in outputs.items()}, lines
    assert '"document": "12345678909"' in outputs["executePix.document.masked"]


REPRODUCED = "executePix.document or registerPixKey.serverError or transferP2p.serverError"


def values_of(profile):
    """What a person exports who has the profile: its accounts, keys and identifiers, and a PATH."""
    named = {"ACCOUNT": profile.accounts, "KEY": [key.key for key in profile.pix_keys]}
    named["IDENTIFIER"] = identifiers(profile)
    numbered = {
        kind if at == 1 else f"{kind}_{at}": value
        for kind, values in named.items()
        for at, value in enumerate(values, 1)
    }
    return numbered | {"PATH": os.environ["PATH"], "SENT_MESSAGE": "x"}
