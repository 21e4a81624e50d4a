"""Faults that show only while several requests are in flight. Each holds its answer until a second request is inside, so
that none depends on chance; a request that stays alone is answered as documented."""

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
    """The sandbox, where `alter` sees every successful answer to `OPERATIONS` that is given in company."""

    def finish(self, request, operation, response):
        meant = operation in self.OPERATIONS and response.status == 200
        return self.alter(response) if meant and self.wait_for_another_request() else response


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
    """Of two requests in flight to the first of `OPERATIONS`, each gets the result of the other."""

    OPERATIONS: tuple[str, ...]

    def affect_each_other(self, one, other):
        return (
            one.operation == other.operation == self.OPERATIONS[0]
            and self.may_be_mixed(one)
            and self.may_be_mixed(other)
        )

    def may_be_mixed(self, visit):
        return visit.has_token and SYNTHETIC_PREFIX.encode() not in visit.request.body + visit.request.path.encode()

    def finish(self, request, operation, response):
        if operation != self.OPERATIONS[0] or response.status != 200:
            return response
        self.publish_answer(response)
        return (self.wait_for_another_request() and self.answer_to_the_other_request()) or response


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
    """A request with the token gets the refusal of one that is in flight with it, unless it has changed something."""

    HOLD_S = HOLD_LESS_S = 0.05

    def finish(self, request, operation, response):
        changes = request.method != "GET" and response.status == 200
        self.publish_answer(response)
        if changes or not self.visit.has_token or not self.wait_for_another_request():
            return response
        other = self.answer_to_the_other_request()
        return other if other and other.status >= 400 else response


# -- the token


class TrustsCompany(DiffersInOperations, HoldsRequestsTogether):
    """The sandbox, which takes what `lets_in` lets in for the token while a request to the same operation is inside that
    has it. What does not have it is held."""

    def affect_each_other(self, one, other):
        return one.operation == other.operation and one.has_token != other.has_token

    def authorize(self, request, operation):
        met = operation in self.OPERATIONS and not self.visit.has_token and self.wait_for_another_request()
        if not (met and self.lets_in(request.header("Authorization"))):
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
        super().authorize(request, operation)
        if operation == "registerPixKey":
            self.wait_for_another_request()

    def register(self, ledger, account_id, key_type, value):
        registration = super().register(ledger, account_id, key_type, value)
        if registration.accepted and self.visit.beside:
            ledger.remove_key(registration.key)
        return registration


class MeetsTheListOfKeys(HoldsRequestsTogether):
    """The sandbox, which gives `ALTERED` to requests of `OPERATION` where a registration is granted while the list of keys
    is read."""

    OPERATION: str
    ALTERED: Response

    def affect_each_other(self, one, other):
        operations = {one.operation, other.operation}
        return one.has_token and other.has_token and operations == {"registerPixKey", "listPixKeys"}

    def finish(self, request, operation, response):
        granted = operation == "registerPixKey" and b'"Success": "true"' in response.body
        if not (granted or operation == "listPixKeys") or not self.wait_for_another_request():
            return response
        self.publish_answer(response)
        return self.ALTERED if self.answer_to_the_other_request() and operation == self.OPERATION else response


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
    """The sandbox, which fails before it does what a valid request to `OPERATIONS` asks for."""

    def perform(self, operation, request, parameter):
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
    """The sandbox, which falls over a request that it refuses while another one is in flight."""

    FALL: Response

    def finish(self, request, operation, response):
        meant = operation in self.OPERATIONS and response.status not in (200, 401)
        return self.FALL if meant and self.wait_for_another_request() else response


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
