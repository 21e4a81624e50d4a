"""Services that refuse some valid requests for a reason of their own: they are closed at night, or the law forbids it."""

from environments.sandbox import Service
from tests.selftest.proof.registry import declare_variant
from tests.selftest.proof.variants.conforming_making import empty_answer, json_answer

NOW_CLOSED = {"code": 99, "data": {"reason": "closed"}}


class RefusesSome(Service):
    """The sandbox, which refuses some valid requests to `OPERATION` with `answer`.

    `is_refused` gets the request and its number. Requests to OPERATION with the valid token are counted from 1; of
    executions only those of real codes, which begin with "SBX-".
    """

    OPERATION = "executePix"
    STATUS = 200
    BODY = NOW_CLOSED
    HEADERS = ()

    number = 0

    def respond(self, request):
        """Answer a request, or refuse it before anything is done for it."""
        if self.is_counted(request):
            self.number += 1
            if self.is_refused(request, self.number):
                return self.answer()
        return super().respond(request)

    def is_counted(self, request):
        """True of a request to OPERATION with the valid token. An execution must have a real code."""
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        has_valid_token = request.header("Authorization") == f"Bearer {self.token}"
        has_real_code = self.OPERATION != "executePix" or "SBX-" in request.path
        return self.OPERATION in operations and has_valid_token and has_real_code

    def answer(self):
        """The answer to a refused request, with the JSON in BODY if there is one."""
        if self.BODY:
            return json_answer(self.STATUS, self.BODY, headers=self.HEADERS)
        return empty_answer(self.STATUS, self.HEADERS)


def _number_in(*numbers):
    """Refuse the requests with these numbers."""
    return lambda self, request, number: number in numbers


def _each(divisor):
    """Refuse each second request for 2, each third for 3."""
    return lambda self, request, number: number % divisor == 0


def _code_has(text):
    """Refuse the executions whose code has this text in it, such as "CNPJ"."""
    return lambda self, request, number: text in request.path


_CANONICAL = (("Location", "https://api.bank.example/v1/accounts/entries/ac-0001"),)
_LEGAL = {"status": 451, "title": "Unavailable For Legal Reasons"}
_EXECUTIONS = {
    "OneOfferedCodeIsDeclined": ("The second code is refused with 200 and another code.", _number_in(2), {}),
    "TheFourthCodeIsDeclined": ("The fourth code is refused with 200 and another code.", _number_in(4), {}),
    "TheLastCodeIsDeclined": ("The tenth code is refused with 200 and another code.", _number_in(10), {}),
    "TwoCodesAreDeclined": ("Two executions in a row fall into a window.", _number_in(5, 6), {}),
    "ExecutesNothingForAWhile": ("Three executions in a row fall into a window.", _number_in(4, 5, 6), {}),
    "ExecutesNothingForLong": ("Six executions in a row fall into a window.", _number_in(3, 4, 5, 6, 7, 8), {}),
    "OneExecutionIsUnlawful": ("One execution is refused for legal reasons.", _code_has("CNPJ"), {"STATUS": 451, "BODY": _LEGAL}),
    "OneExecutionIsForbidden": ("One execution is refused with 403.", _code_has("EMAIL"), {"STATUS": 403, "BODY": None}),
    "OneExecutionIsInConflict": ("One execution is refused with 409.", _code_has("RANDOM"), {"STATUS": 409, "BODY": None}),
    "OneExecutionIsAboveTheLimit": ("The largest execution is refused with 422.", _code_has("CNPJ"), {"STATUS": 422, "BODY": None}),
    "PixIsClosedForPhones": ("Both executions to phones are refused.", _code_has("PHONE"), {}),
}  # fmt: skip
_OTHERS = {
    "ListsFailAPrecondition": ("listPixKeys", "Each third list answers 412.", _each(3), {"STATUS": 412, "BODY": None}),
    "ListsAreUnlawfulAtTimes": ("listPixKeys", "Each fourth list answers 451.", _each(4), {"STATUS": 451, "BODY": None}),
    "BalancesAreUnlawfulAtTimes": ("getBalance", "Each second balance answers 451.", _each(2), {"STATUS": 451, "BODY": None}),
    "EntriesAreAtTheCanonicalHost": ("listEntries", "Entries are at another host.", _each(1), {"STATUS": 308, "BODY": None, "HEADERS": _CANONICAL}),
    "EntriesMoveAtTimes": ("listEntries", "Entries are at another host at times.", _each(2), {"STATUS": 307, "BODY": None, "HEADERS": _CANONICAL}),
    "RegistersNothingForAWhile": ("registerPixKey", "Four registrations in a row fall into a window.", _number_in(12, 13, 14, 15), {}),
    "RegistersNothingAtFirst": ("registerPixKey", "The first registration falls into a window.", _number_in(1), {}),
    "OneRegistrationIsUnlawful": ("registerPixKey", "One registration is refused for legal reasons.", _number_in(9), {"STATUS": 451, "BODY": None}),
    "OneDeletionIsInConflict": ("deletePixKey", "One deletion is refused with 409.", _number_in(3), {"STATUS": 409, "BODY": None}),
    "DeletesNothingForAWhile": ("deletePixKey", "Two deletions in a row fall into a window.", _number_in(4, 5), {}),
    "OneTransferIsAboveTheLimit": ("transferP2p", "Each second transfer is refused with 422.", _each(2), {"STATUS": 422, "BODY": None}),
}  # fmt: skip
for _name, (_text, _is_refused, _parts) in _EXECUTIONS.items():
    declare_variant("window", _name, _text, RefusesSome, is_refused=_is_refused, **_parts)
for _name, (_operation, _text, _is_refused, _parts) in _OTHERS.items():
    hides = ("listEntries.*",) if _name == "EntriesAreAtTheCanonicalHost" else ()  # base_url is to be corrected
    declare_variant(
        "window", _name, _text, RefusesSome, OPERATION=_operation, is_refused=_is_refused, hides=hides, **_parts
    )
