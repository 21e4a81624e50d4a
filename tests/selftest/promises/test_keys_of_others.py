"""Outside a sandbox no key of somebody else is lost through a run, whatever a service does with the keys of an account.

The account of these services has keys of a customer before the run. `deletions` of a service are the requests to delete
a key that arrived, and `keys_lost` the keys of the customer that are gone. `key_at` of the profile says where a list
shows each key. A sandbox is a service without real money; a bank is any other service.
"""

import itertools
import re
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from environments.__main__ import main
from environments.sandbox import Server
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.services.keys_of_others import (
    ACCOUNT,
    EMAIL,
    OLD_RANDOM,
    OTHER_ACCOUNT,
    PHONE,
    ConcatenatesSql,
    CutsKeys,
    DeletesAtTheOtherAccountToo,
    DeletesTheOldest,
    DeletesTheOldestForAnyAccount,
    GivesAnOldRandomKey,
    HoldsKeysOfACustomer,
    HoldsKeysOfTwoAccounts,
    ListsTheTwoUsedLast,
    MovesKeys,
    NeverDeletes,
    RegistersAtTheAccountOfTheToken,
    RegistersInAMinute,
    RegistersInAMinuteWithoutAResult,
    ReplacesTheKeyOfItsType,
    ShowsNumbersInAForm,
    ShowsOnePage,
    TheCustomerUsesTheApp,
)
from tests.selftest.services.one_run import ALL_TESTS, TARGETED_TESTS, result_in_memory
from tests.selftest.services.running import TOKEN_VARIABLES, run_suite, write_profile

KEY_AT = "/data/keys/*/pixKey"
OWN_KEY = {"type": "EMAIL", "key": "qa@pix-conformance.example"}
"""A key of the profile, which no list shows before the run."""
DISPOSABLE_KEY = OWN_KEY | {"disposable": True}
"""The same key. The profile calls it disposable, so the run may delete it."""
DISPOSABLE_KEYS = [
    {"type": "EMAIL", "key": f"{name}@pix-conformance.example", "disposable": True} for name in ("qa", "qb")
]
WITHOUT_FUZZ = ["read", "register-keys", "delete-keys"]
WITH_FUZZ = [*WITHOUT_FUZZ, "fuzz"]
OPERATIONS_OF_KEYS = "registerPixKey or deletePixKey or listPixKeys"
A_KEY_IS_GONE = "a key that was there before the run is gone"
"""The beginning of an alert."""


def changes_for_a_bank(folder, *, keys=(OWN_KEY,), allow=WITHOUT_FUZZ, key_at=KEY_AT, accounts=(ACCOUNT,), **changes):
    """Changes that make the profile one of a bank (a target that is no sandbox).

    Its journal and its key record, the files of the codes and keys that runs sent, are in the folder.
    """
    return {
        "sandbox": None, "allow": allow, "pix_keys": list(keys), "key_at": key_at, "accounts": list(accounts),
        "transactions": None, "journal": str(folder / "journal.jsonl"), **changes,
    }  # fmt: skip


def profile_at(base_url, folder, **changes):
    """The file of a profile of a bank at this address."""
    return write_profile(folder, base_url, **changes_for_a_bank(folder, **changes))


def run_at_bank(service, folder, tests=TARGETED_TESTS, **changes):
    """The result of a run of the tests of keys against a service in this process, which the profile calls no sandbox.

    `changes` are parameters of `changes_for_a_bank`.
    """
    return result_in_memory(
        service, folder, selected=OPERATIONS_OF_KEYS, tests=tests, **changes_for_a_bank(folder, **changes)
    )


def left_behind(result):
    """The part of the report about keys that the run registered and did not delete; empty if there are none."""
    return "\n".join(result.document["left_behind"])


# -- a deletion that takes another key ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow"),
    [(DeletesTheOldest, WITHOUT_FUZZ), (DeletesTheOldestForAnyAccount, WITH_FUZZ)],
    ids=["a deletion at the account", "a generated deletion at an account that the suite made up"],
)
def test_after_a_deletion_that_took_another_key_nothing_is_deleted(make, allow, tmp_path):
    """After a deletion that deleted another key than the one that it named, a run deletes nothing more.

    So only one key of the customer is lost. The run has an alert, and its exit status is not 0. The second service
    deletes a key of the customer even if the account in the path is made up. Generated deletions, which need the
    permission `fuzz`, name such accounts.
    """
    service = make()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=allow)

    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert result.status != 0
    assert A_KEY_IS_GONE in result.output


def test_cleanup_deletes_nothing_after_its_first_deletion_took_another_key(tmp_path, monkeypatch, capsys):
    """The command `cleanup`, which deletes the keys that a run left, stops after a deletion that deleted another key.

    Its exit status is 6 then. The keys that it did not delete stay in the key record (a file with the keys that runs
    registered). So the next `cleanup` lists them, with exit status 1.
    """
    service = DeletesTheOldest()
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        without_deletions = profile_at(server.base_url, tmp_path, keys=DISPOSABLE_KEYS, allow=["read", "register-keys"])
        run_suite(without_deletions, "-k", OPERATIONS_OF_KEYS)
        with_deletions = profile_at(server.base_url, tmp_path, keys=DISPOSABLE_KEYS)
        status = main(["cleanup", str(with_deletions), "--yes"])
        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])  # the command removes it from the environment
        status_of_next_cleanup = main(["cleanup", str(with_deletions)])
    printed = capsys.readouterr()

    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert (status, status_of_next_cleanup) == (6, 1)
    assert A_KEY_IS_GONE in printed.err
    assert "gone: " not in printed.out  # a line about a key of the run that was deleted


def test_nothing_is_deleted_if_key_at_leads_elsewhere(tmp_path):
    """If key_at does not lead to the keys in a list, a run deletes nothing, and its output says that key_at is wrong.

    key_at of this profile leads to the type of each key. The run notices it, because lists show its own keys elsewhere.
    No requirement blames the service.
    """
    service = DeletesTheOldest()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, key_at="/data/keys/*/pixKeyType")

    assert service.deletions == []
    assert service.keys_lost == set()
    assert "key_at is not the place where listPixKeys shows each key, so no key is deleted" in result.output
    assert "registerPixKey.status" not in result.messages_with_verdict("warn")


def test_nothing_is_deleted_without_key_at(tmp_path):
    """Without key_at in the profile a run deletes nothing, because no list can show that a key was absent before it.

    The message of a requirement of deletePixKey says to set key_at.
    """
    service = DeletesTheOldest()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, key_at=None)

    assert service.deletions == []
    assert service.keys_lost == set()
    assert "set key_at" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_nothing_is_deleted_by_a_list_that_goes_on(tmp_path):
    """If a list of keys has a second page, a run deletes nothing: the list does not show which keys were absent before.

    The message of a requirement of deletePixKey says that the list is not complete.
    """
    service = ShowsOnePage(pages=2)
    result = run_at_bank(service, tmp_path)

    assert service.deletions == []
    assert "not complete" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_after_a_deletion_without_effect_nothing_is_deleted(tmp_path):
    """If a list still shows a key four seconds after its deletion was granted, a run deletes nothing more.

    Perhaps the service deleted another key. A note says that the key is still listed.
    """
    service = NeverDeletes()
    result = run_at_bank(service, tmp_path)

    assert len(service.deletions) == 1
    assert "a key is still listed 4 s after its deletion" in result.output
    assert A_KEY_IS_GONE not in result.output


@pytest.fixture(scope="module")
def conforming_service_and_result(tmp_path_factory):
    """A service that deletes exactly what it is asked to, and the result of a run with generated requests."""
    service = HoldsKeysOfACustomer()
    folder = tmp_path_factory.mktemp("run")
    return service, run_at_bank(service, folder, ALL_TESTS, allow=WITH_FUZZ, keys=[DISPOSABLE_KEY])


def test_a_conforming_service_is_tested_whole(conforming_service_and_result):
    """If a service deletes exactly what it is asked to, a run sends many deletions, and no requirement fails.

    At the end the account has the keys that it had before the run, and the report lists no key as left.
    """
    service, result = conforming_service_and_result

    assert len(service.deletions) > 5
    assert result.messages_with_verdict("fail") == {}
    assert service.keys_held() == service.keys_at_first
    assert left_behind(result) == ""


def test_after_each_deletion_a_list_is_read(conforming_service_and_result):
    """A run never sends two deletions in a row, because it reads a list of keys after each to see which key is gone."""
    service, _ = conforming_service_and_result
    requests_about_keys = [request for request in service.received if "/pix/keys/" in request.path]
    lists_and_deletions = [request.method for request in requests_about_keys if request.method != "POST"]
    pairs_in_a_row = list(itertools.pairwise(lists_and_deletions))

    assert ("DELETE", "GET") in pairs_in_a_row
    assert ("DELETE", "DELETE") not in pairs_in_a_row


# -- a key that is gone for another reason, or from another account -----------------------------------------------------

TWO_ACCOUNTS = (ACCOUNT, OTHER_ACCOUNT)


def changes_of_keys(service):
    """The requests with the valid token that name a key to register or to delete."""
    changes = []
    for request in service.received:
        has_the_token = service.token in (request.header("Authorization") or "")
        may_change_a_key = request.method in ("POST", "DELETE") and b'"pixKey"' in request.body
        if has_the_token and may_change_a_key:
            changes.append(request)
    return changes


@pytest.mark.parametrize(
    "allow", [WITH_FUZZ, ["read", "register-keys", "fuzz"]], ids=["deletions permitted", "registrations alone"]
)
def test_after_a_registration_that_replaced_a_key_nothing_is_registered(allow, tmp_path):
    """After a registration that replaced a key of the customer, a run registers and deletes nothing more.

    An alert says that a key is gone. The exit status is neither 0 nor 1, and no requirement fails, because the customer
    may have deleted the key. The requirement that a deletion exists is no warning, because no deletion was sent.
    """
    service = ReplacesTheKeyOfItsType()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=allow)
    registrations_and_deletions = changes_of_keys(service)

    assert len(registrations_and_deletions) == 1  # the registration that replaced the key
    assert len(service.keys_lost) == 1
    assert result.status not in (0, 1)
    assert A_KEY_IS_GONE in result.output
    assert result.messages_with_verdict("fail") == {}
    assert "deletePixKey.exists" not in result.messages_with_verdict("warn")


def test_a_key_that_the_customer_deletes_meanwhile_is_an_alert(tmp_path):
    """If a key of the customer disappears during a run, an alert says that it is gone, and no requirement fails.

    Nobody knows if a request of the run is the reason, so the run is incomplete (exit status 6). Here the customer
    deletes an e-mail address while the run registers a key.
    """
    service = HoldsKeysOfACustomer()
    register = service.register

    def register_while_the_customer_deletes(ledger, account_id, key_type, value):
        """Register a key, after the customer has deleted an e-mail address."""
        key_of_customer = ledger.key(EMAIL)
        if key_of_customer is not None:
            ledger.remove_key(key_of_customer)
        return register(ledger, account_id, key_type, value)

    service.register = register_while_the_customer_deletes
    result = run_at_bank(service, tmp_path)

    assert result.status == 6
    assert result.messages_with_verdict("fail") == {}
    assert A_KEY_IS_GONE in result.output


def test_after_a_deletion_that_took_a_key_of_the_other_account_nothing_is_deleted(tmp_path):
    """After a deletion that also deleted a key of another account of the profile, a run deletes nothing more.

    The run notices it, because it reads the lists of all its accounts after each deletion. The exit status is not 0.
    """
    service = DeletesAtTheOtherAccountToo()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, accounts=TWO_ACCOUNTS)

    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert result.status != 0
    assert A_KEY_IS_GONE in result.output


def test_cleanup_looks_at_the_other_account_too(tmp_path, monkeypatch):
    """The command `cleanup` stops after a deletion that also deleted a key of another account of the profile.

    `cleanup` deletes the keys that a run left. After each deletion it reads the lists of all accounts of the profile, so
    it notices that a key is gone, and its exit status is 6. Otherwise it would send a second deletion here.
    """
    service = DeletesAtTheOtherAccountToo()
    options = {"keys": DISPOSABLE_KEYS, "accounts": TWO_ACCOUNTS}
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        without_deletions = profile_at(server.base_url, tmp_path, allow=["read", "register-keys"], **options)
        run_suite(without_deletions, "-k", OPERATIONS_OF_KEYS)
        with_deletions = profile_at(server.base_url, tmp_path, **options)
        status = main(["cleanup", str(with_deletions), "--yes"])

    assert status == 6
    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)


def test_a_key_that_another_account_of_the_profile_holds_is_not_registered(tmp_path):
    """A key that the list of another account of the profile shows is never sent.

    Its registration could move the key to the first account, and the deletion would then take it from the second one.
    """
    service = MovesKeys()
    keys = [OWN_KEY, {"type": "EMAIL", "key": "tia@cliente.example", "disposable": True}]
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=keys, accounts=TWO_ACCOUNTS)
    requests_with_that_key = [request for request in service.received if b"tia@cliente.example" in request.body]

    assert requests_with_that_key == []
    assert service.keys_lost == set()
    assert result.messages_with_verdict("fail") == {}


def test_a_conforming_service_with_two_accounts_is_tested_whole(tmp_path):
    """With two accounts in the profile a run sends many deletions, if the service deletes exactly what it is asked to.

    At the end both accounts have the keys that they had before. There is no alert, and no requirement fails.
    """
    service = HoldsKeysOfTwoAccounts()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=[DISPOSABLE_KEY], accounts=TWO_ACCOUNTS)

    assert len(service.deletions) > 5
    assert service.keys_held() == service.keys_at_first
    assert service.keys_lost == set()
    assert left_behind(result) == ""
    assert A_KEY_IS_GONE not in result.output
    assert result.messages_with_verdict("fail") == {}


# -- keys of the profile that were there before ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "phone_in_the_list",
    ["(11) 98765-4321", {"sufixo": "4321", "prefixo": "98765", "ddd": "11"}, "+55*******4321"],
    ids=["with punctuation", "in three parts, the last one first", "masked"],
)
def test_a_key_that_a_list_shows_in_any_form_stays(phone_in_the_list, tmp_path):
    """A disposable key of the profile stays if a list showed it before the run, even in another form.

    The key is the telephone number +5511987654321 here. A telephone number is compared by its last eight digits. With a
    masked list, which shows a part of each key, nothing of the profile is deleted.
    """
    phone = "+5511987654321"
    service = ShowsNumbersInAForm(lambda key: phone_in_the_list if key == phone else key)
    run_at_bank(service, tmp_path, keys=[{"type": "PHONE", "key": phone, "disposable": True}])

    assert phone in service.keys_held()


def test_a_key_that_no_list_ever_shows_stays(tmp_path):
    """A disposable key of the profile stays if no list ever shows it, not even after its registration.

    Such lists cannot show that the key was absent before the run.
    """
    service = ShowsNumbersInAForm(lambda key: key)
    service.list_pix_keys = lambda request, account: {"keys": []}
    run_at_bank(service, tmp_path, keys=[{"type": "PHONE", "key": PHONE, "disposable": True}])

    assert PHONE in service.keys_held()


# -- RANDOM ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [GivesAnOldRandomKey, ListsTheTwoUsedLast])
def test_a_random_key_of_somebody_else_stays(make, tmp_path):
    """A RANDOM key that the account had before the run stays, even if an answer or a list shows it as if it were new.

    A run deletes a RANDOM key only if the answer to its registration and the list agree on a new value.
    """
    service = make()
    run_at_bank(service, tmp_path, keys=[OWN_KEY, {"type": "RANDOM", "key": ""}])

    assert service.keys_lost == set()
    assert OLD_RANDOM in service.keys_held()


def test_a_random_key_that_the_customer_makes_meanwhile_stays(tmp_path):
    """A RANDOM key that the customer has made during the run stays, because the list does not show whose a new key is.

    The report lists a RANDOM key of the run as left.
    """
    service = TheCustomerUsesTheApp()
    result = run_at_bank(service, tmp_path, keys=[OWN_KEY, {"type": "RANDOM", "key": ""}])

    assert service.keys_lost == set()
    assert "RANDOM, made by the service" in left_behind(result)


@pytest.mark.parametrize(
    ("disposable", "new_key_stays"), [(True, False), (False, True)], ids=["disposable", "not disposable"]
)
def test_a_random_key_from_two_lists_is_deleted_only_if_disposable(disposable, new_key_stays, tmp_path):
    """If only a list of keys shows the value of a new RANDOM key, a run deletes it only if the profile permits that.

    The profile permits it with `disposable`, which says that nobody else registers keys at the account. Otherwise the
    report lists the key as left. The answer to the registration does not have the value (Key is null).
    """
    service = HoldsKeysOfACustomer()
    result = run_at_bank(service, tmp_path, keys=[{"type": "RANDOM", "key": "", "disposable": disposable}])
    new_keys = service.keys_held() - service.keys_at_first

    assert bool(new_keys) is new_key_stays
    assert ("RANDOM, made by the service" in left_behind(result)) is new_key_stays


def test_a_random_key_is_deleted_if_answer_and_list_agree(tmp_path):
    """A RANDOM key is deleted if the answer to its registration and the list of keys show the same new value.

    The profile need not call it `disposable` for that.
    """
    service = HoldsKeysOfACustomer()
    service.registration_key = lambda registration: registration.key.key
    run_at_bank(service, tmp_path, keys=[{"type": "RANDOM", "key": ""}])

    assert service.keys_held() == service.keys_at_first


# -- the key record ------------------------------------------------------------------------------------------------------


@contextmanager
def _key_left_at_another_address(folder):
    """Two services: at the one with address A a run left a disposable key, and at B a customer has the same key.

    Yields an object with both services and addresses, and with the keys for a profile (`keys`).
    """
    service_a = HoldsKeysOfACustomer()
    service_b = ShowsNumbersInAForm(lambda key: key)
    keys = [{"type": "EMAIL", "key": EMAIL, "disposable": True}]
    with service_a.database.transaction() as ledger:
        ledger.remove_key(ledger.key(EMAIL))
    with Server(service_a) as server_a, Server(service_b) as server_b:
        run_suite(
            profile_at(server_a.base_url, folder, keys=keys, allow=["read", "register-keys"]), "-k", OPERATIONS_OF_KEYS
        )
        assert EMAIL in service_a.keys_held()
        yield SimpleNamespace(
            address_a=server_a.base_url,
            address_b=server_b.base_url,
            service_a=service_a,
            service_b=service_b,
            keys=keys,
        )


@pytest.mark.parametrize("how", ["a run", "cleanup with --base-url"])
def test_a_record_belongs_to_an_address(how, tmp_path, monkeypatch):
    """A key that a run registered at address A is not deleted at address B, and can still be deleted at A.

    The key record is a file with the keys that runs registered and the address of each. At B a customer has the same key.
    Neither a run at B nor the command `cleanup` with --base-url of B deletes it.
    """

    def clean_up(profile, *options):
        """The exit status of the command `cleanup` with this profile and these options."""
        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])  # the command removes it from the environment
        return main(["cleanup", str(profile), "--yes", *options])

    with _key_left_at_another_address(tmp_path) as case:
        if how == "a run":
            run_suite(profile_at(case.address_b, tmp_path, keys=case.keys), "-k", OPERATIONS_OF_KEYS)
        else:
            clean_up(profile_at(case.address_a, tmp_path, keys=case.keys), f"--base-url={case.address_b}")
        keys_at_b = case.service_b.keys_held()
        status_of_cleanup_at_a = clean_up(profile_at(case.address_a, tmp_path, keys=case.keys))
        keys_at_a = case.service_a.keys_held()

    assert EMAIL in keys_at_b
    assert status_of_cleanup_at_a == 0
    assert EMAIL not in keys_at_a


# -- synthetic keys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RegistersAtTheAccountOfTheToken, CutsKeys])
def test_a_key_for_a_made_up_account_is_searched_in_the_lists_of_the_profile(make, tmp_path):
    """A key that the suite made up is deleted or listed as left, even if the service registers it at another account.

    The run registers such keys at made-up accounts, which nobody has. These services register them at the account of the
    profile. So the run looks for them in the lists of that account at the end. A key with unprintable characters or with
    more than 200 characters is listed, and not deleted, because a service could read it as another key.
    """
    service = make()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ)
    keys_that_stay = service.keys_held() - service.keys_at_first - {OWN_KEY["key"]}
    report_on_keys_left = left_behind(result)
    short_printable_keys = [key for key in keys_that_stay if key.isprintable() and len(key) <= 200]
    keys_missing_in_the_report = [key for key in keys_that_stay if _as_in_the_report(key) not in report_on_keys_left]

    assert service.keys_lost == set()
    assert keys_missing_in_the_report == []
    assert short_printable_keys == []


def _as_in_the_report(key):
    """The part of a key that the report certainly shows: 60 characters, with escapes for those that are not ASCII."""
    return ascii(key)[1:-1][:60]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (RegistersInAMinute, "perhaps registered later"),
        (RegistersInAMinuteWithoutAResult, "perhaps registered"),
    ],
)
def test_a_key_that_no_list_showed_may_be_registered_later(make, reason, tmp_path, monkeypatch, capsys):
    """If no list shows a key whose registration was granted, the report lists it, and `cleanup` lists it, too.

    The service may register it a minute later, after its deletion was granted. An answer without a result counts as
    granted, because it is no refusal.
    """
    service = make()
    result = run_at_bank(service, tmp_path)
    bodies = b" ".join(request.body for request in service.received)
    synthetic_keys = {key.decode() for key in re.findall(rb"pixconf-\w+@example\.com", bodies)}
    report_on_keys_left = left_behind(result)
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    status_of_cleanup = main(["cleanup", str(tmp_path / "profile.yaml")])
    printed_by_cleanup = capsys.readouterr().out
    keys_in_report = {key for key in synthetic_keys if key in report_on_keys_left}
    granted_keys = {key for key in synthetic_keys if _was_granted(service, key)}

    assert len(synthetic_keys) > 2
    assert reason in report_on_keys_left
    assert granted_keys - keys_in_report == set()
    assert status_of_cleanup == 1
    assert [key for key in keys_in_report if key not in printed_by_cleanup] == []


def _was_granted(service, key):
    """True if a registration with the valid token and the type EMAIL named the key, so that it succeeded."""
    for request in service.received:
        has_the_token = request.header("Authorization") == f"Bearer {service.token}"
        is_of_the_key = key.encode() in request.body and b'"EMAIL"' in request.body
        if request.method == "POST" and has_the_token and is_of_the_key:
            return True
    return False


def test_nothing_that_is_sent_destroys(tmp_path):
    """No request has a statement of SQL that changes data, such as DELETE.

    This service has the fault that it puts keys into its SQL as they are. A quote and a harmless statement are enough to
    find the fault. `statements` of the service has the path and the body (a JSON object) of each request with a quote.
    """
    service = ConcatenatesSql()
    result = run_at_bank(service, tmp_path, ALL_TESTS, allow=[*WITH_FUZZ, "execute", "transfer", "create-pix"])
    destructive_words = re.compile(r"\b(drop|delete|truncate|update|insert|alter|exec|shutdown)\b", re.IGNORECASE)
    bodies_with_a_quote = [statement.partition("{")[2] for statement in service.statements]

    assert "registerPixKey.serverError" in result.messages_with_verdict("fail")
    assert bodies_with_a_quote != []
    assert [body for body in bodies_with_a_quote if destructive_words.search(body)] == []


def test_registrations_and_deletions_at_the_account_of_the_profile_name_a_key_of_the_run(
    conforming_service_and_result,
):
    """A registration or deletion at the account of the profile names a key that the suite made up, or of the profile.

    So it can change no key of the customer. The account may be in the path or in the body.
    """
    service, _ = conforming_service_and_result
    requests_about_keys = [request for request in service.received if "/pix/keys/" in request.path]
    changes = [request for request in requests_about_keys if request.method in ("POST", "DELETE")]
    bodies_for_the_account = []
    for request in changes:
        if ACCOUNT in request.path or ACCOUNT.encode() in request.body:
            bodies_for_the_account.append(request.body)
    bodies_with_another_key = []
    for body in bodies_for_the_account:
        has_a_made_up_key = SYNTHETIC_PREFIX.encode() in body
        has_the_key_of_the_profile = OWN_KEY["key"].encode() in body
        if not has_a_made_up_key and not has_the_key_of_the_profile:
            bodies_with_another_key.append(body)

    assert bodies_for_the_account != []
    assert bodies_with_another_key == []
