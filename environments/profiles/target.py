"""The target of a run: an address and a token, and the embedded sandbox behind them where the profile asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from environments.profiles.credentials import TokenSource
from environments.profiles.profile import EMBEDDED, Profile


@dataclass(frozen=True)
class Target:
    """Where to send and with which token. `stop` ends what was started for the run; `refresh`
    fetches the token again where its source allows it, and says whether it is another one now."""

    base_url: str
    token: Callable[[], str] = field(repr=False)
    stop: Callable[[], None] = field(default=lambda: None, repr=False)
    refresh: Callable[[], bool] = field(default=lambda: False, repr=False)


def open_target(profile: Profile) -> Target:
    """The target that the profile names. Raises ProfileError where the token is not to be had."""
    if profile.base_url == EMBEDDED:
        return _embedded()
    return _outside(profile.base_url, TokenSource(profile))


def target_of_worker(profile: Profile, base_url: str, token: str) -> Target:
    """The target that another process opened, as a worker of a parallel run sees it."""
    return _outside(base_url, TokenSource(profile, token))


def _outside(base_url: str, source: TokenSource) -> Target:
    return Target(base_url, lambda: source.current, refresh=source.refresh)


def _embedded() -> Target:
    from environments.sandbox.server import Server
    from environments.sandbox.service import Service

    service = Service()
    server = Server(service).start()
    return Target(server.base_url, lambda: service.token, server.stop)
