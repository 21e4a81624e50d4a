"""What becomes of keys: those that were there stay, those of the run go, and what does not go is told, key by key."""

import itertools
import json
from dataclasses import replace

import pytest

import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.profiles.model import PixKey
from environments.sandbox import Key, Refusal, Server, Service
from spec.interface import MARK, PREPARING
from spec.key_list import Listing
from tests.harness.selection import ids_of
from tests.selftest.exchanges import answer
from tests.selftest.proof.directly import try_in_memory
from tests.selftest.proof.registry import VARIANTS
from tests.selftest.proof.variants.lawful_making import profile
from tests.selftest.proof.variants.lawful_registrations import DuplicatesAreWelcome, RefusesDuplicates
from tests.selftest.services.one_run import Run, profile_of
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.traffic.registrar import REGISTERED_BEFORE, Registrar

EMAIL, PHONE = "qa@pix-conformance.example", "+5511955500777"
OF_KEYS = ("-k", "registerPixKey or deletePixKey or listPixKeys")
"""Selects the requirements of the operations on keys: a run for them sends the same registrations in less time."""


def keys_of(service: Service) -> set[str]:
    """All keys of the first account."""
    with service.database.transaction() as ledger:
        return {key.key for key in ledger.keys("ac-0001")}


def with_email(service: Service) -> Service:
    """The service, where the operator's EMAIL key has been registered long ago."""
    with service.database.transaction() as ledger:
        ledger.add_key(Key(EMAIL, "EMAIL", "ac-0001"))
    return service


@pytest.mark.parametrize("make", [DuplicatesAreWelcome, RefusesDuplicates, Service])
def test_a_key_that_was_there_before_the_run_stays(make):
    """On a sandbox, too: it is not registered, and its type is out of scope."""
    service = with_email(make())
    before = keys_of(service)

    trial = try_in_memory(service, ids=ids_of(OF_KEYS[1]))

    assert keys_of(service) == before
    result = trial.rows["registerPixKey.pixKeyType.EMAIL"]
    assert (result.verdict, result.message) == ("out-of-scope", REGISTERED_BEFORE)
    assert not trial.failing
    assert trial.left == ()


def test_a_key_is_seen_behind_registrations_of_synthetic_ones(tmp_path):
    """With a selection, generated requests may come first: the list is read before a key of the profile is sent."""
    with Raw() as raw:
        raw.service = with_email(DuplicatesAreWelcome())
        a_run = Run(raw, tmp_path)
        a_run.client.send("registerPixKey", "ac-0001", json={"pixKey": "pixconf-key"})
        registrar = Registrar(a_run.client, profile_of(tmp_path))
        registrar.undo(registrar.register(PixKey("EMAIL", EMAIL)))

    assert EMAIL in keys_of(raw.service)


def test_a_synthetic_key_is_deleted_at_each_account_that_took_it(tmp_path):
    """A service may take any account, and keep the keys of each apart."""
    accounts = ("pixconf-one", "pixconf-two")
    with Raw() as raw:
        raw.service = TakesAnyAccount()
        a_run = Run(raw, tmp_path)
        registrar = Registrar(a_run.client, profile_of(tmp_path))
        body = {"pixKey": "pixconf-key@x.example", "pixKeyType": "EMAIL"}
        made = [a_run.client.send("registerPixKey", account, json=body) for account in accounts]
        for exchange in made:
            registrar.undo(exchange)

    assert raw.service.held == {account: set() for account in accounts}
    assert a_run.door.keys.not_cleaned_up() == []


class TakesAnyAccount(Service):
    """The sandbox, which makes an account of whatever a path names."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, set[str]] = {}

    def perform(self, operation, request, parameter):
        if operation not in ("registerPixKey", "deletePixKey") or not parameter.startswith(MARK):
            return super().perform(operation, request, parameter)
        keys, key = self.held.setdefault(parameter, set()), self.read_json(request, operation)["pixKey"]
        keys.add(key) if operation == "registerPixKey" else keys.discard(key)
        return {"Success": "true", "Message": "received", "Key": key, "DocumentNumber": 1}


def test_a_key_that_is_registered_twice_and_deleted_is_cleaned_up():
    """It is told by key: the second registration of a key that a DELETE removed is not left."""
    assert try_in_memory(DuplicatesAreWelcome(), ids=ids_of(OF_KEYS[1])).left == ()


def test_the_default_run_leaves_no_key_behind(tmp_path):
    """Nor do generated requests: the account has the keys that it had. Transfers that wait are listed."""
    service = Service(token="Tok-3n.Of-The_Service")
    before = keys_of(service)
    with Server(service) as server:
        result = run(write_profile(tmp_path, server.base_url), "-m", "property or not property", "--examples=3")

    assert [line.split()[3:5] for line in result.document["left_behind"]] == [[name, "prepared"] for name in PREPARING]
    assert keys_of(service) == before


@pytest.mark.parametrize("name", ["OthersHaveRandomKeysMade"])
def test_a_made_key_is_left_where_it_is_not_sure_which_it_is(name):
    """Nobody else's key is deleted, and the run's own is told."""
    service = VARIANTS.specimens[name].make()
    before = keys_of(service)

    trial = try_in_memory(service, ids=ids_of(OF_KEYS[1]))

    assert before | set(getattr(service, "others", ())) <= keys_of(service)
    assert [str(item).split(" (")[0] for item in trial.left] == [
        "RANDOM, made by the service: registered and not deleted"
    ]


@pytest.mark.parametrize("name", ["IdsVaryInTheList", "ShowsTheRandomKey", "HidesMostOfTheKey"])
def test_a_made_key_is_deleted_where_the_answer_or_the_list_tells_it(name):
    """Identifiers that vary by themselves are no keys."""
    service = VARIANTS.specimens[name].make()
    before = keys_of(service)

    trial = try_in_memory(service, ids=ids_of(OF_KEYS[1]))

    assert (trial.left, keys_of(service)) == ((), before)


@pytest.mark.parametrize("named", [True, False], ids=["named", "listed"])
@pytest.mark.parametrize("made", ["5f0c1e9a7b3d4c2e8f6a0b1d", "-1", "A7"])
def test_a_made_key_of_any_form_is_deleted(made, named):
    """24 hexadecimal digits, or a number: no form is asked for."""
    service = Service()
    numbers = itertools.count(1)
    service.new_key = lambda: f"{made}{next(numbers)}"
    if named:
        service.registration_key = lambda registration: registration.key.key
    before = keys_of(service)

    trial = try_in_memory(service, ids=ids_of(OF_KEYS[1]))

    assert (trial.left, keys_of(service)) == ((), before)


def test_a_masked_key_is_no_part_of_another_one():
    """What is left of the key that the service made may stand in a key that was there before."""
    service = VARIANTS.specimens["HidesMostOfTheKey"].make()
    service.registration_key = lambda registration: "***00"
    before = keys_of(service)

    trial = try_in_memory(service, ids=ids_of(OF_KEYS[1]))

    assert (trial.left, keys_of(service)) == ((), before)


OLD_KEY = "c0ffee00-0001-4000-8000-00000000000a"


ALLOW = ["read", "register-keys", "delete-keys", "fuzz"]


def ended(service, folder, *, disposable, **changes):
    """A run of keys against a target that is no sandbox, where all keys are disposable or none is."""
    keys = [
        {"type": name, "key": key} | ({"disposable": True} if disposable else {})
        for name, key in (("PHONE", PHONE), ("EMAIL", EMAIL), ("RANDOM", ""), ("CNPJ", "45000001000174"))
    ]
    changes = {
        "sandbox": None,
        "allow": ALLOW,
        "pix_keys": keys,
        "key_at": None,
        "journal": str(folder / "j"),
        **changes,
    }
    with Server(service) as server:
        return run(write_profile(folder, server.base_url, **changes), *OF_KEYS)


class GivesTheKeyThatIsThere(DuplicatesAreWelcome):
    """The sandbox, which names the RANDOM key that the account has had for long, in place of a second one."""

    def __init__(self, *, masks: bool = False) -> None:
        super().__init__()
        self.masks = masks
        with self.database.transaction() as ledger:
            ledger.add_key(Key(OLD_KEY, "RANDOM", "ac-0001"))

    def register(self, ledger, account_id, key_type, value):
        return super().register(ledger, account_id, key_type, OLD_KEY if key_type == "RANDOM" else value)

    def registration_key(self, registration):
        return registration.key.key

    def key_result(self, key):
        return super().key_result(replace(key, key=f"{key.key[:4]}****") if self.masks else key)


@pytest.mark.parametrize(
    "changes", [{}, {"allow": [name for name in ALLOW if name != "read"]}], ids=["read", "no read"]
)
@pytest.mark.parametrize("masks", [True, False], ids=["masked", "shown"])
def test_a_made_key_that_an_answer_names_may_be_an_old_one(masks, changes, tmp_path):
    """It stays wherever no list says for sure that it is new, and the run tells of it."""
    service = GivesTheKeyThatIsThere(masks=masks)
    service.token = "Tok-3n.Of-The_Service"
    left = ended(service, tmp_path, disposable=False, **changes).document["left_behind"]

    assert OLD_KEY in keys_of(service)
    assert any(item.startswith("RANDOM, made by the service: registered and not deleted") for item in left)


def test_keys_that_cannot_be_deleted_are_told_one_by_one():
    """Each key once, with its type and its place, and never with its value."""
    trial = try_in_memory(Service(), ids=ids_of(OF_KEYS[1]), environment=profile("no_deletion"))

    assert [str(item).split(" (")[0] for item in trial.left] == [
        "PHONE, the first of pix_keys: registered and not deleted",
        "EMAIL, the second of pix_keys: registered and not deleted",
        "CNPJ, the fourth of pix_keys: registered and not deleted",
        "CPF, the fifth of pix_keys: registered and not deleted",
        "RANDOM, made by the service: registered and not deleted",
    ]


# -- keys that were there before ---------------------------------------------------------------------------------


class Lists(DuplicatesAreWelcome):
    """The sandbox with two keys of the operator, whose registration succeeds again, and a list that `tell` changes."""

    def __init__(self) -> None:
        super().__init__(token="Tok-3n.Of-The_Service")
        with_email(self)
        with self.database.transaction() as ledger:
            ledger.add_key(Key(PHONE, "PHONE", "ac-0001"))

    def list_pix_keys(self, request, account_id):
        return self.tell(super().list_pix_keys(request, account_id)["keys"])


def refused(keys):
    raise Refusal(403, "no")


LISTS = {
    "page 1 of 2": lambda keys: {"keys": keys[:1], "page": 1, "pages": 2},
    "empty": lambda keys: {"keys": []},
    "masked": lambda keys: {"keys": [key | {"pixKey": key["pixKey"][:3] + "****"} for key in keys]},
    "403": refused,
    "in one text": lambda keys: {"keys": ", ".join(key["pixKey"] for key in keys)},
    "nested": lambda keys: {"held": [{"of": {"type": key["pixKeyType"], "value": [key["pixKey"]]}} for key in keys]},
}


@pytest.mark.parametrize("shown", LISTS)
@pytest.mark.parametrize("changes", [{}, {"allow": ALLOW[1:]}], ids=["read", "no read"])
def test_no_key_is_lost_that_was_there_before(shown, changes, tmp_path):
    """Wherever the list does not prove that it was absent, and its registration succeeds again."""
    service = type("Shown", (Lists,), {"tell": staticmethod(LISTS[shown])})()
    before = keys_of(service)

    result = ended(service, tmp_path, disposable=False, **changes)

    assert before <= keys_of(service), result.output


def test_a_key_that_any_list_showed_before_the_run_stays(tmp_path):
    """Also a disposable one, where the next list does not show it."""
    lists = itertools.count()
    service = type("Shown", (Lists,), {"tell": staticmethod(lambda keys: {"keys": [] if next(lists) else keys})})()
    before = keys_of(service)

    ended(service, tmp_path, disposable=True)

    assert before <= keys_of(service)


def test_a_listed_key_is_not_registered_where_key_at_names_its_place(tmp_path):
    """The list has the keys at an unusual place, and other texts beside them."""
    service = type("Shown", (Lists,), {"tell": staticmethod(LISTS["nested"])})()
    before = keys_of(service)

    result = ended(service, tmp_path, disposable=True, key_at="/data/held/*/of/value/*")

    assert result.rows("out-of-scope")["registerPixKey.pixKeyType.EMAIL"] == REGISTERED_BEFORE
    assert keys_of(service) == before
    assert result.document["left_behind"] == []


@pytest.mark.parametrize("disposable", [True, False])
def test_a_key_of_the_profile_is_deleted_only_where_it_is_disposable(disposable, tmp_path):
    """All others stay and are listed by name, and a synthetic e-mail address tests deletions."""
    service = Service(token="Tok-3n.Of-The_Service")
    before = keys_of(service)

    result = ended(service, tmp_path, disposable=disposable, key_at="/data/keys/*/pixKey")

    stay = set() if disposable else {PHONE, EMAIL, "45000001000174"}
    assert keys_of(service) - before == stay
    assert len(result.document["not_cleaned_up"]) == len(stay)
    assert "deletePixKey.status" in result.rows("pass")


class TakesAnyKey(Service):
    """The sandbox, which takes whatever it is sent for a key, and turns it into a text."""

    def check_body_account(self, body, account_id):
        pass

    def key_type(self, body):
        return str(body.get("pixKeyType"))

    def requested_key(self, body, key_type):
        return "" if body.get("pixKey") is None else str(body["pixKey"])


@pytest.mark.parametrize("changes", [{}, {"sandbox": "127.0.0.1"}], ids=["a bank", "a sandbox"])
def test_a_service_that_deletes_what_it_is_asked_to_holds_the_keys_of_before(changes, tmp_path):
    """Also where invalid and generated registrations succeed, with numbers and objects for keys."""
    service = TakesAnyKey(token="Tok-3n.Of-The_Service")
    before = keys_of(service)
    changes |= {"key_at": "/data/keys/*/pixKey", "limits": {"duration": 900}}

    with Server(service) as server:
        profile = write_profile(
            tmp_path, server.base_url, sandbox=changes.pop("sandbox", None), pix_keys=DISPOSABLE, allow=ALLOW, **changes
        )
        result = run(profile, "-m", "property or not property", "--examples=20")

    assert keys_of(service) == before, result.output
    assert result.document["left_behind"] == []


DISPOSABLE = [{"type": "EMAIL", "key": EMAIL, "disposable": True}, {"type": "RANDOM", "key": "", "disposable": True}]


def test_a_random_key_without_a_value_is_the_last_one(tmp_path):
    """The next run registers none, and says what to set."""
    service, changes = Service(token="Tok-3n.Of-The_Service"), {"journal": str(tmp_path / "j"), "key_at": None}
    with Server(service) as server:
        profile = write_profile(tmp_path, server.base_url, sandbox=None, allow=ALLOW, pix_keys=DISPOSABLE, **changes)
        run(profile, *OF_KEYS)
        made = keys_of(service)
        result = run(profile, *OF_KEYS)

    assert keys_of(service) == made
    assert len([name for name in made if name.count("-") == 4 and not name.startswith("c0ffee")]) == 1
    assert "set key_at" in result.rows("not-exercised")["registerPixKey.pixKeyType.RANDOM"]


class RefusesRandom(Service):
    """The sandbox, which refuses every RANDOM key. `makes`: it makes one nevertheless."""

    makes = False

    def register_pix_key(self, request, account_id):
        if b'"RANDOM"' not in request.body:
            return super().register_pix_key(request, account_id)
        if self.makes:
            super().register_pix_key(request, account_id)
        raise Refusal(422, "No RANDOM key.")


@pytest.mark.parametrize("reads", [["read"], []], ids=["with lists", "without lists"])
@pytest.mark.parametrize("makes", [False, True], ids=["refused", "made nevertheless"])
def test_a_refused_random_key_is_open_until_a_list_shows_nothing_new(makes, reads, tmp_path):
    """Its value is unknown: it is listed as perhaps registered, and the record holds it for the next run."""
    service = RefusesRandom(token="Tok-3n.Of-The_Service")
    service.makes = makes
    keys, allow = [{"type": "RANDOM", "key": ""}], [*reads, "register-keys", "delete-keys"]
    result = ended(service, tmp_path, disposable=False, pix_keys=keys, allow=allow)
    left = [item for item in result.document["left_behind"] if "perhaps registered" in item]

    assert bool(left) is (makes or not reads), result.output
    assert all(item.startswith("RANDOM, made by the service") for item in left)


def test_a_type_that_the_account_may_not_have_is_not_sent(tmp_path):
    """The profile says so, and its requirement is out of scope."""
    with Raw() as raw:
        path = write_profile(tmp_path, raw.base_url, not_for_this_account=["CNPJ"])
        result = run(path, *OF_KEYS)

    assert (
        result.rows("out-of-scope")["registerPixKey.pixKeyType.CNPJ"]
        == "not_for_this_account of the profile names CNPJ"
    )
    assert not [seen for seen in raw.seen if b"45000001000174" in seen.body]


# -- how a key stands in a list -----------------------------------------------------------------------------------


def listing(value: object, key_at: str | None = None) -> Listing:
    """A list of keys."""
    return Listing(answer("listPixKeys", json.dumps(value).encode(), path="/v1/pix/keys/ac"), key_at)


@pytest.mark.parametrize(
    "shown",
    [
        {"keys": [{"pixKey": "a@x.example"}]},
        {"keys": ["a@x.example"]},
        ["A@X.example"],
        {"a@x.example": {"type": "EMAIL"}},
    ],
)
def test_a_key_is_seen_in_any_shape(shown):
    """As a value or as a name, in any letter case; not as a part of a text."""
    assert listing(shown).shows("a@x.example")
    assert not listing(shown).shows("b@x.example")
    assert not listing({"uri": "mailto:a@x.example"}).shows("a@x.example")


def test_a_key_is_seen_in_any_punctuation():
    """Digits are the same with and without dots, and as a number."""
    assert listing({"keys": [{"cpf": "135.792.468-28"}]}).shows("13579246828")
    assert listing({"keys": [{"cpf": 13579246828}]}).shows("13579246828")
    assert not listing({"keys": []}).shows("")


def test_the_profile_names_the_place_of_the_keys():
    """What stands elsewhere is no key."""
    shown = listing({"keys": [{"key": "a@x.example"}], "asked": "b@x.example"}, "/keys/*/key")

    assert (shown.shows("a@x.example"), shown.shows("b@x.example")) == (True, False)
    assert shown.keys == {"a@x.example"}


@pytest.mark.parametrize(
    ("accepted", "other", "same"),
    [
        ({"status": "ACTIVE"}, {"status": "ACTIVE"}, True),
        ({"status": "ACTIVE"}, {"status": "PENDING"}, False),
        ({"status": 1}, {"status": 2}, False),
        ({"since": "2026-01-01T10:00:00Z"}, {"since": "2026-03-04T11:12:13Z"}, True),
        ({"since": "2026-01-01T10:00:00Z"}, {"since": None}, False),
        ({"at": 1767225600000}, {"at": 1767225700123}, True),
        ({}, {"reason": "no"}, False),
    ],
)
def test_a_key_stands_like_another(accepted, other, same):
    """Types, times and identifiers differ from key to key; whatever else differs may say that it is none."""
    entries = [("a@x.example", "EMAIL", accepted), ("13579246828", "CPF", other)]
    shown = listing({"keys": [{"pixKey": key, "pixKeyType": kind, **more} for key, kind, more in entries]})

    assert (shown.places("a@x.example", "EMAIL") == shown.places("13579246828", "CPF")) is same
