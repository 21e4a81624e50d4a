"""Which drawn registrations count as accepted: by the answer, or by a list of keys that shows the key."""

import json
from dataclasses import replace

import pytest

from environments.profiles.loading import load
from tests.selftest.services.serving import SocketService, served_by
from tests.traffic.accepted import AcceptedRegistrations, is_unclear

KEY = "pixconf-1a2b3c4d@example.com"


class SaysOkToRegistrations(SocketService):
    """The sandbox, which answers each registration with the text OK, whatever it does."""

    def __init__(self):
        super().__init__()
        finish = self.sandbox.finish

        def with_a_text(request, operation, response):
            is_registration = operation == "registerPixKey"
            answer = finish(request, operation, response)
            return replace(answer, status=200, body=b"OK") if is_registration else answer

        self.sandbox.finish = with_a_text


def register(manual_run, **changes):
    """Send a registration of KEY as if it was drawn. `changes` are other members of its body; None removes one."""
    body = {"account": "ac-0001", "pixKeyType": "EMAIL", "pixKey": KEY, **changes}
    body = {name: value for name, value in body.items() if value is not None}
    return manual_run.client.of_generator("registerPixKey").send(
        "registerPixKey", "ac-0001", body=json.dumps(body).encode()
    )


@pytest.fixture
def accepted(manual_run):
    return AcceptedRegistrations(manual_run.client, load("sandbox"))


@pytest.mark.parametrize(
    ("changes", "is_accepted"),
    [({}, True), ({"account": None}, True), ({"pixKey": "pixconf-1"}, False), ({"pixKeyType": "RANDOM", "pixKey": ""}, False)],
    ids=["registered", "registered without an account", "refused", "a key that the service makes"],
)  # fmt: skip
def test_an_answer_that_says_success_was_accepted(changes, is_accepted, manual_run, accepted):
    """A registration of the documented form was accepted if its answer says so. No list of keys is needed."""
    registration = register(manual_run, **changes)

    assert accepted.is_accepted(registration) is is_accepted
    assert not is_unclear(registration)


def test_an_accepted_registration_is_judged_as_a_valid_one(manual_run, accepted):
    """It is so for the requirements on successful answers, and not for those on robustness."""
    registration = register(manual_run)

    assert accepted.as_valid("registerPixKey.json", registration).valid
    assert not accepted.as_valid("registerPixKey.serverError", registration).valid
    assert not accepted.as_valid("registerPixKey.Key.matches", registration).valid


@served_by(SaysOkToRegistrations)
def test_a_list_that_shows_the_key_shows_that_it_was_accepted(service, manual_run, accepted):
    """The answer OK does not say whether the key was registered. The list of keys shows it."""
    registration = register(manual_run)
    is_accepted_without_a_list = accepted.is_accepted(registration)
    accepted.read_list()

    assert is_unclear(registration)
    assert not is_accepted_without_a_list
    assert accepted.is_accepted(registration)


@served_by(SaysOkToRegistrations)
def test_a_key_that_two_registrations_named_shows_nothing(service, manual_run, accepted):
    """If two requests named a key, nobody knows which of them registered it."""
    first, second = register(manual_run), register(manual_run)
    accepted.read_list()

    assert not accepted.is_accepted(first)
    assert not accepted.is_accepted(second)


@served_by(SaysOkToRegistrations)
def test_a_key_that_is_not_listed_was_not_accepted(service, manual_run, accepted):
    """This service says OK to a key that it does not register, which is no e-mail address."""
    registration = register(manual_run, pixKey="pixconf-1")
    accepted.read_list()

    assert not accepted.is_accepted(registration)
