"""What a key registration may answer, and which keys it takes: formats, duplicates and limits are not shown."""

import time
import uuid

from environments.sandbox import Refusal, Service
from environments.sandbox.protocol import text_field
from tests.selftest.proof.registry import declare_variant, variant
from tests.selftest.proof.variants.conforming_making import (
    AddsFieldsInTurn,
    RefusesDifferently,
    declined_registration,
    json_answer,
    number_as_written,
    problem_answer,
    profile_path,
    with_keys,
)
from tests.selftest.proof.variants.conforming_scopes import DELETION
from tests.selftest.proof.variants.profiles import UNDELETED

IN_TURN = {
    "DocumentNumber": tuple(
        {"DocumentNumber": number_as_written(number)}
        for number in ("0", "-7", "12.0", "1E3", "9" * 40, "9" * 9_000, "12345678909", "1e400")
    ),
    "Message": tuple({"Message": message} for message in ("", "Solicitação recebida. " * 5_000, "true", "\x00\u2028")),
    "Key": ({"Key": None}, {"Key": ""}, {"Key": "***"}, {"Key": "+55 (11) 95550-0777"}),
}
for _name, _ways in IN_TURN.items():
    declare_variant(
        "registration result",
        f"{_name}InTurn",
        f"{_name} is another one each time.",
        AddsFieldsInTurn,
        REGISTRATIONS=_ways,
        GETS_THE_REQUESTS_OF_THE_SANDBOX=True,
    )
declare_variant(
    "registration result",
    "KeyAlwaysNull",
    "Key is null for every kind.",
    AddsFieldsInTurn,
    REGISTRATIONS=({"Key": None},),
)


class TakesDuplicates(Service):
    """The sandbox, where `taken` decides what becomes of a key that is registered already."""

    def registration_result(self, registration):
        return super().registration_result(registration) if registration.accepted else self.taken(registration)


class RefusesDuplicates(TakesDuplicates):
    """The sandbox with a status for a key that is registered already."""

    STATUS = 409

    def taken(self, registration):
        raise Refusal(self.STATUS, "The key is taken.")


for _status in (400, 403, 409, 422, 423):
    declare_variant(
        "duplicate",
        f"DuplicatesGet{_status}",
        f"A registered key gets {_status}.",
        RefusesDuplicates,
        STATUS=_status,
    )


@variant("duplicate")
class DuplicatesAreWelcome(Service):
    """A key that is registered already is registered again with Success "true"."""

    def registration_success(self, registration):
        return "true"


@variant("duplicate")
class DuplicatesAreACodeIn200(RefusesDuplicates, RefusesDifferently):
    """A key that is registered already gets a 200 with code 1042 and no data."""

    def refuses_so(self, refusal):
        return refusal.error == "The key is taken."

    def say_no(self, refusal):
        return json_answer(200, {"code": 1042, "data": None})


@variant("duplicate")
class DuplicatesAreACodeBesideSuccessFalse(TakesDuplicates):
    """A key that is registered already gets Success "false", and code 7 in the envelope."""

    def taken(self, registration):
        return declined_registration("taken")

    def envelope(self, operation, data, code=0):
        declined = isinstance(data, dict) and data.get("Success") == "false"
        return super().envelope(operation, data, 7 if declined else code)


class KeysOfAnEarlierRun(RefusesDuplicates):
    """The sandbox, where an earlier run left its keys registered."""

    LEFT = {
        "PHONE": "+5511955500777",
        "EMAIL": "qa@pix-conformance.example",
        "CNPJ": "45000001000174",
        "CPF": "13579246828",
    }

    def __init__(self):
        super().__init__()
        with_keys(self, **self.LEFT)


for _status in (400, 409, 422):
    declare_variant(
        "duplicate", f"KeysOfAnEarlierRunGet{_status}", f"Keys are left of an earlier run, and get {_status}.",
        KeysOfAnEarlierRun, STATUS=_status, hides=(*DELETION, "registerPixKey.repeated"),
    )  # fmt: skip
    declare_variant(
        "duplicate", f"KeysOfAnEarlierRunStayAndGet{_status}",
        f"Keys are left of an earlier run that deleted none, and get {_status}.",
        KeysOfAnEarlierRun, STATUS=_status, environment=profile_path("no_deletion"),
        hides=(*UNDELETED, "registerPixKey.repeated"),
    )  # fmt: skip


@variant("kind")
class TakesNumericKinds(Service):
    """The digits 0 to 4 are kinds, too, and so are the numbers."""

    NUMBERS = ("CPF", "PHONE", "EMAIL", "CNPJ", "RANDOM")

    def key_type(self, body):
        kind = str(body.get("pixKeyType"))
        return self.NUMBERS[int(kind)] if kind in tuple("01234") else super().key_type(body)

    def requested_key(self, body, kind):
        return text_field({"pixKey": str(body.get("pixKey"))}, "pixKey")


@variant("kind")
class NumericKindsAreDeclined(Service):
    """A kind of digits gets Success "false", another unknown one 400."""

    ANSWER = declined_registration("no digits")

    def is_another(self, kind):
        return kind.isdecimal()

    def register_pix_key(self, request, account_id):
        kind = self.read_json(request, "registerPixKey").get("pixKeyType")
        if isinstance(kind, str) and self.is_another(kind):
            return self.ANSWER
        return super().register_pix_key(request, account_id)


@variant("kind")
class UndocumentedKindsAreReceivedAlone(NumericKindsAreDeclined):
    """A key of an undocumented type gets Success "true", and is not registered."""

    ANSWER = declined_registration("received") | {"Success": "true"}

    def is_another(self, kind):
        return kind not in self.KEY_FORMATS


@variant("RANDOM")
class ShowsTheRandomKey(Service):
    """Key holds the RANDOM key that the service made."""

    def registration_key(self, registration):
        return str(registration.key.key)


@variant("RANDOM")
class HidesMostOfTheKey(Service):
    """Key shows the last two characters of the key."""

    GETS_THE_REQUESTS_OF_THE_SANDBOX = True

    def registration_key(self, registration):
        return f"***{registration.key.key[-2:]}"


class RefusesRandomKeys(Service):
    """The sandbox, which refuses a RANDOM key whose body is `refused`."""

    def requested_key(self, body, kind):
        if kind == "RANDOM" and self.refused(body):
            raise Refusal(self.STATUS, "A RANDOM key is not asked for so.")
        return super().requested_key(body, kind)


for _name, _fact, _status, _refused in (
    (
        "WantsAUuid",
        "The caller makes a RANDOM key, and an empty one is refused.",
        422,
        lambda body: not body.get("pixKey"),
    ),
    (
        "MakesRandomKeysItself",
        "A RANDOM key is empty or left out; one that the caller made is refused.",
        422,
        lambda body: body.get("pixKey"),
    ),
    (
        "WantsNoKeyForRandom",
        "A RANDOM key is left out; even an empty one is refused.",
        400,
        lambda body: "pixKey" in body,
    ),
):
    declare_variant("RANDOM", _name, _fact, RefusesRandomKeys, STATUS=_status, refused=staticmethod(_refused))


@variant("RANDOM")
class OneRandomKeyIsEnough(Service):
    """An account has one RANDOM key; who asks again gets 409."""

    made = 0

    def new_key(self):
        self.made += 1
        if self.made > 1:
            raise Refusal(409, "The account has a RANDOM key.")
        return str(uuid.uuid4())


@variant("checked first")
class PhonesAreCheckedFirst(Service):
    """A PHONE key is refused with 422 until half a second after it was asked for first."""

    asked = None

    def register(self, ledger, account_id, kind, value):
        self.asked = self.asked or (kind == "PHONE" and time.monotonic())
        if kind == "PHONE" and time.monotonic() < self.asked + 0.5:
            raise Refusal(422, "The phone is being checked.")
        return super().register(ledger, account_id, kind, value)


class BusyAfterEach(Service):
    """The sandbox, where an account is busy after each key that is registered, while `WHILE` requests come in."""

    STATUS, WHILE = 422, 3

    busy = 0

    def respond(self, request):
        self.busy = max(0, self.busy - 1)
        return super().respond(request)

    def register(self, ledger, account_id, kind, value):
        if self.busy:
            raise Refusal(self.STATUS, "Another key of the account is being registered.")
        registration = super().register(ledger, account_id, kind, value)
        self.busy = self.WHILE
        return registration


class RefusesInTurn(BusyAfterEach):
    """The sandbox, which is busy for the first of every `OF` registrations."""

    OF = 3

    asked = 0

    def register(self, ledger, account_id, kind, value):
        self.asked += 1
        if self.asked % self.OF == 1:
            raise Refusal(self.STATUS, "The account is busy.")
        return Service.register(self, ledger, account_id, kind, value)


KINDS = "registerPixKey.pixKeyType.*"
for _status in (400, 422, 423):
    for _base in (BusyAfterEach, RefusesInTurn):
        declare_variant(
            "busy", f"{_base.__name__}With{_status}", f"An account is busy at times: {_status}.", _base, STATUS=_status,
            hides=(KINDS, *DELETION, "registerPixKey.repeated", "registerPixKey.Key.example"),
        )  # fmt: skip
        declare_variant(
            "busy", f"{_base.__name__}With{_status}AndDeletesNothing", f"An account is busy at times: {_status}.", _base,
            STATUS=_status, environment=profile_path("no_deletion"), hides=(KINDS, *UNDELETED, "registerPixKey.repeated", "registerPixKey.Key.example"),
        )  # fmt: skip


class KeyLimit(Service):
    """The sandbox with a limit to the keys that an account may have beside its first one."""

    MOST = 1

    def register(self, ledger, account_id, kind, value):
        if len(ledger.keys(account_id)) > self.MOST and (not value or ledger.key(value) is None):
            raise Refusal(422, "The account has all the keys that it may have.")
        return super().register(ledger, account_id, kind, value)


class LimitWithRandomShown(KeyLimit, ShowsTheRandomKey):
    """The sandbox with a limit to the keys, and RANDOM keys that can be deleted."""


for _most in (1, 3, 5):
    declare_variant(
        "key limit", f"Holds{_most}KeysAndShowsThem", f"An account has {_most} keys at most; Key shows the RANDOM one.",
        LimitWithRandomShown, MOST=_most,
    )  # fmt: skip
    declare_variant(
        "key limit",
        f"Holds{_most}Keys",
        f"An account has {_most} keys at most.",
        KeyLimit,
        MOST=_most,
    )


@variant("key limit", hides=("registerPixKey.pixKeyType.RANDOM", "registerPixKey.Key.example"))
class HasItsOneRandomKeyAlready(Service):
    """An account has one RANDOM key at most, and the list shows one of an earlier day."""

    OLD = "7d8cf9c8-54c4-4a4f-9f33-5f0a2b9d8d11"

    def register(self, ledger, account_id, kind, value):
        if kind == "RANDOM":
            raise Refusal(422, "The account has its RANDOM key.")
        return super().register(ledger, account_id, kind, value)

    def list_pix_keys(self, request, account_id):
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [*keys, {"type": "RANDOM", "key": self.OLD}]}


@variant("request")
class NeedsNothingButTheKind(Service):
    """account and pixKey may be left out or null, and unknown fields are read over."""

    def check_body_account(self, body, account_id):
        return

    def requested_key(self, body, kind):
        return super().requested_key({"pixKey": body.get("pixKey") or ""}, "RANDOM" if not body.get("pixKey") else kind)


class NumbersTheAccount(Service):
    """The sandbox, where `account` is the number of the account and not the identifier of the path."""

    def check_body_account(self, body, account_id):
        if body.get("account", "10001-7") != "10001-7":
            raise Refusal(422, "The account is not that of the path.")


for _name, _environment in {"": "sandbox", "AndDeletesNothing": profile_path("no_deletion")}.items():
    declare_variant(
        "request", f"NumbersTheAccount{_name}", "`account` is optional, and another identifier than that of the path.",
        NumbersTheAccount, environment=_environment, hides=("registerPixKey.*", *DELETION),
    )  # fmt: skip


@variant("request")
class NeedsExactlyThreeFields(Service):
    """A registration has account, pixKeyType and pixKey, and no further field."""

    def key_type(self, body):
        if set(body) != {"account", "pixKeyType", "pixKey"}:
            raise Refusal(400, "The fields are account, pixKeyType and pixKey.")
        return super().key_type(body)


@variant("request")
class RefusesQueriesAndFurtherHeaders(RefusesDifferently):
    """A query, or a header that it does not know, is refused with 400."""

    KNOWN = {
        "host", "user-agent", "accept", "accept-encoding", "authorization", "content-type", "content-length", "connection",
    }  # fmt: skip

    def authorize(self, request, operation):
        super().authorize(request, operation)
        if request.query or set(request.headers) - self.KNOWN:
            raise Refusal(400, "A query or a header that is not known.")

    def say_no(self, refusal):
        return problem_answer(refusal.status, refusal.error)
