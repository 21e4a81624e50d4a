"""What a run does with PIX keys, in whole runs against services in memory.

Keys that were registered before the run stay. Keys that the run registered are deleted, and the report names each one
that is left. A key of the profile may be deleted only if the profile calls it disposable. For the type RANDOM the
service makes the key, so the run has to learn its value from the answer or from the list of keys.
"""

import itertools
import json
from dataclasses import replace
from functools import partial

import pytest

import tests.selftest.proof.mutants
import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.sandbox import Response, Service
from reports.result.run_verdict import result_of_run
from spec.interface import SYNTHETIC_PREFIX
from spec.key_list import UUID
from tests.selftest.proof.borderline import EvpAndDigitsAreTheOneRandomKey
from tests.selftest.proof.directly import sent_in_memory, try_in_memory
from tests.selftest.proof.mutants.demands_faults import RefusesAKind
from tests.selftest.proof.mutants.making_faults import json_members
from tests.selftest.proof.registry import MUTANTS, VARIANTS
from tests.selftest.proof.variants.conforming_effects import remove_first_keys
from tests.selftest.proof.variants.conforming_making import profile_path, with_keys
from tests.selftest.proof.variants.conforming_registrations import DuplicatesAreWelcome, KeyLimit
from tests.selftest.services.one_run import (
    ALL_TESTS,
    TARGETED_TESTS,
    FakeBank,
    profile_of_bank,
    profile_of_sandbox,
    report_notes,
    run_suite_in_memory,
)
from tests.traffic.keys.listed import REGISTERED_BEFORE_AND_NOT_DISPOSABLE

EMAIL, PHONE, OLD_RANDOM = "qa@pix-conformance.example", "+5511955500777", "c0ffee00-0001-4000-8000-00000000000a"
OPERATIONS_OF_KEYS = "registerPixKey or deletePixKey or listPixKeys"
"""Expression of -k: all requirements about keys."""
VALID_REQUESTS = "registerPixKey.pixKeyType or deletePixKey.exists"
"""Expression of -k: the requirements for which valid requests are sent."""
ALLOW = ["read", "register-keys", "delete-keys", "fuzz"]
ALLOW_WITHOUT_READ = ["register-keys", "delete-keys", "fuzz"]
KEY_AT = "/data/keys/*/pixKey"
"""key_at of a profile: where the values of the keys are in a list of keys."""
KEYS_OF_THE_PROFILE = (("PHONE", PHONE), ("EMAIL", EMAIL), ("RANDOM", ""), ("CNPJ", "45000001000174"))
"""The type and the value of each key of the profile. The service makes the value of a RANDOM key."""
RANDOM_KEY_LEFT = "RANDOM, made by the service: registered and not deleted"
"""The line of the report about a RANDOM key that is left."""


def service_named(name: str) -> Service:
    """The service of the proof with this name. Each has a fault, or is right but unusual."""
    services = VARIANTS.declared_services | MUTANTS.declared_services
    return services[name].service_class()


def keys_of_first_account(service: Service) -> set[str]:
    """The keys that the first account of the service has."""
    with service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


def run_of_keys(
    service, folder, selected=VALID_REQUESTS, *, disposable=False, is_sandbox=False, tests=TARGETED_TESTS, **changes
):
    """Run the tests of keys against a service in this process, and return the record of the run.

    - `selected` is an expression of -k.
    - `disposable` says whether the run may delete the keys of the profile. (A RANDOM key is never disposable here.)
    - `is_sandbox` says whether the profile calls its target a sandbox, which is a service without real money.
    - `tests` says whether generated requests are also sent.
    - `changes` are further changes of the profile.
    """
    keys = []
    for key_type, key in KEYS_OF_THE_PROFILE:
        is_random = key == ""
        keys.append({"type": key_type, "key": key, "disposable": disposable and not is_random})
    changes = {"allow": ALLOW, "pix_keys": keys, "key_at": None, "transactions": None, **changes}
    profile = profile_of_sandbox(folder, **changes) if is_sandbox else profile_of_bank(folder, **changes)
    return run_suite_in_memory(service, profile, selected=selected, tests=tests)


def keys_left(run):
    """The lines of a report about the keys that a run did not delete, without the numbers of exchanges."""
    return [str(line).split(" (")[0] for line in run.not_cleaned_up_in_words]


def result_of(run, requirement_id):
    """The result (`RequirementResult`) of the requirement with this id in a run."""
    result_by_id = {requirement.id: result for requirement, result in result_of_run(run).results}
    return result_by_id[requirement_id]


# -- keys that were there before ------------------------------------------------------------------------------------

KEYS_BEFORE_THE_RUN = {"EMAIL": EMAIL, "PHONE": PHONE}


@pytest.mark.parametrize("make", [DuplicatesAreWelcome, Service])
def test_a_key_in_the_list_before_the_run_is_not_registered(make, tmp_path):
    """A key of the profile that the list of keys shows before the run is not registered, and stays.

    The requirement of its key type is out of scope, with the reason, and no requirement fails. Both an e-mail address
    and a phone number are in the list here.
    """
    service = with_keys(make(), **KEYS_BEFORE_THE_RUN)
    keys_before = keys_of_first_account(service)
    run = run_of_keys(service, tmp_path, key_at=KEY_AT, is_sandbox=True)
    result = result_of(run, "registerPixKey.pixKeyType.EMAIL")
    failing = [requirement.id for requirement, result in result_of_run(run).results if result.verdict == "fail"]

    assert (result.verdict, str(result.message)) == ("out-of-scope", REGISTERED_BEFORE_AND_NOT_DISPOSABLE)
    assert keys_of_first_account(service) == keys_before
    assert keys_left(run) == []
    assert failing == []


with_lists_and_without = pytest.mark.parametrize("allow", [ALLOW, ALLOW_WITHOUT_READ], ids=["read", "no read"])
LISTS_THAT_DO_NOT_SHOW_EACH_KEY = {
    "page 1 of 2": lambda keys: {"keys": keys[:1], "page": 1, "pages": 2},
    "empty": lambda keys: {"keys": []},
    "masked": lambda keys: {"keys": [key | {"pixKey": key["pixKey"][:3] + "****"} for key in keys]},
}


@pytest.mark.parametrize("shown_part", LISTS_THAT_DO_NOT_SHOW_EACH_KEY.values(), ids=LISTS_THAT_DO_NOT_SHOW_EACH_KEY)
@with_lists_and_without
def test_no_key_is_lost_that_was_there_before(allow, shown_part, tmp_path):
    """No key that the account had before the run is lost, even if no list of keys shows that it had them.

    Two keys of the profile are registered already, and the service accepts their registration once more. The run does
    not delete them afterwards, because it cannot know that it made them.
    """
    service = with_keys(DuplicatesAreWelcome(), **KEYS_BEFORE_THE_RUN)
    whole_list = service.list_pix_keys
    service.list_pix_keys = lambda request, account: shown_part(whole_list(request, account)["keys"])
    keys_before = keys_of_first_account(service)
    run_of_keys(service, tmp_path, allow=allow)

    assert keys_before <= keys_of_first_account(service)


def test_a_key_in_any_list_before_the_run_is_not_deleted(tmp_path):
    """A key that the first list of keys showed is not deleted, even if no later list shows it.

    The profile calls both keys disposable, which means that a run may delete them if it registered them.
    """
    service = with_keys(DuplicatesAreWelcome(), **KEYS_BEFORE_THE_RUN)
    number_of_lists = itertools.count()
    whole_list = service.list_pix_keys

    def list_of_keys(*arguments):
        """The whole list of keys at the first call, and an empty one later."""
        is_first = next(number_of_lists) == 0  # counts from 0
        return whole_list(*arguments) if is_first else {"keys": []}

    service.list_pix_keys = list_of_keys
    run_of_keys(service, tmp_path, disposable=True)

    assert {EMAIL, PHONE} <= keys_of_first_account(service)


def test_a_disposable_key_that_is_registered_already_stays_if_no_list_is_read(tmp_path):
    """If a run may not read lists of keys, a refused registration counts as a sign that the key existed: it stays.

    The profile calls the two keys disposable, which means that a run may delete what it registered.
    """
    service = with_keys(Service(), **KEYS_BEFORE_THE_RUN)
    run_of_keys(service, tmp_path, allow=ALLOW_WITHOUT_READ, disposable=True)

    assert {EMAIL, PHONE} <= keys_of_first_account(service)


@pytest.mark.parametrize(
    ("disposable", "keys_of_profile_that_stay"),
    [(True, set()), (False, {PHONE, EMAIL, "45000001000174"})],
    ids=["disposable", "not disposable"],
)
def test_a_key_of_the_profile_is_deleted_only_if_it_is_disposable(disposable, keys_of_profile_that_stay, tmp_path):
    """Keys of the profile that it does not call disposable stay after the run, and the report lists them.

    The RANDOM key stays in any case: no answer of this service gives its value. Deletions are tested with a key that
    the suite made up, so the requirement passes.
    """
    service = Service()
    remove_first_keys(service)
    run = run_of_keys(service, tmp_path, disposable=disposable, key_at=KEY_AT)
    keys_after_run = keys_of_first_account(service)
    random_keys = _uuids_among(keys_after_run)

    assert keys_after_run - random_keys == keys_of_profile_that_stay
    assert len(random_keys) == 1
    assert len(keys_left(run)) == len(keys_after_run)
    assert result_of(run, "deletePixKey.exists").verdict == "pass"


# -- keys that the run makes up ---------------------------------------------------------------------------------------


class TakesAnything(FakeBank):
    """Registers anything as a key, of any type and at any account, and deletes the keys that it is asked to delete.

    `held` has the registered keys: pairs of an account and a key.
    """

    def __init__(self) -> None:
        """No key is registered yet."""
        super().__init__()
        self.held: set[tuple[str, str]] = set()

    def perform(self, operation, request, parameter):
        """Do what a request asks for, and return the data of the answer. `parameter` is the account in the path."""
        if operation == "listPixKeys" and parameter:
            return {"keys": [{"pixKey": key} for account, key in sorted(self.held) if account == parameter]}
        if operation not in ("registerPixKey", "deletePixKey"):
            return super().perform(operation, request, parameter)
        sent_key = self.read_json(request, operation).get("pixKey")
        key = self.new_key() if sent_key in ("", None) else str(sent_key)
        if operation == "registerPixKey":
            self.held.add((parameter, key))
        else:
            self.held.discard((parameter, key))
        return {"Success": "true", "Message": "", "Key": None, "DocumentNumber": 1}


@pytest.mark.parametrize(
    ("is_sandbox", "changes"),
    [
        (False, {"pix_keys": [{"type": "RANDOM", "key": "", "disposable": True}]}),
        (True, {}),
        (True, {"pix_keys": None}),
    ],
    ids=["a bank", "a sandbox", "a sandbox, and no key in the profile"],
)
def test_no_key_stays_that_the_run_made_up(is_sandbox, changes, tmp_path):
    """After a run no account of the profile has a key that the run made up, even if the service registers anything.

    Invalid registrations succeed here, too, and so do generated ones, which this test sends only to a bank (a target that
    is no sandbox). Some keys may stay at accounts that the suite made up, which nobody has: no answer gives the value of
    a key that the service made there.
    """
    service = TakesAnything()
    tests = TARGETED_TESTS if is_sandbox else ALL_TESTS
    changes = {"disposable": True, "key_at": KEY_AT, **changes}
    run_of_keys(service, tmp_path, OPERATIONS_OF_KEYS, is_sandbox=is_sandbox, tests=tests, **changes)
    accounts_with_keys = {account for account, _ in service.held}
    accounts_that_the_suite_made_up = {
        account for account in accounts_with_keys if account.startswith(SYNTHETIC_PREFIX)
    }
    may_keep_keys = set() if is_sandbox else accounts_that_the_suite_made_up

    assert accounts_with_keys - may_keep_keys == set()


def service_with_varying_ids_in_the_list():
    """A service whose list has identifiers beside the keys. They differ in every list, and are no keys."""
    return service_named("IdsVaryInTheList")


def service_that_hides_most_of_the_key():
    """A service whose answer to a registration shows only the end of the key. Another key may have the same end."""
    service = service_named("HidesMostOfTheKey")
    service.registration_key = lambda registration: "***00"
    return service


def service_with_hexadecimal_keys():
    """A service whose RANDOM keys are hexadecimal numbers without hyphens, which are no UUIDs."""
    service = Service()
    numbers = itertools.count(1)
    service.new_key = lambda: f"5f0c1e9a7b3d4c2e8f6a0b1d{next(numbers)}"
    return service


@pytest.mark.parametrize(
    "make",
    [service_with_varying_ids_in_the_list, service_that_hides_most_of_the_key, service_with_hexadecimal_keys],
)
def test_a_random_key_is_deleted_if_the_answer_or_the_list_gives_it(make, tmp_path):
    """A run deletes the RANDOM key that the service made for it, and no other key, and the report lists none as left.

    It learns the value of the key from the answer, or from a list of keys that has one more key than before.
    """
    service = make()
    keys_before = keys_of_first_account(service)
    run = run_of_keys(service, tmp_path, key_at=KEY_AT, is_sandbox=True)

    assert keys_left(run) == []
    assert keys_of_first_account(service) == keys_before


class MasksItsList(TakesAnything):
    """Its list shows the first three and the last four characters of each key: "qa@****mple"."""

    def perform(self, operation, request, parameter):
        """Do what a request asks for, and return the data of the answer, in which keys are masked."""
        result = super().perform(operation, request, parameter)
        if operation != "listPixKeys" or not parameter:
            return result
        keys = [item["pixKey"] for item in result["keys"]]
        return {"keys": [{"pixKey": f"{key[:3]}****{key[-4:]}"} for key in keys]}


@pytest.mark.parametrize("is_sandbox", [False, True], ids=["a bank", "a sandbox"])
@pytest.mark.parametrize("key_at", [KEY_AT, None], ids=["with key_at", "without key_at"])
def test_no_deletion_names_a_masked_key(key_at, is_sandbox, tmp_path):
    """No deletion names a masked text of a list as its key, such as `pix****abcd`, because it may be one of several keys.

    That is so whether or not the profile says with key_at where the keys are in a list. The requirement on registrations
    passes without a message, because a list may mask its keys.
    """
    service = MasksItsList()
    keys = [{"type": "RANDOM", "key": "", "disposable": True}, {"type": "PHONE", "key": PHONE, "disposable": True}]
    run = run_of_keys(service, tmp_path, OPERATIONS_OF_KEYS, is_sandbox=is_sandbox, key_at=key_at, pix_keys=keys)
    bodies_of_deletions = [request.body.decode() for request in service.received if request.method == "DELETE"]
    result_of_registrations = result_of(run, "registerPixKey.status")

    assert [body for body in bodies_of_deletions if "****" in body] == []
    assert (result_of_registrations.verdict, str(result_of_registrations.message)) == ("pass", "")


def test_a_random_key_is_left_if_others_are_made_at_the_same_time(tmp_path):
    """If somebody else has a RANDOM key made at the same time, the run deletes neither key, and lists its own as left.

    The reason is that the list of keys does not show which of the two new keys is whose.
    """
    service = service_named("OthersHaveRandomKeysMade")
    keys_before = keys_of_first_account(service)
    run = run_of_keys(service, tmp_path, key_at=KEY_AT, is_sandbox=True)
    keys_of_somebody_else = set(service.past)

    assert keys_before | keys_of_somebody_else <= keys_of_first_account(service)
    assert keys_left(run) == [RANDOM_KEY_LEFT]


class GivesTheKeyThatIsThere(DuplicatesAreWelcome):
    """The account has a RANDOM key. A registration of another one succeeds, and its answer names the old key.

    If `masks` is true, the list of keys shows only the first four characters of each.
    """

    masks = False

    def __init__(self) -> None:
        """The sandbox, whose first account has a RANDOM key already."""
        super().__init__()
        with_keys(self, RANDOM=OLD_RANDOM)

    def register(self, ledger, account_id, key_type, value):
        """Register a key. For the type RANDOM it is always the old key."""
        return super().register(ledger, account_id, key_type, OLD_RANDOM if key_type == "RANDOM" else value)

    def registration_key(self, registration):
        """The member Key of the answer: the key, also if it is a RANDOM key."""
        return registration.key.key

    def key_result(self, key):
        """A key as the list of keys shows it, perhaps masked."""
        return super().key_result(replace(key, key=f"{key.key[:4]}****") if self.masks else key)


@with_lists_and_without
@pytest.mark.parametrize("masks", [True, False], ids=["masked", "shown"])
def test_a_random_key_that_may_be_an_old_one_is_left(masks, allow, tmp_path):
    """A RANDOM key that may have existed before the run is not deleted, although the answer to a registration names it.

    This service answers with a key that the account had before. No list shows for sure that the key is new, because the
    run has no `key_at`, which says where keys are in a list. So the report lists it as left.
    """
    service = GivesTheKeyThatIsThere()
    service.masks = masks
    run = run_of_keys(service, tmp_path, allow=allow)

    assert OLD_RANDOM in keys_of_first_account(service)
    assert RANDOM_KEY_LEFT in keys_left(run)


def _uuids_among(keys):
    """The keys that are UUIDs."""
    return {key for key in keys if UUID.fullmatch(key)}


def test_after_a_random_key_without_a_value_no_other_is_registered(tmp_path):
    """While the key record has a RANDOM key of unknown value, later runs register no further RANDOM key.

    The key record is a file with the keys that runs registered. The first run registers a RANDOM key whose value it
    does not learn. The messages of the later runs say what to set. A run on a sandbox does not use the record.
    """
    service = Service()
    only_random = [{"type": "RANDOM", "key": ""}]
    keys_before = keys_of_first_account(service)

    def message_and_number_of_random_keys(key_at):
        """The message of a run about the key type RANDOM, and how many RANDOM keys the account has more than before."""
        run = run_of_keys(service, tmp_path, pix_keys=only_random, key_at=key_at)
        new_keys = _uuids_among(keys_of_first_account(service) - keys_before)
        return str(result_of(run, "registerPixKey.pixKeyType.RANDOM").message), len(new_keys)

    _, number_after_first_run = message_and_number_of_random_keys(key_at=None)
    message_without_key_at, number_after_second_run = message_and_number_of_random_keys(key_at=None)
    message_with_key_at, number_after_third_run = message_and_number_of_random_keys(key_at=KEY_AT)
    run_of_keys(service, tmp_path, key_at=KEY_AT, is_sandbox=True)
    lines_of_key_record = (tmp_path / "keys-profile.jsonl").read_text("utf-8").splitlines()
    types_in_key_record = [json.loads(line)["type"] for line in lines_of_key_record]

    assert (number_after_first_run, number_after_second_run, number_after_third_run) == (1, 1, 1)
    assert "set key_at" in message_without_key_at
    assert "profile.yaml --yes forgets it" in message_with_key_at
    assert "disposable: true" in message_with_key_at
    assert types_in_key_record.count("RANDOM") == 1


@pytest.mark.parametrize(
    ("is_disposable", "keys_that_stay"),
    [(True, []), (False, [RANDOM_KEY_LEFT])],
    ids=["disposable", "not disposable"],
)
def test_a_key_that_is_made_for_another_type_is_deleted_or_listed(is_disposable, keys_that_stay, tmp_path):
    """A RANDOM key that the service makes for another key type, such as EVP, is deleted if the profile permits it.

    It permits that if its entry for RANDOM keys is disposable. Otherwise the report lists the key as left. This service
    makes such a key for the type EVP, and for digits in the place of a type.
    """
    service = EvpAndDigitsAreTheOneRandomKey()
    service.new_key = Service().new_key  # a new key each time, in the place of the same key for every registration
    keys_before = keys_of_first_account(service)
    keys = [{"type": "RANDOM", "key": "", "disposable": is_disposable}]
    run = run_of_keys(service, tmp_path, key_at=KEY_AT, pix_keys=keys)
    new_keys = keys_of_first_account(service) - keys_before

    assert keys_left(run) == keys_that_stay
    assert len(new_keys) == len(keys_that_stay)


@pytest.mark.parametrize(
    ("name_of_service", "allow", "perhaps_registered"),
    [
        ("HasItsOneRandomKeyAlready", ["read", "register-keys", "delete-keys"], False),
        ("HasItsOneRandomKeyAlready", ["register-keys", "delete-keys"], True),
        ("RegistersRandomAndRefusesIt", ["read", "register-keys", "delete-keys"], True),
        ("RegistersRandomAndRefusesIt", ["register-keys", "delete-keys"], True),
    ],
    ids=[
        "refuses it, lists are read", "refuses it, no list is read",
        "refuses and registers it, lists are read", "refuses and registers it, no list is read",
    ],
)  # fmt: skip
def test_a_refused_random_key_is_perhaps_registered_unless_a_list_shows_nothing_new(
    name_of_service, allow, perhaps_registered, tmp_path
):
    """If the service refuses to register a RANDOM key, the report lists the key as perhaps registered.

    It does not list it if the run may read lists of keys, and they show no new key.
    """
    service = service_named(name_of_service)
    lines_of_report = keys_left(run_of_keys(service, tmp_path, allow=allow))
    lines_of_the_key = [
        line for line in lines_of_report if line.startswith("RANDOM, made by the service: perhaps registered")
    ]

    assert bool(lines_of_the_key) is perhaps_registered


def account_that_may_have_no_further_key():
    """A service that refuses each registration with 422, because the account may have no more keys."""
    service = KeyLimit()
    service.MOST = 0
    return service


def account_that_may_have_two_further_keys():
    """A service that refuses each registration after the second one with 422. The suite registers a CNPJ later."""
    service = KeyLimit()
    service.MOST = 2
    return service


def service_that_refuses_cnpj_with(status):
    """A service that answers each registration of a CNPJ with this status, and registers keys of all other types."""
    service = RefusesAKind()
    service.KIND, service.STATUS = "CNPJ", status
    return service


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            account_that_may_have_no_further_key,
            "no CNPJ key was registered: 422 application/json; the account may hold no more keys: delete some, or name "
            "another account",
        ),
        (
            account_that_may_have_two_further_keys,
            "no CNPJ key was registered: 422 application/json; the account may hold no more keys: delete some, or name "
            "another account",
        ),
        (
            partial(service_that_refuses_cnpj_with, 400),
            "no CNPJ key was registered: 400 application/json; if the account may have no such key, set "
            "not_for_this_account: [CNPJ]",
        ),
        (partial(service_that_refuses_cnpj_with, 500), "no CNPJ key was registered: 500 application/json"),
        (
            partial(service_named, "EveryKeyWaitsWithAWord"),
            "no CNPJ key was registered: 403 application/json; the list shows such a key: perhaps its owner has to confirm "
            "it, or the account may have only one such key",
        ),
        (partial(service_named, "RegistrationWantsOtherNames"), "no CNPJ key was registered: 400 application/json"),
    ],
    ids=[
        "the account may have no further key",
        "the account may have two further keys",
        "only CNPJ is refused, with 400",
        "only CNPJ is refused, with 500",
        "each key is refused with 403, and is in the list with the status WAITING",
        "each registration is refused, because other names of members are wanted",
    ],
)
def test_advice_fits_the_refusal_of_a_key_type(make, message):
    """If the service refuses to register a CNPJ, a message has its answer, and advice that fits the refusal.

    It advises to leave the type out only if the service refuses that type and accepts another. There is no advice if
    the status says that the service is at fault (500), or if another finding says which names of members it wants.
    """
    requirement_id = "registerPixKey.pixKeyType.CNPJ"
    trial = try_in_memory(make(), profile_path("no_deletion"), ids={requirement_id})

    assert str(trial.results[requirement_id].message) == message


def test_a_key_that_is_refused_and_listed_is_an_alert():
    """If a service refuses a registration and its list shows the key nevertheless, an alert says what to look at.

    Nobody knows if the key is registered, so the run is incomplete (exit status 6).
    """
    service = service_named("RefusesEveryRegistration")
    remove_first_keys(service)
    trial = try_in_memory(service, ids={"registerPixKey.status"})
    alerts = [note for note in trial.notes if "and the list shows its key: look whether it is registered" in note]

    assert trial.exit_status == 6
    assert len(alerts) == 1


def test_a_key_of_others_that_is_gone_is_an_alert():
    """If a service deletes more keys than the request names, an alert asks to restore the key that is gone.

    The run is incomplete (exit status 6). On a sandbox, as here, further deletions are sent.
    """
    sent = sent_in_memory(service_named("DeletesItsNeighbours"), ids={"deletePixKey.exists"})
    trial = sent.judge()
    number_of_deletions = [request.method for request in sent.requests].count("DELETE")

    assert "a key that was there before the run is gone: restore it, unless somebody else deleted it" in trial.notes
    assert trial.exit_status == 6
    assert number_of_deletions > 1


def test_a_service_that_wants_other_members_is_not_taken_for_a_full_account():
    """If a service wants other names of members in the body of a registration, one requirement says so and fails.

    The others are not tested, because the service refuses each registration as documented. None of them says that the
    account holds too many keys.
    """
    ids = {"registerPixKey.body.pixKey", "registerPixKey.body.account", "registerPixKey.contentType.accepted"}
    trial = try_in_memory(service_named("RegistrationWantsOtherNames"), ids=ids)
    messages = {requirement_id: str(result.message) for requirement_id, result in trial.results.items()}

    assert messages["registerPixKey.body.pixKey"].endswith(
        "is refused as documented and accepted with other names for all fields"
    )
    assert messages["registerPixKey.body.account"] == "no registration as documented was understood"
    assert messages["registerPixKey.contentType.accepted"] == "no registration as documented was understood"


class RegistersBehindNoContent(TakesAnything):
    """Registers a key without a valid token and answers 204 (no content). It refuses a registration with the token."""

    def respond(self, request):
        """Answer a request. A registration without a valid token is carried out, and one with it is refused."""
        is_registration = request.method == "POST" and request.path.startswith("/v1/pix/keys/")
        if not is_registration:
            return super().respond(request)
        if self.has_valid_token(request):
            return Response(422, b"{}")
        account = request.path.rpartition("/")[2]
        key = json_members(request).get("pixKey")
        if isinstance(key, str):
            self.held.add((account, key))
        return Response(204, b"")


def test_the_alert_about_a_registration_without_token_says_how_it_was_answered(tmp_path):
    """If a service registers a key without the token, an alert says so, and begins with the answer of the service.

    The answer is 204 (no content) here.
    """
    run = run_of_keys(RegistersBehindNoContent(), tmp_path, "registerPixKey", key_at=KEY_AT, is_sandbox=True)
    beginning = "a registration was answered 204 without a media type"

    assert [note for note in report_notes(run) if note.startswith(beginning)] != []
