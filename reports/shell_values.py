"""How a person sends a request of a run again: the options of curl and the variables, as the profile has them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from environments.profiles.profile import Header, Profile, shown
from environments.profiles.target import is_secret
from reports.curl import Shell, Value, variable


def shell_of(profile: Profile) -> Shell:
    """What stands in reproduce lines for what a profile names and keeps elsewhere."""
    headers = {f"header {header.name}": _header(header, profile) for header in profile.headers if is_secret(header)}
    return Shell(
        options=tuple(_options(profile)),
        values={"token": _token(profile), **headers},
        supplied={
            "account": len(profile.accounts),
            "key": len(profile.pix_keys),
            "code": len(profile.transactions.codes),
        },
    )


def _token(profile: Profile) -> Value:
    """A token command is not repeated: what it is given may be a secret."""
    auth = profile.auth
    if auth.token_file:
        read = f"$(cat {shlex.quote(str(auth.token_file))})"
        return Value(read, read)
    if auth.token_command:
        return variable("PIX_TOKEN", f"what auth.token_command of {shown(profile.path)} prints")
    return variable(auth.token_env or "PIX_TOKEN", "the access token")


def _header(header: Header, profile: Profile) -> Value:
    where = f"the header {header.name}"
    return variable(header.env or header.name, where if header.env else f"{where} of {shown(profile.path)}")


def _options(profile: Profile) -> Iterator[str]:
    tls = profile.tls
    for option, file in (("--cacert", tls.ca_bundle), ("--cert", tls.client_cert), ("--key", tls.client_key)):
        if file:
            yield f"{option} {shlex.quote(str(file))}"
    if tls.client_key_passphrase_env:
        yield f'--pass "{variable(tls.client_key_passphrase_env, "the passphrase of tls.client_key").expression}"'
    if profile.proxy:
        yield f"--proxy {shlex.quote(profile.proxy)}"
