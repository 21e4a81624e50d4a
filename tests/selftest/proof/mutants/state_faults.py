"""Faults that depend on the request before, and services that remember a refusal and repeat it for a valid request."""

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS
from tests.selftest.proof.mutants.making_faults import body_rewritten
from tests.selftest.proof.registry import declare_mutant, mutant

_with_text_code = body_rewritten(b'"code": 0', b'"code": "0"')
"""The answer with the text "0" in the place of the code 0."""


class RightAfter(Service):
    """The sandbox, whose answer to `OPERATION` has a text as its code right after a certain request.

    `follows` is true of the operation of that request and of the status of its answer.
    """

    last_operation = ""
    last_status = 0

    def respond(self, request):
        """Answer a request, and change the code of a successful answer to OPERATION if the request before is the one."""
        response = super().respond(request)
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        is_success = self.OPERATION in operations and response.status == 200
        if is_success and self.follows(self.last_operation, self.last_status):
            response = _with_text_code(response)
        self.last_operation = next(iter(operations), "")
        self.last_status = response.status
        return response


_OCCASIONS = {
    "ARefusalOfTheCaller": lambda self, operation, status: status == 401,
    "AnUnknownCode": lambda self, operation, status: operation == "executePix" and status == 404,
    "ARefusedRegistration": lambda self, operation, status: operation == "registerPixKey" and status in (400, 422),
    "ABalance": lambda self, operation, status: operation == "getBalance",
    "AListOfKeys": lambda self, operation, status: operation == "listPixKeys",
    "ADeletion": lambda self, operation, status: operation == "deletePixKey" and status == 200,
    "ARegistration": lambda self, operation, status: operation == "registerPixKey" and status == 200,
    "AListOfEntries": lambda self, operation, status: operation == "listEntries" and status == 200,
    "AListOfAccounts": lambda self, operation, status: operation == "listAccounts" and status == 200,
    "APreparation": lambda self, operation, status: operation in PREPARING_OPERATIONS and status == 200,
    "AnExecution": lambda self, operation, status: operation == "executePix" and status == 200,
}
_PAIRS = {
    "executePix": (
        "ARefusalOfTheCaller", "AnUnknownCode", "ARefusedRegistration", "ABalance", "AListOfKeys", "AListOfEntries",
        "ARegistration", "ADeletion", "APreparation", "AnExecution",
    ),
    "registerPixKey": (
        "ARefusalOfTheCaller", "AnUnknownCode", "ARefusedRegistration", "ABalance", "AListOfKeys", "AListOfEntries",
        "AListOfAccounts", "ADeletion", "APreparation", "AnExecution",
    ),
}  # fmt: skip
for _operation, _names in _PAIRS.items():
    for _name in _names:
        declare_mutant(
            "right after", f"{_operation[0].upper()}{_operation[1:]}RightAfter{_name}HasATextCode",
            f"Right after {_name}, the code of {_operation} is text.", RightAfter, f"{_operation}.envelope.code.type",
            OPERATION=_operation, follows=_OCCASIONS[_name],
        )  # fmt: skip


@mutant(
    "kept refusal",
    "executePix.token.accepted",
    hides=("executePix.status.transitions", "executePix.token.required", "executePix.value.matches"),
)
class KeepsTheRefusalOfACode(Service):
    """A code that came without a valid token is refused with 401 from then on, even with the valid token."""

    def __init__(self):
        super().__init__()
        self.refused_paths = set()

    def authorize(self, request, operation):
        """Check the token. An execution is refused if it was once requested without the valid token."""
        if operation != "executePix":
            return super().authorize(request, operation)
        if request.path in self.refused_paths:
            raise Refusal(401, "The token is not known.")
        try:
            return super().authorize(request, operation)
        except Refusal:
            self.refused_paths.add(request.path)
            raise


class KeepsTheRefusalOfAnAccount(Service):
    """The sandbox, which remembers each account for which it refused a token, and refuses the valid token for it, too.

    It does so for the next `TIMES` registrations of the account. Only refusals of `REMEMBERED_OPERATIONS` count, and those
    of requests without any token only if `REMEMBERS_REQUESTS_WITHOUT_TOKEN`.
    """

    REMEMBERED_OPERATIONS = ("registerPixKey",)
    TIMES = 1_000_000
    REMEMBERS_REQUESTS_WITHOUT_TOKEN = True

    def __init__(self):
        super().__init__()
        self.refusals_to_come = {}  # how many registrations are still refused, by account

    def authorize(self, request, operation):
        """Check the token. Refuse a registration also if an earlier request for its account was refused."""
        account = self.remembered_part(request)
        if operation == "registerPixKey" and self.refusals_to_come.get(account, 0) > 0:
            self.refusals_to_come[account] -= 1
            raise Refusal(401, "The token is not known.")
        try:
            return super().authorize(request, operation)
        except Refusal:
            has_token = bool(request.header("Authorization"))
            counts = has_token or self.REMEMBERS_REQUESTS_WITHOUT_TOKEN
            if counts and operation in self.REMEMBERED_OPERATIONS:
                self.refusals_to_come[account] = self.TIMES
            raise

    def remembered_part(self, request):
        """The part of a request for which a refusal is remembered: its account. A subclass may remember another part."""
        return request.path.rsplit("/", 1)[-1]


class KeepsTheRefusalOfAKnownAccount(KeepsTheRefusalOfAnAccount):
    """The same, but only for accounts that exist, whose names begin with "ac-"."""

    def remembered_part(self, request):
        """The account of a request. Any other account is remembered under a number that never comes again."""
        account = super().remembered_part(request)
        return account if account.startswith("ac-") else id(request)


class KeepsTheRefusalOfABody(KeepsTheRefusalOfAnAccount):
    """The same, but for the body of a registration, whatever its account."""

    def remembered_part(self, request):
        return request.body


for _name, _text, _base, _parts in (
    (
        "KeepsARefusalForAnAccount",
        "From a wrong token for an account on, its registrations",
        KeepsTheRefusalOfAnAccount,
        {},
    ),
    (
        "KeepsARefusalForAKnownAccount",
        "From a wrong token for an own account on, its registrations",
        KeepsTheRefusalOfAKnownAccount,
        {},
    ),
    ("KeepsARefusalForABody", "From a wrong token with a body on, registrations with it", KeepsTheRefusalOfABody, {}),
):
    declare_mutant(
        "kept refusal", _name, f"{_text} are refused with 401.", _base, "registerPixKey.token.accepted",
        hides=("registerPixKey.*",), **_parts,
    )  # fmt: skip
for _name, _text, _parts in (
    ("KeepsARefusalOnce", "After a request without the valid token", {}),
    ("KeepsARefusalOfAWrongTokenOnce", "After a wrong token", {"REMEMBERS_REQUESTS_WITHOUT_TOKEN": False}),
    ("KeepsARefusalOfAReadOnce", "After a read without the valid token", {"REMEMBERED_OPERATIONS": ("getBalance",)}),
):
    declare_mutant(
        "kept refusal", _name, f"{_text}, one registration for the same account is refused with 401.",
        KeepsTheRefusalOfAnAccount, "registerPixKey.token.accepted", TIMES=1, **_parts,
    )  # fmt: skip
