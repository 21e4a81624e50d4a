"""A refusal that a service keeps: after a wrong token for a code or an account, it also refuses the valid token.

A cache may keep a 401 for a path, and answer the next caller with it. So a request with the same code, or for the same
account, is sent with the valid token, then with a wrong one, then with the valid one again. The codes do not exist. The
registrations have a body that cannot be read, so they register nothing. `at_times.py` compares the answers.

A conforming service may lock a caller or an account after several wrong tokens. So each code and each account gets one
wrong token at a time. Right after it, a request for another code or account is sent with the valid token: if the caller
is locked out, this request is also refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from environments.door.permission import synthetic
from environments.door.wrong_tokens import WRONG_TOKEN
from environments.profiles.model import Profile
from spec.exchange import VALID, Purpose
from tests.traffic.refused_credentials import MOST_IDENTIFIERS_WITH_ONE_WRONG_TOKEN
from tests.traffic.scenario import Traffic, scenario

_EXECUTE = "executePix"
_REGISTER = "registerPixKey"
_READ = "getBalance"


class KeptRefusal(Purpose):
    """Why a request is sent to see whether a refusal is kept."""

    WITH_THE_TOKEN = "a request that does nothing, before and after a wrong token for the same code or account"
    WRONG_TOKEN = "the same request with a wrong token"
    WRONG_TOKEN_IN_A_READ = "a read of the same account with a wrong token"
    FOR_ANOTHER = "the same for another code or account, to see that the caller is not locked out"


@dataclass(frozen=True)
class _HarmlessRequest:
    """A request that does nothing, for one code or account: it is sent with the valid token and with a wrong one.

    It is an execution of a code that does not exist, or a registration with a body that cannot be read. No other
    registration has the same body, because a service may also keep a refusal for a body.
    """

    traffic: Traffic
    operation: str
    code_or_account: str
    """The path parameter."""
    body: bytes | None

    def send(self, purpose: KeptRefusal, credential: str = VALID) -> None:
        """Send the request with the valid token, or with the wrong token whose name is `credential`."""
        client = self.traffic.client
        client.send(self.operation, self.code_or_account, body=self.body, credential=credential, purpose=purpose)

    def read_with_a_wrong_token(self) -> None:
        """Read the balance of the account of this request with a wrong token.

        A service may keep the refusal of the read, and refuse the valid token for the same account afterwards.
        """
        purpose = KeptRefusal.WRONG_TOKEN_IN_A_READ
        self.traffic.client.send(_READ, self.code_or_account, credential=WRONG_TOKEN, purpose=purpose)


@scenario(serves=["executePix.token.accepted", "registerPixKey.token.accepted"], needs="fuzz")
def send_valid_token_after_wrong_one(traffic: Traffic) -> None:
    """For two codes and two accounts, send a wrong token and right after it the valid one, which must be accepted.

    A service at fault keeps its refusal of the wrong token for the code or account, in a cache for instance. For the
    accounts this is done twice: the second time the wrong token is in a read of the account. Nothing is sent if
    limits.wrong_tokens is 0, which forbids wrong tokens.
    """
    profile = traffic.profile
    operations = [name for name in (_EXECUTE, _REGISTER) if traffic.selection.includes_any(f"{name}.token.accepted")]
    if not profile.limits.wrong_tokens:
        operations = []
    for operation in filter(traffic.may_send_to, operations):
        codes_or_accounts = identifiers_with_one_wrong_token(operation, profile)
        requests = [_harmless_request(traffic, operation, code_or_account) for code_or_account in codes_or_accounts]
        _send_with_wrong_token_in_between(requests)
        if operation == _REGISTER and traffic.may_send_to(_READ):
            _send_after_reads_with_wrong_token(requests)


def _send_with_wrong_token_in_between(requests: list[_HarmlessRequest]) -> None:
    """Send each of these requests with the valid token, with a wrong one, and with the valid one again.

    Each is for another code or account. If its third answer refuses the token, the service may have kept the refusal
    of the wrong one. At the end a request for a new code or account shows whether the service has locked the caller out
    instead.
    """
    for request in requests:
        request.send(KeptRefusal.WITH_THE_TOKEN)
        request.send(KeptRefusal.WRONG_TOKEN, WRONG_TOKEN)
        request.send(KeptRefusal.WITH_THE_TOKEN)
    _send_for_new_code_or_account(requests[-1])


def _send_after_reads_with_wrong_token(registrations: list[_HarmlessRequest]) -> None:
    """Send each registration with the valid token, right after a read of the same account with a wrong token.

    Each registration is for another account. If it is refused, the service may have kept the refusal of the read. A
    registration for a new account shows whether the service has locked the caller out instead, for all accounts.
    """
    for registration in registrations:
        registration.read_with_a_wrong_token()
        registration.send(KeptRefusal.WITH_THE_TOKEN)
        _send_for_new_code_or_account(registration)


def _send_for_new_code_or_account(request: _HarmlessRequest) -> None:
    """Send a request like this one for a new code or account, for which no wrong token was sent.

    It is refused only if the service locked the caller out, because of the wrong tokens before.
    """
    _harmless_request(request.traffic, request.operation, synthetic()).send(KeptRefusal.FOR_ANOTHER)


def identifiers_with_one_wrong_token(operation: str, profile: Profile) -> list[str]:
    """The codes or accounts that get a wrong token: for executions two codes that do not exist, else two accounts.

    On a sandbox the accounts are those of the profile. Elsewhere they are made up (synthetic): the body of these
    registrations is cut short, and a careless service may take it for a registration of an empty key, which nobody
    could delete again.
    """
    own = profile.accounts if operation == _REGISTER and profile.is_sandbox else ()
    return [*own, synthetic(), synthetic()][:MOST_IDENTIFIERS_WITH_ONE_WRONG_TOKEN]


def _harmless_request(traffic: Traffic, operation: str, code_or_account: str) -> _HarmlessRequest:
    """A request that does nothing, for this code or account: an execution, or a registration that cannot be read."""
    unreadable_body = b'{"' + synthetic().encode()  # JSON that is cut short
    body = unreadable_body if operation == _REGISTER else None
    return _HarmlessRequest(traffic, operation, code_or_account, body)
