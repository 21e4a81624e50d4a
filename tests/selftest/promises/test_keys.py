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
from tests.selftest.proof.variants.lawful_making import profile_path, with_keys
from tests.selftest.proof.variants.lawful_registrations import DuplicatesAreWelcome, KeyLimit
from tests.selftest.services.one_run import (
    UNUSED_ADDRESS,
    FakeBank,
    profile_off_sandbox,
    report_notes,
    run_suite_in_memory,
)
from tests.traffic.keys.listed import REGISTERED_BEFORE

EMAIL, PHONE, OLD_RANDOM = "qa@pix-conformance.example", "+5511955500777", "c0ffee00-0001-4000-8000-00000000000a"
OPERATIONS_OF_KEYS, VALID_REQUESTS = (
    "registerPixKey or deletePixKey or listPixKeys",
    "registerPixKey.pixKeyType or deletePixKey.exists",
)
ALLOW = ["read", "register-keys", "delete-keys", "fuzz"]
KEY_AT = "/data/keys/*/pixKey"
AS_A_SANDBOX = {"sandbox": UNUSED_ADDRESS}
OF_THE_PROFILE = (("PHONE", PHONE), ("EMAIL", EMAIL), ("RANDOM", ""), ("CNPJ", "45000001000174"))
MADE = "RANDOM, made by the service: registered and not deleted"


def keys_of_first_account(service: Service) -> set[str]:
    """The keys that the first account of the service has."""
    with service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


def run_of_keys(service, folder, only=VALID_REQUESTS, *, disposable=False, among=(False,), **changes):
    """The model of a run off a sandbox about keys.

    `disposable` holds for all keys of the profile. `changes` are those of the profile.
    """
    keys = [{"type": name, "key": key, "disposable": bool(disposable and key)} for name, key in OF_THE_PROFILE]
    changes = {"allow": ALLOW, "pix_keys": keys, "key_at": None, "transactions": None, **changes}
    return run_suite_in_memory(service, profile_off_sandbox(folder, **changes), only, among)


def keys_left(model):
    """The keys that a run did not clean up, in words, without the numbers of exchanges."""
    return [str(line).split(" (")[0] for line in model.not_cleaned_up_in_words]


def result_of(model, requirement):
    """The result of a requirement in a run."""
    return {row.id: result for row, result in result_of_run(model).results}[requirement]


# -- keys that were there before ------------------------------------------------------------------------------------

WERE_THERE = {"EMAIL": EMAIL, "PHONE": PHONE}


@pytest.mark.parametrize("make", [DuplicatesAreWelcome, Service])
def test_a_key_in_the_list_before_the_run_is_not_registered(make, tmp_path):
    """The requirements of its key type are out of scope, on a sandbox, too."""
    service = with_keys(make(), **WERE_THERE)
    keys_before = keys_of_first_account(service)
    model = run_of_keys(service, tmp_path, key_at=KEY_AT, **AS_A_SANDBOX)
    result = result_of(model, "registerPixKey.pixKeyType.EMAIL")

    assert result.verdict == "out-of-scope"
    assert str(result.message) == REGISTERED_BEFORE
    assert keys_of_first_account(service) == keys_before
    assert keys_left(model) == []
    assert not [row.id for row, result in result_of_run(model).results if result.verdict == "fail"]


with_lists_and_without = pytest.mark.parametrize("allow", [ALLOW, ALLOW[1:]], ids=["read", "no read"])
LISTS = {
    "page 1 of 2": lambda keys: {"keys": keys[:1], "page": 1, "pages": 2},
    "empty": lambda keys: {"keys": []},
    "masked": lambda keys: {"keys": [key | {"pixKey": key["pixKey"][:3] + "****"} for key in keys]},
}


@pytest.mark.parametrize("shown_part", LISTS.values(), ids=LISTS)
@with_lists_and_without
def test_no_key_is_lost_that_was_there_before(allow, shown_part, tmp_path):
    """The list shows one page, no key, or masked keys, and the service grants their registration again.

    The run does not delete them.
    """
    service = with_keys(DuplicatesAreWelcome(), **WERE_THERE)
    whole_list = service.list_pix_keys
    service.list_pix_keys = lambda request, account: shown_part(whole_list(request, account)["keys"])
    keys_before = keys_of_first_account(service)
    run_of_keys(service, tmp_path, allow=allow)

    assert keys_before <= keys_of_first_account(service)


def test_a_key_in_any_list_before_the_run_is_not_deleted(tmp_path):
    """The service shows the keys in its first list only. Even disposable keys stay."""
    service = with_keys(DuplicatesAreWelcome(), **WERE_THERE)
    lists_before = itertools.count()
    whole_list = service.list_pix_keys
    service.list_pix_keys = lambda *arguments: {"keys": []} if next(lists_before) else whole_list(*arguments)
    run_of_keys(service, tmp_path, disposable=True)

    assert {EMAIL, PHONE} <= keys_of_first_account(service)


def test_a_disposable_key_that_is_registered_already_stays_where_no_list_is_read(tmp_path):
    """The refusal of its registration says that it is registered already."""
    service = with_keys(Service(), **WERE_THERE)
    run_of_keys(service, tmp_path, allow=ALLOW[1:], disposable=True)

    assert {EMAIL, PHONE} <= keys_of_first_account(service)


@pytest.mark.parametrize("disposable", [True, False])
def test_a_key_of_the_profile_is_deleted_only_where_it_is_disposable(disposable, tmp_path):
    """Any other key of the profile stays and is listed by name.

    A RANDOM key stays if no answer gives its value. A synthetic key tests deletions.
    """
    service = Service()
    without_keys(service)
    model = run_of_keys(service, tmp_path, disposable=disposable, key_at=KEY_AT)
    keys_that_stay = set() if disposable else {PHONE, EMAIL, "45000001000174"}
    keys_after = keys_of_first_account(service)

    assert {key for key in keys_after if not UUID.fullmatch(key)} == keys_that_stay
    assert len(keys_left(model)) == len(keys_after) == len(keys_that_stay) + 1
    assert result_of(model, "deletePixKey.exists").verdict == "pass"


# -- keys that the run makes up ---------------------------------------------------------------------------------------


class TakesAnything(FakeBank):
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
    "changes",
    [{}, AS_A_SANDBOX, {**AS_A_SANDBOX, "pix_keys": None}],
    ids=["a bank", "a sandbox", "no key of the profile"],
)
def test_no_key_stays_that_the_run_made_up(changes, tmp_path):
    """Invalid and generated registrations may succeed, too.

    Off a sandbox, keys without a value stay at synthetic accounts only.
    """
    service = TakesAnything()
    changes = changes or {"pix_keys": [{"type": "RANDOM", "key": "", "disposable": True}]}
    is_bank = not changes.get("sandbox")
    run_of_keys(
        service, tmp_path, OPERATIONS_OF_KEYS, disposable=True, key_at=KEY_AT, among=(is_bank, False), **changes
    )

    assert not [account for account, _ in service.held if not (is_bank and account.startswith(MARK))]


@pytest.mark.parametrize("name", ["IdsVaryInTheList", "HidesMostOfTheKey", "hex"])
def test_a_random_key_is_deleted_if_the_answer_or_the_list_gives_it(name, tmp_path):
    """The key that the service makes may have any form.

    Identifiers that differ in every list are no keys, and a masked key is not a part of another key.
    """
    is_variant = name in VARIANTS.specimens
    service = VARIANTS.specimens[name].make() if is_variant else Service()
    if name == "HidesMostOfTheKey":
        service.registration_key = lambda registration: "***00"
    if not is_variant:
        numbers = itertools.count(1)
        service.new_key = lambda: f"5f0c1e9a7b3d4c2e8f6a0b1d{next(numbers)}"
    keys_before = keys_of_first_account(service)
    model = run_of_keys(service, tmp_path, key_at=KEY_AT, **AS_A_SANDBOX)

    assert keys_left(model) == []
    assert keys_of_first_account(service) == keys_before


class MasksItsList(TakesAnything):
    """Its list shows the first and the last characters of each key."""

    def perform(self, operation, request, parameter):
        result = super().perform(operation, request, parameter)
        if operation == "listPixKeys" and parameter:
            return {"keys": [{"pixKey": f"{key['pixKey'][:3]}****{key['pixKey'][-4:]}"} for key in result["keys"]]}
        return result


@pytest.mark.parametrize("changes", [{}, AS_A_SANDBOX], ids=["a bank", "a sandbox"])
@pytest.mark.parametrize("key_at", [KEY_AT, None])
def test_a_masked_text_is_no_key(key_at, changes, tmp_path):
    """A masked text may stand for several keys, so it is neither learned as a value nor named in a deletion."""
    service = MasksItsList()
    keys = [{"type": "RANDOM", "key": "", "disposable": True}, {"type": "PHONE", "key": PHONE, "disposable": True}]
    model = run_of_keys(service, tmp_path, OPERATIONS_OF_KEYS, key_at=key_at, pix_keys=keys, among=(False,), **changes)
    bodies_of_deletions = [request.body.decode() for request in service.received if request.method == "DELETE"]
    status = result_of(model, "registerPixKey.status")

    assert [body for body in bodies_of_deletions if "****" in body] == []
    assert status.verdict == "pass"
    assert str(status.message) == ""


def test_a_random_key_is_left_if_others_are_made_at_the_same_time(tmp_path):
    """The run cannot tell its own key from those of others, so it deletes none and lists its own as left."""
    service = VARIANTS.specimens["OthersHaveRandomKeysMade"].make()
    keys_before = keys_of_first_account(service)
    model = run_of_keys(service, tmp_path, key_at=KEY_AT, **AS_A_SANDBOX)

    assert keys_before | set(service.past) <= keys_of_first_account(service)
    assert keys_left(model) == [MADE]


class GivesTheKeyThatIsThere(DuplicatesAreWelcome):
    """The sandbox, which names the RANDOM key that the account has had for long, in place of a second one."""

    masks = False

    def __init__(self) -> None:
        super().__init__()
        with_keys(self, RANDOM=OLD_RANDOM)

    def register(self, ledger, account_id, key_type, value):
        return super().register(ledger, account_id, key_type, OLD_RANDOM if key_type == "RANDOM" else value)

    def registration_key(self, registration):
        return registration.key.key

    def key_result(self, key):
        return super().key_result(replace(key, key=f"{key.key[:4]}****") if self.masks else key)


@with_lists_and_without
@pytest.mark.parametrize("masks", [True, False], ids=["masked", "shown"])
def test_a_random_key_that_may_be_an_old_one_is_left(masks, allow, tmp_path):
    """The answer names a key. It stays, and the run lists it as left, unless a list shows for sure that it is new."""
    service = GivesTheKeyThatIsThere()
    service.masks = masks
    model = run_of_keys(service, tmp_path, allow=allow)

    assert OLD_RANDOM in keys_of_first_account(service)
    assert MADE in keys_left(model)


def _uuids_among(keys):
    """The keys that are UUIDs."""
    return {key for key in keys if UUID.fullmatch(key)}


def test_after_a_random_key_without_a_value_no_other_is_registered(tmp_path):
    """While the record holds a RANDOM key without a value, later runs register none, and the message says what to
    set.
    """
    service = Service()
    only_random = [{"type": "RANDOM", "key": ""}]
    keys_before = keys_of_first_account(service)
    runs = [
        (
            run_of_keys(service, tmp_path, pix_keys=only_random, key_at=place),
            _uuids_among(keys_of_first_account(service) - keys_before),
        )
        for place in (None, None, KEY_AT)
    ]
    run_of_keys(service, tmp_path, key_at=KEY_AT, **AS_A_SANDBOX)
    record = (tmp_path / "keys-profile.jsonl").read_text("utf-8")

    _, message_without_key_at, message_with_key_at = [
        str(result_of(model, "registerPixKey.pixKeyType.RANDOM").message) for model, _ in runs
    ]
    assert [len(keys) for _, keys in runs] == [1, 1, 1]
    assert "set key_at" in message_without_key_at
    assert "profile.yaml --yes forgets it" in message_with_key_at
    assert "disposable: true" in message_with_key_at
    assert [json.loads(line)["type"] for line in record.splitlines()].count("RANDOM") == 1


@pytest.mark.parametrize(("is_disposable", "left"), [(True, []), (False, [MADE])])
def test_a_key_that_is_made_for_another_type_is_deleted_or_told(is_disposable, left, tmp_path):
    """The service answers a registration of another type with a RANDOM key. A disposable one is deleted."""
    service = EvpAndDigitsAreTheOneRandomKey()
    service.new_key = Service().new_key
    keys_before = keys_of_first_account(service)
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    model = run_of_keys(service, tmp_path, key_at=KEY_AT, pix_keys=keys)

    assert keys_left(model) == left
    assert len(keys_of_first_account(service) - keys_before) == len(left)


@pytest.mark.parametrize("reads", [["read"], []], ids=["with lists", "without lists"])
@pytest.mark.parametrize(
    ("registry", "name"), [(VARIANTS, "HasItsOneRandomKeyAlready"), (MUTANTS, "RegistersRandomAndRefusesIt")]
)
def test_a_refused_random_key_is_open_until_a_list_shows_nothing_new(registry, name, reads, tmp_path):
    """The value of the key is unknown, so it is listed as perhaps registered unless a list shows nothing new."""
    service = registry.specimens[name].make()
    keys_after_run = keys_left(run_of_keys(service, tmp_path, allow=[*reads, "register-keys", "delete-keys"]))
    perhaps = [line for line in keys_after_run if line.startswith("RANDOM, made by the service: perhaps registered")]

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
    """The message advises to leave a type out only if the service refuses that type and accepts another.

    It advises nothing if the answer or another finding says all.
    """
    service, id = make(), "registerPixKey.pixKeyType.CNPJ"
    vars(service).update(parts)
    message = str(try_in_memory(service, profile_path("no_deletion"), ids={id}).rows[id].message)

    assert message.partition(" application/json")[2] == advice


def test_a_key_that_is_refused_and_listed_is_an_alert():
    """Every registration is refused, and the list shows the key.

    Nobody knows if the key is registered, so the run is incomplete.
    """
    service = MUTANTS.specimens["RefusesEveryRegistration"].make()
    without_keys(service)
    trial = try_in_memory(service, ids={"registerPixKey.status"})
    alerts = [note for note in trial.notes if "and the list shows its key: look whether it is registered" in note]

    assert trial.exit_status == 6
    assert len(alerts) == 1


def test_a_key_of_others_that_is_gone_is_an_alert():
    """The alert asks to restore the key. On a sandbox deletions go on, and the run is not green."""
    sent = sent_in_memory(MUTANTS.specimens["DeletesItsNeighbours"].make(), ids={"deletePixKey.exists"})
    trial = sent.judge()

    assert "a key that was there before the run is gone: restore it, unless somebody else deleted it" in trial.notes
    assert trial.exit_status == 6
    assert [request.method for request in sent.requests].count("DELETE") > 1


def test_a_service_that_wants_other_members_is_not_taken_for_a_full_account():
    """The service refuses every registration, and the finding says that it accepts other names of members."""
    ids = [f"registerPixKey.{name}" for name in ("body.pixKey", "body.account", "contentType.accepted")]
    rows = try_in_memory(MUTANTS.specimens["RegistrationWantsOtherNames"].make(), ids=set(ids)).rows
    finding, body_account, content_type = (str(rows[id].message) for id in ids)

    assert finding.endswith("is refused as documented and accepted with other names for all fields")
    assert body_account == content_type == "no registration as documented was understood"


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


def test_the_alert_about_a_registration_without_token_has_the_answer(tmp_path):
    """A registration without the token took effect, and the answer was a 204 and no refusal."""
    model = run_of_keys(RegistersBehindNoContent(), tmp_path, "registerPixKey", key_at=KEY_AT, **AS_A_SANDBOX)

    assert [
        note for note in report_notes(model) if note.startswith("a registration was answered 204 without a media type")
    ]
