"""Faults that depend on what the service, or the connection, did right before; and refusals that are kept."""

from environments.sandbox import Refusal, Service
from spec.interface import PREPARING_OPERATIONS
from tests.selftest.proof.mutants.making_faults import body_rewritten
from tests.selftest.proof.registry import declare_mutant, mutant

_TEXT_CODE = body_rewritten(b'"code": 0', b'"code": "0"')


class RightAfter(Service):
    """The sandbox, whose answers to `OPERATION` have a code of text if `follows` picks the request before: its operation and
    the status of its answer."""

    before = ("", 0)

    def respond(self, request):
        response = super().respond(request)
        operations = {name for method, name, _ in self.routes_of(request.path) if method == request.method}
        if self.OPERATION in operations and response.status == 200 and self.follows(*self.before):
            response = _TEXT_CODE(response)
        self.before = (next(iter(operations), ""), response.status)
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
    """A code that came without a valid token is refused with 401 from then on, whoever asks."""

    def __init__(self):
        super().__init__()
        self.kept = set()

    def authorize(self, request, operation):
        if operation != "executePix":
            return super().authorize(request, operation)
        if request.path in self.kept:
            raise Refusal(401, "The token is not known.")
        try:
            return super().authorize(request, operation)
        except Refusal:
            self.kept.add(request.path)
            raise


class KeepsTheRefusalOfAnAccount(Service):
    """The sandbox, which keeps a 401 for what `PLACE` finds in a request, and refuses the next `TIMES` registrations with
    it, whoever asks. Requests to `KEPT_FOR` are kept."""

    KEPT_FOR = ("registerPixKey",)
    TIMES = 1_000_000
    IS_KEPT_WITHOUT_A_TOKEN = True

    def __init__(self):
        super().__init__()
        self.kept = {}

    def authorize(self, request, operation):
        place = self.place_of(request)
        if operation == "registerPixKey" and self.kept.get(place, 0):
            self.kept[place] -= 1
            raise Refusal(401, "The token is not known.")
        try:
            return super().authorize(request, operation)
        except Refusal:
            is_kept = operation in self.KEPT_FOR and (self.IS_KEPT_WITHOUT_A_TOKEN or request.header("Authorization"))
            if is_kept:
                self.kept[place] = self.TIMES
            raise

    def place_of(self, request):
        return request.path.rsplit("/", 1)[-1]


class KeepsTheRefusalOfAKnownAccount(KeepsTheRefusalOfAnAccount):
    """The same, for accounts that exist alone."""

    def place_of(self, request):
        account = super().place_of(request)
        return account if account.startswith("ac-") else id(request)


class KeepsTheRefusalOfABody(KeepsTheRefusalOfAnAccount):
    """The same, for the body of a registration."""

    def place_of(self, request):
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
    ("KeepsARefusalOfAWrongTokenOnce", "After a wrong token", {"IS_KEPT_WITHOUT_A_TOKEN": False}),
    ("KeepsARefusalOfAReadOnce", "After a read without the valid token", {"KEPT_FOR": ("getBalance",)}),
):
    declare_mutant(
        "kept refusal", _name, f"{_text}, one registration for the same account is refused with 401.",
        KeepsTheRefusalOfAnAccount, "registerPixKey.token.accepted", TIMES=1, **_parts,
    )  # fmt: skip
