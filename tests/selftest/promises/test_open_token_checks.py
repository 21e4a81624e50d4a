"""Services that answer a request without a valid token: whether they grant something, or refuse in an unusual way.

A requirement of the token fails if a service without a check of the token executes, registers, or shows a part of the
result. Some of these services show only a few fields of the documented result, or answer everybody alike.
"""

import secrets

import pytest

from environments.sandbox import Refusal, Response, Server, Service
from environments.sandbox.server import _Handler
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.trial import try_service

BOTH_TOKEN_REQUIREMENTS = frozenset({"executePix.token.required", "registerPixKey.token.required"})
"""The requirements that an execution and a registration without a valid token are refused."""
SEVEN_FIELDS = {
    "id": "TX0001B", "status": "DONE", "value": 10.5, "date": 1767225600000, "type": "PHONE",
    "key": "+5511999990000", "error": None,
}  # fmt: skip
TWO_FIELDS = {"id": "TX0001B", "date": 1767225600000}


class AsksNobody(Service):
    """The sandbox without a check of the token. Its execution result has seven of the fifteen documented fields."""

    def authorize(self, request, operation):
        """Check nothing: anybody may send a request."""

    def execution_result(self, transfer):
        """The execution result: seven fields, whatever the transfer is."""
        return SEVEN_FIELDS


class MocksEverything(AsksNobody):
    """A mock server: it gives everybody the same answers, which hold two of the documented fields."""

    def perform(self, operation, request, parameter):
        """The data of the answer: two fields for an execution, one for a registration, and else none."""
        return {"executePix": TWO_FIELDS, "registerPixKey": {"Success": "received"}}.get(operation, {})


class ServesNobody(Service):
    """A mock server that never executes nor registers anything, and refuses everybody alike."""

    def respond(self, request):
        """The answer to any request: an error with status 200."""
        return self.render(200, self.envelope(None, {"error": "The scenario is not configured."}, 44304))


class AcceptsWithoutSuccess(Service):
    """The sandbox, which answers a wrong token with 200 and an empty envelope, and does nothing then."""

    def refusal(self, refusal):
        """The answer to a refused request: 200 and an empty envelope for a refused token."""
        return self.render(200, self.envelope(None, {})) if refusal.status == 401 else super().refusal(refusal)


def test_an_execution_without_a_token_is_found_although_half_of_its_result_is_missing():
    """The requirement of the token fails if a service executes without a token, even if half of the result is missing.

    This service checks no token, and answers with seven of the fifteen documented fields. The requirement that
    registrations need a token fails, too.
    """
    trial = try_in_memory(AsksNobody(), ids=BOTH_TOKEN_REQUIREMENTS)

    assert trial.failing == BOTH_TOKEN_REQUIREMENTS


def test_a_request_without_a_token_that_is_answered_like_the_valid_one_fails():
    """The requirement of the token fails if a request without a token gets the same answer as the valid request.

    The answer has two documented fields here, which alone would not count as a result.
    """
    trial = try_in_memory(MocksEverything(), ids={"executePix.token.required"})

    assert trial.failing == {"executePix.token.required"}
    assert "answered like the valid request" in str(trial.results["executePix.token.required"].message)


class MocksWithOtherValues(AsksNobody):
    """A dynamic mock server: it gives everybody two of the documented fields, each time with other values."""

    def perform(self, operation, request, parameter):
        """The data of the answer, with random values each time."""
        if operation == "registerPixKey":
            return {"Success": secrets.token_hex(8)}
        return {"id": "".join(secrets.choice("abcxyz") for _ in range(9)), "value": secrets.randbelow(10**6) / 7}


def test_an_answer_that_differs_from_that_to_the_valid_request_in_its_values_alone_fails():
    """The requirement of the token fails if the answer without a token has the members and types of the valid answer.

    The values may differ: this mock server makes new ones for each answer.
    """
    trial = try_in_memory(MocksWithOtherValues(), ids=BOTH_TOKEN_REQUIREMENTS)

    assert trial.failing == BOTH_TOKEN_REQUIREMENTS


class DeclinesWithTheSameShape(Service):
    """The sandbox, which refuses a wrong token with 200 and a body that has the members of a success.

    A registration is refused by Success "false", an execution by the code 16 of the envelope.
    """

    def refusal(self, refusal):
        """The answer to a refused request. A refused token gets status 200, and the members of a success."""
        if refusal.status != 401:
            return super().refusal(refusal)
        if self.is_registration:
            result = {"Success": "false", "Message": "There is no valid token.", "Key": "x", "DocumentNumber": 1}
            return self.render(200, self.envelope(None, result))
        return self.render(200, self.envelope(None, dict.fromkeys(SEVEN_FIELDS), 16))

    def respond(self, request):
        """Answer a request, and remember for `refusal` whether it is a registration."""
        self.is_registration = request.method == "POST"
        return super().respond(request)


def test_a_refusal_with_the_members_of_a_success_is_a_refusal():
    """An answer with the members of a success is a refusal if its `code` is not 0, or if its Success is "false".

    This service refuses wrong tokens in that way, so both requirements pass.
    """
    trial = try_in_memory(DeclinesWithTheSameShape(), ids=BOTH_TOKEN_REQUIREMENTS)

    assert trial.failing == set()
    assert trial.with_verdict("pass") >= BOTH_TOKEN_REQUIREMENTS


def test_equal_answers_prove_nothing_if_no_valid_request_succeeded():
    """If a service refuses everybody alike, the requirements of the token neither pass nor fail: they are not exercised."""
    trial = try_in_memory(ServesNobody(), ids=BOTH_TOKEN_REQUIREMENTS)

    assert trial.failing == set()
    assert trial.not_exercised == BOTH_TOKEN_REQUIREMENTS


def test_an_empty_envelope_with_200_is_a_refusal():
    """If a wrong token is answered 200 with empty data, the requirements of the token pass.

    Such an answer grants nothing, and differs from the answer to the valid request.
    """
    trial = try_in_memory(AcceptsWithoutSuccess(), ids=BOTH_TOKEN_REQUIREMENTS)

    assert trial.failing == set()
    assert trial.with_verdict("pass") >= BOTH_TOKEN_REQUIREMENTS


class TellsAnybody(Service):
    """Gives the members of PART to a request without a valid token that names a prepared code.

    It executes nothing for such a request, and refuses unknown codes.
    """

    PART: dict = {}

    def authorize(self, request, operation):
        """Check the token, but not that of an execution."""
        self.has_valid_token = request.header("Authorization") == f"Bearer {self.token}"
        if operation != "executePix":
            super().authorize(request, operation)

    def execute_pix(self, request, transaction_id):
        """Execute a transfer. Without a valid token execute nothing, and return PART, or raise Refusal for an unknown code."""
        if self.has_valid_token:
            return super().execute_pix(request, transaction_id)
        with self.database.transaction() as ledger:
            if ledger.transfer(transaction_id) is None:
                raise Refusal(404, "There is no such transaction code.")
        return self.PART


class AnswersWithAText(TellsAnybody):
    """Answers an execution without a valid token with this status and text, and executes nothing."""

    def __init__(self, status, text, media_type="text/plain"):
        """The three parameters are those of the answer to an execution without a valid token."""
        super().__init__()
        self.text_answer = Response(status, text, (("Content-Type", media_type),))

    def respond(self, request):
        """The answer of the sandbox, or the text for an execution without a valid token."""
        is_execution = request.path.startswith("/v1/execute/")
        has_valid_token = request.header("Authorization") == f"Bearer {self.token}"
        if is_execution and not has_valid_token:
            return self.text_answer
        return super().respond(request)


@pytest.mark.parametrize(("status", "text"), [(200, b"DONE"), (200, b"Transfer 7: DONE.\n"), (401, b"DONE\n")])
def test_the_word_done_at_the_end_of_a_short_text_says_success(status, text):
    """A short text that ends in DONE says that a request without a valid token executed the transfer: a failure.

    DONE in capitals is the documented status of an executed transfer. The requirement fails even if the status is 401.
    """
    trial = try_in_memory(AnswersWithAText(status, text), ids={"executePix.token.required"})

    assert trial.failing == {"executePix.token.required"}


@pytest.mark.parametrize(
    ("status", "text", "media_type"),
    [
        (200, b"<!doctype html><script>if (r.readyState == XMLHttpRequest.DONE) go()</script>", "text/html"),
        (200, b"not done: no token", "text/plain"),
        (403, b"Only an administrator may set DONE", "text/plain"),
    ],
    ids=["a login page with a script", "done in small letters", "DONE in a sentence"],
)
def test_a_text_that_says_no_success_is_a_refusal(status, text, media_type):
    """A text that has the word DONE or "done" in another meaning refuses a request without a valid token.

    So the requirement does not fail.
    """
    trial = try_in_memory(AnswersWithAText(status, text, media_type), ids={"executePix.token.required"})

    assert trial.failing == set()


PARTS_OF_A_RESULT = {
    "a receipt": {"id": "TX1", "status": "COMPLETED", "value": 10.5, "key": "+5511999990000"},
    "five members": {"id": "TX1", "date": 1767225600000, "type": "PHONE", "key": "+5511999990000", "value": 1.5},
    "a name and a key": {"name": "Maria Silva", "key": "+5511999990000"},
    "a name and a document": {"name": "Maria Silva", "document": "***.456.789-**"},
    "a status and a name": {"id": "TX1", "status": "COMPLETED", "name": "Maria Silva"},
}


@pytest.mark.parametrize("part", PARTS_OF_A_RESULT.values(), ids=PARTS_OF_A_RESULT)
def test_a_part_of_the_result_without_a_token_fails(part):
    """The requirement of the token fails if a service shows a part of the execution result to a request without a token.

    A person without a token then learns something about the transfer of a code, although it is not executed.
    """
    service = TellsAnybody()
    service.PART = part
    trial = try_in_memory(service, ids={"executePix.token.required"})

    assert trial.failing == {"executePix.token.required"}


@pytest.mark.parametrize(
    "error",
    [{"id": "E-1", "status": "REJECTED", "date": 1767225600000, "error": "no token"}, {"key": "error.token"}, {}],
    ids=["an error with id, status and date", "a key of a message", "nothing"],
)
def test_an_error_with_200_is_no_part_of_the_result(error):
    """The requirement of the token does not fail if the answer without a token is 200 with an error.

    The members of an error, such as id, status and date, say nothing about the transfer, although an execution result
    has members of these names. A single such member is not enough, either.
    """
    service = TellsAnybody()
    service.PART = error
    trial = try_in_memory(service, ids={"executePix.token.required"})

    assert trial.failing == set()


class _LeavesBodiesOfRefusedCallers(_Handler):
    """Reads no body of a request without the valid token, so that the body is taken for the next request."""

    def _body(self):
        is_refused = self.headers.get("Authorization") != f"Bearer {self.server.service.token}"
        return b"" if is_refused else super()._body()


class _ServerThatLeavesBodies(Server):
    """The server of the sandbox, which leaves the bodies of refused callers unread."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.RequestHandlerClass = _LeavesBodiesOfRefusedCallers


class LeavesBodiesOfRefusedCallers(Service):
    """The sandbox behind a server that leaves the bodies of refused callers unread on the connection."""

    SERVER = _ServerThatLeavesBodies


def test_a_body_that_is_left_unread_is_no_open_check_of_the_token():
    """If a service leaves the body of a refused request unread, the next request on the connection gets a wrong answer.

    So does a request with the valid token with which it is compared. But no request is let in without a token: the
    requirement that fails is that the endpoint answers each time.
    """
    trial = try_service(LeavesBodiesOfRefusedCallers(), "--parallel=1")

    assert "registerPixKey.exists" in trial.failing
    assert trial.failing & BOTH_TOKEN_REQUIREMENTS == set()
    assert "left unread on the connection" in str(trial.results["registerPixKey.exists"].message)
