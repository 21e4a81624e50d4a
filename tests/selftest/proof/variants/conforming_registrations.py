"""Answers to a registration that conform, and keys that a service may take or refuse.

The interface document does not show the formats of keys, nor what happens to a key that is registered already.
"""

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
    """The sandbox, where `result_for_duplicate` makes the result for a key that is registered already."""

    def registration_result(self, registration):
        is_duplicate = not registration.accepted
        return self.result_for_duplicate(registration) if is_duplicate else super().registration_result(registration)


class RefusesDuplicates(TakesDuplicates):
    """The sandbox, which refuses a key that is registered already with STATUS."""

    STATUS = 409

    def result_for_duplicate(self, registration):
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

    def is_affected(self, refusal):
        return refusal.error == "The key is taken."

    def answer_to_refusal(self, refusal):
        return json_answer(200, {"code": 1042, "data": None})


@variant("duplicate")
class DuplicatesAreACodeBesideSuccessFalse(TakesDuplicates):
    """A key that is registered already gets Success "false", and code 7 in the envelope."""

    def result_for_duplicate(self, registration):
        return declined_registration("taken")

    def envelope(self, operation, data, code=0):
        """The envelope of an answer, with code 7 if its data says that a registration is declined."""
        is_declined = isinstance(data, dict) and data.get("Success") == "false"
        return super().envelope(operation, data, 7 if is_declined else code)


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
    """The key types may also be named by a number from 0 to 4, as JSON text or number: 2 is EMAIL."""

    NUMBERS = ("CPF", "PHONE", "EMAIL", "CNPJ", "RANDOM")

    def key_type(self, body):
        """The key type that a registration names by its name or by its number in NUMBERS."""
        key_type = str(body.get("pixKeyType"))
        is_number = key_type in ("0", "1", "2", "3", "4")
        return self.NUMBERS[int(key_type)] if is_number else super().key_type(body)

    def requested_key(self, body, key_type):
        """The key that a registration names, which may be a JSON number, too."""
        return text_field({"pixKey": str(body.get("pixKey"))}, "pixKey")


@variant("kind")
class NumericKindsAreDeclined(Service):
    """A key type of digits gets Success "false". Any other undocumented type gets 400."""

    ANSWER = declined_registration("no digits")

    def is_not_registered(self, key_type):
        """True of the key types that get ANSWER, and of which no key is registered."""
        return key_type.isdecimal()

    def register_pix_key(self, request, account_id):
        """The result of a registration. A key type that is not registered gets ANSWER."""
        key_type = self.read_json(request, "registerPixKey").get("pixKeyType")
        if isinstance(key_type, str) and self.is_not_registered(key_type):
            return self.ANSWER
        return super().register_pix_key(request, account_id)


@variant("kind")
class UndocumentedKindsAreReceivedAlone(NumericKindsAreDeclined):
    """A key of an undocumented type gets Success "true", and is not registered."""

    ANSWER = declined_registration("received") | {"Success": "true"}

    def is_not_registered(self, key_type):
        return key_type not in self.KEY_FORMATS


@variant("RANDOM")
class IgnoresTheKeyOfARandomRegistration(Service):
    """The service makes a RANDOM key also if the registration names a key."""

    def requested_key(self, body, key_type):
        """The key that a registration names; empty for RANDOM, so that the service makes one."""
        return "" if key_type == "RANDOM" else super().requested_key(body, key_type)


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
    """The sandbox, which refuses a RANDOM key if `is_refused` is true of the body of its registration."""

    def requested_key(self, body, key_type):
        """The key that a registration names. Raises Refusal for some RANDOM keys."""
        if key_type == "RANDOM" and self.is_refused(body):
            raise Refusal(self.STATUS, "A RANDOM key is not asked for so.")
        return super().requested_key(body, key_type)


for _name, _fact, _status, _is_refused in (
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
    declare_variant("RANDOM", _name, _fact, RefusesRandomKeys, STATUS=_status, is_refused=staticmethod(_is_refused))


@variant("RANDOM")
class OneRandomKeyIsEnough(Service):
    """An account has one RANDOM key. Whoever asks for another one gets 409."""

    random_keys = 0

    def new_key(self):
        """The value of a new RANDOM key. Raises Refusal for the second one."""
        self.random_keys += 1
        if self.random_keys > 1:
            raise Refusal(409, "The account has a RANDOM key.")
        return str(uuid.uuid4())


@variant("checked first")
class PhonesAreCheckedFirst(Service):
    """A PHONE key is refused with 422 until half a second after the first registration of a PHONE key."""

    first_phone_at = None

    def register(self, ledger, account_id, key_type, value):
        """Register a key. A PHONE key is refused for the first half second."""
        if key_type == "PHONE":
            now = time.monotonic()
            if self.first_phone_at is None:
                self.first_phone_at = now
            if now < self.first_phone_at + 0.5:
                raise Refusal(422, "The phone is being checked.")
        return super().register(ledger, account_id, key_type, value)


class BusyAfterEach(Service):
    """The sandbox, which refuses registrations after each key that it registered, until `BUSY_FOR` requests came in."""

    STATUS = 422
    BUSY_FOR = 3
    busy_for_requests = 0

    def respond(self, request):
        """Answer a request, and count it as one of those for which the account is busy."""
        self.busy_for_requests = max(0, self.busy_for_requests - 1)
        return super().respond(request)

    def register(self, ledger, account_id, key_type, value):
        """Register a key, and be busy afterwards. Raises Refusal if the account is busy because of the key before."""
        if self.busy_for_requests > 0:
            raise Refusal(self.STATUS, "Another key of the account is being registered.")
        registration = super().register(ledger, account_id, key_type, value)
        self.busy_for_requests = self.BUSY_FOR
        return registration


class RefusesInTurn(BusyAfterEach):
    """The sandbox, which refuses the first, the fourth, the seventh registration and so on as busy."""

    number_of_registrations = 0

    def register(self, ledger, account_id, key_type, value):
        """Register a key. Raises Refusal for the first one of each three."""
        self.number_of_registrations += 1
        if self.number_of_registrations % 3 == 1:
            raise Refusal(self.STATUS, "The account is busy.")
        return Service.register(self, ledger, account_id, key_type, value)


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
    """The sandbox, where an account may have MOST keys beside the one that it has from the start."""

    MOST = 1

    def register(self, ledger, account_id, key_type, value):
        """Register a key. Raises Refusal if it is new and the account has all its keys."""
        is_new = not value or ledger.key(value) is None
        if is_new and len(ledger.keys(account_id)) > self.MOST:
            raise Refusal(422, "The account has all the keys that it may have.")
        return super().register(ledger, account_id, key_type, value)


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

    def register(self, ledger, account_id, key_type, value):
        if key_type == "RANDOM":
            raise Refusal(422, "The account has its RANDOM key.")
        return super().register(ledger, account_id, key_type, value)

    def list_pix_keys(self, request, account_id):
        keys = super().list_pix_keys(request, account_id)["keys"]
        return {"keys": [*keys, {"type": "RANDOM", "key": self.OLD}]}


@variant("request")
class NeedsNothingButTheKind(Service):
    """account and pixKey may be left out or null, and unknown fields are ignored."""

    def check_body_account(self, body, account_id):
        """Accept a body with any account, or without one."""

    def requested_key(self, body, key_type):
        """The key that a registration names. Without a key the service makes one, whatever the key type."""
        key = body.get("pixKey")
        if not key:
            return super().requested_key({"pixKey": ""}, "RANDOM")
        return super().requested_key({"pixKey": key}, key_type)


class NumbersTheAccount(Service):
    """The sandbox, where the field `account` is the number of the account, and not its identifier in the path."""

    def check_body_account(self, body, account_id):
        """Raise Refusal if the body has another account than 10001-7. The field may be left out."""
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
        """The key type of a registration. Raises Refusal if a field is missing or unknown."""
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
        """Check the token, and refuse a request with a query or an unknown header."""
        super().authorize(request, operation)
        unknown_headers = set(request.headers) - self.KNOWN
        if request.query or unknown_headers:
            raise Refusal(400, "A query or a header that is not known.")

    def answer_to_refusal(self, refusal):
        return problem_answer(refusal.status, refusal.error)
