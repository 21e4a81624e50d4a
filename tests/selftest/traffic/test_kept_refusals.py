"""A refusal that is kept for a code or an account is found; a lock after several wrong tokens is none."""

from collections import Counter

import pytest

from environments.sandbox import Refusal, Service
from spec.interface import SYNTHETIC_PREFIX
from tests.selftest.proof.directly import sent_in_memory, try_in_memory
from tests.selftest.two_profiles import BANK, SANDBOX
from tests.traffic.kept_refusals import KeptRefusal, identifiers_with_one_wrong_token

ACCEPTED = frozenset({"executePix.token.accepted", "registerPixKey.token.accepted"})
WITHOUT_END = 1_000_000
"""More requests than a run sends."""


class LocksAccounts(Service):
    """The sandbox, which locks an account after several wrong tokens in a row for it.

    While an account is locked, even the valid token is refused. Only the accounts of the sandbox are locked, whose
    names begin with "ac-".
    """

    WRONG_TOKENS_BEFORE_LOCK = 3
    STATUS_WHILE_LOCKED = 401
    LOCKED_REQUESTS = WITHOUT_END  # how many requests for the account are refused

    def __init__(self):
        """The sandbox, whose accounts have got no wrong token."""
        super().__init__()
        self.wrong_tokens_in_a_row: Counter[str] = Counter()  # by account
        self.requests_still_refused: Counter[str] = Counter()  # by account

    def authorize(self, request, operation):
        """Check the token. Refuse a request for a locked account, and lock an account after too many wrong tokens."""
        account = request.path.rsplit("/", 1)[-1]
        if not account.startswith("ac-"):
            super().authorize(request, operation)
            return
        if self.requests_still_refused[account] > 0:
            self.requests_still_refused[account] -= 1
            raise Refusal(self.STATUS_WHILE_LOCKED, "The account is locked.")
        try:
            super().authorize(request, operation)
        except Refusal:
            self.wrong_tokens_in_a_row[account] += 1
            if self.wrong_tokens_in_a_row[account] >= self.WRONG_TOKENS_BEFORE_LOCK:
                self.wrong_tokens_in_a_row[account] = 0
                self.requests_still_refused[account] = self.LOCKED_REQUESTS
            raise
        self.wrong_tokens_in_a_row[account] = 0


@pytest.mark.parametrize("locked_requests", [2, WITHOUT_END], ids=["two requests", "without end"])
@pytest.mark.parametrize("status", [401, 403, 423])
@pytest.mark.parametrize("wrong_tokens", [3, 5], ids=["after 3 wrong tokens", "after 5 wrong tokens"])
def test_a_lock_of_an_account_is_no_failure(wrong_tokens, status, locked_requests):
    """A service may lock an account after several wrong tokens. Then it refuses the valid token, too, for some requests
    or without end.

    The requirement that the valid token is accepted does not fail because of that. It may stay untested.
    """
    service = LocksAccounts()
    service.WRONG_TOKENS_BEFORE_LOCK = wrong_tokens
    service.STATUS_WHILE_LOCKED = status
    service.LOCKED_REQUESTS = locked_requests

    assert try_in_memory(service, ids=ACCEPTED).failing == set()


def test_a_wrong_token_goes_between_two_equal_requests_and_another_one_follows():
    """A service may keep the refusal of a wrong token, and give it to the valid token later, for the same code or
    account.

    To see that, one wrong token is sent between two requests with the valid token, twice, and then the valid token for
    another code or account. That is done for executions and for registrations. Afterwards each of two accounts is read
    with a wrong token, then with the valid one, and another account is read.
    """
    log = sent_in_memory(Service(), ids=ACCEPTED).log
    purposes = [exchange.purpose for exchange in log]
    valid, wrong = KeptRefusal.WITH_THE_TOKEN, KeptRefusal.WRONG_TOKEN
    of_another, wrong_read = KeptRefusal.FOR_ANOTHER, KeptRefusal.WRONG_TOKEN_IN_A_READ
    of_an_operation = [valid, wrong, valid, valid, wrong, valid, of_another]
    of_a_read = [wrong_read, valid, of_another]

    assert [purpose for purpose in purposes if isinstance(purpose, KeptRefusal)] == [
        *of_an_operation, *of_an_operation, *of_a_read, *of_a_read,
    ]  # fmt: skip


def test_on_a_sandbox_the_accounts_of_the_profile_get_one_wrong_token():
    """On a sandbox (a test system) registrations with one wrong token between valid ones name the accounts of the
    profile (the settings of the run).
    """
    assert identifiers_with_one_wrong_token("registerPixKey", SANDBOX) == list(SANDBOX.accounts)


def test_off_a_sandbox_no_account_of_the_profile_is_named():
    """Off a sandbox (a test system) requests with one wrong token between valid ones name only codes and accounts that
    the suite made up.

    These requests have no key, and a service may take a registration without a key for one of an empty key. There are
    two codes and two accounts, all different, with the mark `pixconf-`.
    """
    accounts = identifiers_with_one_wrong_token("registerPixKey", BANK)
    codes = identifiers_with_one_wrong_token("executePix", BANK)
    identifiers = [*accounts, *codes]

    assert [identifier for identifier in identifiers if not identifier.startswith(SYNTHETIC_PREFIX)] == []
    assert len(set(identifiers)) == 4


class KeepsRefusals(Service):
    """The sandbox with a cache before it: right after a 401 it answers the same execution with 401 once more."""

    def __init__(self):
        super().__init__()
        self.path_refused_last = ""

    def respond(self, request):
        """Answer with 401 if the last request had the same path and got a 401. Otherwise answer as the sandbox does."""
        if request.path == self.path_refused_last and request.path.startswith("/v1/execute"):
            self.path_refused_last = ""
            return self.refusal(Refusal(401, "The token is not known."))
        response = super().respond(request)
        self.path_refused_last = request.path if response.status == 401 else ""
        return response


def test_a_kept_refusal_is_reported_as_that():
    """If each refusal of the valid token came right after a request without it for the same code, the finding says so.

    Then a cache is the likely cause, and no node of several.
    """
    trial = try_in_memory(KeepsRefusals(), ids={"executePix.token.accepted"})
    message = str(trial.results["executePix.token.accepted"].message)

    assert trial.failing == {"executePix.token.accepted"}
    assert "right after a request without the valid token for the same code or account" in message
