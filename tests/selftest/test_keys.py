"""What becomes of keys: those that were there stay, those of the run go, and what does not go is told, key by key."""

import json
import uuid

import pytest

import tests.selftest.proof.variants  # noqa: F401 - registers its services
from environments.profiles.profile import PixKey
from environments.sandbox import Key, Server, Service
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
