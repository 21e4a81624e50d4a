"""Faults of a service that only a value shows which is drawn at random: which of them a run finds, and what it reports.

A run reports the smallest request (case) that shows a fault.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, Self

import pytest

from environments.profiles.loading import load
from environments.sandbox import Request as Asked
from environments.sandbox import Response as Answer
from environments.sandbox import Service
from reports.showing.resending import NOT_SHOWN_ALONE, SHOWN_AFTER_STEPS
from spec.exchange import Exchange, Purpose, Request, Response
from spec.interface import KEY_TYPES
from spec.json_text import as_bytes
from spec.rules.reproduction import Reproduction
from tests.selftest.proof.mutants.making_faults import json_members
from tests.selftest.proof.variants.conforming_making import DROPPED, DropsConnections
from tests.selftest.shared_runs import run_with_files
from tests.traffic.case import Case
from tests.traffic.property import MOST_SMALLER_CASES, Generation, default_examples

SANDBOX = load("sandbox")
SEEDS = (1, 2)
"""Numbers from which the random values of a run depend. Each test tries both."""


@dataclass(frozen=True)
class Fault:
    """A fault of a service: it fails at requests to one operation whose body, or whose path parameter, is unusual.

    `fails` is a function that returns True for such a body or path parameter.
    """

    operation: str
    fails: "ServiceFails"
    is_of_the_path: bool = False
    """True if `fails` gets the path parameter of a request, and not its body."""

    def is_shown_by(self, case: Case) -> bool:
        """True if a service with this fault fails on the case, which is a drawn request."""
        if self.is_of_the_path:
            return self.fails(case.path_parameter)
        return case.body is not None and self.fails(json.loads(case.body))


ServiceFails = Callable[[Any], bool]
"""A function that gets a JSON body, a value in it or a path parameter, and returns True if the service fails at it."""


def member(name: str, fails: ServiceFails) -> ServiceFails:
    """A service that fails at some values of one member of a body.

    It is a function that gets a body, and returns True if `fails` returns True for the member with this name.
    """

    def fails_at_member(body: Any) -> bool:
        """True if the body is an object that has the member, and the service fails at its value."""
        has_member = isinstance(body, dict) and name in body
        return has_member and fails(body[name])

    return fails_at_member


def text(name: str, fails: ServiceFails) -> ServiceFails:
    """Like `member`, but the service fails only if the value of the member is a text."""
    return member(name, lambda value: isinstance(value, str) and fails(value))


def number(name: str, fails: ServiceFails) -> ServiceFails:
    """Like `member`, but the service fails only if the value of the member is a number."""
    return member(name, lambda value: type(value) in (int, float) and fails(value))


FAULTS: Mapping[str, Fault] = {
    "a percent sign": Fault("transferInternal", text("description", lambda value: "%" in value)),
    "a backslash": Fault("registerPixKey", text("pixKey", lambda value: "\\" in value)),
    "a quote": Fault("deletePixKey", text("pixKey", lambda value: '"' in value)),
    "a bracket": Fault("transferExternal", text("to", lambda value: "<" in value)),
    "a control character": Fault("createPix", text("pixKey", lambda value: "\0" in value)),
    "a character outside the basic plane": Fault("registerPixKey", text("account", lambda value: max(value, default="") > "\uffff")),
    "a text of one letter": Fault("transferP2p", text("description", lambda value: len(value) == 1)),
    "an empty text": Fault("transferInternal", text("from", lambda value: not value)),
    "a text of 256 characters": Fault("createPix", text("message", lambda value: len(value) > 255)),
    "digits alone": Fault("createPix", text("value", str.isdecimal)),
    "a boolean": Fault("createPix", member("message", lambda value: isinstance(value, bool))),
    "null": Fault("transferP2p", member("to", lambda value: value is None)),
    "an array": Fault("transferInternal", member("to", lambda value: isinstance(value, list))),
    "an object": Fault("createPix", member("account", lambda value: isinstance(value, dict))),
    "a negative number": Fault("transferExternal", number("value", lambda value: value < 0)),
    "a huge number": Fault("transferP2p", number("value", lambda value: value > 1e12)),
    "a fraction": Fault("transferInternal", number("date", lambda value: value % 1 != 0)),
    "two members without a third": Fault(
        "transferExternal", lambda body: isinstance(body, dict) and {"from", "to"} <= body.keys() and "date" not in body
    ),
    "one member alone": Fault("transferP2p", lambda body: isinstance(body, dict) and body.keys() == {"value"}),
    "a type with digits": Fault(
        "registerPixKey",
        lambda body: member("pixKeyType", lambda value: value in ("CPF", "CNPJ"))(body) and text("pixKey", str.isdecimal)(body),
    ),
    "a member that is not documented": Fault(
        "registerPixKey", lambda body: isinstance(body, dict) and bool(body.keys() - {"pixKey", "account", "pixKeyType"})
    ),
    "a path of digits alone": Fault("getBalance", str.isdecimal, is_of_the_path=True),
    "an apostrophe in the path": Fault("listEntries", lambda place: "'" in place, is_of_the_path=True),
    "a blank in the path": Fault("executePix", lambda place: " " in place, is_of_the_path=True),
}  # fmt: skip
"""Faults of services, each by the name of that on which the service fails."""


CLASSES_OF_EVERY_RUN: Mapping[str, Fault] = {
    "the sign of zero": Fault("createPix", number("value", lambda value: str(value) == "-0.0")),
    "an infinite amount": Fault("transferP2p", number("value", lambda value: value == math.inf)),
    "an infinite date": Fault("transferInternal", number("date", lambda value: value == math.inf)),
    "less than a cent": Fault("transferP2p", number("value", lambda value: 0 < value < 0.001)),
    "a date with an offset": Fault("transferInternal", text("date", lambda value: value.endswith("-03:00"))),
    "the year zero": Fault("transferP2p", text("date", lambda value: value.startswith("0000"))),
    "a leap day": Fault("transferP2p", text("date", lambda value: value.endswith("02-29"))),
    "the text null": Fault("createPix", text("message", lambda value: value == "null")),
    "a line break at the end": Fault("registerPixKey", text("pixKey", lambda value: value.endswith("\n"))),
    "a leading zero": Fault("transferInternal", text("from", lambda value: value.isdigit() and value[0] == "0")),
    "half of a pair": Fault("deletePixKey", text("pixKey", lambda value: "\ud83d" in value)),
    "an object with members": Fault("createPix", member("account", lambda value: isinstance(value, dict) and value)),
    "nesting": Fault("transferP2p", member("description", lambda value: str(value).count("[") > 20)),
    "capital letters": Fault("registerPixKey", text("account", lambda value: value == "AC-0001")),
    "capital letters in the path": Fault("listEntries", lambda place: place == "AC-0001", is_of_the_path=True),
    "an empty name": Fault("deletePixKey", lambda body: isinstance(body, dict) and "" in body),
    "a name of JavaScript": Fault("transferP2p", lambda body: isinstance(body, dict) and "__proto__" in body),
    "the payer as payee": Fault("transferP2p", lambda body: isinstance(body, dict) and body.get("from") == body.get("to") == "ac-0001"),
    "a type with blanks": Fault("registerPixKey", text("pixKeyType", lambda value: value == " EMAIL ")),
    "a CPF with dots": Fault("registerPixKey", lambda body: isinstance(body, dict) and body.get("pixKeyType") == "CPF" and "." in str(body.get("pixKey"))),
}  # fmt: skip
"""By a class of values what a service fails on: classes of which each run sends a value, whatever its seed is."""
CLASSES_OF_MORE_EXAMPLES: Mapping[str, Fault] = {
    "a day that is no date": Fault("transferP2p", text("date", lambda value: value.startswith("2026-13"))),
    "a date without signs": Fault("transferExternal", text("date", lambda value: value == "20260115")),
    "a leap second": Fault("transferInternal", text("date", lambda value: ":60" in value)),
    "a date with a blank": Fault("transferP2p", text("date", lambda value: " " in value.strip() and ":" in value)),
    "hexadecimal digits": Fault("createPix", text("value", lambda value: value.startswith("0x"))),
    "two separators": Fault("transferP2p", text("value", lambda value: "." in value and "," in value and len(value) < 20)),
    "blanks around a number": Fault("transferInternal", text("value", lambda value: value != value.strip() and value.strip() == "7")),
    "a text of 33 characters": Fault("createPix", text("message", lambda value: len(value) == 33)),
    "a text of 64 KiB": Fault("transferP2p", text("description", lambda value: len(value) > 65_536)),
    "the text undefined": Fault("transferExternal", text("to", lambda value: value == "undefined")),
    "an array in an array": Fault("transferExternal", member("value", lambda value: value == [[1]])),
    "null beside a missing member": Fault(
        "transferP2p",
        lambda body: isinstance(body, dict) and "from" in body and "to" in body and body["to"] is None and "description" not in body,
    ),
}  # fmt: skip
"""The same for classes that are drawn: the more examples a run has, the more of these it sends."""


@cache
def request_drawer() -> Any:
    """Draws requests to the sandbox, made once in each process."""
    from tests.traffic.drawing.cases import Drawing  # it loads Schemathesis, which most self-tests do without

    return Drawing(SANDBOX)


@cache
def cases(operation: str, seed: int) -> list[Case]:
    """The requests to an operation that a run with default options draws with this seed."""
    return request_drawer().cases(operation, seed, default_examples(operation))


def smallest_case_that_shows(fault: Fault, seed: int) -> Case | None:
    """The smallest request that is drawn with this seed and shows the fault. None if no request shows it."""
    cases_with_fault = [case for case in cases(fault.operation, seed) if fault.is_shown_by(case)]
    return min(cases_with_fault, key=lambda case: case.size, default=None)


def test_most_faults_are_found_by_default():
    """Requests that are drawn at the default settings show at least nine of ten faults of a service.

    A fault is something that a service fails on, such as a percent sign. The requests are drawn at random, and another
    version of Schemathesis draws others, so a few faults may be missed.
    """
    faults_and_seeds = [(name, seed) for name in FAULTS for seed in SEEDS]
    missed = [(name, seed) for name, seed in faults_and_seeds if smallest_case_that_shows(FAULTS[name], seed) is None]

    assert len(missed) <= len(faults_and_seeds) / 10, missed


@pytest.mark.parametrize("name", CLASSES_OF_EVERY_RUN)
def test_every_run_has_each_of_the_usual_classes(name):
    """Each run sends a value of every usual class, such as a leap day, whatever its seed is.

    Requests that a run sends with two different seeds are not drawn at random. One of them must show the fault.
    """
    fault = CLASSES_OF_EVERY_RUN[name]
    cases_of_both_seeds = set(cases(fault.operation, 1)) & set(cases(fault.operation, 2))

    assert any(fault.is_shown_by(case) for case in cases_of_both_seeds)


def test_more_examples_bring_more_classes():
    """With 50 examples a run finds at least two of three faults that only a less usual value shows.

    With the default number of examples it finds fewer of them. Which of them it finds depends on the seed.
    """
    found_by_default = []  # pairs of a fault and a seed
    found_with_more = []
    for name, seed in product(CLASSES_OF_MORE_EXAMPLES, SEEDS):
        fault = CLASSES_OF_MORE_EXAMPLES[name]
        if any(map(fault.is_shown_by, cases(fault.operation, seed))):
            found_by_default.append((name, seed))
        if any(map(fault.is_shown_by, request_drawer().cases(fault.operation, seed, 50))):
            found_with_more.append((name, seed))
    possible = len(CLASSES_OF_MORE_EXAMPLES) * len(SEEDS)

    assert len(found_by_default) < len(found_with_more)
    assert len(found_with_more) >= possible * 2 / 3


@pytest.mark.parametrize("name", FAULTS)
def test_a_smallest_case_has_the_size_of_the_fault(name):
    """From a drawn request that shows a fault, the search finds a small request that shows it, too.

    It tries at most 40 smaller requests. The smallest one has little more than the fault, such as the member with the
    percent sign: at most 70 bytes. Only a text of 256 characters needs more.
    """
    most_bytes = 300 if name == "a text of 256 characters" else 70
    fault = FAULTS[name]
    drawn_case = None
    for seed in range(1, 20):  # the first seed with which a request is drawn that shows the fault
        drawn_case = drawn_case or smallest_case_that_shows(fault, seed)
    smaller_cases: dict[Case, bool] = {}  # each case that was tried, and whether it shows the fault

    def shows_fault(case: Case) -> bool:
        """True if a case shows the fault. After 40 smaller cases no further one is tried, as in a run."""
        if case == drawn_case:
            return True
        if case not in smaller_cases:
            may_be_sent = len(smaller_cases) < MOST_SMALLER_CASES
            smaller_cases[case] = may_be_sent and fault.is_shown_by(case)
        return smaller_cases[case]

    request_drawer().search_for_smaller_case(drawn_case, shows_fault)
    sizes = [case.size for case, is_shown in smaller_cases.items() if is_shown]

    assert min([drawn_case.size, *sizes]) <= most_bytes


# -- whole runs ----------------------------------------------------------------------------------------------------


class FailsOnAPercentSign(Service):
    """The sandbox, which fails if the description of a transfer has a percent sign."""

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of the sandbox's answer if the description has a percent sign."""
        description = str(json_members(request).get("description"))
        if operation == "transferInternal" and "%" in description:
            return replace(response, status=500)
        return response


class FailsWhileTheLastRegistrationWasRepeated(Service):
    """The sandbox, which cannot read the list of keys if the last registration was the same as the one before."""

    body_of_last_registration = b""
    was_repeated = False

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of each list of keys after two equal registrations."""
        if operation == "registerPixKey":
            self.was_repeated = request.body == self.body_of_last_registration
            self.body_of_last_registration = request.body
        return replace(response, status=500) if operation == "listPixKeys" and self.was_repeated else response


class FailsAfterASecondRegistration(FailsWhileTheLastRegistrationWasRepeated):
    """The sandbox, which once cannot read the list of keys after a key was registered twice in a row."""

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of the first list of keys after two equal registrations."""
        answer = super().finish(request, operation, response)
        if operation == "listPixKeys":
            self.was_repeated = False
        return answer


def failing_requirement_and_finding(tmp_path, service, *options):
    """The only failing requirement of a run of generated requests, and its finding in the report."""
    run = run_with_files(tmp_path, service, "-m", "property", *options)
    [requirement] = [row for row in run.document["requirements"] if row["verdict"] == "fail"]
    [finding] = run.document["findings"]
    return requirement, finding


def test_a_run_names_the_smallest_request(tmp_path):
    """A finding of generated traffic names the smallest request that shows the fault, and reproduces that request.

    This service fails if the description of a transfer has a percent sign. The smallest request has the description,
    and no other member, such as `from`.
    """
    requirement, finding = failing_requirement_and_finding(
        tmp_path, FailsOnAPercentSign, "-k", "transferInternal", "--seed=3"
    )
    number_of_first_exchange = requirement["exchanges"][0]

    assert requirement["id"] == "transferInternal.serverError"
    assert f"smallest: exchange {number_of_first_exchange})" in requirement["message"]
    assert "description" in finding["reproduce"]
    assert '"from"' not in finding["reproduce"]


def test_a_run_names_the_shortest_sequence(tmp_path):
    """If only a sequence of requests shows a fault, the message lists the steps of the shortest such sequence.

    This service cannot read the list of keys after the same registration came twice.
    """
    requirement, _ = failing_requirement_and_finding(
        tmp_path, FailsAfterASecondRegistration, "-k", "registerPixKey or listPixKeys", "--seed=3"
    )
    steps = "1. a registration, 2. a registration, 3. the list of keys"

    assert requirement["id"] == "listPixKeys.serverError"
    assert f"in a sequence ({steps})" in requirement["message"]


class FailsOnABrokenPercentEncoding(Service):
    """The sandbox, which fails if the path of a balance has a percent sign without two hexadecimal digits behind it."""

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of the sandbox's answer if it cannot decode the path."""
        is_balance = request.path.startswith("/v1/accounts/balance/")
        has_broken_encoding = re.search("%(?![0-9A-Fa-f]{2})", request.path) is not None
        return replace(response, status=500) if is_balance and has_broken_encoding else response


def test_a_broken_percent_encoding_is_sent_and_reproduced(tmp_path):
    """A service that fails on `%zz` in a path is found, and the line that reproduces the finding has the same path."""
    requirement, finding = failing_requirement_and_finding(tmp_path, FailsOnABrokenPercentEncoding, "-k", "getBalance")

    assert requirement["id"] == "getBalance.serverError"
    assert "/v1/accounts/balance/pixconf-%zz%25ff'" in finding["reproduce"]


def has_plus_sign(request: Asked) -> bool:
    """True if the key in the body of a request has a plus sign behind other text."""
    return str(json_members(request).get("pixKey")).rfind("+") > 0


class FailsAfterRegisteringAPlusSign(DropsConnections):
    """The sandbox, which registers a key with a plus sign behind other text, and answers with `FALL` then.

    A later registration of the same key gets the right answer: the key is known.
    """

    FALL = Answer(500, b"{}", (("Content-Type", "application/json"),))

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """The answer; FALL for the registration of a key that was not known, with a plus sign behind other text."""
        was_registered_now = operation == "registerPixKey" and b'"true"' in response.body
        return self.FALL if was_registered_now and has_plus_sign(request) else response


class IsDroppedAfterRegisteringAPlusSign(FailsAfterRegisteringAPlusSign):
    """The same, but the service drops the connection instead of answering."""

    FALL = DROPPED


class FailsAfterRegisteringBesideOthers(FailsAfterRegisteringAPlusSign):
    """The same, but only the first time: so other requests may have been the reason."""

    has_failed = False

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """The answer; FALL for the first registration of a key with a plus sign behind other text."""
        answer = response if self.has_failed else super().finish(request, operation, response)
        self.has_failed = self.has_failed or answer is self.FALL
        return answer


@pytest.mark.parametrize("parallel", [1, 8])
@pytest.mark.parametrize(
    ("service", "requirement_id"),
    [
        (FailsAfterRegisteringAPlusSign, "registerPixKey.serverError"),
        (IsDroppedAfterRegisteringAPlusSign, "registerPixKey.connection"),
    ],
)
def test_a_registration_that_fails_after_it_is_stored_is_found(service, requirement_id, parallel, tmp_path):
    """A doubtful registration is sent again with another key of the same form, because the first key may be stored."""
    options = ("-k", "registerPixKey", f"--parallel={parallel}")
    requirement, finding = failing_requirement_and_finding(tmp_path, service, *options)
    [key] = re.findall(r'"pixKey": "([^"]*)"', finding["reproduce"])

    assert requirement["id"] == requirement_id
    assert "+" in key
    assert len(key) < 40


@pytest.mark.parametrize("parallel", [1, 8])
def test_a_registration_that_fails_once_after_it_is_stored_is_no_finding(parallel, tmp_path):
    """If another key of the same form is registered as it should be, the first answer was chance."""
    options = ("-m", "property", "-k", "registerPixKey", f"--parallel={parallel}")
    run = run_with_files(tmp_path, FailsAfterRegisteringBesideOthers, *options)

    assert run.document["findings"] == []


class AnswersAPlusSignOtherwise(Service):
    """The sandbox, which answers the registration of a key with a plus sign behind other text with `BODY`.

    It registers the key, too, unless `REFUSES` is true.
    """

    BODY = b"OK"
    REFUSES = False

    def perform(self, operation: str, request: Asked, argument: str) -> Any:
        """Do what the request asks for; nothing if the service refuses the key."""
        if self.REFUSES and operation == "registerPixKey" and has_plus_sign(request):
            return {}
        return super().perform(operation, request, argument)

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """The answer, with another body if the key has a plus sign behind other text."""
        is_affected = operation == "registerPixKey" and response.status == 200 and has_plus_sign(request)
        return replace(response, body=self.BODY) if is_affected else response


class AnswersAPlusSignWithoutData(AnswersAPlusSignOtherwise):
    """The same, with an envelope that has no `data`."""

    BODY = b'{"code": 0}'


class AnswersAPlusSignWithATextAsNumber(AnswersAPlusSignOtherwise):
    """The same, with a text as DocumentNumber."""

    BODY = b'{"code": 0, "data": {"Success": "true", "Message": "", "Key": null, "DocumentNumber": "7"}}'


class RefusesAPlusSignWithAText(AnswersAPlusSignOtherwise):
    """The same as the first one, but it does not register the key: it refuses it in its own way, which is no fault."""

    REFUSES = True


@pytest.mark.parametrize(
    ("service", "requirement_id"),
    [
        (AnswersAPlusSignOtherwise, "registerPixKey.json"),
        (AnswersAPlusSignWithoutData, "registerPixKey.envelope.data.present"),
        (AnswersAPlusSignWithATextAsNumber, "registerPixKey.DocumentNumber.type"),
    ],
)
def test_the_answer_to_an_accepted_drawn_registration_is_judged(service, requirement_id, tmp_path):
    """A drawn registration was accepted if the answer says so, or if a list of keys shows its key.

    Then its answer must be as documented. The report names a small request that shows it.
    """
    requirement, finding = failing_requirement_and_finding(tmp_path, service, "-k", "registerPixKey")
    [key] = re.findall(r'"pixKey": "([^"]*)"', finding["reproduce"])

    assert requirement["id"] == requirement_id
    assert "+" in key
    assert len(key) < 40


def test_the_answer_to_a_refused_drawn_registration_is_not_judged(tmp_path):
    """A service may refuse an unusual key in its own way, even with status 200 and a text that is no JSON."""
    run = run_with_files(tmp_path, RefusesAPlusSignWithAText, "-m", "property", "-k", "registerPixKey")

    assert run.document["findings"] == []


class FailsAfterAWrongType(Service):
    """The sandbox, which cannot read a balance if the last registration had an undocumented type."""

    had_wrong_type = False

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of each balance after a registration with an undocumented type."""
        if operation == "registerPixKey":
            self.had_wrong_type = json_members(request).get("pixKeyType") not in KEY_TYPES
        return replace(response, status=500) if operation == "getBalance" and self.had_wrong_type else response


class FailsToReadEachFifthBalance(Service):
    """The sandbox, which cannot read each fifth balance, whatever comes before it."""

    number_of_reads = 0

    def finish(self, request: Asked, operation: str | None, response: Answer) -> Answer:
        """Answer with status 500 in the place of each fifth balance."""
        if operation == "getBalance" and response.status == 200:
            self.number_of_reads += 1
            if self.number_of_reads % 5 == 0:
                return replace(response, status=500)
        return response


def findings_of_run(tmp_path, service, selected):
    """The findings of a run with all its tests about the selected operations, targeted and generated ones."""
    return run_with_files(tmp_path, service, "-k", selected).document["findings"]


@pytest.mark.parametrize(
    ("service", "methods"),
    [(FailsWhileTheLastRegistrationWasRepeated, ["POST", "POST", "GET"]), (FailsAfterAWrongType, ["POST", "GET"])],
)
def test_the_lines_of_a_finding_send_the_steps_that_it_needs(service, methods, tmp_path):
    """If a valid request shows a fault only after certain steps, the finding has a line for each of them, in order.

    The steps are few, and the lines say that the last one shows the fault.
    """
    [finding] = findings_of_run(tmp_path, service, "registerPixKey or listPixKeys or getBalance")
    lines = [line for line in finding["reproduce"].splitlines() if line.startswith("curl")]

    assert [re.search("-X ([A-Z]+)", line)[1] for line in lines] == methods
    assert SHOWN_AFTER_STEPS in finding["reproduce"]
    assert all(line.endswith("> /dev/null") for line in lines[:-1])


def test_the_lines_of_a_finding_say_if_the_request_alone_does_not_show_it(tmp_path):
    """If no steps are found after which a fault surely shows, a comment names the exchange that was answered rightly."""
    [finding] = findings_of_run(tmp_path, FailsToReadEachFifthBalance, "getBalance")

    assert NOT_SHOWN_ALONE in finding["reproduce"]
    assert SHOWN_AFTER_STEPS not in finding["reproduce"]


class SendsInOrder:
    """In the place of the part of a run that sends several requests at once: it sends one after the other."""

    def send_all(self, sends: list[Callable[[], Exchange]]) -> list[Exchange]:
        """Send each request, and return the exchanges."""
        return [send() for send in sends]


class ClientOfAServiceThatFailsOnADollarOrATilde:
    """In the place of the client of a run. It sends nothing, and makes up the answer of a service.

    The service fails if there is a dollar sign or a tilde in the path parameter or in the body.
    """

    def __init__(self) -> None:
        """Nothing was sent yet."""
        self.log: list[Exchange] = []

    def of_generator(self, name: str) -> Self:
        """This client. A real one marks its requests as generated."""
        return self

    def with_purpose(self, purpose: Purpose) -> Self:
        """This client. A real one gives its requests a purpose."""
        return self

    def send(self, operation: str, place: str | bytes | None, *, body: bytes | None, **rest: Any) -> Exchange:
        """Add an exchange to the log: status 500 if there is a dollar sign or a tilde, else 404."""
        sent = as_bytes(str(place)) + (body or b"")
        fails = re.search(rb"[$~]", sent) is not None
        request = Request("POST", "http://127.0.0.1/", (), body or b"")
        response = Response(500 if fails else 404, (), b"{}")
        exchange = Exchange(len(self.log) + 1, operation, request, response, valid=False)
        self.log.append(exchange)
        return exchange


@pytest.mark.parametrize(
    ("operation", "is_sandbox", "smaller_cases_are_sent"),
    [
        ("executePix", True, False),
        ("executePix", False, False),
        ("transferP2p", True, True),
        ("transferP2p", False, False),
        ("createPix", False, False),
        ("registerPixKey", False, True),
        ("getBalance", False, True),
    ],
)
def test_nothing_that_may_move_money_is_sent_for_a_smaller_case(operation, is_sandbox, smaller_cases_are_sent):
    """To find a smaller request that shows a fault, no execution is sent, and transfers only on a sandbox.

    A sandbox is a target where nothing is worth anything. No finding takes more than 40 such requests. The service of
    this test fails if a request has a dollar sign or a tilde.
    """
    profile = SANDBOX if is_sandbox else replace(SANDBOX, base_url="https://bank.example", sandbox=None)
    client = ClientOfAServiceThatFailsOnADollarOrATilde()
    generation = Generation(client, profile, Reproduction(client.log))
    generation.add_operation(operation, seed=1, examples=20)
    generation.send(SendsInOrder())
    number_of_drawn_requests = len(client.log)
    generation.send_smaller_cases()
    number_of_smaller_requests = len(client.log) - number_of_drawn_requests

    assert (number_of_smaller_requests > 0) is smaller_cases_are_sent
    assert number_of_smaller_requests <= MOST_SMALLER_CASES == 40
