"""A check of the token that is not there, at services whose answers hold little of the documented result."""

import secrets

import pytest

from environments.sandbox import Refusal, Response, Service
from tests.selftest.proof.directly import try_in_memory

OF_EXECUTION = frozenset({"executePix.token.required"})
REQUIRED = OF_EXECUTION | {"registerPixKey.token.required"}
EIGHT_FIELDS = {
    "id": "TX0001B", "status": "DONE", "value": 10.5, "date": 1767225600000, "type": "PHONE",
    "key": "+5511999990000", "error": None,
}  # fmt: skip
TWO_FIELDS = {"id": "TX0001B", "date": 1767225600000}


class AsksNobody(Service):
    """The sandbox without a check of the token, whose execution result has the fields of RESULT alone."""

    RESULT = EIGHT_FIELDS

    def authorize(self, request, operation):
        """Anybody may."""

    def execution_result(self, transfer):
        return self.RESULT


class MocksEverything(AsksNobody):
    """A mock server: it gives everybody the same answers, which hold two of the documented fields."""

    def perform(self, operation, request, parameter):
        return {"executePix": TWO_FIELDS, "registerPixKey": {"Success": "received"}}.get(operation, {})


class ServesNobody(Service):
    """A mock server that never executes nor registers anything, and refuses everybody alike."""

    def respond(self, request):
        return self.render(200, self.envelope(None, {"error": "The scenario is not configured."}, 44304))


class AcceptsWithoutSuccess(Service):
    """The sandbox, which answers a wrong token with 200 and an empty envelope, and does nothing then."""

    def refusal(self, refusal):
        return self.render(200, self.envelope(None, {})) if refusal.status == 401 else super().refusal(refusal)


def test_eight_fields_of_the_result_are_a_success():
    """An execution without a token is found although half of the result is missing."""
    trial = try_in_memory(AsksNobody(), ids=REQUIRED)

    assert trial.failing == REQUIRED


def test_an_answer_like_that_to_the_valid_request_fails():
    """Two fields are no result.

    The requirement fails because a request without a token gets the same answer as the valid one.
    """
    trial = try_in_memory(MocksEverything(), ids=OF_EXECUTION)

    assert trial.failing == {"executePix.token.required"}
    assert "answered like the valid request" in str(trial.rows["executePix.token.required"].message)


class MocksWithOtherValues(AsksNobody):
    """A dynamic mock server: it gives everybody two of the documented fields, each time with other values."""

    def perform(self, operation, request, parameter):
        if operation == "registerPixKey":
            return {"Success": secrets.token_hex(8)}
        return {"id": "".join(secrets.choice("abcxyz") for _ in range(9)), "value": secrets.randbelow(10**6) / 7}


def test_an_answer_that_has_other_values_alone_fails():
    """The answer has the same places and types as the answer to the valid request, with other values."""
    trial = try_in_memory(MocksWithOtherValues(), ids=REQUIRED)

    assert trial.failing == REQUIRED


class DeclinesWithTheSameShape(Service):
    """The sandbox, which refuses a wrong token with 200 and a body of the shape of its success: a registration by Success,
    an execution by the code."""

    def refusal(self, refusal):
        if refusal.status != 401:
            return super().refusal(refusal)
        if self.is_registration:
            result = {"Success": "false", "Message": "There is no valid token.", "Key": "x", "DocumentNumber": 1}
            return self.render(200, self.envelope(None, result))
        return self.render(200, self.envelope(None, dict.fromkeys(EIGHT_FIELDS), 16))

    def respond(self, request):
        self.is_registration = request.method == "POST"
        return super().respond(request)


def test_a_refusal_of_the_shape_of_a_success_is_a_refusal():
    """The `code` of the envelope, or Success, says that the answer is a refusal."""
    trial = try_in_memory(DeclinesWithTheSameShape(), ids=REQUIRED)

    assert trial.failing == set()
    assert trial.with_verdict("pass") >= REQUIRED


def test_equal_answers_prove_nothing_if_no_valid_request_succeeded():
    """A service that refuses everybody alike neither passes nor fails."""
    trial = try_in_memory(ServesNobody(), ids=REQUIRED)

    assert trial.failing == set()
    assert trial.not_exercised == REQUIRED


def test_a_refusal_of_its_own_kind_is_a_refusal():
    """An empty envelope with 200 differs from the answer to the valid request, and grants nothing."""
    trial = try_in_memory(AcceptsWithoutSuccess(), ids=REQUIRED)

    assert trial.failing == set()
    assert trial.with_verdict("pass") >= REQUIRED


class TellsAnybody(Service):
    """The sandbox, which gives anybody who names a prepared code the members of PART, and refuses unknown codes. A request
    without a valid token executes nothing."""

    PART: dict = {}

    def authorize(self, request, operation):
        self.is_valid = request.header("Authorization") == f"Bearer {self.token}"
        if operation != "executePix":
            super().authorize(request, operation)

    def execute_pix(self, request, transaction_id):
        if self.is_valid:
            return super().execute_pix(request, transaction_id)
        with self.database.transaction() as ledger:
            if ledger.transfer(transaction_id) is None:
                raise Refusal(404, "There is no such transaction code.")
        return self.PART


class AnswersWithAText(TellsAnybody):
    """The same with a text in the place of an answer in JSON."""

    def __init__(self, status, text, media_type="text/plain"):
        super().__init__()
        self.text = Response(status, text, (("Content-Type", media_type),))

    def respond(self, request):
        is_execution = request.path.startswith("/v1/execute/")
        is_valid = request.header("Authorization") == f"Bearer {self.token}"
        return self.text if is_execution and not is_valid else super().respond(request)


@pytest.mark.parametrize(("status", "text"), [(200, b"DONE"), (200, b"Transfer 7: DONE.\n"), (401, b"DONE\n")])
def test_the_word_done_in_a_text_says_success(status, text):
    """The word counts in capitals, as the document has it, if it ends a short text."""
    trial = try_in_memory(AnswersWithAText(status, text), ids=OF_EXECUTION)

    assert trial.failing == {"executePix.token.required"}


@pytest.mark.parametrize(
    ("status", "text", "media_type"),
    [
        (200, b"<!doctype html><script>if (r.readyState == XMLHttpRequest.DONE) go()</script>", "text/html"),
        (200, b"not done: no token", "text/plain"),
        (403, b"Only an administrator may set DONE", "text/plain"),
    ],
)
def test_a_text_that_says_no_success_is_a_refusal(status, text, media_type):
    """A login page, the word in small letters, and a refusal with more words say no success."""
    trial = try_in_memory(AnswersWithAText(status, text, media_type), ids=OF_EXECUTION)

    assert trial.failing == set()


PARTS = {
    "a receipt": {"id": "TX1", "status": "COMPLETED", "value": 10.5, "key": "+5511999990000"},
    "five members": {"id": "TX1", "date": 1767225600000, "type": "PHONE", "key": "+5511999990000", "value": 1.5},
    "a name and a key": {"name": "Maria Silva", "key": "+5511999990000"},
    "a name and a document": {"name": "Maria Silva", "document": "***.456.789-**"},
    "a status and a name": {"id": "TX1", "status": "COMPLETED", "name": "Maria Silva"},
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_of_the_result_is_for_nobody_without_a_token(part):
    """Whoever names a code without a token learns a part of the result, which fails although it says no success."""
    service = TellsAnybody()
    service.PART = part
    trial = try_in_memory(service, ids=OF_EXECUTION)

    assert trial.failing == {"executePix.token.required"}


@pytest.mark.parametrize(
    "error",
    [{"id": "E-1", "status": "REJECTED", "date": 1767225600000, "error": "no token"}, {"key": "error.token"}, {}],
)
def test_an_error_with_200_is_no_part_of_the_result(error):
    """Members that errors usually have, or a single member of a transfer, tell nothing about a transfer."""
    service = TellsAnybody()
    service.PART = error
    trial = try_in_memory(service, ids=OF_EXECUTION)

    assert trial.failing == set()
