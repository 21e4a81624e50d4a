"""What generated traffic never sends, told by a service that keeps every request."""

import json
import re
from collections import Counter
from urllib.parse import unquote

import pytest
import requests

from environments.door.budget import Budget
from environments.door.execution_guard import ExecutionGuard
from environments.door.outgoing import Intent, NotSentError, Sending
from environments.profiles.loading import load
from environments.profiles.model import Limits
from environments.sandbox import Request, Response, Service, Transfer
from spec.exchange import Exchange
from spec.exchange import Request as SentRequest
from spec.exchange import Response as Answer
from spec.interface import KEY_TYPES, MARK, operations
from spec.json_text import read_json
from tests.selftest.generated_runs import PLUGINS, PROPERTY, ROOT, STATEFUL, Logs, generate, run_apart
from tests.selftest.proof.mutants.robustness_faults import JSON
from tests.selftest.proof.trial import try_service
from tests.selftest.services.one_run import journal_in
from tests.traffic.invalid import UNREADABLE

PROFILE = load("sandbox", folder=ROOT / "environments")
METHODS = {operation.method for operation in operations().values()}


@pytest.fixture(scope="module")
def sent():
    """Every request of a run of generated traffic with five times the default, the state machine left out."""
    service = Logs()
    generate(service, "--examples=50", PROPERTY)
    return service.requests


def under(requests, path: str, method: str):
    """The requests below a path."""
    return [seen for seen in requests if seen.path.startswith(path) and seen.method == method]


def test_no_real_code_is_sent(sent):
    """Every code that is sent to the execution carries the mark, in each part a lenient reader splits it into."""
    codes = [unquote(seen.path.removeprefix("/v1/execute/pix/")) for seen in under(sent, "/v1/execute/", "GET")]
    assert codes
    parts = [part for code in codes for part in re.split(r"[/\\]", unquote(code))]

    assert [part for part in parts if not part.startswith(MARK)] == []


def test_no_real_code_stands_anywhere(sent):
    """No code of the profile is part of any request."""
    whole = [f"{seen.path}?{seen.query} {seen.body!r}" for seen in sent]

    assert [text for text in whole for code in PROFILE.transactions.codes if code in text] == []


@pytest.mark.parametrize("path", ["/v1/transfer/", "/v1/pix"], ids=["transfers", "pix"])
def test_no_transfer_names_anybody(path, sent):
    """A body that could move money names no account and no key of the profile."""
    named = [*PROFILE.accounts, *(key.key for key in PROFILE.pix_keys if key.key)]
    bodies = [seen.body.decode("utf-8", "replace") for seen in under(sent, path, "POST") if "/keys/" not in seen.path]
    assert bodies

    assert [body for body in bodies for name in named if name in body] == []


def test_identifiers_of_transfers_carry_the_mark(sent):
    """A text that stands for a party of a transfer is empty or marked, a number is negative."""
    bodies = [_object(seen.body) for seen in under(sent, "/v1/", "POST") if "/keys/" not in seen.path]
    parties = [body.get(name) for body in bodies for name in ("from", "to", "account", "pixKey") if name in body]
    texts = [party for party in parties if isinstance(party, str)]
    numbers = [party for party in parties if isinstance(party, int | float) and not isinstance(party, bool)]

    assert [text for text in texts if text and MARK not in text and text not in KEY_TYPES] == []
    assert [number for number in numbers if number > 0] == []


def test_only_the_keys_of_the_profile_are_registered(sent):
    """A key is one of the profile, marked, empty or no text; RANDOM is never asked for with a key of ours."""
    own = {key.key for key in PROFILE.pix_keys}
    bodies = [_object(seen.body) for seen in under(sent, "/v1/pix/keys/", "POST")]
    keys = [body["pixKey"] for body in bodies if isinstance(body.get("pixKey"), str)]

    assert [key for key in keys if key not in own and MARK not in key and key not in KEY_TYPES] == []
    assert [body for body in bodies if body.get("pixKeyType") == "RANDOM"] == []


def test_nothing_is_deleted_from_an_account_but_named_keys(sent):
    """A deletion at an account of the profile names a key of the profile or a marked one, or is no JSON."""
    own = {key.key for key in PROFILE.pix_keys if key.key}
    at_home = [
        seen
        for seen in under(sent, "/v1/pix/keys/", "DELETE")
        if unquote(seen.path.rsplit("/", 1)[-1]) in PROFILE.accounts
    ]
    unreadable = set(UNREADABLE.values())
    keys = [_object(seen.body).get("pixKey") for seen in at_home if seen.body not in unreadable]

    assert keys
    assert [text for text in unreadable if read_json(text).readable] == []
    assert [key for key in keys if not isinstance(key, str) or not (key in own or MARK in key)] == []


def test_no_other_method_and_no_override_header_is_sent(sent):
    """Only documented methods are sent, and no header that changes one on the way."""
    assert {seen.method for seen in sent} <= METHODS
    assert [name for seen in sent for name in seen.headers if "override" in name or name == "x-method"] == []


def test_what_is_sent_without_the_token_is_harmless_with_it(sent):
    """An operation that writes may be open: what comes without the token reads, or names a key that nobody has."""
    tokens = Counter(seen.header("Authorization") for seen in sent)
    valid, _ = tokens.most_common(1)[0]
    writes = [seen for seen in sent if seen.header("Authorization") != valid and seen.method != "GET"]

    assert writes
    assert [seen.body for seen in writes if MARK.encode() not in seen.body] == []


class RegistersWhatItCanRead(Service):
    """The sandbox, which registers any text as a key, under any kind, in any account. `keys` are those it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: set[str] = set()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        sent = read_json(request.body).value
        key = sent.get("pixKey") if isinstance(sent, dict) else None
        if not isinstance(key, str) or MARK not in key or response.status == 401:
            return response
        if operation == "registerPixKey" and response.status != 200:
            self.keys.add(key)
            result = {"Success": "true", "Message": "", "Key": key, "DocumentNumber": "1"}
        elif operation == "deletePixKey" and key in self.keys:
            self.keys.remove(key)
            result = {}
        else:
            return response
        return Response(200, json.dumps({"code": 0, "data": result}).encode(), JSON)


@pytest.mark.parametrize("options", [(), ("-m", ""), ("-k", "registerPixKey")], ids=" ".join)
def test_a_mistake_that_was_registered_is_deleted(options):
    """Where the profile says how, no key that the suite invented stays behind."""
    service = RegistersWhatItCanRead()
    try_service(service, *PLUGINS, *options)

    assert service.keys == set()


class MovesMoneyTwice(Service):
    """The sandbox, which executes a code as often as it is asked to."""

    def check_prepared(self, transfer: Transfer) -> None:
        return


def test_money_that_moves_twice_is_said_first(tmp_path):
    """A second execution that moves money again is the first note of the run, and an observation."""
    report = run_apart(MovesMoneyTwice(), tmp_path, "-m", "property", "-k", "executePix.repeated or listAccounts")

    assert report["notes"][0].startswith("executePix.repeated: MONEY MOVED TWICE")
    assert "MONEY MOVED TWICE" in report["observations"][0]["value"]
    assert "MONEY MOVED TWICE" in str(report["observed"]["executePix.repeated"])


def test_second_execution_that_is_refused_is_observed(tmp_path):
    """A second execution that is refused is an observation like any other."""
    report = run_apart(Service(), tmp_path, STATEFUL)

    assert "does not change again" in str(report["observed"]["executePix.repeated"])


def test_a_code_is_executed_twice_at_most_and_only_one_that_the_run_prepared():
    """In a whole run the codes of the profile are executed once; of those that the run prepared, two once, two at the
    same time, and one twice."""
    service = Logs()
    try_service(service, *PLUGINS, "-m", "")
    good = [seen for seen in service.requests if seen.header("Authorization") == f"Bearer {service.token}"]
    times = Counter(unquote(seen.path.rsplit("/", 1)[-1]) for seen in under(good, "/v1/execute/pix/", "GET"))
    real = {code: count for code, count in times.items() if MARK not in code}

    assert {code: real.pop(code) for code in PROFILE.transactions.codes} == dict.fromkeys(PROFILE.transactions.codes, 1)
    assert sorted(real.values()) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize(("has_journal", "permitted"), [(False, True), (True, False)], ids=["sandbox", "elsewhere"])
def test_second_execution_is_for_sandboxes_only(has_journal, permitted, tmp_path):
    """A code is executed a second time on a sandbox only, and not a third time."""
    journal = journal_in(tmp_path) if has_journal else None
    guard = ExecutionGuard(Budget(Limits(requests=9, executions=9)), journal, lambda: "token")
    permission = guard.permit_again("TX1")
    sending = Sending(requests.Request("GET", DONE.request.url).prepare(), Intent("executePix"), "TX1", True)
    with guard.watching(sending, DONE.number):
        sending.exchange = DONE

    assert permission is permitted
    with pytest.raises(NotSentError):
        guard.refuse("TX1", executes=True)


DONE = Exchange(
    1,
    "executePix",
    SentRequest("GET", "http://service/v1/execute/pix/TX1", ()),
    Answer(200, (("Content-Type", "application/json"),), b'{"code": 0, "data": %s}' % json.dumps(
        {field.name: "1" for field in operations()["executePix"].result}
    ).encode()),
)  # fmt: skip


def _object(body: bytes) -> dict:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
