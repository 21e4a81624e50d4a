"""Off a sandbox a run takes no key of somebody else, whatever a service does with the keys of the account.

The account of these services has keys of a customer before the run. `deletions` are the requests to delete a key that
arrived, `keys_lost` the keys of the customer that are gone. key_at of the profile says where a list shows each key.
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
    PHONE_FORMS,
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
OWN = {"type": "EMAIL", "key": "qa@pix-conformance.example"}
WITHOUT_FUZZ = ["read", "register-keys", "delete-keys"]
WITH_FUZZ = [*WITHOUT_FUZZ, "fuzz"]
OPERATIONS_OF_KEYS = "registerPixKey or deletePixKey or listPixKeys"
GONE = "a key that was there before the run is gone"


def off_sandbox(folder, *, keys=(OWN,), allow=WITHOUT_FUZZ, key_at=KEY_AT, accounts=(ACCOUNT,), **changes):
    """Changes that make the profile one of a target that is no sandbox, with a journal and a key record in the
    folder.
    """
    return {
        "sandbox": None, "allow": allow, "pix_keys": list(keys), "key_at": key_at, "accounts": list(accounts),
        "transactions": None, "journal": str(folder / "journal.jsonl"), **changes,
    }  # fmt: skip


def profile_at(base_url, folder, **changes):
    """A profile of a target that is no sandbox."""
    return write_profile(folder, base_url, **off_sandbox(folder, **changes))


def run_off_sandbox(service, folder, among=TARGETED_TESTS, **changes):
    """The result of a run against the service, in memory."""
    return result_in_memory(service, folder, OPERATIONS_OF_KEYS, among, **off_sandbox(folder, **changes))


def left_behind(result):
    """The lines of the report about keys that the run left."""
    return "\n".join(result.document["left_behind"])


# -- a deletion that takes another key ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow"), [(DeletesTheOldest, WITHOUT_FUZZ), (DeletesTheOldestForAnyAccount, WITH_FUZZ)]
)
def test_after_a_deletion_that_took_another_key_nothing_is_deleted(make, allow, tmp_path):
    """The service deletes another key than the request names, so one key of the customer is lost.

    After that no request deletes a key, generated ones included. The run has an alert, and its exit status is not 0.
    """
    service = make()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=allow)

    assert len(service.deletions) == 1
    assert len(service.keys_lost) == 1
    assert result.status != 0
    assert GONE in result.output


def test_cleanup_deletes_nothing_after_its_first_deletion_took_another_key(tmp_path, monkeypatch, capsys):
    """The command `cleanup` ends with exit status 6 after that deletion.

    The keys that it did not delete stay in the key record, so the next `cleanup` lists them (exit status 1).
    """
    service = DeletesTheOldest()
    two_keys = [
        {"type": "EMAIL", "key": f"{name}@pix-conformance.example", "disposable": True} for name in ("qa", "qb")
    ]
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        run_suite(
            profile_at(server.base_url, tmp_path, keys=two_keys, allow=["read", "register-keys"]),
            "-k",
            OPERATIONS_OF_KEYS,
        )
        status = main(["cleanup", str(profile_at(server.base_url, tmp_path, keys=two_keys)), "--yes"])
        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
        status_of_next_cleanup = main(["cleanup", str(tmp_path / "profile.yaml")])
    printed = capsys.readouterr()

    assert (status, status_of_next_cleanup) == (6, 1)
    assert len(service.deletions) == 1
    assert len(service.keys_lost) == 1
    assert "a key that was there before the run is gone" in printed.err
    assert "gone: " not in printed.out


def test_nothing_is_deleted_if_key_at_leads_elsewhere(tmp_path):
    """key_at points to the type of each key. The lists show keys of the run elsewhere, so the run notices it.

    The output says that key_at is wrong, and no requirement blames the service.
    """
    service = DeletesTheOldest()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, key_at="/data/keys/*/pixKeyType")

    assert service.deletions == []
    assert service.keys_lost == set()
    assert "key_at is not the place where listPixKeys shows each key, so no key is deleted" in result.output
    assert "registerPixKey.status" not in result.messages_with_verdict("warn")


def test_nothing_is_deleted_without_key_at(tmp_path):
    """The profile has no key_at, so no list can show that a key was absent before the run. No deletion is sent.

    The message of a requirement of deletePixKey says to set key_at.
    """
    service = DeletesTheOldest()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, key_at=None)

    assert service.deletions == []
    assert service.keys_lost == set()
    assert "set key_at" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_nothing_is_deleted_by_a_list_that_goes_on(tmp_path):
    """The list says that it has a second page, so it does not show which keys were absent before the run.

    No deletion is sent, and the message of a requirement of deletePixKey says that the list is not complete.
    """
    service = ShowsOnePage(pages=2)
    result = run_off_sandbox(service, tmp_path)

    assert service.deletions == []
    assert "not complete" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_after_a_deletion_without_effect_nothing_is_deleted(tmp_path):
    """The service grants a deletion, and its list still shows the key four seconds later. Perhaps another key is gone.

    A note says so, and nothing fails, because the document does not say that a deleted key disappears.
    """
    service = NeverDeletes()
    result = run_off_sandbox(service, tmp_path)

    assert len(service.deletions) == 1
    assert "a key is still listed 4 s after its deletion" in result.output
    assert GONE not in result.output


@pytest.fixture(scope="module")
def conforming_service_and_result(tmp_path_factory):
    """A service that deletes exactly what it is asked to, and the result of a run with generated requests."""
    service = HoldsKeysOfACustomer()
    folder = tmp_path_factory.mktemp("run")
    return service, run_off_sandbox(service, folder, ALL_TESTS, allow=WITH_FUZZ, keys=[OWN | {"disposable": True}])


def test_a_conforming_service_is_tested_whole(conforming_service_and_result):
    """The service deletes exactly what it is asked to. Generated deletions are sent, too, and nothing fails.

    A list follows every deletion. At the end the account has the keys that it had before.
    """
    service, result = conforming_service_and_result
    methods = [
        request.method for request in service.received if "/pix/keys/" in request.path and request.method != "POST"
    ]
    deletions_without_list = [pair for pair in itertools.pairwise(methods) if pair == ("DELETE", "DELETE")]

    assert service.keys_held() == service.keys_at_first
    assert left_behind(result) == ""
    assert len(service.deletions) > 5
    assert deletions_without_list == []
    assert result.messages_with_verdict("fail") == {}


# -- a key that is gone for another reason, or from another account -----------------------------------------------------

TWO_ACCOUNTS = (ACCOUNT, OTHER_ACCOUNT)


def changes_of_keys(service):
    """The requests with the valid token that name a key to register or to delete."""
    with_token = [request for request in service.received if service.token in (request.header("Authorization") or "")]
    return [request for request in with_token if request.method in ("POST", "DELETE") and b'"pixKey"' in request.body]


@pytest.mark.parametrize("deletes", [True, False], ids=["deletes", "registers alone"])
def test_after_a_registration_that_replaced_a_key_nothing_is_registered(deletes, tmp_path):
    """The first registration replaces a key of the customer. No key is registered or deleted after that.

    An alert says that a key is gone. The exit status is neither 0 nor 1, and no requirement fails, because the customer
    may have deleted the key.
    """
    allow = WITH_FUZZ if deletes else ["read", "register-keys", "fuzz"]
    service = ReplacesTheKeyOfItsType()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=allow)

    assert len(changes_of_keys(service)) == 1
    assert len(service.keys_lost) == 1
    assert result.status not in (0, 1)
    assert GONE in result.output
    assert result.messages_with_verdict("fail") == {}
    assert "deletePixKey.exists" not in result.messages_with_verdict("warn")


def test_a_key_that_the_customer_deletes_meanwhile_is_an_alert(tmp_path):
    """A key of the customer disappears during the run. Nobody knows if a request of the run is the reason.

    An alert says that the key is gone, the run is incomplete (exit status 6), and no requirement fails.
    """
    service = HoldsKeysOfACustomer()
    register = service.register

    def register_while_the_customer_deletes(ledger, account_id, kind, value):
        if known := ledger.key(EMAIL):
            ledger.remove_key(known)
        return register(ledger, account_id, kind, value)

    service.register = register_while_the_customer_deletes
    result = run_off_sandbox(service, tmp_path)

    assert result.status == 6
    assert result.messages_with_verdict("fail") == {}
    assert GONE in result.output


def test_after_a_deletion_that_took_a_key_of_the_other_account_nothing_is_deleted(tmp_path):
    """The service deletes the named key, and with it a key of the other account of the profile.

    The run reads the lists of all its accounts after each deletion, so it notices that, and sends no further deletion.
    """
    service = DeletesAtTheOtherAccountToo()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, accounts=TWO_ACCOUNTS)

    assert len(service.deletions) == 1
    assert len(service.keys_lost) == 1
    assert result.status != 0
    assert GONE in result.output


def test_cleanup_looks_at_the_other_account_too(tmp_path, monkeypatch):
    """`cleanup` reads the list of every account before its first deletion and after each deletion."""
    service = DeletesAtTheOtherAccountToo()
    two_keys = [
        {"type": "EMAIL", "key": f"{name}@pix-conformance.example", "disposable": True} for name in ("qa", "qb")
    ]
    options = {"keys": two_keys, "accounts": TWO_ACCOUNTS}
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        run_suite(
            profile_at(server.base_url, tmp_path, allow=["read", "register-keys"], **options), "-k", OPERATIONS_OF_KEYS
        )
        status = main(["cleanup", str(profile_at(server.base_url, tmp_path, **options)), "--yes"])

    assert status == 6
    assert len(service.deletions) == 1
    assert len(service.keys_lost) == 1


def test_a_key_that_another_account_of_the_profile_holds_is_not_registered(tmp_path):
    """The registration could move the key to the first account, and the deletion would take it from the second."""
    service = MovesKeys()
    keys = [OWN, {"type": "EMAIL", "key": "tia@cliente.example", "disposable": True}]
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=keys, accounts=TWO_ACCOUNTS)
    requests_with_that_key = [request for request in service.received if b"tia@cliente.example" in request.body]

    assert requests_with_that_key == []
    assert service.keys_lost == set()
    assert result.messages_with_verdict("fail") == {}


def test_a_conforming_service_with_two_accounts_is_tested_whole(tmp_path):
    """Keys of the second account are no alert, and the keys of the run are deleted."""
    service = HoldsKeysOfTwoAccounts()
    keys = [OWN | {"disposable": True}]
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=keys, accounts=TWO_ACCOUNTS)

    assert service.keys_held() == service.keys_at_first
    assert service.keys_lost == set()
    assert left_behind(result) == ""
    assert GONE not in result.output
    assert result.messages_with_verdict("fail") == {}
    assert len(service.deletions) > 5


# -- keys of the profile that were there before ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["punctuation", "members in another order", "masked"])
def test_a_key_that_a_list_shows_in_any_form_stays(form, tmp_path):
    """Numbers are compared by their last eight digits. With a masked list nothing of the profile is deleted."""
    service = ShowsNumbersInAForm(PHONE_FORMS[form])
    run_off_sandbox(service, tmp_path, keys=[{"type": "PHONE", "key": PHONE, "disposable": True}])

    assert PHONE in service.keys_held()


def test_a_key_that_no_list_ever_shows_stays(tmp_path):
    """The list of before lacks the key, and so does the list after its registration."""
    service = ShowsNumbersInAForm(lambda key: key)
    service.list_pix_keys = lambda request, account: {"keys": []}
    run_off_sandbox(service, tmp_path, keys=[{"type": "PHONE", "key": PHONE, "disposable": True}])

    assert PHONE in service.keys_held()


# -- RANDOM ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [TheCustomerUsesTheApp, GivesAnOldRandomKey, ListsTheTwoUsedLast])
def test_a_random_key_of_somebody_else_stays(make, tmp_path):
    """A RANDOM key is deleted only if the answer and the list agree on a new value."""
    service = make()
    result = run_off_sandbox(service, tmp_path, keys=[OWN, {"type": "RANDOM", "key": ""}])

    assert service.keys_lost == set()
    assert OLD_RANDOM in service.keys_held() or make is TheCustomerUsesTheApp
    assert "RANDOM, made by the service" in left_behind(result) or make is not TheCustomerUsesTheApp


@pytest.mark.parametrize("disposable", [True, False])
def test_a_random_key_from_two_lists_is_deleted_only_if_disposable(disposable, tmp_path):
    """`disposable` says that nobody else registers keys at the account. The answer to the registration has no value."""
    service = HoldsKeysOfACustomer()  # its Key is null
    result = run_off_sandbox(service, tmp_path, keys=[{"type": "RANDOM", "key": "", "disposable": disposable}])
    keys_made = service.keys_held() - service.keys_at_first

    assert bool(keys_made) is not disposable
    assert ("RANDOM, made by the service" in left_behind(result)) is not disposable


def test_a_random_key_is_deleted_if_answer_and_list_agree(tmp_path):
    """The key need not be `disposable` for that."""
    service = HoldsKeysOfACustomer()
    service.registration_key = lambda registration: registration.key.key
    run_off_sandbox(service, tmp_path, keys=[{"type": "RANDOM", "key": ""}])

    assert service.keys_held() == service.keys_at_first


# -- the key record ------------------------------------------------------------------------------------------------------


@contextmanager
def _key_left_at_another_address(folder):
    """A run at address A left a disposable key. The profile then names address B, where a customer has the same key."""
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
    """A key that the record has of address A is not deleted at address B, and can still be deleted at A."""

    def clean_up(profile, *options):
        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])  # the command removes it from the environment
        return main(["cleanup", str(profile), "--yes", *options])

    with _key_left_at_another_address(tmp_path) as case:
        if how == "a run":
            run_suite(profile_at(case.address_b, tmp_path, keys=case.keys), "-k", OPERATIONS_OF_KEYS)
        else:
            clean_up(profile_at(case.address_a, tmp_path, keys=case.keys), f"--base-url={case.address_b}")
        assert EMAIL in case.service_b.keys_held()

        assert clean_up(profile_at(case.address_a, tmp_path, keys=case.keys)) == 0
        assert EMAIL not in case.service_a.keys_held()


# -- synthetic keys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RegistersAtTheAccountOfTheToken, CutsKeys])
def test_a_key_for_a_synthetic_account_is_looked_for_at_the_own_one(make, tmp_path):
    """If the last lists show the key, it is deleted.

    A key that a service could read as another one is listed as left.
    """
    service = make()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ)
    keys_that_stay = service.keys_held() - service.keys_at_first - {OWN["key"]}
    left_in_words = left_behind(result)

    assert service.keys_lost == set()
    assert [key for key in keys_that_stay if ascii(key)[1:-1][:60] not in left_in_words] == []
    assert [key for key in keys_that_stay if key.isprintable() and len(key) <= 200] == []


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (RegistersInAMinute, "perhaps registered later"),
        (RegistersInAMinuteWithoutAResult, "perhaps registered"),
    ],
)
def test_a_key_that_no_list_showed_may_be_registered_later(make, reason, tmp_path, monkeypatch, capsys):
    """The report lists the key, and `cleanup` knows it, although its deletion was granted.

    So it is if the answer to its registration has no result, because such an answer is no refusal.
    """
    service = make()
    result = run_off_sandbox(service, tmp_path)
    keys_in_bodies = {
        key for request in service.received for key in re.findall(rb"pixconf-\w+@example\.com", request.body)
    }
    synthetic_keys = {key.decode() for key in keys_in_bodies}
    left_in_words = left_behind(result)
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    status = main(["cleanup", str(tmp_path / "profile.yaml")])
    printed_by_cleanup = capsys.readouterr().out

    assert reason in left_in_words
    assert status == 1
    assert len(synthetic_keys) > 2
    assert [key for key in synthetic_keys if key in left_in_words and key not in printed_by_cleanup] == []
    assert [key for key in synthetic_keys if key not in left_in_words and _was_granted(service, key)] == []


def _was_granted(service, key):
    """True if a registration with the valid token and a documented type named the key."""
    return any(
        key.encode() in request.body
        and b'"EMAIL"' in request.body
        and request.method == "POST"
        and request.header("Authorization") == f"Bearer {service.token}"
        for request in service.received
    )


def test_nothing_that_is_sent_destroys(tmp_path):
    """A quote and a harmless statement find a service that makes keys part of its queries.

    No request has a statement that changes data.
    """
    service = ConcatenatesSql()
    result = run_off_sandbox(service, tmp_path, ALL_TESTS, allow=[*WITH_FUZZ, "execute", "transfer", "create-pix"])
    destructive_words = re.compile(r"\b(drop|delete|truncate|update|insert|alter|exec|shutdown)\b", re.IGNORECASE)
    bodies = [text.partition("{")[2] for text in service.statements]

    assert "registerPixKey.serverError" in result.messages_with_verdict("fail")
    assert service.statements != []
    assert [text for text in bodies if destructive_words.search(text)] == []


def test_synthetic_accounts_of_hard_keys_stand_in_path_and_body(conforming_service_and_result):
    """A request that writes to the account of the profile names a synthetic key or a key of the profile."""
    service, _ = conforming_service_and_result
    requests_to_own_account = [
        request for request in service.received if ACCOUNT in request.path or ACCOUNT.encode() in request.body
    ]
    writes = [
        request for request in requests_to_own_account if request.method != "GET" and "/pix/keys/" in request.path
    ]
    keys_of_run = (SYNTHETIC_PREFIX.encode(), OWN["key"].encode())

    assert writes != []
    assert [request for request in writes if not any(key in request.body for key in keys_of_run)] == []
