"""Faults that show only while several requests are in flight.

Each service holds its answer until a second request is inside, so that no fault depends on chance. If no other request
comes, the request is answered as documented.
"""

from environments.sandbox import Refusal, Response
from spec.interface import SYNTHETIC_PREFIX, operations
from tests.selftest.proof.meeting import HoldsRequestsTogether
from tests.selftest.proof.mutants.making_faults import (
    HIDES_REGISTRATION,
    NAME_OF_OPERATION,
    DiffersInOperations,
    body_rewritten,
    with_status,
    without_self,
)
from tests.selftest.proof.mutants.robustness_faults import FALLS
from tests.selftest.proof.mutants.some_answers_faults import FAULTS
from tests.selftest.proof.registry import declare_mutant, ids_of_operation, mutant
from tests.selftest.proof.variants.conforming_making import html_answer, json_answer

# -- what a valid request gets


class AnswersInCompany(DiffersInOperations, HoldsRequestsTogether):
    """The sandbox, where `alter` changes each successful answer to `OPERATIONS` if a second request is in flight."""

    def finish(self, request, operation, response):
        """Hold a successful answer until a second request is inside, and then give the changed answer."""
        is_success = operation in self.OPERATIONS and response.status == 200
        if is_success and self.wait_for_another_request():
            return self.alter(response)
        return response


def _accounts(response):
    return json_answer(200, {"code": 0, "data": {"accounts": []}})


def _registration(response):
    data = {"Success": "true", "Message": "The registration request was received.", "Key": None, "DocumentNumber": 7}
    return json_answer(200, {"code": 0, "data": data})


_CODE, _CUT = (
    (name, what, alter, (row,)) for name in ("HasATextCode", "IsTruncated") for row, what, alter in (FAULTS[name],)
)
_PAGE = ("IsAPage", "is a page of HTML", lambda it: html_answer(200, "Welcome"))
_OF_RESULT = ids_of_operation("registerPixKey", "Success.*", "Key.*")
_NO_REGISTRATION = (
    "envelope.result",
    *(f"{field}.present" for field in ("Success", "Message", "Key", "DocumentNumber")),
)
_PRESENT = tuple(
    f"{field.name}.present" for field in operations()["executePix"].result if field.name not in ("key", "message")
)
"""Of the fields of the execution result that a registration result has under no spelling."""

IN_COMPANY = {
    "executePix": (
        ("IsTheAccounts", "is that of listAccounts", _accounts, ("envelope.result", *_PRESENT, "key.present", "message.present"), ("fields.extra",)),
        (
            "IsARegistration", "is that of a registration", _registration,
            (*_PRESENT, "key.spelling", "key.type", "message.spelling"), ("fields.extra",),
        ),
        ("HasNoDigit", "has no digit", body_rewritten(rb'"digit": "[^"]*", ', b""), ("digit.present",)),
        ("HasATextValue", "has a value of text", body_rewritten(rb'("value": )([^,}]+)', rb'\1"\2"'), ("value.type",)),
        _CODE,
        ("ShowsTheDocument", "shows the document", body_rewritten(rb'("document": )"[^"]*"', rb'\1"529.982.247-25"'), ("document.masked",)),
        ("HasNaN", "has NaN for a value", body_rewritten(rb'("value": )[^,}]+', rb"\1NaN"), ("json",)),
        ("Is201", "has the status 201", with_status(201), ("status",)),
    ),
    "registerPixKey": (
        (
            "IsTheAccounts", "is that of listAccounts", _accounts,
            _NO_REGISTRATION,
            ("fields.extra",), ("registerPixKey.*", *HIDES_REGISTRATION),
        ),
        ("HasNoMessage", "has no Message", body_rewritten(rb'"Message": "[^"]*", ', b""), ("Message.present",)),
        (
            "HasALowerCaseSuccess", "has success for Success", body_rewritten(b'"Success"', b'"success"'),
            ("Success.spelling", "fields.upperCase"), (), (*_OF_RESULT, *HIDES_REGISTRATION),
        ),
        _CODE,
        ("Is201", "has the status 201", with_status(201), ("status",)),
    ),
    "deletePixKey": (
        ("Is202", "has the status 202", with_status(202), ("status",)),
        _CODE,
        (*_CUT, (), ("deletePixKey.*",)),
        (*_PAGE, ("json",), (), ("deletePixKey.*",)),
    ),
    "listPixKeys": ((*_PAGE, (), ("json",), ("listPixKeys.envelope.*",)),),
    "getBalance": ((*_CUT[:3], (), ("json",), ("getBalance.envelope.*",)),),
}  # fmt: skip
IN_SHORT = ("executePix HasNoDigit", "registerPixKey HasNoMessage", "deletePixKey Is202")
"""Tried in the default proof, too."""
_NAMES = {**NAME_OF_OPERATION, "listPixKeys": "KeyList", "getBalance": "Balance"}


def _declare(operation, name, text, alter, fails, warns=(), hides=()):
    declare_mutant(
        "answer in parallel", f"{_NAMES[operation]}{name}InParallel", f"With a second request in flight the answer {text}.",
        AnswersInCompany, *ids_of_operation(operation, *fails), warns=ids_of_operation(operation, *warns),
        hides=tuple(hides), slow=f"{operation} {name}" not in IN_SHORT, parallel=True, OPERATIONS=(operation,), alter=without_self(alter),
    )  # fmt: skip


for _operation, _faults in IN_COMPANY.items():
    for _fault in _faults:
        _declare(_operation, *_fault)


class MixesUp(HoldsRequestsTogether):
    """The sandbox, where of two requests in flight to the first of `OPERATIONS` each gets the result of the other."""

    OPERATIONS: tuple[str, ...]

    def affect_each_other(self, visit, other_visit):
        """True if both requests are to the operation and may be mixed up."""
        if not visit.operation == other_visit.operation == self.OPERATIONS[0]:
            return False
        return self.may_be_mixed_up(visit) and self.may_be_mixed_up(other_visit)

    def may_be_mixed_up(self, visit):
        """True if a request has the valid token and names nothing that the suite made up, so that it succeeds."""
        sent = visit.request.body + visit.request.path.encode()
        return visit.has_token and SYNTHETIC_PREFIX.encode() not in sent

    def finish(self, request, operation, response):
        """Give a successful answer to the thread of the other request, and answer with what that thread gives."""
        if operation != self.OPERATIONS[0] or response.status != 200:
            return response
        self.publish_answer(response)
        if not self.wait_for_another_request():
            return response
        return self.answer_to_the_other_request() or response


@mutant("answer in parallel", "executePix.id.matches", parallel=True)
class TwoExecutionsAreMixedUp(MixesUp):
    """Of two executions in flight each gets the result of the other."""

    OPERATIONS = ("executePix",)


@mutant(
    "answer in parallel",
    "registerPixKey.Key.matches",
    parallel=True,
    warns=("registerPixKey.Key.example",),  # a RANDOM key goes beside others, and its result is that of another key
)
class TwoRegistrationsAreMixedUp(MixesUp):
    """Of two registrations in flight each gets the result of the other."""

    OPERATIONS = ("registerPixKey",)


@mutant("refusal in parallel", "executePix.token.accepted", "registerPixKey.token.accepted", parallel=True)
class RefusalsAreMixedUp(HoldsRequestsTogether):
    """A request with the token gets the refusal of a request that is in flight with it, unless it changed something."""

    HOLD_S = HOLD_LESS_S = 0.05

    def finish(self, request, operation, response):
        """Answer a request with the token by the answer to another request in flight, if that is a refusal."""
        has_changed_something = request.method != "GET" and response.status == 200
        self.publish_answer(response)
        if has_changed_something or not self.visit.has_token or not self.wait_for_another_request():
            return response
        other_answer = self.answer_to_the_other_request()
        is_refusal = other_answer is not None and other_answer.status >= 400
        return other_answer if is_refusal else response


# -- the token


class TrustsCompany(DiffersInOperations, HoldsRequestsTogether):
    """The sandbox, which lets in a request without the valid token while a request with it is inside.

    Both are requests to the same one of `OPERATIONS`. `lets_in` says which credentials are let in.
    """

    def affect_each_other(self, visit, other_visit):
        """True if two requests to one operation are inside, and only one of them has the valid token."""
        return visit.operation == other_visit.operation and visit.has_token != other_visit.has_token

    def authorize(self, request, operation):
        """Hold a request without the valid token until one with it is inside. Then do not check the token."""
        is_held = operation in self.OPERATIONS and not self.visit.has_token
        is_beside_the_token = is_held and self.wait_for_another_request()
        if is_beside_the_token and self.lets_in(request.header("Authorization")):
            return
        super().authorize(request, operation)


OPEN = {
    "NeedsNoToken": ("any request is let in", lambda self, sent: True, ("token.required",), ("token.scheme",)),
    "NeedsNoHeader": ("a request without the header is let in", lambda self, sent: not sent, ("token.required",), ()),
    "TakesAnyBearer": (
        "any bearer token is let in", lambda self, sent: sent.startswith("Bearer "), ("token.required",), (),
    ),
    "TakesTheTokenBare": (
        "the token is let in under another scheme",
        lambda self, sent: sent in (self.token, f"Digest {self.token}"), (), ("token.scheme",),
    ),
}  # fmt: skip
for _operation in ("executePix", "registerPixKey"):
    for _name, (_text, _lets_in, _fails, _warns) in OPEN.items():
        declare_mutant(
            "token not checked in parallel", f"{NAME_OF_OPERATION[_operation]}{_name}InParallel",
            f"While a request with the token is in flight, {_text}.", TrustsCompany, *ids_of_operation(_operation, *_fails),
            warns=ids_of_operation(_operation, *_warns), hides=ids_of_operation(_operation, "token.scheme"), parallel=True,
            slow=_name != "NeedsNoToken",
            OPERATIONS=(_operation,), lets_in=_lets_in,
        )  # fmt: skip


# -- what a registration does


@mutant("registration lost in parallel", warns=("registerPixKey.status",), parallel=True)
class LosesRegistrations(HoldsRequestsTogether):
    """The sandbox, which does not keep a key that is registered while another request is in flight."""

    def authorize(self, request, operation):
        """Hold a registration until another request is inside, or until the time is over."""
        super().authorize(request, operation)
        if operation == "registerPixKey":
            self.wait_for_another_request()

    def register(self, ledger, account_id, key_type, value):
        """Register the key, and remove it at once if another request was inside."""
        registration = super().register(ledger, account_id, key_type, value)
        if registration.accepted and self.visit.beside:
            ledger.remove_key(registration.key)
        return registration


class MeetsTheListOfKeys(HoldsRequestsTogether):
    """The sandbox, which gives a wrong answer if a registration succeeds while the list of keys is read.

    The wrong answer is `ALTERED`. The registration or the list gets it, as `OPERATION` says.
    """

    OPERATION: str
    ALTERED: Response

    def affect_each_other(self, visit, other_visit):
        """True if a registration and a list of keys are inside, both with the valid token."""
        operations = {visit.operation, other_visit.operation}
        return visit.has_token and other_visit.has_token and operations == {"registerPixKey", "listPixKeys"}

    def finish(self, request, operation, response):
        """Hold a list and a registration that succeeded until both are inside, and then give one of them ALTERED.

        A registration that was refused publishes no answer, so the list beside it is answered as documented.
        """
        is_list = operation == "listPixKeys"
        has_registered = operation == "registerPixKey" and b'"Success": "true"' in response.body
        if not (is_list or has_registered) or not self.wait_for_another_request():
            return response
        self.publish_answer(response)
        registration_and_list_meet = self.answer_to_the_other_request() is not None
        return self.ALTERED if registration_and_list_meet and operation == self.OPERATION else response


declare_mutant(
    "answer beside a registration", "RegistrationIsTheListItMeets",
    "A registration that is granted while the list of keys is read gets the list.", MeetsTheListOfKeys,
    *ids_of_operation("registerPixKey", *_NO_REGISTRATION),
    warns=("registerPixKey.fields.extra",), hides=("registerPixKey.*", *HIDES_REGISTRATION), parallel=True,
    OPERATION="registerPixKey", ALTERED=json_answer(200, {"code": 0, "data": {"keys": []}}),
)  # fmt: skip
declare_mutant(
    "answer beside a registration", "ListIsAPageBesideARegistration",
    "The list of keys is a page of HTML while a registration is granted.", MeetsTheListOfKeys,
    warns=("listPixKeys.json",), parallel=True, OPERATION="listPixKeys", ALTERED=html_answer(200, "Welcome"),
)  # fmt: skip


class FailsInCompany(DiffersInOperations, HoldsRequestsTogether):
    """The sandbox, which answers a valid request to `OPERATIONS` with 500 and does nothing, if a second one is in flight."""

    def perform(self, operation, request, parameter):
        """Hold the request until a second one is inside, and then fail before anything is done."""
        if operation in self.OPERATIONS and self.wait_for_another_request():
            raise Refusal(500, "Internal server error.")
        return super().perform(operation, request, parameter)


for _operation in ("executePix", "registerPixKey", "deletePixKey"):
    declare_mutant(
        "fails in parallel", f"{NAME_OF_OPERATION[_operation]}FailsInParallel",
        "With a second request in flight, the request ends in a server error, and nothing is done.", FailsInCompany,
        f"{_operation}.serverError", hides=(f"{_operation}.*", *HIDES_REGISTRATION), parallel=True, slow=_operation != "registerPixKey",
        OPERATIONS=(_operation,),
    )  # fmt: skip


# -- invalid requests


class FallsInCompany(DiffersInOperations, HoldsRequestsTogether):
    """The sandbox, which answers an invalid request with `FALL`, such as a server error, if a second one is in flight."""

    FALL: Response

    def finish(self, request, operation, response):
        """Give FALL in the place of a refusal, if a second request is inside. A refused token (401) is answered rightly."""
        is_refusal = operation in self.OPERATIONS and response.status not in (200, 401)
        return self.FALL if is_refusal and self.wait_for_another_request() else response


for _operation, _fall in (
    ("executePix", "Fails"), ("registerPixKey", "ShowsATraceWith400"), ("registerPixKey", "Fails"),
    ("deletePixKey", "ShowsATrace"), ("getBalance", "ShowsATraceInJson"), ("listEntries", "Fails"),
):  # fmt: skip
    _how, _response, _rows = FALLS[_fall]
    declare_mutant(
        "breaks on an invalid request in parallel", f"{_operation[0].upper()}{_operation[1:]}{_fall}InParallel",
        f"With a second request in flight, an invalid request {_how}.", FallsInCompany, *ids_of_operation(_operation, *_rows),
        hides=("*",), parallel=True, slow=(_operation, _fall) != ("registerPixKey", "Fails"), OPERATIONS=(_operation,),
        FALL=_response,
    )  # fmt: skip
