"""Bodies that prepare a transfer, and transfers that are prepared at the same time."""

import threading
from dataclasses import replace
from itertools import count

from environments.profiles.loading import load
from environments.profiles.model import PixKey
from environments.sandbox import Response
from tests.selftest.services.one_run import ManualRun, sandbox_profile
from tests.selftest.services.serving import SocketService, response_bytes
from tests.selftest.services.waiting import HANG_LIMIT_S
from tests.traffic.money.preparing import filled_body, prepare_executable_transfers


def test_transfers_are_prepared_with_a_key_of_each_type_in_turn():
    """Keys are taken in the order of the profile. A RANDOM entry is left out, because it names no key."""
    keys = [PixKey("RANDOM", ""), PixKey("PHONE", "a"), PixKey("CNPJ", "b"), PixKey("CPF", "c")]
    profile = replace(load("sandbox"), pix_keys=tuple(keys))
    body = {"from": "{account}", "to": "{key}", "kind": "{type}"}
    prepared = [filled_body(body, profile, number) for number in range(4)]

    assert [(body_sent["to"], body_sent["kind"]) for body_sent in prepared] == [
        ("a", "PHONE"),
        ("b", "CNPJ"),
        ("c", "CPF"),
        ("a", "PHONE"),
    ]
    assert filled_body(body, replace(profile, pix_keys=tuple(keys[:1]))) == {"from": "ac-0001", "to": "", "kind": ""}


class PreparesOneAtATime(SocketService):
    """Refuses two preparations with 409 that are there at the same time: the second and the third of all."""

    def __init__(self):
        super().__init__()
        self.both_are_there = threading.Barrier(2)
        self._preparations = count(1)

    def answer(self, connection, request):
        if next(self._preparations) in (2, 3):
            self.both_are_there.wait(HANG_LIMIT_S)
            connection.sendall(response_bytes(Response(409, b"{}", (("Content-Type", "application/json"),))))
        else:
            super().answer(connection, request)


def test_a_transfer_that_is_refused_beside_another_one_is_prepared_again_alone(tmp_path):
    """The first transfer of a sandbox is prepared alone, the others at the same time."""
    body = {"account": "ac-0001", "pixKey": "+5511955500101", "value": 1}
    prepare = {"operation": "createPix", "json": body, "code_at": "/data/transactionId"}
    with PreparesOneAtATime() as service:
        manual_run = ManualRun(service, tmp_path, parallel=8, has_journal=False, is_sandbox=True)
        preparations = prepare_executable_transfers(
            manual_run.client, sandbox_profile(tmp_path, prepare=prepare), most=3
        )
    statuses = [exchange.response.status for exchange in manual_run.door.exchanges]

    assert statuses == [200, 409, 409, 200, 200]
    assert len(manual_run.door.guard.prepared.codes_of(preparations)) == len(preparations) == 3
