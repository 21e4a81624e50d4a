"""Sequences of operations on keys, balances and transfers."""

from collections import Counter
from dataclasses import replace

from environments.sandbox import Service
from tests.selftest.proof.directly import sent_in_memory
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    GENERATED_TESTS,
    UNUSED_ADDRESS,
    FakeBank,
    profile_off_sandbox,
    result_in_memory,
    run_suite_in_memory,
)
from tests.traffic.stateful import SEQUENCES


def test_sequences_need_only_one_account(tmp_path):
    """The profile has one account. The sequences are sent for it, and their requirement passes."""
    result = result_in_memory(
        Service(), tmp_path, "registerPixKey.status or getBalance.exists", GENERATED_TESTS, accounts=["ac-0001"],
        allow=["read", "register-keys", "delete-keys", "fuzz"], transactions=None, limits={"examples": 20},
    )  # fmt: skip

    assert result.run.errors == []
    assert "registerPixKey.status" in result.messages_with_verdict("pass")


# -- executions -------------------------------------------------------------------------------------------------------

PREPARE = {
    "operation": "createPix",
    "json": {"account": "ac-0001", "pixKey": "+5511955500101", "value": 10.5},
    "code_at": "/data/transactionId",
}


def sequences_of(service, folder, **changes):
    """A run of the sequences, with transfers that it prepares: its model."""
    changes = {"sandbox": UNUSED_ADDRESS, "transactions": {"prepare": PREPARE}, "limits": {"examples": 20}, **changes}
    profile = profile_off_sandbox(folder, allow=sorted(ALL_PERMISSIONS), **changes)
    return run_suite_in_memory(
        service, profile, "executePix.status or registerPixKey.status or executePix.repeated", GENERATED_TESTS
    )


def test_sequences_execute_their_own_transfers(tmp_path):
    """Each transfer is one that the run prepared, and none has more executions than steps ask for."""
    service = FakeBank()
    model = sequences_of(service, tmp_path, limits={"executions": 40, "examples": 20})

    assert len(set(service.executions)) > 2
    assert max(Counter(service.executions).values()) > 1
    assert model.executions == len(set(service.executions))
    assert not [code for code in service.executions if code.startswith("SBX-PHONE")]


def test_executions_of_sequences_count(tmp_path):
    """They end at limits.executions, and the run is not cut."""
    service = FakeBank()
    model = sequences_of(service, tmp_path, limits={"executions": 4, "examples": 20})

    assert len(service.executions) <= 4
    assert model.executions <= 4
    assert not [result for result in model.results if result.id == "executePix.status" and result.verdict == "fail"]


def test_outside_a_sandbox_no_sequence_executes(tmp_path):
    """Transfers there are worth something. None is prepared to be executed twice, either."""
    service = FakeBank()
    sequences_of(service, tmp_path, sandbox=None, limits={"executions": 40, "examples": 20})

    assert service.executions == []


class FailsToListAfterAnExecution(Service):
    """The sandbox, which cannot read the list of keys right after an execution."""

    last = None

    def finish(self, request, operation, response):
        fails = operation == "listPixKeys" and self.last == "executePix"
        self.last = operation
        return replace(response, status=500) if fails else response


def test_a_sequence_with_an_execution_is_not_made_shorter():
    """It is followed once more with another transfer, to see if the deviation shows again; the finding says so."""
    trial = sent_in_memory(
        FailsToListAfterAnExecution(), generated=True, ids={"executePix.status", "registerPixKey.status"}
    )
    sent = [exchange for exchange in trial.session.door.exchanges if exchange.part == SEQUENCES]
    executed = Counter(exchange.request.last_segment for exchange in sent if exchange.operation == "executePix")
    rows = trial.judge().rows["listPixKeys.serverError"]

    assert rows.verdict == "fail"
    assert "no shorter one was looked for" in str(rows.findings[0].shown_by)
    assert sorted(executed.values()) == [2, 2]


class LosesKeys(Service):
    """The sandbox, which forgets the keys of an account when one of its transfers is executed."""

    def execute_pix(self, request, transaction_id):
        result = super().execute_pix(request, transaction_id)
        with self.database.transaction() as ledger:
            for key in ledger.keys("ac-0001"):
                ledger.remove_key(key)
        return result


def test_a_key_that_an_execution_takes_away_is_a_warning():
    """The interface document does not say that a registered key stays in the list."""
    trial = sent_in_memory(LosesKeys(), generated=True, ids={"executePix.status", "registerPixKey.status"}).judge()

    assert trial.rows["listPixKeys.exists"].verdict == "warn"
