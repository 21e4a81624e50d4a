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
"""A body with placeholders for the account and for the key of the payee."""


def profile_with_keys(*keys):
    """The profile of the sandbox with these keys."""
    return replace(load("sandbox"), pix_keys=keys)


def test_transfers_are_prepared_with_a_key_of_each_type_in_turn():
    """Transfers are prepared with the keys of the profile as their payees, in turn, and after the last with the first.

    A RANDOM entry is left out, because it names no key.
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
    """If the profile has a RANDOM entry alone, which names no key, the key and its type in the body are empty."""
    profile = profile_with_keys(PixKey("RANDOM", ""))

    assert filled_body(BODY_OF_PROFILE, profile) == {"from": "ac-0001", "to": "", "kind": ""}


class PreparesOneAtATime(SocketService):
    """Refuses the second and the third preparation of all with 409, because they are there at the same time."""

    def __init__(self):
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

    On a sandbox the first transfer is prepared alone, and the others at the same time.
    """
    body = {"account": "ac-0001", "pixKey": "+5511955500101", "value": 1}
    prepare = {"operation": "createPix", "json": body, "code_at": "/data/transactionId"}
    with PreparesOneAtATime() as service:
        manual_run = ManualRun(service, tmp_path, parallel=8, has_journal=False, is_sandbox=True)
        preparations = prepare_executable_transfers(
            manual_run.client, profile_with_codes(tmp_path, prepare=prepare), most=3
        )
    statuses = [exchange.response.status for exchange in manual_run.door.exchanges]
    codes = manual_run.door.guard.prepared.codes_of(preparations)

    assert statuses == [200, 409, 409, 200, 200]
    assert (len(preparations), len(codes)) == (3, 3)
