"""How many transfers a run prepares, and that its invalid and generated requests name nobody.

A request to one of four operations (PREPARING_OPERATIONS), such as createPix, prepares a transfer. An execution of its
code moves the money. `limits.transfers` of the profile is the number of transfers that a run may prepare. The service of
most tests accepts every request, and notes the requests.
"""

import json
import re
import threading
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product
from urllib.parse import unquote

import pytest

from environments.door.prepared import may_have_prepared
from environments.sandbox import Request, Response
from reports.result.run_verdict import result_of_run
from spec.exchange import Response as Answer
from spec.interface import PREPARING_OPERATIONS, SYNTHETIC_PREFIX, operations
from spec.json_text import leaves_of
from spec.rules import ROBUSTNESS
from tests.selftest.exchanges import EXECUTION_RESULT, execution
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    ALL_TESTS,
    CODE,
    GENERATED_TESTS,
    HOW_TO_PREPARE,
    UNUSED_ADDRESS,
    FakeBank,
    ManualRun,
    profile_of_bank,
    profile_of_sandbox,
    report_notes,
    run_suite_in_memory,
)
from tests.selftest.services.waiting import HANG_LIMIT_S, ThreadWithResult
from tests.traffic.invalid import invalid_requests, observed_invalid_requests

OWN_ACCOUNTS = ("ac-0001", "ac-0002")
"""The accounts of the profile."""
LIMIT = 20
"""limits.transfers of the runs below."""
AMOUNT_OF_PROFILE = {"createPix": 1.25, "transferExternal": 2.5, "transferInternal": 3, "transferP2p": 0.01}
"""The amount in the profile's body for each operation."""


class AcceptsEverything(FakeBank):
    """The sandbox, which never refuses the valid token: each request for a transfer or a registration succeeds.

    `prepared` has the operation and the body of each request for a transfer. `named` has the path and the body of each
    registration or deletion of a key.
    """

    def __init__(self) -> None:
        """Nothing was prepared or named yet."""
        super().__init__()
        self.prepared: list[tuple[str, object]] = []
        self.named: list[tuple[str, object]] = []

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """The answer of the sandbox, or a success in the place of its refusal. The request is noted."""
        if response.status == 401:
            return response
        if operation in PREPARING_OPERATIONS:
            self.prepared.append((operation, _body_value(request.body)))
            result = b'{"code": 0, "data": {"transactionId": "SBX-0123456789ABCDEF"}}'
            is_refused = response.status >= 300
            return Response(200, result, response.headers) if is_refused else response
        if operation in ("registerPixKey", "deletePixKey"):
            self.named.append((request.path, _body_value(request.body)))
        if operation == "registerPixKey":
            result = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": 1}}'
            return Response(200, result, response.headers)
        return response

    @property
    def invalid(self):
        """The requests for a transfer whose body names no account of the profile: pairs of operation and body."""
        invalid_transfers = []
        for operation, body in self.prepared:
            names_own_account = any(account in str(body) for account in OWN_ACCOUNTS)
            if not names_own_account:
                invalid_transfers.append((operation, body))
        return invalid_transfers


def _body_value(body):
    """The value of a body as JSON, such as a dictionary. If it is no JSON, its text."""
    try:
        return json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "replace")


def leaves(value):
    """The texts, numbers and other single values in a body, each with its path: (("to", "number"), "123").

    Empty for a body that is no JSON, which `_body_value` gives as a text.
    """
    return () if isinstance(value, str) else leaves_of(value)


def is_number(item):
    """True for a number in JSON. (In Python a boolean is an int, too, so booleans are excluded.)"""
    return isinstance(item, int | float) and not isinstance(item, bool)


def run_at_bank(service, folder, allow, limits=None):
    """Do a whole run, with generated requests, against a service that the profile does not call a sandbox.

    Returns the record of the run. `allow` are the permissions of the profile, and `limits` changes of its limits.
    """
    limits = {"requests": 5000, "transfers": LIMIT} | (limits or {})
    profile = profile_of_bank(folder, allow=allow, limits=limits, transactions=None)
    return run_suite_in_memory(service, profile, tests=ALL_TESTS)


# -- how many transfers ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service_and_run(tmp_path_factory):
    """The service and the record of a run that would prepare more transfers than `limits.transfers` permits."""
    service = AcceptsEverything()
    return service, run_at_bank(service, tmp_path_factory.mktemp("run"), ["read", "create-pix", "transfer", "fuzz"])


def test_no_more_transfers_succeed_than_the_limit(service_and_run):
    """A run prepares only as many transfers as limits.transfers says, 20 here, and each operation the same number.

    Valid, invalid and generated bodies count against the limit. The service prepares a transfer for each of them.
    """
    service, _ = service_and_run
    counts = Counter(name for name, _ in service.prepared)

    assert len(service.prepared) == LIMIT
    assert counts == dict.fromkeys(PREPARING_OPERATIONS, LIMIT // len(PREPARING_OPERATIONS))


def test_each_operation_sends_one_valid_body_and_the_rest_of_its_share_invalid_ones(service_and_run):
    """Each of the four operations prepares five transfers of a limit of 20: one with a valid body, four with invalid ones."""
    service, _ = service_and_run
    invalid_transfers_by_operation = Counter(name for name, _ in service.invalid)

    assert invalid_transfers_by_operation == dict.fromkeys(PREPARING_OPERATIONS, 4)


@pytest.mark.parametrize("limit", [2, 4])
def test_transfers_to_be_executed_leave_a_place_for_one_valid_body_of_each_operation(limit, service, tmp_path):
    """Transfers that are prepared to be executed do not use limits.transfers up: each operation still sends a valid body.

    One transfer of the limit is kept for each operation that has not sent a valid body so far. So createPix prepares one
    transfer to be executed, and its five others are not sent. The other three operations then send their valid body. The
    service of this test refuses it, and a refused body takes no transfer of the limit: so a limit of 2 is enough.
    """
    manual_run = ManualRun(service, tmp_path, transfers=limit)
    # The operations that may prepare transfers, and those of them for which the profile has a valid body: all four.
    manual_run.door.budget.divide_transfers(operations=PREPARING_OPERATIONS, valid=PREPARING_OPERATIONS)
    for _ in range(6):
        manual_run.client.send("createPix", json=HOW_TO_PREPARE["json"], valid=True)
    for operation in ("transferExternal", "transferInternal", "transferP2p"):
        manual_run.client.send(operation, json={}, valid=True)
    paths = [request.path for request in service.received]

    assert paths == ["/v1/pix", "/v1/transfer/external", "/v1/transfer/internal", "/v1/transfer/p2p"]


def test_kinds_of_invalid_requests_that_the_limit_kept_back_are_named(service_and_run):
    """If limits.transfers keeps invalid requests back, each robustness requirement names the kinds that were not sent.

    They are named by the part of the request and how it is unusual: "Content-Type: missing".
    """
    _, run = service_and_run
    messages = {row.id: str(result.message) for row, result in result_of_run(run).results}
    message = messages["transferP2p.serverError"]

    assert message.startswith(f"not sent, as limits.transfers ({LIMIT}) is spent: body: ")
    assert "; Content-Type: missing; Authorization: " in message
    assert message.endswith("; generated requests")
    assert {messages[f"transferP2p.{ending}"] for ending in ROBUSTNESS} == {message}


def test_on_a_sandbox_every_kind_of_invalid_request_is_sent(tmp_path):
    """On a sandbox without limits.transfers no kind of invalid request is kept back, because money is worth nothing there.

    Then a run may prepare as many transfers as it may send requests, which is 2000 here. Outside a sandbox the default
    is 20. This service prepares a transfer for each invalid or generated request, so each operation prepares more than
    40. No robustness requirement has a message about kinds that were not sent.
    """
    service = AcceptsEverything()
    limits = {"requests": 2000, "timeout": 60}  # limits.transfers is not set
    allow = ["read", "create-pix", "transfer", "fuzz"]  # no execution, so the profile needs no transaction codes
    profile = profile_of_sandbox(tmp_path, allow=allow, transactions=None, limits=limits)
    run = run_suite_in_memory(service, profile, tests=ALL_TESTS)
    messages = {row.id: str(result.message) for row, result in result_of_run(run).results}
    robustness_ids = [f"{operation}.{ending}" for operation, ending in product(PREPARING_OPERATIONS, ROBUSTNESS)]
    transfers_by_operation = Counter(name for name, _ in service.prepared)

    assert [note for note in report_notes(run) if "limits." in note] == []
    assert {messages[id] for id in robustness_ids} == {""}
    assert set(transfers_by_operation) == set(PREPARING_OPERATIONS)
    assert min(transfers_by_operation.values()) > 40  # the default of 20, for all operations together, would end before


@pytest.mark.parametrize(
    ("body", "is_sent_on_a_sandbox"),
    [
        (b"[]", True),
        (b'"text"', True),
        (b"{}", True),
        (b'{"value": null}', True),
        (b'{"value": {}}', True),
        (b'{"value": 1, "to": "pixconf-to"}', False),
    ],
)
@pytest.mark.parametrize("is_sandbox", [True, False], ids=["on a sandbox", "off a sandbox"])
def test_on_a_sandbox_a_body_that_is_no_transfer_needs_no_place(
    body, is_sent_on_a_sandbox, is_sandbox, service, tmp_path
):
    """On a sandbox a body that is no transfer is sent even with limits.transfers: 0, and elsewhere no body is sent then.

    A body is no transfer if it is no object, or if its member `value` (the amount) is no number.
    """
    manual_run = ManualRun(service, tmp_path, is_sandbox=is_sandbox, transfers=0)
    manual_run.client.send("transferP2p", body=body)
    is_sent = len(service.received) == 1

    assert is_sent is (is_sandbox and is_sent_on_a_sandbox)


def test_a_spent_transfer_limit_leaves_no_preparing_operation_unexercised(service_and_run):
    """Each operation that prepares transfers is called at least once before limits.transfers is spent.

    So two of its requirements are tested: that it exists, and that it answers without a server error. A requirement is
    "not-exercised" if no request tested it. A note says that the limit is spent.
    """
    _, run = service_and_run
    not_exercised = {row.id for row, result in result_of_run(run).results if result.verdict == "not-exercised"}
    ids_of_preparing_operations = {
        f"{operation}.{end}" for operation, end in product(PREPARING_OPERATIONS, ("exists", "serverError"))
    }

    assert [note for note in report_notes(run) if note.startswith(f"limits.transfers ({LIMIT}) is spent")] != []
    assert ids_of_preparing_operations & not_exercised == set()


def test_prepared_transfers_that_were_not_executed_are_listed(service_and_run):
    """The report says how many prepared transfers were not executed, because somebody could still execute them.

    It counts them by the reason. A transfer whose body names a synthetic account, which the suite made up, is counted
    apart. Four of 20 have a valid body here.
    """
    _, run = service_and_run
    numbers_by_reason = {}
    for line in map(str, run.transfers_not_executed):
        # such as "5 transfers (exchanges 3, 4, 5 and 2 more), each not executed: its account is synthetic"
        transfers, _, reason = line.partition("executed: ")
        numbers_by_reason[reason] = int(transfers.split()[0])

    assert numbers_by_reason == {"its code was not sent": 4, "its account is synthetic": 16}


def test_a_clear_refusal_prepared_no_transfer():
    """A request for a transfer that is refused with a 4xx prepared nothing, so it does not count against the limit.

    After a success, a redirect, a 5xx, or a 408 or 499 of a gateway, a transfer may be prepared.
    """
    statuses_of_perhaps_prepared = set()
    for status in range(200, 600):
        exchange = replace(execution(), response=Answer(status, (), b""))
        if may_have_prepared(exchange):
            statuses_of_perhaps_prepared.add(status)

    assert {400, 404, 409, 422, 429} & statuses_of_perhaps_prepared == set()
    assert {200, 201, 302, 408, 499, 500, 503} <= statuses_of_perhaps_prepared


@pytest.mark.parametrize(
    "login_page",
    [Answer(302, (), b""), Answer(200, (), b"<!doctype html>")],
    ids=["a redirect to it", "the page itself"],
)
def test_a_login_page_for_a_request_without_a_token_prepared_no_transfer(login_page):
    """A request without a token that gets a login page prepared no transfer.

    A gateway answers requests without a token with such a page, and does not pass them on to the service.
    """
    assert not may_have_prepared(replace(execution(credential="no header"), response=login_page))


def test_a_request_beyond_the_limit_waits_until_a_request_on_the_wire_is_refused(service, tmp_path, monkeypatch):
    """If limits.transfers is reached, the next request waits while an earlier request may still prepare a transfer.

    It is sent if the earlier request is refused. The limit is 1 here, and two requests are sent at once. Each is answered
    400, but the first one only when the second one waits. So the two answers show that the second request was sent after
    the first one was refused.
    """
    manual_run = ManualRun(service, tmp_path, transfers=1, parallel=2)
    second_waits = threading.Event()
    wait_for = manual_run.door.run_end.wait_for

    def note_and_wait_for(is_so):
        """Wait as usual until `is_so()` is true. Note it if a request has to wait at all."""
        if not is_so():
            second_waits.set()
        return wait_for(is_so)

    def refuse_once_second_waits(_sending):
        """Answer with 400, in the place of the service."""
        assert second_waits.wait(HANG_LIMIT_S)
        return Answer(400, (), b"")

    monkeypatch.setattr(manual_run.door.run_end, "wait_for", note_and_wait_for)
    monkeypatch.setattr(manual_run.door.wire, "attempt", refuse_once_second_waits)
    threads = [ThreadWithResult(partial(manual_run.client.send, "createPix", json={})) for _ in range(2)]

    assert [thread.result().response.status for thread in threads] == [400, 400]


class RefusesWhatItPrepares(AcceptsEverything):
    """Prepares each transfer, and refuses it nevertheless: with this status and data, in an envelope with code 1."""

    def __init__(self, status, data) -> None:
        """`status` and `data` are those of the refusals."""
        super().__init__()
        self.status_of_refusal = status
        self.body_of_refusal = json.dumps({"code": 1, "data": data}).encode()

    def finish(self, request: Request, operation: str | None, response: Response) -> Response:
        """A refusal if a transfer was prepared; else the answer of `AcceptsEverything`."""
        answer = super().finish(request, operation, response)
        was_prepared = operation in PREPARING_OPERATIONS and answer.status < 300
        return Response(self.status_of_refusal, self.body_of_refusal, answer.headers) if was_prepared else answer


@pytest.mark.parametrize(
    ("status", "data", "may_be_prepared"),
    [
        (409, EXECUTION_RESULT, True),
        (400, {"transactionId": "SBX-0123456789ABCDEF"}, True),
        (200, {"transactionId": 4711}, True),
        (400, {"transactionId": None, "message": "no"}, False),
        (400, {"id": "7f", "date": 1767225600000, "type": "BUSINESS", "status": "REJECTED", "error": "E4"}, False),
    ],
    ids=["an execution result", "a code", "a number as a code, with 200", "a code of null", "an error"],
)
def test_a_refusal_with_a_transfer_counts_against_the_limit(status, data, may_be_prepared, tmp_path):
    """A refusal that has a transaction code or an execution result counts against limits.transfers, and is in the report.

    Such an answer contradicts itself, so the transfer may be prepared. A refusal without either does not count, so that
    more transfers are asked for than the limit, which is 6 here.
    """
    service = RefusesWhatItPrepares(status, data)
    limits = {"requests": 400, "transfers": 6}
    profile = profile_of_bank(tmp_path, allow=["read", "create-pix", "transfer", "fuzz", "execute"], limits=limits,
                           transactions={"prepare": HOW_TO_PREPARE})  # fmt: skip
    run = run_suite_in_memory(service, profile, selected="createPix or transferP2p or executePix.id.type")
    lines_of_the_report = [line for line in map(str, run.transfers_not_executed) if "perhaps prepared" in line]
    transfers_asked_for = len(service.prepared)

    if may_be_prepared:
        assert 0 < transfers_asked_for <= 6
        assert len(lines_of_the_report) == 1
    else:
        assert transfers_asked_for > 6
        assert lines_of_the_report == []


# -- what is named, off a sandbox -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A service that is no sandbox, after a run that had no need to leave out a transfer because of a limit."""
    service = AcceptsEverything()
    allow = sorted(ALL_PERMISSIONS - {"execute"})
    run_at_bank(service, tmp_path_factory.mktemp("run"), allow, limits={"transfers": 2000})
    return service


def test_invalid_bodies_name_nobody(bank):
    """Outside a sandbox the body of an invalid transfer names no account and no key that somebody may have.

    In the place of an account or a key there is an empty text, or a text that the suite made up: it begins with
    `pixconf-`. A number in the place of a key is 0 or -1, because another number may be a telephone number or a tax
    document.
    """
    named_items = []  # pairs of the innermost member and its value
    for _, body in bank.invalid:
        for path, item in leaves(body):
            if path and {"from", "to", "account", "pixKey"} & set(path):
                named_items.append((path[-1], item))
    texts = [item for _, item in named_items if isinstance(item, str)]
    texts_without_prefix = [text for text in texts if not text.startswith(SYNTHETIC_PREFIX)]
    # A number in the member `account` names the payer, so it takes money from nobody else.
    numbers_as_payees = [item for name, item in named_items if name != "account" and is_number(item)]

    assert len(named_items) > 150  # of about 80 invalid and generated bodies for each of four operations
    assert set(texts_without_prefix) <= {""}
    assert set(numbers_as_payees) <= {0, -1}


def test_no_amount_off_a_sandbox_is_above_that_of_the_profile(bank):
    """Outside a sandbox each amount that a run sends is above 0, and at most the amount that the profile has.

    The profile has a body with an amount for each operation. An amount is a number under `value`, in valid, invalid and
    generated bodies.
    """
    amounts = []  # pairs of operation and number
    for operation, body in bank.prepared:
        for path, item in leaves(body):
            if "value" in path and is_number(item):
                amounts.append((operation, item))
    forbidden_amounts = []
    for operation, amount in amounts:
        is_permitted = 0 < amount <= AMOUNT_OF_PROFILE[operation]
        if not is_permitted:
            forbidden_amounts.append((operation, amount))

    assert {operation for operation, _ in amounts} == set(PREPARING_OPERATIONS)
    assert forbidden_amounts == []


def test_no_key_at_an_account_of_the_profile_is_hard_to_delete(bank):
    """Outside a sandbox no key at an account of the profile is empty, long, unprintable or inside an array or an object.

    Unprintable means a control character or half of a surrogate pair. A service might register such a key, and refuse to
    delete it. Only a RANDOM key (EVP at some services) may be empty, as documented.
    """
    bodies = bodies_for_accounts_of_profile(bank)
    bodies_without_json = [body for body in bodies if isinstance(body, str)]
    objects = [body for body in bodies if isinstance(body, dict)]
    keys = [body.get("pixKey") for body in objects if body.get("pixKeyType") not in ("RANDOM", "EVP")]
    text_keys = [key for key in keys if isinstance(key, str)]
    nested_keys = [key for key in keys if isinstance(key, dict | list)]
    empty_keys = [key for key in text_keys if key.strip() in ("", SYNTHETIC_PREFIX)]
    long_keys = [key for key in text_keys if len(key) > 200]
    unprintable = re.compile(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]")
    unprintable_texts = [text for text in (*text_keys, *bodies_without_json) if unprintable.search(text)]

    assert len(text_keys) > 20
    assert (empty_keys, long_keys, unprintable_texts, nested_keys) == ([], [], [], [])


def bodies_for_accounts_of_profile(bank):
    """The bodies of registrations and deletions that name an account of the profile in their path or in their body.

    A body is its JSON value, or its text if it is no JSON.
    """
    bodies = []
    for path, body in bank.named:
        if any(account in path or account in str(body) for account in OWN_ACCOUNTS):
            bodies.append(body)
    return bodies


def test_no_number_is_sent_as_a_key(bank):
    """Outside a sandbox no registration or deletion has a number as its key.

    A number might be the CPF or the telephone number of somebody. `named` has the path and the body of each of these
    requests.
    """
    keys = []
    for _, body in bank.named:
        keys += [item for path, item in leaves(body) if "pixKey" in path]
    numbers = [key for key in keys if is_number(key)]

    assert len(keys) > 20
    assert numbers == []


# -- what is named, on a sandbox too ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service_and_profile(tmp_path_factory):
    """The service and the profile of a run of generated traffic alone, on a sandbox."""
    service, changes = FakeBank(), {"sandbox": UNUSED_ADDRESS, "limits": {"requests": 5000}}
    profile = profile_of_bank(tmp_path_factory.mktemp("run"), allow=sorted(ALL_PERMISSIONS), **changes)
    run_suite_in_memory(service, profile, selected="not executePix.repeated", tests=GENERATED_TESTS)
    return service, profile


def test_generated_requests_name_no_code(service_and_profile):
    """Generated requests, also on a sandbox, name no transaction code except for those that the suite made up.

    Such a code begins with `pixconf-`. A lenient service may decode a path twice, and take any segment of it as the code.
    So each segment begins with `pixconf-`.
    """
    service, profile = service_and_profile
    code_of_profile, *_ = profile.transactions.codes
    paths_decoded_twice = [unquote(unquote(request.path)) for request in service.received]
    codes_in_paths = [path.partition("/v1/execute/pix/")[2] for path in paths_decoded_twice]
    segments = []
    for code in filter(None, codes_in_paths):
        segments += re.split(r"[/\\]", code)
    bodies_with_the_code = [request.body for request in service.received if code_of_profile.encode() in request.body]

    assert segments != []
    assert [segment for segment in segments if not segment.startswith(SYNTHETIC_PREFIX)] == []
    assert bodies_with_the_code == []


def test_generated_requests_have_documented_methods_alone(service_and_profile):
    """Generated requests have only documented methods, such as GET, because another one could change something.

    No header, such as X-HTTP-Method-Override, asks the service for another method, either.
    """
    service, _ = service_and_profile
    documented_methods = {operation.method for operation in operations().values()}
    methods = {request.method for request in service.received}
    header_names = set().union(*(request.headers for request in service.received))

    assert methods <= documented_methods
    assert [name for name in header_names if "override" in name or name == "x-method"] == []


def test_requests_without_the_token_name_only_synthetic_keys_and_accounts(service_and_profile):
    """A generated request without the valid token names only keys and accounts that the suite made up (`pixconf-`).

    The reason is that such a request takes effect if the operation needs no token.
    """
    service, _ = service_and_profile
    without_valid_token = [request for request in service.received if not service.has_valid_token(request)]
    bodies_of_writes = [request.body for request in without_valid_token if request.method != "GET"]

    assert bodies_of_writes != []
    assert [body for body in bodies_of_writes if SYNTHETIC_PREFIX.encode() not in body] == []


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_no_invalid_request_holds_an_identifier_of_the_operator(operation, tmp_path):
    """No body of an invalid transfer has a CPF, a CNPJ or a telephone number of the profile, even without punctuation.

    These are receivers of the transfers of the profile, and one of its keys.
    """
    profile = profile_of_sandbox(tmp_path)
    cpf, cnpj, telephone = b"24681357928", b"98765432000198", b"5511955500777"
    bodies = [case.body for case in invalid_requests(operation, profile) if case.body]
    identifiers_found = []
    for body in bodies:
        digits = re.sub(rb"\D", b"", body)
        identifiers_found += [identifier for identifier in (cpf, cnpj, telephone) if identifier in digits]

    assert bodies != []
    assert identifiers_found == []


@pytest.mark.parametrize("operation", PREPARING_OPERATIONS)
def test_invalid_requests_without_an_expected_answer_have_a_negative_amount(operation, tmp_path):
    """An invalid request has a negative amount if no requirement says how it is answered.

    The report only notes its answer (an observation). An example is a request with a wrong Content-Type: a service that
    ignores the Content-Type then moves no money, because nobody can transfer a negative amount.
    """
    profile = profile_of_sandbox(tmp_path)
    cases = observed_invalid_requests(operation, profile)
    values = [_body_value(case.body) for case in cases if case.body]
    amounts = [value.get("value") for value in values if isinstance(value, dict)]
    numbers = [amount for amount in amounts if is_number(amount)]
    amounts_that_could_be_moved = [amount for amount in numbers if amount >= 0]

    assert amounts != []
    assert amounts_that_could_be_moved == []


# -- a code twice, on a sandbox ---------------------------------------------------------------------------------------


def test_only_a_prepared_code_is_executed_twice(tmp_path):
    """On a sandbox a code that the run prepared is executed a second time, and a code of the profile only once.

    This service moves money both times. The report notes that as an observation, and begins with it.
    """
    service = FakeBank()
    service.check_prepared = lambda transfer: None  # otherwise this check of the sandbox refuses the second execution
    transactions = {"codes": [CODE], "prepare": HOW_TO_PREPARE}
    profile = profile_of_sandbox(tmp_path, allow=sorted(ALL_PERMISSIONS), transactions=transactions)
    run = run_suite_in_memory(service, profile, selected="executePix", tests=ALL_TESTS)
    executions_by_code = Counter(service.executions_with_valid_token)
    executions_of_profile_code = executions_by_code.pop(CODE)
    facts_about_repetition = [
        observation.facts for observation in run.observations if observation.id == "executePix.repeated"
    ]
    first_note, *_ = report_notes(run)

    assert executions_of_profile_code == 1
    assert max(executions_by_code.values()) == 2
    assert "MONEY MOVED TWICE" in str(facts_about_repetition)
    assert "MONEY MOVED TWICE" in first_note
