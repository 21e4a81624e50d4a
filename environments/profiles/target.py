"""The target of a run: its address, its secrets, and the embedded sandbox where the profile asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from environments.profiles.credentials import TokenSource, resolve_headers, resolve_passphrase
from environments.profiles.profile import EMBEDDED, Header, Profile
from environments.secrets import Secrets, listed_secrets

_CREDENTIAL = re.compile(r"auth|cookie|key|pass|secret|sign|token", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """Where to send, and the registry of secrets, which holds the token. `stop` ends what was started for the run;
    `fetch` gives the token again, another one where its source allows it."""

    base_url: str
    secrets: Secrets = field(repr=False)
    stop: Callable[[], None] = field(default=lambda: None, repr=False)
    fetch: Callable[[], str] | None = field(default=None, repr=False)

    def token(self) -> str:
        """The access token of the run, without its scheme."""
        return self.secrets.token()

    def refresh(self) -> bool:
        """Fetch the token again where its source allows it. True where it is another one now."""
        before = self.token()
        if self.fetch:
            self.secrets.learn_token(self.fetch())
        return self.token() != before


def open_target(profile: Profile) -> Target:
    """The target that the profile names. Raises ProfileError where a secret is not to be had."""
    if profile.base_url == EMBEDDED:
        return _embedded(profile)
    return _outside(profile, profile.base_url, TokenSource(profile))


def target_of_worker(profile: Profile, base_url: str, token: str) -> Target:
    """The target that another process opened, as a worker of a parallel run sees it."""
    return _outside(profile, base_url, TokenSource(profile, token))


def is_secret(header: Header) -> bool:
    """Whether the value of a fixed header is never shown: it comes from the environment, or its name says so."""
    return header.env is not None or bool(_CREDENTIAL.search(header.name))


def _outside(profile: Profile, base_url: str, source: TokenSource) -> Target:
    return Target(base_url, _secrets(profile, source.current), fetch=source.fetch)


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
