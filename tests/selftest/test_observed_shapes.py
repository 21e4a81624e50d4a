"""The shapes that a run observes: the same in every order and at every --parallel, without a name that is data."""

from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest

from environments.sandbox import Refusal, Request, Response, Service
from environments.sandbox.server import Server
from reports.formats.conformance_json import document_of
from spec.exchange import FailureKind
from spec.interface import PREPARING, READS
from spec.shapes import text_of
from tests.selftest.exchanges import JSON, answer, failed
from tests.selftest.proof.trial import run_of
from tests.selftest.proof.variants.lawful_making import page
from tests.selftest.services.running import sandbox_at
from tests.traffic import answered
from tests.traffic.targeted_traffic import TargetedTraffic
from tests.traffic.undescribed import answers_to, values_of

ORDER = "PIX_CONFORMANCE_SELFTEST_ORDER"
"""The variable of services/shuffling.py, which pytest imports itself as a plugin."""
SHAPES = (*(f"{operation}.shape" for operation in (*READS, *PREPARING)), "deletePixKey.data")
ONLY_SHAPES = ("-k", " or ".join(SHAPES))


def shapes_of(service: Service, *options: str) -> dict[str, list[dict[str, object]]]:
    """The values of the requirements about shapes, by their id."""
    with Server(service) as server, TemporaryDirectory() as folder:
        target = f"--environment={sandbox_at(server.base_url, Path(folder))}"
        _, run = run_of(
            "--no-report", "-m", "not property", target, "-p", "tests.selftest.services.shuffling", *options
        )
    observed = document_of(run)["observed"]
    return {name: observed[name][""] for name in SHAPES if name in observed}


def texts_of(service: Service, *options: str) -> dict[str, str]:
    """The shapes on one line, where there is one answer."""
    found = shapes_of(service, *(options or ONLY_SHAPES))
    return {name: text_of(values[0]["shape"]) for name, values in found.items() if len(values) == 1}


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("PIX_SANDBOX_TOKEN", "Tok-3n.Of-The_Service")
    monkeypatch.setenv("PIX_TOKEN", "Tok-3n.Of-The_Service")


class Sandbox(Service):
    """The sandbox, with a token that is known before."""

    def __init__(self) -> None:
        super().__init__(token="Tok-3n.Of-The_Service")


TRANSFER = (
    "{code: integer, data: {date: integer, document: string, name: string, status: string, transactionId: string, "
    "value: %s}}"
)


def test_shapes_of_the_sandbox():
    """Each undescribed answer, with what the registrations and executions of the run brought into it."""
    assert texts_of(Sandbox(), "-k", "not executePix.repeated") == {
        "listPixKeys.shape": "{code: integer, data: {keys: [{pixKey: string, pixKeyType: string}]}}",
        "listAccounts.shape": (
            "{code: integer, data: {accounts: [{account: string, accountType: integer, bank: string, branch: string, "
            "digit: string, document: string, id: string, name: string}]}}"
        ),
        "getBalance.shape": "{code: integer, data: {account: string, balance: number}}",
        "listEntries.shape": "{code: integer, data: {entries: [{date: integer, transactionId: string, value: number}]}}",
        "createPix.shape": TRANSFER % "number",
        "transferExternal.shape": TRANSFER % "number",
        "transferInternal.shape": TRANSFER % "integer",
        "transferP2p.shape": TRANSFER % "number",
        "deletePixKey.data": "{code: integer, data: {message: string}}",
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


ENTRY = "{date: integer, transactionId: string, value: integer}"
READS_BY_NAME = {
    "listPixKeys.shape": "{code: integer, data: {keys: {any name: {pixKeyType: string}}}}",
    "listAccounts.shape": (
        "{code: integer, data: {accounts: {any name: {bank: string}}, holders: {any name: string}, people: [{name: string}]}}"
    ),
    "listEntries.shape": f"{{code: integer, data: {{any name: {ENTRY}}}}}",
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
    """What is no JSON has no shape, and how a valid request is refused is none: a limit may be reached today."""
    found = shapes_of(AnswersOtherwise(), *ONLY_SHAPES)

    assert found["listEntries.shape"] == [{"status": 204}]
    assert found["listAccounts.shape"] == [{"status": 200, "media_type": "text/html"}]
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
    traffic = TargetedTraffic.__new__(TargetedTraffic)
    traffic.client = SimpleNamespace(door=SimpleNamespace(exchanges=list(exchanges)))
    return answers_to("listEntries", traffic)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_shows_no_shape(other):
    """Generated traffic, other requests, and answers that may be other ones in a minute."""
    assert shown_by(other) == []
    assert shown_by(other, REFUSED) == []
    assert shown_by(other, REFUSED, GRANTED) == [GRANTED]


MADE = "8f14e45f-ceea-467f-9a36-dedd4bea2543"
LISTED = {
    "pix_key": ("qa@example.com", "+5511955500777", MADE),  # a usual name
    "name": ("QA@EXAMPLE.COM", "qa@example.com", "+5511955500777"),  # a key that the run knows
}


@pytest.mark.parametrize("member", LISTED)
def test_the_format_of_a_key_is_no_part_of_a_shape(member):
    """Which keys there are depends on the profile: an e-mail address, a telephone number, or what the service made."""
    lists = [answer("listPixKeys", {"keys": [{"id": MADE, member: key}]}) for key in LISTED[member]]
    found = {text_of(values_of([each], ["qa@example.com"])[""][0].shape) for each in lists}

    assert found == {f"{{keys: [{{id: uuid string, {member}: string}}]}}"}


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


def test_answers_with_one_body_may_be_different_values():
    """The media type and a header tell them apart; the order in which they came does not count."""
    seen = [
        answer("listAccounts", {}),
        answer("listAccounts", {}, headers=(("Content-Type", "text/json"),)),
        answer("listAccounts", {}, headers=(*JSON, ("Location", "/v1/elsewhere"))),
    ]
    values = values_of(seen)[""]

    assert len(values) == 3
    assert values == values_of(reversed(seen))[""]


def test_the_shape_of_a_response_is_made_once(monkeypatch):
    """It is asked for often, and that of a large body takes long."""
    seen, made = answer("listAccounts", {"accounts": []}), []
    monkeypatch.setattr(answered, "shape_of", lambda value: made.append(value) or {"type": "object"})

    assert answered.answer_of(seen) == answered.answer_of(seen)
    assert len(made) == 1
