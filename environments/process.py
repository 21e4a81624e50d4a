"""What a process that knows secrets does not leave behind: core dumps, logs of others, variables for its children."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from environments.profiles.profile import Profile, ProfileError

TRACING = (
    "SSLKEYLOGFILE",
    "PYTEST_DEBUG",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY",
    "HYPOTHESIS_EXPERIMENTAL_OBSERVABILITY_NOCOVER",
)
"""Variables with which OpenSSL, pytest and Hypothesis write down what passes through them or decrypts it."""
_NO_CORE = 1
"""Bytes of a core dump: too few for a file. Linux takes 0 for no limit where a program such as systemd-coredump takes
the dump, and 1 for none (core(5), fs/coredump.c)."""


def protect() -> None:
    """Switch core dumps off. ProfileError, in one line, for a variable that has secrets written down."""
    for name in filter(os.environ.get, TRACING):
        raise ProfileError(f"{name} has tokens and codes written down; unset it")
    if sys.platform != "win32":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        most = _NO_CORE if hard else 0
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))


def environment_of_children(profile: Profile) -> Mapping[str, str]:
    """The variables of this process without the secrets that the profile names."""
    return {name: value for name, value in os.environ.items() if name not in _named(profile)}


def forget_variables(profile: Profile) -> None:
    """Take the secrets that the profile names out of the environment. They have been read."""
    for name in _named(profile):
        os.environ.pop(name, None)


def _named(profile: Profile) -> set[str]:
    named = (profile.auth.token_env, profile.tls.client_key_passphrase_env, profile.journal_key_env)
    return {name for name in (*named, *(header.env for header in profile.headers)) if name}
