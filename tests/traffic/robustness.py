"""Invalid requests, and requests without a valid token that can do nothing."""

from __future__ import annotations

from functools import partial

from environments.door.wrong_tokens import ANOTHER, NO_HEADER
from spec.exchange import VALID, Exchange
from tests.harness.selection import INVALID_BODIES, MAY_BE_OPEN, SURVEYS
from tests.traffic.case import Case
from tests.traffic.invalid import in_turns, invalid_requests, unauthorized
from tests.traffic.scenario import Asking, Traffic, scenario

UNAUTHORIZED = (NO_HEADER, ANOTHER)
"""The credentials of requests that can do nothing even where an operation wants none."""


@scenario(
    shows=[*(f"*.{what}" for what in SURVEYS), *(f"registerPixKey.{what}" for what in INVALID_BODIES)],
    needs="fuzz",
    otherwise=list[tuple[Case, Exchange]](),
)
def send_invalid(traffic: Traffic) -> Asking[list[tuple[Case, Exchange]]]:
    """The invalid requests whose answers are observed, and the answers."""
    sent_to = sorted(traffic.reach.subjects)
    cases = in_turns(case for name in sent_to for case in invalid_requests(name, traffic.profile, observed=True))
    answers = yield [partial(case.send, traffic.client) for case in cases]
    return list(zip(cases, answers, strict=True))


@scenario(shows=["general.otherTokens", "*.refusal"], needs="fuzz", otherwise=dict[tuple[str, str], Exchange]())
def ask_without_the_token(traffic: Traffic) -> Asking[dict[tuple[str, str], Exchange]]:
    """Requests that can do nothing to operations that may be open, by operation and credential: the valid one, too, as
    whether the token makes a difference shows that it is wanted."""
    about = list(filter(traffic.permitted, MAY_BE_OPEN))
    about = about if traffic.reach.wants("general.otherTokens") else traffic.is_about(*about)
    named = [(name, credential) for name in about for credential in (*UNAUTHORIZED, VALID)]
    answers = yield [partial(unauthorized(*each).send, traffic.client) for each in named]
    return dict(zip(named, answers, strict=True))


def without_the_token(traffic: Traffic, operation: str, *credentials: str) -> list[Exchange]:
    """The requests that can do nothing to an operation that may be open, with these credentials."""
    sent = traffic.result_of(ask_without_the_token)
    return [sent[operation, name] for name in credentials or UNAUTHORIZED if (operation, name) in sent]
