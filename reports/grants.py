"""What the valid token was granted. An operation that granted nothing was not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from environments.door.authorization import VALID
from environments.profiles.profile import Auth
from reports.wording import counted
from spec.answers import LATER, RefusalKind, is_page, refusal_kind
from spec.exchange import Exchange
from spec.interface import operations

_NOT_READY = LATER | {RefusalKind.GATEWAY}


@dataclass
class Grants:
    """By operation how often the valid token was answered with a status, over all processes of a run.

    `granted` are the operations that granted a request, `promised` those that answered a valid request, with
    more than that they are not ready.
    `ready`: an answer said more than that the service is not ready. `certificate`: a gateway refused for the client
    certificate, which says nothing of the token.
    """

    answered: dict[str, Counter[str]] = field(default_factory=dict)
    granted: set[str] = field(default_factory=set)
    promised: set[str] = field(default_factory=set)
    ready: bool = False
    certificate: bool = False

    @classmethod
    def of_exchanges(cls, exchanges: Iterable[Exchange]) -> Grants:
        """What the exchanges of one process show."""
        grants = cls()
        seen = [exchange for exchange in exchanges if exchange.operation]
        refused = [one for one in seen if one.credential != VALID and one.response and not is_page(one.response)]
        told_apart = {exchange.operation for exchange in refused}
        for exchange in seen:
            if exchange.credential == VALID:
                grants._take(exchange, page_is_an_answer=exchange.operation in told_apart)
        return grants

    def _take(self, exchange: Exchange, *, page_is_an_answer: bool) -> None:
        operation, response = exchange.operation, exchange.response
        if response is None:
            self.answered.setdefault(operation, Counter())
            return
        refusal = refusal_kind(response)
        if exchange.expects_success and refusal not in _NOT_READY:
            self.promised.add(operation)
        self.answered.setdefault(operation, Counter())[str(response.status)] += 1
        self.ready |= refusal not in _NOT_READY
        self.certificate |= refusal is RefusalKind.CERTIFICATE
        if refusal is None and (page_is_an_answer or not is_page(response)):
            self.granted.add(operation)

    def add(self, other: Grants) -> None:
        """What another process saw."""
        for operation, tally in other.answered.items():
            self.answered.setdefault(operation, Counter()).update(tally)
        self.granted |= other.granted
        self.promised |= other.promised
        self.ready |= other.ready
        self.certificate |= other.certificate

    def asked(self, selected: Collection[str]) -> list[str]:
        """The selected operations that got a request with the valid token, in the order of the interface document."""
        return [operation for operation in operations() if operation in self.answered and operation in selected]

    def lacking(self, selected: Collection[str]) -> str:
        """Why the verdict on the selected operations has nothing to rest on; empty where it has.

        Where none of them answered a valid request (only invalid ones were sent, or a 503 came), a grant of any
        operation shows that the token is valid.
        """
        if not self.granted:
            return "no operation granted anything"
        if self.promised.isdisjoint(selected) or not self.granted.isdisjoint(selected):
            return ""
        return "no selected operation granted anything"

    def notes(self, auth: Auth) -> Iterator[str]:
        """A line that says why no operation granted anything, where the answers show that."""
        together: Counter[str] = sum(self.answered.values(), Counter())
        if self.granted or not together or self.certificate:
            return
        shown = ", ".join(f"{status} to {counted(count, 'request')}" for status, count in together.most_common(3))
        if not self.ready:
            yield f"no operation granted anything ({shown}): the service was not ready, run again later"
            return
        source = auth.token_env or ("token_command" if auth.token_command else "token_file")
        beside = "; or base_url leads elsewhere" if set(together) == {"404"} else ""
        yield (
            f"no operation granted anything ({shown}): the token may be wrong or expired, check auth ({source}){beside}"
        )
