"""`python -m environments check` tells every problem of a profile and of its set-up, and executes nothing."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import date

import pytest

from environments.__main__ import main
from environments.commands.checking import to_check
from environments.door.journal import Outcome
from environments.profiles.gaps import gaps
from environments.profiles.loading import load
from environments.sandbox import Response
from spec.interface import READS
from tests.selftest.services.forking import ROOT
from tests.selftest.services.issuing import AnswersAll, IsAhead
from tests.selftest.services.one_run import journal_in
from tests.selftest.services.running import TOKEN, environment, write_profile
from tests.selftest.services.secured import Certificates, Secured
from tests.selftest.services.serving import Raw, as_bytes
from tests.selftest.services.waiting import PausesAt, await_event

PREPARE = {
    "operation": "createPix",
    "json": {"account": "{account}", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    """The environment of a check: the token, and nothing else of ours."""
    for name in [name for name in os.environ if name.startswith("PIX_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv(*next(iter(TOKEN.items())))


@pytest.fixture
def check(tmp_path, capsys):
    """The command against a service, with changes to the profile of the sandbox: its exit status, and its lines without
    the address and the path of the profile."""

    def run(service, *options, base_url="", **changes):
        changes = {"transactions": {"prepare": PREPARE}, **changes}
        profile = write_profile(tmp_path, base_url or service.base_url, **changes)
        before = dict(os.environ)
        status = main(["check", str(profile), *options])
        os.environ.update(before)  # the command forgets the token
        printed = capsys.readouterr()
        lines = (printed.out + printed.err).replace(str(profile), "PROFILE").splitlines()
        lines = [re.sub(r"PROFILE:\d+:", "PROFILE:", line.replace(service.base_url, "ADDRESS")) for line in lines]
        assert not [line for line in lines if next(iter(TOKEN.values())) in line]
        return status, lines

    return run


VALID = [
    "profile: PROFILE is valid; its target is a sandbox",
    "reachable: ADDRESS",
    "TLS: none: the address starts with http://",
    "clock: not compared: no answer with a header Date",
]
READY = "ready: pytest --environment=PROFILE --plan"
NOT_READY = "not ready: a run would be incomplete"


def test_a_profile_that_is_ready(check, service):
    """Three requests were sent: what the preflight asks, and whether it is refused without the token."""
    assert check(service) == (0, [*VALID, "token: accepted by listAccounts", READY])
    assert [(seen.method, seen.path) for seen in service.seen] == [("GET", "/v1/accounts")] * 2


class TestPreparing:
    def test_one_transfer_is_prepared_and_none_is_executed(self, check, service):
        """That it is left is said; its code is not shown."""
        status, lines = check(service, "--prepare")

        assert status == 0
        assert lines[4:] == [
            "prepared: one transfer with createPix, which is not executed: its code is at transactions.prepare.code_at "
            "(/data/transactionId)",
            "token: accepted by listAccounts, createPix",
            "not cleaned up: a transfer that createPix prepared (exchange 3): not executed: its code was not sent",
            READY,
        ]
        assert [seen.path for seen in service.seen if seen.method != "GET"] == ["/v1/pix"]
        assert service.executions == []

    def test_a_code_that_is_not_found(self, check, service):
        """What the answer holds is told without a value."""
        status, lines = check(service, "--prepare", transactions={"prepare": PREPARE | {"code_at": "/data/code"}})

        assert status == 6
        assert lines[4] == (
            "prepared: transactions.prepare.code_at (/data/code) matches no text and no number in the answer to "
            "createPix (exchange 3), which holds /code number, /data/date number, /data/document string, /data/name "
            "string, /data/status string, /data/transactionId string, /data/value number: correct code_at; the transfer is "
            "not executed"
        )
        assert lines[-2:] == [
            "not cleaned up: a transfer that createPix prepared (exchange 3): not executed: "
            "transactions.prepare.code_at is wrong",
            NOT_READY,
        ]

    def test_a_body_that_is_refused(self, check, service):
        """Nothing is left."""
        status, lines = check(service, "--prepare", transactions={"prepare": PREPARE | {"json": {"value": 1}}})

        assert status == 6
        assert lines[4:] == [
            "prepared: no transfer: 400 application/json to createPix: check transactions.prepare.json",
            "token: accepted by listAccounts",
            NOT_READY,
        ]

    def test_the_token_is_tried_where_reading_is_not_allowed(self, check, service):
        """The transfer shows that it is accepted."""
        changes = {"allow": ["create-pix"], "pix_keys": None, "requests": None}

        assert check(service, **changes)[0] == 6
        assert service.seen == []
        status, lines = check(service, "--prepare", **changes)
        assert status == 0
        assert "token: accepted by createPix" in lines

    def test_nothing_says_how(self, check, service):
        """That is a wrong use, before anything is sent."""
        told = ["error: PROFILE: --prepare: the profile does not say how: supply transactions.prepare"]

        assert check(service, "--prepare", transactions=None) == (4, told)
        assert service.seen == []

    def test_a_check_that_is_stopped(self, tmp_path):
        """A transfer that may have been prepared is told."""
        with PausesAt(3) as service:
            profile = write_profile(tmp_path, service.base_url, transactions={"prepare": PREPARE})
            process = subprocess.Popen(
                [sys.executable, "-m", "environments", "check", str(profile), "--prepare"],
                cwd=ROOT, env=environment(**TOKEN), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            with process:
                await_event(service.reached, process)
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate()

        assert process.returncode == 2
        assert "not cleaned up: a transfer that createPix may have prepared (exchange 3)" in output
        assert "Traceback" not in output


class RefusesTheToken(Raw):
    """Does not know the token."""

    def is_granted(self, request):
        return False

    def answer(self, connection, request):
        connection.sendall(as_bytes(Response(401, b"{}")))


class AsksNoToken(Raw):
    """Its reads need no token."""

    def __init__(self) -> None:
        super().__init__()
        authorize = self.service.authorize
        self.service.authorize = lambda request, operation: request.method == "GET" or authorize(request, operation)


class TestTheToken:
    def test_it_is_not_accepted(self, check):
        """Every read is tried, and nothing is prepared."""
        with RefusesTheToken() as service:
            status, lines = check(service, "--prepare")

        refused = (
            "token: not accepted (401 without a media type to 4 of 4 requests): it may be wrong or expired, check auth"
        )
        assert (status, lines[-2:]) == (6, [refused, NOT_READY])
        assert {seen.method for seen in service.seen} == {"GET"}

    def test_a_read_that_needs_no_token_shows_nothing(self, check):
        """A transfer shows it."""
        with AsksNoToken() as service:
            shows_nothing, shows = check(service), check(service, "--prepare")

        reads = ", ".join(sorted(READS, key="listAccounts".__ne__))
        assert f"token: not shown to be valid: {reads} answer without a token, too" in shows_nothing[1]
        assert "token: accepted by createPix" in shows[1]
        assert (shows_nothing[0], shows[0]) == (0, 0)

    def test_every_secret_that_is_missing_is_told(self, check, service, monkeypatch):
        """Before anything is sent."""
        monkeypatch.delenv("PIX_TOKEN")
        headers = {"X-Api-Key": {"env": "PIX_API_KEY"}, "X-Tenant": {"env": "PIX_TENANT"}}

        status, lines = check(service, headers=headers)

        missing = {
            "auth.token_env": "PIX_TOKEN",
            "headers.X-Api-Key.env": "PIX_API_KEY",
            "headers.X-Tenant.env": "PIX_TENANT",
        }
        assert status == 4
        assert lines == [
            f"error: PROFILE: {where}: {name} is not set in the environment; export {name}=…"
            for where, name in missing.items()
        ]
        assert service.seen == []


class TestTheSetUp:
    def test_a_clock_that_is_right(self, check):
        """The difference is told."""
        with IsAhead(30) as service:
            status, lines = check(service)

        assert status == 0
        assert re.fullmatch(r"clock: (29|30|31) s from the service's \(its header Date\)", lines[3])

    def test_a_clock_that_is_wrong(self, check):
        """It is told once, and is no reason for an incomplete run."""
        with IsAhead(3600) as service:
            status, lines = check(service)

        told = [line for line in lines if "the clock of this machine is 60 minutes behind the service's" in line]
        assert (status, len(told)) == (0, 1)

    def test_an_account_that_the_service_does_not_know(self, check, service):
        """The account is named by its place."""
        status, lines = check(service, accounts=["ac-0001", "ac-of-nobody"])

        note = "set-up: the service does not know account 2 of the profile (404 to getBalance): check accounts"
        assert (status, note in lines) == (6, True)

    def test_a_gateway_that_asks_for_a_certificate(self, check):
        """What to name is said."""
        with AnswersAll(496) as service:
            status, lines = check(service)

        assert status == 6
        assert "set-up: the gateway asks for a certificate: name tls.client_cert and tls.client_key (496)" in lines

    def test_nobody_listens(self, check, service):
        """One line."""
        gone = "http://127.0.0.1:9"

        assert check(service, base_url=gone) == (
            7,
            [
                "profile: PROFILE is valid; its target is a sandbox",
                f"error: {gone} cannot be reached: the connection is refused",
            ],
        )

    def test_the_days_of_the_certificate(self, check, tmp_path):
        """Its end is told as a day."""
        certificates = Certificates(tmp_path)
        with Secured(certificates, mutual=False) as service:
            status, lines = check(service, tls={"ca_bundle": str(certificates.ca_bundle)})

        told = re.fullmatch(r"TLS: TLSv1\.3, the certificate is valid until (\S+) \((\d+) more days\)(.*)", lines[2])
        assert status == 0
        assert abs((date.fromisoformat(told[1]) - date.today()).days - int(told[2])) <= 1
        assert told[3] == (": it has to be renewed soon" if int(told[2]) < 30 else "")


class TestWhatACheckMayDo:
    @pytest.mark.parametrize(("prepares", "allow"), [(False, {"read"}), (True, {"read", "create-pix"})])
    def test_no_more_is_permitted_than_it_needs(self, prepares, allow):
        """Whatever the profile permits."""
        profile = load("sandbox", folder=ROOT / "environments")

        assert to_check(profile, prepares=prepares).allow == allow
        assert to_check(replace(profile, allow=frozenset({"execute"})), prepares=prepares).allow == set()

    def test_nothing_is_written(self, check, service, tmp_path):
        """Neither a journal nor a record of keys."""
        journal = tmp_path / "kept" / "journal.jsonl"
        before = set(tmp_path.iterdir())

        assert check(service, "--prepare", journal=str(journal))[0] == 0
        assert set(tmp_path.iterdir()) - before == {tmp_path / "profile.yaml"}


class TestTheProfile:
    def test_every_problem_is_told(self, check, service):
        """One line each."""
        assert check(service, limits={"timeuot": 3, "rate": 0}, fail_on=["not-shown"]) == (
            4,
            [
                'error: PROFILE: limits.timeuot: unknown key; did you mean "timeout"?',
                "error: PROFILE: limits.rate: should be greater than or equal to 0.01",
                "error: PROFILE: fail_on[0]: unknown value; what the interface document does not show (not-shown) is "
                "observed and can never fail",
            ],
        )

    @pytest.mark.parametrize(
        ("changes", "gap"),
        [
            ({"accounts": None}, "no account: supply accounts"),
            ({"pix_keys": None}, "nothing to register: supply pix_keys"),
            ({"requests": None}, "no body for a deletion: supply requests.deletePixKey"),
            ({"allow": ["read", "delete-keys"], "transactions": None}, "only a key that the run registered is deleted: add register-keys to allow"),
            ({"transactions": None}, "no transaction code: supply transactions.codes or transactions.prepare"),
        ],
        ids=["account", "key", "deletion", "registration", "code"],
    )  # fmt: skip
    def test_what_is_not_supplied(self, changes, gap, check, service):
        """A run would be incomplete, and say so in the same words."""
        status, lines = check(service, **changes)

        assert status == 6
        assert f"not exercised: {gap}" in lines

    def test_a_body_that_is_not_supplied(self, check, service):
        """Its operation gets no valid request, and a run is complete all the same."""
        prepared = {"prepare": PREPARE | {"operation": "transferP2p"}}
        status, lines = check(service, requests={"deletePixKey": {"json": {"pixKey": "{key}"}}}, transactions=prepared)

        assert status == 0
        assert [line for line in lines if line.startswith("not exercised")] == [
            f"not exercised: {name} gets no valid request: supply requests.{name}"
            for name in ("createPix", "transferExternal", "transferInternal")
        ]

    def test_codes_that_were_sent(self, check, service, tmp_path):
        """The journal knows them."""
        path = tmp_path / "journal.jsonl"
        missing = check(service, transactions={"codes": ["TX-1"]}, sandbox=None, journal=str(path))
        journal_in(tmp_path).write("TX-1", Outcome.SENT)
        status, lines = check(service, transactions={"codes": ["TX-1"]}, sandbox=None, journal=str(path))

        told = "not exercised: every transaction code was sent by an earlier run: prepare new ones"
        assert (status, told in lines) == (6, True)
        assert missing[0] == 6
        assert [line for line in missing[1] if line.startswith("journal: transactions.codes are not sent")]
        assert missing[1][0] == "profile: PROFILE is valid; its target is no sandbox"
        assert f"journal: {path} holds 1 code" in lines

    def test_a_complete_profile_has_no_gap(self):
        """That of the sandbox is complete."""
        assert list(gaps(load("sandbox", folder=ROOT / "environments"))) == []


def test_the_page_about_staging_shows_what_a_check_prints(check, tmp_path):
    """docs/staging.md has each line of a check that prepares a transfer, with the values of an example."""
    page = (ROOT / "docs/staging.md").read_text("utf-8")
    shown = re.search(r"```\n(profile: .*?)\n```", page, re.DOTALL)[1].splitlines()
    certificates = Certificates(tmp_path)
    with Secured(certificates, mutual=False) as service:
        tls = {"ca_bundle": str(certificates.ca_bundle)}
        status, printed = check(service, "--prepare", tls=tls, sandbox=None)

    assert status == 0
    assert list(map(_general, shown)) == list(map(_general, printed))


def _general(line):
    """A line without what changes from one check to another."""
    line = line.replace("environments/staging.yaml", "PROFILE").replace("https://staging.example.test", "ADDRESS")
    line = re.sub(r"\d{4}-\d\d-\d\d \(\d+ more days\).*", "DATE", line).replace("=staging", "=PROFILE")
    return re.sub(r"^clock: .*", "clock", re.sub(r"^journal: \S+ ", "journal: FILE ", line))
