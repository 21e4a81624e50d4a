"""A refusal that is kept for a code or an account is found; a lock after several wrong tokens is none."""

from dataclasses import replace

import pytest

from environments.profiles.loading import load
from environments.sandbox import Refusal, Service
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.proof.directly import sent_in_memory, try_in_memory
from tests.traffic.kept_refusals import KeptRefusal, identifiers_with_one_wrong_token

ACCEPTED = frozenset({"executePix.token.accepted", "registerPixKey.token.accepted"})
SANDBOX = load("sandbox")
BANK = replace(SANDBOX, base_url="https://bank.example", sandbox=None)
FOR_GOOD = 1_000_000


class Locks(Service):
    """The sandbox, which locks the own account of a path after `MOST` wrong tokens in a row, for so many requests."""

    MOST, STATUS, REQUESTS = 3, 401, FOR_GOOD

    def __init__(self):
        super().__init__()
        self.wrong: dict[str, int] = {}
        self.locked: dict[str, int] = {}

    def authorize(self, request, operation):
        account = request.path.rsplit("/", 1)[-1]
        if not account.startswith("ac-"):
            super().authorize(request, operation)
            return
        if self.locked.get(account, 0):
            self.locked[account] -= 1
            raise Refusal(self.STATUS, "The account is locked.")
        try:
            super().authorize(request, operation)
        except Refusal:
            self.wrong[account] = self.wrong.get(account, 0) + 1
            if self.wrong[account] >= self.MOST:
                self.wrong[account], self.locked[account] = 0, self.REQUESTS
            raise
        self.wrong[account] = 0


@pytest.mark.parametrize("requests", [2, FOR_GOOD])
@pytest.mark.parametrize("status", [401, 403, 423])
@pytest.mark.parametrize("most", [3, 5])
def test_a_lock_of_an_account_is_no_failure(most, status, requests):
    """Whether it ends or not. It may leave requirements unexercised."""
    service = Locks()
    service.MOST, service.STATUS, service.REQUESTS = most, status, requests

    assert try_in_memory(service, ids=ACCEPTED).failing == set()


def test_a_wrong_token_goes_between_two_equal_requests_and_another_one_follows():
    """Of two codes and two accounts; then the accounts are read with a wrong token."""
    purposes = [seen.purpose for seen in sent_in_memory(Service(), ids=ACCEPTED).session.door.log]
    valid, wrong = KeptRefusal.WITH_THE_TOKEN, KeptRefusal.WRONG_TOKEN
    another, read = KeptRefusal.FOR_ANOTHER, KeptRefusal.WRONG_TOKEN_IN_A_READ
    after_wrong_tokens = [valid, wrong, valid, valid, wrong, valid, another]

    assert [purpose for purpose in purposes if isinstance(purpose, KeptRefusal)] == [
        *after_wrong_tokens, *after_wrong_tokens, read, valid, another, read, valid, another,
    ]  # fmt: skip


def test_off_a_sandbox_no_account_of_the_profile_is_asked():
    """A service may take a registration without a key for one of an empty key."""
    own = identifiers_with_one_wrong_token("registerPixKey", SANDBOX)
    elsewhere = [
        *identifiers_with_one_wrong_token("registerPixKey", BANK),
        *identifiers_with_one_wrong_token("executePix", BANK),
    ]

    assert own == list(SANDBOX.accounts)
    assert all(place.startswith(SYNTHETIC_PREFIX) for place in elsewhere)
    assert len(set(elsewhere)) == 4
