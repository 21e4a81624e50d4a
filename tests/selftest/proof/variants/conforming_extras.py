"""Members beyond the documented ones, anywhere: they are allowed, and a warning lists them."""

from environments.sandbox import Service
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import AddsFieldsInTurn
from tests.selftest.proof.variants.conforming_scopes import UNREAD


def _nested(depth):
    """A JSON object in an object in an object, so many levels deep: {"further": {"further": []}} for 2."""
    return {"further": _nested(depth - 1)} if depth else []


NAMESAKES = {
    "ID": 7,
    "Status": None,
    "STATUS": "FAILED",
    "Error": "x",
    "e_rror": 1,
    "Type": 0,
    "Name": [],
    "valuE": "0",
}
EXTRAS = {
    "OneMember": {"endToEndId": "E99999010202601011200abcdef"},
    "300Members": {f"further{number}": number for number in range(300)},
    "30LevelsMore": {"links": _nested(30)},
    "90LevelsMore": {"links": _nested(90)},
    "Namesakes": NAMESAKES,
    "NamesOfAllSorts": {
        "": 0,
        " ": 1,
        "ação": 2,
        "a.b[0]": 3,
        "$ref": "#/x",
        "__proto__": {},
        "\u202e": 4,
        "x" * 5_000: 5,
    },
    "TheOtherResult": {"Message": "", "Key": None, "DocumentNumber": 0, "Success": "false"},
    "AnInnerEnvelope": {"code": 17, "data": {"status": "FAILED", "error": "no"}},
    "NumbersLikeDocuments": {"nsu": "12345678901", "created": 20261005120000, "payer": "45.000.001/0001-74"},
    "AnotherDocument": {"payerDocument": "529.982.247-25", "payer": {"document": "52998224725"}},
}
for _name, _fields in EXTRAS.items():
    declare_variant(
        "extra",
        f"ExecutionsHave{_name}",
        f"An execution result has {_name} beside its own.",
        AddsFieldsInTurn,
        EXECUTIONS=(_fields,),
        GETS_THE_REQUESTS_OF_THE_SANDBOX=True,
    )
for _name in ("OneMember", "300Members", "90LevelsMore"):
    declare_variant(
        "extra", f"RegistrationsHave{_name}", f"A registration result has {_name} beside its own.",
        AddsFieldsInTurn, REGISTRATIONS=(EXTRAS[_name],),
    )  # fmt: skip
declare_variant(
    "extra", "RegistrationsHaveNamesakes", "A registration result has the members success, KEY and message, too.",
    AddsFieldsInTurn, REGISTRATIONS=({"success": True, "SUCCESS": 1, "KEY": 5, "message": None, "documentNumber": "7"},),
)  # fmt: skip
declare_variant(
    "extra", "RegistrationsHaveMembersOfOwnFirst", "A registration result starts with success: false, as a boolean.",
    Service, registration_result=lambda self, it: {"success": False, **Service.registration_result(self, it)},
)  # fmt: skip

ENVELOPES = {
    "MetaMembers": {
        "timestamp": "2026-01-01T12:00:00Z",
        "path": "/v1",
        "traceId": "00-4bf92f35",
        "errors": [],
        "meta": {},
    },
    "Namesakes": {"Data": None, "CODE": "no", "co_de": None, "DATA": []},
    "MessageAndError": {"message": "OK", "error": False, "status": 200},
    "SuccessAsABoolean": {"success": True},
    "APage": {"page": 1, "total": 1, "links": [None] * 200},
}


class Envelopes(Service):
    """The sandbox with further members in every envelope."""

    BESIDE = {}

    def envelope(self, operation, data, code=0):
        return {**self.BESIDE, "code": code, "data": data}


for _name, _fields in ENVELOPES.items():
    declare_variant("extra", f"EnvelopesHave{_name}", f"Every envelope has {_name}.", Envelopes, BESIDE=_fields)


@variant("extra", hides=UNREAD)
class ExecutionsAreNestedBeyondTheSuite(AddsFieldsInTurn):
    """An execution result is nested 150 levels deep, which the suite does not read."""

    EXECUTIONS = ({"links": _nested(150)},)


@variant("extra")
class EachAnswerHasAnotherMember(Service):
    """Each execution result has a further member with a name of its own."""

    def execution_result(self, transfer):
        return super().execution_result(transfer) | {f"campo_{transfer.id}": True}


@variant("extra")
class EchoesTheRegistration(Service):
    """A registration result also has the members of the request: pixKey, pixKeyType and account."""

    def register_pix_key(self, request, account_id):
        members_of_request = self.read_json(request, "registerPixKey")
        return super().register_pix_key(request, account_id) | members_of_request
