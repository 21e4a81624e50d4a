"""Bodies that prepare a transfer, and transfers that are prepared at the same time."""

import threading
from dataclasses import replace
from itertools import count

from environments.profiles.loading import load
from environments.profiles.model import PixKey
from environments.sandbox import Response
from tests.selftest.services.one_run import ManualRun, profile_with_codes
from tests.selftest.services.serving import SocketService, response_bytes
from tests.selftest.services.waiting import HANG_LIMIT_S
from tests.traffic.money.preparing import filled_body, prepare_executable_transfers

BODY_OF_PROFILE = {"from": "{account}", "to": "{key}", "kind": "{type}"}
"""The body of a transfer in a profile (the settings of a run). {account} is the account that pays, {key} the key of the
payee, and {type} the type of that key."""


def profile_with_keys(*keys):
    """The profile of the sandbox with these keys. A RANDOM entry has an empty key, because the service makes the key."""
    return replace(load("sandbox"), pix_keys=keys)


def test_transfers_are_prepared_with_a_key_of_each_type_in_turn():
    """The body of each transfer has the next key of the profile (the settings of the run) as its payee, and after the
    last key the first one again.

    A RANDOM entry of the profile is left out, because it names no key.
    """
    profile = profile_with_keys(PixKey("RANDOM", ""), PixKey("PHONE", "a"), PixKey("CNPJ", "b"), PixKey("CPF", "c"))
    bodies = [filled_body(BODY_OF_PROFILE, profile, number) for number in range(4)]

    assert [(body["to"], body["kind"]) for body in bodies] == [
        ("a", "PHONE"),
        ("b", "CNPJ"),
        ("c", "CPF"),
        ("a", "PHONE"),
    ]


def test_without_a_key_of_known_value_the_payee_is_empty():
    """If the profile (the settings of the run) has a RANDOM entry alone, which names no key, the key and its type in
    the body are empty.
    """
    profile = profile_with_keys(PixKey("RANDOM", ""))

    assert filled_body(BODY_OF_PROFILE, profile) == {"from": "ac-0001", "to": "", "kind": ""}


class PreparesOneAtATime(SocketService):
    """Refuses the second and the third preparation of all with 409, because they are there at the same time."""

    def __init__(self):
        """A service at which no preparation has arrived."""
        super().__init__()
        self.both_are_there = threading.Barrier(2)
        self._preparations = count(1)

    def answer(self, connection, request):
        """Send the answer of the sandbox, or 409 to the second and third preparation, once both are there."""
        if next(self._preparations) in (2, 3):
            self.both_are_there.wait(HANG_LIMIT_S)
            connection.sendall(response_bytes(Response(409, b"{}", (("Content-Type", "application/json"),))))
        else:
            super().answer(connection, request)


def test_a_transfer_that_is_refused_beside_another_one_is_prepared_again_alone(tmp_path):
    """If transfers that are prepared at the same time are refused with 409 (conflict), each is prepared again alone.

    On a sandbox (a test system) the first transfer is prepared alone, and the others at the same time.
    """
    body = {"account": "ac-0001", "pixKey": "+5511955500101", "value": 1}
    prepare = {"operation": "createPix", "json": body, "code_at": "/data/transactionId"}
    with PreparesOneAtATime() as service:
        manual_run = ManualRun(service, tmp_path, parallel=8, has_journal=False, is_sandbox=True)
        preparations = prepare_executable_transfers(
            manual_run.client, profile_with_codes(tmp_path, prepare=prepare), most=3
        )
    statuses = [exchange.response.status for exchange in manual_run.exchanges]
    codes = manual_run.door.guard.prepared.codes_of(preparations)
    first_alone, two_at_once, each_again_alone = [200], [409, 409], [200, 200]

    assert statuses == [*first_alone, *two_at_once, *each_again_alone]
    assert len(preparations) == 3
    assert len(codes) == 3
