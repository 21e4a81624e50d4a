"""What becomes of keys: those that were there stay, those of the run go, and what does not go is told, key by key."""

import json
import uuid
from dataclasses import replace

import pytest

import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.profiles.profile import PixKey
from environments.sandbox import Key, Server, Service
from spec.interface import MARK
from spec.key_list import Listing, accepted_alike, alike
from tests.harness.lanes import Lanes, Part
from tests.selftest.exchanges import answer
from tests.selftest.proof.registry import VARIANTS
from tests.selftest.proof.trial import try_service
from tests.selftest.proof.variants.lawful_making import profile
from tests.selftest.proof.variants.lawful_registrations import DuplicatesAreWelcome, RefusesDuplicates
from tests.selftest.services.one_run import Run, profile_of
from tests.selftest.services.running import run, write_profile
from tests.selftest.services.serving import Raw
from tests.traffic.beside import Beside
from tests.traffic.registrar import Registrar
from tests.traffic.registrations import send
from tests.traffic.unusual_registrations import undocumented

EMAIL = "qa@pix-conformance.example"
OF_KEYS = ("-k", "PixKey")
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
    """However its registration is answered, Success true included, it is left alone, and its type is understood."""
    service = with_email(make())
    before = keys_of(service)

    trial = try_service(service, *OF_KEYS)

    assert keys_of(service) == before
    assert trial.rows["registerPixKey.pixKeyType.EMAIL"].verdict == "pass"
    assert not trial.failing
    assert trial.left == ()


def test_a_key_is_seen_behind_registrations_of_synthetic_ones(tmp_path):
    """With a selection, generated requests may come first: the list is read before a key of the profile is sent."""
    with Raw() as raw:
        raw.service = with_email(DuplicatesAreWelcome())
        a_run = Run(raw, tmp_path)
        a_run.client.send("registerPixKey", "ac-0001", json={"pixKey": "pixconf-key"})
        registrar = Registrar(a_run.client, profile_of(tmp_path))
        registrar.undo(registrar.register(PixKey("EMAIL", EMAIL)), PixKey("EMAIL", EMAIL))

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
            registrar.undo_invalid(exchange)

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
    assert try_service(DuplicatesAreWelcome(), *OF_KEYS).left == ()


def test_the_default_run_leaves_nothing_behind(tmp_path):
    """Nor do generated requests: the account has the keys that it had."""
    service = Service(token="Tok-3n.Of-The_Service")
    before = keys_of(service)
    with Server(service) as server:
        result = run(write_profile(tmp_path, server.base_url), "-m", "property or not property", "--examples=3")

    assert result.document["left_behind"] == []
    assert keys_of(service) == before
    assert "not cleaned up" not in result.output


@pytest.mark.parametrize(
    "name", ["OthersHaveRandomKeysMade", "ListsLagBy1", "ListsLagBy2", "ListsLagBy5", "RandomOnly"]
)
def test_a_made_key_is_left_where_it_is_not_sure_which_it_is(name):
    """Nobody else's key is deleted, and the run's own is told."""
    specimen = VARIANTS.specimens[name]
    service = specimen.make()
    before = keys_of(service)

    trial = try_service(service, *OF_KEYS, environment=specimen.environment)

    assert before | set(getattr(service, "others", ())) <= keys_of(service)
    assert [item.split(" (")[0] for item in trial.left] == ["RANDOM, made by the service: registered and not deleted"]


@pytest.mark.parametrize("name", ["IdsVaryInTheList", "ShowsTheRandomKey", "HidesMostOfTheKey"])
def test_a_made_key_is_deleted_where_the_list_shows_it_for_sure(name):
    """Identifiers that vary by themselves are no keys."""
    service = VARIANTS.specimens[name].make()
    before = keys_of(service)

    trial = try_service(service, *OF_KEYS)

    assert (trial.left, keys_of(service)) == ((), before)


@pytest.mark.parametrize("named", [True, False], ids=["named", "listed"])
def test_a_made_key_without_dashes_is_deleted(named):
    """32 hexadecimal digits are a whole key."""
    service = Service()
    service.new_key = lambda: uuid.uuid4().hex
    if named:
        service.registration_key = lambda registration: registration.key.key
    before = keys_of(service)

    trial = try_service(service, *OF_KEYS)

    assert (trial.left, keys_of(service)) == ((), before)


def test_a_masked_key_is_no_part_of_another_one():
    """What is left of the key that the service made may stand in a key that was there before."""
    service = VARIANTS.specimens["HidesMostOfTheKey"].make()
    service.registration_key = lambda registration: "***00"
    before = keys_of(service)

    trial = try_service(service, *OF_KEYS)

    assert (trial.left, keys_of(service)) == ((), before)


OLD_KEY = "c0ffee00-0001-4000-8000-00000000000a"


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


def without_read(service, folder):
    """A run that may not read, and what it left."""
    allow = ["register-keys", "delete-keys", "fuzz"]
    with Server(service) as server:
        return run(write_profile(folder, server.base_url, allow=allow), *OF_KEYS).document["left_behind"]


def reading(service, folder):
    """A run that may do everything, and what it left."""
    with Server(service) as server:
        return run(write_profile(folder, server.base_url), *OF_KEYS).document["left_behind"]


@pytest.mark.parametrize("run_of_keys", [reading, without_read])
@pytest.mark.parametrize("masks", [True, False], ids=["masked", "shown"])
def test_a_made_key_that_an_answer_names_may_be_an_old_one(run_of_keys, masks, tmp_path):
    """It stays wherever no list says for sure that it is new, and the run tells of it."""
    service = GivesTheKeyThatIsThere(masks=masks)
    service.token = "Tok-3n.Of-The_Service"

    left = run_of_keys(service, tmp_path)

    assert OLD_KEY in keys_of(service)
    assert any(item.startswith("RANDOM, made by the service: registered and not deleted") for item in left)


def test_a_made_key_that_an_answer_names_stays_without_a_list(tmp_path):
    """Nothing shows that it is new."""
    service = VARIANTS.specimens["ShowsTheRandomKey"].make()
    service.token = "Tok-3n.Of-The_Service"
    before = keys_of(service)

    left = without_read(service, tmp_path)

    assert len(keys_of(service) - before) == 1
    assert [item.split(" (")[0] for item in left] == ["RANDOM, made by the service: registered and not deleted"]


class BooksUnderTheBody(Service):
    """The sandbox, which makes a RANDOM key for the account of the body, and calls every deletion done."""

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere = []

    def check_body_account(self, body, account_id):
        pass

    def register_pix_key(self, request, account_id):
        if b'"RANDOM"' in request.body and f'"account": "{MARK}'.encode() in request.body:
            self.elsewhere.append(str(uuid.uuid4()))
            return {"Success": "true", "Message": "Received", "Key": self.elsewhere[-1], "DocumentNumber": 9}
        return super().register_pix_key(request, account_id)

    def registration_key(self, registration):
        return registration.key.key

    def remove(self, ledger, account_id, value):
        if any(key.key == value for key in ledger.keys(account_id)):
            super().remove(ledger, account_id, value)


def test_a_key_that_is_booked_under_the_account_of_the_body_is_told():
    """The deletion at the account of the path says that it is done, and cannot reach it."""
    service = BooksUnderTheBody()

    left = try_service(service, *OF_KEYS).left

    assert len(service.elsewhere) == 1
    assert [item.split(" (")[0] for item in left] == ["RANDOM, made by the service: registered and not deleted"]


def test_keys_that_cannot_be_deleted_are_told_one_by_one():
    """Each key once, with its type and its place, and never with its value."""
    trial = try_service(Service(), *OF_KEYS, environment=profile("no_deletion"))

    assert [item.split(" (")[0] for item in trial.left] == [
        "PHONE, the first of pix_keys: registered and not deleted",
        "EMAIL, the second of pix_keys: registered and not deleted",
        "CNPJ, the fourth of pix_keys: registered and not deleted",
        "CPF, the fifth of pix_keys: registered and not deleted",
        "RANDOM, made by the service: registered and not deleted",
    ]


# -- how a key stands in a list -----------------------------------------------------------------------------------


def listing(value: object) -> Listing:
    """A list of keys."""
    return Listing(answer("listPixKeys", json.dumps(value).encode(), path="/v1/pix/keys/ac"))


def entry(key: str, kind: str, **more: object) -> dict[str, object]:
    return {"pixKey": key, "pixKeyType": kind, **more}


@pytest.mark.parametrize(
    "shown",
    [
        {"keys": [entry("a@x.example", "EMAIL")]},
        {"keys": ["a@x.example"]},
        ["A@X.example"],
        {"a@x.example": {"type": "EMAIL"}},
        {"uri": "mailto:a@x.example"},
    ],
)
def test_a_key_is_seen_in_any_shape(shown):
    """As a value or as a name, in any letter case, and within a text."""
    assert listing(shown).shows("a@x.example")
    assert not listing(shown).shows("b@x.example")


def test_a_key_is_seen_in_any_punctuation():
    """Digits are the same with and without dots."""
    assert listing({"keys": [{"cpf": "135.792.468-28"}]}).shows("13579246828")
    assert not listing({"keys": []}).shows("")


@pytest.mark.parametrize(
    ("accepted", "other", "same"),
    [
        ({"status": "ACTIVE"}, {"status": "ACTIVE"}, True),
        ({"status": "ACTIVE"}, {"status": "PENDING"}, False),
        ({"status": 1}, {"status": 2}, False),
        ({"status": "1"}, {"status": "2"}, False),
        ({"active": True}, {"active": False}, False),
        ({"since": "2026-01-01T10:00:00Z"}, {"since": "2026-03-04T11:12:13Z"}, True),
        ({"since": "2026-01-01T10:00:00Z"}, {"since": None}, False),
        ({"at": 1767225600000}, {"at": 1767225700123}, True),
        ({}, {"reason": "no"}, False),
        ({"id": "3f0e8a52-1111-4000-8000-000000000001"}, {"id": "77aa8a52-2222-4000-8000-000000000002"}, True),
        ({"state": {"name": "OK"}}, {"state": {"name": "WAITS"}}, False),
    ],
)
def test_a_key_stands_like_another(accepted, other, same):
    """Types, times and identifiers differ from key to key; whatever else differs may say that it is none."""
    shown = listing({"keys": [entry("a@x.example", "EMAIL", **accepted), entry("13579246828", "CPF", **other)]})
    references = [shown.places("a@x.example", "EMAIL")]

    assert alike(shown.places("13579246828", "CPF"), references) is same


@pytest.mark.parametrize("beside", [{"asked": ["a@x.example", "b@x.example"]}, {"last": "b@x.example"}])
def test_a_key_that_stands_beside_the_keys_alone_is_not_like_them(beside):
    """Accepted keys stand in a history of requests, too; one that was refused stands nowhere else."""
    accepted = listing({"keys": ["a@x.example"], "asked": ["a@x.example"], "last": "a@x.example"})
    shown = listing({"keys": ["a@x.example"], **beside})
    references = [accepted.places("a@x.example", "EMAIL")]

    assert not accepted_alike(shown.places("b@x.example", "EMAIL"), references)
    assert accepted_alike(accepted.places("a@x.example", "EMAIL"), references)


def test_a_key_stands_elsewhere():
    """In another list, or beside the list, it does not stand like one that was accepted."""
    shown = listing({"keys": ["a@x.example"], "waiting": ["b@x.example"], "last": "c@x.example"})
    references = [shown.places("a@x.example", "EMAIL")]

    assert not alike(shown.places("b@x.example", "EMAIL"), references)
    assert not alike(shown.places("c@x.example", "EMAIL"), references)
    assert not alike(shown.places("d@x.example", "EMAIL"), references)


def test_the_list_before_all_registrations_does_not_take_the_place_of_one_that_meets_another_request(tmp_path):
    """It is read before a registration waits for the other request, and once."""
    with Server(Service()) as server:
        a_run, profile = Run(server, tmp_path, parallel=2), profile_of(tmp_path)
        lanes = Lanes(a_run.door.in_flight)
        beside, met = Beside(a_run.client, lanes), []
        beside.offer("registerPixKey", [Part(lambda: a_run.client.send("registerPixKey", "ac-0001", json={}))])
        registrar = Registrar(a_run.client, profile, beside)
        registrar.look = lambda: met.append(a_run.door.in_flight.take_meeting())
        send(registrar, list(undocumented(profile.pix_keys))[:1])
        lanes.close()

    assert met == [None]
