"""Sequences of operations on keys and balances."""

from environments.sandbox import Service
from tests.selftest.services.one_run import GENERATED, run_against


def test_one_account_is_enough(tmp_path):
    """Its list and its balance are read, because a profile need not name a second one."""
    result = run_against(
        Service(), tmp_path, "registerPixKey.status or getBalance.exists", GENERATED, accounts=["ac-0001"],
        allow=["read", "register-keys", "delete-keys", "fuzz"], transactions=None, limits={"examples": 20},
    )  # fmt: skip

    assert result.run.errors == []
    assert "registerPixKey.status" in result.rows("pass")
