"""Faults that depend on what the service, or the connection, did right before; and refusals that are kept."""

from environments.sandbox import Refusal, Service
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
}
_PAIRS = {
    "executePix": ("ARefusalOfTheCaller", "AnUnknownCode", "ABalance", "AListOfKeys"),
    "registerPixKey": ("ARefusalOfTheCaller", "ARefusedRegistration", "ABalance", "AListOfKeys", "ADeletion"),
}
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
