"""A refusal that a service keeps: after a wrong token for a code or an account, it refuses the valid token, too.

A cache may keep a 401 for a path, and answer the next caller with it. So a code, or an account, is asked with the valid
token, then with a wrong one, then with the valid one again. The codes do not exist. The registrations have a body that
cannot be read, so they register nothing. `at_times.py` reads the answers.

A conforming service may lock a caller or an account after several wrong tokens. So each code and each account gets one
wrong token at a time, and another one is asked right after it: a caller who is locked out is refused there, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from environments.door.permission import synthetic
from environments.door.wrong_tokens import ANOTHER
from environments.profiles.model import Profile
from spec.exchange import VALID, Purpose
from tests.traffic.refused_credentials import ASKED_AFTER_A_WRONG_TOKEN
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
class _Request:
    """A request that does nothing: an execution of a synthetic code, or an unreadable registration for an account.

    No other registration has the same body, because a service may keep a refusal for a body.
    """

    traffic: Traffic
    operation: str
    place: str
    """The path parameter: the code, or the account."""
    body: bytes | None

    def send(self, purpose: KeptRefusal, credential: str = VALID) -> None:
        """Send it with the valid token, or with another credential."""
        client = self.traffic.client
        client.send(self.operation, self.place, body=self.body, credential=credential, purpose=purpose)

    def read_with_a_wrong_token(self) -> None:
        """Read the balance of the account with a wrong token."""
        purpose = KeptRefusal.WRONG_TOKEN_IN_A_READ
        self.traffic.client.send(_READ, self.place, credential=ANOTHER, purpose=purpose)


@scenario(serves=["executePix.token.accepted", "registerPixKey.token.accepted"], needs="fuzz")
def ask_again_after_wrong_tokens(traffic: Traffic) -> None:
    """For two codes and two accounts, send a wrong token and right after it the valid one.

    For the accounts this is done twice: the second time the wrong token goes in a read of the account.
    """
    profile = traffic.profile
    operations = [name for name in (_EXECUTE, _REGISTER) if traffic.selection.includes_any(f"{name}.token.accepted")]
    if not profile.limits.wrong_tokens:
        operations = []
    for operation in filter(traffic.may_send_to, operations):
        first, second = (_request(traffic, operation, place) for place in places_asked(operation, profile))
        _ask_after_wrong_tokens(first, second)
        if operation == _REGISTER and traffic.may_send_to(_READ):
            _ask_after_wrong_reads(first, second)


def _ask_after_wrong_tokens(first: _Request, second: _Request) -> None:
    """Send each request with the valid token, with a wrong one, and with the valid one again.

    At the end a request for another code or account shows whether the caller as such is locked out.
    """
    first.send(KeptRefusal.WITH_THE_TOKEN)
    first.send(KeptRefusal.WRONG_TOKEN, ANOTHER)
    first.send(KeptRefusal.WITH_THE_TOKEN)
    second.send(KeptRefusal.WITH_THE_TOKEN)
    second.send(KeptRefusal.WRONG_TOKEN, ANOTHER)
    second.send(KeptRefusal.WITH_THE_TOKEN)
    _ask_for_another(second)


def _ask_after_wrong_reads(first: _Request, second: _Request) -> None:
    """For each account, read the balance with a wrong token, and send the registration with the valid one after it."""
    for request in (first, second):
        request.read_with_a_wrong_token()
        request.send(KeptRefusal.WITH_THE_TOKEN)
        _ask_for_another(request)


def _ask_for_another(request: _Request) -> None:
    """Send such a request for another code or account, for which no wrong token was sent."""
    _request(request.traffic, request.operation, synthetic()).send(KeptRefusal.FOR_ANOTHER)


def places_asked(operation: str, profile: Profile) -> list[str]:
    """The path parameters of the requests: two codes that do not exist, or two accounts.

    The accounts are those of the profile on a sandbox. Elsewhere they are synthetic, because a careless service may
    register an empty key for a registration that cannot be read.
    """
    own = profile.accounts if operation == _REGISTER and profile.is_sandbox else ()
    return [*own, synthetic(), synthetic()][:ASKED_AFTER_A_WRONG_TOKEN]


def _request(traffic: Traffic, operation: str, place: str) -> _Request:
    """The request that does nothing for this code or account."""
    body = b'{"' + synthetic().encode() if operation == _REGISTER else None
    return _Request(traffic, operation, place, body)
