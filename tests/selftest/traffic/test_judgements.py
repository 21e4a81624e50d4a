"""Judgements about several answers together.

`none_granted` says whether a request without a valid token was granted. `token_is_required` compares such answers with
those to valid requests. The last tests are about deviations in parallel requests, about refused codes, and about
prepared transfers.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from environments.door.prepared import Prepared
from environments.door.wrong_tokens import NO_HEADER, WRONG_TOKEN
from environments.secret_values import ACCOUNT, Known
from spec.findings import Conclusion
from spec.log import Log
from spec.rules.reproduction import Reproduction
from tests.harness.finishing import _line_about_refused_codes, _notes_on_refused_accounts, _reason_in_words
from tests.selftest.exchanges import EXECUTION_RESULT, answer, execution, registration
from tests.traffic.at_times import Disagreement
from tests.traffic.judgements import (
    documented_execution_is_enough,
    executions_to_compare_with,
    none_granted,
    token_is_accepted_as_bearer_only,
    token_is_required,
)
from tests.traffic.money.executions import Execution, later_executions


@pytest.mark.parametrize(
    ("reason_why_unreadable", "conclusion"),
    [("", Conclusion.HOLDS), ("no gzip", Conclusion.INCONCLUSIVE)],
    ids=["readable", "unreadable"],
)
def test_a_200_that_cannot_be_read_is_no_refusal_of_a_wrong_token(reason_why_unreadable, conclusion):
    """If a wrong token gets a 200 that cannot be read, nobody can judge whether the service executed with it.

    The unreadable body may be the result of the execution. A login page that can be read is a refusal.
    """
    login_page = answer("executePix", b"<html>", credential="a wrong token (of a JWT: another signature)", valid=False)
    other_answer = replace(login_page, response=replace(login_page.response, broken=reason_why_unreadable))

    assert none_granted([login_page, other_answer], "executed").conclusion is conclusion


@pytest.mark.parametrize(
    ("answers_to_bare_token", "answers_to_wrong_token", "conclusion"),
    [
        ([404, 404], [401, 401], Conclusion.DEVIATES),
        ([404, 401], [401, 401], Conclusion.HOLDS),
        ([401], [401], Conclusion.HOLDS),
        ([404, 404], [401, 404], Conclusion.INCONCLUSIVE),
    ],
    ids=["each time", "only once", "never", "a wrong token is once, too"],
)
def test_another_scheme_is_accepted_if_it_is_answered_like_the_token_each_time(
    answers_to_bare_token, answers_to_wrong_token, conclusion
):
    """The token without the word Bearer is accepted if each answer is that to the valid token: 404 for an unknown code.

    If one server of several does not check tokens, it gives that answer by chance, and to a wrong token, too.
    """
    statuses = [("valid", Execution.UNKNOWN_CODE, [404])]
    for credential, answers in (("the bare token", answers_to_bare_token), (WRONG_TOKEN, answers_to_wrong_token)):
        statuses.append((credential, Execution.UNKNOWN_CODE_REFUSED, answers[:1]))
        statuses.append((credential, Disagreement.REFUSED_SCHEME, answers[1:]))
    log = Log()
    for credential, purpose, answers in statuses:
        for status in answers:
            log.add(answer("executePix", {}, status=status, credential=credential, purpose=purpose, valid=False))

    assert token_is_accepted_as_bearer_only(log).conclusion is conclusion


@pytest.mark.parametrize(
    ("end_of_body", "conclusion"),
    [
        ({"data": {"receipt": "none"}}, Conclusion.HOLDS),
        (
            {"data": {"receipt": "printed"}, "path": "/v1/execute/pix/TX-2", "at": "2026-11-28T23:10:00Z"},
            Conclusion.DEVIATES,
        ),
    ],
    ids=["another end", "the same but for the path and the time"],
)
def test_large_answers_are_alike_if_their_ends_are(end_of_body, conclusion):
    """A large answer to a wrong token is compared to its end with the answer to the valid token.

    Both answers begin with the same legal notice of 90 kB here. If they differ only in the path and the time, the wrong
    token was accepted, and the requirement fails.
    """
    beginning = {"code": 0, "notice": "not for everybody " * 5_000}
    end_of_success = {"data": {"receipt": "printed"}, "path": "/v1/execute/pix/TX-1", "at": "2026-11-28T09:10:00Z"}
    with_valid_token = answer("executePix", beginning | end_of_success)
    with_wrong_token = answer(
        "executePix", beginning | end_of_body, path="/v1/execute/pix/TX-2",
        credential="a wrong token (of a JWT: another signature)", valid=False,
    )  # fmt: skip

    assert token_is_required([with_wrong_token], [with_valid_token], "executed").conclusion is conclusion


def log_with_later_success(*, status_without_token=401, status_with_token=422, generator="sequences"):
    """A log of a service that executes nothing at first, for example at night, and executes a transfer later.

    1. An execution without a token gets `status_without_token`.
    2. An execution with the valid token gets `status_with_token`.
    3. An execution that was drawn by `generator`, such as a sequence of operations, succeeds.
    """
    without_token = execution(
        {},
        status=status_without_token,
        credential=NO_HEADER,
        valid=False,
        purpose=Execution.UNAUTHORIZED_BEFORE_EXECUTION,
    )
    refused = execution({}, status=status_with_token, purpose=Execution.SUPPLIED)
    succeeded = execution(generator=generator)
    exchanges = enumerate((without_token, refused, succeeded), 1)
    return Log(replace(exchange, number=number) for number, exchange in exchanges)


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, [3]),
        ({"status_without_token": 422}, []),
        ({"status_with_token": 401}, []),
        ({"generator": "executePix"}, []),
    ],
    ids=["tokens were checked", "nobody was told about a token", "the valid token was refused, too", "no sequence"],
)
def test_later_executions_are_compared_only_if_tokens_were_checked_before(changes, numbers):
    """A service executes nothing at first (a request without a token gets 401, the valid one 422), and executes later.

    The later execution (number 3) is compared with the request without a token only if the service checked tokens at
    first: then the 401 was about the token, and not about the time of the day. It must be an execution of a sequence.
    """
    log = log_with_later_success(**changes)
    without_token = log.of("executePix", Execution.UNAUTHORIZED_BEFORE_EXECUTION)
    compared = executions_to_compare_with(log, without_token)

    assert [exchange.number for exchange in compared] == numbers


def test_later_executions_do_not_count_if_an_earlier_one_succeeded():
    """Executions of drawn sequences count only if no execution before the sequences succeeded. Here one succeeded
    (200).

    So the executions of sequences are judged as generated traffic alone.
    """
    log = log_with_later_success(status_with_token=200)

    assert later_executions(log) == []


def test_a_later_execution_shows_that_the_documented_request_is_enough():
    """A service that executes nothing at night and executes a transfer later needs no more than is documented."""
    judgement = documented_execution_is_enough(log_with_later_success(), None)

    assert judgement.holds
    assert [exchange.number for exchange in judgement.exchanges] == [3]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (200, "executed with a wrong token (of a JWT: another signature)"),
        (
            401,
            "answered 401 application/json with the result in the answer, with a wrong token (of a JWT: another signature)",
        ),
    ],
)
def test_a_refusal_with_a_result_has_its_own_message(status, message):
    """If a wrong token gets an execution result with status 200, the message says "executed".

    A 401 with the result leaves open whether the transfer was executed, so the message only says what the answer was.
    """
    exchange = execution(status=status, credential="a wrong token (of a JWT: another signature)", valid=False)

    assert str(none_granted([exchange], "executed").message) == message


SHORT_SUCCESS = {"code": 0, "data": {"receipt": "printed"}}
LONG_SUCCESS = {"code": 0, "data": {"receipt": "printed", "copy": None}}
VALID_REQUESTS = [answer("executePix", SHORT_SUCCESS), answer("executePix", LONG_SUCCESS)]


def test_every_form_that_is_let_in_is_named():
    """Three requests with a wrong token are answered like a valid request. The message names the form of each wrong
    token, with the unusual spelling of its header.

    The valid requests got two different answers here, and it is enough to be answered like either of them.
    """
    with_wrong_tokens = [
        answer("executePix", SHORT_SUCCESS, valid=False, credential="no header"),
        answer("executePix", LONG_SUCCESS, valid=False, credential="a wrong token"),
        answer("executePix", SHORT_SUCCESS, valid=False, credential="another scheme", spelling=("in lower case",)),
    ]
    message = token_is_required(with_wrong_tokens, VALID_REQUESTS, "executed").message

    assert str(message) == (
        "answered like the valid request with no header, a wrong token, another scheme + in lower case"
    )


def test_of_many_forms_that_are_let_in_six_are_named():
    """If more than six forms of a wrong token are answered like a valid request, the message names the first six of
    them.

    It says how many more there are.
    """
    with_wrong_tokens = [
        answer("executePix", SHORT_SUCCESS, valid=False, credential=f"form {number}") for number in range(1, 9)
    ]
    message = token_is_required(with_wrong_tokens, VALID_REQUESTS, "executed").message

    assert str(message).endswith("with form 1, form 2, form 3, form 4, form 5, form 6, 2 more")


def test_a_registration_that_does_not_deviate_alone_has_a_finding_that_says_so():
    """A finding says "only beside other requests" if the same request, sent alone, is answered as documented.

    `beside` is the number of other requests on the wire. The status 201 is not documented.
    """
    beside_another = registration(status=201, beside=1)
    alone = registration()
    judgement = Reproduction([beside_another, alone]).judge("registerPixKey.status", beside_another)

    only_beside_others = [not finding.alone for finding in judgement.findings]

    assert only_beside_others == [True]


def test_an_execution_of_another_code_is_no_repetition():
    """A finding about an execution never says "only beside other requests", because no execution is sent twice.

    A later execution has another code. It shows nothing about the first one, even if it is sent alone and conforms.
    `beside` is the number of other requests on the wire. The status 201 is not documented.
    """
    beside_another = execution(status=201, beside=1)
    of_another_code_alone = execution(path="/v1/execute/pix/TX-2")
    judgement = Reproduction([beside_another, of_another_code_alone]).judge("executePix.status", beside_another)

    only_beside_others = [not finding.alone for finding in judgement.findings]

    assert only_beside_others == [False]


_DOOR_WITHOUT_TROUBLE = SimpleNamespace(guard=SimpleNamespace(journal=True, prepared=Prepared(), unknown_outcomes=[]))


@pytest.mark.parametrize(
    ("status", "beside", "notes"),
    [
        (409, 1, []),
        (409, 0, ["1 of 2 transaction codes were refused: 409 application/json"]),
        (404, 1, ["1 of 2 transaction codes were refused: 404 application/json"]),
    ],
    ids=["409 beside another request", "409 alone", "404 beside another request"],
)
def test_a_conflict_of_two_executions_is_no_refusal_of_the_code(status, beside, notes):
    """The note about refused codes does not count a 409 to an execution that was sent beside another request.

    Of two executions at the same time a conforming service may refuse one with 409 (conflict). `beside` is the number
    of other requests on the wire.
    """
    refused_execution = answer("executePix", {}, status=status, beside=beside)
    successful_execution = execution(EXECUTION_RESULT)

    lines = _line_about_refused_codes(_DOOR_WITHOUT_TROUBLE, [refused_execution, successful_execution])

    assert [str(line) for line in lines] == notes


def test_a_prepared_code_with_a_percent_sign_is_a_code_of_this_run():
    """If the service refuses a code that this run prepared, the note does not ask if an earlier run executed it.

    The path has the code percent-encoded: `TX%2541` for the code `TX%41`. It is decoded once.
    """
    door_of_sandbox = SimpleNamespace(
        guard=SimpleNamespace(journal=None, prepared=Prepared({7: "TX%41"}), unknown_outcomes=[])
    )
    refused_execution = answer("executePix", {}, status=404, path="/v1/execute/pix/TX%2541")

    notes = list(map(str, _line_about_refused_codes(door_of_sandbox, [refused_execution])))

    assert notes == ["1 of 1 transaction codes were refused: 404 application/json"]


def test_the_note_on_a_refused_account_quotes_no_temporary_refusal():
    """The note about an account that everything refuses has the status of a lasting refusal, such as 404.

    The first answer is a 503 here, which says nothing about the account.
    """
    account = Known(ACCOUNT, "ac-9")
    statuses = {"listPixKeys": 503, "getBalance": 404, "listEntries": 404}
    answers = [answer(operation, {}, status=status, path="/v1/ac-9") for operation, status in statuses.items()]
    door = SimpleNamespace(secrets=SimpleNamespace(known=[account]), exchanges=answers)

    [note] = _notes_on_refused_accounts(door, answers)

    assert "(404 application/json)" in str(note.text)


@pytest.mark.parametrize(
    ("reason", "in_words"),
    [("", ""), ("its code was not sent", "its account is synthetic")],
    ids=["executed", "not executed"],
)
def test_a_transfer_that_was_executed_has_no_reason_why_it_was_not(reason, in_words):
    """The report says why a prepared transfer was not executed. For an executed one the recorded reason is empty, and
    the report gives none.

    An invalid request prepared the transfer here, for an account that the suite made up (synthetic). If it was not
    executed, that is the reason in the report.
    """
    preparation = answer("transferP2p", {"code": 0, "data": {}}, valid=False)

    assert str(_reason_in_words(preparation, reason, ["99999"])) == in_words
