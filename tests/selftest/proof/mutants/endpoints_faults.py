"""Services without one endpoint, or with another version prefix, in each way in which a service says so."""

from secrets import token_urlsafe

from environments.sandbox import Refusal, Response, Service
from spec.interface import operations
from tests.selftest.proof.mutants.making_faults import HIDES_DELETION
from tests.selftest.proof.registry import declare_mutant, mutant


class Gone(Service):
    """The sandbox without the endpoint of OPERATION."""

    OPERATION = ""
    STATUS = (404, "There is no such path.")

    def route(self, request):
        """The operation of a request and its argument. Refuses OPERATION as if its path were unknown."""
        operation, argument = super().route(request)
        if operation == self.OPERATION:
            raise Refusal(*self.STATUS)
        return operation, argument


WAYS = {
    "IsGone": (404, "There is no such path."),
    "IsNotAllowed": (405, "The path does not have this method."),
    "IsNotImplemented": (501, "Not implemented."),
}
IN_WORDS = {
    "WithAnId": lambda id: Response(404, b'{"error": "not found", "id": "' + id + b'"}'),
    "AndLeadsToALogin": lambda id: Response(302, b"<a href='/login?next=" + id, (("Location", "/login"),)),
}
HIDES = {"registerPixKey": HIDES_DELETION, "createPix": ("executePix.status.transitions", "executePix.value.matches")}
"""Requirements of other operations that are not exercised without this one."""
for _operation in operations():
    for _name, _status in WAYS.items():
        declare_mutant(
            "endpoint gone", f"{_operation[0].upper()}{_operation[1:]}{_name}",
            f"The endpoint is answered with {_status[0]}.", Gone,
            f"{_operation}.exists", *([f"{_operation}.serverError"] if _status[0] == 501 else []),
            hides=(f"{_operation}.*", *HIDES.get(_operation, ())),
            OPERATION=_operation, STATUS=_status,
        )  # fmt: skip


class GoneInWords(Gone):
    """The sandbox without one endpoint. It answers like any unknown path, but each answer has an id that is new."""

    def refusal(self, refusal):
        """The answer to a refused request. For an unknown path it is what WORDS makes of a new id."""
        is_unknown_path = refusal.error == self.STATUS[1]
        if is_unknown_path:
            new_id = token_urlsafe(9).encode()
            return self.WORDS(new_id)
        return super().refusal(refusal)


for _operation in ("listEntries", "registerPixKey", "createPix"):
    for _name, _words in IN_WORDS.items():
        declare_mutant(
            "endpoint gone", f"{_operation[0].upper()}{_operation[1:]}IsGone{_name}", f"The endpoint is gone {_name}.",
            GoneInWords, f"{_operation}.exists", hides=(f"{_operation}.*", *HIDES.get(_operation, ())),
            OPERATION=_operation, WORDS=staticmethod(_words),
        )  # fmt: skip


@mutant("endpoint gone", "deletePixKey.exists", hides=HIDES_DELETION, warns=("registerPixKey.status",))
class DeletePixKeyIsGoneAndNoKeyIsListed(Gone):
    """The deletion is answered with 404, and the list shows no keys."""

    OPERATION = "deletePixKey"

    def list_pix_keys(self, request, account_id):
        """A list that has only the number of the keys."""
        return {"count": len(super().list_pix_keys(request, account_id))}


_WITHOUT_A_PATH_PARAMETER = [name for name, operation in operations().items() if operation.path_parameter is None]
for _name, _prefix in {"NoPrefix": "", "VersionTwo": "/v2", "PrefixUnderApi": "/api/v1"}.items():
    declare_mutant(
        "version prefix", _name, f"Every path starts with {_prefix or 'no prefix'}.", Service, "general.versionPrefix",
        *(f"{operation}.exists" for operation in _WITHOUT_A_PATH_PARAMETER), hides=("*",),
        ROUTES=tuple((method, path.replace("/v1", _prefix, 1), name) for method, path, name in Service.ROUTES),
    )  # fmt: skip
