"""Transfers that a run may prepare: how many, of which amount, for whom, and what is said of those that stay.

The service accepts whatever it is sent, and keeps a log of its own.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import replace

import pytest

from environments.door.budget import may_have_prepared
from environments.profiles.loading import load
from environments.sandbox import Request, Response, Server
from reports.formats.conformance_json import document_of
from spec.interface import MARK, PREPARING
from spec.json_text import leaves_of
from tests.selftest.generated_runs import PLUGINS, Logs
from tests.selftest.proof.trial import run_of
from tests.selftest.services.one_run import Run
from tests.selftest.services.running import write_profile
from tests.selftest.test_stopped_runs import HANGS_S
from tests.traffic.case import Case, bounded
from tests.traffic.invalid import invalid_requests

OWN = ("ac-0001", "ac-0002")
LIMIT = 20
READS_AND_TRANSFERS = ["read", "create-pix", "transfer"]
PERMITTED = {
    "transfers": READS_AND_TRANSFERS,
    "transfers and fuzz": [*READS_AND_TRANSFERS, "fuzz"],
    "one operation and fuzz": ["read", "create-pix", "fuzz"],
    "everything": ["read", "register-keys", "delete-keys", "create-pix", "transfer", "execute", "fuzz"],
}


class AcceptsEverything(Logs):
    """The sandbox, which prepares whatever transfer it is asked for, and registers any key."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[tuple[str, bytes]] = []
        self.keys: list[tuple[str, bytes]] = []

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.requests.append(request)
        if operation in PREPARING and response.status != 401:
            self.prepared.append((operation, request.body))
            if response.status >= 300:
                return Response(
                    200, b'{"code": 0, "data": {"transactionId": "SBX-0123456789ABCDEF"}}', response.headers
                )
        if operation == "registerPixKey" and response.status != 401:
            self.keys.append((request.path, request.body))
            result = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": 1}}'
            return Response(200, result, response.headers)
        return response


class Ended:
    """A run against the service, and the log of the service."""

    def __init__(self, folder, allow, *arguments, service=None, **changes):
        self.service = service or AcceptsEverything()
        with Server(self.service) as server:
            limits = {"limits": {"transfers": LIMIT, "executions": 12, "requests": 2000} | changes.pop("limits", {})}
            path = write_profile(folder, server.base_url, allow=allow, **limits, **changes)
            variables = pytest.MonkeyPatch()
            variables.setenv("PIX_TOKEN", self.service.token)
            self.status, self.run = run_of(*PLUGINS, "--no-report", f"--environment={path}", *arguments)
            variables.undo()
        self.profile = load(str(path), folder=folder)
        self.bodies = [(name, _read(body)) for name, body in self.service.prepared]

    @property
    def invalid(self):
        """The bodies that name no account of the profile."""
        return [(name, value) for name, value in self.bodies if not any(own in str(value) for own in OWN)]

    @property
    def left(self):
        return [line for line in self.run.not_executed if "transfer" in line]


def _read(body):
    try:
        return json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


@pytest.fixture(scope="module", params=[False, True], ids=["elsewhere", "sandbox"])
def is_sandbox(request):
    return request.param


@pytest.fixture(scope="module", params=PERMITTED)
def ended(request, is_sandbox, tmp_path_factory):
    changes = {} if is_sandbox else {"sandbox": None, "transactions": None}
    return Ended(tmp_path_factory.mktemp("run"), PERMITTED[request.param], **changes)


def test_no_more_transfers_succeed_than_the_limit(ended):
    """All bodies count: valid, invalid and generated ones."""
    assert 0 < len(ended.service.prepared) <= LIMIT


def test_every_operation_has_its_turn(ended):
    """With the limit reached none of those that are permitted got nothing, and none got half of the places more than another.

    Several are on the wire at once, so that one may get a few more than another.
    """
    counts = Counter(name for name, _ in ended.bodies)
    permitted = [name for name in PREPARING if ended.profile.allow & {"transfer"} or name == "createPix"]

    assert set(counts) == set(permitted)
    assert max(counts.values()) - min(counts.values()) < LIMIT // 2


def test_invalid_bodies_name_nobody(ended):
    """Each text that may name an account or a key is synthetic or empty, and no number but 0 stands in its place."""
    for _, value in ended.invalid:
        for path, item in leaves_of(value):
            if path and path[-1] in ("from", "to", "account", "pixKey") and isinstance(item, str):
                assert not item or item.startswith(MARK), value


def test_a_limit_that_is_reached_is_said_and_changes_no_verdict(ended):
    """What was tested stands: every operation was exercised."""
    said = [cut for cut in document_of(ended.run)["cut"] if cut["why"] == f"limits.transfers ({LIMIT}) is reached"]

    assert bool(said) == (len(ended.service.prepared) == LIMIT)
    missing = [one.id for one, result in ended.run.requirements() if result.verdict == "not-exercised"]
    assert not [id for id in missing if id.split(".")[0] in PREPARING and id.endswith((".exists", ".serverError"))]


def test_what_stays_is_listed(ended):
    """Each transfer with an account of the profile by itself, and the synthetic ones by their count."""
    own = [line for line in ended.left if line.startswith("a transfer that ")]
    others = [line for line in ended.left if line.startswith("transfers of synthetic accounts: ")]

    assert len(own) + ended.run.executions >= len(ended.bodies) - len(ended.invalid)
    assert [int(line.split(": ")[1].split()[0]) for line in others] == [len(ended.invalid)] * bool(ended.invalid)


MOST = {"createPix": 1.25, "transferExternal": 2.5, "transferInternal": 3, "transferP2p": 0.01}
"""The amounts of the profile's bodies."""


def amounts(bodies):
    for name, value in bodies:
        for path, number in leaves_of(value) if not isinstance(value, str) else ():
            if "value" in path and isinstance(number, int | float) and not isinstance(number, bool):
                yield name, number


@pytest.fixture(scope="module")
def all_bodies(tmp_path_factory):
    """What a run sends to a service that is no sandbox, with room for all of it."""
    allow, limits = [*READS_AND_TRANSFERS, "fuzz"], {"transfers": 2000, "requests": 5000}
    options = ("-m", "property or not property", "--examples=60")
    return Ended(
        tmp_path_factory.mktemp("run"), allow, *options, sandbox=None, transactions=None, limits=limits
    )  # fmt: skip


def test_no_amount_off_a_sandbox_is_above_that_of_the_profile(all_bodies):
    """Each number under value is above 0, and at most that of the body for the same operation."""
    sent = list(amounts(all_bodies.bodies))

    assert len(all_bodies.bodies) > 150
    assert {name for name, _ in sent} == set(PREPARING)
    assert [(name, number) for name, number in sent if not 0 < number <= MOST[name]] == []


def test_a_number_off_a_sandbox_is_nobody(all_bodies):
    """None stands where an account or a key does, in no invalid body."""
    for _, value in all_bodies.invalid:
        found = leaves_of(value) if not isinstance(value, str) else ()
        named = [item for path, item in found if set(path) & {"from", "to", "pixKey"}]
        assert not [item for item in named if isinstance(item, int | float) and not isinstance(item, bool)], value


@pytest.mark.parametrize("amount", [None, 0, -5, "7.50"], ids=["none", "zero", "negative", "text"])
def test_without_an_amount_of_the_profile_it_is_the_smallest(amount, tmp_path):
    """One hundredth, in whatever form an operator leaves it out."""
    body = {"from": "{account}", "to": "24681357928", **({} if amount is None else {"value": amount})}
    profile = load(str(write_profile(tmp_path, "https://bank.example", sandbox=None)), folder=tmp_path)
    profile = replace(profile, requests={"transferP2p": replace(profile.requests["transferP2p"], json=body)})
    cases = list(invalid_requests("transferP2p", profile))
    sent = [number for _, number in amounts(("transferP2p", _read(case.body or b"")) for case in cases)]

    assert len(cases) > 30
    assert set(sent) <= {0.01}


HARD = {
    "empty": "",
    "only the mark": MARK,
    "the mark and a blank": f"{MARK} ",
    "a line break": f"{MARK}a\n",
    "NUL": f"{MARK}\0",
    "half a surrogate pair": f"{MARK}\ud800",
    "long": MARK + "x" * 193,
}


def registration_of(key, operation="registerPixKey"):
    return Case(operation, path_parameter=OWN[0], body=json.dumps({"account": OWN[0], "pixKey": key}).encode())


@pytest.mark.parametrize("operation", ["registerPixKey", "deletePixKey"])
@pytest.mark.parametrize("key", HARD.values(), ids=HARD)
def test_a_key_that_is_hard_to_delete_is_for_nobody(key, operation, tmp_path):
    """The account is synthetic in the path and in the body; on a sandbox it may be the own one."""
    profile = load(str(write_profile(tmp_path, "http://127.0.0.1:1", sandbox=None)), folder=tmp_path)
    case = registration_of(key, operation)
    (sent,) = bounded([case], profile)

    assert sent.path_parameter.startswith(MARK)
    assert json.loads(sent.body) == {"account": f"{MARK}account", "pixKey": key}
    assert list(bounded([case], replace(profile, sandbox="127.0.0.1"))) == [case]


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    """What a run asks a service to register that takes anything for a key, and is no sandbox."""
    allow = ["read", "register-keys", "delete-keys", "fuzz"]
    options = ("-m", "property or not property", "--examples=60")
    found = Ended(
        tmp_path_factory.mktemp("run"), allow, *options, sandbox=None, transactions=None, limits={"requests": 5000}
    )  # fmt: skip
    return found.service.keys


def test_no_key_at_the_own_account_is_hard_to_delete(registered):
    """Neither in the path nor in the body of what a service took that takes anything for a key."""
    own = [_read(body) for path, body in registered if any(name in path or name.encode() in body for name in OWN)]
    asked = [value for value in own if isinstance(value, dict) and value.get("pixKeyType") not in ("RANDOM", "EVP")]
    keys = [value["pixKey"] for value in asked if isinstance(value.get("pixKey"), str)]
    raw = [value for value in own if isinstance(value, str)]

    assert len(keys) > 30
    assert [key for key in keys if not key.strip() or key.strip() == MARK or len(key) > 200] == []
    assert [key for key in (*keys, *raw) if re.search(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", key)] == []


def test_no_number_is_sent_as_a_key(registered):
    """It might be the CPF or the phone number of somebody."""
    sent = [value for _, body in registered if isinstance(value := _read(body), dict)]
    under = [item for value in sent for path, item in leaves_of(value) if "pixKey" in path]

    assert [item for item in under if isinstance(item, int | float) and not isinstance(item, bool)] == []


def test_no_transfer_is_an_allowance_too(tmp_path):
    """With limits.transfers 0 no body is sent, and the requirements say why."""
    ended = Ended(tmp_path, READS_AND_TRANSFERS, limits={"transfers": 0}, transactions=None)
    why = {
        str(result.message)
        for one, result in ended.run.requirements()
        if one.id in {f"{name}.exists" for name in PREPARING}
    }

    assert (ended.service.prepared, ended.status) == ([], 6)
    assert why == {"no valid request was granted (limits.transfers (0) is reached); limits.transfers (0) is reached"}


class FallsOnce(AcceptsEverything):
    """The service, which answers a request that takes one of the last places with 500."""

    def __init__(self) -> None:
        super().__init__()
        self.guard, self.fell = threading.Lock(), False

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        answer = super().finish(request, operation, response)
        with self.guard:
            falls = operation in PREPARING and answer.status == 200 and len(self.prepared) == LIMIT and not self.fell
            self.fell |= falls
        return Response(500, b"{}", answer.headers) if falls else answer


def test_a_limit_hides_no_failure(tmp_path):
    """A server error counts although there is no place left to reproduce it; it may have prepared a transfer, too."""
    ended = Ended(tmp_path, PERMITTED["transfers and fuzz"], service=FallsOnce())
    failing = [one.id for one, result in ended.run.requirements() if result.verdict == "fail"]

    assert len(ended.service.prepared) == LIMIT
    assert [id.partition(".")[2] for id in failing] == ["serverError"]
    assert ended.status == 1


@pytest.mark.parametrize(
    ("status", "may"), [(200, True), (400, False), (404, False), (408, True), (499, True), (500, True), (503, True)]
)
def test_a_refusal_gives_the_place_back(status, may, tmp_path):
    """A status that leaves the outcome open keeps it."""
    with Server(Answers(status)) as server:
        a_run = Run(server, tmp_path, token="t", transfers=1, parallel=1)
        sent = [a_run.client.send("createPix", json={}) for _ in range(2)]

    assert may_have_prepared(sent[0]) == may
    assert bool(sent[1].number) != may


class Answers(Logs):
    """The sandbox, which answers with one status."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        return Response(self.status, b"{}", response.headers)


class RefusesLate(Logs):
    """The sandbox, which refuses a transfer once another waits for its place."""

    def __init__(self) -> None:
        super().__init__()
        self.another_waits = threading.Event()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        self.another_waits.wait(HANGS_S)
        return Response(400, b"{}", response.headers)


def test_a_request_waits_for_a_place_that_may_be_given_back(tmp_path, monkeypatch):
    """It is not left out while only requests on the wire have places."""
    service = RefusesLate()
    with Server(service) as server:
        a_run = Run(server, tmp_path, token="t", transfers=1, parallel=2)
        wait_for = a_run.door.ending.wait_for

        def noticed(is_so):
            """The same; the service learns that somebody waits."""
            if not is_so():
                service.another_waits.set()
            wait_for(is_so)

        monkeypatch.setattr(a_run.door.ending, "wait_for", noticed)
        threads = [threading.Thread(target=a_run.client.send, args=("createPix",), kwargs={"json": {}}) for _ in "12"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert [seen.response.status for seen in a_run.door.exchanges] == [400, 400]
    assert service.another_waits.is_set()
