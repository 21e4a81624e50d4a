"""Sequences of operations on keys, balances and transfers."""

from collections import Counter
from dataclasses import replace

import pytest

from environments.sandbox import Refusal, Service
from spec.log import SEQUENCES
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


def test_sequences_need_only_one_account(tmp_path):
    """Sequences of operations are drawn at random and sent, also if the profile (the settings of the run) has one
    account.

    So the requirement registerPixKey.status passes: a run of generated tests alone can exercise it only by sequences.
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


def run_with_sequences(service, folder, *, profile_of_target=profile_of_sandbox, **changes):
    """Make a run that follows drawn sequences of operations, and return its results. It prepares transfers for them.

    `profile_of_target` makes the profile (the settings of the run) for a sandbox or for a bank. `changes` are keys of
    that profile.
    """
    settings = {"transactions": {"prepare": PREPARE}, "limits": {"examples": 20}, **changes}
    profile = profile_of_target(folder, allow=sorted(ALL_PERMISSIONS), **settings)
    return run_suite_in_memory(
        service,
        profile,
        selected="executePix.status or registerPixKey.status or executePix.repeated",
        tests=GENERATED_TESTS,
    )


def test_sequences_execute_their_own_transfers(tmp_path):
    """On a sandbox (a test system) drawn sequences execute transfers that the run prepared, some of them twice, and no
    code of the profile (the settings of the run).

    The run counts each transfer once.
    """
    service = FakeBank()
    run = run_with_sequences(service, tmp_path, limits={"executions": 40, "examples": 20})
    executions_by_code = Counter(service.executions_with_valid_token)
    codes_of_the_profile = [code for code in executions_by_code if code.startswith("SBX-PHONE")]

    assert len(executions_by_code) > 2
    assert max(executions_by_code.values()) > 1
    assert run.executions == len(executions_by_code)
    assert codes_of_the_profile == []


def test_executions_of_sequences_count(tmp_path):
    """Executions of drawn sequences count against limits.executions of the profile (the settings of the run), which is
    4 here.

    After the last one sequences go on without executions, and the requirement of executions does not fail.
    """
    service = FakeBank()
    run = run_with_sequences(service, tmp_path, limits={"executions": 4, "examples": 20})
    verdicts = {result.verdict for result in run.results if result.id == "executePix.status"}

    assert len(service.executions_with_valid_token) <= 4
    assert run.executions <= 4
    assert "fail" not in verdicts


def test_outside_a_sandbox_no_sequence_executes(tmp_path):
    """Off a sandbox (a test system) no drawn sequence executes a transfer, because real money would move."""
    service = FakeBank()
    run_with_sequences(service, tmp_path, profile_of_target=profile_of_bank, limits={"executions": 40, "examples": 20})

    assert service.executions_with_valid_token == []


class FailsToListAfterAnExecution(Service):
    """The sandbox, which answers a list of keys right after an execution with 500."""

    last_operation = None

    def finish(self, request, operation, response):
        """The answer of the sandbox. A list of keys right after an execution gets the status 500."""
        is_list_after_execution = operation == "listPixKeys" and self.last_operation == "executePix"
        self.last_operation = operation
        if is_list_after_execution:
            return replace(response, status=500)
        return response


def test_a_sequence_with_an_execution_is_not_made_shorter():
    """If a sequence with an execution shows a fault, no shorter sequence is looked for, because that takes executions.

    The same sequence is followed once more with another transfer, to see if the fault shows again. So two transfers are
    executed; the sequence executes each twice. The finding says that no shorter one was looked for.
    """
    sent = sent_in_memory(
        FailsToListAfterAnExecution(), generated=True, ids={"executePix.status", "registerPixKey.status"}
    )
    executions_by_code = Counter()
    for exchange in sent.log:
        if exchange.generator == SEQUENCES and exchange.operation == "executePix":
            code = exchange.request.last_segment
            executions_by_code[code] += 1
    result = sent.judge().results["listPixKeys.serverError"]
    first_finding, *_ = result.findings

    assert result.verdict == "fail"
    assert "no shorter one was looked for" in str(first_finding.shown_by)
    assert sorted(executions_by_code.values()) == [2, 2]


class LosesKeys(Service):
    """The sandbox, which forgets the keys of the account ac-0001 when a transfer is executed."""

    def execute_pix(self, request, transaction_id):
        """Execute the transfer, and delete all keys of the account."""
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


# -- unusual transfers, and keys that are named in another way ----------------------------------------------------------


class ChangesTheResult(Service):
    """The sandbox, which gives some execution results wrong members."""

    def __init__(self, is_affected, wrong_members):
        """`is_affected` is a function that takes a result. If it returns True, the result gets the wrong members, such
        as {"message": None}.
        """
        super().__init__()
        self.is_affected = is_affected
        self.wrong_members = wrong_members

    def execution_result(self, transfer):
        """The result of an execution, perhaps with the wrong members."""
        result = super().execution_result(transfer)
        if self.is_affected(result):
            result = result | self.wrong_members
        return result


def is_registered_elsewhere(ledger, account_id, key):
    """True if the key is registered at another account than `account_id`."""
    registered_key = ledger.key(key)
    return registered_key is not None and registered_key.account != account_id


class FailsToRegisterAKeyOfAnotherAccount(Service):
    """The sandbox, which answers 500 to the registration of a key that is registered at another account."""

    def register(self, ledger, account_id, key_type, value):
        """Register a key. Raises Refusal (500) if another account has it."""
        if is_registered_elsewhere(ledger, account_id, value):
            raise Refusal(500, "A constraint of the database failed.")
        return super().register(ledger, account_id, key_type, value)


class FailsToRemoveAKeyOfAnotherAccount(Service):
    """The sandbox, which answers 500 to the deletion of a key that is registered at another account."""

    def remove(self, ledger, account_id, value):
        """Delete a key. Raises Refusal (500) if another account has it."""
        if is_registered_elsewhere(ledger, account_id, value):
            raise Refusal(500, "None has no attribute account.")
        super().remove(ledger, account_id, value)


class FailsToRemoveAKeyInCapitals(Service):
    """The sandbox, which answers 500 to a deletion that names a registered key in capital letters."""

    def remove(self, ledger, account_id, value):
        """Delete a key. Raises Refusal (500) if only its form in small letters is registered."""
        is_in_capitals = ledger.key(value) is None and ledger.key(value.lower()) is not None
        if is_in_capitals:
            raise Refusal(500, "None has no attribute account.")
        super().remove(ledger, account_id, value)


# By fault: a service with this fault, and the requirement that fails.
FAULTS_OF_UNUSUAL_STEPS = {
    "an amount below 1 as a text": (
        ChangesTheResult(lambda result: result["value"] < 1, {"value": "0.5"}),
        "executePix.value.type",
    ),
    "null as the message of a transfer without a text": (
        ChangesTheResult(lambda result: result["message"] == "", {"message": None}),
        "executePix.message.type",
    ),
    "a number as the message of a transfer with a brace": (
        ChangesTheResult(lambda result: "{" in result["message"], {"message": 1}),
        "executePix.message.type",
    ),
    "a server error for a key of another account": (
        FailsToRegisterAKeyOfAnotherAccount(),
        "registerPixKey.serverError",
    ),
    "a server error for a deletion at another account": (
        FailsToRemoveAKeyOfAnotherAccount(),
        "deletePixKey.serverError",
    ),
    "a server error for a deletion in capital letters": (
        FailsToRemoveAKeyInCapitals(),
        "deletePixKey.serverError",
    ),
}


@pytest.mark.parametrize(
    ("service", "requirement_id"), FAULTS_OF_UNUSUAL_STEPS.values(), ids=FAULTS_OF_UNUSUAL_STEPS.keys()
)
def test_a_fault_of_an_unusual_step_is_found(service, requirement_id):
    """On a sandbox (a test system) sequences prepare transfers with a small amount, without a text, or with special
    characters in the text.

    They also register and delete a key at another account, and delete a key in capital letters. The requirement about
    such a step fails if the service does not answer the step as documented.
    """
    selected = {"executePix.status", "registerPixKey.status", "executePix.repeated"}
    trial = sent_in_memory(service, generated=True, ids=selected, examples=16).judge()

    assert trial.results[requirement_id].verdict == "fail"


class RefusesUnusualTransfers(Service):
    """The sandbox, which prepares no transfer of less than 1.00, without a text, or with a brace in its text."""

    def order(self, operation, body):
        """The transfer that a body asks for, with its amount in cents. Raises Refusal if it is unusual.

        The suite prepares unusual transfers on purpose: 0.50 is the amount of one, and "{" is in the text of another.
        """
        order = super().order(operation, body)
        has_small_amount = order["cents"] < 100
        has_no_text = not order["message"]
        has_special_characters = "{" in order["message"]
        if has_small_amount or has_no_text or has_special_characters:
            raise Refusal(422, "The transfer is not as the bank wants it.")
        return order


@pytest.mark.parametrize("service", [Service(), RefusesUnusualTransfers()], ids=["takes them", "refuses them"])
def test_a_service_may_take_or_refuse_unusual_transfers(service):
    """Sequences on a sandbox (a test system) prepare unusual transfers. No document says if a bank does that, so both
    are right.

    If the service refuses an unusual transfer, the sequence executes a usual one.
    """
    selected = {"executePix.status", "registerPixKey.status", "executePix.repeated"}
    trial = sent_in_memory(service, generated=True, ids=selected, examples=16).judge()

    assert trial.failing == set()
    assert "executePix.status" not in trial.not_exercised
