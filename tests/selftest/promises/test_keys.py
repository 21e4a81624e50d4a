"""What becomes of keys: those that were there stay, those of the run go, and what does not go is told, key by key."""

import itertools
import json
from dataclasses import replace

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.sandbox import Response, Service
from reports.result.run_verdict import result_of_run
from spec.interface import MARK
from spec.key_list import UUID
from tests.selftest.proof.borderline import EvpAndDigitsAreTheOneRandomKey
from tests.selftest.proof.directly import sent_in_memory, try_in_memory
from tests.selftest.proof.mutants.demands_faults import RefusesAKind
from tests.selftest.proof.registry import MUTANTS, VARIANTS
from tests.selftest.proof.variants.lawful_effects import without_keys
from tests.selftest.proof.variants.lawful_making import profile, with_keys
from tests.selftest.proof.variants.lawful_registrations import DuplicatesAreWelcome, KeyLimit
from tests.selftest.services.one_run import ADDRESS, Bank, bank_profile, notes_of, whole_run
from tests.traffic.keys.listed import REGISTERED_BEFORE

EMAIL, PHONE, OLD = "qa@pix-conformance.example", "+5511955500777", "c0ffee00-0001-4000-8000-00000000000a"
OF_KEYS, VALID = "registerPixKey or deletePixKey or listPixKeys", "registerPixKey.pixKeyType or deletePixKey.exists"
ALLOW = ["read", "register-keys", "delete-keys", "fuzz"]
KEY_AT = "/data/keys/*/pixKey"
SANDBOX = {"sandbox": ADDRESS}
OF_THE_PROFILE = (("PHONE", PHONE), ("EMAIL", EMAIL), ("RANDOM", ""), ("CNPJ", "45000001000174"))
MADE = "RANDOM, made by the service: registered and not deleted"


def keys_of(service: Service) -> set[str]:
    """All keys of the first account."""
    with service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


def ended(service, folder, only=VALID, *, disposable=False, among=(False,), **changes):
    """A run of keys, where all keys of the profile are disposable or none is; off a sandbox unless `changes` say so."""
    keys = [{"type": name, "key": key, "disposable": bool(disposable and key)} for name, key in OF_THE_PROFILE]
    changes = {"allow": ALLOW, "pix_keys": keys, "key_at": None, "transactions": None, **changes}
    return whole_run(service, bank_profile(folder, **changes), only, among)


def left_by(model):
    """What a run leaves, without the exchanges."""
    return [str(line).split(" (")[0] for line in model.not_cleaned_up_in_words]


def result_of(model, requirement):
    return {one.id: result for one, result in result_of_run(model).results}[requirement]


# -- keys that were there before ------------------------------------------------------------------------------------

WERE_THERE = {"EMAIL": EMAIL, "PHONE": PHONE}


@pytest.mark.parametrize("make", [DuplicatesAreWelcome, Service])
def test_a_key_that_was_there_before_the_run_is_not_registered(make, tmp_path):
    """On a sandbox, too: its type is out of scope."""
    service = with_keys(make(), **WERE_THERE)
    before = keys_of(service)
    model = ended(service, tmp_path, key_at=KEY_AT, **SANDBOX)
    result = result_of(model, "registerPixKey.pixKeyType.EMAIL")

    assert (result.verdict, str(result.message)) == ("out-of-scope", REGISTERED_BEFORE)
    assert (keys_of(service), left_by(model)) == (before, [])
    assert not [one.id for one, result in result_of_run(model).results if result.verdict == "fail"]


with_lists_and_without = pytest.mark.parametrize("allow", [ALLOW, ALLOW[1:]], ids=["read", "no read"])
LISTS = {
    "page 1 of 2": lambda keys: {"keys": keys[:1], "page": 1, "pages": 2},
    "empty": lambda keys: {"keys": []},
    "masked": lambda keys: {"keys": [key | {"pixKey": key["pixKey"][:3] + "****"} for key in keys]},
}


@pytest.mark.parametrize("tell", LISTS.values(), ids=LISTS)
@with_lists_and_without
def test_no_key_is_lost_that_was_there_before(allow, tell, tmp_path):
    """Wherever the list does not prove that it was absent, and its registration succeeds again."""
    service = with_keys(DuplicatesAreWelcome(), **WERE_THERE)
    whole = service.list_pix_keys
    service.list_pix_keys = lambda request, account: tell(whole(request, account)["keys"])
    before = keys_of(service)
    ended(service, tmp_path, allow=allow)

    assert before <= keys_of(service)


def test_a_key_that_any_list_showed_before_the_run_stays(tmp_path):
    """Also a disposable one, where the next list does not show it."""
    service, lists = with_keys(DuplicatesAreWelcome(), **WERE_THERE), itertools.count()
    whole = service.list_pix_keys
    service.list_pix_keys = lambda *given: {"keys": []} if next(lists) else whole(*given)
    ended(service, tmp_path, disposable=True)

    assert {EMAIL, PHONE} <= keys_of(service)


def test_a_disposable_key_that_is_registered_already_stays_where_no_list_is_read(tmp_path):
    """The answer to its registration says so."""
    service = with_keys(Service(), **WERE_THERE)
    ended(service, tmp_path, allow=ALLOW[1:], disposable=True)

    assert {EMAIL, PHONE} <= keys_of(service)


@pytest.mark.parametrize("disposable", [True, False])
def test_a_key_of_the_profile_is_deleted_only_where_it_is_disposable(disposable, tmp_path):
    """All others stay and are listed by name, and a synthetic e-mail address tests deletions. A RANDOM key stays whose
    value no answer tells."""
    service = Service()
    without_keys(service)
    model = ended(service, tmp_path, disposable=disposable, key_at=KEY_AT)
    named = set() if disposable else {PHONE, EMAIL, "45000001000174"}
    stay = keys_of(service)

    assert named == {key for key in stay if not UUID.fullmatch(key)}
    assert len(left_by(model)) == len(stay) == len(named) + 1
    assert result_of(model, "deletePixKey.exists").verdict == "pass"


# -- keys that the run makes up ---------------------------------------------------------------------------------------


class TakesAnything(Bank):
    """Registers whatever it is sent as a key, of any type and at any account, and deletes what it is asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[tuple[str, str]] = set()

    def perform(self, operation, request, parameter):
        if operation == "listPixKeys" and parameter:
            return {"keys": [{"pixKey": key} for account, key in sorted(self.held) if account == parameter]}
        if operation not in ("registerPixKey", "deletePixKey"):
            return super().perform(operation, request, parameter)
        key = self.read_json(request, operation).get("pixKey")
        held = (parameter, self.new_key() if key in ("", None) else str(key))
        self.held.add(held) if operation == "registerPixKey" else self.held.discard(held)
        return {"Success": "true", "Message": "", "Key": None, "DocumentNumber": 1}


@pytest.mark.parametrize(
    "changes", [{}, SANDBOX, {**SANDBOX, "pix_keys": None}], ids=["a bank", "a sandbox", "no key of the profile"]
)
def test_no_key_stays_that_the_run_made_up(changes, tmp_path):
    """Also where invalid and generated registrations succeed, with numbers and objects for keys, at synthetic accounts.
    Off a sandbox, keys of no value stay at those. Without a key of the profile no list is read before the first."""
    service = TakesAnything()
    changes = changes or {"pix_keys": [{"type": "RANDOM", "key": "", "disposable": True}]}
    is_bank = not changes.get("sandbox")
    ended(service, tmp_path, OF_KEYS, disposable=True, key_at=KEY_AT, among=(is_bank, False), **changes)

    assert not [account for account, _ in service.held if not is_bank or not account.startswith(MARK)]


@pytest.mark.parametrize("name", ["IdsVaryInTheList", "HidesMostOfTheKey", "hex"])
def test_a_made_key_is_deleted_where_the_answer_or_the_list_tells_it(name, tmp_path):
    """No form is asked for; identifiers that vary by themselves are no keys, and a masked key is no part of another."""
    is_variant = name in VARIANTS.specimens
    service = VARIANTS.specimens[name].make() if is_variant else Service()
    if name == "HidesMostOfTheKey":
        service.registration_key = lambda registration: "***00"
    if not is_variant:
        numbers = itertools.count(1)
        service.new_key = lambda: f"5f0c1e9a7b3d4c2e8f6a0b1d{next(numbers)}"
    before = keys_of(service)
    model = ended(service, tmp_path, key_at=KEY_AT, **SANDBOX)

    assert (left_by(model), keys_of(service)) == ([], before)


class MasksItsList(TakesAnything):
    """It shows the first and the last signs of each key."""

    def perform(self, operation, request, parameter):
        result = super().perform(operation, request, parameter)
        if operation == "listPixKeys" and parameter:
            return {"keys": [{"pixKey": f"{key['pixKey'][:3]}****{key['pixKey'][-4:]}"} for key in result["keys"]]}
        return result


@pytest.mark.parametrize("changes", [{}, SANDBOX], ids=["a bank", "a sandbox"])
@pytest.mark.parametrize("key_at", [KEY_AT, None])
def test_a_masked_text_is_no_key(key_at, changes, tmp_path):
    """It may be any key that it can stand for, so none of these is lost, and it is nothing to learn or to delete."""
    service = MasksItsList()
    keys = [{"type": "RANDOM", "key": "", "disposable": True}, {"type": "PHONE", "key": PHONE, "disposable": True}]
    model = ended(service, tmp_path, OF_KEYS, key_at=key_at, pix_keys=keys, among=(False,), **changes)
    named = [request.body.decode() for request in service.seen if request.method == "DELETE"]
    status = result_of(model, "registerPixKey.status")

    assert [body for body in named if "****" in body] == []
    assert (status.verdict, str(status.message)) == ("pass", "")


def test_a_made_key_is_left_where_it_is_not_sure_which_it_is(tmp_path):
    """Nobody else's key is deleted, and the run's own is told."""
    service = VARIANTS.specimens["OthersHaveRandomKeysMade"].make()
    before = keys_of(service)
    model = ended(service, tmp_path, key_at=KEY_AT, **SANDBOX)

    assert before | set(service.past) <= keys_of(service)
    assert left_by(model) == [MADE]


class GivesTheKeyThatIsThere(DuplicatesAreWelcome):
    """The sandbox, which names the RANDOM key that the account has had for long, in place of a second one."""

    masks = False

    def __init__(self) -> None:
        super().__init__()
        with_keys(self, RANDOM=OLD)

    def register(self, ledger, account_id, key_type, value):
        return super().register(ledger, account_id, key_type, OLD if key_type == "RANDOM" else value)

    def registration_key(self, registration):
        return registration.key.key

    def key_result(self, key):
        return super().key_result(replace(key, key=f"{key.key[:4]}****") if self.masks else key)


@with_lists_and_without
@pytest.mark.parametrize("masks", [True, False], ids=["masked", "shown"])
def test_a_made_key_that_an_answer_names_may_be_an_old_one(masks, allow, tmp_path):
    """It stays wherever no list says for sure that it is new, and the run tells of it."""
    service = GivesTheKeyThatIsThere()
    service.masks = masks
    model = ended(service, tmp_path, allow=allow)

    assert OLD in keys_of(service)
    assert MADE in left_by(model)


def _random_keys(keys):
    return {key for key in keys if UUID.fullmatch(key)}


def test_a_random_key_without_a_value_is_the_last_one(tmp_path):
    """The next run registers none, and says what to set. Nor does one forget it that learns the value of its own."""
    service, only_random = Service(), [{"type": "RANDOM", "key": ""}]
    before = keys_of(service)
    runs = [
        (ended(service, tmp_path, pix_keys=only_random, key_at=place), _random_keys(keys_of(service) - before))
        for place in (None, None, KEY_AT)
    ]
    ended(service, tmp_path, key_at=KEY_AT, **SANDBOX)
    record = (tmp_path / "keys-profile.jsonl").read_text("utf-8")

    _, untold, told = [str(result_of(model, "registerPixKey.pixKeyType.RANDOM").message) for model, _ in runs]
    assert [len(keys) for _, keys in runs] == [1, 1, 1]
    assert "set key_at" in untold
    assert "profile.yaml --yes forgets it" in told
    assert "disposable: true" in told
    assert [json.loads(line)["type"] for line in record.splitlines()].count("RANDOM") == 1


@pytest.mark.parametrize(("is_disposable", "left"), [(True, []), (False, [MADE])])
def test_a_key_that_is_made_for_another_type_is_deleted_or_told(is_disposable, left, tmp_path):
    """The one that was sent is not there. No digits are sent where the key that they may make could not be named."""
    service = EvpAndDigitsAreTheOneRandomKey()
    service.new_key = Service().new_key
    before = keys_of(service)
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    model = ended(service, tmp_path, key_at=KEY_AT, pix_keys=keys)

    assert (left_by(model), len(keys_of(service) - before)) == (left, len(left))


@pytest.mark.parametrize("reads", [["read"], []], ids=["with lists", "without lists"])
@pytest.mark.parametrize(
    ("registry", "name"), [(VARIANTS, "HasItsOneRandomKeyAlready"), (MUTANTS, "RegistersRandomAndRefusesIt")]
)
def test_a_refused_random_key_is_open_until_a_list_shows_nothing_new(registry, name, reads, tmp_path):
    """Its value is unknown: it is listed as perhaps registered, and the record holds it for the next run."""
    service = registry.specimens[name].make()
    left = left_by(ended(service, tmp_path, allow=[*reads, "register-keys", "delete-keys"]))
    perhaps = [line for line in left if line.startswith("RANDOM, made by the service: perhaps registered")]

    assert bool(perhaps) is (registry is MUTANTS or not reads)


FULL = "; the account may hold no more keys: delete some, or name another account"
WAITS = "; the list shows such a key: perhaps its owner has to confirm it, or the account may have only one such key"
NO_CNPJ = "; if the account may have no such key, set not_for_this_account: [CNPJ]"


@pytest.mark.parametrize(
    ("make", "parts", "advice"),
    [
        (KeyLimit, {"MOST": 0}, FULL),
        (KeyLimit, {"MOST": 2}, FULL),
        (RefusesAKind, {"KIND": "CNPJ", "STATUS": 500}, ""),
        (RefusesAKind, {"KIND": "CNPJ", "STATUS": 400}, NO_CNPJ),
        (VARIANTS.specimens["EveryKeyWaitsWithAWord"].make, {}, WAITS),
        (MUTANTS.specimens["RegistrationWantsOtherNames"].make, {}, ""),
    ],
)
def test_advice_fits_the_refusal_of_a_key_type(make, parts, advice):
    """A type is advised to be left out only where the service refuses it, and accepts another; nothing is advised where
    the answer, or another finding, says all."""
    service, id = make(), "registerPixKey.pixKeyType.CNPJ"
    vars(service).update(parts)
    message = str(try_in_memory(service, profile("no_deletion"), ids={id}).rows[id].message)

    assert message.partition(" application/json")[2] == advice


def test_a_key_that_is_refused_and_listed_is_an_alert():
    """Nothing tells that it stands there as a registered key stands: no other one does."""
    service = MUTANTS.specimens["RefusesEveryRegistration"].make()
    without_keys(service)
    trial = try_in_memory(service, ids={"registerPixKey.status"})
    refused = [note for note in trial.notes if "and the list shows its key: look whether it is registered" in note]

    assert (trial.exit_status, len(refused)) == (6, 1)


def test_a_key_of_others_that_is_gone_is_an_alert():
    """It can be restored at once. On a sandbox deletions go on; the run is not green there, either."""
    log = sent_in_memory(MUTANTS.specimens["DeletesItsNeighbours"].make(), ids={"deletePixKey.exists"})
    trial = log.judged()

    assert "a key that was there before the run is gone: restore it, unless somebody else deleted it" in trial.notes
    assert trial.exit_status == 6
    assert [request.method for request in log.requests].count("DELETE") > 1


def test_a_service_that_wants_other_members_is_not_taken_for_a_full_account():
    """Every registration is refused alike, and the finding says why."""
    ids = [f"registerPixKey.{name}" for name in ("body.pixKey", "body.account", "contentType.accepted")]
    rows = try_in_memory(MUTANTS.specimens["RegistrationWantsOtherNames"].make(), ids=set(ids)).rows
    found, body, content_type = (str(rows[id].message) for id in ids)

    assert found.endswith("is refused as documented and accepted with other names for all fields")
    assert body == content_type == "no registration as documented was understood"


class RegistersBehindNoContent(TakesAnything):
    """Registers what comes without a valid token and answers 204; refuses all else."""

    def respond(self, request):
        if request.method == "POST" and request.path.startswith("/v1/pix/keys/"):
            if self.is_granted(request):
                return Response(422, b"{}")
            account, key = request.path.rpartition("/")[2], json.loads(request.body).get("pixKey")
            self.held.add((account, key))
            return Response(204, b"")
        return super().respond(request)


def test_the_alert_about_an_effect_says_what_was_answered(tmp_path):
    """It need not be a refusal."""
    model = ended(RegistersBehindNoContent(), tmp_path, "registerPixKey", key_at=KEY_AT, **SANDBOX)

    assert [note for note in notes_of(model) if note.startswith("a registration was answered 204 without a media type")]
