"""The target of a run: its address, its secrets, and the embedded sandbox where the profile asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from environments.profiles.credentials import resolve, resolve_headers, resolve_passphrase
from environments.profiles.profile import EMBEDDED, Header, Profile
from environments.secrets import Secrets, listed_secrets

_CREDENTIAL = re.compile(r"auth|cookie|key|pass|secret|sign|token", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """Where to send, and the registry of secrets, which holds the token. `stop` ends what was started for the run;
    `fetches` fetch the token again: none, or the token command once."""

    base_url: str
    secrets: Secrets = field(repr=False)
    stop: Callable[[], None] = field(default=lambda: None, repr=False)
    fetches: Iterator[Callable[[], str]] = field(default_factory=lambda: iter(()), repr=False)

    def refresh(self) -> bool:
        """Fetch the token again where that is left to do. True where it is another one now."""
        before = self.secrets.token()
        if fetch := next(self.fetches, None):
            self.secrets.learn_token(fetch())
        return self.secrets.token() != before


def open_target(profile: Profile) -> Target:
    """The target that the profile names. Raises ProfileError where a secret cannot be fetched."""
    if profile.base_url == EMBEDDED:
        return _embedded(profile)
    fetches = [partial(resolve, profile)] if profile.auth.token_command else []
    return Target(profile.base_url, _secrets(profile, resolve(profile)), fetches=iter(fetches))


def is_secret(header: Header) -> bool:
    """Whether the value of a fixed header is never shown: it comes from the environment, or its name says so."""
    return header.env is not None or bool(_CREDENTIAL.search(header.name))


def _embedded(profile: Profile) -> Target:
    from environments.sandbox.server import Server
    from environments.sandbox.service import Service

    service = Service()
    secrets = _secrets(profile, service.token)
    server = Server(service).start()
    return Target(server.base_url, secrets, server.stop)


def _secrets(profile: Profile, token: str) -> Secrets:
    """What is secret about a target, before anything is sent to it."""
    secrets = listed_secrets(profile)
    secrets.learn_token(token)
    hidden = {header.name for header in profile.headers if is_secret(header)}
    for name, value in resolve_headers(profile):
        if name in hidden:
            secrets.learn_secret(f"header {name}", value)
    if passphrase := resolve_passphrase(profile):
        secrets.learn_secret("passphrase", passphrase)
    return secrets
