"""The answers that a run observes: the same in every order and at every --parallel, without a name that is data."""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from environments.sandbox import Refusal, Request, Response, Service
from environments.sandbox.server import Server
from spec import observed
from spec.exchange import FailureKind
from spec.facts import Facts, merged, said, text_of
from spec.interface import PREPARING, READS
from spec.rules import Reproduction
from tests.selftest.exchanges import JSON, answer, failed
from tests.selftest.proof.trial import run_of
from tests.selftest.proof.variants.lawful_making import page
from tests.selftest.services.running import sandbox_at
from tests.traffic.observations import answers_to, values_of
from tests.traffic.scenario import Traffic

ORDER = "PIX_CONFORMANCE_SELFTEST_ORDER"
"""The variable of services/shuffling.py, which pytest imports itself as a plugin."""
SHAPES = (*(f"{operation}.shape" for operation in (*READS, *PREPARING)), "deletePixKey.data")
ONLY_SHAPES = ("-k", " or ".join(SHAPES))


def shapes_of(service: Service, *options: str) -> dict[str, Facts]:
    """The facts of the requirements about shapes, by their id."""
    with Server(service) as server, TemporaryDirectory() as folder:
        target = f"--environment={sandbox_at(server.base_url, Path(folder))}"
        _, run = run_of(
            "--no-report", "-m", "not property", target, "-p", "tests.selftest.services.shuffling", *options
        )
    return {name: run.behaviour[name][""] for name in SHAPES if name in run.behaviour}


def texts_of(service: Service, *options: str) -> dict[str, str]:
    """The facts on one line."""
    found = shapes_of(service, *(options or ONLY_SHAPES))
    return {name: text_of(facts).removeprefix("200 application/json: ") for name, facts in found.items()}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", "Tok-3n.Of-The_Service")
    monkeypatch.setenv("PIX_TOKEN", "Tok-3n.Of-The_Service")


class Sandbox(Service):
    """The sandbox, with a token that is known before."""

    def __init__(self) -> None:
        super().__init__(token="Tok-3n.Of-The_Service")


TRANSFER = (
    "/code number, /data/date number, /data/document string, /data/name string, /data/status string, "
    "/data/transactionId string, /data/value number"
)


def test_shapes_of_the_sandbox():
    """Each undescribed answer, with what the registrations and executions of the run brought into it."""
    found = texts_of(Sandbox(), "-k", "not executePix.repeated")

    assert {name: found[name] for name in READS_AND_ORDERS} == READS_AND_ORDERS


READS_AND_ORDERS = {
    "listPixKeys.shape": "/code number, /data/keys/*/pixKey string, /data/keys/*/pixKeyType string",
    "listAccounts.shape": (
        "/code number, /data/accounts/*/account string, /data/accounts/*/accountType number, "
        "/data/accounts/*/bank string, /data/accounts/*/branch string, /data/accounts/*/digit string, "
        "/data/accounts/*/document string, /data/accounts/*/id string, /data/accounts/*/name string"
    ),
    "getBalance.shape": "/code number, /data/account string, /data/balance number",
    "listEntries.shape": (
        "/code number, /data/entries/*/date number, /data/entries/*/transactionId string, /data/entries/*/value number"
    ),
    **dict.fromkeys(map("{}.shape".format, PREPARING), TRANSFER),
    "deletePixKey.data": "/code number, /data/message string",
}


class KeyedBy(Sandbox):
    """The sandbox, which lists keys by themselves, entries by day, accounts by their number and by their holder."""

    def list_pix_keys(self, request, account_id):
        listed = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": {key["pixKey"]: {"pixKeyType": key["pixKeyType"]} for key in listed}}

    def list_accounts(self, request):
        accounts = super().list_accounts(request)["accounts"]
        return {
            "accounts": {each["id"]: {"bank": each["bank"]} for each in accounts},
            "holders": {each["name"].split()[0]: each["digit"] for each in accounts},
            "people": [{"name": each["name"].split()[0]} for each in accounts],
        }

    def list_entries(self, request, account_id):
        entries = super().list_entries(request, account_id)["entries"]
        return {f"2026-01-{day:02}": each for day, each in enumerate(entries, 1)}


def test_names_that_are_data():
    """A key, a day, an account and a person are any name."""
    found = texts_of(KeyedBy())

    assert {name: found[name] for name in READS_BY_NAME} == READS_BY_NAME


READS_BY_NAME = {
    "listPixKeys.shape": "/code number, /data/keys/*/pixKeyType string",
    "listAccounts.shape": (
        "/code number, /data/accounts/*/bank string, /data/holders/* string, /data/people/*/name string"
    ),
    "listEntries.shape": "/code number, /data/*/date number, /data/*/transactionId string, /data/*/value number",
}


class AnswersOtherwise(Sandbox):
    """The sandbox, which has no entries, shows accounts on a page, and prepares nothing."""

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        if operation == "listAccounts" and response.status == 200:
            return page(200, "Contas")
        return Response(204, b"", ()) if operation == "listEntries" and response.status == 200 else response

    def prepare(self, operation, order):
        raise Refusal(422, "No transfer is possible today.")


def test_other_answers():
    """What is no JSON has no facts, and how a valid request is refused is none: a limit may be reached today."""
    found = shapes_of(AnswersOtherwise(), *ONLY_SHAPES)

    assert found["listEntries.shape"] == said("204")
    assert found["listAccounts.shape"] == said("200 text/html")
    assert not found.keys() & {f"{name}.shape" for name in PREPARING}


GRANTED = answer("listEntries", {"entries": []})
REFUSED = answer("listEntries", {}, status=400)
OTHERS = {
    "generated": answer("listEntries", {}, part="listEntries.fuzzing"),
    "of another operation": answer("listAccounts", {}),
    "without a token": answer("listEntries", {}, credential="no header", valid=False),
    "over a limit": answer("listEntries", {}, status=429),
    "a gateway's": answer("listEntries", {}, status=503),
    "a token that has expired": answer("listEntries", {}, status=401),
    "no answer": failed(FailureKind.TIMEOUT, "listEntries"),
}


def shown_by(*exchanges):
    """What shows how entries are listed."""
    traffic = Traffic.__new__(Traffic)
    traffic.client = SimpleNamespace(door=SimpleNamespace(exchanges=list(exchanges)))
    traffic.reproduction = Reproduction()
    return answers_to("listEntries", traffic)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_shows_no_shape(other):
    """Generated traffic, other requests, and answers that may be other ones in a minute."""
    assert shown_by(other) == []
    assert shown_by(other, REFUSED) == []
    assert shown_by(other, REFUSED, GRANTED) == [GRANTED]


@pytest.mark.parametrize(
    ("order", "parallel"), [("listPixKeys.shape", 1), ("listPixKeys.shape", 16), ("listEntries.shape", 4)]
)
def test_the_same_service_is_observed_alike(order, parallel, monkeypatch, whole):
    """In any order of the tests, one request at a time or sixteen."""
    monkeypatch.setenv(ORDER, order)

    assert shapes_of(Sandbox(), f"--parallel={parallel}") == whole


@pytest.fixture(scope="module")
def whole():
    """What is observed in a run like any other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIX_SANDBOX_TOKEN", "Tok-3n.Of-The_Service")
        return shapes_of(Sandbox())


def test_answers_with_one_body_may_be_different():
    """The media type and a header tell them apart; the order in which they came does not count."""
    seen = [
        answer("listAccounts", {}),
        answer("listAccounts", {}, headers=(("Content-Type", "text/json"),)),
        answer("listAccounts", {}, headers=(*JSON, ("Location", "/v1/elsewhere"))),
    ]
    found, same = (merged(values_of(each)[""]) for each in (seen, [*seen[::-1], seen[0]]))

    assert found == same
    assert sorted(what for place, what in found if not place) == [
        "200 application/json",
        "200 application/json [Location: present]",
        "200 text/json",
    ]


def test_the_facts_of_a_response_are_made_once(monkeypatch):
    """They are asked for often, and those of a large body take long."""
    seen, made = answer("listAccounts", {"accounts": []}), []
    monkeypatch.setattr(observed, "facts_of", lambda value: made.append(value) or frozenset())

    assert observed.answer_of(seen) == observed.answer_of(seen)
    assert len(made) == 1
