"""Sequences of operations on keys, balances and transfers."""

from collections import Counter
from dataclasses import replace

from environments.sandbox import Service
from tests.selftest.proof.directly import sent_in_memory
from tests.selftest.services.one_run import (
    ALL_PERMISSIONS,
    GENERATED_TESTS,
    FakeBank,
    profile_of_bank,
    profile_of_sandbox,
    result_in_memory,
    run_suite_in_memory,
)
from tests.traffic.stateful import SEQUENCES


def test_sequences_need_only_one_account(tmp_path):
    """Drawn sequences of operations are sent if the profile has one account only, and their requirement passes.

    A run of generated tests alone can exercise registerPixKey.status only by these sequences.
    """
    result = result_in_memory(
        Service(), tmp_path, selected="registerPixKey.status or getBalance.exists", tests=GENERATED_TESTS, accounts=["ac-0001"],
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


def sequences_of(service, folder, *, make_profile=profile_of_sandbox, **changes):
    """A run of the sequences, with transfers that it prepares: its model."""
    changes = {"transactions": {"prepare": PREPARE}, "limits": {"examples": 20}, **changes}
    profile = make_profile(folder, allow=sorted(ALL_PERMISSIONS), **changes)
    return run_suite_in_memory(
        service,
        profile,
        selected="executePix.status or registerPixKey.status or executePix.repeated",
        tests=GENERATED_TESTS,
    )


def test_sequences_execute_their_own_transfers(tmp_path):
    """On a sandbox drawn sequences execute transfers that the run prepared, some of them twice, and no code of the profile.

    The run counts each transfer once.
    """
    service = FakeBank()
    model = sequences_of(service, tmp_path, limits={"executions": 40, "examples": 20})
    executions_by_code = Counter(service.executions_with_valid_token)
    codes_of_the_profile = [code for code in executions_by_code if code.startswith("SBX-PHONE")]

    assert len(executions_by_code) > 2
    assert max(executions_by_code.values()) > 1
    assert model.executions == len(executions_by_code)
    assert codes_of_the_profile == []


def test_executions_of_sequences_count(tmp_path):
    """Executions of drawn sequences count against limits.executions of the profile, which is 4 here.

    After the last one sequences go on without executions, and the requirement of executions does not fail.
    """
    service = FakeBank()
    model = sequences_of(service, tmp_path, limits={"executions": 4, "examples": 20})
    verdicts = {result.verdict for result in model.results if result.id == "executePix.status"}

    assert len(service.executions_with_valid_token) <= 4
    assert model.executions <= 4
    assert "fail" not in verdicts


def test_outside_a_sandbox_no_sequence_executes(tmp_path):
    """Off a sandbox no drawn sequence executes a transfer, because transfers are worth something there.

    None is prepared to be executed twice, either.
    """
    service = FakeBank()
    sequences_of(service, tmp_path, make_profile=profile_of_bank, limits={"executions": 40, "examples": 20})

    assert service.executions_with_valid_token == []


class FailsToListAfterAnExecution(Service):
    """The sandbox, which cannot read the list of keys right after an execution."""

    last = None

    def finish(self, request, operation, response):
        fails = operation == "listPixKeys" and self.last == "executePix"
        self.last = operation
        return replace(response, status=500) if fails else response


def test_a_sequence_with_an_execution_is_not_made_shorter():
    """If a sequence with an execution shows a fault, no shorter sequence is looked for, because that takes executions.

    The same sequence is followed once more with another transfer, to see if the fault shows again. So two transfers are
    executed; the sequence executes each twice. The finding says that no shorter one was looked for.
    """
    sent = sent_in_memory(
        FailsToListAfterAnExecution(), generated=True, ids={"executePix.status", "registerPixKey.status"}
    )
    of_sequences = [exchange for exchange in sent.session.door.exchanges if exchange.generator == SEQUENCES]
    codes_executed = [exchange.request.last_segment for exchange in of_sequences if exchange.operation == "executePix"]
    executions_by_code = Counter(codes_executed)
    result = sent.judge().results["listPixKeys.serverError"]
    first_finding, *_ = result.findings

    assert result.verdict == "fail"
    assert "no shorter one was looked for" in str(first_finding.shown_by)
    assert sorted(executions_by_code.values()) == [2, 2]


class LosesKeys(Service):
    """The sandbox, which forgets the keys of an account when one of its transfers is executed."""

    def execute_pix(self, request, transaction_id):
        result = super().execute_pix(request, transaction_id)
        with self.database.transaction() as ledger:
            for key in ledger.keys("ac-0001"):
                ledger.remove_key(key)
        return result


def test_a_key_that_an_execution_takes_away_is_a_warning():
    """If a key disappears from the list after an execution, that is a warning and not a failure.

    The interface document does not say that a registered key stays in the list. The warning belongs to the requirement
    that the list of keys exists, because no other requirement is about the content of the list.
    """
    trial = sent_in_memory(LosesKeys(), generated=True, ids={"executePix.status", "registerPixKey.status"}).judge()

    assert trial.results["listPixKeys.exists"].verdict == "warn"
