"""Keys of others: a run off a sandbox takes none, whatever a service does. Judged by the log of the service."""

import itertools
import re
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from environments.__main__ import main
from environments.sandbox import Server
from spec.interface import MARK
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
OF_KEYS = "registerPixKey or deletePixKey or listPixKeys"
GONE = "a key that was there before the run is gone"


def of_a_bank(folder, *, keys=(OWN,), allow=WITHOUT_FUZZ, key_at=KEY_AT, accounts=(ACCOUNT,), **changes):
    """What makes the profile one of a target that is no sandbox, with a journal and a key record of its own."""
    return {
        "sandbox": None, "allow": allow, "pix_keys": list(keys), "key_at": key_at, "accounts": list(accounts),
        "transactions": None, "journal": str(folder / "journal.jsonl"), **changes,
    }  # fmt: skip


def profile_at(base_url, folder, **changes):
    """A profile of a target that is no sandbox."""
    return write_profile(folder, base_url, **of_a_bank(folder, **changes))


def ended(service, folder, among=TARGETED_TESTS, **changes):
    """A run against the service, in memory."""
    return result_in_memory(service, folder, OF_KEYS, among, **of_a_bank(folder, **changes))


def left_by(result):
    return "\n".join(result.document["left_behind"])


# -- a deletion that takes another key ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "allow"), [(DeletesTheOldest, WITHOUT_FUZZ), (DeletesTheOldestForAnyAccount, WITH_FUZZ)]
)
def test_after_a_deletion_that_took_another_key_nothing_is_deleted(make, allow, tmp_path):
    """By nobody, generated requests included. It is an alert, and the run does not end with 0."""
    service = make()
    result = ended(service, tmp_path, ALL_TESTS, allow=allow)

    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert result.status != 0
    assert GONE in result.output


def test_cleanup_deletes_nothing_more_either(tmp_path, monkeypatch, capsys):
    """It ends with 6, and the keys that it did not delete stay in the record."""
    service = DeletesTheOldest()
    two = [{"type": "EMAIL", "key": f"{name}@pix-conformance.example", "disposable": True} for name in ("qa", "qb")]
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        run_suite(profile_at(server.base_url, tmp_path, keys=two, allow=["read", "register-keys"]), "-k", OF_KEYS)
        status = main(["cleanup", str(profile_at(server.base_url, tmp_path, keys=two)), "--yes"])
        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
        known = main(["cleanup", str(tmp_path / "profile.yaml")])
    printed = capsys.readouterr()

    assert (status, known) == (6, 1)
    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert "a key that was there before the run is gone" in printed.err
    assert "gone: " not in printed.out


def test_nothing_is_deleted_without_key_at(tmp_path):
    """The verdict on deletePixKey names the line to set."""
    service = DeletesTheOldest()
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, key_at=None)

    assert (service.deletions, service.keys_lost) == ([], set())
    assert "set key_at" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_nothing_is_deleted_by_a_list_that_goes_on(tmp_path):
    """What such a list lacks is no proof. The verdict says why."""
    service = ShowsOnePage(pages=2)
    result = ended(service, tmp_path)

    assert service.deletions == []
    assert "not complete" in result.messages_with_verdict("not-exercised")["deletePixKey.status"]


def test_after_a_deletion_without_effect_nothing_is_deleted(tmp_path):
    """The named key is still listed, so perhaps another one is gone. It is a note: the document does not say that a
    deleted key disappears."""
    service = NeverDeletes()
    result = ended(service, tmp_path)

    assert len(service.deletions) == 1
    assert "a key is still listed 4 s after its deletion" in result.output
    assert GONE not in result.output


def test_a_conforming_service_is_tested_whole(tmp_path):
    """Every deletion is followed by a list, and all keys of the run are gone."""
    service = HoldsKeysOfACustomer()
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=[OWN | {"disposable": True}])
    order = [
        request.method for request in service.received if "/pix/keys/" in request.path and request.method != "POST"
    ]
    pairs = [methods for methods in itertools.pairwise(order) if methods == ("DELETE", "DELETE")]

    assert (service.keys_held(), left_by(result)) == (service.keys_at_first, "")
    assert (len(service.deletions) > 5, pairs) == (True, [])
    assert result.messages_with_verdict("fail") == {}


# -- a key that is gone for another reason, or from another account -----------------------------------------------------

TWO_ACCOUNTS = (ACCOUNT, OTHER_ACCOUNT)


def changes_of_keys(service):
    """The requests with the valid token that name a key to register or to delete."""
    with_token = [request for request in service.received if service.token in (request.header("Authorization") or "")]
    return [request for request in with_token if request.method in ("POST", "DELETE") and b'"pixKey"' in request.body]


@pytest.mark.parametrize("deletes", [True, False], ids=["deletes", "registers alone"])
def test_after_a_registration_that_replaced_a_key_nothing_is_registered(deletes, tmp_path):
    """Nor deleted, by nobody. It is an alert, the run does not end with 0, and no requirement fails."""
    allow = WITH_FUZZ if deletes else ["read", "register-keys", "fuzz"]
    service = ReplacesTheKeyOfItsType()
    result = ended(service, tmp_path, ALL_TESTS, allow=allow)

    assert (len(changes_of_keys(service)), len(service.keys_lost)) == (1, 1)
    assert result.status not in (0, 1)
    assert GONE in result.output
    assert result.messages_with_verdict("fail") == {}
    assert "deletePixKey.exists" not in result.messages_with_verdict("warn")


def test_a_key_that_the_customer_deletes_meanwhile_is_an_alert(tmp_path):
    """It looks like a key that a request took. No requirement fails."""
    service = HoldsKeysOfACustomer()
    register = service.register

    def register_while_the_customer_deletes(ledger, account_id, kind, value):
        if known := ledger.key(EMAIL):
            ledger.remove_key(known)
        return register(ledger, account_id, kind, value)

    service.register = register_while_the_customer_deletes
    result = ended(service, tmp_path)

    assert (result.status, result.messages_with_verdict("fail")) == (6, {})
    assert GONE in result.output


def test_after_a_deletion_that_took_a_key_of_the_other_account_nothing_is_deleted(tmp_path):
    """The lists of all accounts of the profile are compared, whatever account a deletion names."""
    service = DeletesAtTheOtherAccountToo()
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, accounts=TWO_ACCOUNTS)

    assert (len(service.deletions), len(service.keys_lost)) == (1, 1)
    assert result.status != 0
    assert GONE in result.output


def test_cleanup_looks_at_the_other_account_too(tmp_path, monkeypatch):
    """It reads the list of every account before its first deletion, and after each."""
    service = DeletesAtTheOtherAccountToo()
    two = [{"type": "EMAIL", "key": f"{name}@pix-conformance.example", "disposable": True} for name in ("qa", "qb")]
    options = {"keys": two, "accounts": TWO_ACCOUNTS}
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with Server(service) as server:
        run_suite(profile_at(server.base_url, tmp_path, allow=["read", "register-keys"], **options), "-k", OF_KEYS)
        status = main(["cleanup", str(profile_at(server.base_url, tmp_path, **options)), "--yes"])

    assert (status, len(service.deletions), len(service.keys_lost)) == (6, 1, 1)


def test_a_key_that_another_account_of_the_profile_holds_is_not_registered(tmp_path):
    """Its registration could move it to the first account, and its deletion would take it."""
    service = MovesKeys()
    keys = [OWN, {"type": "EMAIL", "key": "tia@cliente.example", "disposable": True}]
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=keys, accounts=TWO_ACCOUNTS)
    named = [request for request in service.received if b"tia@cliente.example" in request.body]

    assert (named, service.keys_lost) == ([], set())
    assert result.messages_with_verdict("fail") == {}


def test_a_conforming_service_with_two_accounts_is_tested_whole(tmp_path):
    """Keys of the other account are no alert."""
    service = HoldsKeysOfTwoAccounts()
    keys = [OWN | {"disposable": True}]
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ, keys=keys, accounts=TWO_ACCOUNTS)

    assert (service.keys_held(), service.keys_lost, left_by(result)) == (service.keys_at_first, set(), "")
    assert (GONE in result.output, result.messages_with_verdict("fail")) == (False, {})
    assert len(service.deletions) > 5


# -- keys of the profile that were there before ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["punctuation", "members in another order", "masked"])
def test_a_key_that_a_list_shows_in_any_form_stays(form, tmp_path):
    """Letters are compared casefolded, numbers by their last eight digits. A masked list cannot tell."""
    service = ShowsNumbersInAForm(PHONE_FORMS[form])
    ended(service, tmp_path, keys=[{"type": "PHONE", "key": PHONE, "disposable": True}])

    assert PHONE in service.keys_held()


def test_a_key_that_no_list_ever_shows_stays(tmp_path):
    """The list of before the run did not show it, but neither does the one after its registration."""
    service = ShowsNumbersInAForm(lambda key: key)
    service.list_pix_keys = lambda request, account: {"keys": []}
    ended(service, tmp_path, keys=[{"type": "PHONE", "key": PHONE, "disposable": True}])

    assert PHONE in service.keys_held()


# -- RANDOM ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [TheCustomerUsesTheApp, GivesAnOldRandomKey, ListsTheTwoUsedLast])
def test_a_random_key_of_somebody_else_stays(make, tmp_path):
    """It is deleted only if Key and the list agree on a value that is new."""
    service = make()
    result = ended(service, tmp_path, keys=[OWN, {"type": "RANDOM", "key": ""}])

    assert service.keys_lost == set()
    assert OLD_RANDOM in service.keys_held() or make is TheCustomerUsesTheApp
    assert "RANDOM, made by the service" in left_by(result) or make is not TheCustomerUsesTheApp


@pytest.mark.parametrize("disposable", [True, False])
def test_a_random_key_is_told_by_lists_alone_only_if_it_is_disposable(disposable, tmp_path):
    """The profile says then that nobody else registers keys at the account."""
    service = HoldsKeysOfACustomer()  # its Key is null
    result = ended(service, tmp_path, keys=[{"type": "RANDOM", "key": "", "disposable": disposable}])
    made = service.keys_held() - service.keys_at_first

    assert bool(made) is not disposable
    assert ("RANDOM, made by the service" in left_by(result)) is not disposable


def test_a_random_key_is_deleted_if_key_and_list_agree(tmp_path):
    """Without disposable, too."""
    service = HoldsKeysOfACustomer()
    service.registration_key = lambda registration: registration.key.key
    ended(service, tmp_path, keys=[{"type": "RANDOM", "key": ""}])

    assert service.keys_held() == service.keys_at_first


# -- the key record ------------------------------------------------------------------------------------------------------


@contextmanager
def _registered_at_another_address(folder):
    """A run at address A registered a disposable key and left it, then the profile names B, where a customer has it."""
    there, here = HoldsKeysOfACustomer(), ShowsNumbersInAForm(lambda key: key)
    keys = [{"type": "EMAIL", "key": EMAIL, "disposable": True}]
    with there.database.transaction() as ledger:
        ledger.remove_key(ledger.key(EMAIL))
    with Server(there) as at_a, Server(here) as at_b:
        run_suite(profile_at(at_a.base_url, folder, keys=keys, allow=["read", "register-keys"]), "-k", OF_KEYS)
        assert EMAIL in there.keys_held()
        yield SimpleNamespace(a=at_a.base_url, b=at_b.base_url, there=there, here=here, keys=keys)


@pytest.mark.parametrize("how", ["a run", "cleanup with --base-url"])
def test_a_record_belongs_to_an_address(how, tmp_path, monkeypatch, capsys):
    """What it holds of one address is neither deleted nor forgotten at another one."""
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    with _registered_at_another_address(tmp_path) as case:
        named = case.a if how == "cleanup with --base-url" else case.b
        profile = profile_at(named, tmp_path, keys=case.keys)
        if how == "a run":
            run_suite(profile, "-k", OF_KEYS)
        else:
            monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
            main(["cleanup", str(profile), "--yes", f"--base-url={case.b}"])
        assert EMAIL in case.here.keys_held()

        monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
        capsys.readouterr()
        status = main(["cleanup", str(profile_at(case.a, tmp_path, keys=case.keys)), "--yes"])
        assert (status, EMAIL in case.there.keys_held()) == (0, False)


# -- synthetic keys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RegistersAtTheAccountOfTheToken, CutsKeys])
def test_a_key_for_a_synthetic_account_is_looked_for_at_the_own_one(make, tmp_path):
    """What the last lists show is deleted; what could be read as another key is listed by its value."""
    service = make()
    result = ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ)
    stay = service.keys_held() - service.keys_at_first - {OWN["key"]}
    told = left_by(result)

    assert service.keys_lost == set()
    assert [key for key in stay if ascii(key)[1:-1][:60] not in told] == []
    assert [key for key in stay if key.isprintable() and len(key) <= 200] == []


def test_a_key_that_no_list_showed_may_be_registered_later(tmp_path, monkeypatch, capsys):
    """It is listed, and cleanup knows it, although its deletion was granted."""
    service = RegistersInAMinute()
    result = ended(service, tmp_path)
    sent = {key for request in service.received for key in re.findall(rb"pixconf-\w+@example\.com", request.body)}
    granted = {key.decode() for key in sent}
    told = left_by(result)
    monkeypatch.setenv("PIX_TOKEN", TOKEN_VARIABLES["PIX_TOKEN"])
    status = main(["cleanup", str(tmp_path / "profile.yaml")])
    known = capsys.readouterr().out

    assert "perhaps registered later" in told
    assert status == 1
    assert len(granted) > 2
    assert [key for key in granted if key in told and key not in known] == []
    assert [key for key in granted if key not in told and _was_granted(service, key)] == []


def _was_granted(service, key):
    """Whether a registration with the valid token and a documented type named the key."""
    return any(
        key.encode() in request.body
        and b'"EMAIL"' in request.body
        and request.method == "POST"
        and request.header("Authorization") == f"Bearer {service.token}"
        for request in service.received
    )


def test_nothing_that_is_sent_destroys(tmp_path):
    """A quote and a harmless statement find a service that makes them part of its queries."""
    service = ConcatenatesSql()
    result = ended(service, tmp_path, ALL_TESTS, allow=[*WITH_FUZZ, "execute", "transfer", "create-pix"])
    words = re.compile(r"\b(drop|delete|truncate|update|insert|alter|exec|shutdown)\b", re.IGNORECASE)
    bodies = [text.partition("{")[2] for text in service.statements]

    assert "registerPixKey.serverError" in result.messages_with_verdict("fail")
    assert service.statements
    assert [text for text in bodies if words.search(text)] == []


def test_synthetic_accounts_of_hard_keys_stand_in_path_and_body(tmp_path):
    """Empty keys, long ones, and those with signs that cannot be printed name no account of the profile, nor does a
    registration without a body."""
    service = HoldsKeysOfACustomer()
    ended(service, tmp_path, ALL_TESTS, allow=WITH_FUZZ)
    own = [request for request in service.received if ACCOUNT in request.path or ACCOUNT.encode() in request.body]
    writes = [request for request in own if request.method != "GET" and "/pix/keys/" in request.path]
    named = (MARK.encode(), OWN["key"].encode())

    assert writes
    assert [request for request in writes if not any(key in request.body for key in named)] == []
