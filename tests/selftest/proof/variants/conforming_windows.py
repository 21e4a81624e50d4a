"""Services that refuse some valid requests for a reason of their own: a window at night, the law, a quota, another host."""

from environments.sandbox import Service
from tests.selftest.proof.mutants.making_faults import json_members
from tests.selftest.proof.registry import declare_variant
from tests.selftest.proof.variants.conforming_making import empty_answer, json_answer

NOW_CLOSED = {"code": 99, "data": {"reason": "closed"}}


class RefusesSome(Service):
    """The sandbox, which answers some requests to `OPERATION` with `answer` before it looks at them. It counts those with
    the valid token, from 1; of executions, those of real codes."""

    OPERATION = "executePix"
    STATUS, BODY, HEADERS = 200, NOW_CLOSED, ()

    turns = 0

    def respond(self, request):
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        if self.OPERATION not in operations or request.header("Authorization") != f"Bearer {self.token}":
            return super().respond(request)
        if self.OPERATION == "executePix" and "SBX-" not in request.path:
            return super().respond(request)
        self.turns += 1
        if self.refuses(request, self.turns):
            return self.answer()
        return super().respond(request)

    def answer(self):
        return (
            json_answer(self.STATUS, self.BODY, headers=self.HEADERS)
            if self.BODY
            else empty_answer(self.STATUS, self.HEADERS)
        )


def _type_is(*types):
    return lambda self, request, turn: json_members(request).get("pixKeyType") in types


def _turn_in(*turns):
    return lambda self, request, turn: turn in turns


def _each(number):
    return lambda self, request, turn: turn % number == 0


def _code_is(code):
    return lambda self, request, turn: code in request.path


_CANONICAL = (("Location", "https://api.bank.example/v1/accounts/entries/ac-0001"),)
_LEGAL = {"status": 451, "title": "Unavailable For Legal Reasons"}
_EXECUTIONS = {
    "OneOfferedCodeIsDeclined": ("The second code is refused with 200 and another code.", _turn_in(2), {}),
    "TheFourthCodeIsDeclined": ("The fourth code is refused with 200 and another code.", _turn_in(4), {}),
    "TheLastCodeIsDeclined": ("The tenth code is refused with 200 and another code.", _turn_in(10), {}),
    "TwoCodesAreDeclined": ("Two executions in a row fall into a window.", _turn_in(5, 6), {}),
    "ExecutesNothingForAWhile": ("Three executions in a row fall into a window.", _turn_in(4, 5, 6), {}),
    "ExecutesNothingForLong": ("Six executions in a row fall into a window.", _turn_in(3, 4, 5, 6, 7, 8), {}),
    "OneExecutionIsUnlawful": ("One execution is refused for legal reasons.", _code_is("CNPJ"), {"STATUS": 451, "BODY": _LEGAL}),
    "OneExecutionIsForbidden": ("One execution is refused with 403.", _code_is("EMAIL"), {"STATUS": 403, "BODY": None}),
    "OneExecutionIsInConflict": ("One execution is refused with 409.", _code_is("RANDOM"), {"STATUS": 409, "BODY": None}),
    "OneExecutionIsAboveTheLimit": ("The largest execution is refused with 422.", _code_is("CNPJ"), {"STATUS": 422, "BODY": None}),
    "PixIsClosedForPhones": ("Both executions to phones are refused.", _code_is("PHONE"), {}),
}  # fmt: skip
_OTHERS = {
    "ListsFailAPrecondition": ("listPixKeys", "Each third list answers 412.", _each(3), {"STATUS": 412, "BODY": None}),
    "ListsAreUnlawfulAtTimes": ("listPixKeys", "Each fourth list answers 451.", _each(4), {"STATUS": 451, "BODY": None}),
    "BalancesAreUnlawfulAtTimes": ("getBalance", "Each second balance answers 451.", _each(2), {"STATUS": 451, "BODY": None}),
    "EntriesAreAtTheCanonicalHost": ("listEntries", "Entries are at another host.", _each(1), {"STATUS": 308, "BODY": None, "HEADERS": _CANONICAL}),
    "EntriesMoveAtTimes": ("listEntries", "Entries are at another host at times.", _each(2), {"STATUS": 307, "BODY": None, "HEADERS": _CANONICAL}),
    "RegistersNothingForAWhile": ("registerPixKey", "Four registrations in a row fall into a window.", _turn_in(12, 13, 14, 15), {}),
    "RegistersNothingAtFirst": ("registerPixKey", "The first registration falls into a window.", _turn_in(1), {}),
    "OneRegistrationIsUnlawful": ("registerPixKey", "One registration is refused for legal reasons.", _turn_in(9), {"STATUS": 451, "BODY": None}),
    "OneDeletionIsInConflict": ("deletePixKey", "One deletion is refused with 409.", _turn_in(3), {"STATUS": 409, "BODY": None}),
    "DeletesNothingForAWhile": ("deletePixKey", "Two deletions in a row fall into a window.", _turn_in(4, 5), {}),
    "OneTransferIsAboveTheLimit": ("transferP2p", "Each second transfer is refused with 422.", _each(2), {"STATUS": 422, "BODY": None}),
}  # fmt: skip
for _name, (_text, _refuses, _parts) in _EXECUTIONS.items():
    declare_variant("window", _name, _text, RefusesSome, refuses=_refuses, **_parts)
for _name, (_operation, _text, _refuses, _parts) in _OTHERS.items():
    hides = ("listEntries.*",) if _name == "EntriesAreAtTheCanonicalHost" else ()  # base_url is to be corrected
    declare_variant("window", _name, _text, RefusesSome, OPERATION=_operation, refuses=_refuses, hides=hides, **_parts)
