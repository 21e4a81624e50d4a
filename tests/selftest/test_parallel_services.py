"""The services of the proof that depend on parallel requests: two requests at a time show the fault, one does not."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection

import pytest
import requests

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.sandbox import Server
from tests.selftest.proof.gate import SANDBOX
from tests.selftest.proof.registry import MUTANTS, VARIANTS
from tests.selftest.proof.trial import try_service
from tests.selftest.proof.variants import lawful_parallel
from tests.selftest.services.racing import HANGS_S

FAULTS = [one for one in MUTANTS.specimens.values() if one.parallel]
LIMITS = [
    one for one in VARIANTS.specimens.values() if one.parallel and one.operator in ("one at a time", "two at a time")
]
TOKEN = "sandbox-token"
KEYS, EXECUTE = "/v1/pix/keys/ac-0001", "/v1/execute/pix/"
NO_TOKEN, BARE, DROPPED = "", TOKEN, (0, "", [])


def key(kind, value):
    return {"json": {"pixKey": value, "pixKeyType": kind, "account": "ac-0001"}}


EMAIL, PHONE = key("EMAIL", "qa@example.com"), key("PHONE", "+5511955500777")
LIST = ("GET", KEYS, {})
VALID = {
    "executePix": (("GET", f"{EXECUTE}SBX-PHONE-1", {}), ("GET", f"{EXECUTE}SBX-EMAIL-1", {})),
    "registerPixKey": (("POST", KEYS, EMAIL), ("POST", KEYS, PHONE)),
    "deletePixKey": (("DELETE", KEYS, {"json": {"pixKey": "c0ffee00-0001-4000-8000-000000000001"}}), LIST),
    "listPixKeys": (LIST, LIST),
    "getBalance": (("GET", "/v1/accounts/balance/ac-0001", {}), LIST),
}
INVALID = {
    "executePix": (("GET", f"{EXECUTE}unknown", {}), LIST),
    "registerPixKey": (("POST", KEYS, {"json": []}), LIST),
    "deletePixKey": (("DELETE", KEYS, {"json": []}), LIST),
    "getBalance": (("GET", "/v1/accounts/balance/unknown", {}), LIST),
    "listEntries": (("GET", "/v1/accounts/entries/unknown", {}), LIST),
}
"""Two requests by the operation that the first one is for."""


def pair_of(specimen):
    """Two requests that show the fault while both are in flight."""
    operation = getattr(specimen.make, "OPERATIONS", ("executePix",))[0]
    if "token" in specimen.operator:
        (method, path, sent), (*other, rest) = VALID[operation]
        credential = BARE if "Bare" in specimen.name else "Bearer wrong" if "Bearer" in specimen.name else NO_TOKEN
        return (method, path, sent | {"headers": {"Authorization": credential}}), (*other, rest)
    if specimen.operator == "registration lost in parallel":
        return VALID["registerPixKey"]
    if specimen.operator == "answer beside a registration":
        return VALID["registerPixKey"][0], LIST
    return (INVALID if re.search("invalid|refusal", specimen.operator) else VALID)[operation]


def ask(server, request):
    """The status, the last two characters and the words of the answer, sorted; no numbers, which depend on the order."""
    method, path, rest = request
    headers = {"Authorization": f"Bearer {TOKEN}", **rest.get("headers", {})}
    try:
        answer = requests.request(method, server.base_url + path, json=rest.get("json"), headers=headers)
    except requests.ConnectionError:
        return DROPPED
    words = re.findall(r'"[^"]*"|[\w.+-]+', answer.text)
    return (
        answer.status_code,
        answer.text[-2:],
        sorted("number" if re.fullmatch(r"[\d.]+", word) else word for word in words),
    )


def made(specimen):
    service = specimen.make()
    service.token = TOKEN
    return service


def one_after_the_other(specimen, pair):
    """The answers to two requests, and the list of keys after them."""
    service = made(specimen)
    service.HOLD_S = service.HOLD_LESS_S = 0
    with Server(service) as server:
        return [ask(server, request) for request in (*pair, LIST)]


def together(specimen, pair):
    """The same, where the second request comes while the first one is inside."""
    service = made(specimen)
    service.HOLD_S = 60
    with Server(service) as server, ThreadPoolExecutor(1) as other:
        first = other.submit(ask, server, pair[0])
        with service.changed:
            assert service.changed.wait_for(lambda: service.inside, 60)
        second = ask(server, pair[1])
        service.HOLD_S = 0
        return [first.result(), second, ask(server, LIST)]


@pytest.mark.parametrize("specimen", FAULTS, ids=lambda one: one.name)
def test_a_fault_of_parallel_requests_shows_while_two_are_in_flight(specimen):
    """The answers to the two differ from those of the sandbox; one after the other they do not."""
    pair = pair_of(specimen)
    lawful = one_after_the_other(SANDBOX, pair)

    assert one_after_the_other(specimen, pair) == lawful
    assert together(specimen, pair) != lawful


REGISTER = VALID["registerPixKey"][0]
SCOPED = {
    "ThatRead": ("GET", "/v1/accounts", {}),
    "ThatExecute": ("GET", f"{EXECUTE}unknown", {}),
}
"""A request that a service counts which does not count registrations."""


@pytest.mark.parametrize("specimen", LIMITS, ids=lambda one: one.name)
def test_a_service_limits_parallel_requests_and_no_others(specimen, monkeypatch):
    """A request gets the refusal while as many as the service takes are inside, and its answer before and after."""
    service, inside, go_on = made(specimen), threading.Semaphore(0), threading.Event()
    request = next((request for scope, request in SCOPED.items() if scope in specimen.name), REGISTER)
    lawful = ask_alone(SANDBOX, request)
    with Server(service) as server, ThreadPoolExecutor(2) as others:
        monkeypatch.setattr(lawful_parallel.time, "sleep", lambda _: (inside.release(), go_on.wait(HANGS_S)))
        first = [others.submit(ask, server, request) for _ in range(service.MOST)]
        assert all(inside.acquire(timeout=HANGS_S) for _ in first)
        refused = ask(server, request)
        go_on.set()

        assert refused[0] == service.TOO_MANY.status
        assert lawful in [one.result() for one in first]
        assert ask(server, SCOPED["ThatRead"]) == ask_alone(SANDBOX, SCOPED["ThatRead"])


def ask_alone(specimen, request):
    """The answer to one request."""
    with Server(made(specimen)) as server:
        return ask(server, request)


def test_a_list_lags_behind_a_write_that_is_in_flight(monkeypatch):
    """While a key is being registered, the list is the one of before."""
    service, inside, go_on = made(VARIANTS.specimens["KeyListsLag"]), threading.Event(), threading.Event()
    monkeypatch.setattr(lawful_parallel.time, "sleep", lambda _: None)
    service.delete_pix_key = lambda request, account: (inside.set(), go_on.wait(HANGS_S), {})[2]
    with Server(service) as server, ThreadPoolExecutor(1) as other:
        before = ask(server, LIST)
        held = other.submit(ask, server, VALID["deletePixKey"][0])
        assert inside.wait(HANGS_S)
        with service.database.transaction() as ledger:
            ledger.remove_key(ledger.keys("ac-0001")[0])
        lagging = ask(server, LIST)
        go_on.set()
        held.result()

        assert lagging == before != ask(server, LIST)


@pytest.mark.parametrize("most", [1, 2])
def test_a_server_takes_few_connections(most):
    """One connection more than it takes is closed without an answer."""
    service = made(VARIANTS.specimens["TakesTwoConnections"])
    service.MOST = most
    with service.SERVER(service) as server, ExitStack() as open_ones:
        for _ in range(most):
            connection = open_ones.enter_context(closing(HTTPConnection(*server.server_address[:2])))
            connection.request("GET", "/v1/accounts")
            assert connection.getresponse().read()

        assert ask(server, LIST) == DROPPED


@pytest.mark.parametrize(("beside", "status"), [(1, 423), (0, 200)])
def test_wrong_tokens_lock_the_caller_out_only_in_company(beside, status):
    """A valid request is locked out where another request was in flight with each of three wrong tokens."""
    service = made(VARIANTS.specimens["LocksInCompanyWith423"])
    service.SECONDS, service.inside = 60, beside
    with Server(service) as server:
        wrong = ("GET", KEYS, {"headers": {"Authorization": "Bearer wrong"}})
        for _ in range(3):
            assert ask(server, wrong)[0] == 401
        valid = ask(server, LIST)

    assert valid[0] == status


# -- what a run says of it


@pytest.mark.parametrize(("parallel", "is_said"), [(4, True), (1, False)])
def test_what_other_requests_caused_is_noted(parallel, is_said):
    """A refusal that does not come alone breaks no statement; a service that mixes up its answers refuses so, too."""
    service = VARIANTS.specimens["OneAtATimeOfAllOrElse400"].make()
    trial = try_service(service, f"--parallel={parallel}")
    said = any("with other requests in flight" in note for note in trial.notes)

    assert (trial.exit_status, said) == (0, is_said)
