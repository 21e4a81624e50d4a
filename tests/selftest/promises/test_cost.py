"""Long answers cost a bounded amount of work, whatever their shape.

The tests count the work: function calls, bodies that are parsed, and the weight of long answers, which is the amount
that a run reads of them. After it only the beginning of a long answer is read. The report says so, because that is no
fault of the service. `make bench OPTIONS=--scenario=large` measures the seconds.
"""

import json
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import product

import pytest

import spec.exchange
from environments.door import wire
from environments.door.event_log import DigestKey, event_in
from environments.door.journal import outcome_of
from environments.door.key_record import MAYBE, REGISTERED, KeyRecord
from environments.door.wrong_tokens import NO_HEADER
from environments.sandbox import Response, Service
from environments.secret_values import Secrets
from reports.showing.json_tokens import tokens
from reports.showing.show import END_OF_CUT_BODY, Display
from spec.exchange import VALID, json_error
from spec.findings import MOST_POINTERS, Conclusion
from spec.json_text import MAX_VALUES
from spec.key_list import Listing
from spec.observed import facts_of_answer
from spec.rules import RULES, judge
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution
from tests.selftest.services.keys_of_others import ACCOUNT, HoldsKeysOfACustomer
from tests.selftest.services.one_run import ManualRun
from tests.selftest.services.running import TOKEN_VARIABLES, run_suite, write_profile
from tests.selftest.services.serving import SocketService, real_codes_received, response_bytes
from tests.selftest.shared_runs import run_with_files

RULES_OF_EXECUTION = [id for id in RULES if id.startswith("executePix.")]
MOST_CALLS = 700
"""Calls of functions for each value of an answer, over both operations. An array of 20 levels needs most of them."""
SMALL_WEIGHT = 5_000_000
"""A sixth of the weight that a run reads of long answers, so that these tests need no answers of their full length.

The weight of an answer is its bytes, and 100 for each of its values. After a weight of 5 million the run reads only the
beginning of a long answer, unless it is the first long answer of its operation.
"""
MANY_VALUES = 9_900
"""Values of a list whose weight is about 1,020,000."""
LISTS_THAT_ARE_READ = 5
"""Lists of MANY_VALUES that are read whole: the fifth one makes the sum larger than SMALL_WEIGHT."""
TOO_MUCH_READ_ALREADY = "longer than the suite reads after many long answers"


@pytest.fixture
def small_weight(monkeypatch):
    """A run reads only a sixth of the usual amount of long answers before it reads no more of them whole."""
    monkeypatch.setattr(wire, "MOST_WEIGHT_OF_LONG_BODIES", SMALL_WEIGHT)


def run_over_http(service, folder, selected, **changes):
    """The result of a run against the service over HTTP. `selected` is an expression of -k."""
    return run_with_files(folder, lambda token: service, "-m", "not property", "-k", selected, **changes)


def changes_for_a_bank(folder):
    """Changes of a profile: its target is no sandbox (a service without real money), and a run may delete its key."""
    keys = [{"type": "EMAIL", "key": "qa@pix-conformance.example", "disposable": True}]
    return {
        "sandbox": None, "allow": ["read", "register-keys", "delete-keys"], "pix_keys": keys,
        "key_at": "/data/keys/*/pixKey", "accounts": [ACCOUNT], "transactions": None,
        "journal": str(folder / "journal.jsonl"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [b"[" * 4_000, b"[]," * 1_300, b'{"a":' * 800],
    ids=["arrays in arrays", "empty arrays", "objects in objects"],
)
def test_a_body_is_shown_in_a_bounded_number_of_tokens(body):
    """The report shows only the beginning of a long body, of at most 1,000 tokens of JSON, and the number of its bytes.

    A token is a bracket, a comma, a text or another smallest part of JSON. The page shows each in a colour of its own.
    """
    shown_text = Display(Secrets({})).shown_body(body)
    beginning, _, _ = shown_text.partition("…")

    assert shown_text.endswith(f"… ({len(body)}{END_OF_CUT_BODY}")
    assert len(list(tokens(beginning))) <= 1_000


def test_a_finding_points_to_a_bounded_number_of_members():
    """If an answer has 30,000 undocumented members, the finding points to 100 of them.

    Its sentence names 10 of them, and says that there are 29990 more."""
    undocumented_members = {f"member{number}": number for number in range(30_000)}
    (finding,) = judge("executePix.fields.extra", execution(EXECUTION_RESULT | undocumented_members)).findings

    assert len(finding.pointers) == MOST_POINTERS == 100
    assert "29990 more" in str(finding.statement)


def test_a_repeated_member_is_shown_at_a_bounded_number_of_places():
    """If a member occurs twice in each of 10,000 objects, the finding points to at most 100 of these places."""
    item = b'{"a": 1, "a": 2}'
    body = b'{"code": 0, "data": {"x": [%b]}}' % b",".join([item] * 10_000)
    (finding,) = judge("executePix.json.unique", answer("executePix", body)).findings

    assert 1 <= len(finding.pointers) <= MOST_POINTERS


def test_a_long_body_is_read_once_for_all_requirements(monkeypatch):
    """Each of 20 different bodies is parsed once, although all requirements of executePix judge each answer.

    Two further answers have the same body as the last one, which is not parsed again for them. The function `json_error`
    does not parse a body again either. No requirement finds a deviation.
    """
    read_json = spec.exchange.read_json
    parsed_bodies = []

    def read_json_and_count(body):
        """Parse a body as usual, and note that it was parsed."""
        parsed_bodies.append(body)
        return read_json(body)

    monkeypatch.setattr(spec.exchange, "read_json", read_json_and_count)
    results = [EXECUTION_RESULT | {"message": f"{number} " + "x" * 200_000} for number in range(20)]
    exchanges = [execution(result) for result in (*results, results[-1], results[-1])]
    conclusions = []
    for requirement_id, exchange in product(RULES_OF_EXECUTION, exchanges):
        conclusions.append(judge(requirement_id, exchange).conclusion)
    errors_of_json = {json_error(exchange.response) for exchange in exchanges}

    assert Conclusion.DEVIATES not in conclusions
    assert errors_of_json == {""}
    assert len(parsed_bodies) == 20


@pytest.mark.parametrize(
    "body",
    [b"[" * 200_000, b'{"code": 0, "data": [%b1]}' % (b"1," * MAX_VALUES)],
    ids=["nested", "many values"],
)
def test_json_that_is_too_large_for_the_suite_fails_nothing(body):
    """If a body is nested too deeply for the suite, or has too many values for it, no rule about JSON fails.

    Such a rule comes to no conclusion, because the document sets no such limit. A rule that needs no JSON still fails,
    such as the one about server errors for a status 500.
    """
    exchange = answer("executePix", body)
    conclusions = {requirement_id: judge(requirement_id, exchange).conclusion for requirement_id in RULES_OF_EXECUTION}
    status_judgement = judge("executePix.serverError", answer("executePix", body, status=500))

    assert Conclusion.DEVIATES not in conclusions.values()
    assert conclusions["executePix.json"] is Conclusion.INCONCLUSIVE
    assert status_judgement.deviates


def test_a_line_of_the_key_record_is_read_once(tmp_path):
    """No line of the key record is parsed a second time.

    The key record is a file with the keys that runs registered. Each of 50 registrations adds two lines to it: before
    the request, and after the answer.
    """
    record = KeyRecord(tmp_path / "keys.jsonl", DigestKey(tmp_path / "key"), run="now")
    event_in.cache_clear()
    for event in (MAYBE, REGISTERED):
        for number in range(50):
            record.note(ACCOUNT, "EMAIL", f"pixconf-{number}@example.com", event, ours=True)
    keys_in_the_record = record.events()
    parsed_lines = event_in.cache_info().misses

    assert len(keys_in_the_record) == 50
    assert parsed_lines == 2 * 50


KEY = "qa@example.com"
DATA_BY_SHAPE = {
    "members": lambda size: EXECUTION_RESULT | {f"member{number}": number for number in range(size)},
    "objects": lambda size: EXECUTION_RESULT | {"list": [{"id": f"x{number}"} for number in range(size)]},
    "numbers": lambda size: EXECUTION_RESULT | {"list": [12345678] * size},
    "texts with an object": lambda size: EXECUTION_RESULT | {"list": ['{"status": "DONE"}'] * size},
    "traces": lambda size: EXECUTION_RESULT | {"list": ["Traceback (most recent call last):"] * size},
    "the same key": lambda size: EXECUTION_RESULT | {"keys": [{"key": KEY, "type": "EMAIL"}] * size},
    "many keys": lambda size: (
        EXECUTION_RESULT | {"keys": [{"key": f"qa{number}@example.com"} for number in range(size)]}
    ),
    "many telephones": lambda size: EXECUTION_RESULT | {"keys": [f"+55119{number:08}" for number in range(size)]},
    "arrays in arrays": lambda size: EXECUTION_RESULT | {"list": [json.loads("[" * 20 + "1" + "]" * 20)] * size},
    "the tax document": lambda size: EXECUTION_RESULT | {"list": ["529.982.247-25"] * size},
}
"""By shape of an answer, a function that makes its `data` with a number of values."""


def count_calls(act):
    """The number of function calls while `act` is called, also of functions that are written in C."""
    calls = Counter()  # by event, such as "call", its number
    sys.setprofile(lambda frame, event, _: calls.update([event]))
    try:
        act()
    finally:
        sys.setprofile(None)
    return calls["call"] + calls["c_call"]


def do_work_of_an_answer(data):
    """Do what a run does with an execution result and with a list of keys. Both answers have this data.

    The results are not used, because the test only counts the calls of functions.
    """
    body = json.dumps({"code": 0, "data": data}).encode()
    execution_answer = answer("executePix", body)
    list_of_keys = answer("listPixKeys", body)
    for requirement_id in RULES_OF_EXECUTION:
        judge(requirement_id, execution_answer)
    outcome_of(execution_answer, executes=True)
    facts_of_answer(list_of_keys)
    for listing in (Listing(list_of_keys, "/data/keys/*/key"), Listing(list_of_keys)):
        for number in range(3):
            listing.may_show(f"+551190000000{number}")
        _ = listing.shows(KEY), listing.values_beside(KEY), listing.incomplete


@pytest.mark.parametrize("shape", DATA_BY_SHAPE)
def test_the_work_for_an_answer_grows_with_its_size(shape):
    """To judge an answer with 200 values needs at most twice the function calls of an answer with 100 values.

    So the work does not grow faster than the answer. Each further value needs less than 700 calls.
    """
    data_with_values = DATA_BY_SHAPE[shape]
    do_work_of_an_answer(data_with_values(1))  # fills caches, so that their filling is not counted
    calls_for_100 = count_calls(partial(do_work_of_an_answer, data_with_values(100)))
    calls_for_200 = count_calls(partial(do_work_of_an_answer, data_with_values(200)))
    calls_for_each_further_value = (calls_for_200 - calls_for_100) / 100

    assert calls_for_200 <= 2 * calls_for_100
    assert calls_for_each_further_value < MOST_CALLS


class GivesALongList(SocketService):
    """Gives a long list of entries of an account. Every other answer is that of the sandbox."""

    ITEM = {"id": "0123456789", "value": 10.5, "date": "2026-01-01", "description": "x" * 100}

    def answer(self, connection, request):
        """Send the answer of the sandbox. If it is a list of entries, send one with 10,000 entries instead."""
        response = self.sandbox.respond(request)
        if response.status == 200 and request.path.startswith("/v1/accounts/entries"):
            body = json.dumps({"code": 0, "data": {"entries": [self.ITEM] * 10_000}}).encode()
            response = Response(200, body, (("Content-Type", "application/json"),))
        connection.sendall(response_bytes(response))


class ExecutesAtLength(SocketService):
    """Executes with any token. Its answer has a long text before the result."""

    def __init__(self, status):
        """`status` is the status of all answers."""
        super().__init__()
        self.status = status

    def answer(self, connection, request):
        """Send a long answer with an execution result to any request, whatever its token is."""
        body = json.dumps({"code": 0, "text": "x" * 20_000, "data": EXECUTION_RESULT}).encode()
        connection.sendall(response_bytes(Response(self.status, body, (("Content-Type", "application/json"),))))


class AnswersAtLength(Service):
    """Each answer has many values beside the documented members."""

    FILLING = b', "filling": [%b1]}' % (b"1," * MANY_VALUES)

    def respond(self, request):
        """The answer of the sandbox, with a long array as a further member of its envelope."""
        response = super().respond(request)
        return replace(response, body=response.body.rstrip().removesuffix(b"}") + self.FILLING)


class ListsAtLength(HoldsKeysOfACustomer):
    """Its lists of keys have this number of values beside the keys.

    It counts its lists, and notes for each deletion how many lists it gave before.
    """

    def __init__(self, values):
        """`values` is the number of values that a list has beside the keys."""
        super().__init__()
        self.filling = [1] * values
        self.number_of_lists = 0
        self.numbers_of_lists_before_each_deletion = []

    def respond(self, request):
        """Answer a request. Count a list and make it long, and note how many lists came before a deletion."""
        response = super().respond(request)
        if request.method == "DELETE":
            self.numbers_of_lists_before_each_deletion.append(self.number_of_lists)
        is_list_of_keys = request.method == "GET" and "/pix/keys/" in request.path
        if not is_list_of_keys or response.status != 200:
            return response
        self.number_of_lists += 1
        envelope = json.loads(response.body)
        envelope["data"]["filling"] = self.filling
        return replace(response, body=json.dumps(envelope).encode())


class AnswersWith20000Values(SocketService):
    """Gives the same answer of 20,000 values to every request."""

    BODY = json.dumps({"code": 0, "data": {"list": list(range(20_000))}}).encode()

    def answer(self, connection, request):
        """Send the long answer."""
        connection.sendall(response_bytes(Response(200, self.BODY, (("Content-Type", "application/json"),))))


def test_a_run_reads_a_bounded_weight_of_long_answers(tmp_path, monkeypatch):
    """Once a run has read a weight of 5 million of long answers, it reads only the beginning of further long answers.

    The weight of an answer is its bytes, and 100 for each value. These answers have 20,000 values, so each has a weight of
    about 2.1 million: the third makes the sum larger than the limit, and five of eight are cut. The JSON of these has the
    reason. The first long answer of another operation is read whole in any case, so that each operation can be judged.
    """
    monkeypatch.setattr(wire, "MOST_WEIGHT_OF_LONG_BODIES", 5_000_000)
    with AnswersWith20000Values() as service:
        manual_run = ManualRun(service, tmp_path, response_bytes=1_000_000)
        balances = [manual_run.client.send("getBalance", "pixconf-1").response for _ in range(8)]
        first_of_another = manual_run.client.send("listAccounts").response

    reason = "longer than the suite reads after many long answers"
    reasons_in_the_json = {response.json.why_not_read for response in balances if response.cut}

    assert len(service.BODY) > wire.BYTES_ALWAYS_READ  # a body up to that size is read in any case
    assert [response.cut for response in balances] == ["", "", "", reason, reason, reason, reason, reason]
    assert reasons_in_the_json == {reason}
    assert first_of_another.cut == ""


@pytest.mark.parametrize("status", [200, 400, 409])
@pytest.mark.parametrize("credential", [VALID, NO_HEADER], ids=["with the token", "without a token"])
def test_an_execution_whose_answer_is_not_read_whole_has_an_unknown_outcome(status, credential, tmp_path, monkeypatch):
    """If the suite does not read the whole answer to an execution, nobody knows whether money moved.

    The part that is not read may say that a 400 executed the transfer, or that a 200 refused it. So the code is not
    sent again. That is so even if it was sent without a token, because this service executes with any token. The reason
    why the answer is not read whole is that the run may read no more long answers.
    """
    monkeypatch.setattr(wire, "MOST_WEIGHT_OF_LONG_BODIES", 0)
    with ExecutesAtLength(status) as service:
        manual_run = ManualRun(service, tmp_path)
        # the first long answer of an operation is read whole in any case, so this request uses that up
        manual_run.client.send("executePix", "pixconf-1")
        exchange = manual_run.execute(credential=credential)
        repeated = manual_run.execute()

    assert exchange.response.cut == TOO_MUCH_READ_ALREADY
    assert repeated.response is None
    assert manual_run.executions_of_unknown_outcome == [exchange.number]
    assert manual_run.door.guard.executed == 0
    assert len(real_codes_received(service)) == 1


@pytest.mark.usefixtures("small_weight")
def test_nothing_is_deleted_by_a_list_that_is_cut(tmp_path):
    """Once the run reads no list of keys whole any more, it deletes no key, because it cannot see which keys are old.

    Here the first five lists are read whole. The summary says why no key is deleted afterwards, and the service lost
    none of the keys that it had before the run. The target is no sandbox. On a sandbox a run need not be so careful,
    because keys are worth nothing there.
    """
    long = ListsAtLength(MANY_VALUES)
    result = run_over_http(long, tmp_path, "deletePixKey", **changes_for_a_bank(tmp_path))

    assert long.number_of_lists > LISTS_THAT_ARE_READ
    assert long.numbers_of_lists_before_each_deletion != []
    assert max(long.numbers_of_lists_before_each_deletion) <= LISTS_THAT_ARE_READ
    assert long.keys_lost == set()
    assert f"answers are {TOO_MUCH_READ_ALREADY}: their JSON is not judged" in result.output
    assert "could not be read, so no key is deleted" in result.output


@pytest.mark.usefixtures("small_weight")
def test_with_short_lists_keys_are_deleted_to_the_end(tmp_path):
    """Short lists of keys are always read, so the run still deletes keys after more than five lists.

    Five is the number of long lists that a run reads.
    """
    short = ListsAtLength(values=0)
    run_over_http(short, tmp_path, "deletePixKey", **changes_for_a_bank(tmp_path))
    lists_before_the_last_deletion = max(short.numbers_of_lists_before_each_deletion)

    assert lists_before_the_last_deletion > LISTS_THAT_ARE_READ


@pytest.mark.usefixtures("small_weight")
def test_a_run_with_too_many_long_answers_is_incomplete(tmp_path):
    """If each answer of the service is long, the run is incomplete (exit status 6), and no requirement fails.

    The output says that the suite did not judge the JSON of some answers, and that a transfer may have moved money.
    """
    service = AnswersAtLength(token=TOKEN_VARIABLES["PIX_TOKEN"])
    result = run_over_http(service, tmp_path, "executePix or listAccounts or getBalance")

    assert (result.status, result.document["verdict"]) == (6, "incomplete"), result.output[-2000:]
    assert f"answers are {TOO_MUCH_READ_ALREADY}: their JSON is not judged" in result.output
    assert "it may have moved money" in result.output
    assert result.messages_with_verdict("fail") == {}


def test_a_list_of_10_000_entries_is_judged(tmp_path):
    """A list of 10,000 entries is read whole and judged, because such a list is ordinary.

    No requirement is left out, so the verdict is "partial", as in every run with -k, and not "incomplete".
    """
    with GivesALongList() as service:
        result = run_suite(write_profile(tmp_path, service.base_url), "-k", "listEntries")

    assert result.document["verdict"] == "partial", result.output[-2000:]
    assert result.messages_with_verdict("not-exercised") == {}
