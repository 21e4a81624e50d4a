"""Keys that a run registers and deletes."""

import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from environments.profiles.loading import load
from tests.selftest.services.one_run import ManualRun
from tests.selftest.services.serving import SocketService
from tests.traffic.keys.registrar import Registrar

WAIT_FOR_ANOTHER_DELETION_S = 1.0
"""Seconds that a deletion waits for another one."""


class WaitsForASecondDeletion(SocketService):
    """Answers a deletion as soon as another deletion has arrived, or after a second."""

    def __init__(self):
        """A service at which no deletion has arrived."""
        super().__init__()
        self._two_have_arrived = threading.Barrier(2)

    def answer(self, connection, request):
        """Send the answer of the sandbox. A deletion waits for another deletion before."""
        if request.method == "DELETE":
            with suppress(threading.BrokenBarrierError):
                self._two_have_arrived.wait(WAIT_FOR_ANOTHER_DELETION_S)
        super().answer(connection, request)


def deletions_at_the_end(folder, profile, keys_to_register):
    """Register keys, and return the deletions with which a run cleans up at its end.

    `keys_to_register` is a function that gives the keys. The door is that of a sandbox, so it makes no deletion wait.
    """
    with WaitsForASecondDeletion() as service:
        manual_run = ManualRun(service, folder, parallel=8, is_sandbox=True)
        registrar = Registrar(manual_run.client, profile)
        for key in keys_to_register(registrar):
            registrar.register(key)
        registrar.clean_up()
    return [exchange for exchange in manual_run.exchanges if exchange.operation == "deletePixKey"]


def synthetic_keys(registrar):
    """Two keys that the suite makes up, so nobody has them."""
    return [registrar.synthetic_key() for _ in range(2)]


def keys_of_the_profile(registrar):
    """The e-mail and the phone key of the profile."""
    return [key for key in registrar.profile.pix_keys if key.type in ("EMAIL", "PHONE")]


SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None, key_at="/data/keys/*/pixKey")


@pytest.mark.parametrize(
    ("profile", "keys_to_register", "number_of_requests_beside"),
    [(SANDBOX, synthetic_keys, [1, 1]), (BANK, synthetic_keys, [0, 0]), (SANDBOX, keys_of_the_profile, [0, 0])],
    ids=["synthetic, on a sandbox", "synthetic, elsewhere", "of the profile, on a sandbox"],
)
def test_only_synthetic_keys_of_a_sandbox_are_deleted_together(
    profile, keys_to_register, number_of_requests_beside, tmp_path
):
    """Two keys are deleted at the same time only on a sandbox (a test system), and only if the suite made them up
    (synthetic keys).

    Otherwise the list of keys is read between two deletions. `beside` is the number of other requests on the wire.
    """
    deletions = deletions_at_the_end(tmp_path, profile, keys_to_register)

    assert [exchange.beside for exchange in deletions] == number_of_requests_beside
    assert {exchange.response.status for exchange in deletions} == {200}
